# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

import itertools
import re

import numpy as np
import pytest
from hypothesis import given, settings
from pin_reference import SEEDS, SHIPPED, PinReference, random_state, relative_error
from random_robots import urdf_robots
from urdf_parts import INERTIAL, joint, link, one_joint, robot

from bench.attack.descriptions import fault_of, mutated_urdfs
from robodyn_ros import Robot
from robodyn_ros.base.errors import DescriptionError
from robodyn_ros.compile import trace
from robodyn_ros.control.default_gains import joint_gains
from robodyn_ros.description.denavit_hartenberg import DHRow
from robodyn_ros.description.model import Inertia
from robodyn_ros.description.resources import robot_file
from robodyn_ros.dynamics.mass_matrix import check_mass_matrix, mass_matrix
from robodyn_ros.simulation.plant import Plant
from robodyn_ros.simulation.plant_model import PlantModel
from robodyn_ros.textbook.newton_euler import bias, inverse_dynamics


def check(reference, seed):
    robot = reference.robot
    (q,) = random_state(robot, seed, 1)
    expected = reference.mass_matrix(q)
    matrix = mass_matrix(robot, q)
    assert relative_error(matrix, expected) < 1e-9
    np.testing.assert_array_equal(matrix, matrix.T)
    assert np.linalg.eigvalsh(matrix)[0] > 0.0


@SHIPPED
def test_shipped_robots_against_pinocchio(name):
    check(PinReference(name), 1)


@settings(deadline=None, max_examples=20)
@given(urdf_robots(), SEEDS)
def test_random_trees_against_pinocchio(urdf, seed):
    check(PinReference(urdf), seed)


@settings(deadline=None, max_examples=10)
@given(urdf_robots(), SEEDS)
def test_columns_are_inverse_dynamics_of_unit_accelerations(urdf, seed):
    robot = PinReference(urdf).robot
    q, v = random_state(robot, seed, 2)
    columns = [inverse_dynamics(robot, q, v, unit) - bias(robot, q, v) for unit in np.eye(robot.n)]
    matrix = mass_matrix(robot, q)
    np.testing.assert_allclose(np.transpose(columns), matrix, rtol=1e-9, atol=1e-11 * np.max(matrix) + 1e-10)


def test_the_lower_triangle_costs_nothing():
    """Only one triangle is computed: no entry of the matrix is on the tape twice."""
    robot = PinReference("arm7").robot
    tape = trace(lambda q: mass_matrix(robot, q), {"q": (7,)})
    entries = tape.outputs.reshape(7, 7)
    np.testing.assert_array_equal(entries, entries.T)


POINT = '<inertial><mass value="2"/><inertia ixx="0" iyy="0" izz="0"/></inertial>'
ROD = '<inertial><mass value="2"/><inertia ixx="-1e-8" iyy="0.1" izz="0.1"/></inertial>'


def mimic(multiplier, offset="0"):
    return f'<mimic joint="j1" multiplier="{multiplier}" offset="{offset}"/>'


def two_joints(extra="", first=INERTIAL, second=INERTIAL, origin='<origin xyz="0 0 0.5"/>'):
    return robot(link("a", ""), link("b", first), link("c", second), joint("j1", "a", "b"),
                 joint("j2", "b", "c", extra=extra, origin=origin))


@pytest.mark.parametrize("urdf, named", [
    (one_joint(INERTIAL.replace('value="2"', 'value="1e308"')), ["line 4", "<mass>", "1e308"]),
    (one_joint(INERTIAL.replace('xyz="0.1', 'xyz="1e200')), ["line 4", "<origin>", "1e200"]),
    (one_joint(INERTIAL.replace('ixx="', 'ixx="1e290')), ["line 4", "<inertia>", "1e290"]),
    (one_joint(origin='<origin xyz="0 0 -1e300"/>'), ["line 3", "<origin>", "-1e300"]),
    (one_joint(extra='<dynamics damping="1e308"/>'), ["line 3", "<dynamics>", "1e308"]),
    (two_joints(mimic("1e300")), ["<mimic>", "1e300"]),
    (two_joints(mimic("1", "1e300")), ["<mimic>", "1e300"]),
])
def test_immense_numbers_are_refused_with_element_and_value(urdf, named):
    with pytest.raises(DescriptionError) as refusal:
        Robot.from_urdf_text(urdf)
    assert all(text in str(refusal.value) for text in named), refusal.value


def test_multipliers_that_are_immense_in_all_are_refused():
    urdf = robot(*(link(name) for name in "abcd"), joint("j1", "a", "b"),
                 joint("j2", "b", "c", extra=mimic("1e3")),
                 joint("j3", "c", "d", extra=mimic("1e3").replace("j1", "j2")))
    with pytest.raises(DescriptionError, match=r"j3 -> j2 -> j1: the multiplier is 1e\+06 in all"):
        Robot.from_urdf_text(urdf)


