# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""The size of a robot: no link's frame is farther from the base."""

import numpy as np
import pytest
from urdf_parts import joint, link, robot

from robodyn_ros.description.resources import robot_file, shipped_robots
from robodyn_ros.description.urdf import load_urdf, load_urdf_text
from robodyn_ros.kinematics.forward import forward_kinematics
from robodyn_ros.kinematics.reach import reach


@pytest.mark.parametrize("name", shipped_robots())
def test_no_frame_is_farther_from_the_base(name):
    model = load_urdf(robot_file(name))
    q = np.linspace(0.1, 0.4, model.n)
    assert all(np.linalg.norm(forward_kinematics(model, q, link)[:3, 3]) <= reach(model) + 1e-9
               for link in model.frames)


def test_a_stretched_arm_is_as_long():
    assert reach(load_urdf(robot_file("planar_2r"))) == pytest.approx(1.9)  # a stand of 1 m, links of 0.5 and 0.4 m


@pytest.mark.parametrize(("limits", "length"), [('lower="-0.2" upper="0.3"', 0.9), ('lower="-0.7" upper="0.3"', 1.3)])
def test_a_slider_adds_its_travel_to_the_farther_side(limits, length):
    slider = joint("j2", "b", "c", "prismatic", limit=f'<limit {limits} velocity="3" effort="4"/>',
                   origin='<origin xyz="0 0.1 0"/>')
    assert reach(load_urdf_text(robot(link("a"), joint("j1", "a", "b"), link("b"), slider, link("c")))) == (
        pytest.approx(length))
