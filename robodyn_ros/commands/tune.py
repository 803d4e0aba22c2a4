# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""``robodyn tune``: search gains for a robot, print and draw the result, and write it into a file of parameters.

The search is differential evolution over thousands of rollouts with different gains.
"""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np
import yaml
from scipy.optimize import differential_evolution

from robodyn_ros.base.errors import InputError
from robodyn_ros.base.optional_packages import is_installed, missing_message
from robodyn_ros.base.text_tables import aligned
from robodyn_ros.commands.compare import simulator
from robodyn_ros.commands.law_parameters import given_parameters
from robodyn_ros.commands.options import named_controllers
from robodyn_ros.commands.progress import Progress
from robodyn_ros.commands.trajectory_files import read_motion
from robodyn_ros.control.contract.controller import JointReference
from robodyn_ros.control.contract.parameters import FlatParameter
from robodyn_ros.control.plugins.registry import load_controller, make_controller, prefix
from robodyn_ros.control.references.joint_trajectory import JointTrajectory
from robodyn_ros.control.references.tip_reference import TipReference
from robodyn_ros.description.model import Array
from robodyn_ros.robot import Robot
from robodyn_ros.simulation.rollout import ClosedLoop, RolloutClient
from robodyn_ros.simulation.scenario import Scenario
from robodyn_ros.simulation.score import Rollout, Score
from robodyn_ros.simulation.standard_motion import excursion, offset_start, tracking_scenario
from robodyn_ros.simulation.tracking import TrackingRecord
from robodyn_ros.toolbox.plots.motion import Curves, MotionCurves, energies
from robodyn_ros.toolbox.study.gain_space import GainSpace, Tuning, searched_fields
from robodyn_ros.toolbox.study.metrics import metrics

_NO_COST = 1e12  # cost of a diverged robot: above any other, but finite for the search


class Generation(NamedTuple):
    """Progress of a search.

    Attributes:
        number: Number of generations so far.
        best: Lowest cost so far.
    """

    number: int
    best: float


def tune(loop: ClosedLoop, scenario: Scenario, fields: Sequence[str] | None = None, *, span: float = 10.0,
         smoothness: float = 0.01, population: int = 128, generations: int = 40, seed: int = 0, threads: int = 1,
         on_generation: Callable[[Generation], None] = lambda _: None, client: RolloutClient | None = None) -> Tuning:
    """Search for the gains with the lowest cost in a scenario.

    The cost is the root of the mean of the squared RMS tracking errors over their elements [rad or m], plus
    ``smoothness`` times the same mean of the efforts' RMS changes from tick to tick, as shares of the effort limits.
    Each number is searched on a logarithmic scale between its value divided by ``span`` and its value times ``span``,
    within its declared range. The first generation contains the controller's own parameters, so that the result is
    never worse.

    Args:
        loop: Controller and robot.
        scenario: The task; velocity noise keeps the gains from growing without limit.
        fields: Parameter fields to search; None: the controller's fields in `GAINS`, or else every positive per-joint
            field that is not an effort.
        span: Factor by which numbers may grow or shrink.
        smoothness: Tracking error with the cost of efforts that change by their limits at each tick [rad or m].
        population: Number of robots in a generation.
        generations: Number of generations.
        seed: Seed of the search.
        threads: Number of threads that share the rollouts.
        on_generation: Called after each generation.
        client: A cluster that computes the rollouts; None: threads of this machine.

    Returns:
        The best parameters and the course of the search. The same arguments give the same result.

    Raises:
        InputError: The controller has no such field, or it is not positive; a number is out of range.
    """
    for name, value, least in (("population", population, 5), ("generations", generations, 1), ("threads", threads, 1),
                               ("seed", seed, 0), ("smoothness", smoothness, 0.0)):
        if not value >= least:
            raise InputError(f"tune: {name}: expected {least:g} or more, received {value}")
    if not span > 1.0:
        raise InputError(f"tune: span: expected a factor above 1, received {span}")
    space = GainSpace(loop.controller.parameters, searched_fields(loop.controller.parameters, fields), np.log(span))
    limit = loop.robot.model.effort_limit
    own = loop.scores(scenario, [loop.controller.parameters])
    scale = np.where(np.isfinite(limit) & (limit > 0.0), limit, np.maximum(own.worst_effort[0], 1e-9))
    costs: list[float] = []

    def evaluate(exponents: Array) -> Array:
        packed = loop.packed_rows(space.parameters(one) for one in exponents.T)
        accepted, cost = ~np.isnan(packed).any(axis=1), np.full(len(packed), _NO_COST)
        if accepted.any():
            scores = loop.scores(scenario, packed[accepted], threads=threads if client is None else None, client=client)
            cost[accepted] = _cost(scores, scale, smoothness)
        costs.append(min(float(cost.min()), *costs[-1:], _NO_COST))
        on_generation(Generation(len(costs), costs[-1]))
        return cost

    rng = np.random.default_rng(seed)
    first = rng.uniform(-space.reach, space.reach, (population, space.size))
    first[0] = 0.0
    # One call evaluates a generation.
    found = differential_evolution(evaluate, [(-space.reach, space.reach)] * space.size, init=first, seed=rng,
                                   maxiter=generations - 1, tol=0.0, polish=False, vectorized=True, updating="deferred")
    return space.tuning(found.x, lambda both: _cost(loop.scores(scenario, both), scale, smoothness).tolist(), costs,
                        population * len(costs))


def _cost(scores: Score, effort_scale: Array, smoothness: float) -> Array:
    """Costs of N robots, shape (N,)."""
    found = metrics(scores, effort_scale)
    cost = found["rms_error"] + smoothness * found["effort_change"]
    return np.where(np.isfinite(cost), np.minimum(cost, _NO_COST), _NO_COST)


def tune_robot(robot: Robot, options: Namespace, machine: Mapping[str, Any]) -> int:
    """Search the gains of each controller, print tables, write parameters and pictures.

    Args:
        robot: The robot.
        options: Options of the command line, see ``robodyn tune --help``.
        machine: Threads or cluster, for `tune`.

    Returns:
        The exit code, 0.

    Raises:
        InputError: An option is out of range, or the controller follows neither joints nor poses.
        PluginError: No controller has that name, or it fails.
        SimulationError: The motion diverges with the controller's own parameters.
        OSError: The output cannot be written.
    """
    names = named_controllers(options)
    for name in names:
        if load_controller(name).follows not in (JointReference, TipReference):
            raise InputError(f"tune: expected a controller that follows joints or poses, received '{name}'")
    motion = read_motion(options.trajectory, robot)[1] if options.trajectory else excursion(robot)
    plant, engine = simulator(robot.model, offset_start(robot, motion.sample(0.0).q), options)
    timed = plant.known_to(robot.ignoring(*options.law_ignores)).with_timing(options.period)
    parameters = given_parameters(options.set, names, timed, options.params_file)
    loops = {name: ClosedLoop(make_controller(name, timed, parameters.get(name)), plant, options.period, engine)
             for name in names}
    for loop in loops.values():
        searched_fields(loop.controller.parameters, options.gains)  # raises before the first search
    for name, loop in loops.items():
        folder = options.output / name.replace(":", ".") if len(names) > 1 else options.output
        folder.mkdir(parents=True, exist_ok=True)
        tune_controller(name, loop, motion, folder, options, machine)
    return 0


def tune_controller(name: str, loop: ClosedLoop, motion: JointTrajectory, folder: Path, options: Namespace,
                    machine: Mapping[str, Any]) -> None:
    """Search the gains of one controller, print tables, write the parameters and two pictures into a folder.

    Args:
        name: Name of the controller.
        loop: The controller and the simulated robot.
        motion: Motion to follow.
        folder: Folder for the results.
        options: As for `tune_robot`, with the same errors.
        machine: As there.
    """
    robot = loop.robot
    scenario = tracking_scenario(loop, motion, position_noise=options.position_noise,
                             velocity_noise=options.velocity_noise, seed=options.seed)
    begin = perf_counter()
    before = loop.run(scenario)
    if before.note:
        count = options.generations * options.population
        print(f"{before.note}\n{count} rollouts take about {count * (perf_counter() - begin) / 60.0:.1f} min")
    progress = Progress(options.generations, "generations")

    def show(generation: Generation) -> None:
        progress.show(generation.number, f"best cost {generation.best:.6g}")

    found = tune(loop, scenario, options.gains, span=options.span, smoothness=options.smoothness,
                 population=options.population, generations=options.generations, seed=options.seed,
                 on_generation=show, **machine)
    progress.end()
    after = loop.run(scenario, found.after)
    tracking = tracking_before_and_after(before, after)
    how = (f"{name} on '{robot.name}': cost {found.cost_before:.4g} before, {found.cost_after:.4g} after "
           f"{found.rollouts} rollouts of {len(scenario.clocks)} control periods of {options.period:g} s")
    print(f"\n{how}\n\n{gains_table(found, robot)}\n\nTracking error (desired minus true position):\n\n"
          f"{tracking.table()}")
    gains = folder / "parameters.yaml"
    gains.write_text(parameter_file(found, robot, name, f"Found by robodyn tune, seed {options.seed}: {how}."))
    if not is_installed("matplotlib"):
        print(f"\nwritten: {gains}; no pictures: {missing_message('matplotlib')}")
        return
    from robodyn_ros.toolbox.plots.motion_figure import save_motions

    search, tracked = folder / "search.png", folder / "tracking.png"
    plot_search(found, before, after, search, f"{name} on {robot.name}")
    save_motions([curves_of(before, robot, "before"), curves_of(after, robot, "after")], tracked,
                 f"{name} on {robot.name}: before and after the search")
    print(f"\nwritten: {gains}, {search}, {tracked}")


def searched(tuning: Tuning, robot: Robot) -> list[tuple[FlatParameter, FlatParameter]]:
    """Return the searched flat parameters, before and after."""
    rows = zip(tuning.before.flat(robot), tuning.after.flat(robot), strict=True)
    return [(before, after) for before, after in rows if before.field in tuning.fields]


def gains_table(tuning: Tuning, robot: Robot) -> str:
    """Return the gains before and after, as text."""
    rows = searched(tuning, robot)
    cells = [[f"{before.name} ", f"{before.unit}", f"{before.value:.6g}", f"{after.value:.6g}"]
             for before, after in rows]
    return "\n".join(aligned([["parameter ", "unit", "before", "after"], *cells], -10, 12, gap=" "))


def tracking_before_and_after(before: Rollout, after: Rollout) -> TrackingRecord:
    """Join both rollouts into one record for the table."""
    first, second = before.tracking(), after.tracking()
    gap = first.time[-1] + (first.time[1] - first.time[0] if len(first.time) > 1 else 0.0)
    return replace(first, time=np.concatenate([first.time, second.time + gap]),
                   desired=np.concatenate([first.desired, second.desired]),
                   measured=np.concatenate([first.measured, second.measured]),
                   controllers=["before"] * len(first.time) + ["after"] * len(second.time))


def curves_of(rollout: Rollout, robot: Robot, label: str) -> MotionCurves:
    """Return a rollout's curves for a figure, with the desired tip path if the law follows poses."""
    follows_joints = isinstance(rollout.reference, JointReference)
    time, batch = rollout.time, robot.dynamics().batch
    return MotionCurves(
        label, rollout.joint_names, rollout.units, [(label, float(time[0]), float(time[-1]))], Curves(time, rollout.q),
        Curves(time, rollout.reference.q) if follows_joints else None,
        Curves(time, rollout.reference.q - rollout.q) if follows_joints else None,
        Curves(time, rollout.effort), robot.model.effort_limit, energies=energies(robot, time, rollout.q, rollout.v),
        tip=Curves(time, batch.forward_kinematics(rollout.q)[:, :3, 3]),
        desired_tip=None if follows_joints else Curves(time, rollout.reference.position))


