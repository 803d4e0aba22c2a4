# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Robot dynamics from a URDF, a simulated robot, and controllers swapped by a parameter, on ROS 2.

``from robodyn_ros import Robot, rollout`` is all that many programs need. `robodyn_ros.trajectories` has motions to
follow, `robodyn_ros.control` what a law of one's own needs. Names are imported when they are first used, so that
importing this package, for ``robodyn --help`` or a program that a signal ends at once, takes no time. Type checkers
read their types from ``__init__.pyi``.
"""

import importlib

__version__ = "0.1.0"

__all__ = [
    "ClosedLoop",
    "CompileError",
    "DescriptionError",
    "DescriptionWarning",
    "InputError",
    "Plant",
    "PlantModel",
    "PluginError",
    "RobodynError",
    "Robot",
    "SimulationError",
    "__version__",
    "rollout",
    "rollout_scores",
]

_ERRORS = ("CompileError", "DescriptionError", "DescriptionWarning", "InputError", "PluginError", "RobodynError",
           "SimulationError")
_IMPORTED_WHEN_USED = dict.fromkeys(_ERRORS, "robodyn_ros.base.errors") | {
    "ClosedLoop": "robodyn_ros.simulation.rollout",
    "Plant": "robodyn_ros.simulation.plant",
    "PlantModel": "robodyn_ros.simulation.plant_model",
    "Robot": "robodyn_ros.robot",
    "rollout": "robodyn_ros.simulation.rollout",
    "rollout_scores": "robodyn_ros.simulation.rollout",
}


def __getattr__(name: str) -> object:
    if name not in _IMPORTED_WHEN_USED:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(importlib.import_module(_IMPORTED_WHEN_USED[name]), name)
    globals()[name] = value
    return value
