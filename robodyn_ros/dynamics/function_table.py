"""The compiled functions of one robot, each made when it is first asked for."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any, NamedTuple

from robodyn_ros.compile import Kernel, compile_function
from robodyn_ros.description.model import Array, RobotModel
from robodyn_ros.dynamics import public_conventions as door
from robodyn_ros.dynamics.coriolis import coriolis_matrix
from robodyn_ros.dynamics.energy import center_of_mass, kinetic_energy, potential_energy
from robodyn_ros.dynamics.mass_matrix import mass_matrix
from robodyn_ros.dynamics.regressor import regressor
from robodyn_ros.dynamics.second_moment_newton_euler import bias, gravity
from robodyn_ros.dynamics.textbook_kernel import TextbookKernel
from robodyn_ros.kinematics.forward import forward_kinematics

FUNCTIONS: dict[str, tuple[Callable[..., Array], tuple[str, ...]]] = {
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
    "jacobian_derivative": (door.jacobian_derivative, ("q", "v")),
    "inverse_dynamics_derivatives": (door.inverse_dynamics_derivatives, ("q", "v", "a")),
    "forward_dynamics_derivatives": (door.forward_dynamics_derivatives, ("q", "v", "tau")),
    "regressor": (regressor, ("q", "v", "a")),
    "task_space_inertia": (door.task_space_inertia, ("q",)),
    "task_space_bias": (door.task_space_bias, ("q", "v")),
    "dynamically_consistent_inverse": (door.dynamically_consistent_inverse, ("q",)),
}
"""Each function with the names of the arrays of shape (n,) that it takes."""


class Variant(NamedTuple):
    """A function with the options that other code is made for.

    Attributes:
        name: Of the function.
        wrench_tip: Whether a wrench acts on the tip link.
        wrenches: Names of other links on which wrenches act.
        link: What the function is about; None for the tip link.
        rows: Rows of the Jacobian that count; None for all.
    """

    name: str
    wrench_tip: bool = False
    wrenches: tuple[str, ...] = ()
    link: str | None = None
    rows: tuple[bool, ...] | None = None


class Kernels:
    """The kernels of one robot, each made once, when first asked for, by whichever thread asks first.

    Args:
        model: The robot.
        compiled: False for the textbook functions themselves.

    Attributes:
        model: The robot.
        compiled: Whether the functions are compiled.
    """

    def __init__(self, model: RobotModel, compiled: bool) -> None:
        self.model = model
        self.compiled = compiled
        self._make = compile_function if compiled else TextbookKernel
        self._made: dict[Variant, Kernel | TextbookKernel] = {}
        self._lock = threading.Lock()

    def get(self, variant: Variant) -> Kernel | TextbookKernel:
        """The kernel of a variant.

        It takes the function's arrays, then the wrench on the tip, then those on other links in their order.

        Raises:
            InputError: No link has a name given; or the function is not defined for this robot.
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

    def _new(self, variant: Variant) -> Kernel | TextbookKernel:
        function, arguments = FUNCTIONS[variant.name]
        count = len(arguments)
        inputs: dict[str, tuple[int, ...]] = dict.fromkeys(arguments, (self.model.n,))
        options: dict[str, Any] = {}
        if variant.wrench_tip:
            inputs["wrench_tip"] = (6,)
        for link in variant.wrenches:
            inputs[f"wrenches[{self.model.frame(link).name!r}]"] = (6,)
        if variant.link is not None:
            options["link"] = self.model.frame(variant.link).name
        if variant.rows is not None:
            options["rows"] = variant.rows

        def run(*arrays: Array) -> Array:
            given, wrenches = dict(options), list(arrays[count:])
            if variant.wrench_tip:
                given["wrench_tip"] = wrenches.pop(0)
            if variant.wrenches:
                given["wrenches"] = dict(zip(variant.wrenches, wrenches, strict=True))
            return function(self.model, *arrays[:count], **given)

        return self._make(run, inputs, variant.name)
