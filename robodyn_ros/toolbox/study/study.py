# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""A study: laws, motions and plant quantities with distributions, and the resulting samples."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from functools import cached_property, partial
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.stats import qmc

from robodyn_ros.base.checks import Range
from robodyn_ros.base.code_cache import digest
from robodyn_ros.base.errors import InputError
from robodyn_ros.control.contract.controller import Controller, JointReference
from robodyn_ros.control.contract.parameters import Parameters
from robodyn_ros.control.references.joint_trajectory import JointTrajectory
from robodyn_ros.description.model import Array
from robodyn_ros.robot import Robot
from robodyn_ros.simulation.engine import Engine
from robodyn_ros.simulation.plant_model import PlantModel
from robodyn_ros.simulation.quantities import NOISES, OFFSET, QUANTITIES
from robodyn_ros.simulation.rollout import ClosedLoop
from robodyn_ros.simulation.scenario import Scenario
from robodyn_ros.simulation.score import Rollout
from robodyn_ros.simulation.signals import Signal
from robodyn_ros.simulation.standard_motion import tracking_scenario
from robodyn_ros.toolbox.study.distributions import Distribution
from robodyn_ros.toolbox.study.loop_description import PARAMETERS, LoopDescription

_ROUNDING = 1e-9  # of a start and its offset [rad or m]


class Design(StrEnum):
    """Choice of points of the unit cube, from which distributions make the samples."""

    SOBOL = "sobol"
    """Scrambled Sobol sequence; its first k points are spread evenly, too."""

    LATIN_HYPERCUBE = "latin_hypercube"
    """Each of N equal parts of each axis has one point."""

    RANDOM = "random"
    """Independent points."""

    def points(self, count: int, axes: int, seed: int) -> Array:
        """Return points of the unit cube, the same for the same arguments.

        Args:
            count: Number of points N.
            axes: Number of axes d, may be 0.
            seed: Seed of the scrambling or of the random numbers.

        Returns:
            Shape (N, d), each number above 0 and below 1.
        """
        if axes == 0:
            return np.zeros((count, 0))
        rng = np.random.default_rng(seed)
        if self is Design.RANDOM:
            points = rng.random((count, axes))
        elif self is Design.LATIN_HYPERCUBE:
            points = qmc.LatinHypercube(axes, rng=rng).random(count)
        else:
            with warnings.catch_warnings():  # numbers other than powers of two are spread slightly less evenly
                warnings.simplefilter("ignore", UserWarning)
                points = qmc.Sobol(axes, rng=rng).random(count)
        tiny = np.finfo(float).eps
        return np.clip(points, tiny, 1.0 - tiny)


class Axis(NamedTuple):
    """One number that differs from sample to sample.

    Attributes:
        column: Name in results: a quantity or a gain, with the element in brackets.
        distribution: Its distribution.
        elements: Elements of the quantity with this number, as indices of the flattened array; empty for a gain.
        law: Label of the law with this gain; empty for a quantity.
    """

    column: str
    distribution: Distribution
    elements: tuple[int, ...] = ()
    law: str = ""


@dataclass(frozen=True, eq=False)
class StudiedLaw:
    """A law of a study."""

    controller: Controller  # the law with its parameters
    name: str  # name in the registry
    gains: Mapping[str, Distribution] = field(default_factory=dict)  # distributions of its parameters by flat name
    signals: Mapping[str, Signal] = field(default_factory=dict)  # its scripted inputs by name


class Pair(NamedTuple):
    """A law and a motion, for all samples."""

    law: str  # label of the law
    motion: str  # label of the motion


