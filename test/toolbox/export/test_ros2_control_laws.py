# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.


"""Each law in a real controller manager: it builds, loads, moves the simulated robot, reads a wrench, sets voltages.

    python -m pytest -q -m long -s test/toolbox/export/test_ros2_control_laws.py

prints a table of the laws.
"""

from contextlib import contextmanager

import numpy as np
import pytest
from real_arm import RATE, Arm, build, description, packages_of, simulated_arm

from bench.controller_manager import executable
from robodyn_ros import Robot
from robodyn_ros.actuation.configuration import HardwareSettings
from robodyn_ros.control.contract.controller import State
from robodyn_ros.control.laws.policy import PolicyParameters
from robodyn_ros.control.plugins.registry import law_names, load_controller, make_controller
from robodyn_ros.control.references.tip_reference import ForceReference
from robodyn_ros.description.resources import actuators_file, robot_file
from robodyn_ros.kinematics.quaternions import quaternion_by_largest_element
from robodyn_ros.toolbox.export import ros2_control_package

pytest.importorskip("rclpy")

pytestmark = [pytest.mark.long, pytest.mark.ros,
              pytest.mark.skipif(executable() is None, reason="ros2_control is not installed")]

LAWS = (*law_names(), "policy")
START, MOTION, SECONDS = np.array([0.4, 0.8]), np.array([0.3, -0.4]), 2.0
HOLDER = "holder"
LEAVE = {"force": "it leaves the axis of the force free", "policy": "its network is a random one"}
"""Laws that do not arrive, and why."""


@pytest.fixture(scope="module")
def robot():
    return Robot.from_urdf(robot_file("planar_2r")).with_timing(1.0 / RATE)


@pytest.fixture(scope="module")
def arm(robot, tmp_path_factory):
    """The simulated arm behind a manager that has the packages of all laws, held by one of them."""
    pytest.importorskip("onnx", reason="onnx is not installed: pip install onnx")
    from onnx_models import recurrent, written

    folder = tmp_path_factory.mktemp("laws")
    written(folder, recurrent(np.random.default_rng(0), 4 * robot.n, 5, robot.n))
    (folder / "policy.yaml").write_text(
        "network: network.onnx\nrate: 50\nobservations: [q, v, error_q, last_action]\nmemory: {h_in: h_out}\n"
        "action: {default: 0.0, gravity: true}\n")
    given = {"policy": PolicyParameters(file=str(folder / "policy.yaml"))}
    laws = {name: make_controller(name, robot, given.get(name)) for name in LAWS}
    places = dict(zip(LAWS, build(folder, packages_of(laws)), strict=True))
    with simulated_arm(robot, {**places, HOLDER: places["computed_torque"]}, folder) as arm:
        assert arm.load(HOLDER)
        arm.wait(lambda: arm.switch(activate=[HOLDER]), "held")
        arm.rows = []
        yield arm
    print("\n| law | greatest effort [N m] | distance from the goal [rad] |\n| --- | --- | --- |", *arm.rows, sep="\n")


@pytest.mark.parametrize("name", LAWS)
def test_a_law_takes_the_arm_over_and_moves_it(name, arm, robot):
    """Laws that follow a motion get one; the others have the arm for as long."""
    from std_srvs.srv import Trigger

    assert arm.call(Trigger, "/hardware/reset").success
    arm.wait(lambda: moved(arm, HOLDER, START), "held at the start")
    follows, goal, before = load_controller(name).follows is not None, START + MOTION, len(arm.log())
    with in_place_of_holder(arm, name):
        if follows:
            arm.wait(lambda: moved(arm, name, goal), "at the end of the trajectory")
        else:
            arm.efforts.clear()
            arm.wait(lambda: len(arm.efforts) > SECONDS * RATE, "commanding")
        efforts, left = np.array(arm.efforts), float(np.abs((arm.q - goal + np.pi) % (2.0 * np.pi) - np.pi).max())
        assert states(arm)[name] == "active"
        assert "the robot is stopped" not in arm.log()[before:]
    assert np.abs(efforts).max() <= robot.effort_limit.max()
    arm.rows.append(f"| `{name}` | {np.abs(efforts).max():.1f} | {f'{left:.3f}' if follows else 'follows none'} |")
    assert not follows or name in LEAVE or left < 0.5 * np.abs(MOTION).max()


