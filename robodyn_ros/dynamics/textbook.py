"""The textbook's functions of one robot, called as those of ``Dynamics`` are, on floats or traced scalars."""

from __future__ import annotations

from functools import partial
from typing import Any

from robodyn_ros.description.model import Array, RobotModel
from robodyn_ros.dynamics.function_table import FUNCTIONS


class Textbook:
    """Has every function of ``Dynamics`` as an attribute, without checks: for functions that are traced as a whole.

        Textbook(robot.model).inverse_dynamics(q, v, a)   # q, v, a: arrays of floats or of traced scalars

    Args:
        model: The robot.
    """

    def __init__(self, model: RobotModel) -> None:
        self._model = model

    def __getattr__(self, name: str) -> partial[Array]:
        """The function of that name, for this robot."""
        if name.startswith("_") or name not in FUNCTIONS:
            raise AttributeError(f"the textbook has no function '{name}'; it has {', '.join(FUNCTIONS)}")
        function: Any = partial(FUNCTIONS[name][0], self._model)
        return function
