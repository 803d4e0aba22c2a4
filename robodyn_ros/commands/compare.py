# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""``robodyn compare``: compares controllers on the same robot and motion, as a table and a picture."""

from __future__ import annotations

import sys
from argparse import Namespace
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from robodyn_ros.actuation.configuration import HardwareSettings
from robodyn_ros.actuation.driver_profile import DRIVERS
from robodyn_ros.base.errors import InputError, PluginError, RobodynError, error_text
from robodyn_ros.base.optional_packages import is_installed, missing_message
from robodyn_ros.base.text_tables import side_by_side
from robodyn_ros.base.timing import DEFAULT_PERIOD
from robodyn_ros.commands.law_parameters import given_parameters
from robodyn_ros.commands.options import named_controllers
from robodyn_ros.commands.signal_files import signals_of_words
from robodyn_ros.commands.simulation_setup import check_surroundings
from robodyn_ros.commands.trajectory_files import read_motion
from robodyn_ros.control.contract.controller import JointReference, Law
from robodyn_ros.control.contract.law_inputs import state_form
from robodyn_ros.control.contract.parameters import Parameters
from robodyn_ros.control.default_gains import sampled_positions
from robodyn_ros.control.gains.margin import stability, stable_factor
from robodyn_ros.control.gains.sampled_loop import CHECKED_CONFIGURATIONS
from robodyn_ros.control.plugins.registry import controller_names, load_controller, make_controller, needs_file
from robodyn_ros.control.references.joint_trajectory import JointTrajectory
from robodyn_ros.control.references.tip_reference import TipReference
from robodyn_ros.description.model import Array, RobotModel
from robodyn_ros.robot import Robot
from robodyn_ros.simulation.driver import Driver
from robodyn_ros.simulation.engine import Engine, SimulatedRobot
from robodyn_ros.simulation.model_perturbations import with_mass_error
from robodyn_ros.simulation.mujoco_plant import MujocoPlant
from robodyn_ros.simulation.plant_model import PlantModel
from robodyn_ros.simulation.rollout import ClosedLoop
from robodyn_ros.simulation.standard_motion import excursion, tip_references
from robodyn_ros.simulation.world_file import read_world

STUCK = 0.05
"""A joint that moves less than this share of its motion counts as stuck, for example by friction."""


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


def simulator(model: RobotModel, start: Array, options: Namespace, described: RobotModel | None = None
              ) -> tuple[PlantModel, SimulatedRobot | None]:
    """Return the simulated robot, and an engine that steps it instead of the compiled plant, if chosen.

    Args:
        model: The robot's bodies.
        start: Joint positions at the start, shape (n,) [rad or m].
        options: Options of the command line: step, actuators, world, driver, engine.
        described: The robot as a driver knows it; None: ``model``.

    Raises:
        InputError: A file does not exist or does not fit the robot, a contact point starts inside a surface, a value
            is out of range, the world is for another engine, or MuJoCo is not installed.
    """
    check_surroundings(options.engine, options.world)
    plant = simulated_plant(model, options.step, options.actuators, options.world, options.driver, described)
    plant.check_start(start)
    if options.engine == Engine.ROBODYN:
        warn_of_springs(plant)
        return plant, None
    return plant, MujocoPlant.from_plant(plant)


