# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""``Dynamics``: the functions of a robot, each declared once and compiled when first used."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from types import MethodType, ModuleType
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike

from robodyn_ros.compile.batch_abi import shape_error
from robodyn_ros.compile.python_entry import forwarding_function
from robodyn_ros.compile.traced_array import traced
from robodyn_ros.description.model import Array, RobotModel
from robodyn_ros.dynamics import compiled_formulas
from robodyn_ros.dynamics.derivatives import Linearization, forward_dynamics_derivatives_in_loops, solution_is_short
from robodyn_ros.dynamics.interpreted_kernel import InterpretedKernel
from robodyn_ros.dynamics.public_conventions import applied_wrenches, exerted_wrenches, row_indices, swap_parts
from robodyn_ros.dynamics.robot_function import (
    KINEMATIC,
    AnyKernel,
    Kernels,
    RobotFunction,
    Steps,
    robot_function,
    robot_function_in_steps,
)

Formula = Callable[..., Array]


class FormulaModule(Protocol):
    """One form of each function, as a module: ``compiled_formulas`` or ``textbook.formulas``."""

    bias: Formula
    center_of_mass: Formula
    coriolis_matrix: Formula
    dynamically_consistent_inverse: Formula
    forward_dynamics: Formula
    forward_dynamics_derivatives: Formula
    forward_kinematics: Formula
    gravity: Formula
    inverse_dynamics: Formula
    inverse_dynamics_derivatives: Formula
    kinetic_energy: Formula
    mass_matrix: Formula
    potential_energy: Formula
    regressor: Formula
    task_space_bias: Formula
    task_space_inertia: Formula
    twist_jacobian: Formula
    twist_jacobian_derivative: Formula


def _wrench_arguments(wrench_tip: ArrayLike | None, wrenches: Mapping[str, ArrayLike] | None) -> tuple[Any, ...]:
    """Wrench arguments to pass on: none without wrenches, because calls without options run only machine code."""
    return () if wrench_tip is None and wrenches is None else (wrench_tip, wrenches)


def _forward_dynamics_derivatives_in_loops(
    dynamics: Dynamics, q: ArrayLike, v: ArrayLike, tau: ArrayLike, wrench_tip: ArrayLike | None = None,
    wrenches: Mapping[str, ArrayLike] | None = None,
) -> Array:
    applied = _wrench_arguments(wrench_tip, wrenches)
    a = dynamics.forward_dynamics(q, v, tau, *applied)
    efforts = dynamics.inverse_dynamics_derivatives(q, v, a, *applied)
    system = dynamics._kernels.mass_system
    factors = None if system is None else dynamics._run(dynamics._kernels.mass_factors, [q])
    return forward_dynamics_derivatives_in_loops(efforts, system, factors)


