# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Robots that carry their actuators: what dynamics and laws know of them, and that nothing counts twice."""

import pickle
from dataclasses import replace

import numpy as np
import pytest

from robodyn_ros import InputError, PlantModel, Robot, rollout
from robodyn_ros.actuation.configuration import HardwareSettings
from robodyn_ros.actuation.friction import Friction
from robodyn_ros.actuation.joint_actuators import JointActuators
from robodyn_ros.control.default_gains import joint_gains, viscous_friction
from robodyn_ros.control.gains.margin import stable_factor
from robodyn_ros.control.plugins.registry import make_controller
from robodyn_ros.description.model import RobotModel
from robodyn_ros.simulation.rollout import ClosedLoop
from robodyn_ros.simulation.standard_motion import excursion
from robodyn_ros.toolbox.study.loop_description import LoopDescription

PLANAR, ARM = Robot.named("planar_2r"), Robot.named("arm6")
MOTOR = {"nominal_voltage": 24.0, "resistance": 1.0, "torque_constant": 0.05, "rotor_inertia": 2e-5}
COUPLING = [{"joints": ["joint1", "joint2"], "matrix": [[50.0, 20.0], [0.0, 40.0]]}]
SERVO = {"motor": MOTOR, "gear_ratio": 100.0, "motor_damping": 1e-5, "motor_friction": 2e-3}
CASES = {
    "no motors": {"joints": {}},
    "one motor": {"joints": {"joint1": {"actuator": SERVO}}},
    "friction alone": {"joints": {"joint2": {"friction": {"viscous": 0.7, "coulomb": 0.2, "static": 0.3}}}},
    "coupled motors": {"joints": dict.fromkeys(("joint1", "joint2"), {"actuator": SERVO | {"gear_ratio": None}}),
                       "couplings": COUPLING},
    "a spring": {"joints": {"joint2": {"transmission": {"stiffness": 500.0, "inertia": 0.2}}}},
    "a motor behind a spring": {"joints": {"joint1": {"actuator": SERVO, "transmission": {"stiffness": 500.0}}}},
}


def with_armature(robot, armature, damping=0.0):
    """The same robot with numbers in the description of all its joints."""
    joints = tuple(replace(joint, armature=float(armature), damping=float(damping)) for joint in robot.model.joints)
    return Robot(replace(robot.model, joints=joints))


def servos(robot, **options):
    """Heavy rotors at all joints: more than the links of a small arm have, 0.2 kg m^2."""
    return {"joints": dict.fromkeys(robot.joint_names, {"actuator": SERVO | options})}


@pytest.mark.parametrize("armature", [0.0, 0.13])
@pytest.mark.parametrize("case", CASES)
def test_laws_have_the_mass_and_the_friction_of_the_plant(case, armature):
    """Rotors of the description count where a joint has no motor, those of motors in their place elsewhere."""
    robot, settings = with_armature(PLANAR, armature, 0.05), HardwareSettings.from_mapping(CASES[case])
    actuators, friction = settings.joint_actuators(robot.model), settings.joint_friction(robot.model)
    known, plant = robot.with_actuators(actuators, friction), PlantModel.from_description(robot.model,
                                                                                         actuators=actuators)
    q, v, a = np.random.default_rng(0).uniform(-1.0, 1.0, (3, 2))
    own, elastic = Robot(plant.model).dynamics(False), np.where(actuators.is_elastic, actuators.reflected_inertia, 0.0)
    mass = own.mass_matrix(q) + actuators.rotor_inertia + np.diag(elastic)
    found = known.dynamics(False)
    np.testing.assert_allclose(found.mass_matrix(q), mass, rtol=1e-13)
    np.testing.assert_allclose(found.inverse_dynamics(q, v, a), mass @ a + own.bias(q, v), rtol=1e-12)
    np.testing.assert_allclose(found.forward_dynamics(q, v, found.inverse_dynamics(q, v, a)), a, rtol=1e-10)
    np.testing.assert_allclose(found.kinetic_energy(q, v), 0.5 * v @ mass @ v, rtol=1e-12)
    shafts = np.diag(actuators.motors.gear.joint_matrix(actuators.reflected_damping))
    np.testing.assert_allclose(viscous_friction(known), friction.viscous + shafts, rtol=1e-13)
    springs = known.springs
    assert (springs is not None) == actuators.is_elastic.any()


