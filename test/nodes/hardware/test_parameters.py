# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Effects of the hardware node's parameters."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from robodyn_ros import Robot
from robodyn_ros.base.errors import InputError
from robodyn_ros.description.resources import robot_file
from robodyn_ros.nodes.hardware.parameters import (
    PARAMETERS,
    control_period,
    force_torque_sensing,
    make_plant,
    sensing,
)
from robodyn_ros.simulation.sensing import Sensing, VelocitySource

DEFAULTS = {parameter.name: parameter.default for parameter in PARAMETERS}


def test_by_default_joints_are_seen_as_they_are():
    assert sensing(DEFAULTS.get).exact


def test_sensing_is_read_from_its_parameters():
    values = DEFAULTS | {"sensing.position_resolution": [0.1, 0.2], "sensing.position_noise": [0.3],
                         "sensing.velocity_noise": [0.4], "sensing.velocity_source": "position",
                         "sensing.velocity_filter": 0.5, "sensing.delay": 6}
    read = sensing(values.get)
    assert read.position_resolution == [0.1, 0.2]
    assert (read.position_noise, read.velocity_noise) == ([0.3], [0.4])
    assert (read.velocity_source, read.velocity_filter, read.delay) == (VelocitySource.POSITION, 0.5, 6)
    assert isinstance(read, Sensing)


@pytest.mark.parametrize(("rate", "step", "expected"), [
    (1000, 0.001, (1_000_000, 1)), (500, 0.001, (2_000_000, 2)), (250, 0.0005, (4_000_000, 8)),
])
def test_control_period(rate, step, expected):
    assert control_period(rate, step) == expected


@pytest.mark.parametrize(("rate", "step", "message"), [
    (2000, 0.001, "received 2000 Hz; possible: 1000 Hz"),
    (500, 1 / 3000, "parameter 'step': expected a whole number of nanoseconds"),
    (500, 0.0007, "with this step no whole rate is possible"),
])
def test_impossible_control_period(rate, step, message):
    with pytest.raises(InputError, match=message):
        control_period(rate, step)


def plant(**values):
    robot = Robot.from_urdf(robot_file("planar_2r"))
    return robot, make_plant(robot, (DEFAULTS | values).get, np.zeros(2))


def test_by_default_the_plant_is_the_robot_as_described():
    robot, made = plant()
    q, v = np.array([0.3, -0.4]), np.array([1.0, 2.0])
    assert made.robot.dynamics().bias(q, v).tolist() == robot.dynamics().bias(q, v).tolist()
    assert not made.model.actuators.is_motor.any()
    assert made.model.integrator == "semi_implicit_euler"


def test_gravity_payload_and_errors_reach_the_plant():
    q = np.array([0.3, -0.4])
    robot, made = plant(**{"gravity": [0.0, 0.0, -1.62], "payload.mass": 2.0, "payload.center_of_mass": [0.1, 0.0, 0.0],
                           "model_error.mass": 20.0})
    dynamics = robot.dynamics()
    pose = dynamics.forward_kinematics(q)
    arm = (pose[:3, 3] + pose[:3, :3] @ [0.1, 0.0, 0.0]) - pose[:3, 3]
    lift = 2.0 * 1.62 * np.array([0.0, 0.0, 1.0])
    wrench = np.concatenate([lift, np.cross(arm, lift)])
    expected = 1.2 * 1.62 / 9.81 * dynamics.gravity(q) + dynamics.jacobian(q).T @ wrench
    assert made.robot.dynamics().gravity(q) == pytest.approx(expected, rel=1e-9)


def test_friction_error_scales_friction_of_the_actuators_file():
    _, as_described = plant(actuators="hardware_dc_motors")
    _, wrong = plant(**{"actuators": "hardware_dc_motors", "model_error.friction": -25.0})
    assert as_described.model.actuators.is_motor.all()
    assert as_described.model.friction.coulomb.min() > 0.0
    for name in ("viscous", "coulomb", "static"):
        assert getattr(wrong.model.friction, name) == pytest.approx(0.75 * getattr(as_described.model.friction, name))


