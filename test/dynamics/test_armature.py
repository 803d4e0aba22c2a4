# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Rotors of a description (``<dynamics armature>``) in every function of the dynamics, compiled and of the textbook."""

import re
import warnings
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from numpy.testing import assert_allclose
from pin_reference import SEEDS, pin, random_state
from random_robots import random_chain, urdf_robots
from shipped import few
from urdf_parts import joint as hinge
from urdf_parts import link

from robodyn_ros import DescriptionWarning, InputError, Robot
from robodyn_ros.actuation.configuration import HardwareSettings
from robodyn_ros.description.coupling import Coupling
from robodyn_ros.description.model import RobotModel
from robodyn_ros.description.resources import robot_file
from robodyn_ros.dynamics.articulated_body import (
    articulated_body_forward_dynamics,
    is_faster,
    mass_matrix_tree_factors,
)
from robodyn_ros.dynamics.factorization import TreeFactors
from robodyn_ros.dynamics.forward_dynamics import mass_matrix_forward_dynamics
from robodyn_ros.dynamics.mass_matrix import mass_matrix
from robodyn_ros.simulation.commands import Drive
from robodyn_ros.simulation.plant import Plant


def armed(urdf: str, *values: float) -> str:
    """A URDF whose joints have armatures, repeated in turn, and no friction."""
    urdf = re.sub("<dynamics[^>]*/>", "", urdf)
    for index in range(urdf.count("<axis")):
        urdf = urdf.replace("<axis", f'<dynamics damping="0" armature="{values[index % len(values)]}"/><AXIS', 1)
    return urdf.replace("<AXIS", "<axis")


def rigid(model: RobotModel) -> RobotModel:
    return model.with_scaled_armature(np.zeros(model.n))


@settings(deadline=None, max_examples=6)
@given(urdf_robots(max_joints=5), SEEDS)
def test_every_function_counts_them(urdf, seed):
    robot = Robot.from_urdf_text(urdf.replace('<dynamics ', '<dynamics armature="0.7" '))
    q, v, a = random_state(robot.model, seed)
    bare, rotors = Robot(rigid(robot.model)).dynamics(False, "textbook"), robot.model.armature
    multipliers = np.zeros(robot.n)
    for joint in robot.model.joints:
        multipliers[joint.dof] += joint.multiplier**2
    assert_allclose(rotors, 0.7 * multipliers)
    mass = bare.mass_matrix(q) + np.diag(rotors)
    for dynamics in (robot.dynamics(False, "textbook"), robot.dynamics()):
        assert_allclose(dynamics.mass_matrix(q), mass, rtol=1e-9, atol=1e-9)
        tau = bare.inverse_dynamics(q, v, a) + rotors * a
        assert_allclose(dynamics.inverse_dynamics(q, v, a), tau, rtol=1e-9, atol=1e-8)
        assert_allclose(dynamics.bias(q, v), bare.bias(q, v), rtol=1e-9, atol=1e-8)
        assert_allclose(dynamics.forward_dynamics(q, v, tau), a, rtol=1e-6, atol=1e-6)
        assert_allclose(dynamics.kinetic_energy(q, v), 0.5 * v @ mass @ v, rtol=1e-9)
        assert_allclose(dynamics.inverse_dynamics_derivatives(q, v, a)[2], mass, rtol=1e-9, atol=1e-9)
        by_effort = dynamics.forward_dynamics_derivatives(q, v, tau)[2]
        assert_allclose(by_effort @ mass, np.eye(robot.n), atol=1e-6)
        assert_allclose(dynamics.regressor(q, v, a), bare.regressor(q, v, a), rtol=1e-9, atol=1e-8)


