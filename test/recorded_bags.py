# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Rosbag2 folders for tests, written by the library rosbags, which shares no code with the reader under test."""

from pathlib import Path

import numpy as np
from rosbags.rosbag2 import StoragePlugin, Writer
from rosbags.typesys import Stores, get_types_from_msg, get_typestore

from robodyn_ros.description.resources import robot_file

INTERFACES = Path(__file__).parents[1] / "robodyn_interfaces" / "msg"
SECOND = 1_000_000_000
RECEIPT = 1_700_000_000 * SECOND
"""When the first message is received, by the system's clock; stamps count in another time."""


def typestore():
    """All message types of a ROS 2 installation, and this workspace's."""
    store = get_typestore(Stores.ROS2_KILTED)
    for path in INTERFACES.glob("*.msg"):
        store.register(get_types_from_msg(path.read_text(), f"robodyn_interfaces/msg/{path.stem}"))
    return store


class Recorder:
    """Writes messages with their definitions; a context manager."""

    def __init__(self, path):
        self.store = typestore()
        self._writer = Writer(path, version=9, storage_plugin=StoragePlugin.MCAP)
        self._topics = {}

    def __enter__(self):
        self._writer.open()
        return self

    def __exit__(self, *_):
        self._writer.close()

    def message(self, type_name, **fields):
        return self.store.types[type_name](**fields)

    def header(self, stamp):
        time = self.message("builtin_interfaces/msg/Time", sec=stamp // SECOND, nanosec=stamp % SECOND)
        return self.message("std_msgs/msg/Header", stamp=time, frame_id="")

    def add(self, topic, type_name, received, message):
        if topic not in self._topics:
            self._topics[topic] = self._writer.add_connection(topic, type_name, typestore=self.store)
        self._writer.write(self._topics[topic], RECEIPT + received, self.store.serialize_cdr(message, type_name))

    def joint_state(self, topic, stamp, names, position=(), velocity=(), effort=()):
        arrays = {field: np.array(values, dtype=float) for field, values in
                  (("position", position), ("velocity", velocity), ("effort", effort))}
        self.add(topic, "sensor_msgs/msg/JointState", stamp, self.message(
            "sensor_msgs/msg/JointState", header=self.header(stamp), name=list(names), **arrays))

    def actuator_states(self, stamp, names, state):
        """Add the state of a plant's actuators."""
        fields = {field: np.array(values) for field, values in state._asdict().items()}
        self.add("/hardware/actuator_states", "robodyn_interfaces/msg/ActuatorStates", stamp, self.message(
            "robodyn_interfaces/msg/ActuatorStates", header=self.header(stamp), name=list(names), **fields))

    def add_bytes(self, topic, data):
        """Add bytes as a message of a topic that there is."""
        self._writer.write(self._topics[topic], RECEIPT, data)

    def string(self, topic, text, received=0):
        self.add(topic, "std_msgs/msg/String", received, self.message("std_msgs/msg/String", data=text))

    def point(self, positions=(), velocities=(), accelerations=()):
        zero = self.message("builtin_interfaces/msg/Duration", sec=0, nanosec=0)
        return self.message("trajectory_msgs/msg/JointTrajectoryPoint", effort=np.array([]), time_from_start=zero,
                            positions=np.array(positions), velocities=np.array(velocities),
                            accelerations=np.array(accelerations))

    def controller_state(self, stamp, controller, names, reference, position, effort, topic="controller",
                         velocity=(), acceleration=(), memory=(), mode="running"):
        memory = dict(memory)
        error = np.subtract(reference, position) if len(reference) else []
        self.add(f"/{topic}/controller_state", "robodyn_interfaces/msg/ControllerState", stamp, self.message(
            "robodyn_interfaces/msg/ControllerState", header=self.header(stamp), controller=controller,
            uncompiled_reason="", joint_names=list(names), reference=self.point(reference, velocity, acceleration),
            feedback=self.point(position), error=self.point(error), cartesian=[], output=np.array(effort),
            voltage=np.array([]), memory_names=list(memory), memory=np.array(list(memory.values()), dtype=float),
            term_names=["feedback", "gravity"], terms=np.concatenate([np.subtract(effort, 1.0), np.ones(len(effort))]),
            mode=mode, reason="", reason_kind="", reason_joints=[], intervention="", speed_scaling_factor=1.0))


def record_planar_2r(path):
    """Record two states of planar_2r with a controller whose reference moves."""
    names = ["joint1", "joint2"]
    with Recorder(path) as recorder:
        recorder.string("/robot_description", robot_file("planar_2r").read_text())
        for stamp, desired in ((0, 0.3), (SECOND, 0.4)):
            recorder.joint_state("/joint_states", stamp, names, [0.1, 0.2], [0.3, 0.4])
            recorder.controller_state(stamp, "pd", names, [0.1, desired], [0.1, 0.2], [1.0, 2.0])
