# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Study files: robot, laws, motions, and distributions of plant quantities and gains in YAML; see docs/study.md."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from robodyn_ros.base.bounded_files import MAX_YAML_BYTES, expand_user, read_file, read_yaml
from robodyn_ros.base.checks import Range
from robodyn_ros.base.common_fields import (
    DEFAULT_ROBOT,
    FILTER,
    LAW_IGNORES,
    PERIOD,
    POSITION_NOISE,
    SEED,
    STEP,
    VELOCITY_NOISE,
    filtered_name,
    ignored_parts,
)
from robodyn_ros.base.errors import InputError, shown, unknown
from robodyn_ros.base.fields import declare, declare_as, flat_items, section
from robodyn_ros.commands.compare import warn_of_springs
from robodyn_ros.commands.law_parameters import given_values
from robodyn_ros.commands.prepared_robot import prepared_robot
from robodyn_ros.commands.signal_files import read_signals
from robodyn_ros.commands.simulation_setup import check_surroundings
from robodyn_ros.commands.trajectory_files import read_motion
from robodyn_ros.control.contract.controller import JointReference
from robodyn_ros.control.contract.law_inputs import state_form
from robodyn_ros.control.contract.parameters import Parameters
from robodyn_ros.control.plugins.registry import load_controller, make_controller, prefix
from robodyn_ros.control.references.joint_trajectory import JointTrajectory
from robodyn_ros.control.references.tip_reference import TipReference
from robodyn_ros.robot import Robot
from robodyn_ros.simulation.engine import Engine
from robodyn_ros.simulation.standard_motion import excursion
from robodyn_ros.toolbox.study.distributions import Distribution, read_distribution
from robodyn_ros.toolbox.study.metrics import METRICS
from robodyn_ros.toolbox.study.performance import simulated_plant
from robodyn_ros.toolbox.study.quantity_axes import quantity_axes
from robodyn_ros.toolbox.study.study import Design, StudiedLaw, Study

TEST_MOTION = "test_motion"
"""Name of the motion that any robot can follow, see `standard_motion.excursion`."""

MAX_SAMPLES = 10_000_000
"""Limit of the samples of a study, each a row for each law and motion."""


@dataclass(frozen=True)
class StudySection:
    """The fields of a study."""

    laws: Any = declare(kind=object, description="names of laws; or by label, each with `controller`, `parameters` (a "
                        "file as `robodyn tune` writes, or values by name, such as `file: reach.yaml`), `gains` "
                        "(distributions by name, such as `p` or `gains.joint1.p`) and `signals` (scripted inputs by "
                        "name: numbers, a CSV file of times and values, or these as `value` with `period` and `delay` "
                        "[s]) and `ignores` (parts of the actuators that the law does not know: `rotors`, `friction`, "
                        "`springs`)")
    robot: Any = declare(DEFAULT_ROBOT, kind=object, description="a shipped robot, or a URDF file")
    complete: Any = declare(None, kind=object, description="how missing inertias are estimated, as `--complete` of "
                            "commands: `mass=35`, for example")
    tip_link: Any = declare(None, kind=object, description="the link whose errors and motions count where laws follow "
                            "poses; none: the tool frame of the longest arm")
    quantities: Any = declare(None, kind=object, description="distributions of what differs")
    samples: int = declare(256, minimum=1, maximum=MAX_SAMPLES, description="robots for each law and trajectory")
    design: str = declare(Design.SOBOL.value, choices=tuple(map(str, Design)), description="how the samples are "
                          "spread: `sobol`, `latin_hypercube` (both of SciPy), `random`")
    trajectories: Any = declare((TEST_MOTION,), kind=object, description="files of motions as for `robodyn compare "
                                "--trajectory`; each law follows each of them")
    fail: Any = declare(None, kind=object, description="greatest values of metrics; a sample beyond one has failed, as "
                        "one that diverges")
    actuators: Any = declare(None, kind=object, description="motors, gears and friction: [Motors and "
                             "gears](motors-and-gears.md)")
    engine: str = declare(Engine.ROBODYN.value, choices=tuple(map(str, Engine)), description="simulator of the bodies: "
                          "with `mujoco`, quantities of the robot are refused: [MuJoCo](mujoco.md)")
    driver: Any = declare(None, kind=object, description="driver of the arm, such as `ur`, or its file: "
                          "[Drivers of arms](drivers.md#drivers-of-arms)")
    world: Any = declare(None, kind=object, description="surfaces: [Touch: surfaces, a force sensor, and laws "
                         "that press](touch.md)")
    filter: str = declare_as(FILTER.renamed("filter", description="behind every law: `safety` keeps its efforts "
                                            "within the limits of the robot, `friction` compensates the friction of "
                                            "the drives, as `+safety` and `+friction` behind its name"))
    period: float = declare_as(PERIOD)
    step: float = declare_as(STEP)
    position_noise: float = declare_as(POSITION_NOISE)
    velocity_noise: float = declare_as(VELOCITY_NOISE)
    seed: int = declare_as(SEED.renamed("seed", description="Seed of the samples and of the noise"))


