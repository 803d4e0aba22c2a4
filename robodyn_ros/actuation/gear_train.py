# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Gear trains between motors and joints, [Yamamoto] 6.1."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from robodyn_ros.base.checks import ANY_FINITE, as_array, as_joint_array, constants, for_all_joints
from robodyn_ros.base.errors import InputError
from robodyn_ros.description.model import Array, RobotModel, joint_matrix


@dataclass(frozen=True, eq=False)
class GearTrain:
    """Rigid gears without backlash or loss, one for each motor: dq_M = Gamma B dq, tau = B^T Gamma tau_M.

    [Yamamoto] (6.5) to (6.10). Gamma is the diagonal matrix of the gear ratios. In the book each motor drives one
    joint, and B is the unit matrix. If motors drive several joints together, p = B q are the positions of the gears'
    outputs.

    Attributes:
        ratio: gamma, motor turns per turn of the gear's output, not 0, negative if the motor turns the other way; shape
            (n,), or one number for all [- or, for prismatic joints, rad/m].
        coupling: B, shape (n, n); None: the unit matrix.
        zero: Joint positions at which all motors are at 0; shape (n,), or one number for all [rad or m].

    Raises:
        InputError: A ratio is 0 or not finite, the shapes differ, or the coupling has no inverse.
    """

    ratio: Array
    coupling: Array | None = None
    zero: Array = for_all_joints(0.0)

    def __post_init__(self) -> None:
        """Check the ratios and give them their shape."""
        array = as_joint_array(self.ratio, None, ANY_FINITE, "GearTrain.ratio")
        if not constants(array, traced=1.0).all():
            raise InputError(f"GearTrain.ratio: expected ratios other than 0, received {array.tolist()}")
        object.__setattr__(self, "ratio", array)
        object.__setattr__(self, "zero", as_joint_array(self.zero, len(array), ANY_FINITE, "GearTrain.zero"))
        if self.coupling is not None:
            coupling = as_array(self.coupling, (len(array), len(array)), "GearTrain.coupling")
            object.__setattr__(self, "coupling", None if (coupling == np.eye(len(array))).all() else coupling)
            if np.linalg.matrix_rank(coupling) < len(array):
                raise InputError(f"GearTrain.coupling: expected a matrix with an inverse, received {coupling.tolist()}")

    @classmethod
    def from_model(cls, model: RobotModel) -> Self:
        """Return the gears of the transmissions in a robot description; ratio 1 without a transmission."""
        return cls(model.reduction, model.coupling, model.motor_zero)

    @property
    def n(self) -> int:
        """Number of gear trains."""
        return len(self.ratio)

    @property
    def reduction_ratio(self) -> Array:
        """Ratio 1 / gamma of output speed to input speed, (6.5), (6.6), shape (n,)."""
        return 1.0 / self.ratio

    def motor_motion(self, joint_motion: ArrayLike) -> NDArray[Any]:
        """Gamma B dq: convert a displacement, velocity or acceleration from joints to motors, (6.7), (6.8).

        Args:
            joint_motion: Shape (n,) [rad or m, per s or s^2].

        Returns:
            Shape (n,) [rad, per s or s^2].

        Raises:
            InputError: The array has another shape.
        """
        return self.ratio * self.output_motion(as_array(joint_motion, (self.n,), "GearTrain: joint_motion"))

    def motor_position(self, q: ArrayLike) -> NDArray[Any]:
        """Gamma B (q - q_0): positions of the motors, shape (n,) [rad].

        Args:
            q: Joint positions, shape (n,) [rad or m].

        Raises:
            InputError: The array has another shape.
        """
        return self.motor_motion(as_array(q, (self.n,), "GearTrain: q") - self.zero)

    def output_motion(self, joint_motion: NDArray[Any]) -> NDArray[Any]:
        """B dq: convert a motion of the joints to one of the gears' outputs, shape (n,)."""
        return joint_motion if self.coupling is None else self.coupling @ joint_motion

    def effort_of_outputs(self, output_effort: NDArray[Any]) -> NDArray[Any]:
        """B^T u: convert efforts u at the gears' outputs to efforts on the joints, shape (n,) [N m or N]."""
        return output_effort if self.coupling is None else self.coupling.T @ output_effort

    def output_effort(self, joint_effort: NDArray[Any]) -> NDArray[Any]:
        """B^-T tau: convert efforts on the joints to efforts at the gears' outputs, shape (n,) [N m or N]."""
        return joint_effort if self._inverse is None else self._inverse.T @ joint_effort

    @property
    def joint_rows(self) -> Array:
        """B as an array, shape (n, n)."""
        return np.eye(self.n) if self.coupling is None else self.coupling

    @cached_property
    def _inverse(self) -> Array | None:
        return None if self.coupling is None else np.linalg.inv(self.coupling).astype(np.float64)

    def joint_effort(self, motor_torque: ArrayLike) -> NDArray[Any]:
        """tau = B^T Gamma tau_M: convert shaft torques of the motors to joint efforts, (6.10).

        Args:
            motor_torque: tau_M, shape (n,) [N m].

        Returns:
            Shape (n,) [N m or N].

        Raises:
            InputError: The array has another shape.
        """
        return self.effort_of_outputs(self.ratio * as_array(motor_torque, (self.n,), "GearTrain: motor_torque"))

    def motor_torque(self, joint_effort: ArrayLike) -> NDArray[Any]:
        """tau_M = Gamma^-1 B^-T tau, the inverse of (6.10).

        Args:
            joint_effort: tau, shape (n,) [N m or N].

        Returns:
            Shape (n,) [N m].

        Raises:
            InputError: The array has another shape.
        """
        return self.output_effort(as_array(joint_effort, (self.n,), "GearTrain: joint_effort")) / self.ratio

    def reflected(self, motor_side: ArrayLike) -> NDArray[np.float64]:
        """Gamma^T X Gamma: reflect inertias or viscous frictions of motor shafts to the gears' outputs, (6.17).

        Args:
            motor_side: The diagonal of X, shape (n,) [kg m^2 or N m s/rad].

        Returns:
            The diagonal, shape (n,) [kg m^2 or kg; N m s/rad or N s/m].

        Raises:
            InputError: The array has another shape.
        """
        return self.ratio**2 * as_array(motor_side, (self.n,), "GearTrain: motor_side")

    def joint_matrix(self, at_outputs: NDArray[Any]) -> NDArray[Any]:
        """B^T X B: convert inertias or viscous frictions at the gears' outputs to the joints.

        Args:
            at_outputs: The diagonal of X, shape (n,), may be traced.

        Returns:
            Shape (n, n).
        """
        return joint_matrix(self.coupling, at_outputs)
