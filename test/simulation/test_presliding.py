# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Dry friction that bends before a joint slides: in closed form, beside LuGre's equations, and its energies."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy.integrate import solve_ivp
from shipped import few
from urdf_parts import INERTIA, joint, link, robot

from robodyn_ros import InputError, PlantModel, Robot, rollout_scores
from robodyn_ros.actuation import Friction, JointActuators, MaxwellSlip
from robodyn_ros.actuation.configuration import HardwareSettings
from robodyn_ros.description.resources import robot_file
from robodyn_ros.simulation.commands import Drive
from robodyn_ros.simulation.mujoco_plant import MujocoPlant
from robodyn_ros.simulation.plant import Plant

STIFFNESS, DAMPING, VISCOUS, COULOMB, STATIC, STRIBECK = 1e5, 316.0, 0.4, 1.0, 1.5, 0.001
"""Of the example of [CanudasDeWit], table I."""

SLIDE = {"model": "maxwell_slip", "coulomb": 1.0}

CART = Robot.from_urdf_text(robot(
    link("a", ""),
    joint("slide", "a", "b", "prismatic", limit='<limit lower="-9" upper="9" velocity="9" effort="99"/>'),
    link("b", f'<inertial><mass value="1"/>{INERTIA}</inertial>')), gravity=(0.0, 0.0, 0.0))
ARM = Robot.from_urdf(robot_file("arm7"))


def lugre(elements=4, **changes):
    figures = {"viscous": VISCOUS, "coulomb": COULOMB, "static": STATIC, "stribeck_velocity": STRIBECK,
               "stiffness": STIFFNESS, "damping": DAMPING, "elements": elements} | changes
    return MaxwellSlip(**figures)


def cart(step=1e-3, friction=None, **options):
    return Plant(CART, step, friction=lugre() if friction is None else friction, **options)


def push(plant, force, steps=1):
    plant.advance(Drive(np.array([force]), *np.zeros((2, 1))), steps)


@pytest.mark.parametrize("elements", [1, 2, 4, 16])
def test_a_small_force_meets_the_stiffness(elements):
    plant = cart(friction=lugre(elements))
    push(plant, 0.02, 500)
    assert_allclose(plant.q, 0.02 / STIFFNESS, rtol=1e-9)
    assert_allclose(plant.actuator_state.friction_effort, -0.02, rtol=1e-9)
    push(plant, 0.0, 500)
    assert_allclose(plant.q, 0.0, atol=1e-15)


@pytest.mark.parametrize("elements", [1, 4, 16])
def test_a_slow_push_follows_dahls_curve(elements):
    plant, force = cart(friction=lugre(elements)), []
    for level in np.linspace(0.0, 0.95 * STATIC, 2000):
        push(plant, level, 10)
        force.append((plant.q[0], level))
    found, level = np.array(force).T
    above = level - STATIC * (1.0 - np.exp(-STIFFNESS * found / STATIC))
    assert above.min() > -1e-3 * STATIC and above.max() < 1.01 * STATIC / (np.e * elements)


@pytest.mark.parametrize("elements", [3, 8])
def test_the_area_of_a_hysteresis_loop(elements):
    """4 G (A - G / k) of each element that slips, for deflections between -A and A."""
    plant, quarter = cart(friction=lugre(elements, viscous=0.0)), np.linspace(0.0, 0.8 * STATIC, 500)
    loop = np.concatenate([quarter, quarter[::-1], -quarter, -quarter[::-1]])

    def cycle():
        for force in loop:
            push(plant, force, 8)
            reached.append(plant.q[0])
        return plant.energy

    reached: list[float] = []
    first = cycle()
    reached.clear()
    lost = cycle().friction_loss - first.friction_loss
    bristles = plant.model.parts.presliding.bristles
    limit = bristles.share[:, 0] * STATIC
    amplitude = 0.5 * (max(reached) - min(reached))
    area = 4.0 * limit * np.maximum(amplitude - limit / bristles.stiffness[:, 0], 0.0)
    assert_allclose(lost, area.sum(), rtol=0.01)


@pytest.mark.parametrize("elements", [1, 4])
def test_it_breaks_away_at_the_static_friction(elements):
    plant = cart(friction=lugre(elements))
    for force in np.linspace(0.0, 0.999 * STATIC, 2000):
        push(plant, force)
    push(plant, 0.999 * STATIC, 500)
    assert abs(plant.v[0]) < 1e-9 and plant.q[0] < 20.0 * STATIC / STIFFNESS
    push(plant, 1.001 * STATIC, 2000)
    assert plant.v[0] > 0.1


