# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Steps of a robot with elastic joints, backlash and presliding, compared with MuJoCo with two hinges a joint."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import cached_property, partial

import numpy as np

from bench.mujoco_peer import MujocoRobot
from bench.plant import DAMPING, START, STEP, Batch, damped
from bench.report import RATIO_HEAD, Section, ratio_cells
from bench.robots import Pair
from bench.timing import Comparison, compare
from robodyn_ros.actuation import Friction, FrictionModel, JointActuators, MaxwellSlip
from robodyn_ros.actuation.configuration import HardwareSettings
from robodyn_ros.description.resources import actuators_file
from robodyn_ros.simulation.commands import Drive
from robodyn_ros.simulation.plant import Plant
from robodyn_ros.simulation.plant_model import PlantModel

ROBOTS, BATCH_STEPS, SINGLE_STEPS = 10_000, 200, 500
SETTINGS = "hardware_elastic_arm7"


class ElasticPeer(MujocoRobot):
    """MuJoCo with two hinges a joint: the motor with its rotor as armature, and the deflection of a linear spring.

    Args:
        pair: The robot.
        actuators: Springs and inertias behind them; their backlash is left out.
        dry: Dry friction of the motors' hinges [N m].
    """

    def __init__(self, pair: Pair, actuators: JointActuators, dry: float) -> None:
        self._actuators, self._dry = actuators, dry
        super().__init__(pair, STEP)

    def edit(self, spec: object, names: tuple[str, ...]) -> None:
        """Add the hinges of the deflections, behind those of the motors on the same bodies."""
        own = self._actuators.transmission
        for name, stiffness, damping, inertia in zip(names, own.stiffness, own.spring_damping, own.source_inertia,
                                                     strict=True):
            motor = spec.joint(name)  # type: ignore[attr-defined]
            motor.parent.add_joint(name=f"{name} spring", type=motor.type, axis=motor.axis, pos=motor.pos,
                                   stiffness=stiffness, damping=damping)
            motor.armature, motor.damping, motor.frictionloss = inertia, [DAMPING, 0.0, 0.0], self._dry

    def run(self, q: np.ndarray, motor_q: np.ndarray, effort: np.ndarray, steps: int) -> np.ndarray:
        """Return the positions of links after steps from rest under constant efforts, shape (n,)."""
        import mujoco

        data = self.data
        mujoco.mj_resetData(self.model, data)
        data.qpos[0::2], data.qpos[1::2], data.qfrc_applied[0::2] = motor_q, q - motor_q, effort
        mujoco.mj_step(self.model, data, nstep=steps)
        return np.array(data.qpos[0::2] + data.qpos[1::2])


class Case:
    """arm7 with the transmissions of `SETTINGS`, and what differs.

    Args:
        backlash: Whether the springs have a dead zone.
        friction: Of the joints.
        dry: Dry friction of the peer [N m].
    """

    def __init__(self, *, backlash: bool = False, friction: FrictionModel | None = None, dry: float = 0.0) -> None:
        self.pair = Pair(damped(Pair.shipped("arm7").urdf))
        self.robot, n = self.pair.robot, self.pair.robot.n
        settings = HardwareSettings.from_yaml(actuators_file(SETTINGS))
        given = settings.joint_actuators(self.robot.model)
        self.actuators = given if backlash else replace(
            given, transmission=replace(given.transmission, backlash=np.zeros(n)))
        self.friction = Friction(np.full(n, DAMPING), np.zeros(n)) if friction is None else friction
        self.peer = ElasticPeer(self.pair, self.actuators, dry)
        self.effort = self.robot.dynamics().gravity(START) + 3.0

    @cached_property
    def plant(self) -> Plant:
        """One robot."""
        return Plant(self.robot, STEP, actuators=self.actuators, friction=self.friction)

    def one(self, repetitions: int = 11) -> Comparison:
        """Check that both sides move alike, then compare seconds per step of one robot that starts at rest."""
        plant, rest = self.plant, np.zeros(self.robot.n)
        plant.set_state(START, rest)
        motor_q = plant.motor_side[0]

        def ours(steps: int = SINGLE_STEPS) -> np.ndarray:
            plant.set_state(START, rest)
            plant.advance(Drive(self.effort, rest, rest), steps)
            return plant.q

        if not self.friction.has_dry.any():
            np.testing.assert_allclose(ours(200), self.peer.run(START, motor_q, self.effort, 200), atol=1e-3)
        times = compare(ours, partial(self.peer.run, START, motor_q, self.effort, SINGLE_STEPS), repetitions)
        return Comparison(times.ours / SINGLE_STEPS, times.peer / SINGLE_STEPS)

    def many(self, robots: int = ROBOTS, repetitions: int = 5) -> Comparison:
        """Compare seconds per robot and step of a batch on one core with those of one robot in MuJoCo."""
        model = PlantModel.from_description(self.robot.model, STEP, self.actuators, self.friction)
        batch, rng = Batch(self.robot, BATCH_STEPS, model), np.random.default_rng(0)
        q = START + rng.uniform(-0.1, 0.1, (robots, self.robot.n))
        v, effort = np.zeros_like(q), self.robot.dynamics().batch.gravity(q) + 3.0
        motors = [model.motors_at(*start) for start in zip(q, v, strict=True)]
        motor_q = np.array([each.q for each in motors])
        run = partial(batch.run, q, v, effort, motor_q=motor_q)
        found = run()
        for number in (0, robots - 1):
            plant = self.plant
            plant.set_state(q[number], v[number])
            plant.advance(Drive(effort[number], v[number], v[number]), BATCH_STEPS)
            np.testing.assert_allclose(found[number, 0], plant.q, atol=1e-6)
        times = compare(run, partial(self.peer.run, q[0], motor_q[0], effort[0], BATCH_STEPS), repetitions)
        return Comparison(times.ours / (robots * BATCH_STEPS), times.peer / BATCH_STEPS)


def rows() -> Iterator[list[str]]:
    """Rows for one robot and a batch of each case."""
    n = 7
    bending = MaxwellSlip(*np.outer((DAMPING, 1.0, 1.5, 0.02, 1e5, 100.0), np.ones(n)))
    for what, peer, case in (
            ("elastic joints", "two hinges a joint", Case()),
            ("elastic joints with backlash", "two hinges a joint, no backlash", Case(backlash=True)),
            ("elastic joints, presliding with four springs a joint", "two hinges a joint, dry friction",
             Case(friction=bending, dry=1.0))):
        for many, result, aim in (("one robot", case.one(), 1 / 10), (f"{ROBOTS:,} robots", case.many(), 1 / 50)):
            ours, theirs = (np.median(times) * 1e9 for times in (result.ours, result.peer))
            yield [what, peer, many, f"{ours:.0f}", f"{theirs:.0f}", *ratio_cells(result, aim)]


TRANSMISSIONS = Section(
    "Steps with elastic joints",
    "arm7 with the springs and inertias of config/hardware_elastic_arm7.yaml and viscous friction, ours at the links, "
    "the peer's at the motors, under constant efforts from rest: semi-implicit Euler method, steps of 1 ms; time per "
    "robot and step. The peer is `mj_step(nstep=…)` of one robot with two hinges a joint, whose springs are explicit. "
    "Without dry friction, both end in the same positions within 1 mrad. A batch runs on one core.",
    ("ours", "MuJoCo", "robots", "ours [ns]", "MuJoCo [ns]", *RATIO_HEAD),
    rows,
)
