# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""The motion of a gripper beside the arm: neither disturbs the other, and its efforts have a limit of their own."""

import numpy as np
import pytest
from recorded_loop import RecordedLoop
from urdf_parts import joint, link

from robodyn_ros import InputError, Robot
from robodyn_ros.control import JointReference
from robodyn_ros.control.laws.damping import Damping
from robodyn_ros.control.laws.pd import PD
from robodyn_ros.control.laws.task_space_pd import TaskSpacePD
from robodyn_ros.control.plugins.plugin import Plugin
from robodyn_ros.control.references.joint_trajectory import JointTrajectory, Points
from robodyn_ros.control.runtime.measurement import Measurement
from robodyn_ros.control.runtime.requests import Follow, Grip, HoldStill, NewSettings, Release, Stop, Swap
from robodyn_ros.description.resources import robot_file

FINGER = joint("finger_joint", "tip", "finger", "prismatic", axis="0 1 0",
               limit='<limit lower="0" upper="0.04" effort="20" velocity="0.2"/>') + link("finger")
ARM = robot_file("planar_2r").read_text(encoding="utf-8")
ROBOT = Robot.from_urdf_text(ARM.replace("</robot>", f"{FINGER}</robot>"), tip_link="tip")
HERE = np.array([0.3, -0.4, 0.01])
PERIOD = 10_000_000  # [ns]
ONLY_FINGER = np.array([False, False, True])


class Rig:
    """A loop on a robot that stands still wherever its reference is."""

    def __init__(self, law=PD):
        self.stamp = 0
        self.loop = RecordedLoop(ROBOT, Plugin("law", law(ROBOT)), Plugin("damping", Damping(ROBOT)), 0.5)
        self.ticks()

    def ticks(self, count=1, q=HERE):
        for _ in range(count):
            self.stamp += PERIOD
            tick = self.loop.tick(Measurement(self.stamp, np.array(q), np.zeros(3)))
        return tick

    def arm(self, q, seconds, joints=("joint1", "joint2"), later=0.0):
        begin = self.loop.trajectory_start(None if not later else self.stamp + round(later * 1e9), joints=joints)
        goal = np.where(np.isin(ROBOT.joint_names, joints), q, begin.reference.q)
        motion = JointTrajectory(begin.reference, begin.start_time, Points.from_arrays([seconds], [goal]), begin.origin)
        self.loop.request(Follow(motion, not later, tuple(joints)))

    def grip(self, position, seconds, effort=np.inf):
        begin, rest = self.loop.trajectory_start(None, joints=["finger_joint"]), np.zeros(3)
        start = JointReference(HERE, rest, rest)
        motion = JointTrajectory(start, begin.start_time, Points.from_arrays([seconds], [[9.0, 9.0, position]]))
        return self.loop.request(Grip(ONLY_FINGER, motion, np.array([np.inf, np.inf, effort]))).result


def test_arm_and_gripper_move_beside_each_other():
    rig, alone = Rig(), Rig()
    for each in (rig, alone):
        each.arm([1.0, 0.5, 0.0], 1.0)
    rig.ticks(20), alone.ticks(20)
    followed = rig.grip(0.03, 0.4)
    for _ in range(60):
        both, one = rig.ticks().reference, alone.ticks().reference
        np.testing.assert_array_equal([each[:2] for each in both], [each[:2] for each in one])
    assert both.q[2] == 0.03 and one.q[2] == pytest.approx(HERE[2]) and rig.loop.grip is followed
    rig.loop.request(HoldStill())
    held = rig.ticks().reference.q
    np.testing.assert_array_equal(held, [*HERE[:2], 0.03], "the arm stops, the gripper holds on")
    rig.loop.request(Swap(Plugin("other", PD(ROBOT))))
    assert rig.ticks(100).reference.q[2] == 0.03, "through a swap, too"


@pytest.mark.parametrize("later", [0.0, 0.2])
def test_a_trajectory_that_names_the_joint_takes_it_over_when_it_begins(later):
    rig = Rig()
    followed = rig.grip(0.03, 0.1)
    rig.ticks(20)
    rig.arm([1.0, 0.5, 0.02], 1.0, ("joint1", "finger_joint"), later)
    assert rig.loop.grip is not followed
    path = [0.03, *(rig.ticks().reference.q[2] for _ in range(130))]
    assert path[-1] == 0.02 and np.abs(np.diff(path)).max() < 3e-4, "without a jump"
    assert later == 0.0 or path[15] == 0.03


def test_a_gripper_that_moves_does_not_end_in_the_motion_of_the_arm():
    """It closes to its limit: braked from its speed it would pass that, but no trajectory of the arm brakes it."""
    rig = Rig()
    rig.grip(0.0, 0.5)
    rig.ticks(25)
    assert rig.loop.last.reference.v[2] < -0.02
    for named, speed in ((("joint1",), 0.0), (("joint1", "finger_joint"), rig.loop.last.reference.v[2])):
        begin = rig.loop.trajectory_start(None, joints=named)
        assert begin.reference.v[2] == pytest.approx(speed)


def test_its_efforts_are_limited_and_the_arm_has_its_own_limits():
    rig = Rig()
    off = HERE + [0.04, 0.0, 0.0]
    rig.grip(0.04, 0.05, effort=0.01)
    tick = rig.ticks(10, off)
    assert tick.effort[2] == 0.01 and tick.saturated and abs(tick.effort[0]) > 1.0
    rig.grip(0.04, 0.05)
    assert rig.ticks(10, off).effort[2] > 0.02


def test_a_stop_and_a_new_start_end_it():
    rig = Rig()
    rig.grip(0.04, 0.05, effort=0.01)
    rig.ticks(10)
    rig.loop.request(Stop())
    assert rig.ticks().mode.value == "stopped" and rig.loop.grip is None
    with pytest.raises(InputError, match="stopped"):
        rig.grip(0.02, 0.05)
    rig.loop.request(Release())
    assert rig.ticks().reference.q[2] == HERE[2]
    rig.grip(0.04, 0.05)
    rig.stamp += 10**9  # a gap
    assert rig.ticks().reference.q[2] == HERE[2] and rig.loop.grip is None


def test_a_law_of_the_tip_follows_the_gripper_too_and_one_that_follows_nothing_does_not():
    rig = Rig(TaskSpacePD)
    rig.grip(0.03, 0.1)
    reference = rig.ticks(20).reference
    assert reference.q[2] == 0.03 and reference.position.any()
    with pytest.raises(InputError, match="follows none"):
        Rig(Damping).grip(0.03, 0.1)


def test_speed_scaling_slows_it_down():
    rig = Rig()
    rig.loop.request(NewSettings(speed_scaling=0.5))
    rig.ticks(100)
    rig.grip(0.03, 0.4)
    reference = rig.ticks(20).reference
    assert reference.q[2] < 0.029 and reference.v[2] > 0.0
    assert rig.ticks(80).reference.q[2] == 0.03
