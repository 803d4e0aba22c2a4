# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Elastic joints with backlash: against closed forms, MuJoCo with two hinges a joint, and the balance of energy."""

from dataclasses import replace
from functools import lru_cache

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation
from shipped import few

from robodyn_ros import Robot
from robodyn_ros.actuation import Actuators, DCMotor, Friction, GearTrain, JointActuators
from robodyn_ros.actuation.actuator_settings import TransmissionSettings
from robodyn_ros.actuation.configuration import HardwareSettings
from robodyn_ros.actuation.transmission import NEWTON_ROUNDS, Transmission
from robodyn_ros.base.errors import InputError
from robodyn_ros.base.fields import declared
from robodyn_ros.compile import Repeat, compile_procedure
from robodyn_ros.description.resources import robot_file
from robodyn_ros.simulation.commands import Drive
from robodyn_ros.simulation.mujoco_plant import MujocoPlant
from robodyn_ros.simulation.plant import Plant
from robodyn_ros.simulation.plant_model import PlantModel
from robodyn_ros.simulation.plant_step import step_program
from robodyn_ros.simulation.quantities import QUANTITIES, varied_plant

STEP, LINK, MOTOR = 1e-3, 0.5, 0.2

WHEEL = f"""<robot name="wheel"><link name="base"/><link name="rim"><inertial><mass value="1"/>
<inertia ixx="{LINK}" iyy="{LINK}" izz="{LINK}" ixy="0" ixz="0" iyz="0"/></inertial></link>
<joint name="axle" type="continuous"><parent link="base"/><child link="rim"/><axis xyz="0 0 1"/></joint></robot>"""


def sources(n, stiffness, damping=0.0, backlash=0.0, inertia=MOTOR, **values):
    return replace(JointActuators.ideal_sources(n), transmission=Transmission(
        np.broadcast_to(stiffness, n).astype(float), np.full(n, damping), np.full(n, backlash),
        source_inertia=np.full(n, inertia), **values))


def free(n):
    return Friction(np.zeros(n), np.zeros(n))


def wheel(stiffness, damping=0.0, backlash=0.0, friction=None, inertia=MOTOR, **options):
    return Plant(Robot.from_urdf_text(WHEEL), options.pop("step", STEP),
                 actuators=sources(1, stiffness, damping, backlash, inertia),
                 friction=free(1) if friction is None else friction, **options)


def rock(plant, motor_v):
    """Begin with the springs relaxed, the links at rest and the motors in motion."""
    plant.set_state(np.zeros(plant.robot.n), np.zeros(plant.robot.n))
    side = plant._state.motor_side
    plant._begin(plant._state._replace(motor_side=side._replace(q=plant.q[plant.model.elastic.joints],
                                                                v=np.full(len(side.v), motor_v))))


def run(plant, effort, steps):
    none = np.zeros(plant.robot.n)
    drive = Drive(none + effort, none, none)
    found = []
    for _ in range(steps):
        plant.advance(drive)
        found.append((plant.motor_side, plant.energy))
    return found


def deflections(plant, steps):
    found = []
    for _ in range(steps):
        run(plant, 0.0, 1)
        found.append(plant.motor_side.motor_q[0] - plant.q[0])
    return np.array(found)


@pytest.mark.parametrize("stiffness", few([1e2, 1e4, 1e5], 1))
@pytest.mark.parametrize("ratio", [0.0, 0.05])
def test_two_masses_swing_as_the_closed_form(stiffness, ratio):
    """Deflection (w / omega_d) e^(-zeta omega t) sin(omega_d t), by the frequency that the method gives to the mode."""
    inertia = LINK * MOTOR / (LINK + MOTOR)
    omega = np.sqrt(stiffness / inertia)
    step = min(STEP, 0.02 / omega)
    plant = wheel(stiffness, 2.0 * ratio * np.sqrt(stiffness * inertia), step=step)
    rock(plant, 1.0)
    steps = round(4.0 * np.pi / omega / step)
    deflection = deflections(plant, steps)
    time, damped = step * np.arange(1, steps + 1), omega * np.sqrt(1.0 - ratio**2)
    expected = np.exp(-ratio * omega * time) * np.sin(damped * time) / damped
    np.testing.assert_allclose(deflection, expected, atol=0.02 / damped)


