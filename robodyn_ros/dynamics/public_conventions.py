# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Converts between the conventions of the formulas and the public ones; no other module does.

Wrenches. In dynamics/ and textbook/, ``exerted`` holds wrenches that links exert on the environment, in the axes of
the link, (moment, force). In the public interface and ROS messages, ``wrench_tip`` and ``wrenches`` are exerted by the
environment on links, in base axes, (force, torque). Both are about the origin of the link.

Jacobians. The ``twist_jacobian`` of the formulas has its angular rows first, the public ``jacobian`` its linear rows.
Both refer to the link's origin, in base axes: ``jacobian(q).T @ wrench_tip`` is the effort that ``wrench_tip`` causes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from robodyn_ros.base.checks import check_shape
from robodyn_ros.description.model import Array, RobotModel
from robodyn_ros.kinematics.arguments import as_rows
from robodyn_ros.kinematics.forward import forward_kinematics


def swap_parts(rows: Array) -> Array:
    """Convert (linear, angular) to (angular, linear) and back; also (force, torque) to (moment, force)."""
    return np.concatenate([rows[3:], rows[:3]])


def row_indices(rows: Sequence[bool] | None) -> list[int]:
    """Indices of the selected rows of the public Jacobian; all for None."""
    return list(range(6)) if rows is None else [index for index, row in enumerate(as_rows(rows)) if row]


def applied_wrenches(
    model: RobotModel, wrench_tip: ArrayLike | None, wrenches: Mapping[str, ArrayLike] | None
) -> list[tuple[str, Array]]:
    """All public wrenches as (moment, force), each with the name of its link.

    Args:
        model: The robot.
        wrench_tip: (force, torque) on the tip link, shape (6,); None for none.
        wrenches: (force, torque) on links, by their names.

    Raises:
        InputError: A wrench has another shape.
    """
    tip = [] if wrench_tip is None else [(model.tip_link, check_shape(wrench_tip, (6,), "wrench_tip"))]
    others = [(link, check_shape(wrench, (6,), f"wrenches[{link!r}]")) for link, wrench in (wrenches or {}).items()]
    return [(link, swap_parts(wrench)) for link, wrench in tip + others]


def exerted_wrenches(
    model: RobotModel, q: Any, wrench_tip: ArrayLike | None, wrenches: Mapping[str, ArrayLike] | None
) -> dict[str, Array] | None:
    """All public wrenches as exerted by the links: with the opposite sign, in link axes, (moment, force).

    Args:
        model: The robot.
        q: Joint positions, shape (n,) [rad or m].
        wrench_tip: As for `applied_wrenches`.
        wrenches: As for `applied_wrenches`.

    Returns:
        Wrenches by the link's name; None if there are none.

    Raises:
        InputError: An array has another shape; or no link has a name of ``wrenches``.
    """
    exerted: dict[str, Array] = {}
    for link, wrench in applied_wrenches(model, wrench_tip, wrenches):
        rotation = forward_kinematics(model, q, link)[:3, :3]
        in_link = -np.concatenate([rotation.T @ wrench[:3], rotation.T @ wrench[3:]])
        exerted[link] = exerted[link] + in_link if link in exerted else in_link
    return exerted or None
