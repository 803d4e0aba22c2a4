# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Recordings of a graph in a namespace: all topics, definitions, parameters and swaps; a kill and a full disk."""

import ctypes
import os
import signal
import time
from pathlib import Path
from types import SimpleNamespace
from unittest.mock import MagicMock

import numpy as np
import pytest
from rcl_interfaces.msg import ParameterEvent
from ros_process import DEADLINE, RosProcess, RosTest
from rosbags.rosbag2 import Reader
from rosbags.typesys import Stores, get_types_from_msg, get_typestore
from sensor_msgs.msg import JointState

from robodyn_interfaces.msg import ControllerState
from robodyn_ros.base.errors import RecordingError
from robodyn_ros.nodes.recorder import node as recorder
from robodyn_ros.nodes.recorder.definitions import definition, message_class
from robodyn_ros.toolbox.recording.bag_reader import read_bag
from robodyn_ros.toolbox.recording.run import Run

TOPICS = {"/cell/joint_states", "/cell/joint_commands", "/cell/controller/controller_state", "/cell/robot_description",
          "/cell/hardware/actuator_states", "/cell/dynamics/gravity_effort", "/tf", "/tf_static", "/parameter_events",
          "/diagnostics", "/rosout"}
SMALL_DISK = 150_000
"""Size at which the disk of a test is full, several seconds of messages [bytes]."""


@pytest.fixture(scope="module")
def recording(tmp_path_factory):
    """Folder of the recording that the simulation makes."""
    return tmp_path_factory.mktemp("runs") / "whole"


@pytest.fixture(scope="module", autouse=True)
def graph(recording):
    """A simulation that records itself; a node beside it."""
    command = ("-m", "robodyn_ros", "simulate", "--robot", "planar_2r", "--namespace", "cell", f"--record={recording}")
    with RosProcess("simulate", command=command) as process, RosTest(namespace="cell") as ros:
        process.wait_for_output("recording to", timeout=60.0)
        states = ros.record(JointState, "joint_states")
        ros.wait_for(lambda: len(states) > 100, "joint states")
        yield process, ros


def record(folder, code=""):
    """A recorder in a process of its own; the code runs in it before."""
    start = f"from robodyn_ros.commands.command_line import main\n" \
            f"sys.exit(main(['record', '--output', {str(folder)!r}, '--namespace', 'cell']))"
    return RosProcess("record", command=("-c", f"import sys\n{code}\n{start}"))


def readable(folder, topic="/cell/joint_states"):
    """Number of messages of a topic that are in the file by now."""
    try:
        return len(read_bag(folder).topics[topic].messages)
    except (RecordingError, KeyError):
        return 0


def test_definitions_hold_all_that_a_type_uses():
    name = "robodyn_interfaces/msg/ControllerState"
    types = get_types_from_msg(definition(name), name)
    assert {"geometry_msgs/msg/Quaternion", "builtin_interfaces/msg/Duration", name} <= set(types)
    assert message_class(name) is ControllerState
    with pytest.raises(RecordingError, match="nowhere_msgs/msg/Nothing is not installed here"):
        definition("nowhere_msgs/msg/Nothing")


def test_a_killed_recorder_leaves_a_recording_that_both_libraries_read(graph, tmp_path):
    _, ros = graph
    folder = tmp_path / "killed"
    with record(folder) as recorder:
        def recorded():
            assert recorder.running(), recorder.output()
            return readable(folder) > 300

        ros.wait_for(recorded, "half a second in the file", timeout=3 * DEADLINE)  # a recorder has a low priority
        os.kill(recorder.pid, signal.SIGKILL)
        recorder.kill()
    run = Run(folder)
    assert not run.damage and len(run.states.time) > 300
    with Reader(folder) as reader:
        assert sum(connection.topic == "/cell/joint_states" for connection, _, _ in reader.messages()) \
            == len(run.states.time)


