"""Wrenches of messages against what they do to the plant."""

import math

import numpy as np
import pytest
from geometry_msgs.msg import Vector3, Wrench, WrenchStamped
from std_msgs.msg import Header

from robodyn_ros import Robot
from robodyn_ros.nodes.common.messages import MessageError
from robodyn_ros.nodes.hardware.external_wrenches import ExternalWrenches
from robodyn_ros.resources import robot_file
from robodyn_ros.simulation.commands import Drive
from robodyn_ros.simulation.plant import Plant

FORCE, TORQUE = (1.0, -2.0, 3.0), (0.5, 0.25, -0.75)
STEP = 1e-5


@pytest.fixture(scope="module")
def robot():
    return Robot.from_urdf(robot_file("arm6"))


def message(link, force=FORCE, torque=TORQUE):
    return WrenchStamped(header=Header(frame_id=link),
                         wrench=Wrench(force=Vector3(**dict(zip("xyz", force, strict=True))),
                                       torque=Vector3(**dict(zip("xyz", torque, strict=True)))))


def make(robot):
    plant = Plant(robot, STEP, np.linspace(-1.0, 1.0, robot.n))
    return plant, ExternalWrenches(plant)


def external_work_rates(plant, wrenches):
    """Joint accelerations that the wrenches cause, from rest and against gravity, over one step."""
    none = np.zeros(plant.robot.n)
    gravity = plant.robot.dynamics().gravity(plant.q)
    wrenches.advance()
    plant.advance(Drive(gravity, none, none))
    acceleration = plant.v / STEP
    plant.reset()
    return acceleration


def test_a_wrench_is_about_the_links_origin_and_in_its_axes(robot):
    plant, wrenches = make(robot)
    link = "forearm_link"
    wrenches.put_in_force(*wrenches.read(message(link)))
    dynamics, q = robot.dynamics(), plant.q
    pose = dynamics.forward_kinematics(q, link)
    in_base_axes = np.concatenate([pose[:3, :3] @ FORCE, pose[:3, :3] @ TORQUE])
    effort = dynamics.jacobian(q, link).T @ in_base_axes
    expected = np.linalg.solve(dynamics.mass_matrix(q), effort)
    assert external_work_rates(plant, wrenches) == pytest.approx(expected, rel=1e-6, abs=1e-9)


def test_wrenches_on_several_links_add_up_until_they_are_replaced_or_cleared(robot):
    plant, wrenches = make(robot)
    links = ("tool0", "upper_arm_link")

    def push(*forces):
        for link, force in zip(links, forces, strict=True):
            wrenches.put_in_force(*wrenches.read(message(link, force, (0.0, 0.0, 0.0))))
        return external_work_rates(plant, wrenches)

    none = (0.0, 0.0, 0.0)
    first, second, both = push(FORCE, none), push(none, FORCE), push(FORCE, FORCE)
    assert np.abs(first).max() > 1e-3
    assert both == pytest.approx(first + second, rel=1e-6, abs=1e-9)
    assert push(FORCE, none) == pytest.approx(first, rel=1e-9, abs=1e-12)
    assert push(none, none) == pytest.approx(np.zeros(robot.n), abs=1e-9)
    assert len(wrenches) == 0


def test_a_wrench_ends_after_its_timeout(robot):
    plant, wrenches = make(robot)
    wrenches.timeout = 3
    wrenches.put_in_force(*wrenches.read(message("tool0")))
    pushed = [bool(np.abs(external_work_rates(plant, wrenches)).max() > 1e-3) for _ in range(5)]
    assert pushed == [True, True, True, False, False]


@pytest.mark.parametrize(("bad", "reason", "text"), [
    (message("forarm_link"), "unknown link", "robot 'arm6' has no link 'forarm_link': did you mean 'forearm_link'"),
    (message(""), "unknown link", "external_wrench: header.frame_id: robot 'arm6' has no link ''"),
    (message("tool0", (math.nan, 0.0, 0.0)), "not finite", "external_wrench on 'tool0': expected finite numbers"),
    (message("tool0", torque=(0.0, math.inf, 0.0)), "not finite", "inf"),
])
def test_bad_wrenches_are_refused(robot, bad, reason, text):
    _, wrenches = make(robot)
    with pytest.raises(MessageError, match=text) as caught:
        wrenches.read(bad)
    assert caught.value.reason == reason
