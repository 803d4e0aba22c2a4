"""Options that several commands share, and a function that declares options with a default."""

from __future__ import annotations

from argparse import ArgumentParser, _SubParsersAction
from pathlib import Path
from typing import TypeAlias

from robodyn_ros.commands.simulation_setup import DEFAULT_ROBOT

Subparsers: TypeAlias = "_SubParsersAction[ArgumentParser]"
"""Type of the result of ``add_subparsers``. Each module of a command adds its parser and the default ``run``."""

ROBOT_OPTION = "robot", DEFAULT_ROBOT, "name of a shipped robot, or path of a URDF file"


def add_options(parser: ArgumentParser, *options: tuple[str, str | int | float | Path, str]) -> None:
    """Add options with one value each.

    Args:
        parser: Parser of a command.
        *options: Name, default and help text of each option; the value has the type of the default.
    """
    for name, default, text in options:
        parser.add_argument(f"--{name}", type=type(default), default=default, help=f"{text} (default: %(default)s)")