@pytest.mark.parametrize("force", [2.0, -3.0])
def test_steady_sliding_has_stribecks_friction(force):
    plant = cart(friction=lugre(viscous=2.0, stribeck_velocity=0.5))
    plant.set_state(v=np.array([np.sign(force)]))
    push(plant, force, 8000)
    v = plant.v[0]
    level = COULOMB + (STATIC - COULOMB) * np.exp(-((v / 0.5) ** 2))
    assert_allclose(force, np.sign(v) * level + 2.0 * v, rtol=1e-4)


def test_a_small_oscillating_load_does_not_make_it_creep():
    """As it does LuGre, [AlBender]."""
    plant, places = cart(), []
    for _ in range(30):
        for phase in np.linspace(0.0, 2.0 * np.pi, 20, endpoint=False):
            push(plant, 0.5 * STATIC + 0.3 * STATIC * np.sin(phase), 20)
        places.append(plant.q[0])
    assert_allclose(places[2:], places[1], atol=1e-12)


def test_an_inner_loop_is_forgotten_when_it_closes():
    """The force returns to the outer curve: memory of the place where it turned."""
    def path(*forces):
        plant = cart()
        for force in forces:
            for part in np.linspace(0.0, 1.0, 20):
                push(plant, plant.effort[0] + part * (force - plant.effort[0]), 60)
            push(plant, force, 400)
        return plant.q[0]

    assert_allclose(path(1.0, 0.4, 1.2), path(1.2), rtol=1e-6)
    assert path(1.0, 0.4) > 1.01 * path(0.4)


def stick_slip(plant_step):
    """Positions of a cart that a spring of 2 N/m pulls at 0.1 m/s, [CanudasDeWit] IV.B, each 10 ms."""
    plant, places = cart(plant_step), []
    for step in range(round(20.0 / plant_step)):
        push(plant, 2.0 * (0.1 * plant.time - plant.q[0]))
        if step % round(0.01 / plant_step) == 0:
            places.append(plant.q[0])
    return np.array(places)


def test_stick_slip_is_that_of_lugre():
    def rate(time, state):
        x, v, z = state
        slip = STIFFNESS * abs(v) / (COULOMB + (STATIC - COULOMB) * np.exp(-((v / STRIBECK) ** 2)))
        bend = v - slip * z
        return [v, 2.0 * (0.1 * time - x) - STIFFNESS * z - DAMPING * bend - VISCOUS * v, bend]

    times = np.arange(0.0, 20.0, 0.01)
    expected = solve_ivp(rate, (0.0, 20.0), [0.0] * 3, t_eval=times, method="Radau", rtol=1e-7, atol=1e-10).y[0]
    found = stick_slip(1e-3)
    assert_allclose(found, expected, atol=0.06 * np.ptp(expected))
    moves = [np.sum(np.diff((np.diff(each) > 1e-3).astype(int)) == 1) for each in (found, expected)]
    assert moves[0] == moves[1] > 1


def stored(plant):
    energy = plant.energy
    return energy.kinetic + energy.presliding


@settings(deadline=None, max_examples=8, phases=(Phase.explicit, Phase.reuse, Phase.generate))
@given(st.floats(1.0, 9.0), st.floats(0.0, 4.0), st.integers(1, 6), st.floats(-3.0, 1.0), st.floats(1e-5, 1e-2),
       st.integers(0, 1000))
def test_energy_is_never_created(stiffness, damping, elements, speed, step, seed):
    """Of a cart that is let go, with bristles that are bent at the start, interpreted."""
    rng = np.random.default_rng(seed)
    plant = cart(step, lugre(elements, stiffness=10.0**stiffness, damping=10.0**damping, viscous=0.0), compiled=False)
    state = plant.model.state(np.zeros(1), np.array([rng.choice([-1.0, 1.0]) * 10.0**speed]))
    most = STATIC / elements / plant.model.parts.presliding.bristles.stiffness
    plant._begin(state._replace(presliding=state.presliding._replace(deflection=rng.uniform(-most, most))))
    first = before = stored(plant)
    for _ in range(15):
        push(plant, 0.0)
        now = stored(plant)
        assert now <= before * (1.0 + 1e-12) + 1e-300
        before = now
    assert_allclose(now + plant.energy.friction_loss, first, rtol=1e-9)


