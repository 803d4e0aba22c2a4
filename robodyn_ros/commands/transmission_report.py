# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""What ``robodyn check`` prints of elastic joints: their natural frequencies, and the step that resolves them."""

from __future__ import annotations

import numpy as np

from robodyn_ros.dynamics.mass_matrix import mass_matrix
from robodyn_ros.simulation.plant_model import PlantModel

_RESOLVED = np.sqrt(12.0 * 0.01)
"""h omega at which the step's frequency, (2 / h) atan(h omega / 2) = omega (1 - (h omega)^2 / 12 + ...), is 1 % low."""


def transmissions(plant: PlantModel) -> tuple[list[str], list[str]]:
    """Describe the elastic joints of a plant.

    Args:
        plant: The simulated robot, in positions 0.

    Returns:
        The lines of the description, none for a rigid robot; and the doubts.
    """
    joints, step = plant.elastic, plant.step
    if not len(joints):
        return ["elastic joints: none"], []
    names = [plant.model.joint_names[joint] for joint in joints]
    actuators, link = plant.actuators, np.diag(mass_matrix(plant.model, np.zeros(plant.n)))[joints]
    stiffness, rotor = actuators.stiffness[joints], actuators.reflected_inertia[joints]
    locked = np.sqrt(stiffness / link) / (2.0 * np.pi)
    alone = np.sqrt(stiffness * (1.0 / link + 1.0 / rotor)) / (2.0 * np.pi)
    width = max(map(len, ("elastic joint", *names)))
    row = ("{:<%d}" % width + " {:>13}" * 4).format  # noqa: UP031 - braces
    lines = [row("elastic joint", "stiffness", "backlash", "motor locked", "motor free"),
             row("", "[N m/rad, N/m]", "[rad, m]", "[Hz]", "[Hz]")]
    lines += [row(name, *(f"{number:.4g}" for number in numbers)) for name, *numbers in zip(
        names, stiffness, actuators.backlash[joints], locked, alone, strict=True)]
    rates, modes = plant.spring_modes()
    fastest, name = float(rates[-1]), names[int(np.argmax(np.abs(modes[:, -1])))]
    lines.append(f"fastest mode: {fastest / (2.0 * np.pi):.4g} Hz, mainly of {name}; steps of "
                 f"{_RESOLVED / fastest:.3g} s have it within 1 %, in positions 0, without damping and backlash")
    doubts = []
    if step * fastest > 1.01 * _RESOLVED:  # the printed step is rounded
        seen = 2.0 / step * np.arctan(0.5 * step * fastest) / (2.0 * np.pi)
        doubts.append(f"spring of joint '{name}': a step of {step:g} s is too long for its mode of "
                      f"{fastest / (2.0 * np.pi):.4g} Hz, which swings at {seen:.4g} Hz in it; a step of "
                      f"{_RESOLVED / fastest:.3g} s has it within 1 %")
    return lines, doubts
