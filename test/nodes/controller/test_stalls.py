# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Joint states that stay unanswered: who is blamed, what is reported; the probe and the clocks are made up."""

from collections import Counter
from types import SimpleNamespace

import numpy as np
import pytest

from robodyn_ros.control.runtime.loop_events import NewStart
from robodyn_ros.nodes.controller import stalls
from robodyn_ros.nodes.controller.stalls import FORGIVEN_AFTER, Delay, Rejections, Stalls

MS = 1_000_000
PERIOD = 0.002


class Told:
    """Diagnostics of a node, as far as stalls tell of them."""

    def __init__(self):
        self.problems, self.conditions, self.counts, self.checks, self.events = [], {}, Counter(), [], []

    def problem(self, kind, text):
        self.problems.append((kind, text))

    def count(self, kind, times=1):
        self.counts[kind] += times

    def raise_condition(self, key, text):
        self.conditions[key] = text

    def clear_condition(self, key, text):
        self.conditions.pop(key)


def made(monkeypatch, told, held_up, drop=None):
    """Stalls of a law 'slow', with a probe that says how long the computer held up the node in any span."""
    monkeypatch.setattr(stalls, "HoldUpProbe", lambda: SimpleNamespace(held_up=lambda since, now: held_up()))
    node = SimpleNamespace(diagnostics=told, parameters={"max_overruns": 0})
    path = SimpleNamespace(thread=SimpleNamespace(native_id=1))
    thread = SimpleNamespace(request_here=lambda request: drop(request.reason.text), path=path)
    loop = SimpleNamespace(laws=SimpleNamespace(chosen=SimpleNamespace(name="slow")))
    return Stalls(SimpleNamespace(node=node, thread=thread, loop=loop, events=SimpleNamespace(tell=told.events.append)))


def processor_time(monkeypatch, read):
    """Have stalls read another clock of processor time."""
    monkeypatch.setattr(stalls, "time", SimpleNamespace(thread_time=read, monotonic=lambda: 0.0))


class Ticks:
    """A clock, and ticks that take some time.

    Attributes:
        delay: What the last tick told of.
        dropped: Why the law was dropped.
    """

    def __init__(self, monkeypatch):
        self.told, self.dropped, self.delay, self.held_up = Told(), [], None, 0.0
        self.stalls = made(monkeypatch, self.told, lambda: self.held_up, self.dropped.append)
        self.waited = 0.0
        monkeypatch.setattr(stalls, "scheduling_of", lambda task: SimpleNamespace(waited=self.waited))
        tell = self.stalls._tell
        monkeypatch.setattr(self.stalls, "_tell", lambda delay, now: (setattr(self, "delay", delay), tell(delay, now)))
        self.now, self.stamp, self.sequence, self.computed = 5.0, 10**9, 1, 0.0
        processor_time(monkeypatch, lambda: self.computed)

    def tick(self, took=1e-4, late=0.0, away=0.0):
        """A tick on a joint state that came `late` after it could be taken; then time until the next state [s].

        The thread computes while the tick takes its time, except while it is `away`: it waits for a processor, for
        Python's lock, or for what it called.
        """
        self.now += late
        self.delay = None
        self.stalls.begin(self.now, self.stamp, self.sequence)
        delay = self.delay
        self.now, self.computed = self.now + took, self.computed + took - away
        self.stalls.end(self.now)
        periods = max(1, int((took + 1e-9) / PERIOD))
        self.now += max(0.0, PERIOD - took)
        self.stamp, self.sequence = self.stamp + periods * 2_000_000, self.sequence + periods
        return delay

    def stop(self, seconds):
        """The process stands still between two ticks."""
        periods = round(seconds / PERIOD)
        self.now += seconds
        self.stamp, self.sequence = self.stamp + periods * 2_000_000, self.sequence + periods


@pytest.fixture
def ticks(monkeypatch):
    return Ticks(monkeypatch)


def test_ticks_in_time_are_no_overruns(ticks):
    assert [ticks.tick() for _ in range(100)] == [None] * 100
    assert ticks.stalls.overruns == 0.0


def test_a_law_that_computes_for_longer_than_a_period_is_blamed(ticks):
    delays = [ticks.tick(took=0.05) for _ in range(6)]
    assert delays[0] is None, "nothing is unanswered at first"
    assert all(delay.of_law and delay.unanswered == 24 for delay in delays[1:])
    np.testing.assert_allclose([delay.law for delay in delays[1:]], 0.05)
    np.testing.assert_allclose([delay.period for delay in delays[1:]], PERIOD)
    assert ticks.stalls.overruns == 5.0


