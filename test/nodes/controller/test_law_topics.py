# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Inputs of a law over DDS: topics that it declares, and the motors' side of the hardware node's joints."""

import numpy as np
import pytest
from controller_rig import Rig
from diagnostic_msgs.msg import DiagnosticArray
from geometry_msgs.msg import PointStamped
from std_msgs.msg import Float64

from robodyn_ros.nodes.common.messages import read_stamp

PLUGINS, PERIOD = "plugins_for_test:", 5_000_000  # [ns]


@pytest.fixture(scope="module")
def rig(ros):
    """A planar arm whose controller state is published at every tick."""
    settings = {"controller": {"state_publish_rate": 200.0, "swap_time": 0.0},
                "hardware": {"update_rate": 200, "lockstep_speed_limit": 1.0}}
    with Rig(ros, "planar_2r", "/sees", **settings) as rig:
        yield rig


def counted(diagnostics, key):
    return any(value.key == key for array in diagnostics for status in array.status for value in status.values)


def test_a_law_waits_for_its_inputs_reads_them_and_waits_again_when_they_stop(ros, rig):
    diagnostics = ros.record(DiagnosticArray, "/diagnostics", 100)
    rig.set(controller=f"{PLUGINS}Servo")
    held = rig.next("a tick that waits", lambda s: s.mode == "holding")
    assert held.controller == "computed_torque"
    assert "waits: input 'gain': nothing on gain for 0.5 s" in held.reason or "motor_q" in held.reason
    gain, target = ros.publisher(Float64, "/sees/gain"), ros.publisher(PointStamped, "/sees/camera/target")
    ros.wait_for(lambda: gain.publish(Float64(data=4.0)) or any(
        s.controller.endswith("Servo") and s.output[0] == 3.0 for s in rig.states[-5:]), "the law with its gain")

    def consecutive():
        known = [s for s in rig.states if s.controller.endswith("Servo") and s.mode == "running"]
        return [(a, b) for a, b in zip(known, known[1:], strict=False)
                if read_stamp(b.header.stamp) - read_stamp(a.header.stamp) == PERIOD]

    def sees_both():
        gain.publish(Float64(data=4.0))
        message = PointStamped()
        message.point.y = 2.0
        target.publish(message)
        return rig.states[-1].output[0] == 6.0 and len(consecutive()) > 50

    ros.wait_for(sees_both, "the target, and ticks in a row")
    for before, after in consecutive():  # the motors' side of the same state: the torque is that of the last command
        assert after.output[1] == pytest.approx(after.feedback.positions[1] + 0.1 * before.output[1], abs=1e-9)

    bad = PointStamped()
    bad.point.y = np.nan
    ros.wait_for(lambda: target.publish(bad) or counted(diagnostics, "rejected camera/target"), "a rejection")
    ros.wait_for(lambda: counted(diagnostics, "input gain"), "ages in the diagnostics")
    rig.next("a tick that waits again", lambda s: s.controller == "damping" and "input 'gain'" in s.reason)
    rig.set(controller="pd")
    rig.next("the next law", lambda s: s.controller == "pd" and s.mode == "running")
    ros.wait_for(lambda: not gain.get_subscription_count() and not ros.node.count_subscribers("/sees/motor_states"),
                 "the end of the subscriptions")


def test_a_field_that_the_message_lacks_refuses_the_law(rig):
    reason = rig.refuse(controller=f"{PLUGINS}ReadsNoSuchField")
    assert "geometry_msgs/msg/PointStamped has no field 'pint.x': did you mean 'point'" in reason
