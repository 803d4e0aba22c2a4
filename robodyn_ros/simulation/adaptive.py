# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Integrates the smooth motion with SciPy's adaptive solve_ivp: a reference for the other methods."""

from __future__ import annotations

import math
from functools import partial
from itertools import count
from typing import Any

import numpy as np
from numpy.typing import NDArray

from robodyn_ros.base.checks import Range, as_number
from robodyn_ros.base.errors import SimulationError
from robodyn_ros.compile import compile_function
from robodyn_ros.compile.records import form_of, from_numbers, to_numbers
from robodyn_ros.description.model import Array
from robodyn_ros.simulation.motion import SmoothState, demand, derivative
from robodyn_ros.simulation.plant_model import PlantModel
from robodyn_ros.simulation.plant_state import PlantCommand, PlantState
from robodyn_ros.simulation.split_step import SplitStep

_MAX_EVALUATIONS = 100_000  # in one step; only diverging motions need more


class AdaptiveMotion:
    """Integrates the smooth motion over one step of the plant by LSODA, which can handle stiff motors.

    Args:
        plant: The simulated model.
        tolerance: Relative and absolute tolerance of the solution.
        compiled: Whether to compile the derivative for this robot.

    Raises:
        InputError: The tolerance is not between 1e-13 and 1e-2.
    """

    def __init__(self, plant: PlantModel, tolerance: float, compiled: bool) -> None:
        from scipy.integrate import solve_ivp  # takes 0.2 s to import; other plants do not need it

        self._solve = solve_ivp
        as_number(tolerance, Range(1e-13, 1e-2), "tolerance of the plant")
        self._plant, self._tolerance, self._step = plant, tolerance, plant.step
        function, rest = partial(_rate, plant), plant.state(*np.zeros((2, plant.n)))
        shapes = {"x": SmoothState.from_state(rest), "v_start": rest.v, "command": PlantCommand.from_effort(rest.v)}
        self._rate = compile_function(function, shapes, "smooth_motion") if compiled else function

    def step(self, state: PlantState, command: PlantCommand) -> SmoothState:
        """Return the end of the smooth motion.

        Args:
            state: Before the step.
            command: The commands.

        Raises:
            SimulationError: The solver failed.
        """
        plant, start = self._plant, SmoothState.from_state(state)
        v_start = plant.elastic.at_motors(plant.elastic.velocity(state)).copy()
        form: Any = form_of(start)

        evaluations = count()

        def rate(_: float, x: Array) -> Array:
            result = to_numbers(form, self._rate(from_numbers(form, x), v_start, command), "smooth motion")
            if next(evaluations) > _MAX_EVALUATIONS or not math.isfinite(result.sum()):
                raise SimulationError(f"the adaptive integrator gave up within a step of {self._step} s from "
                                      f"velocities {v_start.tolist()}: its solution diverges, or the tolerance of "
                                      f"{self._tolerance} is out of reach")
            return result

        solution = self._solve(rate, (0.0, self._step), to_numbers(form, start, "state"), method="LSODA",
                               rtol=self._tolerance, atol=self._tolerance)
        if not solution.success:
            raise SimulationError(f"the adaptive integrator gave up: {solution.message}")
        end: SmoothState = from_numbers(form, solution.y[:, -1])
        return end


def _rate(plant: PlantModel, x: SmoothState, v_start: NDArray[Any], command: PlantCommand) -> SmoothState:
    return derivative(plant, x, demand(plant, command, v_start), command)


class AdaptiveMethod(SplitStep):
    """The method of this module; it divides steps by itself."""

    has_fixed_steps = False

    def resolved_speed(self, _step: float) -> float:
        """Return infinity: no speed needs divided steps."""
        return math.inf

    def stepper(self, plant: PlantModel, tolerance: float, compiled: bool) -> AdaptiveMotion:
        """Return the integration of the smooth motion; arguments as for `AdaptiveMotion`."""
        return AdaptiveMotion(plant, tolerance, compiled)


METHOD = AdaptiveMethod()
