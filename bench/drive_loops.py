# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Laws at low rates: efforts held for a control period, beside drives at 5 kHz that close the loop.

``python -m bench.drive_loops`` prints the RMS error of all joints [mrad] on the standard motion, for each law, rate and
gain. The links are 20 % heavier than the law's model has them, the joints have Coulomb friction of 2 % of their effort
limits, and the drives have a dead time of one period. A dash stands for an error above `LOST`.
"""

from __future__ import annotations

import argparse
from dataclasses import replace

import numpy as np

from bench.report import line, machine
from robodyn_ros import PlantModel, Robot, rollout
from robodyn_ros.actuation.configuration import HardwareSettings
from robodyn_ros.base.errors import SimulationError
from robodyn_ros.control.plugins.registry import make_controller
from robodyn_ros.simulation.model_perturbations import with_mass_error
from robodyn_ros.simulation.standard_motion import excursion

RATES = (1000, 500, 200, 100)
FACTORS = (1.0, 2.0, 4.0)
LOST = 0.1
DRIVES = {"effort": None, "impedance": {"kind": "impedance", "max_stiffness": 1e5, "max_damping": 1e4, "delay": 1}}


def error(robot: Robot, controller: str, rate: int, factor: float, drive: str) -> str:
    """RMS error of all joints [mrad] with the default gains of 1 kHz, position gains times the factor squared."""
    law = make_controller(controller, robot).parameters
    gains = replace(law, p=law.p * factor**2, d=law.d * factor)
    limits = np.where(np.isfinite(robot.model.effort_limit), robot.model.effort_limit, 0.0)
    loop = {} if DRIVES[drive] is None else {"drive_loop": DRIVES[drive]}
    content = {"joints": {joint: loop | {"friction": {"viscous": 0.0, "coulomb": 0.02 * float(limit)}}
                          for joint, limit in zip(robot.joint_names, limits, strict=True)}}
    settings, arm = HardwareSettings.from_mapping(content), robot.with_timing(1.0 / rate)
    plant = PlantModel.from_description(with_mass_error(robot.model, 20.0), 1e-3, settings.joint_actuators(robot.model),
                                        settings.joint_friction(robot.model))
    try:
        found = rollout(arm, controller, excursion(robot), parameters=gains, plant=plant).score.rms_error
    except SimulationError:
        return "-"
    whole = float(np.sqrt(np.mean(np.square(found))))
    return f"{1e3 * whole:.2f}" if whole < LOST else "-"


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--robot", default="arm7")
    parser.add_argument("--controller", nargs="+", default=["pd_gravity", "computed_torque"])
    options = parser.parse_args()
    robot = Robot.named(options.robot)
    print(machine())
    print(line(["law", "gains", "command", *(f"{rate} Hz" for rate in RATES)]))
    print(line(["---"] * (3 + len(RATES))))
    for controller in options.controller:
        for factor in FACTORS:
            for drive in DRIVES:
                print(line([f"`{controller}`", f"x {factor:g}", drive,
                            *(error(robot, controller, rate, factor, drive) for rate in RATES)]), flush=True)


if __name__ == "__main__":
    main()
