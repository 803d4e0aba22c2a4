# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Parameters of laws on a command line: ``--set pd.gains.elbow_joint.p=80``, or a file from ``robodyn tune``."""

from __future__ import annotations

import json
import sys
from argparse import ArgumentParser
from collections.abc import Sequence
from typing import Any


def add_law_options(parser: ArgumentParser) -> None:
    """Add ``--set`` and ``--params-file``; see `given_parameters`."""
    parser.add_argument("--set", nargs="+", default=[], metavar="LAW.NAME=VALUE", help="parameters that laws begin "
                        "with, named as for robodyn set: pd.gains.elbow_joint.p=80, pd.gains.*.p=80, "
                        "policy.file=reach.yaml; without LAW. where there is one law")
    add_params_file_option(parser)


def add_params_file_option(parser: ArgumentParser) -> None:
    """Add ``--params-file``."""
    parser.add_argument("--params-file", default="", metavar="FILE", help="YAML file of ROS parameters with those of "
                        "laws, such as robodyn tune writes; --set goes before it")


def given_parameters(assignments: Sequence[str], laws: Sequence[str], robot: Any, params_file: str = ""
                     ) -> dict[str, Any]:
    """Return the parameters of those laws for which values were given; arguments and errors as for `given_values`."""
    from robodyn_ros.control.plugins.registry import load_controller

    return {law: load_controller(law).Parameters().with_flat_values(robot, values)
            for law, values in given_values(assignments, laws, robot, params_file).items()}


def given_values(assignments: Sequence[str], laws: Sequence[str], robot: Any, params_file: str = ""
                 ) -> dict[str, dict[str, Any]]:
    """Return the values of parameters by law and flat name, for those laws for which some were given.

    Args:
        assignments: ``LAW.NAME=VALUE`` each: the prefix of the law's parameters and a flat name, with ``*`` for any
            part between two dots. With a single law the prefix is optional.
        laws: Names of the laws.
        robot: The `Robot`, with the loop timing for default gains.
        params_file: YAML file of ROS parameters; assignments override it. A line on stderr names parameters that only
            nodes read. Empty: no file.

    Raises:
        InputError: An assignment has no such form, names no law or no parameter, or its value does not fit; or the file
            cannot be read, or has parameters of another law.
        PluginError: There is no such law.
    """
    from robodyn_ros.base.errors import InputError, unknown
    from robodyn_ros.base.fields import is_named
    from robodyn_ros.control.plugins.registry import load_controller, prefix  # other commands should not wait for SciPy

    owners = {prefix(law): law for law in laws}
    flat: dict[str, Any] = {}  # by law; cached, because default gains take long
    values: dict[str, dict[str, Any]] = {}

    def rows_of(law: str) -> Any:
        if law not in flat:
            flat[law] = load_controller(law).Parameters().flat(robot)
        return flat[law]

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
        rows = rows_of(law)
        meant = [row for row in rows if row.name.count(".") == wanted.count(".") and is_named(row.name, wanted)]
        if not meant:
            raise InputError(f"--set {name}: {law}: {unknown('parameter', wanted, [row.name for row in rows])}")
        for row in meant:
            if row.name in values.setdefault(law, {}):
                raise InputError(f"--set: expected each parameter once, received '{row.name}' of {law} twice")
            values[law][row.name] = row.read(text, f"--set {name}")
    others = []
    for name, value in (parameters_in(params_file) if params_file else {}).items():
        before, dot, rest = name.partition(".")
        if not dot or before not in owners:
            others.append(name)
            continue
        law = owners[before]
        row = next((row for row in rows_of(law) if row.name == rest), None)
        if row is None:
            raise InputError(f"--params-file {params_file}: {law}: "
                             + unknown("parameter", rest, [row.name for row in rows_of(law)]))
        text = value if isinstance(value, str) else json.dumps(value)
        values.setdefault(law, {}).setdefault(row.name, row.read(text, f"--params-file {params_file}: {name}"))
    gains = sorted({name.partition(".")[0] for name in others if ".gains." in name})
    if gains:
        raise InputError(f"--params-file {params_file}: expected parameters of {', '.join(owners)}, received those of "
                         f"{', '.join(gains)}")
    if others := [name for name in others if name != "controller"]:
        print(f"--params-file {params_file}: not used, as nodes alone read them: {', '.join(others)}", file=sys.stderr)
    return values


def parameters_in(params_file: str) -> dict[str, Any]:
    """Return the controller's parameters in a YAML file of ROS parameters, by flat name.

    Raises:
        InputError: The file cannot be read or has another format.
    """
    from robodyn_ros.base.bounded_files import expand_user
    from robodyn_ros.base.errors import InputError
    from robodyn_ros.nodes.common.given_parameters import GivenParameters

    given = GivenParameters.from_file(expand_user(params_file))
    found = given.combined(pattern for pattern in given.values
                           if pattern.rpartition("/")[2] in ("**", "*", "controller"))
    if not found:
        raise InputError(f"--params-file {params_file}: expected ROS parameters of the controller, as robodyn tune "
                         "writes them: '/**:', below it 'ros__parameters:', below it names and values")
    return {name: value for name, (value, _) in found.items()}


def law_report(robot: Any, params_file: str) -> tuple[list[str], list[str]]:
    """Describe the law in a file of ROS parameters for a robot: its gains, and whether they are stable.

    Args:
        robot: The `Robot`.
        params_file: The file; its ``update_rate`` and ``state_delay`` give the timing, otherwise the node's defaults.

    Returns:
        Lines of the report, and doubts.

    Raises:
        InputError: The file cannot be read, names no controller, or a value does not fit.
        PluginError: There is no such law, or it fails.
    """
    from robodyn_ros.base.common_fields import filtered_name
    from robodyn_ros.base.errors import InputError
    from robodyn_ros.base.timing import DEFAULT_PERIOD
    from robodyn_ros.control.contract.controller import Law
    from robodyn_ros.control.default_gains import checked_positions
    from robodyn_ros.control.gains.margin import stability, stable_factor
    from robodyn_ros.control.plugins.registry import make_controller

    given = parameters_in(params_file)
    if "controller" not in given:
        raise InputError(f"--params-file {params_file}: expected 'controller' among the parameters, the law to check")
    name = filtered_name(str(given["controller"]), str(given.get("filter", "none")))
    rate, delay = given.get("update_rate", round(1.0 / DEFAULT_PERIOD)), given.get("state_delay", 0)
    for what, value, least in (("update_rate", rate, 1), ("state_delay", delay, 0)):
        if not isinstance(value, int) or isinstance(value, bool) or value < least:
            raise InputError(f"--params-file {params_file}: {what}: expected {least} or more, received {value!r}")
    timed = robot.with_timing(1.0 / rate, delay)
    parameters = given_parameters((), [name], timed, params_file).get(name)
    law = make_controller(name, timed, parameters)
    defaults = {row.name: row.value for row in type(law).Parameters().flat(timed)}
    lines = [f"law '{name}' of {params_file}, {timed.timing}:"]
    lines += [f"  {row.name} = {_number(row.value)} {row.unit}".rstrip() + f" (default {_number(defaults[row.name])})"
              for row in law.parameters.flat(timed) if row.value != defaults[row.name]]
    if not isinstance(law, Law) or law.senses:
        return lines, []
    factor = stable_factor(law, law.parameters, law.robot.timing, checked_positions(robot))
    verdict = stability(name, factor, law.robot.timing)
    return ([*lines, verdict], []) if factor >= 1.0 else (lines, [verdict])


def _number(value: Any) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)
