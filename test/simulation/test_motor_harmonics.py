# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Cogging and torque ripple of motors: in closed form, and their energies."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from shipped import few
from urdf_parts import joint, link, robot

from robodyn_ros import InputError, PlantModel, Robot, rollout_scores
from robodyn_ros.actuation.configuration import HardwareSettings
from robodyn_ros.actuation.harmonics import Harmonics, HarmonicSettings
from robodyn_ros.simulation.commands import Drive
from robodyn_ros.simulation.mujoco_plant import MujocoPlant
from robodyn_ros.simulation.plant import Plant

LIMIT = '<limit lower="-1000" upper="1000" velocity="99" effort="999"/>'
WHEEL = Robot.from_urdf_text(robot(link("a", ""), joint("j", "a", "b", limit=LIMIT), link(
    "b", '<inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="0.3" ixy="0" ixz="0" iyz="0"/></inertial>')),
    gravity=(0.0, 0.0, 0.0))
GEAR, CONSTANT, ROTOR = 50.0, 0.1, 4e-5
MOTOR = {"nominal_voltage": 48.0, "resistance": 1.0, "torque_constant": CONSTANT, "rotor_inertia": ROTOR}
INERTIA = 0.3 + GEAR**2 * ROTOR
ORDER, AMPLITUDE, PHASE = 12, 0.004, 0.3


def actuators(**options):
    given = {"motor": MOTOR, "gear_ratio": GEAR} | options
    return HardwareSettings.from_mapping({"joints": {"j": {"actuator": given}}}, "arm").joint_actuators(WHEEL.model)


def harmonic(order=ORDER, amplitude=AMPLITUDE, phase=PHASE):
    return [{"order": order, "amplitude": amplitude, "phase": phase}]


def wheel(step=1e-3, compiled=True, integrator="semi_implicit_euler", **options):
    return Plant(WHEEL, step, actuators=actuators(**options), compiled=compiled, integrator=integrator)


def by_voltage(plant, voltage, steps=1):
    plant.advance(Drive(*np.zeros((3, 1)), np.array([voltage]), np.ones(1)), steps)


def test_a_sum_of_harmonics_its_mean_and_its_energy():
    found = Harmonics.from_settings([(HarmonicSettings(3, 2.0, 0.1), HarmonicSettings(7, -1.0)),
                                     (HarmonicSettings(1, 0.5, 0.2),)])
    angle, turned = np.array([0.4, -1.3]), np.array([0.7, 1e-7])
    by_hand = [2.0 * np.sin(3 * 0.4 + 0.1) - np.sin(7 * 0.4), 0.5 * np.sin(-1.3 + 0.2)]
    assert_allclose(found.mean(angle), by_hand, rtol=1e-14)
    many = np.linspace(-0.5, 0.5, 20_001)[:, None] * turned + angle
    assert_allclose(found.mean(angle, turned), np.mean([found.mean(each) for each in many], axis=0), rtol=1e-4)
    assert_allclose((found.integral(angle + 1e-6) - found.integral(angle - 1e-6)) / 2e-6, by_hand, rtol=1e-8)
    assert_allclose(found.greatest, [3.0, 0.5])


@pytest.mark.parametrize("integrator", few(["semi_implicit_euler", "runge_kutta", "adaptive"], 2))
def test_a_joint_swings_in_its_cogging_as_a_pendulum(integrator):
    """Small swings about the stable angle have the rate gamma sqrt(A k / I); without back-EMF."""
    plant = wheel(2e-4, integrator=integrator, cogging=harmonic(), motor=MOTOR | {"resistance": 1e9})
    rate = GEAR * np.sqrt(AMPLITUDE * ORDER / INERTIA)
    stable = (np.pi - PHASE) / ORDER / GEAR
    plant.set_state(np.array([stable + 1e-4 / GEAR]))
    start, places = plant.energy, []
    for _ in range(2000):
        by_voltage(plant, 0.0)
        places.append(plant.q[0] - stable)
    expected = 1e-4 / GEAR * np.cos(rate * 2e-4 * np.arange(1, 2001))
    assert_allclose(places, expected, atol=0.02 * 1e-4 / GEAR)
    energy = plant.energy
    assert_allclose(energy.kinetic + energy.magnetic, start.magnetic, atol=2e-3 * energy.kinetic + 1e-12)


