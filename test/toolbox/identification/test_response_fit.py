# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Stiffness from the response of motors alone: a joint in closed form, a simulated arm; what cannot tell it."""

import numpy as np
import pytest
from scipy.signal import csd, welch

from robodyn_ros import Plant, Robot
from robodyn_ros.actuation import Friction
from robodyn_ros.actuation.configuration import HardwareSettings
from robodyn_ros.commands.command_line import main
from robodyn_ros.simulation.commands import Drive
from robodyn_ros.toolbox.identification.measured_motion import EvenPart, EvenSamples
from robodyn_ros.toolbox.identification.response_fit import fit_response, motor_response

LINK, MOTOR, STIFFNESS, DAMPING = 0.8, 0.3, 6000.0, 4.0


def two_masses(s, stiffness=STIFFNESS):
    """Acceleration of the motor for its torque, as the two equations of motion of [Spong] give it."""
    z = stiffness + s * DAMPING
    return (LINK * s**2 + z) / (MOTOR * LINK * s**2 + (MOTOR + LINK) * z)


def recorded(response, rate=1000.0, duration=20.0, highest=150.0, noise=2e-6, seed=0):
    """A multisine that repeats after `duration` moves a joint, in the steady state."""
    random = np.random.default_rng(seed)
    count = int(duration * rate)
    frequency = np.fft.rfftfreq(count, 1.0 / rate)
    excited = (frequency >= 0.5) & (frequency <= highest)
    torque = np.where(excited, np.exp(2j * np.pi * random.random(len(frequency))), 0.0)
    s = 2j * np.pi * np.where(excited, frequency, 1.0)
    position = np.fft.irfft(torque * response(s) / s**2, count)
    size = 30.0 / np.fft.irfft(torque, count).std()
    position = size * position + noise * random.normal(size=count)
    return EvenSamples(1.0 / rate, (EvenPart(np.arange(count) / rate, position[:, None],
                                             size * np.fft.irfft(torque, count)[:, None], None),), ())


def fitted(samples, motor=np.nan, link=0.6, **more):
    """Fit of one joint, whose described link is lighter than the true one."""
    return fit_response(["elbow"], motor_response(samples), np.array([[link]]), more.pop("variation", np.zeros(1)),
                        np.array([motor]), **more)


@pytest.mark.parametrize("seed", range(3))
def test_the_two_masses_of_a_joint_in_closed_form(seed):
    springs = fitted(recorded(two_masses, seed=seed)).springs
    assert springs.reasons == ("",)
    for found, deviation, true in ((springs.stiffness, springs.stiffness_deviation, STIFFNESS),
                                   (springs.motor_inertia, springs.motor_inertia_deviation, MOTOR),
                                   (springs.damping, springs.damping_deviation, DAMPING)):
        assert abs(found[0] - true) < 2.0 * deviation[0] and abs(found[0] - true) < 0.05 * true


