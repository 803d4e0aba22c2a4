# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Transmissions of ROS and ros2_control: reductions, and the couplings of differentials and four-bar linkages."""

import numpy as np
import pytest
from urdf_parts import joint, link, load_with_warnings, one_joint, only

from robodyn_ros.description.urdf import load_urdf_text


def with_transmission(content: str) -> str:
    return one_joint().replace("</robot>", f'<transmission name="t">{content}</transmission></robot>')


@pytest.mark.parametrize(
    ("content", "reduction"),
    [
        ('<joint name="j"/><actuator name="m"><mechanicalReduction>50</mechanicalReduction></actuator>', 50),
        ('<joint name="j"/><actuator name="m"/><mechanicalReduction> -61.5 </mechanicalReduction>', -61.5),
        ('<joint name="j"><mechanical_reduction>2</mechanical_reduction></joint>'
         '<actuator name="m"><mechanical_reduction>3</mechanical_reduction></actuator>', 6),
        ('<joint name="j"/><actuator name="m1"><mechanicalReduction>50</mechanicalReduction></actuator>'
         '<actuator name="m2"><mechanicalReduction>50.0</mechanicalReduction></actuator>', 50),
        ('<joint name="j"><mechanicalReduction>50</mechanicalReduction></joint>'
         '<actuator name="m"><mechanicalReduction>50</mechanicalReduction></actuator>', 50),
        ('<joint name="j"/><actuator name="m"/>', 1),
    ],
)  # fmt: skip
def test_the_reduction_of_a_transmission(content, reduction):
    assert load_urdf_text(with_transmission(content), strict=True).joints[0].reduction == reduction


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        ('<joint name="k"/><mechanicalReduction>5</mechanicalReduction>', "its joint 'k' does not exist"),
        ('<joint name="j"/><joint name="k"/><mechanicalReduction>5</mechanicalReduction>', "it couples 2 joints"),
        ('<joint name="j"/><mechanicalReduction>0</mechanicalReduction>', "'0' is not a finite number other than 0"),
        ('<joint name="j"/><mechanicalReduction>r</mechanicalReduction>', "'r' is not a finite number other than 0"),
        ('<joint name="j"/><mechanicalReduction/>', "None is not a finite number other than 0"),
        ('<joint name="j"/><mechanicalReduction>1_0</mechanicalReduction>', "'1_0' is not a finite number other than"),
        ('<joint name="j"/><actuator name="m1"><mechanicalReduction>50</mechanicalReduction></actuator>'
         '<actuator name="m2"><mechanicalReduction>60</mechanicalReduction></actuator>', "reductions 50, 60 differ"),
    ],
)
def test_a_transmission_that_cannot_be_used_is_a_warning(content, problem):
    model, messages = load_with_warnings(with_transmission(content))
    assert "line 5, <transmission name='t'>" in only(messages) and problem in only(messages)
    assert model.joints[0].reduction == 1.0


@pytest.mark.parametrize("second", [50, 60])
def test_of_two_transmissions_of_a_joint_the_first_counts(second):
    one = '<transmission name="{}"><joint name="j"/><mechanicalReduction>{}</mechanicalReduction></transmission>'
    model, messages = load_with_warnings(one_joint().replace(
        "</robot>", f"{one.format('t', 50)}\n<ros2_control>{one.format('u', second)}</ros2_control></robot>"))
    assert ("line 6, <transmission name='u'>: the joint 'j' has another transmission, in line 5; that one counts, with "
            "reduction 50") in only(messages)
    assert model.reduction[0] == 50


TWO = f"""<robot name="two">{link('base', '')}{link('l1')}{link('l2')}{link('l3', '')}
{joint('j1', 'base', 'l1')}{joint('j2', 'l1', 'l2')}{joint('still', 'l2', 'l3', kind='fixed')}
{{}}</robot>"""

PLUGIN = """<ros2_control name="c" type="system"><transmission name="t"><plugin>transmission_interface/{}</plugin>
<actuator name="a" role="actuator1"><mechanical_reduction>50</mechanical_reduction></actuator>
<actuator name="b" role="actuator2"><mechanical_reduction>-40</mechanical_reduction></actuator>
<joint name="j1" role="joint1"><mechanical_reduction>2</mechanical_reduction><offset>0.5</offset></joint>
<joint name="j2" role="joint2"><mechanical_reduction>-3</mechanical_reduction><offset>-0.25</offset></joint>
</transmission></ros2_control>"""


