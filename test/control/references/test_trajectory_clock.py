# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Speed scaling: the same path, more slowly, with velocities and accelerations that belong to it."""

import numpy as np
import pytest
from recorded_loop import RecordedLoop

from robodyn_ros import Robot
from robodyn_ros.control import TipReference
from robodyn_ros.control.laws.damping import Damping
from robodyn_ros.control.laws.pd import PD
from robodyn_ros.control.plugins.plugin import Plugin
from robodyn_ros.control.references.goal_tolerances import StateTolerance, Tolerances, TrajectoryGoal, Verdict
from robodyn_ros.control.references.joint_trajectory import JointTrajectory, Points
from robodyn_ros.control.references.trajectory_clock import TrajectoryClock
from robodyn_ros.control.runtime.measurement import Measurement
from robodyn_ros.control.runtime.requests import Follow, NewSettings
from robodyn_ros.description.resources import robot_file

ROBOT = Robot.from_urdf(robot_file("planar_2r"))
PERIOD = 2_000_000  # [ns]
Q, REST = np.array([0.3, -0.4]), np.zeros(2)


class Rig:
    """A loop that follows a trajectory of one second, and what its reference was."""

    def __init__(self):
        self.loop = RecordedLoop(ROBOT, Plugin("pd", PD(ROBOT)), Plugin("safe", Damping(ROBOT)), 0.5)
        self.stamp = 0
        self.tick()
        begin = self.loop.trajectory_start(None)
        motion = JointTrajectory(begin.reference, begin.start_time, Points.from_arrays([1.0], [Q + 0.5]))
        self.motion = self.loop.request(Follow(motion, True)).result

    def tick(self):
        self.stamp += PERIOD
        return self.loop.tick(Measurement(self.stamp, Q, REST))

    def run(self, ticks, scaling=None):
        if scaling is not None:
            self.loop.request(NewSettings(speed_scaling=scaling))
        return [self.tick() for _ in range(ticks)]


def test_full_speed_is_the_trajectory_itself_to_the_bit():
    rig = Rig()
    for tick in rig.run(400):
        expected = rig.motion.sample(tick.state.time)
        assert tick.time == tick.state.time
        np.testing.assert_array_equal(np.array(tick.reference), np.array(expected))


def test_rates_belong_to_the_slowed_path_while_the_speed_changes_too():
    rig = Rig()
    ticks = rig.run(100) + rig.run(400, 0.25) + rig.run(300, 0.8)
    q, v, a = (np.array([tick.reference[part] for tick in ticks]) for part in range(3))
    step = PERIOD * 1e-9
    np.testing.assert_allclose(np.diff(q, axis=0), step * (v[1:] + v[:-1]) / 2, atol=1e-6)
    np.testing.assert_allclose(np.diff(v, axis=0), step * (a[1:] + a[:-1]) / 2, atol=2e-3)
    assert ticks[450].time - ticks[449].time == pytest.approx(0.25 * step)
    path = np.array([rig.motion.sample(tick.time).q for tick in ticks])
    np.testing.assert_array_equal(q, path)


def test_no_speed_stands_still_and_full_speed_goes_on():
    rig = Rig()
    rig.run(100)
    rig.run(300, 0.0)
    held = rig.tick()
    assert not held.reference.v.any() and held.reference.q[0] < Q[0] + 0.5
    np.testing.assert_array_equal(rig.tick().reference.q, held.reference.q)
    assert rig.run(1000, 1.0)[-1].reference.q.tolist() == (Q + 0.5).tolist()
    assert not rig.loop.moving()


def test_a_goal_is_judged_by_the_slowed_time():
    rig = Rig()
    anywhere = StateTolerance(np.full(2, np.inf), np.full(2, np.inf))
    goal = TrajectoryGoal(rig.motion, Tolerances(anywhere, anywhere, 0.1), ROBOT.joint_names, ROBOT.model.angles)
    ticks = rig.run(1200, 0.5)
    verdicts = [goal.judge(tick) for tick in ticks]
    end = next(index for index, verdict in enumerate(verdicts) if verdict)
    assert verdicts[end][0] is Verdict.REACHED
    assert ticks[end].state.time == pytest.approx(2.0, abs=0.3)


def test_references_of_the_tip_are_slowed_too():
    clock = TrajectoryClock()
    clock.scaling = 0.5
    clock.advance(0.01, under_way=False)
    reference = TipReference(np.zeros(3), np.array([0.0, 0.0, 0.0, 1.0]), np.ones(6), np.ones(6))
    slowed = clock.slowed(reference)
    assert slowed.twist[0] == 0.5 and slowed.acceleration[0] == 0.25
    clock.scaling = 1.0
    assert not clock.full_speed
    clock.advance(0.01, under_way=False)
    assert clock.full_speed
