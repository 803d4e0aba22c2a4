# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""The motion in C against the control loop in Python: trajectories, coming to rest, clock, supervisor, limits."""

import shutil
from ctypes import POINTER, Structure, byref, c_double, c_int

import numpy as np
import pytest
from c_libraries import c_library
from recorded_loop import RecordedLoop

from robodyn_ros import InputError, Robot
from robodyn_ros.control.contract.controller import JointReference
from robodyn_ros.control.plugins.plugin import Plugin
from robodyn_ros.control.plugins.registry import make_controller
from robodyn_ros.control.references.joint_trajectory import JointTrajectory, Points
from robodyn_ros.control.references.trajectory_limits import check_positions
from robodyn_ros.control.runtime.measurement import Measurement
from robodyn_ros.control.runtime.modes import Reason
from robodyn_ros.control.runtime.requests import Follow, NewSettings, Release, Stop
from robodyn_ros.control.runtime.supervisor import SupervisorSettings
from robodyn_ros.description.resources import robot_file
from robodyn_ros.toolbox.export.c_motion import motion_source

pytestmark = pytest.mark.skipif(not shutil.which("gcc"), reason="no C compiler: apt-get install gcc")

OK, NO_POINTS, NOT_FINITE, WRONG_TIME, NOT_AT_REST, FAR_FROM_START, PAST, OUTSIDE_LIMITS, TOO_FAST = range(9)
RUNAWAY, MARGIN, TIP_SPEED, WORKSPACE, JUMP, BAD_STATE = range(1, 7)
BAD_EFFORT = 8


class InC:
    """The motion of a robot in C, and its structs."""

    def __init__(self, robot):
        self.robot, n = robot, robot.n
        self._library = c_library(motion_source(robot).files, "-Wconversion", "-Wshadow")
        real, joints = c_double, c_double * n

        class Point(Structure):
            _fields_ = [("time", real), ("q", joints), ("v", joints), ("a", joints)]

        class Trajectory(Structure):
            _fields_ = [("points", POINTER(Point)), ("count", c_int), ("first", c_int), ("segment", c_int),
                        ("point", c_int), ("joint", c_int), ("origin", real), ("start_time", real), ("end_time", real),
                        ("shift", real), ("excess", real), ("start", Point), ("begin", real), ("duration", real),
                        ("coefficients", real * 6 * n)]

        class Supervisor(Structure):
            _fields_ = [(name, real) for name in ("runaway_factor", "effort_rate", "position_margin", "tip_speed")] + [
                ("workspace", real * 6), ("soft_start", real), ("since_start", real), ("last", joints),
                ("has_last", c_int), ("place", c_int)]

        class Clock(Structure):
            _fields_ = [(name, real) for name in ("scaling", "rate", "change", "lag")]

        class Motion(Structure):
            _fields_ = [("supervisor", Supervisor), ("clock", Clock), ("time", real), ("held", Point),
                        ("resting", Point), ("rest_time", real), ("current", POINTER(Trajectory)),
                        ("next", POINTER(Trajectory)), ("has_state", c_int), ("last_q", joints),
                        ("last_v", joints), ("repeated", real), ("behind", real)]

        self.Point, self.Trajectory = Point, Trajectory
        self.motion = Motion(behind=7.0)

    def __getattr__(self, name):
        function = getattr(self._library, f"{self.robot.name}_{name}")
        return lambda *given: function(*(self.array(each) if isinstance(each, np.ndarray) else
                                         c_double(each) if isinstance(each, float) else each for each in given))

    def array(self, numbers):
        return (c_double * len(numbers))(*numbers)

    def point(self, time, q, v, a):
        return self.Point(time, *map(self.array, (q, v, a)))

    def trajectory(self, points, start, start_time, origin, rest=1):
        """The result of begin, the trajectory, and its points."""
        rows = [self.point(*row) for row in zip(points.times, points.q, points.v, points.a, strict=True)]
        given, trajectory = (self.Point * len(rows))(*rows), self.Trajectory()
        self.given = given
        result = self.trajectory_begin(byref(trajectory), given, len(rows), byref(self.point(0.0, *start)),
                                       float(start_time), float(origin), rest)
        return result, trajectory

    def sampled(self, trajectory, time):
        found = self.Point()
        self.trajectory_sample(byref(trajectory), float(time), byref(found))
        return np.array([found.q[:], found.v[:], found.a[:]])


