# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Integrators are objects: a name with a module is all that a new one needs."""

import copy
import pickle
import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from robodyn_ros import PlantModel, Robot
from robodyn_ros.actuation import Friction
from robodyn_ros.description.resources import robot_file
from robodyn_ros.simulation import integrator
from robodyn_ros.simulation.integrator import IntegrationMethod, Integrator
from robodyn_ros.simulation.motion import SmoothState, smooth_rate
from robodyn_ros.simulation.plant_state import PlantCommand
from robodyn_ros.simulation.plant_step import step
from robodyn_ros.simulation.split_step import SplitStep

ROBOT = Robot.from_urdf(robot_file("planar_2r"))


class Midpoint(SplitStep):
    """x' = x + h f(x + h/2 f(x)), order 2."""

    stable_decay = stable_angle = 2.0

    def resolved_speed(self, step):
        return 0.1 / step

    def prepare(self, plant, state, command):
        x, rate = SmoothState.from_state(state), smooth_rate(plant, state, command)
        return x.moved(rate(x.moved(rate(x), 0.5 * plant.step)), plant.step)


@pytest.mark.parametrize("name", Integrator)
def test_every_name_has_a_method(name):
    assert isinstance(name.method, IntegrationMethod)
    plant = PlantModel.from_description(ROBOT.model, integrator=str(name))
    for other in (copy.deepcopy(plant.integrator), pickle.loads(pickle.dumps(plant.integrator))):
        assert other is plant.integrator and other.method is plant.method


def test_no_other_file_asks_which_one_it_is():
    """Whoever depends on the method reads one of its attributes."""
    package = Path(integrator.__file__).parents[1]
    asking = [str(path.relative_to(package)) for path in package.rglob("*.py")
              if "is Integrator." in path.read_text() or "is not Integrator." in path.read_text()]
    assert not asking


def test_a_new_one_is_a_class_and_its_name(monkeypatch):
    module = ModuleType("robodyn_ros.simulation.midpoint")
    module.METHOD = Midpoint()
    monkeypatch.setitem(sys.modules, module.__name__, module)
    name = str.__new__(Integrator, "midpoint")
    name._value_ = "midpoint"
    monkeypatch.setitem(Integrator._value2member_map_, "midpoint", name)
    errors = []
    for parts in (10, 20, 40):
        plant = PlantModel.from_description(ROBOT.model, 0.1 / parts, friction=Friction([0.2, 0.1], 0.0))
        object.__setattr__(plant, "integrator", name)
        state = plant.state(np.array([0.3, -0.4]), np.array([1.0, -2.0]))
        for _ in range(parts):
            state, _ = step(plant, state, PlantCommand.from_effort(np.array([4.0, 1.0])))
        fine = PlantModel.from_description(ROBOT.model, 0.1 / 40, friction=plant.friction, integrator="runge_kutta")
        exact = fine.state(np.array([0.3, -0.4]), np.array([1.0, -2.0]))
        for _ in range(40):
            exact, _ = step(fine, exact, PlantCommand.from_effort(np.array([4.0, 1.0])))
        errors.append(np.abs(state.q - exact.q).max())
    np.testing.assert_allclose(np.log2(np.array(errors[:-1]) / errors[1:]), 2.0, atol=0.2)
