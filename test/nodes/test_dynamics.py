# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""The dynamics node over DDS, in a process of its own, against the textbook in this process."""

import signal

import numpy as np
import pytest
from geometry_msgs.msg import Vector3, Wrench
from ros_process import RosProcess
from scipy.spatial.transform import Rotation
from sensor_msgs.msg import JointState

from robodyn_interfaces.srv import (
    Coriolis,
    ForwardDynamics,
    ForwardKinematics,
    Gravity,
    InverseDynamics,
    Jacobian,
    MassMatrix,
)
from robodyn_ros import Robot
from robodyn_ros.description.resources import robot_file

ROBOT = Robot.from_urdf(robot_file("scara"))
BOOK = ROBOT.dynamics(False, "textbook")
NAMES = list(ROBOT.joint_names)
Q, V, A = np.random.default_rng(3).uniform(-1.0, 1.0, (3, ROBOT.n))
WRENCH = np.array([1.0, -2.0, 3.0, 0.4, -0.5, 0.6])
WRENCH_MESSAGE = Wrench(force=Vector3(x=1.0, y=-2.0, z=3.0), torque=Vector3(x=0.4, y=-0.5, z=0.6))

SERVICES = {
    "inverse_dynamics": (InverseDynamics, ("position", "velocity", "acceleration")),
    "forward_dynamics": (ForwardDynamics, ("position", "velocity", "effort")),
    "gravity": (Gravity, ("position",)),
    "mass_matrix": (MassMatrix, ("position",)),
    "coriolis": (Coriolis, ("position", "velocity")),
    "forward_kinematics": (ForwardKinematics, ("position",)),
    "jacobian": (Jacobian, ("position",)),
}


pytestmark = pytest.mark.usefixtures("node")


@pytest.fixture(scope="module")
def node():
    with RosProcess("dynamics", {"robot": "scara", "publish_frequency": 50}) as process:
        yield process
        process.stop(signal.SIGTERM)


def ask(ros, name, order=None, **fields):
    """Call a service with Q, V, A for the fields it has, names permuted; ``fields`` replace or add."""
    kind, inputs = SERVICES[name]
    order = np.arange(ROBOT.n) if order is None else order
    values = {field: value[order].tolist() for field, value in zip(inputs, (Q, V, A), strict=False)}
    request = {"joint_names": [NAMES[i] for i in order], **values, **fields}
    return ros.call(kind, f"/dynamics/{name}", **request)


def close(actual, expected):
    np.testing.assert_allclose(np.asarray(actual), np.asarray(expected).ravel(), rtol=1e-10, atol=1e-10)


def test_the_services_know_the_rotors_of_actuators(ros):
    robot = Robot.named("planar_2r").with_actuators("hardware_dc_motors")
    with RosProcess("dynamics", {"robot": "planar_2r", "actuators": "hardware_dc_motors"}, "/motors") as process:
        answer = ros.call(MassMatrix, "/motors/dynamics/mass_matrix", position=[0.3, -0.5])
        close(answer.data, robot.dynamics(False).mass_matrix(np.array([0.3, -0.5])))
        process.stop()


def test_every_service_answers_what_the_textbook_says_whatever_the_order_of_names(ros):
    order = np.array([2, 0, 3, 1])
    answers = {name: ask(ros, name, order, **({"wrench_tip": WRENCH_MESSAGE} if "dynamics" in name else {}))
               for name in SERVICES}
    assert all(answer.success for answer in answers.values()), answers
    close(answers["inverse_dynamics"].effort, BOOK.inverse_dynamics(Q, V, A, WRENCH))
    close(answers["forward_dynamics"].acceleration, BOOK.forward_dynamics(Q, V, A, WRENCH))
    close(answers["gravity"].effort, BOOK.gravity(Q))
    close(answers["mass_matrix"].data, BOOK.mass_matrix(Q))
    close(answers["coriolis"].data, BOOK.coriolis_matrix(Q, V))
    close(answers["jacobian"].data, BOOK.jacobian(Q))
    assert all(list(answer.joint_names) == NAMES for name, answer in answers.items() if name != "forward_kinematics")


