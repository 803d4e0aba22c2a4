# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""The default of ``robodyn simulate`` beside other programs."""

import sys
from contextlib import ExitStack
from subprocess import Popen

import pytest
from nodes.ros_process import RosProcess, RosTest
from sensor_msgs.msg import JointState

from robodyn_ros.nodes.common.messages import read_stamp

BUSY_LOOPS = 4
SECONDS = 2.0  # simulated time beside the loops
SUNK = 0.05  # greatest distance of a joint from where it began [rad]; without the default, 1.2 rad in 5 s


@pytest.mark.long
def test_beside_busy_loops_the_arm_does_not_sink():
    command = "-m", "robodyn_ros", "simulate", "--robot=arm6", "--controller=computed_torque", "--namespace=busy"
    with RosProcess("simulate", command=command) as process, RosTest(namespace="busy") as ros:
        states = ros.record(JointState, "joint_states", 100)
        ros.wait_for(lambda: states, "joint states", 120.0)
        begin = states[-1]
        with ExitStack() as loops:
            for _ in range(BUSY_LOOPS):
                loop = loops.enter_context(Popen([sys.executable, "-c", "while True: pass"]))
                loops.callback(loop.kill)
            end = read_stamp(begin.header.stamp) + SECONDS * 1e9
            ros.wait_for(lambda: read_stamp(states[-1].header.stamp) > end, f"{SECONDS} s of motion", 120.0)
        moved = max(abs(q - start) for state in states for q, start in zip(state.position, begin.position, strict=True))
        assert moved < SUNK, f"a joint moved by {moved} rad"
        process.stop()
