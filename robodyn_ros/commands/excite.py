# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""``robodyn excite``: a trajectory file with a motion that identifies a robot's inertias and friction."""

from __future__ import annotations

from argparse import Namespace
from pathlib import Path

from robodyn_ros.base.fields import Field
from robodyn_ros.commands.options import Subparsers, add_options, add_robot_options, given_robot


def add_commands(commands: Subparsers) -> None:
    """Add ``excite``."""
    excite = commands.add_parser(
        "excite", help="search a motion for identifying a robot's masses, centres and friction",
        description="Search a periodic motion within all limits of a robot whose efforts identify inertias and "
        "friction, and write it as a trajectory for 'robodyn move', 'demo' and 'compare'. 'robodyn identify' takes the "
        "recording of it.",
    )
    add_robot_options(excite)
    add_options(
        excite,
        Field("output", Path("excitation.csv"), "trajectory, .csv"),
        Field("duration", 30.0, "length of the motion, a multiple of the period", unit="s", minimum=0.0, above=True,
              maximum=3600.0),
        Field("period", 10.0, "period of the motion", unit="s", minimum=0.0, above=True, maximum=3600.0),
        Field("harmonics", 5, "harmonics of the period", minimum=1, maximum=100),
        Field("share", 0.8, "share of position ranges and of the limits of velocity, effort and acceleration to use",
              minimum=0.0, above=True, maximum=1.0),
        Field("iterations", 60, "steps of the search", minimum=0, maximum=100_000),
        Field("seed", 0, "seed of the motion that the search begins with", minimum=0, maximum=10**9),
    )
    excite.add_argument("--acceleration", nargs="+", metavar="JOINT=VALUE", help="greatest accelerations [rad/s^2 or "
                        "m/s^2], by joint or one for each (default: no limit)")
    add_options(excite, Field("floor", None, "Keep tip link and moving links above this height in the base frame",
                              unit="m", minimum=-1000.0, maximum=1000.0), metavar="Z")
    excite.set_defaults(run=run_excite)


def run_excite(options: Namespace) -> int:
    """Search and write the motion; print its condition number and the used shares of the limits.

    Raises:
        RobodynError: The robot cannot be used, an option is out of its range, or no motion keeps to the limits.
        OSError: The file cannot be written.
    """
    import numpy as np

    from robodyn_ros.base.checks import Range, as_number
    from robodyn_ros.base.errors import InputError
    from robodyn_ros.commands.quantities import parse_joint_values
    from robodyn_ros.commands.trajectory_files import write_csv
    from robodyn_ros.toolbox.identification.excitation import MAX_CONDITION, Task, excite

    if options.output.suffix not in ("", ".csv"):
        raise InputError(f"excite: output: expected a file that ends in .csv, received '{options.output}'")
    robot = given_robot(options)
    acceleration = None
    if options.acceleration:
        kinds = {joint.name: joint.kind for joint in robot.model.leaders}
        given = parse_joint_values(options.acceleration, kinds, per="/s2")
        for name, value in given.items():
            as_number(value, Range(0.0, above=True), f"excite: acceleration of joint '{name}'")
        acceleration = np.array([given.get(name, np.inf) for name in robot.joint_names])
    print(f"searching: {options.iterations} steps …", flush=True)
    found = excite(robot, Task(options.duration, options.period, options.harmonics, options.share, acceleration,
                               options.floor, options.iterations, options.seed))
    points = found.points
    path = options.output.with_suffix(".csv")
    path.parent.mkdir(parents=True, exist_ok=True)
    write_csv(path, robot, points)
    print(f"{robot.name}: {options.duration:g} s in periods of {options.period:g} s, after {points.times[0]:.2f} s "
          "from the default position")
    judgement = (f"good, below {MAX_CONDITION:g}" if found.condition < MAX_CONDITION else
                 f"poor, above {MAX_CONDITION:g}; give more --iterations, a greater --share, or another --seed")
    print(f"condition number of the base regressor: {found.condition_before:.1f} before the search, "
          f"{found.condition:.1f} after it: {judgement}")
    print("greatest share of the limits: " + ", ".join(
        f"{name} {options.share * used:.0%}" for name, used in found.shares.items() if name != "floor" and used > 0.0))
    print(f"written: {path}")
    return 0