def test_forward_kinematics_gives_position_and_quaternion_in_the_base_frame(ros):
    answer = ask(ros, "forward_kinematics", link="link2")
    assert answer.success and answer.pose.header.frame_id == ROBOT.model.base_link
    expected, p, r = BOOK.forward_kinematics(Q, "link2"), answer.pose.pose.position, answer.pose.pose.orientation
    close([p.x, p.y, p.z], expected[:3, 3])
    close(Rotation.from_quat([r.x, r.y, r.z, r.w]).as_matrix().ravel(), expected[:3, :3])


def test_no_names_mean_the_robots_order_and_no_rates_mean_zero(ros):
    answer = ask(ros, "inverse_dynamics", joint_names=[], velocity=[], acceleration=[])
    assert answer.success, answer.message
    close(answer.effort, BOOK.gravity(Q))
    close(ask(ros, "forward_dynamics", velocity=[], effort=[]).acceleration, BOOK.forward_dynamics(Q, 0 * Q, 0 * Q))


BAD = {
    "too few values": ("gravity", {"position": [0.0] * 3}, ("4", "3")),
    "too many rates": ("coriolis", {"velocity": [0.0] * 5}, ("velocity", "4", "5")),
    "no position": ("mass_matrix", {"position": []}, ("position", "0")),
    "unknown joint": ("gravity", {"joint_names": ["elbow", *NAMES[1:]]}, ("elbow", NAMES[0])),
    "joint named twice": ("inverse_dynamics", {"joint_names": [NAMES[0], *NAMES[:3]]}, (NAMES[0], "more than once")),
    "joint missing": ("jacobian", {"joint_names": NAMES[:3], "position": [0.0] * 3}, (NAMES[3],)),
    "not a number": ("forward_dynamics", {"effort": [0.0, float("nan"), 0.0, 0.0]}, ("effort", "nan", NAMES[1])),
    "infinity": ("forward_kinematics", {"position": [0.0, 0.0, float("inf"), 0.0]}, ("inf", NAMES[2])),
    "absurd number": ("inverse_dynamics", {"velocity": [1e200] * 4}, ("velocity", "1e+200", NAMES[0])),
    "unknown link": ("jacobian", {"link": "hand"}, ("hand",)),
    "wrench not finite": ("inverse_dynamics", {"wrench_tip": Wrench(force=Vector3(z=float("nan")))}, ("wrench_tip",)),
}


@pytest.mark.parametrize("case", BAD)
def test_a_request_that_cannot_be_answered_is_told_why(ros, node, case):
    name, fields, words = BAD[case]
    answer = ask(ros, name, **fields)
    assert not answer.success
    assert all(word in answer.message for word in words), answer.message
    assert "Traceback" not in node.output()
    assert ask(ros, "gravity").success


def test_gravity_effort_of_the_newest_joint_state_is_streamed(ros):
    efforts = ros.record(JointState, "/dynamics/gravity_effort")
    states = ros.publisher(JointState, "joint_states")
    message = JointState(name=[*NAMES, "gripper"][::-1], position=[*Q, 9.0][::-1])
    message.header.stamp.sec = 7

    def arrived():
        states.publish(message)
        return efforts

    ros.wait_for(arrived, "gravity effort")
    assert efforts[-1].header.stamp.sec == 7 and list(efforts[-1].name) == NAMES
    close(efforts[-1].effort, BOOK.gravity(Q))


def test_bad_joint_states_are_counted_and_the_stream_recovers(ros, node):
    efforts = ros.record(JointState, "/dynamics/gravity_effort")
    states = ros.publisher(JointState, "joint_states")

    def until(position, condition, what):
        def holds():
            states.publish(JointState(name=NAMES, position=position))
            return condition()
        ros.wait_for(holds, what)

    until([0.0, float("nan"), 0.0, 0.0], lambda: "received nan" in node.output(), "a warning")
    efforts.clear()
    until(Q.tolist(), lambda: efforts, "gravity effort after bad joint states")


def test_a_robot_that_is_not_there_is_one_clear_line_and_exit_code_2():
    with RosProcess("dynamics", {"robot": "arm66"}) as process:
        assert process.wait() == 2
        assert "no robot 'arm66'" in process.output() and "arm6" in process.output()
        assert "Traceback" not in process.output()
