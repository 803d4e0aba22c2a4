# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Laws of elastic joints: on elastic robots, by the two masses that they are designed for, and what they refuse."""

from dataclasses import replace

import numpy as np
import pytest

from robodyn_ros import ClosedLoop, InputError, PluginError, Robot, SimulationError, rollout
from robodyn_ros.actuation import Friction, JointActuators
from robodyn_ros.actuation.configuration import HardwareSettings
from robodyn_ros.actuation.transmission import Transmission
from robodyn_ros.control import JointReference, Law, State
from robodyn_ros.control.default_gains import Postures
from robodyn_ros.control.gains.elastic_arm import ElasticArm
from robodyn_ros.control.laws.elastic_joint_pd import (
    ElasticJointParameters,
    ElasticJointPD,
    TorqueFeedback,
    TorqueFeedbackParameters,
    gravity_slope,
)
from robodyn_ros.control.laws.pd_gravity import PDGravity
from robodyn_ros.control.plugins.registry import make_controller
from robodyn_ros.description.drivetrain import JointSprings
from robodyn_ros.description.resources import robot_file
from robodyn_ros.simulation.plant_model import PlantModel
from robodyn_ros.trajectories import excursion

ARM = Robot.from_urdf(robot_file("arm7")).with_timing(0.001)
SPRING, MOTOR = 1e4, 0.1
LINK = 0.5
WHEEL = Robot.from_urdf_text(f"""<robot name="wheel"><link name="base"/><link name="rim"><inertial><mass value="1"/>
<inertia ixx="{LINK}" iyy="{LINK}" izz="{LINK}" ixy="0" ixz="0" iyz="0"/></inertial></link>
<joint name="axle" type="continuous"><parent link="base"/><child link="rim"/><axis xyz="0 0 1"/></joint></robot>""")


def elastic(robot, spring=SPRING, motor=MOTOR, step=1e-3):
    n = robot.n
    joints = replace(JointActuators.ideal_sources(n), transmission=Transmission(stiffness=np.full(n, spring),
                                                                                spring_damping=np.zeros(n),
                                                                                backlash=np.zeros(n),
                                                                                source_inertia=np.full(n, motor)))
    return PlantModel.from_description(robot.model, step, joints, Friction(np.zeros(n), np.zeros(n)))


def gains(kind=ElasticJointParameters, p=1000.0, d=20.0, spring=SPRING, motor=MOTOR, **more):
    return kind(p=p, d=d, joint_stiffness=spring, motor_inertia=motor, **more)


def test_the_links_of_an_elastic_arm_rest_where_they_should_and_under_a_law_for_rigid_joints_they_do_not():
    motion = excursion(ARM)
    end = motion.sample(motion.end_time).q
    loop = ClosedLoop(ElasticJointPD(ARM, gains()), elastic(ARM))
    done = loop.run(loop.scenario([motion], 6.0))
    assert not done.note
    assert np.abs(done.q[-1] - end).max() < 1e-3 and np.abs(done.v[-1]).max() < 0.05
    rigid = ClosedLoop(PDGravity(ARM), elastic(ARM))
    try:
        swinging = rigid.run(rigid.scenario([motion], 6.0))
    except SimulationError:
        return
    assert np.abs(swinging.v[-500:]).max() > 10.0


def test_the_default_gains_hold_an_elastic_arm():
    plant = elastic(ARM)
    loop = ClosedLoop(ElasticJointPD(plant.known_to(ARM)), plant)
    done = loop.run(loop.scenario(duration=4.0, v=np.full(7, 0.1)))
    assert np.abs(done.q[-1] - done.q[0]).max() < 0.02


def test_at_rest_the_law_is_gravity_whatever_the_shaping():
    law = TorqueFeedback(ARM, gains(TorqueFeedbackParameters, lighter=1.01))
    q = np.array([0.2, 0.5, -0.3, -1.2, 0.4, 0.9, 0.1])
    gravity = ARM.dynamics().gravity(q)
    state = State(0.0, 0.002, q, np.zeros(7), motor_q=q + gravity / SPRING, motor_v=np.zeros(7), joint_torque=gravity)
    np.testing.assert_allclose(law.update(state, JointReference(q, np.zeros(7), np.zeros(7))), gravity, atol=1e-9)


@pytest.mark.parametrize("shaping", [1.0, 1.5])
def test_the_radius_of_two_masses_tells_where_the_simulated_joint_begins_to_swing(shaping):
    period, joint = 0.001, JointSprings(np.array([SPRING]), np.array([MOTOR]), np.zeros(1))
    arm = ElasticArm.from_matrices(period, 0, joint, np.array([[[LINK]]]), np.zeros((1, 1, 1)))
    laws = [TorqueFeedbackParameters(*(np.array([value]) for value in (SPRING, MOTOR, 0.0, 500.0, d, shaping)))
            for d in (20.0, 400.0)]
    growth = [arm.growth(law.feedback(WHEEL, Postures(*np.zeros((2, 1, 1, 1))))) for law in laws]
    assert growth[0] < 0.0 < growth[1]
    for d, stable in ((20.0, True), (400.0, False)):
        parameters = gains(TorqueFeedbackParameters, 500.0, 20.0, lighter=shaping)
        law = TorqueFeedback(WHEEL.with_timing(period), parameters)
        object.__setattr__(law.parameters, "d", np.array([d]))  # past the check
        loop = ClosedLoop(law, elastic(WHEEL), period)
        try:
            done = loop.run(loop.scenario(duration=1.0, v=[0.5]))
        except SimulationError:
            assert not stable
            continue
        assert bool(np.abs(done.v[-100:]).max() < 0.02) == stable


