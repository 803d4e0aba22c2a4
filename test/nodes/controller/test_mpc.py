# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""The law `mpc` in the node: put in force by a parameter, it brings the arm to a goal within the limits."""

import numpy as np
import pytest
from controller_rig import Rig, trajectory
from ros_process import RosTest

pytestmark = pytest.mark.ros


def test_it_moves_the_arm_within_its_limits():
    settings = {"controller": {"mpc.horizon": 10, "mpc.gains.joint1.velocity_limit": 1.0}}
    with RosTest() as ros, Rig(ros, "planar_2r", "/mpc", **settings) as rig:
        rig.hold_at("computed_torque", [0.3, -0.9])
        rig.set(controller="mpc")
        rig.next("the plan", lambda state: state.controller == "mpc")
        seen = len(rig.states)
        rig.publisher.publish(trajectory([0.2], [[0.9, -0.9]]))  # a mean velocity of 3 rad/s
        rig.next("the goal", lambda state: np.allclose(state.feedback.positions, [0.9, -0.9], atol=0.02))
        moved = rig.states[seen:]
        assert {state.controller for state in moved} == {"mpc"}
        assert max(state.feedback.velocities[0] for state in moved) < 1.1
