# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""The tree of links: composed along each branch it is forward kinematics; parents are the description's own."""

import dataclasses
import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from random_robots import urdf_robots

from robodyn_ros.base.errors import DescriptionError
from robodyn_ros.description.resources import robot_file
from robodyn_ros.description.urdf import load_urdf, load_urdf_text
from robodyn_ros.kinematics.forward import forward_kinematics
from robodyn_ros.kinematics.link_tree import LinkTree


@given(urdf_robots(), st.integers(0, 2**32 - 1))
def test_composed_along_each_branch_it_is_forward_kinematics(urdf, seed):
    model = load_urdf_text(urdf)
    tree = LinkTree.from_model(model)
    q = np.random.default_rng(seed).uniform(-2.0, 2.0, model.n)
    steps = {**tree.fixed_poses(), **tree.moving_poses(q)}
    assert dict(tree.parents) == {child: parent for parent, child in re.findall(
        r'<parent link="(\w+)"\s*/>\s*<child link="(\w+)"', urdf)}
    assert steps.keys() == model.frames.keys() - {model.base_link}
    for link in model.frames:
        pose, at = np.eye(4), link
        while at != model.base_link:
            pose, at = steps[at] @ pose, tree.parents[at]
        np.testing.assert_allclose(pose, forward_kinematics(model, q, link), atol=1e-9)


def test_a_joint_whose_position_is_not_known_gives_nan_for_its_link_alone():
    model = load_urdf_text("<robot name='r'><link name='a'/>" + "".join(
        f"<link name='{child}'><inertial><mass value='1'/><inertia ixx='1' iyy='1' izz='1' ixy='0' ixz='0' iyz='0'/>"
        f"</inertial></link><joint name='{parent}{child}' type='prismatic'><parent link='{parent}'/>"
        f"<child link='{child}'/><axis xyz='0 0 1'/><limit lower='-1' upper='1' velocity='1' effort='1'/></joint>"
        for parent, child in ("ab", "bc")) + "</robot>")
    poses = LinkTree.from_model(model).moving_poses(np.array([np.nan, 0.5]))
    assert np.isnan(poses["b"]).any() and poses["c"][2, 3] == 0.5


def test_a_model_without_a_description_is_refused():
    model = dataclasses.replace(load_urdf(robot_file("planar_2r")), description="")
    with pytest.raises(DescriptionError, match="empty"):
        LinkTree.from_model(model)
