# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""How good estimated inertias are: ``python -m bench.completion [FILE ...]``, for robots whose inertias are known.

The inertias are taken away and estimated again from the shapes and the mass of the moving links. Errors of gravity
efforts and mass matrix are root mean squares over random postures, as a share of the true ones.
"""

from __future__ import annotations

import argparse
import tempfile
import warnings
from pathlib import Path

import numpy as np
from lxml import etree

from robodyn_ros import Robot
from robodyn_ros.base.errors import DescriptionWarning, RobodynError
from robodyn_ros.commands.robot_report import random_postures
from robodyn_ros.description.completion.completed_urdf import (
    CompletionRule,
    complete_urdf,
    rigid_bodies,
    set_absolute_meshes,
)
from robodyn_ros.description.document import read_document
from robodyn_ros.description.resources import robot_file, shipped_robots
from robodyn_ros.description.robot_sources import read_source


def errors(file: Path) -> tuple[Robot, float, float, float, float]:
    """Return a robot, its mass [kg], the density found, and the errors of gravity efforts and mass matrix."""
    root = etree.parse(file).getroot()
    set_absolute_meshes(root, file.parent)
    masses = 0.0
    bodies = rigid_bodies(read_document(read_source(file))[0])
    for link in root.findall("link"):
        for element in link.findall("inertial"):
            masses += float(element.find("mass").get("value")) if bodies[link.get("name")] else 0.0
            link.remove(element)
        for element in (*link.findall("visual"), *link.findall("collision")):
            if not bodies[link.get("name")]:  # files have placeholders for the mass of the base
                link.remove(element)
    with tempfile.TemporaryDirectory() as folder:
        stripped = Path(folder) / file.name
        stripped.write_bytes(etree.tostring(root))
        found = complete_urdf(stripped, CompletionRule(mass=masses))
        true, estimated = Robot.from_urdf(file), Robot.from_urdf_text(found.text)
    density = float(found.summary.partition(" at ")[2].partition(" kg/m^3")[0])
    postures = random_postures(true.model)
    pairs = [[(getattr(robot.dynamics(False, "textbook"), name)(q)) for q in postures]
             for name in ("gravity", "mass_matrix") for robot in (true, estimated)]
    gravity, own_gravity, matrix, own_matrix = map(np.array, pairs)
    gravity_error, matrix_error = (float(np.linalg.norm(own - given)) / max(float(np.linalg.norm(given)), 1e-12)
                                   for own, given in ((own_gravity, gravity), (own_matrix, matrix)))
    return true, masses, density, gravity_error, matrix_error


def main() -> None:
    """Print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("files", nargs="*", help="further robots: URDF or MJCF files")
    warnings.simplefilter("ignore", DescriptionWarning)
    print("| robot | joints | mass [kg] | density found [kg/m^3] | gravity | mass matrix |")
    print("| --- | --- | --- | --- | --- | --- |")
    for name in (*shipped_robots(), *parser.parse_args().files):
        try:
            robot, mass, density, gravity, matrix = errors(robot_file(name))
            print(f"| {robot.name} | {robot.n} | {mass:.4g} | {density:.4g} | {gravity:.0%} | {matrix:.0%} |")
        except RobodynError as error:
            print(f"| {name} | {error} |")


if __name__ == "__main__":
    main()
