# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Tables at the command line: motors' coordinates, and one line for all that cannot be right."""

from argparse import ArgumentParser

import numpy as np
import pytest

from robodyn_ros import Robot
from robodyn_ros.commands.command_line import main
from robodyn_ros.commands.table_columns import add_table_options, table_columns
from robodyn_ros.description.resources import robot_file
from robodyn_ros.toolbox.recording.joint_table import JointTable

RATE = 100.0
TIME = np.arange(800) / RATE
Q = np.stack([0.5 * np.sin(3.0 * TIME), 0.4 * np.cos(2.0 * TIME)], axis=1)
TAU = np.stack([20.0 * np.cos(3.0 * TIME), -5.0 * np.sin(2.0 * TIME)], axis=1)
MOTORS = np.array([[50.0, 0.0], [30.0, -40.0]])
COLUMNS = ["--positions", "q_1", "q_2", "--efforts", "tau_*"]


def write(path, **columns):
    """A table of t, q_1, q_2, tau_1, tau_2, with other columns in the place of some."""
    content = {"t": TIME, "q_1": Q[:, 0], "q_2": Q[:, 1], "tau_1": TAU[:, 0], "tau_2": TAU[:, 1]} | columns
    np.savetxt(path, np.stack(list(content.values()), axis=1), delimiter=",", header=",".join(content), comments="")
    return path


@pytest.fixture
def table(tmp_path):
    return write(tmp_path / "table.csv")


def read(path, *words):
    parser = ArgumentParser()
    add_table_options(parser)
    columns = table_columns(parser.parse_args(list(words)))
    return JointTable.from_file(path, columns, Robot.from_urdf(robot_file("planar_2r")))


def test_motors_positions_and_torques_are_those_of_the_joints(tmp_path, table):
    """q_m = C q and, by the power, tau = C^T tau_m; positions in another file, in degrees, with velocities."""
    q_m, torque = np.degrees(Q @ MOTORS.T), np.linalg.solve(MOTORS.T, TAU.T).T
    np.savez(tmp_path / "motors.npz", q=q_m, v=q_m)
    path = write(tmp_path / "torques.csv", tau_1=torque[:, 0], tau_2=torque[:, 1])
    found = read(path, "--time", "t", "--motor-positions", "motors.npz:q", "--velocities", "motors.npz:v",
                 "--motor-efforts", "tau_*", "--ratios", "50", "-40", "--coupling", "joint2:joint1=30", "--degrees")
    for values, expected in ((found.position, Q), (found.velocity, Q), (found.effort, TAU), (found.time, TIME)):
        np.testing.assert_allclose(values, expected, atol=1e-9)
    np.testing.assert_allclose(found.coupling, [[1.0, 0.0], [-0.75, 1.0]])
    assert found.has_rotor.all() and found.from_motors
    found = read(path, "--rate", "100", "--positions", "q_*", "--currents", "tau_*", "--torque-constants", "2",
                 "--ratios", "50", "-40", "--coupling", "joint2:joint1=30")
    np.testing.assert_allclose(found.effort, 2.0 * TAU, atol=1e-9)
    plain = read(table, "--rate", "100", *COLUMNS, "--torque-constants", "-1")
    assert plain.coupling is None and not plain.has_rotor.any() and not plain.from_motors
    np.testing.assert_allclose(plain.effort, -TAU, atol=1e-9)


def identify(capsys, path, *words, robot="planar_2r"):
    assert main(["identify", str(path), *(["--robot", robot] if robot else []), "--output", str(path.parent / "out"),
                 *words]) == 2
    line = capsys.readouterr().err
    assert len(line.splitlines()) == 1 and not (path.parent / "out").exists()
    return line


