# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.


"""Modes of the control loop: which one is shown, and what each cause does."""

import itertools

import numpy as np
from recorded_loop import RecordedLoop

from robodyn_ros import Robot
from robodyn_ros.control.laws.damping import Damping
from robodyn_ros.control.laws.pd import PD
from robodyn_ros.control.plugins.plugin import Plugin
from robodyn_ros.control.runtime.measurement import Measurement
from robodyn_ros.control.runtime.modes import MEANINGS, Cause, Mode, Reason, first_mode
from robodyn_ros.control.runtime.requests import ON_REQUEST, Release, Resume, Stop, Suspend

ROBOT = Robot.named("planar_2r")
PERIOD = 2_000_000
ANOTHER = Reason("refused", "the hardware follows another controller")


def test_the_first_mode_with_a_reason_is_shown():
    reason = Reason("kind", "text")
    for modes in itertools.permutations((Mode.SUSPENDED, Mode.DAMPING, Mode.STOPPED, Mode.HOLDING), 2):
        assert first_mode(dict.fromkeys(modes, reason)) is min(modes, key=list(Mode).index)
    assert first_mode({}) is Mode.RUNNING and set(MEANINGS) == set(Mode)


def test_each_mode_except_running_begins_and_ends():
    """Before the first state the loop waits, without a cause that begins it."""
    begins = {cause.value.begins for cause in Cause} - {None}
    ends = {mode for cause in Cause for mode in cause.value.ends}
    assert begins | {Mode.WAITING_FOR_STATE} == ends == set(Mode) - {Mode.RUNNING}


def test_a_stop_outlasts_a_suspension_and_both_end_by_what_ends_them():
    loop = RecordedLoop(ROBOT, Plugin("pd", PD(ROBOT)), Plugin("damping", Damping(ROBOT)), 0.5)
    assert loop.modes.present is Mode.WAITING_FOR_STATE
    loop.tick(Measurement(PERIOD, np.zeros(2), np.zeros(2)))
    assert loop.modes.present is Mode.RUNNING
    loop.request(Suspend(ANOTHER))
    loop.request(Stop())
    assert loop.modes.present is Mode.SUSPENDED and loop.modes.stopped() == ON_REQUEST.text
    loop.request(Resume())
    tick = loop.tick(Measurement(2 * PERIOD, np.zeros(2), np.zeros(2), "the hardware followed another controller"))
    assert (tick.mode, tick.reason, tick.plugin.name) == (Mode.STOPPED, ON_REQUEST, "damping")
    loop.request(Release())
    tick = loop.tick(Measurement(3 * PERIOD, np.zeros(2), np.zeros(2)))
    assert (tick.mode, tick.reason, tick.plugin.name) == (Mode.RUNNING, None, "pd")


def test_swings_in_a_row_of_new_starts_are_none():
    """Each has a period of 0, for which there is no damping: it ended the cycle of the node with an error."""
    loop = RecordedLoop(ROBOT, Plugin("damping", Damping(ROBOT)), Plugin("damping", Damping(ROBOT)), 0.5)
    loop.request(Stop())
    for k in range(1, 60):
        speed = 10.0 if k % 4 < 2 else -10.0
        tick = loop.tick(Measurement(k * PERIOD, np.zeros(2), np.array([speed, 0.0]), "follows no commands"))
    assert tick.mode is Mode.STOPPED and loop.stops == ["on request"]
