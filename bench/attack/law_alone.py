# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""The effort that a law by itself asks for at a state and a reference, computed beside the controller node."""

from __future__ import annotations

import numpy as np

from robodyn_interfaces.msg import ControllerState
from robodyn_ros.control.contract.controller import JointReference, Law, State
from robodyn_ros.control.plugins.registry import make_controller
from robodyn_ros.control.runtime.modes import Mode
from robodyn_ros.description.model import Array
from robodyn_ros.robot import Robot


class LawsAlone:
    """Laws without memory, with their default parameters, as plain Python on the textbook's dynamics.

    Args:
        robot: The robot.
        names: Names of the laws.
    """

    def __init__(self, robot: Robot, *names: str) -> None:
        self._dynamics = robot.dynamics(False, "textbook")
        self._limit = robot.model.effort_limit
        self._laws: dict[str, Law] = {}
        for name in names:
            law = make_controller(name, robot)
            assert isinstance(law, Law)
            self._laws[name] = law

    def excess(self, message: ControllerState) -> float:
        """Return how far a controller's effort is from its law's own at most [N m]; 0 for another law.

        It is 0, too, where the supervisor damps a robot that the safe law swings, and says so.
        """
        law = self._laws.get(message.controller)
        if law is None or message.mode == Mode.DAMPING.value:
            return 0.0
        feedback, wanted = message.feedback, message.reference
        state = State(0.0, 0.0, np.array(feedback.positions), np.array(feedback.velocities))
        reference = None if law.follows is None else JointReference(
            *(np.array(values) for values in (wanted.positions, wanted.velocities, wanted.accelerations)))
        effort: Array = np.asarray(law.law(self._dynamics, law.parameters, state, reference))
        return float(np.abs(np.clip(effort, -self._limit, self._limit) - np.array(message.output)).max())
