# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Poses, Cartesian trajectories and wrenches over DDS, followed by controllers in the tip link's coordinates."""

import numpy as np
import pytest
from builtin_interfaces.msg import Duration
from controller_rig import Rig, trajectory
from geometry_msgs.msg import PoseStamped, WrenchStamped
from scipy.spatial.transform import Rotation

from robodyn_interfaces.msg import CartesianSegment, CartesianTrajectory
from robodyn_ros import Robot
from robodyn_ros.description.resources import robot_file
from robodyn_ros.nodes.common.poses import from_arrays, set_vector, to_arrays, to_vector

ROBOT = Robot.from_urdf(robot_file("arm6"))
BASE = ROBOT.model.base_link
ELBOW_BENT = [0.3, -1.2, 1.4, -0.4, 0.6, 0.2]
NAN = float("nan")
LINE, CIRCLE = CartesianSegment.LINE, CartesianSegment.CIRCLE


class TipRig(Rig):
    """A rig whose arm starts bent, under a controller of the tip link's pose."""

    def __enter__(self):
        super().__enter__()
        for message_type, name in ((PoseStamped, "pose"), (CartesianTrajectory, "cartesian_trajectory"),
                                   (WrenchStamped, "wrench")):
            setattr(self, name, self.ros.publisher(message_type, f"{self.namespace}/controller/{name}"))
        return self

    def bend(self, controller):
        """Hold a pose far from singular ones; return its position and rotation."""
        self.set(controller="computed_torque")
        self.publisher.publish(trajectory([1.0], [ELBOW_BENT], ROBOT.joint_names))
        self.next("the start", lambda s: list(s.reference.positions) == ELBOW_BENT
                  and np.abs(s.feedback.velocities).max() < 1e-3)
        self.set(controller=controller)
        state = self.next(controller, lambda s: s.controller == controller).cartesian[0]
        position, quaternion = to_arrays(state.reference)
        pose = ROBOT.dynamics().forward_kinematics(np.array(ELBOW_BENT))
        np.testing.assert_allclose(position, pose[:3, 3], atol=0.01)
        return position, Rotation.from_quat(quaternion)

    def rejected(self, topic):
        _, values = self.status(lambda *_: True)
        return int(values.get(f"rejected {topic}", 0))

    def segments(self, *segments, frame=BASE):
        message = CartesianTrajectory(segments=[segment(**fields) for fields in segments])
        message.header.frame_id = frame
        self.cartesian_trajectory.publish(message)


def segment(shape=LINE, position=(0.0, 0.0, 0.0), center=(0.0, 0.0, 0.0), axis=(0.0, 0.0, 0.0), seconds=1.0, **fields):
    message = CartesianSegment(shape=shape, duration=Duration(sec=int(seconds), nanosec=round(seconds % 1 * 1e9)))
    for name, value in (("position", position), ("center", center), ("axis", axis)):
        set_vector(getattr(message, name), np.array(value, dtype=float))
    for name, value in fields.items():
        setattr(message, name, value)
    return message


def pose_message(position, rotation, frame=BASE):
    message = PoseStamped(pose=from_arrays(np.array(position, dtype=float), rotation.as_quat()))
    message.header.frame_id = frame
    return message


def wrench_message(force, frame=BASE):
    message = WrenchStamped()
    message.header.frame_id = frame
    set_vector(message.wrench.force, np.array(force, dtype=float))
    return message


@pytest.fixture(scope="module")
def rig(ros):
    with TipRig(ros, "arm6", "/cartesian") as rig:
        yield rig
        for node in rig.nodes.values():
            node.stop()