@pytest.mark.parametrize("stiffness", few([1e4, 1e5, 1e7], (1e5,)))
def test_the_frequency_of_a_long_step_is_that_of_the_average_acceleration_method(stiffness):
    """(2 / h) atan(h omega / 2), without damping, however stiff the spring is."""
    omega = np.sqrt(stiffness * (1.0 / LINK + 1.0 / MOTOR))
    plant = wheel(stiffness)
    rock(plant, 1.0)
    deflection = deflections(plant, 4000)
    turn = 2.0 * np.arctan(0.5 * STEP * omega)
    # a harmonic sequence: x[k+1] + x[k-1] = 2 cos(turn) x[k]
    np.testing.assert_allclose(deflection[2:] + deflection[:-2], 2.0 * np.cos(turn) * deflection[1:-1],
                               atol=1e-9 * np.abs(deflection).max())
    np.testing.assert_allclose(np.abs(deflection[-500:]).max(), np.abs(deflection[:500]).max(), rtol=1e-4)


@pytest.mark.parametrize("compiled", [True, False])
@pytest.mark.parametrize("backlash", [0.0, 2e-3, 0.05])
def test_a_spring_stores_what_it_takes(compiled, backlash):
    plant = wheel(3e4, backlash=backlash, compiled=compiled)
    rock(plant, 2.0)
    energy = np.array([found.kinetic + found.elastic for _, found in run(plant, 0.0, 300 if compiled else 30)])
    np.testing.assert_allclose(energy, energy[0], rtol=1e-9)
    momentum = LINK * plant.v + MOTOR * plant.motor_side.motor_v
    np.testing.assert_allclose(momentum, MOTOR * 2.0, rtol=1e-10)


@pytest.mark.parametrize("stiffness", few([1e4, 1e5], 1))
def test_backlash_crosses_its_dead_zone_in_the_time_of_the_closed_form(stiffness):
    """Motor and link part and meet: half a swing of the spring, then the gap at constant speed, and so on."""
    backlash, speed, step = 0.02, 1.0, 4e-5
    plant = wheel(stiffness, backlash=backlash, step=step)
    rock(plant, speed)
    omega = np.sqrt(stiffness * (1.0 / LINK + 1.0 / MOTOR))
    period = 2.0 * (np.pi / omega + backlash / speed)
    steps = round(1.25 * period / step)
    deflection = deflections(plant, steps)
    rises = np.flatnonzero((deflection[:-1] < 0.0) & (deflection[1:] >= 0.0))
    assert step * (rises[-1] + 1) == pytest.approx(period, rel=3e-3)  # it begins in the middle of the gap, rising
    assert np.abs(deflection).max() == pytest.approx(0.5 * backlash + speed / omega, rel=2e-3)


def test_torque_of_a_spring_bears_the_weight_and_motor_friction_stays_behind_it():
    """At rest, T is the gravity of the link, and the dry friction of the joint takes part of what the motor gives."""
    robot = Robot.named("planar_2r")
    plant = Plant(robot, STEP, [0.3, 0.5], actuators=sources(2, 2e4, damping=20.0), friction=free(2))
    gravity = robot.dynamics().gravity(plant.q)
    np.testing.assert_allclose(plant.motor_side.joint_torque, gravity, rtol=1e-9)
    np.testing.assert_allclose(plant.motor_side.motor_q - plant.q, gravity / 2e4, rtol=1e-9)
    run(plant, gravity, 500)
    np.testing.assert_allclose(plant.q, [0.3, 0.5], atol=1e-9)


VARIED = ("transmission.stiffness", "transmission.damping", "transmission.backlash", "friction.coulomb")


