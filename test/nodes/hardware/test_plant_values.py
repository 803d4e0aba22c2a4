# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Figures of a plant for the diagnostics. As they are published: test_hardware_topics and test_hardware_motors."""

from types import SimpleNamespace

import numpy as np
import pytest

from robodyn_ros import Robot
from robodyn_ros.control.runtime.age_monitor import AgeMonitor
from robodyn_ros.description.resources import robot_file
from robodyn_ros.nodes.hardware import plant_values
from robodyn_ros.nodes.hardware.parameters import TimeMode
from robodyn_ros.nodes.hardware.plant_timing import PlantTiming
from robodyn_ros.nodes.hardware.plant_values import PlantValues, saturated
from robodyn_ros.simulation.plant import Plant


def test_figures_are_of_the_plant_in_force_and_rates_since_the_last_call(monkeypatch):
    steady = iter([10.0, 12.0, 12.5])
    monkeypatch.setattr(plant_values, "time", SimpleNamespace(monotonic=lambda: next(steady)))
    plant = Plant(Robot.from_urdf(robot_file("planar_2r")), compiled=False)
    loop = SimpleNamespace(plant=plant, timing=PlantTiming(TimeMode.SCALED, 1_000_000), time_mode=TimeMode.SCALED,
                           budget=None, periods=0, commands=SimpleNamespace(missed=3), wrenches=["link2"],
                           ages=AgeMonitor("commands"))
    values = PlantValues(loop)
    loop.periods, loop.timing.pace.worst, loop.timing.pace.missed = 1000, 2_500_000, 7
    loop.ages.note(1_000_000, 3_000_000, 5_000_000)
    first = values()
    assert (first["age of commands [ms]: greatest"], first["transport of commands [ms]: mean"]) == (4.0, 2.0)
    assert (first["time mode"], first["paused"], first["periods"], first["rate [Hz]"]) == ("scaled", False, 1000, 500.0)
    assert (first["worst jitter [s]"], first["missed periods"], first["time fallen behind [s]"]) == (0.0025, 7, 0.0)
    assert (first["periods without a new command"], first["pushed links"], first["saturated joints"]) == (3, 1, "none")
    other = Plant(Robot.from_urdf(robot_file("planar_2r")), position=[0.3, 0.2], compiled=False)
    loop.plant, loop.periods, loop.budget = other, 1100, 0
    second = values()
    assert not any("commands [ms]" in name for name in second), "no command came since"
    assert (second["paused"], second["rate [Hz]"]) == (True, 200.0)
    assert second["energy: potential [J]"] == other.energy.potential != first["energy: potential [J]"]
    assert second["energy: winding heat [J]"] == 0.0


@pytest.mark.parametrize(("limits", "expected"), [
    ({}, []),
    ({"effort": [True, False]}, ["joint1 (effort)"]),
    ({"voltage": [True, True], "current": [False, True]}, ["joint1 (voltage)", "joint2 (voltage)", "joint2 (current)"]),
])
def test_saturated_joints_are_named_with_the_limit(limits, expected):
    state = SimpleNamespace(**{f"{kind}_saturated": np.array(limits.get(kind, [False, False]))
                               for kind in ("voltage", "current", "effort")})
    assert saturated(["joint1", "joint2"], state) == expected
