# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Current loops of drives: step response, limit of the voltage, dead time, and what they do in the simulated robot."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from shipped import few
from urdf_parts import joint, link, robot

from robodyn_ros import InputError, PlantModel, Robot, rollout_scores
from robodyn_ros.actuation.configuration import HardwareSettings
from robodyn_ros.actuation.current_loop import DRIVES
from robodyn_ros.simulation.commands import Drive
from robodyn_ros.simulation.mujoco_plant import MujocoPlant
from robodyn_ros.simulation.plant import Plant

LIMIT = '<limit lower="-1000" upper="1000" velocity="99" effort="999"/>'
WHEEL = Robot.from_urdf_text(robot(link("a", ""), joint("j", "a", "b", limit=LIMIT), link(
    "b", '<inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="0.3" ixy="0" ixz="0" iyz="0"/></inertial>')),
    gravity=(0.0, 0.0, 0.0))
GEAR, CONSTANT, RESISTANCE, INDUCTANCE = 50.0, 0.1, 0.8, 1.2e-3
MOTOR = {"nominal_voltage": 48.0, "resistance": RESISTANCE, "torque_constant": CONSTANT, "rotor_inertia": 4e-5,
         "inductance": INDUCTANCE}
EFFORT = 10.0
CURRENT = EFFORT / GEAR / CONSTANT
HELD = np.full(1, np.inf)


def actuators(loop=None, **options):
    given = {"motor": MOTOR, "gear_ratio": GEAR} | ({} if loop is None else {"current_loop": loop}) | options
    return HardwareSettings.from_mapping({"joints": {"j": {"actuator": given}}}, "arm").joint_actuators(WHEEL.model)


def wheel(loop, step=1e-3, compiled=True, engine=Plant, **options):
    compiled = {"compiled": compiled} if engine is Plant else {}
    return engine(WHEEL, step, actuators=actuators(loop, **options), **compiled)


def held_currents(plant, steps, effort=EFFORT):
    """Current of a motor whose joint is held, after each step."""
    currents = []
    for _ in range(steps):
        plant.advance(Drive(np.array([effort]), np.zeros(1), HELD))
        currents.append(plant.actuator_state.current[0])
    return np.array(currents)


def loop_by_hand(steps, gain, rate, period, delay=0, limit=np.inf, target=CURRENT, parts=1):
    """Currents of a sampled PI loop with an armature at rest, solved with many small steps between the samples."""
    current, integral, line, currents = 0.0, 0.0, [0.0] * delay, []
    for _ in range(steps):
        for _ in range(parts):
            error = target - current
            wanted = gain * error + integral
            voltage = min(max(wanted, -limit), limit)
            integral += period * rate * (error + (voltage - wanted) / gain)
            line.insert(0, voltage)
            applied = line.pop() if delay else line.pop(0)
            for _ in range(400):
                current += (applied - RESISTANCE * current) / INDUCTANCE * period / 400
        currents.append(current)
    return np.array(currents)


@pytest.mark.parametrize("bandwidth", few([100.0, 400.0], 1))
def test_the_current_follows_a_step_with_the_bandwidth(bandwidth):
    """1 - exp(-omega t), of a loop whose period is short beside it."""
    times = 2e-4 * np.arange(1, 40)
    found = held_currents(wheel({"bandwidth": bandwidth, "period": 4e-6}, 2e-4), 39)
    assert_allclose(found, CURRENT * (1.0 - np.exp(-2.0 * np.pi * bandwidth * times)), atol=0.02 * CURRENT)
    assert_allclose(found[-1], CURRENT, rtol=0.02)


@pytest.mark.parametrize(("natural", "damping"), few([(900.0, 0.6), (2000.0, 0.7)], 1))
def test_free_gains_make_a_system_of_second_order(natural, damping):
    """i / i* = (k_P s + k_I) / (L s^2 + (R + k_P) s + k_I): its step response, with its overshoot."""
    gain, rate = 2.0 * damping * natural * INDUCTANCE - RESISTANCE, natural**2 * INDUCTANCE
    times, decay, swing = 2e-4 * np.arange(1, 60), damping * natural, natural * np.sqrt(1.0 - damping**2)
    sine = (decay - gain / INDUCTANCE) / swing  # of the current's derivative at the start, k_P / L
    expected = 1.0 - np.exp(-decay * times) * (np.cos(swing * times) + sine * np.sin(swing * times))
    found = held_currents(wheel({"proportional": gain, "integral": rate, "period": 4e-6}, 2e-4), 59)
    assert expected.max() > 1.05
    assert_allclose(found, CURRENT * expected, atol=0.02 * CURRENT)


@pytest.mark.parametrize(("delay", "limit"), few([
    (1, 48.0), (2, 2.5), (0, 48.0), (3, 48.0), (0, 2.5)], 2))
