# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Drives that close a loop: on a free wheel, its stability, energies and engines; laws on them; bad input."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose
from urdf_parts import joint, link, robot

from robodyn_ros import InputError, PlantModel, Robot, rollout
from robodyn_ros.actuation.configuration import HardwareSettings
from robodyn_ros.actuation.drive_loop import DriveCommand, JointLaw
from robodyn_ros.control.plugins.registry import make_controller
from robodyn_ros.simulation.commands import Drive
from robodyn_ros.simulation.mujoco_plant import MujocoPlant
from robodyn_ros.simulation.plant import Plant
from robodyn_ros.simulation.standard_motion import excursion

INERTIA, STEP = 0.3, 1e-3
LIMIT = '<limit lower="-1000" upper="1000" velocity="99" effort="40"/>'
WHEEL = Robot.from_urdf_text(robot(link("a", ""), joint("j", "a", "b", limit=LIMIT), link(
    "b", f'<inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="{INERTIA}" ixy="0" ixz="0" iyz="0"/></inertial>')),
    gravity=(0.0, 0.0, 0.0))
MOTOR = {"nominal_voltage": 48.0, "resistance": 0.8, "torque_constant": 0.1, "rotor_inertia": 4e-5}
GEARED = {"motor": MOTOR, "gear_ratio": 50.0}
WOUND = {"motor": MOTOR | {"inductance": 1.2e-3}, "gear_ratio": 50.0}
IMPEDANCE = {"kind": "impedance", "max_stiffness": 1e5, "max_damping": 1e4}
ROTOR = 4e-5 * 50.0**2
NONE = np.zeros(1)
OTHERS = [{}, {"actuator": GEARED}, {"actuator": WOUND}, {"actuator": WOUND | {"current_loop": {"bandwidth": 500.0}}},
          {"transmission": {"stiffness": 2e3, "damping": 1.0, "inertia": 0.1}}]
NAMES = ["ideal", "motor", "inductance", "current_loop", "spring"]


def wheel(loop=IMPEDANCE, step=STEP, engine=Plant, *, others=None, compiled=True):
    content = {"joints": {"j": {"drive_loop": loop} | (others or {})}}
    actuators = HardwareSettings.from_mapping(content, "arm").joint_actuators(WHEEL.model)
    return engine(WHEEL, step, actuators=actuators, **({"compiled": compiled} if engine is Plant else {}))


def command(position=0.0, velocity=0.0, stiffness=0.0, damping=0.0, effort=0.0):
    loops = DriveCommand(*np.array([[position], [velocity], [stiffness], [damping]]))
    return Drive(np.array([effort]), NONE, NONE, loops=loops)


def moved(plant, steps, drive, v=0.0):
    plant.set_state(v=[v])
    states = []
    for _ in range(steps):
        plant.advance(drive)
        states.append((plant.q[0], plant.v[0]))
    return np.array(states).T


def by_hand(steps, drive, period, delay=0, limit=40.0, v=0.0):
    """Positions and velocities of a free inertia under the sampled drive, after each step of the plant."""
    q, pending, states = -0.5 * STEP * v, [0.0] * delay, []
    (position,), (velocity,), (stiffness,), (damping,) = drive.loops
    for _ in range(steps):
        for _ in range(round(STEP / period)):
            wanted = drive.effort[0] + stiffness * (position - q) + damping * (velocity - v)
            pending = [float(np.clip(wanted, -limit, limit)), *pending]
            rate = pending.pop() / INERTIA
            q, v = q + period * v + 0.5 * period**2 * rate, v + period * rate
        states.append((q + 0.5 * STEP * v, v))
    return np.array(states).T


@pytest.mark.parametrize("delay", [0, 2])
def test_a_sample_a_step_is_the_sampled_loop(delay):
    drive = command(0.8, 0.5, 60.0, 6.0, 2.0)
    found = moved(wheel(IMPEDANCE | {"period": STEP, "delay": delay}), 200, drive)
    assert_allclose(found, by_hand(200, drive, STEP, delay), rtol=1e-10, atol=1e-10)
    assert np.abs(found[1]).max() > 1.0


