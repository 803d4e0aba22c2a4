# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Controllers by name, and every way in which a plugin can be wrong."""

import sys
import textwrap

import pytest

from robodyn_ros import PluginError, Robot
from robodyn_ros.control.laws.pd import PD
from robodyn_ros.control.plugins.registry import GROUP, controller_names, load_controller, make_controller, prefix
from robodyn_ros.description.resources import robot_file

ROBOT = Robot.from_urdf(robot_file("planar_2r"))

PLUGINS = """
    from dataclasses import dataclass
    import numpy as np
    from robodyn_ros.control import Controller, JointReference, Law, Parameters, per_joint

    class Fine(Controller):
        def update(self, state, reference):
            return -state.v

    class Incomplete(Controller):
        pass

    class NoController:
        pass

    class FailsToConstruct(Fine):
        def __init__(self, robot, parameters=None):
            raise RuntimeError("no licence found")

    class OddConstructor(Fine):
        def __init__(self, robot, gain, *, rate):
            super().__init__(robot)

    class NoArguments(Fine):
        def __init__(self):
            pass

    class Orphan(Fine):
        def __init__(self, robot, parameters=None):
            self.gain = 3.0

    class OfInstance(Law):
        def law(self, dynamics, parameters, state, reference):
            return -state.v

    class OddLaw(Law):
        @staticmethod
        def law(state, reference):
            return -state.v

    class OddParameters(Fine):
        Parameters = dict

    class OddReference(Fine):
        follows = str

    class ComputedReference(Fine):
        @property
        def follows(self):
            raise RuntimeError("between two calls")

    class ComputedParameters(Law):
        @property
        def parameters(self):
            return None

        @staticmethod
        def law(dynamics, parameters, state, reference):
            return -state.v

    class Intercepted(Fine):
        def __getattribute__(self, name):
            return super().__getattribute__(name)

    @dataclass(frozen=True, eq=False)
    class Undeclared(Parameters):
        p: float = 1.0

    class UndeclaredParameters(Fine):
        Parameters = Undeclared
"""


@pytest.fixture
def package(tmp_path, monkeypatch):
    """An installed distribution with plugins, as pip would leave it."""
    (tmp_path / "a_users_plugins.py").write_text(textwrap.dedent(PLUGINS))
    (tmp_path / "a_script.py").write_text("import sys\nsys.exit(3)\n")
    (tmp_path / "a_broken_plugin.py").write_text("import a_library_that_is_not_there\n")
    metadata = tmp_path / "a_users_plugins-1.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: a-users-plugins\nVersion: 1.0\n")
    (metadata / "entry_points.txt").write_text(
        f"[{GROUP}]\nfine = a_users_plugins:Fine\nbroken = a_broken_plugin:Any\ngone = a_users_plugins:Gone\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    yield tmp_path
    for name in ("a_users_plugins", "a_broken_plugin"):
        sys.modules.pop(name, None)


def test_an_entry_point_makes_a_controller_known(package):
    assert "fine" in controller_names()
    controller = make_controller("fine", ROBOT)
    assert type(controller).__name__ == "Fine" and controller.robot is ROBOT


def test_a_package_installed_after_the_first_look_is_found(package):
    with pytest.raises(PluginError, match="unknown controller 'late'"):
        load_controller("late")
    metadata = package / "late-1.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: late\nVersion: 1.0\n")
    (metadata / "entry_points.txt").write_text(f"[{GROUP}]\nlate = a_users_plugins:Fine\n")
    assert load_controller("late").__name__ == "Fine"
    assert "late" in controller_names()


def test_module_and_class_need_no_entry_point():
    assert load_controller("robodyn_ros.control.laws.pd:PD") is PD


def test_prefix_of_parameters_has_no_colon():
    assert prefix("pd") == "pd"
    assert prefix("my_package.spring:Spring") == "Spring"


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("nonsense", ["unknown controller 'nonsense'", "fine", "package.module:Class"]),
        ("", ["unknown controller ''"]),
        ("broken", ["'broken' cannot be imported", "ModuleNotFoundError", "a_library_that_is_not_there"]),
        ("gone", ["'gone' cannot be imported", "Gone"]),
        ("a_script:Any", ["cannot be imported", "SystemExit: 3"]),
        ("no_such_module:PD", ["cannot be imported", "no_such_module"]),
        ("robodyn_ros.control.laws.pd:", ["cannot be imported"]),
        (":PD", ["cannot be imported"]),
        ("a_users_plugins:Incomplete", ["Incomplete does not define update"]),
        ("a_users_plugins:NoController", ["expected a subclass of robodyn_ros.control.Controller"]),
        ("a_users_plugins:np", ["expected a subclass"]),
        ("a_users_plugins:FailsToConstruct", ["cannot be constructed", "RuntimeError: no licence found"]),
        ("a_users_plugins:OddConstructor", ["OddConstructor.__init__(self, robot, parameters=None)",
                                            "received __init__(self, robot, gain, *, rate)"]),
        ("a_users_plugins:NoArguments", ["received __init__(self)"]),
        ("a_users_plugins:Orphan", ["does not call super().__init__(robot, parameters)"]),
        ("a_users_plugins:OfInstance", ["@staticmethod above law(dynamics, parameters, state, reference)"]),
        ("a_users_plugins:OddLaw", ["law(dynamics, parameters, state, reference)", "received law(state, reference)"]),
        ("a_users_plugins:OddParameters", ["OddParameters.Parameters", "dict"]),
        ("a_users_plugins:OddReference", ["follows", "str", "JointReference"]),
        ("a_users_plugins:ComputedReference", ["ComputedReference.follows is code, expected none"]),
        ("a_users_plugins:ComputedParameters", ["ComputedParameters.parameters is code, expected none"]),
        ("a_users_plugins:Intercepted", ["Intercepted.__getattribute__ is code, expected none"]),
        ("a_users_plugins:UndeclaredParameters", ["Undeclared.p", "per_joint"]),
    ],
)
def test_invalid_plugins_are_refused_with_the_reason(package, name, words):
    with pytest.raises(PluginError) as caught:
        make_controller(name, ROBOT)
    for word in words:
        assert word in str(caught.value)


def test_a_name_that_two_packages_claim_is_refused(package):
    metadata = package / "another_package-1.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: another-package\nVersion: 1.0\n")
    (metadata / "entry_points.txt").write_text(f"[{GROUP}]\nfine = another_package:Fine\n")
    with pytest.raises(PluginError, match=r"ambiguous.*a_users_plugins:Fine, another_package:Fine"):
        load_controller("fine")
