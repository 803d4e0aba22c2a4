# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Whether the arm's driver adds gravity, so that commands leave it out: told by parameters, or by the hardware."""

from __future__ import annotations

import numpy as np

from robodyn_ros.actuation.driver_profile import DRIVERS
from robodyn_ros.base.errors import InputError
from robodyn_ros.base.fields import Field
from robodyn_ros.control.runtime.tick import Tick
from robodyn_ros.description.model import Array
from robodyn_ros.nodes.controller.hardware_announcement import Announcement
from robodyn_ros.nodes.controller.part import Context

AUTO, COMMAND, DRIVER = "auto", "command", "driver"

PARAMETERS = (
    Field("driver", "", "Driver of the arm: a name in config/drivers/ or a YAML file like those; empty: the one that a "
          "simulated hardware says it plays, or else one that passes efforts on", structural=True,
          suggestions=DRIVERS.names),
    Field("gravity_compensation_by", AUTO, "Who compensates gravity. auto: the driver, if its profile says so, else "
          "the commands; command: the commanded efforts do; driver: the robot's driver adds what gravity needs, and "
          "the commands leave it out, by the model", structural=True, choices=(AUTO, COMMAND, DRIVER)),
)


class GravityOfDriver:
    """Leaves gravity out of commands where the driver adds it, and tells where it would count twice or not at all.

    Args:
        context: What it knows of the node.

    Attributes:
        by_driver: Whether the driver adds gravity; any thread may read it.

    Raises:
        InputError: The parameters contradict each other, or there is no such driver.
    """

    def __init__(self, context: Context) -> None:
        node = context.node
        self._node, self._loop, self._gravity = node, context.loop, context.robot.dynamics().gravity
        self._given: str = node.parameters["gravity_compensation_by"]
        name = node.parameters["driver"]
        self.by_driver = self._given == DRIVER
        self._friction_of = ""  # name of a driver that compensates friction
        if name:
            profile = DRIVERS.load(name, "parameter 'driver'")
            if self._given != AUTO and self.by_driver != profile.compensates_gravity:
                raise InputError(f"parameter 'gravity_compensation_by': expected '{AUTO}', as the driver '{name}' "
                                 f"{_adds(profile.compensates_gravity)}, received '{self._given}'")
            self.by_driver = profile.compensates_gravity
            self._friction_of = profile.name if profile.compensates_friction else ""
        self._by_name = bool(name)
        context.announcement.handlers.append(self._on_announcement)
        node.diagnostics.checks.append(self._look_for_friction)

    def commanded(self, tick: Tick) -> Array:
        """Return the efforts to command at a tick, shape (n,) [N m or N]."""
        return tick.effort - self._gravity(tick.state.q) if self.by_driver else tick.effort

    def _on_announcement(self, announcement: Announcement) -> None:
        values, driver = announcement.values, announcement.driver
        adds = values.get("compensates_gravity") == "true"
        diagnostics, said = self._node.diagnostics, f"the driver of {announcement.node} ('{driver}') {_adds(adds)}"
        self._friction_of = driver if values.get("compensates_friction") == "true" else ""
        if self._given == AUTO and not self._by_name:
            if adds != self.by_driver:
                self._node.log.info("gravity", f"{said}: {'commands leave it out' if adds else 'commands have it'}")
            self.by_driver = adds
        elif adds != self.by_driver:
            what = "gravity counts twice" if adds else "nobody compensates gravity"
            own = ("'driver'" if self._by_name else f"'gravity_compensation_by' ({self._given})")
            diagnostics.raise_condition("gravity", f"{what}: {said}, against the parameter {own} of this node; leave "
                                        "the parameter out, or give both nodes the same driver", error=True)
        else:
            diagnostics.clear_condition("gravity", f"{said}, as this node expects")

    def _look_for_friction(self) -> None:
        """Look whether the law and the driver both compensate friction."""
        chosen = self._loop.laws.chosen
        if self._friction_of and np.any(getattr(chosen.controller.parameters, "friction", 0.0)):
            self._node.diagnostics.raise_condition(
                "friction", f"friction counts twice: controller '{chosen.name}' and the driver '{self._friction_of}' "
                f"both compensate it; set the gains {chosen.name}.gains.<joint>.friction to 0")
        else:
            self._node.diagnostics.clear_condition("friction", "friction is compensated once")


def _adds(adds: bool) -> str:
    return "adds gravity" if adds else "adds no gravity"
