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
from typing import Any, NamedTuple

import numpy as np

from robodyn_ros.control.controller import Law, State
from robodyn_ros.control.parameters import Parameters
from robodyn_ros.control.trajectories.reference import SOURCES
from robodyn_ros.description.model import Array
from robodyn_ros.robot import Robot
from robodyn_ros.timing import LoopTiming

MOST_DELAY = 12
"""Greatest delay of the exact check [control periods]; a longer one is that of a loop with longer periods."""

LEAST_GROWTH = 0.05
"""Rate from which an oscillation counts as growing [1/s]."""

FACTORS = (0.01, 0.03, 0.1, 0.2, 0.35, 0.5, 0.7, 0.85, 1.0, 1.2, 1.5, 2.0, 3.0, 5.0)
"""Factors of gains that `stable_factor` looks at."""

LOOKED_AT = 16
"""Number of configurations in which programs look at a law."""

SEARCHED_DELAY = 4
"""Greatest delay for which gains are searched for: the search takes the third power of it [control periods]."""

_SEARCH_STEPS = 20
_LARGEST_STEP = 0.5  # of a logarithm of a gain, in one step of the search
_DECAY = 1e-3  # to which a step brings the fastest growing motion [log |z| per period]
_ROUNDING = 1e-7  # of log |z|, for motions that neither grow nor decay
_STEP = 1e-5  # of positions and velocities in finite differences [rad, m, rad/s or m/s]


def most_damping(delay: Any) -> Any:
    """Greatest T lambda_max(M^-1 D) at which damping alone is stable, 2 sin(pi / (4 delay + 2)).

    Args:
        delay: Delay of the loop, may be traced [control periods].
    """
    return 2.0 * np.sin(np.pi / (4.0 * delay + 2.0))


def stability(name: str, factor: float, timing: LoopTiming) -> str:
    """Say whether a law is stable, and with what margin; for logs and tables.

    Args:
        name: Name of the law.
        factor: Result of `stable_factor`.
        timing: Of the loop.
    """
    if factor >= 1.0:
        most = "5 or more" if factor == FACTORS[-1] else f"{factor:g}"
        return f"controller '{name}' is stable with {timing}, also with {most} times its gains"
    most = f"its gains would have to be {factor:g} times as high" if factor else "weaker feedback does not help"
    return (f"controller '{name}' oscillates in some postures with {timing}: {most}; give other gains, or shorten the "
            "delay")


