# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Compiles a law into one kernel, from measurement, reference, parameters and memory to efforts and memory."""

from __future__ import annotations

import logging
import traceback
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from inspect import getattr_static, signature
from typing import Any, ClassVar, NamedTuple, Protocol

import numpy as np

from robodyn_ros.base.errors import CompileError, InputError
from robodyn_ros.compile import compile_function
from robodyn_ros.compile.records import Structure, flatten, form_of, from_numbers, to_numbers, unflatten
from robodyn_ros.compile.tape import not_traceable
from robodyn_ros.compile.traced_array import limited_weights
from robodyn_ros.compile.traced_numpy import TracedCopies
from robodyn_ros.control.contract.law_inputs import state_form
from robodyn_ros.control.contract.parameters import Parameters
from robodyn_ros.control.contract.state import Reference, State, example_reference
from robodyn_ros.control.contract.terms import Terms, as_terms
from robodyn_ros.control.plugins.outer_state import OuterState
from robodyn_ros.control.plugins.plugin_errors import text_of
from robodyn_ros.control.plugins.pure_law import Formula, check_pure, place_of_function
from robodyn_ros.description.model import Array, RobotModel
from robodyn_ros.dynamics.robot_dynamics import InlineDynamics
from robodyn_ros.robot import Robot

_logger = logging.getLogger(__name__)

_TESTED_PURE = ("robodyn_ros.control.laws.",)
"""Prefixes of modules whose laws a test has found pure. They are not checked again: that takes three times as long as
tracing."""


class PureLaw(Protocol):
    """The attributes of a `Law` that compiling it needs."""

    robot: Robot
    senses: ClassVar[tuple[str, ...]]
    Inputs: ClassVar[Any]
    purity_verdicts: dict[Any, str]
    printing: set[tuple[str, int]]

    @property
    def follows(self) -> type[Reference] | None:
        """Class of the references; None: the law follows no reference."""

    @property
    def law(self) -> Callable[..., Any]:
        """The function, see `Law.law`."""

    def initial_memory(self, state: State) -> Any:
        """The memory before the first tick; None: no memory."""


class PackedParameters:
    """Parameters, split into a vector of numbers that may change and the other fields, which are built into a kernel.

    Args:
        parameters: Complete for a robot.

    Attributes:
        values: The numbers of fields that hold floats, one field after the other, shape (p,).
        fixed: The other fields (switches, names, counts), and the shapes of the fields in `values`; each combination
            has its own kernel.
    """

    def __init__(self, parameters: Parameters) -> None:
        form = form_of(parameters, shapes=False)
        if not isinstance(form, Structure):
            raise InputError(f"parameters: expected a frozen dataclass, received {type(parameters).__name__}")
        self.fixed = form
        self.values: Array = to_numbers(form, parameters, "parameters")

    def unpack(self, values: Array) -> Parameters:
        """Return the parameters with these numbers, floats or traced scalars, shape (p,)."""
        parameters: Parameters = from_numbers(self.fixed, values)
        return parameters


class TraceableLaw(NamedTuple):
    """A law as a function of records.

    Attributes:
        function: Takes the numbers of the parameters, shape (p,), a `State`, the reference and the memory; returns
            efforts, shape (n,), and memory. With ``model=``, the law uses the dynamics of that robot model, and the
            model's inertias may be traced. A dictionary given as ``terms=`` receives the terms of the efforts.
        reference: A reference with arbitrary numbers; None: the law follows no reference.
        memory: The initial memory at positions and velocities 0.
    """

    function: Callable[..., tuple[Any, Any]]
    reference: Any
    memory: Any