@dataclass(frozen=True)
class _LawSection:
    controller: Any = None
    parameters: Any = None
    gains: Any = None
    signals: Any = None
    ignores: Any = None


def read_study(path: str | Path) -> Study:
    """Read a study file. Paths in it are relative to its folder.

    Args:
        path: The file.

    Raises:
        InputError: The file cannot be read, a field is unknown, or a value does not fit; raised before any computation.
        PluginError: No law has that name.
        OSError: There is no such file.
    """
    path = expand_user(path)
    text = read_file(path, MAX_YAML_BYTES).decode("utf-8", "replace")
    return study_from_mapping(read_yaml(path), text, path)


class StudyOptions(NamedTuple):
    """Options of a command line; those for the laws override the fields of the laws in a study."""

    ignores: Sequence[str] = ()  # parts of the actuators that no law knows; empty: those in the study
    assignments: Sequence[str] = ()  # parameters, as for `given_values`
    params_file: str = ""  # file of parameters, as there
    trajectories: str = ""  # option that names the trajectories, for messages; empty: the study does


def study_from_mapping(content: Any, text: str, path: Path, options: StudyOptions | None = None) -> Study:
    """Create a study from the content of its file; errors as for `read_study`.

    Args:
        content: A mapping by field.
        text: The file.
        path: Its path, for messages and relative file names.
        options: What overrides the fields of the laws; None: nothing.
    """
    options = options or StudyOptions()
    where = str(path)
    found = section(StudySection, where, content)
    actuators, world = (None if name is None else _file(name, path.parent) for name in (found.actuators, found.world))
    file = prepared_robot(_file(found.robot, path.parent), str(found.complete or ""), actuators or "")
    robot = Robot.from_urdf(file, tip_link=found.tip_link)
    driver = None if found.driver is None else _file(found.driver, path.parent)
    check_surroundings(found.engine, world)
    plant = simulated_plant(robot.model, found.step, actuators, world, driver)
    if found.engine == Engine.ROBODYN:
        warn_of_springs(plant)
    robot = plant.known_to(robot)
    motions = dict(_motions(options.trajectories or f"{where}: trajectories:", found.trajectories, robot, path.parent))
    quantities = dict(quantity_axes(f"{where}: quantities", found.quantities, plant, motions.values()))
    study = Study(
        path=path.resolve(), text=text, robot=robot, plant=plant,
        laws=dict(_laws(where, found.laws, found.filter, robot.with_timing(found.period), path.parent,
                        options)),
        motions=motions, quantities=quantities, count=found.samples, design=Design(found.design),
        seed=found.seed, period=found.period, position_noise=found.position_noise,
        velocity_noise=found.velocity_noise, limits=_limits(f"{where}: fail", found.fail),
        engine=Engine(found.engine))
    _ = study.description(study.pairs[0]).loop  # raises if period, step or quantities do not fit each other
    return study


def law_parameters(file: Path, controller: str, robot: Robot, own: Parameters) -> Parameters:
    """Return the parameters of a law from a file of ROS parameters, such as `robodyn tune` writes.

    Args:
        file: The file.
        controller: Name of the law.
        robot: The robot.
        own: Parameters for values missing in the file.

    Raises:
        InputError: The file has no parameters of the law, or they do not fit.
    """
    content = read_yaml(file)
    try:
        table = content["/**"]["ros__parameters"][prefix(controller)]
        values = dict(flat_items(table))
    except (KeyError, TypeError, AttributeError):
        raise InputError(f"{file}: expected parameters of '{controller}' under /**: ros__parameters, as robodyn tune "
                         "writes them") from None
    try:
        return own.with_flat_values(robot, values)
    except InputError as error:
        raise InputError(f"{file}: {error}") from None


