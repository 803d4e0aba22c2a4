# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Contact with surfaces: closed forms, energy, forces, and the same motion in rollouts."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.optimize import brentq
from shipped import few
from urdf_parts import joint, link, robot

from robodyn_ros import Robot
from robodyn_ros.control import ForceReference, TipReference
from robodyn_ros.control.contract.controller import Controller
from robodyn_ros.control.laws.force import ForceParameters
from robodyn_ros.control.laws.impedance import Impedance
from robodyn_ros.control.laws.task_space import pose_error
from robodyn_ros.control.plugins.registry import make_controller
from robodyn_ros.control.references.reference import SOURCES
from robodyn_ros.control.references.tip_trajectory import TipTrajectory
from robodyn_ros.description.resources import robot_file
from robodyn_ros.simulation.commands import Drive
from robodyn_ros.simulation.contact import contact_geometry, contact_wrench
from robodyn_ros.simulation.model_perturbations import with_gravity
from robodyn_ros.simulation.plant import Plant
from robodyn_ros.simulation.plant_model import PlantModel
from robodyn_ros.simulation.rollout import ClosedLoop
from robodyn_ros.simulation.world_file import world_from_mapping

MASS, G = 2.0, 9.81
FREE = '<limit lower="-100" upper="100" velocity="100" effort="1000"/>'
BODY = f'<inertial><mass value="{MASS}"/><inertia ixx="0.01" iyy="0.01" izz="0.01" ixy="0" ixz="0" iyz="0"/></inertial>'
ARM = Robot.from_urdf(robot_file("arm6"))
BENT = np.array([0.0, -1.2, 1.4, -1.6, -1.2, 0.0])


def slider(*axes):
    """A body on prismatic joints along some axes of the base."""
    parts, names = [link("base", "")], ["base", *(f"l{k}" for k in range(len(axes)))]
    for k, axis in enumerate(axes):
        parts.append(joint(f"j{k}", names[k], names[k + 1], "prismatic", axis=axis, limit=FREE, origin=""))
        parts.append(link(names[k + 1], BODY if k == len(axes) - 1 else ""))
    return Robot.from_urdf_text(robot(*parts))


def floor(body, radius=0.0, **material):
    surfaces = {"floor": {"shape": "plane", "damping": 0.0, **material}}
    return world_from_mapping({"surfaces": surfaces, "contact_points": [{"radius": radius}]}, body.model)


def effort(body, *values):
    none = np.zeros(body.n)
    return Drive(np.array(values) if values else none, none, none)


def total_energy(plant):
    energy = plant.energy
    return energy.kinetic + energy.potential + plant.surface_energy


@pytest.mark.parametrize("damping", [0.0, 0.3, 2.0])
def test_a_sphere_rebounds_as_hunt_and_crossley_say(damping):
    """Without gravity, v/c - ln(1 + c v)/c^2 is equal before and after, whatever mass and stiffness."""
    falling = slider("0 0 1")
    weightless = Robot(with_gravity(falling.model, np.zeros(3)))
    speed, errors = 1.5, []
    if damping:
        def level(v):
            return v / damping - np.log1p(damping * v) / damping**2
        expected = brentq(lambda v: level(-v) - level(speed), 1e-6, min(speed, 1.0 / damping - 1e-12))
    else:
        expected = speed
    for step in (2e-5, 1e-5):
        plant = Plant(weightless, step, [0.06], world=floor(weightless, 0.05, stiffness=1e4, damping=damping))
        plant.set_state(v=[-speed])
        plant.advance(effort(weightless), round(0.1 / step))
        assert plant.q[0] > 0.05
        errors.append(abs(plant.v[0] / expected - 1.0))
    assert errors[1] < 0.005
    assert errors[1] == pytest.approx(errors[0] / 2.0, rel=0.1)  # order 1


def test_a_block_slides_and_sticks_as_coulomb_says():
    block, mu, k = slider("1 0 0", "0 0 1"), 0.3, 1e5
    start = [0.0, -MASS * G / k]  # the floor bears the weight
    plant = Plant(block, 1e-3, start, world=floor(block, stiffness=k, friction=mu))
    plant.set_state(v=[1.0, 0.0])
    plant.advance(effort(block), 200)
    assert plant.v[0] == pytest.approx(1.0 - mu * G * 0.2, rel=1e-9)
    np.testing.assert_allclose(plant.contact_forces[0], [-mu * MASS * G, 0.0, MASS * G], rtol=1e-6)
    plant.advance(effort(block), 800)
    assert plant.q[0] == pytest.approx(1.0 / (2.0 * mu * G), rel=5e-3) and abs(plant.v[0]) < 1e-9
    for share in (0.95, 1.05):
        plant.set_state(start)
        plant.advance(effort(block, share * mu * MASS * G, 0.0), 500)
        slid = max(0.5 * (share - 1.0) * mu * G * 0.5**2, 0.0)
        assert plant.q[0] == pytest.approx(slid, rel=5e-3, abs=1e-6)  # at most CREEP


