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
from typing import NamedTuple

import numpy as np
import pytest
from shipped import few

from robodyn_ros import InputError, Robot
from robodyn_ros.control import JointReference, State
from robodyn_ros.control.contract import controller as controller_module
from robodyn_ros.control.contract.compiled_law import call_law, compile_law, memory_numbers
from robodyn_ros.control.contract.controller import Law
from robodyn_ros.control.contract.parameters import Parameters, derived, per_joint, scalar
from robodyn_ros.control.laws.computed_torque import ComputedTorque
from robodyn_ros.control.laws.damping import Damping
from robodyn_ros.control.laws.pid import PID
from robodyn_ros.control.laws.task_space_pd import TaskSpacePD
from robodyn_ros.description.resources import robot_file
from robodyn_ros.simulation.rollout import ClosedLoop

ROBOT = Robot.from_urdf(robot_file("scara"))


def motion(ticks=20, period=0.002):
    """States and references of some ticks, at random."""
    rng = np.random.default_rng(0)
    for k in range(ticks):
        q, v, q_d, v_d, a_d = rng.normal(size=(5, ROBOT.n))
        yield State(k * period, 0.0 if k == 0 else period, q, v), JointReference(q_d, v_d, a_d)


def as_written(law, controller, state, reference, memory):
    """Efforts and memory of the law in plain Python, with the textbook's dynamics."""
    return call_law(controller, ROBOT.dynamics(False, "textbook"), controller.parameters, state, reference, memory)


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
        np.testing.assert_allclose(controller.memory_numbers, memory_numbers(memory), rtol=1e-12, atol=1e-12)
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
    expected, _ = as_written(ComputedTorque, controller, state, reference, None)
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


def saturated(error, limit):
    """A function of the module, whose arrays hold traced values as those of the law do."""
    result = np.zeros(len(error))
    result[:] = error
    result[result > limit] = limit
    return np.sqrt(np.array([1.0, *result[1:] ** 2])) * np.sign(result)


class InNumPy(Law[SwitchParameters, JointReference, None]):
    """Written as for floats: solutions, norms, choices, masks, arrays that are filled."""

    @staticmethod
    def law(dynamics, parameters, state, reference):
        mass, jacobian = dynamics.mass_matrix(state.q), dynamics.jacobian(state.q)[:3]
        mobility = jacobian @ np.linalg.inv(mass) @ jacobian.T + 0.1 * np.eye(3)
        error = np.clip(reference.q - state.q, -1.0, [0.5, 1.0, 1.5, 2.0])
        if parameters.backwards:
            return np.linalg.svd(mobility)[1]
        force = np.linalg.solve(mobility, jacobian @ error) / np.maximum(1.0, np.linalg.norm(error))
        push = np.where(np.isnan(state.wrench_tip), 0.0, state.wrench_tip)[:3]
        gain = np.linalg.det(np.linalg.cholesky(mobility)) + np.mean(parameters.p)
        return jacobian.T @ (force + np.cross(push, [0.0, 0.0, 1.0])) + gain * saturated(error, 0.4)


def test_a_law_compiles_as_it_stands_in_numpy_and_tells_what_does_not():
    controller = InNumPy(ROBOT)
    for state, reference in motion():
        expected, _ = as_written(InNumPy, controller, state, reference, None)
        np.testing.assert_allclose(controller.update(state, reference), expected, rtol=1e-12, atol=1e-12)
    assert controller.uncompiled_reason == ""
    controller.parameters = replace(controller.parameters, backwards=True)
    controller.prepare(controller.parameters)
    line = InNumPy.law.__code__.co_firstlineno + 6
    place = rf"\({re.escape(__file__)}, line {line}: return np.linalg.svd"
    assert re.match(rf"InNumPy.law: np.linalg.svd of .* np.linalg.solve, .* {place}", controller.uncompiled_reason)


@dataclass(frozen=True, eq=False)
class Weights(Parameters):
    """Those of a network as parameters."""

    weights: np.ndarray = derived(lambda robot, _: np.random.default_rng(0).normal(size=(40, 20, 40)) / 40)


