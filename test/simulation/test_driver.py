# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Drivers of arms in simulation: compensation, delay, rate limit; laws need no change for them."""

from dataclasses import replace

import numpy as np
import pytest
from shipped import few

from robodyn_ros import InputError, Robot, rollout
from robodyn_ros.actuation.driver_profile import DRIVERS, DriverProfile
from robodyn_ros.actuation.friction import Friction
from robodyn_ros.control.laws.pd_gravity import PDGravity
from robodyn_ros.control.plugins.registry import make_controller
from robodyn_ros.description.resources import robot_file
from robodyn_ros.simulation.driver import COULOMB_VELOCITY, Driver
from robodyn_ros.simulation.mujoco_plant import MujocoPlant
from robodyn_ros.simulation.plant_model import PlantModel
from robodyn_ros.simulation.rollout import ClosedLoop
from robodyn_ros.simulation.standard_motion import excursion
from robodyn_ros.toolbox.study.loop_description import LoopDescription

ARM = Robot.from_urdf(robot_file("arm6"))
N = ARM.n
FRICTION = Friction.from_model(ARM.model)
RANDOM = np.random.default_rng(5)
Q, V, COMMAND = RANDOM.normal(size=(3, N))
SAYS_NOTHING = DriverProfile("mine", "none")


def behind(name):
    """The arm behind a driver."""
    return PlantModel.from_description(ARM.model, driver=name)


def driven(profile, commands, friction=None, period=0.002):
    """The efforts of a driver for some commands in a row, at one state."""
    driver = Driver(profile, ARM.model, friction or FRICTION)
    memory, efforts = driver.first_memory(), []
    for command in commands:
        effort, memory = driver.drive(command, Q, V, memory, period)
        efforts.append(effort)
    return np.array(efforts)


def test_gravity_and_friction_are_added_by_their_shares():
    friction = Friction(np.arange(1.0, N + 1), 2.0)
    profile = replace(SAYS_NOTHING, compensates_gravity=True, viscous_compensation=0.9, coulomb_compensation=0.8)
    expected = (COMMAND + ARM.dynamics().gravity(Q) + 0.9 * friction.viscous * V
                + 0.8 * 2.0 * np.clip(V / COULOMB_VELOCITY, -1.0, 1.0))
    np.testing.assert_allclose(driven(profile, [COMMAND], friction)[0], expected, rtol=1e-13)
    np.testing.assert_array_equal(driven(DRIVERS.load("generic"), [COMMAND], friction)[0], COMMAND)


def test_commands_are_delayed_by_whole_periods_rounded_and_limited_in_their_rate():
    steps = np.outer([1.0, 2.0, 3.0, 4.0, 5.0], np.ones(N))
    np.testing.assert_array_equal(driven(replace(SAYS_NOTHING, delay=2), steps)[:, 0], [1.0, 1.0, 1.0, 2.0, 3.0])
    rounded = driven(replace(SAYS_NOTHING, effort_resolution=[0.5, 0.0]), [np.full(N, 1.3), np.full(N, -0.74)])
    np.testing.assert_array_equal(rounded[:, :2], [[1.5, 1.3], [-0.5, -0.74]])
    jump = np.outer([3.0, 3.0, 3.0, -3.0], np.ones(N))
    np.testing.assert_allclose(driven(replace(SAYS_NOTHING, effort_rate=1000.0), jump, period=0.001)[:, 0],
                               [1.0, 2.0, 3.0, 2.0], rtol=1e-15)


@pytest.mark.parametrize("law", few(["pd_gravity", "computed_torque"], 1))
def test_a_law_moves_an_arm_the_same_way_behind_each_driver(law):
    """The commands leave out the gravity that the driver adds."""
    motions = {}
    for name in DRIVERS.names:
        arm = ARM.with_timing(0.001) if DRIVERS.load(name).rate == 1000.0 else ARM
        motions[name] = rollout(arm, law, excursion(ARM), 0.5, plant=behind(name))
    alone = rollout(ARM, law, excursion(ARM), 0.5)
    for name in ("ur", "kuka_fri", "generic"):
        np.testing.assert_allclose(motions[name].q, alone.q, rtol=0, atol=1e-9, err_msg=name)
        np.testing.assert_allclose(motions[name].effort, alone.effort, rtol=0, atol=1e-6, err_msg=name)
    np.testing.assert_array_equal(motions["generic"].q, alone.q)
    np.testing.assert_allclose(motions["franka"].q, motions["kortex"].q, rtol=0, atol=1e-9)


class Uncompiled(PDGravity):
    """The same law with a branch, so that it runs as Python code."""

    @staticmethod
    def law(dynamics, parameters, state, reference):
        return PDGravity.law(dynamics, parameters, state, reference) if state.q[0] < 99.0 else None


def test_every_way_to_simulate_a_driver_gives_the_same_motion():
    """Compiled, on floats, with a law in Python, with MuJoCo's bodies, and made again from its description."""
    profile = replace(DRIVERS.load("ur"), delay=1, effort_resolution=0.01, effort_rate=5000.0)
    driver = Driver(profile, ARM.model, FRICTION)
    plant = PlantModel.from_description(ARM.model, driver=driver)
    law = make_controller("pd_gravity", ARM)
    loop = ClosedLoop(law, plant)
    task = loop.scenario([excursion(ARM)], 0.1)
    compiled = loop.run(task)
    np.testing.assert_allclose(loop.run(task, compiled=False).q, compiled.q, rtol=0, atol=1e-9)
    again = LoopDescription.from_loop(loop, task).loop.run(task)
    np.testing.assert_array_equal(again.q, compiled.q)
    interpreted = ClosedLoop(Uncompiled(ARM, law.parameters), plant)
    np.testing.assert_allclose(interpreted.run(task).q, compiled.q, rtol=0, atol=1e-9)
    assert "uncompiled" in interpreted.note
    pytest.importorskip("mujoco")
    engine = MujocoPlant(ARM, driver=driver)
    np.testing.assert_allclose(ClosedLoop(law, engine=engine).run(task).q, compiled.q, rtol=0, atol=1e-3)


def test_errors_say_what_to_do():
    with pytest.raises(InputError, match="control rate: expected 1000 Hz, that is a period of 0.001 s.*received 500"):
        rollout(ARM, "pd", duration=0.1, plant=behind("franka"))
    with pytest.raises(InputError, match="unknown driver 'panda'"):
        behind("panda")
    other = Robot.from_urdf(robot_file("planar_2r"))
    with pytest.raises(InputError, match="expected a driver of 6 joints, received one of 2"):
        PlantModel.from_description(ARM.model, driver=Driver(DRIVERS.load("ur"), other.model, FRICTION))
    currents = Driver(replace(SAYS_NOTHING, effort="motor_current"), ARM.model, FRICTION)
    with pytest.raises(InputError, match="expected a motor at each joint.*torque_per_current"):
        currents.check_effort_report(np.zeros(N, dtype=bool))
