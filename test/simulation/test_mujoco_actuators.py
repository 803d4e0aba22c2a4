# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Motors beside MuJoCo's own actuators ``dcmotor``, which shares no code with ours: armature, back-EMF, cogging.

MuJoCo has no current loop. A drive of the test is around it here: a PI controller of the current, with the voltage
within its limit.
"""

import numpy as np
import pytest

from robodyn_ros import Robot
from robodyn_ros.actuation import Friction
from robodyn_ros.actuation.configuration import HardwareSettings
from robodyn_ros.simulation.commands import Drive
from robodyn_ros.simulation.plant import Plant

mujoco = pytest.importorskip("mujoco", reason="MuJoCo is not installed: pip install mujoco")

STEP, RATIO, LINK, ROTOR = 1e-4, 50.0, 0.5, 1e-4
MOTOR = {"nominal_voltage": 48.0, "resistance": 1.0, "torque_constant": 0.1, "rotor_inertia": ROTOR}

WHEEL = f"""<robot name="wheel"><link name="base"/><link name="rim"><inertial><mass value="1"/>
<inertia ixx="{LINK}" iyy="{LINK}" izz="{LINK}" ixy="0" ixz="0" iyz="0"/></inertial></link>
<joint name="axle" type="continuous"><parent link="base"/><child link="rim"/><axis xyz="0 0 1"/></joint></robot>"""


def theirs(steps, voltage=0.0, drive=None, **values):
    """Position and velocity of the wheel and current after each step of MuJoCo, under a voltage or a drive.

    A drive is called with the current before each step of a tenth of ours, and returns the voltage.
    """
    parts = 1 if drive is None else 10
    spec = mujoco.MjSpec()
    rim = spec.worldbody.add_body(name="rim", mass=1.0, inertia=[LINK] * 3, explicitinertial=True)
    rim.add_joint(name="axle", axis=[0, 0, 1], armature=ROTOR * RATIO**2)
    motor = spec.add_actuator(name="motor", trntype=mujoco.mjtTrn.mjTRN_JOINT, target="axle",
                              gear=[RATIO, 0, 0, 0, 0, 0])
    motor.set_to_dcmotor([MOTOR["torque_constant"]] * 2, MOTOR["resistance"], **values)
    model = spec.compile()
    model.opt.timestep, model.opt.gravity[:] = STEP / parts, 0.0
    model.opt.integrator = mujoco.mjtIntegrator.mjINT_RK4
    data = mujoco.MjData(model)
    data.ctrl[0] = voltage
    rows = []
    for _ in range(steps):
        for _ in range(parts):
            if drive is not None:
                data.ctrl[0] = drive(data.act[0], STEP / parts)
            mujoco.mj_step(model, data)
        rows.append([data.qpos[0], data.qvel[0], data.act[0] if model.na else np.nan])
    return np.array(rows).T


def ours(steps, voltage=None, effort=0.0, options=None, **motor):
    """As `theirs`, under a voltage or, by the drive, an effort."""
    actuator = {"motor": MOTOR | motor, "gear_ratio": RATIO} | (options or {})
    robot = Robot.from_urdf_text(WHEEL)
    settings = HardwareSettings.from_mapping({"joints": {"axle": {"actuator": actuator}}})
    plant = Plant(robot, STEP, actuators=settings.joint_actuators(robot.model), friction=Friction([0.0], [0.0]))
    none, rows = np.zeros(1), []
    drive = (Drive(np.array([effort]), none, none) if voltage is None else
             Drive(none, none, none, np.array([voltage]), np.ones(1)))
    for _ in range(steps):
        plant.advance(drive)
        rows.append([plant.q[0], plant.v[0], plant.actuator_state.current[0]])
    return np.array(rows).T


@pytest.mark.parametrize("inductance", [2e-3, 2e-2])
def test_an_armature_under_voltage_is_mujocos_dcmotor(inductance):
    """Rise of the current, back-EMF, and the speed towards which they go."""
    found, expected = ours(2000, 10.0, inductance=inductance), theirs(2000, 10.0, inductance=[inductance, 0.0])
    for mine, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(mine, other, atol=0.03 * np.abs(other).max())
    np.testing.assert_allclose(found[1, -1], expected[1, -1], rtol=1e-3)


def test_cogging_is_that_of_mujocos_dcmotor():
    """The wheel stops and goes as its motor passes the slots, 12 in a turn."""
    amplitude, order = 0.05, 12
    found = ours(2000, 2.0, options={"cogging": [{"order": order, "amplitude": amplitude}]})
    expected = theirs(2000, 2.0, cogging=[amplitude, order, 0.0])
    assert np.ptp(expected[1, 1000:]) > 0.01
    for mine, other in zip(found[:2], expected[:2], strict=True):
        np.testing.assert_allclose(mine, other, atol=0.02 * np.abs(other).max())


class PIDrive:
    """A PI controller of the current; its integral stands still where the voltage is at its limit (clamping)."""

    def __init__(self, target, gain, rate, limit):
        self.target, self.gain, self.rate, self.limit, self.integral = target, gain, rate, limit, 0.0

    def __call__(self, current, step):
        error = self.target - current
        wanted = self.gain * error + self.integral
        voltage = min(max(wanted, -self.limit), self.limit)
        if voltage == wanted:
            self.integral += step * self.rate * error
        return voltage


@pytest.mark.parametrize(("gain", "rate", "limit"), [(1.2, 600.0, 48.0), (0.6, 1500.0, 48.0), (1.2, 600.0, 2.0)])
def test_a_current_loop_is_that_of_a_drive_around_mujocos_dcmotor(gain, rate, limit):
    """Current and speed after a step of the demand: well damped, with overshoot, and at the limit of the voltage."""
    inductance, demand = 2e-3, 3.0
    loop = {"proportional": gain, "integral": rate, "period": 1e-5}
    found = ours(300, effort=demand * RATIO * MOTOR["torque_constant"], inductance=inductance,
                 options={"current_loop": loop, "voltage_limit": limit})
    expected = theirs(300, drive=PIDrive(demand, gain, rate, limit), inductance=[inductance, 0.0])
    for mine, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(mine, other, atol=0.02 * np.abs(other).max())
    assert expected[2].max() > 1.1 * demand if rate > 1000.0 else expected[2].max() < 1.1 * demand
    assert (expected[2].max() < 0.9 * demand) == (limit < demand * MOTOR["resistance"])
