# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Converts the estimates of the law `adaptive` to the nearest physically possible parameters."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from robodyn_ros.base.checks import as_floats
from robodyn_ros.base.errors import InputError
from robodyn_ros.control.laws.adaptive import parameter_names
from robodyn_ros.description.model import Array
from robodyn_ros.robot import Robot
from robodyn_ros.toolbox.identification.consistent_fit import LinearFit, Prior, consistent_solution
from robodyn_ros.toolbox.identification.effort_model import EffortModel, random_motions
from robodyn_ros.toolbox.identification.identified_model import described_parameters

_ACCURACY = 1e-4
"""Allowed deviation of efforts from those of the estimates, relative to their root mean square."""


def consistent_estimates(robot: Robot, names: Sequence[str], estimates: Array) -> tuple[EffortModel, Array]:
    """Find parameters with positive definite pseudo-inertias whose efforts are close to those of the estimates.

    The estimates of a law need not be physically possible. The description determines combinations of parameters that
    do not affect efforts.

    Args:
        robot: The robot that the law controlled.
        names: Names of the estimates, as of `parameter_names`.
        estimates: The estimates, shape (10 links + n,).

    Returns:
        The effort model, and all its parameters.

    Raises:
        InputError: The estimates belong to another robot, or are not finite.
    """
    expected = parameter_names(robot)
    if tuple(names) != expected:
        strange = next((name for name in names if name not in expected), "")
        raise InputError(f"adaptive: expected the {len(expected)} estimates of robot '{robot.name}', received "
                         f"{len(names)}{f', among them {strange!r}' if strange else ''}; give the robot that the law "
                         "controlled")
    values = as_floats(estimates, (len(expected),), "adaptive: estimates")
    n = robot.n
    model = EffortModel(robot, np.full(n, np.nan), np.zeros(n, dtype=bool))
    described = described_parameters(model)
    wanted = described.copy()
    wanted[:len(values)] = values
    rows = model.columns(*random_motions(robot, 3 * len(model.names) // n)).reshape(-1, len(wanted))
    size = np.sqrt(np.mean((rows @ described) ** 2))
    deviations = np.zeros(4 * n)
    deviations[:n] = np.maximum(np.abs(wanted[model.slots("viscous")]), size)
    prior = Prior(described[:model.inertial_count], described[model.inertial_count:], deviations)
    measured = LinearFit.from_rows(rows, rows @ wanted)
    scaled = LinearFit(measured.matrix / (_ACCURACY * size), measured.target / (_ACCURACY * size))
    return model, consistent_solution(scaled, prior)
