# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Parameters of laws on a command line: ``--set pd.gains.elbow_joint.p=80 policy.file=reach.yaml``."""

from __future__ import annotations

from argparse import ArgumentParser
from collections.abc import Sequence
from typing import Any


def add_set_option(parser: ArgumentParser) -> None:
    """Add ``--set``; see `given_parameters`."""
    parser.add_argument("--set", nargs="+", default=[], metavar="LAW.NAME=VALUE", help="parameters that laws begin "
                        "with, named as for robodyn set: pd.gains.elbow_joint.p=80, pd.gains.*.p=80, "
                        "policy.file=reach.yaml; without LAW. where there is one law")


def given_parameters(assignments: Sequence[str], laws: Sequence[str], robot: Any) -> dict[str, Any]:
    """Return the parameters of the laws of which some were set; of the others there are none.

    Args:
        assignments: ``LAW.NAME=VALUE`` each: the prefix of the law's parameters, and a flat name, in which ``*`` stands
            for any part between two dots. With one law the prefix may be left out.
        laws: Names of the laws.
        robot: The `Robot`, with the timing that default gains are for.

    Raises:
        InputError: An assignment has no such form, names no law or no parameter, or its value does not fit.
        PluginError: There is no such law.
    """
    from robodyn_ros.control.registry import load_controller, prefix  # other commands shall not wait for SciPy
    from robodyn_ros.errors import InputError, unknown
    from robodyn_ros.fields import is_named

    owners = {prefix(law): law for law in laws}
    flat: dict[str, Any] = {}  # by law; default gains take their time
    values: dict[str, dict[str, Any]] = {}
    for assignment in assignments:
        name, equals, text = assignment.partition("=")
        if not (name and equals):
            raise InputError(f"--set: expected LAW.NAME=VALUE, received '{assignment}'")
        before, _, rest = name.partition(".")
        if before in owners:
            law, wanted = owners[before], rest
        elif len(owners) == 1:
            (law,), wanted = owners.values(), name
        else:
            raise InputError(f"--set {name}: {unknown('law', before, list(owners))}")
        rows = flat[law] = flat.get(law) or load_controller(law).Parameters().flat(robot)
        meant = [row for row in rows if row.name.count(".") == wanted.count(".") and is_named(row.name, wanted)]
        if not meant:
            raise InputError(f"--set {name}: {law}: {unknown('parameter', wanted, [row.name for row in rows])}")
        for row in meant:
            if row.name in values.setdefault(law, {}):
                raise InputError(f"--set: expected each parameter once, received '{row.name}' of {law} twice")
            values[law][row.name] = row.read(text, f"--set {name}")
    return {law: load_controller(law).Parameters().with_flat_values(robot, chosen) for law, chosen in values.items()}
