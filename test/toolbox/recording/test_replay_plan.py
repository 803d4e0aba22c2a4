# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Requests that repeat a recording: motions through the recorded references, swaps, jumps of the state."""

import sys

import numpy as np
import pytest

pytest.importorskip("mcap_ros2", reason="mcap-ros2-support is not installed: make setup")

from recorded_bags import SECOND, Recorder  # noqa: E402

from robodyn_ros.base import module_path  # noqa: E402
from robodyn_ros.base.errors import RecordingError  # noqa: E402
from robodyn_ros.control.contract.controller import JointReference  # noqa: E402
from robodyn_ros.control.references.joint_trajectory import JointTrajectory  # noqa: E402
from robodyn_ros.description.resources import actuators_file  # noqa: E402
from robodyn_ros.toolbox.recording import replay_plan  # noqa: E402
from robodyn_ros.toolbox.recording.recorded_ticks import SetParameter, SetState  # noqa: E402
from robodyn_ros.toolbox.recording.replay_plan import PlannedSwap, ReferenceMotion, ReplayPlan, check_names  # noqa: E402
from robodyn_ros.toolbox.recording.run import Run  # noqa: E402

PERIOD = 0.002
JOINTS = ("joint1", "joint2")
START = 7 * SECOND


def swing(time):
    """Reference of two joints at a time: position, velocity, acceleration."""
    return (np.array([np.sin(time), np.cos(2.0 * time)]), np.array([np.cos(time), -2.0 * np.sin(2.0 * time)]),
            np.array([-np.sin(time), -4.0 * np.cos(2.0 * time)]))


def record(path, seconds, reference, controller=lambda time: "pd", stamp=lambda time: START + round(time * SECOND),
           state=lambda time: [0.0, 0.0], period=PERIOD, samples=5, mode=lambda time: "running"):
    """Record a robot; every few joint states, a sample of its controller."""
    with Recorder(path) as recorder:
        for i in range(round(seconds / period) + 1):
            time = i * period
            recorder.joint_state("/joint_states", stamp(time), JOINTS, state(time), [0.0, 0.0])
            if i % samples == 0:
                q, v, a = reference(time)
                recorder.controller_state(stamp(time), controller(time), JOINTS, q, state(time), [0.0, 0.0],
                                          velocity=v, acceleration=a, mode=mode(time))
    return ReplayPlan(Run(path))


def test_two_states_nearest_to_one_tick_are_one_point(tmp_path):
    def stamp(time):
        late = PERIOD * 0.7 if round(time / PERIOD) in (99, 100) else 0.0
        return START + round((time - late) * SECOND)
    (motion,) = (each for each in record(tmp_path / "run", 0.4, swing, stamp=stamp, samples=1).requests
                 if isinstance(each, ReferenceMotion))
    assert (np.diff(motion.points.times) > 0.0).all()



def sampled(motion, start):
    """The reference that a node follows, from another one at the start, as a function of the tick."""
    trajectory = JointTrajectory(start, 0.0, motion.points)
    return lambda tick: trajectory.sample((tick - motion.tick) * PERIOD).q


def test_the_motion_passes_the_recorded_references_from_the_first_tick_on(tmp_path):
    plan = record(tmp_path / "run", 1.0, swing)
    first, motion = plan.requests
    assert isinstance(first, SetState) and first.tick == -1 and plan.period == pytest.approx(PERIOD)
    assert motion.tick == 0 and plan.end == 500 and plan.controller == "pd"
    rest = np.zeros(2)
    follow = sampled(motion, JointReference(np.array([0.05, 0.95]), rest, rest))
    for tick in range(1, 501):
        assert follow(tick) == pytest.approx(swing(tick * PERIOD)[0], abs=1e-8)


