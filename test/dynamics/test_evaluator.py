import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from pin_reference import SEEDS, SHIPPED, PinReference, random_state, relative_error
from random_robots import urdf_robots

from robodyn_ros.dynamics import evaluator
from robodyn_ros.dynamics.evaluator import BatchDynamics, Dynamics, DynamicsFunctions
from robodyn_ros.errors import InputError

FUNCTIONS = {
    "inverse_dynamics": 3,
    "forward_dynamics": 3,
    "mass_matrix": 1,
    "coriolis_matrix": 2,
    "gravity": 1,
    "bias": 2,
    "kinetic_energy": 2,
    "potential_energy": 1,
    "center_of_mass": 1,
    "forward_kinematics": 1,
    "jacobian": 1,
}
"""Names, and how many arrays of shape (n,) each takes."""


def all_public(cls):
    return {name for name in vars(cls) if not name.startswith("_")}


def test_the_tests_below_know_every_function():
    assert all_public(DynamicsFunctions) == set(FUNCTIONS)


def check_forms_agree(robot, seed, samples=3):
    compiled, textbook = Dynamics(robot), Dynamics(robot, compiled=False)
    arrays = np.random.default_rng(seed).uniform(-3, 3, (3, samples, robot.n))
    wrenches = np.random.default_rng(seed).normal(size=(samples, 6))
    size = np.max(np.abs(textbook.batch.mass_matrix(arrays[0])))
    condition = max(np.linalg.cond(textbook.mass_matrix(q)) for q in arrays[0])
    for name, count in FUNCTIONS.items():
        tolerance = max(1e-12, 1e-15 * condition) if name == "forward_dynamics" else 1e-12
        extras = [(), (wrenches,)] if name in ("inverse_dynamics", "forward_dynamics") else [()]
        for extra in extras:
            batched = (*arrays[:count], *extra)
            expected = getattr(textbook.batch, name)(*batched)
            assert relative_error(getattr(compiled.batch, name)(*batched), expected, size) < tolerance, name
            for index, sample in enumerate(zip(*batched, strict=True)):
                assert relative_error(getattr(compiled, name)(*sample), expected[index], size) < tolerance, name
                np.testing.assert_array_equal(getattr(textbook, name)(*sample), expected[index])


@SHIPPED
def test_compiled_textbook_and_batch_agree_on_shipped_robots(name):
    check_forms_agree(PinReference(name).robot, 1, samples=9)


@settings(deadline=None, max_examples=5, suppress_health_check=[HealthCheck.too_slow])
@given(urdf_robots(max_joints=6), SEEDS)
def test_compiled_textbook_and_batch_agree_on_random_trees(urdf, seed):
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
    }.items():
        expected = getattr(reference, function)(*arguments)
        assert relative_error(getattr(dyn, function)(*arguments), expected, at_least=1e-3) < 1e-9, function


@pytest.fixture(scope="module", params=[True, False], ids=["compiled", "textbook"])
def dyn(request):
    return Dynamics(PinReference("arm7").robot, compiled=request.param)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_wrong_shapes_and_kinds_are_named(dyn, name):
    good = [np.zeros(7)] * (FUNCTIONS[name] - 1)
    function = getattr(dyn, name)
    for _ in range(2):  # the first call compiles, the second finds it compiled
        with pytest.raises(InputError, match=rf"{name}.*q.*\(7,\).*\(6,\)"):
            function(np.zeros(6), *good)
        with pytest.raises(InputError, match=rf"{name}.*q"):
            function("seven numbers", *good)
        function(np.zeros(7), *good)
    with pytest.raises(InputError, match=rf"{name}.*q.*\(7,\)|{name}.*q.*\(N, 7\)"):
        getattr(dyn.batch, name)(np.zeros((2, 6)), *[np.zeros((2, 7))] * (FUNCTIONS[name] - 1))


def test_wrong_wrench_is_named(dyn):
    zero = np.zeros(7)
    for function in (dyn.inverse_dynamics, dyn.forward_dynamics):
        with pytest.raises(InputError, match=r"wrench_tip.*\(6,\).*\(3,\)"):
            function(zero, zero, zero, np.zeros(3))


def test_unknown_link_is_named_with_the_nearest(dyn):
    for function in (dyn.forward_kinematics, dyn.jacobian, dyn.batch.jacobian):
        with pytest.raises(InputError, match="tool1.*tool0"):
            function(np.zeros((1, 7)), "tool1")


def test_arguments_have_names(dyn):
    q, v, a = random_state(PinReference("arm7").robot, 3)
    wrench_tip = np.arange(6.0)
    for _ in range(2):  # so too once compiled
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


def test_many_threads_compile_once(monkeypatch):
    made = []
    compile_function = evaluator.compile_function

    def counted(function, inputs, name):
        made.append(name)
        return compile_function(function, inputs, name)

    monkeypatch.setattr(evaluator, "compile_function", counted)
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


def test_batch_is_a_door_of_its_own():
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