@pytest.mark.parametrize("stiffness", few([1e4, 1e5, 1e8], 1))
def test_an_arm_comes_to_rest_at_steps_of_1_ms_and_its_energy_balances(stiffness):
    friction = MaxwellSlip(0.1, np.full(7, 1.0), 1.5, 0.02, stiffness, 100.0)
    plant = Plant(ARM, friction=friction)
    plant.set_state(v=np.full(7, 0.3))
    for _ in range(1500):
        plant.advance(Drive(ARM.dynamics().gravity(plant.q), *np.zeros((2, 7))))
    assert np.abs(plant.v).max() < 1e-6
    rigid = Plant(ARM, friction=Friction(0.1, np.full(7, 1.0), 1.5, 0.02))
    rigid.set_state(v=np.full(7, 0.3))
    for _ in range(1500):
        rigid.advance(Drive(ARM.dynamics().gravity(rigid.q), *np.zeros((2, 7))))
    assert_allclose(plant.q, rigid.q, atol=5.0 * 1.5 / stiffness + 1e-5)
    energy = plant.energy
    start = Plant(ARM, friction=friction)
    start.set_state(v=np.full(7, 0.3))
    first = start.energy
    gained = stored(plant) + energy.potential - first.kinetic - first.potential
    lost = energy.viscous_loss + energy.friction_loss
    assert_allclose(gained, energy.drive_work - lost, atol=0.01 * first.kinetic)


def test_interpreted_as_compiled_and_in_batches():
    friction = lugre(3, coulomb=np.full(7, 1.0), stiffness=np.where(np.arange(7) % 2, 1e4, np.inf))
    ends = []
    for compiled in (True, False):
        plant = Plant(ARM, friction=friction, compiled=compiled)
        plant.set_state(v=np.full(7, 0.2))
        plant.advance(Drive(0.7 * ARM.dynamics().gravity(plant.q), *np.zeros((2, 7))), 40)
        bristles = plant.model.parts.presliding.bristles
        ends.append((plant.q, plant.v, bristles.joints, plant._state.presliding.deflection))
    for one, other in zip(*ends, strict=True):
        assert_allclose(one, other, rtol=1e-9, atol=1e-12)
    assert ends[0][2].tolist() == [1, 3, 5] and ends[0][3].shape == (3, 3)
    plant = PlantModel.from_description(ARM.model, friction=friction)
    samples = {"friction.stiffness": np.array([np.full(7, 1e3), np.full(7, 1e6)])}
    both = rollout_scores(ARM, "gravity_compensation", samples, duration=0.1, plant=plant)
    for k, stiffness in enumerate((1e3, 1e6)):
        own = replace(plant, friction=replace(friction, stiffness=np.where(np.arange(7) % 2, stiffness, np.inf)))
        alone = rollout_scores(ARM, "gravity_compensation", {"friction.scale": [1.0]}, duration=0.1, plant=own)
        assert_allclose(both.q[k], alone.q[0], rtol=1e-12)
        assert_allclose(both.v[k], alone.v[0], atol=1e-12)


def test_the_losses_of_a_gear_bend_it_too():
    """(1 - eta) |tau| of the load adds to the level at which the joint slides."""
    content = {"joints": {"slide": {
        "actuator": {"motor": {"nominal_voltage": 48.0, "resistance": 1.0, "torque_constant": 0.1,
                               "rotor_inertia": 1e-5}, "gear_ratio": 50.0, "gear_efficiency": 0.6},
        "friction": {"model": "maxwell_slip", "coulomb": 1.0, "stiffness": 1e5, "elements": 1}}}}
    hardware = HardwareSettings.from_mapping(content)
    plant = Plant(CART, actuators=hardware.joint_actuators(CART.model), friction=hardware.joint_friction(CART.model))
    for load, slides in ((1.5, False), (1.75, True)):  # 1 + 0.4 F against F: it slides from 5 / 3 on
        plant.reset()
        for force in np.linspace(0.0, load, 1000):
            push(plant, force)
        push(plant, load, 500)
        assert (abs(plant.v[0]) > 1e-3) == slides
        if not slides:
            assert_allclose(plant.q, load / 1e5, rtol=1e-6)


