# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Quantities of the plant that rollouts take as inputs instead of constants, and the plant with given values of them.

`varied_plant` and `varied_model` work on floats, which gives a plant to fold into a program, and on traced scalars,
which gives a plant whose values are inputs of the program. Both are the same formulas. Values are checked before, by
`checked_samples`: the formulas look at no traced value.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from operator import attrgetter
from typing import Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from robodyn_ros.actuation.friction import Friction
from robodyn_ros.checks import ANY_FINITE, NOT_NEGATIVE, Range
from robodyn_ros.description.model import Array, RobotModel
from robodyn_ros.errors import InputError, shown, suggest
from robodyn_ros.simulation.model_perturbations import with_body, with_link_changes
from robodyn_ros.simulation.plant_model import Integrator, PlantModel
from robodyn_ros.simulation.sensing import MOST_DELAY

JOINT, LINK = "joint", "link"
"""Axes of the joints, in the order of q, and of the moving links, in the order of ``RobotModel.joints``."""

MODEL = "model."
"""Prefix of the quantities of the law's own model."""

OFFSET = "start.q_offset"

START = ("start.q", "start.v", OFFSET)
"""Quantities that are inputs of every rollout, varied or not."""

NOISES = ("sensing.position_noise", "sensing.velocity_noise")
"""Standard deviations of the scenario's noise: a program takes both or none."""

RESOLUTION, DELAY = "sensing.position_resolution", "sensing.delay"

SENSING = (*NOISES, RESOLUTION, DELAY)
"""Quantities of the sensors, see `sensing`."""

Values = Mapping[str, NDArray[Any]]
"""Floats or traced scalars by the name of the quantity."""


@dataclass(frozen=True)
class Quantity:
    """A named number or array of the simulated robot, of its start, or of the law's own model.

    Attributes:
        name: Its name.
        allowed: Range of its numbers, and their unit.
        axes: Axes of a value: `JOINT`, `LINK` or a length.
        description: Its meaning.
        nominal: The path of the field of a plant that it stands for, such as ``friction.viscous``; or the number that
            changes nothing; None: that of the scenario.
        needs: Quantity without which it has no effect; empty for none.
        of_motors: Whether it has an effect only on joints with motors.
        whole: Whether its numbers are whole.
        not_zero: Whether 0 is out of its range.
    """

    name: str
    allowed: Range
    axes: tuple[str | int, ...]
    description: str
    nominal: str | float | None
    needs: str = ""
    of_motors: bool = False
    whole: bool = False
    not_zero: bool = False

    @property
    def unit(self) -> str:
        """Unit of its numbers; empty without one."""
        return self.allowed.unit

    @property
    def expected(self) -> str:
        """Its range in words."""
        return f"{self.allowed}{', whole' * self.whole}{', other than 0' * self.not_zero}"

    def holds(self, values: Array) -> NDArray[np.bool_]:
        """Return whether each number is in its range, shape as of ``values``."""
        fits = self.allowed.holds(values)
        if self.whole:
            fits &= values == np.rint(values)
        return fits & (values != 0.0) if self.not_zero else fits

    def shape(self, plant: PlantModel) -> tuple[int, ...]:
        """Return the shape of a value for a plant."""
        lengths = {JOINT: plant.n, LINK: len(plant.model.joints)}
        return tuple(lengths[axis] if isinstance(axis, str) else axis for axis in self.axes)

    def typical_value(self, plant: PlantModel) -> Array:
        """Return a value near the nominal one without zeros, of `shape`: no sample is simplified as if it had zeros."""
        shape = self.shape(plant)
        small = 1e-3 * np.sqrt(np.arange(2.0, 2.0 + np.prod(shape, dtype=int))).reshape(shape)
        nominal = np.zeros(shape) if self.nominal is None else self.nominal_value(plant)
        return np.where(nominal == 0.0, small, nominal)

    def nominal_value(self, plant: PlantModel) -> Array:
        """Return the value of a plant, of `shape`."""
        if self.nominal is None:
            raise InputError(f"{self.name}: its value is that of the scenario")
        nominal = attrgetter(self.nominal)(plant) if isinstance(self.nominal, str) else self.nominal
        return np.array(np.broadcast_to(np.asarray(nominal, dtype=np.float64), self.shape(plant)))


T = TypeVar("T")

_MOTOR = "actuators.motors.motor"


def _unit(unit: str, base: Range = NOT_NEGATIVE) -> Range:
    return replace(base, unit=unit)


def _motor(name: str, allowed: Range, description: str, path: str, not_zero: bool = False) -> Quantity:
    return Quantity(name, allowed, (JOINT,), description, f"actuators.{path}", of_motors=True, not_zero=not_zero)


_ABOVE_0 = Range(0.0, above=True)
_LIMIT = Range(0.0, above=True, or_infinite=True)

