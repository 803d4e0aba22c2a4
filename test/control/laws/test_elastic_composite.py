# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""The composite law on elastic arms: it tracks where rigid laws swing; its condition tells where it swings itself."""

from dataclasses import replace

import numpy as np
import pytest
from shipped import few

from robodyn_ros import ClosedLoop, InputError, PlantModel, Robot, SimulationError, rollout
from robodyn_ros.actuation.configuration import HardwareSettings
from robodyn_ros.actuation.joint_actuators import JointActuators
from robodyn_ros.actuation.transmission import Transmission
from robodyn_ros.control import JointReference, State
from robodyn_ros.control.default_gains import sampled_positions
from robodyn_ros.control.laws.computed_torque import ComputedTorque
from robodyn_ros.control.laws.elastic_composite import ElasticComposite, ElasticCompositeParameters
from robodyn_ros.trajectories import excursion

ARM = Robot.named("arm7")
ACTUATORS = HardwareSettings.named("hardware_elastic_arm7").joint_actuators(ARM.model)
PLANT = PlantModel.from_description(ARM.model, actuators=ACTUATORS)
ELASTIC = ARM.with_actuators(ACTUATORS)


def errors(name, *ignored):
    done = rollout(ARM.ignoring(*ignored), name, excursion(ARM), plant=PLANT)
    return np.abs(done.reference.q - done.q).max()


def test_the_arm_follows_where_computed_torque_of_rigid_links_swings_its_wrist():
    """Computed torque that knows the inertia of the motors follows as well."""
    composite = errors("elastic_composite")
    assert composite < 3e-3 and errors("computed_torque") < 3e-3
    assert errors("computed_torque", "rotors", "springs") > 50.0 * composite
    assert errors("elastic_joint_pd") > 5.0 * composite


def test_with_resting_springs_it_is_computed_torque_of_an_arm_with_motors():
    """Motors and links as one have the inertia M + B."""
    random = np.random.default_rng(0)
    q, v, q_d, v_d, a_d = random.normal(scale=0.5, size=(5, 7))
    law, reference = ElasticComposite(ELASTIC), JointReference(q_d, v_d, a_d)
    found = law.update(State(0.0, 0.002, q, v, motor_v=v, motor_q=q, joint_torque=np.zeros(7)), reference)
    rigid = ComputedTorque(ELASTIC).update(State(0.0, 0.002, q, v), reference)
    np.testing.assert_allclose(found, rigid)
    a = a_d + law.parameters.d * (v_d - v) + law.parameters.p * (q_d - q)
    links = ComputedTorque(ELASTIC.ignoring("rotors")).update(State(0.0, 0.002, q, v), reference)
    np.testing.assert_allclose(found, links + PLANT.actuators.springs.motor_inertia * a)


def test_motors_in_the_description_count_once():
    described = Robot.from_urdf_text(ARM.model.description.replace("<dynamics ", '<dynamics armature="0.1" '))
    springs = replace(JointActuators.ideal_sources(7), transmission=Transmission(
        ACTUATORS.transmission.stiffness, ACTUATORS.transmission.spring_damping, source_inertia=np.full(7, 0.1)))
    q, v = np.random.default_rng(3).normal(scale=0.5, size=(2, 7))
    state = State(0.0, 0.002, q, v, motor_v=v, motor_q=q, joint_torque=np.zeros(7))
    reference = JointReference(q + 0.1, v, np.ones(7))
    efforts = [ElasticComposite(robot.with_actuators(springs)).update(state, reference) for robot in (ARM, described)]
    assert described.model.armature.tolist() == [0.1] * 7
    np.testing.assert_allclose(*efforts)


@pytest.mark.parametrize("share", few([0.8, 1.3], (1.3,)))
def test_gains_beyond_the_condition_swing_in_simulation(share):
    """Faster gains are refused with those that are not; beyond them the simulated arm swings, below it rests."""
    expected = r"p and d: expected a p below [\d.e+]+ and a d below [\d.]+, with which 'arm7' comes to rest"
    with pytest.raises(InputError, match=expected) as told:
        ElasticCompositeParameters(p=1e5, d=1e3).for_robot(ELASTIC)
    most = [float(part.split()[0].strip(",")) for part in str(told.value).split("below ")[1:]]
    law = ElasticComposite(ELASTIC)
    for name, value in zip(("p", "d"), most, strict=True):  # past the check
        object.__setattr__(law.parameters, name, np.full(7, share * value))
    loop = ClosedLoop(law, replace(PLANT, actuators=replace(ACTUATORS, transmission=replace(
        ACTUATORS.transmission, backlash=np.zeros(7)))))  # it would rattle
    swings = False
    for q in sampled_positions(ARM)[:4]:
        try:
            done = loop.run(loop.scenario(duration=1.0, q=q, v=np.full(7, 1e-3)))
        except SimulationError:
            swings = True
            break
        swings |= bool(np.abs(done.v[-100:]).max() > 0.01)
    assert swings == (share > 1.0)


def test_gains_far_beyond_the_period_are_told_and_not_the_damping_of_the_springs():
    with pytest.raises(InputError, match=r"such as p: 400 and d: 40 and fast_damping: \["):
        ElasticCompositeParameters(p=1e6, d=1e6).for_robot(ELASTIC)


def test_damping_that_the_period_does_not_allow_is_told():
    with pytest.raises(InputError, match=r"^fast_damping: expected a fast_damping below [\d.]+, with which"):
        ElasticCompositeParameters(fast_damping=1e3).for_robot(ELASTIC)
