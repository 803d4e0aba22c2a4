# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""The plant's step with motors: against the books' differential equations, its energies, and the textbook form."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import solve_ivp
from shipped import few

from robodyn_ros import Robot
from robodyn_ros.actuation import Actuators, DCMotor, Friction, GearTrain, JointActuators
from robodyn_ros.actuation.actuated_dynamics import forward_dynamics, state_derivative
from robodyn_ros.actuation.configuration import HardwareSettings
from robodyn_ros.actuation.drive_limits import DriveLimits
from robodyn_ros.actuation.drive_loop import DriveCommand
from robodyn_ros.actuation.drive_losses import DriveLosses
from robodyn_ros.actuation.winding_heat import WindingHeat
from robodyn_ros.compile import Repeat, compile_procedure
from robodyn_ros.compile.records import flatten, form_of, from_numbers, to_numbers, unflatten
from robodyn_ros.description.model import Limits
from robodyn_ros.description.resources import config_file, robot_file, shipped_robots
from robodyn_ros.simulation import plant_step
from robodyn_ros.simulation.commands import Drive
from robodyn_ros.simulation.contact_world import ContactPoint, World
from robodyn_ros.simulation.integrator import Integrator
from robodyn_ros.simulation.joint_constraints import LOWER, UPPER
from robodyn_ros.simulation.outputs import report_at_rest
from robodyn_ros.simulation.plant import Plant
from robodyn_ros.simulation.plant_model import PlantModel
from robodyn_ros.simulation.plant_state import PlantCommand
from robodyn_ros.simulation.plant_step import report_statement, step_program
from robodyn_ros.simulation.surfaces import Material, Plane

GEAR = GearTrain([50.0, -43.0])


def planar(limits=True):
    robot = Robot.from_urdf(robot_file("planar_2r"))
    if limits:
        return robot
    return Robot(replace(robot.model, joints=tuple(replace(joint, limits=Limits()) for joint in robot.model.joints)))


def motors(inductance):
    return Actuators(DCMotor([0.365, 1.13], [0.123, 0.0603], [1.34e-4, 1.37e-5], inductance), GEAR)


def drive(plant, effort=None, voltage=None):
    """Effort for joints without voltage (None)."""
    none = np.zeros(plant.robot.n)
    if voltage is None:
        return Drive(none if effort is None else np.array(effort), none, none)
    return Drive(none, none, none, np.array(voltage), np.ones(plant.robot.n))


def run(plant, acting, duration):
    plant.advance(acting, round(duration / plant.step))
    return np.concatenate([plant.q, plant.v])


def reference(robot, actuators, voltage, duration, start):
    """End of (6.16) with (6.1), or of (6.17) where there is no inductance."""
    n, viscous = robot.n, robot.model
    if actuators.motor.inductance.any():
        def rate(_, x):
            return state_derivative(viscous, actuators, x, voltage)
        x = np.concatenate([start, np.zeros(2 * n)])
    else:
        def rate(_, x):
            return np.concatenate([x[n:], forward_dynamics(viscous, actuators, x[:n], x[n:], voltage)])
        x = np.concatenate([start, np.zeros(n)])
    return solve_ivp(rate, (0.0, duration), x, method="Radau", rtol=1e-7, atol=1e-9).y[:, -1]


@pytest.mark.parametrize("inductance", few([0.0, [0.161e-3, 0.33e-3]], 1))
def test_motors_by_voltage_follow_the_books_with_order_1(inductance):
    robot, actuators, voltage, start = planar(), motors(inductance), np.array([20.0, -12.0]), np.array([0.3, -0.4])
    end = reference(robot, actuators, voltage, 0.1, start)
    errors = []
    for step in (4e-4, 2e-4, 1e-4):
        plant = Plant(robot, step, start, actuators=JointActuators(actuators))
        errors.append(np.abs(run(plant, drive(plant, voltage=voltage), 0.1) - end[:4]).max())
    assert errors[-1] < 2e-3 * np.abs(end[2:4]).max()
    np.testing.assert_allclose(np.log2(np.array(errors[:-1]) / errors[1:]), 1.0, atol=0.1)
    if plant.model.actuators.circuits.has_inductance.any():
        np.testing.assert_allclose(plant.actuator_state.current, end[4:], rtol=2e-3)