WRONG = [
    ([], "expected --positions or --motor-positions, or both, received none; columns are 't', 'q_1', 'q_2'"),
    (["--rate", "100", "--positions", "q_*"], "expected one of --efforts, --motor-efforts and --currents"),
    (["--rate", "100", "--positions", "q_*", "--efforts", "torque_1"],
     "there is no column 'torque_1': did you mean 'tau_1'"),
    (["--rate", "100", "--positions", "t", "q_*", "--efforts", "tau_*"],
     "--positions: expected 2 columns, for 'joint1', 'joint2' of robot 'planar_2r' in this order, received 3"),
    (["--rate", "100", "--positions", "q_1", "q_*", "--efforts", "tau_*"],
     "--positions: expected another column for each joint, received 'q_1' twice"),
    (COLUMNS, "expected --time COLUMN or --rate HZ, received none"),
    ([*COLUMNS, "--time", "t", "--rate", "100"], "received both"),
    ([*COLUMNS, "--rate", "-5"],
     "--rate: expected a finite number above 0 and up to 1e+06 [Hz], received -5"),
    ([*COLUMNS, "--time", "t", "--ratios", "1", "0"],
     "--ratios: expected a finite number from -1e+09 to 1e+09, other than 0, received 0"),
    ([*COLUMNS, "--time", "t", "--torque-constants", "0"], "--torque-constants: expected a finite number"),
    ([*COLUMNS, "--time", "t", "--ratios", "1", "2", "3"], "--ratios: expected one number or shape (2,)"),
    ([*COLUMNS, "--time", "t", "--coupling", "joint2:elbow=3"], "joint2:elbow=3: expected MOTOR:JOINT=TURNS"),
    ([*COLUMNS, "--time", "t", "--coupling", "joint2:joint1=1", "joint1:joint2=1"], "independent couplings"),
    ([*COLUMNS, "--time", "t", "--coupling", "joint2:joint1=1", "joint2:joint1=2"], "expected one finite number"),
    ([*COLUMNS, "--time", "t", "--hold-out", "2"],
     "--hold-out: expected a finite number above 0 and up to 0.99, received 2"),
    (["--time", "t", "--positions", "other.csv:q_*", "--efforts", "tau_*"],
     "other.csv; give the path of a file .csv, .txt, .npz, .mat, .parquet"),
    (["--time", "t", "--positions", "q_*", "--efforts", "q_1", "q_2"],
     "--efforts: expected other columns than --positions, received 'q_1' for both"),
    (["--time", "t", "--positions", "t", "q_1", "--efforts", "tau_*"],
     "--positions: expected other columns than --time, received 't' for both"),
    (["--time", "t", "--motor-positions", "q_*", "--positions", "q_*", "--efforts", "tau_*"],
     "--motor-positions: expected other columns than --positions, received 'q_1' for both"),
    ([*COLUMNS, "--time", "t", "--ratios", "1", "1e-9"],
     "from 1e-06 to 1e+06 in absolute value, received 1e-09"),
    (["--time", "t", "--motor-positions", "q_*", "--efforts", "tau_*", "--frequency-response"],
     "joint 'joint1': the torques explain at most 28% of its motor's acceleration at any frequency: expected 60%; "
     "excite it more"),
    (["--rate", "100", "--positions", "q_*", "--currents", "tau_*"], "expected --torque-constants [N m/A]"),
    ([*COLUMNS, "--rate", "10"], "at 10 Hz: expected at least four times the cutoff frequency"),
    ([*COLUMNS, "--rate", "1000"], "expected 5 s of motion or more, received 0.799 s"),
]


@pytest.mark.parametrize("words, told", WRONG, ids=range(len(WRONG)))
def test_wrong_options_are_one_line(table, capsys, words, told):
    assert told in identify(capsys, table, *words)


def test_without_a_robot_and_for_a_recording(table, capsys):
    assert "is a table, which names no robot" in identify(capsys, table, robot="")
    assert "is a recording of ROS 2" in identify(capsys, table.parent / "run.mcap", "--rate", "5", "--degrees")


UNITS = [
    ({"tau_1": 1e3 * TAU[:, 0]}, [], "efforts of joint 'joint1' reach 2e+04, its limit is 60 N m"),
    ({"tau_2": np.nan * TIME}, [], "effort of joint 'joint2': expected a finite number, received nan"),
    ({"t": 1000.0 * TIME}, [], "are the stamps in seconds?"),
    ({"q_2": np.degrees(Q[:, 1])}, [], "joint 'joint2' moves at "),
    ({"tau_1": 1e3 * TAU[:, 0]}, [], "currents in A, not in mA"),
    ({"tau_1": 0.0 * TIME, "tau_2": 2.0 + 0.0 * TIME}, [], "joint 'joint1' moves while its effort never varies from 0"),
    ({"t": -TIME}, [], "column 't': expected stamps that never go back"),
    ({"t": np.cumsum(np.where(np.arange(800) % 2, 0.003, 0.017))}, [],
     "the rate of the states varies: intervals of 3 ms to 17 ms"),
    ({"t": np.cumsum(np.where(np.arange(800) < 450, 0.01, 0.02))}, [], "intervals vary from 10 ms to 20 ms"),
    ({"q_1": 0.0 * TIME, "q_2": 0.0 * TIME}, [], "no joint moves in this recording"),
]