def traceable(law: PureLaw, packed: PackedParameters) -> TraceableLaw:
    """Combine a law with the dynamics of its robot into one function that can be traced.

    Args:
        law: The law, which gives all shapes itself.
        packed: Its parameters; only those that are `fixed` are built in.

    Raises:
        CompileError: The initial memory cannot be used; or the law is not pure, raises, or returns anything other than
            efforts and memory of these shapes.
    """
    n, name, follows = law.robot.n, type(law).__name__, law.follows
    at_rest = state_form(type(law), n).completed(State(0.0, 0.0, np.zeros(n), np.zeros(n)))
    outer = OuterState((law.law, type(law).initial_memory))
    try:
        with outer.kept():
            first = initial_memory(law, at_rest)
    except Exception as error:  # whatever the code of a plugin raises
        raise CompileError(_reason(name, error)) from error
    example = example_reference(follows, n)
    _check_pure(law, packed, example, first, at_rest)
    function = _traced_law(law, packed)

    def traced_law(*arguments: Any, **options: Any) -> tuple[Any, Any]:
        with outer.kept():
            law.initial_memory(at_rest)  # this may compute constants that the law reads
            return function(TracedCopies(), InlineDynamics, *arguments, **options)

    return TraceableLaw(traced_law, example, first)


def _traced_law(law: PureLaw, packed: PackedParameters) -> Callable[..., tuple[Any, Any]]:
    """Return `TraceableLaw.function` with two more leading arguments: copies of the law's variables, dynamics class."""
    name, formulas = type(law).__name__, law.robot.formula_module

    def traced_law(copies: TracedCopies, dynamics: type[InlineDynamics], values: Array, state: State, reference: Any,
                   memory: Any, model: RobotModel | None = None, terms: dict[str, Array] | None = None
                   ) -> tuple[Any, Any]:
        try:
            own = dynamics(law.robot.model if model is None else model, formulas)
            with limited_weights(state.q, values):
                return call_law(law, own, packed.unpack(_read_only(values)), _read_only(state), _read_only(reference),
                              _read_only(memory), copies.copy_of(law.law), terms)
        except Exception as error:
            raise CompileError(_reason(name, error)) from error

    return traced_law


def _read_only(value: Any) -> Any:
    """Return an array, or a record of arrays, that is read-only like the arguments of a law in Python."""
    if isinstance(value, np.ndarray):
        view = value.view()
        view.flags.writeable = False
        return view
    form = form_of(value, shapes=False)
    if not isinstance(form, Structure):
        return value
    return unflatten(form, map(_read_only, flatten(form, value, "arguments")))


def _check_pure(law: PureLaw, packed: PackedParameters, example: Any, first: Any, at_rest: State) -> None:
    """Refuse a law that is not pure, see `pure_law`; the verdict is stored with the law."""
    if type(law).__module__.startswith(_TESTED_PURE):
        return
    verdicts = law.purity_verdicts
    refused = next(filter(None, verdicts.values()), "")  # it runs as Python code by now, and its variables are in use
    if not refused and packed.fixed not in verdicts:
        verdicts[packed.fixed] = ""
        function, elsewhere = _traced_law(law, packed), at_rest._replace(q=at_rest.q + 0.1, v=at_rest.v + 0.1)

        def made(copies: TracedCopies, dynamics: type[InlineDynamics]) -> Formula:
            return _array_function(law, packed, TraceableLaw(partial(function, copies, dynamics), example, first))

        def begin(away: bool) -> None:
            with suppress(Exception):  # a law may refuse to begin here
                law.initial_memory(elsewhere if away else at_rest)

        try:
            if not isinstance(getattr_static(type(law), "law"), staticmethod):
                raise CompileError(f"{type(law).__name__}.law: expected @staticmethod above it; it could keep values "
                                   "in self, which compiled code would not see change")
            printing = check_pure(type(law).__name__, (law.law, type(law).initial_memory), made, begin)
        except CompileError as error:
            verdicts[packed.fixed] = str(error)
            raise
        if printing and not law.printing:
            file, line = min(printing)
            _logger.warning(f"{type(law).__name__}.law is compiled, and compiled code prints nothing: in the control "
                            "loop, print shows the numbers of the first tick; numbers of every tick belong in the "
                            f"memory, where memory_names() shows them ({file}, line {line})")
        law.printing = printing
    if refused:
        raise CompileError(refused)


def compile_law(law: PureLaw, packed: PackedParameters) -> Callable[..., Array]:
    """Trace a law with the dynamics of its robot and compile it.

    Args:
        law: The law.
        packed: Its parameters; only those that are `fixed` are built in.

    Returns:
        The function of `law_on_arrays`, compiled.

    Raises:
        CompileError: The law cannot be traced: it branches on a value, stores one as a float, or raised.
    """
    function, shapes = law_on_arrays(law, packed)
    return compile_function(function, shapes, name=type(law).__name__, reproducible=True).call


