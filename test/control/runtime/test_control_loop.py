# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""The control loop: first setpoints, swaps, trajectories, controllers that fail, states that jump."""

import signal
import threading
from dataclasses import replace

import numpy as np
import pytest
from recorded_loop import RecordedLoop

from robodyn_ros import InputError, PluginError, Robot
from robodyn_ros.control import Controller, ForceReference, Law, State, TipReference
from robodyn_ros.control.laws.computed_torque import ComputedTorque
from robodyn_ros.control.laws.damping import Damping
from robodyn_ros.control.laws.pd import PD, PDParameters
from robodyn_ros.control.laws.task_space_pd import TaskSpacePD
from robodyn_ros.control.plugins.plugin import Plugin
from robodyn_ros.control.plugins.plugin_threads import Abandoned
from robodyn_ros.control.references.joint_trajectory import JointTrajectory, Points
from robodyn_ros.control.references.tip_trajectory import TipTrajectory
from robodyn_ros.control.runtime.measurement import Measurement
from robodyn_ros.control.runtime.modes import Reason
from robodyn_ros.control.runtime.requests import (
    Configure,
    Drop,
    Exert,
    Follow,
    HoldStill,
    NewSettings,
    Release,
    Stop,
    Swap,
)
from robodyn_ros.control.runtime.supervisor import SupervisorSettings
from robodyn_ros.description.resources import robot_file

ROBOT = Robot.from_urdf(robot_file("planar_2r"))
N = ROBOT.n
PERIOD = 2_000_000  # [ns]
Q, V = np.array([0.3, -0.4]), np.array([0.1, 0.2])
EPOCH = 1_795_000_000 * 10**9  # of system time


class Recorder(Controller):
    """Records its calls; raises or returns nonsense on demand."""

    def __init__(self, robot=ROBOT, parameters=None):
        super().__init__(robot, parameters)
        self.activations, self.updates, self.answer, self.fails_to_activate = [], [], np.zeros(N), False

    def activate(self, state):
        self.activations.append(state)
        if self.fails_to_activate:
            raise RuntimeError("no")

    def update(self, state, reference):
        self.updates.append((state, reference))
        if isinstance(self.answer, BaseException):
            raise self.answer
        return self.answer


class Rig:
    """A loop with a clock; the robot rests at the first tick."""

    def __init__(self, controller, safe=None, stamp=EPOCH):
        self.stamp = stamp
        self.safe = Plugin("damping", safe or Damping(ROBOT))
        self.loop = RecordedLoop(
            ROBOT, Plugin("first", controller), self.safe, 0.5)

    def tick(self, q=Q, v=None, periods=1):
        self.stamp += periods * PERIOD
        if v is None:
            v = np.zeros(N) if self.loop.last is None else V
        return self.loop.tick(Measurement(self.stamp, np.array(q), np.array(v)))

    def follow(self, times, positions, stamp=None, ticks_between=0):
        begin = self.loop.trajectory_start(stamp)
        points = Points.from_arrays(times, np.repeat(np.array(positions)[:, None], N, axis=1))
        trajectory = JointTrajectory(begin.reference, begin.start_time, points, begin.origin)
        for _ in range(ticks_between):
            self.tick()
        self.loop.request(Follow(trajectory, on_arrival=stamp is None))


def test_new_parameters_are_compiled_for_what_each_controller_follows():
    """The active law follows joints, the safe one poses: a parameter that is compiled in changes for the safe one."""
    safe = TaskSpacePD(ROBOT)
    rig = Rig(PD(ROBOT), safe)
    rig.tick()
    changed = replace(safe.parameters, gravity=not safe.parameters.gravity)
    rig.loop.laws.prepare("damping", changed)
    rig.loop.request(Configure("damping", changed))
    rig.loop.request(Swap(rig.safe))
    rig.tick()
    assert safe.uncompiled_reason == ""
    assert not rig.loop.failures


def test_first_setpoint_is_the_current_state():
    recorder = Recorder()
    tick = Rig(recorder).tick()
    np.testing.assert_array_equal(tick.reference.q, Q)
    assert not tick.reference.v.any() and not tick.reference.a.any()
    (activation,) = recorder.activations
    assert (activation.time, activation.period) == (0.0, 0.0)
    np.testing.assert_array_equal(activation.q, Q)


