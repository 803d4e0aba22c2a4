"""Control laws, their contract, the registry that finds them by name, and the references that they follow."""

from robodyn_ros.control.controller import Controller, Law
from robodyn_ros.control.dynamics_like import DynamicsLike
from robodyn_ros.control.parameters import (
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
from robodyn_ros.control.state import JointReference, State
from robodyn_ros.control.trajectories.tip_reference import ForceReference, TipReference
from robodyn_ros.description.model import Array

__all__ = [
    "Array",
    "DAMPING",
    "EFFORT",
    "POSITION",
    "STIFFNESS",
    "VELOCITY",
    "TipReference",
    "Controller",
    "DynamicsLike",
    "ForceReference",
    "JointReference",
    "Law",
    "Parameters",
    "State",
    "Unit",
    "derived",
    "per_joint",
    "scalar",
]
