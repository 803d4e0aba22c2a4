"""Every law that follows something: noisy measurements, a model that is 20 % wrong, efforts at their limits."""

import numpy as np
import pytest
from plant_motion import BENT, heavier

from robodyn_ros import Robot
from robodyn_ros.control import CartesianReference, ForceReference, JointReference, State
from robodyn_ros.control.cartesian_trajectory import CartesianTrajectory
from robodyn_ros.control.reference import SOURCES
from robodyn_ros.control.registry import controller_names, load_controller, make_controller
from robodyn_ros.control.trajectory import JointTrajectory, Points
from robodyn_ros.resources import robot_file
from robodyn_ros.simulation.commands import Drive
from robodyn_ros.simulation.plant import Plant

OURS = [name for name in controller_names() if load_controller(name).__module__.startswith("robodyn_ros.")
        and load_controller(name).follows is not None]
ROBOTS = {name: Robot.from_urdf(robot_file(name)) for name in ("planar_2r", "arm7")}
POSITION_NOISE, VELOCITY_NOISE = 2e-4, 0.02


def goal_source(robot, controller, q, hurry):
    """A source that takes the robot away and back to q, faster than it can."""
    source, rest = SOURCES[controller.follows](robot, q), np.zeros(robot.n)
    if controller.follows is JointReference:
        away = q + 0.4 * np.where(np.arange(robot.n) % 2, -1.0, 1.0)
        points = Points.checked([hurry, 2 * hurry], [np.clip(away, robot.model.position_lower,
                                                             robot.model.position_upper), q], [rest, rest])
        source.follow(JointTrajectory(source.peek(0.0), 0.0, points))
        return source
    home = SOURCES[CartesianReference](robot, q).sample(0.0)
    inwards = home.position * [-0.25, -0.25, -0.1]
    there = CartesianTrajectory.line(home, 0.0, hurry, home.position + inwards)
    source.follow(there)
    source.follow(CartesianTrajectory.line(there.sample(hurry), hurry, hurry, home.position))
    return source


@pytest.mark.parametrize("name", ROBOTS)
@pytest.mark.parametrize("law", OURS)
def test_it_comes_back_from_a_motion_that_is_too_fast(law, name):
    robot, rng, step = ROBOTS[name], np.random.default_rng(0), 2e-3
    q, controller = np.array(BENT[name]), make_controller(law, robot)
    source, plant, rest = goal_source(robot, controller, q, hurry=0.15), Plant(heavier(robot), step), np.zeros(robot.n)
    plant.set_state(q)
    controller.activate(State(0.0, 0.0, q, rest))
    limit, saturated, speeds = robot.model.effort_limit, 0, []
    for k in range(round(4.0 / step)):
        measured = State(k * step, step if k else 0.0, plant.q + POSITION_NOISE * rng.normal(size=robot.n),
                         plant.v + VELOCITY_NOISE * rng.normal(size=robot.n))
        effort = controller.update(measured, source.sample(k * step))
        assert np.isfinite(effort).all()
        saturated += (np.abs(effort) > limit).any()
        plant.advance(Drive(np.clip(effort, -limit, limit), rest, rest))
        speeds.append(np.abs(plant.v).max())
    assert max(speeds) < 60.0 and np.mean(speeds[-250:]) < 0.4
    if controller.follows is not ForceReference:  # which is free to move along an axis
        tip, home = (robot.dynamics().forward_kinematics(at)[:3, 3] for at in (plant.q, q))
        assert np.linalg.norm(tip - home) < 0.15
    if controller.follows is JointReference:
        assert saturated
