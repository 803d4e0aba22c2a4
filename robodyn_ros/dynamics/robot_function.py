# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Turns a method of ``Dynamics`` into a function of a robot: sorts the arguments, creates and keeps the kernels."""

from __future__ import annotations

import inspect
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import cached_property, partial
from typing import Any, NamedTuple, TypeVar, cast

import numpy as np

from robodyn_ros.base.errors import InputError
from robodyn_ros.compile import Kernel, compile_function
from robodyn_ros.compile.batch_abi import checked_arrays, result_array
from robodyn_ros.compile.python_entry import documentation, forwarding_function
from robodyn_ros.description.model import Array, RobotModel
from robodyn_ros.dynamics import matrix_factors
from robodyn_ros.dynamics.articulated_body import mass_matrix_tree_factors
from robodyn_ros.dynamics.derivatives import SCALES
from robodyn_ros.dynamics.factorization import TreeFactors
from robodyn_ros.dynamics.interpreted_kernel import InterpretedKernel
from robodyn_ros.dynamics.mass_matrix import check_mass_matrix
from robodyn_ros.dynamics.tree_system import TreeSystem
from robodyn_ros.kinematics.arguments import JOINT_ARRAYS, as_rows

F = TypeVar("F", bound=Callable[..., Any])

KINEMATIC = frozenset({"forward_kinematics", "jacobian", "jacobian_derivative"})
"""Functions that need no inertia."""

SOLVING = frozenset({"forward_dynamics", "forward_dynamics_derivatives", "task_space_inertia", "task_space_bias",
                     "dynamically_consistent_inverse"})
"""Functions that need a mass matrix that is positive definite."""

SHARED = {
    "task_space_inertia": ("mass_matrix",),
    "task_space_bias": ("mass_matrix", "bias"),
    "dynamically_consistent_inverse": ("mass_matrix",),
}
"""Functions that, for large robots, take the results of other functions as inputs, from kernels that they share. The
mass matrix is replaced by its factors."""

SAMPLES_PER_PART = 4096
"""Number of samples of a batch for which the results of the other kernels are in memory at the same time."""


class ComposedKernel:
    """Computes the last inputs of a kernel by other kernels, then runs the kernel.

    For large robots, code that several functions need is then compiled only once.

    Args:
        kernel: The kernel.
        others: One kernel for each of its last inputs; each takes first inputs of the same names.
    """

    def __init__(self, kernel: Kernel, others: Sequence[Kernel]) -> None:
        names = list(kernel.inputs)[: len(kernel.inputs) - len(others)]
        self._kernel, self._inputs = kernel, {name: kernel.inputs[name] for name in names}
        self._others = [(other, [names.index(name) for name in other.inputs]) for other in others]

    def __call__(self, *arrays: Any, **named: Any) -> Array:
        """Compute one sample; arguments and errors as for `Kernel`."""
        return self._composed(checked_arrays(self._kernel.name, self._inputs, arrays, named))

    def with_fallback(self, fallback: Callable[..., Any], text: str) -> Callable[..., Any]:
        """A function that computes one sample, and passes calls with other arguments to a fallback; see `Kernel`."""
        count = len(self._inputs)

        def run(*arrays: Any, **named: Any) -> Any:
            if not named and len(arrays) == count:
                with suppress(InputError):  # from another kernel; its message would not name this function
                    return self._composed(arrays)
            return fallback(*arrays, **named)

        return forwarding_function(self._kernel.name, text, run)

    def _composed(self, given: Sequence[Any]) -> Array:
        return self._kernel(*given, *[other(*[given[place] for place in places]) for other, places in self._others])

    def batch(self, *arrays: Any, threads: int = 1, out: Array | None = None, **named: Any) -> Array:
        """Compute many samples; arguments and errors as for `Kernel.batch`."""
        given = checked_arrays(self._kernel.name, self._inputs, arrays, named, ("N",))
        result = result_array(self._kernel.name, (len(given[0]), *self._kernel.output_shape), out)
        overlaps = any(np.may_share_memory(result, array) for array in given)
        target = np.empty(result.shape) if overlaps else result
        for first in range(0, max(len(result), 1), SAMPLES_PER_PART):
            part = [array[first : first + SAMPLES_PER_PART] for array in given]
            results = [other.batch(*(part[place] for place in places), threads=threads)
                       for other, places in self._others]
            self._kernel.batch(*part, *results, threads=threads, out=target[first : first + SAMPLES_PER_PART])
        if overlaps:
            result[...] = target
        return result


AnyKernel = Kernel | ComposedKernel | InterpretedKernel


