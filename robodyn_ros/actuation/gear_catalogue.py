# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Gears by name: config/gears/ has one file for each, from its data sheet or a paper."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from robodyn_ros.actuation.catalogue import Catalogue
from robodyn_ros.base.fields import declare


@dataclass(frozen=True)
class GearData:
    """Data of a gear between a motor and a joint that turns, in SI units."""

    name: str = declare(kind=str, description="Manufacturer and type")
    source: str = declare(kind=str, description="Source of the data")
    stiffness: float = declare(unit="N m/rad", minimum=0.0, above=True, maximum=1e12,
                               description="Torsional stiffness at the output")
    ratio: float | None = declare(None, not_zero=True, description="Motor turns per turn of the output; negative where "
                                  "the motor turns the other way; none: it is made with several")
    damping: float = declare(0.0, unit="N m s/rad", minimum=0.0, description="Damping beside it")
    backlash: float = declare(0.0, unit="rad", minimum=0.0, maximum=0.1, description="Greatest play at the output, or "
                              "lost motion where the data sheet has that")
    efficiency: float = declare(1.0, minimum=0.0, above=True, maximum=1.0, description="Efficiency at full load")
    inertia: float = declare(0.0, unit="kg m^2", minimum=0.0, description="Inertia at the input, on the motor's shaft")
    input_damping: float = declare(0.0, unit="N m s/rad", minimum=0.0, description="Viscous friction at the input")
    input_friction: float = declare(0.0, unit="N m", minimum=0.0, description="Coulomb friction at the input")

    @property
    def actuator_keys(self) -> dict[str, Any]:
        """Values of an actuator's section that it provides."""
        ratio = {} if self.ratio is None else {"gear_ratio": self.ratio}
        return ratio | {"gear_efficiency": self.efficiency, "gear_inertia": self.inertia,
                        "motor_damping": self.input_damping, "motor_friction": self.input_friction}

    @property
    def transmission_keys(self) -> dict[str, Any]:
        """Values of a transmission's section that it provides."""
        return {"stiffness": self.stiffness, "damping": self.damping, "backlash": self.backlash}


GEARS = Catalogue("gears", "gear", GearData)
