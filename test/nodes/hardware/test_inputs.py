# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Commands and wrenches in messages, without a node: accepted, rejected, and passed to the plant."""

import math
from collections import Counter

import numpy as np
import pytest
from builtin_interfaces.msg import Time
from geometry_msgs.msg import Vector3, Wrench, WrenchStamped
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray, Header

from robodyn_interfaces.msg import VoltageCommands
from robodyn_ros import Robot
from robodyn_ros.description.resources import robot_file
from robodyn_ros.nodes.common.joint_wire import JointWire
from robodyn_ros.nodes.common.messages import JointOrder, MessageError
from robodyn_ros.nodes.common.topic_owners import TopicOwners
from robodyn_ros.nodes.hardware.inputs import CommandInputs, ExternalWrenches
from robodyn_ros.simulation.commands import Drive, JointCommands
from robodyn_ros.simulation.engine import SharedPlant
from robodyn_ros.simulation.plant import Plant

NAMES = ["shoulder", "elbow", "wrist"]
OWNERS = "commands", NAMES, "/hardware", "commands_publisher", dict, 1.0


class Problems(Counter):
    """Stands in for the node's diagnostics."""

    text = ""

    def problem(self, kind, text):
        self[kind] += 1
        self.text = text


def make(has_motor=(True, True, True)):
    commands, problems = JointCommands(3, np.zeros(3), np.zeros(3)), Problems()
    inputs = CommandInputs(JointOrder(NAMES), commands, np.array(has_motor), problems, TopicOwners(*OWNERS))
    return commands, problems, inputs


def test_a_driver_that_changes_efforts_takes_no_voltages():
    commands, problems = JointCommands(3, np.zeros(3), np.zeros(3)), Problems()
    inputs = CommandInputs(JointOrder(NAMES), commands, np.full(3, True), problems, TopicOwners(*OWNERS), "mine")
    inputs.voltages(VoltageCommands(voltage=[5.0, 6.0, 7.0]))
    inputs.efforts(JointState(name=NAMES, effort=[1.0, 2.0, 3.0]))
    assert problems["rejected commands: efforts only"] == 1 and "the driver 'mine' takes efforts" in problems.text
    assert commands.effort.tolist() == [1.0, 2.0, 3.0] and not commands.voltage.any()


def test_efforts_and_voltages_are_taken_by_name_and_for_some_joints():
    commands, problems, inputs = make()
    inputs.efforts(JointState(name=NAMES, effort=[1.0, 2.0, 3.0]))
    inputs.voltages(VoltageCommands(name=["wrist", "shoulder"], voltage=[24.0, 12.0]))
    assert commands.effort.tolist() == [1.0, 2.0, 3.0]
    assert commands.voltage.tolist() == [12.0, 0.0, 24.0]
    assert commands.by_voltage.tolist() == [1.0, 0.0, 1.0]
    inputs.efforts(JointState(name=["wrist"], effort=[4.0]))
    assert commands.effort.tolist() == [1.0, 2.0, 4.0]
    assert commands.by_voltage.tolist() == [1.0, 0.0, 0.0]
    inputs.voltages(VoltageCommands(voltage=[5.0, 6.0, 7.0]))
    assert commands.voltage.tolist() == [5.0, 6.0, 7.0]
    assert commands.by_voltage.tolist() == [1.0, 1.0, 1.0]
    assert not problems


def test_a_command_that_answers_a_state_from_before_the_new_start_is_refused():
    commands, problems, inputs = make()
    inputs.first_stamp = 3 * 10**9
    wire = JointWire(NAMES, ["effort"])
    for stamp, effort, taken in ((2, 9.0, 0.0), (3, 4.0, 4.0), (0, 5.0, 5.0)):
        inputs.serialized_efforts(wire.encode(stamp * 10**9, np.full(3, effort)))
        assert commands.effort.tolist() == [taken] * 3
    old = Header(stamp=Time(sec=2))
    inputs.efforts(JointState(header=old, name=NAMES, effort=[9.0] * 3))
    inputs.voltages(VoltageCommands(header=old, name=NAMES, voltage=[9.0] * 3))
    assert commands.effort.tolist() == [5.0] * 3 and not commands.by_voltage.any()
    assert problems["outdated commands"] == 3 and "give stamp 0" in problems.text


