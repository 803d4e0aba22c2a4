# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.


"""The terms of a law's efforts: they add up to the efforts, and mistakes in them name the law's line."""

import linecache
import re

import numpy as np
import pytest
from law_inputs import PROGRAMS, as_written, random_reference, random_state
from shipped import few

from robodyn_ros import InputError, Robot
from robodyn_ros.actuation.configuration import HardwareSettings
from robodyn_ros.base.errors import PluginError
from robodyn_ros.control import JointReference, Law, Terms
from robodyn_ros.control.contract.compiled_law import call_law
from robodyn_ros.control.contract.terms import model_terms
from robodyn_ros.control.laws.pd import PD
from robodyn_ros.control.optimisation.safety_filter import filtered
from robodyn_ros.control.plugins.dry_run import dry_run
from robodyn_ros.control.plugins.registry import law_names, load_controller
from robodyn_ros.description.resources import robot_file

OURS = [name for name in law_names() if load_controller(name).__module__.startswith("robodyn_ros.")]
OF_THE_TIP = [name for name in OURS if load_controller(name).follows not in (None, JointReference)]
ROBOTS = {name: Robot.from_urdf(robot_file(name)) for name in ("planar_2r", "scara", "arm7")}
ARM = ROBOTS["arm7"]
ELASTIC = ARM.with_actuators(HardwareSettings.named("hardware_elastic_arm7").joint_actuators(ARM.model))
SCARA = ROBOTS["scara"]


def checked_terms(controller, robot):
    """The terms of some ticks, which must add up to the efforts: compiled, and as the law is written."""
    state = random_state(robot)
    controller.activate(state)
    controller.prepare_terms(controller.parameters)
    for tick in range(3):
        state = random_state(robot, seed=tick)._replace(time=0.002 * tick, period=0.002 * (tick > 0))
        if controller.senses:
            state = state._replace(motor_q=state.q + 0.01, motor_v=0.5 * state.v, joint_torque=np.arange(robot.n) + 1.0)
        reference, memory = random_reference(robot, controller.follows, state, seed=tick), controller.memory
        effort, written = controller.update(state, reference), {}
        assert not controller.uncompiled_reason
        own, _ = call_law(controller, robot.dynamics(), controller.parameters, state, reference, memory, terms=written)
        terms = controller.terms()
        for found, efforts in ((terms, effort), (written, own)):
            assert list(found) == list(terms) and all(name.isidentifier() for name in found)
            scale = max(1.0, *(np.abs(term).max() for term in found.values()))
            np.testing.assert_allclose(sum(found.values()), efforts, rtol=0.0, atol=1e-12 * scale)
    return terms


@pytest.mark.parametrize(("law", "name"), few(  # to trace mpc takes long
    [(law, name) for law in OURS for name in ("planar_2r", *(() if law in PROGRAMS else ("scara", "arm7")))],
    [(law, name) for law in OURS if law != "mpc" for name in ("planar_2r", *(["scara"] if law in OF_THE_TIP else []))]))
def test_the_terms_of_each_law_add_up_to_its_efforts(law, name):
    controller = load_controller(law)(ROBOTS[name])
    assert "law" not in checked_terms(controller, ROBOTS[name])


@pytest.mark.parametrize("law", ["elastic_composite", "elastic_joint_pd", "torque_feedback"])
def test_the_terms_of_laws_for_elastic_joints_add_up(law):
    assert {"feedback", "gravity"} <= set(checked_terms(load_controller(law)(ELASTIC), ELASTIC))


def test_a_filter_that_intervenes_is_a_term():
    robot = ROBOTS["planar_2r"]
    plain, safe = load_controller("computed_torque")(robot), filtered(load_controller("computed_torque"))(robot)
    assert [*checked_terms(plain, robot), "filter", "transfer"] == list(checked_terms(safe, robot))
    state = random_state(robot)._replace(v=0.99 * robot.model.velocity_limit)
    safe.activate(state)
    safe.update(state, random_reference(robot, JointReference, state)._replace(v=10.0 * state.v))
    assert np.abs(safe.terms()["filter"]).max() > 1.0


def test_the_terms_of_the_model_are_those_of_the_book():
    state = random_state(ARM)
    a, book = np.arange(ARM.n) - 3.0, ARM.dynamics(False, "textbook")
    terms = model_terms(ARM.dynamics(), state.q, state.v, a, lambda: {"inertia": a - 1.0, "feedback": 0.0 * a + 1.0})
    expected = {"inertia": book.mass_matrix(state.q) @ (a - 1.0), "feedback": book.mass_matrix(state.q).sum(axis=1),
                "coriolis": book.coriolis_matrix(state.q, state.v) @ state.v, "gravity": book.gravity(state.q)}
    assert terms.parts().keys() == expected.keys()
    for name, term in terms.parts().items():
        np.testing.assert_allclose(term, expected[name], rtol=1e-9, atol=1e-9)


