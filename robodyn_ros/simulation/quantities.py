# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Quantities of the plant that rollouts can take as inputs, and the plant with given values of them.

`varied_plant` and `varied_model` use the same formulas for floats, whose values become constants of a program, and for
traced scalars, whose values are inputs of the program. `quantity_checks` checks names and values before, since
formulas cannot inspect traced values.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields, replace
from operator import attrgetter
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from robodyn_ros.actuation.actuator_settings import ActuatorSettings
from robodyn_ros.actuation.current_loop import CurrentLoops, CurrentLoopSettings
from robodyn_ros.actuation.dc_motor import DCMotor
from robodyn_ros.actuation.driver_profile import DriverProfile
from robodyn_ros.actuation.friction import FrictionSettings
from robodyn_ros.actuation.joint_actuators import PARTS
from robodyn_ros.actuation.joint_values import JointValue
from robodyn_ros.actuation.maxwell_slip import MaxwellSlipSettings
from robodyn_ros.actuation.motor_catalogue import MotorData
from robodyn_ros.base.checks import constants
from robodyn_ros.base.errors import InputError
from robodyn_ros.base.fields import MAX_MAGNITUDE, POSITION, VELOCITY, Field, declared
from robodyn_ros.description.model import Array, RobotModel
from robodyn_ros.dynamics.second_moment_newton_euler import bias
from robodyn_ros.simulation.model_perturbations import with_body, with_link_changes
from robodyn_ros.simulation.plant_model import PlantModel
from robodyn_ros.simulation.plant_state import PlantState
from robodyn_ros.simulation.sensing import MAX_DELAY, Sensing

JOINT, LINK = "joint", "link"
"""Axes of the joints, in the order of q, and of the moving links, in the order of ``RobotModel.joints``."""

MODEL = "model."
"""Prefix of quantities of the law's model."""

OFFSET = "start.q_offset"

START = ("start.q", "start.v", OFFSET)
"""Quantities of the start, inputs of every rollout."""

NOISES = ("sensing.position_noise", "sensing.velocity_noise")
"""Standard deviations of the scenario's noise: a program takes both or none."""

RESOLUTION, DELAY = "sensing.position_resolution", "sensing.delay"

LOOP_BANDWIDTH = "motor.current_loop_bandwidth"

LOOP_GAINS = ("motor.current_loop_proportional", "motor.current_loop_integral")

HARMONICS = {"motor.cogging", "motor.torque_ripple"}
"""Factors on the periodic torques of motors."""

COMMAND_DELAY = "command.delay"

COMMANDS = (COMMAND_DELAY, "command.resolution")
"""Quantities of the driver between law and drives."""

SENSING = (*NOISES, RESOLUTION, DELAY)
"""Quantities of the sensors, see `sensing`."""

Values = Mapping[str, NDArray[Any]]
"""Floats or traced scalars by the name of the quantity."""


@dataclass(frozen=True)
class Quantity(Field):
    """A named number or array of the simulated robot, of its start, or of the law's model.

    Attributes:
        axes: Axes of a value: `JOINT`, `LINK` or a length.
        nominal: Path of the plant's field, such as ``friction.viscous``; or the number that changes nothing; None: the
            scenario has the value.
        needs: Quantity without which it has no effect; empty: none.
        only: Attribute of `JointActuators` that selects the joints on which it has an effect; empty: all.
    """

    axes: tuple[str | int, ...] = ()
    nominal: str | float | None = None
    needs: str = ""
    only: str = ""

    def shape(self, plant: PlantModel) -> tuple[int, ...]:
        """Return the shape of a value for a plant."""
        lengths = {JOINT: plant.n, LINK: len(plant.model.joints)}
        return tuple(lengths[axis] if isinstance(axis, str) else axis for axis in self.axes)

    def typical_value(self, plant: PlantModel) -> Array:
        """Return a value near the nominal one without zeros, of `shape`, so that no program is simplified for zeros."""
        shape = self.shape(plant)
        small = 1e-3 * np.sqrt(np.arange(2.0, 2.0 + np.prod(shape, dtype=int))).reshape(shape)
        nominal = np.zeros(shape) if self.nominal is None else self.nominal_value(plant)
        return np.where(nominal == 0.0, small, nominal)

    def nominal_value(self, plant: PlantModel) -> Array:
        """Return the value of a plant, of `shape`."""
        if self.nominal is None:
            raise InputError(f"{self.name}: the scenario has its value")
        nominal = attrgetter(self.nominal)(plant) if isinstance(self.nominal, str) else self.nominal
        return np.array(np.broadcast_to(np.asarray(nominal, dtype=np.float64), self.shape(plant)))