@pytest.mark.parametrize("time_constant", [1e-4, 1e-6])
def test_short_electrical_time_constants_are_stable_at_long_steps(time_constant):
    """And make no difference to the motion."""
    robot, voltage, start = planar(), np.array([20.0, -12.0]), np.array([0.3, -0.4])
    states = []
    for inductance in (0.0, time_constant * np.array([0.365, 1.13])):
        plant = Plant(robot, 1e-3, start, actuators=JointActuators(motors(inductance)))
        states.append(run(plant, drive(plant, voltage=voltage), 0.5))
    np.testing.assert_allclose(states[1], states[0], rtol=0.01, atol=0.01)


def all_losses(inductance):
    return {
        "actuators": JointActuators(motors(inductance),
                                    losses=DriveLosses(efficiency=[0.7, 0.8], motor_damping=1e-5),
                                    limits=DriveLimits(voltage_limit=30.0, current_limit=[25.0, 8.0])),
        "friction": Friction([0.3, 0.05], [0.6, 0.15], [0.9, 0.2], 0.05),
    }


def imbalance(plant, acting, periods):
    """Energy that came from nowhere, over the largest that was around."""
    def total(energy):
        gained = energy.drive_work + energy.external_work
        lost = energy.viscous_loss + energy.friction_loss + energy.stop_loss + energy.winding_heat
        return energy.kinetic + energy.potential + energy.magnetic - gained + lost

    start, worst, size = total(plant.energy), 0.0, 0.0
    for effort, duration in periods:
        plant.advance(acting(plant, effort), round(duration / plant.step))
        worst = max(worst, abs(total(plant.energy) - start))
        size = max(size, plant.energy.kinetic + plant.energy.winding_heat + abs(plant.energy.drive_work))
    return worst / size


def by_voltage(plant, values):
    return drive(plant, voltage=values)


def by_effort(plant, values):
    return drive(plant, effort=values)


PERIODS = [([22.0, -10.0], 0.1), ([-25.0, 20.0], 0.15), ([0.0, 0.0], 0.05)]
SMOOTH = {"friction": Friction([0.3, 0.05], 0.0)}


@pytest.mark.parametrize(("options", "acting"), few([
    ({"friction": Friction([0.3, 0.05], [0.6, 0.15], [0.9, 0.2], 0.05)}, by_effort),
    (all_losses(0.0), by_voltage),
    (all_losses([0.161e-3, 0.33e-3]), by_voltage),
    ({}, by_effort),
    ({"actuators": JointActuators(motors(0.0))}, by_voltage),
    ({"actuators": JointActuators(motors([0.161e-3, 0.33e-3]))}, by_effort),
], 3))
@pytest.mark.parametrize("integrator", few([Integrator.SEMI_IMPLICIT_EULER, Integrator.EXPLICIT_EULER], 1))
def test_energy_books_balance_with_order_1(options, acting, integrator):
    errors = []
    for step in (2e-4, 1e-4, 5e-5):
        plant = Plant(planar(), step, [0.3, -0.4], integrator=integrator, **options)
        plant.set_wrench_tip([5.0, 0.0, -8.0, 0.0, 0.0, 0.0])
        errors.append(imbalance(plant, acting, PERIODS))
    assert errors[-1] < 5e-3
    assert errors[2] < 0.75 * errors[1] < 0.75**2 * errors[0] * 1.2


@pytest.mark.parametrize(("options", "acting"), [
    (SMOOTH, by_effort),
    (SMOOTH | {"actuators": JointActuators(motors(0.0))}, by_voltage),
    (SMOOTH | {"actuators": JointActuators(motors([0.02, 0.05]))}, by_voltage),
])
def test_energy_books_of_smooth_motion_balance_with_order_4_by_runge_kutta(options, acting):
    robot = planar()
    errors = []
    for step in (4e-3, 2e-3, 1e-3):
        plant = Plant(robot, step, [0.3, -0.4], integrator="runge_kutta", **options)
        errors.append(imbalance(plant, acting, [(values, 0.2) for values, _ in PERIODS[:2]]))
    orders = np.log2(np.array(errors[:-1]) / errors[1:])
    assert errors[-1] < 1e-6
    assert (orders > 3.5).all()


def test_energy_books_of_the_adaptive_reference_balance_to_its_tolerance():
    plant = Plant(planar(), 1e-2, [0.3, -0.4], integrator="adaptive", tolerance=1e-10, **SMOOTH,
                  actuators=JointActuators(motors([0.161e-3, 0.33e-3])))
    assert imbalance(plant, by_voltage, PERIODS) < 1e-8


