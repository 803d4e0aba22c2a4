"""The demo as a user runs it, the swap command, and the README's own controller."""

import re
import subprocess
import sys
from pathlib import Path

import pytest
from matplotlib.image import imread
from ros_process import RosProcess, RosTest

from robodyn_interfaces.msg import ControllerState

ROOT = Path(__file__).parents[2]


def robodyn(*arguments):
    """A robodyn command that has run to its end."""
    return subprocess.run([sys.executable, "-m", "robodyn_ros", *arguments], cwd=ROOT, capture_output=True, text=True,
                          timeout=120, check=False)


def test_demo_tracks_better_after_the_swap(tmp_path):
    result = robodyn("demo", "--output", str(tmp_path / "new folder"))
    assert result.returncode == 0, result.stderr
    assert "set_parameters: controller := computed_torque" in result.stdout
    rows = re.findall(r"^(\w+_joint) +mrad" + r" +([\d.]+)" * 4 + "$", result.stdout, re.MULTILINE)
    assert len(rows) == 6
    pd, computed_torque = (sum(float(row[column]) for row in rows) for column in (1, 3))  # RMS
    assert computed_torque < 0.3 * pd
    assert min(imread(tmp_path / "new folder" / "tracking.png").shape[:2]) > 500


def test_demo_says_why_it_cannot_write(tmp_path):
    (tmp_path / "file").write_text("")
    result = robodyn("demo", "--output", str(tmp_path / "file"))
    assert result.returncode == 1
    assert str(tmp_path / "file") in result.stderr
    assert "Traceback" not in result.stderr


@pytest.fixture
def own_controller(tmp_path, monkeypatch):
    """The controller that the README writes, on the PYTHONPATH."""
    code = next(block for block in re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)
                if "my_controllers.py" in block)
    (tmp_path / "my_controllers.py").write_text(code)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path), prepend=":")
    return "my_controllers:PDGravity"


def test_readme_controller_is_swapped_in_and_cancels_the_sag(own_controller):
    start = {"initial_position.joint1": 0.4, "initial_position.joint2": 0.3}
    with (RosProcess("hardware", {"robot": "planar_2r", "time_mode": "lockstep", **start}),
          RosProcess("controller", {"robot": "planar_2r"}), RosTest() as ros):
        states = ros.record(ControllerState, "controller/controller_state")

        def sag():
            return max(abs(error) for error in states[-1].error.positions)

        ros.wait_for(lambda: states and sag() > 0.01, "the offset of pd")
        assert robodyn("swap", own_controller).returncode == 0
        ros.wait_for(lambda: states[-1].controller == own_controller and sag() < 1e-4, "the offset's end")

        refused = robodyn("swap", "my_controllers:Nothing")
        assert refused.returncode == 1
        assert "my_controllers" in refused.stderr and "Nothing" in refused.stderr
        assert "Traceback" not in refused.stderr
        before = len(states)
        ros.wait_for(lambda: len(states) > before + 2, "the controller going on")
        assert states[-1].controller == own_controller


def test_swap_without_a_controller_node_says_so():
    result = robodyn("swap", "pd", "--node", "/nobody")
    assert result.returncode == 1
    assert "no node '/nobody'" in result.stderr


@pytest.mark.parametrize("command", [("swap", "pd"), ("demo",), ("hardware",)])
def test_an_environment_that_ros_refuses_is_told_in_one_line(command, monkeypatch, tmp_path):
    monkeypatch.setenv("ROS_DOMAIN_ID", "ninety")
    result = robodyn(*command, *(("--output", str(tmp_path)) if command == ("demo",) else ()))
    assert result.returncode in (1, 2)
    assert "error: cannot start ROS: failed to initialize rcl: ROS_DOMAIN_ID is not" in result.stderr
    assert "Traceback" not in result.stderr


def test_swap_of_what_is_no_controller_node_says_so():
    result = robodyn("swap", "pd", "--node", "the controller")
    assert result.returncode == 1
    assert "robodyn: error: 'the controller' is no name of a node" in result.stderr
    assert "Traceback" not in result.stderr
    with RosProcess("hardware", {"robot": "planar_2r"}):
        result = robodyn("swap", "pd", "--node", "/hardware")
    assert result.returncode == 1
    assert "no parameter 'controller'" in result.stderr