@pytest.mark.parametrize("step", few([1e-3, 1e-4], 1))
def test_an_elastic_joint_with_everything_keeps_the_balance_of_energy(step):
    """Presliding of the links, cogging, ripple and current loops of the motors behind springs."""
    robot = Robot.from_urdf(robot_file("planar_2r"))
    joint = {"transmission": {"stiffness": 1e4, "damping": 5.0},
             "actuator": {"motor": "maxon_re65_353297", "gear_ratio": 100, "gear_efficiency": 0.8,
                          "current_loop": {"bandwidth": 500.0, "period": 1e-4, "delay": 1},
                          "cogging": [{"order": 14, "amplitude": 0.01}],
                          "torque_ripple": [{"order": 2, "amplitude": 0.03}]},
             "friction": SLIDE | {"static": 1.4, "stiffness": 2e4, "damping": 50.0}}
    hardware = HardwareSettings.from_mapping({"joints": dict.fromkeys(robot.joint_names, joint)})
    ends = []
    for compiled in (True, False):
        plant = Plant(robot, step, actuators=hardware.joint_actuators(robot.model),
                      friction=hardware.joint_friction(robot.model), compiled=compiled)
        first = plant.energy
        plant.advance(Drive(np.array([60.0, -20.0]), *np.zeros((2, 2))), 60)
        ends.append([*plant.q, *plant.v, *plant.energy])
        energy = plant.energy
    assert_allclose(*ends, rtol=1e-8, atol=1e-10)
    held = [each.kinetic + each.potential + each.magnetic + each.presliding + each.elastic for each in (first, energy)]
    lost = energy.viscous_loss + energy.friction_loss + energy.winding_heat
    assert_allclose(held[1] - held[0], energy.drive_work - lost, atol=0.02 * energy.drive_work)


@pytest.mark.parametrize(("friction", "words"), [
    ({"stiffness": 0.0}, "stiffness: expected a finite number above 0"),
    ({"stiffness": -1e5}, "stiffness: expected a finite number above 0"),
    ({"stiffness": float("nan")}, "stiffness: expected"),
    ({"stiffness": 1e5, "damping": -1.0}, "damping: expected"),
    ({"damping": 10.0}, "damping: expected a stiffness beside it, received 10 alone"),
    ({"stiffness": 1e5, "elements": 0}, "elements: expected a whole number from 1 to 16"),
    ({"stiffness": 1e5, "elements": 2.5}, "elements: expected a whole number"),
    ({"stiffness": 1e5, "static": 0.5}, "static: expected a number not below"),
    ({"sigma_0": 1e5}, "sigma_0"),
])
def test_bad_figures_are_told_with_their_place(friction, words):
    with pytest.raises(InputError, match=f"^arm: joint 'slide': friction: .*{words}"):
        HardwareSettings.from_mapping({"joints": {"slide": {"friction": SLIDE | friction}}}, "arm").joint_friction(
            CART.model)


def test_joints_share_a_number_of_elements():
    joints = {name: {"friction": SLIDE | {"stiffness": 1e5, "elements": count}}
              for name, count in zip(ARM.joint_names[:2], (2, 3), strict=True)}
    with pytest.raises(InputError, match="elements: expected the same number for all joints, received 2 and 3"):
        HardwareSettings.from_mapping({"joints": joints}).joint_friction(ARM.model)
    joints[ARM.joint_names[1]]["friction"]["elements"] = 2
    found = HardwareSettings.from_mapping({"joints": joints}).joint_friction(ARM.model)
    assert found.bristles.joints.tolist() == [0, 1] and found.bristles.share.shape == (2, 2)


@pytest.mark.parametrize("integrator", ["runge_kutta", "explicit_euler", "adaptive"])
def test_methods_without_it_say_so(integrator):
    with pytest.raises(InputError, match=f"integrator {integrator}: expected friction without presliding"):
        cart(integrator=integrator)


def test_engines_and_studies_without_it_say_so():
    with pytest.raises(InputError, match="engine mujoco: expected friction without presliding"):
        MujocoPlant(CART, friction=lugre())
    rigid = PlantModel.from_description(CART.model, friction=Friction(np.zeros(1), 1.0),
                                        actuators=JointActuators.ideal_sources(1))
    with pytest.raises(InputError, match=r"'friction\.stiffness': expected friction with presliding"):
        rollout_scores(CART, "damping", {"friction.stiffness": [[1e5]]}, duration=0.1, plant=rigid)