@lru_cache
def varied_wheel(inertia):
    model = PlantModel.from_description(Robot.from_urdf_text(WHEEL).model, STEP, sources(1, 1e4, 1.0, 1e-3, inertia),
                                        Friction(np.zeros(1), np.ones(1)))
    program = step_program(model, VARIED, under_efforts=True)
    return model, compile_procedure(program.variables, [Repeat("steps", program.statements)], program.inputs,
                                    ("state", "guess.rounds"))


@given(inertia=st.sampled_from([1e-3, 0.03, 1.0]), speed=st.floats(-5.0, 5.0), values=st.tuples(
    st.floats(1e3, 1e7), st.floats(0.0, 1000.0), st.sampled_from([0.0, 1e-4, 1e-3, 1e-2]),
    st.sampled_from([0.0, 0.5, 3.0])))
@example(inertia=1e-3, speed=2.0, values=(3284405.0, 82.0, 1e-3, 0.0))
@settings(max_examples=20, deadline=None)
def test_no_energy_is_created(inertia, speed, values):
    """Without drive, kinetic and elastic energy only fall, at 1 ms, and what is lost is accounted for."""
    model, procedure = varied_wheel(inertia)
    stiffness, damping, backlash, coulomb = values
    own = replace(model, actuators=replace(model.actuators, transmission=replace(model.actuators.transmission,
                                                                                 stiffness=np.full(1, stiffness),
                                                                                 backlash=np.full(1, backlash))))
    state = model.state([0.0], [0.0])
    state = state._replace(motor_side=state.motor_side._replace(v=np.full(1, speed)))
    given_values = dict(zip(VARIED, ([stiffness], [damping], [backlash], [coulomb]), strict=True))
    stored, lost = [], []
    for _ in range(30):
        stored.append(0.5 * LINK * state.v[0] ** 2 + 0.5 * inertia * state.motor_side.v[0] ** 2
                      + own.elastic.energy(state)[0])
        lost.append(state.energies.viscous_loss[0] + state.energies.friction_loss[0])
        found = procedure(state=state, steps=1, **{"command.effort": np.zeros(1)}, **given_values)
        assert found["guess.rounds"] < NEWTON_ROUNDS + 40  # half of the way in each: 1e-10 of it is left after 34
        state = found["state"]
    slack = 1e-6 * stored[0] + 1e-12
    assert max(stored) <= stored[0] + slack
    if coulomb == 0.0:  # else the friction of a step in which the motion turns is that of its end
        assert np.diff(stored).max() <= slack
    np.testing.assert_allclose(np.add(stored, lost), stored[0], rtol=1e-6, atol=1e-12)


@pytest.mark.parametrize("stiffness", few([1e4, 1e5], 1))
def test_an_arm_with_elastic_joints_is_stable_at_a_millisecond(stiffness):
    """arm7 with the rotors of its size, from a fall into its dampers: the motion decays, and energy is in balance."""
    robot = Robot.from_urdf(robot_file("arm7"))
    n = robot.n
    plant = Plant(robot, STEP, actuators=sources(n, stiffness, 1e-3 * stiffness, 1e-3, 0.3),
                  friction=Friction(np.full(n, 2.0), np.full(n, 0.1)))
    start = plant.energy
    run(plant, robot.dynamics().gravity(plant.q), 1500)
    end = plant.energy
    stored = [each.kinetic + each.potential + each.elastic for each in (start, end)]
    gained = end.drive_work + end.external_work - end.viscous_loss - end.friction_loss - end.stop_loss
    assert stored[1] - stored[0] == pytest.approx(gained, abs=2e-3 * max(1.0, end.viscous_loss))
    assert np.abs(plant.v).max() < 0.5 and np.isfinite(plant.q).all()