@pytest.mark.parametrize("error", [-100.0, 50.0])
@pytest.mark.parametrize("actuators", ["", "hardware_dc_motors"])
def test_rotors_may_be_others_than_those_that_laws_know(actuators, error):
    robot = Robot.from_urdf(robot_file("planar_2r"))
    joints = tuple(replace(joint, armature=0.2) for joint in robot.model.joints)
    robot = Robot(replace(robot.model, joints=joints))
    known, wrong = (make_plant(robot, (DEFAULTS | {"actuators": actuators, "model_error.rotors": value}).get,
                               np.zeros(2)) for value in (0.0, error))
    rotors = [np.diag(made.model.model.rotor_inertia + made.model.actuators.rotor_inertia) for made in (known, wrong)]
    assert (rotors[0] > 0.0).all()
    np.testing.assert_allclose(rotors[1], (1.0 + error / 100.0) * rotors[0])


def test_actuators_file_may_be_a_path(tmp_path):
    path = tmp_path / "mine.yaml"
    path.write_text("joints: {joint2: {friction: {coulomb: 0.5}}}")
    _, made = plant(actuators=str(path))
    assert made.model.friction.coulomb.tolist() == [0.0, 0.5]


@pytest.mark.parametrize(("values", "message"), [
    ({"actuators": "nothing"}, "actuators: 'nothing' is neither a file"),
    ({"actuators": "nothing.yaml"}, "actuators: 'nothing.yaml' is neither a file"),
    ({"gravity": [0.0, -9.81]}, r"gravity: expected an array of shape \(3,\)"),
    ({"payload.mass": 1.0, "payload.center_of_mass": [0.1]}, r"payload: centre of mass: expected an array of shape"),
])
def test_a_plant_that_cannot_be_says_why(values, message):
    with pytest.raises(InputError, match=message):
        plant(**values)


def test_docs_hardware_tells_of_every_parameter():
    page = (Path(__file__).parents[3] / "docs" / "hardware.md").read_text()
    assert [name for name in DEFAULTS if f"`{name}`" not in page] == []


def test_a_world_is_checked_with_the_start_before_anything_moves(tmp_path):
    file = tmp_path / "room.yaml"
    file.write_text("surfaces: {floor: {shape: plane, position: [0, 0, -5]}}")
    _, made = plant(world=str(file))
    assert made.model.world.surfaces[0].name == "floor" and made.contact_forces.shape == (1, 3)
    for text, line in (("surfaces: {floor: {shape: plan}}", "room.yaml: surface 'floor': shape: expected plane, box"),
                       ("surfaces: {floor: {shape: plane, position: [0, 0, 5]}}", "inside surface 'floor'")):
        file.write_text(text)
        with pytest.raises(InputError, match=line):
            plant(world=str(file))


def test_the_force_and_torque_sensor_is_read_from_its_parameters():
    values = DEFAULTS | {"force_torque_sensor.force_noise": 0.1, "force_torque_sensor.bias": [1.0] * 6,
                         "force_torque_sensor.delay": 3, "force_torque_sensor.tool_mass": 0.5}
    read = force_torque_sensing(values.get)
    assert (read.force_noise, read.bias.tolist(), read.delay, read.tool_mass) == (0.1, [1.0] * 6, 3, 0.5)
    with pytest.raises(InputError, match="force and torque sensor: bias: expected an array of shape"):
        force_torque_sensing((values | {"force_torque_sensor.bias": [1.0]}).get)


def test_mujoco_is_chosen_by_a_parameter(tmp_path):
    pytest.importorskip("mujoco", reason="MuJoCo is not installed: pip install mujoco")
    robot, made = plant(engine="mujoco", **{"payload.mass": 1.0})
    with_payload = plant(**{"payload.mass": 1.0})[1]
    np.testing.assert_allclose(made.joint_inertia(), with_payload.joint_inertia(), rtol=1e-9)
    scene = tmp_path / "scene.xml"
    scene.write_text("""<mujoco><worldbody><body pos='0 0 1'><joint name='joint1' axis='0 -1 0'/><geom size='.1'/>
        <body pos='.5 0 0'><joint name='joint2' axis='0 -1 0'/><geom size='.1'/></body></body></worldbody></mujoco>""")
    assert plant(engine="mujoco", mujoco_scene=str(scene))[1].has_own_masses
    for name in ("payload.mass", "model_error.mass"):
        with pytest.raises(InputError, match=f"parameter '{name}': expected 0, since the masses are those of"):
            plant(engine="mujoco", mujoco_scene=str(scene), **{name: 2.0})


def test_scene_without_mujoco_is_refused():
    with pytest.raises(InputError, match="parameter 'mujoco_scene': expected nothing with engine robodyn"):
        plant(mujoco_scene="scene.xml")


def test_world_with_mujoco_is_refused():
    with pytest.raises(InputError, match="parameter 'world': expected nothing with engine mujoco"):
        plant(engine="mujoco", world="room.yaml")
