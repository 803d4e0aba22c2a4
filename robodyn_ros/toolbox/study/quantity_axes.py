# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Reads distributions of varied quantities in study files and training environments, as axes of a design."""

from __future__ import annotations

import itertools
from collections.abc import Collection, Iterator, Mapping
from typing import Any

from robodyn_ros.base.checks import Range
from robodyn_ros.base.errors import InputError, shown, unknown
from robodyn_ros.control.references.joint_trajectory import JointTrajectory
from robodyn_ros.simulation.plant_model import PlantModel
from robodyn_ros.simulation.quantities import JOINT, LINK, QUANTITIES
from robodyn_ros.toolbox.study.distributions import read_distribution
from robodyn_ros.toolbox.study.study import Axis, common_range, element_ranges

SHARED = "shared"
"""Key of a distribution of one number for all elements of a quantity."""


def quantity_axes(where: str, given: Any, plant: PlantModel, motions: Collection[JointTrajectory]
                  ) -> Iterator[tuple[str, tuple[Axis, ...]]]:
    """Yield the axes of each quantity that differs, by name.

    Args:
        where: Place of the distributions, for messages.
        given: Distributions by the name of the quantity: for all elements, for some by name, or under `SHARED` one
            number for all; None: none.
        plant: The simulated robot.
        motions: Motions in which starts must be within the limits of the joints.

    Raises:
        InputError: A name is unknown, or a distribution does not fit.
    """
    if given is None:
        return
    if not isinstance(given, Mapping):
        raise InputError(f"{where}: expected distributions by the name of the quantity, received {shown(given)}")
    for name, value in given.items():
        if name not in QUANTITIES:
            raise InputError(f"{where}: {unknown('quantity', name, QUANTITIES)}")
        elements = element_names(str(name), plant)
        ranges = element_ranges(str(name), plant, motions)
        yield str(name), tuple(_quantity_axes(f"{where}: {name}", str(name), value, elements, ranges))


def _quantity_axes(where: str, name: str, value: Any, elements: list[str], ranges: list[Range]) -> Iterator[Axis]:
    everything, allowed = tuple(range(len(elements))), common_range(ranges)
    if isinstance(value, Mapping) and SHARED in value:
        if len(value) > 1:
            raise InputError(f"{where}: expected '{SHARED}' alone, received {shown(dict(value))}")
        yield Axis(name, read_distribution(value[SHARED], allowed, f"{where}: {SHARED}"), everything)
    elif isinstance(value, Mapping) and value and set(map(str, value)) & set(elements) - {""}:
        for element, one in value.items():
            if str(element) not in elements:
                raise InputError(f"{where}: {unknown('element', element, elements)}")
            place = elements.index(str(element))
            yield Axis(f"{name}[{element}]", read_distribution(one, ranges[place], f"{where}: {element}"), (place,))
    elif isinstance(value, list):
        if len(value) != len(elements):
            raise InputError(f"{where}: expected {len(elements)} numbers ({', '.join(elements)}), received "
                             f"{shown(value)}")
        for place, (element, one) in enumerate(zip(elements, value, strict=True)):
            yield Axis(f"{name}[{element}]", read_distribution(one, ranges[place], f"{where}: {element}"), (place,))
    elif not isinstance(value, Mapping) or elements == [""]:
        yield Axis(name, read_distribution(value, allowed, where), everything)
    else:
        for place, element in enumerate(elements):
            yield Axis(f"{name}[{element}]", read_distribution(value, ranges[place], f"{where}: {element}"), (place,))


def element_names(quantity: str, plant: PlantModel) -> list[str]:
    """Names of the elements of a plant quantity: joints, links, or axes x, y and z; one empty name for a number."""
    names = {JOINT: plant.model.joint_names, LINK: [joint.link for joint in plant.model.joints], 3: "xyz"}
    axes = [list(names[axis]) for axis in QUANTITIES[quantity].axes]
    return [".".join(each) for each in itertools.product(*axes)]
