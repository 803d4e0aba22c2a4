# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""The hardware node over DDS, in processes of its own: commands, bad input, safety, services, time modes."""

import math
import signal
import time
from types import SimpleNamespace

import numpy as np
import pytest
from hardware_peer import NAMES, PERIOD, Peer, hardware, hardware_for_a_file, run_lockstep, stamp
from rcl_interfaces.srv import DescribeParameters, ListParameters
from rosgraph_msgs.msg import Clock
from std_srvs.srv import SetBool, Trigger

from robodyn_interfaces.srv import SetState, Step
from robodyn_ros import Robot
from robodyn_ros.control.runtime.age_monitor import AgeMonitor
from robodyn_ros.description.resources import robot_file
from robodyn_ros.nodes.common.messages import read_stamp
from robodyn_ros.nodes.hardware.node import PlantValues, saturated
from robodyn_ros.nodes.hardware.parameters import TimeMode
from robodyn_ros.nodes.hardware.plant_timing import PlantTiming
from robodyn_ros.simulation.outputs import ActuatorState
from robodyn_ros.simulation.plant import Plant

NAN = math.nan
HOLD_UP = 6.0
"""Longer than the hardware waits for an answer in lockstep [s]."""

# --- lockstep


def test_lockstep_is_deterministic_to_the_bit():
    first, second = run_lockstep("lock1", 150), run_lockstep("lock2", 150, lockstep_speed_limit=0.5)
    assert np.abs(first[-1] - first[0]).max() > 1e-3
    assert first.tobytes() == second.tobytes()


def test_lockstep_keeps_to_its_speed_limit_and_lives_with_pauses():
    with hardware("limit", time_mode="lockstep", lockstep_speed_limit=0.1) as process, Peer("limit") as peer:
        def answer(stop):
            begin = time.monotonic()
            for tick in range(peer.ticks, stop):
                state = peer.next_stamped((tick + 1) * PERIOD)
                peer.states.clear()
                peer.command(NAMES, [0.0, 0.0], state.header.stamp)
            peer.ticks = stop
            return time.monotonic() - begin

        peer.ticks = 0
        answer(12)
        # Never faster, however busy the machine. If the last of these answers was late, the period after the next one
        # begins up to one interval sooner, so that late answers do not add up: 50 periods are 49 intervals, less one.
        assert answer(62) >= 48 * 1e-9 * PERIOD / 0.1
        assert peer.service(SetBool, "pause", data=True).success
        assert peer.service(SetBool, "pause", data=False).success
        assert peer.set_parameters("/limit/hardware", {"lockstep_speed_limit": 0.0}).successful
        answer(80)
        process.stop()


def test_lockstep_waits_for_the_answer_repeats_its_state_and_survives_kill(request):
    with hardware("lock", time_mode="lockstep") as process, Peer("lock") as peer:
        peer.wait_for(lambda: len(peer.states) > 3, "repetitions")
        assert {stamp(state) for state in peer.states} == {PERIOD}
        peer.command(NAMES, [1.0, 1.0])
        peer.wait_for(lambda: peer.counter("commands without stamp") == "1", "the counter")
        process.wait_for_output("lockstep: the robot waits, as no command answers the joint state stamped 0.002 s")
        assert stamp(peer.next_state()) == PERIOD

        # A rejected answer is an answer: the plant goes on under the last good command.
        peer.command(NAMES, [NAN, 1.0], peer.states[-1].header.stamp)
        peer.next_state(lambda state: stamp(state) == 2 * PERIOD, "the next period")
        process.wait_for_output("commands answer again")

        # Parameters are served while the plant waits; a step that nobody answers is given up.
        assert peer.set_parameters("/lock/hardware", {"command_timeout": 0.2}).successful
        assert peer.service(SetBool, "pause", data=True).success
        answer = peer.service(Step, "step", steps=3)
        assert not answer.success
        assert "0 of 3 control periods done" in answer.message

        process.kill()
        with hardware("lock", time_mode="lockstep") as again:
            state = peer.next_state(what="a state of the restarted node")
            assert stamp(state) == PERIOD
            peer.command(NAMES, [1.0, 1.0], state.header.stamp)
            peer.next_state(lambda state: stamp(state) == 2 * PERIOD, "the next period")
            again.stop()


