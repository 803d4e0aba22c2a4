# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Recognises impossible efforts: wrong signs, exchanged columns, efforts that are late or early.

Friction dissipates power, and masses are positive. Efforts of the wrong sign fit a model as well as correct ones, but
with negative masses and friction; exchanged or shifted efforts fit no model. The least-squares problems of all these
candidates share their matrix, so one factorization ranks them.
"""

from __future__ import annotations

from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from robodyn_ros.description.model import Array
from robodyn_ros.toolbox.identification.identified_model import IdentifiedModel, effort_scale
from robodyn_ros.toolbox.identification.measured_motion import MeasuredMotion

LARGE_RESIDUAL = 0.1
"""Residuals above this share of the full scale are reported."""

_SIGNIFICANT = 8.0
"""Number of standard deviations below 0 at which an estimate counts as impossible."""

_MIN_MATERIAL = 0.02
"""Least negative friction, relative to the greatest measured effort, and least negative work, relative to all work."""

_MAX_MISFIT = 3.0
"""Factor by which the residual with positive masses and friction may exceed that of least squares."""

_CAUSE_SHARE = 0.7
"""Another order or delay is named as a cause if the residual falls below this share."""

_MAX_DELAY = 0.25
"""Longest delay of the efforts to look for [s]."""

_MAX_SAMPLES = 1000  # of the comparison


def impossible(model: IdentifiedModel, motion: MeasuredMotion) -> list[str]:
    """Return a sentence on each impossible result; empty: none.

    Args:
        model: Model identified from the motion.
        motion: Motion and efforts.
    """
    joints, found = model.effort_model.robot.joint_names, []
    varies = np.ptp(motion.effort, axis=0) > 0.0  # a constant effort was hardly measured; its residual reports it
    negative = _negative_friction(model, motion) & varies
    for j in np.flatnonzero(negative.any(axis=0)):
        found.append(f"the friction of joint '{joints[j]}' would be negative by more than {_SIGNIFICANT:g} standard "
                     "deviations")
    work, exchanged = _work(model, motion)
    if work < -_MIN_MATERIAL * exchanged:
        found.append(f"the drives would gain {-work:.3g} J from friction, of {exchanged:.3g} J that they exchange")
    least = _residuals(model, motion)
    for j in np.flatnonzero(varies & (model.noise > _MAX_MISFIT * least)
                            & (model.noise > LARGE_RESIDUAL * np.abs(motion.effort).max(axis=0))):
        found.append(f"no positive masses explain the efforts of joint '{joints[j]}': they leave an RMS of "
                     f"{model.noise[j]:.3g}, and parameters of any sign {least[j]:.3g}")
    return found


def large_residuals(model: IdentifiedModel, motion: MeasuredMotion) -> list[str]:
    """Return a sentence on each joint with a residual above `LARGE_RESIDUAL`."""
    share = model.noise / effort_scale(model.effort_model.robot, motion.effort)
    return [f"the model misses the effort of joint '{model.effort_model.robot.joint_names[j]}' by an RMS of "
            f"{share[j]:.0%} of its full scale" for j in np.flatnonzero(share > LARGE_RESIDUAL)]


def likely_causes(model: IdentifiedModel, motion: MeasuredMotion) -> list[str]:
    """Return likely causes with remedies, the most likely first.

    Args:
        model: Model identified from the motion.
        motion: Motion and efforts, evenly spaced in time.
    """
    joints, causes = model.effort_model.robot.joint_names, []
    wrong: NDArray[np.bool_] = np.atleast_1d(_negative_friction(model, motion).any(axis=0))
    if wrong.any():
        signs = " ".join("-1" if each else "1" for each in wrong)
        causes.append(f"the sign of {', '.join(joints[j] for j in np.flatnonzero(wrong))}: the driver counts the "
                      f"torque of the load (--torque-constants {signs})")
    thin = slice(None, None, max(1, len(motion.time) // _MAX_SAMPLES))
    scale = effort_scale(model.effort_model.robot, motion.effort)
    columns = _columns(model, motion)[thin] / scale[:, None]
    basis = np.linalg.qr(columns.reshape(-1, columns.shape[2]))[0]

    def residual(effort: Array) -> float:
        target = (np.where(motion.usable, effort, 0.0)[thin] / scale).ravel()
        return float(np.linalg.norm(target - basis @ (basis.T @ target)))

    present = residual(motion.effort)
    candidates = []
    for first, second in combinations(range(len(joints)), 2):
        order = np.arange(len(joints))
        order[[first, second]] = second, first
        candidates.append((residual(motion.effort[:, order]), f"exchanged columns of '{joints[first]}' and "
                           f"'{joints[second]}'"))
    step = float(np.median(np.diff(motion.time)))
    longest = round(_MAX_DELAY / step)
    for delay in range(-longest, longest + 1):
        shifted = np.roll(motion.effort, -delay, axis=0)
        candidates.append((residual(shifted), f"efforts that are {abs(delay * step):.3g} s "
                           f"{'late' if delay > 0 else 'early'}: shift their stamps"))
    left, cause = min(candidates, default=(np.inf, ""))
    if left < _CAUSE_SHARE * present:
        causes.append(f"{cause} (the residual would fall to {left / present:.0%})")
    return causes or ["the unit or the order of the efforts; a load that the description lacks; efforts of other "
                      "joints"]


def _columns(model: IdentifiedModel, motion: MeasuredMotion) -> Array:
    """Columns of the base parameters, 0 for joints at rest, shape (K, n, b)."""
    columns: Array = model.effort_model.columns(motion.q, motion.v, motion.a)[:, :, model.effort_model.base.independent]
    return columns * motion.usable[:, :, None]


def _residuals(model: IdentifiedModel, motion: MeasuredMotion) -> Array:
    """Root mean square residuals of unconstrained least squares, shape (n,) [N m or N]."""
    left = np.where(motion.usable, motion.effort, 0.0) - _columns(model, motion) @ model.base_values
    return np.sqrt((left**2).sum(axis=0) / np.maximum(motion.usable.sum(axis=0), 1))


def _negative_friction(model: IdentifiedModel, motion: MeasuredMotion) -> NDArray[np.bool_]:
    """Whether least squares find significantly negative viscous and Coulomb friction, shape (2, n)."""
    independent = model.effort_model.base.independent.tolist()
    greatest = np.abs(motion.effort).max(axis=0)
    speed = {"viscous": np.abs(motion.v).max(axis=0), "coulomb": np.ones(len(greatest))}
    found = np.zeros((2, len(greatest)), dtype=bool)
    for row, kind in enumerate(speed):
        for j, place in enumerate(range(*model.effort_model.slots(kind).indices(len(model.parameters)))):
            if place in independent:
                base = independent.index(place)
                value, deviation = model.base_values[base], model.base_deviations[base]
                found[row, j] = (value < -_SIGNIFICANT * deviation
                                 and -value * speed[kind][j] > _MIN_MATERIAL * greatest[j])
    return found


def _work(model: IdentifiedModel, motion: MeasuredMotion) -> tuple[float, float]:
    """Work of the drives minus the greatest change of energy, and the energy that they exchange [J]."""
    power, steps = (motion.effort * motion.v).sum(axis=1), np.diff(motion.time, append=motion.time[-1])
    steps = np.minimum(steps, 4.0 * float(np.median(steps)))  # limits the weight of gaps
    batch = model.effort_model.robot.dynamics().batch
    energy = batch.kinetic_energy(motion.q, motion.v) + batch.potential_energy(motion.q)
    change = float(np.ptp(energy))
    return float((power * steps).sum()) + change, float((np.abs(power) * steps).sum())
