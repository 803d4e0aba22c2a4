# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

import gc
import weakref

import numpy as np
import pytest

from robodyn_ros.base.errors import InputError
from robodyn_ros.compile import Compute, Repeat, compile_procedure
from robodyn_ros.compile.procedure import Bound


def spin(q, v):
    return q + v, np.cos(v + q)


PROGRAM = [
    Repeat("rounds", [Repeat("steps", [Compute(spin, ("q", "v"), ("q", "v"))]), Compute(lambda n: n + 1.0, "n", "n")])
]


@pytest.fixture
def procedure():
    procedure = compile_procedure({"q": (3,), "v": (3,), "n": ()}, PROGRAM, ["q", "v"], ["q", "v", "n"], name="spin")
    assert type(procedure.bind().run) is type(len)
    return procedure


Q, V = np.random.default_rng(0).normal(size=(2, 3))


def test_runs_go_on_where_the_last_one_ended(procedure):
    spinning = procedure.bind(q=Q, v=V)
    assert spinning.run(2, 5) is None
    spinning.run(1, 5)
    once = procedure(q=Q, v=V, rounds=3, steps=5)
    for name in "qvn":
        np.testing.assert_array_equal(spinning[name], once[name])


def test_variables_are_read_and_written_in_place(procedure):
    spinning = procedure.bind()
    q = spinning["q"]
    spinning["v"] = V
    q[...] = Q
    spinning.run(1, 1)
    np.testing.assert_array_equal(q, Q + V)
    assert spinning["q"] is q
    spinning["n"] = 7
    spinning.run(np.int64(2), 0)
    assert spinning["n"] == 9.0


def test_each_has_memory_of_its_own(procedure):
    one, other = procedure.bind(q=Q), procedure.bind(q=Q)
    one.run(3, 3)
    np.testing.assert_array_equal(other["q"], Q)


@pytest.mark.parametrize("counts", [(), (1,), (1, 2, 3), (-1, 2), (2, -1), (1.0, 2), ("1", 2), (None, 2), (1, 2**70)])
def test_bad_counts_are_explained(procedure, counts):
    spinning = procedure.bind(q=Q)
    with pytest.raises(InputError, match=r"spin: run: expected 2 integers of 0 or more by position \(rounds, steps\)"):
        spinning.run(*counts)
    np.testing.assert_array_equal(spinning["q"], Q)


def test_the_code_lives_as_long_as_the_function(procedure):
    spinning = procedure.bind(q=Q, v=V)
    run, q, gone = spinning.run, spinning["q"], weakref.ref(procedure)
    del spinning, procedure
    gc.collect()
    run(1, 1)
    np.testing.assert_array_equal(q, Q + V)
    assert gone() is None or gone().name == "spin"


def test_what_cannot_be_bound():
    for rows in ({"read": {"x": "xs"}}, {"record": {"xs": "x"}}):
        procedure = compile_procedure({"x": (3,)}, [Repeat(2, [], **rows)], ["x"], ["x"], name="rows")
        with pytest.raises(InputError, match="rows: has sequences or records, which need a call"):
            procedure.bind()


def test_bad_first_values_are_explained(procedure):
    with pytest.raises(InputError, match=r"spin: q: expected shape \(3,\), received \(2,\)"):
        procedure.bind(q=[1.0, 2.0])
    with pytest.raises(InputError, match=r"spin: expected inputs \(q, v\), received n"):
        procedure.bind(n=1.0)


def test_without_counts():
    procedure = compile_procedure({"x": ()}, [Compute(lambda x: x + 1.0, "x", "x")], ["x"], ["x"])
    counter = procedure.bind()
    for _ in range(1000):
        counter.run()
    assert counter["x"] == 1000.0
    assert isinstance(counter, Bound)