def test_a_stiff_spring_is_a_rigid_joint():
    robot = Robot.named("planar_2r")
    inertia = np.array([0.4, 0.1])
    rigid = Robot(replace(robot.model, joints=tuple(replace(joint, armature=float(own)) for joint, own in
                                                    zip(robot.model.joints, inertia, strict=True))))
    elastic_actuators = sources(2, 1e9, inertia=inertia)
    plants = (Plant(rigid, STEP, friction=free(2)), Plant(robot, STEP, actuators=elastic_actuators, friction=free(2)))
    for plant in plants:
        plant.set_state([0.3, -0.5])
        run(plant, [2.0, 1.0], 400)
    # The velocities of rigid robots belong to the middle of the step before.
    np.testing.assert_allclose(plants[1].q, plants[0].q - 0.5 * STEP * plants[0].v, atol=1e-4)
    np.testing.assert_allclose(plants[1].v, plants[0].v, atol=1e-3)


ROD = f"""<robot name="rod"><link name="base"/><link name="rod"><inertial><mass value="1"/>
<inertia ixx="{LINK}" iyy="{LINK}" izz="{LINK}" ixy="0" ixz="0" iyz="0"/></inertial></link>
<joint name="axle" type="revolute"><parent link="base"/><child link="rod"/><axis xyz="0 0 1"/>
<limit lower="-1" upper="1" effort="1e4" velocity="1e3"/></joint></robot>"""


def coast(plant, steps):
    """Without drive: the greatest stored energy above that at the start, and the least loss at stops in a step [J]."""
    none, start, gained, lost = np.zeros(plant.robot.n), plant.energy, 0.0, [plant.energy.stop_loss]
    for _ in range(steps):
        plant.advance(Drive(none, none, none))
        now = plant.energy
        gained = max(gained, now.kinetic + now.potential + now.elastic
                     - start.kinetic - start.potential - start.elastic)
        lost.append(now.stop_loss)
    return gained, np.diff(lost).min()


@given(stiffness=st.floats(2.0, 7.0), motor=st.floats(-2.0, 0.0), speed=st.floats(1.0, 500.0),
       backlash=st.sampled_from([0.0, 1e-3]), step=st.sampled_from([2e-4, 1e-3, 5e-3]))
@example(stiffness=6.0, motor=-0.3, speed=200.0, backlash=0.0, step=1e-3)
@settings(max_examples=2, deadline=None)
def test_a_spring_that_runs_into_a_stop_gains_no_energy(stiffness, motor, speed, backlash, step):
    plant = Plant(Robot.from_urdf_text(ROD), step, actuators=sources(1, 10.0**stiffness, 0.0, backlash, 10.0**motor),
                  friction=free(1), compiled=False)
    plant.set_state([0.3], [speed])
    start = plant.energy.kinetic
    gained, least = coast(plant, 25)
    assert gained <= 1e-9 * start and least >= -1e-9 * start
    assert plant.energy.stop_loss > 0.0 or 25 * step * speed < 1.5  # 0.7 rad to the stop


@pytest.mark.parametrize("step", few([2e-4, 1e-3, 5e-3], (1e-3,)))
def test_an_arm_with_springs_gains_no_energy_at_any_speed(step):
    """arm6 against its stops, its steps whole and divided."""
    robot, rng = Robot.from_urdf(robot_file("arm6")), np.random.default_rng(0)
    actuators = sources(6, 10.0 ** rng.uniform(3.0, 6.0, 6), inertia=10.0 ** rng.uniform(-2.0, 0.0, 6),
                        backlash=np.array([0.0, 1e-3] * 3))
    plant = Plant(robot, step, actuators=actuators, friction=free(6))
    for speed in (20.0, 200.0, 500.0):
        plant.reset()
        plant.set_state(plant.q, speed * rng.uniform(-1.0, 1.0, 6))
        start = plant.energy.kinetic
        gained, least = coast(plant, round(0.2 / step))
        assert gained < 0.05 * start and least >= -1e-9 * start


