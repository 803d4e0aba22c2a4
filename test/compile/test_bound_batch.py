# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Procedures for many samples whose arrays stay where they are: against calls of the same procedure."""

import gc
from typing import NamedTuple

import numpy as np
import pytest

from robodyn_ros.base.errors import InputError
from robodyn_ros.compile import Compute, Repeat, compile_procedure


class Pair(NamedTuple):
    q: np.ndarray
    v: np.ndarray


def swing(pair, gain, push):
    return Pair(pair.q + 0.1 * pair.v, pair.v - gain * np.sin(pair.q) + push), pair.q @ pair.v


@pytest.fixture(scope="module")
def procedure():
    return compile_procedure(
        {"pair": Pair((3,), (3,)), "gain": (), "push": (3,), "power": ()},
        [Repeat("ticks", [Compute(swing, ("pair", "gain", "push"), ("pair", "power"))], read={"push": "pushes"})],
        ["pair", "gain"], ["pair", "power"], name="swing")


@pytest.mark.parametrize("samples", [1, 7, 8, 21])
@pytest.mark.parametrize("threads", [1, 3])
def test_runs_go_on_and_equal_calls_to_the_bit(procedure, samples, threads):
    rng = np.random.default_rng(samples)
    pair, gain, pushes = Pair(*rng.normal(size=(2, samples, 3))), rng.uniform(size=samples), rng.normal(
        size=(samples, 4, 3))
    bound = procedure.bind_batch(samples, threads=threads, ticks=4)
    bound["pair"], bound["gain"], bound["pushes"] = pair, gain, pushes
    kept = bound["pair"].q
    for _ in range(3):
        bound.run()
        after = procedure.batch(pair=pair, gain=gain, pushes=pushes, ticks=4)
        for mine, other in zip((*bound["pair"], bound["power"]), (*after["pair"], after["power"]), strict=True):
            np.testing.assert_array_equal(mine, other)
        pair = after["pair"]
    assert bound["pair"].q is kept
    bound["pair"].q[0] = 5.0  # one sample begins anew, in place
    bound.run()
    fresh = procedure.batch(pair=Pair(np.where(np.arange(samples)[:, None] == 0, 5.0, pair.q), pair.v), gain=gain,
                            pushes=pushes, ticks=4)
    np.testing.assert_array_equal(bound["pair"].q, fresh["pair"].q)


def test_a_sample_with_nan_leaves_its_neighbours_alone(procedure):
    bound = procedure.bind_batch(9, ticks=2)
    bound["gain"][:] = 1.0
    bound["pair"].q[4] = np.nan
    bound["pair"].v[:] = 0.3
    bound.run()
    assert np.isnan(bound["pair"].q[4]).all()
    assert np.isfinite(np.delete(bound["pair"].q, 4, axis=0)).all()


def test_it_outlives_its_procedure():
    def bound():
        return compile_procedure({"q": (2,)}, [Compute(lambda q: q + 1.0, "q", "q")], ["q"], ["q"]).bind_batch(5)

    alone = bound()
    gc.collect()
    alone.run()
    np.testing.assert_array_equal(alone["q"], np.ones((5, 2)))


@pytest.mark.parametrize(("call", "message"), [
    (lambda procedure: procedure.bind_batch(0, ticks=1), "samples: expected an integer of 1 or more, received 0"),
    (lambda procedure: procedure.bind_batch(3, threads=0, ticks=1), "threads: expected an integer of 1 or more"),
    (lambda procedure: procedure.bind_batch(3), "expected the counts ticks, received none"),
    (lambda procedure: procedure.bind_batch(3, ticks=1)["pears"], "expected one of pair, gain, pushes, power"),
    (lambda procedure: procedure.bind_batch(3, ticks=1).__setitem__("pears", 1), "received 'pears'"),
])
def test_wrong_uses_are_told(procedure, call, message):
    with pytest.raises(InputError, match=message):
        call(procedure)
