# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Recordings that another library reads: whole ones, unfinished ones, after a kill and on a full disk."""

import errno
import os
import shutil
import signal
import subprocess

import pytest
import yaml

pytest.importorskip("mcap_ros2", reason="mcap-ros2-support is not installed: make setup")

from mcap.reader import make_reader  # noqa: E402
from rosbags.interfaces import QosReliability  # noqa: E402
from rosbags.rosbag2 import Reader  # noqa: E402
from rosbags.typesys import Stores, get_typestore  # noqa: E402

from robodyn_ros.base.errors import RecordingError  # noqa: E402
from robodyn_ros.toolbox.recording import bag_writer  # noqa: E402
from robodyn_ros.toolbox.recording.bag_reader import read_bag  # noqa: E402
from robodyn_ros.toolbox.recording.bag_writer import BagWriter  # noqa: E402

STORE = get_typestore(Stores.ROS2_KILTED)
TEXT = "std_msgs/msg/String"
SOME_TIME = {"sec": 0, "nsec": 0}
QOS = {"history": "keep_last", "depth": 1, "reliability": "reliable", "durability": "transient_local",
       "deadline": SOME_TIME, "lifespan": SOME_TIME, "liveliness": "automatic",
       "liveliness_lease_duration": SOME_TIME, "avoid_ros_namespace_conventions": False}


def serialized(text):
    return bytes(STORE.serialize_cdr(STORE.types[TEXT](data=text), TEXT))


def texts(folder):
    """Texts that the other library finds."""
    with Reader(folder) as reader:
        return [STORE.deserialize_cdr(data, connection.msgtype).data for connection, _, data in reader.messages()]


def written(folder):
    """A recording of three messages, not flushed."""
    writer = BagWriter(folder)
    topic = writer.add_topic("/text", TEXT, "string data", [QOS], STORE.hash_rihs01(TEXT))
    for i in range(3):
        writer.write(topic, 100 + i, 90 + i, serialized(f"message {i}"))
    return writer, topic


def test_another_library_reads_messages_types_and_quality_of_service(tmp_path):
    writer, topic = written(tmp_path / "run")
    writer.write(topic, 50, 50, serialized("late"))  # the clock was set back
    writer.add_metadata("notes", {"key": "value"})
    writer.close()
    with Reader(tmp_path / "run") as reader:
        [connection] = reader.connections
        assert (connection.topic, connection.msgtype, connection.msgcount) == ("/text", TEXT, 4)
        assert connection.msgdef.data == "string data" and connection.digest == STORE.hash_rihs01(TEXT)
        assert connection.ext.offered_qos_profiles[0].reliability == QosReliability.RELIABLE
        assert (reader.start_time, reader.end_time, reader.message_count) == (100, 103, 4)
        assert [time for _, time, _ in reader.messages()] == [100, 101, 102, 102]
    assert texts(tmp_path / "run") == ["message 0", "message 1", "message 2", "late"]
    with (tmp_path / "run" / "run_0.mcap").open("rb") as file:
        assert [(record.name, record.metadata) for record in make_reader(file).iter_metadata()] == [
            ("notes", {"key": "value"})]
    bag = read_bag(tmp_path / "run")
    assert not bag.damage and [message.data for _, message in bag.topics["/text"].decode()] == texts(tmp_path / "run")


def test_it_can_be_read_after_every_flush(tmp_path):
    writer, topic = written(tmp_path / "run")
    for i in range(3, 6):
        writer.flush()
        assert texts(tmp_path / "run") == [f"message {k}" for k in range(i)]
        writer.write(topic, 100 + i, 100 + i, serialized(f"message {i}"))
    writer.abandon()
    assert len(texts(tmp_path / "run")) == 5


def test_a_long_recording_goes_on_in_another_file(tmp_path, monkeypatch):
    """The index of a file is in memory until the file ends."""
    monkeypatch.setattr(bag_writer, "FILE_SECONDS", 10.0)
    writer, topic = written(tmp_path / "run")
    expected = [f"message {i}" for i in range(3)]
    for second in range(1, 131):
        if second == 40:
            other = writer.add_topic("/other", TEXT, "string data", [QOS], STORE.hash_rihs01(TEXT))
        expected.append(f"at {second} s")
        writer.write(other if second > 100 else topic, second * 10**9, 0, serialized(expected[-1]))
        writer.flush()
    writer.add_metadata("notes", {"key": "value"})
    writer.abandon()
    names = [f"run_{i}.mcap" for i in range(12)]
    assert {file.name for file in (tmp_path / "run").iterdir()} == {"metadata.yaml", *names}
    assert texts(tmp_path / "run") == expected
    with Reader(tmp_path / "run") as reader:
        assert (reader.start_time, reader.end_time, reader.message_count) == (100, 130 * 10**9 + 1, len(expected))
        assert {connection.topic: connection.msgcount for connection in reader.connections} == {
            "/text": len(expected) - 30, "/other": 30}
    information = yaml.safe_load((tmp_path / "run" / "metadata.yaml").read_text())["rosbag2_bagfile_information"]
    files = information["files"]
    assert [file["path"] for file in files] == names and sum(file["message_count"] for file in files) == len(expected)
    bag = read_bag(tmp_path / "run")
    assert not bag.damage and [message.data for name in ("/text", "/other") for _, message in
                               bag.topics[name].decode()] == expected
    with (tmp_path / "run" / "run_3.mcap").open("rb") as file:  # one that ended has an index
        assert make_reader(file).get_summary().statistics.message_count == files[3]["message_count"]


