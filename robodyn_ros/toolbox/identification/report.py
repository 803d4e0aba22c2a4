# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Tables of an identified model, as Markdown: efforts, friction, base parameters, motors, and what is unknown."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from robodyn_ros.description.model import Array
from robodyn_ros.toolbox.identification.identified_model import IdentifiedModel
from robodyn_ros.toolbox.identification.motor_constants import MotorConstants
from robodyn_ros.toolbox.identification.presliding_fit import PreslidingFit
from robodyn_ros.toolbox.identification.response_fit import ResponseFit
from robodyn_ros.toolbox.identification.spring_fit import SpringFit

_HEADS = {"viscous": "viscous D", "coulomb": "Coulomb F_c", "stribeck": "rise F_s − F_c (at v_s)",
          "rotor": "rotor inertia", "motor_viscous": "coupled motor: D_m", "motor_coulomb": "F_m", "motor_rotor": "J_m",
          "offset": "offset"}


def effort_table(joints: Sequence[str], scale: Array, errors: Sequence[tuple[str, Array]]) -> list[str]:
    """Root mean squares of effort errors, in units and as a percentage of full scale.

    Args:
        joints: Names of the n joints.
        scale: Full scale, shape (n,) [N m or N].
        errors: Heading and errors of each column, NaN for joints that only rest, shape (n,) [N m or N].
    """
    head = ["joint", "full scale", *(name for name, _ in errors)]
    rows = [[joint, f"{scale[j]:g}", *(
        f"{one[j]:.3g} ({one[j] / scale[j]:.2%})" if np.isfinite(one[j]) else "rests" for _, one in errors)]
            for j, joint in enumerate(joints)]
    return table(head, rows)


def friction_table(model: IdentifiedModel) -> list[str]:
    """Friction, rotors, coupled motors and offsets of each joint: identified, with standard deviation, and described.

    Columns other than friction appear only if some joint has them.
    """
    effort_model = model.effort_model
    kinds = [kind for kind in effort_model.joint_parameters if effort_model.has[kind].any()]
    rows = []
    for j, joint in enumerate(effort_model.robot.joint_names):
        row = [joint]
        for kind in kinds:
            place = effort_model.slots(kind).start + j
            text = f"{model.parameters[place]:.4g} ± {model.deviations[place]:.2g}"
            if kind == "stribeck":
                text += f" ({effort_model.stribeck_velocity[j]:.3g})"
            elif kind in ("viscous", "coulomb"):
                text += f" (described {model.described[place]:.4g})"
            row.append(text if effort_model.has[kind][j] else "not identified" if kind == "stribeck" else "")
        rows.append(row)
    return table(["joint", *(_HEADS[kind] for kind in kinds)], rows)


def base_table(model: IdentifiedModel) -> list[str]:
    """Base parameters: description, instrumental variables with standard deviation and bias, consistent model."""
    base = model.effort_model.base
    described, consistent = base.values(model.described), base.values(model.parameters)
    inertial = base.independent < model.effort_model.inertial_count
    rows = [[f"{expression}{'' if identified else ' (not identifiable)'}", f"{before:.4g}",
             f"{value:.4g} ± {deviation:.2g}", f"{bias:.2g}", f"{after:.4g}"]
            for expression, before, value, deviation, bias, after, identified, shown in zip(
                 base.expressions(), described, model.base_values, model.base_deviations, model.base_bias, consistent,
                 model.base_identified, inertial, strict=True) if shown]
    return table(["base parameter", "described", "instrumental variables", "bias", "consistent"], rows)


def motor_table(joints: Sequence[str], constants: MotorConstants) -> list[str]:
    """Constants of the motors at the joints, with standard deviations."""
    def cell(value: float, deviation: float) -> str:
        return f"{value:.5g} ± {deviation:.2g}" if np.isfinite(value) else "not identified"

    rows = [[joint, cell(constants.effort_per_current[j], constants.effort_deviation[j]),
             cell(constants.resistance[j], constants.resistance_deviation[j]),
             cell(constants.back_emf[j], constants.back_emf_deviation[j])]
            for j, joint in enumerate(joints) if constants.known[j]]
    return table(["joint", "γ K_M [N m/A]", "R_M [ohm]", "γ K_e [V s/rad]"], rows)


