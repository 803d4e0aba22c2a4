# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Axes, limits, friction and inertias: values read, and warnings."""

import numpy as np
import pytest
from urdf_parts import INERTIA, LIMIT, joint, link, load_with_warnings, one_joint, only, robot

from robodyn_ros.base.errors import DescriptionError
from robodyn_ros.description.joint_and_link_elements import snap, snap_pose
from robodyn_ros.description.urdf import load_urdf_text
from robodyn_ros.textbook.quaternions import rotation_from_quaternion


def refusal(xml: str) -> str:
    with pytest.raises(DescriptionError) as caught:
        load_urdf_text(xml)
    return str(caught.value)


def inertial(mass: float | str = 2, inertia: str = INERTIA, origin: str = "") -> str:
    return f'<inertial>{origin}<mass value="{mass}"/>{inertia}</inertial>'


def diagonal(ixx: float, iyy: float, izz: float) -> str:
    return f'<inertia ixx="{ixx}" iyy="{iyy}" izz="{izz}" ixy="0" ixz="0" iyz="0"/>'


def test_snap_removes_rounding_noise_relative_to_the_scale_and_nothing_else():
    values = np.array([1e-16, -1e-16, 1e-14, 0.5])
    np.testing.assert_array_equal(snap(values, 1.0), [0.0, 0.0, 1e-14, 0.5])
    np.testing.assert_array_equal(snap(values, 1e-3), values)


def test_a_quarter_turn_is_exact_and_a_short_hand_one_is_left_alone():
    pose = np.eye(4)
    for angle, exact in ((np.pi / 2, True), (1.57079632679, False)):
        pose[:2, :2] = [[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]]
        assert np.array_equal(snap_pose(pose, 0.0), np.round(pose)) is exact
        np.testing.assert_allclose(snap_pose(pose, 0.0), pose, rtol=0, atol=1e-15)


@pytest.mark.parametrize(("given", "unit"), [("0 0 1", [0, 0, 1]), ("0.707 0.707 0", [np.sqrt(0.5), np.sqrt(0.5), 0])])
def test_a_unit_axis_as_files_write_it(given, unit):
    model, messages = load_with_warnings(one_joint(axis=given))
    assert not messages
    np.testing.assert_allclose(model.joints[0].axis, unit, rtol=1e-15)


def test_an_axis_is_x_where_there_is_none():
    model = load_urdf_text(one_joint().replace('<axis xyz="0 0 1"/>', ""), strict=True)
    np.testing.assert_array_equal(model.joints[0].axis, [1, 0, 0])


def test_an_axis_of_another_length_is_normalised_with_a_warning():
    model, messages = load_with_warnings(one_joint(axis="0 3 4"))
    np.testing.assert_allclose(model.joints[0].axis, [0, 0.6, 0.8], rtol=1e-15)
    assert "line 3, <joint name='j'>: the axis has length 5 instead of 1; it is normalised" in only(messages)


def test_a_zero_axis_is_an_error_where_the_joint_moves():
    assert "line 3, <joint name='j'>: the axis is zero" in refusal(one_joint(axis="0 0 0"))
    assert "give a unit vector" in refusal(one_joint(axis="0 0 0"))
    fixed = joint("f", "b", "c", "fixed", axis="0 0 0", limit="")
    load_urdf_text(one_joint().replace("</robot>", link("c") + fixed + "</robot>"), strict=True)


def test_limits_as_given():
    limits = load_urdf_text(one_joint(), strict=True).joints[0].limits
    assert (limits.lower, limits.upper, limits.velocity, limits.effort) == (-1, 2, 3, 4)


def test_a_continuous_joint_has_no_position_limits_and_needs_no_others():
    (model, messages) = load_with_warnings(one_joint(kind="continuous"))
    limits = model.joints[0].limits
    assert 'no position limits, received lower="-1" and upper="2"; they have no effect' in only(messages)
    assert (limits.lower, limits.upper, limits.velocity, limits.effort) == (-np.inf, np.inf, 3, 4)
    unset = '<limit lower="0" upper="0" velocity="3" effort="4"/>'
    assert load_urdf_text(one_joint(kind="continuous", limit=unset), strict=True).position_upper[0] == np.inf
    bare = load_urdf_text(one_joint(kind="continuous", limit=""), strict=True).joints[0].limits
    assert (bare.velocity, bare.effort) == (np.inf, np.inf)


@pytest.mark.parametrize("kind", ["revolute", "prismatic"])
@pytest.mark.parametrize(
    ("limit", "missing"),
    [
        ("", "lower, upper, velocity, effort"),
        ('<limit velocity="3" effort="4"/>', "lower, upper"),
        ('<limit lower="-1" upper="2"/>', "velocity, effort"),
    ],
)
def test_missing_limits_are_unlimited_with_a_warning(kind, limit, missing):
    model, messages = load_with_warnings(one_joint(kind=kind, limit=limit))
    assert f"line 3, <joint name='j'>: limits missing: {missing}; taken as unlimited" in only(messages)
    for name in missing.split(", "):
        assert np.isinf(getattr(model.joints[0].limits, name))


