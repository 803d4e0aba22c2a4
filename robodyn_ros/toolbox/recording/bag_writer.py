# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Writes rosbag2 folders with MCAP that are readable at any time, even if the writer is killed."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, cast

import yaml
from mcap.data_stream import RecordBuilder
from mcap.records import DataEnd, Footer
from mcap.writer import MCAP0_MAGIC, Writer

from robodyn_ros.base.errors import RecordingError

BAG_VERSION = 9
"""Version of metadata.yaml, since ROS 2 Jazzy."""

FILE_SECONDS = 100.0
"""Duration of a file, after which the recording continues in another one [s].

The index of the current file is in memory: some 4 kB for each chunk of messages, one chunk per flush.
"""

CHUNK_SIZE = 16 * 2**20
"""Size at which a chunk ends before the flush [bytes]."""


@dataclass
class TopicEntry:
    """A topic in metadata.yaml."""

    name: str  # full name
    type: str  # type of its messages, such as ``sensor_msgs/msg/JointState``
    definition: str  # definition of the type and of those that it uses, in the format ros2msg
    qos: Sequence[Mapping[str, Any]]  # offered qualities of service, in the format of rosbag2
    type_hash: str  # hash of the type, ``RIHS01_…``; empty: unknown
    count: int = 0  # number of messages so far


@dataclass
class FileEntry:
    """A file in metadata.yaml.

    Attributes:
        name: Name in the folder.
        count: Number of messages so far.
        first, last: Times of receipt of its messages so far [ns]; 0: none yet.
    """

    name: str
    count: int = 0
    first: int = 0
    last: int = 0

    def content(self) -> dict[str, Any]:
        """Return times and number of messages in the form of metadata.yaml, for a file or for all."""
        return {"starting_time": {"nanoseconds_since_epoch": self.first},
                "duration": {"nanoseconds": self.last - self.first}, "message_count": self.count}


