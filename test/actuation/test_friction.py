# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Friction by hand, its limits, and its figures' checks."""

import re
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from robodyn_ros import InputError, Robot
from robodyn_ros.actuation import Friction
from robodyn_ros.actuation import friction as friction_module
from robodyn_ros.actuation.configuration import HardwareSettings
from robodyn_ros.actuation.friction import friction_models
from robodyn_ros.compile import compile_function
from robodyn_ros.control.plugins.registry import make_controller
from robodyn_ros.description.resources import robot_file
from robodyn_ros.simulation.commands import Drive
from robodyn_ros.simulation.plant import Plant
from robodyn_ros.simulation.rollout import ClosedLoop

STRIBECK = Friction(viscous=[0.5, 0.1], coulomb=[2.0, 1.0], static=[3.0, 1.0], stribeck_velocity=[0.1, 0.2])


def test_level_falls_from_breakaway_to_coulomb_friction():
    v = np.array([0.0, 0.0])
    np.testing.assert_array_equal(STRIBECK.level(v), [3.0, 1.0])
    np.testing.assert_allclose(STRIBECK.level(np.array([0.1, 0.1])), [2.0 + np.exp(-1.0), 1.0], rtol=1e-15)
    np.testing.assert_allclose(STRIBECK.level(np.array([10.0, -10.0])), [2.0, 1.0], rtol=1e-15)


@given(st.floats(-5.0, 5.0), st.floats(-5.0, 5.0))
def test_level_is_even_and_falls_with_the_speed(one, other):
    slow, fast = sorted(np.abs([one, other]))
    level = STRIBECK.level(np.array([slow, one]))[0]
    assert 2.0 <= STRIBECK.level(np.array([fast, one]))[0] <= level <= 3.0
    assert STRIBECK.level(np.array([-slow, one]))[0] == level


def test_level_can_be_compiled():
    compiled = compile_function(STRIBECK.level, {"v": (2,)})
    v = np.array([0.05, 0.3])
    np.testing.assert_allclose(compiled(v), STRIBECK.level(v), rtol=1e-15)
    plain = compile_function(Friction([0.0, 0.0], [1.0, 2.0]).level, {"v": (2,)})
    np.testing.assert_array_equal(plain(v), [1.0, 2.0])


def test_friction_of_a_description():
    text = robot_file("scara").read_text().replace('friction="0"', 'friction="0.3"')
    friction = Friction.from_model(Robot.from_urdf_text(text).model)
    np.testing.assert_allclose(friction.viscous, [1e-4, 1e-4, 25.0, 2.0], rtol=1e-12)  # published, at the joints
    np.testing.assert_array_equal(friction.coulomb, [0.3] * 4)
    np.testing.assert_array_equal(friction.static, [0.3] * 4)


def test_scaled_friction_is_more_of_the_same():
    assert STRIBECK.scaled([1.0, 0.0]).has_dry.tolist() == [True, False]
    scaled, v = STRIBECK.scaled([1.2, 0.0]), np.array([0.03, 0.03])
    np.testing.assert_allclose(scaled.level(v), STRIBECK.level(v) * [1.2, 0.0], rtol=1e-15)
    np.testing.assert_allclose(scaled.viscous, [0.6, 0.0], rtol=1e-15)


@pytest.mark.parametrize(("make", "message"), [
    (lambda: Friction(-1.0, 0.0), "Friction.viscous: expected a finite number from 0 to 1e.09"),
    (lambda: Friction(0.0, 1.0, 0.5), "Friction.static: expected breakaway friction not below the Coulomb friction"),
    (lambda: Friction(0.0, 1.0, stribeck_velocity=0.0), "stribeck_velocity: expected a finite number above 0"),
    (lambda: Friction([1.0, 2.0], [1.0, 2.0, 3.0]), "expected single numbers or as many everywhere"),
    (lambda: Friction(np.nan, 0.0), "expected a finite number"),
    (lambda: STRIBECK.scaled([1.0, 2.0, 3.0]), r"factor: expected one number or shape \(2,\).* received shape \(3,\)"),
    (lambda: STRIBECK.scaled(-1.0), "factor: expected a finite number of 0 or more"),
])
def test_impossible_friction_is_refused(make, message):
    with pytest.raises(InputError, match=message):
        make()


PAGE = Path(__file__).parents[2] / "docs" / "how_to" / "add_a_friction_model.md"