def test_a_first_state_that_moves_is_the_first_setpoint_and_comes_to_rest():
    """A reference at rest would let the first efforts jump by a damping that stops the arm at once."""
    recorder = Recorder()
    rig = Rig(recorder)
    first = rig.tick(v=V)
    np.testing.assert_array_equal([first.reference.q, first.reference.v], [Q, V])
    assert not rig.loop.moving() and not first.intervention, "no effort before is known"
    speeds = np.array([rig.tick(q=first.reference.q).reference.v for _ in range(round(0.3e9 / PERIOD))])
    assert (np.diff(np.abs(speeds), axis=0) <= 0.0).all() and not speeds[-1].any()


def test_a_controller_that_chose_what_it_follows_when_it_was_made_gets_that():
    """As a policy does, whose observations are in a file: its class follows joints, this one the tip link."""
    chosen, nothing = Recorder(), Recorder()
    chosen.follows, nothing.follows = TipReference, None
    rig = Rig(PD(ROBOT))
    for controller, kind in ((chosen, TipReference), (nothing, type(None))):
        rig.tick()
        rig.loop.request(Swap(Plugin("policy", controller)))
        rig.tick()
        assert type(controller.updates[-1][1]) is kind
    assert not rig.loop.failures


def test_time_counts_from_the_first_state_and_is_exact_late_in_the_epoch():
    recorder = Recorder()
    rig = Rig(recorder)
    for _ in range(3):
        rig.tick()
    times = [(state.time, state.period) for state, _ in recorder.updates]
    assert times == [(0.0, 0.0), (pytest.approx(0.002, abs=1e-15),) * 2, (0.004, 0.002)]


def test_a_state_seen_again_gets_the_same_answer_without_an_update():
    recorder = Recorder()
    rig = Rig(recorder)
    first = rig.tick()
    again = rig.tick(q=Q + 1, periods=0)
    assert again is first and len(recorder.updates) == 1


def test_efforts_are_cut_to_the_limits_and_that_is_said():
    recorder = Recorder()
    rig = Rig(recorder)
    recorder.answer = np.array([1e9, -5.0])
    tick = rig.tick()
    np.testing.assert_array_equal(tick.effort, [ROBOT.model.effort_limit[0], -5.0])
    assert tick.saturated
    recorder.answer = np.array([1.0, -5.0])
    assert not rig.tick().saturated


def test_swap_while_holding_holds_the_current_state():
    rig = Rig(PD(ROBOT))
    rig.tick()
    moved = Q + 0.03
    rig.tick(q=moved)
    recorder = Recorder()
    rig.loop.request(Swap(Plugin("second", recorder)))
    tick = rig.tick(q=moved)
    np.testing.assert_array_equal(tick.reference.q, moved)
    assert rig.loop.laws.chosen.name == "second" and len(recorder.activations) == 1


def test_swap_under_way_leaves_the_reference_smooth():
    rig = Rig(PD(ROBOT))
    rig.tick()
    rig.follow([1.0], [1.0])
    references = []
    for k in range(500):
        if k == 200:
            rig.loop.request(Swap(Plugin("computed_torque", ComputedTorque(ROBOT))))
        references.append(rig.tick().reference)
    step = PERIOD * 1e-9
    q, v, a = (np.array([reference[part] for reference in references]) for part in range(3))
    np.testing.assert_allclose(np.diff(q, axis=0), step * (v[1:] + v[:-1]) / 2, atol=1e-7)
    np.testing.assert_allclose(np.diff(v, axis=0), step * (a[1:] + a[:-1]) / 2, atol=1e-5)
    np.testing.assert_allclose(q[-1], 1.0)


def test_a_hard_swap_commands_what_the_new_law_asks_for():
    rig = Rig(PD(ROBOT))
    rig.loop.request(NewSettings(swap_time=0.0))
    rig.tick()
    rig.follow([1.0], [1.0])
    for _ in range(100):
        reference = rig.tick().reference
    swapped = ComputedTorque(ROBOT)
    rig.loop.request(Swap(Plugin("computed_torque", swapped)))
    tick = rig.tick()
    np.testing.assert_array_equal(tick.effort, np.clip(swapped.update(tick.state, tick.reference), -60, 60))
    assert np.abs(tick.reference.q - reference.q).max() < 0.01