def stable_factor(law: Law[Any, Any, Any], parameters: Parameters, timing: LoopTiming, q: Array) -> float:
    """By how much a law's gains could all be higher before the robot oscillates, at rest where the law holds it.

    The law is linearised, with its memory held, in configurations and put around the robot with its gravity and viscous
    friction, sampled exactly. Motions that only fall or drift count as stable: neither period nor delay causes them.

    Args:
        law: The law; its memory stays as it is.
        parameters: Complete for its robot.
        timing: Of the loop.
        q: Configurations, shape (S, n) [rad or m].

    Returns:
        The greatest factor without a growing oscillation in any configuration, of those looked at, from 0 to 5; below 1
        the law is unstable.
    """
    stride = max(1, -(-timing.delay // MOST_DELAY))
    period, delay = timing.period * stride, -(-timing.delay // stride)
    transition, response = _sampled_robot(law.robot, q, period)
    gain = np.stack([_feedback(law, parameters, timing.period, each) for each in q])
    low, high, probe = 0, len(FACTORS), FACTORS.index(1.0)  # stable at factors before low, unstable from high on
    while low < high:
        if _growth(transition, response, FACTORS[probe] * gain, delay) > LEAST_GROWTH * period:
            high = probe
        else:
            low = probe + 1
        probe = (low + high) // 2
    return FACTORS[low - 1] if low else 0.0


def _growth(transition: Array, response: Array, gain: Array, delay: int) -> float:
    """Greatest growth of an oscillation of x+ = transition x - response gain x(delay periods ago), over one period.

    Args:
        transition: Shape (S, 2n, 2n).
        response: To efforts, shape (S, 2n, n).
        gain: Shape (S, n, 2n).
        delay: [control periods].

    Returns:
        The greatest log |z| over eigenvalues z that are no positive real numbers.
    """
    return float(np.log(_magnitudes(np.linalg.eigvals(_closed_loop(transition, response, gain, delay)), True).max()))


def _magnitudes(z: Array, oscillating: Any) -> Array:
    """Magnitudes of eigenvalues, next to 0 for positive real numbers where oscillations alone count."""
    return np.where(oscillating & (np.abs(z.imag) <= 1e-9) & (z.real >= 0.0), 1e-300, np.abs(z))


def _closed_loop(transition: Array, response: Array, gain: Array, delay: int) -> Array:
    """Matrix of one period of the state and the efforts on their way, the last first; arguments as for `_growth`.

    Returns:
        Shape (S, (2 + delay) n, (2 + delay) n).
    """
    samples, n, m = len(gain), gain.shape[1], transition.shape[1]
    loop = np.zeros((samples, m + delay * n, m + delay * n))
    loop[:, :m, :m] = transition
    if delay:
        loop[:, :m, -n:] = response
        loop[:, m : m + n, :m] = -gain
        loop[:, m + n :, m : -n] = np.eye((delay - 1) * n)
    else:
        loop[:, :m, :m] -= response @ gain
    return loop


class Postures(NamedTuple):
    """A robot at rest in configurations, and what a law does there whatever its gains are.

    Attributes:
        inverse: Inverse mass matrices of the robot, shape (S, n, n).
        slope: Derivatives of its gravity efforts by the positions, shape (S, n, n).
        damping: Its viscous friction, shape (n,).
        compensated: Part of the law's feedback that its gains do not change, -d tau / d(q, v), shape (S, n, 2n).
        loaded: Whether the robot carries a payload that the law does not know, shape (S,); it may sag or fall under it.
    """

    inverse: Array
    slope: Array
    damping: Array
    compensated: Array
    loaded: Array


def holding_gains(timing: LoopTiming, postures: Postures, through: Array, p: Array, d: Array) -> tuple[Array, Array]:
    """Search for gains of tau = through (-p q - d v) - compensated (q, v) under which no motion grows in any posture.

    From the given gains, each step changes all logarithms of gains as little as lets the fastest growing motion decay,
    to first order: dz/dg = -(left eigenvector, part of the efforts) (through) (right eigenvector, part of the state).

    Args:
        timing: Of the loop.
        postures: The robot.
        through: Shape (S, n, n).
        p: Gains of the positions to begin with, shape (n,).
        d: Gains of the velocities, shape (n,).

    Returns:
        Both gains: those that were given if they hold, or if the delay is above `SEARCHED_DELAY`. If none are found
        that hold, those under which motions grow least.
    """
    n, steps = len(p), _SEARCH_STEPS if timing.delay <= SEARCHED_DELAY else 0
    best, least = (p, d), np.inf
    transition, response = _sampled(postures.inverse, postures.slope, postures.damping, timing.period)
    for _ in range(steps):
        gain = postures.compensated + np.concatenate([through * p, through * d], axis=2)
        loop = _closed_loop(transition, response, gain, timing.delay)
        growth = np.log(_magnitudes(np.linalg.eigvals(loop), postures.loaded[:, None]).max(axis=1))
        if growth.max() < least:
            best, least = (p, d), float(growth.max())
        if least < _ROUNDING:
            break
        worst = int(growth.argmax())
        z, right = np.linalg.eig(loop[worst])
        fastest = int(_magnitudes(z, postures.loaded[worst]).argmax())
        left = np.linalg.lstsq(right.T, np.eye(len(z))[fastest], rcond=None)[0]  # a row of the inverse
        on_efforts = left[2 * n : 3 * n] if timing.delay else left[: 2 * n] @ response[worst]
        slopes = -np.concatenate([p, d]) * np.tile(on_efforts @ through[worst], 2) * right[: 2 * n, fastest]
        slopes = np.real(slopes / z[fastest])  # of log |z| by the logarithms of the gains
        step = -slopes * (growth[worst] + _DECAY) / max(float(slopes @ slopes), 1e-300)
        factors = np.exp(step * min(1.0, _LARGEST_STEP / max(float(np.abs(step).max()), 1e-300)))
        p, d = p * factors[:n], d * factors[n:]
    return best


def _sampled_robot(robot: Robot, q: Array, period: float) -> tuple[Array, Array]:
    """Sample M a = tau - D v - (dg/dq) (q - q_0) with tau held over a period.

    Returns:
        Transition of (q - q_0, v), shape (S, 2n, 2n), and response to efforts, shape (S, 2n, n).
    """
    batch = robot.dynamics().batch
    return _sampled(np.linalg.inv(batch.mass_matrix(q)), differences(batch.gravity, q), robot.model.damping, period)


def _sampled(inverse: Array, slope: Array, damping: Array, period: float) -> tuple[Array, Array]:
    """As `_sampled_robot`, of the arrays of `Postures`."""
    samples, n, _ = inverse.shape
    continuous = np.zeros((samples, 3 * n, 3 * n))
    continuous[:, :n, n : 2 * n] = np.eye(n)
    continuous[:, n : 2 * n, :n] = -inverse @ slope
    continuous[:, n : 2 * n, n : 2 * n] = -inverse * damping
    continuous[:, n : 2 * n, 2 * n :] = inverse
    sampled = matrix_exponential(period * continuous)
    return sampled[:, : 2 * n, : 2 * n], sampled[:, : 2 * n, 2 * n :]


def _feedback(law: Law[Any, Any, Any], parameters: Parameters, period: float, q: Array) -> Array:
    """-d tau / d(q, v) of a law that holds a configuration, shape (n, 2n)."""
    rest = State(0.0, period, q, np.zeros(len(q)))
    reference = None if law.follows is None else SOURCES[law.follows](law.robot, q).sample(0.0)
    answer = law.answering(parameters, rest)
    columns = []
    for field in ("q", "v"):
        for step in np.eye(len(q)) * _STEP:
            beyond, before = (answer(rest._replace(**{field: getattr(rest, field) + sign * step}), reference)
                              for sign in (1.0, -1.0))
            columns.append((before - beyond) / (2.0 * _STEP))
    return np.stack(columns, axis=1)


def differences(function: Callable[[Array], Array], q: Array) -> Array:
    """Derivatives of a batch function by its argument, shape (S, n, n)."""
    steps = np.eye(q.shape[1]) * _STEP
    return np.stack([(function(q + step) - function(q - step)) / (2.0 * _STEP) for step in steps], axis=2)


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