def test_a_pose_is_gone_to_and_the_speeds_are_kept(rig):
    rig.set(**{"cartesian.speed": 0.1})
    position, rotation = rig.bend("resolved_acceleration")
    goal = position + [0.05, -0.08, 0.06]
    turned = Rotation.from_euler("z", 0.3) * rotation
    start = len(rig.states)
    rig.pose.publish(pose_message(goal, turned))
    end = rig.next("the goal", lambda s: s.cartesian and np.allclose(to_vector(s.cartesian[0].reference.position), goal)
                   and np.linalg.norm(to_vector(s.cartesian[0].reference_twist.linear)) < 1e-9
                   and np.abs(s.feedback.velocities).max() < 1e-2).cartesian[0]
    np.testing.assert_allclose(to_vector(end.feedback.position), goal, atol=5e-3)
    np.testing.assert_allclose(to_vector(end.position_error), goal - to_vector(end.feedback.position), atol=1e-12)
    assert (turned * Rotation.from_quat(to_arrays(end.feedback)[1]).inv()).magnitude() < 0.02
    missing = Rotation.from_rotvec(to_vector(end.orientation_error)) * Rotation.from_quat(to_arrays(end.feedback)[1])
    assert (missing * Rotation.from_quat(to_arrays(end.reference)[1]).inv()).magnitude() < 1e-9
    speeds = [np.linalg.norm(to_vector(s.cartesian[0].reference_twist.linear)) for s in rig.states[start:]]
    assert 0.05 < max(speeds) < 0.1001
    assert not end.reference_wrench.force.x and not rig.next().reference.positions


def test_a_line_and_a_circle_one_after_the_other(rig):
    position, rotation = rig.bend("resolved_acceleration")
    corner, center = position + [0.0, 0.1, 0.0], position + [0.0, 0.1, 0.05]
    start = len(rig.states)
    rig.segments({"position": corner}, {"shape": CIRCLE, "center": center, "axis": (2.0, 0.0, 0.0), "angle": 2 * np.pi})
    rig.next("the circle", lambda s: s.cartesian[0].reference.position.z > position[2] + 0.09)
    rig.next("the end", lambda s: np.allclose(to_vector(s.cartesian[0].reference.position), corner, atol=1e-9)
             and not to_vector(s.cartesian[0].reference_twist.linear).any())
    states = [s.cartesian[0] for s in rig.states[start:]]
    reference = np.array([to_vector(s.reference.position) for s in states])
    first = int(np.argmax(np.isclose(reference[:, 1], corner[1], atol=1e-6)))  # the corner is reached
    np.testing.assert_allclose(np.cross(reference[:first] - position, corner - position), 0.0, atol=1e-9)
    np.testing.assert_allclose(np.linalg.norm(reference[first:] - center, axis=1), 0.05, atol=1e-6)
    np.testing.assert_allclose(reference[first:, 0], center[0], atol=1e-9)
    assert reference[first:, 1].max() > center[1] + 0.04 and reference[first:, 1].min() < center[1] - 0.04
    assert max(np.linalg.norm(to_vector(s.position_error)) for s in states) < 0.01
    for state in states:
        assert (rotation * Rotation.from_quat(to_arrays(state.reference)[1]).inv()).magnitude() < 1e-6


def test_an_empty_trajectory_stops_the_motion(rig):
    position, _ = rig.bend("resolved_acceleration")
    rig.segments({"position": position + [0.0, 0.2, 0.0], "seconds": 30.0})
    rig.next("motion", lambda s: s.cartesian[0].reference.position.y > position[1] + 0.02)
    rig.segments()
    stopped = rig.next("the stop", lambda s: not to_vector(s.cartesian[0].reference_twist.linear).any())
    assert position[1] + 0.01 < stopped.cartesian[0].reference.position.y < position[1] + 0.18


