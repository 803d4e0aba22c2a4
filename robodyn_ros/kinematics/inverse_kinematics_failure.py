# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Explanations, in one sentence, of why inverse kinematics found no solution."""

from __future__ import annotations

import numpy as np

from robodyn_ros.description.model import RobotModel
from robodyn_ros.kinematics.forward import path_to
from robodyn_ros.kinematics.newton_search import Attempt, PoseGoal, Search

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
