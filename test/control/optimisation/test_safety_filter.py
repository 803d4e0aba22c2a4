# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""The safety filter: limits hold under laws that would break them, and efforts stay as they are where none is near."""

import dataclasses
import itertools
import pickle

import numpy as np
import pytest
from shipped import few

from robodyn_ros import InputError, PluginError, Robot, rollout, rollout_scores
from robodyn_ros.control import Controller, JointReference, Law, State
from robodyn_ros.control.contract.parameters import Parameters
from robodyn_ros.control.default_gains import sampled_positions
from robodyn_ros.control.optimisation import qp
from robodyn_ros.control.optimisation.safety_filter import filtered, filtered_effort
from robodyn_ros.control.optimisation.safety_limits import approach, limit_names, manipulability_motion
from robodyn_ros.control.optimisation.safety_parameters import SafetyParameters
from robodyn_ros.control.plugins.registry import load_controller, make_controller, prefix
from robodyn_ros.control.references.joint_trajectory import JointTrajectory, Points
from robodyn_ros.simulation.rollout import ClosedLoop
from robodyn_ros.simulation.standard_motion import excursion
from robodyn_ros.toolbox.export.c_law import law_source
from robodyn_ros.toolbox.study.loop_description import LoopDescription

Filtered = load_controller("computed_torque+safety")
ROBOT = Robot.named("arm6")
ROOM = 0.1


class Python(Controller):
    def update(self, state, reference):
        return np.zeros(self.robot.n)


def tip(motion):
    """Positions and speeds of the tip, at every fifth tick."""
    dynamics = ROBOT.dynamics()
    places = np.array([dynamics.forward_kinematics(q)[:3, 3] for q in motion.q[::5]])
    speeds = [np.linalg.norm(dynamics.jacobian(q)[:3] @ v) for q, v in zip(motion.q[::5], motion.v[::5], strict=True)]
    return places, np.array(speeds)


def with_filter(**own):
    return rollout(ROBOT, Filtered(ROBOT, Filtered.Parameters(**own)), excursion(ROBOT))


@pytest.fixture(scope="module")
def free():
    return rollout(ROBOT, "computed_torque", excursion(ROBOT))


@pytest.mark.parametrize("law", ["computed_torque", pytest.param("pid", marks=pytest.mark.long)])
def test_a_motion_far_from_all_limits_is_the_same_bit_for_bit(law):
    plain, safe = (rollout(ROBOT, name, excursion(ROBOT), 0.5) for name in (law, f"{law}+safety"))
    assert not safe.note
    np.testing.assert_array_equal(safe.q, plain.q)
    np.testing.assert_array_equal(safe.effort, plain.effort)


def overshoot(count, chosen, law="computed_torque+safety", **own):
    """How far some of many robots went beyond a limit, at which the reference ends, shape (len(chosen), n)."""
    n, links = ROBOT.n, len(ROBOT.model.joints)
    rng, rest = np.random.default_rng(0), np.zeros(ROBOT.n)
    limit = ROBOT.position_upper - ROOM
    motion = JointTrajectory(JointReference(limit, rest, rest), 0.0, Points.from_arrays([1.0], [limit]))
    samples = {"start.q": limit - rng.uniform(0.1, 1.0, (count, n)), "payload.mass": rng.uniform(0.0, 0.2, count),
               "link.mass_scale": rng.uniform(0.8, 1.2, (count, links)),
               "friction.viscous": rng.uniform(0.0, 0.1, (count, n))}
    hasty = load_controller(law).Parameters(p=np.full(n, 400.0), d=np.full(n, 5.0), **own)
    return rollout_scores(ROBOT, law, {name: values[chosen] for name, values in samples.items()}, motion, 1.0,
                          parameters=hasty).overshoot


def test_positions_hold_in_loops_with_a_wrong_model_and_a_law_that_overshoots():
    assert overshoot(100, slice(None), "computed_torque").max(axis=0).min() > 0.05
    assert overshoot(100, slice(None), safety_margin=np.full(6, ROOM + 0.05)).max() == 0.0


