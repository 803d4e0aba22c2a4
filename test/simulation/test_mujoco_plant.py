# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""MuJoCo as the engine: free motion, motors, friction, brakes and stops as on our plant; divergence."""

from dataclasses import replace

import numpy as np
import pytest
from shipped import few

from robodyn_ros import InputError, Robot
from robodyn_ros.actuation import Actuators, DCMotor, Friction, GearTrain, JointActuators
from robodyn_ros.actuation.drive_limits import DriveLimits
from robodyn_ros.actuation.drive_losses import DriveLosses
from robodyn_ros.actuation.winding_heat import WindingHeat
from robodyn_ros.base.errors import SimulationError
from robodyn_ros.description.model import Limits
from robodyn_ros.description.resources import robot_file, shipped_robots
from robodyn_ros.simulation.commands import Drive
from robodyn_ros.simulation.plant import Plant

mujoco = pytest.importorskip("mujoco", reason="MuJoCo is not installed: pip install mujoco")
from robodyn_ros.simulation.mujoco_plant import MujocoPlant  # noqa: E402  # after the skip

ARM = """<robot name="arm"><link name="base"/><link name="upper"><inertial><origin xyz="0.25 0 0"/><mass value="2"/>
<inertia ixx="0.01" iyy="0.05" izz="0.05" ixy="0" ixz="0" iyz="0"/></inertial></link>
<joint name="shoulder" type="revolute"><parent link="base"/><child link="upper"/><axis xyz="0 -1 0"/>
<limit lower="-3" upper="3" effort="100" velocity="20"/></joint></robot>"""
WEIGHT = 2.0 * 9.81 * 0.25  # moment of the arm's weight at q = 0 [N m]


def arm():
    return Robot.from_urdf_text(ARM)


def drive(effort, brake=0.0):
    effort = np.atleast_1d(np.array(effort, dtype=float))
    return Drive(effort, np.zeros(len(effort)), np.full(len(effort), brake))


def swinging(name):
    """A shipped robot without stops and dry friction, and a start."""
    robot = Robot.from_urdf(robot_file(name))
    joints = tuple(replace(joint, limits=Limits(effort=joint.limits.effort), friction=0.0)
                   for joint in robot.model.joints)
    robot = Robot(replace(robot.model, joints=joints))
    return robot, np.random.default_rng(3).uniform(-0.8, 0.8, robot.n)


def end(plant, duration=0.2):
    plant.advance(drive(np.linspace(1.0, -1.0, plant.robot.n)), round(duration / plant.step))
    return np.concatenate([plant.q, plant.v])


@pytest.mark.parametrize("name", few(shipped_robots(), ("scara",)))
def test_free_motion_differs_by_the_integrators_order(name):
    robot, start = swinging(name)
    exact = end(MujocoPlant(robot, 2.5e-4, start, integrator="runge_kutta"))
    for integrator, order, coarse in (("semi_implicit_euler", 1, 4e-3), ("runge_kutta", 4, 5e-3)):
        errors = [np.abs(end(Plant(robot, step, start, integrator=integrator)) - exact).max()
                  for step in (coarse, 0.5 * coarse)]
        assert np.log2(errors[0] / errors[1]) == pytest.approx(order, rel=0.15)
    np.testing.assert_allclose(end(Plant(robot, position=start)), end(MujocoPlant(robot, position=start)),
                               atol=1e-9, rtol=0.0)  # the same method: only rounding differs


def small_motors(**options):
    return JointActuators(Actuators(DCMotor(0.5, 0.06, 2e-5, 2e-4), GearTrain([80.0, 60.0])),
                          losses=DriveLosses(efficiency=0.8),
                          winding=WindingHeat(thermal_resistance=3.0, thermal_time_constant=30.0), **options)


@pytest.mark.parametrize("limits", [DriveLimits(), DriveLimits(voltage_limit=24.0, current_limit=1.5)])
def test_motors_are_those_of_our_plant(limits):
    robot = Robot.from_urdf(robot_file("planar_2r"))
    ours, theirs = (kind(robot, 1e-3, [0.3, 0.2], actuators=small_motors(limits=limits),
                         friction=Friction([0.1, 0.2], 0.3, 0.4, 0.05)) for kind in (Plant, MujocoPlant))
    for tick in range(100):
        asked = drive([12.0 * np.sin(0.1 * tick), 8.0])
        ours.advance(asked, 4)
        theirs.advance(asked, 4)
        np.testing.assert_allclose(theirs.actuator_state.current, ours.actuator_state.current, atol=0.02)
        np.testing.assert_array_equal(theirs.actuator_state.current_saturated, ours.actuator_state.current_saturated)
    np.testing.assert_allclose(theirs.q, ours.q, atol=2e-3)
    np.testing.assert_allclose(theirs.effort, ours.effort, atol=0.1)
    np.testing.assert_allclose(theirs.energy, ours.energy, atol=0.03 * ours.energy.drive_work)
    np.testing.assert_allclose(theirs.joint_inertia(), ours.joint_inertia(), rtol=5e-3)  # a step older


def test_dry_friction_holds_below_its_level_but_for_a_creep():
    plant = MujocoPlant(arm(), friction=Friction(0.0, 1.01 * WEIGHT))
    plant.advance(drive(0.0), 1000)
    assert abs(plant.q[0]) < 2e-5 and abs(plant.v[0]) < 2e-5
    plant.advance(drive(3.0 * WEIGHT), 100)
    assert plant.q[0] > 0.05


