"""Commands of all topics: read by name, taken or rejected as a whole."""

import math
from collections import Counter

import numpy as np
import pytest
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray

from robodyn_interfaces.msg import VoltageCommands
from robodyn_ros.nodes.common.messages import JointOrder
from robodyn_ros.nodes.hardware.command_inputs import CommandInputs
from robodyn_ros.simulation.commands import JointCommands

NAMES = ["shoulder", "elbow", "wrist"]


class Problems(Counter):
    """Stands in for the node's diagnostics."""

    text = ""

    def problem(self, kind, text):
        self[kind] += 1
        self.text = text


def make(has_motor=(True, True, True)):
    commands, problems = JointCommands(3, np.zeros(3)), Problems()
    return commands, problems, CommandInputs(JointOrder(NAMES), commands, np.array(has_motor), problems)


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
