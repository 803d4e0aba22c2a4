# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Gains from a robot's inertias."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from random_robots import urdf_robots
from scipy.linalg import expm
from shipped import QUICK, few

from robodyn_ros import Robot
from robodyn_ros.base.errors import InputError
from robodyn_ros.base.timing import DEFAULT_PERIOD as PERIOD
from robodyn_ros.base.timing import LoopTiming
from robodyn_ros.control.contract.controller import State
from robodyn_ros.control.default_gains import (
    NATURAL_FREQUENCY,
    SATURATION_ERROR,
    damping,
    is_well_damped,
    joint_gains,
    late_growth,
    sampled_positions,
    slowed_gains,
    stiffness,
    task_gains,
    viscous_friction,
)
from robodyn_ros.control.gains.margin import stable_factor
from robodyn_ros.control.laws.lqr import LQR, gain_matrix
from robodyn_ros.control.laws.pd import PD
from robodyn_ros.control.laws.pd_gravity import PDGravityParameters
from robodyn_ros.control.plugins.registry import make_controller
from robodyn_ros.control.references.reference import SOURCES
from robodyn_ros.description.resources import robot_file, shipped_robots
from robodyn_ros.simulation.model_perturbations import with_payload
from robodyn_ros.simulation.standard_motion import excursion
from robodyn_ros.toolbox.study.performance import perform


@pytest.mark.parametrize("name", few(shipped_robots()))
def test_stable_in_configurations_that_were_not_looked_at(name):
    """Eigenvalues of one sampled step of the coupled robot lie within the unit circle, with PD and with damping."""
    robot = Robot.from_urdf(robot_file(name))
    p, d = joint_gains(robot)
    assert (p > 0).all() and (d > 0).all()
    low, high = np.maximum(robot.model.position_lower, -np.pi), np.minimum(robot.model.position_upper, np.pi)
    n, one = robot.n, np.eye(robot.n)
    for q in np.random.default_rng(99).uniform(low, high, (100, n)):
        inverse = np.linalg.inv(robot.dynamics().mass_matrix(q))
        for spring in (np.diag(p), np.zeros((n, n))):
            v_q, v_v = -PERIOD * inverse @ spring, one - PERIOD * inverse @ np.diag(d)
            step = np.block([[one + PERIOD * v_q, PERIOD * v_v], [v_q, v_v]])  # semi-implicit Euler
            assert np.abs(np.linalg.eigvals(step)).max() <= 1.0 + 1e-9


TIMINGS = ((0.001, 10), (0.002, 3), (0.008, 0), (0.02, 1), (0.02, 10))
LAWS = ("pd", "computed_torque", "impedance")
MORE_LAWS = ("damping", "pid", "fuzzy", "neural", "joint_impedance", "adaptive", "task_space_pd", "operational_space")


@pytest.mark.parametrize(("name", "law"), [
    *(pytest.param(name, law, marks=() if name in QUICK else pytest.mark.long)
      for name in shipped_robots() for law in LAWS),
    *(pytest.param(name, law, marks=pytest.mark.long) for name in QUICK for law in MORE_LAWS)])
def test_they_are_stable_at_any_period_and_delay(name, law):
    """Without gravity, which limits the delay whatever the gains are; a law that adds friction late has no margin."""
    robot = Robot.from_urdf(robot_file(name), gravity=(0.0, 0.0, 0.0))
    low, high = np.maximum(robot.model.position_lower, -np.pi), np.minimum(robot.model.position_upper, np.pi)
    q = np.random.default_rng(5).uniform(low, high, (10, robot.n))
    for period, delay in TIMINGS:
        controller = make_controller(law, robot.with_timing(period, delay))
        factor = stable_factor(controller, controller.parameters, LoopTiming(period, delay), q)
        assert factor >= 1.0 if robot.model.damping.any() else factor > 1.0


@pytest.mark.parametrize("name", few(shipped_robots()))
def test_they_bear_one_more_period_of_delay_and_twice_the_gains(name):
    robot = Robot.from_urdf(robot_file(name), gravity=(0.0, 0.0, 0.0))
    q = sampled_positions(robot)[:10]
    for period, delay in TIMINGS:
        law = PD(robot.with_timing(period, delay))
        assert stable_factor(law, law.parameters, LoopTiming(period, delay), q) >= 2.0
        assert stable_factor(law, law.parameters, LoopTiming(period, delay + 1), q) >= 1.0


