# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""From a URDF to a model: the parts, each tested in a file of its own, together."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from random_robots import urdf_robots
from urdf_parts import INERTIAL, joint, link, one_joint, robot

from robodyn_ros.base.errors import DescriptionError, DescriptionWarning, InputError
from robodyn_ros.description.model import STANDARD_GRAVITY
from robodyn_ros.description.resources import robot_file, shipped_robots
from robodyn_ros.description.urdf import load_urdf, load_urdf_text
from robodyn_ros.robot import Robot


def test_a_model_keeps_what_it_was_read_from(tmp_path):
    model = load_urdf_text(one_joint(), strict=True)
    assert (model.name, model.base_link, model.tip_link, model.n) == ("test", "a", "b", 1)
    assert model.description == one_joint()
    path = tmp_path / "robot.urdf"
    path.write_text(one_joint())
    assert load_urdf(path).description == one_joint()
    assert load_urdf_text(load_urdf(path).description).joint_names == ("j",)


def test_gravity_is_given_in_base_axes():
    np.testing.assert_array_equal(load_urdf_text(one_joint()).gravity, STANDARD_GRAVITY)
    given_gravity = np.array([1.0, 2.0, 3.0])
    model = load_urdf_text(one_joint(), gravity=given_gravity)
    given_gravity[0] = 5.0
    np.testing.assert_array_equal(model.gravity, [1, 2, 3])


@pytest.mark.parametrize("gravity", [9.81, (0, 0), (0, 0, np.nan), (0, 0, np.inf), "down", None, [[0, 0, -9.81]]])
def test_gravity_that_is_none(gravity):
    with pytest.raises(InputError, match="gravity, in base axes: expected "):
        load_urdf_text(one_joint(), gravity=gravity)


def test_a_tip_link_that_does_not_exist():
    with pytest.raises(InputError, match="robot 'test' has no link 'c'"):
        load_urdf_text(one_joint(), tip_link="c")


def test_a_robot_on_which_nothing_moves_is_a_rigid_body():
    xml = robot(link("a"), link("b"), joint("f", "a", "b", "fixed", limit=""))
    with pytest.warns(DescriptionWarning, match="line 1, <robot name='test'>: nothing moves: ") as caught:
        body = Robot.from_urdf_text(xml)
    assert (len(caught), body.n, body.tip_link) == (1, 0, "b")
    for compiled in (False, True):
        np.testing.assert_allclose(body.dynamics(compiled).forward_kinematics([])[:3, 3], [0, 0, 0.5])
    with pytest.raises(DescriptionError, match="nothing moves; dynamics, simulation and control need a joint"):
        body.check_accelerations()


def test_inertia_behind_a_massless_link_or_on_a_fixed_one_will_do():
    behind = [link("c", INERTIAL), joint("k", "b", "c", axis="1 0 0")]
    load_urdf_text(one_joint("").replace("</robot>", "".join([*behind, "</robot>"])), strict=True)
    fixed = [link("c", INERTIAL), joint("k", "b", "c", "fixed", limit="")]
    load_urdf_text(one_joint("").replace("</robot>", "".join([*fixed, "</robot>"])), strict=True)


def test_a_joint_that_mimics_may_carry_the_inertia_or_carry_none():
    for first, second in (("", INERTIAL), (INERTIAL, "")):
        follower = joint("k", "a", "c", extra='<mimic joint="j"/>')
        xml = robot(link("a"), joint("j", "a", "b"), link("b", first), link("c", second), follower)
        assert load_urdf_text(xml, strict=True).n == 1


def test_a_follower_whose_limits_exclude_its_leaders_loses_them():
    follower = joint("k", "a", "c", extra='<mimic joint="j" offset="10"/>')
    xml = robot(link("a"), joint("j", "a", "b"), link("b"), link("c"), follower)
    with pytest.warns(
        DescriptionWarning, match="line 6, <joint name='k'>: its position limits allow no position .* 'j'"
    ):
        model = load_urdf_text(xml)
    assert (model.position_lower[0], model.position_upper[0]) == (-1, 2)


@pytest.mark.parametrize("load", [load_urdf_text, Robot.from_urdf_text])
def test_warnings_point_to_the_caller(load):
    with pytest.warns(DescriptionWarning) as caught:
        load(one_joint(axis="0 0 2", limit=""))
    assert len(caught) == 2
    assert all(Path(warning.filename) == Path(__file__) for warning in caught)


def test_strict_lists_all_warnings():
    with pytest.raises(DescriptionError, match=r"(?s)length 2.*limits missing.*strict=True"):
        load_urdf_text(one_joint(axis="0 0 2", limit=""), strict=True)


def test_shapes_meshes_and_materials_are_not_read():
    shape = '<visual><geometry><mesh filename="package://nowhere/x.stl" scale="a"/></geometry><material/></visual>'
    broken = "<collision><geometry><box/></geometry></collision><collision/>"
    assert load_urdf_text(one_joint(INERTIAL + shape + broken), strict=True).n == 1


def test_a_robot_is_loaded_without_the_libraries_of_meshes():
    code = ("import sys; from robodyn_ros.description.urdf import load_urdf; load_urdf(sys.argv[1]); "
            "sys.exit('yourdfpy' in sys.modules or 'trimesh' in sys.modules)")
    assert subprocess.run([sys.executable, "-c", code, robot_file("arm6")], check=False).returncode == 0


@pytest.mark.parametrize("name", shipped_robots())
def test_shipped_robots_load_without_a_warning(name):
    model = load_urdf(robot_file(name), strict=True)
    assert model.name == name
    assert np.all(np.isfinite(model.effort_limit)) and np.all(np.isfinite(model.velocity_limit))


@given(urdf_robots())
@settings(deadline=None, max_examples=40)
def test_random_robots_load_without_a_warning_and_parents_come_first(xml):
    model = load_urdf_text(xml, strict=True)
    assert all(joint.parent < index for index, joint in enumerate(model.joints))
    assert {joint.dof for joint in model.joints} == set(range(model.n))
    assert np.all(model.position_lower < model.position_upper)