T = TypeVar("T")

_MOTOR, _LOOP = "actuators.motors.motor", "motor.current_loop"


def _quantity_of(own: Field, name: str, axes: tuple[str | int, ...], nominal: str | float | None, **changes: Any
                 ) -> Quantity:
    """Make a quantity from a field of a settings class, with its unit, range and meaning."""
    about = {entry.name: getattr(own, entry.name) for entry in fields(Field)}
    return Quantity(**about | {"name": name, "default": None, "kind": own.value_type, "axes": axes, "nominal": nominal,
                               "description": own.description.partition(";")[0]} | changes)


def _motor(kind: type, field: str, name: str, path: str, **changes: Any) -> Quantity:
    return _quantity_of(declared(kind)[field], name, (JOINT,), f"actuators.{path}", **{"only": "is_motor"} | changes)


def _loop(field: str, **changes: Any) -> Quantity:
    return _motor(CurrentLoopSettings, field, f"motor.current_loop_{field}", f"loop_gains.{field}", only="has_loop",
                  **changes)


def _of_parts() -> Iterable[Quantity]:
    """The quantities that the parts of the actuators declare."""
    for part, kind in PARTS.items():
        for field, own in declared(kind).items():
            if isinstance(own, JointValue) and own.quantity:
                yield _quantity_of(own, own.quantity, (JOINT,), f"actuators.{part}.{field}", only=own.only,
                                   or_infinite=getattr(kind, field) == np.inf and own.maximum >= MAX_MAGNITUDE)


def _friction(field: str, kind: type = FrictionSettings, **changes: Any) -> Quantity:
    name = f"friction.{field}"
    return _quantity_of(declared(kind)[field], name, (JOINT,), name, **changes)


def _sensing(field: str, nominal: float | None, axes: tuple[str, ...] = (JOINT,), **changes: Any) -> Quantity:
    return _quantity_of(declared(Sensing)[field], f"sensing.{field}", axes, nominal, **changes)


_INERTIAL = (
    Quantity("payload.mass", None, "Point mass welded to the tip link", unit="kg", minimum=0.0, nominal=0.0),
    Quantity("payload.center_of_mass", None, "Its position in the frame of the tip link", unit="m", axes=(3,),
             nominal=0.0, needs="payload.mass"),
    Quantity("link.mass_scale", None, "Factor on the mass of each link and on its rotational inertia", minimum=0.0,
             above=True, axes=(LINK,), nominal=1.0),
    Quantity("link.inertia_scale", None, "Factor on the rotational inertia about the centre of mass", minimum=0.0,
             above=True, axes=(LINK,), nominal=1.0),
    Quantity("link.center_offset", None, "Displacement of the centre of mass, in the axes of the link", unit="m",
             axes=(LINK, 3), nominal=0.0),
)