def test_swap_to_a_controller_without_reference_drops_the_trajectory():
    rig = Rig(PD(ROBOT))
    rig.tick()
    rig.follow([1.0], [1.0])
    rig.tick()
    rig.loop.request(Swap(Plugin("damping", Damping(ROBOT))))
    assert rig.tick().reference is None and not rig.loop.moving()
    with pytest.raises(InputError, match="'damping' follows none"):
        rig.loop.trajectory_start(None)
    rig.loop.request(Swap(Plugin("pd", PD(ROBOT))))
    np.testing.assert_array_equal(rig.tick().reference.q, Q)


def test_swap_before_the_first_state():
    rig = Rig(PD(ROBOT))
    recorder = Recorder()
    rig.loop.request(Swap(Plugin("second", recorder)))
    rig.tick()
    assert len(recorder.activations) == 1 and len(recorder.updates) == 1


@pytest.fixture
def ctrl_c_held():
    """As in a node: a KeyboardInterrupt is none of a person."""
    before = signal.signal(signal.SIGINT, lambda *_: None)
    yield
    signal.signal(signal.SIGINT, before)


def test_ctrl_c_is_no_fault_of_a_controller(monkeypatch):
    monkeypatch.setattr(signal, "getsignal", lambda _: signal.default_int_handler)  # as in a command
    recorder = Recorder()
    recorder.answer = KeyboardInterrupt()
    rig = Rig(recorder)
    with pytest.raises(KeyboardInterrupt):
        rig.tick()
    assert not rig.loop.failures


class Mute(BaseException):
    """Cannot be shown."""

    def __str__(self):
        raise KeyboardInterrupt

    __repr__ = __str__


@pytest.mark.parametrize("answer", [
    RuntimeError("lost"), SystemExit(3), KeyboardInterrupt(), GeneratorExit(), StopIteration(), BaseException("odd"),
    Mute(), None, np.array([np.nan, 0.0]), np.ones(3)])
def test_a_controller_that_fails_is_replaced_at_the_same_tick(answer, ctrl_c_held):
    recorder = Recorder()
    rig = Rig(recorder)
    rig.tick()
    rig.follow([1.0], [1.0])
    recorder.answer = answer
    tick = rig.tick()
    np.testing.assert_allclose(tick.effort, Damping(ROBOT).update(State(0.0, 0.0, Q, V), None))
    ((name, error),) = rig.loop.failures
    assert name == "first" and isinstance(error, PluginError) and error.__cause__ is None
    assert (type(answer).__name__ if isinstance(answer, BaseException) else "update: expected") in str(error)
    assert "Traceback" in error.__notes__[0]
    assert rig.loop.laws.chosen is rig.safe and not rig.loop.moving()
    recorder.answer = np.zeros(N)
    rig.loop.request(Swap(Plugin("first", recorder)))
    np.testing.assert_array_equal(rig.tick().reference.q, Q)
    assert rig.loop.laws.chosen.name == "first" and len(rig.loop.failures) == 1


def test_a_controller_that_fails_to_activate_is_replaced():
    recorder = Recorder()
    recorder.fails_to_activate = True
    rig = Rig(recorder)
    rig.tick()
    assert rig.loop.laws.chosen is rig.safe and rig.loop.failures[0][0] == "first"
    rig.loop.request(Swap(Plugin("again", recorder)))
    rig.tick()
    assert rig.loop.laws.chosen is rig.safe and rig.loop.failures[1][0] == "again"


def test_without_any_sound_controller_the_effort_is_zero():
    first, safe = Recorder(), Recorder()
    first.answer = safe.answer = RuntimeError("both")
    rig = Rig(first, safe)
    for _ in range(2):
        assert not rig.tick().effort.any()
    assert [name for name, _ in rig.loop.failures] == ["first", "damping", "damping"]


class Waits(Recorder):
    """Blocks in a method until the test lets it go on."""

    def __init__(self, method):
        super().__init__()
        self.method, self.waiting, self.go_on = method, threading.Event(), threading.Event()

    def wait(self, method):
        if method == self.method:
            self.waiting.set()
            assert self.go_on.wait(60.0)

    def activate(self, state):
        super().activate(state)
        self.wait("activate")

    def update(self, state, reference):
        self.wait("update")
        return super().update(state, reference)