def test_an_unknown_load_is_observed():
    """At rest under a load, the disturbance is the effort that holds it, against the textbook's statics."""
    law = Filtered(ROBOT)
    q, mass = np.array([0.3, -0.8, 0.9, 0.2, 0.7, 0.1]), 2.0
    load = ROBOT.dynamics().jacobian(q).T @ np.array([0.0, 0.0, -9.81 * mass, 0.0, 0.0, 0.0])
    carried = ROBOT.dynamics().gravity(q) - load
    memory = law.initial_memory(State(0.0, 0.0, q, np.zeros(6)))
    for tick in range(60):
        state = State(0.002 * tick, 0.002, q, np.zeros(6))
        effort, memory = filtered_effort(ROBOT.dynamics(), law.parameters, state, carried, memory)
    np.testing.assert_allclose(memory.disturbance, load, atol=1e-9)
    np.testing.assert_allclose(ROBOT.dynamics().mass_matrix(q) @ memory.acceleration[0], -load, atol=1e-9)
    np.testing.assert_array_equal(effort, carried)


def test_a_robot_beyond_a_limit_returns_no_faster_than_its_joints_may_move():
    start = ROBOT.position_upper - 0.02
    law = Filtered(ROBOT, Filtered.Parameters(safety_margin=np.full(6, 1.5), safety_speed=0.5))
    done = rollout(ROBOT, law, duration=2.5, q=start)
    assert (done.q[-1] < ROBOT.position_upper - 1.2).all()
    assert (np.abs(done.v) / ROBOT.velocity_limit).max() < 0.505


def test_all_joints_can_brake_at_once():
    """On every sampled position, in the worst directions; what the efforts do not suffice for is refused."""
    for name in ("arm6", "arm7", "planar_2r"):
        robot = Robot.named(name)
        mass, gravity = (function(sampled_positions(robot)) for function in
                         (robot.dynamics().batch.mass_matrix, robot.dynamics().batch.gravity))
        own = Filtered(robot).parameters
        signs = np.array(list(itertools.product((-1.0, 1.0), repeat=robot.n)))
        efforts = np.abs(np.einsum("kij,sj->ksi", mass, signs * own.safety_braking) + gravity[:, None])
        assert (efforts < robot.effort_limit).all()
        with pytest.raises(InputError, match="safety_braking: where all joints brake at once, '.*' needs an effort of"):
            Filtered(robot, Filtered.Parameters(safety_braking=100.0))


SINGLE = """<robot name="single"><link name="base"/><link name="l1"><inertial><origin xyz="{center} 0 0"/>
<mass value="1"/><inertia ixx="{inertia}" iyy="{inertia}" izz="{inertia}" ixy="0" ixz="0" iyz="0"/></inertial></link>
<joint name="j1" type="revolute"><parent link="base"/><child link="l1"/><axis xyz="0 {along} {up}"/>
<limit lower="-1000" upper="1000" effort="{effort}" velocity="3"/>
<dynamics damping="{damping}" friction="{friction}"/></joint></robot>"""


def single(inertia=1e-3, *, damping=0.0, friction=0.0, effort=30.0, center=0.0, is_horizontal=False):
    """A robot of one joint about a vertical or a horizontal axis."""
    return Robot.from_urdf_text(SINGLE.format(
        inertia=inertia, damping=damping, friction=friction, effort=effort, center=center, along=int(is_horizontal),
        up=int(not is_horizontal)))


LIFTING = single(0.1, center=0.3, effort=60.0, is_horizontal=True).with_timing(0.005)


class FullEffort(Law[Parameters, JointReference, None]):
    """Shares of the effort limits, in the velocities of its reference."""

    @staticmethod
    def law(dynamics, parameters, state, reference):
        return dynamics.model.effort_limit * reference.v