def warn_of_springs(plant: PlantModel) -> None:
    """Print a warning if a spring of the simulated robot oscillates too fast for the step."""
    if doubt := plant.unresolved_spring():
        print(f"robodyn: warning: {doubt}", file=sys.stderr)


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
        factor = stable_factor(law, law.parameters, law.robot.timing, sampled_positions(robot)[:CHECKED_CONFIGURATIONS])
        notes += [stability(controller, factor, law.robot.timing)] if factor < 1.0 else []
    work = period * float(np.abs(done.effort * done.v).sum())
    wanted = np.ptp(desired, axis=0)
    if law.follows is TipReference:  # such a law may use other joint positions
        wanted[~loop.plant.friction.has_dry] = 0.0
    travel = np.ptp(done.q, axis=0) / np.where(wanted > 0.0, wanted, np.nan)
    return Performance(controller, times, np.linalg.norm(poses.position - tip, axis=1), desired - done.q,
                       done.effort / robot.model.effort_limit, work, "\n".join(notes),
                       tuple(joint.kind for joint in robot.model.leaders), travel,
                       {name: _rms(efforts / robot.model.effort_limit) for name, efforts in done.terms.items()})


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
            f"{scale * _rms(values(one)):9.3f} {scale * np.abs(values(one)).max():9.3f}" for one in done)]

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
        cells = [f"{1e3 * _rms(one.joint_error[:, joint]):.3f}{' stuck' * bool(one.travel[joint] < STUCK)}"
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


def _rms(values: Array) -> float:
    return float(np.sqrt(np.mean(values**2)))


def plot(performances: Sequence[Performance], path: str | Path, title: str) -> None:
    """Draw tip errors and efforts over time, and the RMS of both, work and saturation, into a PNG file.

    The controllers are in the order of their tip errors.

    Args:
        performances: Results of the controllers.
        path: Path of the picture; its folder must exist.
        title: Heading of the picture.
    """
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    order = sorted(performances, key=lambda one: float(np.sqrt(np.mean(one.tip_error**2))))
    rows = max(len(order), 4)
    figure = Figure(figsize=(13.0, 4.2 + 0.28 * rows), layout="constrained")
    FigureCanvasAgg(figure)
    figure.suptitle(title)
    grid = figure.add_gridspec(2, 4, height_ratios=[3.2, 0.28 * rows + 0.4])
    errors, efforts = figure.add_subplot(grid[0, :2]), figure.add_subplot(grid[0, 2:])
    colors = [f"tab:{name}" for name in ("blue", "orange", "green", "red", "purple", "brown")]
    # Only the best and the worst have colours and names, because many more lines could not be distinguished.
    count = len(order) if len(order) <= len(colors) else 3
    named = dict(zip([*order[:count], *order[count:][-3:]], colors, strict=False))
    for one in [*(one for one in order if one not in named), *named]:
        color = named.get(one, "lightgrey")
        label = one.controller if one in named else None
        errors.plot(one.time, 1e3 * one.tip_error, color=color, linewidth=1.2, label=label)
        efforts.plot(one.time, 1e2 * np.abs(one.effort_share).max(axis=1), color=color, linewidth=1.2)
    errors.set(xlabel="time [s]", ylabel="tip error [mm]", yscale="symlog")
    errors.set_ylim(bottom=0.0)
    efforts.set(xlabel="time [s]", ylabel="greatest effort [% of limit]")
    handles, labels = errors.get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=6, fontsize="small",
                  title="" if len(named) == len(order) else "smallest and greatest tip errors; the others are grey")
    places = np.arange(len(order))
    for column, (label, values) in enumerate((
        ("RMS tip error [mm]", [1e3 * np.sqrt(np.mean(one.tip_error**2)) for one in order]),
        ("RMS effort [% of limit]", [1e2 * np.sqrt(np.mean(one.effort_share**2)) for one in order]),
        ("work [J]", [one.work for one in order]),
        ("saturated [% of time]", [1e2 * one.saturated for one in order]),
    )):
        axis = figure.add_subplot(grid[1, column])
        # Dots: a bar has no length on a logarithmic axis.
        axis.plot(values, places, "o", color="tab:blue", clip_on=False, zorder=3)
        if column == 0 and min(values) > 0.0:
            axis.set_xscale("log")
        else:
            axis.set_xlim(0.0, 1.1 * max(*values, 1.0))
        axis.set_yticks(places, [one.controller for one in order] if column == 0 else [""] * len(order),
                        fontsize="small")
        axis.set_ylim(len(order) - 0.5, -0.5)
        axis.grid(alpha=0.4)
        axis.set_xlabel(label)
    figure.savefig(path, dpi=100)


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
    plant, engine = simulator(with_mass_error(robot.model, options.mass_error), motion.sample(motion.start_time).q,
                              options, robot.model)
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
        plot(performances, picture, title)
    except ValueError as error:  # Matplotlib does not know the format
        raise InputError(f"compare: output: {error}") from None
    print(f"written: {picture}")
    return 1 if failures else 0


def _follows_a_motion(name: str, is_elastic: bool) -> bool:
    try:
        kind = load_controller(name)
        return (kind.follows in (JointReference, TipReference) and not needs_file(kind)
                and (is_elastic or not kind.for_elastic_joints))
    except PluginError:
        return True  # the table will say why it cannot be imported
