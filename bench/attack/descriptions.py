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

from bench.attack.files import MutatedFiles, fault_of_file, hostile_files
from bench.attack.mjcf_files import MutatedMjcf
from bench.attack.report import Report
from bench.attack.soundness import unsound
from bench.attack.xml_faults import NUMBERS, TEXTS, mutated_xml
from robodyn_ros.actuation.configuration import HardwareSettings
from robodyn_ros.base.errors import DescriptionWarning, RobodynError
from robodyn_ros.base.optional_packages import is_installed
from robodyn_ros.description.resources import actuators_file, robot_file, shipped_robots
from robodyn_ros.robot import Robot

URDFS_FOR_EACH_YAML, URDFS_FOR_EACH_REPORT = 20, 1000
LEAST_URDFS = 10 * URDFS_FOR_EACH_YAML
"""Loaded even if the start of the process took all of the time, so that there are ten of each other kind."""

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
        os.environ["ROBODYN_CACHE_DIR"] = f"{folder}/cache"  # a robot of an MJCF file is kept there
        path, files = Path(folder) / "hardware.yaml", MutatedFiles(Path(folder))
        mjcf = MutatedMjcf(Path(folder)) if is_installed("mujoco") else None
        (Path(folder) / "hostile").mkdir()
        for number, file in enumerate(hostile_files(Path(folder) / "hostile")):
            _judge(report, "hostile files", number, lambda file=file: fault_of_file(file))  # type: ignore[misc]
        for number, urdf in zip(range(count), mutated_urdfs(seed)):  # noqa: B905 - the second one has no end
            _judge(report, "URDFs", number, lambda urdf=urdf: fault_of(urdf))  # type: ignore[misc]
            if number % URDFS_FOR_EACH_YAML == 0:
                path.write_bytes(mutated_yaml(seed, number))
                _judge(report, "YAML files", number, lambda: yaml_fault(path))
                if mjcf is not None:
                    _judge(report, "MJCF files", number // URDFS_FOR_EACH_YAML, lambda mjcf=mjcf, number=number: (  # type: ignore[misc]
                        mjcf.fault(seed, number // URDFS_FOR_EACH_YAML)))
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
        yield mutated_xml(chance.choice(sources), chance)


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


def _counter() -> Iterator[int]:
    number = 0
    while True:
        yield number
        number += 1


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