@pytest.mark.long
def test_a_full_disk_ends_the_recording_in_one_line_and_the_graph_goes_on(graph, tmp_path):
    process, ros = graph
    folder = tmp_path / "full"
    limit = f"import resource\nresource.setrlimit(resource.RLIMIT_FSIZE, ({SMALL_DISK}, {SMALL_DISK}))"
    with record(folder, limit) as recorder:
        assert recorder.wait() == 1
        [error] = [line for line in recorder.output().splitlines() if "error" in line]
        assert error == (f"robodyn: error: cannot write the recording '{folder}': File too large; it ends here and can "
                         "be read up to here")
        assert "Traceback" not in recorder.output()
    assert (folder / "full_0.mcap").stat().st_size <= SMALL_DISK and readable(folder) > 100
    with Reader(folder) as reader:
        assert sum(1 for _ in reader.messages()) > 100
    states = ros.record(JointState, "joint_states")
    ros.wait_for(lambda: len(states) > 100, "joint states after it")
    assert process.running()


def test_the_recording_has_all_topics_parameters_and_swaps(graph, recording):
    process, ros = graph
    events = ros.record(ParameterEvent, "/parameter_events")
    assert ros.set_parameters("controller", {"controller": "computed_torque"}).successful
    states = ros.record(JointState, "joint_states")
    ros.wait_for(lambda: len(states) > 250 and events, "half a second of the other controller")
    process.stop()
    run = Run(recording)
    assert TOPICS <= set(run.topics) and not [name for name in TOPICS if not run.topics[name].messages]
    assert run.namespace == "/cell" and run.joint_names == ("joint1", "joint2")
    assert [span.controller for span in run.controllers] == ["pd", "computed_torque"]
    [swap] = [change for change in run.parameter_changes if change.name == "controller"]
    assert (swap.node, swap.value) == ("/cell/controller", "computed_torque")
    assert swap.time == pytest.approx(run.controllers[1].start, abs=1.0)
    assert run.parameters["/cell/hardware"]["update_rate"] == 500
    assert run.parameters["/cell/controller"]["controller"] == "pd"
    assert "pd.gains.joint1.p" in run.parameters["/cell/controller"]
    assert np.median(np.diff(run.states.time)) == pytest.approx(0.002)
    kinetic, _ = run.energies()
    assert np.all(np.isfinite(kinetic))


def test_another_library_decodes_what_the_file_defines(recording):
    store = get_typestore(Stores.EMPTY)
    with Reader(recording) as reader:
        assert reader.message_count == sum(1 for _ in reader.messages()) > 1000
        for connection in reader.connections:
            store.register(get_types_from_msg(connection.msgdef.data, connection.msgtype))
            assert store.hash_rihs01(connection.msgtype) == connection.digest
        decoded = {connection.topic: store.deserialize_cdr(data, connection.msgtype)
                   for connection, _, data in reader.messages()}
        [latched] = [connection for connection in reader.connections if connection.topic == "/cell/robot_description"]
    assert decoded["/cell/controller/controller_state"].controller == "computed_torque"
    assert list(decoded["/cell/joint_states"].name) == ["joint1", "joint2"]
    assert [qos.durability.name for qos in latched.ext.offered_qos_profiles] == ["TRANSIENT_LOCAL"]


def test_messages_that_come_faster_than_they_are_taken_leave_time_for_requests():
    """A mock of the middleware: no computer is as slow as this one is fast."""
    def take_message(message_type, raw):
        taken.append(time.time_ns())
        assert len(taken) < 100, "it takes what comes while it takes"
        time.sleep(0.001)
        return b"", {"received_timestamp": taken[-1], "source_timestamp": 0}

    taken, handle = [], MagicMock(take_message=take_message)
    busy = SimpleNamespace(_topics={"busy": recorder.RecordedTopic(1, SimpleNamespace(handle=handle), JointState)},
                           _bag=MagicMock())
    recorder.RecorderNode._take(busy)
    busy._bag.write.assert_called_once_with(1, taken[0], 0, b"")


@pytest.mark.skipif(not hasattr(ctypes.CDLL(None), "malloc_trim"), reason="another library than glibc")
def test_the_memory_of_a_backlog_is_given_back():
    def resident():
        return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")

    backlog = [bytes(2000) for _ in range(50_000)]
    newest = backlog[-1]  # glibc by itself gives back what is above it
    del backlog
    before = resident()
    recorder._give_back_memory()
    assert before - resident() > 50 * 2**20 and len(newest) == 2000