def test_overruns_are_forgiven_after_ticks_in_time(ticks):
    for _ in range(4):
        ticks.tick(took=0.01)
    before = ticks.stalls.overruns
    for _ in range(2 * FORGIVEN_AFTER):
        ticks.tick()
    ticks.tick(took=0.01)
    ticks.tick()
    assert ticks.stalls.overruns == pytest.approx(before + 1 + 1 - 2, abs=0.2)


def test_a_thread_that_stood_still_between_ticks_was_held_up(ticks):
    for _ in range(3):
        ticks.tick()
    ticks.stop(0.3)
    delay = ticks.tick()
    assert not delay.of_law and delay.unanswered == 150
    assert delay.held_up == pytest.approx(0.3, rel=0.02)
    assert ticks.stalls.overruns == 0.0


def test_a_law_that_computes_for_a_moment_is_never_slow_however_long_its_ticks_take(ticks):
    """On a computer that is so busy that most of its ticks are interrupted, by other programs or threads."""
    ticks.stalls.max_overruns, ticks.held_up = 1, 0.015
    look, = ticks.told.checks
    for away in np.random.default_rng(0).exponential(0.02, 500):
        delay = ticks.tick(took=away + 1e-6, away=away)
        assert delay is None or (delay.law_in_time and not delay.of_law)
        look()
    assert ticks.stalls.overruns == 0.0 and not ticks.dropped and not ticks.told.conditions


def test_some_long_ticks_of_a_computer_that_was_not_busy_are_no_blocked_law(ticks):
    """Another thread of the node had Python's lock, for less than the probe notices."""
    ticks.stalls.max_overruns = 1
    look, = ticks.told.checks
    for number in range(400):
        ticks.tick(took=0.009, away=0.0089) if number % 3 == 0 else ticks.tick()
        if number % 100 == 0:
            look()
    assert not ticks.dropped and not ticks.told.conditions


def test_a_law_that_is_blocked_in_its_ticks_is_told_and_dropped(ticks):
    ticks.stalls.max_overruns = 60
    look, = ticks.told.checks
    for _ in range(50):
        ticks.tick(took=0.005, away=0.0049)
    assert not ticks.told.conditions
    look()
    ticks.tick(took=0.005, away=0.0049)
    text = "the law is blocked for 4.9 ms of 2 ms"
    assert ticks.told.conditions == {"slow": f"controller 'slow' is too slow: {text}"} and not ticks.dropped
    for _ in range(50):
        ticks.tick(took=0.005, away=0.0049)
    look()
    ticks.tick(took=0.005, away=0.0049)
    assert ticks.dropped == [text]


def test_a_law_that_waits_for_a_processor_is_not_blocked(ticks):
    """On a busy computer a law that computes is without a processor for long, and a probe that sleeps is not."""
    ticks.stalls.max_overruns = 60
    look, = ticks.told.checks
    for _ in range(3):
        for _ in range(50):
            ticks.tick(took=0.005, away=0.0049)
            ticks.waited += 0.003
        look()
    assert not ticks.told.conditions and not ticks.dropped
    for _ in range(50):
        ticks.tick(took=0.005, away=0.0049)
        ticks.waited += 0.001
    look()
    ticks.tick(took=0.005, away=0.0049)
    assert "is blocked for" in ticks.told.conditions["slow"]


def test_a_law_that_is_blocked_in_lockstep_leaves_nothing_unanswered(ticks):
    look, = ticks.told.checks
    for _ in range(50):
        ticks.tick(took=0.0019, away=0.0018)
    look()
    ticks.tick()
    assert not ticks.told.conditions


def test_a_slow_law_overruns_even_when_most_of_a_delay_is_the_computers(ticks):
    for _ in range(3):
        ticks.tick(took=0.05)
    ticks.tick(took=0.15, away=0.1)
    delay = ticks.tick()
    assert not delay.of_law and not delay.law_in_time
    assert ticks.stalls.overruns == 4.0
    assert delay.held_up == pytest.approx(0.1, rel=0.02)


def test_a_repeated_state_and_a_new_publisher_are_no_delay(ticks):
    for _ in range(3):
        ticks.tick()
    ticks.sequence += 7  # of a lockstep simulation that waits and repeats its state
    ticks.stamp -= 2_000_000
    assert ticks.tick() is None
    ticks.sequence = 1
    assert ticks.tick() is None