class Dynamics:
    """The functions of a robot.

    Each function is traced and compiled when it is first used, in any thread. From then on the attribute with its name
    is the compiled function: an ordinary call runs no Python code. Calls with options, arguments by name or lists go
    through Python first. For a robot without inertia only kinematics works; the other functions raise a
    `DescriptionError` that names the links.

    Below, "shape (n,)" refers to single calls; in batches each array and the result have the number of samples N as
    first axis. Rigid-body dynamics only; friction and motors are in ``actuation`` and ``simulation``.

    Args:
        model: The robot.
        formulas: Module with the formulas, such as ``robodyn_ros.textbook.formulas``.
        compiled: False to run the formulas on floats: slow, to read and to debug.

    Attributes:
        model: The robot.
        batch: The same functions for many samples at once.
    """

    batch: BatchDynamics

    def __init__(
        self, model: RobotModel, *, formulas: FormulaModule = compiled_formulas, compiled: bool = True,
    ) -> None:
        self.model, self._formulas = model, formulas
        self._kernels = Kernels(InlineDynamics(model, formulas), model, compiled)
        self.batch = BatchDynamics(self)

    def __reduce__(self) -> Any:
        """Pickle model and options; functions are compiled again in the process that uses them."""
        made = (type(self), self.model, _module_name(self._formulas), {"compiled": self._kernels.compiled})
        return _unpickled, made, {"threads": self.batch.threads}

    def __setstate__(self, state: Mapping[str, int]) -> None:
        """Do nothing: `__reduce__` restores everything."""
        self.batch.threads = state["threads"]

    def __repr__(self) -> str:
        """Name of the robot, and whether its functions are compiled."""
        form = "compiled" if self._kernels.compiled else "interpreted"
        return f"<{type(self).__name__} of '{self.model.name}', {form}>"

    def _bind(self, function: RobotFunction) -> Callable[..., Any]:
        """The function of this robot that Python calls until the compiled one is ready."""

        def call(*arguments: Any, **named: Any) -> Any:
            if function.steps and self._kernels.takes_steps(function):
                return self._run_steps(function.steps, arguments, named)
            variant, arrays = function.split(arguments, named)
            kernel = self._kernels.get(variant)
            if variant is function.plain and vars(self).get(function.name) is bound:
                self._compiled(function, kernel, call)
            return self._run(kernel, arrays)

        function.describe(call)
        bound = forwarding_function(function.name, function.documentation, call)
        return bound

    def _compiled(self, function: RobotFunction, kernel: AnyKernel, call: Callable[..., Any]) -> None:
        """Make Python call the machine code from now on, and ``call`` for arguments that the code does not accept."""
        if not isinstance(kernel, InterpretedKernel):
            vars(self)[function.name] = kernel.with_fallback(call, function.documentation)

    def _run(self, kernel: AnyKernel, arrays: list[Any]) -> Array:
        return kernel(*arrays)

    def _run_steps(self, steps: Steps, arguments: tuple[Any, ...], named: Mapping[str, Any]) -> Array:
        return steps.run(self, *arguments, **named)

    @robot_function
    def inverse_dynamics(
        self, q: ArrayLike, v: ArrayLike, a: ArrayLike, wrench_tip: ArrayLike | None = None,
        wrenches: Mapping[str, ArrayLike] | None = None,
    ) -> Array:
        """Joint efforts M(q) a + c(q, v) + g(q) - J(q)^T wrench_tip, [LynchPark] (9.53)-(9.57).

        Args:
            q: Joint positions, shape (n,) [rad or m].
            v: Joint velocities, shape (n,) [rad/s or m/s].
            a: Joint accelerations, shape (n,) [rad/s^2 or m/s^2].
            wrench_tip: (force, torque) exerted by the environment on the tip link, about its origin, in base axes,
                shape (6,) [N, N m].
            wrenches: The same on other links, by their names: any link of the description, each about its own origin.

        Returns:
            Joint efforts, shape (n,) [N m or N].

        Raises:
            InputError: An array has another shape or holds no numbers; no link has a name of ``wrenches``.
        """
        exerted = exerted_wrenches(self.model, q, wrench_tip, wrenches)
        return self._formulas.inverse_dynamics(self.model, q, v, a, exerted)

    @robot_function
    def forward_dynamics(
        self, q: ArrayLike, v: ArrayLike, tau: ArrayLike, wrench_tip: ArrayLike | None = None,
        wrenches: Mapping[str, ArrayLike] | None = None,
    ) -> Array:
        """The acceleration a of M(q) a = tau + J(q)^T wrench_tip - c(q, v) - g(q), [LynchPark] (9.89).

        Args:
            q: Joint positions, shape (n,) [rad or m].
            v: Joint velocities, shape (n,) [rad/s or m/s].
            tau: Joint efforts, shape (n,) [N m or N].
            wrench_tip: As for :meth:`inverse_dynamics`.
            wrenches: As for :meth:`inverse_dynamics`.

        Returns:
            Joint accelerations, shape (n,) [rad/s^2 or m/s^2].

        Raises:
            InputError: An array has another shape or holds no numbers; no link has a name of ``wrenches``; or a joint
                moves no inertia.
        """
        exerted = exerted_wrenches(self.model, q, wrench_tip, wrenches)
        return self._formulas.forward_dynamics(self.model, q, v, tau, exerted)

    @robot_function
    def mass_matrix(self, q: ArrayLike) -> Array:
        """M(q), symmetric and positive definite.

        Args:
            q: Joint positions, shape (n,) [rad or m].

        Returns:
            Shape (n, n) [kg m^2, kg m or kg].

        Raises:
            InputError: q has another shape or holds no numbers.
        """
        return self._formulas.mass_matrix(self.model, q)

    @robot_function
    def coriolis_matrix(self, q: ArrayLike, v: ArrayLike) -> Array:
        """C(q, v) of Christoffel symbols, [LynchPark] (9.87): C v = c(q, v), and dM/dt - 2 C is skew-symmetric.

        Args:
            q: Joint positions, shape (n,) [rad or m].
            v: Joint velocities, shape (n,) [rad/s or m/s].

        Returns:
            Shape (n, n).

        Raises:
            InputError: An array has another shape or holds no numbers.
        """
        return self._formulas.coriolis_matrix(self.model, q, v)

    @robot_function
    def gravity(self, q: ArrayLike) -> Array:
        """g(q): the efforts that hold the robot at rest.

        Args:
            q: Joint positions, shape (n,) [rad or m].

        Returns:
            Joint efforts, shape (n,) [N m or N].

        Raises:
            InputError: q has another shape or holds no numbers.
        """
        return self._formulas.gravity(self.model, q)

    @robot_function
    def bias(self, q: ArrayLike, v: ArrayLike) -> Array:
        """b(q, v) = c(q, v) + g(q), [LynchPark] (9.1).

        Args:
            q: Joint positions, shape (n,) [rad or m].
            v: Joint velocities, shape (n,) [rad/s or m/s].

        Returns:
            Joint efforts, shape (n,) [N m or N].

        Raises:
            InputError: An array has another shape or holds no numbers.
        """
        return self._formulas.bias(self.model, q, v)

    @robot_function
    def kinetic_energy(self, q: ArrayLike, v: ArrayLike) -> Array:
        """Kinetic energy v^T M(q) v / 2, [LagrangeNotes] (34), (36).

        Args:
            q: Joint positions, shape (n,) [rad or m].
            v: Joint velocities, shape (n,) [rad/s or m/s].

        Returns:
            A number, shape () [J].

        Raises:
            InputError: An array has another shape or holds no numbers.
        """
        return self._formulas.kinetic_energy(self.model, q, v)

    @robot_function
    def potential_energy(self, q: ArrayLike) -> Array:
        """Potential energy under gravity, [LagrangeNotes] (38); its gradient is :meth:`gravity`.

        Args:
            q: Joint positions, shape (n,) [rad or m].

        Returns:
            A number, shape () [J]; 0 if the centre of mass is at the height of the base's origin.

        Raises:
            InputError: q has another shape or holds no numbers.
        """
        return self._formulas.potential_energy(self.model, q)

    @robot_function
    def center_of_mass(self, q: ArrayLike) -> Array:
        """Centre of mass of all moving links, in the base frame.

        Args:
            q: Joint positions, shape (n,) [rad or m].

        Returns:
            Shape (3,) [m].

        Raises:
            InputError: q has another shape or holds no numbers; or no moving link has a mass.
        """
        return self._formulas.center_of_mass(self.model, q)

    @robot_function
    def forward_kinematics(self, q: ArrayLike, link: str | None = None) -> Array:
        """Pose of a link in the base frame.

        Args:
            q: Joint positions, shape (n,) [rad or m].
            link: Name of any link of the description; None for the tip link.

        Returns:
            Homogeneous transform, shape (4, 4).

        Raises:
            InputError: q has another shape or holds no numbers; no link has that name.
        """
        return self._formulas.forward_kinematics(self.model, q, link)

    @robot_function
    def jacobian(self, q: ArrayLike, link: str | None = None) -> Array:
        """Geometric Jacobian: (velocity of a link's origin, its angular velocity) = J v, in base axes.

        Args:
            q: Joint positions, shape (n,) [rad or m].
            link: Name of any link of the description; None for the tip link.

        Returns:
            Shape (6, n), linear rows first.

        Raises:
            InputError: q has another shape or holds no numbers; no link has that name.
        """
        return swap_parts(self._formulas.twist_jacobian(self.model, q, link))

    @robot_function
    def jacobian_derivative(self, q: ArrayLike, v: ArrayLike, link: str | None = None) -> Array:
        """dJ/dt of :meth:`jacobian`: a link's acceleration is J a + dJ/dt v.

        Args:
            q: Joint positions, shape (n,) [rad or m].
            v: Joint velocities, shape (n,) [rad/s or m/s].
            link: Name of any link of the description; None for the tip link.

        Returns:
            Shape (6, n), linear rows first.

        Raises:
            InputError: An array has another shape or holds no numbers; no link has that name.
        """
        return swap_parts(self._formulas.twist_jacobian_derivative(self.model, q, v, link))

    @robot_function
    def inverse_dynamics_derivatives(
        self, q: ArrayLike, v: ArrayLike, a: ArrayLike, wrench_tip: ArrayLike | None = None,
        wrenches: Mapping[str, ArrayLike] | None = None,
    ) -> Array:
        """dtau/dq, dtau/dv and dtau/da of :meth:`inverse_dynamics`, exact: ``by_q, by_v, mass_matrix = ...``.

        Args:
            q: Joint positions, shape (n,) [rad or m].
            v: Joint velocities, shape (n,) [rad/s or m/s].
            a: Joint accelerations, shape (n,) [rad/s^2 or m/s^2].
            wrench_tip: As for :meth:`inverse_dynamics`; it keeps its components in base axes while the link moves.
            wrenches: The same on other links.

        Returns:
            Shape (3, n, n); element [., i, j] is the derivative of tau_i with respect to joint j.

        Raises:
            InputError: As for :meth:`inverse_dynamics`.
        """
        applied = applied_wrenches(self.model, wrench_tip, wrenches)
        return self._formulas.inverse_dynamics_derivatives(self.model, q, v, a, applied)

    @robot_function_in_steps(lambda model: not solution_is_short(model), _forward_dynamics_derivatives_in_loops)
    def forward_dynamics_derivatives(
        self, q: ArrayLike, v: ArrayLike, tau: ArrayLike, wrench_tip: ArrayLike | None = None,
        wrenches: Mapping[str, ArrayLike] | None = None,
    ) -> Array:
        """da/dq, da/dv and da/dtau of :meth:`forward_dynamics`, exact: ``by_q, by_v, inverse_mass_matrix = ...``.

        Args:
            q: Joint positions, shape (n,) [rad or m].
            v: Joint velocities, shape (n,) [rad/s or m/s].
            tau: Joint efforts, shape (n,) [N m or N].
            wrench_tip: As for :meth:`inverse_dynamics_derivatives`.
            wrenches: The same on other links.

        Returns:
            Shape (3, n, n); element [., i, j] is the derivative of a_i with respect to joint j.

        Raises:
            InputError: As for :meth:`forward_dynamics`.
        """
        applied = applied_wrenches(self.model, wrench_tip, wrenches)
        return self._formulas.forward_dynamics_derivatives(self.model, q, v, tau, applied)

    def linearization(
        self, q: ArrayLike, v: ArrayLike, tau: ArrayLike, wrench_tip: ArrayLike | None = None,
        wrenches: Mapping[str, ArrayLike] | None = None,
    ) -> Linearization:
        """``A, B = ...`` of dx' = A dx + B dtau near a state x = (q, v) and an effort tau, exact, in continuous time.

        Rigid-body dynamics only, without friction and motors.

        Args:
            q: Joint positions, shape (n,) [rad or m].
            v: Joint velocities, shape (n,) [rad/s or m/s].
            tau: Joint efforts, shape (n,) [N m or N].
            wrench_tip: As for :meth:`inverse_dynamics_derivatives`.
            wrenches: The same on other links.

        Returns:
            A of shape (2n, 2n) and B of shape (2n, n).

        Raises:
            InputError: As for :meth:`forward_dynamics`.
        """
        applied = _wrench_arguments(wrench_tip, wrenches)
        return Linearization.from_derivatives(self.forward_dynamics_derivatives(q, v, tau, *applied))

    @robot_function
    def regressor(self, q: ArrayLike, v: ArrayLike, a: ArrayLike) -> Array:
        """Y(q, v, a) with tau = Y pi, linear in the links' inertial parameters.

        Args:
            q: Joint positions, shape (n,) [rad or m].
            v: Joint velocities, shape (n,) [rad/s or m/s].
            a: Joint accelerations, shape (n,) [rad/s^2 or m/s^2].

        Returns:
            Shape (n, 10 * number of moving links); ``dynamics.regressor.inertial_parameters`` gives pi and its order.

        Raises:
            InputError: An array has another shape or holds no numbers.
        """
        return self._formulas.regressor(self.model, q, v, a)

    @robot_function
    def task_space_inertia(self, q: ArrayLike, link: str | None = None, rows: Sequence[bool] | None = None) -> Array:
        """Lambda(q) = (J M^-1 J^T)^-1, the inertia of the robot seen at a link, [LynchPark] (9.98), [Khatib].

        Args:
            q: Joint positions, shape (n,) [rad or m].
            link: Name of any link of the description; None for the tip link.
            rows: Selected rows of :meth:`jacobian`, six booleans; None for all. Needed for robots that cannot move the
                link along and about all axes.

        Returns:
            Shape (m, m) for m rows; it grows without bound towards a singular position.

        Raises:
            InputError: q has another shape or holds no numbers; no link has that name; the rows are not six, or the
                robot cannot move the link along them independently at any position.
        """
        jacobian = self.jacobian(q, link)[row_indices(rows)]
        return self._formulas.task_space_inertia(self.mass_matrix(q), jacobian)

    @robot_function
    def task_space_bias(
        self, q: ArrayLike, v: ArrayLike, link: str | None = None, rows: Sequence[bool] | None = None
    ) -> Array:
        """eta(q, v) of F = Lambda V' + eta: Coriolis, centrifugal and gravity wrench in task space, (9.99), [Khatib].

        Args:
            q: Joint positions, shape (n,) [rad or m].
            v: Joint velocities, shape (n,) [rad/s or m/s].
            link: As for :meth:`task_space_inertia`.
            rows: As for :meth:`task_space_inertia`.

        Returns:
            Shape (m,), in the order of the rows.

        Raises:
            InputError: As for :meth:`task_space_inertia`.
        """
        chosen, mass_matrix = row_indices(rows), self.mass_matrix(q)
        jacobian = self.jacobian(q, link)[chosen]
        drift = self.jacobian_derivative(q, v, link)[chosen] @ np.asarray(v)
        inertia = self._formulas.task_space_inertia(mass_matrix, jacobian)
        return self._formulas.task_space_bias(inertia, mass_matrix, jacobian, drift, self.bias(q, v))

    @robot_function
    def dynamically_consistent_inverse(
        self, q: ArrayLike, link: str | None = None, rows: Sequence[bool] | None = None
    ) -> Array:
        """M^-1 J^T Lambda of [Khatib]; efforts (1 - J^T inverse^T) tau do not accelerate the link.

        Args:
            q: Joint positions, shape (n,) [rad or m].
            link: As for :meth:`task_space_inertia`.
            rows: As for :meth:`task_space_inertia`.

        Returns:
            Shape (n, m).

        Raises:
            InputError: As for :meth:`task_space_inertia`.
        """
        mass_matrix, jacobian = self.mass_matrix(q), self.jacobian(q, link)[row_indices(rows)]
        inertia = self._formulas.task_space_inertia(mass_matrix, jacobian)
        return self._formulas.dynamically_consistent_inverse(inertia, mass_matrix, jacobian)


