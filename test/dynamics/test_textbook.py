"""The textbook's functions by name."""

import numpy as np
import pytest

from robodyn_ros import Robot
from robodyn_ros.compile import compile_function
from robodyn_ros.dynamics.function_table import FUNCTIONS
from robodyn_ros.dynamics.textbook import Textbook
from robodyn_ros.resources import robot_file

ROBOT = Robot.from_urdf(robot_file("arm6"))


@pytest.mark.parametrize("name", FUNCTIONS)
def test_every_function_is_there_for_floats_and_for_tracing(name):
    arguments = FUNCTIONS[name][1]
    arrays = np.random.default_rng(0).uniform(-1.0, 1.0, (len(arguments), ROBOT.n))
    expected = getattr(ROBOT.dynamics(), name)(*arrays)
    function = getattr(Textbook(ROBOT.model), name)
    results = [np.asarray(function(*arrays), dtype=float)]
    results.append(compile_function(function, dict.fromkeys(arguments, (ROBOT.n,)), name=name)(*arrays))
    for result in results:
        if isinstance(expected, tuple):  # the door names the blocks of what comes as one array
            expected = np.concatenate([np.asarray(block) for block in expected], axis=-1).reshape(result.shape)
        np.testing.assert_allclose(result, expected, rtol=1e-9, atol=1e-9)


def test_an_unknown_function_is_named():
    with pytest.raises(AttributeError, match="'inverse_kinematics'; it has inverse_dynamics"):
        Textbook(ROBOT.model).inverse_kinematics  # noqa: B018  (the access is the test)
