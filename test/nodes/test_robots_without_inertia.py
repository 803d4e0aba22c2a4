# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Nodes and robots without inertia: transforms work, and nodes that need inertias end with one line that says so."""

import pytest
from ros_process import RosProcess, RosTest
from sensor_msgs.msg import JointState
from tf2_msgs.msg import TFMessage
from urdf_parts import joint, link, one_joint, robot

MASSLESS = one_joint("").replace("\n", " ")
GRIPPER = robot(link("a"), link("b"), link("finger", ""), joint("j", "a", "b"),
                joint("g", "b", "finger", "prismatic", limit='<limit lower="0.01" upper="0.04" effort="1" '
                      'velocity="1"/>')).replace("\n", " ")


@pytest.mark.parametrize("node", ["dynamics", "hardware", "controller"])
def test_nodes_that_need_inertias_say_in_one_line_which_links_have_none(node):
    with RosProcess(node, {"robot_description": MASSLESS}) as process:
        assert process.wait() == 2
        (line,) = [line for line in process.output().splitlines() if "error" in line]
        assert "robot 'test'" in line and "no moving link has ('b')" in line and "robodyn complete FILE" in line
        assert "Traceback" not in process.output()


@pytest.mark.parametrize("urdf, named, finger", [(MASSLESS, {"j": 0.3}, None), (GRIPPER, {"j": 0.3}, 0.01),
                                                 (GRIPPER, {"j": 0.3, "g": 0.04}, 0.04)])
def test_the_state_publisher_needs_no_inertia(urdf, named, finger):
    with RosProcess("state_publisher", {"robot_description": urdf}) as node, RosTest() as ros:
        moving = ros.record(TFMessage, "/tf")
        states = ros.publisher(JointState, "joint_states")
        message = JointState(name=list(named), position=list(named.values()))

        def published():
            states.publish(message)
            return moving

        ros.wait_for(published, "transforms")
        poses = {t.child_frame_id: t.transform for t in moving[-1].transforms}
        assert poses["b"].rotation.z == pytest.approx(0.149438, abs=1e-6)
        assert ("finger" in poses) == (finger is not None)
        if finger is not None:
            assert poses["finger"].translation.z == pytest.approx(0.5 + finger)
        node.stop()


def test_massless_fingers_are_held_while_the_arm_is_simulated():
    with RosProcess("hardware", {"robot_description": GRIPPER}) as node, RosTest() as ros:
        states = ros.record(JointState, "joint_states")
        ros.wait_for(lambda: states, "joint states")
        assert states[0].name == ["j"]
        assert node.output().count("held at 0 or the limit next to it") == 1
        node.stop()
