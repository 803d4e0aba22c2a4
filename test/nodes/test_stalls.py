# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Hardware and controller in real time when a node stops for a while, or a law is too slow or unstable.

After a stop both begin anew, and nothing jumps.
"""

import contextlib
import re
import time

import numpy as np
import pytest
from busy_machine import hold
from controller_rig import Rig, trajectory
from diagnostic_msgs.msg import DiagnosticStatus
from sensor_msgs.msg import JointState
from shipped import few

from bench.followed_states import FollowedStates

NAMES = ["shoulder_pan_joint", "shoulder_lift_joint", "elbow_joint", "wrist_1_joint", "wrist_2_joint", "wrist_3_joint"]
PLUGINS = "plugins_for_test:"
THERE, BACK = [1.2, -0.6, 0.9, 0.4, 0.5, 0.3], [-0.6, -1.2, 1.5, -0.4, -0.5, -0.3]
SECONDS = 1.5


class Motion(Rig):
    """arm6 in real time, and all its joint states."""

    def __init__(self, ros):
        super().__init__(ros, "arm6", "/stalls", hardware={"time_mode": "real_time", "update_rate": 200})
        self.measured = ros.record(JointState, "/stalls/joint_states", 100)
        self.followed = FollowedStates(ros.node, "/stalls")

    def move(self, goal, speed=1.0):
        """Send a motion; return once it is well under way. It is sent again if a busy machine ended it before."""
        def begin(timeout):
            self.publisher.publish(trajectory([SECONDS], [goal], NAMES))
            self.next("motion", lambda s: s.reference.velocities and np.abs(s.reference.velocities).max() > speed,
                      timeout)

        for timeout in (5.0, 15.0):
            with contextlib.suppress(AssertionError):
                begin(timeout)
                return
        begin(60.0)

    def rest(self):
        """Wait until the arm is at rest."""
        self.next("rest", lambda s: not any(s.reference.velocities) and np.abs(s.feedback.velocities).max() < 0.02)

    def go_back(self):
        """Move to where the motions begin, from wherever the arm is."""
        if np.abs(np.array(self.next().feedback.positions) - BACK).max() > 0.1:
            self.move(BACK, speed=0.1)
        self.rest()

    def worst(self, since, after=0):
        """Greatest effort [N m] and speed [rad/s] of any joint in the states from one on, after a system time [ns]."""
        self.ros.wait_for(self.measured.first_from_now(lambda state: True), "all joint states until now")
        states = self.measured.published_since(after, since)
        return np.array([np.abs([getattr(state, field) for state in states]).max() for field in ("effort", "velocity")])

    def stall(self, seconds, *nodes):
        """Stop nodes for a while."""
        with contextlib.ExitStack() as stack:
            for node in nodes:
                stack.enter_context(self.nodes[node].stopped())
            self.ros.spin(seconds)


@pytest.fixture(scope="module")
def motion(ros):
    with Motion(ros) as motion:
        motion.move(BACK, speed=0.3)
        motion.rest()
        yield motion


@pytest.fixture(scope="module")
def needed(motion):
    """Greatest effort and speed of the motion without a stall, one way and back."""
    since = len(motion.measured)
    for goal in (THERE, BACK):
        motion.move(goal)
        motion.rest()
    return motion.worst(since)


@pytest.mark.parametrize("seconds", few([0.3, 0.2, 0.4], 1))
def test_a_controller_that_stood_still_begins_anew(motion, needed, seconds):
    def run():
        motion.go_back()
        motion.move(THERE)
        begin, asked = len(motion.measured), motion.followed.count
        motion.stall(seconds, "controller")
        after = time.time_ns()  # states of the stall itself may come later
        motion.rest()
        assert motion.followed.count > asked, "the hardware tells that it follows no commands"
        followed = motion.followed.includes(motion.measured[-1])
        held = motion.next()
        assert np.abs(np.array(held.feedback.positions) - THERE).max() > 0.1, "the trajectory was dropped"
        return followed, motion.worst(begin, after)

    hold(run, lambda seen: seen[0] and (seen[1] < 1.15 * needed).all(), motion.nodes.values())
    assert "the computer held up this node for" in motion.nodes["controller"].output()


def test_hardware_that_stood_still_tells_a_new_start(motion, needed):
    def run():
        motion.go_back()
        motion.move(THERE)
        motion.stall(0.3, "hardware")
        since = len(motion.measured)
        motion.rest()
        return motion.worst(since)

    hold(run, lambda worst: (worst < 1.15 * needed).all(), motion.nodes.values())
    assert "new start from the current state" in motion.nodes["controller"].output()


def test_a_trajectory_that_ends_because_the_computer_stood_still_says_so(motion):
    def run():
        motion.go_back()
        motion.move(THERE)
        before = len(motion.nodes["controller"].output())
        motion.stall(0.6, "hardware", "controller")
        motion.rest()
        motion.ros.spin(2.0)  # the log line is throttled
        return motion.nodes["controller"].output()[before:]

    hold(run, lambda printed: re.search("trajectory is dropped: .*the computer held up", printed),
         motion.nodes.values())


def test_pd_at_rest_does_not_whirl_the_arm_while_the_computer_holds_up_the_controller(motion):
    motion.set(controller="pd")
    motion.rest()

    def run():
        since = len(motion.measured)
        for _ in range(40):
            motion.stall(0.04, "controller")
            motion.ros.spin(0.004)
        motion.rest()
        return motion.worst(since)[1]

    hold(run, lambda fastest: fastest < 30.0, motion.nodes.values())  # 60 rad/s and more without the rule
    motion.status(lambda _, values: int(values.get("late commands", 0)) > 0, "hardware")
    assert "ever faster; the drives brake there until the next command" in motion.nodes["hardware"].output()
    assert motion.next().controller == "pd"
    motion.set(controller="computed_torque")
    motion.rest()


def dropped(motion, controller, text):
    """Put a controller in force that is soon dropped; returns what the node printed meanwhile."""
    process = motion.nodes["controller"]
    before = len(process.output())
    motion.set(controller=PLUGINS + controller)
    # The message may be made between the change of the controller and its report.
    _, values = motion.status(lambda status, values: text in status.message and values["controller"] == "damping"
                              and status.level == DiagnosticStatus.ERROR)
    motion.set(controller="computed_torque")
    motion.rest()
    return process.output()[before:], values


def test_a_law_that_is_too_slow_is_told_once_and_dropped(motion):
    motion.set(max_overruns=12)

    def run():
        motion.ros.spin(3.2)  # log lines are throttled, and looked at once a second
        return dropped(motion, "TooSlow", "the law ")  # that it is blocked, if the machine holds up its thread alone

    def is_told_once(result):
        printed, values = result
        drops = re.findall(r"'plugins_for_test:TooSlow' was dropped, 'damping' took over: the law takes (\S+) ms of "
                           r"(\S+) ms", printed)
        warnings = re.findall("'plugins_for_test:TooSlow' is too slow: the law takes", printed)
        return (len(drops) == len(warnings) == 1 and "jumped" not in printed and int(values["overruns"]) >= 11
                and float(drops[0][0]) > 45.0 and 1.9 < float(drops[0][1]) < 15.0)  # a busy computer skips joint states

    hold(run, is_told_once, motion.nodes.values())
    # The mean over the last ticks still counts some of the law before.
    _, values = motion.status(lambda _, values: values["controller"] == "computed_torque"
                              and 1.0 < float(values.get("execution time [us]: mean", 0.0)) < 1500.0)
    assert float(values["periodicity [Hz]: mean"]) > 100.0


def test_a_law_under_which_a_joint_runs_away_is_dropped(ros):
    """In lockstep: in real time a busy computer makes the drives brake again and again before."""
    with Rig(ros, "arm6", "/away", hardware={"update_rate": 200}, controller={"runaway_factor": 5.0}) as rig:
        measured = ros.record(JointState, "/away/joint_states", 100)
        rig.set(controller=PLUGINS + "RunsAway")
        rig.status(lambda status, values: "ran away: " in status.message and values["controller"] == "damping"
                   and status.level == DiagnosticStatus.ERROR)
        assert re.search("was dropped, 'damping' took over: joint 'wrist_3_joint' ran away: \\S+, limit 3.14",
                         rig.nodes["controller"].output())
        fastest = max(np.abs(state.velocity).max() for state in measured)
        assert fastest < 80.0, "16 rad/s, and 390 rad/s^2 until the law is dropped"
