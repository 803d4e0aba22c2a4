# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""A recorded arm is identified without the command line, and warnings go where the caller wants them."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from bench.wrong_arm import WrongArm, described_arm, trajectory
from robodyn_ros.base.common_fields import CUTOFF
from robodyn_ros.base.errors import InputError, RecordingError
from robodyn_ros.toolbox.identification.arm_identification import IdentificationSettings, identify_arm
from robodyn_ros.toolbox.identification.excitation import Task, excite
from robodyn_ros.toolbox.identification.recorded_arm import RecordedArm
from robodyn_ros.toolbox.recording.joint_table import JointTable

SETTINGS = IdentificationSettings(CUTOFF.default)


@pytest.fixture(scope="module")
def arm():
    return WrongArm(described_arm("planar_2r"))


@pytest.fixture
def recorded(arm):
    time, q, effort = (values[::4] for values in arm.record(trajectory(excite(
        arm.described, Task(duration=10.0, iterations=0, seed=0)).points)))
    path, warnings = Path("motion.csv"), []
    table = JointTable(path, time, q, None, effort, None, np.eye(2), from_motors=False, at_motors=False)
    return RecordedArm(path, table, arm.described, time, q, None, effort, None, warnings.append), warnings


def test_friction_is_that_of_the_arm_and_the_end_of_the_motion_validates_it(arm, recorded):
    found = identify_arm(recorded[0], replace(SETTINGS, hold_out=0.2))
    wrong = np.abs(arm.described.model.damping - arm.friction.viscous)
    assert (np.abs(found.model.friction.viscous - arm.friction.viscous) < 0.3 * wrong).all()
    assert [(each.name, each.use) for each in found.motions] == [("motion.csv", "identification"),
                                                                 ("motion.csv", "validation")]
    assert found.motions[0].motion.time[-1] < found.motions[1].motion.time[0]
    assert found.springs is found.response is found.presliding is None


def test_efforts_that_never_vary_are_doubted_or_refused(recorded):
    one, warnings = recorded
    constant = one.effort * [1.0, 0.0] + [0.0, 2.0]
    try:
        identify_arm(replace(one, effort=constant), SETTINGS)
    except RecordingError as error:  # no robot has such a model
        assert "Nothing was written" in str(error)
    assert any("joint 'joint2' moves while its effort never varies from 2" in each for each in warnings)
    with pytest.raises(RecordingError, match="expected measured efforts"):
        identify_arm(replace(one, effort=0.0 * one.effort), SETTINGS)


def test_positions_of_the_links_have_no_response_of_the_motors(recorded):
    with pytest.raises(InputError, match="expected --motor-positions, received --positions"):
        identify_arm(recorded[0], replace(SETTINGS, has_response=True))
