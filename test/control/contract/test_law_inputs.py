# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""What a law declares to read: topics with an age, and the motors' side; compiled, as Python, in C, and missing."""

import ctypes
import subprocess
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pytest
from recorded_loop import RecordedLoop

from robodyn_ros import ClosedLoop, InputError, PluginError, Robot
from robodyn_ros.control import Controller, JointReference, Law, Parameters, Reading, State, declare_input, scalar
from robodyn_ros.control.contract.law_inputs import state_form
from robodyn_ros.control.laws.damping import Damping
from robodyn_ros.control.laws.pd import PD
from robodyn_ros.control.plugins.dry_run import dry_run
from robodyn_ros.control.plugins.plugin import Plugin
from robodyn_ros.control.plugins.registry import load_controller
from robodyn_ros.control.references.joint_trajectory import JointTrajectory, Points
from robodyn_ros.control.runtime.measurement import Measurement
from robodyn_ros.control.runtime.modes import Mode
from robodyn_ros.control.runtime.requests import ON_REQUEST, Follow, NewSettings, Release, Stop, Swap
from robodyn_ros.description.resources import robot_file
from robodyn_ros.simulation.signals import Signal
from robodyn_ros.toolbox.export.c_law import law_source
from robodyn_ros.toolbox.export.ros2_control import ros2_control_package

ROBOT = Robot.from_urdf(robot_file("planar_2r"))
N = ROBOT.n
REST = np.zeros(N)
SECOND = 10**9


class Seen(NamedTuple):
    """A target that may lack, and a gain that may not."""

    target: Reading = declare_input("camera/target", "geometry_msgs/msg/PointStamped", "point", (3,), greatest_age=0.2)
    gain: Reading = declare_input("gain", "std_msgs/msg/Float64", "data", (), greatest_age=1.0, required=True,
                                  example=1.0)


@dataclass(frozen=True, eq=False)
class Gains(Parameters):
    """Of `Servo`."""

    stiffness: float = scalar(20.0, description="Stiffness")


class Servo(Law[Gains, JointReference, np.ndarray]):
    """Turns its joints to what a camera sees, and remembers where its motors were first."""

    senses = ("motor_q", "joint_torque")
    Inputs = Seen

    @staticmethod
    def law(dynamics, parameters, state, reference, memory):
        target, gain = state.inputs
        offset = np.where(np.isnan(target.value), 0.0, target.value * np.exp(-target.age))[:2]
        wanted = reference.q + offset - state.motor_q + 0.1 * memory
        return gain.value * parameters.stiffness * wanted - state.v - 0.01 * state.joint_torque, memory

    def initial_memory(self, state):
        return state.motor_q.copy()


class UncompiledServo(Servo):
    """The same law as Python code."""

    @staticmethod
    def law(dynamics, parameters, state, reference, memory):
        if float(state.time) < 0.0:
            return REST, memory
        return Servo.law(dynamics, parameters, state, reference, memory)


class Listener(Controller):
    """Keeps what it received."""

    Inputs = Seen

    def __init__(self, robot=ROBOT, parameters=None):
        super().__init__(robot, parameters)
        self.states, self.begins = [], []

    def activate(self, state):
        self.begins.append(state)

    def update(self, state, reference):
        self.states.append(state)
        return REST


SIGNALS = {"target": Signal(lambda time: [0.3 * np.sin(5.0 * time), 0.2, 0.0], 0.03, 0.05), "gain": 2.0}


def test_a_law_with_inputs_moves_alike_compiled_in_python_and_in_batches():
    loop = ClosedLoop(Servo(ROBOT))
    scenario = loop.scenario(duration=0.4, q=[0.3, -0.2], signals=SIGNALS)
    done = loop.run(scenario)
    assert not done.note
    assert np.abs(done.q[-1] - done.q[0]).max() > 0.05  # it followed the target
    assert np.abs(loop.run(scenario, compiled=False).q - done.q).max() < 1e-9
    uncompiled = ClosedLoop(UncompiledServo(ROBOT))
    other = uncompiled.run(scenario)
    assert "uncompiled" in other.note
    np.testing.assert_allclose(other.q, done.q, atol=1e-9)
    scores = loop.scores(scenario, [loop.controller.parameters] * 3)
    np.testing.assert_array_equal(scores.q, [done.score.q] * 3)


