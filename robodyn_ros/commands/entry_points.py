# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Entry points of the installed programs and of ``python -m robodyn_ros``.

This module imports nothing heavy, and nothing of this package before a program begins. While a program imports the
rest, SIGINT and SIGTERM end it at once with one line and exit code 130 or 143. A node then holds the two signals (see
:mod:`robodyn_ros.nodes.common.signals`), stops in order, and ends with 0; in other commands they raise
KeyboardInterrupt. A program that dies of a fault (SIGSEGV, SIGABRT and the like) prints the stacks of its threads; use
``kill -ABRT`` on one that hangs.
"""

from __future__ import annotations

import faulthandler
import os
import sys
from functools import partial
from types import TracebackType


def main(name: str = "") -> int:
    """Run the ``robodyn`` command.

    Args:
        name: Command inserted before the arguments of this process; empty: the arguments name it.

    Returns:
        The exit code.
    """
    sys.excepthook = _end_at_interrupt
    if sys.stderr is not None:  # there is no stderr otherwise
        faulthandler.enable()
    os.environ.setdefault("PYTHONFAULTHANDLER", "1")  # for child processes of Python
    from robodyn_ros.base.module_path import set_module_path

    try:
        set_module_path()
    except FileNotFoundError:  # no working directory, so relative paths are meaningless
        print("robodyn: error: the working directory does not exist any more: change to another one with cd",
              file=sys.stderr)
        return 2
    from robodyn_ros.nodes.common.signals import end_at_stop_signals

    end_at_stop_signals()
    from robodyn_ros.commands import command_line

    return command_line.main([*([name] if name else []), *sys.argv[1:]])


def _end_at_interrupt(kind: type[BaseException], error: BaseException, traceback: TracebackType | None) -> None:
    """End with one line at a SIGINT that arrived before this program handled it."""
    if issubclass(kind, KeyboardInterrupt):
        os.write(2, b"\nrobodyn: stopped by SIGINT\n")
        os._exit(130)
    sys.__excepthook__(kind, error, traceback)


hardware, controller, dynamics, state_publisher, view = (
    partial(main, node) for node in ("hardware", "controller", "dynamics", "state_publisher", "view"))
