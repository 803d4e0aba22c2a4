# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""``Dynamics`` in all its forms: single and batched calls, compiled, interpreted, inline, and the textbook."""

import inspect
import pydoc
import re
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from pin_reference import SEEDS, SHIPPED, PinReference, random_state, relative_error
from random_robots import random_chain, urdf_robots

from robodyn_ros import Robot
from robodyn_ros.base.errors import InputError
from robodyn_ros.compile import compile_function
from robodyn_ros.dynamics import compiled_formulas, robot_dynamics, robot_function
from robodyn_ros.dynamics.robot_dynamics import FUNCTIONS, BatchDynamics, Dynamics, InlineDynamics
from robodyn_ros.textbook import formulas as textbook_formulas

TASK_SPACE = {"task_space_inertia", "task_space_bias", "dynamically_consistent_inverse"}
"""Functions that not every robot has."""

COUNTS = {name: len(function.arrays) for name, function in FUNCTIONS.items() if name not in TASK_SPACE}
"""Number of arrays of shape (n,) that each of the other functions takes."""

WITH_WRENCH = {"inverse_dynamics", "forward_dynamics"}
SOLVING = {"forward_dynamics", "forward_dynamics_derivatives"}
"""They lose as many digits as the mass matrix's condition number has."""


def check_forms_agree(robot, seed, samples=3):
    """Compiled forms among themselves to 1e-12, single, batched and interpreted; with the textbook to 1e-9."""
    compiled, interpreted = Dynamics(robot), Dynamics(robot, compiled=False)
    book = Dynamics(robot, formulas=textbook_formulas, compiled=False)
    shared = BatchDynamics(compiled, threads=2)
    arrays = np.random.default_rng(seed).uniform(-3, 3, (3, samples, robot.n))
    wrenches = np.random.default_rng(seed).normal(size=(samples, 6))
    size = np.max(np.abs(interpreted.batch.mass_matrix(arrays[0])))
    condition = max(np.linalg.cond(interpreted.mass_matrix(q)) for q in arrays[0])
    for name, count in COUNTS.items():
        tolerance = max(1e-12, 1e-15 * condition) if name in SOLVING else 1e-12
        book_tolerance = max(1e-9, 1e-13 * condition) if name in SOLVING else 1e-9
        for extra in [(), (wrenches,)] if name in WITH_WRENCH else [()]:
            batched = (*arrays[:count], *extra)
            expected = getattr(interpreted.batch, name)(*batched)
            result = getattr(compiled.batch, name)(*batched)
            assert relative_error(result, expected, size) < tolerance, name
            np.testing.assert_array_equal(getattr(shared, name)(*batched), result)
            for index, sample in enumerate(zip(*(array[:2] for array in batched), strict=True)):
                single = getattr(compiled, name)(*sample)
                assert relative_error(single, expected[index], size) < tolerance, name
                np.testing.assert_array_equal(getattr(interpreted, name)(*sample), expected[index])
                assert relative_error(getattr(book, name)(*sample), single, size) < book_tolerance, name


@SHIPPED
def test_the_compiled_forms_and_the_textbook_agree_on_shipped_robots(name):
    check_forms_agree(PinReference(name).robot, 1, samples=9)


@pytest.mark.long
@settings(deadline=None, max_examples=5, suppress_health_check=[HealthCheck.too_slow])
@given(urdf_robots(max_joints=6), SEEDS)
def test_the_compiled_forms_and_the_textbook_agree_on_random_trees(urdf, seed):
    check_forms_agree(PinReference(urdf).robot, seed)


@SHIPPED
def test_compiled_functions_against_pinocchio(name):
    reference = PinReference(name)
    dyn = Dynamics(reference.robot)
    q, v, a = random_state(reference.robot, 2)
    tip = reference.robot.tip_link
    for function, arguments in {
        "inverse_dynamics": (q, v, a),
        "forward_dynamics": (q, v, a),
        "mass_matrix": (q,),
        "coriolis_matrix": (q, v),
        "gravity": (q,),
        "bias": (q, v),
        "kinetic_energy": (q, v),
        "potential_energy": (q,),
        "center_of_mass": (q,),
        "forward_kinematics": (q, tip),
        "jacobian": (q, tip),
        "jacobian_derivative": (q, v, tip),
        "inverse_dynamics_derivatives": (q, v, a),
        "forward_dynamics_derivatives": (q, v, a),
        "regressor": (q, v, a),
    }.items():
        expected = getattr(reference, function)(*arguments)
        assert relative_error(getattr(dyn, function)(*arguments), expected, at_least=1e-3) < 1e-9, function


