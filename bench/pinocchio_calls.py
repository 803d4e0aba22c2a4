# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""The functions of the comparison, with the calls on our side and on Pinocchio's."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from bench.robots import Pair

Function = Callable[..., np.ndarray]


class Call(NamedTuple):
    """A function of the dynamics.

    Attributes:
        name: Name of our function and of its batch form.
        inputs: Number of arguments out of position, velocity, and acceleration or effort.
        axes: Axes of the result that are ordered by joint.
        peer: Pinocchio's function of as many arrays, in its order of joints.
        complete: Converts Pinocchio's result to the form of ours; not timed.
    """

    name: str
    inputs: int
    axes: tuple[int, ...]
    peer: Function
    complete: Function = np.asarray


def calls(pair: Pair) -> list[Call]:
    """Return the calls of the seven functions of a robot.

    Pinocchio computes only the upper half of the mass matrix. Mirroring it is not timed, in its favour.
    """
    import pinocchio as pin

    model, data, tip, axes = pair.model, pair.data, pair.tip, pin.ReferenceFrame.LOCAL_WORLD_ALIGNED

    def forward_kinematics(q: np.ndarray) -> np.ndarray:
        pin.forwardKinematics(model, data, q)
        return pin.updateFramePlacement(model, data, tip).homogeneous

    return [
        Call("inverse_dynamics", 3, (0,), lambda q, v, a: pin.rnea(model, data, q, v, a)),
        Call("forward_dynamics", 3, (0,), lambda q, v, tau: pin.aba(model, data, q, v, tau)),
        Call("mass_matrix", 1, (0, 1), lambda q: pin.crba(model, data, q), mirrored),
        Call("gravity", 1, (0,), lambda q: pin.computeGeneralizedGravity(model, data, q)),
        Call("coriolis_matrix", 2, (0, 1), lambda q, v: pin.computeCoriolisMatrix(model, data, q, v)),
        Call("forward_kinematics", 1, (), forward_kinematics),
        Call("jacobian", 1, (1,), lambda q: pin.computeFrameJacobian(model, data, q, tip, axes)),
    ]


def derivative_calls(pair: Pair) -> list[Call]:
    """Return the calls of the derivatives of inverse and forward dynamics: (by q, by v, by a or effort)."""
    import pinocchio as pin

    model, data = pair.model, pair.data
    return [
        Call("inverse_dynamics_derivatives", 3, (1, 2),
             lambda q, v, a: pin.computeRNEADerivatives(model, data, q, v, a), with_mirrored_mass),
        Call("forward_dynamics_derivatives", 3, (1, 2),
             lambda q, v, tau: pin.computeABADerivatives(model, data, q, v, tau), with_mirrored_mass),
    ]


def other_calls(pair: Pair) -> list[Call]:
    """Return the calls of the other functions that Pinocchio has."""
    import pinocchio as pin

    model, data, tip, axes = pair.model, pair.data, pair.tip, pin.ReferenceFrame.LOCAL_WORLD_ALIGNED
    # Pinocchio orders a body's inertia xx, xy, yy, xz, yz, zz.
    parameters = [0, 1, 2, 3, 4, 5, 7, 6, 8, 9]

    def jacobian_derivative(q: np.ndarray, v: np.ndarray) -> np.ndarray:
        pin.computeJointJacobiansTimeVariation(model, data, q, v)
        return pin.getFrameJacobianTimeVariation(model, data, tip, axes)

    def in_our_order(regressor: np.ndarray) -> np.ndarray:
        bodies = regressor.reshape(model.nv, model.nv, 10)[:, pair.from_pin][:, :, parameters]
        return bodies.reshape(model.nv, -1)

    return [
        Call("bias", 2, (0,), lambda q, v: pin.nonLinearEffects(model, data, q, v)),
        Call("kinetic_energy", 2, (), lambda q, v: pin.computeKineticEnergy(model, data, q, v)),
        Call("potential_energy", 1, (), lambda q: pin.computePotentialEnergy(model, data, q)),
        Call("center_of_mass", 1, (), lambda q: pin.centerOfMass(model, data, q, False)),
        Call("jacobian_derivative", 2, (1,), jacobian_derivative),
        Call("regressor", 3, (0,), lambda q, v, a: pin.computeJointTorqueRegressor(model, data, q, v, a), in_our_order),
    ]


def mirrored(upper: np.ndarray) -> np.ndarray:
    """Return a symmetric matrix from its upper half."""
    return np.triu(upper) + np.triu(upper, 1).T


def with_mirrored_mass(slopes: np.ndarray) -> np.ndarray:
    """Return the three matrices of derivatives; the last one, M or its inverse, is mirrored from its upper half."""
    return np.array([slopes[0], slopes[1], mirrored(slopes[2])])


def check(call: Call, pair: Pair, ours: np.ndarray, inputs: tuple[np.ndarray, ...], tolerance: float = 1e-9) -> None:
    """Check that both sides compute the same numbers.

    Args:
        call: The function.
        pair: The robot.
        ours: Our result.
        inputs: Its arguments, in our order of joints.
        tolerance: Largest difference relative to the largest number of the result.

    Raises:
        AssertionError: The numbers differ.
    """
    expected = call.complete(call.peer(*(array[pair.to_pin] for array in inputs)))
    for axis in call.axes:
        expected = np.take(expected, pair.from_pin, axis)
    np.testing.assert_allclose(ours, expected, rtol=0.0, atol=tolerance * np.abs(expected).max(), err_msg=call.name)
