# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Every controller swapped for every other one while the arm moves, over DDS, in lockstep: no cycle is missed."""

import time

import numpy as np
import pytest
from controller_rig import Rig, trajectory
from geometry_msgs.msg import PoseStamped
from ros_process import RosTest
from sensor_msgs.msg import JointState

from robodyn_ros import Robot
from robodyn_ros.control.contract.controller import JointReference
from robodyn_ros.control.plugins.registry import law_names, load_controller
from robodyn_ros.description.resources import robot_file
from robodyn_ros.nodes.common.messages import read_stamp
from robodyn_ros.nodes.common.poses import to_pose

ROBOT = Robot.from_urdf(robot_file("planar_2r"))
FOLLOWS = {name: load_controller(name).follows for name in law_names()}
TURNING_POINTS = np.array([[0.9, -1.6], [0.3, -0.9]])
TURNING_POSES = ROBOT.dynamics().batch.forward_kinematics(TURNING_POINTS)
FASTEST = 20.0  # [rad/s]
LONGEST_MOTION = 3.0  # of a motion, while nothing else keeps the machine busy [s]


def farthest(points, here):
    """Which of some points is farthest."""
    return int(np.linalg.norm(points - here, axis=1).argmax())


def every_ordered_pair(names):
    """A closed tour of names in which each follows each other one exactly once (Hierholzer's algorithm)."""
    left = {name: [other for other in names if other != name] for name in names}
    stack, tour = [names[0]], []
    while stack:
        if left[stack[-1]]:
            stack.append(left[stack[-1]].pop())
        else:
            tour.append(stack.pop())
    return tour[::-1]


def test_the_tour_has_every_ordered_pair_once():
    tour = every_ordered_pair(list("abcd"))
    pairs = list(zip(tour, tour[1:], strict=False))
    assert len(pairs) == len(set(pairs)) == 4 * 3


@pytest.fixture
def rig():
    settings = {"hardware": {"lockstep_speed_limit": 3.0}, "controller": {"state_publish_rate": 200.0}}
    with RosTest() as ros, Rig(ros, "planar_2r", "/swaps", **settings) as rig:
        rig.poses = ros.publisher(PoseStamped, "/swaps/controller/pose")
        yield rig


def send_away(rig, follows):
    """Send the arm to the turning point that is farthest."""
    here = np.array(rig.next().feedback.positions)
    if follows is JointReference:
        rig.publisher.publish(trajectory([1.5], [TURNING_POINTS[farthest(TURNING_POINTS, here)]]))
    elif follows is not None:
        # Where the tip is not: the arm may have come to a place with its elbow on the other side.
        tip = ROBOT.dynamics().forward_kinematics(here)
        pose = PoseStamped(pose=to_pose(TURNING_POSES[farthest(TURNING_POSES[:, :3, 3], tip[:3, 3])]))
        pose.header.frame_id = ROBOT.model.base_link
        rig.poses.publish(pose)


def set_in_motion(rig, before):
    """Return while the arm moves; a motion that was over before this process saw it is followed by another one."""
    def moves():
        nonlocal seen, again
        new = rig.states[seen:]
        seen += len(new)
        if time.monotonic() > again:
            send_away(rig, FOLLOWS[before])
            again = time.monotonic() + LONGEST_MOTION
        return any(np.abs(state.feedback.velocities).max() > 0.02 for state in new)

    send_away(rig, FOLLOWS[before])
    seen, again = len(rig.states), time.monotonic() + LONGEST_MOTION
    rig.ros.wait_for(moves, f"motion of {before}")


@pytest.mark.long
def test_every_ordered_pair_of_controllers_is_swapped_in_motion(rig):
    ros, limit = rig.ros, ROBOT.model.effort_limit
    missed = "periods without a new command"
    missed_before = rig.status(lambda *_: True, "hardware")[1][missed]
    commands = ros.record(JointState, "/swaps/joint_commands", 5000)
    tour = every_ordered_pair(list(FOLLOWS))
    rig.set(controller=tour[0])
    for before, after in zip(tour, tour[1:], strict=False):
        if FOLLOWS[before] is not None:
            set_in_motion(rig, before)
        rig.set(controller=after)
        swapped = rig.next(f"{before} to {after}", lambda s, name=after: s.controller == name)
        assert np.abs(swapped.feedback.velocities).max() < FASTEST, (before, after)
    ros.wait_for(lambda: read_stamp(commands[-1].header.stamp) >= read_stamp(swapped.header.stamp), "commands")
    assert rig.status(lambda *_: True, "hardware")[1][missed] == missed_before
    efforts = np.array([c.effort for c in commands])
    assert np.isfinite(efforts).all() and (np.abs(efforts) <= limit).all()
    _, values = rig.status(lambda *_: True)
    assert "dropped controllers" not in values and "new starts" not in values
