# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Errors of identified base parameters over their standard deviations, where encoders have steps or noise.

Arms whose true parameters are known are identified again and again, each time with other noise. The table has the
share of the errors of identified base parameters within two standard deviations, the share of base parameters that are
identified, and the greatest error. The last column counts Stribeck velocities that were found, where there is none.
"""

from __future__ import annotations

from argparse import ArgumentParser
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np
from scipy.signal import lfilter

from bench.report import line
from bench.wrong_arm import WrongArm, described_arm, sampled, trajectory
from robodyn_ros.description.model import Array
from robodyn_ros.dynamics.regressor import inertial_parameters
from robodyn_ros.toolbox.identification.excitation import Task, excite
from robodyn_ros.toolbox.identification.identified_model import IdentifiedModel, identify
from robodyn_ros.toolbox.identification.measured_motion import prepare

RATES = 100, 500, 1000
"""Of the recordings [Hz]."""

ENCODERS = (1e-4, 0.0), (5e-4, 0.0), (0.0, 1e-4), (0.0, 5e-4)
"""Steps and standard deviation of white noise of the positions [rad]."""

CORNERS = None, 1.0
"""Corner frequency of the effort noise [Hz]; None: it is white."""

EFFORT_NOISE = 0.005
"""Standard deviation of the effort noise, as a share of the effort limits."""

_WARM_UP = 20  # of the noise before the recording [s]


@dataclass(frozen=True)
class Recording:
    """What a recording of 30 s is like.

    Attributes:
        robot: Name of a shipped robot. It is 20 % wrong, and has no Stribeck's effect.
        rate: [Hz].
        step: Of the encoders [rad].
        noise: Standard deviation of white noise of the positions [rad].
        corner: Corner frequency of the effort noise [Hz]; None: it is white.
    """

    robot: str
    rate: int
    step: float = 0.0
    noise: float = 0.0
    corner: float | None = None

    def identified(self, seed: int) -> tuple[IdentifiedModel, Array]:
        """Identify one such recording.

        Args:
            seed: Of the noise, and of the place of the encoders' steps.

        Returns:
            The model, and the errors of its base parameters, shape (b,).
        """
        arm, time, q, effort = _motion(self.robot, self.rate)
        random = np.random.default_rng(seed)
        position = q + self.noise * random.normal(size=q.shape)
        if self.step:
            place = random.uniform(0.0, self.step, q.shape[1])
            position = np.rint((position - place) / self.step) * self.step + place
        errors = random.normal(size=(len(q) + _WARM_UP * self.rate, q.shape[1]))
        if self.corner is not None:
            kept = np.exp(-2.0 * np.pi * self.corner / self.rate)
            errors = lfilter([np.sqrt(1.0 - kept**2)], [1.0, -kept], errors, axis=0)
        effort = effort + EFFORT_NOISE * arm.described.model.effort_limit * errors[_WARM_UP * self.rate:]
        model = identify(arm.described, prepare(arm.described.model, time, position, effort, "run"))
        parts, true = model.effort_model, model.described.copy()
        true[:parts.inertial_count] = inertial_parameters(arm.robot.model)
        true[parts.slots("viscous")], true[parts.slots("coulomb")] = arm.robot.model.damping, arm.robot.model.friction
        return model, model.base_values - parts.base.values(true)


@dataclass(frozen=True)
class Coverage:
    """How errors of many recordings compare with their deviations.

    Attributes:
        within_two: Share of the errors of identified base parameters within two deviations.
        identified: Share of the base parameters that are identified.
        worst: Greatest error of an identified base parameter [deviations].
        stribeck: Number of Stribeck velocities that were found, where there is none.
    """

    within_two: float
    identified: float
    worst: float
    stribeck: int

    @classmethod
    def of(cls, recording: Recording, seeds: Sequence[int]) -> Coverage:
        """Identify a recording with each seed."""
        ratios, identified, stribeck = [], [], 0
        for seed in seeds:
            model, errors = recording.identified(seed)
            ratios.append(np.abs(errors / model.base_deviations)[model.base_identified])
            identified.append(model.base_identified)
            stribeck += int(np.isfinite(model.effort_model.stribeck_velocity).sum())
        each = np.concatenate(ratios)
        return cls(float(np.mean(each < 2.0)), float(np.mean(np.concatenate(identified))),
                   float(each.max(initial=0.0)), stribeck)


@cache
def _motion(name: str, rate: int) -> tuple[WrongArm, Array, Array, Array]:
    """An arm, and times, positions and efforts of its motion."""
    arm = WrongArm(described_arm(name), static=1.0)
    q, v, a = sampled(trajectory(excite(arm.described, Task(iterations=10)).points), 1.0 / rate)
    return arm, np.arange(len(q)) / rate, q, arm.effort(q, v, a)


def rows(robots: Sequence[str], rates: Sequence[int], count: int) -> Iterator[Sequence[str]]:
    """Identify each kind of recording `count` times."""
    for name in robots:
        for rate in rates:
            for step, noise in ENCODERS:
                found = [Coverage.of(Recording(name, rate, step, noise, corner), range(count)) for corner in CORNERS]
                yield (name, f"{rate}", f"steps of {step:g}" if step else f"noise of {noise:g}",
                       *(f"{each.within_two:.1%} of {each.identified:.0%}, {each.worst:.1f}" for each in found),
                       str(sum(each.stribeck for each in found)))


def main() -> None:
    """Print the table."""
    parser = ArgumentParser(prog="python -m bench.identified_deviations", description=__doc__)
    parser.add_argument("robots", nargs="*", default=["planar_2r", "arm6"], help="shipped robots")
    parser.add_argument("--rates", nargs="+", type=int, default=RATES, help="of the recordings [Hz]")
    parser.add_argument("--seeds", type=int, default=50, help="recordings of each kind")
    given = parser.parse_args()
    head = ["robot", "rate [Hz]", "positions [rad]", *("white effort noise" if corner is None else
            f"effort noise below {corner:g} Hz" for corner in CORNERS), "Stribeck"]
    print(line(head), line(["---"] * len(head)), sep="\n")
    for row in rows(given.robots, given.rates, given.seeds):
        print(line(row), flush=True)


if __name__ == "__main__":
    main()
