# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""The tracking record: its table, and the refusal of wrong lengths."""

import numpy as np
import pytest

from robodyn_ros.base.errors import InputError
from robodyn_ros.simulation.tracking import TrackingRecord


@pytest.fixture
def record() -> TrackingRecord:
    time = np.linspace(0.0, 1.0, 5)
    desired = np.column_stack([np.zeros(5), np.ones(5)])
    measured = desired - np.array([[0.003, 0.0], [-0.004, 0.0], [0.0, 0.0], [0.001, 0.002], [0.001, 0.002]])
    return TrackingRecord(["turn", "slide"], ["rad", "m"], time, desired, measured, ["pd"] * 3 + ["other"] * 2)


def test_table_gives_rms_and_worst_per_joint_and_controller(record: TrackingRecord) -> None:
    lines = record.table().splitlines()
    assert lines[0].split() == ["pd", "other"]
    assert lines[2].split() == ["turn", "mrad", "2.887", "4.000", "nan", "1.000", "1.000", "nan"]  # sqrt(25/3)
    assert lines[3].split() == ["slide", "mm", "0.000", "0.000", "nan", "2.000", "2.000", "nan"]


def test_a_controller_that_returns_keeps_one_column(record: TrackingRecord) -> None:
    again = TrackingRecord(record.joint_names, record.units, record.time, record.desired, record.measured,
                           ["pd", "other", "pd", "pd", "other"])
    assert {name: mask.tolist() for name, mask in again.phases().items()} == {
        "pd": [True, False, True, True, False], "other": [False, True, False, False, True]}


def test_the_settled_error_leaves_out_what_a_controller_takes_over() -> None:
    time = np.arange(8) * 0.5
    error = np.array([0.008, 0.004, 0.003, 0.001, 0.009, 0.005, 0.002, 0.001])[:, None]
    tracking = TrackingRecord(["turn"], ["rad"], time, error, np.zeros((8, 1)), ["pd"] * 4 + ["other"] * 4)
    assert tracking.settled().tolist() == [False, False, True, True] * 2
    _, _, row = tracking.table().splitlines()
    assert row.split()[3:5] == ["8.000", "3.000"] and row.split()[6:8] == ["9.000", "2.000"]
    assert tracking.spans() == [("pd", 0.0, 2.0), ("other", 2.0, 3.5)]


def test_wrong_lengths_are_refused(record: TrackingRecord) -> None:
    with pytest.raises(InputError, match=r"measured: expected shape \(5, 2\).*received \(5, 1\)"):
        TrackingRecord(record.joint_names, record.units, record.time, record.desired, record.measured[:, :1],
                       record.controllers)
    with pytest.raises(InputError, match="controllers: expected 5 entries, received 1"):
        TrackingRecord(record.joint_names, record.units, record.time, record.desired, record.measured, ["pd"])
