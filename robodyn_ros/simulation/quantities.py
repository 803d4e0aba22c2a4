# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Quantities of the plant that rollouts can take as inputs, and the plant with given values of them.

`varied_plant` and `varied_model` use the same formulas for floats, whose values become constants of a program, and for
traced scalars, whose values are inputs of the program. `checked_samples` checks the values before, since formulas
cannot inspect traced values.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, fields, replace
from operator import attrgetter
from typing import Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from robodyn_ros.actuation.configuration import ActuatorSettings
from robodyn_ros.actuation.current_loop import CurrentLoops, CurrentLoopSettings
from robodyn_ros.actuation.dc_motor import DCMotor
from robodyn_ros.actuation.driver_profile import GENERIC, DriverProfile
from robodyn_ros.actuation.friction import Friction, FrictionSettings
from robodyn_ros.actuation.joint_actuators import PARTS
from robodyn_ros.actuation.joint_values import JointValue
from robodyn_ros.actuation.maxwell_slip import MaxwellSlip, MaxwellSlipSettings
from robodyn_ros.actuation.motor_catalogue import MotorData
from robodyn_ros.base.checks import constants
from robodyn_ros.base.errors import InputError, shown, unknown
from robodyn_ros.base.fields import POSITION, VELOCITY, Field, declared
from robodyn_ros.description.model import Array, RobotModel
from robodyn_ros.dynamics.second_moment_newton_euler import bias
from robodyn_ros.simulation.integrator import Integrator
from robodyn_ros.simulation.model_perturbations import with_body, with_link_changes
from robodyn_ros.simulation.plant_model import PlantModel, PlantState
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


def _loop(field: str, path: str, **changes: Any) -> Quantity:
    return _motor(CurrentLoopSettings, field, f"motor.current_loop_{field}", path, only="has_loop", **changes)


def _of_parts() -> Iterable[Quantity]:
    """The quantities that the parts of the actuators declare."""
    for part, kind in PARTS.items():
        for field, own in declared(kind).items():
            if isinstance(own, JointValue) and own.quantity:
                yield _quantity_of(own, own.quantity, (JOINT,), f"actuators.{part}.{field}", only=own.only,
                                   or_infinite=getattr(kind, field) == np.inf)


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
    *(_motor(MotorData, field, f"motor.{field}", f"winding.{field}", only="has_heat") for field in (
        "thermal_resistance", "thermal_time_constant", "resistance_coefficient", "torque_constant_coefficient")),
    *(_motor(ActuatorSettings, field, f"motor.{field}", f"winding.{field}", only="derates") for field in (
        "derating_start", "derating_end")),
    *_of_parts(),
    _motor(ActuatorSettings, "gear_ratio", "gear.ratio", "motors.gear.ratio"),
    _loop("bandwidth", "loop_bandwidth", description="Bandwidth of the current loop, of joints that have one"),
    _loop("proportional", "loop_proportional", description="Gain k_P of the current loop, of joints that have one"),
    _loop("integral", "loop_integral", description="Gain k_I of the current loop, of joints that have one"),
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
    loops = _varied_loops(actuators.current_loops, motor, values)
    if loops is not actuators.current_loops:
        actuators = replace(actuators, current_loops=loops)
    for name in HARMONICS & values.keys():
        field = name.removeprefix("motor.")
        actuators = replace(actuators, **{field: getattr(actuators, field).scaled(values[name])})
    if model is varied.model and friction is varied.friction and actuators is varied.actuators:
        return varied
    return replace(varied, model=model, friction=friction, actuators=actuators)


def _varied_loops(loops: CurrentLoops, motor: DCMotor, values: Mapping[str, Any]) -> CurrentLoops:
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
    motor_q = varied.motors_at_rest(state.q, bias(varied.model, state.q, np.zeros(plant.n)))
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