@pytest.mark.parametrize("integrator", list(Integrator))
def test_books_balance_at_stops_and_brakes(integrator):
    """Losses in stops, brakes and dry friction complete the balance of energy."""
    model = planar().model
    robot = Robot(replace(model, joints=tuple(replace(joint, limits=Limits(-0.5, 0.5)) for joint in model.joints)))
    plant = Plant(robot, 1e-3, [0.4, 0.0], friction=Friction(0.0, [0.5, 0.2]), integrator=integrator)
    error = imbalance(plant, by_effort, [([0.0, 0.0], 0.6), ([30.0, 0.0], 0.3)])
    energy = plant.energy
    assert energy.stop_loss > 1.0 and energy.friction_loss > 0.1
    assert error < 0.02


@settings(deadline=None, max_examples=10)
@given(st.integers(0, 2**32 - 1))
def test_limits_hold_and_heat_only_grows(seed):
    rng = np.random.default_rng(seed)
    plant = Plant(_ROBOT, 1e-3, **_OPTIONS)  # compiled once: the code is shared
    plant.set_state(rng.uniform(-1, 1, 2), 3.0 * rng.normal(size=2))
    limits = plant.model.actuators.circuits
    hottest = plant.model.actuators.winding.ambient_temperature
    for _ in range(30):
        plant.advance(drive(plant, voltage=60.0 * rng.normal(size=2)), 3)
        state = plant.actuator_state
        assert (np.abs(state.voltage)[~state.current_saturated] <= 30.0 + 1e-9).all()
        assert (np.abs(state.current) <= limits.greatest_current * (1 + 1e-12)).all()
        assert (np.abs(state.motor_torque) <= 0.123 * limits.greatest_current).all()
        assert (state.temperature >= hottest - 1e-9).all()  # from ambient: heating wins over so short a time
        hottest = state.temperature
        assert np.isfinite(plant.q).all()


_ROBOT = planar()
_OPTIONS = all_losses([0.161e-3, 0.33e-3])
_OPTIONS["actuators"] = replace(_OPTIONS["actuators"], winding=replace(_OPTIONS["actuators"].winding,
                                                                       thermal_resistance=3.0,
                                                                       thermal_time_constant=1e6))


@pytest.mark.parametrize("name", few(shipped_robots(), ("scara",)))
@pytest.mark.parametrize("integrator", [Integrator.SEMI_IMPLICIT_EULER, Integrator.RUNGE_KUTTA])
def test_compiled_step_is_the_textbook_step(name, integrator):
    robot = Robot.from_urdf(robot_file(name))
    n, rng = robot.n, np.random.default_rng(3)
    inductance = 1e-4 if integrator is Integrator.SEMI_IMPLICIT_EULER else 1e-2
    options = {
        "actuators": JointActuators(Actuators(DCMotor(0.5, 0.06, 2e-5, inductance),
                                              GearTrain(np.linspace(20.0, 60.0, n))),
                                    is_motor=np.arange(n) % 2 == 0, losses=DriveLosses(efficiency=0.8),
                                    limits=DriveLimits(voltage_limit=24.0, current_limit=20.0),
                                    winding=WindingHeat(thermal_resistance=2.0)),
        "friction": Friction(np.full(n, 0.2), 0.4, 0.6, 0.1), "integrator": integrator}
    compiled, textbook = Plant(robot, **options), Plant(robot, compiled=False, **options)
    for _ in range(4):
        none = np.zeros(n)
        acting = Drive(10.0 * rng.normal(size=n), none, none, 15.0 * rng.normal(size=n),
                       1.0 * options["actuators"].is_motor)
        q, v = compiled.q, compiled.v
        for plant in (compiled, textbook):
            plant.set_state(q, v)
            plant.advance(acting, 3)
        for name in ("q", "v", "current", "temperature"):
            ours, theirs = getattr(compiled._state, name), getattr(textbook._state, name)
            np.testing.assert_allclose(ours, theirs, rtol=0.0, atol=1e-12 * (np.abs(theirs).max() + 1e-9))
        np.testing.assert_array_equal(compiled._state.contact_mode, textbook._state.contact_mode)


