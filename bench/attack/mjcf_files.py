# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""MJCF files with faults: robots and scenes of MuJoCo, each refused by an error of the family, or sound."""

from __future__ import annotations

import random
import warnings
from pathlib import Path

import numpy as np

from bench.attack.soundness import unsound
from bench.attack.xml_faults import mutated_xml
from robodyn_ros.base.errors import DescriptionWarning, RobodynError
from robodyn_ros.description.mjcf.model_file import import_mujoco
from robodyn_ros.description.resources import robot_file, shipped_robots
from robodyn_ros.robot import Robot
from robodyn_ros.simulation.commands import Drive
from robodyn_ros.simulation.mujoco_plant import MujocoPlant
from robodyn_ros.simulation.mujoco_scene import add_robot

MOUNTED = "planar_2r"
STEPS = 20
"""Of an accepted scene."""

ARM = """<mujoco model="arm"><compiler angle="degree" autolimits="true"/><option gravity="1 -2 -9" timestep="0.001"/>
<default><geom density="700" friction="1 0.1 0.1"/><default class="big"><joint armature="0.3" damping="2"/></default>
</default><worldbody><geom type="plane" size="1 1 1"/>
<body name="stand" pos="0.1 0.2 0.3" euler="20 30 40"><geom type="box" size=".1 .1 .1"/>
<body name="upper" pos="0 0 0.2" quat="1 2 0 1"><joint name="a" axis="1 2 3" pos="0.1 -0.2 0.05" ref="30" class="big"/>
<joint name="b" type="slide" axis="0 1 1" ref="0.2" range="-0.5 0.5" damping="3"/>
<geom type="capsule" fromto="0 0 0 0.4 0 0.1" size="0.05"/><geom type="ellipsoid" size=".1 .2 .05"/>
<body name="fore" pos="0 0.3 0"><joint name="c" axis="0 1 0" range="-100 20" frictionloss="0.4"/>
<inertial pos="0.1 0 0.2" mass="2" fullinertia="0.03 0.04 0.05 0.001 0.002 -0.003"/>
<site name="tool" pos="0 0 0.3" euler="0 0 90"/></body>
<body name="left" pos="0 .1 0"><joint name="l" type="slide" axis="0 1 0" ref="0.1" armature="2"/>
<geom size=".03"/></body>
<body name="right" pos="0 -.1 0"><joint name="r" axis="1 0 0" pos="0 0 .1" armature="3"/><geom size=".04"/></body>
</body></body></worldbody>
<equality><joint joint1="r" joint2="l" polycoef="0.05 -1.5 0 0 0"/></equality>
<actuator><motor joint="a" gear="50" armature="1e-3" damping="1e-4" ctrllimited="true" ctrlrange="-2 2"/>
<position joint="c" kp="100" forcerange="-7 7"/></actuator></mujoco>"""
"""A robot of most of what one can consist of."""

SCENE = """<mujoco><compiler angle="degree"/><option timestep="0.001" solver="Newton" iterations="50"/>
<asset><texture name="t" type="2d" builtin="checker" width="32" height="32" rgb1="1 1 1" rgb2="0 0 0"/>
<material name="m" texture="t" texrepeat="2 2"/><hfield name="h" nrow="3" ncol="3" size="1 1 0.1 0.1"
elevation="0 0 0 0 1 0 0 0 0"/><mesh name="c" vertex="0 0 0 1 0 0 0 1 0 0 0 1" scale="0.1 0.1 0.1"/></asset>
<worldbody><light pos="0 0 3"/><camera name="eye" pos="0 -2 1" xyaxes="1 0 0 0 0 1"/><geom type="plane" size="5 5 0.1"
material="m"/><geom type="hfield" hfield="h" pos="3 0 0"/><site name="base_link" pos="0 0 1" euler="0 0 10"/>
<body name="box" pos="0.8 0 1.2"><freejoint/><geom type="box" size="0.05 0.05 0.05" mass="0.5"/>
<geom type="mesh" mesh="c" mass="0.1"/></body>
<body name="flap" pos="0.5 0.5 1"><joint name="hinge" axis="0 1 0" stiffness="5" springref="10" range="-20 90"/>
<geom type="capsule" fromto="0 0 0 0.3 0 0" size="0.02" mass="0.2"/><site name="edge" pos="0.3 0 0"/></body>
<body name="ball" pos="-0.5 0 1"><joint name="b" type="ball"/><geom size="0.1" mass="0.3" pos="0 0 -0.2"/></body>
<replicate count="3" offset="0 0.2 0"><geom type="cylinder" size="0.05 0.2" pos="2 0 0.2"/></replicate></worldbody>
<contact><exclude body1="box" body2="flap"/></contact>
<equality><connect body1="ball" body2="flap" anchor="0 0 0" active="false"/></equality>
<tendon><spatial name="s" stiffness="10"><site site="edge"/><site site="base_link"/></spatial>
<fixed name="f"><joint joint="hinge" coef="2"/></fixed></tendon>
<actuator><position joint="hinge" kp="10"/><motor tendon="f" gear="3"/></actuator>
<sensor><accelerometer site="edge"/><jointpos joint="hinge"/></sensor>
<keyframe><key time="0.1"/></keyframe></mujoco>"""
"""A scene at which the robot is mounted, with most of what can stand in one."""


class MutatedMjcf:
    """Good robots and scenes with one to four faults each, and what reads them.

    Args:
        folder: For the files.
    """

    def __init__(self, folder: Path) -> None:
        self._path, mujoco = folder / "mutated.xml", import_mujoco()
        self._robot = Robot.from_urdf(robot_file(MOUNTED))
        self._robots, self._scenes = [ARM.encode()], [SCENE.encode()]
        for name in shipped_robots():
            model, spec = Robot.from_urdf(robot_file(name)).model, mujoco.MjSpec()
            add_robot(mujoco, spec, spec.worldbody, model)
            spec.compile()
            (self._scenes if name == MOUNTED else self._robots).append(spec.to_xml().encode())

    def fault(self, seed: int, number: int) -> str | None:
        """Read a mutated file; empty: it was accepted and is sound, None: it was refused by an error of the family.

        Raises:
            Exception: Reading raised an error outside the family.
        """
        chance = random.Random(f"{seed} {number} MJCF")
        is_scene = number % 2 == 1
        self._path.write_bytes(mutated_xml(chance.choice(self._scenes if is_scene else self._robots), chance))
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore", DescriptionWarning)
            try:
                return self._scene_fault() if is_scene else self._robot_fault()
            except RobodynError as error:
                return f"an error of several lines: {error}" if "\n" in str(error) else None

    def _robot_fault(self) -> str:
        robot = Robot.from_mjcf(self._path)
        robot.check_accelerations()
        return unsound(robot.model)

    def _scene_fault(self) -> str:
        plant = MujocoPlant(self._robot, scene=str(self._path))
        plant.advance(Drive(np.ones(self._robot.n), np.zeros(self._robot.n), np.zeros(self._robot.n)), STEPS)
        return "" if np.isfinite([plant.q, plant.v]).all() else f"q = {plant.q}, v = {plant.v}"
