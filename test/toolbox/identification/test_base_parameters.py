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

from robodyn_ros import Robot
from robodyn_ros.description.resources import robot_file
from robodyn_ros.dynamics.regressor import regressor
from robodyn_ros.toolbox.identification.base_parameters import BaseParameters
from robodyn_ros.toolbox.identification.effort_model import EffortModel, random_motions


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
