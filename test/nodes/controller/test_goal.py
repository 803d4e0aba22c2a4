# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Tolerances of goals: defaults, tolerances in the goal, removed and invalid ones."""

import numpy as np
import pytest
from builtin_interfaces.msg import Duration
from control_msgs.action import FollowJointTrajectory
from control_msgs.msg import JointComponentTolerance, JointTolerance

from robodyn_ros import InputError, Robot
from robodyn_ros.control.references.goal_tolerances import StateTolerance, Tolerances, constraint_parameters
from robodyn_ros.control.references.joint_trajectory import PastTrajectoryError
from robodyn_ros.description.resources import robot_file
from robodyn_ros.nodes.common.messages import JointOrder, MessageError
from robodyn_ros.nodes.controller.goal import (
    Result,
    default_tolerances,
    goal_tolerances,
    refusal,
)

MODEL = Robot.from_urdf(robot_file("scara")).model
NAMES = list(MODEL.joint_names)
JOINTS = JointOrder(NAMES)
N, INF = len(NAMES), np.inf
DEFAULTS = Tolerances(path=StateTolerance(np.full(N, 0.1), np.full(N, INF)),
                      goal=StateTolerance(np.full(N, 0.2), np.full(N, 0.3)), goal_time=4.0)


def tolerances(**fields):
    return goal_tolerances(FollowJointTrajectory.Goal(**fields), JOINTS, DEFAULTS)


def test_what_a_goal_does_not_say_is_as_the_defaults():
    for here, default in zip(tolerances()[:2], DEFAULTS[:2], strict=True):
        np.testing.assert_array_equal(here, default)
    assert tolerances().goal_time == 4.0


def test_tolerances_of_a_goal_by_joint_zero_for_the_default_and_minus_one_for_none():
    found = tolerances(
        path_tolerance=[JointTolerance(name=NAMES[2], position=0.5, velocity=-1.0)],
        goal_tolerance=[JointTolerance(name=NAMES[1], position=-1.0, velocity=0.7),
                        JointTolerance(name=NAMES[0], position=0.0, velocity=-1.0, acceleration=3.0)],
        goal_time_tolerance=Duration(sec=2, nanosec=500_000_000),
    )
    np.testing.assert_array_equal(found.path.q, [0.1, 0.1, 0.5, 0.1])
    np.testing.assert_array_equal(found.path.v, [INF] * 4)
    np.testing.assert_array_equal(found.goal.q, [0.2, INF, 0.2, 0.2])
    np.testing.assert_array_equal(found.goal.v, [INF, 0.7, 0.3, 0.3])
    assert found.goal_time == 2.5
    assert tolerances(goal_time_tolerance=Duration(sec=-1)).goal_time == INF
    assert DEFAULTS.path.q.tolist() == [0.1] * 4, "untouched"


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"path_tolerance": [JointTolerance(name=NAMES[0], position=-0.5)]}, "path_tolerance: position of joint"),
        ({"goal_tolerance": [JointTolerance(name=NAMES[0], velocity=float("nan"))]}, "goal_tolerance: velocity"),
        ({"goal_tolerance": [JointTolerance(name="no")]}, "unknown joint 'no'"),
        ({"goal_tolerance": [JointTolerance(name=NAMES[0])] * 2}, "more than once"),
        ({"goal_time_tolerance": Duration(sec=-2)}, "goal_time_tolerance: expected a positive number"),
        ({"component_path_tolerance": [JointComponentTolerance()]}, "component_path_tolerance: expected none"),
        ({"component_goal_tolerance": [JointComponentTolerance()]}, "component_goal_tolerance: expected none"),
    ],
)
def test_tolerances_that_cannot_be_meant_are_refused(fields, words):
    with pytest.raises(InputError, match=words):
        tolerances(**fields)


def test_parameters_say_what_is_tolerated_and_zero_stands_for_anything():
    values = {parameter.name: parameter.default for parameter in constraint_parameters(MODEL)}
    everything = default_tolerances(values, NAMES)
    assert not everything.path.enforced and everything.goal_time == INF
    np.testing.assert_array_equal(everything.goal.q, [INF] * N)
    np.testing.assert_array_equal(everything.goal.v, [0.01] * N)
    values |= {f"constraints.{NAMES[1]}.trajectory": 0.5, f"constraints.{NAMES[2]}.goal": 0.25,
               "constraints.goal_time": 3.0, "constraints.stopped_velocity_tolerance": 0.0}
    found = default_tolerances(values, NAMES)
    np.testing.assert_array_equal(found.path.q, [INF, 0.5, INF, INF])
    np.testing.assert_array_equal(found.goal.q, [INF, INF, 0.25, INF])
    np.testing.assert_array_equal(found.goal.v, [INF] * N)
    assert found.path.enforced and found.goal_time == 3.0


def test_units_follow_the_kind_of_the_joint():
    units = {parameter.name: parameter.unit for parameter in constraint_parameters(MODEL)}
    sliding = [joint.name for joint in MODEL.leaders if joint.kind == "prismatic"]
    assert sliding and len(sliding) < N
    for name in NAMES:
        assert units[f"constraints.{name}.goal"] == ("m" if name in sliding else "rad")


def test_refusals_have_the_code_that_says_why():
    assert refusal(MessageError("unknown joint", "a")) == (Result.INVALID_JOINTS, "a", False)
    assert refusal(MessageError("not finite", "b")).code == Result.INVALID_GOAL
    assert refusal(PastTrajectoryError("c")).code == Result.OLD_HEADER_TIMESTAMP
    assert refusal(InputError("d")).code == Result.INVALID_GOAL
