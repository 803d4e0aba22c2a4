# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Quintic polynomials in time between two points of given position, velocity and acceleration."""

from __future__ import annotations

from typing import Any

import numpy as np

from robodyn_ros.description.model import Array, RobotModel
from robodyn_ros.kinematics.turns import shortest

SPEED_SHARE, ANGULAR_SPEED, LINEAR_SPEED = 0.5, 1.5, 0.3
"""Joints use this share of their velocity limits, and at most these speeds [rad/s, m/s]."""
MIN_DURATION = 0.25


def basis(u: Any, duration: Any) -> Array:
    """Return powers 0 to 5 of u = t / duration and their first and second time derivatives, shape (3, 6)."""
    r, u2 = 1.0 / duration, u * u
    u3 = u2 * u
    r2 = r * r
    return np.array(
        (
            (1.0, u, u2, u3, u2 * u2, u2 * u3),
            (0.0, r, 2 * r * u, 3 * r * u2, 4 * r * u3, 5 * r * u2 * u2),
            (0.0, 0.0, 2 * r2, 6 * r2 * u, 12 * r2 * u2, 20 * r2 * u3),
        )
    )


_FROM_ENDS = np.linalg.inv(np.vstack([basis(0.0, 1.0), basis(1.0, 1.0)]))
"""Coefficients of 1, u, ..., u^5 from (q, v, a) at u = 0 and u = 1, shape (6, 6)."""

PEAK_SPEED = 15.0 / 8.0
"""Ratio of greatest to mean speed of a quintic from rest to rest."""


def coefficients(durations: Array, q: Array, v: Array, a: Array) -> Array:
    """Return the quintics on m segments between m + 1 knots, as coefficients of powers of t / duration, (m, 6, n)."""
    h = durations[:, None]
    ends = np.stack([q[:-1], h * v[:-1], h**2 * a[:-1], q[1:], h * v[1:], h**2 * a[1:]], axis=1)
    return np.asarray(_FROM_ENDS @ ends)


def rest_to_rest_duration(model: RobotModel, start: Array, end: Array) -> float:
    """Return the duration of a quintic motion from rest to rest, for all joints [s].

    Args:
        model: The robot, of n joints.
        start: Shape (n,) [rad or m].
        end: Shape (n,) [rad or m]; continuous joints go the short way.
    """
    prismatic = np.array([joint.kind == "prismatic" for joint in model.leaders])
    speeds = np.minimum(SPEED_SHARE * model.velocity_limit, np.where(prismatic, LINEAR_SPEED, ANGULAR_SPEED))
    distance = np.abs(shortest(end - start, model.angles))
    return max(MIN_DURATION, PEAK_SPEED * float(np.max(distance / np.maximum(speeds, 1e-3), initial=0.0)))
