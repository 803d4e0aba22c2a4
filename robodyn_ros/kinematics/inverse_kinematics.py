# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Numerical inverse kinematics: joint positions that bring a link to a pose ([Yamamoto] 1.9)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike

from robodyn_ros.base.checks import as_floats
from robodyn_ros.base.errors import InputError
from robodyn_ros.description.model import Array, RobotModel
from robodyn_ros.kinematics.arguments import as_rotation, as_rows
from robodyn_ros.kinematics.forward import path_to
from robodyn_ros.kinematics.newton_search import Attempt, PoseGoal, Search

POSE = (True,) * 6
"""All rows: position and orientation."""

POSITION = (True, True, True, False, False, False)
"""Position only; the orientation is arbitrary."""


class Kinematics(Protocol):
    """Functions of a robot that inverse kinematics calls; ``robot.dynamics()`` has them."""

    def forward_kinematics(self, q: ArrayLike, link: str | None = None) -> Array:
        """Pose of a link in the base frame, shape (4, 4)."""

    def jacobian(self, q: ArrayLike, link: str | None = None) -> Array:
        """Geometric Jacobian, shape (6, n), linear rows first, base axes."""


@dataclass(frozen=True, eq=False)
class InverseKinematicsResult:
    """Result of a search.

    Attributes:
        q: Joint positions of the solution, or else of the attempt that came nearest, shape (n,) [rad or m].
        success: Whether the errors are within the tolerances.
        reason: "solved", or a sentence with the reason of the failure.
        position_error: Remaining distance to the target on the selected rows [m].
        orientation_error: Remaining angle to the target on the selected rows [rad].
        attempts: Number of attempts, each from another start.
        iterations: Number of Newton steps over all attempts.
    """

    q: Array
    success: bool
    reason: str
    position_error: float
    orientation_error: float
    attempts: int
    iterations: int


