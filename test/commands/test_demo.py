# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""The demo as a user runs it."""

import re
import subprocess
import sys

import numpy as np
import pytest
from matplotlib.image import imread
from ros_process import run_robodyn

from robodyn_ros import Robot
from robodyn_ros.commands.command_line import main
from robodyn_ros.commands.demo import START, curves_of, motion, perform, record
from robodyn_ros.commands.touch_demo import RADIUS, error_table, forces_along
from robodyn_ros.description.resources import config_file, robot_file
from robodyn_ros.simulation.tracking import TrackingSample
from robodyn_ros.simulation.world_file import read_world
from robodyn_ros.toolbox.plots.touch_figure import save_touch

ARM = Robot.from_urdf(robot_file("arm6"))
BENT = np.array(list(START.values()))


@pytest.mark.long
def test_demo_tracks_better_after_the_swap(tmp_path):
    result = run_robodyn("demo", "--output", str(tmp_path / "new folder"))
    assert result.returncode == 0, result.stderr
    assert "set_parameters: controller := computed_torque" in result.stdout
    rows = re.findall(r"^(\w+_joint) +mrad" + r" +([\d.]+)" * 6 + "$", result.stdout, re.MULTILINE)
    assert len(rows) == 6
    pd, computed_torque = (sum(float(row[column]) for row in rows) for column in (1, 4))  # RMS
    assert computed_torque < 0.3 * pd
    assert all(float(row[6]) < 0.1 * float(row[5]) for row in rows[1:5]), "the worst error is that of the swap"
    assert min(imread(tmp_path / "new folder" / "tracking.png").shape[:2]) > 500


def test_the_plot_has_efforts_and_energies_of_what_was_measured():
    robot = Robot.from_urdf(robot_file("planar_2r"))
    q, v, effort = np.array([0.3, -0.8]), np.array([1.0, 2.0]), np.array([4.0, 5.0])
    samples = [TrackingSample(time, "pd", robot.joint_names, 0.0 * q, q, time * v, effort) for time in (0.0, 1.0)]
    curves = curves_of(robot, record(robot, samples), samples)
    kinetic, potential = curves.energies.values.T
    assert kinetic == pytest.approx([0.0, 0.5 * v @ robot.dynamics().mass_matrix(q) @ v])
    np.testing.assert_allclose(potential, robot.dynamics().potential_energy(q))
    np.testing.assert_array_equal(curves.effort.values, [effort, effort])


def test_demo_of_another_robot_motion_and_motors(tmp_path):
    path = tmp_path / "motion.csv"
    path.write_text("time,joint2,joint1\n0,0.2,0.1\n0.6,0.4,0.3\n")
    result = run_robodyn("demo", "--robot", "planar_2r", "--controllers", "pd", "pid", "computed_torque",
                         "--trajectory", str(path), "--actuators", "hardware_dc_motors", "--output", str(tmp_path))
    assert result.returncode == 0, result.stderr
    assert re.findall("controller := (.*)", result.stdout) == ["pid", "computed_torque"]
    table = result.stdout.partition("joint ")[0].splitlines()[-1]
    assert table.split() == ["pd", "pid", "computed_torque"]
    assert len(re.findall(r"^joint[12] +mrad", result.stdout, re.MULTILINE)) == 2
    assert min(imread(tmp_path / "tracking.png").shape[:2]) > 300


class SlowMachine:
    """A client whose nodes answer after 100 s, and simulate 0.1 s per second; its seconds pass without a wait."""

    def __init__(self, robot, start, points):
        self.robot, self.points = robot, points
        self.samples, self.now, self.began, self.controller = [], 0.0, None, "pd"
        self.desired = start

    def wait_for(self, condition, what, seconds):
        end = self.now + seconds
        while not (value := condition()):
            assert self.now < end, what
            self.now += 1.0
            if self.now > 100.0:
                done = self.began is not None and 0.1 * (self.now - self.began) > self.points.times[-1]
                self.samples.append(TrackingSample(
                    0.1 * self.now, self.controller, self.robot.joint_names,
                    self.points.q[-1] if done else self.desired, self.desired, *np.zeros((2, self.robot.n))))
        return value

    def answer_within(self, seconds):
        assert seconds > 100.0
        self.now += 100.0

    def record(self):
        return self.samples

    def wait_for_transforms(self, seconds):
        self.answer_within(seconds)

    def gravity_effort(self, joint_names, q, seconds):
        self.answer_within(seconds)
        return np.zeros(len(q))

    def follow(self, joint_names, points, seconds):
        self.answer_within(seconds)
        self.began = self.now

    def swap(self, controller, seconds):
        self.answer_within(seconds)
        self.controller = controller


