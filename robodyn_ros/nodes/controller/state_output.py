# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Topics ~/controller_state and ~/_display_state: reference, measured state and output at some ticks."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from functools import partial
from math import inf
from threading import Thread
from typing import Any

import numpy as np
from trajectory_msgs.msg import JointTrajectoryPoint

from robodyn_interfaces.msg import CartesianState, ControllerState
from robodyn_ros.base import topic_names
from robodyn_ros.base.fields import Field
from robodyn_ros.base.timing import NANOSECONDS_PER_SECOND
from robodyn_ros.control.contract.controller import JointReference, Law
from robodyn_ros.control.contract.parameters import Parameters
from robodyn_ros.control.plugins.dry_run import uncompiled
from robodyn_ros.control.plugins.plugin import Plugin
from robodyn_ros.control.plugins.plugin_errors import FAULTS, describe
from robodyn_ros.control.references.tip_reference import ForceReference, TipReference
from robodyn_ros.control.runtime.effort_terms import effort_terms
from robodyn_ros.control.runtime.tick import Tick
from robodyn_ros.description.model import Array
from robodyn_ros.kinematics.quaternions import (
    quaternion_by_largest_element,
    quaternion_conjugate,
    quaternion_product,
)
from robodyn_ros.kinematics.rotation_vector import rotation_vector_from_quaternion
from robodyn_ros.nodes.common.messages import set_stamp, to_field
from robodyn_ros.nodes.common.poses import from_arrays, set_vector, to_pose, to_wrench
from robodyn_ros.nodes.common.topics import DisplayPublisher
from robodyn_ros.nodes.controller.command_output import CommandPublisher
from robodyn_ros.nodes.controller.events import STOPPED, WAITING
from robodyn_ros.nodes.controller.part import AnsweredState, Context, Part, PutInForce

RATE = Field("state_publish_rate", 100.0, "Rate of ~/controller_state, in the time of the joint states; 0: none",
             unit="Hz", minimum=0.0, maximum=10000.0)

RELATIVE_SLACK = 1e-6  # part of a period by which a tick may be early, because stamps are rounded


