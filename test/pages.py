# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Runs a page of the documents as a reader would: its blocks in order, in one folder, with one graph at a time.

`sh`, `console`: Commands run in bash, which keeps variables and the folder. In `console`, lines that begin with `$ `
are commands, and their output has to have the lines below them: numbers may differ, `…` stands for anything. A command
with a line `error:` below it has to fail. `robodyn simulate` and others in `RUN_ON` run beside the next blocks, until
the page ends, starts another graph, or has a line `^C`.

`python`, `yaml`, `xml`: A first line such as `# my_law.py` names the file that the block becomes. Other Python runs in
one name space; other YAML and XML has to be well-formed.

`text`: What the Python code of the block before prints; otherwise the programs that run on have to print it after the
block before. Without either it is for the eye only, as `math` and `mermaid` are.

`<!-- not run: REASON -->` before a block leaves it out: only for programs that the test cannot have (`NOT_HERE`), for
files of other repositories (`ELSEWHERE`), or if the reason names the file of the test that does the same.
`<!-- beside -->` lets the graph before it go on.

    python test/pages.py docs/tutorials/1_first_run.md      # prints what each command prints
"""

from __future__ import annotations

import contextlib
import io
import os
import re
import signal
import subprocess
import sys
import time
import xml.etree.ElementTree as ElementTree
from pathlib import Path
from typing import NamedTuple

import yaml

RUN_ON = re.compile(r"robodyn (simulate|view|hardware|controller|dynamics|state_publisher|record)\b|.*--watch\b")
"""Commands that run until Ctrl-C."""
LAST_NODE = "state_publisher]: parameters that differ from their defaults: "
CTRL_C = "^C"
CONTINUED = ("\\", "|")
"""The next line belongs to the command, too."""
GRAPH = re.compile(r"robodyn (simulate|hardware|demo)\b")
ROOT = Path(__file__).parents[1]
NOT_HERE = re.compile(r"^(\$ )?(sudo|apt|pip|ros2|rviz2|make|git|docker|colcon|source|jupyter)\b", re.MULTILINE)
"""Programs that change the machine, or that ROS 2 from PyPI does not have."""
ELSEWHERE = "of the repositories above", "of the published recording"
"""Beginnings of reasons: files that a block before gets by git, and files that are too large for a page."""
BLOCK = re.compile(r"(?:^<!-- (?:not run: ([^\n]*?)|(beside)) -->\n)?^```([\w{}-]*)\n(.*?)^```$",
                   re.DOTALL | re.MULTILINE)
FILE = re.compile(r"(?:# |<!-- )([\w./]+\.(?:py|yaml|urdf|csv))\b")
NUMBER = r"[-+]?(?:\d+\.?\d*(?:e[-+]?\d+)?|nan|inf)"
DEADLINE = 60.0
"""A machine with a load of ten per core starts a graph in half of it [s]."""


class Block(NamedTuple):
    """A fenced block."""

    language: str
    text: str
    reason: str
    """Why it is not run; empty if it is."""
    beside: bool = False


def blocks(page: Path) -> list[Block]:
    """Return the fenced blocks of a page."""
    return [Block(language, text, reason, bool(beside)) for reason, beside, language, text in
            BLOCK.findall(page.read_text()) if not language.startswith("{")]  # a directive of Sphinx


def may_be_left_out(block: Block) -> bool:
    """Whether a block needs a program that the test cannot have, or its reason names another test."""
    tests = re.findall(r"test/[\w/]+\.py", block.reason)
    return all((ROOT / name).is_file() for name in tests) and bool(
        tests or NOT_HERE.search(block.text) or block.reason.startswith(ELSEWHERE))


def commands(block: Block) -> list[tuple[str, list[str]]]:
    """Return the commands of a block, each with the lines of output that the page shows."""
    found: list[tuple[str, list[str]]] = []
    unfinished = ""
    for line in block.text.splitlines():
        if unfinished:
            found[-1] = f"{found[-1][0]}\n{line}", []
            if unfinished in CONTINUED:
                unfinished = "\\" if line.endswith(CONTINUED) else ""
            elif line == unfinished:
                unfinished = ""
            continue
        command = line.removeprefix("$ ")
        if block.language == "console" and command == line != CTRL_C:
            found[-1][1].append(line)
        elif command.strip() and not command.startswith("#"):
            found.append((command, []))
            here = re.search(r"<<'?(\w+)'?$", command)
            unfinished = here[1] if here else "\\" if command.endswith(CONTINUED) else ""
    return found


def pattern(line: str) -> re.Pattern[str]:
    """Return what a shown line matches: numbers and spaces may differ, `…` stands for anything."""
    parts = re.split(rf"(…|\s+|{NUMBER})", line.strip())
    return re.compile("".join(
        ".*" if part == "…" else r"\s+" if part.isspace() else NUMBER if re.fullmatch(NUMBER, part) else re.escape(part)
        for part in parts))


def is_refusal(shown: list[str]) -> bool:
    """Whether the page shows that a command is refused."""
    return any(line.startswith("robodyn: error:") for line in shown)


def missing(shown: list[str], output: str) -> str:
    """Return the first shown line that the output does not have, in order; empty if there is none."""
    lines = iter(output.splitlines())
    for line in filter(str.strip, shown):
        expected = pattern(line)
        if not any(expected.search(each) for each in lines):
            return line
    return ""


class Reader:
    """Somebody who works through a page.

    Args:
        folder: Where commands run.
        show: Whether to print commands and their output.
    """

    def __init__(self, folder: Path, show: bool = False) -> None:
        self.folder = folder
        self._state = folder / ".shell"
        self._state.write_text("")
        self._running: list[tuple[subprocess.Popen[str], Path]] = []
        self._refused: set[int] = set()  # process ids of those that end with an error, as the page shows
        self._seen: dict[Path, int] = {}
        self._printed = ""  # by the last block of Python code
        self._names: dict[str, object] = {"__name__": "page"}
        self._show = show

    def __enter__(self) -> Reader:
        """Begin."""
        return self

    def __exit__(self, kind: type | None = None, *_: object) -> None:
        """End the programs that run on; without an exception, all of them still have to run."""
        try:
            if kind is None:
                self._check_running()
        finally:
            self._end()

    def _check_running(self) -> None:
        for process, log in self._running:
            assert process.poll() is None or process.pid in self._refused, (
                f"$ {process.args[-1]}\nended with {process.returncode}:\n{log.read_text()}")

    def _end(self) -> None:
        for process, _log in reversed(self._running):
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGINT)
        for process, _log in self._running:
            try:
                process.wait(10.0)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
        self._running.clear()

    def read(self, block: Block) -> None:
        """Do what a block asks for."""
        first = FILE.match(block.text)
        self._check_running()
        if block.language != "text":
            self._printed = ""
            self._seen = {log: log.stat().st_size for _process, log in self._running}
        if block.reason:
            assert may_be_left_out(block), f"this block could be run:\n{block.text}"
        elif block.language in ("sh", "console"):
            for command, shown in commands(block):
                self.run(command, shown, block.beside)
        elif block.language in ("python", "yaml", "xml") and first:
            path = self.folder / first[1]
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(block.text)
        elif block.language == "python":
            with contextlib.redirect_stdout(io.StringIO()) as printed:
                exec(compile(block.text, "page", "exec"), self._names)
            self._printed = printed.getvalue()
        elif block.language == "yaml":
            assert yaml.safe_load(block.text)
        elif block.language == "xml":
            ElementTree.fromstring(block.text)
        elif block.language == "text" and self._printed:
            line = missing(block.text.splitlines(), self._printed)
            assert not line, f"the Python code did not print '{line}':\n{self._printed}"
            self._printed = ""
        elif block.language == "text" and self._running:
            self._wait_for(block.text.splitlines())
        else:
            assert block.language in ("text", "math", "mermaid"), f"no known language: '{block.language}'"

    def run(self, command: str, shown: list[str], beside: bool = False) -> None:
        """Run a command and compare its output with what the page shows."""
        began = time.monotonic()
        if command == CTRL_C or GRAPH.match(command) and not beside:
            self.__exit__()
        if command == CTRL_C:
            return
        if RUN_ON.match(command):
            output = self._start(command, shown)
        else:
            # Tables break for COLUMNS, which Bash sets after each command, and Python's readline outside os.environ.
            script = (f"shopt -u checkwinsize; set -a; . {self._state}; set +a; {command}\ncode=$?\n"
                      f"{{ export -p; echo cd \"'$PWD'\"; }} > {self._state}; exit $code")
            done = subprocess.run(["bash", "-c", script], cwd=self.folder, env=dict(os.environ),
                                  stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                  text=True, timeout=4 * DEADLINE)
            output = done.stdout
            refused = is_refusal(shown)
            assert bool(done.returncode) == refused, (
                f"$ {command}\nended with {done.returncode}:\n{output}{self._logs()}")
        if self._show:
            print(f"$ {command}    # {time.monotonic() - began:.1f} s\n{output}", flush=True)
        line = missing(shown, output)
        assert not line or self._show, f"$ {command}\ndid not print '{line}':\n{output}"

    def _start(self, command: str, shown: list[str]) -> str:
        """Start a command that runs on; wait until it has printed what the page shows, and return that."""
        log = self.folder / f".log_{len(list(self.folder.glob('.log_*')))}"
        with log.open("w") as sink:
            process = subprocess.Popen(["bash", "-c", f"set -a; . {self._state}; set +a; exec {command}"],
                                       cwd=self.folder, env=dict(os.environ), stdin=subprocess.DEVNULL, stdout=sink,
                                       stderr=sink, text=True, start_new_session=True)
        self._running.append((process, log))
        if is_refusal(shown):
            self._refused.add(process.pid)
        elif command.startswith("robodyn simulate"):
            self._wait_for([LAST_NODE])  # who reads the page sees that all nodes have started, too
        self._wait_for(shown)
        return log.read_text()

    def _wait_for(self, shown: list[str]) -> None:
        """Wait until a program that runs on has printed what the page shows, since the block before."""
        deadline = time.monotonic() + DEADLINE
        while True:
            last = self._running[-1][0]
            over = time.monotonic() > deadline or any(
                process.poll() is not None and (process is last or process.pid not in self._refused)
                for process, _log in self._running)
            if not all(missing(shown, log.read_text()[self._seen.get(log, 0):]) for _process, log in self._running):
                return
            assert not over, f"no program printed this:\n{shown}\n{self._logs()}"
            time.sleep(0.05)

    def _logs(self) -> str:
        return "".join(f"\n{process.args[-1]}\n{log.read_text()}" for process, log in self._running)


def main() -> None:
    """Read pages in a folder of their own and print the output of all commands."""
    import tempfile

    for name in sys.argv[1:]:
        page = Path(name).resolve()
        with tempfile.TemporaryDirectory() as folder, Reader(Path(folder), show=True) as reader:
            os.chdir(folder)
            sys.path.insert(0, folder)
            for block in blocks(page):
                try:
                    reader.read(block)
                except AssertionError as error:
                    print(f"!!! {error}")
            print(reader._logs())


if __name__ == "__main__":
    main()