@pytest.fixture(scope="module", params=[True, False], ids=["compiled", "textbook"])
def dyn(request):
    return Robot(PinReference("arm7").robot).dynamics(compiled=request.param)


@pytest.mark.parametrize("name", COUNTS)
def test_wrong_shapes_and_kinds_are_named(dyn, name):
    good = [np.zeros(7)] * (COUNTS[name] - 1)
    function = getattr(dyn, name)
    for _ in range(2):  # the first call compiles, the second finds it compiled
        with pytest.raises(InputError, match=rf"{name}.*q.*\(7,\).*\(6,\)"):
            function(np.zeros(6), *good)
        with pytest.raises(InputError, match=rf"{name}.*q"):
            function("seven numbers", *good)
        function(np.zeros(7), *good)
    with pytest.raises(InputError, match=rf"{name}.*q.*\(7,\)|{name}.*q.*\(N, 7\)"):
        getattr(dyn.batch, name)(np.zeros((2, 6)), *[np.zeros((2, 7))] * (COUNTS[name] - 1))


def test_wrong_wrench_is_named(dyn):
    zero = np.zeros(7)
    for function in (dyn.inverse_dynamics, dyn.forward_dynamics):
        with pytest.raises(InputError, match=r"wrench_tip.*\(6,\).*\(3,\)"):
            function(zero, zero, zero, np.zeros(3))


def test_wrenches_on_several_links_add_up(dyn):
    q, v, a = random_state(PinReference("arm7").robot, 5)
    first, second = np.random.default_rng(5).normal(size=(2, 6))
    tau = dyn.inverse_dynamics(q, v, a)
    push = dyn.jacobian(q, "link3").T @ first + dyn.jacobian(q).T @ second
    on_both = {"link3": first, "tool0": second}
    for wrenches in (on_both, dict(reversed(on_both.items()))):
        np.testing.assert_allclose(dyn.inverse_dynamics(q, v, a, wrenches=wrenches), tau - push, atol=1e-12)
    np.testing.assert_allclose(dyn.inverse_dynamics(q, v, a, second, {"link3": first}), tau - push, atol=1e-12)
    np.testing.assert_allclose(
        dyn.inverse_dynamics(q, v, a, second, {"tool0": second}), tau - 2 * dyn.jacobian(q).T @ second, atol=1e-12
    )
    np.testing.assert_allclose(dyn.forward_dynamics(q, v, tau - push, wrenches=on_both), a, atol=1e-10)
    np.testing.assert_array_equal(dyn.inverse_dynamics(q, v, a, wrenches={}), tau)
    batched = dyn.batch.inverse_dynamics(*[np.array([x, x]) for x in (q, v, a)], wrenches={"link3": [first, -first]})
    np.testing.assert_allclose(batched.sum(axis=0), 2 * tau, atol=1e-12)


def test_wrong_wrenches_are_named(dyn):
    zero = np.zeros(7)
    with pytest.raises(InputError, match=r"wrenches\['link3'\].*\(6,\).*\(3,\)"):
        dyn.inverse_dynamics(zero, zero, zero, wrenches={"link3": np.zeros(3)})
    with pytest.raises(InputError, match="link33.*link3"):
        dyn.inverse_dynamics(zero, zero, zero, wrenches={"link33": np.zeros(6)})
    with pytest.raises(InputError, match="wrenches.*mapping.*list"):
        dyn.inverse_dynamics(zero, zero, zero, wrenches=[np.zeros(6)])


def test_it_says_what_it_is(dyn):
    assert repr(dyn) in ("<Dynamics of 'arm7', compiled>", "<Dynamics of 'arm7', interpreted>")


def test_linearization_is_made_of_the_derivatives(dyn):
    arrays = np.random.default_rng(6).normal(size=(3, 2, 7))
    wrench = np.arange(6.0)
    batched = dyn.batch.linearization(*arrays)
    for index, sample in enumerate(zip(*arrays, strict=True)):
        state_matrix, effort_matrix = dyn.linearization(*sample)
        by_q, by_v, by_tau = dyn.forward_dynamics_derivatives(*sample)
        np.testing.assert_array_equal(state_matrix, np.block([[np.zeros((7, 7)), np.eye(7)], [by_q, by_v]]))
        np.testing.assert_array_equal(effort_matrix, np.vstack([np.zeros((7, 7)), by_tau]))
        np.testing.assert_allclose(batched.A[index], state_matrix, rtol=1e-9, atol=1e-9)
        np.testing.assert_allclose(batched.B[index], effort_matrix, rtol=1e-9, atol=1e-9)
        pushed = dyn.forward_dynamics_derivatives(*sample, wrench)
        np.testing.assert_array_equal(dyn.linearization(*sample, wrench).A[7:, :7], pushed[0])


