# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Couplings of motors and joints: their matrices, and those that leave a joint free."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from robodyn_ros import InputError
from robodyn_ros.description.coupling import Coupling, output_shares

WRIST = Coupling(("j5", "j6"), [[45.0, 0.0], [32.0, 32.0]])


def test_ratios_and_shares_make_the_matrix():
    for matrix in (WRIST.matrix, [[0.0, 10.0], [-20.0, 5.0]], [[1.0, 2.0, 0.0], [0.0, 3.0, 1.0], [1.0, 0.0, -4.0]]):
        coupling = Coupling(tuple("abc"[:len(matrix)]), matrix)
        assert_array_equal(coupling.ratio[:, None] * coupling.shares, matrix)
    assert Coupling(("a", "b"), [[0.0, 10.0], [-20.0, 5.0]]).ratio.tolist() == [10.0, 5.0]


def test_shares_of_a_whole_robot():
    assert_array_equal(output_shares([WRIST], ["j5", "j4", "j6"]), [[1, 0, 0], [0, 1, 0], [1, 0, 1]])
    assert output_shares([], ["a"]) is None
    assert output_shares([Coupling(("a", "b"), [[5.0, 0.0], [0.0, -7.0]])], ["a", "b"]) is None


def test_a_joint_that_is_fixed_takes_its_motor_along():
    assert WRIST.among(["j5", "j6", "x"]) is WRIST and WRIST.among(["j6"]) is None
    three = Coupling(("a", "b", "c"), [[1.0, 2.0, 0.0], [0.0, 3.0, 1.0], [1.0, 0.0, -4.0]])
    assert_array_equal(three.among(["a", "c"]).matrix, [[1.0, 0.0], [1.0, -4.0]])
    assert Coupling(("a", "b", "c"), [[1.0, 2.0, 1.0], [1.0, 3.0, 1.0], [1.0, 0.0, 1.5]]).among(["a", "b"]) is not None
    assert Coupling(("a", "b", "c"), [[1.0, 1.0, 1.0], [1.0, 1.0, 0.0], [1.0, 0.0, 0.0]]).among(["a", "b"]) is None


@pytest.mark.parametrize(("joints", "matrix", "problem"), [
    (("a",), [[1.0]], "coupling of a: expected two joints or more, each once"),
    (("a", "a"), np.eye(2), "each once"),
    (("a", "b"), np.eye(3), "matrix: expected 2 rows, one for each motor, of 2 numbers up to 1e"),
    (("a", "b"), [[1.0, float("nan")], [0.0, 1.0]], "expected 2 rows"),
    (("a", "b"), [[1.0, "x"], [0.0, 1.0]], "expected 2 rows"),
    (("a", "b"), [[1.0], [0.0, 1.0]], "expected 2 rows"),
    (("a", "b"), None, "expected 2 rows"),
    (("a", "b"), [[1.0, 1e7], [0.0, 1.0]], "expected 2 rows"),
    (("a", "b"), [[0.0, 0.0], [0.0, 1.0]], "expected no motor that drives no joint"),
    (("a", "b"), [[2.0, 4.0], [1.0, 2.0]], "expected one that has an inverse"),
])
def test_a_matrix_that_does_not_do(joints, matrix, problem):
    with pytest.raises(InputError, match=problem):
        Coupling(joints, matrix)