@pytest.mark.parametrize("delay", [0, 3])
def test_several_samples_a_step_are_near_the_sampled_loop(delay):
    drive = command(0.8, 0.5, 60.0, 6.0)
    found = moved(wheel(IMPEDANCE | {"period": 2e-4, "delay": delay}), 200, drive)
    exact, coarse = by_hand(200, drive, 2e-4, delay), by_hand(200, drive, STEP, delay)
    assert np.abs(found - exact).max() < 0.1 * np.abs(coarse - exact).max()


@pytest.mark.parametrize(("period", "share", "is_stable"), [
    (2e-4, 0.98, True), (2e-4, 1.02, False), (1e-3, 0.98, True), (1e-3, 1.02, False)])
def test_damping_is_stable_up_to_the_limit_of_the_drive(period, share, is_stable):
    plant = wheel(IMPEDANCE | {"period": period, "max_damping": 1e6})
    found = np.abs(moved(plant, 120, command(damping=share * 2.0 * INERTIA / period), v=1e-4)[1])
    assert bool(found[-1] < found[0]) is is_stable


def test_efforts_keep_to_the_limit():
    drive = command(5.0, 0.0, 1e3, 20.0)
    plant = wheel()
    found = moved(plant, 60, drive)
    assert_allclose(found[1, :40], np.arange(1, 41) * STEP * 40.0 / INERTIA, rtol=1e-12)
    assert plant.actuator_state.joint_effort[0] <= 40.0 + 1e-9


@pytest.mark.parametrize("others", OTHERS, ids=NAMES)
def test_compiled_and_interpreted_steps_agree(others):
    plants = [wheel(others=others, compiled=compiled) for compiled in (True, False)]
    found = [moved(plant, 30, command(0.5, 0.2, 80.0, 5.0, 1.0)) for plant in plants]
    assert_allclose(found[0], found[1], rtol=1e-12, atol=1e-14)
    assert_allclose(*(plant.actuator_state.joint_effort for plant in plants), rtol=1e-10)


@pytest.mark.parametrize("others", OTHERS, ids=NAMES)
def test_work_of_the_supply_is_the_rise_of_the_energies(others):
    plant = wheel(others=others)
    plant.set_state(v=[2.0])
    before = plant.energy
    velocities = np.append(2.0, moved(plant, 100, command(0.3, 0.0, 80.0, 5.0), v=2.0)[1])
    change = type(before)(*np.subtract(plant.energy, before))
    stored, inertia = change.kinetic + change.magnetic + change.elastic, INERTIA + ROTOR * ("actuator" in others)
    of_method = 0.5 * inertia * np.sum(np.diff(velocities) ** 2) * ("actuator" in others)  # see `semi_implicit_euler`
    assert change.kinetic > 0.05
    supplied = change.drive_work - change.winding_heat - change.viscous_loss
    assert supplied == pytest.approx(stored + of_method, rel=1e-9)


@pytest.mark.parametrize("others", OTHERS[:4], ids=NAMES[:4])
def test_mujoco_moves_alike(others):
    pytest.importorskip("mujoco")
    drive = command(0.5, 0.0, 80.0, 5.0)
    ours, theirs = (moved(wheel(others=others, engine=engine), 300, drive) for engine in (Plant, MujocoPlant))
    assert_allclose(ours[0], theirs[0], atol=2e-3)


@pytest.mark.parametrize(("loop", "message"), [
    ({"kind": "position", "stiffness": 10.0}, "drive_loop: expected stiffness and damping .* received no damping"),
    ({"kind": "velocity"}, "drive_loop: expected damping .* received no damping"),
    ({"kind": "impedance"}, "received no max_stiffness and no max_damping"),
    ({"kind": "velocity", "damping": 1.0, "stiffness": 3.0}, "one kind, received kind velocity and stiffness"),
    (IMPEDANCE | {"damping": 1.0}, "one kind, received kind impedance and damping"),
    ({"kind": "servo"}, "expected one of"),
    (IMPEDANCE | {"period": 0.1}, "period: expected"),
])
def test_bad_settings_are_refused(loop, message):
    with pytest.raises(InputError, match=f"^arm: joint 'j': .*{message}"):
        wheel(loop)


