# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""What laws declare to be drawn: declarations, checks, and what the safety filter and `mpc` draw."""

from typing import NamedTuple

import numpy as np
import pytest
from numpy.testing import assert_allclose

from robodyn_ros import Robot
from robodyn_ros.base.errors import InputError
from robodyn_ros.control import DrawnShape, JointReference, State, declare_drawing, make_controller
from robodyn_ros.control.contract.law_drawings import MAX_ITEMS, checked_drawing, drawn_fields
from robodyn_ros.control.plugins.registry import load_controller


class Shown(NamedTuple):
    way: np.ndarray = declare_drawing(DrawnShape.PATH, "A way", (0.0, 1.0, 0.0))
    goals: np.ndarray = declare_drawing(DrawnShape.FRAMES)


def test_declarations_have_shapes_and_colors():
    fields = drawn_fields(Shown)
    assert list(fields) == ["way", "goals"] and fields["way"].color == (0.0, 1.0, 0.0)
    assert drawn_fields(None) == {}
    for arguments in (("path",), (DrawnShape.PATH, "", (2.0, 0.0, 0.0)), (DrawnShape.PATH, "", 3),
                      (DrawnShape.PATH, "", (0.0, "red", 0.0))):
        with pytest.raises(InputError, match="drawing: expected"):
            declare_drawing(*arguments)
    for record in (3, NamedTuple("Bare", [("way", float)]), Shown()):
        with pytest.raises(InputError, match="Drawing: "):
            drawn_fields(record)


def test_fields_that_were_not_filled_are_empty():
    found = checked_drawing(Shown, Shown(way=np.ones((5, 3))))
    assert {name: array.shape for name, array in found.items()} == {"way": (5, 3), "goals": (0, 4, 4)}


@pytest.mark.parametrize("drawing", [
    None, (np.zeros((1, 3)), np.zeros((0, 4, 4))), Shown(way=np.zeros(3)), Shown(way=np.zeros((2, 2))),
    Shown(way=np.full((2, 3), np.nan)), Shown(way=np.full((2, 3), 1e300)), Shown(way=np.zeros((MAX_ITEMS + 1, 3))),
    Shown(way="x"), Shown(way=None), Shown(goals=[1.0])])
def test_what_is_no_drawing_is_one_line(drawing):
    with pytest.raises(InputError, match="drawing: ") as refusal:
        checked_drawing(Shown, drawing)
    assert "\n" not in str(refusal.value)


def test_laws_that_declare_nothing_draw_nothing():
    assert load_controller("pd").Drawing is None and load_controller("computed_torque").Drawing is None


@pytest.mark.long
def test_mpc_draws_where_its_plan_leads_the_tip():
    robot = Robot.named("planar_2r")
    law = make_controller("mpc", robot)
    q, rest = np.array([0.3, -0.5]), np.zeros(2)
    law.activate(State(0.0, 0.0, q, rest))
    goal = JointReference(q + 0.2, rest, rest)
    for tick in range(60):
        law.update(State(0.005 * tick, 0.005, q, rest), goal)
    way = checked_drawing(type(law).Drawing, law.draw(State(0.3, 0.005, q, rest)))["plan"]
    assert way.shape == (law.parameters.horizon + 1, 3)
    tip = robot.dynamics().forward_kinematics
    assert_allclose(way[0], tip(q)[:3, 3])
    assert np.linalg.norm(way[-1] - tip(goal.q)[:3, 3]) < np.linalg.norm(way[0] - tip(goal.q)[:3, 3])


def filtered(robot, **values):
    kind = load_controller("computed_torque+safety")
    return kind(robot, kind.Parameters(**values))


def drawn_at(law, q, v, wanted):
    state, reference = State(0.0, 0.002, np.array(q), np.array(v)), JointReference(*np.array([wanted, [0, 0], [0, 0]]))
    law.activate(state)
    law.update(state, reference)
    return checked_drawing(type(law).Drawing, law.draw(state))


def test_the_safety_filter_draws_the_limits_that_act():
    robot = Robot.named("planar_2r")
    tip = robot.dynamics().forward_kinematics(np.array([0.3, 0.4]))[:3, 3]
    law = filtered(robot, safety_planes=f"-1 0 0 {-tip[0] - 0.02}")
    assert law.uncompiled_reason == ""
    still = drawn_at(law, [0.3, 0.4], [0.0, 0.0], [0.3, 0.4])
    assert still["safety_tip"].shape == still["safety_joints"].shape == (0, 2, 3)
    pressed = drawn_at(law, [0.3, 0.4], [-2.0, -2.0], [-1.5, 0.0])["safety_tip"]
    assert pressed.shape == (1, 2, 3)
    assert_allclose(pressed[0, 0], tip, atol=1e-9)
    arrow = pressed[0, 1] - pressed[0, 0]
    assert_allclose(arrow / np.linalg.norm(arrow), [-1, 0, 0], atol=1e-9)
