# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.


"""Why joint states were not answered; the probe is made up here, its own test measures hold-ups."""

from collections import Counter
from types import SimpleNamespace

import pytest

from robodyn_ros.control.tick_monitor import Delay, TickMonitor
from robodyn_ros.nodes.controller.gaps import Gaps

MS = 1_000_000


class Rig:
    """Gaps after a state that was answered at 10 s and published at 5 s of another clock."""

    def __init__(self, held_up=0.0):
        self.problems, self.counts, self.monitor = [], Counter(), TickMonitor()
        diagnostics = SimpleNamespace(problem=lambda kind, text: self.problems.append((kind, text)),
                                      count=lambda kind, times=1: self.counts.update({kind: times}))
        self.gaps = Gaps(diagnostics, self.monitor, SimpleNamespace(held_up=lambda since, now: held_up))
        self.tick(10.0, 0.001)
        self.gaps.answered(10.0, {"source_timestamp": 5_000 * MS}, 0)

    def tick(self, begin, took, sequence=7):
        self.monitor.begin(begin, 100 * MS, sequence)
        self.monitor.end(begin + took)

    def reason(self, *, published=400, sequence=8, rejected=0):
        """Of a new start after 0.4 s."""
        info = {"source_timestamp": (5_000 + published) * MS, "publication_sequence_number": sequence}
        self.gaps.explain(10.4, info, rejected, "position of joint 'elbow': nan")
        self.gaps.answered(10.4, info, rejected)
        return self.gaps.of_start("time went on by 0.4 s")


def test_the_computer_is_blamed_where_the_probe_measured_it():
    rig = Rig(held_up=0.3)
    text = "the computer held up this node for 0.3 s (busy, or the process was stopped)"
    assert rig.reason(published=2, sequence=200, rejected=3) == f"time went on by 0.4 s; {text}"
    assert rig.problems == [("hold-ups by the computer", text)]
    assert rig.gaps.with_cause("joint 'elbow' ran away") == f"joint 'elbow' ran away; {text}"


@pytest.mark.parametrize(("state", "words"), [
    ({}, "no joint states came for 0.4 s: their publisher sent none"),
    ({"sequence": 200}, "192 joint states within 0.4 s did not come, or all at once"),
    ({"published": 2}, "a joint state came 0.4 s after the one that was published shortly before it"),
    ({"rejected": 3}, "3 joint states were rejected within 0.4 s, the last one: position of joint 'elbow': nan"),
])
def test_other_causes_have_sentences_of_their_own(state, words):
    rig = Rig(held_up=0.05)
    assert rig.reason(**state).startswith(f"time went on by 0.4 s; {words}")
    assert not rig.problems and "computer" not in rig.gaps.with_cause("joint 'elbow' ran away")


def test_a_law_that_took_the_time_is_told():
    rig = Rig()
    rig.tick(10.0, 0.39)
    assert rig.reason(sequence=200) == "time went on by 0.4 s; the law took 0.39 s"


def test_states_that_stay_unanswered_are_counted_and_told_only_if_the_computer_was_the_cause():
    delay = Delay(0.0, 0.05, 0.002, 24)
    for held_up, problems, counts in ((0.05, 1, {}), (0.012, 0, {"short hold-ups by the computer": 1}),
                                      (0.0, 0, {"unanswered joint states": 24})):
        rig = Rig(held_up)
        rig.gaps.delay(10.05, delay)
        assert len(rig.problems) == problems and rig.counts == counts