def test_the_index_that_is_kept_in_memory_grows_by_one_chunk_with_each_flush(tmp_path):
    """Whatever the rate: the recorder of a robot at 1 kHz has 3 MB in a second."""
    writer, topic = written(tmp_path / "run")
    for second in range(1, 6):
        for _ in range(30):
            writer.write(topic, second * 10**9, 0, serialized("x" * 100_000))
        writer.flush()
    writer.close()
    with (tmp_path / "run" / "run_0.mcap").open("rb") as file:
        assert len(make_reader(file).get_summary().chunk_indexes) <= 6


def test_a_disk_that_is_full_at_the_end_of_a_file(tmp_path, monkeypatch):
    monkeypatch.setattr(bag_writer, "FILE_SECONDS", 10.0)
    writer, topic = written(tmp_path / "run")
    writer.flush()
    writer.write(topic, 20 * 10**9, 0, serialized("message 3"))

    class NoRoom(bag_writer.ReadableFile):
        def _write_at(self, place, data):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(bag_writer, "ReadableFile", NoRoom)
    with pytest.raises(RecordingError, match="run': No space left on device; it ends here"):
        writer.flush()
    writer.abandon()
    assert texts(tmp_path / "run") == [f"message {i}" for i in range(4)]
    assert sorted(file.name for file in (tmp_path / "run").iterdir()) == ["metadata.yaml", "run_0.mcap"]


def test_a_killed_writer_leaves_what_was_flushed(tmp_path):
    if not (child := os.fork()):
        writer, topic = written(tmp_path / "run")
        writer.flush()
        writer.write(topic, 500, 500, serialized("never flushed"))
        os.kill(os.getpid(), signal.SIGKILL)
    _, status = os.waitpid(child, 0)
    assert os.WTERMSIG(status) == signal.SIGKILL
    assert texts(tmp_path / "run") == ["message 0", "message 1", "message 2"]
    assert not read_bag(tmp_path / "run").damage


def test_a_full_disk_is_one_line_and_the_file_keeps_what_it_had(tmp_path, monkeypatch):
    writer, topic = written(tmp_path / "run")
    writer.flush()
    size, pwrite = (tmp_path / "run" / "run_0.mcap").stat().st_size, os.pwrite

    def limited(file, data, place):
        """Write as a disk does that has 100 bytes left: first what fits, then nothing."""
        fits = min(len(data), size + 100 - place)
        if fits <= 0:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return pwrite(file, data[:fits], place)

    for i in range(1000):
        writer.write(topic, 200 + i, 200, serialized(str(hash((i, i)))))
    monkeypatch.setattr(os, "pwrite", limited)
    with pytest.raises(RecordingError, match="run': No space left on device; it ends here") as caught:
        writer.flush()
    assert "\n" not in str(caught.value)
    writer.abandon()
    assert texts(tmp_path / "run") == ["message 0", "message 1", "message 2"]


def test_a_disk_that_is_full_before_the_first_message_says_so(tmp_path, monkeypatch):
    def full(*_):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    writer, _ = written(tmp_path / "run")
    monkeypatch.setattr(os, "pwrite", full)
    with pytest.raises(RecordingError, match="No space left on device; it holds no message$"):
        writer.flush()
    writer.abandon()


@pytest.fixture
def small_disk(tmp_path):
    """A disk of 256 kB."""
    folder = tmp_path / "disk"
    folder.mkdir()
    mount = shutil.which("mount") and subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=256k", "tmpfs", folder], capture_output=True, text=True, check=False)
    if not mount or mount.returncode:
        pytest.skip(f"cannot mount a small disk: {mount.stderr.strip() if mount else 'there is no mount'}")
    yield folder
    subprocess.run(["umount", folder], check=True)


def test_a_real_disk_fills_up(small_disk):
    folder = small_disk / "run"
    writer, topic = written(folder)
    writer.flush()
    kept = 3
    with pytest.raises(RecordingError, match="run': No space left on device; it ends here and can be read up to here"):
        for i in range(1000):
            writer.write(topic, 200 + i, 200, serialized(os.urandom(16000).hex()))
            writer.flush()
            kept += 1
    writer.abandon()
    assert 5 < kept <= len(texts(folder)) <= kept + 1  # there may be room for a message, but not for metadata.yaml
    bag = read_bag(folder)
    assert not bag.damage and len(bag.topics["/text"].messages) == len(texts(folder))
    assert sorted(file.name for file in folder.iterdir()) == ["metadata.yaml", "run_0.mcap"]
    with pytest.raises(OSError, match="No space left"), (small_disk / "rest").open("wb", buffering=0) as rest:
        while True:
            rest.write(bytes(4096))
    with pytest.raises(RecordingError, match="second.*No space left on device"):
        BagWriter(small_disk / "second")


def test_damage_in_the_middle_is_told_and_what_is_before_it_is_read(tmp_path):
    writer, topic = written(tmp_path / "run")
    writer.flush()
    writer.write(topic, 500, 500, serialized("damaged"))
    writer.close()
    file = tmp_path / "run" / "run_0.mcap"
    with file.open("r+b") as stream:
        chunk = make_reader(stream).get_summary().chunk_indexes[-1]
        stream.seek(chunk.chunk_start_offset + chunk.chunk_length - 2)  # the end of its compressed data
        stream.write(b"??")
    bag = read_bag(file)
    assert bag.damage.startswith("run_0.mcap is cut off or damaged") and len(bag.topics["/text"].messages) == 3


def test_a_folder_that_is_there_is_refused(tmp_path):
    with pytest.raises(RecordingError, match="exists already, and recordings are never overwritten"):
        BagWriter(tmp_path)
    (tmp_path / "file").touch()
    with pytest.raises(RecordingError, match="cannot record to '.*file/run': Not a directory"):
        BagWriter(tmp_path / "file" / "run")
