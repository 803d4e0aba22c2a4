# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""A law that is no pure function is not compiled: its numbers are those of its Python code, and the reason is said."""

import importlib.util
import itertools
import re
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from robodyn_ros import CompileError, Robot, rollout
from robodyn_ros.control import JointReference, State
from robodyn_ros.control.contract import compiled_law
from robodyn_ros.control.contract.compiled_law import PackedParameters, call_law, initial_memory, law_on_arrays
from robodyn_ros.control.optimisation.safety_filter import filtered
from robodyn_ros.control.plugins.outer_state import OuterState
from robodyn_ros.control.plugins.registry import law_names, make_controller
from robodyn_ros.description.resources import robot_file
from robodyn_ros.toolbox.export.c_law import law_source

ROBOT = Robot.from_urdf(robot_file("planar_2r"))
FILE = Path(__file__).with_name("impure_laws.py")
_number = itertools.count()

IMPURE = [
    ("FilterInAGlobal", "filtered changes", "filtered = pd"),
    ("TickCount", "ticks changes", "ticks += 1"),
    ("FilterInAList", "ELEMENTS changes", "ELEMENTS[0]"),
    ("FilterInAnArray", "memory", "ARRAY[:] ="),
    ("CountInAnArray", "ARRAY changes", "ARRAY[0] += 1.0"),
    ("LastInADict", "LAST.q changes", "LAST"),
    ("MeanOfADeque", "RECENT changes", "RECENT.append"),
    ("ClassAttribute", "ClassAttribute.ticks changes", "ClassAttribute.ticks += 1"),
    ("FilterObject", "FILTER.y changes", "FILTER.step"),
    ("Closure", "count changes", "count += 1"),
    ("MutableDefault", "history, a default argument of mean, changes", "history.append"),
    ("Counter", "COUNTER changes", "next(COUNTER)"),
    ("SecondCall", "ELEMENTS changes", "ELEMENTS[0] += 1.0"),
    ("StartInAGlobal", "depends on something else than its arguments", "line"),
    ("Method", "@staticmethod", ""),
    ("CaughtCondition", "np.where", "line"),
    ("Clock", "time.monotonic at every tick", "state.time"),
    ("Calendar", "datetime.now at every tick", "state.time"),
    ("RandomGain", "random.random at every tick", "Inputs"),
    ("Noise", "np.random", "Inputs"),
    ("NoiseOfAGenerator", "GENERATOR.state changes", "Inputs"),
    ("UnseededGenerator", "os.urandom at every tick", "Inputs"),
    ("GainFromAFile", "open at every tick", "GAIN_FILE.read_text"),
    ("ChangesTheState", "cannot write to its arguments", "error -= reference.q"),
]
UNREPEATABLE = {"Noise", "ChangesTheState"}


def fresh(name, gain_file=None):
    """The law of a module that was imported anew, with variables of its own, and the module."""
    module_name = f"impure_laws_{next(_number)}"
    spec = importlib.util.spec_from_file_location(module_name, FILE)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    module.GAIN_FILE = gain_file
    return getattr(module, name)(ROBOT)


@pytest.fixture(scope="module")
def gain_file(tmp_path_factory):
    file = tmp_path_factory.mktemp("gain") / "gain.txt"
    file.write_text("1.5")
    return file


def ticks(count=12):
    rng = np.random.default_rng(0)
    for k in range(count):
        q, v, desired = 0.3 * rng.normal(size=(3, 2))
        yield State(0.002 * k, 0.002 * (k > 0), q, v), JointReference(desired, np.zeros(2), np.zeros(2))


def as_written(law):
    """The efforts of the law's own Python code at each tick."""
    memory = None
    for k, (state, reference) in enumerate(ticks()):
        if k == 0:
            memory = initial_memory(law, state)
        effort, memory = call_law(law, law.dynamics, law.parameters, state, reference, memory)
        yield effort


