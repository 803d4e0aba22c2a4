# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""The simulated robot with motors that drive several joints together, beside the equations of motion of the motors."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.integrate import solve_ivp
from shipped import few

from robodyn_ros import InputError, PlantModel, Robot, rollout, rollout_scores
from robodyn_ros.actuation.actuated_dynamics import forward_dynamics
from robodyn_ros.actuation.configuration import HardwareSettings
from robodyn_ros.control import JointReference
from robodyn_ros.control.references.joint_trajectory import JointTrajectory, Points
from robodyn_ros.description.coupling import Coupling
from robodyn_ros.description.resources import robot_file
from robodyn_ros.simulation.commands import Drive
from robodyn_ros.simulation.mujoco_plant import MujocoPlant
from robodyn_ros.simulation.plant import Plant
from robodyn_ros.simulation.standard_motion import excursion
from robodyn_ros.toolbox.identification.motor_constants import motor_constants

ROBOT = Robot.from_urdf(robot_file("planar_2r"))
FREE = Robot.from_urdf(robot_file("planar_2r"), gravity=(0.0, 0.0, 0.0))
MATRIX = np.array([[60.0, 45.0], [-50.0, 40.0]])  # of a differential, nearly
MOTOR = {"resistance": 1.2, "torque_constant": 0.05, "rotor_inertia": 2e-4, "nominal_voltage": 48.0}


def actuators(robot=ROBOT, matrix=MATRIX, second=None, **options):
    """Motors with options, and further ones of the second motor."""
    joints = {name: {"actuator": {"motor": MOTOR} | options | (more or {})}
              for name, more in zip(robot.joint_names, (None, second), strict=True)}
    content = {"joints": joints, "couplings": [{"joints": list(robot.joint_names), "matrix": matrix.tolist()}]}
    return HardwareSettings.from_mapping(content).joint_actuators(robot.model)


def by_effort(*effort):
    return Drive(np.array(effort), *np.zeros((2, 2)))


def by_voltage(*voltage):
    return Drive(*np.zeros((3, 2)), np.array(voltage), np.ones(2))


def motor_motion(robot, matrix, voltage, seconds, damping=0.0, friction=0.0):
    """Joint positions and velocities by Lagrange's equations in the positions of the motors, from rest.

        (C^-T M C^-1 + J) x'' = K (V - K x') / R - d x' - f sign(x') - C^-T (b + D q'),    x = C q
    """
    dynamics, back = robot.dynamics(False, "textbook"), np.linalg.inv(matrix)
    inertia, constant, resistance = MOTOR["rotor_inertia"], MOTOR["torque_constant"], MOTOR["resistance"]

    def rate(_, state):
        x, speed = np.split(state, 2)
        q, v = back @ x, back @ speed
        torque = constant * (voltage - constant * speed) / resistance - damping * speed - friction * np.sign(speed)
        mass = back.T @ dynamics.mass_matrix(q) @ back + inertia * np.eye(2)
        rest = back.T @ (dynamics.bias(q, v) + robot.model.damping * v)
        return np.concatenate([speed, np.linalg.solve(mass, torque - rest)])

    end = solve_ivp(rate, (0.0, seconds), np.zeros(4), rtol=1e-10, atol=1e-10).y[:, -1]
    return back @ end[:2], back @ end[2:]


@pytest.mark.parametrize(("integrator", "step", "tolerance"), [
    ("semi_implicit_euler", 1e-4, 2e-3), ("runge_kutta", 1e-3, 1e-6), ("adaptive", 1e-2, 1e-6)])
@pytest.mark.parametrize("matrix", few([MATRIX, np.array([[45.0, 0.0], [32.0, 32.0]])], 1))
def test_it_moves_as_the_motors_do(integrator, step, tolerance, matrix):
    voltage = np.array([9.0, -4.0])
    expected = motor_motion(ROBOT, matrix, voltage, 0.1, damping=1e-4)
    plant = Plant(ROBOT, step, actuators=actuators(matrix=matrix, motor_damping=1e-4), integrator=integrator)
    plant.advance(by_voltage(*voltage), round(0.1 / step))
    assert_allclose((plant.q, plant.v), expected, atol=tolerance * np.abs(expected[1]).max())


def test_the_equations_of_the_book_agree():
    found = actuators(motor_damping=0.0)
    plant = Plant(ROBOT, 1e-6, actuators=found)
    plant.set_state(np.array([0.3, -0.7]), np.array([0.4, 0.2]))
    before = plant.v
    plant.advance(by_voltage(12.0, 3.0))
    a = forward_dynamics(ROBOT.model, found.motors, np.array([0.3, -0.7]), before, np.array([12.0, 3.0]))
    assert_allclose((plant.v - before) / 1e-6, a, rtol=1e-3)
    assert_allclose(found.motors.voltage(ROBOT.dynamics().inverse_dynamics(np.array([0.3, -0.7]), before, a)
                                         + ROBOT.model.damping * before, before, a), [12.0, 3.0], rtol=1e-9)