@pytest.mark.parametrize("method", ["activate", "update"])
@pytest.mark.parametrize("late", [np.ones(N), RuntimeError("late")])
def test_a_call_that_does_not_return_is_left_behind(method, late):
    stuck, ends = Waits(method), []
    rig = Rig(stuck)
    stuck.answer = late

    def tick_until_abandoned():
        with pytest.raises(Abandoned):
            rig.tick()
        ends.append("thread")

    thread = threading.Thread(target=tick_until_abandoned)
    thread.start()
    assert stuck.waiting.wait(60.0)
    call = rig.loop.call
    assert call is not None and call[0].controller is stuck
    assert rig.loop.take_over(object()) is None, "of another call"
    rig.loop.request(rig.loop.take_over(call)._replace(text="it does not return"))
    assert rig.loop.take_over(call) is None and rig.loop.call is None
    tick = rig.loop.tick(Measurement(rig.stamp, Q, V))
    assert tick.plugin is rig.loop.laws.chosen is rig.safe and rig.loop.ends == [Plugin("first", stuck)]
    assert [(name, str(error)) for name, error in rig.loop.failures] == [("first", "it does not return")]
    stuck.go_on.set()
    thread.join(60.0)
    assert ends == ["thread"] and rig.loop.last is tick and len(rig.loop.failures) == 1
    other = Recorder()
    rig.loop.request(Swap(Plugin("other", other)))
    rig.tick()
    assert len(other.updates) == 1


def test_a_safe_controller_that_does_not_return_is_never_called_again():
    stuck = Waits("update")
    rig = Rig(stuck, stuck)
    rig.loop.request(Swap(rig.safe))
    thread = threading.Thread(target=lambda: pytest.raises(Abandoned, rig.tick))
    thread.start()
    assert stuck.waiting.wait(60.0)
    rig.loop.request(rig.loop.take_over(rig.loop.call)._replace(text="it does not return"))
    for _ in range(2):
        assert not rig.tick().effort.any()
    assert not stuck.updates and {str(error) for _, error in rig.loop.failures} == {"it does not return"}
    stuck.go_on.set()
    thread.join(60.0)
    other = Recorder()
    other.answer = np.ones(N)
    rig.loop.request(Swap(Plugin("other", other)))
    np.testing.assert_array_equal(rig.tick().effort, np.ones(N))


class Reaches(Recorder):
    """Tries to write to all that it is given."""

    def __init__(self, write):
        super().__init__()
        self.write = write

    def update(self, state, reference):
        for array in (state.q, state.v, state.wrench_tip, *reference, self.parameters.p):
            self.write(array)
        return np.zeros(N)

    Parameters = PDParameters


def write_through_base(array):
    while array.base is not None and isinstance(array.base, np.ndarray):
        array = array.base
    array.setflags(write=True)
    array[:] = np.nan


def overwrite(array):
    array[:] = np.nan


WAYS = [overwrite, write_through_base, lambda array: array.fill(np.nan), lambda array: array.sort(),
        lambda array: np.add(array, 1.0, out=array), lambda array: array.__iadd__(1.0),
        lambda array: np.copyto(array, np.nan), lambda array: np.put(array, 0, np.nan),
        lambda array: array.view(np.uint8).__setitem__(0, 1)]


@pytest.mark.parametrize("write", WAYS)
def test_a_controller_cannot_alter_what_it_is_given(write):
    reaches = Reaches(write)
    rig = Rig(reaches)
    gains = reaches.parameters.p.copy()
    tick = rig.tick(v=V)
    ((name, error),) = rig.loop.failures
    assert name == "first" and f"{__file__}, line " in str(error)
    np.testing.assert_array_equal(tick.state.q, Q)
    np.testing.assert_array_equal(tick.state.v, V)
    np.testing.assert_array_equal(reaches.parameters.p, gains)
    rig.loop.request(Swap(Plugin("second", PD(ROBOT))))
    assert np.isfinite(rig.tick().effort).all() and len(rig.loop.failures) == 1


class ReachesInLaw(Law):
    """Uncompiled, as it branches on a value; writes to its inputs, its memory and its gains."""

    Parameters = PDParameters
    target = ""

    def initial_memory(self, state):
        return np.ones(2)

    @staticmethod
    def law(dynamics, parameters, state, reference, memory):
        if state.q[0] > 10.0:
            return state.q, memory
        given = {"state": state.v, "reference": reference.q, "memory": memory, "gains": parameters.p}
        overwrite(given[ReachesInLaw.target])
        return np.zeros(N), memory