def test_it_is_a_sampled_pi_loop_with_dead_time_and_anti_windup(delay, limit):
    gain, rate, period = 0.9, 500.0, 1e-4
    plant = wheel({"proportional": gain, "integral": rate, "period": period, "delay": delay}, 5e-4,
                  voltage_limit=limit)
    expected = loop_by_hand(12, gain, rate, period, delay, limit, parts=5)
    assert_allclose(held_currents(plant, 12), expected, rtol=5e-3, atol=5e-3 * CURRENT)
    turned = held_currents(wheel({"proportional": gain, "integral": rate, "period": period, "delay": delay}, 5e-4,
                                 compiled=False, voltage_limit=limit), 12)
    assert_allclose(turned, held_currents(wheel({"proportional": gain, "integral": rate, "period": period,
                                                 "delay": delay}, 5e-4, voltage_limit=limit), 12), rtol=1e-9)


def test_dead_time_delays_the_first_current_by_its_periods():
    found = held_currents(wheel({"bandwidth": 300.0, "period": 1e-4, "delay": 3}, 1e-4), 8)
    assert (found[:3] == 0.0).all() and found[3] > 0.0


def test_the_integral_does_not_wind_up_at_the_limit():
    """After a demand that the voltage cannot meet for long, the current returns as fast as after a short one."""
    loop = {"bandwidth": 300.0, "period": 1e-4}
    ends = []
    for steps in (30, 600):
        plant = wheel(loop, voltage_limit=2.0)
        held_currents(plant, steps, 5.0 * EFFORT)
        assert_allclose(plant.actuator_state.current, 2.0 / RESISTANCE, rtol=1e-6)
        assert plant.actuator_state.voltage_saturated.all()
        ends.append(held_currents(plant, 5, 0.2 * EFFORT))
    assert_allclose(ends[1], ends[0], rtol=1e-6)
    assert_allclose(ends[1][-1], 0.2 * CURRENT, rtol=0.02)


@pytest.mark.parametrize("engine", few([Plant, MujocoPlant], 1))
def test_a_drive_with_a_loop_exerts_the_effort_while_it_turns(engine):
    """Its effort does not fall with the speed by L/R and the back-EMF until the voltage ends, then the speed does."""
    plant = wheel({"bandwidth": 500.0, "period": 1e-4}, engine=engine)
    inertia = 0.3 + GEAR**2 * 4e-5
    plant.advance(Drive(np.array([EFFORT]), *np.zeros((2, 1))), 100)
    assert_allclose(plant.v, EFFORT / inertia * 0.1, rtol=0.03)
    plant.advance(Drive(np.array([EFFORT]), *np.zeros((2, 1))), 6000)
    assert_allclose(plant.v, 48.0 / CONSTANT / GEAR, rtol=2e-3)
    energy = plant.energy
    assert_allclose(energy.kinetic + energy.magnetic + energy.winding_heat, energy.drive_work, rtol=5e-3)


def test_a_limit_of_the_current_holds_and_voltages_open_the_loop():
    plant = wheel({"proportional": 1.0, "integral": 2000.0, "period": 1e-4}, current_limit=1.0)
    assert held_currents(plant, 50).max() <= 1.0 + 1e-12
    assert_allclose(plant.actuator_state.current, 1.0, rtol=1e-6)
    plant.advance(Drive(*np.zeros((2, 1)), HELD, np.array([0.4]), np.ones(1)), 100)
    assert_allclose(plant.actuator_state.current, 0.4 / RESISTANCE, rtol=1e-6)
    assert_allclose(plant.actuator_state.voltage, 0.4)


def test_bandwidths_of_studies_are_those_of_drives_made_so():
    model = PlantModel.from_description(WHEEL.model, actuators=actuators({"bandwidth": 200.0, "delay": 1}))
    assert_allclose(model.actuators.loop_gains.bandwidth, 200.0)
    given = {"motor.current_loop_bandwidth": [[100.0], [400.0]], "start.v": [[2.0]] * 2}
    found = rollout_scores(WHEEL, "damping", given, duration=0.1, plant=model)
    for k, bandwidth in enumerate((100.0, 400.0)):
        own = PlantModel.from_description(WHEEL.model, actuators=actuators({"bandwidth": bandwidth, "delay": 1}))
        alone = rollout_scores(WHEEL, "damping", {"start.v": [[2.0]]}, duration=0.1, plant=own)
        assert_allclose(found.v[k], alone.v[0], rtol=1e-9)
    assert found.v[0] != found.v[1]
    with pytest.raises(InputError, match="current_loop_bandwidth' has no effect, because no motor of 'test' has a"):
        rollout_scores(WHEEL, "damping", given, duration=0.1,
                       plant=PlantModel.from_description(WHEEL.model, actuators=actuators()))


SLUGGISH = {"proportional": 1e-3, "integral": 360.0 * np.pi * RESISTANCE}


