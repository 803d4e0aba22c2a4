# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""``make setup`` installs what the demo and every node need, and resumes after an interruption.

Arguments name what else will be done: test, bench, docs, mujoco, cluster, learn (``make setup FOR="test docs"``).

1. prerequisites.py checks the machine before anything is downloaded;
2. environment.py makes .venv and installs the pinned packages, with ROS 2 unless an installation is sourced;
3. workspace.py builds the packages with colcon into install/;
4. stand_ins.py lets packages of ROS 2 that stand there for want of the real ones step back where these are.

Afterwards ``. install/setup.sh`` sets up a shell.
"""

from __future__ import annotations

import fcntl
import sys
from collections.abc import Iterator
from typing import IO

import environment
import places
import prerequisites
import stand_ins
import workspace
from steps import SetUpError, Step, say


def main(purposes: list[str]) -> int:
    """Run the steps that are not done yet.

    Args:
        purposes: Keys of `environment.PURPOSES`.

    Returns:
        Exit code: 0 when all steps are done, 1 after an error message, 2 for an unknown purpose, 130 when interrupted.
    """
    if unknown := sorted(set(purposes) - environment.PURPOSES.keys()):
        print(f"set-up: FOR: expected some of {', '.join(environment.PURPOSES)}, received {', '.join(unknown)}",
              file=sys.stderr)
        return 2
    if not all(step.done() for step in all_steps(purposes)):
        found = prerequisites.problems()
        if found:
            print(prerequisites.report(found), file=sys.stderr)
            return 1
        places.NOTES.mkdir(parents=True, exist_ok=True)
        with (places.NOTES / "lock").open("w") as lock:
            try:
                take(lock)
                do_the_rest(purposes)
            except SetUpError as error:
                print(f"set-up: {error}", file=sys.stderr)
                return 1
            except KeyboardInterrupt:
                say("interrupted; the same command goes on from here")
                return 130
    return 0


def all_steps(purposes: list[str]) -> Iterator[Step]:
    """Return every step in order; the packages to build depend on the packages that earlier steps installed."""
    yield from environment.steps(purposes)
    yield from workspace.steps(below=environment.foundation())
    yield from stand_ins.steps()


def take(lock: IO[str]) -> None:
    """Wait until no other set-up of this checkout runs; the end of the process releases the lock."""
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        say("another set-up of this checkout is running; waiting for it")
        fcntl.flock(lock, fcntl.LOCK_EX)


def do_the_rest(purposes: list[str]) -> None:
    """Run the steps that are not done."""
    for step in all_steps(purposes):
        if not step.done():
            say(f"{step.title} …")
            step.run()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
