# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

import numpy as np
import pytest
from test_loop_description import described, numbers, same

from robodyn_ros import InputError
from robodyn_ros.simulation.score import joined
from robodyn_ros.toolbox.study import block as block_module
from robodyn_ros.toolbox.study.blocks import all_scores, map_blocks
from robodyn_ros.toolbox.study.loop_description import PARAMETERS, LoopDescription


@pytest.mark.parametrize("noise", [0.0, 0.01])
def test_a_sample_has_the_same_score_alone_and_in_any_block_with_any_threads(noise):
    description = described(velocity_noise=noise)
    arrays = {PARAMETERS: numbers(description, 37), "start.q": np.random.default_rng(1).uniform(-0.4, 0.4, (37, 2))}
    whole = description.scores(arrays)
    for size, threads in ((1, 1), (1, 2), (2, 1), (5, 2), (8, 3), (13, 1), (37, 4)):
        parts = [description.scores({name: array[begin:begin + size] for name, array in arrays.items()}, threads)
                 for begin in range(0, 37, size)]
        assert same(joined(parts), whole), (size, threads)


def test_blocks_come_in_order_once_each_and_leave_out_those_done(monkeypatch):
    monkeypatch.setattr(block_module, "BLOCK_TIME", 1e-9)
    description = described()
    arrays = {PARAMETERS: numbers(description, 500)}
    whole = description.scores(arrays)
    blocks = list(map_blocks(description, arrays, done=[(100, 150), (140, 300), (490, 500)]))
    covered = [number for block in blocks for number in range(block.begin, block.end)]
    assert covered == [*range(100), *range(300, 490)] and len(blocks) > 4
    for block in blocks:
        assert same(block.score, [array[block.begin:block.end] for array in whole])
        assert block.processor and block.seconds > 0.0
    assert same(all_scores(description, arrays, threads=2), whole)


def test_only_the_first_block_of_a_loop_in_a_process_may_have_compiled_it(monkeypatch):
    monkeypatch.setattr(block_module, "BLOCK_TIME", 1e-9)
    description = described(seed=77)
    arrays = {PARAMETERS: numbers(description, 200)}
    assert [block.fresh for block in map_blocks(description, arrays)][:3] == [True, False, False]
    assert not next(map_blocks(description, arrays)).fresh


def test_bad_samples_are_refused_before_any_work(monkeypatch):
    description = described()
    with pytest.raises(InputError, match="0 of parameters"):
        all_scores(description, {PARAMETERS: np.zeros((0, 4))})
    monkeypatch.setattr(LoopDescription, "scores", None)
    with pytest.raises(InputError, match="2 of start.q"):
        all_scores(description, {PARAMETERS: np.ones((3, 4)), "start.q": np.zeros((2, 2))})
