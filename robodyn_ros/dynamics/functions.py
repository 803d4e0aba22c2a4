"""``DynamicsFunctions``: the robot's dynamics by name, for one sample or for many."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence

from numpy.typing import ArrayLike

from robodyn_ros.compile import Kernel
from robodyn_ros.description.model import Array
from robodyn_ros.dynamics.derivatives import forward_dynamics_derivatives_by_lapack, solution_is_short
from robodyn_ros.dynamics.function_table import Kernels, Variant
from robodyn_ros.dynamics.linearization import Linearization
from robodyn_ros.dynamics.textbook_kernel import TextbookKernel
from robodyn_ros.errors import InputError
from robodyn_ros.kinematics.arguments import as_rows


class DynamicsFunctions(ABC):
    """What ``Dynamics`` and its ``batch`` have in common: the functions.

    Below, "of shape (n,)" is for single calls; in batches each array has the number of samples N before that, and so
    has the result.
    """

    def __init__(self, kernels: Kernels) -> None:
        self._kernels = kernels

    @abstractmethod
    def _run(self, kernel: Kernel | TextbookKernel, arrays: tuple[ArrayLike, ...]) -> Array:
        """Call a kernel for one sample or for many."""

    def _call(
        self, name: str, *arrays: ArrayLike, wrench_tip: ArrayLike | None = None,
        wrenches: Mapping[str, ArrayLike] | None = None, link: str | None = None, rows: Sequence[bool] | None = None,
    ) -> Array:
        given = list(arrays)
        if wrench_tip is not None:
            given.append(wrench_tip)
        links: tuple[str, ...] = ()
        if wrenches is not None:
            if not isinstance(wrenches, Mapping):
                raise InputError(
                    f"{name}: wrenches: expected a mapping from names of links to wrenches, received "
                    f"{type(wrenches).__name__}"
                )
            links = tuple(sorted(wrenches, key=str))
            given += [wrenches[on] for on in links]
        if link is not None and not isinstance(link, str):
            raise InputError(f"{name}: link: expected the name of a link, received {type(link).__name__} {link!r}")
        chosen = None if rows is None else as_rows(rows)
        kernel = self._kernels.get(Variant(name, wrench_tip is not None, links, link, chosen))
        return self._run(kernel, tuple(given))

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
        return self._call("inverse_dynamics", q, v, a, wrench_tip=wrench_tip, wrenches=wrenches)

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
        return self._call("forward_dynamics", q, v, tau, wrench_tip=wrench_tip, wrenches=wrenches)

    def mass_matrix(self, q: ArrayLike) -> Array:
        """M(q), symmetric and positive definite.

        Args:
            q: Joint positions, shape (n,) [rad or m].

        Returns:
            Shape (n, n) [kg m^2, kg m or kg].

        Raises:
            InputError: q has another shape or holds no numbers.
        """
        return self._call("mass_matrix", q)

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
        return self._call("coriolis_matrix", q, v)

    def gravity(self, q: ArrayLike) -> Array:
        """g(q): the efforts that hold the robot still.

        Args:
            q: Joint positions, shape (n,) [rad or m].

        Returns:
            Joint efforts, shape (n,) [N m or N].

        Raises:
            InputError: q has another shape or holds no numbers.
        """
        return self._call("gravity", q)

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
        return self._call("bias", q, v)

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
        return self._call("kinetic_energy", q, v)

    def potential_energy(self, q: ArrayLike) -> Array:
        """Potential energy under gravity, [LagrangeNotes] (38); its slope with q is :meth:`gravity`.

        Args:
            q: Joint positions, shape (n,) [rad or m].

        Returns:
            A number, shape () [J]; 0 where the centre of mass is as high as the base's origin.

        Raises:
            InputError: q has another shape or holds no numbers.
        """
        return self._call("potential_energy", q)

    def center_of_mass(self, q: ArrayLike) -> Array:
        """Centre of mass of all moving links, in the base frame.

        Args:
            q: Joint positions, shape (n,) [rad or m].

        Returns:
            Shape (3,) [m].

        Raises:
            InputError: q has another shape or holds no numbers; or no moving link has a mass.
        """
        return self._call("center_of_mass", q)

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
        return self._call("forward_kinematics", q, link=link)

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
        return self._call("jacobian", q, link=link)

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
        return self._call("jacobian_derivative", q, v, link=link)

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
            Shape (3, n, n); element [., i, j] is the slope of tau_i along joint j.

        Raises:
            InputError: As for :meth:`inverse_dynamics`.
        """
        return self._call("inverse_dynamics_derivatives", q, v, a, wrench_tip=wrench_tip, wrenches=wrenches)

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
            Shape (3, n, n); element [., i, j] is the slope of a_i along joint j.

        Raises:
            InputError: As for :meth:`forward_dynamics`.
        """
        if self._one_kernel_for_derivatives():
            return self._call("forward_dynamics_derivatives", q, v, tau, wrench_tip=wrench_tip, wrenches=wrenches)
        a = self.forward_dynamics(q, v, tau, wrench_tip, wrenches)
        return forward_dynamics_derivatives_by_lapack(self.inverse_dynamics_derivatives(q, v, a, wrench_tip, wrenches))

    def _one_kernel_for_derivatives(self) -> bool:
        """Whether the forward dynamics' derivatives are one function, and not several steps."""
        return not self._kernels.compiled or solution_is_short(self._kernels.model)

    def linearization(
        self, q: ArrayLike, v: ArrayLike, tau: ArrayLike, wrench_tip: ArrayLike | None = None,
        wrenches: Mapping[str, ArrayLike] | None = None,
    ) -> Linearization:
        """``A, B = ...`` of dx' = A dx + B dtau near a state x = (q, v) and an effort tau, exact, in continuous time.

        The bodies' alone, as all functions here: friction and motors are not in it.

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
        return Linearization.of(self.forward_dynamics_derivatives(q, v, tau, wrench_tip, wrenches))

    def regressor(self, q: ArrayLike, v: ArrayLike, a: ArrayLike) -> Array:
        """Y(q, v, a) with tau = Y pi, linear in the links' inertial parameters.

        Args:
            q: Joint positions, shape (n,) [rad or m].
            v: Joint velocities, shape (n,) [rad/s or m/s].
            a: Joint accelerations, shape (n,) [rad/s^2 or m/s^2].

        Returns:
            Shape (n, 10 * number of moving links); pi and its order: ``dynamics.regressor.inertial_parameters``.

        Raises:
            InputError: An array has another shape or holds no numbers.
        """
        return self._call("regressor", q, v, a)

    def task_space_inertia(self, q: ArrayLike, link: str | None = None, rows: Sequence[bool] | None = None) -> Array:
        """Lambda(q) = (J M^-1 J^T)^-1, the inertia that a link shows to a wrench, [LynchPark] (9.98), [Khatib].

        Args:
            q: Joint positions, shape (n,) [rad or m].
            link: Name of any link of the description; None for the tip link.
            rows: Which rows of :meth:`jacobian` count, six booleans; None for all. Needed for robots that cannot move
                the link along and about all axes.

        Returns:
            Shape (m, m), m being the number of rows; it grows without bound towards a singular position.

        Raises:
            InputError: q has another shape or holds no numbers; no link has that name; the rows are not six, or the
                robot cannot move the link along them independently wherever it is.
        """
        return self._call("task_space_inertia", q, link=link, rows=rows)

    def task_space_bias(
        self, q: ArrayLike, v: ArrayLike, link: str | None = None, rows: Sequence[bool] | None = None
    ) -> Array:
        """eta(q, v) of F = Lambda V' + eta: the wrench on a link that takes it along a straight line, (9.99), [Khatib].

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
        return self._call("task_space_bias", q, v, link=link, rows=rows)

    def dynamically_consistent_inverse(
        self, q: ArrayLike, link: str | None = None, rows: Sequence[bool] | None = None
    ) -> Array:
        """M^-1 J^T Lambda of [Khatib], for which efforts (1 - J^T inverse^T) tau do not accelerate the link.

        Args:
            q: Joint positions, shape (n,) [rad or m].
            link: As for :meth:`task_space_inertia`.
            rows: As for :meth:`task_space_inertia`.

        Returns:
            Shape (n, m).

        Raises:
            InputError: As for :meth:`task_space_inertia`.
        """
        return self._call("dynamically_consistent_inverse", q, link=link, rows=rows)
