# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""The actions of grippers over DDS: open, close, stall, limits of effort; clients of ros2_control that find them."""

import random

import pytest
from action_msgs.msg import GoalStatus
from control_msgs.action import FollowJointTrajectory, GripperCommand, ParallelGripperCommand
from control_msgs.msg import GripperCommand as Command
from controller_manager_msgs.srv import ListControllers, SwitchController
from controller_rig import NAMES, Rig, trajectory
from pal_statistics_msgs.msg import Statistics, StatisticsNames, StatisticsValues
from rclpy.action import ActionClient
from rclpy.qos import DurabilityPolicy, QoSProfile
from ros_process import RosProcess
from sensor_msgs.msg import JointState
from std_srvs.srv import Trigger
from urdf_parts import joint, link

from bench.attack.absurd import fill
from robodyn_ros.description.resources import robot_file

NAN = float("nan")
SUCCEEDED, CANCELED, ABORTED = GoalStatus.STATUS_SUCCEEDED, GoalStatus.STATUS_CANCELED, GoalStatus.STATUS_ABORTED
INERTIAL = '<inertial><mass value="0.2"/><inertia ixx="1e-4" iyy="1e-4" izz="1e-4" ixy="0" ixz="0" iyz="0"/></inertial>'
FINGERS = "".join(joint(f"{side}_joint", "tip", f"{side}_finger", "prismatic", axis=axis,
                        limit='<limit lower="0" upper="0.04" effort="20" velocity="0.2"/>', extra=extra)
                  + link(f"{side}_finger", INERTIAL) for side, axis, extra in (
    ("left", "0 1 0", '<dynamics damping="1" friction="2"/>'), ("right", "0 -1 0", '<mimic joint="left_joint"/>')))
FINGER = "left_joint"
MANAGER = "/gripping/controller_manager"
TYPES = {"joint_trajectory_controller/JointTrajectoryController": (FollowJointTrajectory, "follow_joint_trajectory"),
         "position_controllers/GripperActionController": (GripperCommand, "gripper_cmd"),
         "parallel_gripper_action_controller/GripperActionController": (ParallelGripperCommand, "gripper_cmd")}
"""Actions that the plugins of MoveIt's moveit_ros_control_interface call, by the type of the controller."""


class GripperRig(Rig):
    """An arm with a gripper whose friction holds it against less than 2 N, and clients of the actions."""

    def __enter__(self):
        super().__enter__()
        self.clients = {kind: ActionClient(self.ros.node, kind, f"{self.namespace}/{name}") for kind, name in (
            (GripperCommand, "gripper_controller/gripper_cmd"),
            (ParallelGripperCommand, "parallel_gripper_controller/gripper_cmd"),
            (FollowJointTrajectory, "controller/follow_joint_trajectory"))}
        for client in self.clients.values():
            self.ros.wait_for(client.server_is_ready, "an action")
        return self

    def __exit__(self, *arguments):
        for client in self.clients.values():
            client.destroy()
        super().__exit__(*arguments)

    def send(self, kind, **fields):
        """Send a goal; return its handle."""
        sent = self.clients[kind].send_goal_async(kind.Goal(**fields))
        self.ros.wait_for(sent.done, "the answer to a goal")
        return sent.result()

    def grip(self, position, effort=0.0):
        return self.send(GripperCommand, command=Command(position=position, max_effort=effort))

    def parallel(self, **command):
        return self.send(ParallelGripperCommand, command=JointState(**command))

    def result(self, handle):
        """The status and the result of a goal."""
        assert handle.accepted
        result = handle.get_result_async()
        self.ros.wait_for(result.done, "the result of a goal")
        return result.result().status, result.result().result

    def position(self):
        return self.next().feedback.positions[2]


