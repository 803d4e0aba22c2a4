# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Declared parameters: completion for a robot, checks, flat names."""

from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from robodyn_ros import InputError, Robot
from robodyn_ros.control import STIFFNESS, Parameters, derived, per_joint, scalar
from robodyn_ros.description.resources import robot_file

ROBOT = Robot.from_urdf(robot_file("scara"))  # two turning joints, a sliding one, a turning one


@dataclass(frozen=True, eq=False)
class Gains(Parameters):
    p: np.ndarray = per_joint(lambda robot: np.arange(1.0, robot.n + 1), unit=STIFFNESS, minimum=0.0, description="P")
    d: np.ndarray = per_joint(2.0, unit="s", minimum=0.0, maximum=10.0, description="D")
    scale: float = scalar(1.0, unit="1", minimum=0.5, maximum=2.0, description="Scale")
    repeats: int = scalar(3, minimum=1, description="Repeats", structural=True)
    mode: str = scalar("soft", description="Mode")
    on: bool = scalar(True, description="On")


def test_defaults_become_one_number_per_joint():
    gains = Gains().for_robot(ROBOT)
    np.testing.assert_array_equal(gains.p, [1.0, 2.0, 3.0, 4.0])
    np.testing.assert_array_equal(gains.d, [2.0, 2.0, 2.0, 2.0])
    assert (gains.scale, gains.repeats, gains.mode, gains.on) == (1.0, 3, "soft", True)
    with pytest.raises(ValueError):
        gains.p[0] = 5.0


def test_a_scalar_may_have_choices():
    @dataclass(frozen=True, eq=False)
    class Modes(Parameters):
        """A name and a whole number out of a few."""

        mode: str = scalar("soft", choices=("soft", "stiff"), description="Mode")
        order: int = scalar(lambda robot: 2, choices=(1, 2, 4), description="Order")

    modes = Modes().for_robot(ROBOT)
    assert (modes.mode, modes.order) == ("soft", 2)
    assert modes.with_flat_values(ROBOT, {"mode": "stiff", "order": 4}).mode == "stiff"
    assert [row.choices for row in modes.flat(ROBOT)] == [("soft", "stiff"), (1, 2, 4)]
    with pytest.raises(InputError, match="Modes.mode: expected one of 'soft', 'stiff', received 'hard'"):
        Modes(mode="hard").for_robot(ROBOT)
    with pytest.raises(InputError, match="Modes.order: expected one of 1, 2, 4, received 3"):
        modes.with_flat_values(ROBOT, {"order": 3})
    with pytest.raises(InputError, match="'Letter': expected a default that is one of 'a', 'b'; received 'c'"):
        scalar("c", choices=("a", "b"), description="Letter")


def test_completing_twice_changes_nothing():
    once = Gains(p=7.0).for_robot(ROBOT)
    twice = once.for_robot(ROBOT)
    np.testing.assert_array_equal(once.p, twice.p)
    assert once.p is not twice.p


def test_flat_names_units_and_ranges():
    rows = {row.name: row for row in Gains().flat(ROBOT)}
    assert len(rows) == 2 * ROBOT.n + 4
    turning, sliding = rows["gains.joint1.p"], rows["gains.joint3.p"]
    assert (turning.value, turning.unit, turning.minimum, turning.maximum) == (1.0, "N m/rad", 0.0, 1e9)
    assert (sliding.value, sliding.unit) == (3.0, "N/m")
    assert rows["gains.joint2.d"].unit == "s"
    assert rows["repeats"].structural and not rows["scale"].structural
    assert type(rows["repeats"].value) is int


def test_flat_values_replace_only_what_they_name():
    before = Gains().for_robot(ROBOT)
    after = before.with_flat_values(ROBOT, {"gains.joint3.p": 30.0, "gains.joint1.p": 10.0, "mode": "stiff"})
    np.testing.assert_array_equal(after.p, [10.0, 2.0, 30.0, 4.0])
    np.testing.assert_array_equal(after.d, before.d)
    assert after.mode == "stiff"
    np.testing.assert_array_equal(before.p, [1.0, 2.0, 3.0, 4.0])


