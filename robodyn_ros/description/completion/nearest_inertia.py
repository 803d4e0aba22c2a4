# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Rotational inertias that no body can have, and the nearest possible one.

A body of positive mass has a rotational inertia I about its centre of mass if and only if its second moment there,

    S = tr(I) / 2 1 - I,

is positive definite; then its pseudo-inertia is, too [WensingKimSlotine]. A negative eigenvalue of S is a principal
moment that exceeds the sum of the other two: the triangle inequality is broken.
"""

from __future__ import annotations

import numpy as np

from robodyn_ros.description.model import Array
from robodyn_ros.dynamics.pseudo_inertia import MIN_THICKNESS_SHARE
from robodyn_ros.dynamics.spatial_inertia import trace_minus

ROUNDING = 1e-6
"""Least eigenvalue of S, as a share of the greatest moment, that can be due to the few digits of published values."""


def is_possible(rotational: Array) -> bool:
    """Whether a body can have this rotational inertia about its centre of mass, shape (3, 3), apart from rounding."""
    return bool(np.linalg.eigvalsh(_second_moment(rotational))[0] >= -0.5 * ROUNDING * np.max(np.abs(rotational)))


def nearest_possible(rotational: Array) -> tuple[Array, float]:
    """Return the nearest rotational inertia that a body can have; mass and centre of mass stay.

    S is nearest in the Frobenius norm: its eigenvalues below `MIN_THICKNESS_SHARE` of the sum of the positive ones
    are raised to that value, so that the body has a thickness.

    Args:
        rotational: Inertia about the centre of mass, shape (3, 3) [kg m^2]; it has a positive principal moment.

    Returns:
        The inertia, and its difference from the given one relative to that one (Frobenius norms).
    """
    values, axes = np.linalg.eigh(_second_moment(rotational))
    least = MIN_THICKNESS_SHARE * np.maximum(values, 0.0).sum()
    nearest = trace_minus(axes @ np.diag(np.maximum(values, least)) @ axes.T)
    return nearest, float(np.linalg.norm(nearest - rotational) / np.linalg.norm(rotational))


def _second_moment(rotational: Array) -> Array:
    moment: Array = 0.5 * np.trace(rotational) * np.eye(3) - rotational
    return moment
