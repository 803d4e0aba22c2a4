# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Completes a URDF: missing or impossible inertias are estimated from the shapes of the links.

Shapes have the same density in all links: the one that gives the total mass, or that of the links with a known inertia.
Each estimated value carries an attribute ``estimated``, which ROS ignores.
"""

from __future__ import annotations

import contextlib
import math
import warnings
from collections.abc import Container
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple, Self

import numpy as np
from lxml import etree

from robodyn_ros.base.checks import MAX_MAGNITUDE, Range, as_number
from robodyn_ros.base.errors import DescriptionWarning, InputError, list_names, suggest
from robodyn_ros.description.completion.nearest_inertia import is_possible, nearest_possible
from robodyn_ros.description.completion.shape_inertia import ShapeInertia, shape_inertia
from robodyn_ros.description.document import ESTIMATED, Document, read_document
from robodyn_ros.description.joint_and_link_elements import read_mass, read_origin, read_rotational
from robodyn_ros.description.mesh_files import MeshReader, find_mesh
from robodyn_ros.description.model import NO_INERTIA, Array, Inertia
from robodyn_ros.description.report import Report
from robodyn_ros.description.robot_sources import mesh_folder, read_source
from robodyn_ros.description.urdf import load_urdf_text

DENSITIES = (50.0, 20_000.0)
"""Densities outside this range are reported: those of foam and gold [kg/m^3]."""

ACCELERATION_TIME = 0.05
"""Time in which a plausible drive reaches its speed limit under its effort limit [s]."""
FINGER_INERTIA, FINGER_MASS = 1e-3, 0.1
"""Reflected rotor inertia of a revolute and of a prismatic joint without limits [kg m^2, kg]."""

_GIVEN = Range(0.0, MAX_MAGNITUDE, above=True)


@dataclass(frozen=True)
class CompletionRule:
    """Source of the masses.

    Attributes:
        mass: Mass of all links, those fixed to the base included, as on a data sheet [kg]; None: not given.
        density: Density of all shapes [kg/m^3]; None: not given.
        repair: Whether an impossible inertia is replaced by the nearest possible one instead of that of the shapes.

    Raises:
        InputError: A number is not positive, or both are given.
    """

    mass: float | None = None
    density: float | None = None
    repair: bool = False

    def __post_init__(self) -> None:
        """Check the numbers."""
        for name, unit in (("mass", "kg"), ("density", "kg/m^3")):
            if getattr(self, name) is not None:
                as_number(getattr(self, name), _GIVEN, f"{name} [{unit}]")
        if self.mass is not None and self.density is not None:
            raise InputError("mass and density: expected one of them, received both")

    @classmethod
    def from_text(cls, text: str) -> Self:
        """Read a rule such as ``mass=35,repair``, or ``auto`` for no numbers.

        Raises:
            InputError: The text is no rule.
        """
        values: dict[str, float | bool] = {}
        for word in text.replace(",", " ").split():
            name, equals, number = word.partition("=")
            if name in values or (name == "repair" and equals) or (name in ("mass", "density") and not equals):
                raise InputError(f"complete: expected mass=KG, density=KG_PER_M3, repair or auto, received '{word}'")
            if name == "auto" and not equals:
                continue
            if name not in ("mass", "density", "repair"):
                raise InputError(f"complete: unknown '{word}': {suggest(name, ('mass', 'density', 'repair', 'auto'))}")
            try:
                values[name] = float(number) if equals else True
            except ValueError:
                raise InputError(f"complete: {name}: expected a number, received '{number}'") from None
        return cls(**values)  # type: ignore[arg-type]


class CompletedUrdf(NamedTuple):
    """A completed URDF."""

    text: str  # the URDF
    lines: tuple[str, ...]  # one line for each changed link and joint
    without: tuple[str, ...]  # moving links that still have no inertia, because they have no shape with a volume
    summary: str  # everything in one line; empty if nothing was changed


def complete_urdf(path: Path, rule: CompletionRule, *, absolute_meshes: bool = False) -> CompletedUrdf:
    """Estimate the inertias that are missing from a URDF or impossible for a body.

    Args:
        path: The URDF file.
        rule: Where masses come from.
        absolute_meshes: Whether to make the paths of meshes absolute, for a result in another folder.

    Raises:
        DescriptionError: The file cannot be read; moving links have neither inertia nor shape; a shape has no volume or
            cannot be read; or no density follows from the file and the rule.
    """
    document, report = read_document(read_source(path))
    with contextlib.closing(MeshReader()) as reader:
        completion = _Completion(document, report, rule, mesh_folder(path), reader)
        completion.run()
    if absolute_meshes:
        set_absolute_meshes(document.root, mesh_folder(path))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DescriptionWarning)
        model = load_urdf_text(document_text(document.root))
    rotors = _add_rotors(document, model.held)
    summary = [completion.summary] if completion.summary else []
    summary += [f"rotors of plausible drives at {len(rotors)} joints"] if rotors else []
    without = [document.joints[name].find("child").get("link") for name in model.held]
    return CompletedUrdf(document_text(document.root), (*completion.lines, *rotors),
                         (*model.links_without_inertia, *without), "; ".join(summary))


class _Completion:
    """Completes the links of one document.

    Attributes:
        lines: See `CompletedUrdf`.
        summary: The part about links.
    """

    def __init__(self, document: Document, report: Report, rule: CompletionRule, folder: Path, reader: MeshReader
                 ) -> None:
        self.lines: list[str] = []
        self.summary = ""
        self._document, self._report, self._rule, self._folder, self._reader = document, report, rule, folder, reader
        self._known_mass = 0.0
        self._bodies = rigid_bodies(document)

    def run(self) -> None:
        """Change the links in place, after all checks."""
        repaired, wanted = self._sorted_links()
        shapes = {name: self._shape(name) for name in wanted if self._bodies[name]}
        if any(shapes.values()):  # links that do not move count only with their mass
            shapes = {name: shapes[name] if name in shapes else self._shape(name) for name in wanted}
        self._check_shapes(wanted, shapes)
        shaped = {name: shape for name, shape in shapes.items() if shape is not None}
        density = self._density(wanted, shaped) if shaped else math.nan
        for name, (rotational, moved) in repaired.items():
            self._repair(name, rotational, moved)
        for name, shape in shaped.items():
            self._estimate(name, wanted[name], shape, density)
        at = f", at {density:.4g} kg/m^3" if math.isfinite(density) else ""
        parts = [f"inertias of {len(shaped)} links estimated from their shapes{at}"] if shaped else []
        parts += [f"{len(repaired)} repaired"] if repaired else []
        self.summary = f"{'; '.join(parts)}; {self._total():.4g} kg in all" if parts else ""

    def _sorted_links(self) -> tuple[dict[str, tuple[Array, float]], dict[str, float]]:
        """Links to repair, with their new inertia, and links to estimate, with their mass (0 if it is unknown).

        A link without inertia that is fixed to one with an inertia counts as part of that one.
        """
        repaired: dict[str, tuple[Array, float]] = {}
        wanted: dict[str, float] = {}
        complete: set[str] = set()
        for name, link in self._document.links.items():
            inertial = link.find("inertial")
            mass, rotational = (0.0, np.zeros((3, 3))) if inertial is None else (
                read_mass(inertial), read_rotational(inertial))
            known = max(mass, 0.0)
            self._known_mass += known
            if mass > 0.0 and np.max(np.abs(rotational)) > NO_INERTIA:
                if is_possible(rotational):
                    complete.add(self._bodies[name])
                    continue
                nearest, moved = nearest_possible(rotational)
                if self._rule.repair and np.trace(nearest) > 0.0:
                    repaired[name] = nearest, moved
                    continue
            wanted[name] = known
        links = self._document.links
        return repaired, {name: mass for name, mass in wanted.items()
                          if self._bodies[name] not in complete or links[name].find("inertial") is not None}

    def _shape(self, name: str) -> ShapeInertia | None:
        return shape_inertia(self._document.links[name], self._report, self._folder, self._reader)

    def _check_shapes(self, wanted: dict[str, float], shapes: dict[str, ShapeInertia | None]) -> None:
        links = self._document.links
        for name in wanted:
            if shapes.get(name) is None and self._bodies[name] and links[name].find("inertial") is not None:
                inertial = links[name].find("inertial")
                if read_mass(inertial) < 0.0 or not is_possible(read_rotational(inertial)):
                    raise self._report.error(links[name], "no body can have its inertia, and it has no shape to "
                                             "estimate one from", "correct it, or take the nearest one: --repair")
        missing = [name for name in wanted if self._bodies[name] and links[name].find("inertial") is None]
        if missing and self._known_mass == 0.0 and not any(shapes.values()):
            raise self._report.error(None, f"no inertia can be estimated: the links {list_names(missing)} have neither "
                                     "inertia nor shapes", "give them <collision>, <visual> or <inertial>")

    def _density(self, wanted: dict[str, float], shaped: dict[str, ShapeInertia]) -> float:
        """Density of the links without mass; NaN where all masses are known."""
        rule = self._rule
        volume = sum(shape.body.mass for name, shape in shaped.items() if wanted[name] == 0.0)
        if rule.density is not None or volume == 0.0:
            return rule.density if rule.density is not None else math.nan
        if rule.mass is not None:
            if rule.mass <= self._known_mass:
                raise self._report.error(None, f"a mass of {rule.mass:g} kg in all leaves nothing for the links "
                                         f"without inertia: the others have {self._known_mass:.6g} kg",
                                         "give the mass of the whole robot, its base included")
            return (rule.mass - self._known_mass) / volume
        known = [(read_mass(link.find("inertial")), self._shape(name)) for name, link in self._document.links.items()
                 if name not in wanted and link.find("inertial") is not None]
        pairs = [(mass, shape.body.mass) for mass, shape in known if shape is not None]
        if not pairs:
            raise self._report.error(None, "no density follows from the file: no link has both an inertia and a shape",
                                     "give --mass TOTAL, as the data sheet has it, or --density")
        return sum(mass for mass, _ in pairs) / sum(volume for _, volume in pairs)

    def _estimate(self, name: str, mass: float, shape: ShapeInertia, density: float) -> None:
        link = self._document.links[name]
        own = density if mass == 0.0 else mass / shape.body.mass
        inertial = link.find("inertial")
        pose = np.eye(4) if inertial is None or mass == 0.0 else read_origin(inertial)
        com = pose[:3, 3] if mass > 0.0 else shape.body.com
        body = Inertia(own * shape.body.mass, com, own * shape.body.rotational)
        text = f"from its {shape.source}, at {own:.4g} kg/m^3"
        text += "" if mass == 0.0 else "; mass and centre of mass as given"
        if not DENSITIES[0] <= own <= DENSITIES[1]:
            text += ", the density of no material: check masses and sizes"
        self._write(name, body, text)

    def _repair(self, name: str, rotational: Array, moved: float) -> None:
        inertial = self._document.links[name].find("inertial")
        pose = read_origin(inertial)
        turned = Inertia(read_mass(inertial), np.zeros(3), rotational).transformed(pose)
        self._write(name, turned, f"the nearest possible inertia, {100.0 * moved:.3g} % from the one given")

    def _write(self, name: str, body: Inertia, text: str) -> None:
        link = self._document.links[name]
        inertial = inertial_element(body, text)
        old = link.find("inertial")
        if old is None:
            link.insert(0, inertial)
        else:
            inertial.tail = old.tail
            link.replace(old, inertial)
        self.lines.append(f"link {name}: {body.mass:.4g} kg, {text}")

    def _total(self) -> float:
        return sum(read_mass(link.find("inertial")) for link in self._document.links.values()
                   if link.find("inertial") is not None)


def inertial_element(body: Inertia, estimated: str) -> etree._Element:
    """Return the element ``<inertial>`` of a body, marked as estimated."""
    inertial = etree.Element("inertial", {ESTIMATED: estimated})
    etree.SubElement(inertial, "origin", xyz=" ".join(map(_number, body.com)), rpy="0 0 0")
    etree.SubElement(inertial, "mass", value=_number(body.mass))
    etree.SubElement(inertial, "inertia", {f"i{'xyz'[row]}{'xyz'[column]}": _number(body.rotational[row, column])
                                           for row, column in zip(*np.triu_indices(3), strict=True)})
    inertial.tail = "\n  "
    return inertial


def _add_rotors(document: Document, held: Container[str]) -> list[str]:
    """Give joints that still move no inertia the rotor of a plausible drive; return a line for each."""
    lines = []
    for name, element in document.joints.items():
        if name not in held or element.find("mimic") is not None:
            continue
        limit = element.find("limit")
        effort, speed = (0.0 if limit is None else float(limit.get(key, 0.0)) for key in ("effort", "velocity"))
        turns = element.get("type") != "prismatic"
        armature = FINGER_INERTIA if turns else FINGER_MASS
        why = "a rotor of the usual size"
        if 0.0 < effort < MAX_MAGNITUDE and 0.0 < speed < MAX_MAGNITUDE:
            armature = effort * ACCELERATION_TIME / speed
            why = f"a rotor that reaches the speed limit in {ACCELERATION_TIME:g} s"
        why += f", {armature:.4g} {'kg m^2' if turns else 'kg'} at the joint"
        set_armature(element, armature).set(ESTIMATED, why)
        lines.append(f"joint {name}: {why}")
    return lines


def set_armature(joint: etree._Element, armature: float) -> etree._Element:
    """Write the inertia of a joint's rotor [kg m^2 or kg] into its ``<dynamics>``, and return that element."""
    dynamics = joint.find("dynamics")
    if dynamics is None:
        dynamics = etree.SubElement(joint, "dynamics", damping="0")
    dynamics.set("armature", _number(armature))
    return dynamics


