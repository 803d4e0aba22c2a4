# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""What `robodyn status` prints of a robot."""

import re
import warnings

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from robodyn_ros import Robot
from robodyn_ros.nodes.client.robot_status import RobotStatus, lines


@pytest.mark.parametrize("pitch", [90.0, -90.0, 89.99999, 30.0])
def test_a_tip_that_points_upwards_has_angles_without_a_warning(pitch):
    model, none = Robot.named("planar_2r").model, np.full(2, np.nan)
    wanted, pose = Rotation.from_euler("xyz", [20.0, pitch, 40.0], degrees=True), np.eye(4)
    pose[:3, :3] = wanted.as_matrix()
    status = RobotStatus(1.0, 100.0, 1.0, np.zeros(2), none, none, pose, None, "pd", "", "", "", 1.0, {}, {})
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        (tip,) = [line for line in lines(model, status) if line.startswith("tip ")]
    angles = [float(re.search(rf"{name} (\S+)", tip)[1]) for name in ("roll", "pitch", "yaw")]
    assert (Rotation.from_euler("xyz", angles, degrees=True) * wanted.inv()).magnitude() < 3e-3  # printed to 0.1 deg