def test_a_step_outlasts_a_hold_up_of_the_node():
    with hardware("held", time_mode="lockstep") as process, Peer("held") as peer:
        assert peer.service(SetBool, "pause", data=True).success
        client = peer.node.create_client(Step, "/held/hardware/step")
        peer.wait_for(client.service_is_ready, "the service")
        answer = client.call_async(Step.Request(steps=2))
        for tick in (1, 2):
            state = peer.next_stamped(tick * PERIOD)
            if tick == 2:
                with process.stopped():
                    peer.spin(HOLD_UP)
            peer.command(NAMES, [0.0, 0.0], state.header.stamp)
        response = peer.wait_for(lambda: answer.done() and answer.result(), "the answer")
        assert response.success, response.message
        process.stop()


# --- several robots


def test_robots_in_namespaces_do_not_hear_each_other():
    settings = {"command_timeout": 0.0, "time_mode": "scaled"}
    with hardware("left", **settings) as left, hardware("right", robot="scara", clock_rate=0, **settings) as right, \
            Peer("left") as left_peer, Peer("right") as right_peer:
        timekeepers = {info.node_namespace for info in left_peer.node.get_publishers_info_by_topic("/clock")}
        assert timekeepers >= {"/left"}
        assert "/right" not in timekeepers
        left_peer.command(NAMES, [1.5, 2.5])
        left_peer.next_state(lambda state: list(state.effort) == [1.5, 2.5], "the command on the left")
        state = right_peer.next_state()
        assert list(state.name) == ["joint1", "joint2", "joint3", "joint4"]
        assert list(state.velocity) == [0.0] * 4
        right_peer.command([], [0.25, 0.0, 0.0, 0.0])
        right_peer.next_state(lambda state: state.effort[0] == 0.25, "the command on the right")
        assert left_peer.service(SetBool, "pause", data=True).success
        before = stamp(right_peer.next_state())
        right_peer.next_state(lambda state: stamp(state) > before + 5 * PERIOD, "time going on, on the right")
        assert list(left_peer.next_state().effort) == [1.5, 2.5]
        left.stop()
        right_peer.next_state()
        right.stop()


# --- start


@pytest.mark.parametrize(("parameters", "message"), [
    ({"robot": "nobody"}, "no robot 'nobody'"),
    ({"robot": ""}, "no robot given: set the parameter 'robot'"),
    ({"update_rate": 300}, "possible: 250 or 500 Hz, or another step"),
    ({"time_mode": "warp"}, "parameter 'time_mode': expected one of 'real_time', 'scaled', 'lockstep'"),
    ({"initial_position.joint1": NAN}, "parameter 'initial_position.joint1': expected a finite number"),
])
def test_what_cannot_start_says_why_in_one_line(parameters, message):
    with hardware("none", **parameters) as process:
        assert process.wait() == 2
        output = process.output()
        assert output.startswith("robodyn: error: ")
        assert message in output
        assert "Traceback" not in output


def test_robot_description_is_taken_and_its_oddities_are_warned_of():
    urdf = robot_file("planar_2r").read_text().replace('iyy="', 'iyy="9')
    with hardware("odd", robot="", robot_description=urdf) as process:
        process.wait_for_output("500 Hz")
        assert "[WARN]" in process.output()
        assert "triangle" in process.output()
        process.stop()


# --- real time: commands, rejected commands, the safe behaviour


@pytest.fixture(scope="module")
def real_time_process():
    with hardware_for_a_file("real", signal.SIGTERM) as process:
        yield process


@pytest.fixture(scope="module")
def real(real_time_process):
    with Peer("real") as peer:
        yield peer


def test_joint_states_are_complete_and_stamped_with_system_time(real):
    state = real.next_state()
    assert list(state.name) == NAMES
    assert len(state.position) == len(state.velocity) == len(state.effort) == 2
    real.wait_for(lambda: len(real.states) > 20, "more states")
    stamps = np.array([stamp(state) for state in real.states])
    assert (np.diff(stamps) > 0).all()
    assert np.median(np.abs(stamps - real.states.times)) < 0.1e9


def test_joints_are_held_until_they_are_commanded_partly_and_in_any_order(real):
    at_start = real.next_state()
    assert list(at_start.velocity) == [0.0, 0.0]
    assert real.set_parameters("/real/hardware", {"command_timeout": 0.0}).successful
    real.command(["joint1"], [4.0])
    released = real.next_state(lambda state: state.effort[0] == 4.0, "the effort on joint1")
    assert released.velocity[1] == 0.0
    real.command(["joint2", "joint1"], [2.0, 1.0])
    real.next_state(lambda state: list(state.effort) == [1.0, 2.0], "both efforts")
    real.command([], [3.0, 4.0])
    real.next_state(lambda state: list(state.effort) == [3.0, 4.0], "efforts in the robot's order")
    real.command(NAMES, [1e6, -1e6])
    real.next_state(lambda state: list(state.effort) == [60.0, -30.0], "efforts at their limits")