def test_statistics_are_those_since_the_last_call(ticks):
    for _ in range(50):
        ticks.tick(took=1e-3)
    values = ticks.stalls.values()
    assert values["execution time [us]: mean"] == pytest.approx(1000.0)
    assert values["periodicity [Hz]: mean"] == pytest.approx(500.0)
    assert values["periodicity [Hz]: greatest"] == pytest.approx(500.0)
    assert ticks.stalls.values() == {}


def test_a_law_that_is_too_slow_is_told_once_dropped_at_its_overruns_and_in_time_after_a_second_without(ticks):
    ticks.stalls.max_overruns = 4
    for _ in range(4):
        ticks.tick(took=0.05)
    assert ticks.told.conditions == {"slow": "controller 'slow' is too slow: the law takes 50 ms of 2 ms"}
    assert not ticks.dropped
    ticks.tick(took=0.05)
    assert ticks.dropped == ["the law takes 50 ms of 2 ms"] and ticks.stalls.overruns == 0.0
    look, = ticks.told.checks
    look()
    assert ticks.told.conditions, "it was too slow since the last look"
    look()
    assert not ticks.told.conditions
    assert ticks.told.counts["overruns"] == 4


class Rig:
    """Stalls after a state that was answered at 10 s and published at 5 s of another clock."""

    def __init__(self, monkeypatch, held_up=0.0):
        self.told, self.computed = Told(), 0.0
        self.stalls = made(monkeypatch, self.told, lambda: held_up)
        processor_time(monkeypatch, lambda: self.computed)
        self.tick(10.0, 0.001)
        self.stalls.answered(10.0, {"source_timestamp": 5_000 * MS}, Rejections())

    def tick(self, begin, took, sequence=7):
        self.stalls.begin(begin, 100 * MS, sequence)
        self.computed += 0.5 * took
        self.stalls.end(begin + took)

    def reason(self, *, published=400, sequence=8, rejected=0):
        """Of a new start after 0.4 s."""
        info = {"source_timestamp": (5_000 + published) * MS, "publication_sequence_number": sequence}
        rejections = Rejections(rejected, "position of joint 'elbow': nan")
        self.stalls.arrive(10.4, info, rejections)
        self.stalls.answered(10.4, info, rejections)
        self.stalls.on_event(NewStart("time went on by 0.4 s", dropped_motion=False))
        return self.told.events[-1].text.removeprefix("new start from the current state: ")


def test_the_computer_is_blamed_where_the_probe_measured_it(monkeypatch):
    rig = Rig(monkeypatch, held_up=0.3)
    text = "the computer held up this node for 0.3 s (busy, or the process was stopped)"
    assert rig.reason(published=2, sequence=200, rejected=3) == f"time went on by 0.4 s; {text}"
    assert rig.told.problems == [("hold-ups by the computer", text)]
    assert rig.stalls.with_cause("joint 'elbow' ran away") == f"joint 'elbow' ran away; {text}"


@pytest.mark.parametrize(("state", "words"), [
    ({}, "no joint states came for 0.4 s: their publisher sent none"),
    ({"sequence": 200}, "192 joint states within 0.4 s did not come, or all at once"),
    ({"published": 2}, "a joint state came 0.4 s after the one that was published shortly before it"),
    ({"rejected": 3}, "3 joint states were rejected within 0.4 s, the last one: position of joint 'elbow': nan"),
])
def test_other_causes_have_sentences_of_their_own(monkeypatch, state, words):
    rig = Rig(monkeypatch, held_up=0.05)
    assert rig.reason(**state).startswith(f"time went on by 0.4 s; {words}")
    assert not rig.told.problems and "computer" not in rig.stalls.with_cause("joint 'elbow' ran away")


def test_a_tick_that_took_the_time_is_told(monkeypatch):
    rig = Rig(monkeypatch)
    rig.tick(10.0, 0.39)
    assert rig.reason(sequence=200) == ("time went on by 0.4 s; the last tick took 0.39 s, in which the law computed "
                                        "for 0.195 s")


def test_states_that_stay_unanswered_are_counted_and_told_only_if_the_computer_was_the_cause(monkeypatch):
    delay = Delay(0.0, 0.05, 0.002, 24)
    for held_up, problems, counts in ((0.05, 1, {}), (0.012, 0, {"short hold-ups by the computer": 1}),
                                      (0.0, 0, {"unanswered joint states": 24})):
        rig = Rig(monkeypatch, held_up)
        rig.stalls._tell(delay, 10.05)
        assert len(rig.told.problems) == problems and rig.told.counts == counts