@pytest.fixture(scope="module")
def rig(ros, tmp_path_factory):
    file = tmp_path_factory.mktemp("robot") / "gripping.urdf"
    file.write_text(robot_file("planar_2r").read_text(encoding="utf-8").replace("</robot>", f"{FINGERS}</robot>"))
    controller = {"controller": "pd_gravity", "gripper.goal_tolerance": 0.002,
                  f"pd_gravity.gains.{FINGER}.p": 2000.0, f"pd_gravity.gains.{FINGER}.d": 30.0}
    with GripperRig(ros, str(file), "/gripping", controller=controller) as rig:
        yield rig


@pytest.fixture
def closed(ros, rig):
    """The rig with the gripper closed, and the robot free to move."""
    ros.call(Trigger, "/gripping/controller/release")
    status, result = rig.result(rig.grip(0.0))
    assert (status, result.reached_goal, result.stalled) == (SUCCEEDED, True, False)
    return rig


def test_it_opens_and_closes_by_both_actions(closed):
    status, result = closed.result(closed.grip(0.03))
    assert (status, result.reached_goal, result.stalled) == (SUCCEEDED, True, False)
    assert result.position == pytest.approx(0.03, abs=2e-3) and result.effort > 0.0
    status, result = closed.result(closed.parallel(name=[FINGER], position=[0.01], velocity=[0.1], effort=[15.0]))
    assert (status, result.reached_goal, result.state.name) == (SUCCEEDED, True, [FINGER])
    assert result.state.position[0] == pytest.approx(0.01, abs=2e-3) and len(result.state.velocity) == 1
    status, result = closed.result(closed.parallel(position=[0.02]))
    assert status == SUCCEEDED and result.state.position[0] == pytest.approx(0.02, abs=2e-3), "without a name"


def test_it_stalls_where_the_limit_of_its_effort_does_not_move_it(closed):
    for allowed, expected in ((False, ABORTED), (True, SUCCEEDED)):
        closed.set(**{"gripper.allow_stalling": allowed})
        status, result = closed.result(closed.grip(0.03, 1.0))
        assert (status, result.reached_goal, result.stalled) == (expected, False, True)
        assert result.position < 0.002 and result.effort == 1.0
    assert closed.next().output[2] == 1.0, "it presses on"
    closed.set(**{"gripper.allow_stalling": False, "gripper.max_effort": 1.5})
    status, result = closed.result(closed.parallel(position=[0.03]))
    assert (status, result.stalled, result.state.effort[0]) == (ABORTED, True, 1.5)
    closed.set(**{"gripper.max_effort": 0.0})


def test_a_cancelled_goal_holds_and_a_new_one_preempts_it(closed):
    slow = closed.parallel(position=[0.04], velocity=[0.004])
    closed.next("motion", lambda state: state.feedback.positions[2] > 0.004)
    answer = slow.cancel_goal_async()
    closed.ros.wait_for(answer.done, "the answer to a cancellation")
    status, result = closed.result(slow)
    assert (status, result.reached_goal) == (CANCELED, False), result
    held = closed.next("rest", lambda state: not any(state.reference.velocities)).reference.positions[2]
    assert 0.003 < held < 0.03 and closed.next().reference.positions[2] == held
    slow = closed.parallel(position=[0.04], velocity=[0.004])
    assert closed.result(closed.grip(0.0))[0] == SUCCEEDED and closed.result(slow)[0] == ABORTED
    slow = closed.parallel(position=[0.04], velocity=[0.004])
    assert closed.ros.call(Trigger, "/gripping/controller/stop").success
    assert closed.result(slow)[0] == ABORTED and not closed.grip(0.02).accepted
    closed.nodes["controller"].wait_for_output("goal of the gripper: ended: ")


def test_a_slow_goal_that_preempts_a_fast_one_does_not_overshoot(closed):
    assert closed.result(closed.grip(0.03))[0] == SUCCEEDED
    closed.parallel(position=[0.0], velocity=[0.02])
    closed.next("motion", lambda state: state.feedback.positions[2] < 0.02)
    closed.parallel(position=[0.0], velocity=[0.0005])
    seen = len(closed.states)
    closed.ros.wait_for(lambda: len(closed.states) > seen + 100, "two seconds")
    assert min(state.reference.positions[2] for state in closed.states[seen:]) >= 0.0


