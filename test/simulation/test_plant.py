# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""The plant: energy, stops, sticking friction, efforts, states, and what happens when it diverges."""

from dataclasses import replace

import numpy as np
import pytest
from shipped import few

from robodyn_ros import InputError, Robot
from robodyn_ros.actuation import Actuators, DCMotor, GearTrain, JointActuators
from robodyn_ros.actuation.winding_heat import WindingHeat
from robodyn_ros.base.errors import SimulationError
from robodyn_ros.description.model import Limits
from robodyn_ros.description.resources import robot_file, shipped_robots
from robodyn_ros.simulation.commands import Drive
from robodyn_ros.simulation.integrator import Integrator
from robodyn_ros.simulation.plant import Plant, default_position

PENDULUM = """<robot name="pendulum"><link name="base"/><link name="arm"><inertial><origin xyz="0.5 0 0"/>
<mass value="2"/><inertia ixx="0.01" iyy="0.1" izz="0.1" ixy="0" ixz="0" iyz="0"/></inertial></link>
<joint name="hinge" type="{kind}"><parent link="base"/><child link="arm"/><axis xyz="0 -1 0"/>
<limit lower="{lower}" upper="{upper}" effort="{effort}" velocity="50"/>
<dynamics damping="{damping}" friction="{friction}"/></joint></robot>"""
INERTIA, WEIGHT = 0.1 + 2 * 0.5**2, 2 * 9.81 * 0.5  # about the hinge; moment when horizontal (q = 0)


def pendulum(lower=-3.0, upper=3.0, effort=100.0, damping=0.0, friction=0.0, kind="revolute", **options):
    urdf = PENDULUM.format(lower=lower, upper=upper, effort=effort, damping=damping, friction=friction, kind=kind)
    if kind == "continuous":
        urdf = urdf.replace(f'lower="{lower}" upper="{upper}" ', "")
    return Robot.from_urdf_text(urdf, **options)


def drive(*effort, brake=0.0, damping=0.0):
    n = len(effort)
    return Drive(np.array(effort), np.full(n, damping), np.full(n, brake))


def energy(robot, q, v):
    """Kinetic and potential energy [J]."""
    dynamics = robot.dynamics()
    potential = 0.0
    for joint in robot.model.joints:
        pose = dynamics.forward_kinematics(q, joint.link)
        potential -= joint.inertia.mass * robot.model.gravity @ (pose @ [*joint.inertia.com, 1.0])[:3]
    return 0.5 * v @ dynamics.mass_matrix(q) @ v + potential


def without_losses(robot):
    return Robot(replace(robot.model, joints=tuple(
        replace(joint, damping=0.0, friction=0.0, limits=Limits()) for joint in robot.model.joints)))


@pytest.mark.parametrize("name", few(shipped_robots()))
def test_free_swing_conserves_energy_to_first_order(name):
    robot = without_losses(Robot.from_urdf(robot_file(name)))
    start = np.random.default_rng(3).uniform(-0.8, 0.8, robot.n)
    errors = []
    for step in (4e-4, 2e-4, 1e-4):
        plant = Plant(robot, step, start)
        at_start, worst = energy(robot, plant.q, plant.v), 0.0
        for _ in range(30):
            plant.advance(drive(*np.zeros(robot.n)), round(0.01 / step))
            worst = max(worst, abs(energy(robot, plant.q, plant.v) - at_start))
        errors.append(worst)
    kinetic = 0.5 * plant.v @ robot.dynamics().mass_matrix(plant.q) @ plant.v
    assert errors[-1] < 0.01 * kinetic
    orders = np.log2(np.array(errors[:-1]) / errors[1:])
    np.testing.assert_allclose(orders, 1.0, atol=0.15)


