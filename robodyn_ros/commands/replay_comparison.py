# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""``robodyn replay --compare``: recorded efforts on a simulated robot, its motion over the measured one."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from pathlib import Path

import numpy as np

from robodyn_ros.base.common_fields import CUTOFF
from robodyn_ros.base.errors import InputError
from robodyn_ros.base.fields import Field
from robodyn_ros.base.optional_packages import require
from robodyn_ros.commands.options import add_options
from robodyn_ros.commands.recorded_arm import RecordedArm
from robodyn_ros.commands.table_columns import JointTable, add_table_options

SEGMENT = 0.5
"""Of the motion that is simulated from a measured state [s]."""

_UNUSED = "controller", "open_loop", "driver", "world", "mujoco_scene", "record"
_OWN = "segment", "cutoff", "output"


def add_comparison_options(parser: ArgumentParser) -> None:
    """Add ``--compare`` and the options that it has."""
    parser.add_argument("--compare", action="store_true", help="put the recorded efforts on a simulated robot without "
                        "ROS, segment by segment from the measured state, and tell how far the motions get apart; RUN "
                        "may be a table")
    add_options(parser, Field("segment", None, f"Of --compare (default: {SEGMENT:g})", unit="s", minimum=0.0,
                              above=True), metavar="SECONDS")
    add_options(parser, CUTOFF.renamed("cutoff", default=None, description="Of the filter on positions, for --compare "
                                       f"(default: {CUTOFF.default:g})"))
    parser.add_argument("--output", type=Path, help="picture of --compare, .png or .svg (default: replay.png)")
    add_table_options(parser)


def refuse_comparison_options(options: Namespace) -> None:
    """Raise if an option of ``--compare`` was given without it.

    Raises:
        InputError: One was.
    """
    if given := [f"--{name}" for name in _OWN if getattr(options, name) is not None]:
        raise InputError(f"replay: {', '.join(given)}: expected --compare, to which it belongs, received none")


def run_comparison(options: Namespace) -> int:
    """Simulate a recorded motion, print the distances from the measured one, and draw both.

    Raises:
        RobodynError: The recording cannot be read, the simulation diverges, an option has no effect, or Matplotlib is
            missing.
        OSError: The picture cannot be written.
    """
    if given := [f"--{name.replace('_', '-')}" for name in _UNUSED if getattr(options, name)]:
        raise InputError(f"replay: {', '.join(given)} has no effect with --compare; leave it out")
    require("matplotlib")
    from robodyn_ros.actuation.configuration import HardwareSettings
    from robodyn_ros.simulation.plant import Plant
    from robodyn_ros.simulation.segment_replay import replay_segments, step_for
    from robodyn_ros.toolbox.identification.report import table
    from robodyn_ros.toolbox.plots.identification_figures import save_replay

    recorded = RecordedArm.from_options(options.run_folder, options)
    robot, what = recorded.robot, "measured"
    motion = recorded.prepared(options.cutoff or CUTOFF.default, shortest=1.0)
    effort = motion.effort
    if not isinstance(recorded.source, JointTable) and (commands := recorded.source.commands) is not None:
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
