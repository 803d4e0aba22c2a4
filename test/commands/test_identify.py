# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Recordings of an arm that is not as its description says, written by another library, through the command line."""

import numpy as np
import pytest

from bench.wrong_arm import WrongArm, described_arm, trajectory
from robodyn_ros import Robot
from robodyn_ros.actuation.configuration import HardwareSettings
from robodyn_ros.commands.command_line import main
from robodyn_ros.control.laws.adaptive import nominal_parameters, parameter_names
from robodyn_ros.description.resources import config_file, robot_file
from robodyn_ros.simulation.commands import Drive
from robodyn_ros.simulation.plant import Plant
from robodyn_ros.toolbox.identification.excitation import Task, excite
from robodyn_ros.toolbox.identification.identified_files import urdf_with_inertias

recorded_bags = pytest.importorskip("recorded_bags", reason="rosbags is not installed: make setup")
pytest.importorskip("mcap_ros2", reason="mcap-ros2-support is not installed: make setup")


@pytest.fixture(scope="module")
def arm():
    return WrongArm(described_arm("planar_2r"))


@pytest.fixture(scope="module")
def states(arm):
    """Joint states of two motions, thinned to 125 Hz."""
    tasks = [Task(duration=10.0, iterations=0, seed=seed) for seed in (0, 1)]
    return [[values[::4] for values in arm.record(trajectory(excite(arm.described, task).points))] for task in tasks]


def urdf(arm):
    model = arm.described.model
    return urdf_with_inertias(model, model, model.damping, model.friction)


def write(path, description, time, q, effort, names=("joint1", "joint2"), currents=None):
    with recorded_bags.Recorder(path) as recorder:
        recorder.string("/robot_description", description)
        for stamp, position, efforts in zip(time, q, effort, strict=True):
            recorder.joint_state("/joint_states", round(1e9 * stamp), names, position, np.zeros_like(position), efforts)
    return str(path)


