"""``Dynamics``: the robot's dynamics by name, each function compiled when first used."""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from collections.abc import Callable

from numpy.typing import ArrayLike

from robodyn_ros.compile import Kernel, compile_function
from robodyn_ros.description.model import Array, RobotModel
from robodyn_ros.dynamics import door
from robodyn_ros.dynamics.composite import mass_matrix
from robodyn_ros.dynamics.coriolis import coriolis_matrix
from robodyn_ros.dynamics.energy import center_of_mass, kinetic_energy, potential_energy
from robodyn_ros.dynamics.newton_euler import bias, gravity
from robodyn_ros.dynamics.textbook_kernel import TextbookKernel
from robodyn_ros.kinematics.forward import forward_kinematics

_FUNCTIONS: dict[str, tuple[Callable[..., Array], tuple[str, ...]]] = {
    "inverse_dynamics": (door.inverse_dynamics, ("q", "v", "a")),
    "forward_dynamics": (door.forward_dynamics, ("q", "v", "tau")),
    "mass_matrix": (mass_matrix, ("q",)),
    "coriolis_matrix": (coriolis_matrix, ("q", "v")),
    "gravity": (gravity, ("q",)),
    "bias": (bias, ("q", "v")),
    "kinetic_energy": (kinetic_energy, ("q", "v")),
    "potential_energy": (potential_energy, ("q",)),
    "center_of_mass": (center_of_mass, ("q",)),
    "forward_kinematics": (forward_kinematics, ("q",)),
    "jacobian": (door.jacobian, ("q",)),
}


class _Kernels:
    """The kernels of one robot, each made once, when first asked for, by whichever thread asks first."""

    def __init__(self, model: RobotModel, compiled: bool) -> None:
        self._model = model
        self._make = compile_function if compiled else TextbookKernel
        self._made: dict[tuple[str, bool, str | None], Kernel | TextbookKernel] = {}
        self._lock = threading.Lock()

    def get(self, name: str, with_wrench: bool, link: str | None) -> Kernel | TextbookKernel:
        key = (name, with_wrench, None if link == self._model.tip_link else link)
        kernel = self._made.get(key)
        if kernel is None:
            with self._lock:
                kernel = self._made.get(key)
                if kernel is None:
                    kernel = self._made[key] = self._new(*key)
        return kernel

    def _new(self, name: str, with_wrench: bool, link: str | None) -> Kernel | TextbookKernel:
        function, arguments = _FUNCTIONS[name]
        inputs: dict[str, tuple[int, ...]] = dict.fromkeys(arguments, (self._model.n,))
        if with_wrench:
            inputs["wrench_tip"] = (6,)
        options = {} if link is None else {"link": self._model.frame(link).name}
        return self._make(lambda *arrays: function(self._model, *arrays, **options), inputs, name)


class DynamicsFunctions(ABC):
    """What ``Dynamics`` and its ``batch`` have in common: the functions.

    Below, "of shape (n,)" is for single calls; in batches each array has the number of samples N before that, and so
    has the result.
    """

    def __init__(self, kernels: _Kernels) -> None:
        self._kernels = kernels

    @abstractmethod
    def _run(self, kernel: Kernel | TextbookKernel, arrays: tuple[ArrayLike, ...]) -> Array:
        """Calls a kernel for one sample or for many."""

    def _call(
        self, name: str, *arrays: ArrayLike, wrench_tip: ArrayLike | None = None, link: str | None = None
    ) -> Array:
        kernel = self._kernels.get(name, wrench_tip is not None, link)
        return self._run(kernel, arrays if wrench_tip is None else (*arrays, wrench_tip))

    def inverse_dynamics(self, q: ArrayLike, v: ArrayLike, a: ArrayLike, wrench_tip: ArrayLike | None = None) -> Array:
        """Joint efforts M(q) a + c(q, v) + g(q) - J(q)^T wrench_tip, [LynchPark] (9.53)-(9.57).

        Args:
            q: Joint positions, shape (n,) [rad or m].
            v: Joint velocities, shape (n,) [rad/s or m/s].
            a: Joint accelerations, shape (n,) [rad/s^2 or m/s^2].
            wrench_tip: (force, torque) exerted by the environment on the tip link, about its origin, in base axes,
                shape (6,) [N, N m].

        Returns:
            Joint efforts, shape (n,) [N m or N].

        Raises:
            InputError: An array has another shape or holds no numbers.
        """
        return self._call("inverse_dynamics", q, v, a, wrench_tip=wrench_tip)

    def forward_dynamics(
        self, q: ArrayLike, v: ArrayLike, tau: ArrayLike, wrench_tip: ArrayLike | None = None
    ) -> Array:
        """The acceleration a of M(q) a = tau + J(q)^T wrench_tip - c(q, v) - g(q), [LynchPark] (9.89).

        Args:
            q: Joint positions, shape (n,) [rad or m].
            v: Joint velocities, shape (n,) [rad/s or m/s].
            tau: Joint efforts, shape (n,) [N m or N].
            wrench_tip: As for :meth:`inverse_dynamics`.

        Returns:
            Joint accelerations, shape (n,) [rad/s^2 or m/s^2].

        Raises:
            InputError: An array has another shape or holds no numbers; or a joint moves no inertia.
        """
        return self._call("forward_dynamics", q, v, tau, wrench_tip=wrench_tip)

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
        """Kinetic energy v^T M(q) v / 2, [LagrangeNotes] (36).

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


class BatchDynamics(DynamicsFunctions):
    """The functions of ``Dynamics`` for N samples at once: arrays (N, n) in, (N, ...) out.

    Attributes:
        threads: How many threads share the samples; 1 unless set.
    """

    def __init__(self, kernels: _Kernels) -> None:
        super().__init__(kernels)
        self.threads = 1

    def _run(self, kernel: Kernel | TextbookKernel, arrays: tuple[ArrayLike, ...]) -> Array:
        return kernel.batch(*arrays, threads=self.threads)


class Dynamics(DynamicsFunctions):
    """A robot's dynamics. Each function is traced and compiled when it is first used, in any thread.

    From then on the attribute of the function's name is the compiled function itself: an ordinary call has no Python
    code in between. What it does not know (a wrench, a link, an argument by name, a list) it hands to the method.

    Args:
        model: The robot.
        compiled: False runs the textbook functions themselves, on floats: slow, and made to be read and debugged.

    Attributes:
        batch: The same functions for many samples at once.
    """

    def __init__(self, model: RobotModel, *, compiled: bool = True) -> None:
        super().__init__(_Kernels(model, compiled))
        self.batch = BatchDynamics(self._kernels)

    def _run(self, kernel: Kernel | TextbookKernel, arrays: tuple[ArrayLike, ...]) -> Array:
        return kernel(*arrays)

    def _call(
        self, name: str, *arrays: ArrayLike, wrench_tip: ArrayLike | None = None, link: str | None = None
    ) -> Array:
        if wrench_tip is None and link is None and name not in vars(self):
            kernel = self._kernels.get(name, False, None)
            if isinstance(kernel, Kernel):
                setattr(self, name, kernel.or_else(getattr(super(), name)))
        return super()._call(name, *arrays, wrench_tip=wrench_tip, link=link)