def test_friction_in_the_plane_opposes_sliding():
    block, mu = slider("1 0 0", "0 1 0", "0 0 1"), 0.4
    plant = Plant(block, 1e-3, [0.0, 0.0, -MASS * G / 1e4], world=floor(block, friction=mu))
    plant.set_state(v=[0.6, -0.8, 0.0])
    plant.advance(effort(block), 100)
    np.testing.assert_allclose(plant.v[:2], (1.0 - mu * G * 0.1) * np.array([0.6, -0.8]), rtol=1e-6)


@pytest.mark.parametrize("stiffness", few([1e3, 1e5, 1e7], 1))
def test_without_drive_the_energy_only_falls(stiffness):
    body = slider("1 0 0", "0 1 0", "0 0 1")
    surfaces = {"floor": {"shape": "plane", "friction": 0.3}, "ball": {"shape": "sphere", "radius": 0.2},
                "box": {"shape": "box", "size": [0.3, 0.4, 0.3], "position": [0.5, 0.1, 0.1], "rpy": [0.1, 0.2, 0.3]},
                "post": {"shape": "cylinder", "radius": 0.1, "length": 1, "position": [-0.4, 0.1, 0], "friction": 1}}
    for values in surfaces.values():
        values |= {"stiffness": stiffness, "damping": 0.1}
    world = world_from_mapping({"surfaces": surfaces, "contact_points": [{"radius": 0.03}]}, body.model)
    rng, touched = np.random.default_rng(0), 0
    for _ in range(6):
        plant = Plant(body, 1e-3, [0.0, 0.0, 0.5], world=world)
        plant.set_state(v=rng.normal(size=3) * [1.0, 1.0, 0.5])
        energies = [total_energy(plant)]
        for _ in range(250):
            plant.advance(effort(body), 2)
            touched += plant.contact_forces.any()
            energies.append(total_energy(plant))
        assert np.diff(energies).max() < 1e-12 * abs(energies[0])
    assert touched > 30


def wall(stiffness=1e4, friction=0.1, ahead=0.02):
    """A wall that the tip of the bent arm faces along -x; the sphere at the tip has 1 cm."""
    x = ARM.dynamics().forward_kinematics(BENT)[0, 3] - ahead
    return world_from_mapping({"surfaces": {"wall": {
        "shape": "plane", "normal": [1, 0, 0], "position": [float(x), 0, 0], "stiffness": stiffness,
        "friction": friction}}}, ARM.model)


def circle_on_wall(stiffness):
    """`force` presses 10 N on the wall from 0.2 s on and draws a circle of 2 cm from 1 s to 7 s."""
    law = make_controller("force", ARM, ForceParameters(force_axes="x"))
    loop = ClosedLoop(law, PlantModel.from_description(ARM.model, world=wall(stiffness)))
    start = SOURCES[TipReference](ARM, BENT).sample(0.0)
    center = start.position + [0.0, 0.02, 0.0]
    scenario = loop.scenario([TipTrajectory.circle(start, 1.0, 6.0, center, [1, 0, 0])], 7.5, q=BENT)
    wrenches = np.zeros((len(scenario.clocks), 6))
    wrenches[100:, 0] = -10.0
    return loop, replace(scenario, references=scenario.references._replace(wrench=wrenches))


@pytest.mark.parametrize("stiffness", few([1e4, 1e5], 1))
def test_force_presses_ten_newtons_while_the_tip_draws_a_circle(stiffness):
    loop, scenario = circle_on_wall(stiffness)
    result = loop.run(scenario)
    plane = loop.plant.world.surfaces[0].position[0] + 0.01
    depth = plane - ARM.dynamics().batch.forward_kinematics(result.q)[:, 0, 3]
    force = stiffness * np.maximum(depth, 0.0)
    steady = result.time > 1.0
    assert np.abs(force[steady] - 10.0).max() < 0.2  # 2 %
    assert np.abs(np.diff(force[steady])).max() < 0.05  # no chatter
    assert np.abs(result.error[steady, 1:3]).max() < 5e-3


def test_rollouts_with_a_world_are_the_motion_of_the_plant_to_the_bit():
    """Compiled alone, in a batch, with the law as Python code, and tick by tick."""
    loop, scenario = circle_on_wall(1e4)
    scenario = replace(scenario, clocks=scenario.clocks[:400], normals=scenario.normals[:400],
                       references=ForceReference(*(array[:400] for array in scenario.references)))
    result = loop.run(scenario)
    many = loop.scores(scenario, [loop.controller.parameters] * 5)
    np.testing.assert_allclose(many.q, np.tile(result.score.q, (5, 1)), rtol=1e-12)
    law, plant = loop.controller, Plant(ARM, position=BENT, world=loop.plant.world)

    class AsCode(Controller):
        follows, Parameters = law.follows, law.Parameters
        activate = staticmethod(lambda state: law.activate(state))
        update = staticmethod(lambda state, reference: law.update(state, reference))

    other = ClosedLoop(AsCode(ARM, law.parameters), loop.plant).run(scenario)
    np.testing.assert_array_equal(other.q, result.q)
    for k in range(400):
        np.testing.assert_array_equal(plant.q, result.q[k])
        plant.advance(effort(ARM, *result.effort[k]), 2)
    assert plant.contact_forces[0, 0] > 5.0


