# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Laws as ros2_control's tools see them: loaded controllers by name, and which of them a switch may put in force."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from robodyn_ros.base.errors import InputError, suggest
from robodyn_ros.control.plugins.registry import controller_names
from robodyn_ros.nodes.common.given_parameters import EVERY_NODE, GivenParameters

PACKAGE = "robodyn_ros/"
"""Beginning of the type of an installed law."""

UNCONFIGURED, INACTIVE, ACTIVE = "unconfigured", "inactive", "active"
BEST_EFFORT, STRICT, FORCE_AUTO = 1, 2, 4
"""Values of `strictness`; 3, AUTO, does what `BEST_EFFORT` does, and 0, not given, what `STRICT` does."""


@dataclass
class ManagedController:
    """A loaded law.

    Attributes:
        name: Its name for ros2_control's tools.
        type: Its type, as it was given.
        law: The law, as the parameter ``controller`` names it.
        configured: Whether it may be activated.
        values: Values of its parameters from files, by name below its prefix.
        fresh: Whether these are not yet in force.
    """

    name: str
    type: str
    law: str
    configured: bool = False
    values: dict[str, Any] = field(default_factory=dict)
    fresh: bool = False


class Switch(NamedTuple):
    """A switch that may be done.

    Attributes:
        activate: Name of the law to put in force; empty: none.
        stop: Whether the active law ends without a successor.
        ignored: Why a part of the request is ignored.
    """

    activate: str
    stop: bool
    ignored: tuple[str, ...]


def law_of_type(controller: str, kind: str) -> str:
    """Return the law of a type.

    Args:
        controller: Name of the controller.
        kind: ``robodyn_ros/NAME``, or ``package.module:Class``; empty: the controller is named like an installed law.

    Raises:
        InputError: There is no such type.
    """
    if kind.startswith(PACKAGE):
        return kind.removeprefix(PACKAGE)
    if ":" in kind:
        return kind
    if kind:
        raise InputError(f"controller '{controller}': expected type {PACKAGE}NAME or package.module:Class, received "
                         f"'{kind}'")
    if controller.partition("+")[0] not in controller_names():
        raise InputError(f"controller '{controller}': the parameter '{controller}.type' is not set, and no law has "
                         f"this name: {suggest(controller, controller_names())}")
    return controller


def type_of_law(law: str) -> str:
    """Return the type of a law; the inverse of `law_of_type`."""
    return law if ":" in law else f"{PACKAGE}{law}"


def values_from_files(controller: str, namespace: str, paths: Sequence[str]) -> dict[str, Any]:
    """Read the parameters of a controller from files as the spawner takes them.

    Args:
        controller: Its name.
        namespace: Namespace of the controller manager.
        paths: Paths of the files; later ones count more, and in a file a section that names the controller.

    Returns:
        Values by parameter name, such as ``gains.joint1.p``; without ``type``.

    Raises:
        InputError: A path does not name a YAML file of parameters.
    """
    found: dict[str, Any] = {}
    patterns = [EVERY_NODE, f"/{controller}", f"{namespace.rstrip('/')}/{controller}", f"/**/{controller}"]
    for path in paths:
        if Path(path).suffix not in (".yaml", ".yml"):
            raise InputError(f"controller '{controller}': expected a parameter file that ends with .yaml or .yml, "
                             f"received '{path}'")
        try:
            given = GivenParameters.from_file(path)
        except InputError as error:
            raise InputError(f"controller '{controller}': {error}") from None
        found |= {name: value for name, (value, _) in given.combined(patterns).items()}
    found.pop("type", None)
    return found


def plan_switch(activate: Sequence[str], deactivate: Sequence[str], strictness: int, states: Mapping[str, str],
                others: Collection[str], keeps: str) -> Switch:
    """Return what a request to switch controllers does; one law is active at a time.

    Args:
        activate: Names of controllers to activate.
        deactivate: Names of controllers to deactivate.
        strictness: `STRICT`: all of it, or nothing; otherwise what cannot be done is ignored.
        states: State of each law by name.
        others: Names of active controllers that are no laws, and end with none.
        keeps: Name of an active law that another one replaces only if the request names it, or with `FORCE_AUTO`;
            empty: the active law gives way to any.

    Raises:
        InputError: Nothing can be done, or not all of it with `STRICT`.
    """
    impossible: dict[bool, list[str]] = {True: [], False: []}  # by whether it is about an activation
    reached: list[str] = []  # already in the state that is asked for
    ends = begins = ""
    for name in dict.fromkeys(deactivate):
        if name in activate:
            impossible[False].append(f"'{name}' is to be both activated and deactivated")
        elif name not in states and name not in others:
            impossible[False].append(f"'{name}' is not loaded")
        elif states.get(name) == ACTIVE:
            ends = name
        elif name in states:
            reached.append(f"'{name}' is not active")
    if not ends:
        reached += [f"'{name}' serves the law that is active and ends with none" for name in deactivate
                    if name in others]
    for name in dict.fromkeys(activate):
        if name in others:
            continue
        if name not in states:
            impossible[True].append(f"'{name}' is not loaded")
        elif states[name] == UNCONFIGURED:
            impossible[True].append(f"'{name}' is not configured")
        elif states[name] == ACTIVE:
            reached.append(f"'{name}' is active already")
        elif begins:
            impossible[True].append(f"'{name}' claims the command interfaces that '{begins}' claims: one law is active "
                                    "at a time")
        elif keeps not in ("", ends) and strictness != FORCE_AUTO:
            impossible[True].append(f"'{name}' claims the command interfaces of '{keeps}', which is active: deactivate "
                                    "it in the same request")
        else:
            begins = name
    problems = [f"controller {text}" for text in (*impossible[False], *impossible[True], *reached)]
    nothing_left = (impossible[True] and not begins) or (impossible[False] and not ends)
    if nothing_left or (problems and strictness in (0, STRICT)):
        raise InputError("; ".join(problems))
    return Switch(begins, bool(ends) and not begins, tuple(problems))
