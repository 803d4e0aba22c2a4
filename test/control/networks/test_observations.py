# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Observations by name: against NumPy and SciPy on floats, and traced; lists that do not fit."""

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from robodyn_ros import InputError, Robot
from robodyn_ros.compile import compile_function
from robodyn_ros.control import JointReference, State, TipReference
from robodyn_ros.control.networks.observations import (
    OBSERVATIONS,
    History,
    ObservationLayout,
    Observed,
    quaternion_columns,
    rotation_columns,
)
from robodyn_ros.dynamics.robot_dynamics import InlineDynamics
from robodyn_ros.kinematics.quaternions import quaternion_by_largest_element

RNG = np.random.default_rng(5)


@pytest.fixture(scope="module")
def arm6():
    return Robot.named("arm6")


def observed(robot, follows, actions=6):
    n = robot.n
    q, v, wrench = RNG.uniform(-1.0, 1.0, n), RNG.normal(size=n), RNG.normal(size=6)
    goal = Rotation.random(random_state=3)
    reference = {None: None, JointReference: JointReference(*RNG.normal(size=(3, n))),
                 TipReference: TipReference(RNG.normal(size=3), goal.as_quat(), *np.zeros((2, 6)), *np.zeros((3, n)))}
    return Observed(robot.dynamics(), State(0.0, 0.01, q, v, wrench), reference[follows],
                    RNG.normal(size=actions), np.full(n, 0.2))


def test_rotations_are_columns_of_scipys_matrix():
    for rotation in Rotation.random(20, random_state=1):
        matrix = rotation.as_matrix()
        expected = np.concatenate([matrix[:, 0], matrix[:, 1]])
        np.testing.assert_array_equal(rotation_columns(matrix), expected)
        np.testing.assert_allclose(quaternion_columns(rotation.as_quat()), expected, atol=1e-14)


def test_each_observation_is_what_it_says(arm6):
    given = observed(arm6, JointReference)
    state, reference, dynamics = given.state, given.reference, given.dynamics
    tip = dynamics.forward_kinematics(state.q)
    expected = {
        "q": state.q, "v": state.v, "q_offset": state.q - 0.2, "sin_q": np.sin(state.q), "cos_q": np.cos(state.q),
        "tip_position": tip[:3, 3], "tip_rotation": tip[:3, :2].T.ravel(),
        "tip_twist": dynamics.jacobian(state.q) @ state.v, "wrench_tip": state.wrench_tip, "target_q": reference.q,
        "target_v": reference.v, "error_q": reference.q - state.q, "error_v": reference.v - state.v,
        "last_action": given.last_action}
    for name, value in expected.items():
        np.testing.assert_allclose(OBSERVATIONS[name].function(given), value, atol=1e-15, err_msg=name)
    posed = observed(arm6, TipReference)
    tip = posed.dynamics.forward_kinematics(posed.state.q)
    goal = Rotation.from_quat(posed.reference.quaternion)
    error = OBSERVATIONS["error_pose"].function(posed)
    missing = (goal * Rotation.from_matrix(tip[:3, :3]).inv()).as_rotvec()
    angle = np.linalg.norm(missing)
    np.testing.assert_allclose(error[:3], posed.reference.position - tip[:3, 3], atol=1e-14)
    np.testing.assert_allclose(error[3:], 2.0 * np.sin(angle / 2.0) * missing / angle, atol=1e-12)
    np.testing.assert_array_equal(OBSERVATIONS["target_position"].function(posed), posed.reference.position)
    np.testing.assert_allclose(OBSERVATIONS["target_rotation"].function(posed),
                               goal.as_matrix()[:, :2].T.ravel(), atol=1e-14)
    assert {*expected, "error_pose", "target_position", "target_rotation"} == set(OBSERVATIONS)


@pytest.mark.parametrize("follows", [JointReference, TipReference])
def test_compiled_observations_are_those_on_floats(arm6, follows):
    names = [name for name, one in OBSERVATIONS.items() if one.follows in (None, follows)]
    layout = ObservationLayout.from_names({name: {"scale": 0.7, "clip": 1.5} for name in names}, arm6, actions=6)
    given, robot = observed(arm6, follows), arm6
    assert layout.follows is follows
    assert layout.size == len(layout.observe(given)) == sum(layout.sizes.values())

    def traced(q, v, wrench, last, *fields):
        state = State(0.0, 0.01, q, v, wrench)
        return layout.observe(Observed(InlineDynamics(robot.model), state, follows(*fields), last, given.default))

    arguments = (given.state.q, given.state.v, given.state.wrench_tip, given.last_action, *given.reference)
    shapes = {name: np.shape(value) for name, value in zip(["q", "v", "w", "last"], arguments, strict=False)}
    shapes |= {f"reference_{k}": np.shape(value) for k, value in enumerate(given.reference)}
    compiled = compile_function(lambda *a: traced(*a), shapes, name="observe")
    np.testing.assert_allclose(compiled(*arguments), layout.observe(given), rtol=1e-12, atol=1e-12)


def test_scales_and_clips_hold_for_each_element(arm6):
    scales = tuple(np.arange(1.0, 7.0))
    layout = ObservationLayout.from_names({"q": scales, "v": {"scale": 10.0, "clip": 3.0}}, arm6, actions=6)
    given = observed(arm6, None)
    np.testing.assert_allclose(layout.observe(given)[:6], given.state.q * scales)
    np.testing.assert_allclose(layout.observe(given)[6:], np.clip(10.0 * given.state.v, -3.0, 3.0))


def test_a_history_begins_with_copies_of_the_first_observation_and_then_shifts(arm6):
    layout = ObservationLayout.from_names(["q"], arm6, actions=6, history=3)
    memory = layout.first_history()
    assert isinstance(memory, History) and layout.size == 18
    rows = [np.full(6, float(k)) for k in range(1, 5)]
    seen = []
    for row in rows:
        stacked, memory = layout.stacked(row, memory)
        seen.append(stacked.reshape(3, 6)[:, 0].tolist())
    assert seen == [[1, 1, 1], [2, 1, 1], [3, 2, 1], [4, 3, 2]]


@pytest.mark.parametrize(("terms", "options", "message"), [
    (["q", "tip_positon"], {}, "unknown observation 'tip_positon': did you mean 'tip_position'"),
    ([], {}, "expected names of observations, each once"),
    (["q", "q"], {}, "each once"),
    ("q", {}, "expected names of observations, received 'q'"),
    (["error_q", "error_pose"], {}, "expected references of joints or of the tip link"),
    ({"q": np.nan}, {}, "q: scale: expected a finite number above 0"),
    ({"q": [1.0, 2.0]}, {}, "q: scale: expected one number or 6"),
    ({"q": {"clip": 0.0}}, {}, "q: clip: expected a number above 0"),
    ({"q": {"sclae": 1.0}}, {}, "q: unknown key 'sclae': did you mean 'scale'"),
    (["q"], {"history": 0}, "history: expected a whole number from 1 to 100"),
])
def test_lists_that_do_not_fit(arm6, terms, options, message):
    with pytest.raises(InputError) as error:
        ObservationLayout.from_names(terms, arm6, actions=6, **options)
    assert message in str(error.value)
    assert len(str(error.value).splitlines()) == 1


def test_quaternions_of_traced_rotations_fit(arm6):
    """The two ways to a rotation agree: from the matrix of the tip, and from its quaternion."""
    pose = arm6.dynamics().forward_kinematics(np.full(6, 0.4))[:3, :3]
    np.testing.assert_allclose(quaternion_columns(quaternion_by_largest_element(pose)), rotation_columns(pose),
                               atol=1e-14)
