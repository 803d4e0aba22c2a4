# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Writes an identified arm into a folder: its URDF, its actuators, a report, and pictures."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import yaml

from robodyn_ros.actuation.friction import Friction
from robodyn_ros.description.model import Array
from robodyn_ros.robot import Robot
from robodyn_ros.toolbox.identification import report
from robodyn_ros.toolbox.identification.arm_identification import ArmIdentification
from robodyn_ros.toolbox.identification.identified_files import actuator_sections, urdf_with_inertias
from robodyn_ros.toolbox.identification.identified_model import IdentifiedModel, drive_efforts, effort_scale
from robodyn_ros.toolbox.plots.identification_figures import EffortComparison, save_efforts, save_responses


def write_identified_arm(found: ArmIdentification, folder: Path, given: Mapping[str, Any] | None
                         ) -> tuple[list[str], list[Path]]:
    """Write all files of an identified arm.

    Args:
        found: The arm.
        folder: Folder of the files, which is made.
        given: Content of the file of actuators, whose other values stay; None: there is none.

    Returns:
        The lines of the report, and the files.

    Raises:
        OSError: A file cannot be written.
    """
    robot, springs, response = found.model.effort_model.robot, found.springs, found.response
    lines, comparisons, scale = _report(found)
    folder.mkdir(parents=True, exist_ok=True)
    urdf, actuators, picture = folder / f"{robot.name}.urdf", folder / "actuators.yaml", folder / "efforts.png"
    urdf.write_text(_urdf(robot, found.model), encoding="utf-8")
    actuators.write_text("# Identified by robodyn identify\n" + yaml.safe_dump(
        actuator_sections(found.model, found.constants, given, springs, found.presliding), sort_keys=False),
        encoding="utf-8")
    written = [urdf, actuators, folder / "report.md", picture]
    units = [joint.effort_unit for joint in robot.model.leaders]
    save_efforts(comparisons, robot.joint_names, units, scale, picture, f"{robot.name}: measured and predicted efforts")
    pictures = ["![Measured and predicted efforts](efforts.png)"]
    if response is not None:
        written.append(folder / "responses.png")
        save_responses(response, robot.joint_names, written[-1], f"{robot.name}: frequency responses of the motors")
        pictures.append("![Frequency responses of the motors](responses.png)")
    (folder / "report.md").write_text("\n\n".join(["\n".join(lines), *pictures]) + "\n", encoding="utf-8")
    return lines, written


def _report(found: ArmIdentification) -> tuple[list[str], list[EffortComparison], Array]:
    """Return the lines of the report, the efforts to draw, and their full scale."""
    model, springs = found.model, found.springs
    robot, (name, _, motion) = model.effort_model.robot, found.motions[0]
    scale = effort_scale(robot, motion.effort)
    errors, comparisons = [], []
    for each, use, used in found.motions:
        kinematics = used.q, used.v, used.a
        identified = model.predict(*kinematics)
        described = drive_efforts(robot, Friction.from_model(robot.model), *kinematics)
        comparisons.append(EffortComparison(
            f"{each} ({use})", used.time, used.effort,
            *(np.where(used.usable, values, np.nan) for values in (identified, described))))
        for whose, values in (("description", described), ("identified", identified)):
            square, count = np.where(used.usable, values - used.effort, 0.0) ** 2, used.usable.sum(axis=0)
            errors.append((f"{use}: {whose}", np.where(count > 0, np.sqrt(square.sum(axis=0) / np.maximum(count, 1)),
                                                       np.nan)))
    lines = [f"# {robot.name}, identified from {name}", "",
             f"{motion.time[-1] - motion.time[0]:.1f} s, {len(motion.time)} samples of {robot.n} joints. "
             f"{motion.processing} Each joint counts by the variance of its residuals (instrumental variables).", "",
             "## Errors of predicted efforts, RMS", "", *report.effort_table(robot.joint_names, scale, errors), ""]
    if len(found.motions) == 1:
        lines += ["No other motion validates this model: give --validate another recording, or --hold-out a share of "
                  "this one.", ""]
    lines += ["## Friction", "", *report.friction_table(model), "",
              "## Base parameters", "", *report.base_table(model), ""]
    if found.constants.known.any():
        lines += ["## Motors", "", *report.motor_table(robot.joint_names, found.constants), ""]
    if springs is not None and springs.damping is None:  # a response has its own section
        lines += ["## Springs", "", *report.spring_table(robot.joint_names, springs), ""]
    missing = report.not_identifiable(model)
    lines += ["## Not identifiable from this recording", "",
              *([f"- {name}" for name in missing] or ["Nothing: every base parameter and friction is identified."]), "",
              report.link_summary(model) + "."]
    if found.response is not None:
        lines += ["", *report.response_lines(robot.joint_names, found.response)]
    if found.presliding is not None:
        lines += ["", "## Presliding", "", *report.presliding_table(robot.joint_names, found.presliding)]
    return lines, comparisons, scale


def _urdf(robot: Robot, model: IdentifiedModel) -> str:
    """Return the identified URDF for laws, with rotors as armatures; a plant with its own motors ignores these."""
    identified, leaders = model.robot.model, set(robot.joint_names)
    identified = replace(identified, joints=tuple(
        replace(joint, armature=float(model.rotor_inertia[joint.dof])) if joint.name in leaders else joint
        for joint in identified.joints))
    friction = model.friction
    return urdf_with_inertias(robot.model, identified, friction.viscous, friction.coulomb)
