# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.


"""URDF files of others, loaded and compared with Pinocchio: ``python -m bench.published_robots FOLDER ...``.

Each file runs in a process of its own, since a peer may crash on it. Where both read a file, the poses of all links,
the mass matrix and the gravity efforts are compared, at two configurations.
"""

from __future__ import annotations

import argparse
import contextlib
import hashlib
import multiprocessing
import os
import re
import warnings
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pinocchio
from numpy.typing import NDArray

from robodyn_ros import Robot
from robodyn_ros.base.errors import DescriptionWarning, RobodynError
from robodyn_ros.description.resources import robot_file
from robodyn_ros.description.urdf import load_urdf  # noqa: F401 - before processes are forked

Array = NDArray[np.float64]

SAME = 1e-9
"""Greatest difference of equal numbers, as a share of the largest element."""

SECONDS = 120.0
"""Time for a file."""


class Result(NamedTuple):
    """What became of a file.

    Attributes:
        file: Its path.
        refusal: Why robodyn_ros refuses it; empty if it loads.
        peer_reads: Whether Pinocchio, which reads URDF by urdfdom, loads it.
        has_inertia: Whether it has dynamics.
        held: Number of joints held as if fixed.
        accelerations: Whether its mass matrix is positive definite.
        difference: Greatest difference to Pinocchio, see `SAME`; NaN if it was not compared.
        warnings: Number of warnings.
    """

    file: str
    refusal: str = ""
    peer_reads: bool = False
    has_inertia: bool = False
    held: int = 0
    accelerations: bool = False
    difference: float = np.nan
    warnings: int = 0


def files(folders: Iterable[Path]) -> list[Path]:
    """Return the URDF files in folders, each content once; an argument may be a file, also a xacro file."""
    found: dict[bytes, Path] = {}
    for folder in folders:
        for path in sorted(folder.rglob("*.urdf")) if folder.is_dir() else [robot_file(folder)]:
            if path.is_file():
                found.setdefault(hashlib.sha256(path.read_bytes()).digest(), path)
    return list(found.values())


def examine(file: Path) -> Result:
    """Load a file in a process of its own and compare it."""
    receiver, sender = multiprocessing.Pipe(duplex=False)
    process = multiprocessing.get_context("fork").Process(target=_examine_into, args=(file, sender))
    process.start()
    sender.close()
    try:
        return receiver.recv() if receiver.poll(SECONDS) else Result(str(file), f"no result in {SECONDS:g} s")
    except EOFError:
        return Result(str(file), "the process crashed")
    finally:
        process.kill()
        process.join()


def _examine_into(file: Path, sender: Any) -> None:
    with open(os.devnull, "wb") as nowhere:
        os.dup2(nowhere.fileno(), 1)  # urdfdom and Pinocchio print
        os.dup2(nowhere.fileno(), 2)
    sender.send(_examine(file))


def _examine(file: Path) -> Result:
    model = None
    with contextlib.suppress(Exception):
        model = pinocchio.buildModelFromUrdf(str(file))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", DescriptionWarning)
        try:
            robot = Robot.from_urdf(file)
        except RobodynError as error:
            return Result(str(file), str(error), model is not None)
    accelerations = True
    try:
        robot.check_accelerations()
    except RobodynError:
        accelerations = False
    return Result(str(file), "", model is not None, robot.model.has_inertia, len(robot.model.held), accelerations,
                  np.nan if model is None else difference(robot, model), len(caught))


def difference(robot: Robot, model: Any) -> float:
    """Return the greatest difference between a robot and its model in Pinocchio, see `SAME`."""
    own, data, worst = robot.dynamics(False, "textbook"), model.createData(), 0.0
    for q in np.random.default_rng(0).uniform(-1.0, 1.0, (2, robot.n)):
        theirs, slopes = _configuration(robot, model, q)
        pinocchio.framesForwardKinematics(model, data, theirs)
        for link in robot.model.frames:
            pose = data.oMf[model.getBodyId(link)].homogeneous
            worst = max(worst, _apart(own.forward_kinematics(q, link), pose))
        if robot.model.has_inertia:
            mass = np.triu(pinocchio.crba(model, data, theirs))
            mass = slopes.T @ (mass + np.triu(mass, 1).T) @ slopes + np.diag(robot.model.armature)
            gravity = slopes.T @ pinocchio.computeGeneralizedGravity(model, data, theirs)
            worst = max(worst, _apart(own.mass_matrix(q), mass), _apart(own.gravity(q), gravity))
    return worst