def law_on_arrays(law: PureLaw, packed: PackedParameters) -> Formula:
    """Combine a law with the dynamics of its robot into a function of arrays.

    Args:
        law: The law.
        packed: Its parameters; only those that are `fixed` are built in.

    Returns:
        A function, and the shapes of its arguments: time and period in one array; joints and wrench of the state;
        further arrays of the state (`StateForm.shapes`); arrays of the reference; numbers of the parameters, shape
        (p,); numbers of the memory, shape (m,). The function returns efforts and memory in one array, shape (n + m,).

    Raises:
        CompileError: As `traceable`.
    """
    return _array_function(law, packed, traceable(law, packed))


def terms_on_arrays(law: PureLaw, packed: PackedParameters) -> tuple[Formula, list[str]]:
    """Like `law_on_arrays`, but the function returns the terms of the efforts, shape (k, n).

    Returns:
        The function with the shapes of its arguments, and the k names of the terms, which tracing it finds.

    Raises:
        CompileError: As `traceable`.
    """
    names: list[str] = []
    return _array_function(law, packed, traceable(law, packed), names), names


def compile_terms(law: PureLaw, packed: PackedParameters) -> tuple[list[str], Callable[..., Array]]:
    """Compile the terms of a law's efforts; names and function as of `terms_on_arrays`."""
    (function, shapes), names = terms_on_arrays(law, packed)
    return names, compile_function(function, shapes, name=f"terms of {type(law).__name__}", reproducible=True).call


def _array_function(law: PureLaw, packed: PackedParameters, answer: TraceableLaw, names: list[str] | None = None
                    ) -> Formula:
    """The function of `law_on_arrays`, or with ``names`` that of `terms_on_arrays`, and the shapes of its arguments."""
    n = law.robot.n
    form = state_form(type(law), n)
    reference: Any = type(answer.reference)
    shapes: dict[str, tuple[int, ...]] = {"clock": (2,), "q": (n,), "v": (n,), "wrench_tip": (6,)} | form.shapes
    if answer.reference is not None:
        shapes |= {f"reference.{name}": array.shape for name, array in answer.reference._asdict().items()}
    shapes |= {"parameters": packed.values.shape, "memory": memory_numbers(answer.memory).shape}

    def on_arrays(clock: Any, q: Array, v: Array, wrench_tip: Array, *rest: Array) -> Array:
        (time, period), (*given, values, numbers) = clock, rest
        sensed, desired = iter(given[:len(form.shapes)]), given[len(form.shapes):]
        arguments = (values, form.with_arrays(State(time, period, q, v, wrench_tip), sensed),
                     reference(*desired) if desired else None, memory_from_numbers(answer.memory, numbers))
        if names is not None:
            terms: dict[str, Array] = {}
            answer.function(*arguments, terms=terms)
            names[:] = terms
            return np.stack(list(terms.values()))
        effort, memory = answer.function(*arguments)
        return np.concatenate([effort, memory_numbers(memory)])

    on_arrays.__name__ = f"{type(law).__name__}.law"
    return on_arrays, shapes


def initial_memory(law: PureLaw, state: State) -> Any:
    """Return a law's initial memory with float64 arrays: a record, or an array of shape (m,); None: no memory.

    Raises:
        InputError: The law's result has another type or shape.
    """
    given, name = law.initial_memory(state), type(law).__name__
    if given is None:
        return None
    form = form_of(given, shapes=False, integers=True)
    if isinstance(form, Structure):
        return unflatten(form, iter([np.array(array, dtype=np.float64) for array in flatten(form, given, name)]))
    memory = np.array(given, dtype=np.float64)
    if memory.ndim != 1:
        raise InputError(f"{name}.initial_memory: expected a record of arrays, or shape (m,), received {memory.shape}")
    return memory if memory.size else None


def memory_numbers(memory: Any) -> Array:
    """Return all numbers of a memory, shape (m,)."""
    form = form_of(memory, shapes=False)
    return np.zeros(0) if form is None else to_numbers(form, memory, "memory")


