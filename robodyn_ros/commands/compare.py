# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""``robodyn compare``: compares controllers on the same robot and motion, as a table and a picture."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from robodyn_ros.base.errors import InputError
from robodyn_ros.base.optional_packages import is_installed, missing_message
from robodyn_ros.base.text_tables import side_by_side
from robodyn_ros.commands.law_parameters import given_parameters
from robodyn_ros.commands.options import named_controllers, warn
from robodyn_ros.commands.signal_files import signals_of_words
from robodyn_ros.commands.simulation_setup import check_surroundings
from robodyn_ros.commands.trajectory_files import read_motion
from robodyn_ros.control.contract.law_inputs import state_form
from robodyn_ros.control.plugins.registry import load_controller
from robodyn_ros.description.model import Array
from robodyn_ros.robot import Robot
from robodyn_ros.simulation.engine import Engine
from robodyn_ros.simulation.model_perturbations import with_mass_error
from robodyn_ros.simulation.mujoco_plant import MujocoPlant
from robodyn_ros.simulation.plant_model import PlantModel
from robodyn_ros.simulation.standard_motion import excursion
from robodyn_ros.toolbox.plots.performance_figure import save_performances
from robodyn_ros.toolbox.study.performance import (
    Failure,
    Performance,
    comparable,
    compare,
    perform,
    rms,
    simulated_plant,
)

STUCK = 0.05
"""A joint that moves less than this share of its motion counts as stuck, for example by friction."""


def warn_of_springs(plant: PlantModel) -> None:
    """Print a warning if a spring of the simulated robot oscillates too fast for the step."""
    if doubt := plant.elastic.unresolved_mode():
        warn(doubt)


def table(results: Sequence[Performance | Failure]) -> str:
    """Return a table with one line per controller: its errors, efforts and work, or why it failed.

    Errors of revolute and prismatic joints have separate columns. Notes below list controllers that ran as Python code
    or oscillate, and joints that stood still.
    """
    done = [one for one in results if isinstance(one, Performance)]
    slides = np.array([kind == "prismatic" for kind in done[0].kinds]) if done and done[0].kinds else np.zeros(1, bool)
    joints = [(title, ~slides if title.endswith("mrad]") else slides) for title, there in (
        ("joints [mrad]", not slides.all()), ("joints [mm]", slides.any())) if there]
    def errors(title: str, scale: float, values: Callable[[Performance], Array]) -> list[str]:
        return [f"{title:^19}", f"{'RMS':>9} {'worst':>9}", *(
            f"{scale * rms(values(one)):9.3f} {scale * np.abs(values(one)).max():9.3f}" for one in done)]

    def of_joints(one: Performance, chosen: Any) -> Array:
        return one.joint_error[:, chosen] if len(chosen) == one.joint_error.shape[1] else one.joint_error

    lines = side_by_side(["", "controller", *(one.controller for one in done)], [
        errors("tip error [mm]", 1e3, lambda one: one.tip_error),
        *(errors(title, 1e3, partial(of_joints, chosen=chosen)) for title, chosen in joints),
        errors("effort [% of limit]", 1e2, lambda one: one.effort_share),
        [f"{'saturated':>9}", f"{'[% time]':>9}", *(f"{100.0 * one.saturated:9.2f}" for one in done)],
        [f"{'work':>8}", f"{'[J]':>8}", *(f"{one.work:8.2f}" for one in done)]])
    lines += [f"{one.controller}  failed: {one.reason}" for one in results if isinstance(one, Failure)]
    return "\n".join(lines + [one.note for one in done if one.note])


def stuck_joints(performances: Sequence[Performance], names: Sequence[str]) -> str:
    """Return the joints that should have moved but stood still, with the laws, unless under all of them."""
    texts = []
    for joint, name in enumerate(names):
        laws = [one.controller for one in performances if one.travel[joint] < STUCK]
        if laws:
            texts.append(name if len(laws) == len(performances) else f"{name} ({', '.join(laws)})")
    return ", ".join(texts)


