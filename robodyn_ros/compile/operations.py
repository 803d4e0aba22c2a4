"""The operations a tape may hold: their codes, operand counts, and meaning as NumPy functions.

Codes are plain integers: they are compared and hashed once per traced operation, where an Enum would cost more than
the operation itself.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

INPUT, CONSTANT = 0, 1
ADD, SUBTRACT, MULTIPLY, DIVIDE, NEGATE = 2, 3, 4, 5, 6
SQRT, ABSOLUTE, SIGN, MINIMUM, MAXIMUM = 7, 8, 9, 10, 11
SIN, COS, TAN, ARCSIN, ARCCOS, ARCTAN, ARCTAN2 = 12, 13, 14, 15, 16, 17, 18
EXP, LOG, TANH, POWER = 19, 20, 21, 22
LESS, LESS_EQUAL, EQUAL, WHERE = 23, 24, 25, 26


class Operation(NamedTuple):
    """What one code stands for: its name, how many operands it takes, and its meaning on floats and float arrays."""

    name: str
    operand_count: int
    evaluate: Callable[..., Any]


def _comparison(compare: Callable[..., np.ndarray]) -> Callable[..., np.ndarray]:
    """A comparison whose truth is the number 1.0 or 0.0, as everywhere on the tape."""
    return lambda a, b: compare(a, b) * 1.0


def _not_computed(*_operands: object) -> np.ndarray:
    raise TypeError("inputs and constants are read, not computed")


OPERATIONS: dict[int, Operation] = {
    INPUT: Operation("input", 0, _not_computed),
    CONSTANT: Operation("constant", 0, _not_computed),
    ADD: Operation("add", 2, np.add),
    SUBTRACT: Operation("subtract", 2, np.subtract),
    MULTIPLY: Operation("multiply", 2, np.multiply),
    DIVIDE: Operation("divide", 2, np.divide),
    NEGATE: Operation("negate", 1, np.negative),
    SQRT: Operation("sqrt", 1, np.sqrt),
    ABSOLUTE: Operation("absolute", 1, np.absolute),
    SIGN: Operation("sign", 1, np.sign),
    MINIMUM: Operation("minimum", 2, np.minimum),
    MAXIMUM: Operation("maximum", 2, np.maximum),
    SIN: Operation("sin", 1, np.sin),
    COS: Operation("cos", 1, np.cos),
    TAN: Operation("tan", 1, np.tan),
    ARCSIN: Operation("arcsin", 1, np.arcsin),
    ARCCOS: Operation("arccos", 1, np.arccos),
    ARCTAN: Operation("arctan", 1, np.arctan),
    ARCTAN2: Operation("arctan2", 2, np.arctan2),
    EXP: Operation("exp", 1, np.exp),
    LOG: Operation("log", 1, np.log),
    TANH: Operation("tanh", 1, np.tanh),
    POWER: Operation("power", 2, np.power),
    LESS: Operation("less", 2, _comparison(np.less)),
    LESS_EQUAL: Operation("less_equal", 2, _comparison(np.less_equal)),
    EQUAL: Operation("equal", 2, _comparison(np.equal)),
    WHERE: Operation("where", 3, lambda condition, a, b: np.where(np.not_equal(condition, 0.0), a, b)),
}

ODD_FUNCTIONS = frozenset({SIN, TAN, ARCSIN, ARCTAN, TANH, SIGN})
"""f(-x) = -f(x)."""

EVEN_FUNCTIONS = frozenset({COS, ABSOLUTE})
"""f(-x) = f(x)."""
