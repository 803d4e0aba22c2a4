# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""What ``robodyn check`` prints of a robot: tree, limits, masses, reach, Denavit-Hartenberg table, doubts."""

from __future__ import annotations

import itertools
import math
from collections import defaultdict
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import numpy as np
from lxml import etree

from robodyn_ros.base.errors import DescriptionError
from robodyn_ros.description.default_tip import is_tool_frame
from robodyn_ros.description.document import Document, estimates, read_document
from robodyn_ros.description.doubts import find_doubts
from robodyn_ros.description.find_denavit_hartenberg import find_denavit_hartenberg
from robodyn_ros.description.joint_and_link_elements import read_origin
from robodyn_ros.description.model import Array, RobotModel
from robodyn_ros.description.robot_sources import mesh_folder
from robodyn_ros.kinematics.reach import reach
from robodyn_ros.robot import Robot

_MOST_TIPS = 12

POSTURES = 32
"""Random postures whose gravity efforts are compared."""


def report(robot: Robot, file: Path) -> tuple[list[str], list[str]]:
    """Describe a robot.

    Args:
        robot: The robot.
        file: Its URDF.

    Returns:
        The lines of the description, and the doubts.
    """
    model = robot.model
    document, messages = read_document(file)
    gravity = gravity_efforts(robot)
    moving = sum(joint.inertia.mass for joint in model.joints)
    lines = [f"{model.name}: {model.n} joints, {len(model.frames)} links, {moving:.6g} kg moving, "
             f"reach {reach(model):.4g} m",
             f"base link {model.base_link}, tip link {model.tip_link}", *other_tips(model), "",
             *tree(document), *estimated(document), "", *joint_table(model, gravity), *coupled_motors(model), "",
             *dh_table(model)]
    boxes = link_boxes(model, document, mesh_folder(file))
    return lines, find_doubts(document, messages, model, boxes, gravity, reach(model))


def other_tips(model: RobotModel) -> Iterator[str]:
    """Yield the other links that may be the tip: those called like a tool frame, and those at the tip or behind it."""
    behind = [model.frames[model.tip_link].joint]
    for index, joint in enumerate(model.joints):
        if joint.parent in behind:
            behind.append(index)
    found = [frame.name for frame in model.frames.values() if frame.name != model.tip_link
             and (is_tool_frame(frame.name) or frame.joint in behind and frame.joint >= 0)]
    if found:
        yield f"other links for --tip-link: {', '.join(found[:_MOST_TIPS])}" + (", …" if found[_MOST_TIPS:] else "")


def coupled_motors(model: RobotModel) -> Iterator[str]:
    """Yield the couplings of motors and joints; nothing if there are none."""
    for coupling in model.couplings:
        rows = "; ".join(f"motor of {joint} " + " ".join(f"{turns:+.6g}" for turns in row)
                         for joint, row in zip(coupling.joints, coupling.matrix, strict=True))
        yield f"coupled joints {', '.join(coupling.joints)}, turns of the motors for one of each joint: {rows}"


def tree(document: Document) -> Iterator[str]:
    """Yield the links as a tree: the joint, its type, its link, and the mass of that link."""
    children = defaultdict(list)
    for joint in document.joints.values():
        children[joint.find("parent").get("link")].append(joint)

    def labelled(link: str) -> str:
        mass = document.links[link].find("inertial/mass")
        return link if mass is None else f"{link}  {float(mass.get('value')):.4g} kg"

    yield labelled(document.base)
    pending = [(joint, "", joint is children[document.base][-1]) for joint in reversed(children[document.base])]
    while pending:  # a stack: chains may be longer than Python's call stack
        joint, indent, last = pending.pop()
        link = joint.find("child").get("link")
        mimics = joint.find("mimic")
        kind = joint.get("type") if mimics is None else f"{joint.get('type')}, mimics {mimics.get('joint')}"
        yield f"{indent}{'└─' if last else '├─'} {joint.get('name')} ({kind}) → {labelled(link)}"
        inner = indent + ("   " if last else "│  ")
        pending += [(child, inner, child is children[link][-1]) for child in reversed(children[link])]


def estimated(document: Document) -> Iterator[str]:
    """Yield the values that ``robodyn complete`` has estimated, after an empty line; nothing if there are none."""
    found = list(estimates(document))
    yield from ["", "estimated by robodyn complete:", *found] if found else ()