@pytest.mark.parametrize("count", few([4, 20], 1))
def test_against_pinocchio(count):
    urdf = armed(random_chain(count), 0.1, 0.0, 2.5)
    model = Robot.from_urdf_text(urdf).model
    reference = pin.buildModelFromXML(urdf)
    reference.armature = np.array(model.armature)
    data = reference.createData()
    q, v, tau = random_state(model, 3)
    expected = pin.aba(reference, data, q, v, tau)
    for forward in (articulated_body_forward_dynamics, mass_matrix_forward_dynamics):
        assert_allclose(forward(model, q, v, tau), expected, rtol=1e-7, atol=1e-7)
    factors = TreeFactors(model, mass_matrix_tree_factors(model, q))
    assert_allclose(factors.solution(mass_matrix(model, q)), np.eye(count), atol=1e-8)
    robot = Robot(model)
    for found, wanted in zip(robot.dynamics().forward_dynamics_derivatives(q, v, tau),
                             (*pin.computeABADerivatives(reference, data, q, v, tau)[:2],
                              np.linalg.inv(mass_matrix(model, q))), strict=True):
        assert_allclose(found, wanted, rtol=1e-5, atol=1e-6 * np.abs(wanted).max())


def coupled(model: RobotModel, seed: int) -> RobotModel:
    """The robot with motors that drive two or three joints together."""
    rng = np.random.default_rng(seed)
    names = tuple(map(str, rng.permutation(model.joint_names)[:rng.integers(2, 4)]))
    matrix = rng.normal(size=(len(names), len(names))) + 3.0 * np.eye(len(names))
    return replace(model, couplings=(Coupling(names, 40.0 * matrix),))


FINGERS = f"""<robot name="fingers">{link('base', '')}{link('palm')}{link('left')}{link('right')}{link('tip')}
{hinge('wrist', 'base', 'palm')}{hinge('thumb', 'palm', 'left', axis='1 0 0')}{hinge('finger', 'palm', 'right')}
{hinge('end', 'right', 'tip', axis='0 1 0', extra='<mimic joint="finger" multiplier="0.7"/>')}</robot>"""


@pytest.mark.parametrize("urdf", [robot_file("arm6").read_text(), FINGERS])
def test_rotors_that_several_joints_turn(urdf):
    model = coupled(Robot.from_urdf_text(armed(urdf, 0.4, 0.7)).model, 3)
    robot, bare = Robot(model), Robot(rigid(model)).dynamics(False, "textbook")
    q, v, a = random_state(model, 3)
    # The rotors as bodies of their own on the gears' outputs.
    rotors = sum(inertia * np.outer(row, row) for inertia, row in zip(model.armature, model.coupling, strict=True))
    mass = bare.mass_matrix(q) + rotors
    tau = bare.inverse_dynamics(q, v, a) + rotors @ a
    for dynamics in (robot.dynamics(False, "textbook"), robot.dynamics()):
        assert_allclose(dynamics.mass_matrix(q), mass, rtol=1e-9, atol=1e-9)
        assert_allclose(dynamics.inverse_dynamics(q, v, a), tau, rtol=1e-9, atol=1e-8)
        assert_allclose(dynamics.bias(q, v), bare.bias(q, v), rtol=1e-9, atol=1e-8)
        assert_allclose(dynamics.forward_dynamics(q, v, tau), a, rtol=1e-6, atol=1e-6)
        assert_allclose(dynamics.kinetic_energy(q, v), 0.5 * v @ mass @ v, rtol=1e-9)
        assert_allclose(dynamics.inverse_dynamics_derivatives(q, v, a)[2], mass, rtol=1e-9, atol=1e-9)
        assert_allclose(dynamics.forward_dynamics_derivatives(q, v, tau)[2] @ mass, np.eye(model.n), atol=1e-6)


def test_chains_whose_rotors_several_joints_turn_take_no_forms_for_trees():
    model = Robot.from_urdf_text(armed(random_chain(13), 0.5)).model
    assert is_faster(model)
    model = replace(model, couplings=(Coupling(model.joint_names[3:5], [[50.0, 0.0], [-20.0, 40.0]]),))
    assert not model.has_tree_mass_matrix and not is_faster(model)
    q, v, tau = random_state(model, 2)
    a = Robot(model).dynamics().forward_dynamics(q, v, tau)
    rotors = 0.5 * model.coupling.T @ model.coupling @ a
    assert_allclose(Robot(rigid(model)).dynamics(False, "textbook").inverse_dynamics(q, v, a) + rotors, tau, atol=1e-6)
    for refused in (articulated_body_forward_dynamics, mass_matrix_tree_factors):
        with pytest.raises(InputError, match="has rotors that several joints turn"):
            refused(model, q, *((v, tau) if refused is articulated_body_forward_dynamics else ()))


