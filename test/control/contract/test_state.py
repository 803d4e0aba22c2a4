# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""States and references: shapes by field, and what no sensor measures."""

import numpy as np
import pytest

from robodyn_ros import Robot
from robodyn_ros.control import State
from robodyn_ros.control.references.reference import SOURCES
from robodyn_ros.description.resources import robot_file


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
