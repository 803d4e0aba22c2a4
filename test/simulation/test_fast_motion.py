# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Robots under bounded efforts for seconds: no energy is created, and a robot that is too fast ends the simulation."""

from dataclasses import replace

import numpy as np
import pytest
from shipped import few

from robodyn_ros import Robot
from robodyn_ros.actuation import Actuators, DCMotor, Friction, GearTrain, JointActuators
from robodyn_ros.actuation.drive_limits import DriveLimits
from robodyn_ros.base.errors import SimulationError
from robodyn_ros.compile import sign
from robodyn_ros.control import Law, Parameters
from robodyn_ros.description.model import Limits
from robodyn_ros.description.resources import robot_file, shipped_robots
from robodyn_ros.simulation.commands import Drive
from robodyn_ros.simulation.contact_world import ContactPoint, World
from robodyn_ros.simulation.fast_motion import angular_speed_sum, max_speed, resolved_speed
from robodyn_ros.simulation.plant import Plant, default_position
from robodyn_ros.simulation.rollout import ClosedLoop
from robodyn_ros.simulation.surfaces import Material, Plane

PERIOD = 0.01


def effort(values):
    return Drive(values, *np.zeros((2, len(values))))


def balance(plant):
    """Energy that came from nowhere since the start, plus a constant [J]."""
    energy = plant.energy
    stored = energy.kinetic + energy.potential + energy.magnetic
    lost = energy.viscous_loss + energy.friction_loss + energy.stop_loss + energy.winding_heat
    return stored + lost - energy.drive_work - energy.external_work


def run(plant, acting, seconds):
    """The greatest energy that came from nowhere, relative to what was around; and the greatest speed."""
    start, worst, fastest, around = balance(plant), 0.0, 0.0, 1.0
    for k in range(round(seconds / PERIOD)):
        plant.advance(effort(acting(k)), round(PERIOD / plant.step))
        around = max(around, plant.energy.kinetic)
        worst, fastest = max(worst, balance(plant) - start), max(fastest, angular_speed_sum(plant.model, plant.v))
    return worst / around, fastest


@pytest.mark.parametrize("step", [1e-3, 1e-4])
@pytest.mark.parametrize("integrator", ["semi_implicit_euler", "explicit_euler", "runge_kutta"])
def test_the_pendulum_that_reached_1e51_brakes(integrator, step):
    """planar_2r at its effort limits for 3 s, then braked."""
    robot = Robot.from_urdf(robot_file("planar_2r"))
    plant, limit = Plant(robot, step, integrator=integrator), robot.model.effort_limit
    seconds = 3.0 if step == 1e-3 else 1.0
    created, fastest = run(plant, lambda k: limit, seconds)
    assert created < 0.2 and fastest > (100.0 if integrator == "runge_kutta" else 0.9 * resolved_speed(plant.model))
    fast = plant.energy.kinetic
    created, _ = run(plant, lambda k: -limit * np.sign(plant.v), 0.5)
    assert created < 0.2 and plant.energy.kinetic < 0.9 * fast


def motors(n):
    return JointActuators(Actuators(DCMotor(np.full(n, 0.4), np.full(n, 0.1), np.full(n, 1e-6), np.full(n, 4e-3)),
                                    GearTrain(np.full(n, 3.0))),
                          limits=DriveLimits(voltage_limit=48.0, current_limit=40.0))


def floor(robot):
    tip = robot.dynamics().forward_kinematics(default_position(robot))[:3, 3]
    plane = Plane("floor", Material(2e4, 0.2, 0.3), np.eye(3), np.array([0.0, 0.0, tip[2] - 0.05]))
    return World((plane,), (ContactPoint(robot.tip_link, np.zeros(3), 0.01),))


