# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""What the safety filter draws: the limits that change the efforts, where they act."""

from __future__ import annotations

from collections import namedtuple
from typing import Any, NamedTuple

import numpy as np

from robodyn_ros.control.contract.law_drawings import DrawnShape, declare_drawing, drawn_fields
from robodyn_ros.control.contract.state import State
from robodyn_ros.description.model import Array
from robodyn_ros.robot import Robot

_LENGTH = 0.15  # of an arrow [m]
_ACTIVE = 1e-9  # a multiplier beyond that belongs to a limit that changes the efforts


class ActiveLimits(NamedTuple):
    """Limits that change the efforts."""

    safety_joints: Array = declare_drawing(
        DrawnShape.ARROWS, "Joints whose limits of position and velocity act: their axes", (0.9, 0.1, 0.1))
    safety_tip: Array = declare_drawing(
        DrawnShape.ARROWS, "Planes and spheres that hold the tip off: their normals", (0.9, 0.1, 0.6))


def with_limits(record: Any) -> Any:
    """A class of drawings with the fields of another one, or of None, and those of `ActiveLimits` behind them."""
    fields = {**drawn_fields(record), **drawn_fields(ActiveLimits)}
    return namedtuple("Drawing", fields, defaults=fields.values())  # noqa: PYI024 - its fields are not known here


def active_limits(robot: Robot, parameters: Any, state: State, multipliers: Array) -> dict[str, Array]:
    """The fields of `ActiveLimits`.

    Args:
        robot: The robot.
        parameters: Of the filtered law.
        state: The measured state.
        multipliers: Of the limits, as in `safety_filter.Filtering`.
    """
    dynamics = robot.dynamics()
    axes = []
    for index, joint in enumerate(robot.model.leaders):
        if abs(multipliers[index]) > _ACTIVE:
            pose = dynamics.forward_kinematics(state.q, joint.link)
            axes.append([pose[:3, 3], pose[:3, 3] + _LENGTH * pose[:3, :3] @ joint.axis])
    tip = dynamics.forward_kinematics(state.q)[:3, 3]
    first = robot.n + 3 * bool(parameters.safety_limits_speed)
    normals = [np.array(plane[:3]) for plane in parameters.safety_half_spaces]
    normals += [tip - np.array(sphere[:3]) for sphere in parameters.safety_obstacles]
    held = [[tip, tip + _LENGTH * normal / max(float(np.linalg.norm(normal)), 1e-9)]
            for index, normal in enumerate(normals) if abs(multipliers[first + index]) > _ACTIVE]
    return {"safety_joints": np.reshape(axes, (-1, 2, 3)), "safety_tip": np.reshape(held, (-1, 2, 3))}