def inverse_kinematics(
    model: RobotModel,
    kinematics: Kinematics,
    target: ArrayLike,
    q_start: ArrayLike | None = None,
    *,
    link: str | None = None,
    rows: Sequence[bool] | None = None,
    step: float = 1.0,
    position_tolerance: float = 1e-8,
    orientation_tolerance: float = 1e-8,
    max_iterations: int = 100,
    restarts: int = 50,
    respect_limits: bool = True,
    seed: int = 0,
) -> InverseKinematicsResult:
    """Search for joint positions that bring a link to a pose. [Yamamoto] 1.9, steps 1 to 5, (1.20) to (1.23).

    The search runs Newton's method, q_i = q_(i-1) + k J^-1 (r - r_(i-1)), with three additions:

    - The inverse is damped in proportion to the squared error [Sugihara]. Steps stay bounded near singular positions,
      and the method converges like Newton's.
    - Joints stay within their limits. A step omits joints that it would move beyond a limit at which they stand.
    - If an attempt stops coming nearer, the search starts another one from random joint positions.

    Args:
        model: The robot.
        kinematics: Forward kinematics and Jacobian of the robot, such as ``robot.dynamics()``.
        target: Target pose in the base frame, shape (4, 4) [m]; or a target position only, shape (3,) [m].
        q_start: Start of the first attempt, shape (n,) [rad or m], clipped to the limits; None for the middle of the
            range.
        link: Name of the link to bring to the target; None for the tip link.
        rows: Selection of six errors: translation along the base's x, y, z, rotation about the target's x, y, z.
            None selects all six, or the first three if the target is a position. A robot needs one joint for each
            selected row: a planar arm reaches x and y, a SCARA x, y, z and rotation about z.
        step: The book's k, in (0, 1]: fraction of each Newton step.
        position_tolerance: Greatest distance at which the target is reached [m].
        orientation_tolerance: Greatest angle at which the target is reached [rad].
        max_iterations: Number of steps per attempt with k = 1; a smaller k allows 1 / k times as many.
        restarts: Number of attempts after the first.
        respect_limits: Whether joints stay within their position limits.
        seed: Seed of the random starts; the same seed gives the same result.

    Returns:
        Joint positions, whether they reach the target, and if not, why. If the limits allow several full turns of a
        joint, the solution nearest to the start is returned. Joints that do not move the link keep their start.

    Raises:
        InputError: An argument has the wrong shape, is not a pose or is out of its range; or no link has that name.
    """
    pose, rows = _read_target(target, rows)
    _check_options(step, position_tolerance, orientation_tolerance, max_iterations, restarts)
    link = model.frame(model.tip_link if link is None else link).name
    goal = PoseGoal(pose, np.array(rows), position_tolerance, orientation_tolerance)
    if respect_limits:
        lower, upper = model.position_lower, model.position_upper
    else:
        lower, upper = np.full(model.n, -np.inf), np.full(model.n, np.inf)
    search = Search(
        forward_kinematics=lambda q: kinematics.forward_kinematics(q, link),
        jacobian=lambda q: kinematics.jacobian(q, link),
        goal=goal,
        lower=lower,
        upper=upper,
        step=step,
        max_iterations=math.ceil(max_iterations / step),
    )
    from_here, to_there = _finite_range(model, lower, upper)
    start = 0.5 * (from_here + to_there) if q_start is None else as_floats(q_start, (model.n,), "q_start")
    start = np.clip(start, lower, upper)

    moving = np.zeros(model.n, dtype=bool)
    moving[[model.joints[index].dof for index in path_to(model, model.frame(link).joint)]] = True

    hopeless = out_of_reach(model, link, goal)
    rng = np.random.default_rng(seed)
    best = search.attempt(start)
    attempts, iterations = 1, best.iterations
    while not best.reached and attempts <= restarts and not hopeless:
        found = search.attempt(np.where(moving, rng.uniform(from_here, to_there), start))
        attempts, iterations = attempts + 1, iterations + found.iterations
        if found.reached or found.distance < best.distance:
            best = found
    if best.reached:
        reason, q = "solved", _nearest_turn(model, best.q, start, lower, upper)
    else:
        reason, q = hopeless or explain_failure(model, search, best, restarts), best.q
    error, _ = search.equations(q)
    position_error, orientation_error = float(np.linalg.norm(error[:3])), float(np.linalg.norm(error[3:]))
    return InverseKinematicsResult(q, best.reached, reason, position_error, orientation_error, attempts, iterations)


def _read_target(target: ArrayLike, rows: Sequence[bool] | None) -> tuple[Array, tuple[bool, ...]]:
    """Return the target as a pose, and the selected rows."""
    position_alone = np.shape(target) == (3,)
    if position_alone:
        pose = np.eye(4)
        pose[:3, 3] = as_floats(target, (3,), "target")
    else:
        pose = as_floats(target, (4, 4), "target")
        as_rotation(pose[:3, :3], "target's rotation")
    if rows is None:
        return pose, POSITION if position_alone else POSE
    chosen = as_rows(rows)
    if position_alone and any(chosen[3:]):
        raise InputError("rows: expected no rotation for a target of shape (3,); give a pose of shape (4, 4)")
    return pose, chosen


def _check_options(
    step: float, position_tolerance: float, orientation_tolerance: float, max_iterations: int, restarts: int
) -> None:
    if not 0.0 < step <= 1.0:
        raise InputError(f"step: expected more than 0 and at most 1, received {step}")
    for name, tolerance in (
        ("position_tolerance", position_tolerance),
        ("orientation_tolerance", orientation_tolerance),
    ):
        if not tolerance > 0.0:
            raise InputError(f"{name}: expected more than 0, received {tolerance}")
    for name, count, least in (("max_iterations", max_iterations, 1), ("restarts", restarts, 0)):
        if count < least:
            raise InputError(f"{name}: expected {least} or more, received {count}")


def _finite_range(model: RobotModel, lower: Array, upper: Array) -> tuple[Array, Array]:
    """Range of random starts: the limits; a joint without limits gets a range of one turn or two metres."""
    half = np.array([1.0 if joint.kind == "prismatic" else np.pi for joint in model.leaders])
    bounded_below, bounded_above = np.isfinite(lower), np.isfinite(upper)
    low = np.where(bounded_below, lower, np.where(bounded_above, upper - 2.0 * half, -half))
    high = np.where(bounded_above, upper, np.where(bounded_below, lower + 2.0 * half, half))
    return low, high


