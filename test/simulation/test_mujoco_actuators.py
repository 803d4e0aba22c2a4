# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Motors beside MuJoCo's own actuators ``dcmotor``, which shares no code with ours: armature, back-EMF, cogging."""

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


def theirs(voltage, steps, **values):
    """Velocity of the wheel and current after each step of MuJoCo."""
    spec = mujoco.MjSpec()
    rim = spec.worldbody.add_body(name="rim", mass=1.0, inertia=[LINK] * 3, explicitinertial=True)
    rim.add_joint(name="axle", axis=[0, 0, 1], armature=ROTOR * RATIO**2)
    motor = spec.add_actuator(name="motor", trntype=mujoco.mjtTrn.mjTRN_JOINT, target="axle",
                              gear=[RATIO, 0, 0, 0, 0, 0])
    motor.set_to_dcmotor([MOTOR["torque_constant"]] * 2, MOTOR["resistance"], **values)
    model = spec.compile()
    model.opt.timestep, model.opt.gravity[:] = STEP, 0.0
    model.opt.integrator = mujoco.mjtIntegrator.mjINT_RK4
    data = mujoco.MjData(model)
    data.ctrl[0] = voltage
    rows = []
    for _ in range(steps):
        mujoco.mj_step(model, data)
        rows.append([data.qpos[0], data.qvel[0], data.act[0] if model.na else np.nan])
    return np.array(rows).T


def ours(voltage, steps, cogging=None, **motor):
    actuator = {"motor": MOTOR | motor, "gear_ratio": RATIO} | ({} if cogging is None else {"cogging": cogging})
    robot = Robot.from_urdf_text(WHEEL)
    settings = HardwareSettings.from_mapping({"joints": {"axle": {"actuator": actuator}}})
    plant = Plant(robot, STEP, actuators=settings.joint_actuators(robot.model), friction=Friction([0.0], [0.0]))
    none, rows = np.zeros(1), []
    for _ in range(steps):
        plant.advance(Drive(none, none, none, np.array([voltage]), np.ones(1)))
        rows.append([plant.q[0], plant.v[0], plant.actuator_state.current[0]])
    return np.array(rows).T


@pytest.mark.parametrize("inductance", [2e-3, 2e-2])
def test_an_armature_under_voltage_is_mujocos_dcmotor(inductance):
    """Rise of the current, back-EMF, and the speed towards which they go."""
    found, expected = ours(10.0, 2000, inductance=inductance), theirs(10.0, 2000, inductance=[inductance, 0.0])
    for mine, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(mine, other, atol=0.03 * np.abs(other).max())
    np.testing.assert_allclose(found[1, -1], expected[1, -1], rtol=1e-3)


def test_cogging_is_that_of_mujocos_dcmotor():
    """The wheel stops and goes as its motor passes the slots, 12 in a turn."""
    amplitude, order = 0.05, 12
    found = ours(2.0, 2000, cogging=[{"order": order, "amplitude": amplitude}])
    expected = theirs(2.0, 2000, cogging=[amplitude, order, 0.0])
    assert np.ptp(expected[1, 1000:]) > 0.01
    for mine, other in zip(found[:2], expected[:2], strict=True):
        np.testing.assert_allclose(mine, other, atol=0.02 * np.abs(other).max())