@pytest.mark.parametrize("name", few(shipped_robots()))
def test_longer_periods_and_delays_lower_all_gains(name):
    robot = Robot.from_urdf(robot_file(name))
    before = joint_gains(robot.with_timing(0.001))
    for period, delay in ((0.002, 0), (0.002, 2), (0.01, 2), (0.02, 10)):
        after = joint_gains(robot.with_timing(period, delay))
        assert all((one <= other * (1 + 1e-9)).all() for one, other in zip(after, before, strict=True))
        before = after


TASK = {"d": (40.0, 1), "p": (400.0, 2), "posture_d": (40.0, 1), "posture_p": (100.0, 2)}


@pytest.mark.parametrize(("law", "own"), [
    ("computed_torque", {"d": (40.0, 1), "p": (400.0, 2)}),
    ("computed_torque_pid", {"d": (45.0, 1), "p": (600.0, 2), "i": (2000.0, 3)}),
    ("resolved_acceleration", TASK), ("operational_space", TASK), ("force", TASK | {"force_d": (40.0, 1)}),
])
def test_all_poles_of_laws_that_compute_accelerations_slow_down_alike(law, own):
    """Where period and delay allow K_v = 20/s only, K_p is slower by the square and K_i by the third power."""
    robot = Robot.from_urdf(robot_file("planar_2r"))
    fast, slow = (make_controller(law, robot.with_timing(*timing)).parameters for timing in ((0.002, 0), (0.02, 1)))
    for name, (value, order) in own.items():
        np.testing.assert_allclose(getattr(fast, name), value)
        np.testing.assert_allclose(getattr(slow, name), value * (20.0 / own["d"][0]) ** order, err_msg=name)


LATE_LAWS = ("pd_gravity", "joint_impedance", "computed_torque", "gravity_compensation")
PERIODS, DELAYS = (0.001, 0.002, 0.005, 0.01, 0.02), (0, 1, 2, 3)
LED = {
    "scara": {},
    "arm6": {"pd_gravity": "10/3 20/2 20/3", "joint_impedance": "10/2 10/3 20/1 20/2 20/3", "computed_torque": "20/3",
             "gravity_compensation": "2/2 2/3 5/1 5/2 5/3 10/0 10/1 10/2 10/3 20/0 20/1 20/2 20/3"},
    "arm7": {"pd_gravity": "5/3 10/2 10/3 20/1 20/2 20/3", "computed_torque": "20/2 20/3",
             "joint_impedance": "5/2 5/3 10/1 10/2 10/3 20/0 20/1 20/2 20/3",
             "gravity_compensation": "1/2 1/3 2/1 2/2 2/3 5/0 5/1 5/2 5/3 10/0 10/1 10/2 10/3 20/0 20/1 20/2 20/3"}}
"""Periods [ms] and delays at which a law evaluates its model ahead by default."""
BEYOND = {"arm7": {("pd_gravity", 0.02, 3), ("computed_torque", 0.02, 3)}}
"""Loops in which gravity lets motions grow whatever the lead is."""


@pytest.mark.parametrize("name", few(LED, quick=("scara", "arm6", "arm7")))
@pytest.mark.parametrize("law", few(LATE_LAWS, 2))
def test_they_hold_the_whole_arm_where_efforts_come_late(name, law):
    """Eigenvalues of the sampled loop in new postures, empty and with half of the load that the efforts hold."""
    robot = Robot.from_urdf(robot_file(name))
    low, high = np.maximum(robot.model.position_lower, -np.pi), np.minimum(robot.model.position_upper, np.pi)
    q = np.random.default_rng(11).uniform(low, high, (4, robot.n))
    controller, led = make_controller(law, robot), []
    plants = [[continuous(plant, each) for each in q] for plant in (robot, with_half_load(robot))]
    for period, delay in itertools.product(PERIODS, DELAYS):
        parameters = controller.Parameters().for_robot(robot.with_timing(period, delay))
        if parameters.lead:
            assert parameters.lead == pytest.approx((delay + 0.5) * period)
            led.append(f"{1e3 * period:g}/{delay}")
        gains = [feedback_of(controller, parameters, period, each) for each in q]
        grows = [growth(*pair, period, delay, is_loaded) for is_loaded, plant in enumerate(plants)
                 for pair in zip(plant, gains, strict=True)]
        assert max(grows) < 1e-3 or (law, period, delay) in BEYOND.get(name, ()), (period, delay, grows)
    assert " ".join(led) == LED[name].get(law, "")


