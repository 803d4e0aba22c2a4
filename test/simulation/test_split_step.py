# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Other methods: their order, and that friction and stops are exact with them, too."""

import numpy as np
import pytest
from shipped import few

from robodyn_ros import Robot
from robodyn_ros.actuation import Actuators, DCMotor, Friction, GearTrain, JointActuators
from robodyn_ros.description.resources import robot_file
from robodyn_ros.simulation.commands import Drive
from robodyn_ros.simulation.integrator import Integrator
from robodyn_ros.simulation.plant import Plant
from robodyn_ros.textbook.state_space import euler_integration

FIXED_STEP = [Integrator.SEMI_IMPLICIT_EULER, Integrator.EXPLICIT_EULER, Integrator.RUNGE_KUTTA]
PENDULUM = """<robot name="pendulum"><link name="base"/><link name="arm"><inertial><origin xyz="0.5 0 0"/>
<mass value="2"/><inertia ixx="0.01" iyy="0.1" izz="0.1" ixy="0" ixz="0" iyz="0"/></inertial></link>
<joint name="hinge" type="revolute"><parent link="base"/><child link="arm"/><axis xyz="0 -1 0"/>
<limit lower="{lower}" upper="{upper}" effort="100" velocity="50"/></joint></robot>"""
INERTIA, WEIGHT = 0.1 + 2 * 0.5**2, 2 * 9.81 * 0.5  # about the hinge; moment when horizontal (q = 0)


def pendulum(lower=-3.0, upper=3.0):
    return Robot.from_urdf_text(PENDULUM.format(lower=lower, upper=upper))


def drive(*effort):
    none = np.zeros(len(effort))
    return Drive(np.array(effort), none, none)


def end(plant, acting, duration):
    plant.advance(acting, round(duration / plant.step))
    return np.concatenate([plant.q, plant.v])


@pytest.mark.parametrize(("integrator", "steps", "order"), few([
    (Integrator.SEMI_IMPLICIT_EULER, (4e-4, 2e-4, 1e-4), 1.0),
    (Integrator.EXPLICIT_EULER, (4e-4, 2e-4, 1e-4), 1.0),
    (Integrator.RUNGE_KUTTA, (4e-3, 2e-3, 1e-3), 4.0),
], 1))
def test_smooth_motion_converges_with_the_order_of_the_method(integrator, steps, order):
    robot = Robot.from_urdf(robot_file("planar_2r"))
    options = {"friction": Friction([0.5, 0.1], 0.0),
               "actuators": JointActuators(Actuators(DCMotor(0.5, 0.06, 2e-5, 0.02), GearTrain([20.0, -30.0])),
                                           is_motor=[False, True])}
    acting = drive(5.0, 0.0)._replace(voltage=np.array([0.0, -6.0]), by_voltage=np.array([0.0, 1.0]))
    exact = end(Plant(robot, 1e-2, [0.4, 0.3], integrator="adaptive", tolerance=1e-12, **options), acting, 0.4)
    errors = [np.abs(end(Plant(robot, step, [0.4, 0.3], integrator=integrator, **options), acting, 0.4) - exact).max()
              for step in steps]
    np.testing.assert_allclose(np.log2(np.array(errors[:-1]) / errors[1:]), order, atol=0.1 * order)


def test_explicit_euler_is_the_books():
    robot = Robot.from_urdf(robot_file("planar_2r"))
    plant = Plant(robot, 1e-3, [0.4, 0.3], integrator="explicit_euler")
    expected = euler_integration(robot.dynamics().forward_dynamics, [0.4, 0.3], [0, 0], np.tile([5.0, 2.0], (50, 1)),
                                 1e-3)
    np.testing.assert_allclose(end(plant, drive(5.0, 2.0), 0.05),
                               np.concatenate([expected.positions[-1], expected.velocities[-1]]), rtol=1e-10)


@pytest.mark.parametrize("integrator", list(Integrator))
def test_joint_below_breakaway_does_not_creep_and_slides_above(integrator):
    """Stribeck: it holds up to F_s, and slides against F_c."""
    friction = Friction(1.0, 0.5 * WEIGHT, 1.01 * WEIGHT, 0.1)
    plant = Plant(pendulum(), 1e-3, friction=friction, integrator=integrator)
    plant.advance(drive(0.0), 300)
    assert plant.q[0] == 0.0 and plant.v[0] == 0.0
    plant.advance(drive(0.9 * WEIGHT), 100)
    assert plant.q[0] == 0.0
    plant.advance(drive(-0.3 * WEIGHT), 100)
    sliding = plant.v[0]
    assert sliding < -0.5
    state = plant.actuator_state
    assert state.friction_effort[0] == pytest.approx(0.5 * WEIGHT - 1.0 * sliding, rel=0.02)


@pytest.mark.parametrize("integrator", FIXED_STEP)
def test_coming_to_rest_does_not_chatter(integrator):
    plant = Plant(pendulum(), 1e-3, friction=Friction(0.0, 1.2 * WEIGHT, 1.5 * WEIGHT, 0.05), integrator=integrator)
    plant.set_state(v=[0.8])
    signs = []
    for _ in range(300):
        plant.advance(drive(0.0))
        signs.append(np.sign(plant.v[0]))
    first_rest = signs.index(0.0)
    assert 0 < first_rest < 250
    assert not any(signs[first_rest:])  # at rest for good, and never backwards before
    assert all(sign == 1.0 for sign in signs[:first_rest])


@pytest.mark.parametrize("integrator", list(Integrator))
def test_stops_are_inelastic_hold_and_let_go(integrator):
    plant = Plant(pendulum(lower=-0.3, upper=0.3), 1e-3, integrator=integrator)
    for _ in range(60):
        plant.advance(drive(0.0), 10)
        assert plant.q[0] >= -0.3
    assert plant.q[0] == -0.3 and plant.v[0] == 0.0
    assert plant.energy.stop_loss == pytest.approx(WEIGHT * np.sin(0.3), rel=0.03)  # all that the fall had gained
    plant.advance(drive(2 * WEIGHT), 20)
    assert plant.q[0] > -0.3 and plant.v[0] > 0.0


@pytest.mark.parametrize("integrator", FIXED_STEP)
def test_stops_and_friction_never_give_energy(integrator):
    """Thrown about between stops: what stops and dry friction take, summed up, only grows."""
    robot = Robot.from_urdf(robot_file("arm6"))
    plant = Plant(robot, 1e-3, integrator=integrator,
                  friction=Friction([2.0, 2.0, 1.0, 0.02, 0.02, 0.01], [0.0, 3.0, 4.0, 1.0, 0.5, 0.1]))
    rng, before = np.random.default_rng(4), plant.energy
    for _ in range(60):
        plant.advance(drive(*(rng.choice([-40.0, 40.0], 6) * [3, 3, 2, 0.5, 0.5, 0.5])), 10)
        after = plant.energy
        slack = 2e-3 * (after.kinetic + 1.0)  # an impulse that turns a joint around works on the mean velocity
        assert after.stop_loss >= before.stop_loss - slack
        assert after.friction_loss >= before.friction_loss - slack
        before = after


def test_brakes_that_always_hold_do_so_with_every_method():
    for integrator in Integrator:
        plant = Plant(pendulum(), 1e-3, integrator=integrator)
        plant.advance(Drive(np.zeros(1), np.zeros(1), np.array([np.inf])), 30)
        assert plant.q[0] == 0.0 and plant.v[0] == 0.0