def test_a_motor_without_load_begins_in_the_middle_of_its_backlash():
    """Whatever sign the rounding error of its load has; a loaded one begins on a face."""
    robot = Robot.from_urdf(robot_file("arm7"))
    actuators = HardwareSettings.named("hardware_elastic_arm7").joint_actuators(robot.model)
    model = PlantModel.from_description(robot.model, STEP, actuators)
    q = np.array([0.1, -0.2, 0.3, -1.1, 0.2, 1.1, -0.3])
    apart = np.array([model.motors_at(q + k * 1e-15, np.zeros(7)).q - q for k in range(20)])
    np.testing.assert_allclose(apart[:, 0], 0.0, atol=1e-13)
    assert (np.abs(apart[:, 1]) > 0.5 * actuators.transmission.backlash[1]).all()
    np.testing.assert_allclose(apart, apart[:1] + np.zeros((20, 1)), atol=1e-13)


@pytest.mark.parametrize("integrator", few(["runge_kutta", "adaptive"], 1))
def test_other_integrators_agree(integrator):
    """In a fine step, the motion is the same, and with it its energies."""
    options = {"actuators": sources(2, 5e3, 5.0, 1e-3), "friction": Friction(np.full(2, 0.1), np.zeros(2))}
    robot, ends = Robot.named("planar_2r"), []
    for method, step in (("semi_implicit_euler", 2e-5), (integrator, 5e-4)):  # of order 1 against order 4 and more
        plant = Plant(robot, step, [0.3, 0.5], integrator=method, **options)
        run(plant, [1.0, 0.5], round(0.05 / step))
        end = plant.energy
        ends.append([*plant.q, *plant.motor_side.motor_q, *(0.1 * plant.v), 0.1 * end.kinetic,
                     0.1 * end.drive_work])
    np.testing.assert_allclose(ends[0], ends[1], atol=3e-4)


def test_explicit_methods_refuse_springs_that_are_too_fast_for_the_step():
    with pytest.raises(InputError, match=r"integrator explicit_euler: expected rigid joints.*axle"):
        wheel(1e4, integrator="explicit_euler")
    with pytest.raises(InputError, match=r"runge_kutta: expected steps of at most 0.000105 s for the spring of joint "
                                         r"'axle', which swings at 4211 Hz, received 0.001 s"):
        wheel(1e8, integrator="runge_kutta")


def test_batches_and_varied_quantities_are_each_robot_on_its_own():
    robot, names = Robot.named("planar_2r"), ("transmission.stiffness", "transmission.damping", "transmission.backlash")
    model = PlantModel.from_description(robot.model, STEP, sources(2, 2e4, 3.0, 1e-3), free(2))
    program = step_program(model, names, under_efforts=True)
    procedure = compile_procedure(program.variables, [Repeat("steps", program.statements)], program.inputs, ("state",))
    rng = np.random.default_rng(0)
    values = {names[0]: rng.uniform(1e4, 1e5, (5, 2)), names[1]: rng.uniform(0.0, 9.0, (5, 2)),
              names[2]: rng.choice([1e-4, 1e-3, 5e-3], (5, 2))}
    start, effort = model.state([0.3, 0.5], [0.0, 0.0]), rng.normal(size=(5, 2))
    batch = procedure.batch(state=start, steps=60, **{"command.effort": effort}, **values)["state"]
    for k in range(5):
        own = replace(model, actuators=replace(model.actuators, transmission=replace(model.actuators.transmission,
                                                                                     stiffness=values[names[0]][k],
                                                                                     spring_damping=values[names[1]][k],
                                                                                     backlash=values[names[2]][k])))
        single = step_program(own, under_efforts=True)
        alone = compile_procedure(single.variables, [Repeat("steps", single.statements)], single.inputs, ("state",))
        found = alone(state=start, steps=60, **{"command.effort": effort[k]})["state"]
        np.testing.assert_allclose(batch.q[k], found.q, atol=1e-6)
        np.testing.assert_allclose(batch.motor_side.v[k], found.motor_side.v, atol=1e-4)