_INERTIAL = (
    Quantity("payload.mass", _unit("kg"), (), "Point mass welded to the tip link.", 0.0),
    Quantity("payload.center_of_mass", _unit("m", ANY_FINITE), (3,), "Its position in the frame of the tip link.",
             0.0, needs="payload.mass"),
    Quantity("link.mass_scale", _ABOVE_0, (LINK,), "Factor on the mass of each link and on its rotational inertia.",
             1.0),
    Quantity("link.inertia_scale", _ABOVE_0, (LINK,), "Factor on the rotational inertia about the centre of mass.",
             1.0),
    Quantity("link.center_offset", _unit("m", ANY_FINITE), (LINK, 3),
             "Displacement of the centre of mass, in the axes of the link.", 0.0),
)

QUANTITIES: dict[str, Quantity] = {quantity.name: quantity for quantity in (
    *_INERTIAL,
    Quantity("friction.viscous", _unit("N m s/rad or N s/m"), (JOINT,), "Viscous friction.",
             "friction.viscous"),
    Quantity("friction.coulomb", _unit("N m or N"), (JOINT,),
             "Coulomb friction; the breakaway friction keeps its distance above it, unless it is varied too.",
             "friction.coulomb"),
    Quantity("friction.static", _unit("N m or N"), (JOINT,), "Breakaway friction, not below the Coulomb friction.",
             "friction.static"),
    Quantity("friction.scale", NOT_NEGATIVE, (), "Factor on all friction.", 1.0),
    _motor("motor.torque_constant", _unit("N m/A", _ABOVE_0),
           "Torque constant of the motor; the back-EMF constant changes in proportion.",
           "motors.motor.torque_constant"),
    _motor("motor.resistance", _unit("ohm", _ABOVE_0), "Resistance of the armature.",
           "motors.motor.resistance"),
    _motor("motor.voltage_limit", _unit("V", _LIMIT), "Voltage limit of the amplifier.",
           "voltage_limit"),
    _motor("motor.current_limit", _unit("A", _LIMIT), "Current limit of the amplifier.",
           "current_limit"),
    _motor("gear.efficiency", Range(0.0, 1.0, above=True), "Efficiency of the gear.",
           "efficiency"),
    _motor("gear.ratio", _unit("- or rad/m", ANY_FINITE), "Motor turns per joint turn.",
           "motors.gear.ratio", not_zero=True),
    Quantity("gravity", _unit("m/s^2", ANY_FINITE), (3,), "Gravitational acceleration in base axes.",
             "model.gravity"),
    Quantity(NOISES[0], _unit("rad or m"), (JOINT,), "Standard deviation of the noise in positions.", None),
    Quantity(NOISES[1], _unit("rad/s or m/s"), (JOINT,), "Standard deviation of the noise in velocities.", None),
    Quantity(RESOLUTION, _unit("rad or m"), (JOINT,), "Step of the encoders; 0: none.", 0.0),
    Quantity(DELAY, Range(0.0, MOST_DELAY, "control periods"), (), "Delay of all measurements.", 0.0,
             whole=True),
    Quantity("start.q", _unit("rad or m", ANY_FINITE), (JOINT,), "Joint positions at the start.", None),
    Quantity("start.v", _unit("rad/s or m/s", ANY_FINITE), (JOINT,), "Joint velocities at the start.", None),
    Quantity(OFFSET, _unit("rad or m", ANY_FINITE), (JOINT,),
             "Distance of the joint positions at the start from those of the scenario; in studies, of the motion.",
             0.0),
    *(replace(quantity, name=MODEL + quantity.name, needs=MODEL + quantity.needs if quantity.needs else "",
              description=f"In the law's own model: {quantity.description}") for quantity in _INERTIAL),
)}
"""The quantities by name."""


def of_plant(names: Iterable[str]) -> tuple[str, ...]:
    """Return the quantities among some that belong to the plant: not to sensors, start, or the law's model."""
    return tuple(name for name in names if name not in (*SENSING, *START) and not name.startswith(MODEL))