@pytest.mark.parametrize("engine", [Plant, MujocoPlant])
def test_a_motor_below_the_cogging_does_not_turn(engine):
    plant = engine(WHEEL, 1e-3, actuators=actuators(cogging=harmonic(amplitude=0.02)))
    held = 0.02 / CONSTANT  # voltage whose torque is the amplitude, at 1 ohm
    for voltage in np.linspace(0.0, 0.98 * held, 1500):
        by_voltage(plant, voltage)
    assert abs(plant.v[0]) < 1e-2 and GEAR * abs(plant.q[0]) < 2.0 * np.pi / ORDER
    by_voltage(plant, 1.3 * held, 2000)
    assert GEAR * plant.q[0] > 4.0 * np.pi / ORDER


def test_a_fast_turn_is_not_braked_nor_driven():
    """Work of the cogging over many turns is 0, though a step passes half a period of it."""
    speeds = []
    for cogging in (None, harmonic(order=36)):
        plant = wheel(cogging=cogging)
        by_voltage(plant, 10.0, 3000)
        speeds.append(plant.v[0])
    assert GEAR * speeds[0] * 1e-3 * 36 > np.pi
    assert_allclose(speeds[1], speeds[0], rtol=1e-3)


def test_ripple_is_that_of_torque_and_back_emf():
    plant = wheel(compiled=False, torque_ripple=harmonic(6, 0.1, 0.4))
    plant.set_state(np.array([0.123]))
    drive = Drive(*np.zeros((2, 1)), np.full(1, np.inf), np.array([5.0]), np.ones(1))
    plant.advance(drive, 1)
    share = 1.0 + 0.1 * np.sin(6 * GEAR * 0.123 + 0.4)
    assert_allclose(plant.actuator_state.joint_effort, GEAR * CONSTANT * share * 5.0, rtol=1e-9)
    assert_allclose(plant.actuator_state.motor_torque, CONSTANT * share * 5.0, rtol=1e-9)
    free = wheel(1e-4, torque_ripple=harmonic(6, 0.1, 0.4))
    by_voltage(free, 5.0, 5000)
    assert_allclose(GEAR * free.v[0] * CONSTANT, 5.0, rtol=0.02)  # idle, where K_e w is the voltage
    energy = free.energy
    assert_allclose(energy.kinetic + energy.winding_heat + energy.viscous_loss, energy.drive_work, rtol=4e-3)


def test_interpreted_as_compiled_and_as_factors_of_studies():
    given = {"cogging": harmonic(), "torque_ripple": harmonic(6, 0.1)}
    ends = []
    for compiled in (True, False):
        plant = wheel(compiled=compiled, **given)
        by_voltage(plant, 3.0, 50)
        ends.append([*plant.q, *plant.v, *plant.actuator_state.joint_effort, plant.energy.magnetic])
    assert_allclose(*ends, rtol=1e-9)
    model = PlantModel.from_description(WHEEL.model, actuators=actuators(**given))
    factors = {"motor.cogging": [[0.0], [1.0], [2.0]], "motor.torque_ripple": [[0.0], [1.0], [0.5]],
               "start.v": [[1.0]] * 3}
    found = rollout_scores(WHEEL, "damping", factors, duration=0.2, plant=model)
    for k, own in enumerate(({}, given, {"cogging": harmonic(amplitude=2.0 * AMPLITUDE),
                                         "torque_ripple": harmonic(6, 0.05)})):
        alone = rollout_scores(WHEEL, "damping", {"start.v": [[1.0]]}, duration=0.2,
                               plant=PlantModel.from_description(WHEEL.model, actuators=actuators(**own)))
        assert_allclose(found.q[k], alone.q[0], rtol=1e-7)
    with pytest.raises(InputError, match=r"'motor\.cogging' has no effect, because no motor of 'test' has any"):
        rollout_scores(WHEEL, "damping", {"motor.cogging": [[1.0]]}, duration=0.1,
                       plant=PlantModel.from_description(WHEEL.model, actuators=actuators()))


