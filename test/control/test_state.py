"""States and references: shapes by field, and what no sensor measures."""

import numpy as np
import pytest

from robodyn_ros import Robot
from robodyn_ros.control import State
from robodyn_ros.control.trajectories.reference import SOURCES
from robodyn_ros.resources import robot_file


@pytest.mark.parametrize("kind", SOURCES)
def test_a_class_of_references_knows_its_shapes(kind):
    robot = Robot.from_urdf(robot_file("arm7"))
    reference = SOURCES[kind](robot, np.zeros(7)).sample(0.0)
    assert kind.shapes(7) == {name: array.shape for name, array in reference._asdict().items()}
    assert tuple(kind.shapes(7)) == kind._fields


def test_a_wrench_that_is_not_measured_cannot_be_edited():
    state = State(0.0, 0.0, np.zeros(2), np.zeros(2))
    assert np.isnan(state.wrench_tip).all()
    with pytest.raises(ValueError, match="read-only"):
        state.wrench_tip[0] = 0.0