def test_a_swap_in_motion_leaves_the_motion_alone_and_one_at_rest_divides_it(tmp_path):
    def controller(time):
        return "pd" if time < 0.5 else "computed_torque"

    plan = record(tmp_path / "moving", 1.0, swing, controller)
    assert [type(request) for request in plan.requests] == [SetState, ReferenceMotion, PlannedSwap]
    assert plan.requests[-1] == PlannedSwap(249, "computed_torque")
    rest = np.zeros(2)
    plan = record(tmp_path / "resting", 1.0, lambda time: (np.full(2, 0.1 if time < 0.5 else 0.3), rest, rest),
                  controller)
    assert [(type(request), request.tick) for request in plan.requests] == [
        (SetState, -1), (ReferenceMotion, 0), (PlannedSwap, 249), (ReferenceMotion, 249)]
    last = plan.requests[-1].points
    assert last.times[0] == pytest.approx(PERIOD) and np.all(last.q == 0.3)


def test_a_law_that_waited_for_its_inputs_is_chosen_from_the_beginning_and_moves_once_they_are_there(tmp_path):
    rest = np.zeros(2)
    waits = lambda time: time < 0.3 or 0.6 <= time < 0.8  # noqa: E731
    plan = record(tmp_path / "run", 1.0, lambda time: (np.full(2, time), rest, rest),
                  lambda time: "damping" if time < 0.3 else "pd" if time < 0.8 else "torque_feedback",
                  mode=lambda time: "holding" if waits(time) else "running")
    assert plan.controller == "pd"
    # The law before holds the robot after the second swap, at which no motion can begin.
    assert [(type(request), request.tick) for request in plan.requests] == [
        (SetState, -1), (ReferenceMotion, 150), (PlannedSwap, 299), (ReferenceMotion, 400)]
    plan.repeat_inputs(plan.controller)
    assert plan.reads_motors == {"torque_feedback"}


def test_a_jump_of_the_state_and_a_pause_set_the_state_anew(tmp_path):
    rest = np.zeros(2)
    plan = record(tmp_path / "run", 1.0, lambda time: (np.full(2, float(time >= 0.3)), rest, rest),
                  state=lambda time: [float(time >= 0.3), 0.0],
                  stamp=lambda time: START + round(time * SECOND) + 5 * SECOND * (time >= 0.6))
    kinds = [(type(request), request.tick) for request in plan.requests]
    assert kinds == [(SetState, -1), (ReferenceMotion, 0), (SetState, 149), (ReferenceMotion, 150), (SetState, 299),
                     (ReferenceMotion, 300)]
    assert plan.requests[2].position.tolist() == [1.0, 0.0] and plan.end == 500
    assert plan.requests[3].points.times[0] == pytest.approx(PERIOD)


@pytest.mark.parametrize(("mode", "states"), [("lockstep", 1), ("real_time", 2)])
def test_a_gap_is_a_pause_only_where_time_goes_on_in_pauses(tmp_path, monkeypatch, mode, states):
    monkeypatch.setattr(Run, "parameters", {"/hardware": {"time_mode": mode}})
    plan = record(tmp_path / "run", 1.0, swing,
                  stamp=lambda time: START + round(time * SECOND) + SECOND * (time >= 0.6))
    assert [type(request) for request in plan.requests].count(SetState) == states
    assert plan.end == (1000 if mode == "lockstep" else 500)


def test_long_motions_come_in_parts_that_end_at_rest(tmp_path, monkeypatch):
    monkeypatch.setattr(replay_plan, "MAX_POINTS", 51)
    plan = record(tmp_path / "run", 0.6, swing, period=0.01, samples=1)
    parts = plan.requests[1:]
    assert [len(part.points.times) for part in parts] == [51, 11]
    for part in parts:
        assert not part.points.v[-1].any()
    assert parts[1].tick == 50 and parts[1].points.times[0] == pytest.approx(0.01)
    assert parts[1].points.q[0] == pytest.approx(swing(0.51)[0])