class BatchDynamics(Dynamics):
    """The functions of a robot for N samples at once: arrays (N, n) in, (N, ...) out.

    Args:
        dynamics: The functions of one sample.
        threads: Number of threads that share the samples.
        out: Array to write results to; None for a new one at each call.

    Attributes:
        threads: Number of threads; may be changed.
    """

    def __init__(self, dynamics: Dynamics, threads: int = 1, out: Array | None = None) -> None:
        self.model, self._formulas, self._kernels = dynamics.model, dynamics._formulas, dynamics._kernels
        self.batch, self.threads, self._out = self, threads, out

    def __reduce__(self) -> Any:
        """Pickle like `Dynamics`."""
        single = Dynamics(self.model, formulas=self._formulas, compiled=self._kernels.compiled)
        return BatchDynamics, (single, self.threads, self._out)

    def into(self, out: Array) -> BatchDynamics:
        """The same functions, writing their results to a given array instead of a new one.

        The system must clear the memory of a new array of many megabytes first, which may take longer than computing
        the results.

        Args:
            out: float64 array of the result's shape, in any layout. Large results are written fastest to an array that
                a batch has returned, because it begins at a cache line.

        Returns:
            ``dyn.batch.into(out).gravity(q)`` returns ``out``.
        """
        return BatchDynamics(self, self.threads, out)

    def _compiled(self, function: RobotFunction, kernel: AnyKernel, call: Callable[..., Any]) -> None:
        """Do nothing: batches always go through Python."""

    def _run(self, kernel: AnyKernel, arrays: list[Any]) -> Array:
        return kernel.batch(*arrays, threads=self.threads, out=self._out)

    def _run_steps(self, steps: Steps, arguments: tuple[Any, ...], named: Mapping[str, Any]) -> Array:
        result = steps.run(BatchDynamics(self, self.threads), *arguments, **named)
        if self._out is None:
            return result
        if self._out.shape != result.shape:
            raise shape_error("forward_dynamics_derivatives", "out", result.shape, self._out.shape)
        self._out[...] = result
        return self._out


