# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""The controller node keeps the gains for the declared timing of its loop, and reports another timing and margins."""

import itertools
import re
import time
from types import SimpleNamespace
from unittest.mock import MagicMock

import numpy as np
import pytest
from controller_rig import Rig, trajectory
from rcl_interfaces.srv import GetParameters
from ros_process import RosProcess
from sensor_msgs.msg import JointState
from shipped import few

from robodyn_ros import Robot
from robodyn_ros.base.timing import to_nanoseconds
from robodyn_ros.commands.command_line import main
from robodyn_ros.control.default_gains import joint_gains
from robodyn_ros.control.runtime.age_monitor import FOREIGN_CLOCK
from robodyn_ros.description.resources import robot_file
from robodyn_ros.nodes.common.messages import set_stamp
from robodyn_ros.nodes.common.topics import CONTROL_QOS
from robodyn_ros.nodes.controller.hardware_announcement import Announcement
from robodyn_ros.nodes.controller.law_swaps import LawSwaps
from robodyn_ros.nodes.controller.loop_timing import LOOKS, LoopTimingWatch
from robodyn_ros.nodes.controller.part import AnsweredState

ARM6 = Robot.from_urdf(robot_file("arm6"))
UNDECLARED = 0
CALM = 0.3  # a tenth of the velocity limit of the joints [rad/s]


def gains(ros, namespace, law, field):
    names = [f"{law}.gains.{joint}.{field}" for joint in ARM6.joint_names]
    answer = ros.call(GetParameters, f"{namespace}/controller/get_parameters", names=names)
    return np.array([value.double_value for value in answer.values])


def test_a_declared_period_and_delay_count_from_the_start(ros):
    controller = {"update_rate": 100, "state_delay": 2, "controller": "pd_gravity", "pd.gains.elbow_joint.p": 7.0}
    with Rig(ros, "arm6", "/declared", hardware={"update_rate": 100}, controller=controller) as rig:
        expected = joint_gains(ARM6.with_timing(0.01, 2))
        np.testing.assert_allclose(gains(ros, rig.namespace, "pd_gravity", "p"), expected[0])
        np.testing.assert_allclose(gains(ros, rig.namespace, "damping", "d"), expected[1])
        assert gains(ros, rig.namespace, "pd", "p")[2] == 7.0
        rig.nodes["controller"].wait_for_output("controller 'pd_gravity' is stable with a period of 10 ms and a delay "
                                                "of 2 periods, also with 2 times its gains")
        _, values = rig.status(lambda status, values: "stable gains of the safe controller, over its own" in values)
        assert values["gains are for"] == "a period of 10 ms and a delay of 2 periods"
        assert float(values["stable gains of the active controller, over its own"]) >= 2.0
        assert "default gains are for" not in rig.nodes["controller"].output()


def test_what_the_hardware_announces_counts_until_the_first_state(ros):
    """From the first command on, where nothing was declared; a later announcement is reported and changes nothing."""
    controller = {"update_rate": UNDECLARED, "controller": "pd_gravity", "damping.gains.elbow_joint.d": 0.5}
    with Rig(ros, "arm6", "/announced", hardware={"update_rate": 50, "sensing.delay": 1}, controller=controller) as rig:
        p, d = joint_gains(ARM6.with_timing(0.02, 1))
        np.testing.assert_allclose(gains(ros, rig.namespace, "pd_gravity", "p"), p)
        damping = gains(ros, rig.namespace, "damping", "d")
        assert damping[2] == 0.5
        np.testing.assert_allclose(damping[3:], d[3:])
        state = rig.next()
        drawn = state.output - ARM6.dynamics().gravity(state.feedback.positions)
        np.testing.assert_allclose(drawn, p * state.error.positions + d * state.error.velocities, atol=1e-6)
        rig.next("rest", lambda state: np.abs(state.feedback.velocities).max() < 0.01)

        def delay(periods):
            assert ros.set_parameters(f"{rig.namespace}/hardware", {"sensing.delay": periods}).successful

        delay(4)
        status, _ = rig.status(lambda status, values: "/announced/hardware announces" in status.message)
        assert re.search("announces a period of 20 ms and a delay of 4 periods, but default gains are for a period of "
                         "20 ms and a delay of 1 period, and stay so: controller 'pd_gravity' .*; controller 'damping' "
                         ".*; start this node with update_rate: 50 and state_delay: 4", status.message)
        np.testing.assert_allclose(gains(ros, rig.namespace, "pd_gravity", "p"), p)
        delay(0)
        rig.status(lambda status, values: "announces" not in status.message)
        np.testing.assert_allclose(gains(ros, rig.namespace, "pd_gravity", "p"), p)