def plot_search(tuning: Tuning, before: Rollout, after: Rollout, path: str | Path, title: str) -> None:
    """Draw the cost by generation and the joints' RMS errors before and after into a PNG file.

    Args:
        tuning: Result of the search.
        before: Rollout with the parameters before.
        after: Rollout with the parameters after.
        path: Path of the picture; its folder must exist.
        title: Heading of the picture.
    """
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(10.0, 4.2), layout="constrained")
    FigureCanvasAgg(figure)
    figure.suptitle(title)
    costs, errors = figure.subplots(1, 2)
    costs.step(range(1, len(tuning.costs) + 1), tuning.costs, where="post", color="tab:blue", label="best so far")
    costs.axhline(tuning.cost_before, color="grey", linewidth=0.8, linestyle="--", label="before")
    costs.set(xlabel="generation", ylabel="cost")
    costs.set_ylim(bottom=0.0)
    costs.legend()
    record = before.tracking()
    places = np.arange(len(record.joint_names))
    for shift, rollout, color, label in ((-0.2, before, "grey", "before"), (0.2, after, "tab:blue", "after")):
        errors.bar(places + shift, 1e3 * rollout.score.rms_error[: len(places)], 0.4, color=color, label=label)
    errors.set_xticks(places, record.joint_names, rotation=30, ha="right", fontsize="small")
    errors.set_ylabel("RMS error [" + " or ".join(f"m{unit}" for unit in dict.fromkeys(record.units)) + "]")
    errors.legend()
    figure.savefig(path, dpi=110)


def parameter_file(tuning: Tuning, robot: Robot, controller: str, comment: str) -> str:
    """Return a YAML file of ROS parameters that selects the controller, with the gains found and all set values.

    Args:
        tuning: Result of the search.
        robot: The robot.
        controller: Name of the controller.
        comment: Comment at the top, one or more lines.
    """
    parameters: dict[str, Any] = {"controller": controller}
    defaults = {row.name: row.value for row in type(tuning.after)().flat(robot)}
    for after in tuning.after.flat(robot):
        if after.field not in tuning.fields and after.value == defaults[after.name]:
            continue
        *groups, leaf = f"{prefix(controller)}.{after.name}".split(".")
        table = parameters
        for group in groups:
            table = table.setdefault(group, {})
        table[leaf] = after.value
    text = yaml.safe_dump({"/**": {"ros__parameters": parameters}}, sort_keys=False)
    return "".join(f"# {line}\n" for line in comment.splitlines()) + text
