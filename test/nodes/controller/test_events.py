# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.


"""An event is told in the same words everywhere."""

from types import SimpleNamespace

import pytest

from robodyn_ros.nodes.common.diagnostics import Diagnostics
from robodyn_ros.nodes.controller.events import FALLBACK, REFUSED, Event, Events, dropped


@pytest.fixture
def told():
    """Events, with what the log and the goal were told."""
    lines, ends = [], []
    log = SimpleNamespace(**{level: lambda kind, text, at_once=1, level=level: lines.append((level, text))
                             for level in ("info", "warning", "error")})
    node = SimpleNamespace(create_publisher=lambda *_: None, get_fully_qualified_name=lambda: "/controller",
                           get_name=lambda: "controller")
    diagnostics = Diagnostics(node, log)
    events = Events(diagnostics)
    events.end_goal = ends.append
    return SimpleNamespace(events=events, diagnostics=diagnostics, lines=lines, ends=ends)


def test_an_event_that_lasts_is_in_log_diagnostics_states_and_goal_until_its_end(told):
    text = "controller 'x' was dropped, 'damping' took over: it returned nan; after the joint state stamped 1.500 s"
    told.events.tell(dropped("x", "damping", "it returned nan", 1_500_000_000))
    assert told.lines == [("error", text)] and told.ends == [text] and told.events.lasting == {FALLBACK: text}
    status = told.diagnostics.status()
    assert status.message == text and status.level == b"\2"
    assert {pair.key: pair.value for pair in status.values}["dropped controllers"] == "1"
    told.events.end(FALLBACK, "'y' replaces it")
    told.events.end(FALLBACK, "again")
    assert told.lines[1:] == [("info", "'y' replaces it")] and not told.events.lasting
    assert told.diagnostics.status().message == "running"


def test_an_event_that_is_over_at_once_is_a_problem_of_the_last_second(told):
    told.events.tell(Event("new starts", "new start from the current state: time went back"))
    assert told.diagnostics.counters["new starts"] == 1 and not told.events.lasting and len(told.ends) == 1
    assert told.diagnostics.status().message == "1 problems in the last second"


def test_events_end_one_by_one_and_may_leave_the_goal_alone(told):
    told.events.tell(Event("refusals", "refused", REFUSED, ends_goal=False))
    told.events.tell(Event("dropped controllers", "dropped", FALLBACK))
    told.events.end(REFUSED, "taken")
    assert told.events.lasting == {FALLBACK: "dropped"} and told.ends == ["dropped"]
