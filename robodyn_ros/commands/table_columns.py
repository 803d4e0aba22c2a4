# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Options of the commands that read a robot's motion from a recording or a table."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from dataclasses import fields
from pathlib import Path
from typing import Any

from robodyn_ros.base.fields import Field
from robodyn_ros.commands.options import add_options, warn


def add_table_options(parser: ArgumentParser) -> None:
    """Add the options that describe the columns of a table."""
    table = parser.add_argument_group(
        "tables", "A file .csv, .npz, .mat or .parquet takes the place of a recording. A column is named as in the "
        "file's first line, by its number if there are no names, or several at once with *; FILE:COLUMN is one of "
        "another file in the same folder. There is one for each joint, in the robot's order.")
    several: dict[str, Any] = {"nargs": "+", "metavar": "COLUMN"}
    table.add_argument("--time", metavar="COLUMN", help="stamps [s]")
    add_options(table, Field("rate", None, "Sampling rate of a table without stamps", unit="Hz", minimum=0.0,
                             above=True, maximum=1e6))
    table.add_argument("--positions", **several, help="joint positions [rad or m]")
    table.add_argument("--motor-positions", **several, help="positions of the motors instead [rad]; give --ratios. "
                       "Beside --positions: the stiffness of elastic joints is identified, too")
    table.add_argument("--velocities", **several, help="velocities, at the side of the positions, or of --positions "
                       "where there are both [rad/s or m/s]; "
                       "default: the positions are differentiated")
    table.add_argument("--efforts", **several, help="joint efforts [N m or N]")
    table.add_argument("--motor-efforts", **several, help="torques of the motors instead [N m]; give --ratios")
    table.add_argument("--currents", **several, help="currents of the motors instead [A]; give --torque-constants and "
                       "--ratios")
    add_options(table, Field("torque_constants", [], "Of the motors; one, or one for each joint; without --currents, "
                             "factors of the efforts, such as -1 where a driver counts the torque of the load",
                             unit="N m/A", kind=float, not_zero=True), metavar="K")
    add_options(table, Field("ratios", [], "Turns of a motor for one of its joint, negative where it turns the other "
                             "way; one, or one for each joint (default: those of --actuators, or 1)", kind=float,
                             not_zero=True), metavar="N")
    table.add_argument("--coupling", nargs="+", default=[], metavar="MOTOR:JOINT=N", help="turns of a joint's motor "
                       "for one of another joint, as in coupled wrists")
    table.add_argument("--degrees", action="store_true", help="positions and velocities are in degrees")


def table_columns(options: Namespace) -> Any:
    """Return the `TableColumns` of the options of `add_table_options`, with ``--actuators`` where a command has it."""
    from robodyn_ros.toolbox.recording.joint_table import TableColumns  # help shall not wait for SciPy

    return TableColumns(**{each.name: value for each in fields(TableColumns)
                           if (value := getattr(options, each.name, None)) is not None})


def recorded_arm(path: Path, options: Namespace) -> Any:
    """Return the `RecordedArm` of a recording or a table, with ``robot``, ``namespace`` and the options of tables."""
    from robodyn_ros.toolbox.identification.recorded_arm import RecordedArm

    return RecordedArm.from_file(path, table_columns(options), options.robot or "", options.namespace or None, warn)