def check_varied(names: Iterable[str], plant: PlantModel) -> tuple[str, ...]:
    """Check the names of quantities to vary, and return them.

    Args:
        names: The names.
        plant: The plant.

    Raises:
        InputError: A name is unknown or occurs twice, or a quantity has no effect.
    """
    if isinstance(names, str):
        raise InputError(f"varied: expected a list of quantities, received '{names}'")
    varied = tuple(names)
    _check_start(varied, "varied")
    for name in varied:
        _quantity(name)
        if varied.count(name) > 1:
            raise InputError(f"varied: expected each quantity once, received '{name}' twice")
        needs = QUANTITIES[name].needs
        if needs and needs not in varied:
            raise InputError(f"varied: expected '{needs}' beside '{name}', which has no effect without it; received "
                             f"{', '.join(varied)}")
        only = QUANTITIES[name].only
        for joints in {"": (), "is_elastic": (only,)}.get(only, ("is_motor", only)):
            if not getattr(plant.actuators, joints).any():
                reason = _WITHOUT_EFFECT[joints].format(plant.model.name)
                raise InputError(f"varied: '{name}' has no effect, because {reason}")
        if name in COMMANDS and plant.driver is None:
            raise InputError(f"varied: '{name}' has no effect, because no driver is between law and drives; give the "
                             f"plant one, such as '{GENERIC}'")
        if name in HARMONICS and not len(getattr(plant.actuators, name.removeprefix("motor.")).order):
            raise InputError(f"varied: '{name}' has no effect, because no motor of '{plant.model.name}' has any; give "
                             f"the actuators {name.removeprefix('motor.')}")
        if name in LOOP_GAINS and LOOP_BANDWIDTH in varied:
            raise InputError(f"varied: expected '{LOOP_BANDWIDTH}', from which the gains follow, or '{name}', received "
                             "both")
        if (name in ("friction.coulomb", "friction.static", "friction.stribeck_velocity")
                and not isinstance(plant.friction, Friction)):
            raise InputError(f"varied: '{name}': expected the friction model '{Friction.name}', received "
                             f"'{plant.friction.name}'; vary friction.viscous or friction.scale")
        if name in ("friction.stiffness", "friction.damping") and not len(plant.bristles.joints):
            raise InputError(f"varied: '{name}': expected friction with presliding, received the model "
                             f"'{plant.friction.name}' without a stiffness; use model '{MaxwellSlip.name}'")
        if name == "motor.resistance" and not plant.method.is_implicit:
            raise InputError(f"varied: '{name}': expected the integrator {Integrator.SEMI_IMPLICIT_EULER}, which is "
                             f"stable with any resistance, received {plant.integrator}")
    return varied


_WITHOUT_EFFECT = {
    "is_motor": "'{}' has no motors; give the plant actuators",
    "is_elastic": "all joints of '{}' are rigid; give joints a transmission",
    "has_heat": "no motor of '{}' has a thermal model; give one thermal_resistance and thermal_time_constant",
    "derates": "no motor of '{}' has limits that fall with its temperature; give one derating_start and derating_end",
    "has_loop": "no motor of '{}' has a current loop; give the actuators current_loop",
}
"""Why quantities have no effect, by `Quantity.only`."""


def by_name(samples: Mapping[str, ArrayLike]) -> Mapping[str, ArrayLike]:
    """Check that values are a mapping by the names of quantities, and return them.

    Raises:
        InputError: They are not.
    """
    if not isinstance(samples, Mapping):
        raise InputError(f"samples: expected values by the name of the quantity, received {shown(samples)}")
    return samples


def checked_samples(samples: Mapping[str, ArrayLike], plant: PlantModel, varied: Collection[str]) -> dict[str, Array]:
    """Check values of quantities for N robots.

    Args:
        samples: Values by name, each with a leading axis of N samples before the quantity's shape.
        plant: The plant.
        varied: Quantities that the program takes as inputs, besides those of the start.

    Returns:
        Floats by name.

    Raises:
        InputError: A name is unknown or not varied, a shape or the number of samples is wrong, or a number is NaN or
            out of range. The message names the quantity, the sample, and the expected and received values.
    """
    checked: dict[str, Array] = {}
    for name, given in by_name(samples).items():
        quantity = _quantity(name)
        if name not in varied and name not in START:
            raise InputError("samples: expected quantities that this ClosedLoop varies "
                             f"({', '.join(varied) or 'none'}), received '{name}', which is built in")
        checked[name] = _checked(quantity, given, plant)
    _check_start(checked, "samples")
    counts = {name: len(array) for name, array in checked.items()}
    if len(set(counts.values())) > 1:
        raise InputError(f"samples: expected as many samples of each quantity, received {counts}")
    if {"friction.coulomb", "friction.static"} & set(checked):
        _check_breakaway(checked, plant)
    if {"motor.derating_start", "motor.derating_end"} & set(checked):
        _check_derating(checked, plant)
    _check_loops(checked, plant)
    return checked


def _check_start(names: Collection[str], where: str) -> None:
    if OFFSET in names and "start.q" in names:
        raise InputError(f"{where}: expected positions at the start in start.q or {OFFSET}, received both")


