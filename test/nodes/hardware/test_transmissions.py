# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""The hardware node with transmissions: elastic joints, backlash, motor-side encoders, presliding, cogging, drives."""

import re

import numpy as np
import pytest
import yaml
from hardware_peer import NAMES, PERIOD, Peer, hardware, stamp
from ros_process import RosProcess
from sensor_msgs.msg import JointState
from urdf_parts import joint, link, robot

from robodyn_ros import Robot
from robodyn_ros.actuation.configuration import HardwareSettings
from robodyn_ros.nodes.common.topics import CONTROL_QOS
from robodyn_ros.simulation.commands import Drive
from robodyn_ros.simulation.mujoco_plant import MujocoPlant
from robodyn_ros.simulation.plant import Plant

DRIVE = {"motor": {"nominal_voltage": 48.0, "resistance": 1.0, "inductance": 2e-3, "torque_constant": 0.1,
                   "rotor_inertia": 1e-4},
         "gear_ratio": 40.0, "current_loop": {"bandwidth": 300.0, "period": 1e-4},
         "cogging": [{"order": 12, "amplitude": 5e-3}]}
BENDING = {"model": "maxwell_slip", "viscous": 0.3, "coulomb": 0.3, "static": 0.4, "stiffness": 500.0, "damping": 1.0}
SPRING = {"stiffness": 3000.0, "damping": 2.0, "backlash": 2e-3}


def joints(friction):
    """joint1 is driven and measured on the motor's side; joint2 has an ideal source behind its spring."""
    return {"joints": {"joint1": {"actuator": DRIVE, "transmission": SPRING | {"encoder": "motor"},
                                  "friction": friction},
                       "joint2": {"transmission": SPRING | {"inertia": 0.05}, "friction": friction}}}


@pytest.mark.parametrize("engine", ["robodyn", "mujoco"])
def test_a_node_with_transmissions_moves_and_measures_as_the_plant(tmp_path, engine):
    """In lockstep, joint states are those of the encoders, and motor_states those of the motors' side."""
    if engine == "mujoco":
        pytest.importorskip("mujoco")
    content = joints(BENDING if engine == "robodyn" else {"viscous": 0.3, "coulomb": 0.3})
    file, robot, rest, step = tmp_path / "drives.yaml", Robot.named("planar_2r"), np.zeros(2), 5e-4
    file.write_text(yaml.safe_dump(content))
    settings = HardwareSettings.from_mapping(content)
    kind = Plant if engine == "robodyn" else MujocoPlant
    plant = kind(robot, step, actuators=settings.joint_actuators(robot.model), friction=settings.joint_friction(
        robot.model))
    name = f"transmissions_{engine}"
    with hardware(name, actuators=str(file), time_mode="lockstep", engine=engine, step=step), \
            Peer(name) as peer:
        motors = peer.record(JointState, "motor_states", CONTROL_QOS)
        peer.wait_for(lambda: peer.node.count_publishers(f"/{name}/motor_states"), "the publisher of motor states")
        sides = {}
        for period in range(1, 151):
            state = peer.next_stamped(period * PERIOD)
            peer.states.clear()
            np.testing.assert_allclose([*state.position, *state.velocity], np.concatenate(plant.encoder_motion),
                                       atol=1e-7)
            sides[period * PERIOD] = plant.motor_side
            effort = [6.0 * np.sin(0.05 * period) - state.velocity[0], 3.0 - 2.0 * state.velocity[1]]
            peer.command(NAMES, effort, state.header.stamp)
            plant.advance(Drive(np.array(effort), rest, rest), 4)
        heard = list(motors)  # published while somebody subscribes, which the node looks for from time to time
        assert heard
        for message in heard:
            np.testing.assert_allclose([message.position, message.velocity, message.effort], sides[stamp(message)],
                                       rtol=1e-6, atol=1e-6)
        assert np.abs(plant.motor_side[0] - plant.q).min() > 5e-4  # the springs bend


@pytest.mark.parametrize(("values", "message"), [
    ({"stiffness": 0.0}, "joint 'joint2': transmission: stiffness: expected a finite number above 0"),
    ({"inertia": None}, "joint2.*transmission: expected an inertia behind the spring, received none"),
    ({"encoder": "both"}, "transmission: encoder: expected one of 'link', 'motor'"),
])
def test_a_node_refuses_a_bad_transmission_in_one_line(tmp_path, values, message):
    content = joints({"viscous": 0.3})
    given = content["joints"]["joint2"]["transmission"] | values
    content["joints"]["joint2"]["transmission"] = {key: value for key, value in given.items() if value is not None}
    file = tmp_path / "drives.yaml"
    file.write_text(yaml.safe_dump(content))
    with RosProcess("hardware", {"robot": "planar_2r", "actuators": str(file)}, "refused") as process:
        assert process.wait() != 0
        assert re.search(message, process.output())


def test_joint_states_show_the_harmonics_of_the_motor_angle_that_the_file_declares(tmp_path):
    """A braked wheel under a constant effort: I v' + d v = effort (1 + ripple) + cogging, about its mean velocity."""
    inertia, viscous, effort, ratio = 0.02, 0.5, 1.0, 10.0
    cogging, ripple = {"order": 12, "amplitude": 4e-3}, {"order": 7, "amplitude": 0.05}
    motor = {"nominal_voltage": 48.0, "resistance": 1.0, "torque_constant": 0.1, "rotor_inertia": 5e-5}
    content = {"joints": {"j": {"friction": {"viscous": viscous, "coulomb": 0.0}, "actuator": {
        "motor": motor, "gear_ratio": ratio, "cogging": [cogging], "torque_ripple": [ripple]}}}}
    wheel, file = tmp_path / "wheel.urdf", tmp_path / "drive.yaml"
    limit = '<limit lower="-1000" upper="1000" velocity="99" effort="999"/>'
    wheel.write_text(robot(link("a", ""), joint("j", "a", "b", limit=limit), link(
        "b", f'<inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="{inertia - ratio**2 * 5e-5}" ixy="0" ixz="0" '
             'iyz="0"/></inertial>')))
    file.write_text(yaml.safe_dump(content))
    rows = []
    with hardware("harmonics", robot=str(wheel), actuators=str(file), time_mode="lockstep", step=2.5e-4), \
            Peer("harmonics") as peer:
        for period in range(1, 601):
            state = peer.next_stamped(period * PERIOD)
            peer.states.clear()
            rows.append([state.position[0], state.velocity[0]])
            peer.command(["j"], [effort], state.header.stamp)
    angle, velocity = np.array(rows[200:]).T * [[ratio], [1.0]]
    orders = np.arange(1, 16)
    waves = np.exp(1j * orders * angle[:, None])
    columns = np.column_stack([np.ones(len(angle)), waves.real, waves.imag])
    mean, *parts = np.linalg.lstsq(columns, velocity, rcond=None)[0]
    np.testing.assert_allclose(mean, effort / viscous, rtol=0.01)
    found = np.hypot(parts[:15], parts[15:])
    for harmonic, size in ((cogging, ratio * cogging["amplitude"]), (ripple, effort * ripple["amplitude"])):
        order = harmonic["order"]
        np.testing.assert_allclose(found[order - 1], size / np.hypot(inertia * order * ratio * mean, viscous),
                                   rtol=0.05)
        found[order - 1] = 0.0
    assert found.max() < 1e-3  # no other order, up to products of the two