def test_example_configuration_holds_its_arm_by_effort_commands():
    """Horizontally, against gears and friction; after the drives' voltages are found from efforts, (6.12)."""
    robot = planar()
    found = HardwareSettings.from_yaml(config_file("hardware_dc_motors.yaml"))
    plant = Plant(robot, 1e-3, [0.0, 0.0], actuators=found.joint_actuators(robot.model),
                  friction=found.joint_friction(robot.model))
    held = drive(plant, effort=robot.dynamics().gravity(np.zeros(2)))
    plant.advance(held, 20)
    position = plant.q.tolist()  # fallen a little until the currents were there
    assert np.abs(position).max() < 1e-5
    plant.advance(held, 2000)
    assert plant.q.tolist() == position  # sticks
    state = plant.actuator_state
    np.testing.assert_allclose(state.joint_effort, robot.dynamics().gravity(np.zeros(2)), rtol=1e-6)
    assert (np.abs(state.voltage) < 48.0).all() and not state.voltage_saturated.any()
    assert (state.temperature > 25.0).all()
    plant.advance(drive(plant), 1000)
    assert plant.q[0] < -0.1  # and falls without


def test_flags_tell_which_limit_cut_off():
    robot = planar()
    plant = Plant(robot, actuators=JointActuators(motors(0.0), is_motor=[True, False],
                                                  limits=DriveLimits(voltage_limit=10.0, current_limit=[5.0, 1.0])))
    none = np.zeros(2)
    plant.advance(Drive(np.array([0.0, 1000.0]), none, none, np.array([9.0, 0.0]), np.array([1.0, 0.0])))
    state = plant.actuator_state
    assert state.voltage_saturated.tolist() == [False, False]
    assert state.current_saturated.tolist() == [True, False]
    assert state.effort_saturated.tolist() == [False, True]
    assert np.isnan(state.current[1]) and np.isnan(state.temperature).all()
    plant.advance(Drive(none, none, none, np.array([11.0, 0.0]), np.array([1.0, 0.0])))
    assert plant.actuator_state.voltage_saturated.tolist() == [True, False]


def near_their_stops(model, seed, effort):
    """States and efforts of 19 robots, some of whose joints are at rest, or just before a stop."""
    rng, n = np.random.default_rng(seed), model.n
    upper = model.limits.upper
    states = [model.state(np.where(rng.random(n) < 0.3, upper - 1e-3, rng.uniform(-1, 1, n)),
                          rng.choice([0.0, 1.0], n) * rng.normal(size=n)) for _ in range(19)]
    return from_numbers(form_of(states[0]), np.array([*map(numbers, states)])), effort * rng.normal(size=(19, n))


def numbers(state):
    return to_numbers(form_of(state), state, "state")


def sample(states, k):
    arrays = flatten(form_of(states), states, "states")
    return unflatten(form_of(states), iter([array[k] for array in arrays]))


def commands(efforts):
    return PlantCommand(efforts, *np.zeros((5, *efforts.shape)), DriveCommand(*np.zeros((4, *efforts.shape[:-1], 0))))


def compiled_step(model, outputs=("state",), **options):
    program = step_program(model, **options)
    return compile_procedure(program.variables, [Repeat("steps", program.statements)], program.inputs, outputs)


def test_batch_is_each_robot_on_its_own():
    """Samples of a vector that need different numbers of rounds do not disturb each other."""
    robot = Robot.from_urdf(robot_file("arm6"))
    model = PlantModel.from_description(robot.model, 1e-3, friction=Friction(np.full(6, 0.3), np.linspace(0.0, 6.0, 6)))
    procedure = compiled_step(model, ("state", "guess.rounds"))
    states, efforts = near_their_stops(model, seed=12, effort=30.0)
    batch = procedure.batch(state=states, command=commands(efforts), steps=7)
    for k in range(19):
        single = procedure(state=sample(states, k), command=commands(efforts[k]), steps=7)
        np.testing.assert_allclose(numbers(sample(batch["state"], k)), numbers(single["state"]), rtol=1e-9, atol=1e-11)
    first = procedure.batch(state=states, command=commands(efforts), steps=1)["guess.rounds"]
    assert len(set(first.tolist())) > 1