class RobotFunction:
    """A function of a robot, declared by a method of ``Dynamics`` whose body is the formula.

    Its first parameters, named in ``JOINT_ARRAYS``, are arrays of shape (n,). ``wrench_tip``, ``wrenches``, ``link``
    and ``rows`` are options: each choice of them has its own code.

    Args:
        method: The method.
        steps: For the robots that it selects, computes the function by calls of other functions instead of one kernel.

    Attributes:
        method: The method.
        name: Its name.
        arrays: Names of its arrays, in their order.
        documentation: Its signature and docstring as CPython reads them.
        steps: The argument.
        plain: Its `Variant` without options.
    """

    def __init__(self, method: Callable[..., Any], steps: Steps | None = None) -> None:
        self.method, self.name, self.steps = method, method.__name__, steps
        signature = inspect.signature(method)
        names = list(signature.parameters)[1:]
        self.arrays = tuple(name for name in names if name in JOINT_ARRAYS)
        self._options = names[len(self.arrays) :]
        self._option_names = frozenset(self._options)
        self.plain = Variant(self)
        bare = [parameter.replace(annotation=inspect.Parameter.empty) for parameter in signature.parameters.values()]
        self._signature = inspect.Signature(bare[1:])
        self.documentation = documentation(self.name, str(self._signature), inspect.getdoc(method) or "")

    def __get__(self, dynamics: Any, owner: type) -> Callable[..., Any]:
        """The function of one robot, kept as an attribute of its ``Dynamics``; on the class, the method as written."""
        if dynamics is None:
            return self.method
        bound: Callable[..., Any] = dynamics._bind(self)
        vars(dynamics)[self.name] = bound
        return bound

    def describe(self, function: Any) -> None:
        """Copy name, signature and docstring to a Python function."""
        function.__name__, function.__doc__ = self.name, inspect.getdoc(self.method)
        function.__signature__ = self._signature

    def split(self, arguments: tuple[Any, ...], named: Mapping[str, Any]) -> tuple[Variant, list[Any]]:
        """Determine the code that a call needs, and the arrays that the code takes.

        Raises:
            InputError: An option has a wrong type or value.
            TypeError: An argument is missing or superfluous.
        """
        count = len(self.arrays)
        options = dict(zip(self._options, arguments[count:], strict=False)) if len(arguments) > count else {}
        if named:
            options.update(named)
        arrays = list(arguments[:count])
        try:
            for name in self.arrays[len(arguments) :]:
                arrays.append(options.pop(name))
        except KeyError:
            self._signature.bind(*arguments, **named)  # raises
        if len(options) + count != len(arguments) + len(named) or not self._option_names.issuperset(options):
            self._signature.bind(*arguments, **named)  # raises
        if not options:
            return self.plain, arrays
        given = options.get
        wrench_tip, wrenches, link, rows = given("wrench_tip"), given("wrenches"), given("link"), given("rows")
        if wrench_tip is not None:
            arrays.append(wrench_tip)
        links: tuple[str, ...] = ()
        if wrenches is not None:
            if not isinstance(wrenches, Mapping):
                raise InputError(
                    f"{self.name}: wrenches: expected a mapping from names of links to wrenches, received "
                    f"{type(wrenches).__name__}"
                )
            links = tuple(sorted(wrenches, key=str))
            arrays += [wrenches[on] for on in links]
        if link is not None and not isinstance(link, str):
            raise InputError(
                f"{self.name}: link: expected the name of a link, received {type(link).__name__} {link!r}"
            )
        return Variant(self, wrench_tip is not None, links, link, None if rows is None else as_rows(rows)), arrays


class Steps(NamedTuple):
    """How a function is computed for a robot too large for one kernel."""

    needed: Callable[[RobotModel], bool]  # whether a robot is too large
    run: Callable[..., Array]  # called with a ``Dynamics`` and the arguments of the function


def robot_function(method: F) -> F:
    """Turn a method of ``Dynamics`` into a `RobotFunction`; type checkers still see the method."""
    return cast(F, RobotFunction(method))


def robot_function_in_steps(needed: Callable[[RobotModel], bool], run: Callable[..., Array]) -> Callable[[F], F]:
    """Like `robot_function`, with `Steps` for large robots."""

    def declare(method: F) -> F:
        return cast(F, RobotFunction(method, Steps(needed, run)))

    return declare


class Variant(NamedTuple):
    """A function with options; each variant has its own code."""

    function: Any  # the `RobotFunction`
    wrench_tip: bool = False  # whether a wrench acts on the tip link
    wrenches: tuple[str, ...] = ()  # names of other links on which wrenches act
    link: str | None = None  # name of the link that the result refers to; None for the tip link
    rows: tuple[bool, ...] | None = None  # selected rows of the Jacobian; None for all


