# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""``robodyn plot``: draws one or two recordings."""

from __future__ import annotations

from argparse import Namespace
from pathlib import Path

from robodyn_ros.base.optional_packages import require
from robodyn_ros.commands.options import Subparsers, warn


def add_commands(commands: Subparsers) -> None:
    """Add ``plot``."""
    plot = commands.add_parser(
        "plot",
        help="draw one or two recordings: positions, errors, efforts, motors, energy and path, by controller",
        description="Draw a recording, or two of the same robot over each other: for each joint its position, error "
        "and effort, and current and voltage where there are motors; energy; the path of the tip link; and which "
        "controller was in force when.",
    )
    plot.add_argument("runs", nargs="+", metavar="RUN", type=Path, help="rosbag2 folder with MCAP, or .mcap file")
    plot.add_argument("--output", type=Path, help="picture, .png or .svg (default: <RUN>.png)")
    plot.add_argument("--terms", action="store_true", help="draw the terms of the efforts of one recording, too, "
                      "such as feedback and gravity")
    plot.set_defaults(run=run_plot)


def run_plot(options: Namespace) -> int:
    """Draw the recordings.

    Raises:
        RobodynError: A recording cannot be read, there are more than two, or two with terms, their robots differ, there
            are no terms, or the picture format is unknown.
        OSError: The picture cannot be written.
    """
    from dataclasses import replace

    from robodyn_ros.base.errors import InputError

    if len(options.runs) > 2:
        raise InputError(f"plot: expected one or two recordings, received {len(options.runs)}")
    require("matplotlib")
    require("mcap_ros2")
    from robodyn_ros.toolbox.plots.motion import recorded_motion
    from robodyn_ros.toolbox.plots.motion_figure import save_motions
    from robodyn_ros.toolbox.recording.run import Run

    runs = [Run(path) for path in options.runs]
    for run in runs:
        for note in run.notes:
            warn(note)
    picture = options.output or Path(f"{runs[0].path.resolve().with_suffix('').name}.png")
    picture = picture if picture.suffix else picture.with_suffix(".png")
    picture.parent.mkdir(parents=True, exist_ok=True)
    names = [run.path.resolve().stem for run in runs]
    labels = names if len(set(names)) == len(names) else [str(path) for path in options.runs]
    motions = [recorded_motion(run, label) for run, label in zip(runs, labels, strict=True)]
    if not options.terms:
        motions = [replace(motion, terms=None) for motion in motions]
    elif not any(motion.terms for motion in motions):
        raise InputError(f"plot: --terms: {runs[0].path} has no terms of efforts: record the topic "
                         "controller/controller_state of a controller node of this version")
    save_motions(motions, picture, " and ".join(labels))
    print(f"written: {picture}")
    return 0
