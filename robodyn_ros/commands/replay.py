# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""``robodyn replay``: replays references or commands of a recording, on the same or another robot or law.

With ``--compare`` recorded efforts drive a simulated robot, and its motion is plotted over the measured one.
"""

from __future__ import annotations

import contextlib
import tempfile
from argparse import ArgumentParser, Namespace
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from robodyn_ros.base import topic_names
from robodyn_ros.base.bounded_files import expand_user
from robodyn_ros.base.common_fields import CUTOFF
from robodyn_ros.base.errors import InputError, RobodynError
from robodyn_ros.base.fields import Field
from robodyn_ros.base.optional_packages import require
from robodyn_ros.commands.options import Subparsers, add_complete_option, add_options
from robodyn_ros.commands.processes import NodeProcess
from robodyn_ros.commands.progress import Progress
from robodyn_ros.commands.record import END_SECONDS, new_folder
from robodyn_ros.commands.required import ros_required
from robodyn_ros.commands.simulation_setup import SimulationSettings, set_up
from robodyn_ros.commands.table_columns import add_table_options, recorded_arm, table_columns
from robodyn_ros.description.resources import actuators_file, world_file

START_SECONDS = 120.0
"""Longest wait for the recorder to subscribe [s]."""

FIND_FILE = {"actuators": actuators_file, "world": world_file}
"""Finders of files that may also be given by their name in config/."""
SEGMENT = 0.5
"""Duration of the motion simulated from each measured state [s]."""

_REPLAY_OPTIONS = "controller", "open_loop", "driver", "world", "mujoco_scene", "record"
_COMPARISON_OPTIONS = "segment", "cutoff", "output"


def add_commands(commands: Subparsers) -> None:
    """Add ``replay``."""
    replay = commands.add_parser(
        "replay",
        help="repeat a recording in simulation: its references, swaps, parameters and pushes, or its commands",
        description="Start a simulation in lockstep with the robot, parameters and state of a recording, repeat its "
        "references, swaps, changes of parameters and external wrenches, and print how far the motions are apart. With "
        "--open-loop, the recorded efforts or voltages are sent instead of references, and no controller runs. With "
        "--compare, nothing of ROS runs, and the recording may be a table.",
    )
    replay.add_argument("run_folder", metavar="RUN", type=Path, help="rosbag2 folder with MCAP, or .mcap file")
    add_complete_option(replay)
    replay.add_argument("--robot", default="", help="another robot with the same joints: shipped name, or URDF file")
    replay.add_argument("--controller", default="", help="this controller all the time, instead of the recorded ones")
    replay.add_argument("--open-loop", action="store_true",
                        help="send the recorded efforts or voltages; no controller runs")
    replay.add_argument("--actuators", default="", metavar="FILE", help="YAML file of actuators and friction, in the "
                        "place of a recorded one that does not come with the package")
    replay.add_argument("--driver", default="", metavar="NAME", help="driver of the arm or its file, likewise")
    replay.add_argument("--world", default="", metavar="FILE", help="YAML file of surfaces, or its name in "
                        "config/, likewise")
    replay.add_argument("--mujoco-scene", default="", metavar="FILE", help="MJCF file, likewise")
    replay.add_argument("--policy", default="", metavar="FILE", help="YAML file of the recorded policy, likewise")
    replay.add_argument("--record", default="", metavar="RUN2", help="folder for a recording of the replay")
    replay.add_argument("--namespace", default="", help="namespace of the replaying nodes")
    add_comparison_options(replay)
    replay.set_defaults(run=run_replay)


def run_replay(options: Namespace) -> int:
    """Replay a recording.

    Raises:
        RecordingError: The recording cannot be read, or has nothing to replay.
        InputError: The other robot has different joints, or a controller is given for an open loop.
        RobodynError: A node ended, does not answer or refuses; or ROS 2 or mcap is not installed.
    """
    if options.compare:
        return run_comparison(options)
    refuse_comparison_options(options)
    table_columns(options).refuse(options.run_folder)
    require("mcap_ros2")
    with ros_required():
        from robodyn_ros.nodes.client.graph_client import GraphClient
        from robodyn_ros.nodes.client.replay import ClosedLoopReplay, OpenLoopReplay
    from robodyn_ros.toolbox.recording.open_loop_plan import OpenLoopPlan
    from robodyn_ros.toolbox.recording.replay_plan import (
        NAMES_OF_FILES,
        POLICY_FILE,
        ReplayPlan,
        check_joints,
        check_names,
        parameters_of_nodes,
    )
    from robodyn_ros.toolbox.recording.run import Run

    if options.open_loop and options.controller:
        raise InputError(f"--open-loop runs no controller: expected no --controller, received '{options.controller}'")
    run = Run(options.run_folder)
    plan = OpenLoopPlan(run) if options.open_loop else ReplayPlan(run, swaps=not options.controller)
    check_joints(run, options.robot)
    recording = new_folder(options.record) if options.record else None
    controller = options.controller or ("" if isinstance(plan, OpenLoopPlan) else plan.controller)
    parameters = parameters_of_nodes(plan, controller)
    if isinstance(plan, OpenLoopPlan):
        del parameters["controller"], parameters["dynamics"]
    files = {name: file for name in NAMES_OF_FILES if (file := getattr(options, name))}
    for name, file in files.items():
        value = _driver(file) if name == "driver" else str(
            FIND_FILE.get(name, expand_user)(file).resolve())
        parameters["hardware"][name] = value
        if name in parameters.get("controller", {}):
            parameters["controller"][name] = value
    if options.policy:
        files[POLICY_FILE] = options.policy
        parameters.get("controller", {})[POLICY_FILE] = str(expand_user(options.policy).resolve())
    check_names(run, plan.requests, parameters, {*files, *filter(None, [options.controller])})
    if isinstance(plan, ReplayPlan):
        plan.repeat_inputs(controller)
    with tempfile.TemporaryDirectory() as folder, GraphClient("replay", options.namespace) as client, \
            simulation(Path(folder), run.robot_description, parameters, options) as processes:
        client.checks.extend(process.check for process in processes)
        replay: OpenLoopReplay | ClosedLoopReplay
        if isinstance(plan, OpenLoopPlan):
            replay, topics = OpenLoopReplay(client, plan, run.joint_names), [topic_names.JOINT_STATES]
        else:
            voltage = parameters["controller"].get("output") == "voltage"
            replay = ClosedLoopReplay(client, plan, run.joint_names, voltage, controller)
            topics = [topic_names.JOINT_STATES, topic_names.CONTROLLER_STATE]
        replay.prepare()
        with recorder(recording, client, topics) if recording else contextlib.nullcontext():
            progress = Progress(plan.end * plan.period, "s", decimals=1)
            replay.run(lambda tick: progress.show(tick * plan.period, ""))
            if isinstance(replay, ClosedLoopReplay):
                replay.wait_for_end()
        progress.end()
    print("\n".join(replay.report()))
    if recording:
        print(f"recorded: {recording}")
    return 0


def _driver(name: str) -> str:
    """Check that a driver loads; return its name, or the full path of its file."""
    from robodyn_ros.actuation.driver_profile import DRIVERS

    DRIVERS.load(name, "--driver")
    return name if name in DRIVERS.names else str(expand_user(name).resolve())


@contextlib.contextmanager
def simulation(folder: Path, description: str, parameters: dict[str, dict[str, Any]],
               options: Namespace) -> Iterator[list[NodeProcess]]:
    """Run all nodes with these parameters; in open loop, without the controller.

    Args:
        folder: Folder for files that the nodes read.
        description: The recorded robot, as URDF.
        parameters: Parameters by node.
        options: Of the command line: robot, namespace and open loop.
    """
    import yaml

    namespace = options.namespace.strip("/")
    front = f"/{namespace}" if namespace else ""
    robot = options.robot
    if not robot:
        robot = folder / "recorded.urdf"
        robot.write_text(description)
    file = folder / "parameters.yaml"
    file.write_text(yaml.safe_dump({f"{front}/{node}": {"ros__parameters": values}
                                    for node, values in parameters.items() if values}))
    with contextlib.ExitStack() as stack:
        if options.open_loop:
            setup = set_up(SimulationSettings(str(robot), params_file=str(file)))
            files = [argument for file in setup.files for argument in ("--params-file", str(file))]
            nodes = [stack.enter_context(NodeProcess(node, setup.values, namespace, [
                "-m", "robodyn_ros", node, "--ros-args", *files])) for node in ("hardware", "state_publisher")]
        else:
            nodes = [stack.enter_context(NodeProcess("simulate", namespace=namespace, command=[
                "-m", "robodyn_ros", "simulate", "--robot", str(robot), "--params-file", str(file)]))]
        try:
            yield nodes
        except RobodynError as error:
            if not all(node.running() for node in nodes):  # the error reports that a node ended
                raise
            raise RobodynError("\n".join([str(error), *(f"node '{node.node}': {node.last_lines()}"
                                                        for node in nodes)])) from error


@contextlib.contextmanager
def recorder(folder: Path, client: Any, topics: Sequence[str]) -> Iterator[None]:
    """Record the graph of a client, starting when the recorder has subscribed to these topics.

    Args:
        folder: Folder of the recording.
        client: The GraphClient.
        topics: Topics to wait for.
    """
    namespace = client.node.get_namespace().strip("/")
    command = ["-m", "robodyn_ros", "record", f"--output={folder}", f"--namespace={namespace}"]
    with NodeProcess("record", command=command, stop_seconds=END_SECONDS) as process:
        client.checks.append(process.check)
        try:
            client.wait_for(lambda: all(client.subscribes("recorder", topic) for topic in topics),
                            "recorder that hears the joint states", START_SECONDS)
            yield
        finally:
            client.checks.remove(process.check)


def add_comparison_options(parser: ArgumentParser) -> None:
    """Add ``--compare`` and its options."""
    parser.add_argument("--compare", action="store_true", help="put the recorded efforts on a simulated robot without "
                        "ROS, segment by segment from the measured state, and print how far the motions diverge; RUN "
                        "may be a table")
    add_options(parser, Field("segment", None, f"Of --compare (default: {SEGMENT:g})", unit="s", minimum=0.0,
                              above=True), metavar="SECONDS")
    add_options(parser, CUTOFF.renamed("cutoff", default=None, description="Of the filter on positions, for --compare "
                                       f"(default: {CUTOFF.default:g})"))
    parser.add_argument("--output", type=Path, help="picture of --compare, .png or .svg (default: replay.png)")
    add_table_options(parser)


def refuse_comparison_options(options: Namespace) -> None:
    """Raise if options of ``--compare`` were given without it.

    Raises:
        InputError: One was.
    """
    if given := [f"--{name}" for name in _COMPARISON_OPTIONS if getattr(options, name) is not None]:
        raise InputError(f"replay: {', '.join(given)}: expected --compare, to which it belongs, received none")


def run_comparison(options: Namespace) -> int:
    """Simulate a recorded motion, print the distances from the measured one, and draw both.

    Raises:
        RobodynError: The recording cannot be read, the simulation diverges, an option has no effect, or Matplotlib is
            missing.
        OSError: The picture cannot be written.
    """
    if given := [f"--{name.replace('_', '-')}" for name in _REPLAY_OPTIONS if getattr(options, name)]:
        raise InputError(f"replay: {', '.join(given)} has no effect with --compare; leave it out")
    require("matplotlib")
    from robodyn_ros.actuation.configuration import HardwareSettings
    from robodyn_ros.simulation.plant import Plant
    from robodyn_ros.simulation.segment_replay import replay_segments, step_for
    from robodyn_ros.toolbox.identification.report import table
    from robodyn_ros.toolbox.plots.identification_figures import save_replay
    from robodyn_ros.toolbox.recording.run import Run

    recorded = recorded_arm(options.run_folder, options)
    robot, what = recorded.robot, "measured"
    motion = recorded.prepared(options.cutoff or CUTOFF.default, shortest=1.0)
    effort = motion.effort
    if isinstance(recorded.source, Run) and (commands := recorded.source.commands) is not None:
        order = [recorded.source.joint_names.index(name) for name in robot.joint_names]
        last = np.clip(np.searchsorted(commands.time, motion.time, side="right") - 1, 0, None)
        if np.isfinite(commands.effort[:, order]).all():
            effort, what = commands.effort[last][:, order], "commanded"
    settings = HardwareSettings.named(options.actuators)
    plant = Plant(robot, step_for(motion.time), actuators=settings.joint_actuators(robot.model),
                  friction=settings.joint_friction(robot.model))
    segment = options.segment or SEGMENT
    simulated = replay_segments(plant, motion.time, motion.q, motion.v, effort, segment)
    apart = simulated - motion.q
    errors = np.sqrt(np.mean(apart**2, axis=0))
    units = [joint.unit for joint in robot.model.leaders]
    print(f"{recorded.path.name}: {what} efforts on simulated robot '{robot.name}', "
          f"{motion.time[-1] - motion.time[0]:.1f} s in segments of {segment:g} s from the measured state")
    print("\n".join(table(["joint", "RMS distance", "greatest", "moved by"], [
        [name, f"{error:.4g} {unit}", f"{greatest:.4g}", f"{moved:.3g}"] for name, error, unit, greatest, moved in zip(
            robot.joint_names, errors, units, np.abs(apart).max(axis=0), np.ptp(motion.q, axis=0), strict=True)])))
    picture = options.output or Path("replay.png")
    save_replay(motion.time, motion.q, simulated, robot.joint_names, units, errors, picture,
                f"{robot.name}: {recorded.path.name} measured and simulated, segments of {segment:g} s")
    print(f"written: {picture}")
    return 0
