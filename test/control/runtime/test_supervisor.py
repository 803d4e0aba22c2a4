# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""The supervisor between law and drive: limited efforts, bounds, stops that last until they are released."""

import numpy as np
import pytest
from recorded_loop import RecordedLoop

from robodyn_ros import InputError, Robot
from robodyn_ros.control import Controller
from robodyn_ros.control.laws.damping import Damping
from robodyn_ros.control.laws.pd_gravity import PDGravity
from robodyn_ros.control.plugins.plugin import Plugin
from robodyn_ros.control.references.joint_trajectory import JointTrajectory, Points
from robodyn_ros.control.runtime.measurement import Measurement
from robodyn_ros.control.runtime.modes import Mode, Reason
from robodyn_ros.control.runtime.requests import Follow, NewSettings, Release, Stop, Swap
from robodyn_ros.control.runtime.supervisor import SupervisorSettings, check_workspace
from robodyn_ros.description.resources import robot_file

URDF = robot_file("planar_2r").read_text()
ROBOT = Robot.from_urdf_text(URDF.replace('"continuous"', '"revolute"')
                        .replace("<limit ", '<limit lower="-1.5" upper="1.5" '))
DYNAMICS, LIMITS = ROBOT.dynamics(), ROBOT.model.effort_limit
PERIOD = 2_000_000  # [ns]
Q, REST = np.array([0.3, -0.4]), np.zeros(2)


class Asks(Controller):
    """Asks for given efforts."""

    effort = np.zeros(2)

    def update(self, state, reference):
        return self.effort


class Rig:
    """A loop under a controller, with a clock."""

    def __init__(self, controller=None, safe=None, **settings):
        self.stamp = PERIOD
        self.law = controller or Asks(ROBOT)
        self.loop = RecordedLoop(ROBOT, Plugin("law", self.law), Plugin("safe", safe or Damping(ROBOT)), 0.5)
        self.loop.request(NewSettings(supervisor=SupervisorSettings(**settings)))

    def tick(self, q=Q, v=REST):
        self.stamp += PERIOD
        return self.loop.tick(Measurement(self.stamp, np.array(q), np.array(v)))

    def ask(self, effort, **state):
        self.law.effort = np.array(effort)
        return self.tick(**state)


def test_by_default_only_the_limits_of_the_joints_are_kept():
    rig = Rig()
    asked = np.array([7.0, -3.0])
    tick = rig.ask(asked)
    assert tick.effort.tolist() == asked.tolist() and not tick.intervention and not tick.saturated
    tick = rig.ask([1e9, -3.0])
    assert tick.effort.tolist() == [LIMITS[0], -3.0] and tick.saturated and tick.intervention == "effort limit"


def test_the_rate_of_efforts_is_limited_from_gravity_on():
    rig = Rig(effort_rate=10.0)
    gravity = DYNAMICS.gravity(Q)
    np.testing.assert_array_equal(rig.ask(LIMITS).effort, gravity)
    np.testing.assert_allclose(rig.tick().effort, gravity + 10.0 * 0.002 * LIMITS)
    assert rig.tick().intervention == "effort rate"
    for _ in range(100):
        tick = rig.tick()
    assert tick.effort.tolist() == LIMITS.tolist() and not tick.intervention


def test_a_soft_start_goes_from_gravity_to_the_law_without_a_jump():
    rig = Rig(soft_start=0.1)
    gravity, asked = DYNAMICS.gravity(Q), np.array([20.0, -10.0])
    efforts = [rig.ask(asked).effort for _ in range(60)]
    np.testing.assert_array_equal(efforts[0], gravity)
    assert np.abs(np.diff(efforts, axis=0) / (asked - gravity)).max() < 1.5 * 0.002 / 0.1 + 1e-9
    np.testing.assert_array_equal(efforts[-1], asked)
    assert not rig.tick().intervention


