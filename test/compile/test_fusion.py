# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

import numpy as np

from robodyn_ros.compile import Compute, Repeat, compile_procedure, operations
from robodyn_ros.compile.program import Program, TracedProgram


def sine(x):
    return np.sin(x)


def shifted(x, s):
    return np.sin(x) + s, x + s


VARIABLES = {"x": (2,), "s": (2,), "y": (2,), "z": ()}
SINE, SHIFTED = Compute(sine, "x", "s"), Compute(shifted, ("x", "s"), ("y", "x"))


def traced(*statements):
    return TracedProgram(Program(VARIABLES, statements, ["x"], ["x", "y"]))


def angle_count(tape):
    """Values whose sine or cosine is taken."""
    trigonometric = np.isin(tape.codes, (operations.SIN, operations.COS))
    return len(np.unique(tape.operands[trigonometric, 0]))


def agree(statements, **given):
    procedure = compile_procedure(VARIABLES, statements, ["x"], ["x", "y", "s"])
    x = np.array([[0.3, -1.1], [2.0, 0.1], [0.0, 5.0]])
    batch = procedure.batch(x=x, **given)
    for i, row in enumerate(x):
        single, expected = procedure(x=row, **given), procedure.interpret(x=row, **given)
        for name, array in expected.items():
            np.testing.assert_allclose(single[name], array, rtol=1e-13, atol=1e-15)
            np.testing.assert_allclose(batch[name][i], array, rtol=1e-13, atol=1e-15)
    return procedure


def test_neighbours_share_what_they_compute():
    program = traced(SINE, SHIFTED)
    (tape,) = program.tapes.values()
    assert angle_count(tape) == 2
    (statement,) = program.statements
    assert (statement.inputs, statement.output_names) == (("x",), ("s", "y", "x"))
    agree([SINE, SHIFTED])


def test_only_neighbours_are_joined():
    program = traced(SINE, Repeat("n", [SHIFTED, SINE]), SHIFTED)
    assert [type(statement) for statement in program.statements] == [Compute, Repeat, Compute]
    assert [angle_count(tape) for tape in program.tapes.values()] == [2, 4, 2]
    agree([SINE, Repeat("n", [SHIFTED, SINE]), SHIFTED], n=3)


def test_loops_of_one_round_are_no_loops():
    assert len(traced(SINE, Repeat(1, [SHIFTED, Repeat(1, [SINE])])).statements) == 1
    assert len(traced(SINE, Repeat(2, [SHIFTED])).statements) == 2
    assert len(traced(SINE, Repeat("n", [SHIFTED])).statements) == 2
    agree([SINE, Repeat(1, [SHIFTED, Repeat(1, [SINE])])])


def test_rows_keep_their_loop():
    (kept,) = traced(Repeat(1, [SINE, SHIFTED], read={"x": "xs"}, record={"ys": "y"})).statements
    assert [type(statement) for statement in kept.statements] == [Compute]
    assert (kept.read, kept.record) == ({"x": "xs"}, {"ys": "y"})


def test_flags_keep_theirs():
    end = Compute(lambda x: (0.5 * x, np.abs(x[0]) - 1.0), "x", ("x", "z"))
    agree([Repeat(20, [SINE, end], flag="z"), SHIFTED])
    agree([Repeat(20, [SINE, end], flag="z", at_least=0), SHIFTED])


def test_what_cannot_be_traced_together_stays_apart():
    """np.sin works on an array of traced values and constants alone, but not where another computation made it."""
    half = Compute(lambda x: np.array([x[0], 0.5]), "x", "x")
    program = traced(half, SINE)
    assert [statement.function for statement in program.statements] == [half.function, sine]
    agree([half, SINE])


def test_constants_become_known():
    clear = Compute(lambda x: np.full(2, 0.5), "x", "x")
    (tape,) = traced(clear, SINE).tapes.values()
    assert tape.operation_count == 0
    agree([clear, SINE])


def test_what_nobody_reads_is_not_computed():
    """A result is kept if a computation, a flag, a record or an output reads that element, not just its variable."""
    variables = {"x": (2,), "y": (2,), "spare": (2,), "flag": (), "row": ()}
    first = Compute(lambda x: (np.sin(x), np.exp(x), x[0] - 1.0, x[1] * x[1]), "x", ("y", "spare", "flag", "row"))
    loop = Repeat(3, [Compute(lambda x, y: (x + y[0], 0.5 * y, x[0] - 9.0), ("x", "y"),
                                           ("x", "spare", "flag"))], flag="flag")
    statements = [Repeat("n", [first, loop], record={"rows": "row"})]
    program = TracedProgram(Program(variables, statements, ["x"], ["x"]))
    before, within = program.results.values()
    assert before == [("y", 0), ("flag", 0), ("row", 0)]
    assert within == [("x", 0), ("x", 1), ("flag", 0)]
    assert not any(operations.EXP in tape.codes for tape in program.tapes.values())
    procedure = compile_procedure(variables, statements, ["x"], ["x"])
    x = np.array([[0.3, 0.4]] * 9)
    batch, single = procedure.batch(x=x, n=4), procedure(x=x[0], n=4)
    for name, array in procedure.interpret(x=x[0], n=4).items():
        np.testing.assert_allclose(single[name], array, rtol=1e-13)
        np.testing.assert_allclose(batch[name][8], array, rtol=1e-13)