@pytest.mark.parametrize("layers, of_parameters", few([(40, True), (1, False), (40, False)], 2))
def test_a_law_with_a_large_network_stays_in_numpy(layers, of_parameters):
    """By the sum over its layers, constants or parameters; or by one matrix."""
    constants = np.random.default_rng(0).normal(size=(layers, 20, 40) if layers > 1 else (1, 200, 200)) / 200.0

    class Deep(Law[Weights, JointReference, None]):
        """A residual network."""

        @staticmethod
        def law(dynamics, parameters, state, reference):
            x = np.tile(reference.q - state.q, constants.shape[2] // ROBOT.n)
            for layer in parameters.weights if of_parameters else constants:
                x = x + np.tanh(np.resize(layer @ x, x.shape))
            return x[:ROBOT.n]

    controller = Deep(ROBOT)
    for state, reference in motion(3):
        expected, _ = as_written(Deep, controller, state, reference, None)
        np.testing.assert_array_equal(controller.update(state, reference), expected)
    count = re.search(r"multiplies ([\d,]+) constants or parameters with traced values", controller.uncompiled_reason)
    assert int(count[1].replace(",", "")) >= 25_000


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
    assert controller.memory.effort.shape == (ROBOT.n,)
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


class Phase(NamedTuple):
    """The memory of a law that counts and keeps a position."""

    count: float
    q: np.ndarray


@dataclass(frozen=True, eq=False)
class Nested:
    """Memory in a memory, and something that is built in."""

    phase: Phase
    rates: np.ndarray
    label: str = "counts"


class Counting(Law[SwitchParameters, JointReference, Nested]):
    """Declares its classes once."""

    @staticmethod
    def law(dynamics, parameters, state, reference, memory):
        phase = memory.phase
        effort = parameters.scale * (phase.q - state.q) + phase.count * memory.rates[0]
        return effort, Nested(Phase(phase.count + 1.0, phase.q), 2.0 * memory.rates, memory.label)

    def initial_memory(self, state):
        return Nested(Phase(0, state.q.copy()), np.ones((2, ROBOT.n)))


def test_a_memory_is_a_record_with_names():
    assert Counting.Parameters is SwitchParameters and Counting.follows is JointReference
    controller, memory = Counting(ROBOT), None
    for k, (state, reference) in enumerate(motion(5)):
        if k == 0:
            controller.activate(state)
            memory, start = controller.memory, state.q
        expected, memory = as_written(Counting, controller, state, reference, memory)
        np.testing.assert_allclose(controller.update(state, reference), expected, rtol=1e-13)
        assert isinstance(controller.memory, Nested) and controller.memory.phase.count == k + 1.0
        np.testing.assert_array_equal(controller.memory.phase.q, start)
        np.testing.assert_array_equal(controller.memory.rates, np.full((2, ROBOT.n), 2.0**(k + 1)))
        np.testing.assert_array_equal(controller.memory_numbers, memory_numbers(memory))
    assert controller.uncompiled_reason == ""


def test_a_memory_is_a_record_in_rollouts_of_many_robots():
    loop = ClosedLoop(Counting(ROBOT))
    scenario = loop.scenario(duration=0.02)
    starts = scenario.q + np.abs(0.01 * np.random.default_rng(0).normal(size=(9, ROBOT.n)))
    scores = loop.scores(scenario, q=starts)
    for k in (0, 8):
        one = loop.run(replace(scenario, q=starts[k]))
        for ours, theirs in zip(one.score, scores, strict=True):
            np.testing.assert_array_equal(ours, theirs[k])
    interpreted = loop.run(scenario, compiled=False)
    np.testing.assert_allclose(interpreted.q, loop.run(scenario).q, rtol=1e-9, atol=1e-12)


def test_a_law_without_memory_has_no_such_argument_or_does_not_use_it():
    class Without(Law[SwitchParameters, None, None]):
        """Follows nothing and remembers nothing."""

        @staticmethod
        def law(dynamics, parameters, state, reference):
            return -parameters.p * state.q

    class With(Law[SwitchParameters, None, None]):
        """Has the argument, as laws could have before."""

        @staticmethod
        def law(dynamics, parameters, state, reference, memory):
            return -parameters.p * state.q + memory.sum()

    (state, _), *_ = motion(1)
    for law in (Without, With):
        controller = law(ROBOT)
        assert law.follows is None and law.Parameters is SwitchParameters
        np.testing.assert_array_equal(controller.update(state, None), -2.0 * state.q)
        assert controller.memory is None and controller.memory_numbers.size == 0
        assert controller.uncompiled_reason == ""


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
    (np.zeros(4), 5, r"efforts of shape \(4,\) and a Phase, as that of initial_memory is; received ndarray"),
    ((np.zeros(4), np.zeros(5)), 5, "a Phase, as that of .* is; Wrong.law: memory: expected Phase, received ndarray"),
    ((np.zeros(4), Phase(0.0, np.zeros(3))), 5, "a Phase, as that of initial_memory is; received a tuple of 2"),
])
def test_wrong_results_are_refused_with_the_reason(result, size, message):
    class Wrong(Law):
        """Returns something else."""

        @staticmethod
        def law(dynamics, parameters, state, reference, memory):
            return result

        def initial_memory(self, state):
            return Phase(0.0, np.zeros(4)) if size == 5 else np.zeros(size)

    controller = Wrong(ROBOT)
    (state, reference), *_ = motion(1)
    with pytest.raises(InputError, match=message):
        controller.update(state, reference)
    assert re.search(message, controller.uncompiled_reason)
