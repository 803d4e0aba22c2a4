# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Every control law on our plant and on MuJoCo, a simulator that shares no code with the model of the laws."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from bench.report import Section
from robodyn_ros import Robot
from robodyn_ros.description.resources import robot_file
from robodyn_ros.simulation.mujoco_plant import MujocoPlant
from robodyn_ros.simulation.plant_model import PlantModel
from robodyn_ros.simulation.standard_motion import excursion
from robodyn_ros.toolbox.study.performance import Performance, comparable, perform

ROBOT, FINE = "arm6", 2.5e-4


def rows() -> Iterator[list[str]]:
    """Simulate the test motion of `ROBOT` under each law that follows a motion, on three simulators."""
    robot = Robot.from_urdf(robot_file(ROBOT))
    motion, plant = excursion(robot), PlantModel.from_description(robot.model)
    same, fine = MujocoPlant(robot), MujocoPlant(robot, FINE, integrator="runge_kutta")
    for name in comparable():
        ours, *theirs = (perform(robot, name, motion, plant, engine=engine) for engine in (None, same, fine))
        apart = np.abs(ours.joint_error - theirs[0].joint_error).max()
        yield [f"`{name}`", *(f"{_rms(one):.4f}" for one in (ours, *theirs)), f"{apart:.1e}"]


def _rms(one: Performance) -> float:
    """Error of the tip link, root of the mean square [mm]."""
    return 1e3 * float(np.sqrt(np.mean(one.tip_error**2)))


REFEREE = Section(
    "The laws against a simulator that shares no code with their model",
    f"RMS error of the tip link of `{ROBOT}` in the test motion of `robodyn compare`, under each law with its default "
    "parameters, on our plant (semi-implicit Euler, 1 ms), on MuJoCo with the same method and step, and on MuJoCo with "
    f"RK4 and steps of {1e3 * FINE:g} ms; and the greatest difference of the joints between the first two. The robot "
    "in MuJoCo is built from the parsed description; dynamics and integrator are MuJoCo's.",
    ("law", "ours [mm]", "MuJoCo [mm]", "MuJoCo, RK4 [mm]", "joints apart [rad, m]"), rows)
