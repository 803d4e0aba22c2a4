# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Publishers of the hardware node: joint states, new starts, /clock, actuator states and the simulated force sensor."""

from __future__ import annotations

import time
from collections.abc import Callable
from math import inf

import numpy as np
from geometry_msgs.msg import WrenchStamped
from rclpy.node import Node
from rosgraph_msgs.msg import Clock
from sensor_msgs.msg import JointState

from robodyn_interfaces.msg import ActuatorStates, NewStart
from robodyn_ros.base import topic_names
from robodyn_ros.base.timing import NANOSECONDS_PER_SECOND, to_seconds
from robodyn_ros.description.model import Array
from robodyn_ros.nodes.common.joint_wire import FIELDS, JointWire
from robodyn_ros.nodes.common.messages import set_stamp, to_field
from robodyn_ros.nodes.common.poses import set_vector
from robodyn_ros.nodes.common.topics import CONTROL_QOS, DISPLAY_STATES_RATE, DisplayPublisher
from robodyn_ros.nodes.hardware.arm_driver import effort_report
from robodyn_ros.simulation.engine import SharedPlant, SimulatedRobot
from robodyn_ros.simulation.force_torque_sensor import ForceTorqueSensing, ForceTorqueSensor, tool_weight

REPEAT_SECONDS = 0.1
"""Period with which a paused or waiting simulation repeats its last state [s]."""

LOOK_SECONDS = 0.1
"""Time between two checks for subscribers of motor states [s]."""


class StateOutputs:
    """Publishes states of a plant.

    Args:
        node: The node that publishes.
        simulated: Holds the simulated robot.
        period_ns: Control period [ns].
        clock_rate: Messages on /clock per simulated second [Hz], at most one per control period; 0: no /clock.
        frame: tf frame of the base link, for displays that need a frame in joint states.

    Attributes:
        handle: Handle of the joint state publisher, for the control path.
        clock_yielded: Whether another node publishes /clock; any thread may replace it.
    """

    def __init__(self, node: Node, simulated: SharedPlant, period_ns: int, clock_rate: float,
                 frame: str = "") -> None:
        self._simulated, self._period_ns = simulated, period_ns
        self._joint_states = node.create_publisher(JointState, topic_names.JOINT_STATES, CONTROL_QOS)
        self.handle = self._joint_states.handle
        self._publish_state: Callable[[bytes], None] = self.handle.publish_raw
        self._motor_states = node.create_publisher(JointState, topic_names.MOTOR_STATES, CONTROL_QOS)
        self._next_look, self._motors_heard = 0.0, False
        self._new_starts = node.create_publisher(NewStart, topic_names.NEW_STARTS, CONTROL_QOS)
        self._actuator_states = node.create_publisher(ActuatorStates, topic_names.own(topic_names.ACTUATOR_STATES), 10)
        self._display_states = DisplayPublisher(node, JointState, topic_names.DISPLAY_JOINT_STATES, DISPLAY_STATES_RATE)
        self._display = DisplayPublisher(node, ActuatorStates, topic_names.own(topic_names.DISPLAY_ACTUATOR_STATES))
        self._clock = node.create_publisher(Clock, topic_names.CLOCK, CONTROL_QOS) if clock_rate else None
        self._clock_periods = max(1, round(NANOSECONDS_PER_SECOND / period_ns / clock_rate)) if clock_rate else 0
        self._next_clock = 0
        self.clock_yielded = False
        self._actuator_periods, self._next_actuators = inf, inf
        self._repeat_at = 0.0
        names, self._effort = list(simulated.plant.joint_names), effort_report(simulated.plant)
        fields = FIELDS if self._effort is not None else FIELDS[:2]
        self._motor_wire, self._wire = JointWire(names, FIELDS, frame), JointWire(names, fields, frame)
        self._new_start = NewStart(name=names)
        self._actuators, self._now = ActuatorStates(name=names), Clock()
        self._state, self._stamp, self._new_start_reason = b"", 0, ""  # of the last state published

    @property
    def has_clock(self) -> bool:
        """Whether the node has a publisher of /clock."""
        return self._clock is not None

    def set_actuator_state_rate(self, rate: float) -> None:
        """Set the rate of actuator states, per simulated second [Hz]; 0: none."""
        self._actuator_periods = NANOSECONDS_PER_SECOND / rate / self._period_ns if rate > 0.0 else inf
        self._next_actuators = 0.0 if rate > 0.0 else inf

    def publish(self, tick: int, stamp: int, position: Array, velocity: Array, new_start: str) -> None:
        """Publish the plant's state.

        Args:
            tick: Simulated time [control periods].
            stamp: Stamp of the state [ns].
            position: Measured joint positions, shape (n,) [rad or m].
            velocity: Joint velocities likewise, shape (n,) [rad/s or m/s].
            new_start: Why no commanded motion leads to this state; empty if one does.
        """
        self._stamp, now = stamp, time.monotonic()
        if now >= self._next_look or self._motors_heard:
            self._publish_motors(stamp, now)  # before the joint state that a controller answers
        effort = () if self._effort is None else (self._effort(self._simulated.plant),)
        self._state = self._wire.encode(stamp, position, velocity, *effort)
        self._new_start_reason = new_start
        self._publish_joint_state()
        if self._clock is not None and tick >= self._next_clock and not self.clock_yielded:
            self._next_clock = tick + self._clock_periods
            self._clock.publish(self._clock_message())
        if tick >= self._next_actuators:
            # Keeps the rate on average, also if its period is not a whole number of control periods.
            self._next_actuators = max(self._next_actuators + self._actuator_periods, tick + 1.0)
            self._publish_actuators()
        if self._display_states.due(now):
            self._display_states.publish(self._state)
        if self._display.due(now):
            self._display.publish(self._actuator_message())
        self._repeat_at = now + REPEAT_SECONDS

    def repeat(self) -> bool:
        """Publish the last state again after ``REPEAT_SECONDS``, with the same stamp, for late subscribers.

        Returns:
            Whether it was published.
        """
        now = time.monotonic()
        if now < self._repeat_at:
            return False
        self._repeat_at = now + REPEAT_SECONDS
        self._publish_motors(self._stamp, now)
        self._publish_joint_state()
        if self._display_states.due(now):
            self._display_states.publish(self._state)
        if self._clock is not None and not self.clock_yielded:
            self._clock.publish(self._clock_message())
        if self._next_actuators < inf:
            self._publish_actuators()
        return True

    def _publish_motors(self, stamp: int, now: float) -> None:
        """Publish motor states with a stamp [ns] if somebody subscribes; checks subscribers by the steady time [s]."""
        if now >= self._next_look:
            self._next_look = now + LOOK_SECONDS
            self._motors_heard = self._motor_states.get_subscription_count() > 0
        if self._motors_heard:
            self._motor_states.publish(self._motor_wire.encode(stamp, *self._simulated.plant.motor_side))

    def _publish_joint_state(self) -> None:
        """Publish the last state; announce a new start before it, so that a controller knows when it answers."""
        if self._new_start_reason:
            self._new_start.reason = self._new_start_reason
            set_stamp(self._new_start.header.stamp, self._stamp)
            self._new_starts.publish(self._new_start)
        self._publish_state(self._state)

    def _clock_message(self) -> Clock:
        set_stamp(self._now.clock, self._stamp)
        return self._now

    def _publish_actuators(self) -> None:
        if self._actuator_states.get_subscription_count():
            self._actuator_states.publish(self._actuator_message())

    def _actuator_message(self) -> ActuatorStates:
        message = self._actuators
        set_stamp(message.header.stamp, self._stamp)
        for name, values in self._simulated.plant.actuator_state._asdict().items():
            setattr(message, name, values.tolist() if values.dtype == bool else to_field(values))
        return message


