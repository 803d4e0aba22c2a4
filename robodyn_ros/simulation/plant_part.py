# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Interface of the parts of the plant that are not linear in the velocities, or have a state.

A step solves  matrix v' = momentum + impulses  in rounds, see `plant_step`. A part guesses how its impulses depend on
v', adds them to this problem, and compares the guess with the velocities that follow from it. `PlantModel.parts` is the
list of the parts, each of which is a class in a file of its own; no stage of the step names one.

To add a part, write its class, a field of `PlantParts`, and its instance in `PlantModel.parts`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from robodyn_ros.simulation.joint_constraints import Problem
from robodyn_ros.simulation.plant_state import MotorSide, PlantCommand, PlantState


class PlantParts(NamedTuple):
    """The parts of a plant, or a value of each: what it is given in a step, its guess, or its result.

    They add impulses in this order.
    """

    elastic: Any
    contacts: Any
    presliding: Any


class PartRound(NamedTuple):
    """A part after a round of the solution."""

    result: Any  # what follows from the velocities, a record of arrays; None: nothing
    guess: Any  # the next guess
    moved: Any  # positive if a guess differs, of this part or of those before it


class Losses(NamedTuple):
    """Losses that parts add to, shape (n,) each [J]."""

    viscous: NDArray[Any]  # viscous losses since the start
    friction: NDArray[Any]  # losses to dry friction in the step


class PlantPart(ABC):
    """A part; ``velocity`` is that of links and motors after a step, shape (n + m,) [rad/s or m/s].

    Arguments named ``given``, ``guess`` and ``result`` are the part's own records.

    Attributes:
        modes: Number of modes that pivoting chooses.
        more_rounds: Bound of the rounds that the part needs beside pivoting.
    """

    modes: int = 0
    more_rounds: int = 0

    @abstractmethod
    def check(self, plant: Any) -> None:
        """Check that the part fits a `PlantModel`.

        Raises:
            InputError: It does not.
        """

    @abstractmethod
    def start(self, state: PlantState, bending: NDArray[Any]) -> tuple[Any, Any]:
        """Return what the rounds of a step are given, and the first guess.

        Args:
            state: State at which the forces of the step act.
            bending: Level of the dry friction that bends bristles, shape (m,) of `friction.Bristles` [N m or N].
        """

    @abstractmethod
    def example(self) -> tuple[Any, Any, Any]:
        """Return records of zeros like those that the rounds are given, the guess, and the result."""

    def add_linear(self, _state: PlantState, problem: Problem) -> Problem:
        """Add the impulses that are linear in the velocities to the problem of an implicit method."""
        return problem

    @abstractmethod
    def add(self, given: Any, guess: Any, problem: Problem, rounds: Any) -> Problem:
        """Add the guessed impulses to a problem, after a number of rounds."""

    @abstractmethod
    def compare(self, given: Any, guess: Any, velocity: NDArray[Any], rounds: Any, moved: Any) -> PartRound:
        """Compare a guess with the velocities that follow from it; ``moved``: positive if an earlier guess differs."""

    def add_undisturbed(self, _guess: Any, problem: Problem) -> Problem:
        """Add the impulses of a part that does what it most often does, if there are any; see `undisturbed`."""
        return problem

    @abstractmethod
    def undisturbed(self, state: PlantState, given: Any, guess: Any, velocity: NDArray[Any], moved: Any) -> PartRound:
        """Return the round for the velocities of `add_undisturbed`; ``moved`` is positive if it does not hold."""

    def acting(self, command: PlantCommand, _result: Any) -> PlantCommand:
        """Return the commands with external efforts of the part in the step."""
        return command

    def add_losses(self, losses: Losses, _state: PlantState, _result: Any, _velocity: NDArray[Any]) -> Losses:
        """Add the losses in a step from a state."""
        return losses

    def friction_effort(self, _result: Any) -> NDArray[Any] | float:
        """Return the mean friction on the joints in a step, shape (n,) [N m or N]; 0: none."""
        return 0.0

    def next_state(self, state: PlantState, _result: Any) -> PlantState:
        """Return a state after a step with that of the part."""
        return state

    def add_smooth(self, effort: NDArray[Any] | float, _q: NDArray[Any], _v: NDArray[Any], _motors: MotorSide
                   ) -> NDArray[Any] | float:
        """Add the effort on links and motors at an instant, for methods that split steps."""
        return effort

    def add_smooth_loss(self, loss: NDArray[Any], _q: NDArray[Any], _v: NDArray[Any], _motors: MotorSide
                        ) -> NDArray[Any]:
        """Add the power that the part dissipates then, shape (n,) [W]."""
        return loss

    def energy(self, _state: PlantState) -> NDArray[Any]:
        """Return the stored energies [J]."""
        return np.zeros(0)
