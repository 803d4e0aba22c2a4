# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Whether the dynamics of a robot are sound."""

from __future__ import annotations

import numpy as np

from robodyn_ros.description.model import RobotModel
from robodyn_ros.dynamics.compiled_formulas import bias, mass_matrix


def unsound(model: RobotModel) -> str:
    """Return why the dynamics of a robot are not sound at three configurations; empty if they are."""
    chance = np.random.default_rng(0)
    for q in chance.uniform(-1.0, 1.0, (3, model.n)):
        matrix, effort = mass_matrix(model, q), bias(model, q, np.ones(model.n))
        if not (np.isfinite(matrix).all() and np.isfinite(effort).all()):
            return f"mass matrix {matrix.tolist()}, bias {effort.tolist()} at q = {q.tolist()}"
        try:
            np.linalg.cholesky(matrix)
        except np.linalg.LinAlgError:
            return f"mass matrix {matrix.tolist()} is not positive definite at q = {q.tolist()}"
        if not np.isfinite(np.linalg.solve(matrix, np.ones(model.n) - effort)).all():
            return f"accelerations are not finite at q = {q.tolist()}"
    return ""