@pytest.mark.parametrize("columns, words, told", UNITS, ids=range(len(UNITS)))
def test_numbers_that_cannot_be_right_are_one_line(tmp_path, capsys, columns, words, told):
    path = write(tmp_path / "table.csv", **columns)
    assert told in identify(capsys, path, *COLUMNS, "--time", "t", *words)


@pytest.mark.parametrize("factors", [(180.0 / np.pi, 1.0), (1.0, -1.0)])
def test_velocities_that_are_not_those_of_the_positions_are_one_line(tmp_path, capsys, factors):
    v = np.gradient(Q, TIME, axis=0) * factors
    path = write(tmp_path / "table.csv", v_1=v[:, 0], v_2=v[:, 1])
    line = identify(capsys, path, *COLUMNS, "--time", "t", "--velocities", "v_*")
    assert f"velocities of joint 'joint{1 + (factors[0] == 1.0)}': their integral is " in line
    assert "or leave --velocities out" in line


def test_degrees_and_immense_currents(tmp_path, capsys):
    path = tmp_path / "table.csv"
    np.savetxt(path, np.degrees(np.tile(Q, (1, 6))), delimiter=",")
    columns = [str(number) for number in range(1, 13)]
    line = identify(capsys, path, "--rate", "100", "--positions", *columns[:6], "--efforts", *columns[6:],
                    robot="arm6")
    assert "positions of joint 'shoulder_pan_joint' reach -28.65, its limits are -6.283 and 6.283 rad" in line
    assert "--degrees" in line
    path = write(tmp_path / "current.csv", tau_2=1000.0 * np.ones(len(TIME)))
    line = identify(capsys, path, "--rate", "100", "--positions", "q_*", "--currents", "tau_*", "--torque-constants",
                    "0.1")
    assert "the current of joint 'joint2' reaches 1000 A: expected at most 500 A; is the column in mA?" in line


def test_a_table_that_is_not_there_is_one_line(table, capsys):
    line = identify(capsys, table.parent / "no.csv", *COLUMNS, "--time", "t")
    assert f"no table '{table.parent / 'no.csv'}'" in line and "give the path of a file .csv" in line


def test_a_constant_effort_of_a_moving_joint_is_a_warning(tmp_path, capsys):
    path = write(tmp_path / "table.csv", tau_2=3.0 + 0.0 * TIME)
    assert main(["identify", str(path), "--robot", "planar_2r", "--time", "t", *COLUMNS, "--output",
                 str(tmp_path / "out")]) == 0
    told = capsys.readouterr().err
    assert len(told.splitlines()) == 1 and "joint 'joint2' moves while its effort never varies from 3: unless" in told


def test_joints_that_rest_while_they_are_held_out_have_no_errors(tmp_path, capsys):
    still = np.minimum(TIME, 5.5)
    path = write(tmp_path / "table.csv", q_1=0.5 * np.sin(3.0 * still), q_2=0.4 * np.cos(2.0 * still))
    assert main(["identify", str(path), "--robot", "planar_2r", "--time", "t", *COLUMNS, "--hold-out", "0.25",
                 "--output", str(tmp_path / "out")]) == 0
    assert capsys.readouterr().out.count("| rests ") == 4


def test_a_joint_that_moves_too_slowly_is_told(tmp_path, capsys):
    random = np.random.default_rng(0)
    path = write(tmp_path / "table.csv", q_2=1e-4 * random.normal(size=len(TIME)) + 1e-4 * TIME)
    assert main(["identify", str(path), "--robot", "planar_2r", "--time", "t", *COLUMNS, "--output",
                 str(tmp_path / "out")]) == 0
    told = capsys.readouterr()
    assert len(told.err.splitlines()) == 1 and "table.csv: joint 'joint2' moves at " in told.err
    assert "too slowly to identify its friction" in told.err and "- joint2.viscous" in told.out