@pytest.mark.parametrize(("given", "words"), [
    ({"cogging": 0.004}, "cogging: expected a list of up to 16 sections with order, amplitude and phase, received"),
    ({"cogging": [{"order": 0, "amplitude": 1.0}]}, "cogging: 0: order: expected a whole number from 1"),
    ({"cogging": [{"order": 6}]}, "cogging: 0: .*amplitude"),
    ({"cogging": [{"order": 6, "amplitude": float("nan")}]}, "cogging: 0: amplitude: expected"),
    ({"cogging": [{"order": 6, "size": 1.0}]}, "cogging: 0: .*size"),
    ({"torque_ripple": harmonic(6, 0.6) + harmonic(12, -0.5)},
     "torque_ripple: expected amplitudes below 1 in sum, as shares of the torque constant, received 1.1"),
])
def test_bad_figures_are_told_with_their_place(given, words):
    with pytest.raises(InputError, match=f"^arm: joint 'j': actuator: {words}"):
        actuators(**given)


def test_steps_that_are_too_long_and_methods_without_ripple_say_so():
    with pytest.raises(InputError, match=r"cogging of the motor at 'j': its rotor oscillates at up to .* Hz in it: "
                                         r"expected a step of at most 0\.000289 s, received 0\.001 s"):
        wheel(cogging=harmonic(12, 40.0))
    with pytest.raises(InputError, match="integrator runge_kutta: expected motors without torque_ripple"):
        wheel(integrator="runge_kutta", torque_ripple=harmonic(6, 0.1))
    with pytest.raises(InputError, match="engine mujoco: expected motors that do not depend on .* torque_ripple"):
        MujocoPlant(WHEEL, actuators=actuators(torque_ripple=harmonic(6, 0.1)))


DCMOTOR = """<mujoco><option timestep="1e-4" gravity="0 0 0" integrator="implicitfast"/><worldbody><body>
<joint name="j" axis="0 0 1" armature="4e-5"/><inertial mass="1" pos="0 0 0" diaginertia="1 1 0.01"/></body></worldbody>
<actuator><dcmotor joint="j" motorconst="0.1" resistance="1" inductance="2e-3" cogging="0.05 12 0.3"/></actuator>
</mujoco>"""


def test_cogging_and_current_are_those_of_mujocos_dcmotor():
    """A motor without gear that a voltage starts from rest, and that its cogging catches when it is gone."""
    mujoco = pytest.importorskip("mujoco")
    model = mujoco.MjModel.from_xml_string(DCMOTOR)
    data, places = mujoco.MjData(model), []
    light = Robot.from_urdf_text(robot(link("a", ""), joint("j", "a", "b", limit=LIMIT), link(
        "b", '<inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="0.01" ixy="0" ixz="0" iyz="0"/></inertial>')),
        gravity=(0.0, 0.0, 0.0))
    motor = MOTOR | {"inductance": 2e-3}
    given = {"joints": {"j": {"actuator": {"motor": motor, "gear_ratio": 1, "cogging": harmonic(amplitude=0.05)}}}}
    plant = Plant(light, 1e-4, actuators=HardwareSettings.from_mapping(given).joint_actuators(light.model))
    for step in range(8000):
        voltage = 1.5 if step < 4000 else 0.0
        data.ctrl[:] = voltage
        mujoco.mj_step(model, data)
        by_voltage(plant, voltage)
        places.append((plant.q[0], data.qpos[0]))
    ours, theirs = np.array(places).T
    assert np.ptp(ours) > 4.0 * np.pi / 12
    assert_allclose(ours, theirs, atol=0.01 * np.ptp(ours))


def test_a_joint_without_a_motor_beside_one_with_cogging():
    arm = Robot.named("planar_2r")
    section = {"actuator": {"motor": MOTOR, "gear_ratio": GEAR, "cogging": harmonic(), "torque_ripple": harmonic()}}
    settings = HardwareSettings.from_mapping({"joints": {"joint2": section}}, "arm").joint_actuators(arm.model)
    plants = [Plant(arm, 1e-3, actuators=settings, compiled=compiled) for compiled in (True, False)]
    for plant in plants:
        plant.set_state([0.4, -0.9])
        plant.advance(Drive(*np.zeros((3, 2)), np.array([0.0, 20.0]), np.array([0.0, 1.0])), 100)
    assert abs(plants[0].v[1]) > 0.1
    assert_allclose(plants[0].q, plants[1].q, rtol=1e-9)
