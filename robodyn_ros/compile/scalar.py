"""Symbolic scalars: numbers whose arithmetic is recorded instead of computed.

Every operation is simplified and looked up before it is recorded, so what a formula does with the zeros and ones of a
robot's constants, or does twice, never reaches the tape. Constants stay Python floats: arithmetic among them is
Python's own, and a product with 0.0 is 0.0 again.
"""

import sys
from numbers import Real
from typing import Any, NoReturn

from robodyn_ros.compile import operations as op
from robodyn_ros.errors import CompileError

Key = tuple[Any, ...]
"""Operation code and operand indices; (INPUT, position); (CONSTANT, value)."""


class Recorder:
    """What has been recorded so far: each distinct operation once, operands before their use."""

    __slots__ = ("scalars", "table")

    def __init__(self) -> None:
        self.scalars: list[Scalar] = []
        self.table: dict[Key, Scalar] = {}

    def record(self, key: Key) -> "Scalar":
        """The scalar of ``key``: the one recorded before, or a new one."""
        found = self.table.get(key)
        if found is None:
            found = Scalar(self, len(self.scalars), key)
            self.table[key] = found
            self.scalars.append(found)
        return found

    def forget(self) -> None:
        """Let go of everything recorded: it refers back here, and would else wait for the garbage collector."""
        self.scalars.clear()
        self.table.clear()

    def constant(self, value: float) -> "Scalar":
        """The scalar of a constant, for operations that keep one (-0.0 counts as 0.0)."""
        return self.record((op.CONSTANT, value + 0.0))


