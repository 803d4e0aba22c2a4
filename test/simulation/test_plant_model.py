# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""The parts of a simulated model have to fit together."""

import re

import numpy as np
import pytest
from shipped import few

from robodyn_ros import InputError, Robot
from robodyn_ros.actuation import Actuators, DCMotor, Friction, GearTrain, JointActuators
from robodyn_ros.actuation.drive_losses import DriveLosses
from robodyn_ros.actuation.winding_heat import WindingHeat
from robodyn_ros.commands.command_line import main
from robodyn_ros.description.resources import robot_file
from robodyn_ros.simulation.integrator import Integrator
from robodyn_ros.simulation.plant_model import PlantModel
from robodyn_ros.simulation.rollout import rollout

MODEL = Robot.from_urdf(robot_file("planar_2r")).model
FAST_MOTOR = JointActuators(Actuators(DCMotor([1.0, 1.0], 0.05, 1e-5, [0.0, 1e-4]), GearTrain(50.0)))


def test_description_says_what_is_left_open():
    plant = PlantModel.from_description(MODEL)
    assert not plant.actuators.is_motor.any()
    np.testing.assert_array_equal(plant.friction.viscous, MODEL.damping)
    assert plant.integrator is Integrator.SEMI_IMPLICIT_EULER


def test_state_begins_without_current_at_ambient_temperature():
    actuators = JointActuators(FAST_MOTOR.motors, winding=WindingHeat(ambient_temperature=[20.0, 30.0]))
    state = PlantModel.from_description(MODEL, actuators=actuators).state(np.array([0.1, 0.2]), np.array([1.0, 2.0]))
    assert state.q.tolist() == [0.1, 0.2] and state.v.tolist() == [1.0, 2.0]
    assert state.temperature.tolist() == [20.0, 30.0]
    assert not state.current.any() and not np.any(state.energies)


@pytest.mark.parametrize(("options", "message"), [
    ({"step": 0.0}, "step of the plant: expected a finite number above 0"),
    ({"step": np.nan}, "step of the plant: expected a finite number above 0"),
    ({"actuators": JointActuators.ideal_sources(3)}, "expected 2 actuators, one for each joint, received 3"),
    ({"friction": Friction(0.0, [0.1, 0.2, 0.3])}, "expected friction of 2 joints, received 3"),
    ({"friction": 0.3}, "plant: expected FrictionModel, received float 0.3; HardwareSettings"),
    ({"integrator": "euler"}, "integrator: expected semi_implicit_euler, explicit_euler, .* or adaptive, received 'eu"),
    ({"integrator": "explicit_euler", "actuators": FAST_MOTOR, "step": 1e-3},
     "explicit_euler: expected steps up to 2.0 L/R = 0.0002 s, .*motor at 'joint2'"),
    ({"integrator": "runge_kutta", "actuators": FAST_MOTOR, "step": 1e-3}, "expected steps up to 2.785 L/R"),
])
def test_what_does_not_fit_is_named(options, message):
    with pytest.raises(InputError, match=message):
        PlantModel.from_description(MODEL, **options)


@pytest.mark.parametrize("integrator", [Integrator.SEMI_IMPLICIT_EULER, Integrator.ADAPTIVE])
def test_implicit_and_adaptive_methods_take_fast_motors(integrator):
    PlantModel.from_description(MODEL, 1e-3, FAST_MOTOR, integrator=integrator)


def test_dry_friction_is_of_joint_or_gear():
    coulomb = Friction(0.0, [0.0, 0.2])
    stiction = Friction(0.0, [0.0, 0.0], static=[0.1, 0.0])
    lossy = JointActuators(FAST_MOTOR.motors, is_motor=[True, False], losses=DriveLosses(efficiency=[0.8, 0.8]))
    none = Friction([1.0, 1.0], [0.0, 0.0])
    for actuators, friction, expected in ((None, none, [False, False]), (None, coulomb, [False, True]),
                                          (None, stiction, [True, False]), (lossy, none, [True, False])):
        plant = PlantModel.from_description(MODEL, actuators=actuators, friction=friction)
        assert plant.has_dry_friction.tolist() == expected


@pytest.mark.parametrize("stiffness", few((1e2, 1e3, 1e4), 1))
def test_a_spring_too_fast_for_the_step_is_named_from_2_percent_on(stiffness, caplog, capsys, tmp_path):
    """By `rollout` and by the commands that simulate; with the step that it names, nobody warns."""
    file = tmp_path / "springs.yaml"
    file.write_text(f"joints:\n  joint2: {{transmission: {{stiffness: {stiffness}, inertia: 0.2}}}}\n")
    robot = Robot.named("planar_2r").with_actuators(str(file))
    rate = PlantModel.from_robot(robot).elastic.modes_at_zero()[0][-1]
    for step in (2e-3, 1e-4):
        plant = PlantModel.from_robot(robot, step)
        doubt, is_low = plant.elastic.unresolved_mode(), bool(2.0 * np.arctan(0.5 * step * rate) < 0.98 * step * rate)
        assert doubt.startswith("spring of joint 'joint2': a step of") == is_low
        caplog.clear()
        rollout(robot, "elastic_joint_pd", duration=0.01, plant=plant)
        assert [record.message for record in caplog.records] == [doubt] * is_low
        assert main(["compare", "--robot", "planar_2r", "--actuators", str(file), "--step", str(step),
                     "--output", str(tmp_path / "c.png"), "elastic_joint_pd"]) == 0
        assert capsys.readouterr().err == f"robodyn: warning: {doubt}\n" * is_low
        if is_low:
            needed = float(re.search(r"a step of ([\d.e-]+) s has it within 1 %$", doubt)[1])
            assert PlantModel.from_robot(robot, needed).elastic.unresolved_mode() == ""