def test_a_signal_comes_at_its_rate_with_its_delay_and_its_age_grows_until_it_is_too_old():
    loop = ClosedLoop(Servo(ROBOT))
    lost = Signal(lambda time: [time, 0.0, 0.0] if time < 0.1 else None, 0.03, 0.05)
    scenario = loop.scenario(duration=0.5, signals={"target": lost, "gain": np.linspace(1.0, 2.0, 250)})
    times, target = scenario.clocks[:, 0], scenario.signals.target
    first = int(np.argmax(np.isfinite(target.age)))
    assert times[first] == pytest.approx(0.05)
    assert np.isnan(target.value[:first]).all() and np.isinf(target.age[:first]).all()
    messages = np.arange(0.0, 0.1, 0.03)
    for time, value, age in zip(times[first:], target.value[first:], target.age[first:], strict=True):
        measured = messages[messages <= time - 0.05 + 1e-9][-1]
        if time - (measured + 0.05) <= 0.2:
            assert value[0] == pytest.approx(measured) and age == pytest.approx(time - measured - 0.05, abs=1e-9)
        else:
            assert np.isnan(value).all() and np.isinf(age)
    np.testing.assert_allclose(scenario.signals.gain.value, np.linspace(1.0, 2.0, 250))


@pytest.mark.parametrize(
    ("signals", "words"),
    [
        ({}, "'gain': the law requires this input"),
        ({"gain": 1.0, "tagret": [0.0, 0.0, 0.0]}, "no input 'tagret': did you mean 'target'"),
        ({"gain": [1.0, 2.0]}, r"'gain' at 0 s: expected"),
        ({"gain": np.nan}, "'gain' at 0 s"),
        ({"gain": Signal(1.0, delay=0.1)}, "none at 0 s"),
        ({"gain": lambda time: 1.0 / time}, "'gain': its function fails at 0 s: ZeroDivisionError"),
    ],
)
def test_a_signal_that_does_not_fit_is_told(signals, words):
    with pytest.raises((InputError, PluginError), match=words):
        ClosedLoop(Servo(ROBOT)).scenario(duration=0.1, signals=signals)


def test_a_law_without_inputs_takes_no_signals():
    with pytest.raises(InputError, match="the law has no inputs, received 'gain'"):
        ClosedLoop(PD(ROBOT)).scenario(duration=0.1, signals={"gain": 1.0})


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"topic": "a b"}, "name of a ROS topic"),
        ({"message": "Float64"}, "type of message such as"),
        ({"field": "point..x"}, "field of the message"),
        ({"shape": (0,)}, "shape such as"),
        ({"shape": 3}, "shape such as"),
        ({"shape": (1000, 1000)}, "at most 10000 numbers"),
        ({"greatest_age": 0.0}, "greatest_age"),
        ({"greatest_age": float("nan")}, "greatest_age"),
        ({"example": [1.0, 2.0]}, "an example"),
    ],
)
def test_a_declaration_that_does_not_fit_is_told(given, words):
    fits = {"topic": "gain", "message": "std_msgs/msg/Float64", "field": "data", "shape": (3,), "greatest_age": 1.0}
    with pytest.raises(InputError, match=words):
        declare_input(**fits | given)


class Misspelt(Servo):
    """Asks for what no state has."""

    senses = ("motor_p",)


class Undeclared(NamedTuple):
    """An input without its declaration."""

    target: Reading


class WithoutTopic(Servo):
    """Has it."""

    Inputs = Undeclared


@pytest.mark.parametrize(("name", "words"), [
    ("Misspelt", "did you mean 'motor_v' or 'motor_q'"),
    ("WithoutTopic", "Undeclared.target: expected 'target: Reading = declare"),
])
def test_a_class_that_declares_wrongly_is_refused_by_name(name, words):
    with pytest.raises(PluginError, match=words):
        load_controller(f"{__name__}:{name}")


def test_a_state_without_what_the_law_reads_is_completed_as_of_a_rigid_robot():
    law = Servo(ROBOT)
    state = State(0.0, 0.002, np.array([0.1, 0.2]), REST)
    reference = JointReference(np.array([0.3, 0.1]), REST, REST)
    np.testing.assert_allclose(law.update(state, reference), 20.0 * (reference.q - 0.9 * state.q))
    assert not law.uncompiled_reason
    dry_run("servo", Servo(ROBOT), REST, REST)


class Rig:
    """A control loop with a clock and records of what it told."""

    def __init__(self, controller, safe=None):
        self.stamp = SECOND
        self.loop = RecordedLoop(ROBOT, Plugin("mine", controller), Plugin("damping", safe or Damping(ROBOT)), 0.5)
        self.loop.request(NewSettings(swap_time=0.0))  # a law's own efforts are what is looked at
        self.declared, self.inputs, self.motor_side = state_form(type(controller), N).inputs, {}, ()

    def tick(self, seconds=0.002):
        self.stamp += round(seconds * SECOND)
        return self.loop.tick(Measurement(self.stamp, np.array([0.1, 0.2]), REST, motor_side=self.motor_side,
                                          inputs=self.inputs))

    def put(self, name, value):
        self.inputs[self.declared[name]] = np.array(value, dtype=np.float64)


