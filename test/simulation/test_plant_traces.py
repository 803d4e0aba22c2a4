# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Recorded motions of the plant with every part, so that no change of its form changes what it computes.

After a change that is meant to change them: ``python test/simulation/test_plant_traces.py`` records them anew.
"""

import json
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from robodyn_ros import PlantModel, Robot
from robodyn_ros.actuation.configuration import HardwareSettings
from robodyn_ros.compile.records import form_of, to_numbers
from robodyn_ros.description.resources import robot_file
from robodyn_ros.simulation.plant_state import PlantCommand
from robodyn_ros.simulation.plant_step import step
from robodyn_ros.simulation.world_file import world_from_mapping

RECORDED = Path(__file__).with_suffix(".json")
MOTOR = {"nominal_voltage": 48.0, "resistance": 1.0, "torque_constant": 0.05, "rotor_inertia": 1e-5,
         "inductance": 2e-3, "thermal_resistance": 2.0, "thermal_time_constant": 20.0,
         "torque_constant_coefficient": -0.001, "motor_friction": 0.002}
DRIVE = {"motor": MOTOR, "gear_ratio": -60.0, "gear_efficiency": 0.8, "gear_static_loss": 0.05, "motor_damping": 1e-5,
         "current_limit": 10.0, "torque_limit": 0.4}
UNGEARED = {key: value for key, value in DRIVE.items() if key != "gear_ratio"}
PARTS = {
    "ideal": {},
    "motors": {"actuator": DRIVE},
    "warm": {"actuator": DRIVE | {"temperature_effects": True, "derating_start": 20.0, "derating_end": 120.0}},
    "harmonics": {"actuator": DRIVE | {"cogging": [{"order": 12, "amplitude": 0.002}],
                                       "torque_ripple": [{"order": 6, "amplitude": 0.05, "phase": 0.2}]}},
    "current_loops": {"actuator": DRIVE | {"current_loop": {"bandwidth": 300.0}}},
    "springs": {"transmission": {"stiffness": 2000.0, "damping": 1.0, "inertia": 0.2, "encoder": "motor"}},
    "backlash": {"actuator": DRIVE, "transmission": {"stiffness": 3000.0, "damping": 2.0, "backlash": 0.002}},
    "bristles": {"actuator": DRIVE,
                 "friction": {"model": "maxwell_slip", "coulomb": 1.0, "static": 1.5, "stribeck_velocity": 0.05,
                              "stiffness": 1e4, "damping": 10.0, "elements": 2}},
    "stribeck": {"friction": {"viscous": 0.2, "coulomb": 0.5, "static": 0.8, "stribeck_velocity": 0.05}},
    "coupled": {"actuator": UNGEARED | {"motor_friction": 0.01}},
    "contacts": {"actuator": DRIVE},
}
METHODS = ("semi_implicit_euler", "explicit_euler", "runge_kutta")
CASES = [("planar_2r", part, METHODS[0]) for part in PARTS] + [("scara", part, METHODS[0]) for part in (
    "motors", "backlash", "bristles")] + [("planar_2r", part, method) for method in METHODS[1:] for part in (
        "ideal", "motors", "stribeck")] + [("planar_2r", "springs", "runge_kutta")]


@cache
def robot(name):
    return Robot.from_urdf(robot_file(name))


def plant(name, part, method):
    model, world = robot(name).model, None
    content = {"joints": {joint: PARTS[part] for joint in model.joint_names}}
    if part == "coupled":
        content["couplings"] = [{"joints": list(model.joint_names[:2]), "matrix": [[60.0, 45.0], [-50.0, 40.0]]}]
    if part == "contacts":
        floor = {"shape": "plane", "position": [0, 0, -0.4], "normal": [0, 0, 1], "stiffness": 2e4, "damping": 1.0,
                 "friction": 0.3}
        world = world_from_mapping({"surfaces": {"floor": floor}, "contact_points": [
            {"link": robot(name).tip_link, "radius": 0.02}]}, model)
    hardware = HardwareSettings.from_mapping(content)
    return PlantModel.from_description(model, 5e-4, hardware.joint_actuators(model), hardware.joint_friction(model),
                                       method, world)


def trace(name, part, method):
    """Numbers of the state and of each output after 24 steps, with voltages in the middle ones."""
    made = plant(name, part, method)
    motors, rng = 1.0 * made.actuators.is_motor, np.random.default_rng(5)
    state = made.state(rng.uniform(-0.4, 0.4, made.n), 1.5 * rng.normal(size=made.n))
    for number in range(24):
        by_voltage = motors * (8 <= number < 16)
        command = PlantCommand(6.0 * rng.normal(size=made.n), 9.0 * rng.normal(size=made.n) * by_voltage, by_voltage,
                               np.full(made.n, 0.05 * (number > 20)), np.full(made.n, 0.3 * (number > 20)),
                               0.5 * rng.normal(size=made.n), made.actuators.drive_loops.no_command())
        state, report = step(made, state, command)
    return {"state": to_numbers(form_of(state), state, "trace")} | report._asdict()


@pytest.mark.parametrize("case", CASES, ids="-".join)
def test_the_motion_is_the_recorded_one(case):
    expected, found = json.loads(RECORDED.read_text(encoding="utf-8"))["-".join(case)], trace(*case)
    for name, numbers in expected.items():
        np.testing.assert_allclose(found[name], numbers, rtol=1e-9, atol=1e-9, err_msg=name)


if __name__ == "__main__":
    RECORDED.write_text(json.dumps({"-".join(case): {
        name: [float(f"{number:.12g}") for number in numbers] for name, numbers in trace(*case).items()}
        for case in CASES}, indent=0) + "\n", encoding="utf-8")
