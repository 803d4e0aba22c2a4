# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

import dataclasses
from functools import partial

import numpy as np
import pytest
from hypothesis import given, settings
from pin_reference import SEEDS, SHIPPED, PinReference, random_state, relative_error
from planar_2r import planar_2r
from random_robots import urdf_robots

from robodyn_ros.base.errors import InputError
from robodyn_ros.compile import compile_function, trace
from robodyn_ros.description.model import Inertia
from robodyn_ros.description.urdf import load_urdf_text
from robodyn_ros.dynamics import compiled_formulas
from robodyn_ros.dynamics.articulated_body import (
    articulated_body_forward_dynamics,
    is_faster,
    mass_matrix_tree_factors,
)
from robodyn_ros.dynamics.forward_dynamics import mass_matrix_forward_dynamics as forward_dynamics
from robodyn_ros.dynamics.mass_matrix import mass_matrix
from robodyn_ros.dynamics.robot_dynamics import InlineDynamics


def check(reference, seed):
    robot = reference.robot
    q, v, tau = random_state(robot, seed)
    rng = np.random.default_rng(seed)
    links = sorted(robot.frames)
    exerted = {robot.tip_link: rng.normal(size=6)} | {links[seed % len(links)]: rng.normal(size=6)}
    tolerance = max(1e-9, 1e-13 * np.linalg.cond(mass_matrix(robot, q)))
    found = articulated_body_forward_dynamics(robot, q, v, tau)
    assert relative_error(found, reference.forward_dynamics(q, v, tau)) < tolerance
    assert relative_error(found, forward_dynamics(robot, q, v, tau)) < tolerance
    found = articulated_body_forward_dynamics(robot, q, v, tau, exerted)
    assert relative_error(found, forward_dynamics(robot, q, v, tau, exerted)) < tolerance


@settings(deadline=None, max_examples=10)
@given(urdf_robots(mimic=False), SEEDS)
def test_tree_factors_make_up_the_mass_matrix(urdf, seed):
    robot = load_urdf_text(urdf)
    (q,) = random_state(robot, seed, 1)
    factors = mass_matrix_tree_factors(robot, q)
    lower = np.eye(robot.n)
    for joint in robot.joints:
        carrier = joint.parent
        while carrier >= 0:
            other = robot.joints[carrier]
            lower[joint.dof, other.dof] = factors[joint.dof, 6:12] @ factors[other.dof, :6]
            carrier = other.parent
    assert relative_error(lower.T @ (lower / factors[:, 12:]), mass_matrix(robot, q)) < 1e-12


@SHIPPED
def test_shipped_robots_against_pinocchio_and_the_mass_matrix(name):
    check(PinReference(name), 1)


@settings(deadline=None, max_examples=15)
@given(urdf_robots(mimic=False), SEEDS)
def test_random_trees_against_pinocchio_and_the_mass_matrix(urdf, seed):
    check(PinReference(urdf), seed)


def chain(count):
    """A URDF of a long chain whose axes alternate."""
    inertial = (
        '<inertial><origin xyz="0.1 0.02 -0.03"/><mass value="1.5"/>'
        '<inertia ixx="0.02" iyy="0.03" izz="0.015" ixy="0.001" ixz="0" iyz="0"/></inertial>'
    )
    parts = ['<robot name="chain"><link name="link0"/>']
    for index in range(1, count + 1):
        parts.append(
            f'<link name="link{index}">{inertial}</link><joint name="joint{index}" type="revolute">'
            f'<parent link="link{index - 1}"/><child link="link{index}"/>'
            f'<origin xyz="0.2 0 0.1" rpy="{1.5707963267948966 * (-1) ** index} 0 0"/><axis xyz="0 0 1"/>'
            '<limit lower="-3" upper="3" velocity="3" effort="10"/></joint>'
        )
    return "".join([*parts, "</robot>"])


def test_the_faster_form_is_taken():
    """For long chains articulated bodies, for short ones and trees with mimic joints the mass matrix."""
    assert not is_faster(load_urdf_text(chain(7)))
    robot = load_urdf_text(chain(20))
    assert is_faster(robot)
    shapes = {"q": (20,), "v": (20,), "tau": (20,)}
    counts = [
        trace(partial(solve, robot), shapes).operation_count
        for solve in (compiled_formulas.forward_dynamics, articulated_body_forward_dynamics, forward_dynamics)
    ]
    assert counts[0] == counts[1] < counts[2]


def test_a_long_chain_compiled_against_pinocchio():
    reference = PinReference(chain(20))
    robot = reference.robot
    kernel = compile_function(
        lambda q, v, tau: InlineDynamics(robot).forward_dynamics(q, v, tau), {"q": (20,), "v": (20,), "tau": (20,)}
    )
    q, v, tau = random_state(robot, 3)
    assert relative_error(kernel(q, v, tau), reference.forward_dynamics(q, v, tau)) < 1e-9


@settings(deadline=None, max_examples=10)
@given(urdf_robots(max_joints=6), SEEDS)
def test_mimic_joints_are_refused(urdf, seed):
    robot = load_urdf_text(urdf)
    q, v, tau = random_state(robot, seed)
    if len(robot.joints) == robot.n:
        articulated_body_forward_dynamics(robot, q, v, tau)
    else:
        assert not is_faster(robot)
        with pytest.raises(InputError, match="mimic other joints"):
            articulated_body_forward_dynamics(robot, q, v, tau)


def test_a_joint_that_moves_no_inertia_is_an_error_traced_or_not():
    robot = planar_2r()
    still = Inertia.zero()
    bare = dataclasses.replace(robot, joints=tuple(dataclasses.replace(joint, inertia=still) for joint in robot.joints))
    shapes = {"q": (2,), "v": (2,), "tau": (2,)}
    with pytest.raises(InputError, match=f"{bare.joints[1].name}.*no inertia"):
        articulated_body_forward_dynamics(bare, np.zeros(2), np.zeros(2), np.ones(2))
    with pytest.raises(InputError, match=f"{bare.joints[1].name}.*no inertia"):
        trace(lambda q, v, tau: articulated_body_forward_dynamics(bare, q, v, tau), shapes)
