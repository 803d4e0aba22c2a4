# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Values by joint name in columns."""

import numpy as np
import pytest

pytest.importorskip("mcap_ros2", reason="mcap-ros2-support is not installed: make setup")

from robodyn_ros.toolbox.recording.series import JointColumns  # noqa: E402


def test_values_go_to_the_columns_of_their_joints():
    names = [["a", "b"], [], ["b", "a"], ["b"], ["c", "b"], ["a", "b"], ["a", "b"]]
    values = [[1.0, 2.0], [3.0, 4.0], [5.0, 6.0], [7.0], [8.0, 9.0], [], [10.0]]
    nan = np.nan
    expected = [[1.0, 2.0], [3.0, 4.0], [6.0, 5.0], [nan, 7.0], [nan, 9.0], [nan, nan], [nan, nan]]
    assert JointColumns(["a", "b"]).table(names, values) == pytest.approx(np.array(expected), nan_ok=True)