BRANCHED = random_chain(30)
for parent, other in (("l19", "l8"), ("l27", "l0")):
    BRANCHED = BRANCHED.replace(f"link='{parent}'/><child", f"link='{other}'/><child")
"""A large robot: a chain with a branch, and a limb of its own."""


@pytest.mark.parametrize(("robot", "links"), [
    pytest.param("arm7", ("link6", "link5"), id="arm7"),
    pytest.param(BRANCHED, ("l18", "l30"), id="branched", marks=pytest.mark.long)])
def test_task_space_in_all_forms(robot, links):
    robot = PinReference(robot).robot
    compiled, textbook = Dynamics(robot), Robot(robot).dynamics(False, "textbook")
    arrays = np.random.default_rng(7).normal(size=(2, 3, robot.n))
    rows = [True, False, True, True, False, False]
    for name in sorted(TASK_SPACE):
        count = len(FUNCTIONS[name].arrays)
        for options in ({}, {"link": links[0]}, {"rows": rows}, {"link": links[1], "rows": tuple(rows)}):
            expected = getattr(textbook.batch, name)(*arrays[:count], **options)
            result = getattr(compiled.batch, name)(*arrays[:count], **options)
            assert relative_error(result, expected) < 1e-9
            for _ in range(2):  # the second call bypasses Python
                single = getattr(compiled, name)(*arrays[:count, 0], **options)
                assert relative_error(single, expected[0]) < 1e-9
            out, threads = np.empty_like(result), BatchDynamics(compiled, threads=2)
            assert getattr(threads.into(out), name)(*arrays[:count], **options) is out
            np.testing.assert_array_equal(out, result)


@pytest.mark.long
def test_task_space_functions_of_large_robots_share_code():
    dynamics = Robot.from_urdf_text(BRANCHED).dynamics()
    kernels = dynamics._kernels
    for name in sorted(TASK_SPACE):
        inputs = [np.zeros(dynamics.model.n)] * len(FUNCTIONS[name].arrays)
        getattr(dynamics, name)(*inputs)
        with pytest.raises(InputError, match=rf"{name}: q: expected shape \(30,\), received \(29,\)"):
            getattr(dynamics, name)(np.zeros(29), *inputs[1:])
        composed = kernels.get(FUNCTIONS[name].plain)
        assert [other for other, _ in composed._others] == [kernels._shared(of) for of in robot_function.SHARED[name]]


def test_wrong_rows_are_named(dyn):
    with pytest.raises(InputError, match=r"rows.*six.*received \[True\]"):
        dyn.task_space_inertia(np.zeros(7), rows=[True])
    with pytest.raises(InputError, match="rows.*one or more true"):
        dyn.task_space_inertia(np.zeros(7), rows=[False] * 6)
    with pytest.raises(InputError, match=r"rows.*received \(0, 1, 2\)"):
        dyn.task_space_inertia(np.zeros(7), rows=(0, 1, 2))


def test_unknown_link_is_named_with_the_nearest(dyn):
    for function in (dyn.forward_kinematics, dyn.jacobian, dyn.batch.jacobian):
        with pytest.raises(InputError, match="tool1.*tool0"):
            function(np.zeros((1, 7)), "tool1")
        with pytest.raises(InputError, match="link: expected the name of a link, received int 7"):
            function(np.zeros((1, 7)), 7)


def test_arguments_have_names(dyn):
    q, v, a = random_state(PinReference("arm7").robot, 3)
    wrench_tip = np.arange(6.0)
    for _ in range(2):  # the same once compiled
        np.testing.assert_array_equal(dyn.gravity(q=q), dyn.gravity(q))
        np.testing.assert_array_equal(
            dyn.inverse_dynamics(a=a, v=v, q=q, wrench_tip=wrench_tip), dyn.inverse_dynamics(q, v, a, wrench_tip)
        )
        np.testing.assert_array_equal(dyn.jacobian(q, link="tool0"), dyn.jacobian(q))