def reversed_efforts(robot, samples=None, **own):
    """The greatest speed over its limit under full efforts that are reversed every 0.25 s, of robots that differ."""
    made = filtered(FullEffort)
    loop = ClosedLoop(made(robot, made.Parameters(**own)), None, robot.timing.period, varied=tuple(samples or ()))
    scenario = loop.scenario(duration=1.5)
    shares = np.where(scenario.clocks[:, :1] % 0.5 < 0.25, 1.0, -1.0)
    scenario = dataclasses.replace(scenario, references=scenario.references._replace(v=shares))
    return max((np.abs(loop.run(scenario, sample={name: values[place] for name, values in (samples or {}).items()}).v)
                / robot.velocity_limit).max() for place in range(len(next(iter(samples.values()))) if samples else 1))


@pytest.mark.parametrize("inertia, damping, friction, period", few([
    (1e-3, 3.0, 0.0, 0.002), (1e-4, 0.5, 0.0, 0.002), (1e-4, 3.0, 0.0, 0.002), (1e-3, 1.0, 0.0, 0.005),
    (1e-3, 0.0, 5.0, 0.002), (1e-4, 1.0, 5.0, 0.005), (1e-3, 1.0, 1.0, 0.01)], 1))
def test_friction_of_the_model_takes_no_joint_beyond_its_speed(inertia, damping, friction, period):
    """Light joints, whose friction stops them within a period: the filter knows it as the simulated robot has it."""
    robot = single(inertia, damping=damping, friction=friction).with_timing(period)
    assert reversed_efforts(robot) < 0.9501


LINK = """<link name="l{place}"><inertial><origin xyz="0.1 0 0"/><mass value="0.5"/><inertia ixx="{inertia}"
iyy="{inertia}" izz="{inertia}" ixy="0" ixz="0" iyz="0"/></inertial></link><joint name="j{place}" type="revolute">
<parent link="l{before}"/><child link="l{place}"/><origin xyz="0.2 0 0"/><axis xyz="0 0 1"/>
<limit lower="-1000" upper="1000" effort="30" velocity="3"/><dynamics friction="1"/></joint>"""


@pytest.mark.parametrize("period, ticks, most", few([(0.001, 20, 0.9501), (0.005, 10, 1.05)], 1))
def test_dry_friction_of_coupled_joints_takes_none_beyond_its_speed(period, ticks, most):
    """Joints that the filter reverses: by friction against the law's motion they have up to 1.9 of their speeds.

    Inertia and friction change within a long period, in which the speed may change less for that reason.
    """
    links = "".join(LINK.format(place=k, before=k - 1, inertia=each) for k, each in enumerate((1e-3, 1e-3, 3e-4), 1))
    robot = Robot.from_urdf_text(f'<robot name="chain"><link name="l0"/>{links}</robot>').with_timing(period)
    made = filtered(FullEffort)
    loop = ClosedLoop(made(robot), None, robot.timing.period)
    scenario = loop.scenario(duration=2.0)
    count = len(scenario.clocks)
    shares = np.repeat(np.random.default_rng(0).choice([-1.0, 1.0], (count, 3)), ticks, axis=0)[:count]
    done = loop.run(dataclasses.replace(scenario, references=scenario.references._replace(v=shares)))
    assert 0.9 < (np.abs(done.v) / robot.velocity_limit).max() < most
    assert (np.diff(np.sign(done.v), axis=0) != 0.0).sum() > 20  # they turn around


def test_a_declared_delay_takes_no_joint_beyond_its_speed():
    """States of three periods ago; a filter that does not know of it learns forces that are not there."""
    unaware, aware = (reversed_efforts(robot, {"sensing.delay": [3]}) for robot in (
        single(), single().with_timing(0.002, 3)))
    assert unaware > 10.0
    assert aware < 0.9501


def test_the_filter_learns_what_its_model_lacks():
    """A lighter link, which its joint lifts: by the model alone it is too fast for ever."""
    trusting, learning = (reversed_efforts(LIFTING, {"link.mass_scale": [[0.7]]}, safety_observer=rate)
                          for rate in (0.0, 400.0))
    assert trusting > 0.98
    assert learning < 0.951


def test_declared_errors_of_the_mass_are_kept_off_the_speed():
    """The observer is slow, so that it is late."""
    samples = {"link.mass_scale": [[0.7], [1.3]]}
    assert reversed_efforts(LIFTING, samples, safety_observer=30.0) > 0.958
    assert reversed_efforts(LIFTING, samples, safety_observer=30.0, safety_mass_error=0.3) < 0.9501


