# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Messages about errors in plugins."""

import sys
import textwrap

import numpy as np
import pytest

from robodyn_ros import InputError, PluginError, Robot
from robodyn_ros.control.plugins.dry_run import dry_run
from robodyn_ros.control.plugins.plugin_errors import describe, full_traceback
from robodyn_ros.control.plugins.registry import load_controller, make_controller
from robodyn_ros.description.resources import robot_file

ROBOT = Robot.from_urdf(robot_file("planar_2r"))
PLUGIN = """
    import numpy as np
    from failing_helper import halve
    from robodyn_ros.control import Controller, JointReference, Law

    class InNumpy(Controller):
        def update(self, state, reference):
            return np.linalg.inv(np.zeros((2, 2)))

    class InHelper(Controller):
        def update(self, state, reference):
            return halve(state)

    class InDynamics(Controller):
        def update(self, state, reference):
            return self.dynamics.gravity(np.zeros(7))

    class InLaw(Law):
        follows = JointReference

        @staticmethod
        def law(dynamics, parameters, state, reference, memory):
            return state.nonsense

    class InConstructor(Controller):
        def __init__(self, robot, parameters=None):
            raise RuntimeError("no licence")

        def update(self, state, reference):
            pass

    class WrongShape(Controller):
        def update(self, state, reference):
            return np.zeros(5)
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "failing_plugin.py").write_text(textwrap.dedent(PLUGIN))
    (tmp_path / "failing_helper.py").write_text("def halve(state):\n    return state.q / 'two'\n")
    yield tmp_path
    for name in ("failing_plugin", "failing_helper"):
        sys.modules.pop(name, None)


@pytest.mark.parametrize(("name", "kind", "place"), [
    ("InNumpy", "LinAlgError: Singular matrix", "failing_plugin.py, line 8: return np.linalg.inv(np.zeros((2, 2)))"),
    ("InHelper", "TypeError: ufunc 'divide'", "failing_helper.py, line 2: return state.q / 'two'"),
    ("InDynamics", "(7,)", "failing_plugin.py, line 16: return self.dynamics.gravity(np.zeros(7))"),
    ("InLaw", "AttributeError: 'State' object has no attribute 'nonsense'",
     "failing_plugin.py, line 23: return state.nonsense"),
    ("InConstructor", "RuntimeError: no licence", 'failing_plugin.py, line 27: raise RuntimeError("no licence")'),
])
def test_an_exception_is_told_with_the_line_of_the_plugin(folder, name, kind, place):
    with pytest.raises(PluginError) as caught:
        dry_run("it", make_controller(f"failing_plugin:{name}", ROBOT), np.zeros(2), np.zeros(2))
    assert kind in str(caught.value)
    assert f"({folder}/{place})" in str(caught.value)
    assert "Traceback (most recent call last)" in full_traceback(caught.value.__cause__)


def test_an_answer_of_the_wrong_shape_has_no_line(folder):
    with pytest.raises(PluginError) as caught:
        dry_run("it", make_controller("failing_plugin:WrongShape", ROBOT), np.zeros(2), np.zeros(2))
    assert "line" not in str(caught.value) and "(5,)" in str(caught.value)


@pytest.mark.parametrize(("text", "line"), [
    ("import a_library_that_is_not_there", "line 1: import a_library_that_is_not_there"),
    ("x = 1\ndef f(:", "line 2: def f(:"),
    ("\nimport sys\nsys.exit(3)", "line 3: sys.exit(3)"),
])
def test_an_import_that_fails_is_told_with_the_line(folder, text, line):
    (folder / "failing_helper.py").write_text(text)
    with pytest.raises(PluginError) as caught:
        load_controller("failing_plugin:InHelper")
    assert f"({folder}/failing_helper.py, {line})" in str(caught.value)


def test_errors_of_the_library_need_no_line_of_the_plugin():
    assert describe(InputError("expected a number")) == "expected a number"
    assert describe(ValueError("odd")) == "ValueError: odd"