@pytest.mark.parametrize("field", few([name for name in declared(TransmissionSettings) if name != "encoder"], 2))
def test_each_figure_of_a_transmission_is_a_varied_quantity(field):
    """A program that takes it as an input moves as one that has it built in, and not as with another value."""
    robot, name, none = Robot.named("planar_2r"), f"transmission.{field}", np.zeros(2)
    model = PlantModel.from_description(robot.model, STEP, sources(2, 3e3, 3.0, 2e-3), free(2))
    program = step_program(model, (name,), under_efforts=True)
    procedure = compile_procedure(program.variables, [Repeat("steps", program.statements)], program.inputs, ("state",))
    start, ends = model.state([0.3, 0.5], none), []
    for factor in (1.0, 1.5):
        own = varied_plant(model, {name: factor * QUANTITIES[name].nominal_value(model)})
        single = step_program(own, under_efforts=True)
        alone = compile_procedure(single.variables, [Repeat("steps", single.statements)], single.inputs, ("state",))
        found, expected = (each(state=start, steps=100, **{"command.effort": none}, **values)["state"] for each, values
                           in ((procedure, {name: factor * QUANTITIES[name].nominal_value(model)}), (alone, {})))
        np.testing.assert_allclose(found.q, expected.q, atol=1e-9)
        ends.append(found.q)
    assert np.abs(ends[1] - ends[0]).max() > 1e-7


def test_backlash_can_be_varied_where_there_is_none():
    """Also friction of coupled motors, which adds modes to the problem as backlash does."""
    robot, none = Robot.named("planar_2r"), np.zeros(2)
    stiff = PlantModel.from_description(robot.model, STEP, sources(2, 3e3, 3.0, 0.0), free(2))
    motor = DCMotor([0.5, 0.5], [0.1, 0.1], [1e-4, 1e-4])
    coupled = PlantModel.from_description(robot.model, STEP, JointActuators(
        Actuators(motor, GearTrain([50.0, 50.0], np.array([[1.0, 0.4], [-0.3, 1.0]])))), free(2))
    for model, name, value in ((stiff, "transmission.backlash", 2e-3), (coupled, "motor.friction", 0.01)):
        program = step_program(model, (name,), under_efforts=True)
        procedure = compile_procedure(program.variables, [Repeat("steps", program.statements)], program.inputs,
                                      ("state",))
        own = step_program(varied_plant(model, {name: np.full(2, value)}), under_efforts=True)
        alone = compile_procedure(own.variables, [Repeat("steps", own.statements)], own.inputs, ("state",))
        start, command = model.state([0.3, 0.5], none), {"command.effort": none, "steps": 50}
        found, expected = procedure(state=start, **command, **{name: np.full(2, value)}), alone(state=start, **command)
        np.testing.assert_allclose(found["state"].q, expected["state"].q, atol=1e-9)
        assert np.abs(found["state"].q - procedure(state=start, **command, **{name: none})["state"].q).max() > 1e-9


def inertial_xml(inertia):
    tensor = inertia.rotational + 1e-9 * np.eye(3)  # MuJoCo takes no rods
    values = " ".join(map(str, (*np.diag(tensor), tensor[0, 1], tensor[0, 2], tensor[1, 2])))
    return f"""<inertial pos="{' '.join(map(str, inertia.com))}" mass="{inertia.mass}" fullinertia="{values}"/>"""