class Scalar:
    """One traced number.

    Arithmetic with floats and other scalars of the same trace, comparisons (which give a traced 1.0 or 0.0, to be used
    with `where`), and the methods that NumPy's functions look for on the elements of object arrays.
    """

    __slots__ = ("index", "key", "recorder")

    def __init__(self, recorder: Recorder, index: int, key: Key) -> None:
        self.recorder = recorder
        self.index = index
        self.key = key

    # -- sums ---------------------------------------------------------------------------------------------------------

    def __add__(self, other: Any) -> Any:
        recorder = self.recorder
        if other.__class__ is not Scalar:
            value = _as_float(other)
            return NotImplemented if value is None else _offset(self, value)
        if other.recorder is not recorder:
            _foreign(other)
        if other.key[0] == op.NEGATE:
            return self - recorder.scalars[other.key[1]]
        if self.key[0] == op.NEGATE:
            return other - recorder.scalars[self.key[1]]
        a, b = self.index, other.index
        return recorder.record((op.ADD, a, b) if a <= b else (op.ADD, b, a))

    def __radd__(self, other: Any) -> Any:
        value = _as_float(other)
        return NotImplemented if value is None else _offset(self, value)

    def __sub__(self, other: Any) -> Any:
        recorder = self.recorder
        if other.__class__ is not Scalar:
            value = _as_float(other)
            return NotImplemented if value is None else _offset(self, -value)
        if other.recorder is not recorder:
            _foreign(other)
        if other is self:
            return 0.0
        if other.key[0] == op.NEGATE:
            return self + recorder.scalars[other.key[1]]
        if self.key[0] == op.NEGATE:
            return -(recorder.scalars[self.key[1]] + other)
        a, b = self.index, other.index
        reverse = recorder.table.get((op.SUBTRACT, b, a))
        if reverse is not None:
            return -reverse
        return recorder.record((op.SUBTRACT, a, b))

    def __rsub__(self, other: Any) -> Any:
        value = _as_float(other)
        return NotImplemented if value is None else _offset(-self, value)

    def __neg__(self) -> "Scalar":
        if self.key[0] == op.NEGATE:
            return self.recorder.scalars[self.key[1]]
        return self.recorder.record((op.NEGATE, self.index))

    def __pos__(self) -> "Scalar":
        return self

    # -- products -----------------------------------------------------------------------------------------------------

    def __mul__(self, other: Any) -> Any:
        recorder = self.recorder
        if other.__class__ is not Scalar:
            value = _as_float(other)
            return NotImplemented if value is None else _scale(self, value)
        if other.recorder is not recorder:
            _foreign(other)
        if self.key[0] == op.NEGATE:
            return -(recorder.scalars[self.key[1]] * other)
        if other.key[0] == op.NEGATE:
            return -(self * recorder.scalars[other.key[1]])
        a, b = self.index, other.index
        return recorder.record((op.MULTIPLY, a, b) if a <= b else (op.MULTIPLY, b, a))

    def __rmul__(self, other: Any) -> Any:
        value = _as_float(other)
        return NotImplemented if value is None else _scale(self, value)

    def __truediv__(self, other: Any) -> Any:
        recorder = self.recorder
        if other.__class__ is not Scalar:
            value = _as_float(other)
            if value is None:
                return NotImplemented
            if abs(value) < sys.float_info.min:  # whose reciprocal may be infinite
                return recorder.record((op.DIVIDE, self.index, recorder.constant(value).index))
            return _scale(self, 1.0 / value)
        if other.recorder is not recorder:
            _foreign(other)
        if self.key[0] == op.NEGATE:
            return -(recorder.scalars[self.key[1]] / other)
        if other.key[0] == op.NEGATE:
            return -(self / recorder.scalars[other.key[1]])
        return recorder.record((op.DIVIDE, self.index, other.index))

    def __rtruediv__(self, other: Any) -> Any:
        value = _as_float(other)
        if value is None:
            return NotImplemented
        if value == 0.0:
            return 0.0
        if self.key[0] == op.NEGATE:
            return -(value / self.recorder.scalars[self.key[1]])
        return self.recorder.record((op.DIVIDE, self.recorder.constant(value).index, self.index))

    def __pow__(self, exponent: Any) -> Any:
        value = _as_float(exponent)
        if value is None:
            return _binary(op.POWER, self, exponent) if isinstance(exponent, Scalar) else NotImplemented
        if value == 0.5:
            return self.sqrt()
        if value.is_integer() and abs(value) <= 64:
            power = _integer_power(self, int(abs(value)))
            return power if value >= 0 else 1.0 / power
        return _binary(op.POWER, self, value)

    def __rpow__(self, base: Any) -> Any:
        value = _as_float(base)
        return NotImplemented if value is None else _binary(op.POWER, value, self)

    # -- comparisons: traced truth, 1.0 or 0.0 ------------------------------------------------------------------------

    def __lt__(self, other: Any) -> Any:
        return _binary(op.LESS, self, other)

    def __le__(self, other: Any) -> Any:
        return _binary(op.LESS_EQUAL, self, other)

    def __gt__(self, other: Any) -> Any:
        return _binary(op.LESS, other, self)

    def __ge__(self, other: Any) -> Any:
        return _binary(op.LESS_EQUAL, other, self)

    def __eq__(self, other: Any) -> Any:
        return _binary(op.EQUAL, self, other)

    def __ne__(self, other: Any) -> Any:
        equal = _binary(op.EQUAL, self, other)
        return NotImplemented if equal is NotImplemented else 1.0 - equal

    __hash__ = object.__hash__

    # -- functions: the names NumPy looks up on the elements of object arrays -----------------------------------------

    def sqrt(self) -> "Scalar":
        """Square root; NaN below zero."""
        return _unary(op.SQRT, self)

    def sin(self) -> "Scalar":
        """Sine of an angle in radians."""
        return _unary(op.SIN, self)

    def cos(self) -> "Scalar":
        """Cosine of an angle in radians."""
        return _unary(op.COS, self)

    def tan(self) -> "Scalar":
        """Tangent of an angle in radians."""
        return _unary(op.TAN, self)

    def arcsin(self) -> "Scalar":
        """Angle in [-pi/2, pi/2] whose sine this is."""
        return _unary(op.ARCSIN, self)

    def arccos(self) -> "Scalar":
        """Angle in [0, pi] whose cosine this is."""
        return _unary(op.ARCCOS, self)

    def arctan(self) -> "Scalar":
        """Angle in (-pi/2, pi/2) whose tangent this is."""
        return _unary(op.ARCTAN, self)

    def arctan2(self, x: Any) -> Any:
        """Angle of the point (x, this), in [-pi, pi]."""
        return _binary(op.ARCTAN2, self, x)

    def exp(self) -> "Scalar":
        """Exponential function."""
        return _unary(op.EXP, self)

    def log(self) -> "Scalar":
        """Natural logarithm."""
        return _unary(op.LOG, self)

    def tanh(self) -> "Scalar":
        """Hyperbolic tangent."""
        return _unary(op.TANH, self)

    def conjugate(self) -> "Scalar":
        """This number: it is real."""
        return self

    def __abs__(self) -> "Scalar":
        return _unary(op.ABSOLUTE, self)

    # -- what a traced value cannot do --------------------------------------------------------------------------------

    def __bool__(self) -> NoReturn:
        raise CompileError(
            "a traced value was used as a condition (if, while, and, or, not, min, max, np.where, np.minimum or a "
            "comparison of arrays): its value is not known while tracing. Use where, minimum, maximum, sign, clip, "
            "less, … from robodyn_ros.compile, or branch on something that is constant for the robot"
        )

    def __float__(self) -> NoReturn:
        raise CompileError(
            "a traced value was turned into a float, as happens when it is stored in a float array or given to the "
            "math module: its value is not known while tracing. Build the array from its elements (np.array([...])) "
            "or make it with dtype=object, and use np.sin, np.cos, np.sqrt instead of math"
        )

    __int__ = __float__
    __index__ = __float__

    def __repr__(self) -> str:
        name, operands = op.OPERATIONS[self.key[0]].name, ", ".join(str(operand) for operand in self.key[1:])
        return f"<traced value {self.index}: {name}({operands})>"


