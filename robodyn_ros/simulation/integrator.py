# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Methods of integration: their names, and what the plant asks of a method.

A method is one class, whose only instance is ``METHOD`` of the module with its name. To add one, write its module, and
its name in `Integrator`.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from enum import StrEnum
from importlib import import_module
from typing import Any, ClassVar

from numpy.typing import NDArray

from robodyn_ros.simulation.joint_constraints import ConstraintSolution, Problem
from robodyn_ros.simulation.plant_part import PlantParts
from robodyn_ros.simulation.plant_state import PlantCommand, PlantState


class IntegrationMethod(ABC):
    """A method of integration; ``plant`` is a `PlantModel`, other arguments are those of `plant_step`.

    A step is the problem of the velocity after it, with friction, stops and contacts; it is set up by `problem`, solved
    by `plant_step.solve`, and followed by `integrate`. A method that splits steps prepares a problem of impulses alone:
    `prepare` integrates the smooth motion before it.

    Attributes:
        is_implicit: Whether springs with backlash, presliding, contacts, current loops and ripple of the torque are
            parts of its problem, and no motor is too fast for it. Other methods split steps.
        has_fixed_steps: Whether compiled code can take its steps; otherwise `stepper` integrates in Python.
        stable_decay: Greatest step as a multiple of the time constant of a decay, for which the method is stable.
        stable_angle: Greatest h omega for which it is stable for an oscillation; 0: an oscillation gains energy.
        mujoco: Name of MuJoCo's method of the same formula, as in ``mjtIntegrator``; empty: MuJoCo has none.
    """

    is_implicit: ClassVar[bool] = False
    has_fixed_steps: ClassVar[bool] = True
    stable_decay: ClassVar[float] = math.inf
    stable_angle: ClassVar[float] = math.inf
    mujoco: ClassVar[str] = ""

    @abstractmethod
    def resolved_speed(self, step: float) -> float:
        """Return the sum of angular speeds up to which steps are not divided, see `fast_motion` [rad/s]."""

    def stepper(self, _plant: Any, _tolerance: float, _compiled: bool) -> Any:
        """Return the object whose method ``step`` does in Python what `prepare` does; None: nothing does."""
        return None

    def prepare(self, plant: Any, state: PlantState, command: PlantCommand) -> Any:
        """Integrate the smooth motion over a step; its result is the argument ``smooth`` of the other functions."""
        raise NotImplementedError

    def acting_state(self, _plant: Any, state: PlantState) -> PlantState:
        """Return the state at which the forces of a step act; default: the state before the step."""
        return state

    @abstractmethod
    def problem(self, plant: Any, state: PlantState, command: PlantCommand, *smooth: Any
                ) -> tuple[Problem, NDArray[Any], NDArray[Any]]:
        """Return the problem of the velocity after the step, the motor voltages, and the friction that bends bristles.

        Args:
            plant: The simulated model.
            state: Result of `acting_state`.
            command: The commands.
            *smooth: Result of `prepare` of a method that splits steps.
        """

    @abstractmethod
    def first_modes(self, state: PlantState, problem: Problem) -> tuple[NDArray[Any], NDArray[Any]]:
        """Return the first guess for the modes of friction and stops, and of the motors."""

    @abstractmethod
    def integrate(self, plant: Any, state: PlantState, command: PlantCommand, voltage: NDArray[Any],
                  solution: ConstraintSolution, results: PlantParts, *smooth: Any) -> PlantState:
        """Return the state after the step, except for that of the parts.

        Arguments as for `problem`, and its voltages, its solution, and the results of the parts.
        """


class Integrator(StrEnum):
    """Names of the methods of integration."""

    SEMI_IMPLICIT_EULER = "semi_implicit_euler"
    """q' = q + h v', damping and motors implicit: stable, order 1."""
    EXPLICIT_EULER = "explicit_euler"
    """q' = q + h v, v' = v + h a, as in the books: order 1, gains energy."""
    RUNGE_KUTTA = "runge_kutta"
    """The classical method of order 4."""
    ADAPTIVE = "adaptive"
    """SciPy's solve_ivp with a given tolerance: a slow reference."""

    @property
    def method(self) -> IntegrationMethod:
        """The method of this name."""
        found: IntegrationMethod = import_module(f"robodyn_ros.simulation.{self}").METHOD
        return found