def joint_table(model: RobotModel, gravity: Array) -> Iterator[str]:
    """Yield limits, gravity's effort, friction and rotor of the moving joints, and the mass of each up to the next.

    Args:
        model: The robot.
        gravity: As of `gravity_efforts`.
    """
    width = max(map(len, ("joint", *(joint.name for joint in model.joints))))
    row = ("{:<%d} {:<10}" % width + " {:>10}" * 9).format  # noqa: UP031 - braces
    yield row("joint", "kind", "lower", "upper", "velocity", "effort", "gravity", "mass", "damping", "friction",
              "armature")
    yield row("", "", "[rad, m]", "[rad, m]", "[rad, m/s]", "[N m, N]", "[N m, N]", "[kg]", "[N m s, …]", "[N m, N]",
              "[kg m², kg]")
    for joint in model.joints:
        limits, leads = joint.limits, joint.name in model.joint_names
        numbers = (limits.lower, limits.upper, limits.velocity, limits.effort,
                   gravity[joint.dof] if leads else math.nan, joint.inertia.mass, joint.damping, joint.friction,
                   joint.armature)
        shown = ("none" if math.isinf(x) else "" if math.isnan(x) else f"{x:.4g}" for x in numbers)
        yield row(joint.name, joint.kind if leads else "mimic", *shown)
    if model.has_inertia:
        yield f"gravity: the greatest effort that holds the robot in {POSTURES} random postures"
    if model.held:
        held = ", ".join(f"{name} at {position:.4g}" for name, position in model.held.items())
        yield f"held as if fixed, since no inertia moves with them: {held}"


def dh_table(model: RobotModel) -> Iterator[str]:
    """Yield the modified Denavit-Hartenberg parameters of the chain to the tip link, or why there are none."""
    try:
        rows = find_denavit_hartenberg(model).rows
    except DescriptionError as error:
        yield f"no Denavit-Hartenberg table: {error}"
        return
    yield f"modified Denavit-Hartenberg parameters of the chain to {model.tip_link}"
    width = max(len("joint"), *(len(row.name or "") for row in rows))
    yield f"{'joint':<{width}} {'a [m]':>10} {'alpha [deg]':>12} {'d [m]':>10} {'theta [deg]':>12}"
    for row in rows:
        numbers = np.array([row.a, math.degrees(row.alpha), row.d, math.degrees(row.theta)]).round(6) + 0.0  # no -0
        a, alpha, d, theta = numbers
        yield f"{row.name:<{width}} {a:>10.6g} {alpha:>12.6g} {d:>10.6g} {theta:>12.6g}"


def gravity_efforts(robot: Robot) -> Array:
    """Return the greatest effort that holds the robot against gravity in random postures, shape (n,) [N m or N].

    NaN for a robot without inertia.
    """
    model = robot.model
    if not model.has_inertia:
        return np.full(model.n, np.nan)
    gravity = robot.dynamics(compiled=False).gravity  # compiling takes longer than these calls
    return np.abs([gravity(q) for q in random_postures(model)]).max(axis=0).round(9)  # without rounding noise


def random_postures(model: RobotModel) -> Array:
    """Return random joint positions within the limits, or within half a turn or metre, shape (POSTURES, n)."""
    span = np.array([0.5 if joint.kind == "prismatic" else math.pi for joint in model.leaders])
    lower = np.where(np.isfinite(model.position_lower), model.position_lower, -span)
    upper = np.where(np.isfinite(model.position_upper), model.position_upper, span)
    return np.random.default_rng(0).uniform(lower, np.maximum(lower, upper), (POSTURES, model.n))


def link_boxes(model: RobotModel, document: Document, folder: Path) -> dict[str, Array]:
    """Return the box around the shapes of each link whose shapes are known, in its frame: corners, shape (2, 3) [m].

    Args:
        model: The robot.
        document: Its URDF.
        folder: Folder of the URDF file, to which mesh paths are relative.
    """
    corners: dict[str, list[Array]] = defaultdict(list)
    missing: set[str] = set()
    if "<mesh" not in model.description:
        return primitive_boxes(document)
    from robodyn_ros.toolbox.view.link_meshes import described_meshes  # its libraries need a second to import

    for shape in described_meshes(model, folder, [], missing):
        corners[shape.link].append(np.asarray(shape.mesh.bounds))
    return {link: np.array([np.min([low for low, _ in found], axis=0), np.max([high for _, high in found], axis=0)])
            for link, found in corners.items() if link not in missing}


def primitive_boxes(document: Document) -> dict[str, Array]:
    """As `link_boxes`, for a robot whose shapes are boxes, cylinders and spheres alone."""
    for tag in ("visual", "collision"):
        boxes: dict[str, Array] = {}
        for name, link in document.links.items():
            with suppress(AttributeError, IndexError, TypeError, ValueError):  # the doubts tell of odd numbers
                corners = np.vstack([_corners(shape) for shape in link.iterchildren(tag)])
                boxes[name] = np.array([corners.min(axis=0), corners.max(axis=0)])
        if boxes:
            return boxes
    return {}


def _corners(shape: etree._Element) -> Array:
    """Corners of the box around a primitive, shape (8, 3), in the frame of its link [m]."""
    primitive = shape.find("geometry")[0]
    radius = float(primitive.get("radius", "nan"))
    size = {"box": lambda: [float(number) for number in primitive.get("size").split()],
            "cylinder": lambda: [2.0 * radius, 2.0 * radius, float(primitive.get("length"))],
            "sphere": lambda: [2.0 * radius] * 3}.get(primitive.tag, lambda: [math.nan])()
    if len(size) != 3 or not all(0.0 < length < math.inf for length in size):
        raise ValueError
    pose = read_origin(shape)
    return np.array(list(itertools.product((-0.5, 0.5), repeat=3))) * size @ pose[:3, :3].T + pose[:3, 3]
