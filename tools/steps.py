# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Steps of the set-up: each runs again only if its inputs changed or its last run was interrupted."""

from __future__ import annotations

import contextlib
import hashlib
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import places

QUIET = 15.0
"""Seconds between two lines about a command that runs, where the output is no terminal."""


class SetUpError(Exception):
    """The set-up cannot continue; the message says why and what to do."""


def fingerprint(*parts: object) -> str:
    """Return one hash of texts, and of paths and contents of files; a folder stands for all files in it."""
    digest = hashlib.sha256()
    for part in parts:
        if not isinstance(part, Path):
            digest.update(f"{part}\0".encode())
            continue
        for path in sorted(files_below(part)):
            digest.update(f"{path.relative_to(places.ROOT)}\0".encode() + path.read_bytes() + b"\0")
    return digest.hexdigest()


def files_below(path: Path) -> Iterable[Path]:
    """Return the file itself, or all files in a folder."""
    return [path] if path.is_file() else [item for item in path.rglob("*") if item.is_file()]


class Step:
    """One step.

    Args:
        title: Name of the product, for the user.
        stamp: File with the key of the last finished run. It is inside the product, so that removing the product
            removes the stamp.
        key: Hash of the inputs; another key makes the step run again.
        run: Makes the product, also from the remains of an interrupted run.
    """

    def __init__(self, title: str, stamp: Path, key: str, run: Callable[[], None]) -> None:
        self.title = title
        self.stamp = stamp
        self.key = key
        self._run = run

    def done(self) -> bool:
        """Whether the last finished run had the same inputs."""
        return self.stamp.is_file() and self.stamp.read_text() == self.key

    def run(self) -> None:
        """Run the step; the stamp is removed before and written after it."""
        self.stamp.unlink(missing_ok=True)
        began = time.monotonic()
        self._run()
        self.stamp.write_text(self.key)
        say(f"{self.title}: done in {time.monotonic() - began:.0f} s")


def say(text: str) -> None:
    """Print a message for the user."""
    print(f"set-up: {text}", flush=True)


def call(command: list[str], log: str, environment: dict[str, str], cwd: Path = places.ROOT, hint: str = "") -> None:
    """Run a command with its output in a log; show its last line while it runs, and its last lines after an error."""
    path = places.NOTES / f"{log}.log"
    last = [""]
    with path.open("w", errors="replace") as sink, subprocess.Popen(
            command, cwd=cwd, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, text=True, errors="replace") as process, showing(last):
        assert process.stdout is not None
        for line in process.stdout:
            sink.write(line)
            sink.flush()
            last[0] = line.strip()
    if process.returncode:
        tail = "\n  ".join(path.read_text().splitlines()[-20:])
        raise SetUpError(f"'{' '.join(command[:6])} …' ended with {process.returncode}; the last lines of "
                         f"{path.relative_to(places.ROOT)}:\n  {tail}\n{hint}")


@contextlib.contextmanager
def showing(last: list[str]) -> Iterator[None]:
    """Show how long the context lasts, with the only text of a list: in a terminal in place, elsewhere as lines."""
    terminal, ended, began = sys.stdout.isatty(), threading.Event(), time.monotonic()

    def show() -> None:
        while not ended.wait(0.5 if terminal else QUIET):
            text = f"  {time.monotonic() - began:.0f} s  {last[0][:80]}"
            print(f"\r\x1b[K{text}" if terminal else text, end="" if terminal else "\n", flush=True)
        if terminal:
            print("\r\x1b[K", end="", flush=True)

    thread = threading.Thread(target=show)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()
