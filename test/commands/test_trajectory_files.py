# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Motions from YAML, CSV and recordings, and the commands that follow them."""

import numpy as np
import pytest

from robodyn_ros import InputError, Robot
from robodyn_ros.commands.command_line import main
from robodyn_ros.commands.trajectory_files import read_motion
from robodyn_ros.description.resources import robot_file

ROBOT = Robot.from_urdf(robot_file("planar_2r"))
YAML = """header:
  stamp: {sec: 0, nanosec: 0}
  frame_id: ''
joint_names: [joint2, joint1]
points:
- positions: [0.2, 0.1]
  velocities: []
  time_from_start: {sec: 0, nanosec: 0}
- {positions: [0.4, 0.3], velocities: [0.0, 0.0], time_from_start: {sec: 1, nanosec: 500000000}}
- {positions: [0.5, 0.6], time_from_start: 2.5}
"""
INDENTED = "".join(f"    {line}\n" for line in YAML.splitlines())
MOVEIT = f"  joint_trajectory:\n{INDENTED}  multi_dof_joint_trajectory: {{joint_names: [], points: []}}\n"
CSV = "time, joint1, joint2, joint1.velocity\n0,0.1,0.2,0\n1.5,0.3,0.4,0\n\n2.5,0.6,0.5,0\n"


def write(path, text):
    path.write_text(text)
    return path


@pytest.mark.parametrize(("name", "text"), [("motion.yaml", YAML), ("echoed.yml", f"{YAML}---\n"), ("motion.csv", CSV),
                                            ("robot_trajectory.yaml", MOVEIT),
                                            ("display.yaml", f"model_id: planar_2r\ntrajectory:\n-{MOVEIT[1:]}"),
                                            ("planned.yaml", f"group_name: arm\nplanned_trajectory:\n{MOVEIT}"),
                                            ("excel.csv", f"\ufeff{CSV}")])
def test_points_are_in_the_order_of_the_robot(name, text, tmp_path):
    points, motion = read_motion(write(tmp_path / name, text), ROBOT)
    np.testing.assert_array_equal(points.times, [0.0, 1.5, 2.5])
    np.testing.assert_array_equal(points.q, [[0.1, 0.2], [0.3, 0.4], [0.6, 0.5]])
    assert points.v[1, 0] == 0.0 and np.isnan(points.v[0, 1])
    assert (motion.start_time, motion.end_time) == (0.0, 2.5)
    for time, q in zip(points.times, points.q, strict=True):
        np.testing.assert_allclose(motion.sample(time).q, q, atol=1e-12)


def test_a_first_point_after_0_is_reached_from_the_default_position(tmp_path):
    points, motion = read_motion(write(tmp_path / "later.csv", "time,joint1,joint2\n1,0.5,0.4\n"), ROBOT)
    np.testing.assert_array_equal(motion.sample(0.0).q, [0.0, 0.0])
    np.testing.assert_array_equal(motion.sample(1.0).q, points.q[0])


def test_a_recording_gives_the_references_from_the_first_movement_to_the_last(tmp_path):
    pytest.importorskip("mcap_ros2", reason="mcap-ros2-support is not installed: make setup")
    from recorded_bags import SECOND, Recorder

    names, times = ("joint2", "joint1"), np.arange(0.0, 3.001, 0.01)  # it stands still for a second before and after
    q = 0.3 * (1.0 - np.cos(np.pi * np.clip(times - 1.0, 0.0, 1.0)))
    v = 0.3 * np.pi * np.sin(np.pi * np.clip(times - 1.0, 0.0, 1.0))
    with Recorder(tmp_path / "run") as recorder:
        for time, position, velocity in zip(times, q, v, strict=True):
            stamp = round(time * SECOND)
            recorder.joint_state("/joint_states", stamp, names, [0.0, 0.0], [0.0, 0.0])
            recorder.controller_state(stamp, "pd", names, [position, 0.0], [0.0, 0.0], [0.0, 0.0],
                                      velocity=[velocity, 0.0], acceleration=[0.0, 0.0])
    _, motion = read_motion(tmp_path / "run", ROBOT)
    assert motion.end_time == pytest.approx(1.0, abs=0.03)
    for time in (0.25, 0.5, 0.75):
        np.testing.assert_allclose(motion.sample(time).q, [0.0, 0.3 * (1.0 - np.cos(np.pi * time))], atol=0.02)
    np.testing.assert_allclose(motion.sample(5.0).q, [0.0, 0.6], atol=1e-9)