QUANTITIES: dict[str, Quantity] = {quantity.name: quantity for quantity in (
    *_INERTIAL,
    _friction("viscous"),
    _friction("coulomb", description="Coulomb friction; the breakaway friction keeps its distance above it, unless it "
              "is varied too"),
    _friction("static"),
    _friction("stribeck_velocity"),
    _friction("stiffness", MaxwellSlipSettings, description="Stiffness of the dry friction at the start of a motion, "
              "of joints that have one"),
    _friction("damping", MaxwellSlipSettings),
    Quantity("friction.scale", None, "Factor on all friction", minimum=0.0, nominal=1.0),
    _motor(MotorData, "torque_constant", "motor.torque_constant", "motors.motor.torque_constant",
           description="Torque constant of the motor; the back-EMF constant changes in proportion"),
    _motor(MotorData, "resistance", "motor.resistance", "motors.motor.resistance"),
    _motor(MotorData, "rotor_inertia", "motor.rotor_inertia", "motors.motor.rotor_inertia", above=True,
           description="Rotor inertia of the motor, with that of the gear at its shaft"),
    *_of_parts(),
    _motor(ActuatorSettings, "gear_ratio", "gear.ratio", "motors.gear.ratio"),
    _loop("bandwidth", description="Bandwidth of the current loop, of joints that have one"),
    _loop("proportional", description="Gain k_P of the current loop, of joints that have one"),
    _loop("integral", description="Gain k_I of the current loop, of joints that have one"),
    Quantity("motor.cogging", None, "Factor on the cogging of the motor", minimum=0.0, maximum=100.0, axes=(JOINT,),
             nominal=1.0, only="is_motor"),
    Quantity("motor.torque_ripple", None, "Factor on the torque ripple of the motor", minimum=0.0, axes=(JOINT,),
             maximum=1.0, nominal=1.0, only="is_motor"),
    Quantity("gravity", None, "Gravitational acceleration in base axes", unit="m/s^2", axes=(3,),
             nominal="model.gravity"),
    _sensing("position_noise", None),
    _sensing("velocity_noise", None),
    _sensing("position_resolution", 0.0),
    _sensing("delay", 0.0, (), maximum=MAX_DELAY),
    _quantity_of(declared(DriverProfile)["delay"], COMMAND_DELAY, (), "driver.delay"),
    _quantity_of(declared(DriverProfile)["effort_resolution"], "command.resolution", (JOINT,), "driver.resolution",
                 kind=float, minimum=0.0, description="Step to which the driver rounds commanded efforts; 0: none"),
    Quantity("start.q", None, "Joint positions at the start", unit=POSITION, axes=(JOINT,)),
    Quantity("start.v", None, "Joint velocities at the start", unit=VELOCITY, axes=(JOINT,)),
    Quantity(OFFSET, None, "Distance of the joint positions at the start from those of the scenario; in studies, of "
             "the motion", unit=POSITION, axes=(JOINT,), nominal=0.0),
    *(replace(quantity, name=MODEL + quantity.name, needs=MODEL + quantity.needs if quantity.needs else "",
              description=f"In the law's own model: {quantity.description}") for quantity in _INERTIAL),
)}
"""The quantities by name."""


def plant_quantities(names: Iterable[str]) -> tuple[str, ...]:
    """Return those names that belong to the plant, not to sensors, driver, start or the law's model."""
    return tuple(name for name in names if name not in (*SENSING, *COMMANDS, *START) and not name.startswith(MODEL))


def varied_model(model: RobotModel, values: Values) -> RobotModel:
    """Return a robot with given inertial quantities.

    Args:
        model: The robot.
        values: Inertial quantities of `QUANTITIES`, floats or traced scalars.
    """
    link = {name.removeprefix("link."): value for name, value in values.items() if name.startswith("link.")}
    if link:
        model = with_link_changes(model, **link)
    if "payload.mass" in values:
        model = with_body(model, values["payload.mass"][()], values.get("payload.center_of_mass", np.zeros(3)))
    return model