def _as_float(value: Any) -> float | None:
    """The float that ``value`` is, or None where it is no real number (an array, a scalar)."""
    if value.__class__ is float:
        return value
    return float(value) if isinstance(value, Real) else None


def _foreign(scalar: Scalar) -> NoReturn:
    raise CompileError(
        f"{scalar!r} belongs to another trace: a traced value was kept (in a cache, a global or an attribute) and used "
        "again later. Pass it as an argument instead"
    )


def _operand(recorder: Recorder, value: Any) -> int | None:
    """The index of ``value`` in ``recorder``, a constant being recorded; None if it is no number."""
    if value.__class__ is Scalar:
        if value.recorder is not recorder:
            _foreign(value)
        return value.index
    number = _as_float(value)
    return None if number is None else recorder.constant(number).index


def _unary(code: int, operand: Scalar) -> Scalar:
    recorder = operand.recorder
    if operand.key[0] == op.NEGATE:
        if code in op.ODD_FUNCTIONS:
            return -recorder.record((code, operand.key[1]))
        if code in op.EVEN_FUNCTIONS:
            return recorder.record((code, operand.key[1]))
    return recorder.record((code, operand.index))


def _binary(code: int, a: Any, b: Any) -> Any:
    """Record ``code`` of two operands, of which at least one is a scalar."""
    recorder = a.recorder if a.__class__ is Scalar else b.recorder
    first, second = _operand(recorder, a), _operand(recorder, b)
    if first is None or second is None:
        return NotImplemented
    return recorder.record((code, first, second))


def _select(condition: Scalar, a: Any, b: Any) -> Any:
    """``a`` where ``condition`` is not 0.0, else ``b``."""
    if a is b:
        return a
    recorder = condition.recorder
    first, second = _operand(recorder, a), _operand(recorder, b)
    if first is None or second is None:
        raise CompileError(f"where takes numbers to choose from, received {type(a).__name__} and {type(b).__name__}")
    return recorder.record((op.WHERE, condition.index, first, second))


def _offset(scalar: Scalar, value: float) -> Any:
    """``scalar + value``."""
    if value == 0.0:
        return scalar
    recorder, key = scalar.recorder, scalar.key
    if key[0] == op.ADD:
        constant = recorder.scalars[key[1]]
        if constant.key[0] == op.CONSTANT:
            return _offset(recorder.scalars[key[2]], constant.key[1] + value)
    if key[0] == op.NEGATE:
        inner = recorder.scalars[key[1]]
        return recorder.record((op.SUBTRACT, recorder.constant(value).index, inner.index))
    return recorder.record((op.ADD, recorder.constant(value).index, scalar.index))


def _scale(scalar: Scalar, value: float) -> Any:
    """``value * scalar``, kept as a positive constant times a scalar, the sign outside."""
    if value == 0.0:
        return 0.0
    if value == 1.0:
        return scalar
    recorder, key = scalar.recorder, scalar.key
    if key[0] == op.NEGATE:
        return _scale(recorder.scalars[key[1]], -value)
    if value < 0.0:
        return -_scale(scalar, -value)
    if key[0] == op.MULTIPLY:
        constant = recorder.scalars[key[1]]
        if constant.key[0] == op.CONSTANT:
            return _scale(recorder.scalars[key[2]], constant.key[1] * value)
    return recorder.record((op.MULTIPLY, recorder.constant(value).index, scalar.index))


def _integer_power(base: Any, exponent: int) -> Any:
    """``base`` to a power of 0 or more, by repeated squaring."""
    result: Any = 1.0
    while exponent:
        if exponent & 1:
            result = base * result
        base = base * base
        exponent >>= 1
    return result