def _nearest_turn(model: RobotModel, q: Array, start: Array, lower: Array, upper: Array) -> Array:
    """Move joints of ``q`` by full turns towards the start, as far as the limits allow it."""
    turns = np.zeros(model.n)
    for index, joint in enumerate(model.leaders):
        mimicked = sum(other.dof == index for other in model.joints) > 1
        if joint.kind != "prismatic" and not mimicked:
            turns[index] = np.round((q[index] - start[index]) / (2.0 * np.pi))
    moved = q - 2.0 * np.pi * turns
    return np.where((lower <= moved) & (moved <= upper), moved, q)


SINGULAR = 1e-3
"""Ratio of least to greatest singular value of the Jacobian below which a position counts as singular."""


def out_of_reach(model: RobotModel, link: str, goal: PoseGoal) -> str:
    """Explain why the link cannot reach the target at any joint position; empty if the target may be within reach.

    The distance of the link from the first joint's link frame never exceeds the summed lengths of the links between
    them.

    Args:
        model: The robot.
        link: Name of the link to bring to the target.
        goal: The target pose, the selected rows and the tolerances.
    """
    frame = model.frame(link)
    path = [model.joints[index] for index in path_to(model, frame.joint)]
    if not path:
        return f"no joint moves the link '{link}'"
    if not goal.rows[:3].all():
        return ""
    reach = float(np.linalg.norm(frame.pose_link_frame[:3, 3]))
    for joint in path[1:]:
        reach += float(np.linalg.norm(joint.pose_parent_link[:3, 3]))
    for joint in path:
        if joint.kind == "prismatic":
            ends = joint.multiplier * np.array([model.position_lower[joint.dof], model.position_upper[joint.dof]])
            reach += float(np.abs(ends + joint.offset).max())
    first = path[0].pose_parent_link[:3, 3]
    distance = float(np.linalg.norm(goal.target[:3, 3] - first))
    if distance - goal.position_tolerance <= reach * (1.0 + 1e-12):
        return ""
    return (
        f"out of reach: the target is {distance:.4g} m from joint '{path[0].name}', and all links put end to end are "
        f"{reach:.4g} m long"
    )


def explain_failure(model: RobotModel, search: Search, best: Attempt, restarts: int) -> str:
    """Explain why the best of all attempts did not reach the goal.

    Args:
        model: The robot.
        search: The search that made the attempts.
        best: The attempt that came nearest.
        restarts: Number of attempts after the first.
    """
    _, jacobian = search.equations(best.q)
    rows, joints = len(jacobian), int(np.any(jacobian != 0.0, axis=0).sum())
    left = f"{best.distance:.3g} (metres and radians together) is left after {restarts + 1} attempts"
    free = search.without_limits().attempt(best.q)
    if free.reached:
        beyond = [
            name
            for name, value, lower, upper in zip(model.joint_names, free.q, search.lower, search.upper, strict=True)
            if not lower <= value <= upper
        ]
        if beyond:
            return f"joint limits: the way to the target leads beyond those of {', '.join(beyond)}; {left}"
    if joints < rows:
        return f"too few joints: {rows} rows are asked for and {joints} joints move the link; leave out rows; {left}"
    if best.iterations >= search.max_iterations:
        return f"the iterations ran out while the link still came nearer; allow more of them; {left}"
    singular_values = np.linalg.svd(jacobian, compute_uv=False)
    if singular_values[-1] < SINGULAR * singular_values[0]:
        return f"at the edge of the reach: the nearest position found is singular, as of a stretched arm; {left}"
    at_limits = [
        name
        for name, value, lower, upper in zip(model.joint_names, best.q, search.lower, search.upper, strict=True)
        if value in (lower, upper)
    ]
    if at_limits:
        return f"joint limits: the nearest position found has {', '.join(at_limits)} at a limit; {left}"
    return f"no attempt came nearer: more restarts may find a way; {left}"