KINDS = {
    "free": {"friction": Friction(np.full(6, 0.3), np.zeros(6))},
    "dry": {"friction": Friction(np.full(6, 0.3), np.linspace(0.0, 6.0, 6))},
    "motors": {"friction": Friction(np.full(6, 0.3), np.zeros(6)),
               "actuators": JointActuators(Actuators(DCMotor(np.full(6, 0.5), np.full(6, 0.05), np.full(6, 1e-4),
                                                             np.full(6, 1e-3)), GearTrain(np.full(6, 100.0))),
                                           limits=DriveLimits(voltage_limit=24.0, current_limit=6.0))},
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("integrator", few(["semi_implicit_euler", "runge_kutta"], 1))
def test_what_a_program_leaves_out_does_not_change_the_motion(kind, integrator):
    """Robots that swing freely, run into their stops, stick, or draw all the current there is."""
    robot = Robot.from_urdf(robot_file("arm6"))
    model = PlantModel.from_description(robot.model, 1e-3, integrator=integrator, **KINDS[kind])
    states, efforts = near_their_stops(model, seed=3, effort=100.0)
    results = []
    for under_efforts, acting, one in ((False, {"command": commands(efforts)}, {"command": commands(efforts[7])}),
                                       (True, {"command.effort": efforts}, {"command.effort": efforts[7]})):
        procedure = compiled_step(model, under_efforts=under_efforts)
        results.append(procedure.batch(state=states, steps=40, **acting)["state"])
        single = procedure(state=sample(states, 7), steps=40, **one)["state"]
        np.testing.assert_allclose(numbers(sample(results[-1], 7)), numbers(single), rtol=1e-9, atol=1e-9)
        interpreted = procedure.interpret(state=sample(states, 7), steps=2, **one)["state"]
        np.testing.assert_allclose(numbers(procedure(state=sample(states, 7), steps=2, **one)["state"]),
                                   numbers(interpreted), rtol=1e-9, atol=1e-9)
    whole, part = results
    if kind != "dry":
        assert np.isin(whole.contact_mode, (LOWER, UPPER)).any()
    np.testing.assert_allclose(numbers(part), numbers(whole), rtol=1e-8, atol=1e-8)
    assert whole.energies.drive_work.all()


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("integrator", few(["semi_implicit_euler", "explicit_euler", "runge_kutta"], 1))
@pytest.mark.parametrize("touching", [False, True])
def test_the_step_on_floats_is_the_compiled_program(kind, integrator, touching):
    if touching and integrator != "semi_implicit_euler":
        return
    robot = Robot.from_urdf(robot_file("arm6"))
    options = KINDS[kind]
    if touching:
        height = robot.dynamics().forward_kinematics(np.zeros(6))[2, 3]
        floor = Plane("floor", Material(2e4, 0.2, 0.3), np.eye(3), np.array([0.0, 0.0, height - 0.01]))
        options = options | {"world": World((floor,), (ContactPoint(robot.tip_link, np.zeros(3), 0.01),))}
    model = PlantModel.from_description(robot.model, 1e-3, integrator=integrator, **options)
    program = step_program(model)
    variables = program.variables | {"report": report_at_rest(model, model.state(*np.zeros((2, 6)))), "health": ()}
    procedure = compile_procedure(variables, [*program.statements, report_statement(model, with_health=True)],
                                  program.inputs, ["state", "report", "health"])
    rng, state = np.random.default_rng(4), model.state(np.zeros(6), np.zeros(6))
    for _ in range(5):
        command = PlantCommand(20.0 * rng.normal(size=6), *np.zeros((2, 6)), np.full(6, 0.1),
                               np.array([0.0, np.inf, 0.0, 0.0, 0.0, 0.0]), rng.normal(size=6),
                               model.actuators.drive_loops.no_command())
        found, (after, report) = procedure(state=state, command=command), plant_step.step(model, state, command)
        np.testing.assert_allclose(numbers(found["state"]), numbers(after), rtol=1e-9, atol=1e-9)
        np.testing.assert_allclose(found["report"], report, rtol=1e-7, atol=1e-7)
        assert np.isfinite(found["health"])
        state = after


def test_a_program_computes_what_is_asked_for_alone():
    model = PlantModel.from_description(Robot.from_urdf(robot_file("arm6")).model, **KINDS["dry"])

    def operations(outputs, **options):
        tapes = compiled_step(model, outputs, **options).traced.tapes
        return sum(tape.operation_count for tape in tapes.values())

    motion = ("state.q", "state.v")
    assert operations(motion, under_efforts=True) < operations(motion) < operations(("state",))
    assert not compiled_step(model, motion).traced.reads("state.energies")
