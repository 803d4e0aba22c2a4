# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Differences of joint positions that are angles: a full turn leads to the same position.

``shortest(reference.q - state.q, robot.model.angles)`` is an error of at most half a turn where the mask is true.
"""

from __future__ import annotations

from math import pi, tau

import numpy as np
from numpy.typing import NDArray

from robodyn_ros.description.model import Array

_ANGLE_TOLERANCE = 1e-9  # of a normalized angle [rad]


def shortest(difference: Array, angles: NDArray[np.bool_]) -> Array:
    """Return differences of positions; those of angles are taken the short way round.

    Args:
        difference: Shape (..., n) [rad or m].
        angles: Whether a joint's position is an angle, shape (n,).
    """
    return difference - turns(difference, angles)


def turns(difference: Array, angles: NDArray[np.bool_]) -> Array:
    """Return the whole turns in differences of angles, 0 for other joints [rad]; arguments as for :func:`shortest`."""
    whole: Array = np.where(angles, tau * np.round(difference / tau), 0.0)
    return whole


def unwrapped(q: Array, angles: NDArray[np.bool_]) -> Array:
    """Remove the jumps by a full turn from successive positions of drivers that wrap angles.

    Args:
        q: Shape (N, n) [rad or m].
        angles: Whether a joint's position may be wrapped, shape (n,).
    """
    if not angles.any() or len(q) < 2:
        return q
    steps = turns(np.diff(q, axis=0, prepend=q[:1]), angles)
    return q - np.cumsum(np.nan_to_num(steps), axis=0)


def short_way(q: Array, start: Array, angles: NDArray[np.bool_]) -> Array:
    """Return the points of a motion, shifted by whole turns so that it begins the short way round.

    Points keep their distances, so a motion of several turns stays one. If all points of a joint lie within -pi and pi,
    however, they count as normalized, and each is approached the short way round from the one before.

    Args:
        q: Points, shape (m, n) [rad or m].
        start: Position at which the motion begins, shape (n,) [rad or m].
        angles: Whether a joint's position is an angle, shape (n,).
    """
    if not angles.any():
        return q
    normalized = angles & (np.abs(q) <= pi + _ANGLE_TOLERANCE).all(axis=0)
    q = unwrapped(q, normalized)
    return q - turns(q[0] - start, angles)
