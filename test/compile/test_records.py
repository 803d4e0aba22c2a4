# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Named tuples and frozen dataclasses, nested, as arguments, results and variables of compiled code."""

import pickle
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pytest

from robodyn_ros.base.errors import CompileError, InputError
from robodyn_ros.compile import Compute, Repeat, compile_function, compile_procedure, where
from robodyn_ros.compile.records import Structure, array_shapes, flatten, form_of, unflatten


class Motion(NamedTuple):
    q: Any
    v: Any


@dataclass(frozen=True)
class Body:
    mass: Any
    motion: Motion
    label: str = "ball"
    turns: bool = True


@dataclass
class Loose:
    x: Any


def body(rng, *leading):
    return Body(rng.normal(size=leading), Motion(rng.normal(size=(*leading, 2)), rng.normal(size=(*leading, 2, 3))))


SHAPES = Body((), Motion((2,), (2, 3)))


def double(given: Body) -> Motion:
    return Motion(given.motion.q * given.mass, np.sin(given.motion.v))


def test_a_record_and_its_arrays_are_the_same():
    value = body(np.random.default_rng(0))
    form = form_of(value)
    assert isinstance(form, Structure) and form == form_of(SHAPES) and hash(form) == hash(form_of(SHAPES))
    assert array_shapes("body", form) == {"body.mass": (), "body.motion.q": (2,), "body.motion.v": (2, 3)}
    arrays = flatten(form, value, "body")
    assert arrays[0] is value.mass and arrays[2] is value.motion.v
    again = unflatten(form, iter(arrays))
    assert type(again) is Body and again.motion.q is value.motion.q and again.label == "ball"


@pytest.mark.parametrize("value", ["text", None, 3, Loose(1.0), [1.0]])
def test_what_is_no_record(value):
    assert form_of(value) is None


def test_a_function_of_records_returns_records():
    rng = np.random.default_rng(1)
    kernel, one, many = compile_function(double, {"body": SHAPES}), body(rng), body(rng, 21)
    for found in (kernel(one), kernel(body=one), kernel.call(one), pickle.loads(pickle.dumps(kernel))(one)):
        assert type(found) is Motion
        np.testing.assert_allclose(found.q, one.motion.q * one.mass, rtol=1e-15)
        np.testing.assert_allclose(found.v, np.sin(one.motion.v), rtol=1e-14)
    found = kernel.batch(many, threads=2)
    for i in range(21):
        np.testing.assert_array_equal(found.v[i], kernel(Body(many.mass[i], Motion(*(x[i] for x in many.motion)))).v)


def test_records_and_arrays_beside_each_other():
    kernel = compile_function(lambda gain, motion: gain * motion.q, {"gain": (2,), "motion": Motion(np.zeros(2), 0.0)})
    np.testing.assert_array_equal(kernel([2.0, 3.0], Motion([1.0, 2.0], 0.0)), [2.0, 6.0])
    np.testing.assert_array_equal(kernel([2.0, 3.0], motion=Motion([1.0, 2.0], 0.0)), [2.0, 6.0])
    out = np.zeros((4, 2))
    assert kernel.batch(np.ones((4, 2)), Motion(np.ones((4, 2)), np.zeros(4)), out=out) is out and out.all()


@pytest.mark.parametrize(("given", "message"), [
    ((), r"double: expected 1 arguments \(body\), received 0 by position"),
    ((1.0,), "double: body: expected Body, received float"),
    ((Body(1.0, (np.zeros(2), np.zeros((2, 3)))),), "double: body.motion: expected Motion, received tuple"),
    ((Body(1.0, Motion(np.zeros(3), np.zeros((2, 3)))),), r"double: body.motion.q: expected shape \(2,\)"),
    ((Body(1.0, Motion(np.zeros(2), "text")),), "double: body.motion.v: expected real numbers, received str"),
    ((Body(1.0, Motion(np.zeros(2), np.zeros((2, 3))), "disc"),),
     "double: body.label: expected 'ball', which is built in, received 'disc'"),
])
def test_wrong_records_are_explained(given, message):
    with pytest.raises(InputError, match=message):
        compile_function(double, {"body": SHAPES})(*given)


@pytest.mark.parametrize("given", [Loose(1.0), "text", [3]])
def test_what_no_input_can_be(given):
    with pytest.raises(CompileError, match=r"x: expected a shape such as \(7,\)"):
        compile_function(lambda x: x, {"x": given})
    with pytest.raises(CompileError, match=r"x: expected a shape such as \(7,\)"):
        compile_procedure({"x": given}, [])


