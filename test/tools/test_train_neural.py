# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Training of the network: losses fall, runs repeat, and the weights that are shipped beat fixed gains."""

import runpy

import numpy as np
import pytest
import train_neural
from train_neural import Joints, costs, fixed_loss, loss, train

from robodyn_ros.control.laws.neural import SIZE
from robodyn_ros.control.laws.neural_weights import WEIGHTS

NEW = Joints.random(256, 999)


def test_a_few_generations_lower_the_loss_and_repeat_exactly():
    first, losses = train(6, seed=3, population=16, count=16)
    again, _ = train(6, seed=3, population=16, count=16)
    assert losses[-1] < 0.95 * losses[0]
    np.testing.assert_array_equal(first, again)


def test_the_shipped_weights_beat_fixed_gains():
    shipped = float(loss(np.array(WEIGHTS), NEW))
    assert shipped < 0.75 * fixed_loss(NEW)
    assert shipped < 0.95 * min(fixed_loss(NEW, p, d) for p in (0.5, 1.0, 2.0) for d in (0.5, 1.0, 1.4, 2.0))


def test_no_weights_are_fixed_gains():
    assert loss(np.zeros(SIZE), NEW) == pytest.approx(fixed_loss(NEW))


def test_the_cost_of_a_joint_that_is_not_moved_is_its_jump_for_the_whole_time():
    joints = Joints(*(np.array([value]) for value in (4.0, 1.0, 2.0, 0.0, 0.0)))
    (cost,) = costs(lambda *_: (np.zeros(1), np.zeros(1)), joints)
    assert cost == pytest.approx(train_neural.STEP * train_neural.STEPS / (1.0 + 2.0))


def test_the_command_writes_weights_that_can_be_imported(tmp_path, capsys):
    output = tmp_path / "weights.py"
    assert train_neural.main(["--generations", "1", "--output", str(output)]) == 0
    assert len(runpy.run_path(str(output))["WEIGHTS"]) == SIZE
    assert "best of 25 fixed gains" in capsys.readouterr().out
