"""Control laws, the contract that they keep, the registry that finds them, and the references they follow."""

from robodyn_ros.control.cartesian_reference import CartesianReference, ForceReference
from robodyn_ros.control.controller import Controller, JointReference, Law, State
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

__all__ = [
    "DAMPING",
    "EFFORT",
    "POSITION",
    "STIFFNESS",
    "VELOCITY",
    "CartesianReference",
    "Controller",
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