@pytest.mark.parametrize("target", ["state", "reference", "memory", "gains"])
def test_a_law_cannot_alter_what_it_is_given(target, monkeypatch):
    monkeypatch.setattr(ReachesInLaw, "target", target)
    rig = Rig(ReachesInLaw(ROBOT))
    tick = rig.tick(v=V)
    ((name, error),) = rig.loop.failures
    assert name == "first" and "read-only" in str(error) and f"{__file__}, line " in str(error)
    np.testing.assert_array_equal(tick.state.v, V)


class Strict(Recorder):
    """Has NumPy raise at each underflow, as a law under development may."""

    def __init__(self, where):
        super().__init__()
        self.where = where

    def activate(self, state):
        super().activate(state)
        if self.where == "activate":
            np.seterr(all="raise")

    def update(self, state, reference):
        if self.where == "update":
            np.seterr(all="raise")
        return super().update(state, reference)


class StrictLaw(Law):
    """Does so as a law that cannot be compiled."""

    @staticmethod
    def law(dynamics, parameters, state, reference, memory):
        np.seterr(all="raise")
        return np.array([float(effort) for effort in dynamics.gravity(state.q)])


@pytest.mark.parametrize("fails", [False, True])
@pytest.mark.parametrize("law", [lambda: Strict("activate"), lambda: Strict("update"), lambda: StrictLaw(ROBOT)])
def test_a_controller_leaves_the_error_state_of_numpy_alone(law, fails):
    """Otherwise the loop itself raises where a joint comes to rest, and so do later controllers."""
    before, controller = np.geterr(), law()
    rig = Rig(controller)
    try:
        rig.tick()
        rig.tick(v=[1e-200, 0.0])
        assert np.geterr() == before
        if fails:
            controller.answer = RuntimeError("no")
            rig.tick()
        rig.loop.request(Swap(Plugin("pd", PD(ROBOT))))
        rig.tick()
        assert np.geterr() == before
    finally:
        np.seterr(**before)


def test_efforts_cannot_be_altered_once_they_are_checked():
    recorder = Recorder()
    rig = Rig(recorder)
    tick = rig.tick()
    recorder.answer[:] = 1e9
    assert not tick.effort.any()


def test_a_controller_that_is_no_longer_needed_is_told_once():
    rig, controllers = Rig(Recorder()), [Plugin(name, Recorder()) for name in ("second", "third", "fourth")]

    def ends():
        return [plugin.name for plugin in rig.loop.ends]

    rig.tick()
    rig.loop.request(Swap(controllers[0]))
    assert ends() == ["first"]
    controllers[0].controller.answer = RuntimeError("lost")
    rig.tick()
    assert ends() == ["first", "second"]
    rig.loop.request(Swap(controllers[1]))
    rig.loop.request(Stop(Reason("request", "asked")))
    rig.loop.request(Swap(controllers[2]))
    assert ends() == ["first", "second", "third"]
    rig.loop.request(Release())
    rig.tick()
    assert ends() == ["first", "second", "third"] and rig.loop.laws.chosen.name == "fourth"


def test_gains_are_replaced_for_controllers_that_have_them():
    rig = Rig(PD(ROBOT))
    rig.loop.request(NewSettings(swap_time=0.0))
    rig.tick()
    rig.loop.request(Configure("first", PDParameters(p=0.0, d=0.0).for_robot(ROBOT)))
    assert not rig.tick().effort.any()
    rig.loop.request(Configure("another", PDParameters(p=1.0, d=1.0).for_robot(ROBOT)))
    assert not rig.tick().effort.any()


