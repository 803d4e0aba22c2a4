# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""A URDF as a checked XML tree: well formed, all names known, all numbers finite, one tree of links.

Each error names file, line and element. Modules that read values from the document need no further checks.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np
from lxml import etree

from robodyn_ros.base.checks import Range
from robodyn_ros.base.errors import DescriptionError, shown, suggest
from robodyn_ros.description import ranges
from robodyn_ros.description.joint_and_link_elements import UNIT_TOLERANCE, as_number, read_numbers
from robodyn_ros.description.mjcf.urdf_text import roll_pitch_yaw
from robodyn_ros.description.report import Report, label, tag_of
from robodyn_ros.description.robot_sources import UrdfSource

ESTIMATED = "estimated"
"""Attribute of an ``<inertial>`` or ``<dynamics>`` with estimated numbers; its text names their source."""
MOVING_KINDS = ("revolute", "continuous", "prismatic")

# (path below the link or joint, attribute, count of numbers, text assumed with a warning if it is missing, range)
_MOMENTS = ("ixx", "ixy", "ixz", "iyy", "iyz", "izz")
_Number = tuple[str, str, int, str, Range]
_ORIGIN_NUMBERS: tuple[_Number, ...] = (("origin", "xyz", 3, "", ranges.LENGTH), ("origin", "rpy", 3, "", ranges.ANGLE))
_LINK_NUMBERS: tuple[_Number, ...] = (
    ("inertial/origin", "xyz", 3, "", ranges.LENGTH),
    ("inertial/origin", "rpy", 3, "", ranges.ANGLE),
    ("inertial/mass", "value", 1, "0", ranges.MASS),
    *(("inertial/inertia", name, 1, "", ranges.MOMENT_OF_INERTIA) for name in _MOMENTS),
)
_JOINT_NUMBERS: tuple[_Number, ...] = (
    *_ORIGIN_NUMBERS,
    ("axis", "xyz", 3, "1 0 0", ranges.AXIS),
    *(("limit", name, 1, "", ranges.LIMIT) for name in ("lower", "upper", "velocity", "effort")),
    ("dynamics", "damping", 1, "", ranges.FRICTION),
    ("dynamics", "friction", 1, "", ranges.FRICTION),
    ("dynamics", "armature", 1, "", ranges.MOMENT_OF_INERTIA),
    ("mimic", "multiplier", 1, "", ranges.MULTIPLIER),
    ("mimic", "offset", 1, "", ranges.LENGTH),
)
_MOTIONS = ("axis", "limit", "dynamics", "mimic", "safety_controller", "calibration")
"""Elements of a joint that describe its motion."""

_URDF_ELEMENTS = {
    "robot": ("link", "joint", "material", "gazebo", "transmission", "ros2_control", "sensor", "mujoco"),
    "link": ("inertial", "visual", "collision"),
    "inertial": ("origin", "mass", "inertia"),
    "joint": ("origin", "parent", "child", *_MOTIONS),
}
"""Elements of a URDF, by the element that contains them; any other is ignored with a warning."""

_REPEATABLE = ("link", "joint", "material", "gazebo", "transmission", "ros2_control", "sensor", "visual", "collision")
"""Elements that may occur more than once."""

_INFINITE = re.compile(r"[+-]?inf(inity)?", re.IGNORECASE | re.ASCII)
"""A limit written as infinity, which urdfdom does not read."""

_DECLARATION = re.compile(r"<\?xml [^>]*\?>")
_LONE_AMPERSAND = re.compile(r"&(?!(amp|lt|gt|quot|apos|#\d+|#x[0-9a-fA-F]+);)")

# Errors of libxml2 that published files contain: undeclared prefixes (<sensor:camera>), and version="0.0".
_TOLERATED = ("NS_ERR_UNDEFINED_NAMESPACE", "ERR_UNKNOWN_VERSION")
_XACRO_INPUT = ("arg", "attribute", "element", "if", "include", "insert_block", "macro", "property", "unless")
"""Elements that xacro removes. Calls of macros that remain are ignored, as urdfdom does."""
_XACRO = ("it is a xacro file that has not been expanded",
          "give it a name that ends in .xacro, or run `xacro file.xacro > file.urdf` and load the result")


@dataclass(frozen=True)
class Document:
    """A checked URDF."""

    root: etree._Element  # the ``<robot>`` element
    text: str  # the XML as given
    links: dict[str, etree._Element]  # the link elements by name, in document order
    joints: dict[str, etree._Element]  # the joint elements by name, in document order
    base: str  # name of the root link


