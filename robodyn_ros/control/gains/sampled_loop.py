# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Stability of a law that is sampled, held over a control period (zero-order hold), and delayed.

A joint of inertia m under tau = -k q - d v, measured every T and acting N periods later, has the characteristic
polynomial (z - 1)^2 z^N + (kappa/2) (z + 1) + delta (z - 1), with kappa = T^2 k/m and delta = T d/m (the double
integrator sampled with a zero-order hold, [AstromWittenmark] 2.3 and 2.6). On the unit circle, z = exp(i theta),

    delta = 2 sin(theta/2) sin((N + 1/2) theta),    kappa / delta = 2 tan(theta/2) cot((N + 1/2) theta),

which bounds the stable gains for 0 < theta < pi / (2N + 1): delta grows and the ratio falls along this curve. Without
stiffness theta = pi / (2N + 1) remains, and z^(N+1) - z^N + delta is stable below 2 sin(pi / (4N + 2)) [LevinMay].

It holds for coupled joints too: for an eigenvector x, the products of x with M, K and D make the same polynomial, with
positive m, k and d. A robot is stable if T lambda_max(M^-1 D) and the greatest T k_i / d_i of its joints are in bounds.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from robodyn_ros.base.timing import LoopTiming
from robodyn_ros.description.model import Array

MIN_GROWTH = 0.05
"""Rate from which an oscillation counts as growing [1/s]."""

CHECKED_CONFIGURATIONS = 16
"""Number of configurations in which programs check a law."""

STEP = 1e-5
"""Of positions and velocities in finite differences [rad, m, rad/s or m/s]."""


def largest_stable_damping(delay: Any) -> Any:
    """Greatest T lambda_max(M^-1 D) at which damping alone is stable, 2 sin(pi / (4 delay + 2)).

    Args:
        delay: Delay of the loop, may be traced [control periods].
    """
    return 2.0 * np.sin(np.pi / (4.0 * delay + 2.0))


def with_longer_periods(timing: LoopTiming, most: int) -> LoopTiming:
    """Return a timing with longer periods and a limited delay; the loop is at most as stable as the given one.

    Args:
        timing: Of the loop.
        most: Greatest delay [control periods].
    """
    stride = max(1, -(-timing.delay // most))
    return LoopTiming(timing.period * stride, -(-timing.delay // stride))


def oscillation_growth(transition: Array, response: Array, gain: Array, delay: int) -> float:
    """Return the greatest growth of an oscillation of x+ = transition x + response gain x(delay periods ago).

    Args:
        transition: Shape (S, m, m).
        response: To efforts, shape (S, m, n).
        gain: Shape (S, n, m).
        delay: [control periods].

    Returns:
        The greatest log |z| over the eigenvalues z of a period, without positive real ones.
    """
    z = np.linalg.eigvals(delayed_loop(transition, response, gain, delay)).ravel()
    z = z[(np.abs(z.imag) > 1e-9) | (z.real < 0.0)]
    return float(np.log(np.abs(z).max(initial=1e-300)))


def delayed_loop(transition: Array, response: Array, gain: Array, delay: int) -> Array:
    """Return the matrices of one period for the state, extended by the delayed efforts, the last first.

    Args:
        transition: Of the state over a period, shape (S, m, m).
        response: Its change by efforts, shape (S, m, n).
        gain: Efforts by the state, shape (n, m) or (S, n, m).
        delay: Of the efforts [control periods].

    Returns:
        Shape (S, m + delay n, m + delay n).
    """
    samples, m, n = response.shape
    loop = np.zeros((samples, m + delay * n, m + delay * n))
    loop[:, :m, :m] = transition
    if delay:
        loop[:, :m, -n:], loop[:, m : m + n, :m] = response, gain
        loop[:, m + n :, m : -n] = np.eye((delay - 1) * n)
    else:
        loop += response @ gain
    return loop


def sampled_arm(inertia: Array, slope: Array, damping: Array, period: float) -> tuple[Array, Array]:
    """Sample M a = tau - D v - (dg/dq) (q - q_0) with tau held over a period.

    Args:
        inertia: M in postures q_0, shape (S, n, n).
        slope: dg/dq, derivatives of the gravity efforts by the positions, shape (S, n, n).
        damping: D, viscous friction of the joints, shape (n,).
        period: [s].

    Returns:
        Transition of (q - q_0, v), shape (S, 2n, 2n), and response to efforts, shape (S, 2n, n).
    """
    samples, n, _ = inertia.shape
    inverse = np.linalg.inv(inertia)
    continuous = np.zeros((samples, 3 * n, 3 * n))
    continuous[:, :n, n : 2 * n] = np.eye(n)
    continuous[:, n : 2 * n, :n] = -inverse @ slope
    continuous[:, n : 2 * n, n : 2 * n] = -inverse * damping
    continuous[:, n : 2 * n, 2 * n :] = inverse
    sampled = matrix_exponential(period * continuous)
    return sampled[:, : 2 * n, : 2 * n], sampled[:, : 2 * n, 2 * n :]


def differences(function: Callable[[Array], Array], q: Array) -> Array:
    """Derivatives of a batch function by its argument, shape (S, n, n)."""
    samples, n = q.shape
    steps = STEP * np.stack([np.eye(n), -np.eye(n)])[:, :, None]
    beyond, before = function((q + steps).reshape(-1, n)).reshape(2, n, samples, n)
    return np.ascontiguousarray(np.moveaxis((beyond - before) / (2.0 * STEP), 0, 2))


def matrix_exponential(matrices: Array) -> Array:
    """Exponentials of matrices, shape (S, m, m), by series after halving: SciPy takes half a second to import."""
    largest = float(np.abs(matrices).sum(axis=2).max(initial=1e-3))
    halvings = max(0, int(np.ceil(np.log2(largest))) + 2)
    scaled, term = matrices / 2.0**halvings, np.eye(matrices.shape[1])
    result = term + np.zeros_like(matrices)
    for order in range(1, 12):
        term = term @ scaled / order
        result = result + term
    for _ in range(halvings):
        result = result @ result
    return result
