# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Saves a rollout as a recording for `robodyn plot`, `replay` and any reader of MCAP."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from robodyn_ros.base.errors import RecordingError
from robodyn_ros.base.timing import NANOSECONDS_PER_SECOND, to_nanoseconds
from robodyn_ros.control.contract.controller import JointReference
from robodyn_ros.description.model import Array
from robodyn_ros.robot import Robot
from robodyn_ros.simulation.score import Rollout
from robodyn_ros.toolbox.recording.run import CONTROLLER_STATE, JOINT_STATE

_START = NANOSECONDS_PER_SECOND  # first stamp, since 0 means no stamp


def save_rollout(rollout: Rollout, robot: Robot, law: str, path: Path) -> None:
    """Write a motion as joint states, controller states and robot description into an .mcap file.

    Args:
        rollout: The motion.
        robot: The described robot.
        law: Name of the law.
        path: The file.

    Raises:
        RecordingError: The file cannot be written, or the interfaces are not installed.
    """
    from mcap_ros2.writer import Writer

    from robodyn_ros.nodes.recorder.definitions import definition  # needs the interfaces of ROS 2

    messages = {"/joint_states": JOINT_STATE, "/controller/controller_state": CONTROLLER_STATE,
                "/robot_description": "std_msgs/msg/String"}
    try:
        with path.open("wb") as file:
            writer = Writer(file)
            schemas = {topic: writer.register_msgdef(kind, definition(kind)) for topic, kind in messages.items()}

            def write(topic: str, stamp: int, message: Mapping[str, Any]) -> None:
                writer.write_message(topic, schemas[topic], message, stamp, stamp)

            write("/robot_description", _START, {"data": robot.model.description})
            for tick, time in enumerate(rollout.time.tolist()):
                stamp = _START + to_nanoseconds(time)
                header = _header(stamp)
                write("/joint_states", stamp, {
                    "header": header, "name": list(rollout.joint_names), "position": rollout.q[tick].tolist(),
                    "velocity": rollout.v[tick].tolist(), "effort": rollout.effort[tick].tolist()})
                write("/controller/controller_state", stamp, {"header": header, **_control(rollout, robot, law, tick)})
            writer.finish()
    except OSError as error:
        raise RecordingError(f"cannot write '{path}': {error.strerror}") from None


def _control(rollout: Rollout, robot: Robot, law: str, tick: int) -> dict[str, Any]:
    """Return the fields of a ControllerState without its header."""
    reference = rollout.reference
    q, v, a = ((reference.q[tick], reference.v[tick], reference.a[tick]) if isinstance(reference, JointReference)
               else (np.zeros(0),) * 3)
    error = rollout.error[tick]
    cartesian = []
    if reference is not None and not isinstance(reference, JointReference):
        position, quaternion = reference.position[tick], reference.quaternion[tick]
        pose = {"position": _vector(position), "orientation": dict(zip("xyzw", quaternion.tolist(), strict=True))}
        tip = position - error[:3]
        cartesian = [{"reference": pose, "feedback": {**pose, "position": _vector(tip)},
                      "position_error": _vector(error[:3]), "orientation_error": _vector(error[3:])}]
        error = np.zeros(0)
    return {"controller": law, "uncompiled_reason": rollout.note, "joint_names": list(robot.joint_names),
            "reference": _point(q, v, a), "feedback": _point(rollout.q[tick], rollout.v[tick]), "error": _point(error),
            "cartesian": cartesian, "output": rollout.effort[tick].tolist(), "speed_scaling_factor": 1.0}


def _point(*fields: Array) -> dict[str, Any]:
    names = ("positions", "velocities", "accelerations")
    return {name: field.tolist() for name, field in zip(names, fields, strict=False)}


def _header(stamp: int) -> dict[str, Any]:
    sec, nanosec = divmod(stamp, NANOSECONDS_PER_SECOND)
    return {"stamp": {"sec": sec, "nanosec": nanosec}, "frame_id": ""}


def _vector(values: Array) -> dict[str, float]:
    return dict(zip("xyz", values.tolist(), strict=True))