def test_ideal_actuators_leave_the_robot_as_it_was():
    for actuators in (None, JointActuators.ideal_sources(6)):
        known = ARM.with_actuators(actuators)
        assert known.model is ARM.model and known.dynamics() is ARM.dynamics() and known.springs is None
    motion = excursion(ARM)
    np.testing.assert_array_equal(rollout(ARM, "computed_torque", motion).q,
                                  rollout(ARM, "computed_torque", motion, plant=PlantModel.from_description(
                                      ARM.model, actuators=JointActuators.ideal_sources(6))).q)


@pytest.mark.parametrize("law", ["pd", "pid", "computed_torque", "adaptive", "impedance", "operational_space", "mpc",
                                 "pd+safety"])
def test_laws_are_those_of_a_robot_with_these_rotors_in_its_description(law):
    """The one truth: gains, parameters and their use do not depend on where a rotor or a friction stands."""
    settings = HardwareSettings.from_mapping(servos(PLANAR, motor_friction=0.0))
    actuators = settings.joint_actuators(PLANAR.model)
    laws = [make_controller(law, robot) for robot in (
        PLANAR.with_actuators(actuators), with_armature(PLANAR, actuators.reflected_inertia[0],
                                                        actuators.reflected_damping[0]))]
    rows = [[(row.name, row.value) for row in each.parameters.flat(each.robot)] for each in laws]
    assert rows[0] == rows[1] and rows[0]
    bare = make_controller(law, PLANAR)
    assert law in ("mpc", "operational_space") or rows[0] != [
        (row.name, row.value) for row in bare.parameters.flat(PLANAR)]
    if law in ("pd", "computed_torque"):
        factors = [stable_factor(each, each.parameters, each.robot.timing, np.zeros((1, 2))) for each in laws]
        assert factors[0] == factors[1] >= 1.0


def test_heavy_rotors_make_the_gains_that_move_them():
    """On today's servo arms rotors are most of the inertia: without them gains are too low, and forces missing."""
    settings, motion = HardwareSettings.from_mapping(servos(ARM)), excursion(ARM)
    plant = PlantModel.from_description(ARM.model, actuators=settings.joint_actuators(ARM.model))
    rigid = ARM.ignoring("rotors", "friction", "springs")

    def worst(robot, law):
        done = rollout(robot, law, motion, plant=plant)
        return np.abs(done.reference.q - done.q).max()

    for law, share in (("pd_gravity", 0.7), ("computed_torque", 0.35)):
        assert worst(ARM, law) < share * worst(rigid, law)
    assert (joint_gains(plant.known_to(ARM))[0] >= joint_gains(ARM)[0]).all()
    assert (joint_gains(plant.known_to(rigid))[0] == joint_gains(rigid)[0]).all()


@pytest.mark.parametrize(("parts", "armature", "damping", "elastic"), [
    ((), [0.2, 0.2], [0.1, 0.1], True), (("rotors",), [0.0, 0.0], [0.1, 0.1], True),
    (("friction",), [0.2, 0.2], [0.0, 0.0], True), (("springs",), [0.2, 0.2], [0.1, 0.1], False),
    (("rotors", "friction", "springs"), [0.0, 0.0], [0.0, 0.0], False)])
def test_parts_are_ignored_by_name(parts, armature, damping, elastic):
    """In either order; and the simulated robot keeps them."""
    content = {"joints": {"joint1": {"actuator": SERVO, "transmission": {"stiffness": 300.0}}, "joint2": {
        "actuator": SERVO}}}
    settings = HardwareSettings.from_mapping(content)
    given = settings.joint_actuators(PLANAR.model), settings.joint_friction(PLANAR.model)
    for robot in (PLANAR.with_actuators(*given).ignoring(*parts), PLANAR.ignoring(*parts).with_actuators(*given)):
        np.testing.assert_allclose(robot.model.armature, armature)
        np.testing.assert_allclose(robot.model.damping, damping)
        assert (robot.springs is not None) == elastic
        plant = PlantModel.from_robot(robot)
        assert plant.actuators is given[0] and plant.known_to(robot) is robot
    described = with_armature(PLANAR, 0.3, 0.4).ignoring(*parts).model
    assert described.armature.tolist() == [0.0 if "rotors" in parts else 0.3] * 2
    assert described.damping.tolist() == [0.0 if "friction" in parts else 0.4] * 2


def test_what_cannot_be_meant_is_refused():
    with pytest.raises(InputError, match="unknown part of a drivetrain 'rotor': did you mean 'rotors'"):
        PLANAR.ignoring("rotor")
    with pytest.raises(InputError, match="expected no friction besides the file 'hardware_dc_motors'"):
        PLANAR.with_actuators("hardware_dc_motors", Friction.from_model(PLANAR.model))
    with pytest.raises(InputError, match="expected 2 actuators, one for each joint, received 6"):
        PLANAR.with_actuators(JointActuators.ideal_sources(6))
    with pytest.raises(InputError, match="expected friction of 2 joints, received 6"):
        PLANAR.with_actuators(None, Friction.from_model(ARM.model))


