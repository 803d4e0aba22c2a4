# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Identification of arms that are not as their description says, and control with what it found."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from bench.report import Section
from bench.wrong_arm import WrongArm, described_arm, sampled, trajectory
from robodyn_ros.actuation.friction import Friction
from robodyn_ros.description.model import Array
from robodyn_ros.robot import Robot
from robodyn_ros.simulation.standard_motion import excursion
from robodyn_ros.toolbox.identification.excitation import Task, excite
from robodyn_ros.toolbox.identification.identified_files import urdf_with_inertias
from robodyn_ros.toolbox.identification.identified_model import IdentifiedModel, drive_efforts, identify

SEEDS: dict[str, Sequence[int]] = {"planar_2r": range(10), "arm6": (5, 6, 7)}
"""Of the signs of the errors, by robot."""
EFFORT_AIM, TRACKING_AIM = 0.02, 1.2


def written_robot(arm: WrongArm, model: IdentifiedModel) -> Robot:
    """The robot of the URDF that `robodyn identify` writes."""
    return Robot.from_urdf_text(urdf_with_inertias(arm.described.model, model.robot.model, model.friction.viscous,
                                              model.friction.coulomb))


def tracking_ratio(arm: WrongArm, known: Robot) -> float:
    """Tracking error of computed torque with a model, over that with the exact one, RMS over all joints."""
    errors = [np.sqrt(np.mean(arm.follow(excursion(arm.described), "computed_torque", robot, seed=1)[0].error ** 2))
              for robot in (known, arm.robot)]
    return float(errors[0] / errors[1])


def effort_errors(arm: WrongArm, efforts: Array, motion: tuple[Array, Array, Array]) -> Array:
    """RMS of efforts minus true ones, as a share of full scale, shape (n,)."""
    error = efforts - arm.effort(*motion)
    return np.asarray(np.sqrt(np.mean(error**2, axis=0)) / arm.described.model.effort_limit)


def rows() -> Iterator[Sequence[str]]:
    """Identify each robot with each choice of signs."""
    for name, seeds in SEEDS.items():
        described = described_arm(name)
        excitation = excite(described, Task())
        unseen = sampled(trajectory(excite(described, Task(duration=10.0, iterations=0, seed=7)).points))
        for seed in seeds:
            arm = WrongArm(described, seed=seed)
            model = identify(described, arm.measure(trajectory(excitation.points), seed))
            efforts = drive_efforts(described, Friction.from_model(described.model), *unseen)
            before = effort_errors(arm, efforts, unseen).max()
            after = effort_errors(arm, model.predict(*unseen), unseen).max()
            ratio = tracking_ratio(arm, written_robot(arm, model))
            met = after < EFFORT_AIM and ratio < TRACKING_AIM
            yield (name, str(seed), f"{excitation.condition_before:.0f}", f"{excitation.condition:.0f}",
                   f"{before:.2%}", f"{after:.2%}", f"{tracking_ratio(arm, described):.2f}", f"{ratio:.3f}",
                   "met" if met else "**missed**")


IDENTIFICATION = Section(
    "Identification",
    "Arms whose masses, coordinates of centres and frictions are 20 % more or less than described, each by chance of "
    "the seed, are identified from 30 s of motion: encoders of 16 bit, noise of positions and velocities, efforts "
    "with noise of 0.5 % of their limits. The condition number is that of the base regressor before and after the "
    "search of the motion. Efforts of another motion: RMS error of the worst joint as a share of its limit, aim 2 %, "
    "with the description and with the identified model. Tracking: error of "
    "computed torque over its error with the exact model, aim 1.2.",
    ("robot", "seed", "condition before", "after", "efforts: described", "identified", "tracking: described",
     "identified", ""),
    rows,
)