class ForeignDriver:
    """Publishes joint states of arm6 as a driver does, and records the commands."""

    def __init__(self, ros, namespace):
        self._ros, self._stamp = ros, time.time_ns()
        self._commands = ros.record(JointState, f"{namespace}/joint_commands", CONTROL_QOS)
        self._publisher = ros.publisher(JointState, f"{namespace}/joint_states", CONTROL_QOS)

    def drive(self, seconds, period, age=0.0, lag=0.0, burst=1):
        """Publish states in bursts, with stamps of a clock that is older by an age and goes after by a lag [s]."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            for number in range(burst):
                self._stamp = max(self._stamp + 1, time.time_ns() - to_nanoseconds(age - number * period))
                self.publish()
            self._ros.spin(burst * period + lag)

    def publish(self, velocity=0.0):
        message = JointState(name=list(ARM6.joint_names), position=[0.1] * 6, velocity=[velocity] * 6)
        set_stamp(message.header.stamp, self._stamp)
        self._publisher.publish(message)

    def damping(self):
        """The gains in force, by the command that answers a velocity."""
        def answer():
            self._stamp = max(self._stamp + 2_000_000, time.time_ns())
            self.publish(0.01)
            return next((command for command in reversed(self._commands) if command.effort[0] != 0.0), None)

        self._commands.clear()
        return -np.array(self._ros.wait_for(answer, "an answer").effort) / 0.01


def test_whatever_states_come_no_gains_change(ros):
    """Of a foreign driver: in time, slow, fast, late, in bursts, with pauses, and beside a node that stood still."""
    expected = joint_gains(ARM6)
    with RosProcess("controller", {"robot": "arm6", "controller": "damping"}, "foreign") as node:
        driver = ForeignDriver(ros, "/foreign")
        driver.drive(0.5, 0.002)
        node.wait_for_output("nobody declares the period of this control loop: default gains are for a period of 2 ms "
                             "and a delay of 0 periods; start this node with update_rate")
        with node.stopped():
            driver.drive(0.6, 0.002)
        driver.drive(LOOKS + 1.5, 0.02)
        driver.drive(0.7, 0.001)
        for late in ({"age": 0.012}, {"age": 30.0}, {"age": -3600.0}, {"burst": 10}, {"lag": 0.3}):
            driver.drive(0.7, 0.002, **late)
        found = driver.damping()
        for law, field, values in (("damping", "d", expected[1]), ("pd", "p", expected[0]), ("pd", "d", expected[1])):
            np.testing.assert_allclose(gains(ros, "/foreign", law, field), values)
        np.testing.assert_allclose(found, expected[1], rtol=1e-6)
        told = re.findall("the loop has a period of (.*) ms and .*, but default gains are for a period of 2 ms and a "
                          "delay of 0 periods, and stay so: controller 'damping' .*; start this node with update_rate: "
                          "([0-9]+) and state_delay: ([0-9]+)", node.output())
        assert told and 15.0 < float(told[0][0]) < 60.0, node.output()
        node.stop()


class Watched:
    """A watch of a loop that is declared for 2 ms without delay; the nodes are stand-ins without laws."""

    def __init__(self, **given):
        self.node, self.began = MagicMock(), []
        self.node.parameters = {"update_rate": 0, "state_delay": -1, **given}
        plugin = SimpleNamespace(name="pd", controller=None)
        loop = SimpleNamespace(last=None, laws=SimpleNamespace(chosen=plugin, fallback=plugin), delay=0.0)
        self.robot = ARM6.with_timing(0.002)
        swaps = SimpleNamespace(begin_with=self.began.append)
        self.watch = LoopTimingWatch(SimpleNamespace(node=self.node, robot=self.robot, loop=loop, plugins=MagicMock(),
                                                     announcement=MagicMock(), parts={LawSwaps: swaps}))
        self._numbers = itertools.count(1)

    def second(self, period=0.002, age=0.0, missed=0, stamp=None, ticks=100):
        """A second of ticks, some of whose states were not answered."""
        for number in itertools.islice(self._numbers, ticks):
            number *= missed + 1
            at, tick = stamp or number * to_nanoseconds(period), SimpleNamespace(state=SimpleNamespace(period=period))
            self.watch.after_tick(AnsweredState(at, tick, number, 0, at, at + to_nanoseconds(age)))
        self.watch.look()

    def reported(self, condition="measured timing"):
        calls = self.node.diagnostics.raise_condition.call_args_list
        return [call.args[1] for call in calls if call.args[0] == condition]

    def cleared(self):
        return [call.args[0] for call in self.node.diagnostics.clear_condition.call_args_list]


@pytest.mark.parametrize(("ticks", "measured"), [
    ({}, None), ({"period": 0.0023}, None), ({"period": 0.0026}, "2.6 ms and a delay of 0"),
    ({"period": 0.02}, "20 ms and a delay of 0"), ({"period": 0.001}, "1 ms and a delay of 0"),
    ({"period": 0.2, "ticks": 5}, "200 ms and a delay of 0"), ({"period": 0.01, "missed": 4}, None),
    ({"age": 0.0061}, "2 ms and a delay of 3"), ({"age": 0.0021}, None), ({"age": 1e6}, None), ({"age": 0.3}, None),
    ({"age": 59.0}, None), ({"age": -59.0}, None), ({"age": 1.0, "stamp": 1}, None)])
def test_another_timing_is_reported_once_after_some_seconds(ticks, measured):
    watched = Watched()
    for _ in range(LOOKS - 1):
        watched.second(**ticks)
    assert not watched.reported()
    for _ in range(4 * LOOKS):
        watched.second(**ticks)
    texts = watched.reported()
    assert len(texts) == (measured is not None) and not watched.began
    if measured:
        assert texts[0].startswith(f"the loop has a period of {measured} periods, but default gains are for a period "
                                   "of 2 ms and a delay of 0 periods, and stay so: ")
        rate = round(1.0 / ticks.get("period", 0.002))
        assert texts[0].endswith(f"start this node with update_rate: {rate} and state_delay: {measured[-1]}")
    told = watched.reported("old stamps")
    assert any("the clocks of two machines differ" in text for text in told) == (
        0.25 < ticks.get("age", 0.0) < FOREIGN_CLOCK and "stamp" not in ticks)
    for _ in range(LOOKS):
        watched.second()
    assert ("measured timing" in watched.cleared()) == (measured is not None)


def test_a_busy_second_is_not_reported():
    watched = Watched()
    for _ in range(5):
        for late in (True, True, False):
            watched.second(**({"period": 0.01, "age": 0.01} if late else {}))
    assert not watched.reported() and not watched.began


@pytest.mark.parametrize(("given", "announced", "begins_with", "reported"), [
    ({}, (500, 0), None, False), ({}, (100, 2), (0.01, 2), False), ({"update_rate": 500}, (100, 2), (0.002, 2), True),
    ({"update_rate": 500, "state_delay": 0}, (500, 0), None, False),
    ({"update_rate": 500, "state_delay": 0}, (500, 3), None, True), ({"state_delay": 0}, (100, 0), (0.01, 0), False)])
def test_parameters_come_before_announcements(given, announced, begins_with, reported):
    watched = Watched(**given)
    values = dict(zip(("update_rate", "state_delay"), map(str, announced), strict=True))
    announcement = Announcement("/arm/hardware", "generic", values, in_time=True)
    watched.watch._on_announcement(announcement)
    assert [robot.timing for robot in watched.began] == ([begins_with] if begins_with else [])
    assert len(watched.reported("announced timing")) == reported
    late = announcement._replace(values={"update_rate": "50", "state_delay": "1"}, in_time=False)
    watched.watch._on_announcement(late)
    assert len(watched.began) == bool(begins_with)
    assert "/arm/hardware announces a period of 20 ms" in watched.reported("announced timing")[-1]


@pytest.mark.parametrize(("values", "words"), [
    ({}, ""), ({"update_rate": "500"}, ""), ({"update_rate": "0", "state_delay": "0"}, "update_rate: expected"),
    ({"update_rate": "fast", "state_delay": "0"}, "expected a whole number, received 'fast'"),
    ({"update_rate": "500", "state_delay": "-1"}, "state_delay: expected"),
    ({"update_rate": "500", "state_delay": "9" * 5000}, "state_delay: expected")])
def test_announcements_without_a_timing_or_with_a_bad_one_change_nothing(values, words):
    watched = Watched()
    watched.watch._on_announcement(Announcement("/arm/hardware", "generic", values, in_time=True))
    assert not watched.began
    told = [call.args[1] for call in watched.node.diagnostics.problem.call_args_list]
    assert len(told) == bool(words) and all(words in text for text in told)


def test_the_margin_is_that_in_the_timing_that_is_measured(ros):
    """Of gains for 2 ms at 20 ms; the condition names it."""
    controller = {"update_rate": 500, "state_delay": 0, "controller": "damping"}
    with Rig(ros, "arm6", "/margin", hardware={"update_rate": 50}, controller=controller) as rig:
        status, values = rig.status(lambda status, values: "announces a period of 20 ms" in status.message)
        assert re.search("but default gains are for a period of 2 ms and a delay of 0 periods, and stay so: controller "
                         r"'damping' oscillates in some postures with a period of 20 ms .* to be 0\.\d+ times",
                         status.message)
        assert float(values["stable gains of the active controller, over its own"]) < 1.0
        np.testing.assert_allclose(gains(ros, rig.namespace, "damping", "d"), joint_gains(ARM6)[1])


def test_gains_beyond_the_bound_are_warned_of(ros):
    with Rig(ros, "planar_2r", "/beyond", hardware={"update_rate": 200}, controller={"controller": "damping"}) as rig:
        rig.set(**{"pd.gains.joint2.d": 500.0})  # not in force
        rig.set(**{"damping.gains.joint2.d": 500.0})
        rig.nodes["controller"].wait_for_output("controller 'damping' oscillates in some postures with a period of 5 "
                                                "ms and a delay of 0 periods: its gains would have to be")
        rig.status(lambda status, values: "oscillates" in status.message)
        assert "'pd' oscillates" not in rig.nodes["controller"].output()
        rig.set(**{"damping.gains.joint2.d": 1.0})
        rig.status(lambda status, values: "oscillates" not in status.message)


@pytest.mark.parametrize("safe", few(["pd_gravity", "damping"], 1))
def test_a_stop_calms_an_arm_whose_delay_was_declared_too_short(ros, safe, capsys):
    """Three periods at 500 Hz: what such an arm did on after ~/stop."""
    hardware = {"update_rate": 500, "sensing.delay": 3, "lockstep_speed_limit": 2.0}
    controller = {"controller": "pd_gravity", "safe_controller": safe, "state_delay": 0}
    with Rig(ros, "arm6", f"/short_{safe}", hardware=hardware, controller=controller) as rig:
        start = rig.next()
        away = np.array(start.feedback.positions) + 0.3
        rig.publisher.publish(trajectory([0.3], [away], names=start.joint_names))
        rig.next("a swing", lambda state: np.abs(state.feedback.velocities).max() > CALM)
        assert main(["stop", "--namespace", rig.namespace]) == 0
        capsys.readouterr()
        rig.next("calm", lambda state: state.mode == "damping" and np.abs(state.feedback.velocities).max() < 0.5 * CALM)
        rig.next("calm still", lambda state: True)
        assert np.abs(rig.states[-1].feedback.velocities).max() < CALM