def joint_table(results: Sequence[Performance | Failure], names: Sequence[str]) -> str:
    """Return a table with one line per joint: RMS error under each controller [mrad or mm], and whether it stood still.

    Args:
        results: Of the controllers.
        names: Of the joints.
    """
    done = [one for one in results if isinstance(one, Performance)]
    width = max(len("RMS error"), *map(len, names))
    units = ["mm" if kind == "prismatic" else "mrad" for kind in done[0].kinds]
    blocks = []
    for one in done:
        cells = [f"{1e3 * rms(one.joint_error[:, joint]):.3f}{' stuck' * bool(one.travel[joint] < STUCK)}"
                 for joint in range(len(names))]
        column = max(12, len(one.controller))
        blocks.append([f"{cell:>{column}}" for cell in (one.controller, *cells)])
    return "\n".join(side_by_side([f"{name:<{width}}  {unit:<4}" for name, unit in zip(
        ("RMS error", *names), ("unit", *units), strict=True)], blocks))


def term_table(results: Sequence[Performance | Failure]) -> str:
    """Return a table with one line per controller: RMS of each term of its efforts [% of the limits]."""
    done = [one for one in results if isinstance(one, Performance)]
    names = list(dict.fromkeys(name for one in done for name in one.terms))
    blocks = [[f"{name:>9}", *(f"{1e2 * one.terms[name]:{max(9, len(name))}.3f}" if name in one.terms else ""
                               for one in done)] for name in names]
    return "\n".join(side_by_side(["effort [% of limit], RMS", *(one.controller for one in done)], blocks))


def compare_robot(robot: Robot, options: Namespace) -> int:
    """Simulate each controller, print the table, draw the picture.

    Args:
        robot: The robot.
        options: Options of the command line, see ``robodyn compare --help``.

    Returns:
        The exit code: 0, or 1 if a controller could not be simulated to the end.

    Raises:
        InputError: An option is out of range, or no controller could be simulated.
        OSError: The picture cannot be written.
    """
    motion = read_motion(options.trajectory, robot)[1] if options.trajectory else excursion(robot)
    check_surroundings(options.engine, options.world)
    plant = simulated_plant(with_mass_error(robot.model, options.mass_error), options.step, options.actuators,
                            options.world, options.driver, robot.model)
    plant.check_start(motion.sample(motion.start_time).q)
    engine = None if options.engine == Engine.ROBODYN else MujocoPlant.from_plant(plant)
    if engine is None:
        warn_of_springs(plant)
    robot = plant.known_to(robot.ignoring(*options.law_ignores))
    names = named_controllers(options) or named_controllers(options, comparable(robot.springs is not None))
    signals = signals_of_words(options.signal, {name: state_form(load_controller(name), robot.n) for name in names}
                               ) if options.signal else {}
    parameters = given_parameters(options.set, names, robot.with_timing(options.period), options.params_file)
    results = compare(names, lambda name: perform(
        robot, name, motion, plant, options.period, position_noise=options.position_noise,
        velocity_noise=options.velocity_noise, seed=options.seed, engine=engine, signals=signals.get(name),
        parameters=parameters.get(name), terms=options.terms))
    performances = [one for one in results if isinstance(one, Performance)]
    failures = [one for one in results if isinstance(one, Failure)]
    if not performances:
        raise InputError("compare: no controller could be simulated: "
                         + "; ".join(f"{one.controller}: {one.reason}" for one in failures))
    title = (f"{robot.name}: {options.trajectory or 'test motion'} of {motion.end_time:.3g} s, "
             f"control period {1e3 * options.period:g} ms, simulated masses {options.mass_error:+g} %"
             + (f", engine {options.engine}" if engine is not None else "")
             + (f", world {Path(options.world).name}" if options.world else ""))
    print(f"{title}\n{table(results)}")
    if still := stuck_joints(performances, robot.joint_names):
        print(f"stood still, as by dry friction: {still}")
    if options.terms:
        print(f"\n{term_table(results)}")
    if options.per_joint:
        print(f"\n{joint_table(results, robot.joint_names)}")
    if not is_installed("matplotlib"):
        print(f"no picture: {missing_message('matplotlib')}")
        return 1 if failures else 0
    picture = options.output if options.output.suffix else options.output.with_suffix(".png")
    picture.parent.mkdir(parents=True, exist_ok=True)
    try:
        save_performances(performances, picture, title)
    except ValueError as error:  # Matplotlib does not know the format
        raise InputError(f"compare: output: {error}") from None
    print(f"written: {picture}")
    return 1 if failures else 0