@pytest.mark.parametrize("name", ["velocity", "effort"])
@pytest.mark.parametrize("value", ["0", "-1"])
def test_a_velocity_or_effort_limit_of_zero_or_less_counts_as_unset(name, value):
    given = {"velocity": 'velocity="3"', "effort": 'effort="4"'}[name]
    model, messages = load_with_warnings(one_joint(limit=LIMIT.replace(given, f'{name}="{value}"')))
    assert f"the {name} limit is {value}" in only(messages) and "taken as unlimited" in only(messages)
    assert getattr(model.joints[0].limits, name) == np.inf


def test_equal_position_limits_count_as_unset():
    model, messages = load_with_warnings(one_joint(limit='<limit lower="0" upper="0" velocity="3" effort="4"/>'))
    assert "the position limits are both 0" in only(messages) and "make the joint fixed" in only(messages)
    assert (model.joints[0].limits.lower, model.joints[0].limits.upper) == (-np.inf, np.inf)


@pytest.mark.parametrize(("kind", "limits", "odd"), [
    ("revolute", "-180 180", True), ("revolute", "0 90", True), ("revolute", "-12.6 12.6", False),
    ("revolute", "-1e9 1e9", False), ("prismatic", "0 90", False),
])
def test_limits_that_look_like_degrees(kind, limits, odd):
    lower, upper = limits.split()
    model, messages = load_with_warnings(
        one_joint(kind=kind, limit=f'<limit lower="{lower}" upper="{upper}" velocity="1" effort="1"/>'))
    assert ("look like degrees" in "".join(messages)) is odd
    assert (model.joints[0].limits.lower, model.joints[0].limits.upper) == (float(lower), float(upper))


def test_crossed_position_limits_are_swapped():
    model, messages = load_with_warnings(one_joint(limit='<limit lower="2" upper="-1" velocity="3" effort="4"/>'))
    assert "<joint name='j'>: the lower limit 2 is above the upper limit -1; they are swapped" in only(messages)
    assert (model.position_lower[0], model.position_upper[0]) == (-1, 2)


@pytest.mark.parametrize(("given", "range_"), [('upper="0.04"', (0, 0.04)), ('lower="-2"', (-2, 0))])
def test_a_limit_that_is_missing_beside_its_other_end_is_0(given, range_):
    model, messages = load_with_warnings(one_joint(limit=f'<limit {given} velocity="3" effort="4"/>', kind="prismatic"))
    assert "limit is missing; taken as 0, as URDF says" in only(messages)
    assert (model.position_lower[0], model.position_upper[0]) == range_


def test_friction_is_read_and_zero_where_there_is_none():
    model = load_urdf_text(one_joint(extra='<dynamics damping="0.5" friction="0.25"/>'), strict=True)
    assert (model.joints[0].damping, model.joints[0].friction) == (0.5, 0.25)
    model = load_urdf_text(one_joint(extra='<dynamics damping="0.5"/>'), strict=True)
    assert (model.joints[0].damping, model.joints[0].friction) == (0.5, 0.0)
    assert load_urdf_text(one_joint(), strict=True).joints[0].damping == 0.0


def test_negative_friction_is_a_warning():
    model, messages = load_with_warnings(one_joint(extra='<dynamics damping="-0.5"/>'))
    assert model.joints[0].damping == -0.5
    assert "<joint name='j'>: the damping -0.5 is negative: it would feed energy in" in only(messages)


def test_an_inertia_given_in_turned_axes():
    origin = '<origin xyz="1 2 3" rpy="0 0 1.5707963267948966"/>'
    inertia = load_urdf_text(one_joint(inertial(origin=origin)), strict=True).joints[0].inertia
    assert inertia.mass == 2.0
    np.testing.assert_array_equal(inertia.com, [1, 2, 3])
    np.testing.assert_array_equal(inertia.rotational, np.diag([0.03, 0.02, 0.04]))


def test_off_diagonal_elements_keep_their_places():
    figures = '<inertia ixx="4" ixy="0.1" ixz="0.2" iyy="5" iyz="0.3" izz="6"/>'
    inertia = load_urdf_text(one_joint(inertial(inertia=figures)), strict=True).joints[0].inertia
    np.testing.assert_array_equal(inertia.rotational, [[4, 0.1, 0.2], [0.1, 5, 0.3], [0.2, 0.3, 6]])


def test_negative_mass():
    message = refusal(one_joint(inertial(-2)))
    assert "line 4, <link name='b'>: the mass -2 kg is negative" in message


@pytest.mark.parametrize(
    ("inertia", "moments"),
    [
        (diagonal(-0.1, 0.2, 0.2), "-0.1, 0.2, 0.2"),
        ('<inertia ixx="1" ixy="2" ixz="0" iyy="1" iyz="0" izz="1"/>', "-1, 1, 3"),
        (diagonal(-1, -2, -3), "-3, -2, -1"),
    ],
)
def test_an_inertia_with_a_negative_principal_moment(inertia, moments):
    model, messages = load_with_warnings(one_joint(inertial(inertia=inertia)))
    message = only(messages)
    assert "line 4, <link name='b'>: the inertia has a negative principal moment" in message
    assert f"(principal moments {moments} kg m^2)" in message
    assert "used as given; check the signs" in message
    given = np.linalg.eigvalsh(model.joints[0].inertia.rotational)
    np.testing.assert_allclose(given, [float(moment) for moment in moments.split(",")], atol=1e-12)


