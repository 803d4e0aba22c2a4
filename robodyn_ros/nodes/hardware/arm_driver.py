# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""The arm driver in the hardware node: changes commands, computes reported efforts, and announces itself."""

from __future__ import annotations

from collections.abc import Callable

from diagnostic_msgs.msg import DiagnosticStatus, KeyValue
from rclpy.node import Node

from robodyn_ros.actuation.driver_profile import DriverProfile, EffortReport
from robodyn_ros.base import topic_names
from robodyn_ros.compile import compile_function
from robodyn_ros.description.model import Array
from robodyn_ros.nodes.common.topics import LATCHED_QOS
from robodyn_ros.simulation.commands import Drive
from robodyn_ros.simulation.driver import Driver
from robodyn_ros.simulation.engine import SimulatedRobot


class ArmDriver:
    """Passes the commands of each control period through a driver, which it compiles at construction.

    Args:
        driver: The driver.
        period: Control period [s].

    Attributes:
        name: Name of the driver.
    """

    def __init__(self, driver: Driver, period: float) -> None:
        n, self._first = driver.model.n, driver.first_memory()
        self.name = driver.profile.name
        given = {"command": (n,), "q": (n,), "v": (n,), "memory": self._first}
        self._call = compile_function(lambda command, q, v, memory: driver.drive(command, q, v, memory, period),
                                      given, name="driver").call
        self.restart()

    def restart(self) -> None:
        """Forget all commands."""
        self._memory = self._first

    def apply(self, drive: Drive, q: Array, v: Array) -> Drive:
        """Return the commands of the drives in a control period.

        Args:
            drive: The commands.
            q: Joint positions, shape (n,) [rad or m].
            v: Joint velocities, shape (n,) [rad/s or m/s].
        """
        effort, self._memory = self._call(drive.effort, q, v, self._memory)
        return drive._replace(effort=effort)


def arm_driver(plant: SimulatedRobot, period: float) -> ArmDriver | None:
    """Return the driver of a simulated robot; None: it has no driver that changes commands.

    Args:
        plant: The simulated robot.
        period: Control period [s].
    """
    driver = plant.model.driver
    return None if driver is None or not driver.profile.changes_commands else ArmDriver(driver, period)


def effort_report(plant: SimulatedRobot) -> Callable[[SimulatedRobot], Array] | None:
    """Return the function for the effort in joint states, shape (n,) [N m or N, or A]; None: there is none."""
    driver = plant.model.driver
    kind = EffortReport.DRIVE_TORQUE if driver is None else EffortReport(driver.profile.effort)
    if driver is None or kind is EffortReport.DRIVE_TORQUE:
        return lambda plant: plant.effort
    if kind is EffortReport.NONE:
        return None
    if kind is EffortReport.JOINT_TORQUE:
        return lambda plant: plant.effort + plant.actuator_state.friction_effort
    if kind is EffortReport.TORQUE_WITHOUT_GRAVITY:
        gravity = compile_function(driver.gravity, {"q": (driver.model.n,)}, name="gravity of the driver").call
        return lambda plant: plant.effort - gravity(plant.q)
    if plant.model.actuators.is_motor.all():
        return lambda plant: plant.actuator_state.current
    constant = driver.profile.per_joint("torque_per_current", driver.model.n)
    return lambda plant: plant.effort / constant


class DriverAnnouncement:
    """Announces the driver's profile and the timing of the loop.

    Create it before the publisher of joint states, so that a node that receives joint states has also discovered this
    topic.

    Args:
        node: The node that publishes.
    """

    def __init__(self, node: Node) -> None:
        self._name = node.get_fully_qualified_name()
        self._publisher = node.create_publisher(DiagnosticStatus, topic_names.DRIVER_PROFILE, LATCHED_QOS)

    def publish(self, profile: DriverProfile, update_rate: int, sensing_delay: int) -> None:
        """Publish the profile of the driver, and the timing of its control loop.

        Args:
            profile: Of the driver.
            update_rate: Control periods per second [Hz].
            sensing_delay: Delay of the measurements [control periods].
        """
        values = {"compensates_gravity": profile.compensates_gravity,
                  "compensates_friction": profile.compensates_friction, "effort": profile.effort,
                  "update_rate": update_rate, "state_delay": sensing_delay + profile.delay}
        self._publisher.publish(DiagnosticStatus(
            name=self._name, message=profile.name,
            values=[KeyValue(key=key, value=str(value).lower()) for key, value in values.items()]))
