# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Performance of controllers on the same robot and motion: errors of tip and joints, efforts, work."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from robodyn_ros.actuation.configuration import HardwareSettings
from robodyn_ros.actuation.driver_profile import DRIVERS
from robodyn_ros.base.errors import InputError, PluginError, RobodynError, error_text
from robodyn_ros.base.timing import DEFAULT_PERIOD
from robodyn_ros.control.contract.controller import JointReference, Law
from robodyn_ros.control.contract.parameters import Parameters
from robodyn_ros.control.default_gains import checked_positions
from robodyn_ros.control.gains.margin import stability, stable_factor
from robodyn_ros.control.plugins.registry import controller_names, load_controller, make_controller, needs_file
from robodyn_ros.control.references.joint_trajectory import JointTrajectory
from robodyn_ros.control.references.tip_reference import TipReference
from robodyn_ros.description.model import Array, RobotModel
from robodyn_ros.robot import Robot
from robodyn_ros.simulation.driver import Driver
from robodyn_ros.simulation.engine import SimulatedRobot
from robodyn_ros.simulation.plant_model import PlantModel
from robodyn_ros.simulation.rollout import ClosedLoop
from robodyn_ros.simulation.standard_motion import tip_references
from robodyn_ros.simulation.world_file import read_world


@dataclass(frozen=True, eq=False)
class Performance:
    """Performance of one controller in the motion, over K ticks.

    Attributes:
        controller: Name of the controller.
        time: Shape (K,) [s].
        tip_error: Distance of the tip link's origin from its desired position, shape (K,) [m].
        joint_error: Desired minus true joint positions, shape (K, n) [rad or m].
        effort_share: Efforts divided by their limits, shape (K, n); 0 where there is no limit.
        work: Integral of |effort * velocity| over all joints [J].
        note: Why the controller ran as Python code, with the time per tick; why it oscillates; empty: neither.
        kinds: Kind of each joint, such as prismatic, length n.
        travel: Ratio of actual to desired travel of each joint, shape (n,); NaN: it should or may rest.
        terms: RMS over ticks and joints of each term of the efforts, divided by the limits; empty: not asked for.
    """

    controller: str
    time: Array
    tip_error: Array
    joint_error: Array
    effort_share: Array
    work: float
    note: str = ""
    kinds: tuple[str, ...] = ()
    travel: Array = field(default_factory=lambda: np.zeros(0))
    terms: Mapping[str, float] = field(default_factory=dict)

    @property
    def saturated(self) -> float:
        """Share of the ticks at which at least one joint exerted its effort limit."""
        return float((np.abs(self.effort_share) >= 1.0).any(axis=1).mean())


@dataclass(frozen=True)
class Failure:
    """A controller that could not be simulated to the end.

    Attributes:
        controller: Name of the controller, as it was given.
        reason: Why.
    """

    controller: str
    reason: str


def simulated_plant(model: RobotModel, step: float, actuators: str | None = None,
                    world: str | None = None, driver: str | None = None, described: RobotModel | None = None
                    ) -> PlantModel:
    """Return the simulated robot.

    Args:
        model: Its bodies.
        step: Time step [s].
        actuators: File of actuators and friction, or its name in config/; None: ideal sources of effort.
        world: File of surfaces; None: there are no surfaces.
        driver: Name of the driver, or its file; None: drives get commands directly.
        described: The robot as the driver knows it; None: ``model``.

    Raises:
        InputError: There is no such file, or it does not fit the robot; or the step is out of range.
    """
    surfaces = read_world(world, model) if world else None
    settings = HardwareSettings.named(actuators or "")
    friction = settings.joint_friction(model)
    bound = Driver(DRIVERS.load(driver), described or model, friction) if driver else None
    return PlantModel.from_description(model, step, settings.joint_actuators(model), friction, world=surfaces,
                                       driver=bound)


def comparable(is_elastic: bool = False) -> tuple[str, ...]:
    """Return installed controllers that follow joints or poses without a file, and those that cannot be imported.

    Args:
        is_elastic: Whether the robot has elastic joints; otherwise laws for such joints are left out.
    """
    return tuple(name for name in controller_names() if _follows_a_motion(name, is_elastic))