class Kernels:
    """The kernels of one robot. The first thread that needs a kernel creates it; others wait for it.

    Args:
        inline: The robot's ``Dynamics`` with uncompiled functions, from which kernels are traced.
        model: The robot.
        compiled: Whether kernels are compiled; if not, they run the functions on floats.

    Attributes:
        model: The robot.
        compiled: Whether kernels are compiled.
    """

    def __init__(self, inline: Any, model: RobotModel, compiled: bool) -> None:
        self.model, self.compiled = model, compiled
        self._inline = inline
        self._make = compile_function if compiled else InterpretedKernel
        self._made: dict[Variant, AnyKernel] = {}
        self._takes_steps: dict[RobotFunction, bool] = {}
        self._lock = threading.RLock()

    def get(self, variant: Variant) -> AnyKernel:
        """The kernel of a variant: a function of its arrays, the wrench on the tip, then the wrenches on other links.

        Raises:
            InputError: No link has a given name; or the function is not defined for this robot.
            DescriptionError: The function needs inertia or accelerations, which the robot does not have.
        """
        if variant.link == self.model.tip_link:
            variant = variant._replace(link=None)
        kernel = self._made.get(variant)
        if kernel is None:
            with self._lock:
                kernel = self._made.get(variant)
                if kernel is None:
                    kernel = self._made[variant] = self._new(variant)
        return kernel

    def takes_steps(self, function: RobotFunction) -> bool:
        """Whether a function uses its `Steps` for this robot; decided once."""
        decided = self._takes_steps.get(function)
        if decided is None:
            steps = function.steps
            decided = self._takes_steps[function] = self.compiled and steps is not None and steps.needed(self.model)
        return decided

    @cached_property
    def mass_factors(self) -> Kernel:
        """The factors of the mass matrix, for a robot whose joints each have their own degree of freedom."""
        return compile_function(partial(mass_matrix_tree_factors, self.model), {"q": (self.model.n,)},
                                "factors of the mass matrix")

    @cached_property
    def mass_system(self) -> TreeSystem | None:
        """Solves systems with the robot's mass matrix by its factors; None if the matrix has no tree structure."""
        joints, n = self.model.joints, self.model.n
        if not self.model.has_tree_mass_matrix:
            return None
        parents = [-1] * n
        for joint in joints:
            if joint.parent >= 0:
                parents[joint.dof] = joints[joint.parent].dof
        return TreeSystem(parents, SCALES)

    def _shared(self, name: str) -> Kernel:
        """The kernel that the functions of `SHARED` share."""
        if name == "mass_matrix":
            return self.mass_factors
        function: RobotFunction = inspect.getattr_static(self._inline, name)
        return cast(Kernel, self.get(function.plain))

    def _new(self, variant: Variant) -> AnyKernel:
        function: RobotFunction = variant.function
        if function.name in SOLVING:
            check_mass_matrix(self.model)
        elif function.name not in KINEMATIC:
            self.model.check_inertia()
        count = len(function.arrays)
        inputs: dict[str, tuple[int, ...]] = dict.fromkeys(function.arrays, (self.model.n,))
        options: dict[str, Any] = {}
        if variant.wrench_tip:
            inputs["wrench_tip"] = (6,)
        for link in variant.wrenches:
            inputs[f"wrenches[{self.model.frame(link).name!r}]"] = (6,)
        if variant.link is not None:
            options["link"] = self.model.frame(variant.link).name
        if variant.rows is not None:
            options["rows"] = variant.rows

        large = self.compiled and matrix_factors.is_large(self.model)
        in_loops = matrix_factors.LARGE_ROBOT_FUNCTIONS.get(function.name)
        if in_loops and large and variant == function.plain:
            return compile_function(partial(in_loops, self.model), inputs, function.name)

        known = {name: self._shared(name) for name in SHARED.get(function.name, ())} if large else {}

        def run(*arrays: Array) -> Array:
            given, rest, inline = dict(options), list(arrays[count:]), self._inline
            if known:
                results: dict[str, Any] = dict(zip(known, rest, strict=True))  # functions of SHARED take no wrenches
                results["mass_matrix"] = TreeFactors(self.model, results["mass_matrix"])
                inline = inline.with_known_results(results)
            if variant.wrench_tip:
                given["wrench_tip"] = rest.pop(0)
            if variant.wrenches:
                given["wrenches"] = dict(zip(variant.wrenches, rest, strict=True))
            result: Array = function.method(inline, *arrays[:count], **given)
            return result

        if known:
            shapes = {name: kernel.output_shape for name, kernel in known.items()}
            return ComposedKernel(compile_function(run, inputs | shapes, function.name), list(known.values()))
        return self._make(run, inputs, function.name)