def varied_plant(plant: PlantModel, values: Values) -> PlantModel:
    """Return a plant with given values of some quantities.

    Args:
        plant: The plant.
        values: Quantities of `plant_quantities`, or `COMMANDS`, floats or traced scalars.
    """
    fields = {}
    for name, value in values.items():
        quantity, path = QUANTITIES[name], QUANTITIES[name].nominal
        if isinstance(path, str) and name not in (LOOP_BANDWIDTH, *LOOP_GAINS):
            own = attrgetter(path)(plant)
            only = getattr(plant.actuators, quantity.only) if quantity.only else None
            fields[path] = value if only is None else np.where(only, value, own)
    if "friction.stiffness" in fields:
        own = attrgetter("friction.stiffness")(plant)
        fields["friction.stiffness"] = np.where(np.isfinite(constants(own, traced=1.0)), fields["friction.stiffness"],
                                                own)
    if "friction.coulomb" in fields and "friction.static" not in fields:
        fields["friction.static"] = fields["friction.coulomb"] + attrgetter("friction.rise")(plant)
    motor = plant.actuators.motors.motor
    if (constant := fields.get(f"{_MOTOR}.torque_constant")) is not None:
        fields[f"{_MOTOR}.back_emf_constant"] = motor.back_emf_constant / motor.torque_constant * constant
    varied = with_fields(plant, fields)
    model = varied_model(varied.model, values)
    friction = varied.friction.scaled(values["friction.scale"]) if "friction.scale" in values else varied.friction
    actuators = varied.actuators
    loops = varied_loops(actuators.current_loops, motor, values)
    if loops is not actuators.current_loops:
        actuators = replace(actuators, current_loops=loops)
    for name in HARMONICS & values.keys():
        field = name.removeprefix("motor.")
        actuators = replace(actuators, **{field: getattr(actuators, field).scaled(values[name])})
    if model is varied.model and friction is varied.friction and actuators is varied.actuators:
        return varied
    return replace(varied, model=model, friction=friction, actuators=actuators)


def varied_loops(loops: CurrentLoops, motor: DCMotor, values: Mapping[str, Any]) -> CurrentLoops:
    """Return current loops with the gains among some quantities, each of shape (..., n)."""
    if LOOP_BANDWIDTH in values:
        loops = loops.with_bandwidth(values[LOOP_BANDWIDTH], motor)
    gains: dict[str, Any] = {name.removeprefix(f"{_LOOP}_"): values[name][..., loops.joints] for name in LOOP_GAINS
                             if name in values}
    return replace(loops, **gains) if gains else loops


def varied_state(plant: PlantModel, q: Array, v: Array, values: Mapping[str, Array]) -> PlantState:
    """Return the initial state of a robot with given values of some quantities.

    Motors of elastic joints start where the varied springs bear the weights of the varied links.

    Args:
        plant: The plant.
        q: Shape (n,) [rad or m].
        v: Shape (n,) [rad/s or m/s].
        values: Floats by the name of the quantity; only `plant_quantities` are used.

    Raises:
        InputError: The springs are too fast for the step of an explicit method.
    """
    state, own = plant.state(q, v), plant_quantities(values)
    if not (own and len(plant.elastic)):
        return state
    varied = varied_plant(plant, {name: values[name] for name in own})
    motor_q = varied.elastic.at_rest(state.q, bias(varied.model, state.q, np.zeros(plant.n)))
    return state._replace(motor_side=state.motor_side._replace(q=motor_q))


def with_fields(record: T, values: Mapping[str, Any]) -> T:
    """Return a dataclass with given values of some fields, named by paths such as ``friction.viscous``."""
    if not values:
        return record
    own = {path: value for path, value in values.items() if "." not in path}
    for name in dict.fromkeys(path.split(".")[0] for path in values if "." in path):
        inner = {path.removeprefix(f"{name}."): value for path, value in values.items() if path.startswith(f"{name}.")}
        own[name] = with_fields(getattr(record, name), inner)
    return replace(record, **own)  # type: ignore[type-var]  # a dataclass
