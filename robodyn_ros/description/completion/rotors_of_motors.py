# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Rotors from an actuator file for joints that move no inertia, so that all programs can simulate and control them."""

from __future__ import annotations

import warnings
from pathlib import Path

from robodyn_ros.actuation.configuration import HardwareSettings
from robodyn_ros.base.errors import DescriptionWarning
from robodyn_ros.description.completion.completed_urdf import document_text, set_absolute_meshes, set_armature
from robodyn_ros.description.document import read_document
from robodyn_ros.description.robot_sources import mesh_folder, read_source
from robodyn_ros.description.urdf import load_urdf


def urdf_with_rotors(path: Path, settings: HardwareSettings) -> tuple[str, tuple[str, ...]]:
    """Write the rotors of motors into a URDF, at joints that would be held because they move no inertia.

    Args:
        path: The URDF file.
        settings: Actuators of its joints.

    Returns:
        The URDF with absolute paths of its meshes, and a line for each rotor; empty if no rotor is needed.

    Raises:
        DescriptionError: The file cannot be read.
        InputError: A motor is not known, or a number is out of its range.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DescriptionWarning)  # the warnings appear when the robot is loaded afterwards
        held = [joint for joint in load_urdf(path).held if joint in settings.actuators]
        if not held:
            return "", ()
        model = load_urdf(path, hold_massless=False)
    rotors = dict(zip(model.joint_names, settings.joint_actuators(model).reflected_inertia.tolist(), strict=True))
    document, _ = read_document(read_source(path))
    lines = []
    for joint in held:
        if rotors.get(joint, 0.0) > 0.0:
            set_armature(document.joints[joint], rotors[joint])
            unit = "kg" if document.joints[joint].get("type") == "prismatic" else "kg m^2"
            lines.append(f"joint {joint} moves the rotor of its motor, {rotors[joint]:.4g} {unit}")
    set_absolute_meshes(document.root, mesh_folder(path))
    return document_text(document.root), tuple(lines)
