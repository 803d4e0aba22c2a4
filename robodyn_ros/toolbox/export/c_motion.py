# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""The motion part of the control loop in C: trajectories, coming to rest, limits, soft start and stop.

Formulas are traced from the functions of the control loop; `templates/motion.c.in` has the branches and loops around
them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from importlib.resources import files
from typing import Any

import numpy as np

from robodyn_ros.compile import trace
from robodyn_ros.compile.loops_in_c import identifier
from robodyn_ros.control.references import coming_to_rest, joint_trajectory, trajectory_clock, trajectory_limits
from robodyn_ros.control.references.quintic import basis, coefficients
from robodyn_ros.control.runtime import supervisor
from robodyn_ros.description.model import Array
from robodyn_ros.dynamics.robot_dynamics import InlineDynamics
from robodyn_ros.robot import Robot
from robodyn_ros.toolbox.export.c_function import PRECISIONS, CFunction, literal, row
from robodyn_ros.toolbox.export.c_source import CSource, assembled, renamed_for_linker

MAX_REPEAT_TIME = 0.5
"""Longest repetition of a state after which its velocities still distinguish motion from a jump [s].

Hardware interfaces have no stamps, and their states repeat if a driver is slower than its controller manager, or late.
"""


def motion_source(robot: Robot, precision: str = "double", law: str = "") -> CSource:
    """Write the control loop around a law: trajectories, coming to rest, clock, supervisor.

    Args:
        robot: The robot.
        precision: ``double`` or ``float``.
        law: Name of the law in the same program, for names in object files.

    Returns:
        C99 without memory allocation; the caller owns all structs and the points of trajectories.

    Raises:
        InputError: The precision is unknown.
        DescriptionError: The robot has no inertia.
    """
    model, prefix = robot.model, identifier(robot.name)
    written = list(_formulas(robot, prefix))
    bodies = ["static " + "\n".join(each.definition(precision)) for each in written]
    speeds = np.where(model.velocity_limit > 0.0, model.velocity_limit, np.inf)
    values: dict[str, str] = {
        "n": str(robot.n), "robot": prefix, "ROBOT": prefix.upper(), "real": precision,
        "rint": "rint" + PRECISIONS[precision], "is_angle": ", ".join(str(int(angle)) for angle in model.angles),
        **{name: row(array, precision) for name, array in (
            ("lower", model.position_lower), ("upper", model.position_upper), ("velocity_limit", speeds),
            ("effort_limit", model.effort_limit))},
        **{name: literal(value, precision) for name, value in _constants().items()}}
    texts = [filled(template(f"motion.{kind}.in"), values).rstrip() for kind in ("h", "c")]
    links = [renamed_for_linker(prefix, identifier(law), texts[0])] if law else []
    return assembled(f"{prefix}_motion", robot.model, [*links, texts[0]], [*bodies, texts[1]], written, precision)


def template(name: str) -> str:
    """The text of a file in templates/."""
    return (files("robodyn_ros.toolbox.export") / "templates" / name).read_text(encoding="utf-8")


def filled(text: str, values: Mapping[str, str]) -> str:
    """Replace the names between two @ in a template."""
    for name, value in values.items():
        text = text.replace(f"@{name}@", value)
    return text


def _constants() -> dict[str, float]:
    whole_way: float = coming_to_rest.progress(coming_to_rest.DURATION)[0]
    return {"DURATION": coming_to_rest.DURATION, "REST_WAY": whole_way,
            "START_TOLERANCE": joint_trajectory.START_TOLERANCE, "REST_TOLERANCE": joint_trajectory.REST_TOLERANCE,
            "AT_ONCE": joint_trajectory.SINGLE_POINT_SECONDS, "ROUNDING": trajectory_limits.ROUNDING,
            "SPEED_TOLERANCE": trajectory_limits.SPEED_TOLERANCE, "FULL_CHANGE": trajectory_clock.FULL_CHANGE,
            "OUTWARD_SPEED": supervisor.OUTWARD_SPEED, "RUNAWAY_FACTOR": supervisor.RUNAWAY_FACTOR,
            "JUMP": supervisor.JUMP, "MAX_REPEAT_TIME": MAX_REPEAT_TIME,
            "TWO_PI": math.tau, "HALF_TURN": math.pi + 1e-6, "LARGEST": 1e30}


def _formulas(robot: Robot, prefix: str) -> list[CFunction]:
    """The formulas, traced from the control loop."""
    n, dynamics = robot.n, InlineDynamics(robot.model)

    def quintic(duration: Array, ends: Array) -> Array:
        q, v, a = np.reshape(ends, (2, 3, 1)).transpose(1, 0, 2)
        return coefficients(duration, q, v, a)[0, :, 0]

    def tip_motion(q: Array, v: Array) -> Array:
        return np.concatenate([dynamics.forward_kinematics(q)[:3, 3], (dynamics.jacobian(q) @ v)[:3]])

    functions: list[tuple[str, Callable[..., Any], dict[str, tuple[int, ...]], dict[str, tuple[int, ...]]]] = [
        ("monotone_velocity", lambda times, means: np.array([joint_trajectory.monotone_velocity(*times, *means)]),
         {"times": (2,), "means": (2,)}, {}),
        ("smaller_acceleration", lambda times, means, v: np.array([joint_trajectory.smaller_acceleration(
            *times, *means, *v)]), {"times": (2,), "means": (2,), "v": (3,)}, {}),
        ("quintic", quintic, {"duration": (1,), "ends": (6,)}, {}),
        ("quintic_value", lambda share, duration, factors: basis(share[0], duration[0]).dot(factors),
         {"share": (1,), "duration": (1,), "factors": (6,)}, {}),
        ("progress", lambda time: np.array(coming_to_rest.progress(time[0])), {"time": (1,)}, {}),
        ("soft_share", lambda share: np.array([supervisor.soft_share(share[0])]), {"share": (1,)}, {}),
        ("gravity_effort", dynamics.gravity, {"q": (n,)}, {}),
        ("tip_motion", tip_motion, {"q": (n,), "v": (n,)}, {"position": (3,), "velocity": (3,)})]
    return [CFunction(f"{prefix}_{name}", trace(function, shapes), (), outputs)
            for name, function, shapes, outputs in functions]
