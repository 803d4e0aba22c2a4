# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""The page's record button without a browser: its requests start and stop a recorder beside a real graph."""

import pytest

pytest.importorskip("viser", reason="viser is not installed: make setup")

from ros_process import RosProcess, RosTest  # noqa: E402

from robodyn_ros.base.errors import RecordingError  # noqa: E402
from robodyn_ros.description.resources import robot_file  # noqa: E402
from robodyn_ros.nodes.view.graph_commands import GraphCommands  # noqa: E402
from robodyn_ros.nodes.view.recording import Recording  # noqa: E402
from robodyn_ros.robot import Robot  # noqa: E402
from robodyn_ros.toolbox.recording.bag_reader import read_bag  # noqa: E402
from robodyn_ros.toolbox.recording.run import Run  # noqa: E402


@pytest.fixture(scope="module")
def ros():
    """A node beside simulated hardware."""
    with RosProcess("hardware", {"robot": "planar_2r"}, namespace="cell"), RosTest(namespace="cell") as ros:
        yield ros


def make(ros, parent):
    """The recorder, and a function that sends a request of a page."""
    recording = Recording(parent, ros.node.get_namespace())
    commands = GraphCommands(ros.node, Robot.from_urdf(robot_file("planar_2r")), None, lambda *_: None, recording)

    def ask(wanted):
        commands.record(wanted)
        commands.run_pending()

    return recording, ask


def has_states(folder):
    try:
        return len(read_bag(folder).topics["/cell/joint_states"].messages) > 10
    except (RecordingError, KeyError):
        return False


def test_a_recording_begins_and_ends_and_its_folder_is_named_by_the_time(ros, tmp_path):
    recording, ask = make(ros, tmp_path)
    ask(True)
    assert recording.running and recording.folder.parent == tmp_path and recording.folder.name.startswith("run_")
    first = recording.folder
    ros.wait_for(lambda: has_states(first), "joint states in the file")
    ask(True)
    assert recording.folder == first, "one recorder at a time"
    ask(False)
    text, good = ros.wait_for(recording.ended, "the end of the recorder")
    assert good and f"{first}: " in text and "messages" in text
    assert not recording.running and recording.ended() is None
    assert len(Run(first).states.time) > 10


def test_an_error_is_one_line_and_a_view_that_ends_leaves_a_whole_recording(ros, tmp_path):
    (tmp_path / "file").write_text("")
    recording, ask = make(ros, tmp_path / "file")
    ask(True)
    text, good = ros.wait_for(recording.ended, "the end of the recorder")
    assert not good and text.startswith("robodyn: error: cannot record to") and not recording.running
    recording, ask = make(ros, tmp_path)
    ask(True)
    ros.wait_for(lambda: has_states(recording.folder), "joint states in the file")
    recording.close()
    assert not recording.running and not Run(recording.folder).damage