def _with_values(where: str, given: Mapping[str, Any], robot: Robot, own: Parameters, folder: Path) -> Parameters:
    """Return the parameters of a law with the values from the study itself; files are relative to its folder."""
    files = {name for name, field in own.declarations().items() if field.file}
    values = {name: _file(value, folder) if name in files else value for name, value in flat_items(given)}
    try:
        return own.with_flat_values(robot, values)
    except InputError as error:
        raise InputError(f"{where}: {error}") from None


def _laws(where: str, given: Any, filter_name: str, robot: Robot, folder: Path, options: StudyOptions
          ) -> Iterator[tuple[str, StudiedLaw]]:
    if isinstance(given, list):
        if len(set(map(str, given))) < len(given):
            raise InputError(f"{where}: laws: expected different names, received {shown(given)}")
        given = dict.fromkeys(map(str, given))
    if not isinstance(given, Mapping) or not given:
        raise InputError(f"{where}: laws: expected names of laws, received {shown(given)}")
    sections = {label: section(_LawSection, f"{where}: laws: {label}", values) for label, values in given.items()}
    names = {label: filtered_name(str(found.controller or label), filter_name) for label, found in sections.items()}
    overriding = given_values(options.assignments, list(names.values()), robot, options.params_file)
    for label, found in sections.items():
        place, name = f"{where}: laws: {label}", names[label]
        known = robot.ignoring(*(options.ignores or _ignored(f"{place}: ignores", found.ignores)))
        own = load_controller(name).Parameters()
        if isinstance(found.parameters, Mapping):
            own = _with_values(f"{place}: parameters", found.parameters, known, own, folder)
        elif found.parameters is not None:
            own = law_parameters(Path(_file(found.parameters, folder)), name, known, own)
        controller = make_controller(name, known, own.with_flat_values(known, overriding.get(name, {})))
        if controller.follows not in (JointReference, TipReference):
            raise InputError(f"{place}: expected a law that follows joints or poses, received '{name}'")
        signals = read_signals(f"{place}: signals", found.signals, state_form(type(controller), robot.n), folder)
        yield str(label), StudiedLaw(controller, name, dict(_gains(f"{place}: gains", found.gains, controller, known)),
                                     signals)


def _ignored(where: str, given: Any) -> tuple[str, ...]:
    names = [] if given is None else LAW_IGNORES.checked([given] if isinstance(given, str) else given, where)
    return ignored_parts(names)


def _gains(where: str, given: Any, controller: Any, robot: Robot) -> Iterator[tuple[str, Distribution]]:
    if given is None:
        return
    if not isinstance(given, Mapping):
        raise InputError(f"{where}: expected distributions by the name of the gain, received {shown(given)}")
    rows = [row for row in controller.parameters.flat(robot)
            if isinstance(row.value, float) and not row.structural]
    for name, value in given.items():
        chosen = [row for row in rows if name in (row.name, row.field)]
        if not chosen:
            known = [*dict.fromkeys(row.field for row in rows), *(row.name for row in rows)]
            raise InputError(f"{where}: {unknown('gain', name, known)}")
        for row in chosen:
            yield row.name, read_distribution(value, row.range, f"{where}: {name}")


def _motions(where: str, given: Any, robot: Robot, folder: Path) -> Iterator[tuple[str, JointTrajectory]]:
    if not isinstance(given, list | tuple) or not given or len(set(map(str, given))) < len(given):
        raise InputError(f"{where} expected a list of different files, or {TEST_MOTION}, received "
                         f"{shown(given)}")
    for name in map(str, given):
        if name == TEST_MOTION:
            yield name, excursion(robot)
        else:
            yield name, read_motion(folder / expand_user(name), robot, where)[1]


def _limits(where: str, given: Any) -> dict[str, float]:
    if given is None:
        return {}
    if not isinstance(given, Mapping):
        raise InputError(f"{where}: expected limits by the name of the metric, received {shown(given)}")
    for name, value in given.items():
        if name not in METRICS:
            raise InputError(f"{where}: {unknown('metric', name, METRICS)}")
        if isinstance(value, bool) or not isinstance(value, int | float) or not value >= 0.0:
            raise InputError(f"{where}: {name}: expected {Range(0.0, unit=METRICS[name].unit)}, received "
                             f"{shown(value)}")
    return {str(name): float(value) for name, value in given.items()}


def _file(name: Any, folder: Path) -> str:
    """Path of a file in the study's folder, or else the name as it is."""
    there = folder / expand_user(str(name))
    return str(there) if there.is_file() else str(name)