@pytest.fixture(scope="module")
def runs(arm, states, tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs")
    return [write(folder / f"run_{number}", urdf(arm), *each) for number, each in enumerate(states)]


@pytest.fixture(scope="module")
def output(runs, tmp_path_factory):
    folder = tmp_path_factory.mktemp("results") / "identified"
    assert main(["identify", runs[0], "--validate", runs[1], "--output", str(folder)]) == 0
    return folder


def test_the_files_are_the_model(arm, output):
    robot = Robot.from_urdf(output / "planar_2r.urdf")
    friction = HardwareSettings.from_yaml(output / "actuators.yaml").joint_friction(robot.model)
    np.testing.assert_allclose(friction.viscous, arm.friction.viscous, rtol=0.1)
    np.testing.assert_allclose(robot.model.friction, friction.coulomb)
    q = np.random.default_rng(0).uniform(-1.0, 1.0, (20, 2))
    batch, true, before = (each.dynamics().batch for each in (robot, arm.robot, arm.described))
    error = np.abs(batch.gravity(q) - true.gravity(q)).max()
    assert error < 0.1 * np.abs(before.gravity(q) - true.gravity(q)).max()


def test_the_report_tells_errors_friction_and_what_is_not_identifiable(output):
    report = (output / "report.md").read_text()
    for heading in ("Errors of predicted efforts", "Friction", "Base parameters",
                    "Not identifiable from this recording"):
        assert f"## {heading}" in report
    assert "validation: identified" in report and "link1.hx + 0.5 link2.m" in report
    assert "inertial parameters of the links are identified one by one" in report
    assert (output / "efforts.png").read_bytes().startswith(b"\x89PNG")


def test_the_description_may_come_from_a_file(arm, states, tmp_path, capsys):
    path, file = write(tmp_path / "run", "", *states[0]), tmp_path / "described.urdf"
    file.write_text(urdf(arm))
    assert main(["identify", path, "--robot", str(file), "--output", str(tmp_path / "out")]) == 0
    assert "No other motion validates this model: give --validate" in capsys.readouterr().out
    assert (tmp_path / "out" / "planar_2r.urdf").is_file()


def test_estimates_of_adaptive_become_a_urdf(arm, tmp_path, capsys):
    path = tmp_path / "run"
    names, estimates = parameter_names(arm.described), nominal_parameters(arm.robot)
    with recorded_bags.Recorder(path) as recorder:
        recorder.string("/robot_description", urdf(arm))
        recorder.joint_state("/joint_states", 0, arm.described.joint_names, [0.0, 0.0], [0.0, 0.0])
        for stamp, values in ((0, nominal_parameters(arm.described)), (2_000_000_000, estimates)):
            recorder.controller_state(stamp, "adaptive", arm.described.joint_names, [0.0, 0.0], [0.0, 0.0], [0.0, 0.0],
                                      memory=dict(zip(names, values, strict=True)))
    assert main(["identify", str(path), "--adaptive", "--output", str(tmp_path)]) == 0
    assert "estimates of 'adaptive' at 2.00 s" in capsys.readouterr().out
    robot = Robot.from_urdf(tmp_path / "planar_2r.urdf")
    q = np.random.default_rng(0).uniform(-1.0, 1.0, (20, 2))
    np.testing.assert_allclose(robot.dynamics().batch.gravity(q), arm.robot.dynamics().batch.gravity(q), atol=0.05)
    np.testing.assert_allclose(robot.model.damping, arm.robot.model.damping, rtol=0.01)


WRONG_MOTORS = """joints:
  joint1:
    actuator: &actuator
      motor: {name: wrong, source: guess, nominal_voltage: 48, resistance: 0.5, torque_constant: 0.08, rotor_inertia: 0}
      gear_ratio: 51
      gear_efficiency: 0.70
      voltage_limit: 48
      current_limit: 20
  joint2:
    actuator: {<<: *actuator, gear_ratio: 43, gear_efficiency: 0.80}
"""


def record_motors(path, robot, actuators, friction, motion):
    """Record a plant with motors under a stiff PD law, with actuator states at 50 Hz."""
    plant = Plant(robot, position=motion.sample(0.0).q, actuators=actuators, friction=friction)
    none, stamp = np.zeros(robot.n), 0
    with recorded_bags.Recorder(path) as recorder:
        recorder.string("/robot_description", robot.model.description)
        for tick in range(int(motion.end_time / 0.002)):
            if tick % 4 == 0:
                recorder.joint_state("/joint_states", stamp, robot.joint_names, plant.q, plant.v, plant.effort)
            if tick % 10 == 0:
                recorder.actuator_states(stamp, robot.joint_names, plant.actuator_state)
            reference = motion.sample(tick * 0.002)
            effort = 600.0 * (reference.q - plant.q) + 40.0 * (reference.v - plant.v)
            plant.advance(Drive(effort, none, none), 2)
            stamp += 2_000_000


def test_motors_whose_currents_were_recorded(tmp_path):
    """Torque constant, resistance, back-EMF and the second rotor come out; gears and limits stay as given."""
    robot = Robot.from_urdf(robot_file("planar_2r"))
    settings = HardwareSettings.from_yaml(config_file("hardware_dc_motors.yaml"))
    true, friction = settings.joint_actuators(robot.model), settings.joint_friction(robot.model)
    task = Task(duration=10.0, iterations=5)
    record_motors(tmp_path / "run", robot, true, friction, trajectory(excite(robot, task).points))
    wrong, output = tmp_path / "wrong.yaml", tmp_path / "out"
    wrong.write_text(WRONG_MOTORS)
    assert main(["identify", str(tmp_path / "run"), "--actuators", str(wrong), "--output", str(output)]) == 0
    found = HardwareSettings.from_yaml(output / "actuators.yaml").joint_actuators(robot.model)
    for name in ("torque_constant", "resistance", "back_emf_constant"):
        np.testing.assert_allclose(getattr(found.motors.motor, name), getattr(true.motors.motor, name), rtol=0.02)
    # Nothing tells the first rotor from the inertia of its link.
    np.testing.assert_allclose(found.reflected_inertia[1], true.reflected_inertia[1], rtol=0.1)
    np.testing.assert_array_equal(found.losses.efficiency, true.losses.efficiency)
    report = (output / "report.md").read_text()
    assert "## Motors" in report and "link1.Izz + 0.25 link2.m + joint1.rotor" in report


def bad(kind, arm, states, path):
    """A recording that cannot be used, and the words of the command."""
    time, q, effort = (values.copy() for values in states[0])
    words, description, names = [], urdf(arm), ("joint1", "joint2")
    if kind == "no efforts":
        effort = np.zeros((len(time), 0))
    elif kind == "short":
        time, q, effort = time[:250], q[:250], effort[:250]
    elif kind == "gaps":
        kept = np.random.default_rng(0).random(len(time)) > 0.3
        time, q, effort = time[kept], q[kept], effort[kept]
    elif kind == "not finite":
        effort[100, 1] = np.nan
    elif kind == "another robot":
        words = ["--robot", "scara"]
    elif kind == "joints of another robot":
        names = ("elbow", "wrist")
    elif kind == "no adaptive":
        words = ["--adaptive"]
    elif kind == "adaptive and cutoff":
        words = ["--adaptive", "--cutoff", "5"]
    elif kind == "cutoff":
        words = ["--cutoff", "0"]
    elif kind == "fast cutoff":
        words = ["--cutoff", "100"]
    return [write(path, description, time, q, effort, names), *words]


@pytest.mark.parametrize(("kind", "message"), [
    ("no efforts", "the states have no efforts, which identification compares with the model; record a driver"),
    ("short", "expected 5 s of motion or more, received 1.99 s; record the whole of a motion"),
    ("gaps", "of the states are missing in"),
    ("not finite", "states at 0.800 s: effort of joint 'joint2': expected a finite number, received nan"),
    ("another robot", "it is of another robot: robot 'scara' has the joints"),
    ("joints of another robot", "of another robot: it has the joints joint1, joint2, the joint states elbow, wrist"),
    ("no adaptive", "no state of 'adaptive' with named elements was recorded"),
    ("adaptive and cutoff", "--cutoff has no effect with --adaptive; leave it out"),
    ("cutoff", "--cutoff: expected a finite number above 0 and up to 1e+09 [Hz], received 0"),
    ("fast cutoff", "expected at least four times the cutoff frequency of 100 Hz"),
])
def test_recordings_that_cannot_be_used(kind, message, arm, states, tmp_path, capsys):
    words = bad(kind, arm, states, tmp_path / "run_1")
    assert main(["identify", *words, "--output", str(tmp_path / "out")]) == 2
    error = capsys.readouterr().err
    assert message in error and error.count("\n") == 1
    assert kind in ("adaptive and cutoff", "cutoff") or "run_1" in error
    assert not (tmp_path / "out").exists()


def test_a_shipped_description_has_no_friction_to_begin_with(runs, tmp_path, capsys):
    assert main(["identify", runs[0], "--robot", str(robot_file("planar_2r")), "--output", str(tmp_path / "out")]) == 0
    assert "(described 0)" in capsys.readouterr().out