def test_brake_holds_and_lets_go():
    plant = MujocoPlant(arm(), position=[0.4])
    plant.advance(drive(0.0, np.inf), 2000)
    assert plant.q[0] == pytest.approx(0.4, abs=1e-6) and abs(plant.v[0]) < 1e-9
    assert plant.actuator_state.friction_effort[0] == pytest.approx(WEIGHT * np.cos(0.4), rel=1e-3)
    plant.advance(drive(0.0), 200)
    assert plant.q[0] < 0.3
    plant.set_state([1.0], [2.0])
    plant.advance(drive(0.0, np.inf), 500)
    assert plant.q[0] == pytest.approx(1.0, abs=1e-3) and abs(plant.v[0]) < 1e-6


def test_stop_takes_the_energy_and_holds():
    model = arm().model
    robot = Robot(replace(model, joints=(replace(model.joints[0], limits=Limits(-0.3, 0.3)),)))
    plant = MujocoPlant(robot)
    plant.advance(drive(0.0), 1500)
    assert plant.q[0] == pytest.approx(-0.3, abs=1e-3) and abs(plant.v[0]) < 1e-6
    energy = plant.energy
    assert energy.stop_loss == pytest.approx(WEIGHT * np.sin(0.3), rel=0.02)
    assert energy.kinetic + energy.potential + energy.stop_loss == pytest.approx(0.0, abs=0.02)


@pytest.mark.parametrize("link", ["tip", "link2", "base_link"])
def test_push_moves_the_robot_as_on_our_plant(link):
    robot = Robot.from_urdf(robot_file("planar_2r"))
    wrench = [3.0, 0.0, -2.0, 0.0, 1.0, 0.0]
    ours, theirs = Plant(robot), MujocoPlant(robot)
    for plant in (ours, theirs):
        plant.check_link(link)
        plant.set_wrench(link, wrench)
        plant.advance(drive([5.0, 1.0]), 200)
    np.testing.assert_allclose(theirs.environment_wrench("link1"), ours.environment_wrench("link1"), atol=0.1)
    for plant in (ours, theirs):
        plant.set_wrench(link, np.zeros(6))
        plant.advance(drive([5.0, 1.0]), 50)
    np.testing.assert_allclose(theirs.q, ours.q, atol=1e-9)
    assert theirs.energy.external_work == pytest.approx(ours.energy.external_work, abs=1e-9)
    with pytest.raises(InputError, match="no link 'tool0'"):
        theirs.check_link("tool0")


def test_mimic_joint_follows():
    xml = ARM.replace("</robot>", """<link name="finger"><inertial><mass value="0.5"/><inertia ixx="0.01" iyy="0.01"
        izz="0.01" ixy="0" ixz="0" iyz="0"/></inertial></link><joint name="knuckle" type="revolute">
        <parent link="upper"/><child link="finger"/><origin xyz="0.5 0 0"/><axis xyz="0 -1 0"/>
        <mimic joint="shoulder" multiplier="-1.5" offset="0.2"/>
        <limit lower="-9" upper="9" effort="1" velocity="9"/></joint></robot>""")
    robot = Robot.from_urdf_text(xml)
    ours, theirs = (kind(robot, position=[0.5]) for kind in (Plant, MujocoPlant))
    for plant in (ours, theirs):
        plant.advance(drive(3.0), 200)
    np.testing.assert_allclose(theirs.q, ours.q, atol=2e-3)


def test_reset_new_state_and_successor():
    robot, start = swinging("arm6")
    plant = MujocoPlant(robot, 1e-3, start)
    plant.advance(drive(np.zeros(6)), 10)
    assert plant.time == pytest.approx(0.01) and plant.energy.kinetic > 0.0
    successor = MujocoPlant(robot, 1e-3)
    successor.continue_from(plant)
    np.testing.assert_array_equal(successor.q, plant.q)
    assert successor.time == plant.time
    for each in (plant, successor):
        each.advance(drive(np.zeros(6)))
    np.testing.assert_array_equal(successor.q, plant.q)
    plant.set_state(v=np.ones(6))
    np.testing.assert_array_equal(plant.v, 1.0)
    plant.reset()
    np.testing.assert_array_equal(plant.q, start)
    np.testing.assert_array_equal(plant.v, 0.0)
    with pytest.raises(InputError, match="positions of 'arm6'"):
        plant.set_state([0.0])


def test_divergence_keeps_the_last_good_state(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    plant = MujocoPlant(Robot.from_urdf(robot_file("planar_2r")))
    plant.set_wrench("tip", [1e12, 0.0, 1e12, 0.0, 0.0, 0.0])
    before = plant.q
    with pytest.raises(SimulationError, match="on MuJoCo diverged at 0 s"):
        plant.advance(drive([0.0, 0.0]), 100)
    np.testing.assert_array_equal(plant.q, before)
    plant.set_wrench("tip", np.zeros(6))
    plant.reset()
    plant.advance(drive([0.0, 0.0]), 10)
    assert np.isfinite(plant.q).all()
    assert not list(tmp_path.iterdir())  # MuJoCo would write a log into the current folder


@pytest.mark.parametrize("asked, message", [
    (Drive(*np.zeros((3, 2))), "expected 1 numbers"),
    (Drive(*np.zeros((3, 1)), voltage=np.ones(1), by_voltage=np.ones(1)), "received for shoulder"),
])
def test_commands_that_do_not_fit_are_refused(asked, message):
    with pytest.raises(InputError, match=message):
        MujocoPlant(arm()).advance(asked)


def test_method_that_mujoco_lacks_is_refused():
    with pytest.raises(InputError, match="engine mujoco: integrator: expected semi_implicit_euler or runge_kutta"):
        MujocoPlant(arm(), integrator="adaptive")