def test_a_law_waits_under_the_safe_controller_until_a_required_input_comes_and_whenever_it_is_too_old():
    listener = Listener()
    rig = Rig(listener)
    tick = rig.tick()
    assert tick.plugin.name == "damping" and not listener.states and not listener.begins
    assert rig.loop.waits == ["controller 'mine' waits: input 'gain': nothing on gain for 1 s"]
    assert (tick.mode, tick.reason.text) == (Mode.HOLDING, rig.loop.waits[0])
    with pytest.raises(InputError, match="controller 'mine' waits: input 'gain'"):
        rig.loop.trajectory_start(None)
    rig.put("gain", 3.0)
    tick = rig.tick(0.1)
    assert tick.plugin.name == "mine" and tick.mode is Mode.RUNNING and rig.loop.waits[1:] == [""]
    (begin,) = listener.begins
    assert begin.inputs.gain.value == 3.0
    seen = listener.states[-1].inputs
    assert seen.gain == Reading(3.0, pytest.approx(0.1)) and np.isnan(seen.target.value).all()
    rig.put("target", [1.0, 2.0, 3.0])
    rig.tick(0.2)
    np.testing.assert_array_equal(listener.states[-1].inputs.target.value, [1.0, 2.0, 3.0])
    with pytest.raises(ValueError, match="read-only"):
        listener.states[-1].inputs.target.value[0] = 9.0
    rig.tick(0.01)
    assert np.isinf(listener.states[-1].inputs.target.age)
    for _ in range(5):
        tick = rig.tick(0.4)
    assert tick.plugin.name == "damping" and len(rig.loop.waits) == 3
    rig.put("gain", 4.0)
    assert rig.tick().plugin.name == "mine" and len(listener.begins) == 2
    assert not rig.loop.failures


def test_motors_that_are_not_measured_are_waited_for():
    rig = Rig(Servo(ROBOT))
    rig.put("gain", 1.0)
    assert "nothing measures 'motor_q' on motor_states" in rig.tick().reason.text
    rig.motor_side = (np.array([0.1, 0.2]), REST, np.full(N, np.nan))
    assert "nothing measures 'joint_torque'" in rig.tick().reason.text
    rig.motor_side = (np.array([0.5, 0.2]), REST, np.array([1.0, -1.0]))
    tick = rig.tick()
    assert tick.plugin.name == "mine"
    np.testing.assert_allclose(tick.effort, 20.0 * ([-0.4, 0.0] + 0.1 * tick.state.motor_q) - [0.01, -0.01])


def test_a_swap_and_a_stop_end_waiting_or_outlast_it():
    listener = Listener()
    rig = Rig(listener)
    rig.tick()
    rig.loop.request(Stop())
    rig.put("gain", 1.0)
    assert rig.tick().reason == ON_REQUEST and not listener.states
    rig.loop.request(Release())
    assert rig.tick().plugin.name == "mine" and len(listener.begins) == 1
    for _ in range(3):
        rig.tick(0.4)
    assert rig.loop.modes.present is Mode.HOLDING
    rig.loop.request(Swap(Plugin("pd", PD(ROBOT))))
    tick = rig.tick()
    assert tick.plugin.name == "pd" and tick.mode is Mode.RUNNING and rig.loop.waits[-1] == ""
    rig.loop.request(Swap(Plugin("mine", listener)))
    assert rig.tick().plugin.name == "pd" and rig.loop.modes.present is Mode.HOLDING
    rig.stamp = SECOND // 2  # the simulation begins again: values do not come from the future
    assert rig.tick().plugin.name == "pd"


def test_after_a_swap_the_law_before_holds_the_robot_until_the_input_comes():
    listener, pd = Listener(), Plugin("pd", PD(ROBOT))
    rig = Rig(listener)
    rig.loop.request(Swap(pd))
    rig.tick()
    rig.loop.request(Follow(JointTrajectory(rig.loop.trajectory_start(None).reference, rig.loop.last.time,
                                            Points.from_arrays([1.0], [[0.5, 0.5]])), on_arrival=True))
    rig.loop.request(NewSettings(swap_time=0.5))
    moved = [rig.tick() for _ in range(100)][-1]
    assert np.abs(moved.effort).min() > 0.1
    rig.loop.request(Swap(Plugin("mine", listener)))
    held = rig.tick()
    assert (held.plugin, held.mode, rig.loop.moving()) == (pd, Mode.HOLDING, False)
    np.testing.assert_allclose(held.effort, moved.effort, atol=0.02)
    assert held.reason.text == "controller 'mine' waits: input 'gain': nothing on gain for 1 s"
    assert rig.loop.ends[-1] is not pd and rig.loop.laws.all()[1] is pd and not listener.begins
    rig.put("gain", 1.0)
    assert rig.tick().plugin.name == "mine" and rig.loop.modes.present is Mode.RUNNING
    assert rig.loop.ends[-1] is pd and len(listener.begins) == 1
    for _ in range(3):
        tick = rig.tick(0.4)
    assert (tick.plugin.name, tick.mode) == ("damping", Mode.HOLDING)  # not a law that has ended


