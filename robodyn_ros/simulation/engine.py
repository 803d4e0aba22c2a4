# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Simulators of the robot's bodies, behind one interface."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from enum import StrEnum
from typing import Self

from numpy.typing import ArrayLike

from robodyn_ros.description.model import Array
from robodyn_ros.robot import Robot
from robodyn_ros.simulation.commands import Drive
from robodyn_ros.simulation.outputs import ActuatorState, read_outputs
from robodyn_ros.simulation.plant_model import PlantModel
from robodyn_ros.simulation.plant_state import PlantState
from robodyn_ros.simulation.readings import Energy, encoder_motion, readings_at_motors


class Engine(StrEnum):
    """Simulators of the articulated bodies; each uses our motors, friction levels and drive limits."""

    ROBODYN = "robodyn"
    """Our dynamics, compiled for the robot: :class:`.plant.Plant`."""
    MUJOCO = "mujoco"
    """MuJoCo, with any scene: :class:`.mujoco_plant.MujocoPlant`."""


class SimulatedRobot(ABC):
    """Interface of a simulated robot, for nodes and rollouts; each engine implements it.

    Attributes:
        robot: The robot, with its payload and mass errors.
        model: Bodies, actuators, friction, step and method.
        step: Time step [s].
        joint_names: Names of the joints, in the order of all arrays.
        initial_position: Positions at the start and after :meth:`reset`, shape (n,) [rad or m].
        q: Joint positions, shape (n,) [rad or m]; never altered, only replaced.
        v: Joint velocities, shape (n,) [rad/s or m/s]; never altered, only replaced.
        steps: Steps taken since the start.
    """

    robot: Robot
    model: PlantModel
    step: float
    joint_names: tuple[str, ...]
    initial_position: Array
    q: Array
    v: Array
    steps: int
    _state: PlantState
    _report: ActuatorState

    @property
    def time(self) -> float:
        """Simulated time since the start [s]."""
        return self.steps * self.step

    @property
    @abstractmethod
    def has_surroundings(self) -> bool:
        """Whether the robot can touch anything."""

    @property
    def effort(self) -> Array:
        """Effort of the drives at the end of the last step, shape (n,) [N m or N]."""
        return self._report.joint_effort.copy()

    @property
    def encoder_motion(self) -> tuple[Array, Array]:
        """Positions and velocities at the encoders, shape (n,) each [rad or m, rad/s or m/s]."""
        if self.model.measured_at_motors is None:  # avoids unpacking the state
            return self.q, self.v
        return encoder_motion(self.model, self.q, self.v, self._state.motor_side)

    @property
    def motor_side(self) -> tuple[Array, Array, Array]:
        """`State.motor_q`, `motor_v` and `joint_torque`; rigid joints are where their motors are."""
        return readings_at_motors(self.model, self._state, self._report.joint_effort)

    @property
    def actuator_state(self) -> ActuatorState:
        """State of the actuators at the end of the last step."""
        return read_outputs(self._report)

    @property
    @abstractmethod
    def energy(self) -> Energy:
        """Stored energy, and work and losses since the last reset or new state; from any thread."""

    @abstractmethod
    def prepare(self) -> None:
        """Compile the programs that the first steps need."""

    @abstractmethod
    def prepare_further(self) -> bool:
        """Compile one of the programs that only some robots need, on any thread; return whether one was left."""

    @abstractmethod
    def joint_inertia(self) -> Array:
        """Return the inertia of each joint moving alone, with rotors, shape (n,) [kg m^2 or kg]."""

    @abstractmethod
    def reset(self) -> None:
        """Return to the initial state at rest; time continues."""

    @abstractmethod
    def set_state(self, q: ArrayLike | None = None, v: ArrayLike | None = None) -> None:
        """Set the state of the robot; time continues.

        Raises:
            InputError: A shape is wrong, a value not finite, or a position beyond its limits.
        """

    @abstractmethod
    def continue_from(self, other: Self) -> None:
        """Take over time and state of a robot on the same engine with another payload, masses, friction or gravity.

        Energies start from zero; wrenches are not taken over.
        """

    @abstractmethod
    def check_link(self, link: str) -> None:
        """Check that wrenches can act on a link.

        Raises:
            InputError: They cannot act on it.
        """

    @abstractmethod
    def set_wrench(self, link: str, wrench: ArrayLike) -> None:
        """Apply a wrench, shape (6,) [N, N m], about a link's origin in base axes, until it is replaced.

        Raises:
            InputError: Wrenches cannot act on the link, the shape is wrong or a value not finite.
        """

    @abstractmethod
    def environment_wrench(self, link: str) -> Array:
        """Return the wrench of the surroundings on a link and all links that it carries, as a sensor measures it.

        Returns:
            (force, torque) about the link's origin in base axes, shape (6,) [N, N m]: contacts of the last step, plus
            external wrenches.

        Raises:
            InputError: No link has that name.
        """

    @abstractmethod
    def advance(self, drive: Drive, steps: int = 1) -> None:
        """Take steps under the same drive.

        Raises:
            SimulationError: The state is no longer finite; the last good one is kept.
        """


@dataclass
class SharedPlant:
    """Holds the current simulated robot, so that every user sees a replacement."""

    plant: SimulatedRobot  # the simulated robot; a replacement has the same joints and links