@pytest.mark.parametrize("damping", [0.0, 4.0])
def test_mujoco_with_two_hinges_a_joint_agrees(damping):
    """In the chain motor, spring, link of MuJoCo the second hinge is the deflection, as in [Spong]."""
    mujoco = pytest.importorskip("mujoco")
    step, stiffness, inertia = 1e-4, 3000.0, 0.15
    robot = Robot.named("planar_2r")
    model = robot.model
    arm = ""
    for joint in reversed(model.joints):
        pose = joint.pose_parent_link
        place, axis, turn = (" ".join(map(str, values)) for values in (
            pose[:3, 3], joint.axis, Rotation.from_matrix(pose[:3, :3]).as_quat(scalar_first=True)))
        body = inertial_xml(joint.inertia)
        arm = f"""<body pos="{place}" quat="{turn}"><inertial pos="0 0 0" mass="1e-9" diaginertia="1e-12 1e-12 1e-12"/>
        <joint name="{joint.name}_motor" axis="{axis}" armature="{inertia}"/>
        <body>{body}<joint name="{joint.name}_spring" axis="{axis}" stiffness="{stiffness}" damping="{damping}"/>
        {arm}</body></body>"""
    gravity = " ".join(map(str, model.gravity))
    peer = mujoco.MjModel.from_xml_string(f"""<mujoco><compiler angle="radian" balanceinertia="true"/>
    <option timestep="{step}" integrator="RK4" gravity="{gravity}"><flag contact="disable"/></option>
    <worldbody>{arm}</worldbody></mujoco>""")
    data = mujoco.MjData(peer)
    plant = Plant(robot, step, [0.3, 0.5], actuators=sources(2, stiffness, damping, inertia=inertia), friction=free(2))
    readings = plant.motor_side
    for j in range(2):
        data.qpos[2 * j], data.qpos[2 * j + 1] = readings.motor_q[j], plant.q[j] - readings.motor_q[j]
    effort = np.array([3.0, -1.0])
    data.qfrc_applied[[0, 2]] = effort
    found = [each.motor_q for each, _ in run(plant, effort, 1500)]
    expected = []
    for _ in range(1500):
        mujoco.mj_step(peer, data)
        expected.append(data.qpos[[0, 2]].copy())
    np.testing.assert_allclose(found, expected, atol=2e-4)
    np.testing.assert_allclose(plant.q, data.qpos[[0, 2]] + data.qpos[[1, 3]], atol=2e-4)


@pytest.mark.parametrize(("damping", "backlash"), few([(4.0, 0.0), (0.0, 5e-3), (0.0, 0.0)], 2))
@pytest.mark.parametrize("integrator", few(["semi_implicit_euler", "runge_kutta"], 1))
def test_the_engine_mujoco_agrees(damping, backlash, integrator):
    """Its springs are tendons, with a dead band as wide as the backlash, to motors that turn beside the robot."""
    pytest.importorskip("mujoco")
    robot, step = Robot.named("planar_2r"), 1e-4
    springs = sources(2, 3e3, damping, backlash, 0.15, motor_encoder=np.array([True, False]))
    options = {"actuators": springs, "friction": Friction(np.full(2, 0.2), np.full(2, 0.1))}
    plants = [Plant(robot, step, [0.3, 0.5], **options),
              MujocoPlant(robot, step, [0.3, 0.5], integrator=integrator, **options)]
    np.testing.assert_allclose(plants[1].joint_inertia(), plants[0].joint_inertia(), rtol=1e-6)
    start = [plant.energy for plant in plants]
    found = [run(plant, [3.0, -1.0], 800) for plant in plants]
    for name in ("motor_q", "motor_v", "joint_torque"):
        ours, theirs = (np.array([getattr(readings, name) for readings, _ in each]) for each in found)
        np.testing.assert_allclose(ours, theirs, atol=0.02 * np.abs(ours).max())
    for plant, begin in zip(plants, start, strict=True):
        end = plant.energy
        stored = [each.kinetic + each.potential + each.elastic for each in (begin, end)]
        gained = end.drive_work + end.external_work - end.viscous_loss - end.friction_loss - end.stop_loss
        assert stored[1] - stored[0] == pytest.approx(gained, abs=0.03 * abs(end.drive_work))
    np.testing.assert_allclose(plants[1].encoder_motion[0], [found[1][-1][0].motor_q[0], plants[1].q[1]])