class InlineDynamics(Dynamics):
    """The functions of a robot for use inside a traced function: on floats or traced scalars.

        InlineDynamics(robot.model).inverse_dynamics(q, v, a)   # q, v, a: arrays of floats or of traced scalars

    Args:
        model: The robot.
        formulas: As for ``Dynamics``.
    """

    def __init__(self, model: RobotModel, formulas: FormulaModule = compiled_formulas) -> None:
        self.model, self._formulas = model, formulas

    def __reduce__(self) -> Any:
        """Pickle like `Dynamics`."""
        return _unpickled, (type(self), self.model, _module_name(self._formulas), {})

    def __repr__(self) -> str:
        """Name of the robot."""
        return f"<InlineDynamics of '{self.model.name}'>"

    def _bind(self, function: RobotFunction) -> Callable[..., Any]:
        if function.name not in KINEMATIC:
            self.model.check_inertia()
        method = MethodType(function.method, self)

        def with_traced_result(*arguments: Any, **named: Any) -> Any:
            return traced(method(*arguments, **named))

        return with_traced_result

    def with_known_results(self, results: Mapping[str, Any]) -> InlineDynamics:
        """The same functions, with some results known for the arguments of all calls.

        Args:
            results: Results by the functions' names; the mass matrix may be given as `TreeFactors`.
        """
        other = InlineDynamics(self.model, self._formulas)
        for name, result in results.items():
            vars(other)[name] = lambda *arrays, known=result: traced(known)
        return other


def _module_name(formulas: FormulaModule) -> Any:
    """Name of a module, which cannot be pickled itself; other objects unchanged."""
    return formulas.__name__ if isinstance(formulas, ModuleType) else formulas


def _unpickled(kind: type[Dynamics], model: RobotModel, formulas: Any, options: Mapping[str, Any]) -> Dynamics:
    """Build dynamics again in another process."""
    return kind(model, formulas=import_module(formulas) if isinstance(formulas, str) else formulas, **options)


FUNCTIONS: dict[str, RobotFunction] = {
    name: function for name, function in vars(Dynamics).items() if isinstance(function, RobotFunction)
}
"""The functions of ``Dynamics`` by name, except ``linearization``, which rearranges the result of another one."""