@pytest.fixture
def drag(tmp_path, monkeypatch):
    """The folder with the files of the how-to page, and the code that runs them."""
    blocks = re.findall(r"```(?:python|yaml)\n(.*?)```", PAGE.read_text(), re.DOTALL)
    for block in blocks:
        if block.startswith("# drag."):
            (tmp_path / block.split("\n")[0].removeprefix("# ")).write_text(block)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    yield next(block for block in blocks if "drag.yaml" in block and "import drag" in block)
    sys.modules.pop("drag", None)
    for name in ("drag", "springy_drag"):
        friction_module._MODELS.pop(name, None)


def test_the_how_to_page_adds_a_model_in_two_files(drag):
    known = {}
    exec(compile(drag, str(PAGE), "exec"), known)
    friction, robot = known["friction"], known["robot"]
    np.testing.assert_allclose(friction.level(np.array([3.0, 3.0])), [0.1 + 0.02 * 9.0, 0.2])
    assert friction_models()["drag"] is type(friction)
    compiled, interpreted = (Plant(robot, friction=friction, compiled=compiled) for compiled in (True, False))
    effort = Drive(np.array([5.0, -2.0]), *np.zeros((2, 2)))
    for plant in (compiled, interpreted):
        plant.advance(effort, 50)
    np.testing.assert_allclose(compiled.q, interpreted.q, rtol=1e-9, atol=1e-12)
    assert compiled.energy.friction_loss > 0.0 and compiled.energy.viscous_loss > 0.0
    loop = ClosedLoop(make_controller("damping", robot), compiled.model, varied=("friction.scale", "friction.viscous"))
    factors = np.array([0.5, 1.0, 2.0])
    scores = loop.scores(loop.scenario(duration=0.2), samples={"friction.scale": factors,
                                                               "friction.viscous": np.tile(friction.viscous, (3, 1))})
    for factor, v in zip(factors, scores.v, strict=True):
        fixed = ClosedLoop(make_controller("damping", robot), replace(compiled.model, friction=friction.scaled(factor)))
        np.testing.assert_allclose(v, fixed.run(fixed.scenario(duration=0.2)).score.v, rtol=1e-9, atol=1e-12)
    with pytest.raises(InputError, match="varied: 'friction.coulomb': expected the friction model 'stribeck', rec"):
        ClosedLoop(make_controller("damping", robot), compiled.model, varied=("friction.coulomb",))


def test_the_how_to_page_adds_a_model_with_a_state(drag):
    block = re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL)[-1]
    known = {"__name__": "springy"}
    exec(compile(block, str(PAGE), "exec"), known)
    np.testing.assert_allclose(known["plant"].q, [2e-5, 0.0], atol=2e-8)


@pytest.mark.parametrize(("text", "message"), [
    ("model: dragg", "joint 'joint1': friction: unknown model 'dragg': did you mean 'drag'"),
    ("model: 3", "joint 'joint1': friction: unknown model '3'"),
    ("model: [drag]", "joint 'joint1': friction: unknown model"),
    ("{model: drag, drg: 1.0}", "joint 'joint1': friction: unknown key 'drg'"),
    ("{model: drag, drag: -1.0}", "joint 'joint1': friction: drag: expected a finite number from 0 to 1e.09"),
    ("{model: drag, coulomb: 1.0}", "joint 'joint1': friction: unknown key 'coulomb'"),
    ("drag", "joint 'joint1': friction: expected keys and values, received 'drag'"),
])
def test_sections_of_a_model_are_checked(drag, text, message):
    __import__("drag")
    with pytest.raises(InputError, match=message):
        HardwareSettings.from_mapping(yaml.safe_load(f"joints:\n  joint1:\n    friction: {text}\n"
                                                     if text.startswith("{") or ":" not in text else
                                                     f"joints:\n  joint1:\n    friction:\n      {text}\n"))


def test_joints_have_one_model(drag):
    __import__("drag")
    settings = HardwareSettings.from_mapping({"joints": {"joint1": {"friction": {"model": "drag"}},
                                                         "joint2": {"friction": {"coulomb": 1.0}}}})
    with pytest.raises(InputError, match="friction: expected one model for all joints, received drag and stribeck"):
        settings.joint_friction(Robot.from_urdf(robot_file("planar_2r")).model)