def test_rounding_noise_is_no_negative_moment():
    load_urdf_text(one_joint(inertial(inertia=diagonal(0.02, 0.02, -1e-17))), strict=True)
    load_urdf_text(one_joint(inertial(inertia=diagonal(0.5, 0.5, -4e-7))), strict=True)


def test_an_impossible_inertia_fixed_to_the_base_has_no_effect_and_is_a_warning():
    xml = one_joint().replace('<link name="a">', '<link name="a">' + inertial(inertia=diagonal(-1, 1, 1)))
    assert "line 2, <link name='a'>: the inertia has a negative principal" in only(load_with_warnings(xml)[1])


def test_the_triangle_inequality():
    message = only(load_with_warnings(one_joint(inertial(inertia=diagonal(0.1, 0.2, 0.5))))[1])
    assert "line 4, <link name='b'>: the inertia breaks the triangle inequality" in message
    assert "(principal moments 0.1, 0.2, 0.5 kg m^2)" in message and "centre of mass" in message
    load_urdf_text(one_joint(inertial(inertia=diagonal(0.1, 0.2, 0.3))), strict=True)


@pytest.mark.parametrize("inertia", ["", diagonal(0, 0, 0)])
def test_mass_without_inertia(inertia):
    model, messages = load_with_warnings(one_joint(inertial(2, inertia)))
    assert "line 4, <link name='b'>: mass 2 kg without rotational inertia" in only(messages)
    np.testing.assert_array_equal(model.joints[0].inertia.rotational, np.zeros((3, 3)))


@pytest.mark.parametrize("content", [inertial(0), f"<inertial>{INERTIA}</inertial>"])
def test_inertia_without_mass(content):
    model, messages = load_with_warnings(one_joint(content))
    assert "line 4, <link name='b'>: rotational inertia without mass; give <mass>" in only(messages)
    assert model.joints[0].inertia.mass == 0.0


def test_a_massless_link_is_fine_where_something_heavier_follows():
    massless = robot(link("a"), link("b", ""), link("c"), joint("j", "a", "b"), joint("k", "b", "c", axis="1 0 0"))
    assert load_urdf_text(massless, strict=True).joints[0].inertia.mass == 0.0


TURNED = '<origin xyz="0 0 0.5" quat_xyzw="{}"/>'


def version(text: str, number: str) -> str:
    return text.replace("<robot ", f'<robot version="{number}" ')


@pytest.mark.parametrize("quaternion", [(0.1, -0.5, 0.3, 0.8), (0.5, 0.5, 0.5, 0.5), (0, 0.70710678118654757, 0,
                                                                                      0.70710678118654757)])
def test_an_origin_turns_by_its_quaternion(quaternion):
    unit = np.divide(quaternion, np.linalg.norm(quaternion))
    given = TURNED.format(" ".join(map(repr, unit.tolist())))
    text = one_joint(inertial(origin=TURNED.format("1 0 0 0")), origin=given)
    model = load_urdf_text(version(text, "1.1"), strict=True)
    wanted = rotation_from_quaternion(unit)
    np.testing.assert_allclose(model.joints[0].pose_parent_link[:3, :3], wanted, atol=1e-14)
    np.testing.assert_allclose(model.joints[0].inertia.rotational, np.diag([0.02, 0.03, 0.04]), atol=1e-17)


@pytest.mark.parametrize("number, origin, said", [
    ("1.0", TURNED.format("0 0 1 0"), "quat_xyzw is read since URDF 1.1, and this file has version 1.0; ignored"),
    ("1.1", TURNED.format("0 0 2 0"), "its quaternion has length 2 instead of 1; it is normalised"),
])
def test_a_doubtful_quaternion_is_a_warning(number, origin, said):
    model, messages = load_with_warnings(version(one_joint(origin=origin), number))
    assert said in only(messages)
    turned = np.diag([-1.0, -1.0, 1.0]) if number == "1.1" else np.eye(3)
    np.testing.assert_allclose(model.joints[0].pose_parent_link[:3, :3], turned, atol=1e-15)


@pytest.mark.parametrize("origin, said", [
    (TURNED.format("0 0 0 0"), "its quaternion is zero and has no direction"),
    (TURNED.format("0 0 1"), 'quat_xyzw="0 0 1" is not 4 finite numbers'),
    (TURNED.format("0 0 nan 1"), 'quat_xyzw="0 0 nan 1" is not 4 finite numbers'),
    ('<origin rpy="0 0 0" quat_xyzw="0 0 0 1"/>', "it has both rpy and quat_xyzw; remove one of them"),
])
def test_a_wrong_quaternion_is_refused(origin, said):
    assert said in refusal(version(one_joint(origin=origin), "1.2"))