@pytest.mark.parametrize("compiled", [True, False])
def test_sliding_and_sticking_motors(compiled):
    """The first motor slides; the second one sticks: its friction holds a combination of the joints."""
    found = actuators(FREE, motor_friction=0.05, second={"motor_friction": 0.5})
    plant = Plant(FREE, 1e-3, np.array([0.2, 0.4]), compiled, actuators=found)
    plant.advance(by_voltage(6.0, 0.4), 30)  # 0.25 N m, and 0.017 N m
    speeds = MATRIX @ plant.v
    assert abs(speeds[1]) < 1e-6 < 10.0 < speeds[0]
    # The same as a robot with one degree of freedom: the null direction of the second motor.
    direction = np.linalg.solve(MATRIX, [1.0, 0.0])
    reduced = direction @ FREE.dynamics().mass_matrix(plant.q) @ direction + MOTOR["rotor_inertia"]
    torque = MOTOR["torque_constant"] * (6.0 - MOTOR["torque_constant"] * speeds[0]) / MOTOR["resistance"] - 0.05
    rest = direction @ (FREE.dynamics().bias(plant.q, plant.v) + FREE.model.damping * plant.v)
    before = plant.v
    plant.advance(by_voltage(6.0, 0.4))
    assert (MATRIX @ (plant.v - before))[0] / 1e-3 == pytest.approx((torque - rest) / reduced, rel=0.02)
    assert plant.actuator_state.friction_effort @ direction == pytest.approx(
        -0.05 - direction @ (FREE.model.damping * plant.v), rel=0.02)


def test_sliding_friction_is_that_of_the_motors():
    voltage = np.array([9.0, -6.0])
    plant = Plant(FREE, 1e-4, actuators=actuators(FREE, motor_friction=0.04))
    plant.advance(by_voltage(*voltage), 500)
    expected = motor_motion(FREE, MATRIX, voltage, 0.05, friction=0.04)
    assert_allclose((plant.q, plant.v), expected, atol=4e-3 * np.abs(expected[1]).max())


@pytest.mark.parametrize("step", [1e-3, 5e-4])
@pytest.mark.parametrize("options", [
    {}, {"motor_friction": 0.02, "motor_damping": 2e-4}, {"gear_efficiency": 0.7, "current_limit": 3.0},
    {"gear_efficiency": 0.6, "motor_friction": 0.05, "torque_limit": 0.3, "motor": MOTOR | {"inductance": 2e-3}}])
def test_energy_is_balanced(options, step):
    plant, rng = Plant(ROBOT, step, actuators=actuators(**options)), np.random.default_rng(1)
    start, most = plant.energy, 0.0
    for _ in range(40):
        plant.advance(by_effort(*rng.normal(size=2) * [40.0, 15.0]), round(0.02 / step))
        now = plant.energy
        stored = sum(now[:3]) - sum(start[:3])
        balance = now.drive_work - now.viscous_loss - now.friction_loss - now.stop_loss - now.winding_heat - stored
        assert min(now.viscous_loss, now.friction_loss, now.stop_loss, now.winding_heat) >= 0.0
        most = max(most, abs(balance))
    assert most < 60.0 * step * max(abs(now.drive_work), now.kinetic, 1.0)


def test_motors_limit_combinations_of_the_joints():
    """0.3 N m at the shaft of each motor: efforts that need more are cut along the motors, not the joints."""
    found = actuators(FREE, torque_limit=0.3, voltage_limit=1000.0)
    for asked in ([12.0, 9.0], [30.0, 12.0], [-20.0, 15.0]):
        torque = np.clip(np.linalg.solve(MATRIX.T, asked), -0.3, 0.3)
        plant = Plant(FREE, 1e-6, actuators=found)
        plant.advance(by_effort(*asked), 3)
        assert_allclose(plant.actuator_state.motor_torque, torque, atol=1e-3)
        assert_allclose(plant.actuator_state.joint_effort, MATRIX.T @ plant.actuator_state.motor_torque, rtol=1e-9)


def test_interpreted_and_compiled_are_the_same():
    plants = [Plant(ROBOT, compiled=compiled, actuators=actuators(
        motor_friction=0.03, motor_damping=1e-4, gear_efficiency=0.8, current_limit=6.0)) for compiled in (True, False)]
    rng = np.random.default_rng(2)
    for _ in range(60):
        effort = rng.normal(size=2) * [60.0, 20.0]
        for plant in plants:
            plant.advance(by_effort(*effort), 3)
    assert_allclose(plants[0].q, plants[1].q, atol=1e-7)
    assert_allclose(plants[0].actuator_state[:6], plants[1].actuator_state[:6], rtol=1e-4, atol=1e-5)


