# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Nodes and parameters of the simulation, for the launch file and ``robodyn simulate``."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from robodyn_ros.base.bounded_files import expand_user, is_file
from robodyn_ros.base.common_fields import DEFAULT_ROBOT, REAL_TIME_FACTOR, SPEED_LIMIT
from robodyn_ros.base.errors import InputError
from robodyn_ros.commands.prepared_robot import prepared_robot
from robodyn_ros.description.resources import actuators_file, config_file, robot_file, world_file
from robodyn_ros.nodes.common.given_parameters import GivenParameters

NODES = {
    "hardware": "robodyn_ros.nodes.hardware.node",
    "controller": "robodyn_ros.nodes.controller.node",
    "dynamics": "robodyn_ros.nodes.dynamics",
    "state_publisher": "robodyn_ros.nodes.state_publisher",
}
"""Module of each node, by the name of the node and of its executable."""

TIME_MODES = ("real_time", "scaled", "lockstep")
ENGINES = ("robodyn", "mujoco")


@dataclass(frozen=True)
class Setup:
    """Parameters of all nodes of one simulation.

    As everywhere in ROS 2, a value in a file for one named node overrides a value for all nodes.

    Attributes:
        robot_file: The robot's URDF.
        files: YAML files of parameters; later files override earlier ones.
        values: Values for all nodes; each node uses those that it declares.
    """

    robot_file: Path
    files: tuple[Path, ...]
    values: dict[str, str | float]


def set_up(
    robot: str = DEFAULT_ROBOT,
    controller: str = "",
    time_mode: str = "",
    real_time_factor: str = "",
    speed_limit: str = "",
    params_file: str = "",
    actuators: str = "",
    world: str = "",
    engine: str = "",
    mujoco_scene: str = "",
    tip_link: str = "",
    complete: str = "",
    driver: str = "",
) -> Setup:
    """Check a user's options; an empty string means the value in config/simulation.yaml.

    Args:
        robot: Name of a shipped robot, or path of a URDF file.
        controller: Name of a controller plugin; the controller node checks it.
        time_mode: One of ``TIME_MODES``.
        real_time_factor: Simulated seconds per second, for ``scaled``.
        speed_limit: Greatest number of simulated seconds per second, for ``lockstep``.
        params_file: YAML file of further parameters.
        actuators: YAML file of actuators and friction, or its name in config/ without ending.
        world: YAML file of surfaces that the robot can touch, or its name in config/, for the engine ``robodyn``.
        engine: One of ``ENGINES``, which simulate the bodies.
        mujoco_scene: MJCF file, for the engine ``mujoco``.
        tip_link: Name of a link of the robot.
        complete: How to estimate missing inertias, see `CompletionRule.from_text`.
        driver: Name of a driver, or its file; it also sets the control rate.

    Raises:
        DescriptionError: Missing inertias cannot be estimated.
        InputError: The world does not fit the robot; the robot, its tip link, time mode, engine or a file does not
            exist; MuJoCo is not installed; a factor is not a positive number; an option belongs to another time mode or
            engine.
    """
    file = (prepared_robot(robot, complete, actuators) if complete or actuators else robot_file(robot)).resolve()
    values: dict[str, str | float] = {"robot": str(file)}
    if controller:
        values["controller"] = controller
    if time_mode:
        if time_mode not in TIME_MODES:
            raise InputError(f"time_mode: expected one of {', '.join(TIME_MODES)}, received '{time_mode}'")
        values["time_mode"] = time_mode
    if actuators:
        values["actuators"] = str(actuators_file(actuators).resolve())
    if driver:
        from robodyn_ros.actuation.driver_profile import DRIVERS

        profile = DRIVERS.load(driver)
        values["driver"] = driver if driver in DRIVERS.names else str(expand_user(driver).resolve())
        if profile.rate is not None:
            values["update_rate"] = round(profile.rate)
    if engine:
        values["engine"] = _engine(engine)
    check_surroundings(engine, world, mujoco_scene)
    if mujoco_scene:
        path = expand_user(mujoco_scene)
        if not is_file(path):
            raise InputError(f"mujoco_scene: there is no file '{mujoco_scene}'")
        values["mujoco_scene"] = str(path.resolve())
    if tip_link:
        values["tip_link"] = tip_link
    if world or tip_link:  # raise before the nodes start
        from robodyn_ros.robot import Robot  # other commands should not wait for SciPy

        model = Robot.from_urdf(file, tip_link=tip_link or None).model
    if world:
        from robodyn_ros.simulation.world_file import read_world

        read_world(world, model)
        values["world"] = str(world_file(world).resolve())
    files = [config_file("simulation.yaml")]
    if params_file:
        path = expand_user(params_file)
        if not is_file(path):
            raise InputError(f"params_file: there is no file '{params_file}'")
        GivenParameters.from_file(path)  # raise for a file that the nodes would refuse
        files.append(path.resolve())
    found = Setup(file, tuple(files), values)
    for parameter, text, mode in ((REAL_TIME_FACTOR, real_time_factor, "scaled"),
                                  (SPEED_LIMIT, speed_limit, "lockstep")):
        if text:
            name = parameter.name.removeprefix("lockstep_")
            values[parameter.name] = parameter.read(text, name)
            if (in_force := mode_in_force(found)) != mode:
                raise InputError(f"{name}: has an effect only in time mode {mode}, received time mode {in_force}"
                                 f"{'' if time_mode else ', from the parameter files'}; give both or neither")
    return found


def check_surroundings(engine: str, world: str | None, mujoco_scene: str | None = None) -> None:
    """Check that the surroundings fit the engine that simulates the robot.

    Args:
        engine: One of ``ENGINES``; empty: as in the files of parameters.
        world: File of surfaces, for the engine ``robodyn``; None or empty: none is given.
        mujoco_scene: MJCF file, for the engine ``mujoco``; None or empty: none is given.

    Raises:
        InputError: One of them belongs to another engine.
    """
    if world and engine not in ("", "robodyn"):
        raise InputError(f"world: has an effect only with engine robodyn, received engine {engine}; surfaces of engine "
                         "mujoco are in its scene (mujoco_scene)")
    if mujoco_scene and engine != "mujoco":
        raise InputError(f"mujoco_scene: has an effect only with engine mujoco, received "
                         f"{f'engine {engine}' if engine else 'no engine'}; give both or neither")


def mode_in_force(setup: Setup, namespace: str = "") -> str:
    """Return the effective time mode of a simulation, from the values and files for its hardware node.

    Args:
        setup: Parameters of the simulation.
        namespace: Namespace of its nodes.
    """
    words = [word for file in setup.files for word in ("--params-file", str(file))]
    if mode := setup.values.get("time_mode"):
        words += ["-p", f"time_mode:={mode}"]
    hardware = f"/{namespace.strip('/')}/hardware".replace("//", "/")
    return str(GivenParameters.from_arguments(["--ros-args", *words]).for_node(hardware)["time_mode"].value)


def has_simulated_time(setup: Setup, namespace: str) -> bool:
    """Return whether a simulation uses the time of /clock; arguments as for :func:`mode_in_force`."""
    return mode_in_force(setup, namespace) != TIME_MODES[0]


def _engine(name: str) -> str:
    if name not in ENGINES:
        raise InputError(f"engine: expected one of {', '.join(ENGINES)}, received '{name}'")
    if name == "mujoco":
        from robodyn_ros.simulation.mujoco_scene import import_mujoco

        import_mujoco()  # raise before the nodes start
    return name