def test_margins_of_declared_errors_are_those_of_their_formula():
    """One joint: a link lighter by 0.2 answers with a quarter of the jump more, and the observer follows at once."""
    robot = single().with_timing(0.005)
    none, found = (SafetyParameters(safety_mass_error=error, safety_observer=1e4).for_robot(robot)
                   for error in (0.0, 0.2))
    x, k, tau = 0.25 * 2.0 * none.safety_rate * 3.0, none.safety_rate, 0.005
    times = np.linspace(0.0, 1.0, 100_001)
    peak = (x * (np.exp(-k * times) - np.exp(-times / tau)) / (1.0 / tau - k)).max()
    np.testing.assert_allclose(none.safety_velocities - found.safety_velocities, peak, rtol=1e-6)
    np.testing.assert_allclose(found.safety_positions - none.safety_positions,
                               peak / (np.e * k) * np.array([[1.0], [-1.0]]), rtol=1e-6)
    with pytest.raises(InputError, match="safety_speed: 'j1' may move at 2.85, and declared errors"):
        SafetyParameters(safety_mass_error=0.9).for_robot(robot)


def test_an_arm_that_cannot_hold_itself_is_refused():
    """Gravity takes 9.81 N m of 9."""
    weak = single(0.1, effort=9.0, center=1.0, is_horizontal=True)
    with pytest.raises(InputError, match="safety filter: 'j1' cannot hold the robot: gravity takes 9.* and its effort"):
        Filtered(weak)
    with pytest.raises(InputError, match="cannot hold the robot with a payload of 50 kg: gravity takes .* and its"):
        Filtered(ROBOT, Filtered.Parameters(safety_payload=50.0))


@pytest.mark.parametrize("law", ["pd_gravity+safety", "computed_torque+safety"])
@pytest.mark.parametrize("joint", few([1, 4], 1))
def test_joints_beside_one_at_its_limit_reach_their_goals(law, joint):
    """The limit acts as a stop on its joint, and nothing chatters."""
    q = np.array([0.2, -0.8, 1.0, -0.3, 0.5, 0.1])
    q[joint] = ROBOT.position_upper[joint] - 0.4
    goal = q.copy()
    goal[joint] = ROBOT.position_upper[joint] + 0.3
    rest = np.zeros(6)
    motion = JointTrajectory(JointReference(q, rest, rest), 0.0, Points.from_arrays([1.0], [goal]))
    done = rollout(ROBOT, law, motion, 3.0, q=q)
    away = np.abs(done.q[-1] - goal)
    assert np.delete(away, joint).max() < 1e-3
    assert done.q[:, joint].max() < ROBOT.position_upper[joint]
    late = done.effort[-100:] / ROBOT.effort_limit
    assert np.abs(np.diff(late, axis=0)).max() < 1e-4