def test_rollouts_and_varied_quantities():
    found = actuators(motor_friction=0.02, gear_efficiency=0.9)
    rest = np.zeros(2)
    trajectory = JointTrajectory(JointReference(rest, rest, rest), 0.0, Points.from_arrays([0.3], [[0.4, -0.2]]))
    coupled = PlantModel.from_description(ROBOT.model, actuators=found)
    whole = rollout(ROBOT, "computed_torque", trajectory, plant=coupled)
    plant = Plant(ROBOT, actuators=found)
    plant.set_state(whole.q[0], whole.v[0])
    for effort in whole.effort[:100]:
        plant.advance(by_effort(*effort), 2)
    assert_array_equal(plant.q, whole.q[100])
    ratios = np.array([found.motors.gear.ratio, 1.1 * found.motors.gear.ratio])
    score = rollout_scores(ROBOT, "computed_torque", {"gear.ratio": ratios}, trajectory, plant=coupled)
    again = rollout(ROBOT.with_actuators(found), "computed_torque", trajectory, plant=PlantModel.from_description(
        ROBOT.model, actuators=actuators(matrix=1.1 * MATRIX, motor_friction=0.02, gear_efficiency=0.9)))
    assert_allclose(score.rms_error[1], again.score.rms_error, rtol=1e-6)


def test_a_wrist_that_turns_against_itself_is_held_by_its_motor():
    """The motor of joint 6 turns with the sum of joints 5 and 6: dry friction holds it where the sum is to stay."""
    robot, settings = Robot.named("tx40"), HardwareSettings.named("tx40")
    motion, own = excursion(robot), settings.joint_actuators(robot.model)
    sums, errors = [], []
    for actuated in (own, replace(own, losses=replace(own.losses, motor_friction=np.zeros(6)))):
        found = rollout(robot, "pd_gravity", motion, 2.0, plant=PlantModel.from_description(
            robot.model, actuators=actuated, friction=settings.joint_friction(robot.model)))
        wanted = np.array([motion.sample(time).q for time in found.time])
        assert_allclose(wanted[:, 4] + wanted[:, 5], 0.0, atol=1e-12)
        assert np.ptp(found.q[:, 4]) > 0.1
        sums.append(np.abs(found.q[:, 4] + found.q[:, 5]).max())
        errors.append(found.score.rms_error[4:])
    assert sums[0] < 1e-8 < 1e-3 < sums[1]
    assert_allclose(*errors[0], rtol=1e-6)


def test_identification_tells_losses_and_friction_of_coupled_motors():
    """Recorded efforts behind the gears, and constants at the outputs, from the simulated robot itself."""
    found = actuators(gear_efficiency=0.8, motor_friction=0.03)
    plant, rng, rows = Plant(ROBOT, 1e-4, actuators=found), np.random.default_rng(3), []
    for _ in range(300):
        plant.advance(by_voltage(*rng.normal(size=2) * 12.0), 20)
        state = plant.actuator_state
        rows.append((plant.v, state.joint_effort, state.friction_effort, state.current))
    v, effort, friction, current = (np.array(column) for column in zip(*rows, strict=True))
    gear, sliding = found.motors.gear, (np.abs(v @ MATRIX.T) > 5.0).all(axis=1)
    assert sliding.sum() > 50
    shafts = -np.sign(v @ MATRIX.T) * 0.03 @ MATRIX  # which stay to be identified
    behind = found.effort_behind_gears(effort, v) + shafts - v * ROBOT.model.damping
    assert_allclose(behind[sliding], (effort + friction)[sliding], atol=0.1 * np.abs(friction).max())
    constants = motor_constants((gear.coupling @ v.T).T, gear.output_effort(effort.T).T, current,
                                np.full_like(current, np.nan))
    assert_allclose(constants.effort_per_current, gear.ratio * MOTOR["torque_constant"], rtol=1e-6)


@pytest.mark.parametrize(("options", "integrator"), few([
    ({"motor_damping": 1e-4}, "runge_kutta"), ({"motor_damping": 1e-4}, "semi_implicit_euler"),
    ({"motor_friction": 0.05, "gear_efficiency": 0.9, "current_limit": 4.0}, "semi_implicit_euler")], 1))
def test_mujoco_moves_as_the_plant_does(options, integrator):
    pytest.importorskip("mujoco")
    plants = [kind(ROBOT, 2e-4, actuators=actuators(**options), integrator=integrator) for kind in (Plant, MujocoPlant)]
    rng, most = np.random.default_rng(5), 0.0
    for _ in range(20):
        effort = rng.normal(size=2) * [40.0, 15.0]
        for plant in plants:
            plant.advance(by_effort(*effort), 50)
        most = max(most, np.abs(plants[0].v).max())
        assert_allclose(plants[1].v, plants[0].v, atol=0.02 * most)
    assert_allclose(plants[1].q, plants[0].q, atol=5e-3)
    energies = [np.array(plant.energy)[3:] for plant in plants]
    assert_allclose(energies[1], energies[0], atol=0.02 * np.abs(energies[0]).max())


def test_rotors_of_the_description_alone_are_told():
    pytest.importorskip("mujoco")
    joints = tuple(replace(joint, armature=0.1) for joint in ROBOT.model.joints)
    coupled = replace(ROBOT.model, joints=joints, couplings=(Coupling(ROBOT.joint_names, MATRIX),))
    with pytest.raises(InputError, match="mujoco: expected motors of .* for the rotors of its coupled joints"):
        MujocoPlant(Robot(coupled))
