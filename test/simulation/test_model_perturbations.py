# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Payload, mass error and gravity: against the robot with one link more, and against the regressor's linearity."""

import numpy as np
import pytest

from robodyn_ros import InputError, Robot
from robodyn_ros.description.resources import robot_file
from robodyn_ros.simulation.model_perturbations import with_gravity, with_mass_error, with_payload

RNG = np.random.default_rng(11)
PAYLOAD_URDF = """<link name="load"><inertial><origin xyz="0.1 -0.2 0.3"/><mass value="1.7"/>
<inertia ixx="0.02" iyy="0.03" izz="0.04" ixy="0.001" ixz="-0.002" iyz="0.003"/></inertial></link>
<joint name="weld" type="fixed"><parent link="tool0"/><child link="load"/></joint></robot>"""


def state(robot):
    return RNG.normal(size=(3, robot.n))


def test_payload_is_a_link_welded_to_the_tip():
    text = robot_file("arm6").read_text()
    robot = Robot.from_urdf_text(text)
    loaded = Robot(with_payload(robot.model, 1.7, [0.1, -0.2, 0.3],
                                [[0.02, 0.001, -0.002], [0.001, 0.03, 0.003], [-0.002, 0.003, 0.04]]))
    assert robot.tip_link == "tool0"
    welded = Robot.from_urdf_text(text.replace("</robot>", PAYLOAD_URDF), tip_link="tool0")
    q, v, a = state(robot)
    expected = welded.dynamics(False, "textbook").inverse_dynamics(q, v, a)
    np.testing.assert_allclose(loaded.dynamics(False, "textbook").inverse_dynamics(q, v, a), expected, rtol=1e-10)
    np.testing.assert_allclose(loaded.dynamics().inverse_dynamics(q, v, a), expected, rtol=1e-9)
    assert loaded.model.description == ""


def test_point_mass_on_a_link_in_between_weighs_what_its_jacobian_says():
    robot = Robot.from_urdf(robot_file("arm7"))
    link = robot.model.joints[3].link
    loaded = Robot(with_payload(robot.model, 2.5, link=link))
    q = state(robot)[0]
    dynamics = robot.dynamics(False, "textbook")
    weight = dynamics.jacobian(q, link)[:3].T @ (2.5 * robot.model.gravity)
    np.testing.assert_allclose(loaded.dynamics(False, "textbook").gravity(q), dynamics.gravity(q) - weight, atol=1e-10)


@pytest.mark.parametrize("percent", [20.0, -20.0])
def test_mass_error_of_all_links_scales_the_dynamics(percent):
    robot = Robot.from_urdf(robot_file("scara"))
    wrong = Robot(with_mass_error(robot.model, percent))
    q, v, a = state(robot)
    np.testing.assert_allclose(wrong.dynamics(False, "textbook").inverse_dynamics(q, v, a),
                               (1 + percent / 100) * robot.dynamics(False, "textbook").inverse_dynamics(q, v, a),
                               rtol=1e-10)


def test_mass_errors_of_single_links_add_up():
    """The dynamics are linear in the masses."""
    robot = Robot.from_urdf(robot_file("planar_2r"))
    q, v, a = state(robot)

    def effort(errors):
        return Robot(with_mass_error(robot.model, errors)).dynamics(False, "textbook").inverse_dynamics(q, v, a)

    none = effort({})
    both = effort({"joint1": 10.0, "joint2": -30.0})
    np.testing.assert_allclose(both - none, effort({"joint1": 10.0}) + effort({"joint2": -30.0}) - 2 * none, atol=1e-12)
    assert np.abs(both - none).max() > 0.1


def test_gravity_turns_with_the_mounting():
    robot = Robot.from_urdf(robot_file("planar_2r"))
    q = state(robot)[0]
    assert not Robot(with_gravity(robot.model, [0, 0, 0])).dynamics(False, "textbook").gravity(q).any()
    hanging = Robot(with_gravity(robot.model, [0, 0, 9.81])).dynamics(False, "textbook")
    np.testing.assert_allclose(hanging.gravity(q), -robot.dynamics(False, "textbook").gravity(q), rtol=1e-12)


@pytest.mark.parametrize(("change", "message"), [
    (lambda model: with_payload(model, -1.0), "mass: expected a finite number of 0 or more"),
    (lambda model: with_payload(model, np.nan), "mass: expected a finite number of 0 or more"),
    (lambda model: with_payload(model, 1.0, link="base_link"), "link 'base_link' of 'planar_2r' does not move"),
    (lambda model: with_payload(model, 1.0, link="lnk1"), "did you mean 'link1'"),
    (lambda model: with_payload(model, 1.0, [0, 0]), "centre of mass: expected an array of shape"),
    (lambda model: with_payload(model, 1.0, rotational=-np.eye(3)), "without negative principal moments"),
    (lambda model: with_payload(model, 1.0, rotational=np.triu(np.ones((3, 3)))), "expected a symmetric"),
    (lambda model: with_mass_error(model, {"joint3": 1.0}), "has no moving joint 'joint3'"),
    (lambda model: with_mass_error(model, -100.0), "expected a finite number above -100 .%."),
    (lambda model: with_gravity(model, [0, 0, np.inf]), "gravity: expected finite numbers"),
])
def test_impossible_changes_are_refused(change, message):
    with pytest.raises(InputError, match=message):
        change(Robot.from_urdf(robot_file("planar_2r")).model)
