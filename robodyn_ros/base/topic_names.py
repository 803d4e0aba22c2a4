# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Names of topics, services and the action, each defined once, as clients in the robot's namespace use them.

A node gets the name of its own topic or service by `own`. Remapping changes a name for one node, as usual in ROS 2;
docs/launch.md shows it.
"""

# Of the whole graph.
CLOCK, DIAGNOSTICS, ROSOUT, PARAMETER_EVENTS = "/clock", "/diagnostics", "/rosout", "/parameter_events"
TF, TF_STATIC = "/tf", "/tf_static"

# Between the nodes of a robot.
ROBOT_DESCRIPTION = "robot_description"
JOINT_STATES, DISPLAY_JOINT_STATES = "joint_states", "_display_joint_states"
MOTOR_STATES = "motor_states"
"""Motor side of the joints, for controllers that read it: position and velocity of the motors, reflected to the joints;
the effort is that of torque sensors between gears and links."""
DRIVER_PROFILE = "driver_profile"
"""What the driver of the arm adds to commands, and the meaning of its efforts."""
NEW_STARTS = "new_starts"
"""Joint states that do not continue the motion before, such as those after a reset."""
JOINT_COMMANDS, VOLTAGE_COMMANDS, REFUSED_COMMANDS = "joint_commands", "voltage_commands", "refused_commands"
EFFORT_GROUP_COMMANDS = "effort_controller/commands"
"""Commands of ros2_control's forward_command_controller or JointGroupEffortController."""
FORCE_TORQUE = "force_torque_sensor_broadcaster/wrench"
"""A force-torque sensor, named as in ros2_control."""
MEASURED_WRENCH = "measured_wrench"
"""Wrenches from any other sensor."""

# Of the node hardware.
ACTUATOR_STATES, DISPLAY_ACTUATOR_STATES = "hardware/actuator_states", "hardware/_display_actuator_states"
APPLIED_WRENCH, EXTERNAL_WRENCH = "hardware/applied_wrench", "hardware/external_wrench"
SURFACES, COMMANDS = "hardware/surfaces", "hardware/commands"
PAUSE, STEP, RESET = "hardware/pause", "hardware/step", "hardware/reset"
SET_STATE, TARE = "hardware/set_state", "hardware/tare"

# Of the node controller.
CONTROLLER_STATE, DISPLAY_CONTROLLER_STATE = "controller/controller_state", "controller/_display_state"
JOINT_TRAJECTORY, CARTESIAN_TRAJECTORY = "controller/joint_trajectory", "controller/cartesian_trajectory"
FOLLOW_JOINT_TRAJECTORY = "controller/follow_joint_trajectory"
GRIPPER_COMMAND, PARALLEL_GRIPPER_COMMAND = "gripper_controller/gripper_cmd", "parallel_gripper_controller/gripper_cmd"
POSE, WRENCH = "controller/pose", "controller/wrench"
STOP, RELEASE = "controller/stop", "controller/release"
TIP_PATH, DESIRED_PATH = "controller/tip_path", "controller/desired_path"
TARGET, EFFORT = "controller/target", "controller/effort"
DRAWING = "controller/drawing"
"""Markers that the running controller draws."""

# Of the node dynamics, besides its services.
GRAVITY_EFFORT = "dynamics/gravity_effort"


def own(name: str) -> str:
    """Return a name below a node, such as `CONTROLLER_STATE`, in that node's own form: ``~/controller_state``."""
    return f"~/{name.partition('/')[2]}"