@settings(deadline=None)
@given(st.lists(st.floats(0.0, 1e6), min_size=4, max_size=4), st.floats(0.5, 2.0))
def test_flat_values_survive_a_round_trip(p, scale):
    gains = Gains(p=np.array(p), scale=scale).for_robot(ROBOT)
    again = Gains().with_flat_values(ROBOT, {row.name: row.value for row in gains.flat(ROBOT)})
    np.testing.assert_array_equal(again.p, gains.p)
    assert again.scale == gains.scale


@pytest.mark.parametrize(
    ("gains", "words"),
    [
        (Gains(p=[1.0, 2.0]), ["Gains.p", "shape (4,)", "(2,)"]),
        (Gains(p=-1.0), ["Gains.p of joint joint1", "-1"]),
        (Gains(p=[1.0, 2.0, np.nan, 4.0]), ["joint3", "nan"]),
        (Gains(d=11.0), ["Gains.d", "from 0 to 10", "11"]),
        (Gains(p="stiff"), ["Gains.p", "'stiff'"]),
        (Gains(scale=3.0), ["Gains.scale", "from 0.5 to 2", "3"]),
        (Gains(scale="x"), ["Gains.scale", "a finite number from 0.5 to 2 [1]", "'x'"]),
        (Gains(repeats=2.0), ["Gains.repeats", "a whole number from 1", "2.0"]),
        (Gains(repeats=True), ["Gains.repeats", "a whole number from 1", "True"]),
        (Gains(on=1), ["Gains.on", "true or false", "1"]),
    ],
)
def test_values_that_do_not_fit_are_refused_by_name(gains, words):
    with pytest.raises(InputError) as caught:
        gains.for_robot(ROBOT)
    for word in words:
        assert word in str(caught.value)


@pytest.mark.parametrize(
    ("values", "word"),
    [
        ({"gains.joint9.p": 1.0}, "gains.joint9.p"),
        ({"gains.joint1.p": float("inf")}, "inf"),
        ({"gains.joint1.p": -0.1}, "N m/rad"),
        ({"gains.joint1.p": True}, "True"),
        ({"scale": 0.0}, "scale"),
    ],
)
def test_bad_flat_values_are_refused(values, word):
    with pytest.raises(InputError, match=word):
        Gains().with_flat_values(ROBOT, values)


def test_a_field_must_be_declared():
    @dataclass(frozen=True, eq=False)
    class Careless(Parameters):
        p: float = 1.0

    with pytest.raises(InputError, match=r"Careless\.p.*per_joint"):
        Careless.declarations()


@dataclass(frozen=True, eq=False)
class WithDerived(Parameters):
    p: np.ndarray = per_joint(2.0, minimum=0.0, description="P")
    scale: float = scalar(lambda robot: 0.5 * robot.n, minimum=0.0, description="Half the number of joints")
    matrix: np.ndarray = derived(lambda robot, own: own.scale * np.diag(own.p))


def test_a_scalars_default_may_come_from_the_robot():
    rows = {row.name: row.value for row in WithDerived().flat(ROBOT)}
    assert rows["scale"] == 2.0
    assert WithDerived(scale=3).for_robot(ROBOT).scale == 3
    for wrong in ("1.0", True, -1.0, np.nan):
        with pytest.raises(InputError, match="scale"):
            WithDerived(scale=wrong).for_robot(ROBOT)


def test_derived_fields_follow_and_are_no_parameters():
    gains = WithDerived().for_robot(ROBOT)
    np.testing.assert_array_equal(gains.matrix, 4.0 * np.eye(4))
    assert WithDerived().without_derived(ROBOT).matrix is None and WithDerived().without_derived(ROBOT).scale == 2.0
    assert "matrix" not in gains.declarations() and len(gains.flat(ROBOT)) == ROBOT.n + 1
    changed = gains.with_flat_values(ROBOT, {"gains.joint2.p": 5.0, "scale": 1.0})
    np.testing.assert_array_equal(changed.matrix, np.diag([2.0, 5.0, 2.0, 2.0]))
    with pytest.raises(ValueError):
        changed.matrix[0, 0] = 1.0
