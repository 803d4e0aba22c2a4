# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""The demo of touch: its numbers and plot, options that do not belong to it, and the whole of it as a user runs it."""

import re
import subprocess
import sys

import numpy as np
import pytest

from robodyn_ros import Robot
from robodyn_ros.commands.command_line import main
from robodyn_ros.commands.demo import START
from robodyn_ros.commands.touch_demo import RADIUS, error_table, forces_along
from robodyn_ros.description.resources import config_file, robot_file
from robodyn_ros.simulation.world_file import read_world
from robodyn_ros.toolbox.plots.touch_figure import save_touch

ARM = Robot.from_urdf(robot_file("arm6"))
BENT = np.array(list(START.values()))


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