def random_points(rng, n, count, begin=0.3):
    q = rng.normal(0.0, 0.5, (count, n))
    q[count // 2] = q[count // 2 - 1]  # a repeated position
    v, a = (np.where(rng.random((count, n)) < 0.7, np.nan, rng.normal(0.0, 0.5, (count, n))) for _ in range(2))
    v[-1] = np.where(np.isnan(v[-1]), np.nan, 0.0)
    return Points.from_arrays(begin + np.cumsum(rng.uniform(0.1, 1.0, count)), q, v, a)


def test_trajectories_in_c_are_those_of_python():
    robot, rng = Robot.from_urdf(robot_file("scara")), np.random.default_rng(4)
    in_c, n = InC(robot), robot.n
    for count in (1, 2, 3, 4, 9):
        points = random_points(rng, n, count)
        start = JointReference(*rng.normal(0.0, 0.3, (3, n)))
        expected = JointTrajectory(start, 2.0, points, 1.9)
        result, trajectory = in_c.trajectory(points, start, 2.0, 1.9)
        assert result == OK and trajectory.end_time == pytest.approx(expected.end_time, rel=1e-15)
        times = np.linspace(2.0, expected.end_time + 0.1, 57)
        for time in (*times, times[0], times[30], times[29]):
            np.testing.assert_allclose(in_c.sampled(trajectory, time), expected.sample(time), rtol=1e-11, atol=1e-11)
        if count > 4:  # joined after points have passed
            joined = JointTrajectory(start, float(times[20]), points, 1.9)
            assert in_c.trajectory_join(byref(trajectory), byref(in_c.point(0.0, *start)), float(times[20])) == OK
            for time in times[20:]:
                np.testing.assert_allclose(in_c.sampled(trajectory, time), joined.sample(time), rtol=1e-11, atol=1e-11)
        assert in_c.trajectory_join(byref(trajectory), byref(in_c.point(0.0, *start)), 100.0) == PAST


def test_what_python_refuses_c_refuses():
    robot = Robot.from_urdf(robot_file("scara"))
    in_c, n = InC(robot), robot.n
    rest = JointReference(*np.zeros((3, n)))
    far = np.zeros((2, n))
    far[1, 2] = robot.position_upper[2] + 0.2
    swing = np.zeros((2, n))
    swing[:, 0] = robot.position_upper[0] - 0.01
    quick = np.zeros((2, n))
    quick[0, 0] = 50.0

    def points(times, q, v=None, a=None):
        q = np.asarray(q, dtype=float)
        nothing = np.full(q.shape, np.nan)
        return Points(np.asarray(times, dtype=float), q, nothing if v is None else v, nothing if a is None else a)

    nothing, infinite = np.full((2, n), np.nan), np.full((2, n), np.inf)
    for given, result in ((points([1.0, 1.0], np.zeros((2, n))), WRONG_TIME),
                          (points([-1.0, 1.0], np.zeros((2, n))), WRONG_TIME),
                          (points([np.nan, 1.0], np.zeros((2, n))), NOT_FINITE),
                          (points([1.0, 2.0], nothing), NOT_FINITE),
                          (points([1.0, 2.0], np.zeros((2, n)), infinite), NOT_FINITE),
                          (points([1.0, 2.0], np.zeros((2, n)), None, infinite), NOT_FINITE),
                          (points([1.0, 2.0], np.zeros((2, n)), np.ones((2, n))), NOT_AT_REST),
                          (points([0.0, 2.0], np.full((2, n), 0.2)), FAR_FROM_START),
                          (points([1.0, 2.0], far), OUTSIDE_LIMITS),
                          (points([1.0, 2.0], swing, quick), OUTSIDE_LIMITS)):
        with pytest.raises(InputError):
            checked = Points.from_arrays(given.times, given.q, given.v, given.a)
            check_positions(robot.model, checked, JointTrajectory(rest, 0.0, checked), rest)
        found, trajectory = in_c.trajectory(given, rest, 0.0, 0.0)
        assert (found or in_c.trajectory_check(byref(trajectory))) == result
    fast = points([0.05], np.full((1, n), 0.05))
    found, trajectory = in_c.trajectory(fast, rest, 0.0, 0.0)
    assert found == OK and in_c.trajectory_check(byref(trajectory)) in (OK, TOO_FAST)
    assert in_c.trajectory(points([], np.zeros((0, n))), rest, 0.0, 0.0)[0] == NO_POINTS


def bad(array, number):
    """The array with a number that is not finite in the second place."""
    return np.where(np.arange(len(array)) == 1, number, array)


@pytest.mark.parametrize("number", [np.nan, np.inf, -np.inf])
def test_a_bad_state_counts_as_a_lost_one(number):
    robot, rng = Robot.from_urdf(robot_file("scara")), np.random.default_rng(7)
    in_c, n, period = InC(robot), robot.n, 0.002
    motions, kept = (type(in_c.motion)(), type(in_c.motion)()), []
    points = Points.from_arrays([0.05, 0.2], rng.normal(0.0, 0.1, (2, n)))
    zero = np.zeros(n)
    for motion in motions:
        assert in_c.motion_init(byref(motion), zero, zero) == OK
        motion.supervisor.effort_rate, motion.supervisor.soft_start = 3.0, 0.05
        result, trajectory = in_c.trajectory(points, JointReference(zero, zero, zero), 0.0, 0.0)
        kept.append((trajectory, in_c.given))
        assert result == OK and in_c.motion_follow(byref(motion), byref(trajectory)) == OK
    found = in_c.Point()
    for tick in range(60):
        lost = tick in (5, 6, 30)
        for motion, disturbed in zip(motions, (True, False), strict=True):
            q, v, effort = zero + 1e-4 * tick, zero + 0.05, in_c.array(rng.normal(0.0, 5.0, n))
            if lost and disturbed:
                q, v = (bad(q, number), v) if tick == 5 else (q, bad(v, number))
                assert in_c.motion_watch(byref(motion), period, q, v) == BAD_STATE
            elif not lost:
                step = period * (3 if tick == 7 else 2 if tick == 31 else 1) if not disturbed else period
                assert in_c.motion_watch(byref(motion), step, q, v) == OK
            in_c.motion_reference(byref(motion), byref(found))
            assert np.isfinite([found.q[:], found.v[:], found.a[:]]).all()
            in_c.motion_limit(byref(motion), q, period, 1, effort)
            assert np.isfinite(effort[:]).all()
        if not lost:
            assert motions[0].time == pytest.approx(motions[1].time, abs=1e-12)


@pytest.mark.parametrize("number", [np.nan, np.inf])
def test_nothing_that_is_not_finite_is_kept_or_commanded(number):
    robot = Robot.from_urdf(robot_file("scara"))
    in_c, n, zero = InC(robot), robot.n, np.zeros(robot.n)
    motion, found = in_c.motion, in_c.Point()
    assert in_c.motion_init(byref(motion), bad(zero, number), zero) == NOT_FINITE
    assert in_c.motion_init(byref(motion), zero + 0.1, zero) == OK
    motion.supervisor.effort_rate, motion.supervisor.soft_start, motion.clock.scaling = 3.0, 0.05, number
    assert in_c.motion_watch(byref(motion), number, zero + 0.1, zero) == OK
    for brings_to_rest in (in_c.motion_rest, in_c.motion_start):
        brings_to_rest(byref(motion), bad(zero, number), bad(zero, number))
        in_c.motion_reference(byref(motion), byref(found))
        assert found.q[1] == 0.1 and np.isfinite([found.q[:], found.v[:], found.a[:]]).all() and found.time == 0.0
    in_c.motion_hold(byref(motion), bad(zero, number))
    in_c.motion_reference(byref(motion), byref(found))
    assert found.q[1] == 0.1
    for q, period in ((zero, 0.002), (bad(zero, number), number)):
        effort = in_c.array(bad(zero + 1.0, number))
        assert in_c.motion_limit(byref(motion), q, period, 1, effort) & BAD_EFFORT
        assert np.isfinite(effort[:]).all() and effort[1] == 0.0
    points, rest = Points.from_arrays([1.0], np.zeros((1, n))), JointReference(zero, zero, zero)
    for start, start_time, origin in ((rest._replace(q=bad(zero, number)), 0.0, 0.0), (rest, number, 0.0),
                                      (rest, 0.0, number)):
        assert in_c.trajectory(points, start, start_time, origin)[0] == NOT_FINITE


def test_angles_begin_the_short_way():
    text = robot_file("planar_2r").read_text().replace('type="revolute"', 'type="continuous"')
    robot = Robot.from_urdf_text(text)
    assert robot.model.angles.any()
    in_c, rng = InC(robot), np.random.default_rng(8)
    for spread in (3.0, 12.0):
        start = JointReference(rng.normal(0.0, 9.0, 2), *np.zeros((2, 2)))
        points = Points.from_arrays([1.0, 2.0, 3.0], rng.uniform(-spread, spread, (3, 2)))
        expected = JointTrajectory(start, 0.0, points.short_way(start.q, robot.model.angles))
        result, trajectory = in_c.trajectory(points, start, 0.0, 0.0)
        assert result == OK
        for time in np.linspace(0.0, 3.1, 20):
            np.testing.assert_allclose(in_c.sampled(trajectory, time), expected.sample(time), rtol=1e-10, atol=1e-10)


def test_a_whole_loop_in_c_makes_the_references_and_efforts_of_python():
    robot, rng = Robot.from_urdf(robot_file("scara")), np.random.default_rng(2)
    in_c, n, period = InC(robot), robot.n, 2_000_000
    law = make_controller("pd_gravity", robot)
    loop = RecordedLoop(robot, Plugin("pd_gravity", law), Plugin("damping", make_controller("damping", robot)), 0.1)
    q, v = rng.normal(0.0, 0.2, n), rng.normal(0.0, 0.5, n)
    settings = SupervisorSettings(effort_rate=3.0, soft_start=0.1)
    loop.request(NewSettings(settings, swap_time=0.0))  # the release here is without a transfer
    motion = byref(in_c.motion)
    in_c.motion_init(motion, q, v)
    in_c.motion.supervisor.effort_rate, in_c.motion.supervisor.soft_start = 3.0, 0.1
    points = Points.from_arrays([0.3, 0.5, 0.9], rng.normal(0.0, 0.3, (3, n)))
    found, done, kept = in_c.Point(), set(), []
    for tick in range(1200):
        if tick == 200:
            loop.request(NewSettings(speed_scaling=0.25))
            in_c.motion.clock.scaling = 0.25
        if tick == 600:
            loop.request(NewSettings(speed_scaling=1.0))
            in_c.motion.clock.scaling = 1.0
        if tick in (170, 400):  # at rest, and in motion
            result, trajectory = followed(in_c, points, loop)
            kept.append((trajectory, in_c.given))  # C has pointers
            assert result == OK
            assert in_c.motion_follow(motion, byref(trajectory)) == OK
        if tick == 60:  # stopped and released at once, in motion
            loop.request(Stop(Reason("request", "by a person")))
            loop.request(Release())
            in_c.motion_rest(motion, *loop.last.state[2:4])
        answer = loop.tick(Measurement(1 + tick * period, q, v))
        step = 0.0 if tick == 0 else 1e-9 * period
        assert in_c.motion_watch(motion, step, q, v) == 0
        in_c.motion_reference(motion, byref(found))
        np.testing.assert_allclose([found.q[:], found.v[:], found.a[:]], answer.reference, rtol=1e-8, atol=1e-8,
                                   err_msg=f"tick {tick}")
        asked = in_c.array(law.update(answer.state, answer.reference))
        did = in_c.motion_limit(motion, q, step, 1, asked)
        np.testing.assert_allclose(asked[:], answer.effort, rtol=1e-8, atol=1e-8, err_msg=f"tick {tick}")
        words = [word for bit, word in ((1, "soft start"), (2, "effort limit"), (4, "effort rate")) if did & bit]
        assert ", ".join(words) == answer.intervention
        done.update(words)
        v = v + 0.2 * (answer.reference.v - v)
        q = answer.reference.q + rng.normal(0.0, 2e-3, n)
        if 1000 <= tick < 1010:  # thrust aside
            q = q + 0.045
            v = v + 2.0
    assert done == {"soft start", "effort limit", "effort rate"}
    assert in_c.motion.behind == 7.0, "it wrote beyond its struct"
    assert not in_c.motion_moving(motion)


def followed(in_c, points, loop):
    """Have a trajectory followed by the loop from the last tick on, and prepare it in C."""
    begin = loop.trajectory_start(None)
    loop.request(Follow(JointTrajectory(begin.reference, begin.start_time, points, begin.origin), on_arrival=False))
    return in_c.trajectory(points, begin.reference, begin.start_time, begin.origin)


def test_bounds_stop_the_robot():
    robot = Robot.from_urdf(robot_file("scara"))
    in_c, n = InC(robot), robot.n
    motion, rest = byref(in_c.motion), np.zeros(n)
    outward = np.zeros(n)
    outward[1] = 0.5
    edge = np.zeros(n)
    edge[1] = robot.position_upper[1] - 0.01
    tip = robot.dynamics().forward_kinematics(rest)[:3, 3]

    def watch(q, v, **settings):
        in_c.motion_init(motion, q, v)
        for name, value in settings.items():
            setattr(in_c.motion.supervisor, name, value)
        return in_c.motion_watch(motion, 0.001, q, v), in_c.motion.supervisor.place

    assert watch(edge, outward)[0] == 0
    assert watch(edge, outward, position_margin=0.05) == (MARGIN, 1)
    assert watch(edge, -outward, position_margin=0.05)[0] == 0  # the way back is free
    assert watch(rest, outward, tip_speed=0.01)[0] == TIP_SPEED
    speed = np.linalg.norm((robot.dynamics().jacobian(rest) @ outward)[:3])
    assert watch(rest, outward, tip_speed=1.01 * speed)[0] == 0
    box = in_c.array(np.concatenate([tip - 1.0, tip + 1.0]))
    assert watch(rest, outward, workspace=box)[0] == 0
    velocity = (robot.dynamics().jacobian(rest) @ outward)[:3]
    axis = int(np.abs(velocity).argmax())
    box[axis + (3 if velocity[axis] > 0.0 else 0)] = tip[axis] + (-0.1 if velocity[axis] > 0.0 else 0.1)
    assert watch(rest, outward, workspace=box) == (WORKSPACE, axis)
    assert watch(rest, 1000.0 * outward) == (RUNAWAY, 1)
    assert watch(rest, 1000.0 * outward, runaway_factor=0.0)[0] == 0
    assert in_c.motion_watch(motion, 0.001, rest + 1.0, rest) == JUMP


def test_states_that_repeat_are_of_one_instant():
    robot = Robot.from_urdf(robot_file("scara"))
    in_c, n, period = InC(robot), robot.n, 0.001
    motion, q, v = byref(in_c.motion), np.zeros(robot.n), np.full(robot.n, 0.9)

    def watch(change, repeats):
        in_c.motion_init(motion, q, v)
        found = [in_c.motion_watch(motion, period, q, v) for _ in range(repeats)]
        return {*found, in_c.motion_watch(motion, period, q + change, v)}

    assert watch(0.09, 100) == {0}  # 0.9 rad/s for 0.1 s, which the driver was held up
    assert watch(0.09, 1) == {0, JUMP}
    assert watch(1.0, 10_000) == {0, JUMP}
    still = np.zeros(n)
    in_c.motion_init(motion, q, still)
    assert {in_c.motion_watch(motion, period, q, still) for _ in range(10_000)} == {0}
    assert in_c.motion_watch(motion, period, q + 0.1, still) == JUMP
