# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Parameters of the node ``hardware``, and the settings and plant made from them."""

from __future__ import annotations

from bisect import bisect
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import numpy as np

from robodyn_ros.actuation.configuration import HardwareSettings
from robodyn_ros.actuation.driver_profile import DRIVERS, GENERIC
from robodyn_ros.base.common_fields import REAL_TIME_FACTOR, SEED, SPEED_LIMIT, STEP
from robodyn_ros.base.errors import InputError
from robodyn_ros.base.fields import Field, declared
from robodyn_ros.base.timing import DEFAULT_PERIOD, NANOSECONDS_PER_SECOND, to_nanoseconds
from robodyn_ros.description.model import Array
from robodyn_ros.nodes.common.parameters import FRAME_PREFIX, ROBOT_PARAMETERS, TIP_LINK
from robodyn_ros.nodes.common.real_time import PARAMETERS as REAL_TIME_PARAMETERS
from robodyn_ros.nodes.common.topic_owners import publisher_field
from robodyn_ros.robot import Robot
from robodyn_ros.simulation.commands import SafeBehaviour
from robodyn_ros.simulation.driver import Driver
from robodyn_ros.simulation.engine import Engine, SimulatedRobot
from robodyn_ros.simulation.force_torque_sensor import ForceTorqueSensing
from robodyn_ros.simulation.integrator import Integrator
from robodyn_ros.simulation.model_perturbations import with_gravity, with_mass_error, with_payload
from robodyn_ros.simulation.mujoco_plant import MujocoPlant
from robodyn_ros.simulation.plant import Plant
from robodyn_ros.simulation.sensing import Sensing, Sensors, VelocitySource
from robodyn_ros.simulation.world_file import read_world


class TimeMode(StrEnum):
    """The trigger of the next control period; see docs/hardware.md."""

    REAL_TIME = "real_time"
    SCALED = "scaled"
    LOCKSTEP = "lockstep"


@dataclass(frozen=True)
class LiveSettings:
    """Settings that may change while the node runs.

    Attributes:
        command_timeout: Age at which a command is too old, in simulated time [s]; 0: never.
        safe_behaviour: Behaviour of joints whose command is too old.
        safe_time_constant: Time constant of the damping behaviour [s].
        real_time_factor: Simulated time per steady clock time, for ``scaled``.
        lockstep_speed_limit: Greatest simulated time per steady clock time, for ``lockstep``; 0: no limit.
        wrench_timeout: Age at which an external wrench ends, in simulated time [s]; 0: never.
        actuator_state_rate: Actuator states per simulated second [Hz]; 0: none.
        sensors: The joint sensors, used only by the loop; None: exact measurements.
        unchanged_command_timeout: Time of motion after which bitwise unchanged commands are too old, in simulated time
            [s]; 0: never.
    """

    command_timeout: float
    safe_behaviour: SafeBehaviour
    safe_time_constant: float
    real_time_factor: float
    lockstep_speed_limit: float
    wrench_timeout: float
    actuator_state_rate: float
    sensors: Sensors | None
    unchanged_command_timeout: float = 0.0


SENSOR = "force_torque_sensor"
"""Prefix of the parameters of the force and torque sensor."""


def _settings_fields(group: str, kind: type) -> Iterator[Field]:
    """Yield parameters for the fields of a dataclass; a per-joint field is a list."""
    for name, own in declared(kind).items():
        if own.per_joint:
            yield own.renamed(f"{group}.{name}", default=[own.default], description=f"{own.description}; one number "
                              "for all joints, or one for each in the robot's order")
        else:
            yield own.renamed(f"{group}.{name}")


COMMANDERS = publisher_field("commands_publisher", "commands")

