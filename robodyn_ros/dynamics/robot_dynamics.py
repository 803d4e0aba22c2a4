"""``Dynamics``: the robot's dynamics by name, each function compiled when first used."""

from __future__ import annotations

from typing import Any

from numpy.typing import ArrayLike

from robodyn_ros.compile import Kernel
from robodyn_ros.description.model import Array, RobotModel
from robodyn_ros.dynamics.function_table import Kernels, Variant
from robodyn_ros.dynamics.functions import DynamicsFunctions
from robodyn_ros.dynamics.textbook_kernel import TextbookKernel


class BatchDynamics(DynamicsFunctions):
    """The functions of ``Dynamics`` for N samples at once: arrays (N, n) in, (N, ...) out.

    Attributes:
        threads: How many threads share the samples; 1 unless set.
    """

    def __init__(self, kernels: Kernels, threads: int = 1, out: Array | None = None) -> None:
        super().__init__(kernels)
        self.threads = threads
        self._out = out

    def into(self, out: Array) -> BatchDynamics:
        """The same functions, that write their results to an array instead of a new one.

        New arrays of many megabytes are memory that the system must empty first, which may take longer than to compute
        what goes there.

        Args:
            out: float64 array of the result's shape, in any layout.

        Returns:
            ``dyn.batch.into(out).gravity(q)`` returns ``out``.
        """
        return BatchDynamics(self._kernels, self.threads, out)

    def forward_dynamics_derivatives(self, *arrays: Any, **options: Any) -> Array:
        """See :meth:`DynamicsFunctions.forward_dynamics_derivatives`."""
        if self._out is None or self._one_kernel_for_derivatives():
            return super().forward_dynamics_derivatives(*arrays, **options)
        self._out[...] = BatchDynamics(self._kernels, self.threads).forward_dynamics_derivatives(*arrays, **options)
        return self._out

    def _run(self, kernel: Kernel | TextbookKernel, arrays: tuple[ArrayLike, ...]) -> Array:
        return kernel.batch(*arrays, threads=self.threads, out=self._out)


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
        super().__init__(Kernels(model, compiled))
        self.batch = BatchDynamics(self._kernels)

    def __repr__(self) -> str:
        """Name of the robot, and which form of its functions this is."""
        form = "compiled" if self._kernels.compiled else "textbook"
        return f"<Dynamics of '{self._kernels.model.name}', {form}>"

    def _run(self, kernel: Kernel | TextbookKernel, arrays: tuple[ArrayLike, ...]) -> Array:
        return kernel(*arrays)

    def _call(self, name: str, *arrays: ArrayLike, **options: Any) -> Array:
        if name not in vars(self) and all(option is None for option in options.values()):
            kernel = self._kernels.get(Variant(name))
            if isinstance(kernel, Kernel):
                setattr(self, name, kernel.with_fallback(getattr(super(), name)))
        return super()._call(name, *arrays, **options)