class ControllerStatePublisher(Part):
    """Publishes ticks, if somebody subscribes.

    The rate of ``~/controller_state`` is in the time of the joint states; between its messages comes the first tick of
    each controller. ``~/_display_state`` has such messages for displays, at a rate of real time.

    Args:
        context: What it knows of the node; events that last are part of each state.
    """

    PARAMETERS = (RATE,)

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        node, robot = context.node, context.robot
        self._publisher = node.create_publisher(ControllerState, topic_names.own(topic_names.CONTROLLER_STATE), 10)
        self._display = DisplayPublisher(node, ControllerState, topic_names.own(topic_names.DISPLAY_CONTROLLER_STATE))
        self._joint_names = list(robot.joint_names)
        self._forward_kinematics: Callable[[Array], Array] = robot.dynamics().forward_kinematics
        self._last = 0
        self._plugin: Plugin | None = None
        self._prepared: Parameters | None = None  # those for which the terms of the efforts are compiled
        self._set_rate(node.parameters[RATE.name])

    def on_change(self, changes: Mapping[str, Any]) -> PutInForce | None:
        """Change the rate."""
        return partial(self._set_rate, changes[RATE.name]) if RATE.name in changes else None

    def _set_rate(self, rate: float) -> None:
        self._period = NANOSECONDS_PER_SECOND / rate * (1.0 - RELATIVE_SLACK) if rate > 0 else inf

    def after_tick(self, answer: AnsweredState) -> None:
        """Publish a tick on the topics for which one is due."""
        stamp, tick = answer.stamp, answer.tick
        due, is_shown = self._due(stamp, tick.plugin), self._display.due(time.monotonic())
        if not (due or is_shown):
            return
        message = self._message(stamp, tick)
        if due:
            self._publisher.publish(message)
        if is_shown:
            self._display.publish(message)

    def _due(self, stamp: int, plugin: Plugin) -> bool:
        due = not self._last <= stamp < self._last + self._period
        if not due and plugin is self._plugin or self._period == inf:
            return False
        self._plugin = plugin
        if due:  # the first tick of a controller does not shift those that are due by time
            self._last = stamp
        return self._publisher.get_subscription_count() > 0

    def _terms(self, tick: Tick) -> dict[str, Array]:
        """The terms of the efforts; those of a law are compiled on another thread, and known when that has ended."""
        law = tick.plugin.controller
        if isinstance(law, Law) and law.parameters is not self._prepared:
            self._prepared = law.parameters
            Thread(target=self._prepare, args=(tick.plugin.name, law, law.parameters), daemon=True).start()
        return effort_terms(tick)

    def _prepare(self, name: str, law: Law[Any, Any, Any], parameters: Parameters) -> None:
        try:
            law.prepare_terms(parameters)
        except FAULTS as error:
            self.context.node.log.warning(
                f"terms of {name}", f"controller '{name}': the terms of its efforts are not known: {describe(error)}")

    def _message(self, stamp: int, tick: Tick) -> ControllerState:
        plugin, state, reference = tick.plugin, tick.state, tick.reference
        # The mode says that the robot is stopped, or that the controller waits.
        lasting = [f"{name}: {text}" for name, text in self.context.events.lasting.items()
                   if name not in (STOPPED, WAITING)]
        message = ControllerState(
            controller=plugin.name, uncompiled_reason=uncompiled(plugin.controller),
            joint_names=self._joint_names, output=to_field(tick.effort), mode=tick.mode.value,
            intervention="; ".join(filter(None, (tick.intervention, *lasting))), speed_scaling_factor=tick.speed
        )
        set_stamp(message.header.stamp, stamp)
        terms = self._terms(tick)
        message.term_names, message.terms = list(terms), to_field(np.concatenate([np.zeros(0), *terms.values()]))
        if tick.reason is not None:
            message.reason_kind, message.reason, message.reason_joints = tick.reason
        if plugin.memory_names and isinstance(plugin.controller, Law):
            message.memory_names, message.memory = plugin.memory_names, to_field(plugin.controller.memory_numbers)
        if (voltage := self.context.parts[CommandPublisher].voltage(tick)) is not None:
            message.voltage = to_field(voltage)
        message.feedback = state_point(state.q, state.v)
        if isinstance(reference, JointReference):
            message.reference = state_point(reference.q, reference.v, reference.a)
            message.error = state_point(reference.q - state.q, reference.v - state.v)
        elif reference is not None:
            message.cartesian = [cartesian_state(self._forward_kinematics(state.q), reference)]
        return message


def state_point(q: Array, v: Array, a: Array | None = None) -> JointTrajectoryPoint:
    """Return a point of a trajectory message with positions, velocities and optional accelerations, shape (n,)."""
    point = JointTrajectoryPoint(positions=to_field(q), velocities=to_field(v))
    if a is not None:
        point.accelerations = to_field(a)
    return point


def cartesian_state(pose: Array, reference: TipReference | ForceReference) -> CartesianState:
    """Return a message of the desired and the measured motion of the tip link.

    Args:
        pose: Measured pose of the tip link, shape (4, 4).
        reference: Desired motion.
    """
    message = CartesianState(reference=from_arrays(reference.position, reference.quaternion), feedback=to_pose(pose))
    set_vector(message.reference_twist.linear, reference.twist[:3])
    set_vector(message.reference_twist.angular, reference.twist[3:])
    set_vector(message.position_error, reference.position - pose[:3, 3])
    measured = quaternion_by_largest_element(pose[:3, :3])
    missing = quaternion_product(reference.quaternion, quaternion_conjugate(measured))
    set_vector(message.orientation_error, rotation_vector_from_quaternion(missing))
    if isinstance(reference, ForceReference):
        message.reference_wrench = to_wrench(reference.wrench)
    return message