class WrenchOutput:
    """Measures the wrench on a link of a plant and publishes it, on the thread of the control path.

    The sensor carries the payload of the plant, and a tool.

    Args:
        node: The node that publishes.
        simulated: Holds the simulated robot.
        link: Link that carries the sensor.
        frame_prefix: Prefix of tf frames.
        sensing: Settings of the sensor.
        period_ns: Control period [ns].
        random: Source of the noise.

    Attributes:
        payload: Mass [kg] and centre of mass in the frame of the tip link, shape (3,) [m], of the plant's payload.
        sensor: The sensor; any thread may replace it.

    Raises:
        InputError: No link has that name.
    """

    def __init__(self, node: Node, simulated: SharedPlant, link: str, frame_prefix: str, sensing: ForceTorqueSensing,
                 period_ns: int, random: np.random.Generator) -> None:
        plant, self._simulated, self._link = simulated.plant, simulated, link
        plant.check_link(link)
        self.payload = 0.0, np.zeros(3)
        self._pose = plant.robot.dynamics().forward_kinematics
        self._period, self._random = to_seconds(period_ns), random
        self.sensor = ForceTorqueSensor(sensing, self._period, random)
        self._message = WrenchStamped()
        self._message.header.frame_id = frame_prefix + link
        self._publisher = node.create_publisher(WrenchStamped, topic_names.FORCE_TORQUE, CONTROL_QOS)
        self.prepare(plant)

    def prepare(self, plant: SimulatedRobot) -> None:
        """Compile the functions for measuring; from any thread."""
        plant.environment_wrench(self._link)
        self._pose(plant.q, self._link)

    def configure(self, sensing: ForceTorqueSensing) -> None:
        """Change the settings; keep time, tare and delayed measurements."""
        sensor = ForceTorqueSensor(sensing, self._period, self._random)
        sensor.continue_from(self.sensor)
        self.sensor = sensor

    def measure(self) -> None:
        """Measure at the end of a control period."""
        plant = self._simulated.plant
        pose, gravity = self._pose(plant.q, self._link), plant.robot.model.gravity
        wrench, (mass, center) = plant.environment_wrench(self._link), self.payload
        if mass:
            tip = self._pose(plant.q, plant.robot.tip_link)
            weight = tool_weight(mass, tip[:3, :3] @ center + tip[:3, 3] - pose[:3, 3], np.eye(3), gravity)
            wrench = wrench + weight
        self.sensor.measure(wrench, pose[:3, :3], gravity)

    def restart(self) -> None:
        """Measure after a jump of the joints; drop delayed measurements."""
        self.sensor.restart()
        self.measure()

    def publish(self, stamp: int) -> None:
        """Publish the last measurement with a stamp [ns]."""
        message, reading = self._message, self.sensor.reading
        set_stamp(message.header.stamp, stamp)
        set_vector(message.wrench.force, reading[:3])
        set_vector(message.wrench.torque, reading[3:])
        self._publisher.publish(message)
