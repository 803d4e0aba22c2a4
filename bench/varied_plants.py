# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Closed loops whose plants differ from robot to robot, compared with the same loop with one plant built in."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from functools import partial
from time import process_time
from unittest.mock import patch

import numpy as np

from bench.closed_loop import D, P, Swing
from bench.plant import START, STEP
from bench.report import RATIO_HEAD, Section, ratio_cells
from bench.timing import Comparison, compare
from robodyn_ros import Robot
from robodyn_ros.actuation.actuators import Actuators
from robodyn_ros.actuation.dc_motor import DCMotor
from robodyn_ros.actuation.drive_limits import DriveLimits
from robodyn_ros.actuation.drive_losses import DriveLosses
from robodyn_ros.actuation.friction import Friction
from robodyn_ros.actuation.gear_train import GearTrain
from robodyn_ros.actuation.joint_actuators import JointActuators
from robodyn_ros.base.code_cache import VARIABLE
from robodyn_ros.base.errors import InputError
from robodyn_ros.control.laws.computed_torque import ComputedTorque, ComputedTorqueParameters
from robodyn_ros.description.resources import robot_file
from robodyn_ros.simulation.plant_model import PlantModel
from robodyn_ros.simulation.quantities import DELAY, NOISES, QUANTITIES
from robodyn_ros.simulation.quantities import START as START_QUANTITIES
from robodyn_ros.simulation.quantity_checks import check_varied
from robodyn_ros.simulation.rollout import ClosedLoop

ROBOTS = 10_000
NOISE = 1e-5
"""Standard deviation of the noise in both loops [rad, rad/s]: a law with noise shares no sines with its robot."""
LONGEST_DELAY = 2
"""Delay that the program for batches has room for [control periods]; the cost grows with it."""
AIM_TICK, AIM_COMPILE = 1.6, 2.0
N = len(START)
DRY = ("friction.coulomb", "friction.static", "friction.stribeck_velocity")


def plants() -> dict[str, PlantModel]:
    """Return arm7 with ideal sources, and with motors at their limits, gears with losses and dry friction."""
    ideal = PlantModel.from_description(Robot.from_urdf(robot_file("arm7")).model, STEP)
    motor = DCMotor(np.full(N, 0.3), np.full(N, 0.1), np.full(N, 2e-5), np.full(N, 1e-3))
    driven = JointActuators(Actuators(motor, GearTrain(np.full(N, 100.0))),
                            losses=DriveLosses(efficiency=np.full(N, 0.8), motor_damping=np.full(N, 1e-6)),
                            limits=DriveLimits(voltage_limit=np.full(N, 48.0), current_limit=np.full(N, 30.0)))
    friction = Friction(np.full(N, 0.5), np.full(N, 0.3), np.full(N, 0.4))
    return {"ideal sources": ideal, "motors and dry friction": replace(ideal, actuators=driven, friction=friction)}


def everything(plant: PlantModel) -> tuple[str, ...]:
    """Return all quantities that have an effect on a plant; dry friction only where the plant has it."""
    dry, found = plant.friction.has_dry.any(), []
    for name, quantity in QUANTITIES.items():
        if name not in START_QUANTITIES and (dry or name not in DRY):
            with suppress(InputError):  # it has no effect
                check_varied((name, *filter(None, [quantity.needs])), plant)
                found.append(name)
    return tuple(found)


def samples(plant: PlantModel, varied: tuple[str, ...], count: int, longest_delay: int = 0) -> dict[str, np.ndarray]:
    """Return the plant's own values for each robot: both loops then compute the same motion; the first one's delay."""
    own = {name: np.full(N, NOISE) if name in NOISES else QUANTITIES[name].nominal_value(plant) for name in varied}
    given = {name: np.array([value] * count) for name, value in own.items()}
    if DELAY in given:
        given[DELAY][0] = longest_delay
    return given


def loop(plant: PlantModel, varied: tuple[str, ...]) -> ClosedLoop:
    """Return arm7 under computed torque."""
    robot = Robot.from_urdf(robot_file("arm7"))
    law = ComputedTorque(robot, ComputedTorqueParameters(p=np.full(N, P), d=np.full(N, D)).for_robot(robot))
    return ClosedLoop(law, plant, STEP, varied=varied)


def ticks(plant: PlantModel, varied: tuple[str, ...], robots: int, duration: float, repetitions: int) -> Comparison:
    """Check that both loops end in the same state, then compare the seconds of a tick and robot."""
    ours, folded = loop(plant, varied), loop(plant, ())
    scenario = ours.scenario([Swing()], duration, q=START, position_noise=NOISE, velocity_noise=NOISE)
    gains = np.array([ours.packed()] * robots)
    found = ours.scores(scenario, gains, samples=samples(plant, varied, robots))
    np.testing.assert_allclose(found.q, folded.scores(scenario, gains).q, rtol=0.0, atol=1e-9)
    given = samples(plant, varied, robots, LONGEST_DELAY if robots > 1 else 0)  # which changes the motion of the one
    times = compare(partial(ours.scores, scenario, gains, samples=given), partial(folded.scores, scenario, gains),
                    repetitions)
    count = robots * len(scenario.clocks)
    return Comparison(times.ours / count, times.peer / count)


def compiling(plant: PlantModel, varied: tuple[str, ...], robots: int, repetitions: int) -> Comparison:
    """Compare the seconds of processor time from the law to the first scores, with no code kept on disk."""
    def once(chosen: tuple[str, ...]) -> float:
        made = loop(plant, chosen)
        scenario = made.scenario([Swing()], STEP, q=START, position_noise=NOISE, velocity_noise=NOISE)
        gains, given = np.array([made.packed()] * robots), samples(plant, chosen, robots, LONGEST_DELAY)
        begin = process_time()
        made.scores(scenario, gains, samples=given)
        return process_time() - begin

    with patch.dict(os.environ, {VARIABLE: "off"}):
        times = np.array([[once(varied), once(())] for _ in range(repetitions)])
    return Comparison(times[:, 0], times[:, 1])


def rows(robots: int = ROBOTS, repetitions: int = 7) -> Iterator[list[str]]:
    """Rows for each plant: a tick in a batch and alone, and compilation."""
    for name, plant in plants().items():
        varied = everything(plant)
        for what, result, unit, aim in (
            (f"tick, {robots:,} robots", ticks(plant, varied, robots, 0.1, repetitions), 1e9, AIM_TICK),
            ("tick, one robot", ticks(plant, varied, 1, 10.0, repetitions), 1e9, AIM_TICK),
            ("compilation for batches [ms]", compiling(plant, varied, 16, repetitions), 1e3, AIM_COMPILE),
            ("compilation for one robot [ms]", compiling(plant, varied, 1, repetitions), 1e3, AIM_COMPILE),
        ):
            ours, theirs = (np.median(times) * unit for times in (result.ours, result.peer))
            yield [name, str(len(varied)), what, f"{ours:.3g}", f"{theirs:.3g}",
                   *ratio_cells(result, aim)]


VARIED_PLANTS = Section(
    "Plants that differ",
    "arm7 under computed torque and with noise, steps and control periods of 1 ms: every quantity of the plant, its "
    "sensors and the law's own model is an input of the program. The peer is the same loop with all of them built in, "
    f"which has neither encoders nor delays (up to {LONGEST_DELAY} control periods here). Time of a tick and robot "
    "[ns] on one core; the compilation is processor time with no code kept on disk.",
    ("plant", "varied", "", "varied [ns]", "built in [ns]", *RATIO_HEAD),
    rows,
)
