# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""The ``robodyn`` command: parses the command line and runs one command.

Only the module of the given command is imported, and a command imports its dependencies when it runs. So ``robodyn
simulate`` starts its nodes early, ``robodyn --help`` is fast and ``robodyn check`` works without ROS.
"""

from __future__ import annotations

import argparse
import codecs
import importlib
import io
import os
import re
import sys
import warnings
from collections.abc import Mapping, Sequence
from typing import Any, NoReturn

from robodyn_ros import __version__
from robodyn_ros.base.errors import DescriptionWarning, InputError, RobodynError, suggest, with_escaped_arguments
from robodyn_ros.base.module_path import add_plugin_folder
from robodyn_ros.nodes.common.signals import end_with_parent, interrupt_at_stop_signals

GROUPS = {
    "node_commands": ("hardware", "controller", "dynamics", "state_publisher", "simulate"),
    "view": ("view",),
    "record": ("record",),
    "replay": ("replay",),
    "swap": ("swap",),
    "graph_commands": ("status", "params", "get", "set", "move", "speed", "stop", "release", "pause", "resume", "reset",
                       "step", "set-state", "push", "echo"),
    "guard": ("guard",),
    "new_controller": ("new-controller",),
    "demo_command": ("demo",),
    "plot": ("plot",),
    "robot_commands": ("robots", "check"),
    "complete_command": ("complete",),
    "rollout_commands": ("tune", "compare"),
    "study": ("study",),
    "export": ("export",),
    "excite": ("excite",),
    "identify": ("identify",),
    "keystore": ("keystore",),
    "cache_command": ("cache",),
    "doctor": ("doctor",),
}
"""Modules and their commands, in the order of ``robodyn --help``."""

IMPORTS_PLUGINS = ("controller", "simulate", "replay", "swap", "demo", "tune", "compare", "study", "export",
                   "check")
"""Commands that import third-party controllers."""

USAGE_ERROR, INTERRUPTED, BROKEN_PIPE = 2, 130, 141
ROS_ARGUMENTS = "--ros-args"
_STAND_INS = {"─": "-", "│": "|", "├": "|", "└": "`", "→": "->", "…": "...", "±": "+-", "×": "x", "µ": "u", "°": " deg",
              "²": "^2", "–": "-", "’": "'"}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line.

    Args:
        arguments: Arguments after the command's name; None takes those of this process.

    Returns:
        The exit code: 0; 1 where the running graph refuses or fails a request; 2 where a file, name or value given
        cannot be used; 130 after Ctrl-C, 143 after SIGTERM; 141 if nobody reads the output.
    """
    end_with_parent()
    write_in_any_encoding()
    given = list(sys.argv[1:] if arguments is None else arguments)
    split = given.index(ROS_ARGUMENTS) if ROS_ARGUMENTS in given else len(given)
    parser, parsers = make_parser(given[0] if given else "")
    if "_ARGCOMPLETE" in os.environ:  # the shell asks for completions
        from robodyn_ros.commands.completion import complete

        complete(parser, parsers)
    if given and not given[0].startswith("-") and given[0] not in parsers:
        return _fail(f"unknown command '{given[0]}': {suggest(given[0], parsers)}", USAGE_ERROR, given)
    try:
        options, unknown = parser.parse_known_args(given[:split])
    except InputError as error:
        return _fail(str(error), USAGE_ERROR, given)
    if unknown:
        known = [word for action in parsers[options.command]._actions for word in action.option_strings]
        hint = suggest(unknown[0], known) if unknown[0].startswith("-") else f"see robodyn {options.command} --help"
        return _fail(f"{options.command}: unexpected '{unknown[0]}': {hint}", USAGE_ERROR, given)
    options.ros_arguments = given[split:]
    try:
        with interrupt_at_stop_signals(), warnings.catch_warnings():
            warnings.showwarning = print_warning
            if options.ros_arguments and not options.takes_ros_arguments:
                raise InputError(f"{options.command}: takes no {ROS_ARGUMENTS}; see robodyn {options.command} --help")
            if getattr(options, "plugins_from", None):
                add_plugin_folder(options.plugins_from)
            prepare_robot(options)
            code = int(options.run(options))
            sys.stdout.flush()  # here, where a reader that has ended is no error
            return code
    except BrokenPipeError:  # such as robodyn check arm.urdf | head
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # for the remaining flush
        return BROKEN_PIPE
    except (RobodynError, OSError) as error:
        return _fail(str(error), options.error_code, given)
    except KeyboardInterrupt as error:
        print("\nstopped", file=sys.stderr)
        # A KeyboardInterrupt that passed through code from a string, such as a dataclass's, makes Python end by SIGINT
        # instead of the exit code, although it was caught. Executing another string clears this.
        exec("")
        return 128 + int(error.args[0]) if error.args else INTERRUPTED