def read_document(source: UrdfSource) -> tuple[Document, Report]:
    """Parse and check a URDF.

    Args:
        source: Its XML, see `read_source` and `text_source`.

    Returns:
        The document, and the report that later checks extend.

    Raises:
        DescriptionError: The document is not such a tree.
    """
    report = Report(source.name, source.is_made)
    root, text = _parse(source.data, report)
    _check_root(root, report)
    for tag in ("link", "joint"):  # checked first, because the other checks would take long
        if (count := len(root.findall(tag))) > ranges.MAX_LINKS:
            raise report.error(root, f"it has {count} {tag}s",
                               f"a robot has at most {ranges.MAX_LINKS} here: leave some out")
    _check_elements(root, report)
    _replace_quaternions(root, report)
    links = _by_name(root, "link", report)
    joints = _by_name(root, "joint", report)
    if not links:
        raise report.error(root, "the robot has no links", "a URDF needs at least one <link> and one moving <joint>")
    for link in links.values():
        _check_numbers(link, _LINK_NUMBERS, report)
        inertia = link.find("inertial/inertia")
        if inertia is not None and (missing := [name for name in _MOMENTS if name not in inertia.attrib]):
            report.warn(inertia, f"without {', '.join(missing)}, ROS reads no inertia of this link",
                        "taken as 0; add them")
    for joint in joints.values():
        _check_joint(joint, links, report)
        _check_numbers(joint, _ORIGIN_NUMBERS if joint.get("type") == "fixed" else _JOINT_NUMBERS, report)
    _make_independent(joints, report)
    return Document(root, text, links, joints, _find_base(root, links, joints, report)), report


def estimates(document: Document) -> Iterator[str]:
    """Yield a line for each value of a URDF that was estimated."""
    for kind, elements in (("link", document.links), ("joint", document.joints)):
        for name, element in elements.items():
            for tag in ("inertial", "dynamics"):
                found = element.find(tag)
                if found is not None and found.get(ESTIMATED) is not None:
                    yield f"{kind} {name}: {found.get(ESTIMATED)}"


def _parse(data: bytes | str, report: Report) -> tuple[etree._Element, str]:
    """Return the outermost element, and the text that was read."""
    try:
        return _parse_xml(data, report)
    except DescriptionError as error:
        refusal = error
    try:
        parsed = _parse_xml(_as_urdfdom_reads(data), report)
    except DescriptionError:
        raise refusal from None
    report.warn(None, str(refusal).removeprefix(f"{report.source}: ").partition(";")[0],
                "read as ROS does: as UTF-8 or else Latin-1, without comments, a lone & as text; correct it")
    return parsed


def _as_urdfdom_reads(data: bytes | str) -> str:
    """Return a text in which everything that urdfdom's parser tolerates is well formed; line numbers stay."""
    given = data if isinstance(data, str) else ""
    if isinstance(data, bytes):
        try:
            given = data.decode("utf-8")
        except UnicodeDecodeError:
            given = data.decode("latin-1")
    text = _DECLARATION.sub("", given.lstrip("\ufeff \t\r\n"))
    kept, end = [], 0
    while (begin := text.find("<!--", end)) >= 0 and (after := text.find("-->", begin)) >= 0:
        kept += [text[end:begin], "\n" * text.count("\n", begin, after)]
        end = after + 3
    text = "".join([*kept, text[end:]])
    return text if "<!ENTITY" in text else _LONE_AMPERSAND.sub("&amp;", text)


def _parse_xml(data: bytes | str, report: Report) -> tuple[etree._Element, str]:
    # Entities stay unresolved and nothing is fetched. A str is UTF-8 here, regardless of its XML declaration.
    parser = etree.XMLParser(
        resolve_entities=False,
        no_network=True,
        load_dtd=False,
        huge_tree=False,
        recover=True,  # for the errors in _TOLERATED; all other errors are reported below
        encoding="utf-8" if isinstance(data, str) else None,
    )
    raw = data.lstrip("\ufeff").encode("utf-8", "replace") if isinstance(data, str) else data
    if raw.lstrip().startswith(b"<?xml"):  # XML forbids white space before it; published files have some
        raw = raw.lstrip()
    try:
        root = etree.fromstring(raw, parser=parser)
    except etree.XMLSyntaxError as error:
        raise report.error(None, f"malformed XML: {error}", "correct the file there") from error
    for entry in parser.error_log:
        if entry.type_name not in _TOLERATED:
            place = f"line {entry.line}, column {entry.column}"
            raise report.error(None, f"malformed XML at {place}: {entry.message}", "correct the file there")
    if root is None:
        raise report.error(None, "malformed XML: it contains no element", "a URDF has one <robot> element")
    document = root.getroottree().docinfo
    if document.internalDTD is not None and any(True for _ in document.internalDTD.iterentities()):
        problem = "the XML declares entities (<!ENTITY>), which are not read"
        raise report.error(None, problem, "replace them by their text")
    text = data if isinstance(data, str) else data.decode(document.encoding or "utf-8", "replace")
    return root, text.lstrip("\ufeff \t\r\n")


