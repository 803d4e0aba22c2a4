"""``robodyn compare``: several control laws on the same robot and motion, as a table and a picture."""

from __future__ import annotations

from argparse import Namespace

from robodyn_ros.commands.compare import comparable, perform, plot, table
from robodyn_ros.errors import InputError, SimulationError
from robodyn_ros.robot import Robot
from robodyn_ros.simulation.model_perturbations import with_mass_error
from robodyn_ros.simulation.plant_model import PlantModel
from robodyn_ros.simulation.test_motion import excursion


def compare_robot(robot: Robot, options: Namespace) -> int:
    """Simulate each law, print the table, draw the picture.

    Args:
        robot: The robot.
        options: Of the command line, see ``robodyn compare --help``.

    Returns:
        The exit code: 0, or 1 if a law could not be simulated to the end.

    Raises:
        InputError: An option has no meaning, or a controller follows neither joints nor poses.
        PluginError: No controller is called so.
        OSError: The picture cannot be written.
    """
    plant = PlantModel.from_description(with_mass_error(robot.model, options.mass_error), options.step)
    motion, performances, failures = excursion(robot), [], []
    for name in options.controllers or comparable():
        try:
            performances.append(perform(
                robot, name, motion, plant, options.period, position_noise=options.position_noise,
                velocity_noise=options.velocity_noise, seed=options.seed))
        except SimulationError as error:
            failures.append(f"{name}: {error}")
    what = (f"{robot.name}, {motion.end_time:g} s there, beyond and back, control period {options.period:g} s, masses "
            f"{options.mass_error:+g} %")
    print(what)
    if performances:
        print(table(performances))
        picture = options.output if options.output.suffix else options.output.with_suffix(".png")
        picture.parent.mkdir(parents=True, exist_ok=True)
        try:
            plot(performances, picture, what)
        except ValueError as error:  # Matplotlib knows no such format
            raise InputError(f"compare: output: {error}") from None
        print(f"written: {picture}")
    for failure in failures:
        print(f"failed: {failure}")
    return 1 if failures else 0
