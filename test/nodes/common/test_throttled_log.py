# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Lines about what comes from outside: throttled by kind, cut and escaped; in a graph: test_hostile_messages."""

from pathlib import Path
from types import SimpleNamespace

import pytest
from rclpy.impl import rcutils_logger

import robodyn_ros
from robodyn_ros.base.errors import MAX_LINE_LENGTH, one_line
from robodyn_ros.nodes.common import throttled_log as module
from robodyn_ros.nodes.common.throttled_log import LOG_EVERY, ThrottledLog, short_lines


@pytest.fixture
def clock(monkeypatch):
    clock = SimpleNamespace(now=100.0)
    monkeypatch.setattr(module, "time", SimpleNamespace(monotonic=lambda: clock.now))
    return clock


@pytest.fixture
def lines():
    return []


@pytest.fixture
def log(clock, lines):
    return ThrottledLog("arm", lambda name, severity, kind, text: lines.append(text))


def test_each_kind_has_a_rate_of_its_own_and_the_last_line_is_never_lost(log, lines, clock):
    for number in range(1000):
        log.warning("refused", f"refused {number}")
        log.info("goals", f"goal {number}")
    assert lines == ["refused 0", "goal 0"]
    log.flush()
    assert len(lines) == 2
    clock.now += LOG_EVERY
    log.flush()
    assert lines[2:] == ["refused 999 (998 more like this since the last line)",
                         "goal 999 (998 more like this since the last line)"]
    clock.now += 10 * LOG_EVERY
    log.flush()
    assert len(lines) == 4


def test_some_lines_of_a_kind_may_follow_each_other_after_a_pause(log, lines, clock):
    for number in range(10):
        log.info("condition", str(number), at_once=3)
    assert lines == ["0", "1", "2"]
    clock.now += 2 * LOG_EVERY
    for number in range(10, 20):
        log.info("condition", str(number), at_once=3)
    assert lines[3:] == ["10 (7 more like this since the last line)", "11"]


def test_details_are_made_only_where_they_are_logged(log):
    log.debug("tracebacks", lambda: pytest.fail("level debug is off"))


@pytest.mark.parametrize(("given", "shown"), [
    ("joint 'élbow_1': 3.5 N m → 0", "joint 'élbow_1': 3.5 N m → 0"),
    ("\x1b[2J\x1b]0;owned\x07", "\\x1b[2J\\x1b]0;owned\\x07"),
    ("name\nrobodyn: error: forged", "name\\nrobodyn: error: forged"),
    ("\u202eright to left\x9b", "\\u202eright to left\\x9b"),
])
def test_what_does_not_print_is_escaped(given, shown):
    assert one_line(given) == shown
    assert short_lines(f"above\n{given}").split("\n")[0] == "above"


def test_no_line_is_looked_for_in_the_source_code(monkeypatch, capfd):
    monkeypatch.setattr(rcutils_logger, "_find_caller", lambda frame: pytest.fail("rclpy looks for the statement"))
    log = ThrottledLog("arm")
    log.info("goals", "goal %d reached")
    log.warning("goals", "held back")
    log.error("faults", "fault")
    shown = capfd.readouterr().err
    assert "[INFO]" in shown and "[arm]: goal %d reached\n" in shown and "[ERROR]" in shown and "held back" not in shown


def test_long_texts_lose_their_middle():
    text = one_line("head" + "x" * 10**6 + "tail")
    assert text.startswith("headx") and text.endswith("xtail") and "999008 characters left out" in text
    assert len(text) < MAX_LINE_LENGTH + 60
    lines = short_lines("\n".join(f"line {number} " + "x" * 5000 for number in range(10_000)))
    assert len(lines) < 4 * MAX_LINE_LENGTH + 60 and lines.startswith("line 0") and "line 9999" in lines


def test_nodes_log_through_it_only():
    folder = Path(robodyn_ros.__file__).parent
    speakers = {path.relative_to(folder).as_posix() for path in folder.rglob("*.py")
                if "get_logger(" in path.read_text()}
    # A docstring, the base class, the name of a client's log, and its own way to the log.
    assert speakers == {"nodes/common/throttled_log.py", "nodes/common/runtime.py", "nodes/client/command_guard.py",
                        "nodes/internals/rclpy_parts.py"}