def varied_model(model: RobotModel, values: Values) -> RobotModel:
    """Return a robot with other inertias.

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
    """Return a plant with other values of some quantities.

    Args:
        plant: The plant.
        values: Quantities of `of_plant`, floats or traced scalars.
    """
    fields = {}
    for name, value in values.items():
        quantity, path = QUANTITIES[name], QUANTITIES[name].nominal
        if isinstance(path, str):
            own = attrgetter(path)(plant)
            fields[path] = np.where(plant.actuators.is_motor, value, own) if quantity.of_motors else value
    if "friction.coulomb" in fields and "friction.static" not in fields:
        fields["friction.static"] = fields["friction.coulomb"] + attrgetter("friction.rise")(plant)
    motor = plant.actuators.motors.motor
    if (constant := fields.get(f"{_MOTOR}.torque_constant")) is not None:
        fields[f"{_MOTOR}.back_emf_constant"] = motor.back_emf_constant / motor.torque_constant * constant
    varied = with_fields(plant, fields)
    model = varied_model(varied.model, values)
    friction = varied.friction.scaled(values["friction.scale"]) if "friction.scale" in values else varied.friction
    if model is varied.model and friction is varied.friction:
        return varied
    return replace(varied, model=model, friction=friction)


def with_fields(record: T, values: Mapping[str, Any]) -> T:
    """Return a dataclass with other values of some fields, which are named by paths such as ``friction.viscous``."""
    if not values:
        return record
    own = {path: value for path, value in values.items() if "." not in path}
    for name in dict.fromkeys(path.split(".")[0] for path in values if "." in path):
        inner = {path.removeprefix(f"{name}."): value for path, value in values.items() if path.startswith(f"{name}.")}
        own[name] = with_fields(getattr(record, name), inner)
    return replace(record, **own)  # type: ignore[type-var]  # a dataclass


def check_varied(names: Iterable[str], plant: PlantModel) -> tuple[str, ...]:
    """Return the names of quantities to vary.

    Args:
        names: The names.
        plant: The plant.

    Raises:
        InputError: A name is unknown or stands twice, or a quantity has no effect.
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
        if QUANTITIES[name].of_motors and not plant.actuators.is_motor.any():
            raise InputError(f"varied: '{name}' has no effect, because '{plant.model.name}' has no motors; give "
                             "the plant actuators")
        if name in ("friction.coulomb", "friction.static") and not isinstance(plant.friction, Friction):
            raise InputError(f"varied: '{name}': expected the friction model '{Friction.name}', received "
                             f"'{plant.friction.name}'; vary friction.viscous or friction.scale")
        if name == "motor.resistance" and plant.integrator is not Integrator.SEMI_IMPLICIT_EULER:
            raise InputError(f"varied: '{name}': expected the integrator {Integrator.SEMI_IMPLICIT_EULER}, which is "
                             f"stable with any resistance, received {plant.integrator}")
    return varied


def by_name(samples: Mapping[str, ArrayLike]) -> Mapping[str, ArrayLike]:
    """Return values of quantities as they are.

    Raises:
        InputError: They have no names.
    """
    if not isinstance(samples, Mapping):
        raise InputError(f"samples: expected values by the name of the quantity, received {shown(samples)}")
    return samples


def checked_samples(samples: Mapping[str, ArrayLike], plant: PlantModel, varied: Collection[str]) -> dict[str, Array]:
    """Check values of quantities for N robots.

    Args:
        samples: Values by name, each of the quantity's shape after an axis of N samples.
        plant: The plant.
        varied: Quantities that the program takes; those of the start are taken always.

    Returns:
        Floats by name.

    Raises:
        InputError: A name is unknown or not varied, a shape or the number of samples is wrong, or a number is NaN or
            out of range; it names the quantity, the sample, and what was expected and received.
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
    return checked


def _check_start(names: Collection[str], where: str) -> None:
    if OFFSET in names and "start.q" in names:
        raise InputError(f"{where}: expected positions at the start in start.q or {OFFSET}, received both")


def _quantity(name: str) -> Quantity:
    if name not in QUANTITIES:
        raise InputError(f"quantity '{name}' is unknown: {suggest(name, QUANTITIES)}")
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
    fits = quantity.holds(array)
    if not fits.all():
        sample, *place = map(int, np.argwhere(~fits)[0])
        raise _wrong(quantity, sample, place, plant, quantity.expected, array[(sample, *place)])
    return array


def _check_breakaway(samples: Mapping[str, Array], plant: PlantModel) -> None:
    if "friction.static" not in samples:
        return
    static = samples["friction.static"]
    coulomb = np.broadcast_to(samples.get("friction.coulomb", attrgetter("friction.coulomb")(plant)), static.shape)
    below = np.argwhere(static < coulomb)
    if len(below):
        sample, joint = map(int, below[0])
        raise _wrong(QUANTITIES["friction.static"], sample, [joint], plant,
                     f"{coulomb[sample, joint]:g} or more, the Coulomb friction", static[sample, joint])


def _wrong(quantity: Quantity, sample: int, place: list[int], plant: PlantModel, expected: str, received: float
           ) -> InputError:
    """The error for one number."""
    names = {JOINT: plant.model.joint_names, LINK: [joint.link for joint in plant.model.joints]}
    where = "".join(f", {axis} {names[axis][index]}" if isinstance(axis, str) else f", element {index}"
                    for axis, index in zip(quantity.axes, place, strict=True))
    return InputError(f"samples of {quantity.name}, sample {sample}{where}: expected {expected}, received {received:g}")