def rigid_bodies(document: Document) -> dict[str, str]:
    """Representative link of each rigid body (links fixed to each other): the moving joint's link, "" for the base."""
    children: dict[str, list[etree._Element]] = {}
    for joint in document.joints.values():
        children.setdefault(joint.find("parent").get("link"), []).append(joint)
    bodies, pending = {document.base: ""}, [document.base]
    while pending:
        parent = pending.pop()
        for joint in children.get(parent, ()):
            link = joint.find("child").get("link")
            bodies[link] = bodies[parent] if joint.get("type") == "fixed" else link
            pending.append(link)
    return bodies


def set_absolute_meshes(root: etree._Element, folder: Path) -> None:
    """Make the relative paths of meshes absolute if the file is found; paths in packages stay."""
    for mesh in root.xpath(".//mesh[not(starts-with(@filename, 'package://'))]"):
        with contextlib.suppress(OSError, ValueError):  # meshes that are not found keep their paths
            mesh.set("filename", f"file://{find_mesh(mesh.get('filename', ''), folder).resolve()}")


def document_text(root: etree._Element) -> str:
    """Return the XML of a document."""
    return str(etree.tostring(root.getroottree(), encoding="unicode", pretty_print=True))


def _number(value: float) -> str:
    return f"{float(value):.9g}"