@pytest.mark.parametrize("period", [0.002, pytest.param(0.01, marks=pytest.mark.long)])
def test_the_tip_keeps_its_speed_under_reversed_efforts_whatever_the_period(period):
    """The direction of the tip turns within a period."""
    robot = Robot.named("planar_2r").with_timing(period)
    made = filtered(FullEffort)
    law = made(robot, made.Parameters(safety_tip_speed=1.0))
    loop = ClosedLoop(law, None, period)
    scenario = loop.scenario(duration=2.0, q=[0.3, 1.0])
    rng = np.random.default_rng(0)
    shares = np.repeat(rng.choice([-1.0, 1.0], (len(scenario.clocks) // 10 + 1, 2)), 10, axis=0)[:len(scenario.clocks)]
    done = loop.run(dataclasses.replace(scenario, references=scenario.references._replace(v=shares)))
    speed = np.linalg.norm(np.einsum("kij,kj->ki", robot.dynamics().batch.jacobian(done.q)[:, :3], done.v), axis=1)
    assert 0.8 < speed.max() < 0.96

def test_velocities_hold(free):
    motion = excursion(ROBOT)
    peak = (np.abs(free.v) / ROBOT.velocity_limit).max()
    safe = rollout(ROBOT, Filtered(ROBOT, Filtered.Parameters(safety_speed=0.5 * peak)), motion)
    assert (np.abs(safe.v) / ROBOT.velocity_limit).max() < 0.505 * peak


def test_efforts_hold():
    """The law asks for more than the limits; the filter gives no more."""
    law = Filtered(ROBOT)
    q = ROBOT.position_lower + 0.5 * (ROBOT.position_upper - ROBOT.position_lower)
    state = State(0.0, 0.002, q, np.zeros(6))
    effort = law.update(state, JointReference(q + 2.0, np.zeros(6), np.zeros(6)))
    assert (np.abs(effort) <= ROBOT.effort_limit).all()
    assert (np.abs(make_controller("computed_torque", ROBOT).update(state, JointReference(q + 2.0, *np.zeros((2, 6)))))
            > ROBOT.effort_limit).any()


@pytest.mark.long
def test_the_tip_stays_before_planes_in_the_box_and_out_of_spheres(free):
    places, _ = tip(free)
    low, high = places.min(axis=0), places.max(axis=0)
    cut = low[1] + 0.3 * (high[1] - low[1])
    box, plane = (Filtered(ROBOT, Filtered.Parameters(**own)).parameters.safety_half_spaces
                  for own in ({"safety_box": f"-2 {cut} -2 2 2 2"}, {"safety_planes": f"0 2 0 {2.0 * cut}"}))
    assert len(box) == 6
    assert plane[0] in box
    found, _ = tip(with_filter(safety_planes=f"0 2 0 {2.0 * cut}"))
    assert cut < found[:, 1].min() < cut + 0.05            # the law alone went 0.2 m further
    middle = places[np.argmax(np.linalg.norm(places - places[0], axis=1))]
    found, _ = tip(with_filter(safety_spheres=f"{' '.join(map(str, middle))} 0.1; 5 5 5 0.1"))
    assert 0.1 < np.linalg.norm(found - middle, axis=1).min() < 0.15


@pytest.mark.long
def test_the_tip_keeps_its_speed(free):
    most = 0.4 * tip(free)[1].max()
    assert tip(with_filter(safety_tip_speed=most))[1].max() < most


def test_the_speed_of_approach_is_continuous_with_its_slope():
    distances = np.linspace(-0.1, 1.0, 2001)
    speed, slope = approach(distances, 20.0, 8.0)
    np.testing.assert_allclose(np.gradient(speed, distances)[1:-1], slope[1:-1], atol=0.2)
    far = distances > 0.1
    np.testing.assert_allclose(speed[far] ** 2 / (2.0 * 8.0), distances[far] - 0.01, atol=1e-12)
    back, _ = approach(-distances, 20.0, 8.0, 2.0)
    np.testing.assert_allclose(back, np.maximum(-speed, -2.0))


def test_memory_tells_which_limit_acts_and_by_how_much_it_gives_way():
    law = filtered(load_controller("pid"))(ROBOT)
    names = law.memory_names()
    assert len(set(names)) == len(names)
    for room, status in ((0.06, qp.OPTIMAL), (-0.05, qp.INFEASIBLE)):  # of 0.05; the second needs more than the efforts
        q = ROBOT.position_upper - room
        law.update(State(0.0, 0.002, q, np.zeros(6)), JointReference(q + 0.5, *np.zeros((2, 6))))
        told = dict(zip(names, law.memory_numbers, strict=True))
        assert told["safety.status"] == status
        slack = max(told[f"safety.{joint}.motion.slack"] for joint in ROBOT.joint_names)
        assert (slack > 1.0) == (status == qp.INFEASIBLE)
        assert any(told[f"safety.{joint}.motion"] > 0.0 for joint in ROBOT.joint_names)
        assert any(told[f"safety.{joint}.correction"] < 0.0 for joint in ROBOT.joint_names)
    assert not law.uncompiled_reason


def slack(q, v, **own):
    """By how much each limit gives way under efforts that bear the robot's weight, by name."""
    law = Filtered(ROBOT, Filtered.Parameters(**own))
    state = State(0.0, 0.002, q, v)
    _, found = filtered_effort(ROBOT.dynamics(), law.parameters, state, ROBOT.dynamics().gravity(q),
                               law.initial_memory(state))
    assert found.status == qp.INFEASIBLE
    return dict(zip(limit_names(ROBOT, law.parameters), found.slack, strict=True))


def test_what_matters_less_gives_way():
    """The way back before a plane is faster than the tip may be; or it takes joints beyond their limits."""
    q = np.array([0.5, -1.0, 1.2, 0.3, 0.8, 0.0])
    tip, jacobian = ROBOT.dynamics().forward_kinematics(q)[:3, 3], ROBOT.dynamics().jacobian(q)[:3]
    rises = np.linalg.pinv(jacobian) @ [0.0, 0.0, 0.02]
    found = slack(q, rises, safety_planes=f"0 0 1 {tip[2] + 0.1}", safety_tip_speed=0.02)
    of_speed = sum(found[name] for name in found if name.startswith("tip_speed"))
    assert of_speed > 2.0
    assert found["plane0"] < 0.1 * of_speed
    assert max(found[f"{joint}.motion"] for joint in ROBOT.joint_names) < 1e-3
    side = jacobian[:, 0] / np.linalg.norm(jacobian[:, 0])  # where joint 1 moves the tip to
    found = slack(q, np.zeros(6), safety_planes=" ".join(map(str, (*side, side @ tip + 0.5))),
                  safety_margin=np.where(np.arange(6) == 0, ROBOT.position_upper - q + 0.02, 0.05), safety_speed=0.001)
    assert found["plane0"] > 1.0
    assert max(found[f"{joint}.motion"] for joint in ROBOT.joint_names) < 0.1 * found["plane0"]


@pytest.mark.parametrize("name", ["planar_2r", "arm6", "arm7"])
def test_the_motion_of_the_manipulability_against_finite_differences(name):
    """Its values against those of the singular values."""
    robot = Robot.named(name)
    own = Filtered(robot, Filtered.Parameters(safety_singularity=0.1)).parameters
    q, v, step = np.linspace(0.3, 0.9, robot.n), np.linspace(-1.0, 0.7, robot.n), 1e-4

    def share(time):
        jacobian = robot.dynamics().jacobian(q + time * v)[: 3 if robot.n <= 3 else 6]
        return np.prod(np.linalg.svd(jacobian, compute_uv=False)) / own.safety_manipulability

    found, slope, turning = manipulability_motion(robot.dynamics(), own, State(0.0, 0.0, q, v))
    before, now, after = map(share, (-step, 0.0, step))
    assert found == pytest.approx(now, rel=1e-9)
    assert slope @ v == pytest.approx((after - before) / (2.0 * step), rel=1e-5)
    assert turning == pytest.approx((after - 2.0 * now + before) / step**2, rel=1e-3, abs=1e-5)


def test_the_arm_stays_away_from_singular_positions():
    """A motion through the stretched arm; its start is refused where it is too near."""
    robot = Robot.named("planar_2r")
    start, rest = np.array([0.3, 1.2]), np.zeros(2)
    motion = JointTrajectory(JointReference(start, rest, rest), 0.0, Points.from_arrays([1.0], [[0.3, -1.2]]))
    bent = []
    for own in ({}, {"safety_singularity": 0.3}):
        done = rollout(robot, Filtered(robot, Filtered.Parameters(**own)), motion, 1.5)
        bent.append(np.abs(np.sin(done.q[:, 1])).min())
    assert bent[0] < 0.02
    assert 0.28 < bent[1] < 0.4  # of the manipulability, l1 l2 |sin q2|, whose greatest is at a right angle
    law = Filtered(robot, Filtered.Parameters(safety_singularity=0.3))
    with pytest.raises(InputError, match="the manipulability is 0.1.* of the greatest, expected 0.3 or more") as caught:
        law.activate(State(0.0, 0.0, np.array([0.3, 0.1]), rest))
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("own, text", [
    ({"safety_margin": np.full(6, 7.0)}, "the margins leave no room"),
    ({"safety_box": "0 0 0 1 1"}, "safety_box: expected 'x_min"),
    ({"safety_box": "0 0 0 1 -1 1"}, "a minimum below the maximum along y, received 0 and -1"),
    ({"safety_planes": "0 0 1 0.5; 0 0 -1 -0.4"}, "'0 0 1 0.5' and '-?0 -?0 -1 -0.4' leave no room .* 0.12 m lack"),
    ({"safety_box": "0 0 0 0.015 1 1"}, "margins of 0.01 m .safety_tip_margin.: 0.005 m lack; move one or lower"),
    ({"safety_planes": "0 0 0 1"}, "a normal other than 0"), ({"safety_planes": "a b c d"}, "safety_planes: expected"),
    ({"safety_spheres": "0 0 0 -1"}, "radii above 0"), ({"safety_spheres": "0 0 nan 1"}, "safety_spheres: expected")])
def test_limits_that_make_no_sense_are_one_line(own, text):
    with pytest.raises(InputError, match=text) as caught:
        Filtered(ROBOT, Filtered.Parameters(**own))
    assert "\n" not in str(caught.value)


def test_a_start_beyond_a_limit_is_refused():
    law = Filtered(ROBOT, Filtered.Parameters(safety_planes="0 0 1 5"))
    with pytest.raises(InputError, match="is 4.* m beyond the plane"):
        law.activate(State(0.0, 0.0, np.zeros(6), np.zeros(6)))


def test_rollouts_refuse_a_start_beyond_a_limit_too():
    """Of the scenario, or of one of many robots, before anything moves."""
    low, high = np.array([0.5, -1.0, 1.2, 0.3, 0.8, 0.0]), np.array([0.5, -1.5, 1.2, 0.3, 0.8, 0.0])  # 0.32 m, 0.58 m
    law = Filtered(ROBOT, Filtered.Parameters(safety_planes="0 0 1 0.4"))
    assert ROBOT.dynamics().forward_kinematics(rollout(ROBOT, law, duration=0.1, q=high).q[-1])[2, 3] > 0.4
    with pytest.raises(InputError, match="is 0.080 m beyond the plane"):
        rollout(ROBOT, law, duration=0.1, q=low)
    with pytest.raises(InputError, match="is 0.080 m beyond the plane"):
        rollout_scores(ROBOT, law, {"start.q": np.stack([high, low])}, duration=0.1)


@pytest.mark.parametrize("own", [{"safety_box": "-1 -1 -1 1 1 1", "safety_spheres": "0 0 0 2"},
                                 {"safety_planes": "0 0 1 0.5; 1 0 0 -0.4"}])
def test_limits_that_contradict_each_other_are_one_line_before_anything_moves(own):
    law = Filtered(ROBOT, Filtered.Parameters(**own))
    with pytest.raises(InputError, match="m beyond the .*; move the robot or the limit") as caught:
        law.activate(State(0.0, 0.0, np.array([0.5, -1.0, 1.2, 0.3, 0.8, 0.0]), np.zeros(6)))
    assert "\n" not in str(caught.value)


def test_only_laws_have_a_filter_and_names_are_told():
    with pytest.raises(PluginError, match="expected a Law for the safety filter"):
        load_controller(f"{__name__}:Python+safety")
    with pytest.raises(PluginError, match="unknown controller 'computed_torqe'"):
        load_controller("computed_torqe+safety")
    assert load_controller("computed_torque+safety") is Filtered
    assert prefix("computed_torque+safety") == "computed_torque_safety"


def test_it_is_exported_described_and_pickled():
    law = Filtered(ROBOT)
    assert "qp_solve_program" in law_source(law, "safe").source
    loop = ClosedLoop(law, None, 0.002)
    description = LoopDescription.from_loop(loop, loop.scenario([excursion(ROBOT)], 0.1))
    assert description.controller.endswith("ComputedTorque+safety")
    again = pickle.loads(pickle.dumps(law.parameters))
    assert type(again) is Filtered.Parameters
    np.testing.assert_array_equal(again.safety_braking, law.parameters.safety_braking)