def perform(
    robot: Robot, controller: str, motion: JointTrajectory, plant: PlantModel | None = None,
    period: float = DEFAULT_PERIOD, rest: float = 0.3, position_noise: float = 0.0,
    velocity_noise: float = 0.0, seed: int = 0, engine: SimulatedRobot | None = None,
    signals: Mapping[str, Any] | None = None, parameters: Parameters | None = None, terms: bool = False,
) -> Performance:
    """Simulate a controller.

    A controller that follows poses receives the poses of the tip link in the motion.

    Args:
        robot: The controller's model of the robot, see `PlantModel.known_to`.
        controller: Name of the controller, as in the registry.
        motion: Motion of the joints.
        plant: The simulated robot; None: the same as the controller's model.
        period: Control period [s].
        rest: How long the end of the motion is held [s].
        position_noise: Standard deviation of measured positions [rad or m].
        velocity_noise: Standard deviation of measured velocities [rad/s or m/s].
        seed: Seed of the noise.
        engine: Steps the robot instead of the compiled plant; None: the compiled plant does.
        signals: Scripted inputs of the controller by name.
        parameters: Parameters of the controller; None: the defaults for the control period.
        terms: Whether to evaluate the terms of the efforts.

    Raises:
        InputError: The controller follows neither joints nor poses, or an argument is out of range.
        PluginError: No controller has that name, or it fails.
        SimulationError: The state became infinite or NaN.
    """
    timed = (robot if plant is None else plant.known_to(robot)).with_timing(period)
    law = make_controller(controller, timed, parameters)
    if law.follows not in (JointReference, TipReference):
        raise InputError(f"compare: expected controllers that follow joints or poses, received '{controller}'")
    loop = ClosedLoop(law, plant, period, engine)
    start = motion.sample(motion.start_time).q
    scenario = loop.scenario([motion] if law.follows is JointReference else [], motion.end_time + rest, q=start,
                             position_noise=position_noise, velocity_noise=velocity_noise, seed=seed, signals=signals)
    times = scenario.clocks[:, 0]
    poses = tip_references(robot, motion, times)
    if law.follows is TipReference:
        scenario = replace(scenario, references=poses)
    done = loop.run(scenario, terms=terms)
    tip = robot.dynamics().batch.forward_kinematics(done.q)[:, :3, 3]
    desired = np.stack([motion.sample(time).q for time in times.tolist()])
    notes = [done.note] if done.note else []
    if isinstance(law, Law) and not law.senses:  # laws for elastic joints check themselves
        factor = stable_factor(law, law.parameters, law.robot.timing, checked_positions(robot))
        notes += [stability(controller, factor, law.robot.timing)] if factor < 1.0 else []
    work = period * float(np.abs(done.effort * done.v).sum())
    wanted = np.ptp(desired, axis=0)
    if law.follows is TipReference:  # such a law may use other joint positions
        wanted[~loop.plant.friction.has_dry] = 0.0
    travel = np.ptp(done.q, axis=0) / np.where(wanted > 0.0, wanted, np.nan)
    return Performance(controller, times, np.linalg.norm(poses.position - tip, axis=1), desired - done.q,
                       done.effort / robot.model.effort_limit, work, "\n".join(notes),
                       tuple(joint.kind for joint in robot.model.leaders), travel,
                       {name: rms(efforts / robot.model.effort_limit) for name, efforts in done.terms.items()})


def compare(names: Sequence[str], simulate: Callable[[str], Performance]) -> list[Performance | Failure]:
    """Simulate controllers one after the other; continue after failures.

    Args:
        names: Names of the controllers.
        simulate: Simulates the controller of a name, see `perform`.
    """
    results: list[Performance | Failure] = []
    for name in names:
        try:
            results.append(simulate(name))
        except RobodynError as error:
            results.append(Failure(name, error_text(error)))
    return results


def _follows_a_motion(name: str, is_elastic: bool) -> bool:
    try:
        kind = load_controller(name)
        return (kind.follows in (JointReference, TipReference) and not needs_file(kind)
                and (is_elastic or not kind.for_elastic_joints))
    except PluginError:
        return True  # the table will say why it cannot be imported


def rms(values: Array) -> float:
    """Return the root of the mean square of an array."""
    return float(np.sqrt(np.mean(values**2)))
