# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Whose commands the joints follow, without messages: the first commander's, until it stops."""

import numpy as np
import pytest

from robodyn_ros.nodes.hardware import joint_owners
from robodyn_ros.nodes.hardware.joint_owners import SILENT_AFTER, JointOwners

FIRST, SECOND = b"first process", b"second process"
FIRST_VOLTAGES = FIRST[:12] + b"another publisher"


class Joints(JointOwners):
    """Owners of three joints with a clock of the test's own."""

    def __init__(self, monkeypatch):
        self.now, self.old = 100.0, np.zeros(3, bool)
        monkeypatch.setattr(joint_owners, "time", self)
        super().__init__(3, lambda: self.old)

    def monotonic(self):
        return self.now


@pytest.fixture
def joints(monkeypatch):
    return Joints(monkeypatch)


def test_the_first_commander_keeps_the_joints_until_its_commands_are_too_old(joints):
    assert joints.admit(FIRST)
    assert not joints.admit(SECOND) and not joints.admit(SECOND, [1])
    assert joints.admit(FIRST), "refused commands change nothing"
    joints.now += 0.5
    assert joints.admit(FIRST) and not joints.admit(SECOND)
    joints.old[:] = True
    assert joints.admit(SECOND)
    joints.old[:] = False
    assert not joints.admit(FIRST) and joints.admit(SECOND)


def test_a_commander_that_was_silent_for_long_has_left_where_commands_do_not_age(joints):
    assert joints.admit(FIRST)
    joints.now += 0.99 * SILENT_AFTER
    assert not joints.admit(SECOND)
    joints.now += 0.02 * SILENT_AFTER
    assert joints.admit(SECOND) and not joints.admit(FIRST)


def test_several_commanders_command_different_joints(joints):
    assert joints.admit(FIRST, [0, 2]) and joints.admit(SECOND, [1])
    assert not joints.admit(SECOND, [1, 2]), "refused as a whole"
    assert not joints.admit(FIRST)
    assert joints.refusals[FIRST[:12]].columns == (1,)
    assert joints.refusals[SECOND[:12]] == (SECOND, FIRST, (2,))
    assert joints.admit(FIRST, [0]) and joints.admit(SECOND, [1])
    assert not joints.refusals


def test_publishers_of_one_process_are_one_commander(joints):
    assert joints.admit(FIRST) and joints.admit(FIRST_VOLTAGES) and joints.admit(FIRST, [1])


def test_a_refusal_stands_until_the_owner_or_the_refused_one_has_left(joints):
    joints.admit(FIRST)
    joints.admit(SECOND)
    joints.old[:] = True
    joints.release({FIRST, SECOND})
    assert joints.refusals, "a commander that was held up for a moment keeps the robot"
    joints.release({FIRST})
    assert not joints.refusals
    joints.old[:] = False
    assert not joints.admit(SECOND)
    joints.now += SILENT_AFTER
    joints.release({FIRST, SECOND})
    assert not joints.refusals
    assert joints.admit(FIRST) and not joints.admit(SECOND)
    joints.release({SECOND})
    assert not joints.refusals and joints.admit(SECOND), "the first one has left"