def with_half_load(robot):
    """The robot with half of what its efforts hold at the tip in sampled postures, at most half of its mass."""
    full, q = Robot(with_payload(robot.model, 1.0)), sampled_positions(robot)[:16]
    gravity = robot.dynamics().batch.gravity(q)
    lever = np.abs(full.dynamics().batch.gravity(q) - gravity)
    held = ((robot.model.effort_limit - np.abs(gravity))[lever > 1e-9] / lever[lever > 1e-9]).min(initial=np.inf)
    mass = min(held, sum(joint.inertia.mass for joint in robot.model.joints))
    return Robot(with_payload(robot.model, 0.5 * max(0.0, mass)))


def feedback_of(law, parameters, period, q):
    """d tau / d(q, v) of a law that holds a posture, shape (n, 2n)."""
    n, rest = len(q), np.zeros(len(q))
    answer = law.answering(parameters, State(0.0, period, q, rest))
    reference = None if law.follows is None else SOURCES[law.follows](law.robot, q).sample(0.0)

    def effort(x):
        return answer(State(0.0, period, x[:n], x[n:]), reference)

    x = np.concatenate([q, rest])
    return np.stack([(effort(x + step) - effort(x - step)) / 2e-5 for step in 1e-5 * np.eye(2 * n)], axis=1)


def continuous(robot, q):
    """Derivative of (q - q_0, v, efforts) about rest, shape (3n, 3n)."""
    n, dynamics, steps = robot.n, robot.dynamics(), 1e-5 * np.eye(robot.n)
    slope = np.stack([(dynamics.gravity(q + step) - dynamics.gravity(q - step)) / 2e-5 for step in steps], axis=1)
    forces = np.concatenate([-slope, -np.diag(robot.model.damping), np.eye(n)], axis=1)
    accelerations = np.linalg.solve(dynamics.mass_matrix(q), forces)
    return np.concatenate([np.eye(n, 3 * n, k=n), accelerations, np.zeros((n, 3 * n))])


def growth(plant, gain, period, delay, falls):
    """Greatest rate at which a motion grows; of a robot with a load that the law does not know, of an oscillation."""
    n, step = len(gain), expm(period * plant)[:2 * len(gain)]
    loop = np.zeros(((2 + delay) * n, (2 + delay) * n))  # the state, and efforts on their way, the last first
    loop[:2 * n, :2 * n] = step[:, :2 * n]
    if delay:
        loop[:2 * n, -n:], loop[2 * n:3 * n, :2 * n] = step[:, 2 * n:], gain
        loop[3 * n:, 2 * n:-n] = np.eye((delay - 1) * n)
    else:
        loop += step[:, 2 * n:] @ gain
    z = np.linalg.eigvals(loop)
    z = z[(np.abs(z.imag) > 1e-9) | (z.real < 0.0)] if falls else z
    return np.log(np.abs(z).max(initial=1e-300)) / period


@settings(deadline=None, max_examples=10)
@given(urdf_robots(max_joints=5), st.sampled_from(PERIODS), st.sampled_from(DELAYS))
def test_what_the_quick_test_calls_well_damped_does_not_grow(xml, period, delay):
    robot = Robot.from_urdf_text(xml).with_timing(period, delay)
    for gains, by_mass in ((joint_gains, False), (slowed_gains(400.0, 40.0), True)):
        if is_well_damped(robot, *gains(robot), by_mass):
            assert late_growth(robot, *gains(robot), by_mass) < 1e-3


def test_a_given_lead_and_given_gains_stay(monkeypatch):
    robot = Robot.from_urdf(robot_file("arm6")).with_timing(0.02, 3)
    given = PDGravityParameters(p=7.0, d=3.0, lead=0.0).for_robot(robot)
    assert given.lead == 0.0 and (given.p == 7.0).all() and (given.d == 3.0).all()
    with monkeypatch.context() as patched:  # completed parameters, as workers of a cluster get them
        patched.setattr("robodyn_ros.control.default_gains.sampled_postures", None)
        assert given.for_robot(robot.with_timing(0.02, 2)).lead == 0.0
    with pytest.raises(InputError, match="lead: expected a finite number from 0 to 10"):
        PDGravityParameters(lead=True).for_robot(robot)


