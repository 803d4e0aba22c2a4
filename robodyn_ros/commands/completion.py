"""Shell completion with argcomplete: commands, options, robots, controllers and files of actuators."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import argcomplete
from argcomplete.completers import FilesCompleter

from robodyn_ros import resources


def complete(parser: argparse.ArgumentParser, commands: Mapping[str, argparse.ArgumentParser]) -> None:
    """Print the completions of the command line that the shell gives in the environment, and end the process.

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
    from robodyn_ros.control.registry import controller_names

    return controller_names()


def _actuators(**given: Any) -> Iterable[str]:
    return [*resources.shipped_actuators(), *FilesCompleter((".yaml", ".yml"))(**given)]


_COMPLETERS: dict[str, Callable[..., Iterable[str]]] = {
    "robot": _robots, "file": _robots, "controller": _controllers, "controllers": _controllers,
    "more_controllers": _controllers, "actuators": _actuators,
}
"""Completer of the values of arguments and options, by name; other values are completed as files."""