class Carry(NamedTuple):
    body: Body
    total: Any
    left: Any


def fall(carry: Carry, gravity: Any) -> Carry:
    motion = carry.body.motion
    v = motion.v + 0.1 * gravity
    return Carry(Body(carry.body.mass, Motion(motion.q + 0.1 * v[:, 0], v)), carry.total + motion.q @ motion.q,
                 carry.left - 1.0)


CARRY = Carry(SHAPES, (), ())


def falling(**options):
    return compile_procedure(
        {"carry": CARRY, "gravity": (2, 3), "before": Motion((2,), (2, 3))},
        [Repeat("ticks", [Compute(lambda motion: motion, "carry.body.motion", "before"),
                          Compute(fall, ("carry", "gravity"), "carry")],
                read={"gravity": "gravities"}, record={"motions": "before", "totals": "carry.total"}, **options)],
        ["carry"], ["carry.body", "carry.total"])


def start(rng, *leading):
    return Carry(body(rng, *leading), np.zeros(leading), np.zeros(leading))


def test_a_procedure_carries_records():
    rng, procedure = np.random.default_rng(2), falling()
    gravities, first = rng.normal(size=(5, 2, 3)), start(rng)
    found = procedure(carry=first, gravities=gravities, ticks=5)
    expected = first
    for k in range(5):
        np.testing.assert_allclose(found["motions"].q[k], expected.body.motion.q, rtol=1e-13)
        expected = fall(expected, gravities[k])
    assert type(found["carry.body"]) is Body and type(found["motions"]) is Motion
    np.testing.assert_allclose(found["carry.body"].motion.q, expected.body.motion.q, rtol=1e-13)
    np.testing.assert_allclose(found["totals"][-1], found["carry.total"])
    interpreted = procedure.interpret(carry=first, gravities=gravities, ticks=5)
    np.testing.assert_allclose(interpreted["motions"].v, found["motions"].v, rtol=1e-13)
    many = start(rng, 9)
    batch = procedure.batch(carry=many, gravities=gravities, ticks=5)
    for i in range(9):
        one = procedure(carry=unflatten(form_of(CARRY), iter([x[i] for x in flatten(form_of(CARRY), many, "")])),
                        gravities=gravities, ticks=5)
        np.testing.assert_array_equal(batch["carry.body"].motion.q[i], one["carry.body"].motion.q)
        np.testing.assert_array_equal(batch["motions"].q[i], one["motions"].q)


def test_a_sequence_of_records_and_a_flag_in_a_record():
    push = Compute(lambda carry, motion: carry._replace(total=carry.total + motion.q[0], left=carry.left - 1.0),
                   ("carry", "motion"), "carry")
    rows = Motion(np.arange(6.0).reshape(3, 2), np.zeros((3, 2, 3)))
    procedure = compile_procedure(
        {"carry": CARRY, "motion": Motion((2,), (2, 3))},
        [Repeat("n", [Repeat(9, [push], flag="carry.left")], read={"motion": "motions"})], ["carry"], ["carry"])
    given = start(np.random.default_rng(3))._replace(left=3.0)
    for run in (procedure, procedure.interpret):
        assert run(carry=given, motions=rows, n=3)["carry"].total == 3 * 0.0 + 2.0 + 4.0


def test_bound_records_are_views_of_one_memory():
    step = Compute(lambda body: Body(body.mass, Motion(body.motion.q + body.mass, body.motion.v)), "body", "body")
    bound = compile_procedure({"body": SHAPES}, [Repeat("n", [step])], ["body"], ["body"]).bind(
        body=Body(2.0, Motion(np.ones(2), np.zeros((2, 3)))))
    bound.run(3)
    assert bound["body"] is bound["body"]
    np.testing.assert_array_equal(bound["body"].motion.q, [7.0, 7.0])
    np.testing.assert_array_equal(bound["body.motion"].q, [7.0, 7.0])
    np.testing.assert_array_equal(bound.numbers("body"), [2.0, 7.0, 7.0, *np.zeros(6)])
    bound["body"] = Body(1.0, Motion(np.zeros(2), np.zeros((2, 3))))
    bound.numbers("body.motion.q")[:] = 5.0
    bound.run(1)
    np.testing.assert_array_equal(bound["body"].motion.q, [6.0, 6.0])
    with pytest.raises(InputError, match="body: expected Body, received Motion"):
        bound["body"] = Motion(0.0, 0.0)


