"""What the reference itself does, against what its statements say."""

import numpy as np

from robodyn_ros.compile.interpreter import interpret
from robodyn_ros.compile.program import Compute, Program, Read, Record, Repeat, RepeatWhile


def run(variables, statements, inputs=(), outputs=(), counts=None, **arrays):
    given = {name: np.asarray(array, dtype=float) for name, array in arrays.items()}
    return interpret(Program(variables, statements, inputs, outputs), counts or {}, given)


def test_reads_add_up_and_every_third_sum_is_recorded():
    add = Compute(lambda total, x: total + x, ("total", "x"), "total")
    results = run({"total": (), "x": ()}, [Repeat("n", [Read("x", "xs"), add, Record("total", "sums", 3)])],
                  outputs=["total"], counts={"n": 8}, xs=np.arange(8.0))
    assert results["total"] == 28.0
    np.testing.assert_array_equal(results["sums"], [0.0 + 1.0 + 2.0, 15.0])


def test_a_flag_ends_a_loop_after_the_round_in_which_it_falls():
    halve = Compute(lambda x, n: (x / 2.0, n + 1.0, x / 2.0 - 1.0), ("x", "n"), ("x", "n", "flag"))
    statements = [RepeatWhile("flag", "most", [halve])]
    variables = {"x": (), "n": (), "flag": ()}
    for x, most, rounds in ((8.0, 100, 3.0), (0.5, 100, 1.0), (8.0, 2, 2.0), (8.0, 0, 1.0), (np.nan, 100, 1.0)):
        assert run(variables, statements, ["x"], ["n"], {"most": most}, x=x)["n"] == rounds


def test_a_flag_may_skip_a_loop():
    halve = Compute(lambda x, n: (x / 2.0, n + 1.0, x / 2.0 - 1.0), ("x", "n"), ("x", "n", "flag"))
    for flag, rounds in ((1.0, 3.0), (0.0, 0.0), (-1.0, 0.0), (np.nan, 0.0)):
        results = run({"x": (), "n": (), "flag": ()}, [RepeatWhile("flag", 9, [halve], at_least=0)], ["x", "flag"],
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