PARAMETERS = (
    *ROBOT_PARAMETERS,
    TIP_LINK,
    FRAME_PREFIX,
    Field("engine", str(Engine.ROBODYN), "Simulator of the bodies. robodyn: the compiled dynamics of this package; "
          "mujoco: MuJoCo (pip install mujoco); see docs/mujoco.md", structural=True, choices=tuple(map(str, Engine))),
    Field("mujoco_scene", "", "MJCF file for engine mujoco, with a joint for each joint of the robot, by name; empty: "
          "the robot alone, without contacts", structural=True),
    STEP.renamed("step", structural=True),
    Field("update_rate", round(1.0 / DEFAULT_PERIOD), "Control periods, and so joint states, per simulated second; a "
          "period is a whole number of steps", unit="Hz", structural=True, minimum=1, maximum=10000),
    Field("integrator", str(Integrator.SEMI_IMPLICIT_EULER), "Method of integration; see docs/hardware.md",
          structural=True, choices=tuple(map(str, Integrator))),
    Field("actuators", "", "YAML file of actuators and friction by joint, or its name in config/ without ending; "
          "empty: ideal sources of effort, and the friction of the robot's description", structural=True),
    Field("driver", GENERIC, "Driver of the arm that the node plays: a name in config/drivers/ or a YAML file like "
          "those; see docs/drivers.md", structural=True, suggestions=DRIVERS.names),
    Field("world", "", "YAML file of surfaces that the robot can touch, or its name in config/ without ending, see "
          "docs/touch.md; empty: none",
          structural=True),
    Field("gravity", [0.0, 0.0, -9.81], "Gravitational acceleration in base axes", length=3, unit="m/s^2",
          minimum=-1000.0, maximum=1000.0),
    Field("payload.mass", 0.0, "Mass welded to the tip link", unit="kg", minimum=0.0, maximum=1e5),
    Field("payload.center_of_mass", [0.0, 0.0, 0.0], "Position of the payload mass in the frame of the tip link",
          length=3, unit="m", minimum=-100.0, maximum=100.0),
    Field("model_error.mass", 0.0, "Excess of the simulated masses and inertias over the robot description", unit="%",
          minimum=-99.0, maximum=1e4),
    Field("model_error.rotors", 0.0, "Excess of the simulated rotor inertias over actuators and robot description; "
          "-100: there are none", unit="%", minimum=-100.0, maximum=1e4),
    Field("model_error.friction", 0.0, "Excess of the simulated friction over the robot description", unit="%",
          minimum=-100.0, maximum=1e4),
    Field("time_mode", "real_time", "real_time: paced by the steady clock, stamped with system time; scaled: "
          "simulated time on /clock, at real_time_factor; lockstep: simulated time on /clock, the plant waits for the "
          "command that answers its last state", structural=True, choices=tuple(map(str, TimeMode))),
    Field("clock_rate", 100, "Messages on /clock per simulated second, at most one per control period; 0: none, "
          "because another node publishes /clock", unit="Hz", structural=True, minimum=0, maximum=10000),
    REAL_TIME_FACTOR,
    SPEED_LIMIT,
    COMMANDERS,
    Field("command_timeout", 0.1, "Age at which a joint's command is too old, in simulated time; 0: never", unit="s",
          minimum=0.0, maximum=3600.0),
    Field("unchanged_command_timeout", 0.0, "Time of motion after which commands that stay the same to the bit are "
          "too old, because nobody computes them any more, in simulated time; 0: never", unit="s", minimum=0.0,
          maximum=3600.0),
    Field("safe_behaviour", "damping", "Behaviour of a joint with too old a command. damping: passive viscous "
          "damping; hold: brake, as strong as the effort limit; zero: no effort",
          choices=tuple(map(str, SafeBehaviour))),
    Field("safe_time_constant", 0.05, "Time in which safe_behaviour damping slows an unloaded joint to 1/e of its "
          "speed", unit="s", minimum=1e-4, maximum=1000.0),
    Field("wrench_timeout", 0.0, "Age at which a wrench of ~/external_wrench ends, in simulated time; 0: it lasts "
          "until it is replaced", unit="s", minimum=0.0, maximum=3600.0),
    Field("actuator_state_rate", 50.0, "Messages on ~/actuator_states per simulated second, at most one per control "
          "period; 0: none", unit="Hz", minimum=0.0, maximum=10000.0),
    *REAL_TIME_PARAMETERS,
    SEED.renamed("seed", structural=True),
    *_settings_fields("sensing", Sensing),
    Field(f"{SENSOR}.frame", "", "Link that carries the force and torque sensor, and frame of its measurements; "
          "empty: the tip link if there is a world or a mujoco_scene, else no sensor", structural=True),
    *_settings_fields(SENSOR, ForceTorqueSensing),
)


SURROUNDINGS = ("gravity", "payload.mass", "payload.center_of_mass", "model_error.mass", "model_error.rotors",
                "model_error.friction")
"""Parameters whose change requires a new plant."""


def live_settings(value: Callable[[str], Any], sensors: Sensors | None) -> LiveSettings:
    """Read the settings that may change while the node runs.

    Args:
        value: Returns the value of a parameter.
        sensors: See :class:`LiveSettings`.
    """
    return LiveSettings(
        command_timeout=value("command_timeout"),
        safe_behaviour=SafeBehaviour(value("safe_behaviour")),
        safe_time_constant=value("safe_time_constant"),
        real_time_factor=value("real_time_factor"),
        lockstep_speed_limit=value("lockstep_speed_limit"),
        wrench_timeout=value("wrench_timeout"),
        actuator_state_rate=value("actuator_state_rate"),
        sensors=sensors,
        unchanged_command_timeout=value("unchanged_command_timeout"),
    )