def test_many_goals_that_are_a_little_ahead_move_it(closed):
    """As CRISP's Gripper streams them, each from where the gripper is."""
    client = closed.clients[GripperCommand]
    for _ in range(300):
        opened = closed.states[-1].feedback.positions[2]
        if opened > 0.03:
            break
        client.send_goal_async(GripperCommand.Goal(command=Command(position=min(opened + 0.004, 0.04))))
        closed.next(condition=lambda state, stamp=closed.states[-1].header.stamp: state.header.stamp != stamp)
    assert opened > 0.03


def test_arm_and_gripper_move_at_the_same_time(closed):
    arm = closed.send(FollowJointTrajectory, trajectory=trajectory([1.5], [[0.4, -0.3]], NAMES))
    gripper = closed.parallel(position=[0.03], velocity=[0.05])
    assert closed.result(gripper)[0] == SUCCEEDED
    status, result = closed.result(arm)
    assert status == SUCCEEDED, result.error_string
    reached = closed.next().feedback.positions
    assert reached == pytest.approx([0.4, -0.3, 0.03], abs=0.01)
    arm = closed.send(FollowJointTrajectory, trajectory=trajectory([0.5], [[0.3, -0.3, 0.01]], [*NAMES, FINGER]))
    assert closed.result(arm)[0] == SUCCEEDED
    assert closed.position() == pytest.approx(0.01, abs=5e-3), "by name, a trajectory moves it, too"


@pytest.mark.parametrize(("command", "reason"), [
    ({"position": [NAN]}, "expected finite numbers"), ({"position": [0.05]}, "point 0, joint 'left_joint'"),
    ({"position": [0.01, 0.02]}, "expected one value per joint, 1, received 2"),
    ({"position": []}, "expected one value per joint, 1, received 0"),
    ({"name": ["joint9"], "position": [0.0]}, "'joint9' is not of the gripper"),
    ({"name": ["joint1"], "position": [0.0]}, "'joint1' is not of the gripper: left_joint"),
    ({"name": [FINGER, FINGER], "position": [0.0, 0.0]}, "'left_joint'"),
    ({"position": [0.01], "effort": [-1.0]}, "effort: expected a finite number from 0 to"),
    ({"position": [0.01], "effort": [NAN]}, "expected finite numbers"),
    ({"position": [0.01], "velocity": [1.0, 2.0]}, "velocity: expected one value per joint"),
])
def test_bad_goals_are_rejected_with_one_line(closed, command, reason):
    rig, before = closed, len(closed.nodes["controller"].output())

    def lines():
        printed = rig.nodes["controller"].output()[before:].splitlines()
        return [line for line in printed if "rejected a goal of the gripper: " in line]

    assert not rig.parallel(**command).accepted
    [line] = rig.ros.wait_for(lines, "the reason")
    assert reason in line


def test_bad_commands_of_the_other_action_are_rejected_too(closed):
    assert not closed.grip(NAN).accepted and not closed.grip(-0.01).accepted and not closed.grip(0.01, -3.0).accepted
    assert not closed.grip(0.01, NAN).accepted


def test_absurd_goals_are_answered(closed):
    chance = random.Random(2)
    for _ in range(20):
        for kind in (GripperCommand, ParallelGripperCommand):
            handle = closed.send(kind, **{"command": fill(kind.Goal(), chance).command})
            if handle.accepted:
                closed.result(handle)
    assert closed.result(closed.grip(0.02))[0] == SUCCEEDED and "Traceback" not in closed.nodes["controller"].output()


