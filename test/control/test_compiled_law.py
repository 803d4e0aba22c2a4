# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""A law as one kernel: the same answers as the law as written, for any gains, memory included."""

import re
from dataclasses import dataclass, replace

import numpy as np
import pytest

from robodyn_ros import InputError, Robot
from robodyn_ros.control import JointReference, State
from robodyn_ros.control import controller as controller_module
from robodyn_ros.control.compiled_law import compile_law, efforts_and_memory
from robodyn_ros.control.controller import Law
from robodyn_ros.control.laws.computed_torque import ComputedTorque
from robodyn_ros.control.laws.damping import Damping
from robodyn_ros.control.laws.pid import PID
from robodyn_ros.control.laws.task_space_pd import TaskSpacePD
from robodyn_ros.control.parameters import Parameters, per_joint, scalar
from robodyn_ros.resources import robot_file

ROBOT = Robot.from_urdf(robot_file("scara"))


def motion(ticks=20, period=0.002):
    """States and references of some ticks, at random."""
    rng = np.random.default_rng(0)
    for k in range(ticks):
        q, v, q_d, v_d, a_d = rng.normal(size=(5, ROBOT.n))
        yield State(k * period, 0.0 if k == 0 else period, q, v), JointReference(q_d, v_d, a_d)


def as_written(law, controller, state, reference, memory):
    """Efforts and memory of the law in plain Python, with the textbook's dynamics."""
    result = law.law(ROBOT.dynamics(compiled=False), controller.parameters, state, reference, memory)
    return efforts_and_memory(law.__name__, result, ROBOT.n, len(memory))


@pytest.mark.parametrize("law", [ComputedTorque, Damping, PID])
def test_the_kernel_answers_as_the_law_is_written(law):
    controller = law(ROBOT)
    memory = None
    for state, reference in motion():
        reference = reference if law.follows else None
        if memory is None:
            controller.activate(state)
            memory = controller.initial_memory(state)
        expected, memory = as_written(law, controller, state, reference, memory)
        np.testing.assert_allclose(controller.update(state, reference), expected, rtol=1e-12, atol=1e-12)
        np.testing.assert_allclose(controller.memory, memory, rtol=1e-12, atol=1e-12)
    assert controller.uncompiled_reason == ""


@pytest.fixture
def compiled(monkeypatch):
    """Names of the laws that were compiled."""
    names = []

    def counting(law, packed):
        names.append(type(law).__name__)
        return compile_law(law, packed)

    monkeypatch.setattr(controller_module, "compile_law", counting)
    return names


def test_new_gains_need_no_new_kernel(compiled):
    controller = ComputedTorque(ROBOT)
    (state, reference), *_ = motion(1)
    controller.update(state, reference)
    assert compiled == ["ComputedTorque"]
    controller.parameters = replace(controller.parameters, p=np.full(ROBOT.n, 7.0)).for_robot(ROBOT)
    expected, _ = as_written(ComputedTorque, controller, state, reference, np.zeros(0))
    np.testing.assert_allclose(controller.update(state, reference), expected, rtol=1e-12, atol=1e-12)
    assert compiled == ["ComputedTorque"] and controller.uncompiled_reason == ""


@dataclass(frozen=True, eq=False)
class SwitchParameters(Parameters):
    """A switch beside a gain for each joint and one for all."""

    p: np.ndarray = per_joint(2.0, description="Gain")
    scale: float = scalar(3.0, description="Factor on all gains")
    backwards: bool = scalar(False, description="Whether to push the other way")


class Switch(Law):
    """Branches on a switch, which is no value that changes from tick to tick."""

    Parameters = SwitchParameters

    @staticmethod
    def law(dynamics, parameters, state, reference, memory):
        effort = parameters.scale * parameters.p * (reference.q - state.q)
        return -effort if parameters.backwards else effort


def test_a_switch_is_built_in_and_a_change_of_it_is_seen():
    controller = Switch(ROBOT)
    (state, reference), *_ = motion(1)
    forwards = 6.0 * (reference.q - state.q)
    np.testing.assert_allclose(controller.update(state, reference), forwards, rtol=1e-15)
    for backwards, sign in ((True, -1.0), (False, 1.0)):
        parameters = replace(controller.parameters, backwards=backwards)
        controller.prepare(parameters)
        assert controller.parameters.backwards is not backwards  # preparing puts nothing in force
        controller.parameters = parameters
        np.testing.assert_allclose(controller.update(state, reference), sign * forwards, rtol=1e-15)
    assert controller.uncompiled_reason == ""