@pytest.mark.parametrize("name", few(shipped_robots()))
def test_compiled_plant_is_the_textbook_plant(name):
    robot = Robot.from_urdf(robot_file(name))
    effort = 5.0 * np.random.default_rng(1).normal(size=robot.n)
    compiled, textbook = Plant(robot), Plant(robot, compiled=False)
    for plant in (compiled, textbook):
        plant.advance(Drive(effort, np.full(robot.n, 0.5), np.full(robot.n, 0.1)), 20)
    np.testing.assert_allclose(compiled.q, textbook.q, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(compiled.v, textbook.v, rtol=1e-9, atol=1e-11)


def test_pendulum_falls_as_computed_by_hand():
    plant = Plant(pendulum(), 1e-5)
    plant.advance(drive(0.0), 1000)
    assert plant.time == pytest.approx(0.01)
    assert plant.v[0] == pytest.approx(-WEIGHT / INERTIA * 0.01, rel=1e-3)


def test_stop_is_inelastic_and_holds():
    robot = pendulum(lower=-0.3, upper=0.3)
    plant = Plant(robot)
    before = energy(robot, plant.q, plant.v)
    for _ in range(500):
        plant.advance(drive(0.0))
        assert plant.q[0] >= -0.3
        after = energy(robot, plant.q, plant.v)
        assert after <= before + 0.01  # falling: the integrator's error; at the stop: energy is only taken
        before = after
    assert plant.q[0] == -0.3
    assert plant.v[0] == 0.0
    plant.advance(drive(2 * WEIGHT), 10)
    assert plant.q[0] > -0.3


@pytest.mark.parametrize("name", few(shipped_robots()))
def test_thrown_at_all_stops_positions_stay_within(name):
    robot = Robot.from_urdf(robot_file(name))
    plant = Plant(robot, 1e-3)
    lower, upper = robot.model.position_lower, robot.model.position_upper
    efforts = np.minimum(robot.model.effort_limit, 50.0)
    for sign in (1.0, -1.0):
        for _ in range(60):
            plant.advance(drive(*(sign * efforts)), 10)
            assert ((lower <= plant.q) & (plant.q <= upper)).all()


def test_friction_sticks_below_breakaway_and_slides_above():
    robot = pendulum(friction=WEIGHT * 1.01)
    plant = Plant(robot)
    plant.advance(drive(0.0), 2000)
    assert plant.q[0] == 0.0  # not the least creep
    plant.advance(drive(0.5 * WEIGHT), 2000)
    assert plant.q[0] == 0.0
    plant.advance(drive(2.5 * WEIGHT), 1)
    assert plant.v[0] == pytest.approx((2.5 - 1.0 - 1.01) * WEIGHT / INERTIA * 1e-3, rel=1e-9)


def test_sliding_friction_stops_in_the_time_computed_by_hand():
    robot = pendulum(effort=9.0, friction=1.5, kind="continuous", gravity=(0, 0, 0))
    plant = Plant(robot)
    plant.set_state(v=[1.0])
    until_rest = INERTIA / 1.5  # of speed 1
    plant.advance(drive(0.0), round(0.9 * until_rest / plant.step))
    assert plant.v[0] == pytest.approx(0.1, abs=0.01)
    plant.advance(drive(0.0), round(0.2 * until_rest / plant.step))
    assert plant.v[0] == 0.0
    assert plant.q[0] == pytest.approx(0.5 * until_rest, abs=1e-3)


def test_endless_brake_holds_and_finite_one_yields():
    plant = Plant(pendulum())
    plant.advance(drive(0.0, brake=np.inf), 100)
    assert plant.q[0] == 0.0
    plant.advance(drive(0.0, brake=0.5 * WEIGHT), 100)
    assert plant.q[0] < 0.0


@pytest.mark.parametrize("damping", [1.0, 1e6])
def test_viscous_damping_is_stable_and_reaches_terminal_speed(damping):
    plant = Plant(pendulum(damping=damping))
    plant.advance(drive(0.0), 3 if damping > 1e3 else 1)
    assert plant.v[0] == pytest.approx(-WEIGHT * min(1e-3 / INERTIA, 1 / damping), rel=1e-2)


def test_effort_is_cut_off_at_the_limit_and_reported():
    plant = Plant(pendulum(effort=3.0))
    plant.advance(drive(1000.0))
    assert plant.effort[0] == 3.0
    assert plant.v[0] == pytest.approx((3.0 - WEIGHT) / INERTIA * 1e-3)
    plant.advance(drive(0.0, damping=2.0))
    assert plant.effort[0] == -2.0 * plant.v[0]


@pytest.mark.parametrize("integrator", few(list(Integrator), 2))
@pytest.mark.parametrize("compiled", [True, False])
def test_damping_by_the_drives_keeps_to_the_effort_limits_and_only_takes_energy(integrator, compiled):
    """A joint at 10 rad/s would be braked with 300 N m; the limit makes that a steady 3 N m."""
    robot = pendulum(effort=3.0, kind="continuous", gravity=(0.0, 0.0, 0.0))
    plant, braking = Plant(robot, compiled=compiled, integrator=integrator), drive(0.0, damping=30.0)
    plant.set_state([0.0], [10.0])
    kinetic = plant.energy.kinetic
    for _ in range(3):
        plant.advance(braking, 10)
        assert plant.effort[0] == pytest.approx(-3.0, rel=1e-12)
    assert plant.v[0] == pytest.approx(10.0 - 3.0 / INERTIA * 0.03, rel=1e-4)
    assert plant.energy.viscous_loss == pytest.approx(kinetic - plant.energy.kinetic, rel=1e-3)
    plant.set_state([0.0], [-0.09])
    plant.advance(braking)
    assert plant.effort[0] == -30.0 * plant.v[0] and plant.effort[0] < 3.0


def test_an_arm_that_is_braked_at_speed_needs_no_more_than_its_efforts_and_gains_no_energy():
    robot = Robot.from_urdf(robot_file("arm6"))
    plant, limit = Plant(robot), robot.model.effort_limit
    chance = np.random.default_rng(4)
    for _ in range(5):
        plant.set_state(chance.uniform(-1.0, 1.0, 6), chance.uniform(-15.0, 15.0, 6))
        before = energy(robot, plant.q, plant.v)
        for _ in range(100):
            plant.advance(Drive(np.zeros(6), plant.joint_inertia() / 0.05, np.zeros(6)))
            after = energy(robot, plant.q, plant.v)
            assert (np.abs(plant.effort) <= limit * (1 + 1e-12)).all()
            assert after < before + 1e-3 * abs(before)
            before = after


def test_wrench_on_the_tip_acts_through_the_jacobian():
    robot = Robot.from_urdf(robot_file("arm6"))
    q = np.full(robot.n, 0.3)
    wrench = np.array([10.0, -20.0, 30.0, 1.0, 2.0, 3.0])
    pushed = Plant(robot, position=q)
    pushed.set_wrench_tip(wrench)
    pushed.advance(drive(*np.zeros(robot.n)))
    acceleration = robot.dynamics().forward_dynamics(q, np.zeros(robot.n), np.zeros(robot.n), wrench)
    np.testing.assert_allclose(pushed.v, 1e-3 * acceleration, rtol=1e-9)
    pushed.set_wrench_tip(np.zeros(6))
    free = Plant(robot, position=q)
    pushed.reset()
    for plant in (pushed, free):
        plant.advance(drive(*np.zeros(robot.n)))
    np.testing.assert_array_equal(pushed.q, free.q)


def test_wrench_on_any_link_and_on_several():
    robot = Robot.from_urdf(robot_file("arm6"))
    q, link = np.full(robot.n, 0.3), robot.model.joints[2].link
    first, second = np.array([10.0, -20.0, 30.0, 1.0, 2.0, 3.0]), np.array([0.0, 5.0, -7.0, 0.5, 0.0, 0.0])
    plant = Plant(robot, position=q)
    plant.set_wrench(link, first)
    plant.set_wrench("tool0", second)
    plant.advance(drive(*np.zeros(robot.n)))
    dynamics = robot.dynamics()
    effort = dynamics.jacobian(q, link).T @ first + dynamics.jacobian(q, "tool0").T @ second
    np.testing.assert_allclose(plant.v, 1e-3 * dynamics.forward_dynamics(q, np.zeros(robot.n), effort), rtol=1e-9)
    assert plant.energy.external_work > 0.0
    with pytest.raises(InputError, match="has no link 'tool1': did you mean 'tool0'"):
        plant.set_wrench("tool1", first)
    with pytest.raises(InputError, match="wrench on 'tool0': expected finite numbers"):
        plant.set_wrench("tool0", np.full(6, np.nan))


def test_voltage_needs_a_motor():
    plant = Plant(pendulum())
    none = np.zeros(1)
    with pytest.raises(InputError, match="voltage of 'pendulum': expected for joints with motors, received for hinge"):
        plant.advance(Drive(none, none, none, np.array([5.0]), np.array([1.0])))
    plant.advance(drive(0.0))


def test_temperature_survives_a_new_state_and_energies_begin_anew():
    motor = Actuators(DCMotor(0.5, 0.06, 2e-5, 1e-3), GearTrain(50.0))
    plant = Plant(pendulum(), actuators=JointActuators(motor, winding=WindingHeat(thermal_resistance=3.0,
                                                                                  thermal_time_constant=10.0)))
    plant.advance(drive(20.0), 100)
    hot = plant.actuator_state.temperature[0]
    assert hot > 25.5 and plant.energy.winding_heat > 0.0 and plant.energy.magnetic > 0.0
    plant.set_state([0.5], [1.0])
    assert plant.actuator_state.temperature[0] == hot and plant.actuator_state.current[0] == 0.0
    assert plant.energy.winding_heat == 0.0 and plant.energy.magnetic == 0.0
    assert plant.energy.kinetic == pytest.approx(0.5 * (INERTIA + 2500 * 2e-5))
    assert plant.joint_inertia()[0] == pytest.approx(INERTIA + 2500 * 2e-5)
    plant.reset()
    assert plant.actuator_state.temperature[0] == 25.0


def test_states_are_never_altered_only_replaced():
    plant = Plant(pendulum())
    q, effort = plant.q, plant.effort
    before = q.copy(), effort.copy()
    plant.advance(drive(30.0), 5)
    np.testing.assert_array_equal(q, before[0])
    np.testing.assert_array_equal(effort, before[1])
    assert plant.q[0] != q[0]


def test_reset_and_set_state():
    plant = Plant(pendulum(), position=[0.2])
    plant.advance(drive(0.0), 50)
    assert plant.steps == 50
    plant.reset()
    assert (plant.q[0], plant.v[0], plant.steps) == (0.2, 0.0, 50)
    plant.set_state([0.5], [1.5])
    assert (plant.q[0], plant.v[0]) == (0.5, 1.5)
    plant.set_state(v=[2.0])
    assert (plant.q[0], plant.v[0]) == (0.5, 2.0)


@pytest.mark.parametrize(("q", "v", "message"), [
    ([0.1, 0.2], None, r"positions of 'pendulum': expected an array of shape \(1,\), received shape \(2,\)"),
    ([np.nan], None, "positions of 'pendulum': expected finite numbers, received"),
    ([3.5], None, "position of joint 'hinge': expected -3 to 3, its limits, received 3.5"),
    (None, [np.inf], "velocities: expected finite"),
])
def test_bad_states_are_refused_and_change_nothing(q, v, message):
    plant = Plant(pendulum())
    plant.set_state([0.1], [0.2])
    with pytest.raises(InputError, match=message):
        plant.set_state(q, v)
    assert (plant.q[0], plant.v[0]) == (0.1, 0.2)


def test_wrong_number_of_efforts_is_refused():
    none = np.zeros(1)
    with pytest.raises(InputError, match="plant: effort: expected 1 numbers, received"):
        Plant(pendulum()).advance(Drive(np.zeros(2), none, none))


@pytest.mark.parametrize("step", [0.0, -1e-3, np.inf, np.nan])
def test_bad_step_is_refused(step):
    with pytest.raises(InputError, match="step of the plant: expected a finite number above 0 .s."):
        Plant(pendulum(), step)


@pytest.mark.parametrize("compiled", few([True, False], 1))
@pytest.mark.parametrize("integrator", ["semi_implicit_euler", "explicit_euler", "runge_kutta", "adaptive"])
def test_divergence_of_motors_is_reported_by_every_method(compiled, integrator):
    motors = JointActuators(Actuators(DCMotor([1.0, 1.0], 0.05, 1e-5, 2e-3), GearTrain(50.0)))
    plant = Plant(Robot.from_urdf(robot_file("planar_2r")), compiled=compiled, actuators=motors, integrator=integrator)
    plant.set_state([0.5, 0.5], [1e160, -1e160])
    with np.errstate(all="ignore"), pytest.raises(SimulationError, match="diverge"):
        plant.advance(drive(0.0, 0.0), 3)
    assert plant.q.tolist() == [0.5, 0.5] and plant.v[0] == 1e160
    plant.reset()
    plant.advance(drive(0.0, 0.0), 3)
    assert np.isfinite(plant.q).all()


def test_divergence_is_reported_and_the_last_good_state_kept():
    plant = Plant(Robot.from_urdf(robot_file("planar_2r")))
    plant.set_state([0.5, 0.5], [1e160, -1e160])
    with pytest.raises(SimulationError, match="the simulation of 'planar_2r' diverged at 0 s"):
        plant.advance(drive(0.0, 0.0))
    assert plant.q.tolist() == [0.5, 0.5]
    assert plant.steps == 0
    plant.reset()
    plant.advance(drive(0.0, 0.0), 10)
    assert np.isfinite(plant.q).all()


def test_default_position_is_zero_or_the_middle():
    assert default_position(pendulum(-1.0, 2.0)).tolist() == [0.0]
    assert default_position(pendulum(1.0, 2.0)).tolist() == [1.5]
    assert default_position(pendulum(-2.0, -1.0)).tolist() == [-1.5]
    assert default_position(pendulum(kind="continuous")).tolist() == [0.0]


def test_a_plant_goes_on_where_another_one_was():
    """With the same payload, as if nothing had happened: currents, temperatures, friction that holds, time."""
    robot = Robot.from_urdf(robot_file("planar_2r"))
    motors = JointActuators(Actuators(DCMotor(0.4, 0.1, 1e-4, inductance=1e-4), GearTrain([50.0, 50.0])),
                            winding=WindingHeat(thermal_resistance=3.0, thermal_time_constant=20.0))
    none = np.zeros(2)
    by_voltage = Drive(none, none, none, np.array([20.0, 10.0]), np.ones(2))
    first, second = (Plant(robot, actuators=motors) for _ in range(2))
    first.advance(by_voltage, 50)
    second.advance(by_voltage, 10)
    second.continue_from(first)
    assert second.time == first.time
    assert second.energy.drive_work == 0.0 < first.energy.drive_work
    for plant in (first, second):
        plant.advance(by_voltage, 50)
    assert second.q.tolist() == first.q.tolist()
    for name, ours, theirs in zip(first.actuator_state._fields, second.actuator_state, first.actuator_state,
                                  strict=True):
        assert ours.tolist() == theirs.tolist(), name