@dataclass(frozen=True, eq=False)
class Study:
    """Closed loops with different plants, gains and starts.

    Every law follows every motion on the same samples, so that two laws can be compared sample by sample.

    Attributes:
        path: Path of its file.
        text: Content of the file.
        robot: The robot as the laws know it.
        plant: The simulated robot, before quantities change it.
        laws: The laws by label.
        motions: The motions by label.
        quantities: Axes of each varied plant quantity.
        count: Number of samples.
        design: Choice of the samples.
        seed: Seed of the design and of the measurement noise.
        period: Control period [s].
        position_noise: Standard deviation of measured positions [rad or m].
        velocity_noise: Standard deviation of measured velocities [rad/s or m/s].
        limits: Greatest values of metrics, see `metrics.METRICS`; samples beyond have failed.
        engine: Simulator of the bodies.
    """

    path: Path
    text: str
    robot: Robot
    plant: PlantModel
    laws: Mapping[str, StudiedLaw]
    motions: Mapping[str, JointTrajectory]
    quantities: Mapping[str, tuple[Axis, ...]]
    count: int
    design: Design
    seed: int
    period: float
    position_noise: float
    velocity_noise: float
    limits: Mapping[str, float] = field(default_factory=dict)
    engine: Engine = Engine.ROBODYN

    @property
    def name(self) -> str:
        """Name of its file, for messages."""
        return self.path.name

    @property
    def pairs(self) -> list[Pair]:
        """All pairs of a law and a motion, in the order of results."""
        return [Pair(law, motion) for law in self.laws for motion in self.motions]

    @property
    def rows(self) -> int:
        """Number of rollouts."""
        return self.count * len(self.pairs)

    @cached_property
    def axes(self) -> tuple[Axis, ...]:
        """The axes of the design: those of the quantities, then each law's gains."""
        gains = [Axis(f"{law}.{name}", distribution, law=law) for law, one in self.laws.items()
                 for name, distribution in one.gains.items()]
        return (*(axis for axes in self.quantities.values() for axis in axes), *gains)

    def law_axes(self, law: str) -> list[Axis]:
        """The axes that affect one law's rollouts."""
        return [axis for axis in self.axes if axis.law in ("", law)]

    @cached_property
    def values(self) -> dict[str, Array]:
        """Values of all axes by column, each of shape (N,)."""
        points = self.design.points(self.count, len(self.axes), self.seed)
        whole = {axis for name, axes in self.quantities.items() if QUANTITIES[name].range.whole for axis in axes}
        values = {axis: axis.distribution.ppf(points[:, number]) for number, axis in enumerate(self.axes)}
        return {axis.column: np.round(array) if axis in whole else array for axis, array in values.items()}

    @cached_property
    def digest(self) -> str:
        """Hash of the content: of the loops and all samples."""
        return digest(*(f"{pair}{self.description(pair).digest}" for pair in self.pairs), repr(dict(self.limits)),
                      *(part for column, values in self.values.items() for part in (column, values.tobytes())))

    def description(self, pair: Pair, parameters: Parameters | None = None) -> LoopDescription:
        """Return the closed loop of a law and a motion, as data.

        Args:
            pair: The law and the motion.
            parameters: Parameters of the law; None: those of the study.
        """
        law, motion = self.laws[pair.law], self.motions[pair.motion]
        loop = ClosedLoop(law.controller, self.plant, self.period)
        scenario = tracking_scenario(loop, motion, on_motion=OFFSET in self.quantities, seed=self.seed,
                                 position_noise=self.position_noise, velocity_noise=self.velocity_noise,
                                 signals=law.signals)
        known = law.controller.robot
        return LoopDescription(known.model, law.name, parameters or law.controller.parameters, self.plant,
                               self.period, scenario, tuple(self.quantities), known.timing.delay, self.engine,
                               known.known_friction)

    def quantity_arrays(self, scenario: Scenario, values: Mapping[str, Array]) -> dict[str, Array]:
        """Return the varied quantities as arrays with a row for each sample.

        Args:
            scenario: Scenario with the start, for elements that do not differ.
            values: By column, each of shape (N,).
        """
        n, arrays = self.robot.n, {}
        starts = dict(zip(("start.q", "start.v", *NOISES), (scenario.q, scenario.v, np.full(n, self.position_noise),
                                              np.full(n, self.velocity_noise)), strict=True))
        for name, axes in self.quantities.items():
            nominal = starts[name] if name in starts else QUANTITIES[name].nominal_value(self.plant)
            arrays[name] = quantity_rows(axes, nominal, values)
        return arrays

    def parameters(self, law: str, values: Mapping[str, Array]) -> Array:
        """Return the packed parameters of a law for each sample, shape (N, p), or (1, p) if they are all equal.

        Args:
            law: Label of the law.
            values: Values by column, shape (N,) each.

        Returns:
            The parameters; rows of NaN for gains that the law refuses.
        """
        loop = ClosedLoop(self.laws[law].controller, self.plant, self.period)
        if not self.laws[law].gains:
            return loop.packed()[None]
        count = len(next(iter(values.values())))
        return loop.packed_rows(partial(self.sample_parameters, law, values, number) for number in range(count))

    def sample_parameters(self, law: str, values: Mapping[str, Array], number: int) -> Parameters:
        """Return the parameters of a law in one sample.

        Args:
            law: Label of the law.
            values: Values by column, shape (N,) each.
            number: Number of the sample.

        Raises:
            InputError: A gain is out of its range, or the law refuses the gains.
        """
        studied = self.laws[law]
        gains = {name: float(values[f"{law}.{name}"][number]) for name in studied.gains}
        return studied.controller.parameters.with_flat_values(self.robot, gains)

    def arrays(self, pair: Pair, scenario: Scenario, values: Mapping[str, Array] | None = None) -> dict[str, Array]:
        """Return the arrays of all samples of a pair, for `LoopDescription.scores`.

        Args:
            pair: Law and motion.
            scenario: Their task.
            values: By column, each of shape (N,); None: those of the study.
        """
        values = self.values if values is None else values
        count = len(next(iter(values.values()))) if values else self.count
        packed = self.parameters(pair.law, values)
        return {**self.quantity_arrays(scenario, values), PARAMETERS: np.ascontiguousarray(np.broadcast_to(
            packed, (count, packed.shape[1])))}

    def follows_joints(self, law: str) -> bool:
        """Whether a law follows joints, or else poses of the tip link."""
        return self.laws[law].controller.follows is JointReference


