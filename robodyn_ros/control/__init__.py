# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Control laws, their contract, the registry that finds them by name, and the references that they follow.

Open first: ``contract/controller.py``, ``laws/pd.py``, ``runtime/control_loop.py``.
"""

from robodyn_ros.compile import clip, where
from robodyn_ros.control.contract.controller import Controller, Law
from robodyn_ros.control.contract.law_drawings import DrawnShape, declare_drawing
from robodyn_ros.control.contract.law_inputs import Reading, declare_input
from robodyn_ros.control.contract.parameters import (
    DAMPING,
    EFFORT,
    POSITION,
    STIFFNESS,
    VELOCITY,
    Parameters,
    Unit,
    derived,
    per_joint,
    scalar,
)
from robodyn_ros.control.contract.state import JointReference, State
from robodyn_ros.control.contract.terms import Terms
from robodyn_ros.control.contract.update_rate import HOLD, INTERPOLATE, Sampled, UpdateRate
from robodyn_ros.control.plugins.registry import controller_names, law_names, load_controller, make_controller
from robodyn_ros.control.references.tip_reference import ForceReference, TipReference
from robodyn_ros.description.model import Array
from robodyn_ros.dynamics.robot_dynamics import Dynamics

__all__ = [
    "Array",
    "DAMPING",
    "EFFORT",
    "POSITION",
    "STIFFNESS",
    "VELOCITY",
    "TipReference",
    "Controller",
    "DrawnShape",
    "Dynamics",
    "ForceReference",
    "HOLD",
    "INTERPOLATE",
    "JointReference",
    "Law",
    "Parameters",
    "Reading",
    "Sampled",
    "State",
    "Terms",
    "Unit",
    "UpdateRate",
    "clip",
    "controller_names",
    "declare_drawing",
    "declare_input",
    "derived",
    "law_names",
    "load_controller",
    "make_controller",
    "per_joint",
    "scalar",
    "where",
]
