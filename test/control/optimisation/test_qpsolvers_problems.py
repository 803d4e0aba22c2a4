# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Quadratic programs of the collection of qpsolvers, with its solutions, or daqp's where it has none."""

import numpy as np
import pytest

from robodyn_ros.control.optimisation import qp

problems = pytest.importorskip("qpsolvers.problems", reason="qpsolvers is not installed: make setup FOR=test")
qpsolvers = pytest.importorskip("qpsolvers")
NAMES = [name for name in dir(problems) if name.startswith("get_qp")]


def test_the_collection_is_there():
    assert {"get_qpgurdu", "get_qptest", *(f"get_qpsut0{number}" for number in range(1, 6))} <= set(NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_it_has_the_solution_of_the_collection(name):
    given = getattr(problems, name)()
    problem, known = given if isinstance(given, tuple) else (given, None)
    h, g, above, upper, equal, value, x_lower, x_upper = problem.unpack()
    parts = [(np.reshape(rows, (-1, len(g))), np.ravel(most), least) for rows, most, least in
             ((above, upper, -np.inf), (equal, value, None)) if rows is not None]
    a = np.vstack([np.zeros((0, len(g))), *(rows for rows, _, _ in parts)])
    most = np.concatenate([np.zeros(0), *(bound for _, bound, _ in parts)])
    lower = np.concatenate([np.zeros(0), *(bound if least is None else np.full(len(bound), least)
                                           for _, bound, least in parts)])
    found = qp.solve(h, g, a, lower, most, *(None if each is None else np.ravel(each) for each in (x_lower, x_upper)))
    expected = None if known is None else known.x
    if expected is None:
        expected = qpsolvers.solve_problem(problem, "daqp", primal_tol=1e-10, dual_tol=1e-10).x
    assert found.status == qp.OPTIMAL
    np.testing.assert_allclose(found.x, expected, rtol=0.0, atol=1e-6 * (1.0 + np.abs(expected).max()))