def test_against_fixed_tendons_of_mujoco():
    """A rotor on a row of B is the armature of a tendon with these coefficients."""
    mujoco = pytest.importorskip("mujoco")
    urdf = re.sub("<(visual|collision)>.*?</\\1>|<(dynamics|limit)[^>]*/>", "", robot_file("arm6").read_text(),
                  flags=re.DOTALL)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DescriptionWarning)  # it has no limits
        model = coupled(Robot.from_urdf_text(armed(urdf, 0.3, 0.6)).model, 4)
    spec = mujoco.MjSpec.from_string(urdf)
    spec.option.gravity = model.gravity
    for row, inertia in zip(model.coupling, model.armature, strict=True):
        tendon = spec.add_tendon(armature=inertia)
        for name, share in zip(model.joint_names, row, strict=True):
            if share:
                tendon.wrap_joint(name, share)
    engine = spec.compile()
    data = mujoco.MjData(engine)
    q, v, tau = random_state(model, 5)
    data.qpos[:], data.qvel[:], data.qfrc_applied[:] = q, v, tau
    mujoco.mj_forward(engine, data)
    matrix = np.zeros((model.n, model.n))
    mujoco.mj_fullM(engine, data, matrix)
    dynamics = Robot(model).dynamics()
    assert_allclose(dynamics.mass_matrix(q), matrix, rtol=1e-6, atol=1e-6)
    assert_allclose(dynamics.forward_dynamics(q, v, tau), data.qacc, rtol=1e-6, atol=1e-6)


def test_the_rotor_of_a_motor_counts_instead():
    robot = Robot.from_urdf_text(armed(robot_file("planar_2r").read_text(), 0.5))
    motor = {"resistance": 1.0, "torque_constant": 0.1, "rotor_inertia": 1e-4, "nominal_voltage": 24.0}
    settings_ = HardwareSettings.from_mapping({"joints": {robot.joint_names[0]: {
        "actuator": {"motor": motor, "gear_ratio": 30.0}}}})
    plant = Plant(robot, actuators=settings_.joint_actuators(robot.model))
    links = Robot(rigid(robot.model)).dynamics().mass_matrix(plant.q).diagonal()
    assert_allclose(plant.joint_inertia(), links + [0.09, 0.5])


def test_they_slow_the_simulated_robot():
    urdf = robot_file("planar_2r").read_text()
    speeds = []
    for text in (urdf, armed(urdf, 5.0)):
        plant = Plant(Robot.from_urdf_text(text, gravity=(0, 0, 0)))
        plant.advance(Drive(np.array([1.0, 0.0]), *np.zeros((2, 2))), 10)
        speeds.append(plant.v[0])
        assert plant.energy.kinetic == pytest.approx(plant.energy.drive_work, rel=1e-2)
    mass = Robot.from_urdf_text(armed(urdf, 5.0)).dynamics().mass_matrix(np.zeros(2))
    assert speeds[1] == pytest.approx(np.linalg.solve(mass, [0.01, 0.0])[0], rel=1e-3)
    assert speeds[1] < 0.5 * speeds[0]


def test_a_negative_one_is_none():
    with pytest.warns(DescriptionWarning, match="line .*armature -0.5 is negative.*taken as 0"):
        robot = Robot.from_urdf_text(armed(robot_file("planar_2r").read_text(), -0.5))
    assert not robot.model.armature.any()


def test_none_changes_nothing():
    text = random_chain(6)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with_zeros = Robot.from_urdf_text(armed(text, 0.0))
    q, v, a = random_state(with_zeros.model, 1)
    np.testing.assert_array_equal(with_zeros.dynamics().inverse_dynamics(q, v, a),
                                  Robot.from_urdf_text(text).dynamics().inverse_dynamics(q, v, a))