@pytest.mark.parametrize("stiffness", few([1e3, 1e5], 1))
def test_impedance_at_a_wall_is_passive(stiffness):
    """The energy of motion, of the wall and of the law's springs only falls, by impacts and by the law's dampers."""
    law = Impedance(ARM)
    loop = ClosedLoop(law, PlantModel.from_description(ARM.model, world=wall(stiffness, friction=0.3)), 0.001)
    goal = SOURCES[TipReference](ARM, BENT).sample(0.0)
    goal = goal._replace(position=goal.position - [0.05, 0.0, 0.0])  # 3 cm and the radius inside the wall
    scenario = loop.scenario([], 1.5, q=BENT, v=[0.3, -0.2, 0.3, 0.2, -0.3, 0.5])
    held = TipReference(*(np.repeat(field[None], len(scenario.clocks), axis=0) for field in goal))
    result = loop.run(replace(scenario, references=held))
    dynamics, energies = ARM.dynamics(), []
    world, parameters = loop.plant.world, law.parameters
    for q, v in zip(result.q, result.v, strict=True):
        error = pose_error(dynamics.forward_kinematics(q), goal)
        turn = 4.0 * (1.0 - np.sqrt(1.0 - 0.25 * error[3:] @ error[3:]))
        depth = max(contact_geometry(world, ARM.model, q).penetration[0], 0.0)
        energies.append(dynamics.kinetic_energy(q, v) + 0.5 * parameters.translation * error[:3] @ error[:3]
                        + parameters.rotation * turn + 0.5 * stiffness * depth**2)
    assert np.diff(energies).max() < 1e-4 * energies[0]
    assert energies[-1] < 0.6 * energies[0] and np.abs(result.v[-1]).max() < 0.02


def test_joint_friction_stops_and_contacts_are_solved_together():
    """A body with dry friction that an effort presses on the floor, and a stop just before the floor."""
    body = slider("0 0 1")
    rubbing = Robot(replace(body.model, joints=tuple(replace(one, friction=3.0) for one in body.model.joints)))
    plant = Plant(rubbing, position=[0.01], world=floor(rubbing, stiffness=1e4, damping=1.0))
    plant.advance(effort(rubbing, -40.0), 1000)
    pressed = plant.contact_forces[0, 2]
    assert abs(pressed - (40.0 + MASS * G)) <= 3.0 + 1e-6 and abs(plant.v[0]) < 1e-9
    stopped = replace(body.model, joints=tuple(
        replace(one, limits=replace(one.limits, lower=-1e-3)) for one in body.model.joints))
    plant = Plant(Robot(stopped), position=[0.01], world=floor(rubbing, stiffness=1e3, damping=1.0))
    plant.advance(effort(body, -40.0), 1000)
    assert plant.q[0] == -1e-3 and plant.contact_forces[0, 2] == pytest.approx(1.0, rel=1e-6)


def test_the_efforts_of_a_contact_are_those_of_its_wrench():
    """In a steady contact, the efforts that hold the arm are gravity minus J^T of the wrench at the tip."""
    loop, scenario = circle_on_wall(1e4)
    world = loop.plant.world
    result = loop.run(replace(scenario, clocks=scenario.clocks[:450], normals=scenario.normals[:450],
                              references=ForceReference(*(array[:450] for array in scenario.references))))
    plant = Plant(ARM, position=BENT, world=world)
    plant.set_state(result.q[-1], result.v[-1])
    plant.advance(effort(ARM, *result.effort[-1]), 1)
    wrench = contact_wrench(world, ARM.model, plant.q, plant.contact_forces, "tool0")
    dynamics = ARM.dynamics()
    needed = dynamics.gravity(plant.q) - dynamics.jacobian(plant.q).T @ wrench
    np.testing.assert_allclose(plant.effort, needed, atol=0.05)
    assert wrench[0] == pytest.approx(10.0, rel=0.02)
    np.testing.assert_array_equal(contact_wrench(world, ARM.model, plant.q, plant.contact_forces, "base_link")[:3],
                                  wrench[:3])


def test_compiled_contacts_are_those_of_the_formulas():
    plants = [Plant(ARM, position=BENT, world=wall(ahead=0.011, friction=0.5), compiled=compiled)
              for compiled in (True, False)]
    push = -30.0 * ARM.dynamics().jacobian(BENT)[0]
    for plant in plants:
        plant.advance(effort(ARM, *(ARM.dynamics().gravity(BENT) + push)), 60)
    np.testing.assert_allclose(plants[0].q, plants[1].q, rtol=1e-9)
    np.testing.assert_allclose(plants[0].contact_forces, plants[1].contact_forces, rtol=1e-6)
    assert plants[0].contact_forces[0, 0] > 1.0