@contextmanager
def in_place_of_holder(arm, name):
    """Load a controller, switch to it, and back."""
    from controller_manager_msgs.srv import UnloadController

    assert arm.load(name)
    try:
        assert arm.switch(activate=[name], deactivate=[HOLDER])
        yield
    finally:
        if states(arm)[name] == "active":
            assert arm.switch(activate=[HOLDER], deactivate=[name])
        assert arm.call(UnloadController, "/controller_manager/unload_controller", name=name).ok


def states(arm):
    """States of the controllers by name."""
    from controller_manager_msgs.srv import ListControllers

    listed = arm.call(ListControllers, "/controller_manager/list_controllers").controller
    return {each.name: each.state for each in listed}


def moved(arm, name, goal):
    """Whether a trajectory came to its end: on a busy machine the robot may jump meanwhile, which drops it."""
    before = len(arm.log())
    arm.efforts.clear()
    arm.move(name, goal, SECONDS)
    arm.wait(lambda: any(event in arm.log()[before:] for event in ("goal is reached", "new start", "is stopped")),
             "ended the trajectory")
    return "new start" not in arm.log()[before:]


MOTORS = ('<command_interface name="voltage"/><state_interface name="voltage"/><state_interface name="position">'
          '<param name="initial_value">0.4</param></state_interface><state_interface name="velocity">'
          '<param name="initial_value">0.0</param></state_interface>')
WRENCH = {"force.x": 3.0, "force.y": 0.0, "force.z": -2.0, "torque.x": 0.0, "torque.y": 0.0, "torque.z": 0.5}


def test_voltages_and_a_measured_wrench_pass_the_real_manager(tmp_path):
    """Mock hardware stands, with a wrench; the voltages that it got are those of the law in Python and its motors."""
    from control_msgs.msg import DynamicJointState

    robot = Robot.from_urdf(robot_file("planar_2r")).with_timing(1.0 / RATE)
    motors = HardwareSettings.from_yaml(actuators_file("hardware_dc_motors")).joint_actuators(robot.model)
    law = make_controller("force", robot)
    place, = build(tmp_path, [ros2_control_package(law, "force", motors)])
    interfaces = "".join(f'<state_interface name="{name}"><param name="initial_value">{value}</param>'
                         "</state_interface>" for name, value in WRENCH.items())
    text = description(robot, "<plugin>mock_components/GenericSystem</plugin>", MOTORS,
                       f'<sensor name="tip">{interfaces}</sensor>')
    parameters = {place.name: {"command_interface": "voltage",
                               "wrench_tip_interfaces": [f"tip/{name}" for name in WRENCH]},
                  "controller_manager": {"broadcaster": {"type": "joint_state_broadcaster/JointStateBroadcaster"}}}
    heard = []
    with Arm(robot, {place.name: place}, tmp_path, text, parameters) as arm:
        arm.node.create_subscription(DynamicJointState, "/dynamic_joint_states", heard.append, 10)
        for name in ("broadcaster", place.name):
            assert arm.load(name)
        assert arm.switch(activate=["broadcaster", place.name])
        expected = voltages(law, motors, np.full(robot.n, 0.4), np.array(list(WRENCH.values())))
        assert np.abs(expected - voltages(law, motors, np.full(robot.n, 0.4), np.full(6, np.nan))).max() > 0.1

        def passed():
            return bool(heard) and np.allclose(commanded(heard[-1], robot), expected, rtol=1e-9, atol=1e-9)

        arm.wait(passed, f"commanding {expected} V, the last was {heard and commanded(heard[-1], robot)}")


def commanded(message, robot):
    """Voltages that the mock hardware mirrors."""
    rows = {name: dict(zip(values.interface_names, values.values, strict=True))
            for name, values in zip(message.joint_names, message.interface_values, strict=True)}
    return np.array([rows[joint].get("voltage", np.nan) for joint in robot.joint_names])


def voltages(law, motors, q, wrench):
    """What the law settles at while the robot stands at its reference."""
    robot, still = law.robot, np.zeros(law.robot.n)
    tip = robot.dynamics().forward_kinematics(q)
    reference = ForceReference(tip[:3, 3], quaternion_by_largest_element(tip[:3, :3]), np.zeros(6), np.zeros(6), q,
                               still, still, np.zeros(6))
    state = State(0.0, robot.timing.period, q, still, wrench)
    law.activate(state)
    for _ in range(20000):
        effort = law.update(state, reference)
    return motors.circuits.commanded_voltage(np.clip(effort, -robot.effort_limit, robot.effort_limit), still)
