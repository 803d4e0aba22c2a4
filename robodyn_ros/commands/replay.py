"""``robodyn replay``: the references and commands of a recording once more, on the same or another robot or law."""

from __future__ import annotations

import contextlib
import tempfile
from argparse import Namespace
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from robodyn_ros.commands.options import Subparsers
from robodyn_ros.commands.processes import NodeProcess
from robodyn_ros.commands.progress import Progress
from robodyn_ros.commands.record import check_mcap, new_folder
from robodyn_ros.commands.ros_required import ros_required

START_SECONDS = 60.0
"""Longest wait for the recorder to subscribe [s]."""


def add_commands(commands: Subparsers) -> None:
    """Add ``replay``."""
    replay = commands.add_parser(
        "replay",
        help="repeat a recording in simulation: its references, swaps, parameters and pushes",
        description="Start a simulation in lockstep with the robot, parameters and state of a recording, repeat its "
        "references, swaps, changes of parameters and external wrenches, and print how far the motions are apart.",
    )
    replay.add_argument("run_folder", metavar="RUN", type=Path, help="rosbag2 folder with MCAP, or .mcap file")
    replay.add_argument("--robot", default="", help="another robot with the same joints: shipped name, or URDF file")
    replay.add_argument("--controller", default="", help="this controller all the time, instead of the recorded ones")
    replay.add_argument("--record", default="", metavar="RUN2", help="folder for a recording of the replay")
    replay.add_argument("--namespace", default="", help="namespace of the replaying nodes")
    replay.set_defaults(run=run_replay)


def run_replay(options: Namespace) -> int:
    """Replay a recording.

    Raises:
        RecordingError: The recording cannot be read, or has nothing to replay.
        InputError: The other robot has other joints.
        RobodynError: A node ended, does not answer or refuses; or ROS 2 or mcap is not installed.
    """
    check_mcap()
    from robodyn_ros.recording.replay_plan import ReplayPlan, check_joints, parameters_of_nodes
    from robodyn_ros.recording.run import Run

    run = Run(options.run_folder)
    plan = ReplayPlan(run, swaps=not options.controller)
    check_joints(run, options.robot)
    with ros_required():
        from robodyn_ros.nodes.client.graph_client import GraphClient
        from robodyn_ros.nodes.client.replay import Replay
    recording = new_folder(options.record) if options.record else None
    parameters = parameters_of_nodes(run, plan, options.controller)
    with tempfile.TemporaryDirectory() as folder, GraphClient("replay", options.namespace) as client, \
            simulation(Path(folder), run.robot_description, parameters, options) as process:
        client.checks.append(process.check)
        replay = Replay(client, plan, run.joint_names, parameters["controller"].get("output") == "voltage")
        replay.prepare()
        with recorder(recording, client) if recording else contextlib.nullcontext():
            progress = Progress(plan.end * plan.period, "s", decimals=1)
            replay.run(lambda tick: progress.show(tick * plan.period, ""))
            client.wait_for(lambda: replay.samples and replay.samples[-1][0] + 0.2 / plan.period > plan.end,
                            "controller state", START_SECONDS)
        progress.end()
    for refusal in replay.refusals:
        print(f"not repeated: {refusal}")
    ticks, deviations = replay.deviations()
    joint = int(np.abs(deviations).max(axis=0).argmax())
    worst = int(np.abs(deviations[:, joint]).argmax())
    print(f"replayed {plan.end * plan.period:.3f} s of {run.path}; greatest distance from the recorded positions: "
          f"{abs(deviations[worst, joint]):.3g} ({run.joint_names[joint]}, at {ticks[worst] * plan.period:.3f} s)")
    if recording:
        print(f"recorded: {recording}")
    return 0


@contextlib.contextmanager
def simulation(folder: Path, description: str, parameters: dict[str, dict[str, Any]],
               options: Namespace) -> Iterator[NodeProcess]:
    """Run all nodes with these parameters.

    Args:
        folder: Folder for files that the nodes read.
        description: The recorded robot, as URDF.
        parameters: Of each node.
        options: Of the command line: robot and namespace.
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
    command = ["-m", "robodyn_ros", "simulate", "--robot", str(robot), "--params-file", str(file)]
    with NodeProcess("simulate", namespace=namespace, command=command) as process:
        yield process


@contextlib.contextmanager
def recorder(folder: Path, client: Any) -> Iterator[None]:
    """Record the graph of a client; begin once the recorder hears the joint states.

    Args:
        folder: Folder of the recording.
        client: The GraphClient.
    """
    node = client.node
    command = ["-m", "robodyn_ros", "record", f"--output={folder}", f"--namespace={node.get_namespace().strip('/')}"]
    with NodeProcess("record", command=command) as process:
        client.checks.append(process.check)
        try:
            client.wait_for(lambda: all(any(
                listener.node_name == "recorder" for listener in node.get_subscriptions_info_by_topic(
                    node.resolve_topic_name(topic))) for topic in ("joint_states", "controller/controller_state")),
                "recorder that hears the joint states", START_SECONDS)
            yield
        finally:
            client.checks.remove(process.check)