def write_in_any_encoding() -> None:
    """Make stdout and stderr write ASCII for characters missing in their encoding, so that no output fails."""
    codecs.register_error("ascii_stand_ins", _stand_in)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="ascii_stand_ins")


def print_warning(message: Warning | str, category: type[Warning], filename: str, lineno: int, file: Any = None,
                 line: str | None = None) -> None:
    """Print the warnings of a robot description as one line; none for a description that came as data.

    A description in a node or recording was loaded from a file before, where its warnings were printed.
    """
    if not isinstance(message, DescriptionWarning):
        print(warnings.formatwarning(message, category, filename, lineno, line), end="", file=file or sys.stderr)
    elif message.source and message.summary:
        print(f"robodyn: warning: {message.summary}", file=sys.stderr)


def _stand_in(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    letters = error.object[error.start:error.end]
    return "".join(_STAND_INS.get(letter) or ascii(letter)[1:-1] for letter in letters), error.end


def prepare_robot(options: argparse.Namespace) -> None:
    """Replace the robot of a command according to its options, see `prepared_robot`.

    Raises:
        RobodynError: An estimate of inertias is not possible, or a file of actuators is not valid.
    """
    if options.command == "tune":  # its study prepares the robot
        return
    complete, actuators = (getattr(options, name, "") or "" for name in ("complete", "actuators"))
    name = "robot" if hasattr(options, "robot") else "file"
    robot = getattr(options, name, "") or ""
    if options.command == "simulate":  # `set_up` handles them, also for launch files
        actuators = ""
    if complete and not robot:
        raise InputError("--complete: expected a robot to complete: give --robot")
    if robot and (complete or actuators):
        from robodyn_ros.commands.prepared_robot import prepared_robot

        setattr(options, name, str(prepared_robot(robot, complete, actuators)))


def _fail(message: str, code: int, arguments: Sequence[str]) -> int:
    print(f"robodyn: error: {with_escaped_arguments(message, arguments)}", file=sys.stderr)
    return code


class _Parser(argparse.ArgumentParser):
    """Raises errors as one line without the usage, and reads ``-20mm`` as a value, not an option."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self._negative_number_matcher = re.compile(r"-\.?\d")

    def error(self, message: str) -> NoReturn:
        command = self.prog.partition(" ")[2]
        raise InputError(f"{command and f'{command}: '}{message}; see {self.prog} --help")


def make_parser(command: str = "") -> tuple[argparse.ArgumentParser, Mapping[str, argparse.ArgumentParser]]:
    """Make the parser of the command line.

    Args:
        command: Create only the parsers of this command's module; if there is none, the parsers of all commands.

    Returns:
        The parser, and the parsers of these commands. Parsed options have the attribute ``run``, the function that runs
        the command.
    """
    parser = _Parser(
        prog="robodyn", description="Robot dynamics from a URDF, a simulated robot and its controllers, on ROS 2."
    )
    parser.add_argument("--version", action="version", version=f"robodyn_ros {__version__}",
                        help="print the version and exit")
    parser.set_defaults(takes_ros_arguments=False, error_code=USAGE_ERROR)
    commands = parser.add_subparsers(dest="command", required=True, metavar="command")
    for group in [name for name, names in GROUPS.items() if command in names] or GROUPS:
        importlib.import_module(f"robodyn_ros.commands.{group}").add_commands(commands)
    for name in set(IMPORTS_PLUGINS) & set(commands.choices):
        commands.choices[name].add_argument("--plugins-from", metavar="DIR", help="folder with modules of controllers "
                                            "(the working directory is none of itself; PYTHONPATH may name more)")
    return parser, commands.choices