@pytest.mark.parametrize("end", ["swap", "stop", "failure"])
def test_the_law_before_ends_when_something_else_ends_its_holding(end):
    class Once(Controller):
        """Fails when it is told to."""

        fails = False

        def update(self, state, reference):
            return np.full(N, np.nan if self.fails else 0.0)

    before, rig = Once(ROBOT), Rig(Listener())
    plugin = Plugin("before", before)
    rig.loop.request(Swap(plugin))
    rig.tick()
    rig.loop.request(Swap(Plugin("mine", Listener())))
    assert rig.tick().plugin is plugin
    if end == "swap":
        rig.loop.request(Swap(Plugin("pd", PD(ROBOT))))
        assert rig.tick().plugin.name == "pd" and plugin in rig.loop.ends
    elif end == "stop":
        rig.loop.request(Stop())
        assert rig.tick().plugin.name == "damping" and plugin not in rig.loop.ends
        rig.loop.request(Release())
        assert rig.tick().plugin is plugin
    else:
        before.fails = True
        tick = rig.tick()
        assert (tick.plugin.name, tick.mode) == ("damping", Mode.RUNNING)
        assert plugin in rig.loop.ends and [name for name, _ in rig.loop.failures] == ["before"]


def test_a_law_that_can_lack_an_input_itself_does_not_hold_the_robot():
    rig = Rig(Servo(ROBOT))
    rig.put("gain", 1.0)
    rig.motor_side = (np.array([0.1, 0.2]), REST, REST)
    assert rig.tick().plugin.name == "mine"
    rig.inputs.clear()
    rig.loop.request(Swap(Plugin("other", Listener())))
    tick = rig.tick()
    assert (tick.plugin.name, tick.mode) == ("damping", Mode.HOLDING)


def test_an_input_that_comes_right_after_a_swap_begins_the_law():
    """The law was left out of `activate` at the swap, so that it ran from nothing."""
    listener = Listener()
    rig = Rig(PD(ROBOT))
    rig.declared = state_form(Listener, N).inputs
    rig.tick()
    rig.loop.request(Swap(Plugin("mine", listener)))
    rig.put("gain", 1.0)
    assert rig.tick().plugin.name == "mine" and len(listener.begins) == 1


def test_the_safe_controller_reads_joints_and_wrench_alone():
    with pytest.raises(PluginError, match="controller 'damping' reads more than joints"):
        Rig(PD(ROBOT), Listener())


def test_c_code_has_what_the_law_reads_in_its_state(tmp_path):
    law = Servo(ROBOT)
    source = law_source(law, "servo")
    for name, text in source.files.items():
        (tmp_path / name).write_text(text)
    (tmp_path / "main.c").write_text(f"""
#include "{source.name}.h"
static {source.name} law;
void begin(const double *s) {{ const {source.name}_state *state = (const void *)s; {source.name}_init(&law, state); }}
void tick(const double *s, const double *r, double *effort)
{{ {source.name}_tick(&law, (const void *)s, (const void *)r, effort); }}
""")
    library = tmp_path / "law.so"
    subprocess.run(["gcc", "-std=c99", "-Wall", "-Werror", "-shared", "-fPIC", "-o", str(library),
                    *map(str, tmp_path.glob("*.c")), "-lm"], check=True)
    compiled = ctypes.CDLL(str(library))
    random = np.random.default_rng(1)
    q, v, motor_q, torque = random.normal(size=(4, N))
    target, reference = random.normal(size=3), random.normal(size=(3, N))
    state = State(0.1, 0.002, q, v, motor_q=motor_q, motor_v=v, joint_torque=torque,
                  inputs=Seen(Reading(target, 0.05), Reading(1.5, 0.01)))
    law.activate(state)
    expected = law.update(state, JointReference(*reference))
    flat = np.concatenate([[0.1, 0.002], q, v, np.full(6, np.nan), motor_q, torque, target, [0.05, 1.5, 0.01]])
    effort, pointer = np.zeros(N), ctypes.POINTER(ctypes.c_double)
    of = [np.ascontiguousarray(array).ctypes.data_as(pointer) for array in (flat, reference, effort)]
    compiled.begin(of[0])
    compiled.tick(*of)
    np.testing.assert_allclose(effort, expected, rtol=1e-12)


def test_a_package_of_ros2_control_is_refused_for_a_law_with_inputs():
    with pytest.raises(InputError, match=r"reads motor_q, joint_torque, inputs\.target\.value"):
        ros2_control_package(Servo(ROBOT), "servo", 0.002)
