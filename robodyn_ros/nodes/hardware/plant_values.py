# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Values of the plant for the diagnostics of the hardware node."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

from robodyn_ros.base.timing import to_seconds
from robodyn_ros.nodes.hardware.plant_loop import PlantLoop
from robodyn_ros.simulation.readings import ActuatorState


class PlantValues:
    """Reads values of a plant loop on the thread of the executor; they may belong to two consecutive control periods.

    Args:
        loop: The loop.
    """

    def __init__(self, loop: PlantLoop) -> None:
        self._loop = loop
        self._last = time.monotonic(), loop.periods

    def __call__(self) -> dict[str, Any]:
        """Return the values by name, with units; rates since the last call."""
        loop, plant, pace = self._loop, self._loop.plant, self._loop.timing.pace
        now, periods = time.monotonic(), loop.periods
        since, before = self._last
        self._last = now, periods
        return {
            "driver": "none" if plant.model.driver is None else plant.model.driver.profile.name,
            "time mode": str(loop.time_mode), "simulated time [s]": plant.time, "paused": loop.budget == 0,
            "periods": periods, "rate [Hz]": round((periods - before) / (now - since), 1),
            "worst jitter [s]": to_seconds(pace.worst), "missed periods": pace.missed,
            "time fallen behind [s]": to_seconds(pace.dropped),
            "periods without a new command": loop.commands.missed, "pushed links": len(loop.wrenches),
            "saturated joints": ", ".join(saturated(plant.joint_names, plant.actuator_state)) or "none",
            **loop.ages.statistics(),
            **{f"energy: {name.replace('_', ' ')} [J]": value for name, value in plant.energy._asdict().items()},
        }


def saturated(names: Sequence[str], state: ActuatorState) -> list[str]:
    """Return the joints with an actuator at a limit, each with the kind of the limit.

    Args:
        names: Joint names, length n.
        state: The actuators' state.
    """
    kinds = {"voltage": state.voltage_saturated, "current": state.current_saturated, "effort": state.effort_saturated}
    return [f"{name} ({kind})" for kind, mask in kinds.items()
            for name, at_limit in zip(names, mask, strict=True) if at_limit]
