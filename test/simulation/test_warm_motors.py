# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Motors that get warm: resistance and torque constant follow the winding, and amplifiers derate; in closed form."""

import numpy as np
import pytest
from scipy.optimize import brentq
from shipped import few

from robodyn_ros import InputError, Robot
from robodyn_ros.actuation.configuration import HardwareSettings
from robodyn_ros.actuation.motor_catalogue import MOTORS
from robodyn_ros.actuation.winding_heat import COPPER
from robodyn_ros.description.resources import robot_file
from robodyn_ros.simulation.commands import Drive
from robodyn_ros.simulation.plant import Plant
from robodyn_ros.simulation.plant_model import PlantModel

ROBOT = Robot.from_urdf(robot_file("planar_2r"))
NONE, HELD = np.zeros(2), np.full(2, np.inf)
MAGNETS, GEAR, LIMIT = -0.0012, 10.0, 3.0
MOTOR = {"nominal_voltage": 24.0, "resistance": 2.0, "torque_constant": 0.05, "rotor_inertia": 1e-5,
         "inductance": 2e-4, "thermal_resistance": 5.0, "thermal_time_constant": 0.02,
         "torque_constant_coefficient": MAGNETS}


def settings(motor=MOTOR, **actuator):
    own = {"motor": motor, "gear_ratio": GEAR} | actuator
    return HardwareSettings.from_mapping({"joints": {name: {"actuator": own} for name in ROBOT.joint_names}}, "arm")


def plant(integrator="semi_implicit_euler", compiled=True, **actuator):
    return Plant(ROBOT, 1e-3, actuators=settings(**actuator).joint_actuators(ROBOT.model), compiled=compiled,
                 integrator=integrator)


def settled(robot, voltage):
    """The state of the actuators long after a voltage was put on motors whose joints are held."""
    robot.advance(Drive(NONE, NONE, HELD, np.full(2, voltage), np.ones(2)), 400)
    return robot.actuator_state


@pytest.mark.parametrize("integrator", few(["semi_implicit_euler", "runge_kutta"], 1))
def test_a_held_motor_warms_up_until_its_higher_resistance_gives_off_all_heat(integrator):
    """T - 25 = R_th V^2 / (R (1 + alpha (T - 25))), a quadratic equation."""
    voltage, rise = 12.0, 5.0 * 12.0**2 / 2.0
    warmer = (np.sqrt(1.0 + 4.0 * COPPER * rise) - 1.0) / (2.0 * COPPER)
    inductance, rtol = ({"inductance": False}, 5e-3) if integrator == "runge_kutta" else ({}, 1e-6)  # held after a step
    warm = settled(plant(integrator, temperature_effects=True, **inductance), voltage)
    np.testing.assert_allclose(warm.temperature - 25.0, warmer, rtol=rtol)
    current = voltage / (2.0 * (1.0 + COPPER * warmer))
    np.testing.assert_allclose(warm.current, current, rtol=rtol)
    np.testing.assert_allclose(warm.motor_torque, 0.05 * (1.0 + MAGNETS * warmer) * current, rtol=rtol)
    np.testing.assert_allclose(warm.joint_effort, GEAR * warm.motor_torque, rtol=1e-9)
    cold = settled(plant(integrator, **inductance), voltage)
    np.testing.assert_allclose(cold.temperature - 25.0, rise, rtol=rtol)
    np.testing.assert_allclose(cold.current, 6.0, rtol=rtol)


def test_a_hot_amplifier_lowers_the_current_until_it_keeps_its_temperature():
    """T - 25 = R_th R(T) i(T)^2 with i(T) falling from the limit to 0 between 60 and 100 degrees."""
    def balance(temperature):
        left = np.clip((100.0 - temperature) / 40.0, 0.0, 1.0)
        resistance = 2.0 * (1.0 + COPPER * (temperature - 25.0))
        return 5.0 * resistance * (LIMIT * left) ** 2 - (temperature - 25.0)

    temperature = brentq(balance, 60.0, 100.0)
    hot = settled(plant(temperature_effects=True, current_limit=LIMIT, derating_start=60.0, derating_end=100.0), 24.0)
    np.testing.assert_allclose(hot.temperature, temperature, rtol=1e-6)
    np.testing.assert_allclose(hot.current, LIMIT * (100.0 - temperature) / 40.0, rtol=1e-6)
    assert hot.current_saturated.all()


def test_a_moving_arm_loses_effort_and_its_energy_still_balances():
    """The amplifier converts efforts as if its motors were cold; compiled as on floats."""
    ends = []
    for compiled in (True, False):
        robot = plant(compiled=compiled, temperature_effects=True, voltage_limit=48.0)
        for _ in range(60):
            robot.advance(Drive(np.array([3.0, 2.0]), NONE, NONE), 1)
        ends.append(np.concatenate([robot.q, robot.v, robot.actuator_state.temperature]))
        energy = robot.energy
    np.testing.assert_allclose(ends[0], ends[1], rtol=1e-9)
    stored = energy.kinetic + energy.potential + energy.magnetic
    lost = energy.viscous_loss + energy.friction_loss + energy.stop_loss + energy.winding_heat
    fresh = plant(temperature_effects=True, voltage_limit=48.0).energy
    np.testing.assert_allclose(stored - fresh.kinetic - fresh.potential, energy.drive_work - lost,
                               atol=0.02 * energy.drive_work)
    cold = plant(voltage_limit=48.0)
    cold.advance(Drive(np.array([3.0, 2.0]), NONE, NONE), 60)
    assert (np.abs(ends[0][2:4]) < np.abs(cold.v)).any()


@pytest.mark.parametrize("name", ["maxon_re30_310009", "maxon_re40_148877", "maxon_re65_353297"])
def test_motors_of_the_catalogue_have_the_figures(name):
    motor = MOTORS.load(name)
    assert motor.torque_constant_coefficient == -0.0012 and motor.resistance_coefficient == pytest.approx(0.00385, 1e-2)


COLD = {name: value for name, value in MOTOR.items() if not name.startswith("thermal")}


@pytest.mark.parametrize(("given", "words"), [
    ({"motor": COLD, "temperature_effects": True}, "expected a motor with thermal_resistance"),
    ({"motor": {**MOTOR, "torque_constant_coefficient": None}, "temperature_effects": True},
     "expected torque_constant_coefficient in the data"),
    ({"motor": {**MOTOR, "torque_constant_coefficient": -0.5}}, "torque_constant_coefficient: expected .*-0.01 to 0"),
    ({"derating_start": 60.0, "current_limit": 1.0}, "received one of them; give both"),
    ({"derating_start": 60.0, "derating_end": 60.0, "current_limit": 1.0}, "expected more than derating_start"),
    ({"derating_start": 60.0, "derating_end": 90.0}, "expected current_limit or torque_limit"),
])
def test_bad_figures_are_told_with_their_place(given, words):
    with pytest.raises(InputError, match=f"^arm: joint 'joint1': actuator: .*{words}"):
        settings(**given).joint_actuators(ROBOT.model)


def test_methods_that_have_no_warm_motors_say_so():
    with pytest.raises(InputError, match="integrator adaptive: expected motors that do not depend on the temperature"):
        PlantModel.from_description(ROBOT.model, actuators=settings(temperature_effects=True).joint_actuators(
            ROBOT.model), integrator="adaptive")