def test_the_terms_of_a_law_with_memory_are_those_of_the_last_update():
    """They are evaluated with the memory from before it, and not before somebody prepares them."""
    pid, state = load_controller("pid")(SCARA), random_state(SCARA)._replace(period=0.002)
    reference = random_reference(SCARA, JointReference, state)
    assert pid.terms() is None
    pid.update(state, reference)
    pid.prepare_terms(pid.parameters)
    assert pid.terms() is None
    effort = pid.update(state, reference)
    np.testing.assert_array_equal(pid.terms()["integral"], pid.memory.effort)
    np.testing.assert_array_equal(pid.terms()["feedback"], PD.law(None, pid.parameters, state, reference).effort)
    np.testing.assert_array_equal(sum(pid.terms().values()), effort)


class Composed(Law):
    """Adds terms, and an array, to those of another law."""

    @staticmethod
    def law(dynamics, parameters, state, reference):
        if state.q[0] > 100.0:  # cannot be compiled
            return np.zeros(4)
        pd = Terms(feedback=50.0 * (reference.q - state.q)) + Terms(gravity=dynamics.gravity(state.q))
        return 1.0 + np.zeros(4) + (pd + Terms(feedback=-5.0 * state.v))


class Nameless(Law):
    """Returns an array."""

    @staticmethod
    def law(dynamics, parameters, state, reference):
        return 50.0 * (reference.q - state.q)


def test_terms_are_the_effort_in_all_other_arithmetic():
    """A law that scales or bounds the answer of a shipped one goes on as it was written."""
    terms, effort = Terms(feedback=[1.0, -2.0], gravity=[3.0, 4.0]), np.array([4.0, 2.0])
    for function in (np.negative, lambda x: 0.5 * x, lambda x: x - [1.0, 1.0], lambda x: np.clip(x, -3.0, 3.0),
                     lambda x: x @ np.eye(2), lambda x: x[1], lambda x: np.where(x > 3.0, x, 0.0), len, np.sum):
        np.testing.assert_array_equal(function(terms), function(effort))
    assert (terms + 1.0).parts()["other"].tolist() == [1.0, 1.0]
    total = np.zeros(2)
    total += terms
    np.testing.assert_array_equal(total, effort)
    before = terms
    terms += [1.0, 1.0]
    assert terms.parts()["other"].tolist() == [1.0, 1.0] and "other" not in before.parts()
    terms *= 2.0
    np.testing.assert_array_equal(terms, [10.0, 6.0])


def test_terms_of_one_name_are_added_and_arrays_have_a_name_too():
    state = random_state(SCARA)
    reference = random_reference(SCARA, JointReference, state)
    for law, names in ((Composed(SCARA), ["other", "feedback", "gravity"]), (Nameless(SCARA), ["law"])):
        law.prepare_terms(law.parameters)
        effort = law.update(state, reference)
        assert bool(law.uncompiled_reason) is isinstance(law, Composed)
        assert list(law.terms()) == names
        np.testing.assert_allclose(sum(law.terms().values()), effort, rtol=0.0, atol=1e-12)
        np.testing.assert_array_equal(as_written(law, state, reference, None)[0].shape, (4,))


@pytest.mark.parametrize(("terms", "message"), [
    ({}, "expected at least one term"),
    ({"my term": np.zeros(4)}, "names that are Python identifiers, such as gravity, received 'my term'"),
    ({"limits": np.zeros(4)}, "Terms: limits: expected another name"),
    ({"gravity": np.zeros(4), "feedback": np.zeros((4, 1))},
     r"feedback: expected the shape \(4,\) of 'gravity', received the shape \(4, 1\)"),
    ({"gravity": 0.0}, r"gravity: expected shape \(n,\), received the shape \(\)"),
    ({"gravity": np.zeros(3)}, r"expected efforts of shape \(4,\).*received Terms of shape \(3,\)"),
])
def test_a_mistake_in_terms_names_the_line_of_the_law(terms, message):
    class Wrong(Law):
        """Returns something else."""

        @staticmethod
        def law(dynamics, parameters, state, reference):
            return Terms(**terms)

    with pytest.raises(PluginError) as failure:
        dry_run("wrong", Wrong(SCARA), np.zeros(4), np.zeros(4))
    place = re.search(r"\(([^()]*), line (\d+): return Terms\(\*\*terms\)\)", str(failure.value))
    assert re.search(message, str(failure.value)) and place, failure.value
    assert linecache.getline(place[1], int(place[2])).strip() == "return Terms(**terms)"
    law = Wrong(SCARA)
    with pytest.raises(InputError, match=message):
        law.update(random_state(SCARA), random_reference(SCARA, JointReference, random_state(SCARA)))
    assert re.search(message, law.uncompiled_reason) and "return Terms(**terms)" in law.uncompiled_reason


@pytest.mark.filterwarnings("ignore:invalid value")  # the law makes a NaN
def test_a_term_that_is_not_finite_is_named_with_the_line():
    class Wrong(Law):
        """Has NaN without a faulty operation."""

        @staticmethod
        def law(dynamics, parameters, state, reference):
            return Terms(gravity=dynamics.gravity(state.q), friction=state.v + np.array(4 * [np.nan]))

    with pytest.raises(PluginError, match=r"not finite: friction \(.*test_terms.py, line \d+: return Terms"):
        dry_run("wrong", Wrong(SCARA), np.zeros(4), np.zeros(4))