@pytest.mark.parametrize(("statement", "message"), [
    (Compute(fall, ("carry", "gravity"), "carry.bodies"), "expected variables of the program .* 'carry.bodies'"),
    (Compute(fall, ("carry", "gravity"), "carry.total.x"), "expected variables of the program .* 'carry.total.x'"),
    (Compute(fall, ("carry", "gravity"), ("carry", "carry.total")), "expected each output once"),
    (Repeat(3, [], flag="carry.body"), r"expected a flag of shape \(\)"),
])
def test_parts_that_do_not_exist(statement, message):
    with pytest.raises(CompileError, match=message):
        compile_procedure({"carry": CARRY, "gravity": (2, 3)}, [statement])


def test_a_computation_returns_the_records_that_it_declares():
    for returned, message in ((lambda b: b.motion, "expected Body, received Motion"),
                              (lambda b: Body(1.0, b.motion, "disc"), "label: expected 'ball', which is built in")):
        with pytest.raises(CompileError, match=message):
            compile_procedure({"body": SHAPES}, [Compute(returned, "body", "body")], ["body"], ["body"])


def test_constants_in_records_are_known_to_later_statements():
    """Also behind a loop that does not change them, and not where a loop does."""
    class Sum(NamedTuple):
        x: Any
        zero: Any

    variables = {"sum": Sum((2,), (2,)), "flag": ()}
    set_ = Compute(lambda s: (Sum(s.x, np.zeros(2)), 1.0), "sum", ("sum", "flag"))
    count = Compute(lambda s, flag: (s.x + 1.0, flag - 1.0), ("sum", "flag"), ("sum.x", "flag"))
    loop = Repeat(3, [count], flag="flag")
    use = Compute(lambda s: np.sqrt(s.x * s.x) + s.zero * np.exp(s.x), "sum", "sum.x")
    procedure = compile_procedure(variables, [set_, loop, use], ["sum"], ["sum"])
    last = list(procedure.traced.tapes.values())[-1]
    assert last.operation_count == 4
    given = Sum(np.array([2.0, -5.0]), np.ones(2))
    np.testing.assert_array_equal(procedure(sum=given)["sum"].x, [3.0, 4.0])
    np.testing.assert_array_equal(procedure.interpret(sum=given)["sum"].x, [3.0, 4.0])

    maybe = Repeat(1, [Compute(lambda s: np.full(2, 2.0), "sum", "sum.zero")], flag="flag", at_least=0)
    both = Compute(lambda s: s.x * s.zero, "sum", "sum.x")
    for flag, expected in ((1.0, [4.0, 6.0]), (-1.0, [2.0, 3.0])):
        ones = Compute(lambda s, f: (np.ones(2), f), ("sum", "flag"), ("sum.zero", "flag"))
        found = compile_procedure(variables, [ones, maybe, both], ["sum", "flag"], ["sum"])
        given = {"sum": Sum(np.array([2.0, 3.0]), np.zeros(2)), "flag": flag}
        np.testing.assert_array_equal(found(**given)["sum"].x, expected)
        np.testing.assert_array_equal(found.interpret(**given)["sum"].x, expected)


def test_sums_that_nobody_reads_are_not_computed():
    """Although each of them reads itself."""
    procedure = compile_procedure(
        {"carry": CARRY, "gravity": (2, 3)}, [Repeat("n", [Compute(fall, ("carry", "gravity"), "carry")])],
        ["carry", "gravity"], ["carry.body.motion"])
    assert not procedure.traced.reads("carry.total") and procedure.traced.reads("carry.body")
    assert not procedure.traced.reads("carry.body.mass")


def test_varied_records_are_simplified_like_constants():
    class Gains(NamedTuple):
        p: Any
        sign: Any

    step = Compute(lambda x, gains: x * gains.p + where(gains.sign, 1.0, 0.0), ("x", "gains"), "x")
    procedure = compile_procedure({"x": (), "gains": Gains((), ())},
                                  [Repeat("n", [step], invariant={"gains": Gains(2.0, 1.0)})], ["x", "gains"], ["x"])
    assert procedure(x=1.0, gains=Gains(3.0, 1.0), n=2)["x"] == 13.0
    assert procedure.interpret(x=1.0, gains=Gains(3.0, 0.0), n=2)["x"] == 9.0


def test_a_result_of_numbers_alone():
    kernel = compile_function(lambda m: Motion(m.q + 1.0, 3.0), {"m": Motion((), ())})
    found, many = kernel(Motion(1.0, 2.0)), kernel.batch(Motion(np.arange(5.0), np.zeros(5)))
    assert (found.q, found.v, found.q.shape) == (2.0, 3.0, ()) and many.q.tolist() == [1.0, 2.0, 3.0, 4.0, 5.0]
