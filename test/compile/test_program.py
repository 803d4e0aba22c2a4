# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

import numpy as np
import pytest

from robodyn_ros.base.errors import CompileError
from robodyn_ros.compile.program import Compute, Program, Repeat, interpret

VARIABLES = {"x": (3,), "y": (3,), "flag": (), "pair": (2,)}


def identity(x):
    return x


def program(*statements, inputs=("x",), outputs=("x",), variables=VARIABLES):
    return Program(variables, statements, inputs, outputs)


def test_what_a_program_names():
    made = program(
        Repeat("ticks", [
            Repeat(3, [Compute(identity, "x", "y"), Repeat("rounds", [Compute(identity, "y", "x")], flag="flag")]),
        ], read={"x": "xs"}, record={"ys": "y"}),
        Repeat(4, [], record={"more": "y"}),
    )  # fmt: skip
    assert made.counts == ("ticks", "rounds")
    assert made.sequences == {"xs": ("x", "ticks")}
    assert made.records == {"ys": ("y", "ticks"), "more": ("y", 4)}


@pytest.mark.parametrize(
    ("statement", "message"),
    [
        (Compute(identity, "z", "x"), r"Compute\(identity\): .* of the program \(x, y, flag, pair\), received 'z'"),
        (Compute(identity, "x", "z"), r"Compute\(identity\): expected variables"),
        (Compute(identity, "x", ("x", "x")), "expected each output once, received x, x"),
        (Repeat(2, [Compute(identity, "y", "x")], {"x": 1.0}), r"Repeat\(2\): expected invariants that nothing "
         "changes, received x"),
        (Repeat(2, [], {"x": 1.0}, {"x": "xs"}), "expected invariants that nothing changes, received x"),
        (Repeat(2, [], {"z": 1.0}), r"Repeat\(2\): expected variables of the program"),
        (Repeat(2, [Repeat(3, [], {"x": 1.0})]), r"Repeat\(3\): expected invariants, sequences and records in a loop "
         "without flag that is in no other, received x"),
        (Repeat(-1, []), r"Repeat\(-1\): expected an integer of 0 or more, or the name of one, received -1"),
        (Repeat(1.5, []), "expected an integer of 0 or more, or the name of one, received 1.5"),
        (Repeat(2, ["text"]), "program: expected statements, received text"),
        (Repeat(2, (Compute(identity, "x", "x") for _ in "ab")), r"Repeat\(2\): expected a list of statements, rec"),
        (Repeat(0, [], flag="flag"), r"Repeat\(flag\): expected an integer of 1 or more"),
        (Repeat(9, [], flag="flag", at_least=2), r"Repeat\(flag\): at_least: expected 0 or 1, received 2"),
        (Repeat(9, [], flag="x"), r"Repeat\(x\): expected a flag of shape \(\), received \(3,\)"),
        (Repeat(9, [], flag="z"), r"Repeat\(z\): expected variables of the program"),
        (Repeat(2, [Repeat(3, [], read={"x": "xs"})]), r"Repeat\(3\): expected invariants, sequences and records in a"),
        (Repeat(2, [Repeat(3, [], record={"xs": "x"})], flag="flag"), "records in a loop without flag that is in no"),
        (Repeat(2, [], read={"z": "xs"}), r"Repeat\(2\): expected variables of the program .*, received 'z'"),
        (Repeat(2, [], record={"xs": "z"}), r"Repeat\(2\): expected variables of the program .*, received 'z'"),
        (Repeat(2, [], read={"x": "xs", "y": "xs"}), "expected a sequence, or a record, in one place, received it in"),
        (Repeat("x", []), "x: expected names that stand for one thing each, received it twice"),
        (Repeat("threads", []), "threads: expected names that stand for one thing each"),
        (Repeat(2, [], read={"y": "x"}), "x: expected names that stand for one thing each"),
        (Repeat(2, [], record={"x": "y"}), "x: expected names that stand for one thing each"),
    ],
)
def test_programs_that_make_no_sense(statement, message):
    with pytest.raises(CompileError, match=message):
        program(statement)


def test_two_loops_that_read_one_sequence_or_fill_one_record_make_no_sense():
    for rows in ({"read": {"x": "xs"}}, {"record": {"xs": "x"}}):
        with pytest.raises(CompileError, match="expected a sequence, or a record, in one place, received it in two"):
            program(Repeat(2, [], **rows), Repeat(2, [], **rows))


def test_names_and_shapes():
    with pytest.raises(CompileError, match="inputs: expected variables of the program"):
        program(inputs=("z",))
    with pytest.raises(CompileError, match="outputs: expected variables of the program"):
        program(outputs=("z",))
    with pytest.raises(CompileError, match=r"variable x: expected a shape such as \(7,\)"):
        program(variables={"x": 3})


def run(variables, statements, inputs=(), outputs=(), counts=None, **arrays):
    given = {name: np.asarray(array, dtype=float) for name, array in arrays.items()}
    return interpret(Program(variables, statements, inputs, outputs), counts or {}, given)


def test_what_is_read_adds_up_and_the_sums_are_recorded():
    add = Compute(lambda total, x: total + x, ("total", "x"), "total")
    results = run({"total": (), "x": ()}, [Repeat("n", [add], read={"x": "xs"}, record={"sums": "total"})],
                  outputs=["total"], counts={"n": 5}, xs=np.arange(5.0))
    assert results["total"] == 10.0
    np.testing.assert_array_equal(results["sums"], [0.0, 1.0, 3.0, 6.0, 10.0])


def test_a_flag_ends_a_loop_after_the_round_in_which_it_falls():
    halve = Compute(lambda x, n: (x / 2.0, n + 1.0, x / 2.0 - 1.0), ("x", "n"), ("x", "n", "flag"))
    statements = [Repeat("most", [halve], flag="flag")]
    variables = {"x": (), "n": (), "flag": ()}
    for x, most, rounds in ((8.0, 100, 3.0), (0.5, 100, 1.0), (8.0, 2, 2.0), (8.0, 0, 1.0), (np.nan, 100, 1.0)):
        assert run(variables, statements, ["x"], ["n"], {"most": most}, x=x)["n"] == rounds


def test_a_flag_may_skip_a_loop():
    halve = Compute(lambda x, n: (x / 2.0, n + 1.0, x / 2.0 - 1.0), ("x", "n"), ("x", "n", "flag"))
    for flag, rounds in ((1.0, 3.0), (0.0, 0.0), (-1.0, 0.0), (np.nan, 0.0)):
        results = run({"x": (), "n": (), "flag": ()}, [Repeat(9, [halve], flag="flag", at_least=0)], ["x", "flag"],
                      ["n"], x=8.0, flag=flag)
        assert results["n"] == rounds


def test_inputs_stay_as_they_were_given_and_results_are_the_callers():
    def scribble(x):
        x[:] = 7.0
        return x

    x = np.ones(3)
    results = run({"x": (3,), "y": (3,)}, [Compute(scribble, "x", "y")], ["x"], ["x", "y"], x=x)
    np.testing.assert_array_equal(x, np.ones(3))
    np.testing.assert_array_equal(results["x"], np.ones(3))
    np.testing.assert_array_equal(results["y"], np.full(3, 7.0))
