"""Control laws, the contract that they keep, the registry that finds them, and the references they follow."""

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
from robodyn_ros.control.trajectories.tip_reference import ForceReference, TipReference

__all__ = [
    "DAMPING",
    "EFFORT",
    "POSITION",
    "STIFFNESS",
    "VELOCITY",
    "TipReference",
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