def test_a_motor_with_torque_feedback_moves_as_a_lighter_one():
    period, lighter = 1e-3, 1.5
    runs = []
    for motor, law in ((MOTOR, TorqueFeedback(WHEEL.with_timing(period), gains(TorqueFeedbackParameters, 500.0, 20.0,
                                                                               lighter=lighter))),
                       (MOTOR / lighter, ElasticJointPD(WHEEL.with_timing(period), gains(
                           p=500.0, d=20.0, motor=MOTOR / lighter)))):
        loop = ClosedLoop(law, elastic(WHEEL, motor=motor), period)
        runs.append(loop.run(loop.scenario(duration=0.5, v=[0.5])).q)
    heavy = ClosedLoop(ElasticJointPD(WHEEL.with_timing(period), gains(p=500.0, d=20.0)), elastic(WHEEL), period)
    other = heavy.run(heavy.scenario(duration=0.5, v=[0.5])).q
    assert np.abs(runs[0] - runs[1]).max() < 0.3 * np.abs(other - runs[1]).max()


def test_gains_that_gravity_can_overcome_and_joints_that_are_too_soft_are_refused():
    slope = gravity_slope(ARM)
    expected = r"p and d: expected gains with which 'arm7' comes to rest .* such as p: \[.* with which gravity, whose "
    with pytest.raises(InputError, match=expected):
        ElasticJointPD(ARM, gains(p=slope))
    least = slope * SPRING / (SPRING - slope)
    ElasticJointPD(ARM, gains(p=1.01 * least))
    with pytest.raises(InputError, match=expected):
        ElasticJointPD(ARM, gains(p=0.99 * least))
    with pytest.raises(InputError, match=r"joint_stiffness of 'joint1': expected more than [\d.]+ N m/rad, the great"):
        ElasticJointPD(ARM, gains(spring=0.5 * slope))


def test_gains_that_swing_at_the_period_are_told_with_those_that_do_not():
    with pytest.raises(InputError, match=r"p and d: expected a p below [\d.]+ and a d below [\d.]+, with") as told:
        ElasticJointPD(WHEEL.with_timing(0.001), gains(p=500.0, d=400.0))
    most = float(str(told.value).partition("p below ")[2].partition(" ")[0])
    ElasticJointPD(WHEEL.with_timing(0.001), gains(p=0.99 * most, d=0.99 * most * 0.8))
    with pytest.raises(InputError, match="p and d: expected a p below"):
        ElasticJointPD(WHEEL.with_timing(0.001), gains(p=1.02 * most, d=1.02 * most * 0.8))
    with pytest.raises(InputError, match=r"lighter: expected at most [\d.]+, with which 'wheel' comes") as told:
        TorqueFeedback(WHEEL.with_timing(0.001), gains(TorqueFeedbackParameters, 500.0, 20.0, lighter=50.0))
    most = float(str(told.value).partition("at most ")[2].partition(",")[0])
    TorqueFeedback(WHEEL.with_timing(0.001), gains(TorqueFeedbackParameters, 500.0, 20.0, lighter=0.999 * most))
    with pytest.raises(InputError, match="lighter: expected at most"):
        TorqueFeedback(WHEEL.with_timing(0.001), gains(TorqueFeedbackParameters, 500.0, 20.0, lighter=1.02 * most))


def test_a_delay_of_the_loop_lowers_the_gains_that_are_taken():
    most = []
    for delay in (0, 2):
        with pytest.raises(InputError, match=r"expected a p below [\d.]+") as told:
            ElasticJointPD(WHEEL.with_timing(0.001, delay), gains(p=5000.0, d=400.0))
        most.append(float(str(told.value).partition("p below ")[2].partition(" ")[0]))
    assert most[1] < 0.5 * most[0]


@pytest.mark.parametrize("name", ["elastic_joint_pd", "torque_feedback", "elastic_composite"])
def test_rigid_robots_are_refused_and_rigid_joints_are_not(name):
    with pytest.raises(PluginError, match="joint_stiffness: expected elastic joints, received 'arm7', all of whose "
                                          "joints are rigid as far as is known; give the file"):
        make_controller(name, ARM)
    robot = Robot.from_urdf(robot_file("planar_2r"))
    first = HardwareSettings.from_mapping({"joints": {"joint1": {"gear": "harmonic_csf_25_50", "transmission": {
        "inertia": 0.5}}}}).joint_actuators(robot.model)
    motion, plant = excursion(robot), PlantModel.from_description(robot.model, actuators=first)
    done = rollout(robot, name, motion, duration=motion.end_time + 1.0, plant=plant)
    assert not done.note and np.abs(done.reference.q[-1] - done.q[-1]).max() < 2e-3


def test_torque_feedback_of_a_rigid_joint_is_refused():
    with pytest.raises(InputError, match="lighter of 'joint1': expected 1, as this joint is rigid, received 2"):
        TorqueFeedback(ARM, gains(TorqueFeedbackParameters, lighter=2.0, spring=[1e9, *[SPRING] * 6]))


class Remembers(Law[ElasticJointParameters, JointReference, np.ndarray]):
    """Answers with how far its motors are from where they were at the start."""

    senses = ("motor_q",)

    @staticmethod
    def law(dynamics, parameters, state, reference, memory):
        return 1000.0 * (memory - state.motor_q), memory

    def initial_memory(self, state):
        return state.motor_q.copy()


def test_the_first_memory_has_the_motors_of_the_plant_whose_springs_bear_the_arm():
    loop = ClosedLoop(Remembers(ARM, gains()), elastic(ARM))
    done = loop.run(loop.scenario(duration=0.01))
    assert not done.effort[0].any()