@pytest.mark.filterwarnings("ignore::robodyn_ros.base.errors.DescriptionWarning")
@pytest.mark.parametrize("urdf, named", [
    (one_joint(POINT), "joint 'j': it moves link 'b' and all behind it with an inertia of 0"),
    (one_joint(ROD, axis="1 0 0"), "joint 'j': it moves link 'b' and all behind it with an inertia of 0"),
    (two_joints(first=POINT), "joint 'j1': its inertia is"),
])
def test_a_singular_mass_matrix_gives_no_accelerations_and_names_the_joint_and_its_inertia(urdf, named):
    robot = Robot.from_urdf_text(urdf)
    zero = np.zeros(robot.n)
    for accelerations in (robot.check_accelerations, lambda: robot.dynamics().forward_dynamics(zero, zero, zero)):
        with pytest.raises(DescriptionError, match=re.escape(named)):
            accelerations()
    assert np.isfinite(robot.dynamics().gravity(zero)).all()


@pytest.mark.filterwarnings("ignore::robodyn_ros.base.errors.DescriptionWarning")
@pytest.mark.parametrize("urdf", [one_joint(POINT), one_joint(""), one_joint(kind="fixed")],
                         ids=["point mass on the axis", "no inertia", "nothing moves"])
def test_what_needs_accelerations_says_so(urdf):
    arm = Robot.from_urdf_text(urdf)
    for make in (lambda: PlantModel.from_description(arm.model), lambda: joint_gains(arm), lambda: Plant(arm)):
        with pytest.raises(DescriptionError, match="robot 'test': "):
            make()


@pytest.mark.filterwarnings("ignore::robodyn_ros.base.errors.DescriptionWarning")
def test_rotors_of_motors_make_a_mass_matrix_definite():
    model = Robot.from_urdf_text(one_joint(POINT)).model
    check_mass_matrix(model, 0.1)
    check_mass_matrix(model, np.array([0.1]))
    with pytest.raises(DescriptionError):
        check_mass_matrix(model, 0.0)


@pytest.mark.filterwarnings("ignore::robodyn_ros.base.errors.DescriptionWarning")
def test_a_robot_that_is_singular_at_single_configurations_is_accepted():
    """A point mass on two crossed axes: pointing along the first, it resists no turn about it."""
    urdf = robot(link("a", ""), link("b", ""), link("c", POINT.replace("<mass", '<origin xyz="1 0 0"/><mass')),
                 joint("j1", "a", "b"), joint("j2", "b", "c", axis="0 1 0"))
    dynamics = Robot.from_urdf_text(urdf).dynamics(False, "textbook")
    assert dynamics.mass_matrix([0.0, 0.0]) == pytest.approx(np.diag([2.0, 2.0]))


@pytest.mark.filterwarnings("ignore::robodyn_ros.base.errors.DescriptionWarning")
def test_negative_moments_by_rounding_become_zero():
    moments = Robot.from_urdf_text(one_joint(ROD, axis="0 1 0")).model.joints[0].inertia.rotational
    assert np.linalg.eigvalsh(moments)[0] >= 0.0


@pytest.mark.filterwarnings("ignore::robodyn_ros.base.errors.DescriptionWarning")
def test_a_tiny_axis_is_an_axis():
    model = Robot.from_urdf_text(one_joint(axis="3e-200 0 4e-200")).model
    assert model.joints[0].axis == pytest.approx([0.6, 0.0, 0.8])


def test_immense_limits_are_none():
    limit = '<limit lower="-1e300" upper="1.7e308" velocity="3" effort="4"/>'
    with pytest.warns(match="taken as unlimited"):
        model = Robot.from_urdf_text(one_joint(limit=limit)).model
    assert (model.position_lower[0], model.position_upper[0], model.effort_limit[0]) == (-np.inf, np.inf, 4.0)


@pytest.mark.parametrize("row, value", [
    (DHRow(1e300, 0.0, 0.0, 0.0, inertia=Inertia(1.0, np.zeros(3), np.eye(3))), "a = 1e+300"),
    (DHRow(1.0, 0.0, 0.0, 0.0, inertia=Inertia(1e308, np.zeros(3), np.eye(3))), "mass=1e+308"),
    (DHRow(1.0, 0.0, 0.0, 0.0, inertia=Inertia(1.0, np.zeros(3), np.zeros((3, 3)))), "an inertia of 0"),
])
def test_denavit_hartenberg_tables_are_held_to_the_same(row, value):
    with pytest.raises(DescriptionError) as refusal:
        Robot.from_dh([row]).check_accelerations()
    assert value in str(refusal.value)


@pytest.mark.filterwarnings("error::RuntimeWarning")
def test_no_mutated_urdf_is_accepted_with_unsound_dynamics():
    faults = [fault_of(urdf) for urdf in itertools.islice(mutated_urdfs(seed=1), 100)]
    assert faults.count("") > 15 and faults.count(None) > 30, "nothing accepted, or nothing refused"
    assert not [fault for fault in faults if fault]


@pytest.mark.filterwarnings("ignore::robodyn_ros.base.errors.DescriptionWarning")
@pytest.mark.parametrize("name, element, wrong", [
    ("arm7", 'iyz="0.008641"', 'iyz="0.2196"'), ("arm6", 'iyz="0.00010157"', 'iyz="-1"')])
def test_a_mass_matrix_that_is_indefinite_at_some_configurations_gives_no_accelerations(name, element, wrong):
    urdf = robot_file(name).read_text()
    assert element in urdf
    arm = Robot.from_urdf_text(urdf.replace(element, wrong))
    with pytest.raises(DescriptionError, match="correct the masses, inertias and lengths"):
        arm.check_accelerations()