def joints_of_differential(x):
    """Joint positions by motor positions, as the header of ros2_control's DifferentialTransmission has them."""
    return np.array([(x[0] / 50 + x[1] / -40) / (2 * 2) + 0.5, (x[0] / 50 - x[1] / -40) / (2 * -3) - 0.25])


def joints_of_four_bar_linkage(x):
    return np.array([x[0] / (2 * 50) + 0.5, (x[1] / -40 - x[0] / (2 * 50)) / -3 - 0.25])


@pytest.mark.parametrize(("kind", "joints"), [
    ("DifferentialTransmission", joints_of_differential), ("FourBarLinkageTransmission", joints_of_four_bar_linkage)])
def test_a_coupling_turns_motors_as_ros2_control_does(kind, joints):
    from robodyn_ros.actuation.gear_train import GearTrain

    model = load_urdf_text(TWO.format(PLUGIN.format(kind)), strict=True)
    gear, motors = GearTrain.from_model(model), np.array([3.0, -7.0])
    q = joints(motors)
    np.testing.assert_allclose(gear.motor_position(q), motors, rtol=1e-12)
    torque = np.array([0.3, -0.2])  # virtual work: the power is the same on both sides
    v = joints(motors) - joints(np.zeros(2))
    assert gear.joint_effort(torque) @ v == pytest.approx(torque @ motors)
    np.testing.assert_allclose(gear.motor_torque(gear.joint_effort(torque)), torque, rtol=1e-12)
    inertia = np.array([1e-5, 2e-5])
    assert v @ gear.joint_matrix(gear.reflected(inertia)) @ v == pytest.approx(inertia @ motors**2)
    assert model.motor_zero.tolist() == [0.5, -0.25]


def test_roles_count_and_not_the_order_in_the_file():
    text = PLUGIN.format("FourBarLinkageTransmission")
    first = '<joint name="j1" role="joint1"><mechanical_reduction>2</mechanical_reduction><offset>0.5</offset></joint>'
    swapped = text.replace(first, "").replace("</transmission>", f"{first}</transmission>")
    model, messages = load_with_warnings(TWO.format(swapped))
    np.testing.assert_array_equal(model.coupling, load_urdf_text(TWO.format(text), strict=True).coupling)
    assert "its joints do not stand in the order of their roles" in only(messages)
    old = text  # ROS 1 has the roles as elements
    for name in ("actuator1", "actuator2", "joint1", "joint2"):
        old = old.replace(f' role="{name}">', f"><role>{name}</role>")
    np.testing.assert_array_equal(load_urdf_text(TWO.format(old), strict=True).coupling, model.coupling)


@pytest.mark.parametrize(("old", "new", "problem"), [
    ('role="joint2"', 'role="joint1"', "its joints have the roles 'joint1', 'joint1' instead of joint1 and joint2"),
    ('name="j2"', 'name="j1"', "coupling of j1, j1: expected two joints or more, each once"),
    ('name="j2"', 'name="j9"', "its joint 'j9' does not exist"),
    ('name="j2"', 'name="still"', "its joint 'still' is fixed or mimics another one"),
    (">-40<", ">0<", "a mechanical reduction of it is not one finite number other than 0"),
    (">-40<", ">nan<", "a mechanical reduction of it is not one finite number other than 0"),
    (">-0.25<", ">x<", "its offset 'x' is no finite number"),
    ('<actuator name="b" role="actuator2"><mechanical_reduction>-40</mechanical_reduction></actuator>', "",
     "it has 1 actuators"),
])
def test_a_coupling_that_cannot_be_used_is_a_warning(old, new, problem):
    model, messages = load_with_warnings(TWO.format(PLUGIN.format("DifferentialTransmission").replace(old, new)))
    assert problem in only(messages) and "line " in only(messages)
    assert (model.coupling is None) == ("roles" not in problem and "offset" not in problem)


def test_an_offset_alone_counts():
    model = load_urdf_text(with_transmission('<joint name="j"><offset>0.3</offset></joint><actuator name="m"/>'))
    assert model.motor_zero.tolist() == [0.3] and model.reduction.tolist() == [1.0]