def _check_root(root: etree._Element, report: Report) -> None:
    namespace = etree.QName(root).namespace
    for element in root.iter(etree.Element):
        if namespace is not None and element.tag.startswith(f"{{{namespace}}}"):  # a default namespace is ignored
            element.tag = element.tag.partition("}")[2]
    if root.tag != "robot":
        raise report.error(
            root, f"the outermost element is <{root.tag}>, not <robot>",
            "pass a URDF; MJCF files are read by Robot.from_mjcf and as --robot FILE.xml, SDF files are not read"
        )
    if not root.get("name"):
        report.warn(root, "the robot has no name", 'taken as "robot"; give <robot> an attribute name="..."')
        root.set("name", "robot")


def _replace_quaternions(root: etree._Element, report: Report) -> None:
    """Replace each ``quat_xyzw`` of an origin, part of URDF since version 1.1, by the equivalent ``rpy``.

    As in urdfdom, quaternions in older files are ignored with a warning, and an origin may not have both.
    """
    origins = root.xpath(".//origin[@quat_xyzw]")
    if not origins:
        return
    from scipy.spatial.transform import Rotation  # its import takes longer than reading most files

    old = as_number(root.get("version", "1.0")) < 1.1
    for origin in origins:
        if old:
            report.warn(origin, f'quat_xyzw is read since URDF 1.1, and this file has version '
                        f'{root.get("version", "1.0")}', 'ignored, as ROS does; write <robot version="1.1">')
        elif "rpy" in origin.attrib:
            raise report.error(origin, "it has both rpy and quat_xyzw", "remove one of them")
        else:
            _check_numbers(origin, ((".", "quat_xyzw", 4, "", ranges.AXIS),), report)
            quaternion = read_numbers(origin, "quat_xyzw")
            length = float(np.linalg.norm(quaternion))
            if length == 0.0:
                raise report.error(origin, "its quaternion is zero and has no direction",
                                   'give a unit quaternion, e.g. quat_xyzw="0 0 0 1"')
            if abs(length - 1.0) > UNIT_TOLERANCE:
                report.warn(origin, f"its quaternion has length {length:.6g} instead of 1",
                            "it is normalised; write a unit quaternion")
            rotation = Rotation.from_quat(quaternion).as_matrix()
            origin.set("rpy", " ".join(map(repr, roll_pitch_yaw(rotation).tolist())))
        del origin.attrib["quat_xyzw"]


def _check_elements(root: etree._Element, report: Report) -> None:
    """Report elements that are not read: unknown ones in one warning, and repeated ones, which are removed.

    Raises:
        DescriptionError: The file is a xacro file.
    """
    unknown: dict[str, list[etree._Element]] = {}
    inner = (*root.findall("link"), *root.findall("joint"), *root.findall("link/inertial"))
    for owner in (root, *inner):
        seen = set()
        for element in list(owner.iterchildren(etree.Element)):
            if _is_xacro(element) and re.split("[}:]", element.tag)[-1] in _XACRO_INPUT:
                raise report.error(element, *_XACRO)
            if element.tag not in _URDF_ELEMENTS[owner.tag]:
                place = "" if owner is root else f" in <{owner.tag}>"
                unknown.setdefault(f"<{tag_of(element)}>{place}", []).append(element)
            elif element.tag in seen and element.tag not in _REPEATABLE:
                report.warn(element, f"it is there twice in {label(owner)}", "the first one counts; remove this one")
                owner.remove(element)
            seen.add(element.tag)
    if unknown:
        listed = ", ".join(f"{name} ({len(found)})" if len(found) > 1 else name for name, found in unknown.items())
        first = min((found[0] for found in unknown.values()), key=lambda element: element.sourceline)
        report.warn(first, f"elements that are no part of a URDF: {listed}", "they are ignored; remove them")


def _is_xacro(element: etree._Element) -> bool:
    return "xacro" in (element.prefix or "") or element.tag.startswith("xacro:")


def _by_name(root: etree._Element, tag: str, report: Report) -> dict[str, etree._Element]:
    found: dict[str, etree._Element] = {}
    for element in root.findall(tag):
        name = element.get("name")
        if not name:
            raise report.error(element, f"this {tag} has no name", 'give it an attribute name="..."')
        if "${" in name or "$(" in name:
            raise report.error(element, *_XACRO)
        if len(name) > ranges.MAX_NAME_LENGTH or not name.isprintable():
            raise report.error(element, f"this {tag} has a name of {len(name)} characters, {shown(name)}",
                               f"give it one of at most {ranges.MAX_NAME_LENGTH} printable characters")
        if name in found:
            first = found[name].sourceline
            raise report.error(element, f"duplicate {tag} name '{name}' (first used in line {first})", "rename one")
        found[name] = element
    return found