@pytest.mark.parametrize(("settings", "q", "v", "words"), [
    ({"position_margin": 0.1}, "upper", 0.2, "joint 'joint2' moves towards its limit"),
    ({"position_margin": 0.1}, "lower", -0.2, "joint 'joint2' moves towards its limit"),
    ({"tip_speed": 0.1}, "middle", 1.0, "the tip link moves at"),
    ({"workspace": (-9.0, -9.0, 9.0, 9.0, 9.0, 10.0)}, "middle", 0.2, "the tip link leaves the workspace: z ="),
])
def test_a_bound_stops_the_robot_until_it_is_released(settings, q, v, words):
    q = {"upper": 1.45, "lower": -1.45, "middle": 0.4}[q]
    state = {"q": [0.3, q], "v": [0.0, v]}
    if "workspace" in settings:  # it moves down, and the box is above
        state["v"] = [0.0, -np.sign((DYNAMICS.jacobian(np.array(state["q"])) @ [0.0, 1.0])[2])]
    rig = Rig(**settings)
    rig.tick(q=state["q"])
    assert not rig.loop.stops, "a joint at rest may be anywhere"
    tick = rig.ask([9.0, 9.0], **state)
    (reason,) = rig.loop.stops
    assert words in reason and tick.mode is Mode.STOPPED and tick.reason.text == reason and tick.plugin.name == "safe"
    assert tick.effort @ state["v"] < 0.0, "damped in the same tick"
    assert rig.tick(q=state["q"]).plugin.name == "safe", "latched"
    with pytest.raises(InputError, match=r"stopped \(.*call ~/release"):
        rig.loop.trajectory_start(None)
    rig.loop.request(Release())
    tick = rig.tick(q=state["q"], v=-0.5 * np.array(state["v"]) if "tip_speed" not in settings else REST)
    assert tick.plugin.name == "law" and tick.mode is Mode.RUNNING, "the way back is free"


def test_a_stop_on_request_brings_the_robot_to_rest_under_a_safe_law_that_holds():
    rig = Rig(safe=PDGravity(ROBOT))
    rig.tick(v=[0.3, 0.0])
    rig.loop.request(Stop(Reason("request", "the button")))
    tick = rig.tick(q=Q + [0.0006, 0.0], v=[0.3, 0.0])
    np.testing.assert_allclose(tick.reference.v, [0.3, 0.0], rtol=0.05)
    for _ in range(200):
        tick = rig.tick()
    assert not tick.reference.v.any() and tick.reference.q[0] > Q[0]
    rig.loop.request(Stop(Reason("request", "again")))
    assert rig.loop.stops == ["the button"]


def test_a_stop_before_the_first_state_and_a_swap_during_a_stop():
    rig = Rig()
    rig.loop.request(Stop(Reason("request", "early")))
    assert rig.tick().plugin.name == "safe"
    rig.loop.request(Swap(Plugin("other", Asks(ROBOT))))
    assert rig.tick().plugin.name == "safe" and rig.loop.laws.chosen.name == "other"
    rig.stamp += 10**9
    assert rig.tick().plugin.name == "safe", "a new start is no release"
    rig.loop.request(Release())
    assert rig.tick().plugin.name == "other"


def test_a_safe_controller_that_fails_in_a_stop_leaves_no_effort():
    safe = Asks(ROBOT)
    safe.effort = np.full(2, np.nan)
    rig = Rig(safe=safe)
    rig.tick()
    rig.loop.request(Stop(Reason("request", "the button")))
    tick = rig.tick()
    assert not tick.effort.any() and tick.intervention == "no controller works" and rig.loop.failures


def test_a_motion_ends_with_a_stop_and_does_not_come_back():
    rig = Rig(PDGravity(ROBOT))
    rig.tick()
    begin = rig.loop.trajectory_start(None)
    points = Points.from_arrays([1.0], [Q + 0.5])
    rig.loop.request(Follow(JointTrajectory(begin.reference, begin.start_time, points), True))
    for _ in range(100):
        moving = rig.tick()
    assert moving.reference.v.any()
    rig.loop.request(Stop(Reason("request", "the button")))
    rig.tick()
    rig.loop.request(Release())
    assert not rig.loop.moving()
    np.testing.assert_array_equal(rig.tick().reference.q, Q)


def test_a_workspace_is_a_box():
    check_workspace([0.0] * 6)
    with pytest.raises(InputError, match="lowest x, y, z below"):
        check_workspace([1.0, 0.0, 0.0, 0.5, 1.0, 1.0])