@pytest.mark.parametrize(
    ("stamp", "q", "words"),
    [
        (EPOCH // 2, Q, "time went back"),
        (EPOCH + 10**9, Q, "time went on by"),
        (EPOCH + 2 * PERIOD, Q + [0.0, 0.2], "joint 'joint2' jumped by 0.2"),
    ],
)
def test_a_state_that_no_motion_explains_is_a_new_start(stamp, q, words):
    recorder = Recorder()
    rig = Rig(recorder)
    rig.tick()
    rig.follow([1.0], [1.0])
    rig.loop.tick(Measurement(stamp, q, V))
    (reason,) = rig.loop.starts
    assert words in reason
    assert len(recorder.activations) == 2 and not rig.loop.moving()
    state, reference = recorder.updates[-1]
    np.testing.assert_array_equal(reference.q, q)
    assert (state.time, state.period) == (0.0, 0.0)


def test_fast_motion_is_no_jump():
    rig = Rig(Recorder())
    v = np.array([50.0, 0.0])
    rig.tick(v=v)
    rig.tick(q=Q + v * PERIOD * 1e-9, v=v)
    assert not rig.loop.starts


def test_a_trajectory_in_the_future_waits_and_one_from_the_past_is_joined():
    rig = Rig(PD(ROBOT))
    rig.tick()
    rig.follow([1.0], [1.0], stamp=rig.stamp + 50 * PERIOD)
    for _ in range(50):
        reference = rig.tick().reference
    np.testing.assert_array_equal(reference.q, Q)
    for _ in range(500):
        reference = rig.tick().reference
    np.testing.assert_array_equal(reference.q, 1.0)
    rig.follow([0.1, 0.2, 1.2], [5.0, 5.0, 2.0], stamp=rig.stamp - 200_000_000)
    assert np.abs(rig.tick().reference.q - 1.0).max() < 1e-3
    for _ in range(500):
        reference = rig.tick().reference
    np.testing.assert_array_equal(reference.q, 2.0)


@pytest.mark.parametrize("ticks_between", [1, 5, 600])
def test_planning_time_delays_the_start(ticks_between):
    rig = Rig(PD(ROBOT))
    rig.tick()
    rig.follow([1.0], [1.0], ticks_between=ticks_between)
    references = [rig.tick().reference.q[0] for _ in range(501)]
    assert abs(references[0] - Q[0]) < 1e-4 and references[498] < 1.0 == references[499]


def test_planning_time_does_not_delay_a_stamped_trajectory():
    rig = Rig(PD(ROBOT))
    rig.tick()
    rig.follow([0.1, 1.0], [0.5, 1.0], stamp=rig.stamp, ticks_between=100)
    references = [rig.tick().reference.q[0] for _ in range(400)]
    assert abs(references[0] - Q[0]) < 1e-3 and references[-2] < 1.0 == references[-1]


def test_trajectories_that_cannot_be_followed_are_refused():
    rig = Rig(PD(ROBOT))
    with pytest.raises(InputError, match="no joint state"):
        rig.loop.trajectory_start(None)
    rig.tick()
    with pytest.raises(InputError, match="another|joint states' stamps"):
        rig.loop.trajectory_start(rig.stamp + 7200 * 10**9)
    with pytest.raises(InputError, match="ended"):
        rig.follow([1.0], [1.0], stamp=rig.stamp - 2 * 10**9)


def test_stop_holds_the_current_state():
    rig = Rig(PD(ROBOT))
    rig.tick()
    rig.follow([1.0], [1.0])
    rig.tick()
    rig.loop.request(HoldStill())
    np.testing.assert_array_equal(rig.tick().reference.q, Q)


class FollowsPoses(Recorder):
    follows = TipReference


class Pushes(Recorder):
    follows = ForceReference


def line(rig, goal, duration=1.0):
    begin = rig.loop.trajectory_start(None, TipReference)
    return TipTrajectory.line(begin.reference, begin.start_time, duration, goal)


def test_a_controller_gets_the_references_that_it_follows():
    pose = ROBOT.dynamics().forward_kinematics(Q)
    for controller in (FollowsPoses(), Pushes()):
        rig = Rig(controller)
        reference = rig.tick().reference
        assert type(reference) is controller.follows
        np.testing.assert_allclose(reference.position, pose[:3, 3])
        goal = reference.position + 0.1
        rig.loop.request(Follow(line(rig, goal), on_arrival=True))
        assert rig.loop.moving()
        rig.tick(periods=200)
        np.testing.assert_allclose(rig.tick(periods=200).reference.position, goal - 0.1 + 0.1 * 0.94208)  # at 0.8 s
        assert not rig.loop.failures and not rig.loop.starts


def test_a_swap_between_kinds_of_references_holds_the_current_state():
    rig = Rig(PD(ROBOT))
    rig.tick()
    rig.follow([1.0], [1.0])
    rig.loop.request(Swap(Plugin("poses", FollowsPoses())))
    assert not rig.loop.moving()
    np.testing.assert_allclose(rig.tick().reference.position, ROBOT.dynamics().forward_kinematics(Q)[:3, 3])
    rig.loop.request(Follow(line(rig, np.zeros(3)), on_arrival=True))
    rig.loop.request(Swap(Plugin("other poses", FollowsPoses())))
    assert rig.loop.moving()
    rig.loop.request(Swap(Plugin("first", PD(ROBOT))))
    assert not rig.loop.moving()
    np.testing.assert_array_equal(rig.tick().reference.q, Q)


def test_a_trajectory_of_another_kind_is_refused():
    rig = Rig(FollowsPoses())
    rig.tick()
    with pytest.raises(InputError, match="follows a TipReference, not a JointReference"):
        rig.loop.trajectory_start(None)
    trajectory = line(rig, np.zeros(3))
    rig.loop.request(Swap(Plugin("first", PD(ROBOT))))
    with pytest.raises(InputError, match="follows a JointReference, not a TipReference"):
        rig.loop.request(Follow(trajectory, on_arrival=True))


def test_a_failing_controller_of_poses_falls_back_to_one_of_joints():
    failing = FollowsPoses()
    rig = Rig(failing, safe=PD(ROBOT))
    rig.tick()
    rig.loop.request(Follow(line(rig, np.zeros(3)), on_arrival=True))
    failing.answer = ValueError("odd")
    np.testing.assert_array_equal(rig.tick().reference.q, Q)
    assert not rig.loop.moving() and rig.loop.laws.chosen.name == "damping" and len(rig.loop.failures) == 1


def test_wrenches_go_to_controllers_that_follow_them():
    rig = Rig(Pushes())
    rig.tick()
    rig.loop.request(Exert(np.arange(6.0)))
    np.testing.assert_array_equal(rig.tick().reference.wrench, np.arange(6.0))
    rig.loop.request(HoldStill())
    assert not rig.tick().reference.wrench.any()
    with pytest.raises(InputError, match="wrench"):
        rig.loop.request(Exert(np.zeros(3)))
    rig.loop.request(Swap(Plugin("first", PD(ROBOT))))
    with pytest.raises(InputError, match="'first' follows none"):
        rig.loop.request(Exert(np.zeros(6)))


def test_states_without_commands_are_one_new_start_that_brings_the_robot_to_rest():
    recorder = Recorder()
    rig = Rig(recorder)
    rig.tick()
    rig.follow([1.0], [1.0])
    rig.tick(periods=5)
    for _ in range(4):
        rig.stamp += PERIOD
        tick = rig.loop.tick(Measurement(rig.stamp, Q, V, new_start="not followed"))
        assert tick.state.time == tick.state.period == 0.0
        np.testing.assert_array_equal(tick.reference.q, Q)
        np.testing.assert_array_equal(tick.reference.v, V)
    assert rig.loop.starts == ["not followed"], "once, although the hardware says it of each state"
    assert not rig.loop.moving(), "coming to rest is no trajectory"
    assert rig.tick().state.period == PERIOD * 1e-9
    for _ in range(200):
        tick = rig.tick()
    assert not tick.reference.v.any()
    rig.follow([1.0], [1.0])
    assert rig.loop.moving()
    rig.loop.tick(Measurement(rig.stamp + PERIOD, Q, V, new_start="again"))
    assert rig.loop.starts == ["not followed", "again"] and not rig.loop.moving()


def test_coming_to_rest_begins_where_the_plant_follows_however_late_the_answer_was():
    rig = Rig(Recorder())
    rig.loop.tick(Measurement(rig.stamp, Q, V, new_start="not followed"))
    rig.stamp += 40 * PERIOD  # the controller was stopped, and its answer came late
    there = Q + 20 * PERIOD * 1e-9 * V
    tick = rig.loop.tick(Measurement(rig.stamp, there, 0.5 * V))
    np.testing.assert_array_equal(tick.reference.q, there)
    np.testing.assert_array_equal(tick.reference.v, 0.5 * V)
    assert not rig.loop.starts, "the same new start"
    assert rig.tick().reference.v @ V < 0.5 * V @ V, "the second state that it follows is part of the motion"


def test_a_controller_under_which_a_joint_runs_away_is_dropped():
    limit = ROBOT.model.velocity_limit
    rig = Rig(Recorder())
    rig.tick(v=19.0 * limit * [1.0, 0.0])
    assert not rig.loop.failures
    tick = rig.tick(v=[0.0, -21.0 * limit[1]])
    ((name, error),) = rig.loop.failures
    assert (name, str(error)) == ("first", f"joint 'joint2' ran away: {21.0 * limit[1]:.3g}, limit {limit[1]:.3g}")
    assert rig.loop.laws.chosen is rig.safe and tick.effort[1] > 0.0, "damped"
    rig.tick(v=[0.0, -30.0 * limit[1]])
    assert len(rig.loop.failures) == 1, "nothing is left to replace the safe one"


def test_without_a_factor_no_speed_is_too_high():
    rig = Rig(Recorder())
    rig.loop.request(NewSettings(supervisor=SupervisorSettings(runaway_factor=0.0)))
    rig.tick(v=[1e3, 1e3])
    assert not rig.loop.failures


def test_a_controller_is_dropped_on_request_for_the_safe_one_only():
    rig = Rig(Recorder())
    rig.tick()
    rig.loop.request(Drop(Reason("too slow", "the law takes 50 ms of 2 ms")))
    rig.loop.request(Drop(Reason("too slow", "again")))
    ((name, error),) = rig.loop.failures
    assert (name, str(error)) == ("first", "the law takes 50 ms of 2 ms")
    assert rig.loop.laws.chosen is rig.safe


def wrapped(q):
    return np.remainder(np.asarray(q) + np.pi, 2 * np.pi) - np.pi


def test_a_driver_that_wraps_a_continuous_joint_ends_no_motion():
    """Joint 1 turns through pi at 1 rad/s; the law sees it turn on, and the trajectory goes on."""
    law = Recorder()
    rig = Rig(law)
    rig.tick([3.1, 0.0], [1.0, 0.0])
    rig.follow([1.0], [3.6])
    for k in range(1, 100):
        rig.tick(wrapped([3.1 + 0.002 * k, 0.0]), [1.0, 0.0])
    assert not rig.loop.starts and rig.loop.moving()
    q = np.array([state.q for state, _ in law.updates])
    np.testing.assert_allclose(np.diff(q[:, 0]), 0.002, atol=1e-12)
    rig.tick(wrapped([5.0, 0.0]), [1.0, 0.0])
    assert len(rig.loop.starts) == 1 and "jumped by 1.7" in rig.loop.starts[0], "by more than velocities explain"
    np.testing.assert_allclose(law.updates[-1][0].q, wrapped([5.0, 0.0]), err_msg="a new start takes it as it comes")


def test_the_error_of_a_continuous_joint_is_half_a_turn_at_most():
    """An arm that is pushed around by more than half a turn is brought back the short way, as an angle."""
    law = Recorder()
    rig = Rig(law)
    for position in np.arange(0.0, 5.0, 0.01):
        rig.tick([position, 0.0], [5.0 * (position > 0.0), 0.0])
    errors = np.array([reference.q[0] - state.q[0] for state, reference in law.updates])
    np.testing.assert_allclose(errors, wrapped(-np.arange(0.0, 5.0, 0.01)), atol=1e-9)
    assert not rig.loop.starts


def test_a_law_of_the_tip_has_joints_beside_its_chain_moved_by_name():
    robot = Robot.from_urdf(robot_file("planar_2r"), tip_link="link1")
    first, second = robot.joint_names
    loop = RecordedLoop(robot, Plugin("tip", TaskSpacePD(robot)), Plugin("damping", Damping(robot)), 0.5)
    loop.tick(Measurement(EPOCH, Q, np.zeros(N)))
    with pytest.raises(InputError, match=f"'tip' follows the tip link 'link1', which joint '{first}' moves: .* "
                                         f"By name it moves {second}$"):
        loop.trajectory_start(None, joints=[second, first])
    begin = loop.trajectory_start(None, joints=[second])
    points = Points.from_arrays([0.01], [[Q[0], Q[1] + 0.01]])
    loop.request(Follow(JointTrajectory(begin.reference, begin.start_time, points, begin.origin), on_arrival=True))
    assert loop.moving() and loop.motion() is not None
    ticks = [loop.tick(Measurement(EPOCH + k * PERIOD, Q, np.zeros(N))) for k in range(1, 8)]
    wanted = [tick.reference.q[1] for tick in ticks]
    assert wanted == sorted(wanted) and Q[1] < wanted[0] < wanted[-1] == Q[1] + 0.01 and not loop.moving()
    assert ticks[-1].effort[1] > 0.0  # towards its goal, while the state stays
    held = np.array([tick.reference.position for tick in ticks])
    np.testing.assert_array_equal(held, np.tile(held[0], (len(ticks), 1)))
    loop.request(HoldStill())
    assert loop.tick(Measurement(EPOCH + 8 * PERIOD, Q, np.zeros(N))).reference.q[1] == Q[1]
