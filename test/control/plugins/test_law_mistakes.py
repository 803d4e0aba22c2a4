# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Usual mistakes of a law's author: what a swap, a rollout and a comparison say names the law's line and a remedy."""

import sys

import numpy as np
import pytest

from robodyn_ros import PluginError, Robot, rollout
from robodyn_ros.control.plugins.dry_run import dry_run, uncompiled
from robodyn_ros.control.plugins.registry import make_controller
from robodyn_ros.description.resources import robot_file

ROBOT = Robot.from_urdf(robot_file("planar_2r"))

HEAD = '''
import math
import time
import numpy as np
import scipy.linalg
from robodyn_ros.control import JointReference
from robodyn_ros.control.contract.controller import Law

level = 0.0

class Mistake(Law[None, JointReference, None]):
    {memory}
    @staticmethod
    def law(dynamics, parameters, state, reference{argument}):
        error = reference.q - state.q
        {code}  # here
'''

RUNS = [
    ("if error[0] > 0.1: error = 2.0 * error\n        return 30.0 * error", "np.where(condition, a, b)"),
    ("return scipy.linalg.solve(dynamics.mass_matrix(state.q), error)", "np.linalg.solve"),
    ("return 30.0 * error * math.cos(state.q[0])", "np.sin"),
    ("return [30.0 * float(each) for each in error]", "turned into a float"),
    ("return error * sorted(error)[0]", "np.minimum"),
    ("return error * (2.0 if time.time() > 0.0 else 1.0)", "state.time"),
    ("return error + np.random.default_rng().normal(size=2)", "Inputs"),
]
"""Laws that run as Python code, and the remedy that is named."""

REFUSED = [
    ("return 10.0 * error / np.abs(error)", "look for a division by 0"),
    ("return np.linalg.solve(np.outer(state.q, state.q), error)", "Singular matrix"),
    ("return np.sqrt(-1.0 - error ** 2)", "a root or logarithm of a negative number"),
    ("return np.append(error, 0.0)", "expected efforts of shape (2,) alone"),
    ("30.0 * error", "received NoneType"),
    ("return error, 1.0", "only a law with an initial_memory returns a memory"),
    ("return error + reference.qd - state.v", "it has q, v, a"),
    ("return error + dynamics.gravity_effort(state.q)", "did you mean"),
    ("return parameters.stiffness * error", "has no attribute 'stiffness'"),
    ("return 30.0 * (goal - state.q)", "name 'goal' is not defined"),
    ("return error * reference.q[5]", "out of bounds"),
    ("error -= state.v; state.q[:] = 0.0; return error", "read-only"),
    ("return dynamics.mass_matrix() @ error", "argument: 'q'"),
]
"""Laws that fail, and what is said."""


@pytest.fixture
def law(tmp_path, monkeypatch):
    """Writes a law with this code, and makes it."""
    monkeypatch.syspath_prepend(tmp_path)

    def make(code, memory="", argument=""):
        sys.modules.pop("mistake", None)
        (tmp_path / "mistake.py").write_text(HEAD.format(code=code, memory=memory, argument=argument))
        return make_controller("mistake:Mistake", ROBOT)

    yield make
    sys.modules.pop("mistake", None)


def at_rest(controller):
    dry_run("mistake:Mistake", controller, np.array([0.1, 0.2]), np.zeros(2))


@pytest.mark.parametrize(("code", "remedy"), RUNS)
def test_a_law_that_cannot_be_compiled_runs_and_says_why_at_its_line(law, code, remedy):
    controller = law(code)
    at_rest(controller)
    said = uncompiled(controller)
    first = code.partition("\\n")[0].partition("\n")[0]
    assert remedy in said and first in said and "mistake.py, line" in said, said
    assert said.partition(": ")[0].endswith(" of 2 ms a tick"), said
    assert remedy in rollout(ROBOT, law(code), duration=0.01).note


@pytest.mark.parametrize(("code", "remedy"), REFUSED)
def test_a_law_that_fails_is_refused_with_its_line(law, code, remedy):
    with pytest.raises(PluginError) as refused:
        at_rest(law(code))
    assert remedy in str(refused.value) and code[:40] in str(refused.value), refused.value
    with pytest.raises(PluginError):
        rollout(ROBOT, law(code), duration=0.01)


def test_a_memory_of_another_shape_is_refused_with_the_line_that_returns_it(law):
    code = "return error, np.zeros(3)"
    with pytest.raises(PluginError, match="memory of shape \\(2,\\)") as refused:
        at_rest(law(code, "def initial_memory(self, state): return np.zeros(2)", ", memory"))
    assert code in str(refused.value)


@pytest.mark.long
def test_a_long_loop_is_compiled(law):
    controller = law("for k in range(3000): error = error + 1e-3 * np.sin(error - state.q)\n        return error")
    at_rest(controller)
    assert uncompiled(controller) == ""


def test_a_law_with_none_for_its_parameters_has_none(law):
    assert law("return error").parameters.flat(ROBOT) == []