class BagWriter:
    """A rosbag2 folder: NAME_0.mcap, NAME_1.mcap and so on, and a metadata.yaml that each flush updates.

    Args:
        folder: Folder to create.

    Raises:
        RecordingError: The folder exists, or cannot be created.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._topics: dict[int, TopicEntry] = {}
        self._files: list[FileEntry] = []
        self._last = self._listed = self._kept = 0
        try:
            folder.mkdir(parents=True)
            self._begin_file()
        except FileExistsError:
            raise RecordingError(f"'{folder}' exists already, and recordings are never overwritten: give another "
                                 "name") from None
        except OSError as error:
            raise RecordingError(f"cannot record to '{folder}': {error.strerror}") from None

    @property
    def message_count(self) -> int:
        """Number of messages so far."""
        return sum(file.count for file in self._files)

    def add_topic(self, name: str, type_name: str, definition: str, qos: Sequence[Mapping[str, Any]] = (),
                  type_hash: str = "") -> int:
        """Add a topic.

        Args:
            name: Full name.
            type_name: Type of its messages.
            definition: Definition of the type and of those that it uses, in the format ros2msg.
            qos: Offered qualities of service, in the format of rosbag2.
            type_hash: Hash of the type; empty: unknown.

        Returns:
            Number of the topic, for :meth:`write`.
        """
        topic = TopicEntry(name, type_name, definition, qos, type_hash)
        channel = self._register(topic)
        self._topics[channel] = topic
        return channel

    def write(self, topic: int, received: int, published: int, data: bytes) -> None:
        """Add a message; it reaches the file with the next flush.

        Args:
            topic: Number of the topic.
            received: Time of receipt [ns], at least that of the previous message.
            published: Time of publication [ns].
            data: The serialized message.
        """
        file = self._files[-1]
        file.last = self._last = max(received, self._last)
        file.first = file.first or file.last
        file.count += 1
        self._topics[topic].count += 1
        self._writer.add_message(topic, self._last, data, published)

    def add_metadata(self, name: str, entries: dict[str, str]) -> None:
        """Add an MCAP metadata record after the messages so far."""
        self._writer.add_metadata(name, entries)

    def flush(self) -> None:
        """Write everything so far to the file, and begin a new file after `FILE_SECONDS`.

        Raises:
            RecordingError: The file cannot be written, for example to a full disk; it keeps its content.
        """
        file = self._files[-1]
        if file.last - file.first < 1e9 * FILE_SECONDS:
            self._writer.flush()
            self._commit()
            return
        self.close()
        try:
            self._begin_file()
        except OSError as error:
            raise self._ended(error) from None

    def close(self) -> None:
        """Write the rest, and the index of the file.

        Raises:
            RecordingError: The file cannot be written, for example to a full disk; it keeps its content.
        """
        try:
            self._writer.finish()
            self._commit(last=True)
        finally:
            self._file.close()

    def abandon(self) -> None:
        """Close the file as it is."""
        self._file.close()

    def _begin_file(self) -> None:
        """Create the next file, with the topics so far; after an OSError it does not exist."""
        name = f"{self._folder.name}_{len(self._files)}.mcap"
        self._file = ReadableFile(self._folder / name)
        self._writer = Writer(cast(IO[Any], self._file), CHUNK_SIZE)  # it calls only write, tell and flush
        self._writer.start(profile="ros2", library="robodyn_ros")
        self._schemas: dict[str, int] = {}
        for topic in self._topics.values():  # in order, so that numbers stay the same
            self._register(topic)
        self._writer.flush()
        try:
            self._file.commit()
        except OSError:
            self._file.close()
            (self._folder / name).unlink()
            raise
        self._files.append(FileEntry(name))
        self._write_metadata()

    def _register(self, topic: TopicEntry) -> int:
        """Return the number of a topic in the file."""
        if topic.type not in self._schemas:
            self._schemas[topic.type] = self._writer.register_schema(topic.type, "ros2msg", topic.definition.encode())
        qos = yaml.safe_dump(list(topic.qos), sort_keys=False).strip() if topic.qos else ""
        return self._writer.register_channel(topic.name, "cdr", self._schemas[topic.type], {
            "offered_qos_profiles": qos, "topic_type_hash": topic.type_hash})

    def _commit(self, last: bool = False) -> None:
        try:
            if len(self._topics) != self._listed:  # before their messages, since some readers only use these
                self._write_metadata()
            self._file.commit(last)
            self._kept = self.message_count
            self._write_metadata()
        except OSError as error:
            raise self._ended(error) from None

    def _ended(self, error: OSError) -> RecordingError:
        return RecordingError(f"cannot write the recording '{self._folder}': {error.strerror}; it "
                              f"{'ends here and can be read up to here' if self._kept else 'holds no message'}")

    def _write_metadata(self) -> None:
        whole = FileEntry("", self.message_count, self._files[0].first, self._last).content()
        content = {"rosbag2_bagfile_information": {
            "version": BAG_VERSION, "storage_identifier": "mcap",
            "relative_file_paths": [file.name for file in self._files],
            "duration": whole["duration"], "starting_time": whole["starting_time"],
            "message_count": whole["message_count"],
            "topics_with_message_count": [{"topic_metadata": {
                "name": topic.name, "type": topic.type, "serialization_format": "cdr",
                "offered_qos_profiles": list(topic.qos), "type_description_hash": topic.type_hash},
                "message_count": topic.count} for topic in self._topics.values()],
            "compression_format": "", "compression_mode": "",
            "files": [{"path": file.name, **file.content()} for file in self._files],
            "custom_data": None, "ros_distro": os.environ.get("ROS_DISTRO", "")}}
        new = self._folder / ".metadata.yaml"
        try:
            new.write_text(yaml.dump(content, Dumper=_PlainDumper, sort_keys=False))
            new.replace(self._folder / "metadata.yaml")
        finally:
            new.unlink(missing_ok=True)
        self._listed = len(self._topics)


class _PlainDumper(yaml.SafeDumper):
    """Writes YAML without anchors."""

    def ignore_aliases(self, data: Any) -> bool:
        return True


class ReadableFile:
    """A complete MCAP file after every commit; data between commits is kept in memory.

    Each commit ends the file with a footer, which the next one overwrites.

    Args:
        path: File to create.
    """

    def __init__(self, path: Path) -> None:
        self._file = path.open("xb", buffering=0)
        self._pending = bytearray()
        self._end = 0  # of the committed data, without the footer

    def write(self, data: bytes) -> int:
        """Take data."""
        self._pending += data
        return len(data)

    def tell(self) -> int:
        """Return the size of all data written so far, without the footer."""
        return self._end + len(self._pending)

    def flush(self) -> None:
        """Do nothing; :meth:`commit` writes."""

    def commit(self, last: bool = False) -> None:
        """Write the data and a footer.

        Args:
            last: Whether the data ends with the file's own footer.

        Raises:
            OSError: It cannot be written; the file keeps the state of the previous commit.
        """
        try:
            self._write_at(self._end, bytes(self._pending) + (b"" if last else _FOOTER))
        except OSError:
            with suppress(OSError):
                self._write_at(self._end, _FOOTER)
                self._file.truncate(self._end + len(_FOOTER))
            raise
        self._end += len(self._pending)
        self._pending.clear()

    def _write_at(self, place: int, data: bytes) -> None:
        view = memoryview(data)
        while view:
            written = os.pwrite(self._file.fileno(), view, place)
            place, view = place + written, view[written:]

    def close(self) -> None:
        """Close the file."""
        self._file.close()


def _footer() -> bytes:
    """End of an MCAP file without an index; readers then scan it for messages."""
    builder = RecordBuilder()
    DataEnd(0).write(builder)
    Footer(summary_start=0, summary_offset_start=0, summary_crc=0).write(builder)
    return bytes(builder.end()) + MCAP0_MAGIC


_FOOTER = _footer()