def efforts(law):
    """Its efforts in the control loop."""
    for k, (state, reference) in enumerate(ticks()):
        if k == 0:
            law.activate(state)
        yield law.update(state, reference)


@pytest.mark.parametrize(("name", "fragment", "line"), IMPURE)
def test_an_impure_law_has_the_numbers_of_its_python_code_and_says_why(name, fragment, line, gain_file):
    law = fresh(name, gain_file)
    packed = law.prepare(law.parameters)
    reason = law.uncompiled_reason
    assert fragment in reason and line in reason, reason
    if name != "Method":
        assert re.search(rf"{FILE.name}, line \d+", reason), reason
    assert law.prepare(law.parameters).fixed == packed.fixed and law.uncompiled_reason == reason
    if name not in UNREPEATABLE:
        np.testing.assert_allclose(list(efforts(law)), list(as_written(fresh(name, gain_file))), rtol=1e-12)
    with pytest.raises(CompileError, match=re.escape(reason[:60])):
        law_source(law, "law")


@pytest.mark.parametrize("name", ["Cached", "Seeded", "Printing", "Remembering"])
def test_a_pure_law_with_a_cache_of_constants_or_prints_is_compiled(name, gain_file):
    law = fresh(name, gain_file)
    np.testing.assert_allclose(list(efforts(law)), list(as_written(fresh(name, gain_file))), rtol=1e-9, atol=1e-12)
    assert law.uncompiled_reason == ""
    law_source(law, "law")


def test_printing_shows_numbers_of_one_tick_and_says_where(capsys, gain_file):
    law = fresh("Printing", gain_file)
    list(efforts(law))
    (printed,) = capsys.readouterr().out.splitlines()
    assert re.fullmatch(r"error \[.*\d\.\d+.*\] -?\d\.\d{3}", printed)
    assert [Path(file).name for file, _ in law.printing] == [FILE.name]


@pytest.mark.parametrize("name", ["FilterInAGlobal", "Method", "Closure", "StartInAGlobal"])
def test_a_rollout_of_an_impure_law_runs_its_python_code(name):
    """Each tick of the rollout, repeated by the law's own code on the recorded motion."""
    done = rollout(ROBOT, fresh(name), duration=0.05, q=[0.3, -0.2], v=[0.0, 1.0])
    assert "runs uncompiled" in done.note and f"{name}.law" in done.note
    again, memory = fresh(name), None
    if name == "StartInAGlobal":
        memory = initial_memory(again, State(0.0, 0.0, done.q[0], done.v[0]))
    held = JointReference(done.q[0], np.zeros(2), np.zeros(2))
    for k in range(len(done.time)):
        state = State(done.time[k], 0.002, done.q[k], done.v[k])
        effort, memory = call_law(again, again.dynamics, again.parameters, state, held, memory)
        np.testing.assert_allclose(done.effort[k], effort, rtol=1e-9, atol=1e-12)


def test_modules_that_import_each_other_are_searched_once():
    """As ``numpy`` and ``numpy.polynomial.legendre`` do: the search of what a law can reach ends."""
    one, other = ModuleType("one"), ModuleType("other")
    one.other, other.one, other.gain = other, one, np.ones(1)

    def function():
        return one.other.one.gain

    assert any(part.owner is other.gain for part in OuterState((function,)).parts().values())


def test_the_law_behind_the_safety_filter_is_checked():
    law = fresh("FilterInAGlobal")
    filtered_law = filtered(type(law))(ROBOT)
    filtered_law.prepare(filtered_law.parameters)
    assert "filtered changes from call to call" in filtered_law.uncompiled_reason


@pytest.mark.parametrize("name", [*law_names(), "pd+safety"])
def test_laws_of_this_package_are_pure(name, monkeypatch):
    """They are not checked outside of this test."""
    monkeypatch.setattr(compiled_law, "_TESTED_PURE", ())
    law = make_controller(name, ROBOT)
    law_on_arrays(law, PackedParameters(law.parameters))
    assert set(law.purity_verdicts.values()) == {""} and not law.printing
