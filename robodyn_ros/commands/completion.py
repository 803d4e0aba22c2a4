# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Shell completion with argcomplete: commands, options, robots, controllers and files of actuators."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import argcomplete
from argcomplete.completers import FilesCompleter

from robodyn_ros.description import resources


def complete(parser: argparse.ArgumentParser, commands: Mapping[str, argparse.ArgumentParser]) -> None:
    """Print the completions of the command line from the shell's environment variables, and end the process.

    Args:
        parser: The parser of the command line.
        commands: The parsers of the commands.
    """
    for command in commands.values():
        for action in command._actions:
            if action.dest in _COMPLETERS:
                action.completer = _COMPLETERS[action.dest]  # type: ignore[attr-defined]  # as argcomplete has it
    argcomplete.autocomplete(parser)


def _robots(**given: Any) -> Iterable[str]:
    return [*resources.shipped_robots(), *FilesCompleter((".urdf", ".xacro"))(**given)]


def _controllers(**_: Any) -> Iterable[str]:
    from robodyn_ros.control.plugins.registry import controller_names

    return controller_names()


def _actuators(**given: Any) -> Iterable[str]:
    return [*resources.shipped_actuators(), *FilesCompleter((".yaml", ".yml"))(**given)]


def _drivers(**given: Any) -> Iterable[str]:
    from robodyn_ros.actuation.driver_profile import DRIVERS

    return [*DRIVERS.names, *FilesCompleter((".yaml", ".yml"))(**given)]


_COMPLETERS: dict[str, Callable[..., Iterable[str]]] = {
    "robot": _robots, "file": _robots, "controller": _controllers, "controllers": _controllers,
    "more_controllers": _controllers, "actuators": _actuators, "driver": _drivers,
}
"""Completers for the values of arguments and options, by name; other values are completed as files."""
