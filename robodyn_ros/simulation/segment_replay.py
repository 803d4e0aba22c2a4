# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Replays recorded efforts on a simulated robot in short segments, each from the measured state.

Under recorded efforts alone, an arm never returns to the recorded motion: within seconds, a small error of the model or
of the measured efforts grows to a large position error. Over some tenths of a second, the error shows how good the
model is.
"""

from __future__ import annotations

import numpy as np

from robodyn_ros.base.errors import InputError
from robodyn_ros.base.timing import DEFAULT_STEP
from robodyn_ros.description.model import Array
from robodyn_ros.simulation.commands import Drive
from robodyn_ros.simulation.plant import Plant

_GAP = 1.5  # [sampling periods]


def step_for(time: Array) -> float:
    """Return a step that divides the interval of evenly spaced stamps, shape (K,), without remainder [s]."""
    period = float(np.median(np.diff(time)))
    return period / max(1, int(np.ceil(period / DEFAULT_STEP - 1e-9)))


def replay_segments(plant: Plant, time: Array, q: Array, v: Array, effort: Array, duration: float) -> Array:
    """Simulate a measured motion under its efforts.

    Args:
        plant: The robot, with the step of `step_for`.
        time: Stamps, evenly spaced except for gaps, shape (K,) [s].
        q: Measured positions, shape (K, n) [rad or m].
        v: Measured velocities, shape (K, n) [rad/s or m/s].
        effort: Efforts on the joints, before friction, shape (K, n) [N m or N].
        duration: Duration of a segment; segments at gaps and at the end may be shorter [s].

    Returns:
        Simulated positions; the first of each segment is measured, shape (K, n) [rad or m].

    Raises:
        InputError: A segment is shorter than two samples.
        SimulationError: The simulation diverges.
    """
    period = float(np.median(np.diff(time)))
    samples, steps = round(duration / period), round(period / plant.step)
    if samples < 1:
        raise InputError(f"segments: expected {period:g} s or more, the sampling period, received {duration:g} s")
    found = q.copy()
    nothing, since = np.zeros(len(q[0])), samples
    lower, upper = plant.robot.model.position_lower, plant.robot.model.position_upper
    for k in range(1, len(time)):
        if time[k] - time[k - 1] > _GAP * period:
            since = samples
            continue
        if since == samples:
            plant.set_state(np.clip(q[k - 1], lower, upper), v[k - 1])
            since = 0
        plant.advance(Drive(0.5 * (effort[k - 1] + effort[k]), nothing, nothing), steps)
        found[k], since = plant.q, since + 1
    return found
