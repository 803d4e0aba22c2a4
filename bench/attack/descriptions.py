# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Mutated descriptions and files: each is refused by an error of the family, or what it gives is sound."""

from __future__ import annotations

import os
import random
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
from lxml import etree

from bench.attack.files import MutatedFiles, fault_of_file, hostile_files
from bench.attack.report import Report
from robodyn_ros.actuation.configuration import HardwareSettings
from robodyn_ros.description.model import RobotModel
from robodyn_ros.dynamics.compiled_formulas import bias, mass_matrix
from robodyn_ros.errors import DescriptionWarning, RobodynError
from robodyn_ros.resources import actuators_file, robot_file, shipped_robots
from robodyn_ros.robot import Robot

NUMBERS = ("0", "-1", "1e-308", "1e-30", "1e-9", "1e6", "1e20", "1e100", "-1e150", "1e300", "1e308", "-1e308", "nan",
           "inf", "-inf", "1e999", "", "zero", "1 2", "0x10", "١")
"""Texts in place of a number."""

TEXTS = ("", " ", "base_link", "joint1", "link1", "a" * 100_000, "\N{COMBINING DIAERESIS}" * 50, "fixed", "floating",
         "prismatic", "$(arg name)", "../../x", "]]>", "\u009b2J")
"""Texts in place of a name or a type."""

URDFS_FOR_EACH_YAML, URDFS_FOR_EACH_REPORT = 10, 1000
LEAST_URDFS = 100
"""Loaded even if the start of the process took all of the time."""

BACKGROUND = 5
"""Niceness: the running nodes come first."""


def attack_descriptions(seed: int, end: float, report_path: Path, count: int) -> None:
    """Load mutated URDFs, YAML files and files of strangers; the report is written again and again.

    Args:
        seed: The seed.
        end: When to end (monotonic clock) [s].
        report_path: File of the report.
        count: How many URDFs to load at most.
    """
    report = Report(seed)
    os.nice(BACKGROUND)
    with tempfile.TemporaryDirectory() as folder:
        path, files = Path(folder) / "hardware.yaml", MutatedFiles(Path(folder))
        (Path(folder) / "hostile").mkdir()
        for number, file in enumerate(hostile_files(Path(folder) / "hostile")):
            _judge(report, "hostile files", number, lambda file=file: fault_of_file(file))  # type: ignore[misc]
        for number, urdf in zip(range(count), mutated_urdfs(seed)):  # noqa: B905 - the second one has no end
            _judge(report, "URDFs", number, lambda urdf=urdf: fault_of(urdf))  # type: ignore[misc]
            if number % URDFS_FOR_EACH_YAML == 0:
                path.write_bytes(mutated_yaml(seed, number))
                _judge(report, "YAML files", number, lambda: yaml_fault(path))
                for kind in files.kinds:
                    _judge(report, kind, number, lambda kind=kind, number=number: files.fault(  # type: ignore[misc]
                        kind, seed, number))
            if number % URDFS_FOR_EACH_REPORT == 0:
                report.write(report_path)
            if number + 1 >= LEAST_URDFS and time.monotonic() > end:
                break
    report.write(report_path)


def _judge(report: Report, kind: str, number: int, load: Callable[[], str | None]) -> None:
    try:
        fault = load()
    except Exception as error:
        report.count(kind, "tried", "fell")
        report.fail(kind, number, f"{type(error).__name__}: {str(error)[:300]}")
        return
    report.count(kind, "tried", "refused" if fault is None else "accepted")
    if fault:
        report.fail(kind, number, f"accepted, but {fault[:300]}")


def mutated_urdfs(seed: int) -> Iterator[bytes]:
    """Yield URDFs with one to four faults each, for ever; the same ones for the same seed."""
    sources = [robot_file(name).read_bytes() for name in shipped_robots()]
    for number in _counter():
        chance = random.Random(f"{seed} {number}")
        yield _mutated(chance.choice(sources), chance)