def _quantity(name: str) -> Quantity:
    if name not in QUANTITIES:
        raise InputError(unknown("quantity", name, QUANTITIES))
    return QUANTITIES[name]


def _checked(quantity: Quantity, given: ArrayLike, plant: PlantModel) -> Array:
    """The values of one quantity as floats."""
    shape = quantity.shape(plant)
    try:
        array = np.array(given, dtype=np.float64)
    except (TypeError, ValueError):
        raise InputError(f"samples of {quantity.name}: expected numbers of shape {('N', *shape)}, received "
                         f"{shown(given)}") from None
    if array.ndim != 1 + len(shape) or array.shape[1:] != shape:
        expected = ", ".join(map(str, ("N", *shape))) + ("" if shape else ",")
        raise InputError(f"samples of {quantity.name}: expected shape ({expected}), received shape {array.shape}")
    fits = quantity.range.holds(array)
    if quantity.only:  # values at other joints, such as a missing thermal resistance, may be out of range
        fits |= ~getattr(plant.actuators, quantity.only)
    if not fits.all():
        sample, *place = map(int, np.argwhere(~fits)[0])
        raise _sample_error(quantity, sample, place, plant, str(quantity.range), array[(sample, *place)])
    return array


def _check_breakaway(samples: Mapping[str, Array], plant: PlantModel) -> None:
    if "friction.static" not in samples:
        return
    static = samples["friction.static"]
    coulomb = np.broadcast_to(samples.get("friction.coulomb", attrgetter("friction.coulomb")(plant)), static.shape)
    below = np.argwhere(static < coulomb)
    if len(below):
        sample, joint = map(int, below[0])
        raise _sample_error(QUANTITIES["friction.static"], sample, [joint], plant,
                            f"{coulomb[sample, joint]:g} or more, the Coulomb friction", static[sample, joint])


def _check_derating(samples: Mapping[str, Array], plant: PlantModel) -> None:
    start, end = (samples.get(f"motor.{name}", getattr(plant.actuators.winding, name)[None])
                  for name in ("derating_start", "derating_end"))
    name, given = ("motor.derating_end", end) if "motor.derating_end" in samples else ("motor.derating_start", start)
    wrong = np.argwhere(plant.actuators.derates & ~(start < end))
    if len(wrong):
        sample, joint = map(int, wrong[0])
        low, high = (np.broadcast_to(each, (len(given), plant.n))[sample, joint] for each in (start, end))
        expected = f"more than derating_start, {low:g}" if given is end else f"less than derating_end, {high:g}"
        raise _sample_error(QUANTITIES[name], sample, [joint], plant, expected, given[sample, joint])


def _check_loops(samples: Mapping[str, Array], plant: PlantModel) -> None:
    """Refuse samples with an unstable current loop, as plants do."""
    actuators = plant.actuators
    loops, motor = actuators.current_loops, actuators.motors.motor
    names = [name for name in (LOOP_BANDWIDTH, *LOOP_GAINS, "motor.resistance") if name in samples]
    if not names or not len(loops.joints):
        return
    loops = _varied_loops(loops, motor, samples)
    resistance = samples["motor.resistance"] if "motor.resistance" in samples else motor.resistance
    growth = np.atleast_2d(loops.growth(motor, resistance[..., loops.joints]))
    wrong = np.argwhere(growth >= 1.0)
    if len(wrong):
        sample, k = map(int, wrong[0])
        joint = int(loops.joints[k])
        raise _sample_error(QUANTITIES[names[0]], sample, [joint], plant,
                            "a current loop that is stable with its period and delay (a bandwidth of "
                            f"{loops.stable_bandwidths()[k]:.4g} Hz would do), not one whose errors grow "
                            f"{growth[sample, k]:.3g} times in a period", samples[names[0]][sample, joint])


def _sample_error(quantity: Quantity, sample: int, place: list[int], plant: PlantModel, expected: str, received: float
                  ) -> InputError:
    """The error for one number."""
    names = {JOINT: plant.model.joint_names, LINK: [joint.link for joint in plant.model.joints]}
    where = "".join(f", {axis} {names[axis][index]}" if isinstance(axis, str) else f", element {index}"
                    for axis, index in zip(quantity.axes, place, strict=True))
    return InputError(f"samples of {quantity.name}, sample {sample}{where}: expected {expected}, received {received:g}")
