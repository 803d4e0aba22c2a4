# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Nodes and parameters of the simulation, for the launch file and ``robodyn simulate``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from robodyn_ros.base.bounded_files import expand_user, is_file
from robodyn_ros.base.common_fields import COMPLETE, REAL_TIME_FACTOR, ROBOT, SPEED_LIMIT, TIP_LINK
from robodyn_ros.base.errors import InputError
from robodyn_ros.base.fields import declare, declare_as, declared
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


@dataclass(frozen=True)
class SimulationSettings:
    """What a person sets of a simulation: options of ``simulate``, arguments of the launch file; None: not given."""

    robot: str = declare_as(ROBOT)
    complete: str | None = declare_as(COMPLETE)
    tip_link: str | None = declare_as(TIP_LINK)
    controller: str | None = declare(None, kind=str, description="Controller plugin, such as pd or computed_torque")
    time_mode: str | None = declare(None, kind=str, choices=TIME_MODES, description="Pace of the simulation (default: "
                                    "lockstep, at most at real-time speed)")
    real_time_factor: float | None = declare_as(REAL_TIME_FACTOR.renamed("", default=None, kind=float))
    speed_limit: float | None = declare_as(SPEED_LIMIT.renamed(
        "", default=None, kind=float, description="Greatest number of simulated seconds per second, for time_mode "
        "lockstep; 0: none (default: 1)"))
    actuators: str | None = declare(None, kind=str, description="YAML file of actuators and friction, or its name in "
                                    "config/")
    driver: str | None = declare(None, kind=str, description="Driver of the arm that the hardware plays, such as ur or "
                                 "franka, or its file; it also sets the control rate")
    world: str | None = declare(None, kind=str, description="YAML file of surfaces that the robot can touch, or its "
                                "name in config/")
    engine: str | None = declare(None, kind=str, choices=ENGINES, description="Simulator of the bodies; mujoco needs "
                                 "pip install mujoco")
    mujoco_scene: str | None = declare(None, kind=str, description="MJCF file, for the engine mujoco")
    params_file: str | None = declare(None, kind=str, description="YAML file of further ROS parameters, which win over "
                                      "config/simulation.yaml")

    @classmethod
    def from_words(cls, words: Mapping[str, str]) -> SimulationSettings:
        """Read launch arguments; an empty word is not given.

        Raises:
            InputError: A value is not valid.
        """
        return cls(**{name: field.read(words[name], name) for name, field in declared(cls).items() if words[name]})


def set_up(settings: SimulationSettings) -> Setup:
    """Check the settings of a simulation; what is not given is as in config/simulation.yaml.

    Raises:
        DescriptionError: Missing inertias cannot be estimated.
        InputError: The world does not fit the robot; the robot, its tip link or a file does not exist; MuJoCo is not
            installed; an option belongs to another time mode or engine.
    """
    complete, actuators, engine, world = settings.complete, settings.actuators, settings.engine, settings.world
    file = (prepared_robot(settings.robot, complete or "", actuators or "") if complete or actuators
            else robot_file(settings.robot)).resolve()
    values: dict[str, str | float] = {"robot": str(file)}
    values |= {name: value for name in ("controller", "time_mode", "engine", "tip_link")
               if (value := getattr(settings, name))}
    if actuators:
        values["actuators"] = str(actuators_file(actuators).resolve())
    if driver := settings.driver:
        from robodyn_ros.actuation.driver_profile import DRIVERS

        profile = DRIVERS.load(driver)
        values["driver"] = driver if driver in DRIVERS.names else str(expand_user(driver).resolve())
        if profile.rate is not None:
            values["update_rate"] = round(profile.rate)
    if engine == "mujoco":
        from robodyn_ros.simulation.mujoco_scene import import_mujoco

        import_mujoco()  # raise before the nodes start
    check_surroundings(engine or "", world, settings.mujoco_scene)
    if settings.mujoco_scene:
        values["mujoco_scene"] = str(_existing(settings.mujoco_scene, "mujoco_scene"))
    if world or settings.tip_link:  # raise before the nodes start
        from robodyn_ros.robot import Robot  # other commands should not wait for SciPy

        model = Robot.from_urdf(file, tip_link=settings.tip_link or None).model
    if world:
        from robodyn_ros.simulation.world_file import read_world

        read_world(world, model)
        values["world"] = str(world_file(world).resolve())
    files = [config_file("simulation.yaml")]
    if settings.params_file:
        path = _existing(settings.params_file, "params_file")
        GivenParameters.from_file(path)  # raise for a file that the nodes would refuse
        files.append(path)
    found = Setup(file, tuple(files), values)
    for parameter, name, mode in ((REAL_TIME_FACTOR, "real_time_factor", "scaled"),
                                  (SPEED_LIMIT, "speed_limit", "lockstep")):
        if (value := getattr(settings, name)) is not None:
            values[parameter.name] = value
            if (in_force := mode_in_force(found)) != mode:
                raise InputError(f"{name}: has an effect only in time mode {mode}, received time mode {in_force}"
                                 f"{'' if settings.time_mode else ', from the parameter files'}; give both or neither")
    return found


def _existing(file: str, name: str) -> Path:
    path = expand_user(file)
    if not is_file(path):
        raise InputError(f"{name}: there is no file '{file}'")
    return path.resolve()


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