def test_demo_ends_well_on_a_slow_machine(capsys):
    robot = Robot.from_urdf(robot_file("arm6"))
    start, points = motion(robot, None)
    samples = perform(SlowMachine(robot, start, points), robot, ("pd", "computed_torque"), points, ())
    assert samples[-1].controller == "computed_torque"
    assert "controller := computed_torque" in capsys.readouterr().out


def test_demo_says_why_it_cannot_write(tmp_path):
    (tmp_path / "file").write_text("")
    result = run_robodyn("demo", "--output", str(tmp_path / "file"))
    assert result.returncode == 1
    assert str(tmp_path / "file") in result.stderr
    assert "Traceback" not in result.stderr


@pytest.mark.parametrize("command", [("swap", "pd"), ("demo",), ("hardware",)])
def test_an_environment_that_ros_refuses_is_told_in_one_line(command, monkeypatch, tmp_path):
    monkeypatch.setenv("ROS_DOMAIN_ID", "ninety")
    result = run_robodyn(*command, *(("--output", str(tmp_path)) if command == ("demo",) else ()))
    assert result.returncode in (1, 2)
    assert "error: cannot start ROS: failed to initialize rcl: ROS_DOMAIN_ID is not" in result.stderr
    assert "Traceback" not in result.stderr


def test_the_wall_is_within_reach_and_does_not_touch_the_arm_at_the_start():
    world = read_world(config_file("touch_wall.yaml"), ARM.model)
    world.check_start(ARM.model, BENT)
    tip = ARM.dynamics().forward_kinematics(BENT)[:3, 3]
    distance = world.surfaces[0].distance(tip)[0] - world.points[0].radius
    assert 0.005 < distance < 0.05 and RADIUS < 0.1


def test_forces_are_taken_along_the_normal():
    axes = ARM.dynamics().forward_kinematics(BENT)[:3, :3]
    forces = np.array([axes.T @ [9.0, 1.0, -2.0], axes.T @ [11.0, 0.0, 0.0]])
    along = forces_along(ARM, [BENT, BENT], np.array([0.0, 1.0]), forces, np.array([0.0, 0.7]))
    np.testing.assert_allclose(along, [9.0, 11.0])


def test_the_table_has_root_mean_squares_and_worst_errors():
    table = error_table(np.array([0.3, -0.4]), np.array([[1e-3, 0.0], [-1e-3, 2e-3]]))
    rows = [line.split()[-3:] for line in table.splitlines()[-3:]]
    assert rows == [["N", "0.354", "0.400"], ["mm", "1.000", "1.000"], ["mm", "1.414", "2.000"]]


def test_the_figure_is_saved(tmp_path):
    path = tmp_path / "touch.png"
    circle = np.column_stack([np.cos(np.arange(9.0)), np.sin(np.arange(9.0))])
    save_touch(path, "touch", np.arange(9.0), np.full(9, 9.9), 10.0, circle, circle)
    assert path.stat().st_size > 10_000


@pytest.mark.parametrize(("options", "line"), [
    (["--robot", "planar_2r"], "demo --touch: expected arm6, in front of which the wall stands, received 'planar_2r'"),
    (["--trajectory", "motion.csv"], "--trajectory has no effect with --touch"),
    (["--actuators", "hardware_dc_motors"], "--actuators has no effect with --touch"),
    (["--controllers", "pid"], "--controllers has no effect with --touch"),
])
def test_options_of_the_other_demo_are_refused(options, line, capsys):
    assert main(["demo", "--touch", *options]) == 1
    assert line in capsys.readouterr().err


@pytest.mark.long
def test_the_demo_presses_and_draws(tmp_path):
    demo = subprocess.run([sys.executable, "-m", "robodyn_ros", "demo", "--touch", "--output", tmp_path],
                          capture_output=True, text=True, timeout=120, check=False)
    assert demo.returncode == 0, demo.stderr
    printed = demo.stdout
    rms, worst = map(float, re.search(r"force on the wall +N +(\S+) +(\S+)", printed).groups())
    assert rms < 0.15 and worst < 0.5  # 10 N, with 0.05 N of noise
    assert max(float(re.search(rf"\n{axis} +mm +\S+ +(\S+)", printed)[1]) for axis in "yz") < 5.0
    assert (tmp_path / "touch.png").stat().st_size > 10_000
