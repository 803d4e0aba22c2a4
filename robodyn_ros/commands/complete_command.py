# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""``robodyn complete`` writes a URDF with estimated missing inertias; other commands have ``--complete``."""

from __future__ import annotations

import os
import tempfile
from argparse import Namespace
from pathlib import Path

from robodyn_ros.base.bounded_files import expand_user
from robodyn_ros.base.errors import InputError
from robodyn_ros.base.fields import Field
from robodyn_ros.commands.options import Subparsers, add_options


def add_commands(commands: Subparsers) -> None:
    """Add ``complete``."""
    complete = commands.add_parser(
        "complete", help="write a URDF with the inertias that are missing or impossible, from shapes",
        description="Estimate the inertias that a URDF lacks or that no body can have from the shapes of its links, "
        "with one density, and write the completed URDF. Each estimated value is marked; robodyn check lists them.",
    )
    complete.add_argument("file", help="path of a URDF, MJCF or xacro file, or name of a robot")
    amount = complete.add_mutually_exclusive_group()
    add_options(amount, Field("mass", None, "Of the whole robot, its base included, as data sheets have it; without "
                              "it, the density of the links whose inertia is known counts", unit="kg", minimum=0.0,
                              above=True), metavar="KG")
    add_options(amount, Field("density", None, "Of all shapes", unit="kg/m^3", minimum=0.0, above=True),
                metavar="KG_PER_M3")
    complete.add_argument("--repair", action="store_true", help="take the nearest possible inertia in the place of an "
                          "impossible one, not that of the link's shapes")
    complete.add_argument("--output", metavar="FILE", default="", help="file to write (default: the file's name with "
                          "_completed, in this folder)")
    complete.add_argument("--force", action="store_true", help="replace the output file if it exists")
    complete.set_defaults(run=run_complete)


def run_complete(options: Namespace) -> int:
    """Write the completed URDF.

    Raises:
        DescriptionError: See `complete_urdf`.
        InputError: The output file exists or cannot be written.
    """
    from robodyn_ros.description.completion.completed_urdf import CompletionRule, complete_urdf
    from robodyn_ros.description.resources import robot_file

    rule = CompletionRule(options.mass, options.density, options.repair)
    file = robot_file(options.file)
    given = Path(options.file.split(" ")[0])  # of a xacro file, whose URDF has another name; no name has a pipe
    stem = given.name.partition(".")[0] if given.suffix else file.stem
    output = expand_user(options.output or f"{stem}_completed.urdf")
    if output.exists() and not options.force:
        raise InputError(f"'{output}' exists: name another --output, or replace it with --force")
    found = complete_urdf(file, rule, absolute_meshes=output.parent.resolve() != file.parent.resolve())
    if not found.lines:
        from robodyn_ros.commands.prepared_robot import NOTHING_TO_COMPLETE

        print(NOTHING_TO_COMPLETE)
        return 0
    _write(output, found.text)
    print("\n".join([*found.lines, *(f"link {name}: no estimate, as it has no shape with a volume"
                                      for name in found.without), "", found.summary, f"written: {output}"]))
    return 0


def _write(path: Path, text: str) -> None:
    """Write a file completely or not at all."""
    try:
        handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}")
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(text)
        os.chmod(temporary, 0o644)
        os.replace(temporary, path)
    except OSError as error:
        raise InputError(f"'{path}' cannot be written: {error}; name another --output") from None
