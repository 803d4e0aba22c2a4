# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""``robodyn hardware|controller|dynamics|state_publisher`` run one node, ``robodyn simulate`` runs all of them."""

from __future__ import annotations

import gc
import importlib
import importlib.util
from argparse import SUPPRESS, Namespace
from contextlib import ExitStack

from robodyn_ros.base.common_fields import COMPLETE, PORT
from robodyn_ros.base.errors import InputError
from robodyn_ros.base.fields import Field, declared
from robodyn_ros.base.optional_packages import require
from robodyn_ros.commands.options import ROBOT_OPTIONS, Subparsers, add_options, add_robot_options
from robodyn_ros.commands.processes import command_beside, ros_arguments
from robodyn_ros.commands.record import END_SECONDS, new_folder
from robodyn_ros.commands.required import ros_required
from robodyn_ros.commands.simulation_setup import NODES, SimulationSettings, set_up
from robodyn_ros.commands.supervision import RESTARTS, supervise
from robodyn_ros.nodes.common.discovery import stay_on_this_machine
from robodyn_ros.nodes.common.given_parameters import namespace_rule
from robodyn_ros.nodes.common.signals import end_soon, hold_stop_signals

HELP = {
    "hardware": "node: the simulated robot; takes efforts or voltages, publishes joint states",
    "controller": "node: runs the control law that the parameter 'controller' names",
    "dynamics": "node: answers services: inverse and forward dynamics, kinematics and more",
    "state_publisher": "node: publishes /tf, /tf_static and robot_description for RViz",
}
DYNAMIC = ("controller", "time_mode", "real_time_factor", "speed_limit", "actuators", "driver", "world", "engine",
           "mujoco_scene")
"""Options of ``simulate`` without a use for a robot without dynamics."""

PARAMETERS = "give parameters as ROS 2 does: --ros-args -p robot:=arm6"


def add_commands(commands: Subparsers) -> None:
    """Add one command for each node, and ``simulate``."""
    for name in NODES:
        node = commands.add_parser(name, help=HELP[name], description=f"{HELP[name]}; {PARAMETERS}")
        node.add_argument("unexpected", nargs="*", help=SUPPRESS)
        node.set_defaults(run=run_node, takes_ros_arguments=True)

    simulate = commands.add_parser(
        "simulate",
        help="run all four nodes in one process, until Ctrl-C",
        description="Run hardware, controller, dynamics and state publisher in one process. Parameters come from "
        "config/simulation.yaml, then --params-file, then these options, then --ros-args; the later one wins.",
    )
    add_robot_options(simulate)
    add_options(simulate, *(field for name, field in declared(SimulationSettings).items() if name not in ROBOT_OPTIONS))
    simulate.add_argument("--namespace", default="", help="namespace of all nodes and topics")
    simulate.add_argument("--view", action="store_true", help="show it in a browser, as robodyn view does")
    add_options(simulate, PORT.renamed("view_port", default=None, kind=int, description="Port of the page, for --view "
                                       f"(default: {PORT.default})"))
    simulate.add_argument("--record", default="", metavar="RUN", help="folder for a recording, as of robodyn record")
    add_options(simulate, Field("restarts", RESTARTS, "Greatest number of restarts after failures of the nodes",
                                minimum=0, maximum=1_000_000), metavar="N")
    simulate.add_argument("--kinematic", action="store_true", help="move the robot without dynamics, as one without "
                          "inertias needs: motions of the page and of trajectory messages are followed exactly")
    simulate.add_argument("--supervised", action="store_true", help=SUPPRESS)  # run only the nodes
    simulate.set_defaults(run=run_simulate, takes_ros_arguments=True)


def run_node(options: Namespace) -> int:
    """Run one node until SIGINT or SIGTERM.

    Raises:
        InputError: An argument stands before ``--ros-args``.
        RobodynError: ROS 2 cannot be imported.
    """
    if options.unexpected:
        raise InputError(f"{options.command}: unexpected argument '{options.unexpected[0]}'; {PARAMETERS}")
    hold_stop_signals()
    gc.disable()  # collections would take a tenth of the start-up time; run_nodes enables them
    with ros_required():
        node = importlib.import_module(NODES[options.command])
    return _ended(int(node.main(options.ros_arguments)))


def _ended(code: int) -> int:
    """End the process after its nodes, also if plugins left threads in it."""
    from robodyn_ros.control.plugins.plugin_threads import some_left_behind  # imported by the nodes

    return end_soon(code, some_left_behind())


def run_simulate(options: Namespace) -> int:
    """Run all nodes until SIGINT or SIGTERM, in a process that is restarted after a failure.

    Raises:
        InputError: An option has a value that cannot be used.
        RobodynError: ROS 2 cannot be imported.
    """
    hold_stop_signals()
    if options.supervised:
        gc.disable()  # as in run_node
        with ros_required():
            from robodyn_ros.nodes import all_nodes
        return _ended(all_nodes.main(options.ros_arguments, options.namespace, kinematic=options.kinematic))
    if options.view_port is not None and not options.view:
        raise InputError("--view-port has no effect without --view: give both or neither")
    if options.kinematic and (useless := next((name for name in DYNAMIC if getattr(options, name) is not None), "")):
        raise InputError(f"--{useless.replace('_', '-')} has no effect with --kinematic, which has no dynamics: leave "
                         "out one of them")
    stay_on_this_machine()
    setup = set_up(SimulationSettings(**{name: getattr(options, name) for name in declared(SimulationSettings)
                                         if name != COMPLETE.name}))  # the robot is complete by now
    with ros_required():
        if importlib.util.find_spec("rclpy") is None:
            raise ModuleNotFoundError("No module named 'rclpy'", name="rclpy")
    given_by_rule = namespace_rule(options.ros_arguments)
    namespace = f"/{(options.namespace or given_by_rule).strip('/')}"
    if given_by_rule and namespace != given_by_rule:
        raise InputError(f"namespace: expected one, received '{namespace}' and '{given_by_rule}'")
    # Files come first: of two values given to all nodes, the later one counts; of two rules, the first one.
    files = [argument for file in setup.files for argument in ("--params-file", str(file))]
    given = ["--ros-args", *files, *ros_arguments(setup.values), *options.ros_arguments, *ros_arguments({}, namespace)]
    with ExitStack() as beside:
        if options.view:
            require("viser")
            page = {"robot": setup.robot_file, "namespace": namespace, "port": options.view_port,
                    "tip-link": options.tip_link}
            beside.enter_context(command_beside("view", {name: value for name, value in page.items()
                                                         if value is not None}))
        if options.record:
            require("mcap_ros2")
            recording = {"output": new_folder(options.record), "namespace": namespace}
            beside.enter_context(command_beside("record", recording, END_SECONDS))
        return supervise(["-m", "robodyn_ros", "simulate", "--supervised", *["--kinematic"] * options.kinematic,
                          f"--namespace={namespace}", *given], "the nodes", options.restarts)