def test_moveit_finds_the_actions_by_the_types_of_the_controllers(closed):
    """As MoveIt's Ros2ControlManager: list, look for types that its plugins know, take joints, connect, switch."""
    rig = closed
    listed = {each.name: each for each in rig.ros.call(ListControllers, f"{MANAGER}/list_controllers").controller}
    handles = {name: TYPES[each.type] for name, each in listed.items() if each.type in TYPES}
    assert handles == {"controller": TYPES["joint_trajectory_controller/JointTrajectoryController"],
                       "gripper_controller": (GripperCommand, "gripper_cmd"),
                       "parallel_gripper_controller": (ParallelGripperCommand, "gripper_cmd")}
    for name, (kind, action) in handles.items():
        client = ActionClient(rig.ros.node, kind, f"/gripping/{name}/{action}")
        rig.ros.wait_for(client.server_is_ready, f"{name}/{action}")
        client.destroy()
        each = listed[name]
        references = [used for chain in each.chain_connections for used in listed[chain.name].reference_interfaces]
        joints = {used.partition("/")[0] for used in (*each.required_command_interfaces, *references)}
        assert joints >= ({"joint1", "joint2", FINGER} if name == "controller" else {FINGER})
        assert name == "controller" or joints == {FINGER}
        assert each.state == "active" and len(each.chain_connections) < 2
    request = SwitchController.Request(activate_controllers=list(handles), strictness=SwitchController.Request.STRICT)
    assert rig.ros.call(SwitchController, f"{MANAGER}/switch_controller", request).ok


def test_plotjuggler_gets_the_values_of_interfaces_and_ticks(ros, closed):
    rig = closed
    latched = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)
    records = {}
    for topic in ("introspection_data", "statistics"):
        records[topic] = [ros.record(kind, f"{MANAGER}/{topic}/{part}", qos) for kind, part, qos in (
            (StatisticsNames, "names", latched), (StatisticsValues, "values", 10), (Statistics, "full", 10))]

    def newest(topic):
        names, values, full = records[topic]
        if not (names and values and full) or names[-1].names_version != values[-1].names_version:
            return None
        return dict(zip(names[-1].names, values[-1].values, strict=True)), {
            each.name: each.value for each in full[-1].statistics}

    found, full = ros.wait_for(lambda: newest("introspection_data"), "the interfaces")
    assert found.keys() == full.keys()
    assert found["state_interface.joint1/position"] == pytest.approx(rig.next().feedback.positions[0], abs=0.05)
    assert f"command_interface.{FINGER}/effort" in found and f"command_interface.{FINGER}/effort.is_limited" in found
    assert f"command_interface.pd_gravity/{FINGER}/position" in found

    def timed():
        values = newest("statistics")
        return values and values[0].get("pd_gravity.stats/periodicity/sample_count", 0) > 10 and values[0]

    times = ros.wait_for(timed, "the statistics")
    assert times["pd_gravity.stats/periodicity/average"] == pytest.approx(100.0, rel=0.01)
    assert 0.0 < times["pd_gravity.stats/execution_time/min"] <= times["pd_gravity.stats/execution_time/average"]
    assert times["controller_manager.total_time"] > 0.0
    version = records["introspection_data"][0][-1].names_version
    rig.set(controller="computed_torque")
    ros.wait_for(lambda: records["introspection_data"][0][-1].names_version > version and newest("introspection_data"),
                 "the names of another law")
    assert f"command_interface.computed_torque/{FINGER}/position" in newest("introspection_data")[0]
    rig.set(controller="pd_gravity")


@pytest.mark.parametrize(("joints", "line"), [(["none"], ""), (["joint9"], "joint9")])
def test_a_parameter_names_the_joints(ros, rig, joints, line):
    settings = {"robot": rig.settings["hardware"]["robot"], "gripper.joints": joints}
    with RosProcess("controller", settings, "/named") as node:
        if line:
            ros.wait_for(lambda: not node.running(), "the end of the node")
            assert line in node.output() and "Traceback" not in node.output()
            return
        node.wait_for_output("parameters that differ", 120.0)
        listed = ros.call(ListControllers, "/named/controller_manager/list_controllers").controller
        assert {each.name for each in listed} == {"pd", "damping", "joint_state_broadcaster", "controller"}