def fault_of(urdf: bytes) -> str | None:
    """Load a URDF and evaluate its dynamics.

    Returns:
        Why the dynamics of an accepted robot are not sound; empty if they are; None if the URDF, or its
        dynamics, is refused.

    Raises:
        Exception: Loading raised an error outside the family.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DescriptionWarning)
        try:
            robot = Robot.from_urdf_text(urdf.decode("utf-8", "replace"))
            robot.check_accelerations()
        except RobodynError:
            return None
        with np.errstate(all="ignore"):
            return unsound(robot.model)


def unsound(model: RobotModel) -> str:
    """Return why the dynamics of a robot are not sound at three configurations; empty if they are."""
    chance = np.random.default_rng(0)
    for q in chance.uniform(-1.0, 1.0, (3, model.n)):
        matrix, effort = mass_matrix(model, q), bias(model, q, np.ones(model.n))
        if not (np.isfinite(matrix).all() and np.isfinite(effort).all()):
            return f"mass matrix {matrix.tolist()}, bias {effort.tolist()} at q = {q.tolist()}"
        try:
            np.linalg.cholesky(matrix)
        except np.linalg.LinAlgError:
            return f"mass matrix {matrix.tolist()} is not positive definite at q = {q.tolist()}"
        if not np.isfinite(np.linalg.solve(matrix, np.ones(model.n) - effort)).all():
            return f"accelerations are not finite at q = {q.tolist()}"
    return ""


def _counter() -> Iterator[int]:
    number = 0
    while True:
        yield number
        number += 1


def _mutated(source: bytes, chance: random.Random) -> bytes:
    if chance.random() < 0.15:
        return _with_broken_text(source, chance)
    root = etree.fromstring(source)
    for _ in range(chance.randint(1, 4)):
        chance.choices((_change_number, _change_text, _change_tree, _add_mimic), (6, 1, 2, 1))[0](root, chance)
    return etree.tostring(root)


def _with_broken_text(source: bytes, chance: random.Random) -> bytes:
    place, length = chance.randrange(len(source)), chance.randint(1, 40)
    filling = (b"", chance.randbytes(length), b"<" * length, b"<a>" * 3000, b'<!DOCTYPE r [<!ENTITY a "b">]>')
    return source[:place] + chance.choice(filling) + (source[place + length:] if chance.random() < 0.8 else b"")


def _change_number(root: etree._Element, chance: random.Random) -> None:
    names = ("xyz", "rpy", "value", "ixx", "ixy", "ixz", "iyy", "iyz", "izz", "lower", "upper", "velocity", "effort",
             "damping", "friction", "multiplier", "offset")
    found = [(element, name) for element in root.iter(etree.Element) for name in names if name in element.attrib]
    if not found:
        return
    element, name = chance.choice(found)
    words = element.get(name).split() or ["0"]
    words[chance.randrange(len(words))] = (chance.choice(NUMBERS) if chance.random() < 0.6 else
                                           repr(chance.choice((-1, 1)) * 10.0 ** chance.uniform(-30.0, 30.0)))
    element.set(name, " ".join(words))


def _change_text(root: etree._Element, chance: random.Random) -> None:
    found = [(element, name) for element in root.iter(etree.Element) for name in ("name", "link", "type", "joint")
             if name in element.attrib]
    if found:
        element, name = chance.choice(found)
        element.set(name, chance.choice(TEXTS))


def _change_tree(root: etree._Element, chance: random.Random) -> None:
    elements = [element for element in root.iter(etree.Element) if element is not root]
    if not elements:
        return
    element = chance.choice(elements)
    parent = element.getparent()
    if chance.random() < 0.6:
        parent.remove(element)
    else:
        chance.choice([root, *elements]).append(etree.fromstring(etree.tostring(element)))


def _add_mimic(root: etree._Element, chance: random.Random) -> None:
    joints = root.findall("joint")
    if joints:
        names = [joint.get("name", "") for joint in joints]
        etree.SubElement(chance.choice(joints), "mimic", joint=chance.choice(names), multiplier=chance.choice(NUMBERS),
                         offset=chance.choice(NUMBERS))


def mutated_yaml(seed: int, number: int) -> bytes:
    """Return a file of actuators and friction with faults; the same one for the same seed and number."""
    chance = random.Random(f"{seed} yaml {number}")
    source = actuators_file("hardware_dc_motors").read_bytes()
    way = chance.randrange(5)
    if way == 0:
        depth = chance.randint(2, 20)
        return b"a0: &a0 [x]\n" + b"".join(
            f"a{i + 1}: &a{i + 1} [{', '.join([f'*a{i}'] * 9)}]\n".encode() for i in range(depth))
    if way == 1:
        return b"joints: " + chance.choice((b"[", b"{a: ")) * chance.randint(1, 5000)
    words = source.split(b" ")
    for _ in range(chance.randint(1, 4)):
        place = chance.randrange(len(words))
        words[place] = (chance.choice(NUMBERS + TEXTS).encode("utf-8", "replace") if way < 4
                        else chance.randbytes(chance.randrange(20)))
    return b" ".join(words)


def yaml_fault(path: Path) -> str | None:
    """Read a file of actuators and friction; return and raise as `fault_of`."""
    try:
        HardwareSettings.from_yaml(path)
    except RobodynError:
        return None
    return ""