@pytest.mark.parametrize(("names", "effort", "reason", "text"), [
    (["joint1", "elbow"], [9.0, 9.0], "unknown joint",
     "joint_commands: unknown joint 'elbow'; the robot has 'joint1', 'joint2'"),
    (["joint1", "joint2"], [9.0], "wrong length",
     "joint_commands: effort: expected one value per joint, 2, received 1"),
    (["joint1", "joint2"], [], "wrong length", ""),
    (["joint1", "joint2"], [NAN, 9.0], "not finite",
     "joint_commands: effort: expected finite numbers, received nan for joint 'joint1'"),
    (["joint2"], [math.inf], "not finite", ""),
    (["joint2", "joint2"], [9.0, 9.0], "repeated joint", "joint_commands: joint 'joint2' is named more than once"),
])
def test_bad_command_is_rejected_and_the_last_good_one_stays(real, real_time_process, names, effort, reason, text):
    real.set_parameters("/real/hardware", {"command_timeout": 0.0})
    real.command(NAMES, [1.5, 2.5])
    real.next_state(lambda state: list(state.effort) == [1.5, 2.5], "the good command")
    before = int(real.counter(f"rejected commands: {reason}") or 0)
    real.command(names, effort)
    real.wait_for(lambda: int(real.counter(f"rejected commands: {reason}") or 0) > before, "the counter")
    assert list(real.next_state().effort) == [1.5, 2.5]
    assert text in real_time_process.output()  # the second warning of a kind is throttled: none is expected


def test_stale_commands_lead_to_the_safe_behaviour_and_back(real, real_time_process):
    real.set_parameters("/real/hardware", {"command_timeout": 0.1, "safe_behaviour": "damping"})
    real.service(Trigger, "reset")
    real.command(NAMES, [1.0, 1.0])
    real.next_state(lambda state: list(state.effort) == [1.0, 1.0], "the command")
    real_time_process.wait_for_output("no command for 0.1 s or more for joint1, joint2: safe behaviour 'damping'")
    sinking = real.next_state(lambda state: state.effort[0] != 1.0, "damping")
    assert np.sign(sinking.effort[0]) == -np.sign(sinking.velocity[0])

    def commanding():
        real.command(NAMES, [0.5, 0.25])
        return "commands are back" in real_time_process.output()

    real.wait_for(commanding, "the recovery")
    real.next_state(lambda state: list(state.effort) == [0.5, 0.25], "the new command")
    assert int(real.wait_for(lambda: real.counter("stale commands"), "the counter")) >= 1


@pytest.mark.parametrize(("values", "reason"), [
    ({"command_timeout": -1.0}, "command_timeout"),
    ({"command_timeout": NAN}, "command_timeout"),
    ({"command_timeout": 1e308}, "command_timeout"),
    ({"wrench_timeout": 1e308}, "wrench_timeout"),
    ({"payload.mass": 1e300}, "payload.mass"),
    ({"gravity": [0.0, 0.0, 1e300]}, "parameter 'gravity': expected a list of 3, each element a finite number from"),
    ({"gravity": [0.0, -9.81]}, "parameter 'gravity': expected a list of 3, each element a finite number from"),
    ({"sensing.position_noise": [1e300]}, "parameter 'sensing.position_noise': expected a list, each element a finite"),
    ({"safe_behaviour": "panic"}, "expected one of 'damping', 'hold', 'zero', received 'panic'"),
    ({"step": 0.01}, "read-only"),
    ({"robot": "arm6"}, "read-only"),
    ({"initial_position.joint1": 0.0}, "read-only"),
])
def test_bad_parameters_are_refused(real, values, reason):
    result = real.set_parameters("/real/hardware", values)
    assert not result.successful
    assert reason in result.reason


def test_all_parameters_are_described(real):
    names = real.call(ListParameters, "/real/hardware/list_parameters").result.names
    own = [name for name in names if not name.startswith(("use_sim_time", "start_type_description_service"))]
    assert {"robot", "step", "initial_position.joint2"} <= set(own)
    described = real.call(DescribeParameters, "/real/hardware/describe_parameters", names=own).descriptors
    assert all(descriptor.description for descriptor in described)


# --- scaled: simulated time, services


