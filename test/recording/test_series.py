"""Values by joint name in columns."""

import numpy as np
import pytest

pytest.importorskip("mcap_ros2", reason="mcap-ros2-support is not installed: make setup")

from robodyn_ros.recording.series import JointColumns  # noqa: E402


def test_values_go_to_the_columns_of_their_joints():
    names = [["a", "b"], [], ["b", "a"], ["b"], ["c", "b"], ["a", "b"], ["a", "b"]]
    values = [[1.0, 2.0], [3.0, 4.0], [5.0, 6.0], [7.0], [8.0, 9.0], [], [10.0]]
    nan = np.nan
    expected = [[1.0, 2.0], [3.0, 4.0], [6.0, 5.0], [nan, 7.0], [nan, 9.0], [nan, nan], [nan, nan]]
    assert JointColumns(["a", "b"]).table(names, values) == pytest.approx(np.array(expected), nan_ok=True)