def memory_from_numbers(like: Any, numbers: Array) -> Any:
    """Return numbers of shape (m,) as a memory with the structure of ``like``."""
    form = form_of(like, shapes=False)
    return None if form is None else from_numbers(form, numbers)


def call_law(law: PureLaw, dynamics: Any, parameters: Parameters, state: State, reference: Any, memory: Any,
           function: Callable[..., Any] | None = None, terms: dict[str, Array] | None = None) -> tuple[Array, Any]:
    """Call a law's function, with the memory only if it takes one.

    Args:
        law: The law.
        dynamics: Of its robot.
        parameters: In force.
        state: The measured state.
        reference: The reference.
        memory: Of the tick before; None: no memory.
        function: A copy of the law's function; None: itself.
        terms: Receives the terms of the efforts, each of shape (n,); None: they are not computed.

    Returns:
        Efforts, shape (n,), and memory, each of numbers or traced scalars.

    Raises:
        InputError: The law's result has another type or shape.
    """
    function, given = function or law.law, [dynamics, parameters, state, reference]
    if len(signature(function).parameters) > len(given):
        given.append(np.zeros(0) if memory is None else memory)
    with np.errstate():  # as `answer` in dry_run.py
        result = function(*given)
    try:
        effort, after = efforts_and_memory(type(law).__name__, result, law.robot.n, memory)
        if terms is not None:
            terms |= as_terms(result if after is None else result[0]).parts()
        return effort, after
    except InputError as error:
        raise InputError(f"{error}{place_of_function(law.law)}") from None


def efforts_and_memory(name: str, result: Any, n: int, memory: Any) -> tuple[Array, Any]:
    """Convert the result of a law to arrays.

    Args:
        name: Name of the law's class, for messages.
        result: Efforts, array-like of shape (n,) or `Terms`, or a pair of these and memory; numbers or traced scalars.
        n: Number of joints.
        memory: Of the tick before; None for a law without memory.

    Returns:
        Efforts, shape (n,), and memory; None for a law without memory.

    Raises:
        InputError: The result has another form.
    """
    form = form_of(memory, shapes=False)
    wanted = (f"efforts of shape ({n},) alone (only a law with an initial_memory returns a memory)" if form is None else
              f"efforts of shape ({n},) and a {form.kind.__name__}, as that of initial_memory is"
              if isinstance(form, Structure) else
              f"efforts of shape ({n},) and memory of shape {form}, as that of initial_memory is")
    try:
        effort, after = (result, None) if form is None else result
        array = np.asarray(effort.effort if isinstance(effort, Terms) else effort)
        if form is not None:
            after = unflatten(form, map(np.asarray, flatten(form, after, f"{name}.law: memory")))
        fits = array.shape == (n,) and form_of(after, shapes=False) == form
    except InputError as error:
        raise InputError(f"{name}.law: expected {wanted}; {error}") from None
    except (TypeError, ValueError):
        fits = False
    if not fits:
        received = f"a tuple of {len(result)}" if isinstance(result, tuple) else f"{type(result).__name__}"
        if not isinstance(result, tuple) and np.ndim(result):
            received += f" of shape {np.shape(result)}"
        raise InputError(f"{name}.law: expected {wanted}; received {received}")
    return array, after


def _reason(name: str, error: Exception) -> str:
    """Return why a law cannot be compiled, with the line of the law that raised."""
    lines = [frame for frame in traceback.extract_tb(error.__traceback__) if frame.filename != __file__]
    place = f" ({lines[0].filename}, line {lines[0].lineno}: {lines[0].line})" if lines else ""
    if isinstance(error, InputError):  # of a check of the result, which names its line, or of one inside the law
        return f"{error}{place}"
    said = not_traceable(error) or text_of(error)
    if any("/scipy/" in frame.filename for frame in traceback.extract_tb(error.__traceback__)):
        said += ("; functions of SciPy cannot be traced: use those of NumPy (np.linalg.solve, inv, cholesky, norm, "
                 "np.interp), or compute what is constant once, as a derived parameter or in the module")
    if "read-only" in str(error):
        said += "; a law cannot write to its arguments: take a copy, or write a = a + b in the place of a += b"
    return f"{name}.law: {said}{place}"