def test_a_wrench_is_followed_until_the_next_start(rig):
    rig.bend("force")
    rig.wrench.publish(wrench_message([1.0, 2.0, 3.0]))
    rig.next("the wrench", lambda s: list(to_vector(s.cartesian[0].reference_wrench.force)) == [1.0, 2.0, 3.0])
    before = rig.rejected("wrench")
    rig.wrench.publish(wrench_message([NAN, 0.0, 0.0]))
    rig.wrench.publish(wrench_message([1.0, 0.0, 0.0], "tool"))
    rig.status(lambda _, values: int(values.get("rejected wrench", 0)) == before + 2)
    assert list(to_vector(rig.next().cartesian[0].reference_wrench.force)) == [1.0, 2.0, 3.0]
    rig.set(controller="computed_torque")
    rig.wrench.publish(wrench_message([1.0, 0.0, 0.0]))
    rig.status(lambda _, values: int(values.get("rejected wrench", 0)) == before + 3)


def test_bad_messages_are_rejected_and_counted(rig):
    position, rotation = rig.bend("resolved_acceleration")
    held = rig.next().cartesian[0].reference
    before = {topic: rig.rejected(topic) for topic in ("pose", "cartesian_trajectory")}
    no_direction = pose_message(position, rotation)
    no_direction.pose.orientation.w = no_direction.pose.orientation.x = 0.0
    bad = {
        "pose": [pose_message(position, rotation, ""), pose_message(position, rotation, "map"),
                 pose_message([NAN, 0.0, 0.0], rotation), no_direction],
        "cartesian_trajectory": [{"shape": 7}, {"shape": CIRCLE, "center": position, "angle": 1.0}, {"seconds": -1.0},
                                 {"position": (NAN, 0.0, 0.0)},
                                 {"shape": CIRCLE, "center": position, "axis": (0.0, 0.0, 1.0), "angle": 1.0}],
    }
    for message in bad["pose"]:
        rig.pose.publish(message)
    for fields in bad["cartesian_trajectory"]:
        rig.segments({"position": position}, fields)
    expected = {topic: before[topic] + len(messages) for topic, messages in bad.items()}
    rig.status(lambda _, values: all(int(values.get(f"rejected {topic}", 0)) == n for topic, n in expected.items()))
    assert rig.next().cartesian[0].reference == held
    assert f"expected the base link, '{BASE}'" in rig.nodes["controller"].output()


def test_each_kind_of_trajectory_needs_a_controller_that_follows_it(rig):
    position, rotation = rig.bend("resolved_acceleration")
    rig.publisher.publish(trajectory([1.0], [ELBOW_BENT], ROBOT.joint_names))
    rig.nodes["controller"].wait_for_output("follows a TipReference, not a JointReference")
    rig.set(controller="pd_gravity")
    before = rig.rejected("pose")
    rig.pose.publish(pose_message(position, rotation))
    rig.status(lambda _, values: int(values.get("rejected pose", 0)) == before + 1)
    rig.publisher.publish(trajectory([1.0], [[0.0] * 6], ROBOT.joint_names))
    rig.next("the joints' goal", lambda s: s.reference.positions and not any(s.reference.positions))


def test_joints_beside_the_tips_chain_are_moved_by_name(ros):
    wrist, elbow = list(ROBOT.joint_names[3:]), ROBOT.joint_names[2]
    settings = {"tip_link": "forearm_link", "controller": "operational_space"}
    with Rig(ros, "arm6", "/beside", controller=settings) as rig:
        held = rig.next("the law", lambda s: s.controller == "operational_space").cartesian[0].reference
        rig.publisher.publish(trajectory([1.0], [[0.4, -0.3, 0.2]], wrist))
        moved = rig.next("the goal", lambda s: np.allclose(s.feedback.positions[3:], [0.4, -0.3, 0.2], atol=1e-3))
        assert moved.cartesian[0].reference == held and not moved.uncompiled_reason
        rig.publisher.publish(trajectory([1.0], [[0.1]], [elbow]))
        rig.nodes["controller"].wait_for_output(f"'forearm_link', which joint '{elbow}' moves: move the tip link, or")
        assert f"By name it moves {', '.join(wrist)}" in rig.nodes["controller"].output()
        for node in rig.nodes.values():
            node.stop()