@pytest.fixture(scope="module")
def scaled_process():
    with hardware_for_a_file("scaled", robot="scara", time_mode="scaled", real_time_factor=2.0, clock_rate=50,
                             **{"initial_position.joint2": 0.25}) as process:
        yield process


@pytest.fixture(scope="module")
def scaled(scaled_process):
    with Peer("scaled") as peer:
        yield peer


@pytest.fixture
def paused(scaled):
    assert scaled.service(SetBool, "pause", data=True).success
    yield scaled
    scaled.service(Trigger, "reset")
    assert scaled.service(SetBool, "pause", data=False).success


def test_simulated_time_runs_from_zero_at_its_factor_and_on_clock(scaled):
    clocks = scaled.record(Clock, "/clock")
    scaled.wait_for(lambda: len(clocks) > 3, "/clock")
    ticks = np.array([read_stamp(message.clock) for message in clocks])
    assert (np.diff(ticks) >= 20_000_000).all()
    first = stamp(scaled.next_state())
    assert first < 120e9
    assert first % PERIOD == 0

    def runs_at_its_factor():
        """Whether a second shows it; one in which the machine held up the node, which skips that time, does not."""
        seconds = scaled.states.times[-1] - scaled.states.times[0] if scaled.states else 0
        if seconds < 10**9:
            return False
        simulated = stamp(scaled.states[-1]) - stamp(scaled.states[0])
        scaled.states.clear()
        return simulated / seconds == pytest.approx(2.0, rel=0.1)

    scaled.wait_for(runs_at_its_factor, "a second at the factor")


def test_pause_repeats_the_state_and_step_advances_by_periods(paused):
    before = paused.next_state()
    paused.wait_for(lambda: len(paused.states) > 2, "repetitions")
    assert {stamp(state) for state in paused.states} == {stamp(before)}
    answer = paused.service(Step, "step", steps=5)
    assert answer.success, answer.message
    assert read_stamp(answer.stamp) == stamp(before) + 5 * PERIOD
    paused.next_state(lambda state: stamp(state) == stamp(before) + 5 * PERIOD, "the state after the steps")


def test_step_is_refused_while_running_and_for_nothing(scaled, paused):
    for steps in (0, 100_001, 2**32 - 1):
        answer = paused.service(Step, "step", steps=steps)
        assert f"expected at least 1 control period and at most 100000, received {steps}" in answer.message
    scaled.service(SetBool, "pause", data=False)
    answer = scaled.service(Step, "step", steps=1)
    assert not answer.success
    assert "not paused" in answer.message


def begin_long_step(peer):
    """Ask for more periods than any test waits for; returns the future answer, once periods are under way."""
    begin = stamp(peer.next_state())
    client = peer.node.create_client(Step, f"/{peer.namespace}/hardware/step")
    peer.wait_for(client.service_is_ready, "the service")
    answer = client.call_async(Step.Request(steps=100_000))
    peer.next_state(lambda state: stamp(state) > begin, "the first period")
    return answer


@pytest.mark.parametrize(("kind", "name", "fields", "reason"), [
    (SetBool, "pause", {"data": True}, "paused"),
    (Trigger, "reset", {}, "reset"),
    (SetBool, "pause", {"data": False}, "resumed"),
])
def test_a_long_step_is_interrupted_and_answered_and_other_requests_are_served(paused, kind, name, fields, reason):
    answer = begin_long_step(paused)
    assert paused.set_parameters("/scaled/hardware", {"command_timeout": 0.1}).successful
    assert paused.service(kind, name, **fields).success
    response = paused.wait_for(lambda: answer.done() and answer.result(), "the answer")
    assert not response.success
    assert f"of 100000 control periods done, then {reason}" in response.message


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_interrupts_a_long_step_which_is_answered(number):
    with hardware("stop", time_mode="scaled") as process, Peer("stop") as peer:
        assert peer.service(SetBool, "pause", data=True).success
        answer = begin_long_step(peer)
        process.stop(number)
        response = peer.wait_for(lambda: answer.done() and answer.result(), "the answer")
        assert "control periods done, then the node was stopped" in response.message


def test_set_state_and_reset(paused):
    answer = paused.service(SetState, "set_state", joint_names=["joint3", "joint1"], position=[0.05, 0.5],
                            velocity=[0.01, 0.02])
    assert answer.success, answer.message
    state = paused.next_state(lambda state: state.position[0] == 0.5, "the new state")
    assert list(state.position) == [0.5, 0.25, 0.05, 0.0]
    assert list(state.velocity) == [0.02, 0.0, 0.01, 0.0]
    assert paused.service(Trigger, "reset").success
    state = paused.next_state(lambda state: state.position[0] == 0.0, "the initial state")
    assert list(state.position) == [0.0, 0.25, 0.0, 0.0]


