# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""The performance of a law in a motion, against a separate rollout of it."""

import numpy as np
import pytest

from robodyn_ros import InputError, Robot, rollout
from robodyn_ros.description.resources import robot_file
from robodyn_ros.simulation.model_perturbations import with_mass_error
from robodyn_ros.simulation.plant_model import PlantModel
from robodyn_ros.simulation.standard_motion import excursion
from robodyn_ros.toolbox.study.performance import Performance, comparable, perform

ROBOT = Robot.from_urdf(robot_file("scara"))
MOTION = excursion(ROBOT)


def test_the_figures_are_those_of_a_rollout():
    found = perform(ROBOT, "pd", MOTION, rest=0.0)
    alone = rollout(ROBOT, "pd", MOTION)
    np.testing.assert_allclose(found.joint_error, alone.reference.q - alone.q, atol=1e-12)
    np.testing.assert_allclose(found.effort_share, alone.effort / ROBOT.model.effort_limit)
    assert found.work == pytest.approx(0.002 * np.abs(alone.effort * alone.v).sum())
    pose = ROBOT.dynamics().forward_kinematics
    k = len(alone.time) // 3
    distance = np.linalg.norm((pose(alone.q[k]) - pose(alone.reference.q[k]))[:3, 3])
    assert found.tip_error[k] == pytest.approx(distance) and distance > 0.0


def test_task_space_laws_follow_the_same_motion():
    of_joints, of_hand = (perform(ROBOT, name, MOTION) for name in ("computed_torque", "resolved_acceleration"))
    assert len(of_joints.time) == len(of_hand.time)
    assert of_joints.tip_error.max() < 2e-3 and of_hand.tip_error.max() < 0.03  # from a singular start


def test_a_wrong_model_makes_more_error_and_an_integral_less():
    plant = PlantModel.from_description(with_mass_error(ROBOT.model, 20.0))
    exact, wrong, integral = (np.sqrt(np.mean(perform(ROBOT, name, MOTION, which).tip_error ** 2))
                              for name, which in (("computed_torque", None), ("computed_torque", plant),
                                                  ("computed_torque_pid", plant)))
    assert exact < 0.2 * wrong and integral < 0.7 * wrong


def test_saturation_counts_ticks_not_joints():
    share = np.zeros((4, 2))
    share[1] = 1.0
    share[2, 0] = -1.0
    one = Performance("it", np.arange(4.0), np.zeros(4), np.zeros((4, 2)), share, 0.0)
    assert one.saturated == 0.5


def test_what_follows_nothing_or_wrenches_is_left_out_and_refused():
    assert {"pd", "operational_space"} <= set(comparable())
    assert not {"damping", "gravity_compensation", "force"} & set(comparable())
    with pytest.raises(InputError, match="follow joints or poses, received 'damping'"):
        perform(ROBOT, "damping", MOTION)