@pytest.mark.parametrize(("name", "text", "message"), [
    ("motion.txt", CSV, "expected a file .yaml, .yml, .csv or .mcap, or the folder of a recording"),
    ("motion.yaml", "joint_names: [joint1]", "expected the lists 'joint_names' and 'points'"),
    ("motion.yaml", "- 1", "trajectory: expected the keys header, joint_names, points"),
    ("motion.yaml", YAML.replace("joint_names", "joint_name"), "unknown key 'joint_name': did you mean 'joint_names'"),
    ("motion.yaml", YAML.replace("joint2", "elbow"), "has no moving joint 'elbow'"),
    ("motion.yaml", YAML.replace("[0.4, 0.3]", "[0.4]"), "point 1: positions: expected 2 numbers, received 1"),
    ("motion.yaml", YAML.replace("[0.4, 0.3]", "[0.4, up]"), "point 1: positions: expected 2 numbers, received"),
    ("motion.yaml", YAML.replace("2.5}", "1.0}"), "expected increasing times, received 1.5 s for point 1"),
    ("motion.yaml", YAML.replace("sec: 0, nanosec: 0}\n  f", "sec: 5, nanosec: 0}\n  f"), "header.stamp: expected 0"),
    ("motion.yaml", YAML.replace("velocities: []", "effort: [1, 2]"), "point 0: effort: expected none"),
    ("motion.yaml", YAML.replace("positions: [0.5", "position: [0.5"), "point 2: unknown key 'position': did you"),
    ("motion.csv", CSV.replace("time", "t"), "line 1: expected different names of columns, time"),
    ("motion.csv", CSV.replace("0.3", "far"), "line 3: expected 4 numbers, received"),
    ("motion.csv", CSV.replace("0.3,", ""), "line 3: expected 4 numbers, received 3"),
    ("motion.csv", CSV.replace("joint1.v", "joint3.v"), "column 'joint3.velocity': there is no column 'joint3'"),
    ("motion.csv", "time,joint1\n1,0.5\n", "expected all joints of robot 'planar_2r', joint2 is missing"),
    ("motion.csv", "time,joint1,joint2\n0.01,3,3\n", "joint 'joint1' would have to move at"),
    ("motion.csv", "", "line 1: expected different names of columns"),
], ids=lambda value: value[:24].replace("\n", " "))
def test_what_is_no_motion_of_the_robot_is_named_with_its_place(name, text, message, tmp_path):
    path = write(tmp_path / name, text)
    with pytest.raises(InputError) as error:
        read_motion(path, ROBOT)
    assert str(error.value).startswith(f"--trajectory {path}: ") and message in str(error.value)


def test_a_motion_beyond_the_limits_is_refused(tmp_path):
    scara = Robot.from_urdf(robot_file("scara"))
    path = write(tmp_path / "far.csv", "time,joint1,joint2,joint3,joint4\n1,9,0,0,0\n")
    with pytest.raises(InputError, match="point 0, .*joint1"):
        read_motion(path, scara)


@pytest.mark.long
def test_compare_and_tune_follow_it_with_motors(tmp_path, capsys):
    path, common = write(tmp_path / "motion.csv", CSV), ["--robot", "planar_2r", "--actuators", "hardware_dc_motors"]
    assert main(["compare", "pd", "--controllers", "computed_torque", *common, "--trajectory", str(path), "--output",
                 str(tmp_path / "it.png")]) == 0
    title, _, _, *rows, _ = capsys.readouterr().out.splitlines()
    assert title.startswith(f"planar_2r: {path} of 2.5 s") and [row.split()[0] for row in rows] == [
        "pd", "computed_torque"]
    with_motors = float(rows[1].split()[2])
    assert main(["compare", "computed_torque", "--robot", "planar_2r", "--trajectory", str(path), "--output",
                 str(tmp_path / "it.png")]) == 0
    assert float(capsys.readouterr().out.splitlines()[3].split()[2]) < 0.5 * with_motors  # gears rub
    assert main(["tune", *common, "--controllers", "pd", "--trajectory", str(path), "--generations",
                 "1", "--population", "5", "--output", str(tmp_path / "out")]) == 0
    out = capsys.readouterr().out
    assert "pd on 'planar_2r': cost" in out and "of 1400 control periods" in out  # 2.5 s and 0.3 s of rest
    assert (tmp_path / "out" / "parameters.yaml").is_file()


@pytest.mark.parametrize("command", ["compare", "tune", "demo"])
def test_files_that_are_not_there_are_refused_before_the_work(command, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    for option, message in ((["--trajectory", "no.csv"], "--trajectory no.csv: [Errno 2] No such file"),
                            (["--actuators", "nope"], "actuators: 'nope' is neither"),
                            (["--robot", "arm66"], "no robot 'arm66'"),
                            (["--controllers", "damping"], "received 'damping'")):
        assert main([command, "--robot", "planar_2r", *option]) in (1, 2)
        out, err = capsys.readouterr()
        assert message in err and err.count("\n") == 1 and not out
    assert not (tmp_path / "demo_output").exists()