def test_results_are_new_arrays_and_arguments_stay(dyn):
    q = np.full(7, 0.3)
    first = dyn.mass_matrix(q)
    kept = first.copy()
    dyn.mass_matrix(np.zeros(7))
    np.testing.assert_array_equal(first, kept)
    np.testing.assert_array_equal(q, np.full(7, 0.3))


def test_nan_stays_nan(dyn):
    assert np.isnan(dyn.inverse_dynamics(np.full(7, np.nan), np.zeros(7), np.zeros(7))).all()


@pytest.mark.parametrize("name", COUNTS)
def test_nan_in_gives_nan_out_in_all_forms(name):
    compiled, textbook = (Dynamics(PinReference("arm7").robot, compiled=compiled) for compiled in (True, False))
    shared = BatchDynamics(compiled, threads=2)
    function, state = getattr(compiled, name), np.random.default_rng(3).uniform(-1.0, 1.0, (COUNTS[name], 7))
    for number, joint in np.ndindex(state.shape):
        moved, unknown = state.copy(), state.copy()
        moved[number, joint] += 0.7
        unknown[number, joint] = np.nan
        depends = function(*moved) != function(*state)
        result = np.isnan(function(*unknown))
        assert np.all(result[depends]), (number, joint)
        assert not np.any(result & ~np.isnan(getattr(textbook, name)(*unknown))), (number, joint)
        many = np.repeat(state[:, None], 19, axis=1)
        many[:, 11] = unknown
        for batch in (compiled.batch, shared):
            found = np.isnan(getattr(batch, name)(*many))
            np.testing.assert_array_equal(found[11], result)
            assert not found[[10, 12]].any()


def test_a_call_means_the_same_before_and_after_the_function_is_compiled():
    """Signature, documentation and errors for wrong arguments."""
    dyn = Dynamics(PinReference("arm7").robot)
    for name, function in FUNCTIONS.items():
        zeros = [np.zeros(7)] * len(function.arrays)
        written = inspect.signature(getattr(Dynamics, name)).parameters.values()
        for _ in range(2):
            bound = getattr(dyn, name)
            told = inspect.signature(bound).parameters.values()
            assert [(p.name, p.kind, p.default) for p in told] == [
                (p.name, p.kind, p.default) for p in list(written)[1:]], name
            assert bound.__doc__ == inspect.getdoc(getattr(Dynamics, name))
            assert f"\n{name}{inspect.signature(bound)}" in pydoc.plain(pydoc.render_doc(bound))
            for arguments, named in (([], {}), ([*zeros, None, None, None, None], {}), (zeros, {"other": 1}),
                                     (zeros, {"q": zeros[0]})):
                with pytest.raises(TypeError):
                    bound(*arguments, **named)
            first, bound = bound, bound(*zeros)
    assert "wrench_tip=None" in str(inspect.signature(dyn.inverse_dynamics))
    assert dyn.inverse_dynamics is not first


def test_an_ordinary_call_of_a_compiled_function_runs_no_python():
    dyn = Dynamics(PinReference("arm7").robot)
    state = np.zeros((3, 7))
    dyn.inverse_dynamics(*state)
    frames = []
    sys.setprofile(lambda frame, event, _: frames.append(frame) if event == "call" else None)
    try:
        dyn.inverse_dynamics(*state)
    finally:
        sys.setprofile(None)
    assert frames == []


def test_without_compilation_the_textbook_runs():
    """Every frame of a formula is one of textbook/; a debugger that steps into inverse_dynamics comes to (9.53)."""
    small, arm = (Robot(PinReference(name).robot) for name in ("planar_2r", "arm6"))
    formulas = Path(robot_dynamics.__file__).parent
    machinery = {formulas / f"{name}.py" for name in
                 ("robot_dynamics", "robot_function", "interpreted_kernel", "public_conventions", "derivatives",
                  "mass_matrix")}
    for name, function in FUNCTIONS.items():
        robot = arm if name in TASK_SPACE else small
        dyn = robot.dynamics(False, "textbook")
        robot.check_accelerations()  # which the first call of some functions does, before the formula
        files, arrays = set(), np.random.default_rng(1).normal(size=(len(function.arrays), robot.n))
        sys.setprofile(lambda frame, event, _, files=files: files.add(Path(frame.f_code.co_filename)))
        try:
            getattr(dyn, name)(*arrays)
        finally:
            sys.setprofile(None)
        inside = {file for file in files if file.parent == formulas} - machinery
        assert not inside, f"{name} runs {inside}"
        assert any(file.parent.name == "textbook" for file in files), name
        if name == "inverse_dynamics":
            assert any(file.parts[-2:] == ("textbook", "newton_euler.py") for file in files)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_inline_functions_run_on_floats_and_are_traced(name):
    robot = PinReference("arm6").robot
    arguments = FUNCTIONS[name].arrays
    arrays = np.random.default_rng(0).uniform(-1.0, 1.0, (len(arguments), robot.n))
    expected = getattr(Dynamics(robot), name)(*arrays)
    function = getattr(InlineDynamics(robot), name)
    np.testing.assert_allclose(function(*arrays), expected, rtol=1e-9, atol=1e-9)
    kernel = compile_function(function, dict.fromkeys(arguments, (robot.n,)), name=name)
    np.testing.assert_allclose(kernel(*arrays), expected, rtol=1e-9, atol=1e-9)