def test_a_brake_of_the_engine_mujoco_holds_the_motor_of_an_elastic_joint():
    pytest.importorskip("mujoco")
    plant = MujocoPlant(Robot.named("planar_2r"), 2e-4, [0.3, 0.5], actuators=sources(2, 3e3, 4.0), friction=free(2))
    motors, none = plant.motor_side[0], np.zeros(2)
    plant.set_wrench("link2", [0.0, 0.0, 20.0, 0.0, 0.0, 0.0])
    plant.advance(Drive(none, none, np.full(2, np.inf)), 2000)
    np.testing.assert_allclose(plant.motor_side[0], motors, atol=1e-4)
    assert np.abs(plant.q - motors).max() > 2e-3  # the springs bend behind it


def test_the_engine_mujoco_says_which_step_a_spring_needs():
    pytest.importorskip("mujoco")
    with pytest.raises(InputError, match="engine mujoco: expected steps of at most .* s for the spring of joint "
                                         "'joint2', which swings at .* Hz, received 0.001 s; use engine robodyn"):
        MujocoPlant(Robot.named("planar_2r"), actuators=sources(2, 1e7), friction=free(2))


YAML = {"joints": {"joint1": {"transmission": {"stiffness": 1e4, "damping": 5.0, "backlash": 1e-3, "inertia": 0.2,
                                               "encoder": "motor"}}}}


def changed(**values):
    given = YAML["joints"]["joint1"]["transmission"] | values
    return {"joints": {"joint1": {"transmission": {key: value for key, value in given.items() if value is not None}}}}


def test_settings_declare_springs_and_sides_of_encoders():
    robot = Robot.named("planar_2r")
    actuators = HardwareSettings.from_mapping(YAML).joint_actuators(robot.model)
    assert actuators.is_elastic.tolist() == [True, False]
    plant = Plant(robot, STEP, [0.3, 0.5], actuators=actuators)
    motor = plant.motor_side.motor_q
    assert motor[0] > 0.3 and motor[1] == 0.5
    np.testing.assert_array_equal(plant.encoder_motion[0], motor)
    on_links = Plant(robot, STEP, [0.3, 0.5], actuators=HardwareSettings.from_mapping(
        changed(encoder="link")).joint_actuators(robot.model))
    np.testing.assert_array_equal(on_links.encoder_motion[0], on_links.q)


@pytest.mark.parametrize(("values", "message"), [
    ({"stiffness": 0.0}, "transmission: stiffness: expected a finite number above 0"),
    ({"stiffness": -5.0}, "transmission: stiffness: expected a finite number above 0"),
    ({"stiffness": None}, "transmission: .*stiffness"),
    ({"damping": -1.0}, "transmission: damping: expected"),
    ({"backlash": float("nan")}, "transmission: backlash: expected"),
    ({"encoder": "both"}, "transmission: encoder: expected one of 'link', 'motor'"),
    ({"inertia": 0.0}, "transmission: inertia: expected a finite number above 0"),
    ({"inertia": None}, "transmission: expected an inertia behind the spring, received none; give it an actuator"),
    ({"stifness": 3.0}, "stifness.*stiffness"),
])
def test_bad_settings_say_what_is_wrong(values, message):
    with pytest.raises(InputError, match=message):
        HardwareSettings.from_mapping(changed(**values)).joint_actuators(Robot.named("planar_2r").model)


MOTOR_DATA = {"nominal_voltage": 24.0, "resistance": 1.0, "torque_constant": 0.05, "rotor_inertia": 0.0}


@pytest.mark.parametrize(("inertia", "message"), [
    (None, "transmission: expected a motor with a rotor inertia behind the spring, received 0; give the motor its "),
    (0.2, "transmission: inertia: expected none beside an actuator, whose motor has a rotor, received 0.2"),
])
def test_a_motor_behind_a_spring_needs_a_rotor(inertia, message):
    section = changed(inertia=inertia)
    section["joints"]["joint1"]["actuator"] = {"motor": MOTOR_DATA, "gear_ratio": 100.0}
    with pytest.raises(InputError, match=message):
        HardwareSettings.from_mapping(section).joint_actuators(Robot.named("planar_2r").model)