def _check_joint(joint: etree._Element, links: dict[str, etree._Element], report: Report) -> None:
    kind = joint.get("type")
    if kind in ("floating", "planar"):
        report.warn(joint, f"{kind} joints are not modelled", "held at its origin, as if fixed; the base is fixed and "
                    "every joint has one degree of freedom: build it from revolute and prismatic joints")
        joint.set("type", "fixed")
    elif kind not in (*MOVING_KINDS, "fixed"):
        received = "has no type" if kind is None else f"has the unknown type '{kind}'"
        raise report.error(joint, f"this joint {received}", f"use one of {', '.join((*MOVING_KINDS, 'fixed'))}")
    for end in ("parent", "child"):
        element = joint.find(end)
        if element is None or not element.get("link"):
            raise report.error(joint, f"this joint names no {end} link", f'add <{end} link="..."/>')
        if element.get("link") not in links:
            raise report.error(
                joint, f"its {end} link '{element.get('link')}' does not exist", suggest(element.get("link"), links)
            )
    mimic = joint.find("mimic")
    if mimic is not None and not mimic.get("joint"):
        raise report.error(mimic, "it names no joint to follow", 'add joint="..." or remove the mimic element')


def _make_independent(joints: dict[str, etree._Element], report: Report) -> None:
    """Remove the ``<mimic>`` of moving joints that follow no other joint."""
    moving = [name for name, joint in joints.items() if joint.get("type") != "fixed"]
    for joint in joints.values():
        mimic = joint.find("mimic")
        if mimic is None or joint.get("type") == "fixed":
            continue
        leader = mimic.get("joint")
        if leader in moving and leader != joint.get("name"):
            continue
        reason = ("is this joint" if leader == joint.get("name") else "is fixed" if leader in joints else
                  f"does not exist ({suggest(leader, moving)})")
        report.warn(joint, f"it mimics the joint '{leader}', which {reason}",
                    "it moves by itself; correct it")
        joint.remove(mimic)


def _check_numbers(owner: etree._Element, table: Iterable[_Number], report: Report) -> None:
    for path, attribute, count, assumed, allowed in table:
        element = owner.find(path)
        if element is None:
            continue
        text = element.get(attribute)
        if text is None:
            if assumed:
                report.warn(element, f"the attribute '{attribute}' is missing", f'taken as "{assumed}"; add it')
            continue
        if "${" in text or "$(" in text:
            raise report.error(element, *_XACRO)
        values = [as_number(word) for word in text.split()]
        if count == 1 and text != text.rstrip():
            report.warn(element, f'{attribute}="{text}" has white space behind the number, which ROS refuses',
                        "taken as the number; remove the white space")
        if allowed.or_infinite and _INFINITE.fullmatch(text.strip()):
            report.warn(element, f'{attribute}="{text}" is no number for ROS, which refuses the file',
                        "taken as unlimited; leave it out, or write a large number")
        elif len(values) != count or not all(map(math.isfinite, values)) or not allowed.holds(values).all():
            within = f" from {allowed.minimum:g} to {allowed.maximum:g}" if allowed.maximum < math.inf else ""
            expected = (f"a finite number{within}" if count == 1 else
                        f"{count} finite numbers separated by spaces{within and f', each{within}'}")
            raise report.error(element, f'{attribute}="{text}" is not {expected}', "correct the attribute")


def _find_base(
    root: etree._Element, links: dict[str, etree._Element], joints: dict[str, etree._Element], report: Report
) -> str:
    """Name of the root link; raises an error if the links do not form one tree."""
    incoming: dict[str, etree._Element] = {}
    for joint in joints.values():
        child = joint.find("child").get("link")
        if child in incoming:
            raise report.error(
                joint,
                f"the link '{child}' has two parents: it is also the child of {label(incoming[child])}",
                "a URDF is a tree: remove one of the joints, or give it a link of its own",
            )
        incoming[child] = joint
    bases = [name for name in links if name not in incoming]
    if len(bases) > 1:
        raise report.error(
            root,
            f"there are {len(bases)} root links: {', '.join(repr(name) for name in bases)}",
            "a URDF is one tree: join them with a fixed joint, or remove the unconnected links",
        )
    settled: set[str] = set()
    for name in links:
        path: dict[str, None] = {}  # ordered
        while name in incoming and name not in settled:
            path[name] = None
            name = incoming[name].find("parent").get("link")
            if name in path:
                passed = list(path)
                loop = [name, *passed[passed.index(name) + 1 :][::-1], name]
                raise report.error(
                    incoming[name],
                    f"the links form a loop: {' -> '.join(loop)}",
                    "a URDF is a tree: cut the loop by removing one of its joints",
                )
        settled.update(path)
    return bases[0]
