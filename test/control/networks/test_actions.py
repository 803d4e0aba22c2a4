# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Actions of learned laws: formulas of each kind, floats and traced; settings that do not fit."""

import numpy as np
import pytest

from robodyn_ros import InputError, Robot
from robodyn_ros.compile import compile_function
from robodyn_ros.control import JointReference, State
from robodyn_ros.control.networks.actions import ActionKind, ActionLayout
from robodyn_ros.dynamics.robot_dynamics import InlineDynamics

RNG = np.random.default_rng(2)


@pytest.fixture(scope="module")
def arm6():
    return Robot.named("arm6")


def expected(layout, action, q, v, reference, gravity):
    a, p, d, s, kind = action, layout.p, layout.d, layout.scale, layout.kind
    if kind == "gains":
        return p * s ** a[:6] * (reference.q - q) + d * s ** a[6:] * (reference.v - v) + gravity
    if kind == "position":
        return p * (layout.default + s * a - q) - d * v + gravity
    return p * s * a - d * v + gravity if kind == "position_step" else s * a + gravity * (kind == "effort")


@pytest.mark.parametrize("kind", list(ActionKind))
def test_each_kind_is_its_formula(arm6, kind):
    gravity = kind is not ActionKind.VOLTAGE
    layout = ActionLayout.from_settings(arm6, kind, scale=np.linspace(1.5, 2.5, 6), gravity=gravity)
    assert layout.size == (12 if kind == "gains" else 6)
    q, v, action = RNG.uniform(-1, 1, 6), RNG.normal(size=6), 1.5 * RNG.normal(size=layout.size)
    reference = JointReference(*RNG.normal(size=(3, 6)))
    result = layout.command(action, arm6.dynamics(), State(0.0, 0.01, q, v), reference)
    np.testing.assert_allclose(result, expected(layout, action, q, v, reference, arm6.dynamics().gravity(q)),
                               rtol=1e-12)
    model = arm6.model
    compiled = compile_function(
        lambda action, q, v, goal: layout.command(action, InlineDynamics(model), State(0.0, 0.01, q, v),
                                                  JointReference(*goal)),
        {"action": (layout.size,), "q": (6,), "v": (6,), "goal": (3, 6)}, name="command")
    np.testing.assert_allclose(compiled(action, q, v, np.array(reference)), result, rtol=1e-10, atol=1e-10)


def test_defaults_are_those_of_laws_of_joints(arm6):
    layout = ActionLayout.from_settings(arm6)
    assert layout.kind is ActionKind.POSITION and (layout.scale == 0.5).all() and not layout.gravity
    np.testing.assert_array_equal(ActionLayout.from_settings(arm6, "effort").scale, arm6.effort_limit)


@pytest.mark.parametrize(("settings", "message"), [
    ({"kind": "positon"}, "unknown kind 'positon': did you mean 'position'"),
    ({"kind": "effort", "p": 3.0}, "p has no effect with kind 'effort'; leave it out"),
    ({"kind": "voltage", "scale": 24.0, "gravity": True}, "gravity has no effect with kind 'voltage'"),
    ({"kind": "voltage"}, "scale: expected the voltages of the motors"),
    ({"scale": [1.0, 2.0]}, "scale: expected one number or shape (6,)"),
    ({"scale": 0.0}, "scale of joint shoulder_pan_joint: expected a finite number above 0"),
    ({"default": [0.0] * 5 + [np.nan]}, "default of joint wrist_3_joint: expected a finite number"),
])
def test_settings_that_do_not_fit(arm6, settings, message):
    with pytest.raises(InputError) as error:
        ActionLayout.from_settings(arm6, **settings)
    assert message in str(error.value)