@pytest.mark.parametrize("law", ["pd", "pd_gravity", "pid", "computed_torque"])
@pytest.mark.parametrize("period", few([0.008, 0.01], (0.01,)))
def test_arm6_does_not_saturate_at_long_periods(law, period):
    robot = Robot.from_urdf(robot_file("arm6"))
    performance = perform(robot, law, excursion(robot), period=period)
    assert performance.saturated == 0.0


@pytest.mark.parametrize(("period", "delay"), [(0.0, 0), (-1.0, 0), (np.nan, 0), (0.002, -1), (0.002, 0.5)])
def test_a_timing_that_is_none_is_refused(period, delay):
    with pytest.raises(InputError, match="timing: "):
        Robot.from_urdf(robot_file("planar_2r")).with_timing(period, delay)


@pytest.mark.parametrize("name", few(shipped_robots()))
def test_springs_at_the_tip_are_stable_in_configurations_that_were_not_looked_at(name):
    """Eigenvalues of one sampled step under J^T K J and damping at the joints, within the unit circle."""
    robot = Robot.from_urdf(robot_file(name))
    gains, n, one = task_gains(robot), robot.n, np.eye(robot.n)
    assert gains.translation > 0.0 and gains.rotation > 0.0
    stiffness = np.diag(3 * [gains.translation] + 3 * [gains.rotation])
    low, high = np.maximum(robot.model.position_lower, -np.pi), np.minimum(robot.model.position_upper, np.pi)
    for q in np.random.default_rng(99).uniform(low, high, (100, n)):
        inverse, jacobian = np.linalg.inv(robot.dynamics().mass_matrix(q)), robot.dynamics().jacobian(q)
        v_q = -PERIOD * inverse @ jacobian.T @ stiffness @ jacobian
        v_v = one - PERIOD * inverse @ np.diag(gains.damping)
        step = np.block([[one + PERIOD * v_q, PERIOD * v_v], [v_q, v_v]])  # semi-implicit Euler
        assert np.abs(np.linalg.eigvals(step)).max() <= 1.0 + 1e-6


def test_default_gains_cannot_be_edited():
    """They are computed once for a robot: an edit would change the defaults of every controller made later."""
    robot = Robot.from_urdf(robot_file("scara"))
    for array in (*joint_gains(robot), stiffness(robot), damping(robot), task_gains(robot).damping,
                  viscous_friction(robot), PD(robot).parameters.p, LQR(robot).parameters.gain,
                  gain_matrix(robot, LQR(robot).parameters)):
        with pytest.raises(ValueError, match="read-only"):
            array *= 2.0
    before = PD(robot).parameters.p.copy()
    np.testing.assert_array_equal(PD(robot).parameters.p, before)


@pytest.mark.parametrize("name", few(shipped_robots()))
def test_no_joint_saturates_at_small_errors(name):
    robot = Robot.from_urdf(robot_file(name))
    assert (joint_gains(robot)[0] * SATURATION_ERROR <= robot.model.effort_limit * (1 + 1e-12)).all()


def test_a_single_heavy_joint_gets_the_natural_frequency():
    """A slider of constant mass m without limit of effort: m w^2, critically damped unless that is unstable."""
    xml = """<robot name="slider"><link name="base"/>
        <link name="slide"><inertial><mass value="3"/>
            <inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link>
        <joint name="joint" type="prismatic"><parent link="base"/><child link="slide"/><axis xyz="1 0 0"/>
            <limit lower="-1" upper="1" velocity="1" effort="1e9"/></joint></robot>"""
    p, d = joint_gains(Robot.from_urdf_text(xml))
    np.testing.assert_allclose(p, 3 * NATURAL_FREQUENCY**2)
    np.testing.assert_allclose(d, 2 * 3 * NATURAL_FREQUENCY)


@settings(deadline=None, max_examples=10)
@given(urdf_robots(max_joints=5))
def test_any_robot_gets_finite_gains(xml):
    for gains in joint_gains(Robot.from_urdf_text(xml)):
        assert np.isfinite(gains).all() and (gains >= 0).all()
