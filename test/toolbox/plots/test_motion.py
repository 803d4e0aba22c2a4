# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Recordings as motions, and ``robodyn plot``."""

import numpy as np
import pytest

pytest.importorskip("mcap_ros2", reason="mcap-ros2-support is not installed: make setup")

from matplotlib.image import imread  # noqa: E402
from recorded_bags import Recorder  # noqa: E402
from toolbox.recording.test_run import record  # noqa: E402

from robodyn_ros.commands.command_line import main  # noqa: E402
from robodyn_ros.description.resources import robot_file  # noqa: E402
from robodyn_ros.robot import Robot  # noqa: E402
from robodyn_ros.simulation.outputs import OUTPUTS, ActuatorState  # noqa: E402
from robodyn_ros.toolbox.plots.motion import joint_units, recorded_motion  # noqa: E402
from robodyn_ros.toolbox.recording.run import Run  # noqa: E402


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    path = tmp_path_factory.mktemp("runs") / "swing"
    with Recorder(path) as recorder:
        record(recorder)
    return path


def test_units_are_those_of_independent_joints():
    """A mimic joint between others has no row in plots."""
    inertial = ("<inertial><mass value='1'/><inertia ixx='1' iyy='1' izz='1' ixy='0' ixz='0' iyz='0'/></inertial>")
    links = "".join(f"<link name='{name}'>{inertial}</link>" for name in "abcd")
    joints = [f"<joint name='{name}' type='{kind}'><parent link='{parent}'/><child link='{child}'/>"
              f"<limit lower='-1' upper='1' effort='1' velocity='1'/>{mimic}</joint>"
              for name, kind, parent, child, mimic in (
                  ("turn", "revolute", "a", "b", ""), ("follow", "revolute", "b", "c", "<mimic joint='turn'/>"),
                  ("slide", "prismatic", "c", "d", ""))]
    model = Robot.from_urdf_text(f"<robot name='r'>{links}{''.join(joints)}</robot>").model
    assert model.joint_names == ("turn", "slide") and joint_units(model) == ["rad", "m"]


def test_a_recording_becomes_a_motion(path):
    run = Run(path)
    motion = recorded_motion(run)
    assert motion.label == "swing" and motion.units == ["rad", "rad"]
    assert [name for name, _, _ in motion.controllers] == ["pd", "gravity_compensation"]
    np.testing.assert_array_equal(motion.effort_limit, Robot.from_urdf(robot_file("planar_2r")).model.effort_limit)
    assert motion.energies.values.shape == (101, 2) and motion.tip.values.shape == (101, 3)
    assert motion.effort is None and motion.current is None, "none were recorded"


def test_without_a_description_there_are_no_units_limits_and_energies(tmp_path):
    with Recorder(tmp_path / "bare") as recorder:
        record(recorder, description="")
    motion = recorded_motion(Run(tmp_path / "bare"))
    assert motion.units == ["rad or m"] * 2
    assert motion.effort_limit is None and motion.energies is None and motion.tip is None


def test_currents_and_voltages_are_those_that_were_recorded(tmp_path):
    numbers = {field: np.full(2, float(number)) for number, field in enumerate(ActuatorState._fields)}
    flags = {name: numbers[name] > 99 for name, declared in OUTPUTS.items() if declared.is_flag}
    with Recorder(tmp_path / "motors") as recorder:
        record(recorder)
        for stamp in (0, 10_000_000):
            recorder.actuator_states(stamp, ("joint1", "joint2"), ActuatorState(**numbers | flags))
    motion = recorded_motion(Run(tmp_path / "motors"))
    for name, curves in (("voltage", motion.voltage), ("current", motion.current)):
        np.testing.assert_array_equal(curves.values, np.tile(numbers[name], (2, 1)), err_msg=name)


def test_the_command_draws_one_run_and_two(path, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert main(["plot", str(path)]) == 0
    assert "written: swing.png" in capsys.readouterr().out
    assert imread(tmp_path / "swing.png").std() > 0.01
    assert main(["plot", str(path), str(path), "--output", "both.svg"]) == 0
    assert "<svg" in (tmp_path / "both.svg").read_text()


@pytest.mark.parametrize("arguments, words", [
    (["nowhere"], ("nowhere",)),
    (["a", "b", "c"], ("one or two", "3")),
])
def test_what_cannot_be_drawn_is_told_in_one_line(arguments, words, capsys):
    assert main(["plot", *arguments]) == 2
    error = capsys.readouterr().err
    assert error.count("\n") == 1 and all(word in error for word in words)


def test_things_that_are_no_recordings_and_another_robots_are_told_in_one_line(path, tmp_path, capsys):
    (tmp_path / "robot.urdf").write_text(robot_file("planar_2r").read_text())
    (tmp_path / "folder").mkdir()
    with Recorder(tmp_path / "other") as recorder:
        record(recorder, joints=("hip", "knee"), description="")
    for runs, words in (([tmp_path / "robot.urdf"], "robot.urdf is cut off or damaged"),
                        ([tmp_path / "folder"], "is it the folder of a recording?"),
                        ([path, tmp_path / "other"], "expected runs of one robot, received the joints")):
        assert main(["plot", *map(str, runs), "--output", str(tmp_path / "picture.png")]) == 2
        [line] = capsys.readouterr().err.splitlines()
        assert line.startswith("robodyn: error: ") and words in line
    assert not (tmp_path / "picture.png").exists()


def test_a_recording_that_is_cut_off_is_drawn_up_to_there_with_a_warning(path, tmp_path, capsys):
    data = (path / "swing.mcap").read_bytes()
    (tmp_path / "half.mcap").write_bytes(data[:len(data) - 100])  # without its end, which the messages are before
    assert main(["plot", str(tmp_path / "half.mcap"), "--output", str(tmp_path / "half.png")]) == 0
    [line] = capsys.readouterr().err.splitlines()
    assert line.startswith("robodyn: warning: half.mcap is cut off or damaged")
    assert imread(tmp_path / "half.png").std() > 0.01
