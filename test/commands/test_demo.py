"""The demo as a user runs it."""

import re
import subprocess
import sys
from pathlib import Path

import pytest
from matplotlib.image import imread

ROOT = Path(__file__).parents[2]


def robodyn(*arguments):
    """A robodyn command that has run to its end."""
    return subprocess.run([sys.executable, "-m", "robodyn_ros", *arguments], cwd=ROOT, capture_output=True, text=True,
                          timeout=120, check=False)


def test_demo_tracks_better_after_the_swap(tmp_path):
    result = robodyn("demo", "--output", str(tmp_path / "new folder"))
    assert result.returncode == 0, result.stderr
    assert "set_parameters: controller := computed_torque" in result.stdout
    rows = re.findall(r"^(\w+_joint) +mrad" + r" +([\d.]+)" * 6 + "$", result.stdout, re.MULTILINE)
    assert len(rows) == 6
    pd, computed_torque = (sum(float(row[column]) for row in rows) for column in (1, 4))  # RMS
    assert computed_torque < 0.3 * pd
    assert all(float(row[6]) < 0.1 * float(row[5]) for row in rows[1:5]), "the worst error is that of the swap"
    assert min(imread(tmp_path / "new folder" / "tracking.png").shape[:2]) > 500


def test_demo_of_another_robot_motion_and_motors(tmp_path):
    path = tmp_path / "motion.csv"
    path.write_text("time,joint2,joint1\n0,0.2,0.1\n1.2,0.5,0.4\n")
    result = robodyn("demo", "--robot", "planar_2r", "--controllers", "pd", "pid", "computed_torque", "--trajectory",
                     str(path), "--actuators", "hardware_dc_motors", "--output", str(tmp_path))
    assert result.returncode == 0, result.stderr
    assert re.findall("controller := (.*)", result.stdout) == ["pid", "computed_torque"]
    table = result.stdout.partition("joint ")[0].splitlines()[-1]
    assert table.split() == ["pd", "pid", "computed_torque"]
    assert len(re.findall(r"^joint[12] +mrad", result.stdout, re.MULTILINE)) == 2
    assert min(imread(tmp_path / "tracking.png").shape[:2]) > 300


def test_demo_says_why_it_cannot_write(tmp_path):
    (tmp_path / "file").write_text("")
    result = robodyn("demo", "--output", str(tmp_path / "file"))
    assert result.returncode == 1
    assert str(tmp_path / "file") in result.stderr
    assert "Traceback" not in result.stderr


@pytest.mark.parametrize("command", [("swap", "pd"), ("demo",), ("hardware",)])
def test_an_environment_that_ros_refuses_is_told_in_one_line(command, monkeypatch, tmp_path):
    monkeypatch.setenv("ROS_DOMAIN_ID", "ninety")
    result = robodyn(*command, *(("--output", str(tmp_path)) if command == ("demo",) else ()))
    assert result.returncode in (1, 2)
    assert "error: cannot start ROS: failed to initialize rcl: ROS_DOMAIN_ID is not" in result.stderr
    assert "Traceback" not in result.stderr