class Branching(Law):
    """Cannot be compiled: it branches on a measurement."""

    @staticmethod
    def law(dynamics, parameters, state, reference, memory):
        return (np.ones(len(state.q)) if state.q[0] > 0 else -np.ones(len(state.q))), memory + 1.0

    def initial_memory(self, state):
        return np.zeros(1)


def test_a_law_that_cannot_be_compiled_runs_as_written_and_says_why():
    controller = Branching(ROBOT)
    for k, (state, reference) in enumerate(motion()):
        if k == 0:
            controller.activate(state)
        expected = np.full(ROBOT.n, np.sign(state.q[0]))
        np.testing.assert_array_equal(controller.update(state, reference), expected)
        assert controller.memory.tolist() == [k + 1.0]
    assert "branch" in controller.uncompiled_reason
    assert f"{__file__}, line" in controller.uncompiled_reason  # the law's own line


def test_a_law_compiles_before_it_has_seen_a_state_and_before_it_is_activated(compiled):
    """The law determines all shapes: the class of references, the number of joints, the initial memory."""
    for law in (PID, TaskSpacePD, ComputedTorque):
        controller = law(ROBOT)
        controller.prepare(controller.parameters)
        assert controller.uncompiled_reason == ""
    assert compiled == ["PID", "TaskSpacePD", "ComputedTorque"]
    controller = PID(ROBOT)
    (state, reference), *_ = motion(1)
    first = controller.update(state, reference)  # without activate
    assert controller.uncompiled_reason == "" and compiled[3:] == ["PID"]
    assert controller.memory.shape == (ROBOT.n,)
    controller.activate(state)
    np.testing.assert_array_equal(controller.update(state, reference), first)


def test_the_reason_is_that_of_the_parameters_in_force():
    class OneWay(Switch):
        """Can be compiled forwards only."""

        @staticmethod
        def law(dynamics, parameters, state, reference, memory):
            if parameters.backwards and state.q[0] > 0.0:
                return -state.q
            return state.q

    controller = OneWay(ROBOT)
    (state, reference), *_ = motion(1)
    for backwards in (False, True, False):
        controller.parameters = replace(controller.parameters, backwards=backwards)
        controller.update(state, reference)
        assert bool(controller.uncompiled_reason) is backwards


@pytest.mark.parametrize("form", [list, tuple, np.float32, lambda efforts: np.rint(efforts).astype(int)])
@pytest.mark.parametrize("branches", [False, True])
def test_efforts_may_be_any_array_like(form, branches):
    class Answers(Law):
        """Constant efforts, with a memory of whole numbers."""

        @staticmethod
        def law(dynamics, parameters, state, reference, memory):
            if branches and state.q[0] > 1e9:
                return None
            return form(np.arange(float(ROBOT.n))), [memory[0] + 1, 0]

        def initial_memory(self, state):
            return [0, 0]

    controller = Answers(ROBOT)
    (state, reference), *_ = motion(1)
    for tick in (1, 2):
        effort = controller.update(state, reference)
        assert effort.dtype == np.float64
        np.testing.assert_array_equal(effort, np.arange(ROBOT.n))
        assert controller.memory.tolist() == [tick, 0.0]
    assert bool(controller.uncompiled_reason) is branches


@pytest.mark.parametrize(("result", "size", "message"), [
    ((np.zeros(4), np.zeros(0)), 0, r"expected efforts of shape \(4,\) alone .*received a tuple of 2"),
    (np.zeros(3), 0, r"received ndarray of shape \(3,\)"),
    (None, 0, "received NoneType"),
    (np.zeros(4), 1, r"efforts of shape \(4,\) and memory of shape \(1,\).*received ndarray of shape \(4,\)"),
    ((np.zeros(4), np.zeros(2)), 1, "received a tuple of 2"),
])
def test_wrong_results_are_refused_with_the_reason(result, size, message):
    class Wrong(Law):
        """Returns something else."""

        @staticmethod
        def law(dynamics, parameters, state, reference, memory):
            return result

        def initial_memory(self, state):
            return np.zeros(size)

    controller = Wrong(ROBOT)
    (state, reference), *_ = motion(1)
    with pytest.raises(InputError, match=message):
        controller.update(state, reference)
    assert re.search(message, controller.uncompiled_reason)