def test_a_drive_that_does_not_fit_the_plant_is_refused():
    with pytest.raises(InputError, match="drive_loop of joint 'j': expected a step of the plant of 1 to 100 whole"):
        wheel(IMPEDANCE | {"period": 3e-4})
    actuators = wheel().model.actuators
    with pytest.raises(InputError, match="runge_kutta: expected drives without drive_loop"):
        PlantModel.from_robot(WHEEL, STEP, actuators, integrator="runge_kutta")
    with pytest.raises(InputError, match="expected a driver, or drives with drive_loop"):
        PlantModel.from_robot(WHEEL, STEP, actuators, driver="generic")


FINE = Robot.named("planar_2r")
KINDS = {"position": {"kind": "position", "stiffness": 400.0, "damping": 20.0},
         "velocity": {"kind": "velocity", "damping": 60.0}}


def score(controller, loop=None, period=1e-3, factor=1.0):
    """RMS errors of the joints, with the default gains of 1 kHz times a factor, and drives at 5 kHz."""
    content = {"joints": {joint: {} if loop is None else {"drive_loop": loop} for joint in FINE.joint_names}}
    arm = FINE.with_timing(period)
    own = make_controller(controller, FINE).parameters
    own = replace(own, p=own.p * factor**2, d=own.d * factor)
    plant = PlantModel.from_robot(arm, STEP, HardwareSettings.from_mapping(content).joint_actuators(arm.model))
    return rollout(arm, controller, excursion(arm), parameters=own, plant=plant).score.rms_error


def test_a_law_at_100_hz_keeps_its_tracking_on_an_impedance_drive():
    best, slow, drive = (score("pd_gravity", *each, factor=2.0) for each in (
        (None, 1e-3), (None, 1e-2), (IMPEDANCE, 1e-2)))
    assert (slow > 3.0 * best).all()
    assert (drive < 1.1 * best).all()


def test_a_law_of_the_tip_runs_on_the_drives():
    content = {"joints": {joint: {"drive_loop": IMPEDANCE} for joint in FINE.joint_names}}
    plant = PlantModel.from_robot(FINE, STEP, HardwareSettings.from_mapping(content).joint_actuators(FINE.model))
    found, expected = (rollout(FINE, "task_space_pd", None, 0.3, plant=each, q=[0.5, 0.6]) for each in (plant, None))
    assert_allclose(found.q, expected.q, atol=2e-3)


@pytest.mark.parametrize("kind", KINDS)
def test_drives_with_gains_of_their_own_follow_their_commands(kind):
    plant = wheel(KINDS[kind])
    loops = plant.model.actuators.drive_loops.servo(np.array([0.4]), np.array([0.7 if kind == "velocity" else 0.0]))
    found = moved(plant, 1500, Drive(NONE, NONE, NONE, loops=loops))
    assert found[int(kind == "velocity"), -1] == pytest.approx(0.7 if kind == "velocity" else 0.4, abs=1e-3)


def test_a_law_of_efforts_on_a_drive_of_positions_is_refused():
    with pytest.raises(InputError, match="joint 'joint1': expected kind impedance for a law of efforts, received posi"):
        score("pd_gravity", KINDS["position"])


def test_gains_of_the_command_are_those_that_the_drive_takes():
    drives = HardwareSettings.from_mapping({"joints": {"j": {"drive_loop": IMPEDANCE | {
        "max_stiffness": 50.0, "max_damping": 2.0}}}}).joint_actuators(WHEEL.model).drive_loops
    forward, given = drives.follow(JointLaw(*np.array([[3.0], [-80.0], [1.0], [0.2], [0.3]])))
    assert (forward[0], *(array[0] for array in given)) == (3.0, 0.2, 0.3, 50.0, 0.0)


def test_laws_without_derivatives_are_refused():
    content = {"joints": {joint: {"drive_loop": IMPEDANCE} for joint in FINE.joint_names}}
    plant = PlantModel.from_robot(FINE, STEP, HardwareSettings.from_mapping(content).joint_actuators(FINE.model))
    with pytest.raises(InputError, match="expected a law that is compiled with the plant, since drives"):
        rollout(FINE, "computed_torque+safety", excursion(FINE), plant=plant)