KINDS = {
    "ideal": lambda robot: {},
    "explicit": lambda robot: {"integrator": "explicit_euler"},
    "motors": lambda robot: {"actuators": motors(robot.n)},
    "dry": lambda robot: {"friction": Friction(np.zeros(robot.n), np.full(robot.n, 0.2))},
    "touching": lambda robot: {"world": floor(robot)},
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", few(shipped_robots(), ("scara",)))
def test_random_bounded_efforts_create_no_energy(name, kind):
    """With a wrench in between; a robot that gets too fast ends with an error and keeps its last good state."""
    robot, rng = Robot.from_urdf(robot_file(name)), np.random.default_rng(3)
    plant, limit = Plant(robot, **KINDS[kind](robot)), np.minimum(robot.model.effort_limit, 100.0)
    signs = rng.choice([-1.0, 1.0], (20, robot.n))
    signs[:5] = 1.0
    try:
        created, _ = run(plant, lambda k: limit * signs[k // 10], 0.8)
        plant.set_wrench_tip([80.0, 50.0, -80.0, 2.0, 2.0, 2.0])
        created = max(created, run(plant, lambda k: limit * signs[8 + k // 10], 0.4)[0])
        plant.set_wrench_tip(np.zeros(6))
        created = max(created, run(plant, lambda k: -limit * np.sign(plant.v), 0.4)[0])
        assert created < (1.0 if kind == "explicit" else 0.3)  # that method gains energy at any speed
    except SimulationError as error:
        assert "too fast for steps of 0.001 s: expected angular speeds of at most 10000 rad/s" in str(error)
    assert angular_speed_sum(plant.model, plant.v) <= max_speed(plant.model)
    assert np.isfinite([*plant.q, *plant.v, *plant.energy]).all()


def weightless():
    robot = Robot.from_urdf(robot_file("planar_2r"))
    joints = tuple(replace(joint, limits=Limits(), damping=0.0, friction=0.0) for joint in robot.model.joints)
    return Robot(replace(robot.model, joints=joints, gravity=np.zeros(3)))


@pytest.mark.parametrize("compiled", [True, False])
def test_too_fast_a_robot_ends_the_simulation_until_it_is_reset(compiled):
    plant = Plant(weightless(), compiled=compiled)
    plant.advance(effort(np.ones(2)), 3)
    with pytest.raises(SimulationError, match="'planar_2r' ends at 0.003 s, too fast for steps of 0.001 s: expected an"
                       "gular speeds of at most 10000 rad/s in sum, received .* rad/s .*; use smaller efforts or"):
        good = plant.q.tolist(), plant.v.tolist(), plant.steps
        plant.advance(effort(np.full(2, 1e9)), 1)
    assert (plant.q.tolist(), plant.v.tolist(), plant.steps) == good
    plant.reset()
    plant.advance(effort(np.ones(2)), 5)
    fresh = Plant(weightless(), compiled=compiled)
    fresh.advance(effort(np.ones(2)), 5)
    assert plant.v.tolist() == fresh.v.tolist()


def test_a_state_beyond_the_resolved_speed_coasts_without_gain_or_loss():
    plant = Plant(weightless())
    plant.set_state([0.1, 0.2], [150.0, -90.0])
    start = plant.energy.kinetic
    plant.advance(effort(np.zeros(2)), 1000)
    assert plant.energy.kinetic == pytest.approx(start, rel=1e-9)
    assert plant.advance(effort(np.zeros(2)), 0) is None and plant.energy.kinetic == pytest.approx(start, rel=1e-9)


@pytest.mark.parametrize("integrator", few(["semi_implicit_euler", "adaptive"], 1))
def test_a_prepared_plant_compiles_nothing_once_it_runs(integrator, monkeypatch):
    """In real time, a compilation on the way is a gap in the joint states."""
    robot = Robot.from_urdf(robot_file("planar_2r"))
    plant = Plant(robot, 1e-3, integrator=integrator)
    plant.prepare()
    while plant.prepare_further():
        pass
    monkeypatch.setattr("robodyn_ros.simulation.plant.compile_procedure", None)
    run(plant, lambda k: robot.model.effort_limit, 1.0)
    assert angular_speed_sum(plant.model, plant.v) > 50.0
    plant.advance(Drive(np.zeros(2), np.ones(2), np.zeros(2)), 10)  # damping, as the safe behaviour commands it
    assert np.isfinite(plant.v).all()


def test_slow_motions_are_stepped_as_ever_after_fast_ones():
    robot, limit = weightless(), 50.0
    plant = Plant(robot)
    plant.set_state([0.0, 0.0], [130.0, 0.0])
    for _ in range(2000):
        plant.advance(effort(-limit * np.sign(plant.v)), 2)
    assert angular_speed_sum(plant.model, plant.v) < 0.5 * resolved_speed(plant.model)
    other = Plant(robot)
    other.set_state(plant.q, plant.v)
    q, v = plant.q, plant.v
    for each in (plant, other):
        each.set_state(q, v)
        each.advance(effort(np.ones(2)), 20)
    assert plant.v.tolist() == other.v.tolist()


class Pushes(Law[Parameters, None, None]):
    """Full efforts, alternating; a robot without limits gets faster and faster."""

    @staticmethod
    def law(dynamics, parameters, state, reference):
        return 30.0 * sign(np.sin(7.0 * state.time + np.arange(len(state.q))))


class SlowlyPushes(Pushes):
    """The same in Python."""

    @staticmethod
    def law(dynamics, parameters, state, reference):
        return Pushes.law(dynamics, parameters, state, reference) if state.time >= 0.0 else None


@pytest.mark.parametrize("law", few([Pushes, SlowlyPushes], 1))
def test_rollouts_divide_the_steps_that_a_plant_divides(law):
    """Tick by tick, bit for bit; alone and beside slow robots in a batch."""
    robot = weightless()
    loop = ClosedLoop(law(robot))
    scenario = loop.scenario(duration=0.4, v=[45.0, 2.0])
    found, plant = loop.run(scenario), Plant(robot)
    plant.set_state(scenario.q, scenario.v)
    for k in range(len(found.time)):
        np.testing.assert_array_equal(found.q[k], plant.q)
        np.testing.assert_array_equal(found.v[k], plant.v)
        plant.advance(effort(found.effort[k]), 2)
    speeds = np.array([angular_speed_sum(plant.model, v) for v in found.v])
    assert (speeds > resolved_speed(plant.model)).any() and (speeds < resolved_speed(plant.model)).any()
    np.testing.assert_array_equal(found.score.v, plant.v)
    loop = ClosedLoop(law(robot), varied=("friction.viscous",))
    damping, starts = np.array([[5.0, 5.0]] * 10), np.tile(scenario.v, (10, 1))
    damping[4] = 0.0
    scores = loop.scores(scenario, samples={"friction.viscous": damping, "start.v": starts})
    np.testing.assert_allclose(scores.v[4], found.score.v, rtol=1e-6)
    assert (np.abs(scores.v[[0, 9]]) < 30.0).all() and np.isfinite(scores.rms_effort).all()
    one = loop.scores(scenario, samples={"friction.viscous": damping[4:5], "start.v": starts[4:5]})
    np.testing.assert_array_equal(one.v[0], scores.v[4])


def test_rollouts_that_get_too_fast_are_told():
    robot = weightless()
    loop = ClosedLoop(Pushes(robot))
    scenario = loop.scenario(duration=0.1)
    fast = replace(scenario, v=np.array([20_000.0, 0.0]))
    with pytest.raises(SimulationError, match="under Pushes: too fast for steps of 0.001 s: expected angular speeds of "
                       "at most 10000 rad/s in sum, received .* rad/s; use other gains or a smaller step"):
        loop.run(fast)
    loop = ClosedLoop(Pushes(robot), varied=())
    scores = loop.scores(scenario, samples={"start.v": [[0.0, 0.0], [20_000.0, 0.0], [1.0, 0.0]]})
    assert np.isnan(scores.v[1]).all() and np.isnan(scores.rms_effort[1]).all()
    assert np.isfinite(scores.v[[0, 2]]).all() and np.isfinite(scores.worst_effort[[0, 2]]).all()


def test_what_is_resolved():
    robot = weightless()
    assert resolved_speed(Plant(robot).model) == pytest.approx(50.0)
    assert resolved_speed(Plant(robot, integrator="adaptive").model) == np.inf
    arm = Plant(Robot.from_urdf(robot_file("arm6"))).model
    assert angular_speed_sum(arm, np.array([0.0, 0.0, 0.0, 0.0, 0.0, 2000.0])) < 50.0  # a wrist about its own axis
    assert angular_speed_sum(arm, np.array([0.0, 60.0, 0.0, 0.0, 0.0, 0.0])) > 50.0