@pytest.mark.parametrize(("gains", "samples", "words"), [
    ({"bandwidth": 180.0}, {"motor.current_loop_bandwidth": [[100.0], [900.0]]}, "bandwidth, sample 1, .* 900"),
    (SLUGGISH, {"motor.current_loop_proportional": [[1e-3], [2e-3], [1e3]]}, "proportional, sample 2, .* 1000"),
    (SLUGGISH, {"motor.current_loop_integral": [[1e6], [1.0]]}, "integral, sample 0, .* 1e\\+06"),
    (SLUGGISH, {"motor.resistance": [[RESISTANCE], [0.1 * RESISTANCE]]}, "resistance, sample 1, joint j: .* received"),
])
def test_samples_with_which_a_loop_is_unstable_are_refused_as_at_load(gains, samples, words):
    model = PlantModel.from_description(WHEEL.model, actuators=actuators({**gains, "period": 1e-4, "delay": 4}))
    with pytest.raises(InputError, match=rf"^samples of motor\..*{words}") as error:
        rollout_scores(WHEEL, "damping", samples, duration=0.01, plant=model)
    assert "a bandwidth of 185.2 Hz would do" in str(error.value) and "\n" not in str(error.value)


@pytest.mark.parametrize("name", DRIVES.names)
def test_drives_of_the_catalogue_fit_steps_of_1_ms(name):
    drive = DRIVES.load(name)
    assert drive.name and drive.source and 1e-5 < drive.period < 2e-4
    found = actuators({"drive": name, "bandwidth": 500.0, "delay": 1})
    assert found.current_loops.period == drive.period
    assert found.limits.current_limit == (drive.peak_current or np.inf)
    assert actuators({"drive": name, "bandwidth": 500.0}, current_limit=3.0).limits.current_limit == 3.0
    currents = held_currents(wheel({"drive": name, "bandwidth": 500.0, "delay": 1}), 10)
    assert_allclose(currents[-1], CURRENT, rtol=1e-3)


def test_a_drive_of_ones_own_is_a_file(tmp_path):
    path = tmp_path / "mine.yaml"
    path.write_text("{name: mine, source: measured, period: 5.0e-5, peak_current: 7}")
    found = actuators({"drive": str(path), "bandwidth": 500.0})
    assert found.current_loops.period == 5e-5 and found.limits.current_limit == 7.0
    assert actuators({"drive": str(path), "bandwidth": 500.0, "period": 1e-4}).current_loops.period == 1e-4


@pytest.mark.parametrize(("loop", "words"), [
    ({"drive": "maxon_epos", "bandwidth": 5.0}, "drive: unknown drive 'maxon_epos'"),
    ({}, "expected bandwidth, or else proportional and integral, received none of them"),
    ({"bandwidth": 100.0, "integral": 1.0}, "expected bandwidth, or else .* received bandwidth and integral"),
    ({"bandwidth": 0.0}, "bandwidth: expected a finite number above 0"),
    ({"bandwidth": -5.0}, "bandwidth: expected"),
    ({"bandwidth": float("nan")}, "bandwidth: expected"),
    ({"bandwidth": 100.0, "period": 0.0}, "period: expected"),
    ({"bandwidth": 100.0, "delay": 9}, "delay: expected a whole number from 0 to 8"),
    ({"bandwidth": 100.0, "delay": 0.5}, "delay: expected a whole number"),
    ({"bandwith": 100.0}, "unknown key 'bandwith'"),
    (100.0, "expected keys and values"),
])
def test_bad_figures_are_told_with_their_place(loop, words):
    with pytest.raises(InputError, match=f"^arm: joint 'j': actuator: current_loop: {words}"):
        actuators(loop)


@pytest.mark.parametrize(("loop", "step", "words"), [
    ({"bandwidth": 10.0, "period": 2e-3}, 1e-3, "received a step of 0.001 s and a period of 0.002 s; a period of 0.001 "
                                                "s or a step of 0.002 s would do"),
    ({"bandwidth": 10.0, "period": 3e-4}, 1e-3, r"whole periods .*; a period of 0\.000333333 s or a step of 0\.0009 s"),
    ({"bandwidth": 10.0, "period": 1e-6}, 1e-3, "1 to 100 whole periods .*; a period of 1e-05 s or a step of 0.0001 s"),
    ({"bandwidth": 4000.0, "period": 1e-4}, 1e-3, "errors of the current grow .* a bandwidth of 1667 Hz would do"),
    ({"bandwidth": 900.0, "period": 1e-4, "delay": 4}, 1e-3, "errors of the current grow .* bandwidth of 185.2 Hz"),
])
def test_loops_that_do_not_fit_the_step_or_are_unstable_say_what_would_do(loop, step, words):
    with pytest.raises(InputError, match=f"^current_loop of joint 'j': expected .*{words}"):
        wheel(loop, step)


def test_a_bandwidth_that_is_said_to_do_does():
    assert_allclose(held_currents(wheel({"bandwidth": 185.2, "period": 1e-4, "delay": 4}), 40)[-1], CURRENT, rtol=1e-3)


def test_methods_without_it_say_so():
    with pytest.raises(InputError, match="integrator runge_kutta: expected motors without current_loop"):
        PlantModel.from_description(WHEEL.model, actuators=actuators({"bandwidth": 100.0}), integrator="runge_kutta",
                                    step=1e-4)