def spring_table(joints: Sequence[str], springs: SpringFit) -> list[str]:
    """Stiffness, motor inertia and backlash of the joints, with standard deviations."""
    def cell(value: float, deviation: float) -> str:
        return f"{value:.4g} ± {deviation:.2g}" if np.isfinite(value) else "not identified"

    rows = [[joint, cell(springs.stiffness[j], springs.stiffness_deviation[j]),
             cell(springs.motor_inertia[j], springs.motor_inertia_deviation[j]),
             cell(springs.backlash[j], springs.backlash_deviation[j])] for j, joint in enumerate(joints)]
    return table(["joint", "stiffness K [N m/rad]", "motor B [kg m^2]", "backlash [rad]"], rows)


def response_lines(joints: Sequence[str], fit: ResponseFit) -> list[str]:
    """Section on springs from frequency responses: stiffness, damping, motors and links, and unidentified joints.

    Args:
        joints: Names of the n joints.
        fit: Fit of their responses.
    """
    springs, measured, rows = fit.springs, fit.measured, []
    damping: Any = springs.damping, springs.damping_deviation
    for j, joint in enumerate(joints):
        if not springs.identified[j]:
            rows.append([joint, "not identified", "", "", "", ""])
            continue
        rows.append([joint, *(f"{value[j]:.4g} ± {deviation[j]:.2g}" for value, deviation in (
            (springs.stiffness, springs.stiffness_deviation), damping,
            (springs.motor_inertia, springs.motor_inertia_deviation))),
                     f"{fit.antiresonance[j]:.3g}", f"{measured.frequency[measured.used[:, j]].max():.3g}"])
    return ["## Springs, from the frequency response", "",
            f"{measured.averages} spectra with Hann windows, {measured.frequency[1] - measured.frequency[0]:.3g} Hz "
            f"apart; the accelerations come {1e3 * fit.delay:.3g} ms after the torques.", "",
            *table(["joint", "stiffness K [N m/rad]", "damping D [N m s/rad]", "motor B [kg m^2]", "antiresonance [Hz]",
                    "identifiable up to [Hz]"], rows)]


def presliding_table(joints: Sequence[str], presliding: PreslidingFit) -> list[str]:
    """Stiffness of the dry friction before the joints slide, with standard deviations."""
    rows = [[joint, *([f"{presliding.stiffness[j]:.4g} ± {presliding.deviation[j]:.2g}", f"{presliding.level[j]:.4g}"]
                      if presliding.identified[j] else ["not identified", ""])] for j, joint in enumerate(joints)]
    return table(["joint", "stiffness σ₀ [N m/rad]", "level F [N m]"], rows)


def not_identifiable(model: IdentifiedModel) -> list[str]:
    """Names of the base parameters and frictions that are not identifiable from the recording."""
    expressions = model.effort_model.base.expressions()
    return [each for each, identified in zip(expressions, model.base_identified, strict=True) if not identified]


def link_summary(model: IdentifiedModel) -> str:
    """Number of link parameters that the motion identifies one by one; it identifies the others in combinations."""
    count = model.effort_model.inertial_count
    return (f"{int(model.identified[:count].sum())} of {count} inertial parameters of the links are identified one by "
            "one; the others only in the combinations above, and are as near to the description as these allow")


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    """Lines of a Markdown table with aligned columns, readable in a terminal, too."""
    cells = [list(head), *map(list, rows)]
    widths = [max(len(row[column]) for row in cells) for column in range(len(head))]
    lines = ["| " + " | ".join(text.ljust(width) for text, width in zip(row, widths, strict=True)) + " |"
             for row in cells]
    return [lines[0], "| " + " | ".join("-" * width for width in widths) + " |", *lines[1:]]