def test_nothing_counts_twice():
    """Plants, settings and files of a robot that has its actuators are those of its description."""
    known = PLANAR.with_actuators("hardware_dc_motors")
    settings = HardwareSettings.named("hardware_dc_motors")
    again, once = settings.joint_friction(known.model), settings.joint_friction(PLANAR.model)
    np.testing.assert_array_equal(again.viscous, once.viscous)
    np.testing.assert_array_equal(again.static, once.static)
    for plant in (PlantModel.from_robot(known), PlantModel.from_description(known.model, actuators=known.actuators,
                                                                            friction=known.friction)):
        assert plant.model.drivetrain is None
        np.testing.assert_array_equal(plant.model.armature, PLANAR.model.armature)
    np.testing.assert_array_equal(PlantModel.from_description(known.model).friction.viscous, PLANAR.model.damping)
    twice = known.with_actuators("hardware_dc_motors")
    np.testing.assert_array_equal(twice.model.armature, known.model.armature)
    np.testing.assert_array_equal(twice.model.damping, known.model.damping)
    assert known.with_actuators(None).model.drivetrain is None


def test_motors_cross_processes_with_their_robot():
    """A worker makes the law of the same robot."""
    loop = ClosedLoop(make_controller("computed_torque", PLANAR.with_actuators("hardware_dc_motors")))
    described = LoopDescription.from_loop(loop, loop.scenario(duration=0.1))
    robot = pickle.loads(pickle.dumps(described)).loop.robot
    assert isinstance(robot.model, RobotModel) and robot.springs is None
    np.testing.assert_array_equal(robot.model.armature, loop.robot.model.armature)
    bare = ClosedLoop(make_controller("computed_torque", PLANAR), loop.plant)
    assert LoopDescription.from_loop(bare, loop.scenario(duration=0.1)).digest != described.digest


@pytest.mark.parametrize("v", [[0.0, 0.0], [0.4, -0.3], [-0.5, 0.0]])
def test_drives_exert_what_moves_the_robot_and_its_losses(v):
    """Against the losses that identification takes from recorded efforts of motors."""
    settings = HardwareSettings.from_mapping(servos(PLANAR, gear_efficiency=0.7, gear_static_loss=0.1))
    robot = PLANAR.with_actuators(settings.joint_actuators(PLANAR.model), Friction(0.3, [0.5, 0.2], 0.9))
    q, a, v = np.array([0.3, -0.8]), np.array([1.0, -2.0]), np.array(v)
    found = robot.drive_effort(q, v, a)
    dry = robot.friction.level(v) * np.sign(v)
    behind = robot.dynamics().inverse_dynamics(q, v, a) + robot.model.damping * v + dry
    np.testing.assert_allclose(robot.actuators.effort_behind_gears(found[None], v[None])[0], behind, rtol=1e-12)
    moving = v != 0.0
    assert (np.abs(found - behind)[moving] > 0.1).all() and (found == behind)[~moving].all()
    np.testing.assert_array_equal(PLANAR.drive_effort(q, v, a), PLANAR.dynamics().inverse_dynamics(q, v, a))
    rigid = robot.ignoring("rotors", "friction")
    np.testing.assert_array_equal(rigid.drive_effort(q, v, a), PLANAR.dynamics().inverse_dynamics(q, v, a))


def test_a_motor_that_drives_two_joints_has_its_viscous_friction_once():
    """Where both turn against each other it stands still."""
    matrix = [[45.0, 0.0], [32.0, 32.0]]
    content = servos(PLANAR, motor_damping=1e-3, motor_friction=0.0) | {
        "couplings": [{"joints": list(PLANAR.joint_names), "matrix": matrix}]}
    for joint in content["joints"].values():
        joint["actuator"].pop("gear_ratio", None)
    robot = PLANAR.with_actuators(HardwareSettings.from_mapping(content).joint_actuators(PLANAR.model))
    q, v, a = np.zeros(2), np.array([1.0, -1.0]), np.zeros(2)
    viscous = robot.drive_effort(q, v, a) - robot.dynamics().inverse_dynamics(q, v, a)
    np.testing.assert_allclose(viscous, 1e-3 * np.transpose(matrix) @ (matrix @ v), atol=1e-12)
