# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Launch a simulated robot under a controller: hardware, controller, dynamics and state publisher as processes.

``ros2 launch robodyn_ros simulation.launch.py robot:=arm6 controller:=computed_torque rviz:=true``;
``ros2 launch robodyn_ros simulation.launch.py --show-args`` lists every argument.
"""

from __future__ import annotations

import atexit
import shutil
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from ament_index_python.packages import PackageNotFoundError, get_package_prefix
from launch.actions import DeclareLaunchArgument, OpaqueFunction, RegisterEventHandler, TimerAction
from launch.event_handlers import OnProcessExit
from launch.events.process import ProcessExited
from launch.logging import get_logger
from launch.substitutions import LaunchConfiguration
from launch_ros.actions import Node
from launch_ros.parameter_descriptions import ParameterValue

from launch import Action, LaunchContext, LaunchDescription
from robodyn_ros.base.common_fields import PORT
from robodyn_ros.base.errors import InputError
from robodyn_ros.commands.launch_arguments import SIMULATION as ARGUMENTS
from robodyn_ros.commands.launch_arguments import refuse_unknown
from robodyn_ros.commands.simulation_setup import NODES, Setup, SimulationSettings, has_simulated_time, set_up
from robodyn_ros.commands.supervision import STOPPED, Restarts
from robodyn_ros.description.urdf import load_urdf
from robodyn_ros.robot import Robot

STATE_PUBLISHER = "state_publisher"


def generate_launch_description() -> LaunchDescription:
    """Return the launch description, as ``ros2 launch`` asks for it."""
    arguments = [
        DeclareLaunchArgument(name, default_value=default, description=description)
        for name, (default, description) in ARGUMENTS.items()
    ]
    return LaunchDescription([*arguments, OpaqueFunction(function=start_nodes)])


def start_nodes(context: LaunchContext) -> list[Action]:
    """Return the nodes for the values of the launch arguments.

    Raises:
        RobodynError: An argument is unknown, has a value that cannot be used, or names a robot or file that does not
            exist.
    """
    refuse_unknown(__file__, sys.argv, ARGUMENTS)
    given = {name: LaunchConfiguration(name).perform(context) for name in ARGUMENTS}
    namespace, prefix = given.pop("namespace"), given.pop("frame_prefix")
    restarts = whole_number("restarts", given.pop("restarts"))
    rviz, view = (boolean(name, given.pop(name)) for name in ("rviz", "view"))
    clock_rate, port = given.pop("clock_rate"), given.pop("view_port")
    if any(word.startswith("view_port:=") for word in sys.argv) and not view:
        raise InputError("launch argument 'view_port' has no effect without view:=true: give both or neither")
    setup = set_up(SimulationSettings.from_words(given))
    if clock_rate:
        setup.values["clock_rate"] = whole_number("clock_rate", clock_rate)
    parameters = [*map(str, setup.files), {name: typed(value) for name, value in setup.values.items()},
                  {"frame_prefix": typed(prefix)}]
    makers = [lambda name=name: Node(package="robodyn_ros", executable=name, namespace=namespace, parameters=parameters,
                                     output="screen") for name in NODES if name != STATE_PUBLISHER]
    makers.append(lambda: state_publisher(setup, namespace, parameters))
    if rviz:
        makers.append(lambda: rviz_node(setup, namespace, prefix))
    if view:
        makers.append(lambda: Node(package="robodyn_ros", executable="view", namespace=namespace, output="screen",
                                   parameters=[{"port": whole_number("view_port", port or str(PORT.default)),
                                                "robot_file": typed(str(setup.robot_file)),
                                               "tip_link": typed(str(setup.values.get("tip_link", "")))}]))
    running = set(makers)
    return [action for make in makers for action in supervised(make, Restarts(restarts), running)]


def supervised(make: Callable[[], Node], restarts: Restarts, running: set[Callable[[], Node]]) -> list[Action]:
    """Return actions that start a node, and start it again after each failure while restarts are left.

    Args:
        make: Makes the action of the node; launch executes an action only once.
        restarts: Decides on the restarts.
        running: What makes the nodes that have not ended for good, this one among them.
    """
    def on_exit(event: ProcessExited, context: LaunchContext) -> list[Action]:
        if context.is_shutdown:
            return []
        delay = restarts.after(event.returncode)
        if delay is None:
            running.discard(make)
        rest = "the other nodes go on" if running - {make} else "no other node runs"
        text = f"{event.process_name} {restarts.outcome(event.returncode, delay)}; {rest}"
        if event.returncode in STOPPED:
            get_logger("robodyn_ros").info(text)
            return []
        if delay is None:
            get_logger("robodyn_ros").error(f"{text}. To restart it:\n  {' '.join(event.cmd)}")
            return []
        get_logger("robodyn_ros").error(text)
        return [TimerAction(period=delay, actions=supervised(make, restarts, running))]

    node = make()
    return [RegisterEventHandler(OnProcessExit(target_action=node, on_exit=on_exit)), node]


def state_publisher(setup: Setup, namespace: str, parameters: list[object]) -> Node:
    """Return robot_state_publisher if it is installed, else the state publisher of this package."""
    if not is_installed("robot_state_publisher"):
        return Node(package="robodyn_ros", executable=STATE_PUBLISHER, namespace=namespace,
                    parameters=parameters, output="screen")
    description = {"robot_description": typed(load_urdf(setup.robot_file).description)}
    return Node(package="robot_state_publisher", executable="robot_state_publisher", name=STATE_PUBLISHER,
                namespace=namespace, parameters=[*parameters, description, follow_clock(setup, namespace)],
                output="screen")


def rviz_node(setup: Setup, namespace: str, prefix: str) -> Node:
    """Return RViz with a configuration for this robot.

    Raises:
        InputError: RViz is not installed, or cannot show frames with this prefix.
    """
    if not is_installed("rviz2"):
        raise InputError("launch argument 'rviz': rviz2 is not installed; install it (apt install ros-<distro>-rviz2), "
                         "or omit rviz:=true")
    folder = tempfile.mkdtemp(prefix="robodyn_rviz_")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    file = Path(folder) / "robodyn.rviz"
    from robodyn_ros.commands.rviz_configuration import rviz_configuration  # needs the extra meshes

    file.write_text(rviz_configuration(Robot.from_urdf(setup.robot_file), setup.robot_file.parent, namespace, prefix),
                    encoding="utf-8")
    return Node(package="rviz2", executable="rviz2", namespace=namespace, arguments=["-d", str(file)],
                parameters=[follow_clock(setup, namespace)])


def follow_clock(setup: Setup, namespace: str) -> dict[str, bool]:
    """Return use_sim_time for nodes of other packages; our nodes take their time from the stamps of joint states."""
    return {"use_sim_time": has_simulated_time(setup, namespace)}


def boolean(argument: str, text: str) -> bool:
    """Return the value of a launch argument that is true or false.

    Raises:
        InputError: It is neither.
    """
    if text.lower() not in ("true", "false"):
        raise InputError(f"launch argument '{argument}': expected true or false, received '{text}'")
    return text.lower() == "true"


def whole_number(argument: str, text: str) -> int:
    """Return the value of a launch argument that is 0 or a positive whole number.

    Raises:
        InputError: It is none.
    """
    if not text.isdecimal():
        raise InputError(f"launch argument '{argument}': expected a whole number, 0 or more, received '{text}'")
    return int(text)


def typed(value: str | float) -> ParameterValue:
    """Return a parameter that keeps its type, even if YAML would read its text as another type."""
    return ParameterValue(value, value_type=type(value))


def is_installed(package: str) -> bool:
    """Whether the ament index knows a package."""
    try:
        get_package_prefix(package)
    except PackageNotFoundError:
        return False
    return True
