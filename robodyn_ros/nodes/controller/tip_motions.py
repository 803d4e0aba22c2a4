# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Motions of the tip link, and wrenches that it has to exert: reads the messages and has the control loop follow them.

All values are in axes of the base link, which header.frame_id must name: the controller looks up no transforms.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from geometry_msgs.msg import PoseStamped, WrenchStamped
from std_msgs.msg import Header

from robodyn_interfaces.msg import CartesianSegment, CartesianTrajectory
from robodyn_ros.base import topic_names
from robodyn_ros.base.checks import Range, as_number
from robodyn_ros.base.errors import InputError, RobodynError
from robodyn_ros.base.fields import Field
from robodyn_ros.base.timing import to_seconds
from robodyn_ros.control.references.tip_reference import TipReference
from robodyn_ros.control.references.tip_trajectory import TipTrajectory, least_duration
from robodyn_ros.control.runtime.requests import Exert, Follow
from robodyn_ros.description.model import Array
from robodyn_ros.nodes.common.messages import LENGTH, read_duration, read_stamp
from robodyn_ros.nodes.common.poses import read_vector, read_wrench, to_arrays
from robodyn_ros.nodes.controller.joint_trajectories import JointTrajectories
from robodyn_ros.nodes.controller.part import Context, Part

ANGLE = Range(-1e4, 1e4, "rad")
"""Angle of a circle."""


class TipMotions(Part):
    """Subscribes to ~/pose, ~/cartesian_trajectory and ~/wrench; a new motion smoothly replaces the one before.

    Args:
        context: What it knows of the node.
    """

    PARAMETERS = (
        Field("cartesian.speed", 0.25, "Greatest speed of the tip link on lines without a duration", unit="m/s",
              minimum=1e-4, maximum=100.0),
        Field("cartesian.angular_speed", 0.5, "Greatest angular speed of the tip link on lines without a duration",
              unit="rad/s", minimum=1e-4, maximum=100.0),
    )

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        node = self._node = context.node
        self._thread, self._base_link = context.thread, context.robot.model.base_link
        for message_type, name, accept in (
            (PoseStamped, topic_names.own(topic_names.POSE), self._on_pose),
            (CartesianTrajectory, topic_names.own(topic_names.CARTESIAN_TRAJECTORY), self._on_trajectory),
            (WrenchStamped, topic_names.own(topic_names.WRENCH), self._on_wrench),
        ):
            node.listen(message_type, name, self._rejecting(name.removeprefix("~/"), accept))

    def _rejecting(self, name: str, accept: Callable[[Any], None]) -> Callable[[Any], None]:
        def on_message(message: Any) -> None:
            try:
                self._check_frame(message.header)
                accept(message)
            except RobodynError as error:
                self._node.diagnostics.problem(f"rejected {name}", f"rejected a message on ~/{name}: {error}")

        return on_message

    def _check_frame(self, header: Header) -> None:
        if header.frame_id != self._base_link:
            raise InputError(f"header.frame_id: expected the base link, '{self._base_link}', received "
                             f"'{header.frame_id}'; transform the message first")

    def _on_pose(self, message: PoseStamped) -> None:
        _, quaternion = to_arrays(message.pose)
        position = read_vector(message.pose.position, "position", LENGTH)
        self._follow(message.header, [lambda start, time: self._line(start, time, 0.0, position, quaternion)])

    def _on_trajectory(self, message: CartesianTrajectory) -> None:
        if not message.segments:
            self.context.parts[JointTrajectories].stop()
            return

        def motion(segment: CartesianSegment) -> Callable[[TipReference, float], TipTrajectory]:
            return lambda start, time: self._segment(start, time, segment)

        self._follow(message.header, [motion(segment) for segment in message.segments])

    def _on_wrench(self, message: WrenchStamped) -> None:
        wrench = read_wrench(message.wrench, "wrench")
        self._thread.request(Exert(wrench))

    def _follow(self, header: Header, motions: list[Callable[[TipReference, float], TipTrajectory]]) -> None:
        """Follow motions one after the other; each function gets the reference and the time at which it starts."""
        stamp = read_stamp(header.stamp) or None
        begin = self._thread.call(lambda: self._thread.loop.trajectory_start(stamp, TipReference))
        at_once = stamp is None or begin.origin < begin.start_time  # a late motion begins on arrival
        planned: list[TipTrajectory] = []
        start, time = begin.reference, begin.start_time
        for index, motion in enumerate(motions):
            try:
                planned.append(motion(start, time))
            except InputError as error:
                raise InputError(f"segment {index}: {error}") if len(motions) > 1 else error from None
            time = planned[-1].end_time
            start = planned[-1].sample(time)

        def put_in_force() -> None:
            first = self._thread.request_here(Follow(planned[0], at_once))
            for later in planned[1:]:
                self._thread.request_here(Follow(later.delayed(first.end_time - planned[0].end_time), False))

        self._thread.call(put_in_force)
        self._node.log.info("motions", f"following a motion of the tip link: {len(planned)} segments, "
                            f"{time - begin.start_time:.6g} s")

    def _segment(self, start: TipReference, time: float, segment: CartesianSegment) -> TipTrajectory:
        orientation = segment.orientation
        quaternion = np.array([orientation.x, orientation.y, orientation.z, orientation.w]) if segment.turn else None
        duration = to_seconds(read_duration(segment.duration))
        if segment.shape == CartesianSegment.LINE:
            return self._line(start, time, duration, read_vector(segment.position, "position", LENGTH), quaternion)
        if segment.shape == CartesianSegment.CIRCLE:
            angle = as_number(segment.angle, ANGLE, "angle")
            return TipTrajectory.circle(start, time, duration, read_vector(segment.center, "center", LENGTH),
                                        read_vector(segment.axis, "axis", LENGTH), angle, quaternion)
        raise InputError(f"shape: expected {CartesianSegment.LINE} for a line or "
                         f"{CartesianSegment.CIRCLE} for a circle, received {segment.shape}")

    def _line(self, start: TipReference, time: float, duration: float, position: Array,
              quaternion: Array | None) -> TipTrajectory:
        values = self._node.parameters
        duration = duration or least_duration(start, position, quaternion, values["cartesian.speed"],
                                              values["cartesian.angular_speed"])
        return TipTrajectory.line(start, time, duration, position, quaternion)
