# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""The margin of laws on elastic joints, beside the motion of the simulated arm."""

from dataclasses import replace

import numpy as np
import pytest

from robodyn_ros import ClosedLoop, Robot
from robodyn_ros.actuation import JointActuators
from robodyn_ros.actuation.transmission import Transmission
from robodyn_ros.control.default_gains import joint_gains, rigid_joint_gains
from robodyn_ros.control.gains.margin import FACTORS, stable_factor
from robodyn_ros.control.laws.computed_torque import ComputedTorque, ComputedTorqueParameters
from robodyn_ros.control.laws.elastic_joint_pd import ElasticJointParameters, ElasticJointPD
from robodyn_ros.control.laws.pd_gravity import PDGravity, PDGravityParameters
from robodyn_ros.control.plugins.registry import make_controller
from robodyn_ros.simulation.plant_model import PlantModel

PERIOD = 0.004
POSTURE = np.array([0.5, -1.0])


def on_springs(damping=5.0):
    """A planar arm on soft springs, and its plant."""
    actuators = replace(JointActuators.ideal_sources(2), transmission=Transmission(stiffness=np.full(2, 800.0),
                                                                                   spring_damping=np.full(2, damping),
                                                                                   backlash=np.zeros(2),
                                                                                   source_inertia=np.full(2, 0.2)))
    robot = Robot.named("planar_2r").with_actuators(actuators).with_timing(PERIOD)
    return robot, PlantModel.from_robot(robot, 0.0005)


def swing(law, plant, seconds):
    """Greatest deviation of the speeds from their mean in the last second after a push of 1 mrad/s [rad/s]."""
    loop = ClosedLoop(law, plant, PERIOD)
    v = loop.run(loop.scenario(q=POSTURE, v=[1e-3, -1e-3], duration=seconds)).v[-round(1.0 / PERIOD):]
    return np.abs(v - v.mean(axis=0)).max()


@pytest.mark.parametrize("name", ["pd", "pd_gravity", "pid", "damping", "adaptive"])
def test_default_gains_do_not_swing_an_arm_on_soft_springs(name):
    robot, plant = on_springs()
    law = make_controller(name, robot)
    assert stable_factor(law, law.parameters, robot.timing, POSTURE[None]) >= 1.0
    assert swing(law, plant, 20.0) < 0.02


@pytest.mark.parametrize("kind", [PDGravity, ComputedTorque, ElasticJointPD])
def test_the_margin_is_where_the_simulated_arm_begins_to_swing(kind):
    robot, plant = on_springs()
    stiffness, damping = rigid_joint_gains(robot)

    def scaled(times):
        if kind is PDGravity:
            return kind(robot, PDGravityParameters(p=times * stiffness, d=times * damping))
        if kind is ComputedTorque:
            return kind(robot, ComputedTorqueParameters(p=times * 400.0, d=times * 40.0))
        law = kind(robot, ElasticJointParameters())
        for field in "pd":
            object.__setattr__(law.parameters, field, times * getattr(law.parameters, field))  # past the check
        return law

    law = scaled(1.0)
    factor = stable_factor(law, law.parameters, robot.timing, POSTURE[None])
    assert FACTORS[0] < factor < FACTORS[-1]
    assert swing(scaled(0.9 * factor), plant, 20.0) < 1e-3
    assert swing(scaled(1.1 * FACTORS[FACTORS.index(factor) + 1]), plant, 20.0) > 0.02


def test_stiff_or_undamped_springs_leave_the_gains_as_they_are():
    """Gains that do not swing need no change; on springs without damping, weaker ones would not help."""
    stiff = Robot.named("arm7").with_actuators("hardware_elastic_arm7").with_timing(0.002)
    for robot in (stiff, on_springs(damping=0.0)[0]):
        np.testing.assert_array_equal(joint_gains(robot), rigid_joint_gains(robot))