def sensing(value: Callable[[str], Any]) -> Sensing:
    """Read the settings of the sensors; arguments as for :func:`live_settings`."""
    read = {name: value(f"sensing.{name}") for name in declared(Sensing)}
    return Sensing(**read | {"velocity_source": VelocitySource(read["velocity_source"])})


def force_torque_sensing(value: Callable[[str], Any]) -> ForceTorqueSensing:
    """Read the settings of the force and torque sensor; arguments as for :func:`live_settings`."""
    return ForceTorqueSensing(**{name: value(f"{SENSOR}.{name}") for name in declared(ForceTorqueSensing)})


def payload(value: Callable[[str], Any]) -> tuple[float, Array]:
    """Read mass [kg] and centre of mass, shape (3,) [m], of the payload; arguments as for :func:`live_settings`."""
    return value("payload.mass"), np.array(value("payload.center_of_mass"))


def make_plant(robot: Robot, value: Callable[[str], Any], position: Array) -> SimulatedRobot:
    """Make the simulated robot.

    Args:
        robot: The robot as described.
        value: Returns the value of a parameter.
        position: Positions at the start, shape (n,) [rad or m].

    Raises:
        InputError: A file or a value is not valid.
    """
    model = with_gravity(with_mass_error(robot.model, value("model_error.mass")), value("gravity"))
    rotors = 1.0 + value("model_error.rotors") / 100.0
    model = model.with_scaled_armature(np.full(model.n, rotors))
    if value("payload.mass"):
        model = with_payload(model, value("payload.mass"), value("payload.center_of_mass"))
    settings = HardwareSettings.named(value("actuators"))
    friction, profile = settings.joint_friction(model), DRIVERS.load(value("driver"), "parameter 'driver'")
    profile.check_rate(value("update_rate"), "parameter 'update_rate'")
    driver = Driver(profile, robot.model, friction)
    options: dict[str, Any] = {
        "actuators": settings.joint_actuators(robot.model).with_scaled_rotors(rotors),
        "friction": friction.scaled(1.0 + value("model_error.friction") / 100.0),
        "driver": driver,
        "integrator": value("integrator"),
    }
    driver.check_effort_report(options["actuators"].is_motor)
    engine, world, scene = Engine(value("engine")), value("world"), value("mujoco_scene")
    other, file = ("mujoco_scene", scene) if engine is Engine.ROBODYN else ("world", world)
    if file:
        raise InputError(f"parameter '{other}': expected nothing with engine {engine}, received {file!r}; surfaces of "
                         "engine robodyn are in world, those of engine mujoco in mujoco_scene")
    plant: SimulatedRobot
    if engine is Engine.ROBODYN:
        plant = Plant(Robot(model), value("step"), position, **options,
                      world=read_world(world, model) if world else None)
    else:
        plant = MujocoPlant(Robot(model), value("step"), position, **options, scene=scene)
        if plant.has_own_masses:
            for name in ("payload.mass", "model_error.mass"):
                if value(name):
                    raise InputError(f"parameter '{name}': expected 0, since the masses are those of mujoco_scene "
                                     f"{scene!r}, received {value(name):g}; put the mass into the scene")
    plant.model.actuators.drive_loops.check_law(plant.joint_names)
    plant.prepare()
    _ = plant.joint_inertia(), plant.energy  # compile here, not on the control path or in the diagnostics
    return plant


def control_period(update_rate: int, step: float) -> tuple[int, int]:
    """Return the control period and the number of steps in it.

    Args:
        update_rate: Control periods per second [Hz].
        step: Time step of the plant [s].

    Returns:
        Period [ns], number of steps.

    Raises:
        InputError: The step is not a whole number of nanoseconds, or the period is not a whole number of steps.
    """
    step_ns = to_nanoseconds(step)
    if abs(step * NANOSECONDS_PER_SECOND - step_ns) > 1e-3:
        raise InputError(f"parameter 'step': expected a whole number of nanoseconds, received {step} s")
    steps, rest = divmod(NANOSECONDS_PER_SECOND, update_rate * step_ns)
    if rest or not steps:
        possible = [rate for rate in range(1, 10001) if NANOSECONDS_PER_SECOND % (rate * step_ns) == 0]
        near = [*possible[:bisect(possible, update_rate)][-1:], *possible[bisect(possible, update_rate):][:1]]
        raise InputError(
            f"parameter 'update_rate': expected a control period of a whole number of steps of {step} s, received "
            f"{update_rate} Hz; " + (f"possible: {' or '.join(map(str, near))} Hz, or another step" if near else
                                     "with this step no whole rate is possible: change the step"))
    return steps * step_ns, steps
