# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""The parts of the controller node: made in any order, and a change of parameters that one refuses changes none."""

import pytest
from controller_manager_msgs.srv import ListControllers
from controller_rig import NAMES, Rig, trajectory
from rcl_interfaces.srv import SetParametersAtomically
from rclpy.parameter import Parameter as RosParameter
from ros_process import RosProcess
from std_srvs.srv import Trigger

SHUFFLED = """
import random, sys
from robodyn_ros.nodes.controller import node
node.PARTS = tuple(random.Random({seed}).sample(node.PARTS, len(node.PARTS)))
sys.exit(node.main())
"""


class ShuffledRig(Rig):
    """A rig whose controller makes its parts in a random order."""

    def __init__(self, ros, seed):
        self._seed = seed
        super().__init__(ros, "planar_2r", f"/shuffled_{seed}")

    def start(self, name):
        if name != "controller":
            super().start(name)
            return
        self.nodes[name] = RosProcess(name, self.settings[name], self.namespace,
                                      command=("-c", SHUFFLED.format(seed=self._seed)))


@pytest.mark.parametrize("seed", [1, *(pytest.param(seed, marks=pytest.mark.long) for seed in (2, 3, 4, 5))])
def test_parts_work_in_any_order(ros, seed):
    """A motion, a stop and a release, a swap, a refused change; each concerns several parts."""
    with ShuffledRig(ros, seed) as rig:
        def asked(service):
            answer = ros.call(Trigger, f"{rig.namespace}/controller/{service}", Trigger.Request())
            assert answer.success, answer.message

        def changed(**values):
            request = SetParametersAtomically.Request(
                parameters=[RosParameter(name, value=value).to_parameter_msg() for name, value in values.items()])
            return ros.call(SetParametersAtomically, f"{rig.namespace}/controller/set_parameters_atomically",
                            request).result

        def reached(goal):
            return lambda: all(abs(found - wanted) < 0.01 for found, wanted in zip(
                rig.states[-1].feedback.positions, goal, strict=True))

        rig.publisher.publish(trajectory([0.5], [[0.3, -0.2]], names=NAMES))
        ros.wait_for(reached((0.3, -0.2)), "the end of the motion")
        asked("stop")
        ros.wait_for(lambda: rig.states[-1].mode == "stopped", "the stop")
        asked("release")
        ros.wait_for(lambda: rig.states[-1].mode == "running", "the release")
        refused = changed(speed_scaling=0.5, controller="nonsense")
        assert not refused.successful and "nonsense" in refused.reason
        assert changed(controller="pd_gravity").successful
        ros.wait_for(lambda: rig.states[-1].controller == "pd_gravity", "the swap")
        rig.publisher.publish(trajectory([0.5], [[0.0, 0.1]], names=NAMES))
        ros.wait_for(lambda: rig.states[-1].speed_scaling_factor > 0.0 and reached((0.0, 0.1))(), "the second motion")
        listed = ros.call(ListControllers, f"{rig.namespace}/controller_manager/list_controllers").controller
        assert {each.name for each in listed if each.state == "active"} >= {"pd_gravity", "joint_state_broadcaster"}
        assert rig.states[-1].speed_scaling_factor == 1.0, "a refused change puts nothing in force"
        assert "Traceback" not in rig.nodes["controller"].output()