@pytest.mark.long
def test_an_arm_whose_joints_move_at_once_under_a_controller():
    """Sensor noise, friction on the links, torques held for 1 ms; joint 7 has its mode beyond the recording."""
    robot, random, period, count = Robot.named("arm7"), np.random.default_rng(1), 1e-3, 16000
    true = np.repeat([34e3, 11e3], [4, 3])
    joints = {name: {"transmission": {"stiffness": k, "damping": d, "inertia": b}} for name, k, d, b in zip(
        robot.joint_names, true, [10.0] * 4 + [1.0] * 3, [0.5] * 4 + [0.1, 0.1, 0.02], strict=True)}
    posture = np.array([0.3, 0.5, -0.4, -1.0, 0.3, 0.8, 0.2])
    plant = Plant(robot, 1e-4, position=posture, friction=Friction(np.ones(7), np.repeat([0.3, 0.1], [4, 3])),
                  actuators=HardwareSettings.from_mapping({"joints": joints}).joint_actuators(robot.model))
    spectrum = np.zeros((count // 2 + 1, 7), dtype=complex)
    spectrum[16:6400] = np.exp(2j * np.pi * random.random((6384, 7)))
    excitation = np.fft.irfft(spectrum, count, axis=0)
    excitation *= np.array([10.0, 10.0, 7.0, 7.0, 2.0, 2.0, 1.0]) / excitation.std(axis=0)
    held, gravity, none = plant.motor_side.motor_q.copy(), robot.dynamics().gravity(posture), np.zeros(7)
    stiff, damping = np.array([3e3] * 4 + [600.0, 600.0, 100.0]), np.array([100.0] * 4 + [15.0, 15.0, 3.0])
    q, tau, last = np.zeros((count, 7)), np.zeros((count, 7)), held
    for k in range(count):
        q[k] = plant.motor_side.motor_q + 1e-6 * random.normal(size=7)
        tau[k] = gravity + stiff * (held - q[k]) - damping * (q[k] - last) / period + excitation[k]
        last = q[k]
        plant.advance(Drive(tau[k], none, none), 10)
    response = motor_response(EvenSamples(period, (EvenPart(period * np.arange(count), q, tau, None),), ()))
    found = fit_response(robot.joint_names, response, robot.dynamics().mass_matrix(posture), np.zeros(7),
                         np.full(7, np.nan)).springs
    error = found.stiffness - true
    assert (np.abs(error[:6]) < 2.0 * found.stiffness_deviation[:6]).all()
    assert (np.abs(error[:6]) < 0.05 * true[:6]).all()
    assert not found.identified[6] and "the recording resolves up to" in found.reasons[6]


def test_the_spectra_are_those_of_welch():
    samples = recorded(two_masses)
    measured = motor_response(samples)
    part = samples.parts[0]
    a = np.diff(part.position[:, 0], 2) * 1e6
    tau = part.effort[1:-1, 0]
    options = {"fs": 1000.0, "nperseg": round(1000.0 / (measured.frequency[1] - measured.frequency[0]))}
    frequency, cross = csd(tau, a, **options)
    power = welch(tau, **options)[1]
    at = np.searchsorted(frequency, measured.frequency - 1e-6)
    gain = np.sinc(measured.frequency / 1000.0)**2
    excited = measured.frequency < 140.0
    np.testing.assert_allclose(measured.response[excited, 0, 0], (cross / power)[at][excited] / gain[excited],
                               rtol=1e-6)


def test_a_rigid_joint_and_a_mode_beyond_the_recording_are_told():
    rigid = fitted(recorded(lambda s: 1.0 / (MOTOR + LINK) + 0.0 * s)).springs
    assert not rigid.identified.any()
    assert "it moves as a rigid joint; the recording resolves up to 15" in rigid.reasons[0]
    known = {"stiffness": np.array([STIFFNESS]), "motor": MOTOR}
    slow = fitted(recorded(two_masses, rate=50.0, highest=24.0), **known).springs
    assert "its antiresonance would be at 1" in slow.reasons[0] and "by the sampling rate" in slow.reasons[0]
    shy = fitted(recorded(two_masses, highest=8.0), **known).springs
    assert "by the coherence of torque and acceleration" in shy.reasons[0] and "excite it faster" in shy.reasons[0]
    moved = fitted(recorded(two_masses), variation=np.array([0.3])).springs
    assert "the inertia of its links varies by 30% over the recording" in moved.reasons[0]


URDF = """<robot name="elbow_arm">
<link name="base"/>
<link name="upper"><inertial><mass value="2"/><inertia ixx="0.6" iyy="0.6" izz="0.6" ixy="0" ixz="0" iyz="0"/>
</inertial></link>
<joint name="elbow" type="revolute"><parent link="base"/><child link="upper"/><axis xyz="0 0 1"/>
<limit lower="-3" upper="3" velocity="20" effort="200"/></joint></robot>"""


def identify(folder, samples, *words):
    (folder / "arm.urdf").write_text(URDF)
    part = samples.parts[0]
    np.savetxt(folder / "arm.csv", np.hstack([part.time[:, None], part.position, part.effort]), delimiter=",",
               header="t,motor,torque", comments="", fmt="%.12g")
    return main(["identify", str(folder / "arm.csv"), "--robot", str(folder / "arm.urdf"), "--time", "t", "--efforts",
                 "torque", "--output", str(folder / "found"), "--frequency-response", *words])


def test_the_command_writes_the_spring_with_a_picture(tmp_path, capsys):
    assert identify(tmp_path, recorded(two_masses), "--motor-positions", "motor") == 0
    report = capsys.readouterr().out.partition("## Springs, from the frequency response")[2]
    print(report)  # for docs/identification.md
    value, deviation = map(float, next(line for line in report.splitlines() if line.startswith("| elbow"))
                           .split("|")[2].split("±"))
    assert abs(value - STIFFNESS) < 2.0 * deviation + 0.5
    found = HardwareSettings.named(tmp_path / "found" / "actuators.yaml").transmissions["elbow"]
    np.testing.assert_allclose([found.stiffness, found.damping, found.inertia], [STIFFNESS, DAMPING, MOTOR], rtol=0.02)
    assert (tmp_path / "found" / "responses.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize("words, told", [
    (["--motor-positions", "motor"], "joint 'elbow': it moves as a rigid joint; the recording resolves up to 15"),
    (["--positions", "motor"], "--frequency-response: expected --motor-positions, received --positions"),
    (["--motor-positions", "motor", "--adaptive"], "--frequency-response has no effect with --adaptive"),
], ids=range(3))
def test_what_tells_no_spring_is_one_line(tmp_path, capsys, words, told):
    assert identify(tmp_path, recorded(lambda s: 1.0 / (MOTOR + LINK) + 0.0 * s), *words) == 2
    error = capsys.readouterr().err
    assert told in error and len(error.splitlines()) == 1 and not (tmp_path / "found").exists()
