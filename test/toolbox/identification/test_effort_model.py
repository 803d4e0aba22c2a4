# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

import numpy as np
import pytest
from hypothesis import given, settings
from random_robots import urdf_robots

from bench.wrong_arm import described_arm
from robodyn_ros import Robot
from robodyn_ros.actuation.friction import Friction
from robodyn_ros.description.resources import robot_file
from robodyn_ros.dynamics.regressor import regressor
from robodyn_ros.toolbox.identification.effort_model import BaseParameters, EffortModel, random_motions
from robodyn_ros.toolbox.identification.identified_model import described_parameters, drive_efforts

ARM = described_arm("planar_2r")
Q, V, A = np.random.default_rng(0).normal(size=(3, 20, 2))


def test_columns_times_parameters_are_the_efforts():
    model = EffortModel(ARM, np.array([np.nan, 0.3]), np.array([True, False]))
    parameters = described_parameters(model)
    parameters[model.slots("stribeck")] = [0.0, 0.7]
    parameters[model.slots("rotor")] = [0.2, 5.0]  # the second joint has no rotor that counts
    friction = model.friction(parameters)
    assert isinstance(friction, Friction) and friction.static[1] == pytest.approx(friction.coulomb[1] + 0.7)
    expected = drive_efforts(ARM, friction, Q, V, A) + np.array([0.2, 0.0]) * A
    np.testing.assert_allclose(model.columns(Q, V, A) @ parameters, expected, atol=1e-10)


def test_names_are_those_of_links_and_joints():
    model = EffortModel(ARM, np.full(2, np.nan), np.zeros(2, dtype=bool))
    assert model.names[:4] == ("link1.m", "link1.hx", "link1.hy", "link1.hz")
    assert model.names[20:24] == ("joint1.viscous", "joint2.viscous", "joint1.coulomb", "joint2.coulomb")
    assert len(model.names) == 28


def test_rotors_and_the_rise_are_base_parameters_only_where_they_are():
    names = np.array(EffortModel(ARM, np.full(2, np.nan), np.zeros(2, dtype=bool)).names)
    without = EffortModel(ARM, np.full(2, np.nan), np.zeros(2, dtype=bool)).base
    assert not any("rotor" in name or "stribeck" in name for name in names[without.independent])
    base = EffortModel(ARM, np.array([0.02, np.nan]), np.array([True, True])).base
    found = set(names[base.independent])
    assert "joint1.stribeck" in found and "joint2.stribeck" not in found
    # The rotor of the first joint is told from its link by nothing, that of the second by the first joint's effort.
    assert "joint2.rotor" in found and "joint1.rotor" not in found


def test_a_motor_that_turns_with_two_joints_and_an_offset():
    """The second motor turns with both joints: its friction and inertia load both, by the power that it takes."""
    coupling = np.array([[1.0, 0.0], [0.5, 1.0]])
    model = EffortModel(ARM, np.full(2, np.nan), np.array([True, True]), coupling, has_offset=True)
    parameters = described_parameters(model)
    for kind, value in (("motor_viscous", 0.3), ("motor_coulomb", 0.2), ("motor_rotor", 0.1)):
        parameters[model.slots(kind)] = [7.0, value]  # the first motor turns with its own joint alone
    parameters[model.slots("rotor")] = [0.4, 7.0]  # the second rotor counts as that of a coupled motor
    parameters[model.slots("offset")] = [0.5, -0.6]
    motor_v, motor_a = V @ coupling[1], A @ coupling[1]
    motor = 0.3 * motor_v + 0.2 * np.sign(motor_v) + 0.1 * motor_a
    expected = (drive_efforts(ARM, model.friction(parameters), Q, V, A) + np.array([0.4, 0.0]) * A
                + motor[:, None] * coupling[1] + [0.5, -0.6])
    np.testing.assert_allclose(model.columns(Q, V, A) @ parameters, expected, atol=1e-10)
    found = set(np.array(model.names)[model.base.independent])
    assert {"joint2.motor_viscous", "joint2.motor_coulomb", "joint1.offset"} <= found


def inertial(robot, count=50):
    """Base parameters of the inertias alone, and rows of the regressor, which is not compiled here."""
    model = EffortModel(robot, np.full(robot.n, np.nan), np.zeros(robot.n, dtype=bool))
    rows = np.vstack([regressor(robot.model, *motion) for motion in zip(*random_motions(robot, count), strict=True)])
    return BaseParameters.from_regressor(rows, model.names[:model.inertial_count]), rows


def test_the_planar_arm_has_those_of_the_textbooks():
    base, _ = inertial(Robot.from_urdf(robot_file("planar_2r")))
    assert base.expressions() == ["link1.hx + 0.5 link2.m", "link1.hy", "link1.Izz + 0.25 link2.m", "link2.hx",
                                  "link2.hy", "link2.Izz"]


@pytest.mark.parametrize(("name", "count"), [("arm6", 36), ("arm7", 43)])
def test_arms_have_seven_for_each_joint_but_the_first(name, count):
    """[GautierKhalil]: seven for each revolute joint; gravity along the first axis leaves that one inertia alone."""
    assert len(inertial(Robot.from_urdf(robot_file(name)))[0].independent) == count


@given(urdf=urdf_robots(max_joints=4))
@settings(max_examples=15)
def test_they_give_the_efforts_of_random_trees(urdf):
    base, rows = inertial(Robot.from_urdf_text(urdf), 80)
    parameters = np.random.default_rng(0).normal(size=rows.shape[1])
    efforts = rows @ parameters
    np.testing.assert_allclose(rows[:, base.independent] @ base.values(parameters), efforts,
                               atol=1e-5 * np.abs(efforts).max())
    assert len(base.independent) == np.linalg.matrix_rank(rows, tol=1e-6 * np.linalg.norm(rows, 2))
