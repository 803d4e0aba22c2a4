# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""The tip of arms with tools, grippers and hands, of humanoids and of robots on wheels."""

import pytest

from robodyn_ros.description.default_tip import MovingJoint, default_tip, gripper_joints

ARM = ["base", *(f"link{i}" for i in range(1, 8))]


class Builder:
    """The arguments of `default_tip`, built link by link."""

    def __init__(self):
        self.joints, self.carriers, self.depths = [], {"base": -1}, {"base": 0}

    def fixed(self, carrier, *links):
        for link in links:
            self.carriers[link], self.depths[link] = self.carriers[carrier], self.depths[carrier] + 1
            carrier = link
        return self

    def moving(self, carrier, *links, mimic=False):
        for link in links:
            self.joints.append(MovingJoint(f"{link}_joint", carrier, link, self.carriers[carrier], mimic))
            self.carriers[link], self.depths[link] = len(self.joints) - 1, self.depths[carrier] + 1
            carrier = link
        return self

    def tip(self):
        return default_tip(self.joints, self.carriers, self.depths)


def arm(axes=7):
    return Builder().moving(*ARM[:axes + 1])


def with_fingers(robot, carrier, left="left_finger", right="right_finger", mimic=True):
    return robot.moving(carrier, left).moving(carrier, right, mimic=mimic)


def test_a_gripper_with_a_tool_frame_has_its_tip_there():
    fr3 = with_fingers(arm().fixed("link7", "link8", "hand", "hand_tcp"), "hand")
    assert fr3.tip() == "hand_tcp"


def test_a_gripper_without_a_tool_frame_has_its_tip_where_the_fingers_begin():
    robot = arm().fixed("link7", "flange_adapter", "palm").fixed("palm", "camera", "lens", "optical")
    assert with_fingers(robot, "palm").tip() == "palm"


@pytest.mark.parametrize("names, tip", [
    (["tool0", "flange"], "tool0"), (["flange", "ft_frame"], "flange"), (["tool0", "gripper_tcp"], "gripper_tcp"),
    (["link_eef", "camera_link", "lens"], "link_eef"), (["tool_frame", "ee_link"], "tool_frame"),
    (["end_effector", "screw"], "end_effector"), (["toolbox", "x"], "x"),
    (["tool0", "link_grasp_center"], "link_grasp_center"),
    (["flange", "grasping_frame"], "grasping_frame"), (["grasp_camera", "tool0"], "tool0"), (["Tool0", "x"], "Tool0"),
])
def test_names_of_tool_frames_count_in_an_order(names, tip):
    assert arm(6).fixed("link6", *names).tip() == tip


def test_a_tool_frame_is_behind_the_whole_arm():
    assert Builder().fixed("base", "tool0").moving(*ARM[:4]).tip() == "link3"


def test_fingers_without_names_are_short_branches_behind_an_arm():
    assert with_fingers(arm(6), "link6", "left", "right", mimic=False).tip() == "link6"
    assert with_fingers(arm(2), "link2", "left", "right", mimic=False).tip() == "left"  # may be two arms
    torso = arm(5).moving("link5", "l1", "l2", "l3", "l4").moving("link5", "neck", "head")
    assert torso.tip() == "l4"


def test_a_joint_that_turns_the_gripper_belongs_to_the_arm():
    robot = with_fingers(arm(4).moving("link4", "gripper_roll"), "gripper_roll")
    assert robot.tip() == "gripper_roll"


@pytest.mark.parametrize(("jaws", "frames", "tip"), [
    (["jaw"], [], "gripper"), (["moving_jaw"], ["gripper_frame_link"], "gripper_frame_link"),
    (["tip_left", "tip_right"], [], "gripper"), (["tip_left", "tip_right"], ["gripperframe"], "gripperframe"),
    (["tip_left", "tip_right"], ["camera", "grasp_site"], "grasp_site"),
    (["left_finger", "right_finger"], ["bar", "ee_gripper_link"], "ee_gripper_link"),
])
def test_a_gripper_that_carries_jaws_is_a_hand(jaws, frames, tip):
    """The last joint of the arm turns it, as on the arms of SO-ARM100, i2rt and Interbotix."""
    robot = arm(5).moving("link5", "gripper").fixed("gripper", *frames)
    for jaw in jaws:
        robot.moving("gripper", jaw)
    assert robot.tip() == tip


def test_parts_of_a_gripper_that_carry_others_are_fingers():
    linkage = arm(6).moving("link6", "gripper_left", "gripper_left_tip").moving("link6", "gripper_right",
                                                                               "gripper_right_tip")
    assert linkage.tip() == "link6"
    assert arm(6).moving("link6", "gripper_knuckle", "gripper_finger").tip() == "link6"
    assert arm(6).moving("link6", "gripper", mimic=True).moving("gripper", "pad").tip() == "link6"
    assert arm(6).moving("link6", "gripper").tip() == "link6"


def test_a_hand_alone_has_its_tip_at_a_finger():
    hand = Builder().moving("base", "finger_1", "finger_2").moving("base", "thumb_1")
    assert hand.tip() == "finger_2"


def test_wheels_and_a_head_are_no_arm():
    stretch = Builder().moving("base", "left_wheel").moving("base", "right_wheel").moving("base", "lift", "extension",
                                                                                          "wrist_yaw")
    stretch.moving("base", "head_pan", "head_tilt").fixed("wrist_yaw", "gripper_body", "camera")
    assert with_fingers(stretch, "gripper_body", mimic=False).tip() == "gripper_body"
    assert stretch.fixed("gripper_body", "grasp_center").tip() == "grasp_center"


def test_humanoids_end_at_the_first_hand():
    robot = Builder().moving("base", "waist")
    for side in ("left", "right"):
        robot.moving("waist", *(f"{side}_arm_{i}" for i in range(7)), f"{side}_palm")
        for finger in ("thumb", "index_finger"):
            robot.moving(f"{side}_palm", *(f"{side}_{finger}_{i}" for i in range(3)))
    assert robot.tip() == "left_palm"


def test_without_moving_joints_it_is_the_link_behind_the_most_fixed_ones():
    assert Builder().fixed("base", "a", "b").fixed("base", "c").tip() == "b"


def test_the_joints_of_a_gripper_are_those_behind_the_arm():
    fr3 = with_fingers(arm().fixed("link7", "hand", "hand_tcp"), "hand")
    assert gripper_joints(fr3.joints) == ["left_finger_joint"], "the other one follows it"
    assert gripper_joints(with_fingers(arm(6), "link6", "left", "right", mimic=False).joints) == [
        "left_joint", "right_joint"]
    hand = arm(5).moving("link5", "gripper").moving("gripper", "moving_jaw", "pad")
    assert gripper_joints(hand.joints) == ["moving_jaw_joint", "pad_joint"]
    assert gripper_joints(arm(6).joints) == [] == gripper_joints(Builder().fixed("base", "a").joints)
    assert gripper_joints(Builder().moving("base", "finger_1", "finger_2").joints) == [], "without an arm"
