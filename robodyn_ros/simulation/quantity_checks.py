# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Checks of the quantities that a rollout varies, and of their values."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from operator import attrgetter

import numpy as np
from numpy.typing import ArrayLike

from robodyn_ros.actuation.driver_profile import GENERIC
from robodyn_ros.actuation.friction import Friction
from robodyn_ros.actuation.maxwell_slip import MaxwellSlip
from robodyn_ros.base.errors import InputError, shown, unknown
from robodyn_ros.description.model import Array
from robodyn_ros.simulation.integrator import Integrator
from robodyn_ros.simulation.plant_model import PlantModel
from robodyn_ros.simulation.quantities import (
    COMMANDS,
    HARMONICS,
    JOINT,
    LINK,
    LOOP_BANDWIDTH,
    LOOP_GAINS,
    OFFSET,
    QUANTITIES,
    START,
    Quantity,
    varied_loops,
)


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
        if name in ("friction.stiffness", "friction.damping") and not plant.parts.presliding.modes:
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
    loops = varied_loops(loops, motor, samples)
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
