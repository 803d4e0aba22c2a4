# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

import gc

import numpy as np
import pytest

from robodyn_ros.base.errors import InputError
from robodyn_ros.compile import compile_function
from robodyn_ros.dynamics import robot_function
from robodyn_ros.dynamics.robot_function import ComposedKernel

Q, GAIN = np.random.default_rng(2).normal(size=(40, 3)), np.linspace(-1.0, 1.0, 40)
EXPECTED = np.array([np.outer(x, x) @ (x - k * np.sin(x)) * k for x, k in zip(Q, GAIN, strict=True)])


@pytest.fixture
def kernel():
    swing = compile_function(lambda gain, q: gain * np.sin(q), {"gain": (), "q": (3,)}, "swing")
    turn = compile_function(lambda q: np.outer(q, q), {"q": (3,)}, "turn")
    both = compile_function(lambda q, gain, swings, turns: turns @ (q - swings) * gain,
                            {"q": (3,), "gain": (), "swings": (3,), "turns": (3, 3)}, "both")
    return ComposedKernel(both, [swing, turn])


def test_others_compute_the_last_inputs(kernel):
    gc.collect()
    np.testing.assert_allclose(kernel(Q[7], GAIN[7]), EXPECTED[7], rtol=1e-13)
    np.testing.assert_allclose(kernel(gain=GAIN[7], q=Q[7].tolist()), EXPECTED[7], rtol=1e-13)


@pytest.mark.parametrize("samples", [0, 1, 9, 40])
def test_batches_are_computed_part_by_part(kernel, samples, monkeypatch):
    monkeypatch.setattr(robot_function, "SAMPLES_PER_PART", 16)
    for threads in (1, 2):
        result = kernel.batch(Q[:samples], GAIN[:samples], threads=threads)
        np.testing.assert_allclose(result, EXPECTED[:samples], rtol=1e-13)
    out = np.empty((samples, 3))
    assert kernel.batch(Q[:samples], GAIN[:samples], out=out) is out
    np.testing.assert_array_equal(out, result)


def test_an_array_is_both_argument_and_result(kernel, monkeypatch):
    monkeypatch.setattr(robot_function, "SAMPLES_PER_PART", 16)
    memory = np.concatenate([np.zeros((1, 3)), Q])  # results one row before the arguments
    result = kernel.batch(memory[1:], GAIN, out=memory[:-1])
    np.testing.assert_allclose(result, EXPECTED, rtol=1e-13)


def test_bad_arguments_are_named(kernel):
    with pytest.raises(InputError, match=r"both: q: expected shape \(3,\), received \(4,\)"):
        kernel(np.zeros(4), 1.0)
    with pytest.raises(InputError, match=r"both: expected 2 arrays \(q, gain\), received 3"):
        kernel(Q[0], 1.0, Q[0])
    with pytest.raises(InputError, match="both: expected as many samples in each array, received 40 in q, 39 in gain"):
        kernel.batch(Q, GAIN[1:])
    with pytest.raises(InputError, match=r"both: out: expected shape \(40, 3\), received \(39, 3\)"):
        kernel.batch(Q, GAIN, out=np.empty((39, 3)))
    with pytest.raises(InputError, match="both: out: expected a float64 array, received list"):
        kernel.batch(Q, GAIN, out=Q.tolist())