@pytest.mark.parametrize(("request_", "text"), [
    ({}, "set_state: expected positions, velocities or both, received neither"),
    ({"joint_names": ["joint1"]}, "set_state: expected positions, velocities or both, received neither"),
    ({"joint_names": ["elbow"], "position": [0.0]}, "set_state: position: unknown joint 'elbow'"),
    ({"joint_names": ["joint1"], "position": [NAN]}, "expected finite numbers, received nan for joint 'joint1'"),
    ({"joint_names": ["joint1"], "velocity": [0.0, 1.0]}, "set_state: velocity: expected one value per joint, 1"),
    ({"joint_names": ["joint1"], "position": [9.0]}, "position of joint 'joint1': expected -2.6 to 2.6, its limits"),
])
def test_bad_states_are_refused_and_the_state_kept(paused, request_, text):
    before = paused.next_state()
    answer = paused.service(SetState, "set_state", **request_)
    assert not answer.success
    assert text in answer.message
    assert list(paused.next_state().position) == list(before.position)


def test_diagnostics_tell_the_ages_of_commands(real):
    """A command that answers a state of half a second ago is as old as that, and was under way for less."""
    old = real.next_state().header.stamp
    real.next_state(lambda state: stamp(state) > read_stamp(old) + 500_000_000, "states of half a second")
    real.statuses.clear()
    real.command(NAMES, [0.0, 0.0], old)
    values = real.wait_for(lambda: next((values for values, _ in real.reports()
                                         if "age of commands [ms]: least" in values), None), "the age of a command")
    least, mean, greatest = (float(values[f"age of commands [ms]: {name}"]) for name in ("least", "mean", "greatest"))
    assert 500.0 < least <= mean <= greatest
    assert 0.0 <= float(values["transport of commands [ms]: greatest"]) < greatest


def test_figures_are_of_the_plant_in_force_and_rates_since_the_last_call(monkeypatch):
    steady = iter([10.0, 12.0, 12.5])
    monkeypatch.setattr("robodyn_ros.nodes.hardware.node.time", SimpleNamespace(monotonic=lambda: next(steady)))
    plant = Plant(Robot.from_urdf(robot_file("planar_2r")), compiled=False)
    loop = SimpleNamespace(plant=plant, timing=PlantTiming(TimeMode.SCALED, 1_000_000), time_mode=TimeMode.SCALED,
                           budget=None, periods=0, commands=SimpleNamespace(missed=3), wrenches=["link2"],
                           ages=AgeMonitor("commands"))
    values = PlantValues(loop)
    loop.periods, loop.timing.pace.worst, loop.timing.pace.missed = 1000, 2_500_000, 7
    loop.ages.note(1_000_000, 3_000_000, 5_000_000)
    first = values()
    assert (first["age of commands [ms]: greatest"], first["transport of commands [ms]: mean"]) == (4.0, 2.0)
    assert (first["time mode"], first["paused"], first["periods"], first["rate [Hz]"]) == ("scaled", False, 1000, 500.0)
    assert (first["worst jitter [s]"], first["missed periods"], first["time fallen behind [s]"]) == (0.0025, 7, 0.0)
    assert (first["periods without a new command"], first["pushed links"], first["saturated joints"]) == (3, 1, "none")
    other = Plant(Robot.from_urdf(robot_file("planar_2r")), position=[0.3, 0.2], compiled=False)
    loop.plant, loop.periods, loop.budget = other, 1100, 0
    second = values()
    assert not any("commands [ms]" in name for name in second), "no command came since"
    assert (second["paused"], second["rate [Hz]"]) == (True, 200.0)
    assert second["energy: potential [J]"] == other.energy.potential != first["energy: potential [J]"]
    assert second["energy: winding heat [J]"] == 0.0


@pytest.mark.parametrize(("limits", "expected"), [
    ({}, []),
    ({"effort": [True, False]}, ["joint1 (effort)"]),
    ({"voltage": [True, True], "current": [False, True]}, ["joint1 (voltage)", "joint2 (voltage)", "joint2 (current)"]),
])
def test_saturated_joints_are_named_with_the_limit(limits, expected):
    flags = {f"{kind}_saturated": np.array(mask) for kind, mask in limits.items()}
    state = ActuatorState(**dict.fromkeys(ActuatorState._fields, np.zeros(2)) | flags)
    assert saturated(["joint1", "joint2"], state) == expected
