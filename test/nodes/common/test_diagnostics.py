# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Counters, conditions and warnings, with a node that only records calls; test_runtime has a real node."""

from types import SimpleNamespace

import pytest
from diagnostic_msgs.msg import DiagnosticStatus
from rclpy.clock import Clock

from robodyn_ros.nodes.common import throttled_log as module
from robodyn_ros.nodes.common.diagnostics import Diagnostics
from robodyn_ros.nodes.common.throttled_log import LOG_EVERY, ThrottledLog


class Node:
    """Records log messages, and has the publisher of the diagnostics."""

    def __init__(self):
        self.log, self.published = [], []

    def create_publisher(self, *_):
        return SimpleNamespace(publish=self.published.append)

    def get_clock(self):
        return Clock()

    def get_name(self):
        return "arm"

    def get_fully_qualified_name(self):
        return "/cell/arm"


def diagnostics_of(node):
    def write(name, severity, kind, text):
        node.log.append((severity.name, text))

    return Diagnostics(node, ThrottledLog("arm", write))


@pytest.fixture
def clock(monkeypatch):
    clock = SimpleNamespace(now=100.0)
    monkeypatch.setattr(module, "time", SimpleNamespace(monotonic=lambda: clock.now))
    return clock


def test_each_kind_of_problem_is_counted_always_and_logged_now_and_then(clock):
    node = Node()
    diagnostics = diagnostics_of(node)
    for _ in range(4):
        diagnostics.problem("late", "too late")
    diagnostics.problem("wrong", "not at all", error=True)
    clock.now += LOG_EVERY
    diagnostics.problem("late", "late again")
    diagnostics.count("swaps")
    assert node.log == [("WARN", "too late"), ("ERROR", "not at all"),
                        ("WARN", "late again (3 more like this since the last line)")]
    assert diagnostics.counters == {"late": 5, "wrong": 1, "swaps": 1}


def test_a_condition_is_logged_when_it_begins_changes_and_ends():
    node = Node()
    diagnostics = diagnostics_of(node)
    diagnostics.clear_condition("stale", "was none")
    for text in ("joint1", "joint1", "joint1, joint2"):
        diagnostics.raise_condition("stale", text)
    diagnostics.raise_condition("stale", "joint1, joint2", error=True)
    for _ in range(2):
        diagnostics.clear_condition("stale", "back")
    assert node.log == [("WARN", "joint1"), ("WARN", "joint1, joint2"), ("ERROR", "joint1, joint2"),
                        ("INFO", "back")]


def test_a_condition_that_comes_and_goes_is_logged_now_and_then_and_its_end_at_last(clock):
    node = Node()
    diagnostics = diagnostics_of(node)
    for number in range(100):
        diagnostics.raise_condition("diverged", f"positions became {number}")
        diagnostics.clear_condition("diverged", "finite again")
    assert len(node.log) == 4
    clock.now += LOG_EVERY
    diagnostics.once_a_second()
    assert node.log[4:] == [("INFO", "finite again (195 more like this since the last line)")]


def test_the_status_is_as_bad_as_the_worst_and_problems_are_news_once(clock):
    diagnostics = diagnostics_of(Node())
    diagnostics.values = lambda: {"time [s]": 1.5}
    status = diagnostics.status()
    assert (status.level, status.message, status.name, status.hardware_id) == (
        DiagnosticStatus.OK, "running", "/cell/arm", "arm")
    for _ in range(2):
        diagnostics.problem("late", "too late")
    status = diagnostics.status()
    assert (status.level, status.message) == (DiagnosticStatus.WARN, "2 problems in the last second")
    assert {value.key: value.value for value in status.values} == {"time [s]": "1.5", "late": "2"}
    assert diagnostics.status().level == DiagnosticStatus.OK
    diagnostics.problem("broken", "an exception", error=True)
    status = diagnostics.status()
    assert (status.level, status.message) == (DiagnosticStatus.ERROR, "1 problems in the last second")
    diagnostics.raise_condition("stale", "no command")
    assert (diagnostics.status().level, diagnostics.status().message) == (DiagnosticStatus.WARN, "no command")
    diagnostics.raise_condition("diverged", "not finite", error=True)
    status = diagnostics.status()
    assert (status.level, status.message) == (DiagnosticStatus.ERROR, "no command; not finite")


def test_checks_come_before_each_publication():
    node = Node()
    diagnostics = diagnostics_of(node)
    diagnostics.checks.append(lambda: diagnostics.raise_condition("deaf", "nobody is heard"))
    diagnostics.once_a_second()
    (message,) = node.published
    assert message.status[0].message == "nobody is heard"
