# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Arguments of a launch file that it does not have; launch itself ignores them."""

from __future__ import annotations

import difflib
from collections.abc import Collection, Sequence
from pathlib import Path

from robodyn_ros.errors import InputError

OF_LAUNCH = ("launch-prefix", "launch-prefix-filter", "emulate_tty", "sigterm_timeout", "sigkill_timeout", "log_level")
"""Arguments that launch and launch_ros read themselves."""


def refuse_unknown(file: str | Path, command_line: Sequence[str], known: Collection[str]) -> None:
    """Refuse arguments that a launch file does not have, if the command line starts this very file.

    Another file that includes it may have arguments of its own.

    Args:
        file: The launch file.
        command_line: Arguments of the process: the name or path of the started file, then ``name:=value``.
        known: Names of the file's arguments.

    Raises:
        InputError: There are such arguments; the message names the nearest ones.
    """
    words = [word for word in command_line if ":=" not in word]
    if Path(file).name not in {Path(word).name for word in words}:
        return
    for name in (word.partition(":=")[0] for word in command_line if ":=" in word):
        if name not in known and name not in OF_LAUNCH:
            near = difflib.get_close_matches(name, known, n=2)
            advice = f"did you mean {' or '.join(map(repr, near))}?" if near else f"it has {', '.join(known)}"
            raise InputError(f"launch argument '{name}': {Path(file).name} has no such argument; {advice}")
