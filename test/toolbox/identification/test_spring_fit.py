# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Stiffness and play of a simulated elastic arm, from encoders on both sides; what cannot tell them."""

import csv

import numpy as np
import pytest
import yaml
from shipped import few

from robodyn_ros import Plant, Robot
from robodyn_ros.actuation import Friction
from robodyn_ros.actuation.configuration import HardwareSettings
from robodyn_ros.commands.command_line import main
from robodyn_ros.control import JointReference, State
from robodyn_ros.control.laws.elastic_composite import ElasticComposite
from robodyn_ros.simulation.commands import Drive

ROBOT = Robot.named("planar_2r")
STIFFNESS, INERTIA, BACKLASH = (8000.0, 3000.0), (0.4, 0.1), 4e-4
JOINTS = {name: {"transmission": {"stiffness": stiffness, "damping": 10.0, "inertia": inertia, "backlash": BACKLASH}}
          for name, stiffness, inertia in zip(ROBOT.joint_names, STIFFNESS, INERTIA, strict=True)}
PERIOD = 0.002


@pytest.fixture(scope="module")
def recorded():
    """Time, positions of links and motors, and efforts of an arm that follows sines."""
    actuators = HardwareSettings.from_mapping({"joints": JOINTS}).joint_actuators(ROBOT.model)
    plant = Plant(ROBOT, actuators=actuators, friction=Friction([0.5, 0.3], [1.0, 0.5]))
    law = ElasticComposite(ROBOT.with_timing(PERIOD).with_actuators(actuators))
    rates, phases = np.array([[1.3, 2.1], [2.9, 3.7]]), np.array([[0.0, 1.0], [2.0, 3.0]])

    def wanted(time):
        angle = rates * time + phases
        return JointReference(0.5 * np.sin(angle).sum(axis=0) - [1.6, 0.0], 0.5 * (rates * np.cos(angle)).sum(axis=0),
                              -0.5 * (rates**2 * np.sin(angle)).sum(axis=0))

    plant.set_state(*wanted(0.0)[:2])
    rows = []
    for k in range(6000):
        time, motors = k * PERIOD, plant.motor_side
        effort = law.update(State(time, PERIOD, plant.q, plant.v, motor_q=motors.motor_q, motor_v=motors.motor_v,
                                  joint_torque=motors.joint_torque), wanted(time))
        rows.append([time, *plant.q, *motors.motor_q, *effort])
        plant.advance(Drive(effort, np.zeros(2), np.zeros(2)), 2)
    return np.array(rows)


def table(path, rows, noise):
    rows = rows.copy()
    rows[:, 1:5] += np.random.default_rng(4).normal(0.0, noise, (len(rows), 4))
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["time", "q1", "q2", "m1", "m2", "e1", "e2"])
        writer.writerows(rows.tolist())
    return path


def identify(path, output, *more):
    known = output.parent / "known.yaml"
    known.write_text(yaml.safe_dump({"joints": {name: {"transmission": section["transmission"] | {"stiffness": 1e5}}
                                                for name, section in JOINTS.items()}}))
    return main(["identify", str(path), "--robot", "planar_2r", "--time", "time", "--positions", "q1", "q2",
                 "--motor-positions", "m1", "m2", "--efforts", "e1", "e2", "--actuators", str(known), "--output",
                 str(output), *more])


def test_the_stiffness_of_a_simulated_arm_is_found_within_its_deviation(recorded, tmp_path, capsys):
    path = table(tmp_path / "arm.csv", recorded, 2e-5)
    assert identify(path, tmp_path / "found") == 0
    report = capsys.readouterr().out.partition("## Springs")[2]
    print(report.partition("##")[0])  # for docs/identification.md
    rows = [line.split("|")[2:5] for line in report.splitlines()
            if line.startswith("| joint") and "±" in line]
    for row, *true in zip(rows[:2], STIFFNESS, INERTIA, strict=True):
        for text, wanted in zip(row, (*true, BACKLASH), strict=True):
            value, deviation = map(float, text.split("±"))
            assert abs(value - wanted) < 3.0 * deviation and deviation < 0.2 * wanted
    written = HardwareSettings.named(tmp_path / "found" / "actuators.yaml")
    found = [written.transmissions[name].stiffness for name in ROBOT.joint_names]
    np.testing.assert_allclose(found, STIFFNESS, rtol=0.1)
    assert written.transmissions["joint1"].damping == 10.0  # as given


def test_encoders_that_are_too_coarse_are_told_in_one_line(recorded, tmp_path, capsys):
    path = table(tmp_path / "arm.csv", recorded, 4e-3)
    assert identify(path, tmp_path / "found") == 2
    told = capsys.readouterr().err.strip().splitlines()[-1]
    assert "does not identify its stiffness; load the joint more, or measure with finer encoders" in told


@pytest.mark.parametrize("is_rigid", few([False, True], 1))
def test_recordings_have_the_motors_on_a_topic_of_their_own(recorded, tmp_path, capsys, is_rigid):
    """Of rigid joints, the encoders differ by their noise: such a recording is identified as without the topic."""
    recorded_bags = pytest.importorskip("recorded_bags", reason="rosbags is not installed: make setup")
    pytest.importorskip("mcap_ros2", reason="mcap-ros2-support is not installed: make setup")
    noise = np.random.default_rng(5).normal(0.0, 2e-5, (2, len(recorded), 2))
    with recorded_bags.Recorder(tmp_path / "run") as recorder:
        for (time, *row), link, motor in zip(recorded.tolist(), *noise, strict=True):
            q, effort = np.array(row[:2]), np.array(row[4:])
            motors = q if is_rigid else np.array(row[2:4])
            for topic, positions in (("/motor_states", motors + motor), ("/joint_states", q + link)):
                recorder.joint_state(topic, round(1e9 * time), ROBOT.joint_names, positions, np.zeros(2), effort)
    assert main(["identify", str(tmp_path / "run"), "--robot", "planar_2r", "--output", str(tmp_path / "found")]) == 0
    springs = capsys.readouterr().out.partition("## Springs")[2]
    assert (springs == "") == is_rigid
    written = HardwareSettings.named(tmp_path / "found" / "actuators.yaml").transmissions
    assert set(written) == (set() if is_rigid else set(ROBOT.joint_names))
    np.testing.assert_allclose([each.stiffness for each in written.values()], [] if is_rigid else STIFFNESS, rtol=0.02)
    np.testing.assert_allclose([each.inertia for each in written.values()], [] if is_rigid else INERTIA, rtol=0.05)
