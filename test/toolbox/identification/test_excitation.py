# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

import numpy as np
import pytest

from bench.wrong_arm import sampled, trajectory
from robodyn_ros import InputError, Robot
from robodyn_ros.actuation.friction import Friction
from robodyn_ros.control.references.joint_trajectory import MAX_POINTS
from robodyn_ros.description.resources import robot_file
from robodyn_ros.toolbox.identification.excitation import Task, excite
from robodyn_ros.toolbox.identification.identified_model import drive_efforts


@pytest.fixture(scope="module")
def robot():
    return Robot.from_urdf(robot_file("planar_2r"))


@pytest.fixture(scope="module")
def found(robot):
    return excite(robot, Task(duration=10.0, iterations=30))


def test_the_search_makes_the_condition_number_smaller(found):
    assert found.condition < 0.6 * found.condition_before
    assert found.condition < 30.0


def test_the_motion_keeps_to_all_limits_and_uses_them(robot, found):
    q, v, a = sampled(trajectory(found.points), 0.004)
    model, share = robot.model, 0.8
    assert not np.isfinite(model.position_upper[0])  # a joint without limits keeps within half a turn
    upper = np.where(np.isfinite(model.position_upper), model.position_upper, np.pi)
    lower = np.where(np.isfinite(model.position_lower), model.position_lower, -np.pi)
    middle, reach = 0.5 * (upper + lower), upper - lower
    effort = drive_efforts(robot, Friction.from_model(model), q, v, a)
    used = [np.abs(q - middle) / (0.5 * share * reach), np.abs(v) / (share * model.velocity_limit),
            np.abs(effort) / (share * model.effort_limit)]
    for kind, values in zip(("position", "velocity", "effort"), used, strict=True):
        assert values.max() < 1.001
        assert values.max() == pytest.approx(found.shares[kind], abs=0.01)
    assert max(found.shares.values()) > 0.9


def test_accelerations_and_floor_are_kept(robot):
    limit, floor = np.array([2.0, np.inf]), -0.2
    found = excite(robot, Task(duration=10.0, iterations=5, acceleration=limit, floor=floor))
    q, _, a = sampled(trajectory(found.points), 0.01)
    assert np.abs(a[:, 0]).max() < 0.8 * 2.0 * 1.001
    batch = robot.dynamics().batch
    assert min(batch.forward_kinematics(q, link)[:, 2, 3].min() for link in ("link1", "link2", "tip")) > floor - 1e-3


def test_it_repeats_the_period_from_rest_to_rest(robot):
    points = excite(robot, Task(duration=20.0, iterations=0)).points
    period = 10.0
    half = (len(points.times) - 1) // 2
    np.testing.assert_allclose(points.q[:half], points.q[half:-1], atol=1e-9)
    assert points.times[-1] - points.times[0] == pytest.approx(2.0 * period)
    for values in (points.v, points.a):
        np.testing.assert_array_equal(values[[0, -1]], 0.0)


@pytest.mark.parametrize(("task", "message"), [
    (Task(duration=25.0), "duration: expected a multiple of the period 10 s, received 25 s"),
    (Task(share=1.5), "share"),
    (Task(harmonics=1), "harmonics"),
    (Task(duration=1000.0, iterations=0), f"has at most {MAX_POINTS}; give a shorter duration"),
    (Task(floor=5.0, iterations=0), "keeps to the limit of floor; give a greater share, a lower floor"),
])
def test_tasks_that_cannot_be_done(robot, task, message):
    with pytest.raises(InputError, match=message):
        excite(robot, task)
