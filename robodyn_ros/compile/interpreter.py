"""Runs a program statement by statement in plain NumPy: the reference for compiled programs."""

from collections.abc import Iterable, Mapping

import numpy as np
from numpy.typing import NDArray

from robodyn_ros.compile.program import Compute, Program, Read, Record, Repeat, RepeatWhile, Statement

Arrays = dict[str, NDArray[np.float64]]


def interpret(program: Program, counts: Mapping[str, int], arrays: Mapping[str, NDArray[np.float64]]) -> Arrays:
    """Run a program once.

    Args:
        program: The program.
        counts: Rounds of the loops whose count has a name.
        arrays: Inputs and sequences, of their shapes.

    Returns:
        Outputs and records.
    """
    run = _Run(program, counts, arrays)
    with np.errstate(all="ignore"):
        run.statements(program.statements, 0)
    records = {
        name: np.array(run.records[name], dtype=float).reshape(
            len(run.records[name]), *program.variables[rows.variable]
        )
        for name, rows in program.records.items()
    }
    return {name: run.variables[name] for name in program.outputs} | records


class _Run:
    """The variables and the rows recorded so far; arrays are replaced, never changed."""

    def __init__(self, program: Program, counts: Mapping[str, int], arrays: Mapping[str, NDArray[np.float64]]) -> None:
        self._counts, self._arrays = counts, arrays
        self.variables: Arrays = {name: np.zeros(shape) for name, shape in program.variables.items()}
        self.variables |= {name: np.array(arrays[name]) for name in program.inputs}
        self.records: dict[str, list[NDArray[np.float64]]] = {name: [] for name in program.records}

    def statements(self, statements: Iterable[Statement], round_: int) -> None:
        for statement in statements:
            if isinstance(statement, Compute):
                self._compute(statement)
            elif isinstance(statement, Repeat):
                for inner_round in range(self._count(statement.count)):
                    self.statements(statement.statements, inner_round)
            elif isinstance(statement, RepeatWhile):
                rounds, most = 0, max(1, self._count(statement.most))
                while rounds < statement.at_least or (self.variables[statement.flag] > 0.0 and rounds < most):
                    self.statements(statement.statements, 0)
                    rounds += 1
            elif isinstance(statement, Read):
                self.variables[statement.variable] = np.array(self._arrays[statement.sequence][round_])
            elif isinstance(statement, Record) and (round_ + 1) % statement.every == 0:
                self.records[statement.record].append(self.variables[statement.variable])

    def _compute(self, statement: Compute) -> None:
        returned = statement.function(*(self.variables[name].copy() for name in statement.inputs))
        results = [np.array(array, dtype=float) for array in statement.results(returned)]
        self.variables.update(zip(statement.output_names, results, strict=True))

    def _count(self, count: int | str) -> int:
        return self._counts[count] if isinstance(count, str) else count