def test_both_formulations_have_the_functions_that_the_other_has():
    assert compiled_formulas.__all__ == textbook_formulas.__all__
    for name in compiled_formulas.__all__:
        fast, book = getattr(compiled_formulas, name), getattr(textbook_formulas, name)
        assert list(inspect.signature(fast).parameters) == list(inspect.signature(book).parameters), name


def test_the_table_in_the_docs_pairs_the_forms_that_run():
    text = (Path(__file__).parents[2] / "docs" / "dynamics.md").read_text()
    rows = [line.split(" | ") for line in text.splitlines() if line.startswith("| `") and line.count(" | ") == 2]
    paired = {name: (re.match(r"`(\w+)`", row[1]).group(1), re.match(r"`(\w+)`", row[2]).group(1))
              for row in rows for name in re.findall(r"`(\w+)`", row[0])}
    names = {"jacobian": "twist_jacobian", "jacobian_derivative": "twist_jacobian_derivative"}
    for name in FUNCTIONS:
        forms = [getattr(module, names.get(name, name)) for module in (compiled_formulas, textbook_formulas)]
        assert paired[name] == tuple(form.__module__.rsplit(".", 1)[1] for form in forms), name


def test_many_threads_compile_once(monkeypatch):
    made = []
    compile_function = robot_function.compile_function

    def counted(function, inputs, name):
        made.append(name)
        return compile_function(function, inputs, name)

    monkeypatch.setattr(robot_function, "compile_function", counted)
    dyn = Dynamics(PinReference("planar_2r").robot)
    together = threading.Barrier(8)

    def call(_):
        together.wait(timeout=10)
        return dyn.bias(np.ones(2), np.ones(2))

    with ThreadPoolExecutor(8) as pool:
        results = list(pool.map(call, range(8)))
    assert made == ["bias"]
    for result in results:
        np.testing.assert_array_equal(result, results[0])


def test_batch_has_its_own_functions():
    dyn = Dynamics(PinReference("planar_2r").robot)
    assert isinstance(dyn.batch, BatchDynamics)
    assert dyn.batch.gravity(np.zeros((0, 2))).shape == (0, 2)


@pytest.mark.parametrize("compiled", [True, False])
def test_threads_share_a_batch(compiled):
    batch = Dynamics(PinReference("planar_2r").robot, compiled=compiled).batch
    q = np.random.default_rng(1).normal(size=(101, 2))
    alone = batch.mass_matrix(q)
    batch.threads = 3
    np.testing.assert_array_equal(batch.mass_matrix(q), alone)


def test_results_go_into_an_array_of_the_callers(dyn):
    arrays = np.random.default_rng(2).uniform(-1.0, 1.0, (3, 2, 7))
    for name, count in COUNTS.items():
        expected = getattr(dyn.batch, name)(*arrays[:count])
        out = np.full_like(expected, np.nan)
        assert getattr(dyn.batch.into(out), name)(*arrays[:count]) is out
        np.testing.assert_array_equal(out, expected)
    with pytest.raises(InputError, match=r"gravity.*out.*\(2, 7\).*\(2, 6\)"):
        dyn.batch.into(np.empty((2, 6))).gravity(arrays[0])


def test_large_robots_derivatives_go_into_an_array_of_the_callers(monkeypatch):
    batch = Dynamics(PinReference("planar_2r").robot).batch
    arrays = np.random.default_rng(2).uniform(-1.0, 1.0, (3, 5, 2))
    monkeypatch.setattr(robot_dynamics, "solution_is_short", lambda model: False)
    out = np.full((5, 3, 2, 2), np.nan)
    assert batch.into(out).forward_dynamics_derivatives(*arrays) is out
    np.testing.assert_array_equal(out, batch.forward_dynamics_derivatives(*arrays))
