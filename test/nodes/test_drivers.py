# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""A hardware node that plays the driver of an arm, and a controller node that is told so."""

from dataclasses import replace

import numpy as np
import pytest
from ros_process import RosProcess
from sensor_msgs.msg import JointState

from robodyn_ros import Robot
from robodyn_ros.actuation.configuration import HardwareSettings
from robodyn_ros.actuation.driver_profile import DRIVERS, DriverProfile, EffortReport
from robodyn_ros.base import topic_names
from robodyn_ros.description.resources import actuators_file, robot_file
from robodyn_ros.nodes.hardware.arm_driver import effort_report
from robodyn_ros.simulation.commands import Drive
from robodyn_ros.simulation.driver import Driver
from robodyn_ros.simulation.plant import Plant, default_position

ARM = Robot.from_urdf(robot_file("arm6"))
HOME = default_position(ARM)
GRAVITY = ARM.dynamics().gravity(HOME)
STATES = 60


@pytest.mark.parametrize(("driver", "rate", "given", "told"), [
    ("ur", 500, "auto", ""), ("franka", 1000, "auto", ""),
    ("ur", 500, "command", "gravity counts twice"), ("ur", 500, "auto", "friction counts twice"),
    ("generic", 500, "driver", "nobody compensates gravity")])
def test_commands_leave_out_what_the_driver_says_it_adds(ros, driver, rate, given, told):
    """From the first command on: the node waits until the hardware has said who compensates gravity."""
    namespace, adds = f"/{driver}_{given}_{told[:1]}", DRIVERS.load(driver).compensates_gravity
    states = ros.record(JointState, f"{namespace}/{topic_names.JOINT_STATES}", 100)
    commands = ros.record(JointState, f"{namespace}/{topic_names.JOINT_COMMANDS}", 100)
    hardware = {"robot": "arm6", "time_mode": "lockstep", "driver": driver, "update_rate": rate,
                "lockstep_speed_limit": 1.0}
    controller = {"robot": "arm6", "controller": "pd_gravity", "gravity_compensation_by": given}
    if "friction" in told:
        controller |= {"controller": "computed_torque", "computed_torque.gains.elbow_joint.friction": 2.0}
    with (RosProcess("controller", controller, namespace) as one, RosProcess("hardware", hardware, namespace) as other):
        ros.wait_for(lambda: len(states) > STATES and len(commands) > STATES, "states and commands")
        if told:
            one.wait_for_output(told)
            assert "Traceback" not in one.output()
            return
        by_driver = GRAVITY if adds else 0.0
        np.testing.assert_allclose([list(one.effort) for one in commands[:STATES]],
                                   np.tile(GRAVITY - by_driver, (STATES, 1)), rtol=0, atol=1e-6)
        np.testing.assert_allclose([list(one.position) for one in states[:STATES]], np.tile(HOME, (STATES, 1)),
                                   rtol=0, atol=1e-9)
        reported = GRAVITY - (by_driver if DRIVERS.load(driver).effort == "torque_without_gravity" else 0.0)
        np.testing.assert_allclose(states[STATES - 1].effort, reported, rtol=0, atol=1e-6)
        other.stop()
        one.stop()


@pytest.mark.parametrize(("node", "parameters", "words"), [
    ("hardware", {"driver": "franka"}, "'update_rate': expected 1000 Hz"),
    ("hardware", {"driver": "panda"}, "parameter 'driver': unknown driver 'panda'"),
    ("controller", {"driver": "ur", "gravity_compensation_by": "command"},
     "'gravity_compensation_by': expected 'auto', as the driver 'ur' adds gravity"),
    ("controller", {"robot": "planar_2r", "driver": "ur", "output": "voltage", "actuators": "hardware_dc_motors"},
     "a driver that takes voltages compensates nothing"),
])
def test_parameters_that_contradict_a_driver_are_refused(node, parameters, words):
    with RosProcess(node, {"robot": "arm6", **parameters}) as process:
        assert process.wait() == 2
        assert words in process.output() and "Traceback" not in process.output()


def test_efforts_mean_what_the_profile_says():
    settings = HardwareSettings.from_yaml(actuators_file("hardware_dc_motors"))
    robot = Robot.from_urdf(robot_file("planar_2r"))
    motors, friction = settings.joint_actuators(robot.model), settings.joint_friction(robot.model)
    none = np.zeros(2)

    def reported(kind, actuators=None, **more):
        profile = replace(DriverProfile("mine", "none"), effort=kind, compensates_gravity=True, **more)
        plant = Plant(robot, actuators=actuators, friction=friction,
                      driver=Driver(profile, robot.model, friction))
        plant.set_state(v=[0.5, 0.3])
        plant.advance(Drive(np.array([2.0, 1.0]), none, none))
        report = effort_report(plant)
        return plant, None if report is None else report(plant)

    plant, effort = reported(EffortReport.DRIVE_TORQUE)
    np.testing.assert_array_equal(effort, plant.effort)
    plant, effort = reported(EffortReport.JOINT_TORQUE)
    assert (effort < plant.effort).all()  # friction, as both joints turn ahead
    plant, effort = reported(EffortReport.TORQUE_WITHOUT_GRAVITY)
    np.testing.assert_allclose(effort, plant.effort - robot.dynamics().gravity(plant.q), rtol=1e-13)
    plant, effort = reported(EffortReport.MOTOR_CURRENT, motors)
    np.testing.assert_allclose(motors.circuits.effort_per_current * effort, plant.effort, rtol=1e-12)
    plant, effort = reported(EffortReport.MOTOR_CURRENT, torque_per_current=[10.0, 5.0])
    np.testing.assert_array_equal(effort, plant.effort / [10.0, 5.0])
    assert reported(EffortReport.NONE)[1] is None