def test_an_array_is_all_efforts_in_order_whatever_its_layout_says():
    commands, problems, inputs = make()
    message = Float64MultiArray(data=[1.0, 2.0, 3.0])
    message.layout.data_offset = 7
    inputs.array(message)
    assert commands.effort.tolist() == [1.0, 2.0, 3.0]
    assert commands.by_voltage.tolist() == [0.0, 0.0, 0.0]
    assert not problems


@pytest.mark.parametrize(("take", "reason", "text"), [
    (lambda inputs: inputs.array(Float64MultiArray(data=[9.0, 9.0])), "wrong length",
     "commands: data: expected one value per joint, 3, received 2"),
    (lambda inputs: inputs.array(Float64MultiArray(data=[9.0, math.nan, 9.0])), "not finite",
     "commands: data: expected finite numbers, received nan for joint 'elbow'"),
    (lambda inputs: inputs.voltages(VoltageCommands(name=["hand"], voltage=[9.0])), "unknown joint",
     "voltage_commands: unknown joint 'hand'; the robot has 'shoulder', 'elbow', 'wrist'"),
    (lambda inputs: inputs.voltages(VoltageCommands(name=["wrist"], voltage=[math.inf])), "not finite",
     "voltage_commands: voltage: expected finite numbers, received inf for joint 'wrist'"),
    (lambda inputs: inputs.voltages(VoltageCommands(name=["wrist", "wrist"], voltage=[1.0, 1.0])), "repeated joint",
     "voltage_commands: joint 'wrist' is named more than once"),
    (lambda inputs: inputs.voltages(VoltageCommands(name=["wrist", "elbow"], voltage=[1.0, 1.0])), "no motor",
     "voltage_commands: voltage: expected joints with motors, received 'elbow': see the parameter 'actuators'"),
    (lambda inputs: inputs.voltages(VoltageCommands(voltage=[1.0, 1.0, 1.0])), "no motor", "received 'elbow'"),
])
def test_a_bad_command_is_rejected_as_a_whole_and_the_last_good_one_stays(take, reason, text):
    commands, problems, inputs = make(has_motor=(True, False, True))
    inputs.efforts(JointState(name=NAMES, effort=[1.0, 2.0, 3.0]))
    inputs.voltages(VoltageCommands(name=["wrist"], voltage=[4.0]))
    take(inputs)
    assert problems == {f"rejected commands: {reason}": 1}
    assert text in problems.text
    assert commands.effort.tolist() == [1.0, 2.0, 3.0]
    assert commands.voltage.tolist() == [0.0, 0.0, 4.0]
    assert commands.by_voltage.tolist() == [0.0, 0.0, 1.0]


FORCE, TORQUE = (1.0, -2.0, 3.0), (0.5, 0.25, -0.75)
STEP = 1e-5


@pytest.fixture(scope="module")
def robot():
    return Robot.from_urdf(robot_file("arm6"))


def message(link, force=FORCE, torque=TORQUE):
    return WrenchStamped(header=Header(frame_id=link),
                         wrench=Wrench(force=Vector3(**dict(zip("xyz", force, strict=True))),
                                       torque=Vector3(**dict(zip("xyz", torque, strict=True)))))


def make_wrenches(robot):
    plant = Plant(robot, STEP, np.linspace(-1.0, 1.0, robot.n))
    return plant, ExternalWrenches(SharedPlant(plant))


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
    plant, wrenches = make_wrenches(robot)
    link = "forearm_link"
    wrenches.put_in_force(*wrenches.read(message(link)))
    dynamics, q = robot.dynamics(), plant.q
    pose = dynamics.forward_kinematics(q, link)
    in_base_axes = np.concatenate([pose[:3, :3] @ FORCE, pose[:3, :3] @ TORQUE])
    effort = dynamics.jacobian(q, link).T @ in_base_axes
    expected = np.linalg.solve(dynamics.mass_matrix(q), effort)
    assert external_work_rates(plant, wrenches) == pytest.approx(expected, rel=1e-6, abs=1e-9)


def test_wrenches_on_several_links_add_up_until_they_are_replaced_or_cleared(robot):
    plant, wrenches = make_wrenches(robot)
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
    plant, wrenches = make_wrenches(robot)
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
    _, wrenches = make_wrenches(robot)
    with pytest.raises(MessageError, match=text) as caught:
        wrenches.read(bad)
    assert caught.value.reason == reason
