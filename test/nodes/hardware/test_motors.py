# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""The hardware node with DC motors: voltages in, actuator states out."""

import math
import re

import numpy as np
import pytest
from hardware_peer import NAMES, PERIOD, Peer, hardware, hardware_for_a_file, run_lockstep
from std_srvs.srv import SetBool, Trigger

from robodyn_interfaces.msg import ActuatorStates, VoltageCommands
from robodyn_interfaces.srv import SetState
from robodyn_ros import Robot
from robodyn_ros.actuation.configuration import HardwareSettings
from robodyn_ros.description.resources import config_file, robot_file
from robodyn_ros.simulation.commands import Drive
from robodyn_ros.simulation.plant import Plant

MOTORS = {"actuators": "hardware_dc_motors"}
VOLTAGES = [40.0, 20.0]


class MotorPeer(Peer):
    """A test node that knows of voltages and actuators."""

    def __init__(self, namespace):
        super().__init__(namespace)
        self.voltages = self.publisher(VoltageCommands, "voltage_commands")
        self.actuators = self.record(ActuatorStates, "hardware/actuator_states")
        self.wait_for(lambda: self.node.count_publishers("hardware/actuator_states"), "the publisher")

    def command_voltage(self, names, voltage, stamp=None):
        self.send(self.voltages, VoltageCommands(name=names, voltage=voltage), stamp)

    def next_actuators(self, condition, what):
        return self.next_of(self.actuators, condition, what)


@pytest.fixture(scope="module")
def process():
    with hardware_for_a_file("motors", command_timeout=0.0, actuator_state_rate=250.0, **MOTORS) as process:
        yield process


@pytest.fixture(scope="module")
def peer(process):
    with MotorPeer("motors") as peer:
        yield peer


def test_a_voltage_drives_its_joint_by_name_and_an_effort_takes_it_back(peer):
    peer.command_voltage(["joint2"], [3.0])
    state = peer.next_actuators(lambda state: state.voltage[1] == 3.0, "the voltage")
    assert state.name == NAMES
    assert peer.next_state().velocity[0] == 0.0  # never commanded, so held
    peer.command_voltage(["joint2", "joint1"], [2.0, 5.0])
    state = peer.next_actuators(lambda state: list(state.voltage) == [5.0, 2.0], "both voltages")
    motors = HardwareSettings.from_yaml(config_file("hardware_dc_motors.yaml")).joint_actuators(
        Robot.from_urdf(robot_file("planar_2r")).model).motors.motor
    assert list(state.motor_torque) == pytest.approx(motors.torque_constant * state.current, rel=1e-12)
    peer.command(["joint2"], [1.0])
    peer.next_actuators(lambda state: state.voltage[0] == 5.0 and state.voltage[1] != 2.0, "joint2 by effort")


def test_windings_warm_up_and_a_new_state_is_without_current_and_after_reset_cool(peer):
    peer.command_voltage(NAMES, VOLTAGES)
    warm = peer.next_actuators(lambda state: min(state.temperature) > 25.1, "warm windings")
    assert max(warm.temperature) < 200.0
    assert peer.service(SetBool, "pause", data=True).success
    assert peer.service(SetState, "set_state", position=[0.5, 0.5]).success
    moved = peer.next_actuators(lambda state: not any(state.current), "the state without current")
    assert min(moved.temperature) > 25.1
    assert peer.service(Trigger, "reset").success
    cool = peer.next_actuators(lambda state: state.temperature != moved.temperature, "the state after the reset")
    assert (list(cool.temperature), list(cool.current)) == ([25.0, 25.0], [0.0, 0.0])
    assert peer.service(SetBool, "pause", data=False).success


def test_voltages_beyond_the_amplifier_saturate(peer):
    peer.command_voltage(NAMES, [1e3, -1e3])
    state = peer.next_actuators(lambda state: list(state.voltage_saturated) == [True, True], "the saturation")
    assert np.abs(state.voltage).max() <= 48.0
    peer.wait_for(lambda: "joint2 (voltage)" in (peer.counter("saturated joints") or ""), "the diagnostics")


@pytest.mark.parametrize(("names", "voltage", "reason"), [
    (["elbow"], [1.0], "unknown joint"),
    (NAMES, [1.0], "wrong length"),
    (NAMES, [1.0, math.nan], "not finite"),
])
def test_a_bad_voltage_is_rejected_and_the_last_good_one_stays(peer, names, voltage, reason):
    peer.command_voltage(NAMES, [1.0, 0.5])
    peer.next_actuators(lambda state: list(state.voltage) == [1.0, 0.5], "the good command")
    peer.command_voltage(names, voltage)
    peer.wait_for(lambda: peer.counter(f"rejected commands: {reason}"), "the counter")
    assert list(peer.next_actuators(lambda state: True, "an actuator state").voltage) == [1.0, 0.5]


def test_stale_voltages_lead_to_the_safe_behaviour_and_back(peer, process):
    peer.command_voltage(NAMES, VOLTAGES)
    peer.set_parameters("/motors/hardware", {"command_timeout": 0.1})
    process.wait_for_output("no command for 0.1 s or more for joint1, joint2: safe behaviour 'damping'")
    peer.command_voltage(NAMES, VOLTAGES)
    process.wait_for_output("commands are back")
    peer.set_parameters("/motors/hardware", {"command_timeout": 0.0})


def run_by_voltage(namespace, periods, **parameters):
    """Joint states of a fresh lockstep run under constant voltages, as one array."""
    with hardware(namespace, time_mode="lockstep", **(MOTORS | parameters)) as process, \
            MotorPeer(namespace) as peer:
        rows = []
        for period in range(1, periods + 1):
            state = peer.next_stamped(period * PERIOD)
            peer.states.clear()
            rows.append([*state.position, *state.velocity, *state.effort])
            peer.command_voltage(NAMES, VOLTAGES, state.header.stamp)
        process.stop()
    return np.array(rows)


@pytest.mark.parametrize("coupled", [False, True])
def test_lockstep_is_answered_by_voltages_and_moves_as_the_plant_does(coupled, tmp_path):
    file = config_file("hardware_dc_motors.yaml")
    if coupled:  # the motor of the second joint turns with both
        text = re.sub(r" +gear_ratio:.*\n", "", file.read_text())
        file = tmp_path / "coupled.yaml"
        file.write_text(f"{text}\ncouplings:\n  - joints: [joint1, joint2]\n    matrix: [[51, 0], [43, 43]]\n")
    rows = run_by_voltage("coupled" if coupled else "volts", 60, actuators=str(file))
    robot = Robot.from_urdf(robot_file("planar_2r"))
    settings = HardwareSettings.from_yaml(file)
    plant = Plant(robot, 0.001, actuators=settings.joint_actuators(robot.model),
                  friction=settings.joint_friction(robot.model))
    none = np.zeros(2)
    for row in rows:
        assert [*row] == [*plant.q, *plant.v, *plant.effort]
        plant.advance(Drive(none, none, none, np.array(VOLTAGES), np.ones(2)), 2)
    assert np.abs(rows[-1] - rows[0]).max() > 1e-2


def test_lockstep_with_motors_and_noise_is_deterministic_to_the_bit():
    noise = {"seed": 3, "sensing.position_noise": [1e-4], "sensing.velocity_source": "position"}
    first, again = (run_lockstep(name, 60, **MOTORS, **noise) for name in ("motors1", "motors2"))
    assert np.abs(first[-1] - first[0]).max() > 1e-3
    assert first.tobytes() == again.tobytes()
