# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Whole recordings, and those that are cut off, damaged, of another kind or not there."""

import struct

import pytest

pytest.importorskip("mcap_ros2", reason="mcap-ros2-support is not installed: make setup")

from recorded_bags import RECEIPT, Recorder  # noqa: E402

from robodyn_ros.base.errors import RecordingError  # noqa: E402
from robodyn_ros.toolbox.recording.bag_reader import read_bag  # noqa: E402

COUNT, SIZE = 4000, 1000
"""Enough messages, of so many characters, for several chunks of the file."""


@pytest.fixture(scope="module")
def recording(tmp_path_factory):
    path = tmp_path_factory.mktemp("bags") / "whole"
    with Recorder(path) as recorder:
        recorder.joint_state("/joint_states", 7, ["a", "b"], [7, -7])
        for i in range(COUNT):
            recorder.string("/text", str(i).zfill(SIZE), i)
    return path


@pytest.fixture
def file(recording, tmp_path):
    """A copy that the test may damage."""
    copy = tmp_path / "copy.mcap"
    copy.write_bytes((recording / "whole.mcap").read_bytes())
    return copy


def test_all_messages_are_decoded_by_the_definitions_in_the_file(recording):
    bag = read_bag(recording)
    assert not bag.damage and set(bag.topics) == {"/text", "/joint_states"}
    received, messages = zip(*bag.topics["/text"].decode(), strict=True)
    assert received == tuple(RECEIPT + i for i in range(COUNT))
    assert [int(message.data) for message in messages] == list(range(COUNT))
    [(_, state)] = bag.topics["/joint_states"].decode()
    assert state.name == ["a", "b"] and state.position == [7.0, -7.0]
    assert [topic.name for topic in bag.with_type("std_msgs/msg/String")] == ["/text"]


def test_a_recording_of_ros_1_is_named_as_one(tmp_path):
    from mcap.writer import Writer

    path = tmp_path / "old.mcap"
    with path.open("wb") as stream:
        writer = Writer(stream)
        writer.start(profile="ros1")
        schema = writer.register_schema("sensor_msgs/JointState", "ros1msg", b"Header header\n")
        channel = writer.register_channel("/joint_states", "ros1", schema)
        writer.add_message(channel, log_time=1, data=bytes(20), publish_time=1)
        writer.finish()
    with pytest.raises(RecordingError, match=r"recording of ROS 1, .* rosbags-convert --src FILE.bag"):
        read_bag(path)


def test_metadata_yaml_is_not_needed(recording, tmp_path):
    (tmp_path / "whole_0.mcap").write_bytes((recording / "whole.mcap").read_bytes())
    assert len(read_bag(tmp_path).topics["/text"].messages) == COUNT


@pytest.mark.parametrize("part", [0.5, 0.999])
def test_a_recording_that_is_cut_off_is_read_up_to_there(file, part):
    data = file.read_bytes()
    file.write_bytes(data[:int(part * len(data))])
    bag = read_bag(file)
    assert "copy.mcap is cut off or damaged" in bag.damage
    assert 0.5 * part * COUNT < len(bag.topics["/text"].messages) <= COUNT


def test_a_message_that_does_not_fit_its_definition_is_one_line(tmp_path):
    with Recorder(tmp_path / "short") as recorder:
        recorder.joint_state("/joint_states", 0, ["a"], [1.0])
        recorder.add_bytes("/joint_states", b"\0\1\0\0\1\0\0\0")
    messages = read_bag(tmp_path / "short").topics["/joint_states"].decode()
    assert next(messages)[1].position == [1.0]
    with pytest.raises(RecordingError, match="/joint_states: a message is no sensor_msgs/msg/JointState as the rec"):
        list(messages)


def test_nothing_readable_is_one_line(file, tmp_path):
    file.write_bytes(file.read_bytes()[:100])
    with pytest.raises(RecordingError, match="is cut off or damaged") as caught:
        read_bag(file)
    assert "\n" not in str(caught.value)
    file.write_bytes(b"<robot/>")
    with pytest.raises(RecordingError, match=r"copy\.mcap is cut off or damaged"):
        read_bag(file)
    with pytest.raises(RecordingError, match="no recording at '.*nowhere': expected a folder"):
        read_bag(tmp_path / "nowhere")


def test_folders_without_mcap_say_what_they_hold(tmp_path):
    with pytest.raises(RecordingError, match=r"no \.mcap file in .*: is it the folder of a recording\?"):
        read_bag(tmp_path)
    (tmp_path / "run_0.db3").touch()
    with pytest.raises(RecordingError, match="convert it with ros2 bag convert"):
        read_bag(tmp_path)


def test_topics_and_types_of_several_lines_are_escaped(tmp_path):
    from mcap.writer import Writer

    with (tmp_path / "lines_0.mcap").open("wb") as stream:
        writer = Writer(stream)
        writer.start()
        schema = writer.register_schema("a/msg/B\nC", "ros2msg", b"")
        writer.add_message(writer.register_channel("/a\n\x1b[2Jb", "cdr", schema), 0, b"", 0)
        writer.finish()
    (topic,) = read_bag(tmp_path).topics.values()
    assert (topic.name, topic.type) == (r"/a\n\x1b[2Jb", r"a/msg/B\nC")


def test_an_empty_recording_is_one_line(tmp_path):
    with Recorder(tmp_path / "empty"):
        pass
    with pytest.raises(RecordingError, match="the recording is empty"):
        read_bag(tmp_path / "empty")


def test_a_file_that_is_compressed_as_a_whole_is_named_as_such(tmp_path):
    (tmp_path / "rec_0.mcap.zstd").write_bytes(b"(\xb5/\xfd")
    for given in (tmp_path, tmp_path / "rec_0.mcap.zstd"):
        with pytest.raises(RecordingError, match="rec_0.mcap.zstd' is compressed as a file .*: decompress it"):
            read_bag(given)


@pytest.mark.parametrize(("encoding", "definition"), [
    ("ros2msg", "# en français\nfloat64 data".encode("latin-1")),
    ("ros2msg", b"this is no definition at all { \xff"),
    ("ros2msg", b"nobody_msgs/Missing inner"),
    ("protobuf", b"\xff\x00"),
    ("", b""),
])
def test_a_foreign_topic_damages_nothing(encoding, definition, tmp_path):
    """A file with a topic that cannot be decoded, or only but for a comment, beside joint states."""
    from mcap.writer import Writer

    with (tmp_path / "foreign_0.mcap").open("wb") as stream:
        writer = Writer(stream)
        writer.start(profile="ros2", library="test")
        foreign = writer.register_schema("foreign_msgs/msg/Odd", encoding, definition)
        known = writer.register_schema("std_msgs/msg/Float64", "ros2msg", "# Größe\nfloat64 data".encode("latin-1"))
        topics = [writer.register_channel(f"/topic{schema}", "cdr", schema) for schema in (foreign, known)]
        for channel in topics:
            writer.add_message(channel, 1, b"\0\1\0\0" + struct.pack("<d", 2.5), 1)
        writer.finish()
    bag = read_bag(tmp_path)
    assert not bag.damage and len(bag.topics) == 2
    (_, message), = bag.with_type("std_msgs/msg/Float64")[0].decode()
    assert message.data == 2.5