def run_sample(study: Study, pair: Pair, number: int, parameters: Parameters | None = None) -> Rollout:
    """Simulate a single sample, and record its motion.

    Args:
        study: The study.
        pair: Law and motion.
        number: Number of the sample.
        parameters: Parameters of the law; None: those of the sample.

    Raises:
        InputError: There is no such sample.
        SimulationError: Its motion diverges.
    """
    if not 0 <= number < study.count:
        raise InputError(f"sample: expected a number from 0 to {study.count - 1}, received {number}")
    description = study.description(pair)
    values = {column: array[number:number + 1] for column, array in study.values.items()}
    arrays = study.quantity_arrays(description.scenario, values)
    sample = {name: array[0] for name, array in arrays.items()}
    return description.loop.run(description.scenario, parameters or study.sample_parameters(pair.law, values, 0),
                                sample=sample)


def quantity_rows(axes: Sequence[Axis], nominal: ArrayLike, values: Mapping[str, Array]) -> Array:
    """Return the values of a quantity for N samples, shape (N, *shape of ``nominal``).

    Args:
        axes: Axes of the quantity, one or more.
        nominal: Value for elements that do not differ.
        values: By column, each of shape (N,).
    """
    count = len(values[axes[0].column])
    rows = np.repeat(np.asarray(nominal, dtype=np.float64).reshape(1, -1), count, axis=0)
    for axis in axes:
        rows[:, list(axis.elements)] = values[axis.column][:, None]
    return rows.reshape(count, *np.shape(nominal))


def element_ranges(name: str, plant: PlantModel, motions: Iterable[JointTrajectory]) -> list[Range]:
    """Return the ranges of the elements of a quantity, as a flattened array.

    Args:
        name: The quantity; starts must be within the limits of the joints in every motion.
        plant: The simulated robot.
        motions: The motions of the study.
    """
    quantity, allowed = QUANTITIES[name], replace(QUANTITIES[name].range, whole=False)  # values are rounded later
    if name not in ("start.q", OFFSET):
        return [allowed] * int(np.prod(quantity.shape(plant)))
    lower, upper = plant.model.position_lower, plant.model.position_upper
    if name == OFFSET:
        begins = np.array([motion.sample(0.0).q for motion in motions])
        lower = np.minimum((lower - begins).max(axis=0) + _ROUNDING, 0.0)
        upper = np.maximum((upper - begins).min(axis=0) - _ROUNDING, 0.0)
    return [replace(allowed, minimum=float(low), maximum=float(high))
            for low, high in zip(lower, upper, strict=True)]


def common_range(ranges: Iterable[Range]) -> Range:
    """Return the intersection of several ranges of one unit."""
    first, *others = ranges
    return replace(first, minimum=max(each.minimum for each in (first, *others)),
                   maximum=min(each.maximum for each in (first, *others)))
