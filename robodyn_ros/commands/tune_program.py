"""``robodyn tune``: search gains for a robot, show and write down what was found."""

from __future__ import annotations

from argparse import Namespace
from dataclasses import replace

from robodyn_ros.commands.progress import Progress
from robodyn_ros.commands.tune import Generation, tune
from robodyn_ros.commands.tune_report import gains_table, parameter_file, plot_search, tracking_before_and_after
from robodyn_ros.control.controller import JointReference
from robodyn_ros.control.registry import load_controller, make_controller
from robodyn_ros.control.trajectories.tip_reference import TipReference
from robodyn_ros.errors import InputError
from robodyn_ros.robot import Robot
from robodyn_ros.simulation.plant_model import PlantModel
from robodyn_ros.simulation.rollout import ClosedLoop
from robodyn_ros.simulation.test_motion import excursion, offset_start, tip_references

_REST = 0.3
"""How long the end of the motion is held [s]."""


def tune_robot(robot: Robot, options: Namespace) -> int:
    """Search, print tables, write the parameters and two pictures.

    Args:
        robot: The robot.
        options: Of the command line, see ``robodyn tune --help``.

    Returns:
        The exit code, 0.

    Raises:
        InputError: An option has no meaning, or the controller follows something else than joints or poses.
        PluginError: No controller is called so.
        OSError: The output cannot be written.
    """
    follows = load_controller(options.controller).follows
    if follows not in (JointReference, TipReference):
        raise InputError(f"tune: expected a controller that follows joints or poses, received '{options.controller}'")
    options.output.mkdir(parents=True, exist_ok=True)
    loop = ClosedLoop(make_controller(options.controller, robot),
                      PlantModel.from_description(robot.model, options.step), options.period)
    motion = excursion(robot)
    scenario = loop.scenario([motion] if follows is JointReference else [], motion.end_time + _REST,
                             q=offset_start(robot, motion.sample(0.0).q), position_noise=options.position_noise,
                             velocity_noise=options.velocity_noise, seed=options.seed)
    if follows is TipReference:
        scenario = replace(scenario, references=tip_references(robot, motion, scenario.clocks[:, 0]))
    progress = Progress(options.generations, "generations")

    def show(generation: Generation) -> None:
        progress.show(generation.number, f"best cost {generation.best:.6g}")

    found = tune(loop, scenario, options.gains, span=options.span, smoothness=options.smoothness,
                 population=options.population, generations=options.generations, seed=options.seed,
                 threads=options.threads, on_generation=show)
    progress.end()
    before, after = loop.run(scenario, found.before), loop.run(scenario, found.after)
    tracking = tracking_before_and_after(before, after)
    how = (f"{options.controller} on '{robot.name}': cost {found.cost_before:.4g} before, {found.cost_after:.4g} after "
           f"{found.rollouts} rollouts of {len(scenario.clocks)} control periods of {options.period:g} s")
    print(f"\n{how}\n\n{gains_table(found, robot)}\n\nTracking error (desired minus true position):\n\n"
          f"{tracking.table()}")
    files = [options.output / name for name in ("parameters.yaml", "search.png", "tracking.png")]
    files[0].write_text(parameter_file(found, robot, options.controller, f"Found by robodyn tune, seed {options.seed}: "
                                       f"{how}."))
    plot_search(found, before, after, files[1], f"{options.controller} on {robot.name}")
    tracking.plot(files[2], f"{options.controller} on {robot.name}: before and after")
    print("\nwritten: " + ", ".join(map(str, files)))
    return 0