def _configuration(robot: Robot, model: Any, q: Array) -> tuple[Array, Array]:
    """Return q of Pinocchio, where mimic and held joints are joints of their own, and its slopes with our q."""
    positions = {joint.name: (joint.multiplier * q[joint.dof] + joint.offset, joint) for joint in robot.model.joints}
    theirs, slopes = pinocchio.neutral(model), np.zeros((model.nv, robot.n))
    for name, kind in zip(model.names[1:], list(model.joints)[1:], strict=True):
        position, joint = positions.get(name, (robot.model.held.get(name, 0.0), None))
        if kind.nv == 1:
            theirs[kind.idx_q:kind.idx_q + kind.nq] = (
                [position] if kind.nq == 1 else [np.cos(position), np.sin(position)])
        if joint is not None:
            slopes[kind.idx_v, joint.dof] = joint.multiplier
    return theirs, slopes


def _apart(one: Array, other: Array) -> float:
    return float(np.abs(one - other).max(initial=0.0) / max(1e-9, np.abs(other).max(initial=0.0)))


def table(results: list[Result]) -> list[str]:
    """Return the lines of a table: what loads, why the rest is refused, and what agrees."""
    loads = [result for result in results if not result.refusal]
    compared = [result for result in loads if not np.isnan(result.difference)]
    dynamics = [result for result in compared if result.has_inertia]
    apart = [result for result in compared if not result.difference <= SAME]
    read = [result for result in results if result.peer_reads]
    lines = ["| files | number |", "| --- | --- |"]
    lines += [f"| {name} | {count} |" for name, count in (
        ("in all, each content once", len(results)), ("read by Pinocchio", len(read)),
        ("of these loaded here", sum(not result.refusal for result in read)),
        ("loaded here", len(loads)), ("without inertia", sum(not result.has_inertia for result in loads)),
        ("with joints held as if fixed", sum(result.held > 0 for result in loads)),
        ("with inertia and accelerations", sum(result.accelerations for result in loads)),
        ("with warnings", sum(result.warnings > 0 for result in loads)),
        ("compared: poses of all links", len(compared)), ("compared: mass matrix and gravity", len(dynamics)),
        (f"different by more than {SAME:g}", len(apart)))]
    reasons = Counter(_reason(result) for result in results if result.refusal)
    lines += ["", "| refused because of | files | read by Pinocchio |", "| --- | --- | --- |"]
    lines += [f"| {reason} | {count} | {sum(result.peer_reads for result in results if _reason(result) == reason)} |"
              for reason, count in reasons.most_common()]
    return lines + ["", *(f"different by {result.difference:.3g}: {result.file}" for result in apart)]


def _reason(result: Result) -> str:
    """Return a refusal without file, line, and what stands in quotes."""
    text = result.refusal.removeprefix(result.file).splitlines()[0] if result.refusal else ""
    text = re.sub(r"^[,:] (line \d+, )?(<[^:]*>: )?", "", text)
    return re.sub(r"'[^']*'|\"[^\"]*\"|-?\d[\d.e+-]*", "…", text).partition(";")[0].partition(":")[0][:70]


def main() -> None:
    """Print the table for the folders given."""
    parser = argparse.ArgumentParser(prog="python -m bench.published_robots", description=__doc__)
    parser.add_argument("folders", nargs="+", type=Path, metavar="FOLDER", help="a folder with URDF files, or a file")
    print("\n".join(table([examine(file) for file in files(parser.parse_args().folders)])))


if __name__ == "__main__":
    main()