def test_what_cannot_be_replayed_is_told_in_one_line(tmp_path):
    with Recorder(tmp_path / "states") as recorder:
        recorder.joint_state("/joint_states", START, JOINTS, [0.0, 0.0], [0.0, 0.0])
    with pytest.raises(RecordingError, match="nothing to replay: expected the references"):
        ReplayPlan(Run(tmp_path / "states"))
    kind, zeros = "sensor_msgs/msg/JointState", np.zeros(2)
    with Recorder(tmp_path / "twice") as recorder:
        for second, stamp in enumerate((5, 6, 5)):
            recorder.add("/joint_states", kind, second * SECOND, recorder.message(
                kind, header=recorder.header(stamp * SECOND), name=list(JOINTS), position=zeros, velocity=zeros,
                effort=zeros))
        recorder.controller_state(5 * SECOND, "pd", JOINTS, zeros, zeros, zeros)
    with pytest.raises(RecordingError, match="goes back: the simulation was started anew"):
        ReplayPlan(Run(tmp_path / "twice"))


def test_a_recording_imports_no_module_and_opens_no_file_by_its_own_word(tmp_path, monkeypatch):
    monkeypatch.setenv(module_path.VARIABLE, "")
    monkeypatch.setattr(sys, "path", list(sys.path))
    plan = record(tmp_path / "run", 0.1, swing, controller=lambda time: "pd" if time < 0.05 else "evil:Law")
    with pytest.raises(RecordingError, match=r"it names the controller 'evil:Law'.*--plugins-from DIR"):
        check_names(plan.run, plan.requests, {}, [])
    harmless = ReplayPlan(plan.run, swaps=False).requests
    mine = {"controller": {"controller": "mine:Law", "safe_controller": "damping"}}
    check_names(plan.run, harmless, mine, ["mine:Law"])
    for value in ("evil:Law", "os:system", ":x", ["evil:Law"]):
        for request in ([], [SetParameter(3, "controller", "safe_controller", value)]):
            with pytest.raises(RecordingError, match="a recording is not trusted to import it"):
                parameters = {} if request else {"controller": {"safe_controller": value}}
                check_names(plan.run, request, parameters, ["mine:Law"])
    for name in replay_plan.NAMES_OF_FILES:
        for value in ("/etc/passwd", "~/x", "x.yaml", 3, ["x"], {"a": 1}):
            with pytest.raises(RecordingError, match=f"file of {name} .* yours with --{name.replace('_', '-')} FILE"):
                check_names(plan.run, harmless, {"hardware": {name: value}}, [])
            with pytest.raises(RecordingError, match=f"file of {name} "):
                check_names(plan.run, harmless, {"hardware": {"robot": "arm6"}, "controller": {name: value}}, [])
            check_names(plan.run, harmless, {"hardware": {name: value}}, [name])
    for value in ("/etc/passwd", "policy.yaml", 3):
        with pytest.raises(RecordingError, match="file of policy.file .* yours with --policy FILE"):
            check_names(plan.run, harmless, {"controller": {"policy.file": value}}, [])
    check_names(plan.run, harmless, {"controller": {"policy.file": "mine.yaml"}}, ["policy.file"])
    check_names(plan.run, harmless, {"controller": {"policy.file": "", "other.file": "x", "lqr.period": 0.1}}, [])
    for value in ("hardware_dc_motors", str(actuators_file("hardware_dc_motors")), ""):
        check_names(plan.run, harmless, {"hardware": {"actuators": value}}, [])
    check_names(plan.run, harmless, {"hardware": {"driver": "ur"}, "controller": {"driver": "franka"}}, [])
    (tmp_path / "evil.py").write_text("raise SystemExit('it ran')")
    module_path.add_plugin_folder(str(tmp_path))
    check_names(plan.run, plan.requests, {}, [])


def test_every_parameter_that_names_a_file_or_a_module_is_known(tmp_path):
    pytest.importorskip("rclpy")
    from robodyn_ros.nodes import dynamics, state_publisher
    from robodyn_ros.nodes.controller import node as controller
    from robodyn_ros.nodes.hardware import parameters as hardware

    known = {*replay_plan.NAMES_OF_FILES, *replay_plan.NAMES_OF_CONTROLLERS, *replay_plan.NOT_REPEATED}
    for module in (hardware, controller, dynamics, state_publisher):
        for parameter in module.PARAMETERS:
            names_something = any(word in parameter.description for word in (" file", "Path ", "path ", "plugin"))
            assert not (names_something and isinstance(parameter.default, str)) or parameter.name in known, parameter
