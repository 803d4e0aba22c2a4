"""The tracking record: its table, its plot, and the refusal of wrong lengths."""

import numpy as np
import pytest

from robodyn_ros.errors import InputError
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
    assert lines[2].split() == ["turn", "mrad", "2.887", "4.000", "1.000", "1.000"]  # sqrt(25/3)
    assert lines[3].split() == ["slide", "mm", "0.000", "0.000", "2.000", "2.000"]


def test_a_controller_that_returns_keeps_one_column(record: TrackingRecord) -> None:
    again = TrackingRecord(record.joint_names, record.units, record.time, record.desired, record.measured,
                           ["pd", "other", "pd", "pd", "other"])
    assert {name: mask.tolist() for name, mask in again.phases().items()} == {
        "pd": [True, False, True, True, False], "other": [False, True, False, False, True]}


def test_plot_is_a_picture(record: TrackingRecord, tmp_path) -> None:
    record.plot(tmp_path / "plot.png", "title")
    from matplotlib.image import imread

    picture = imread(tmp_path / "plot.png")
    assert min(picture.shape[:2]) > 200
    assert picture.std() > 0.01


def test_wrong_lengths_are_refused(record: TrackingRecord) -> None:
    with pytest.raises(InputError, match=r"measured: expected shape \(5, 2\).*received \(5, 1\)"):
        TrackingRecord(record.joint_names, record.units, record.time, record.desired, record.measured[:, :1],
                       record.controllers)
    with pytest.raises(InputError, match="controllers: expected 5 entries, received 1"):
        TrackingRecord(record.joint_names, record.units, record.time, record.desired, record.measured, ["pd"])
