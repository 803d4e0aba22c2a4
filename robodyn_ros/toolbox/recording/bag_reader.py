# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Reads rosbag2 folders with MCAP, even if the recorder was killed."""

from __future__ import annotations

import contextlib
import functools
import io
import os
import struct
import zlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from robodyn_ros.base.bounded_files import open_file
from robodyn_ros.base.errors import InputError, RecordingError, escaped, shown
from robodyn_ros.base.optional_packages import missing_message

MIN_LIMIT, MAX_GROWTH = 64 * 2**20, 100
"""Limit of the content of a recording: bytes, or multiple of its files' size, whichever is greater."""

MAX_MESSAGE_SIZE = 2**20
"""Greatest size of a decoded message [bytes]; texts may be longer."""

_OBJECT = 200  # size of a record as an object of Python [bytes]
_SCHEMA, _CHANNEL, _MESSAGE = 3, 4, 5  # opcodes of MCAP
_HEAD, _MESSAGE_HEAD = 9, 22  # bytes before the content of a record, and before the data of a message

FROM_ROS1 = ("and recordings of ROS 2 are read here: convert the .bag file with rosbags-convert --src FILE.bag --dst "
             "FOLDER --dst-storage mcap (pip install rosbags), or write its joint states into a table")
"""Remedy for recordings of ROS 1, for messages."""

_COMPRESSED = ".mcap.zstd"
"""Ending of files that rosbag2 compresses as a whole."""


@dataclass
class Topic:
    """The messages of one topic.

    Attributes:
        name: Full name, with its namespace.
        type: Type of the messages, such as ``sensor_msgs/msg/JointState``.
        messages: Time of receipt [ns] and serialized message, in order of time.
    """

    name: str
    type: str
    messages: list[tuple[int, bytes]] = field(default_factory=list)
    _make_decoder: Callable[[], Callable[[bytes], Any] | None] = lambda: None

    def decode(self) -> Iterator[tuple[int, Any]]:
        """Decode the messages one by one.

        Yields:
            Time of receipt [ns] and message: an object with the message's fields as attributes.

        Raises:
            RecordingError: The definition of the messages is missing or invalid, or a message is too long or does not
                fit it.
        """
        try:
            with contextlib.redirect_stderr(io.StringIO()):  # the library also prints errors
                decoder = self._make_decoder()
        except Exception as error:  # definitions may have any content
            raise RecordingError(f"topic {self.name}: the recorded definition of {self.type} cannot be read ({error})"
                                 ) from None
        if decoder is None:
            raise RecordingError(f"topic {self.name}: the recording has no definition of {self.type} as ros2msg text")
        for time, data in self.messages:
            if len(data) > MAX_MESSAGE_SIZE and self.type != "std_msgs/msg/String":
                raise RecordingError(f"topic {self.name}: expected messages of at most {MAX_MESSAGE_SIZE} bytes, "
                                     f"received {len(data)}")
            try:
                yield time, decoder(data)
            except Exception as error:  # the library raises many kinds for damaged bytes
                raise RecordingError(f"topic {self.name}: a message is no {self.type} as the recording defines it "
                                     f"({error})") from None


@dataclass
class Bag:
    """Content of a rosbag2 folder.

    Attributes:
        path: The folder, or its only file.
        topics: The topics by name, also those without messages.
        metadata: MCAP metadata records: name and entries, in the order of writing.
        damage: Why the end of the recording is missing; empty: it is complete.
    """

    path: Path
    topics: dict[str, Topic] = field(default_factory=dict)
    metadata: list[tuple[str, dict[str, str]]] = field(default_factory=list)
    damage: str = ""

    def with_type(self, type_name: str) -> list[Topic]:
        """Return the topics with messages of a type."""
        return [topic for topic in self.topics.values() if topic.type == type_name and topic.messages]


def read_bag(path: str | Path) -> Bag:
    """Read a recording into memory, without metadata.yaml, which may be outdated after a killed recorder.

    Args:
        path: A rosbag2 folder, or an .mcap file.

    Returns:
        All messages up to the first damage.

    Raises:
        RecordingError: There is no recording, or none of it can be read.
    """
    bag, budget = Bag(Path(path)), _Budget(path)
    for file in _mcap_files(bag.path):
        _read_file(file, bag, budget)
    if not any(topic.messages for topic in bag.topics.values()):
        raise RecordingError(f"{path}: {bag.damage or 'the recording is empty: it has no messages'}")
    for topic in bag.topics.values():
        topic.messages.sort(key=lambda message: message[0])
    return bag


def _mcap_files(path: Path) -> list[Path]:
    compressed = [path] if path.name.endswith(_COMPRESSED) else sorted(path.glob(f"*{_COMPRESSED}"))
    if path.is_file() and not compressed:
        return [path]
    if not (path.is_dir() or path.is_file()):
        raise RecordingError(f"no recording at '{path}': expected a folder as robodyn record or ros2 bag record writes")
    files = sorted(path.glob("*.mcap"), key=lambda file: (len(file.name), file.name))  # NAME_2 before NAME_10
    if compressed and not files:
        raise RecordingError(f"'{compressed[0]}' is compressed as a file (compression_mode: file): decompress it with "
                             "zstd -d, or record with compression_mode message")
    if not files:
        other = "it has the storage sqlite3: convert it with ros2 bag convert" if any(path.glob("*.db3")) else \
            "is it the folder of a recording?"
        raise RecordingError(f"no .mcap file in '{path}': {other}")
    return files


def _read_file(file: Path, bag: Bag, budget: _Budget) -> None:
    """Read one file up to its end or the first damage."""
    try:  # imported here: plots of simulated motions need no recordings
        from mcap.records import Channel, Message, Metadata, Schema
        from mcap.stream_reader import StreamReader
        from mcap_ros2.decoder import DecoderFactory
    except ImportError as error:
        raise RecordingError(missing_message("mcap_ros2", error)) from None
    schemas: dict[int, Schema] = {}
    channels: dict[int, Topic] = {}
    try:
        with open_file(file) as stream:
            size = os.fstat(stream.fileno()).st_size
            budget.left += MAX_GROWTH * size
            records = StreamReader(stream, validate_crcs=True, emit_chunks=True, record_size_limit=size).records
            for record in _without_chunks(records, budget):
                match record:
                    case Message():
                        channels[record.channel_id].messages.append((record.log_time, record.data))
                        budget.take(len(record.data))
                    case Schema():
                        schemas[record.id] = record
                    case Channel():
                        channels[record.id] = _topic(bag, record, schemas.get(record.schema_id), DecoderFactory())
                    case Metadata():
                        bag.metadata.append((record.name, record.metadata))
    except (OSError, InputError) as error:
        raise RecordingError(f"cannot read {file}: {getattr(error, 'strerror', None) or error}") from None
    except RecordingError:
        raise
    except Exception as error:  # the libraries raise many kinds for damaged bytes
        bag.damage = f"{file.name} is cut off or damaged ({type(error).__name__}{f': {error}' if str(error) else ''})"


class _Budget:
    """Remaining bytes for the content of a recording, including Python's objects."""

    def __init__(self, path: str | Path) -> None:
        self._path, self.left = path, MIN_LIMIT

    def take(self, size: int) -> None:
        """Use some bytes; raise RecordingError if they are not left."""
        self.left -= size + _OBJECT
        if self.left < 0:
            raise RecordingError(f"{self._path}: its content grows to more than {MAX_GROWTH} times its size; it is no "
                                 "recording of a robot")


def _without_chunks(records: Iterable[Any], budget: _Budget) -> Iterator[Any]:
    """Yield records, with chunks replaced by their records."""
    from mcap.data_stream import ReadDataStream
    from mcap.records import Channel, Chunk, Message, Schema

    for record in records:
        if not isinstance(record, Chunk):
            yield record
            continue
        data, at = _expanded(record, budget), 0
        while at < len(data):
            opcode, length = struct.unpack_from("<BQ", data, at)
            at += _HEAD
            body = data[at:at + length]
            if len(body) < length:
                raise EOFError("a record reaches beyond its chunk")
            at += length
            budget.take(0)
            if opcode == _MESSAGE:
                channel, sequence, received, published = struct.unpack_from("<HIQQ", body)
                yield Message(channel_id=channel, log_time=received, data=body[_MESSAGE_HEAD:], publish_time=published,
                              sequence=sequence)
            elif opcode in (_SCHEMA, _CHANNEL):
                kind: Any = Schema if opcode == _SCHEMA else Channel
                yield kind.read(ReadDataStream(io.BytesIO(body)))


def _expanded(chunk: Any, budget: _Budget) -> bytes:
    """Expand a chunk with checks, since the libraries would trust its declared size."""
    most = max(0, min(chunk.uncompressed_size, budget.left)) + 1
    if chunk.compression == "zstd":
        import zstandard

        data: bytes = zstandard.ZstdDecompressor().stream_reader(chunk.data).read(most)
    elif chunk.compression == "lz4":
        import lz4.frame  # type: ignore[import-untyped]

        data = lz4.frame.LZ4FrameDecompressor().decompress(chunk.data, max_length=most)
    elif chunk.compression:
        raise ValueError(f"a chunk with the compression {shown(chunk.compression)}")
    else:
        data = chunk.data
    budget.take(len(data))
    if len(data) != chunk.uncompressed_size:
        raise ValueError(f"a chunk of {len(data)} bytes that says it has {chunk.uncompressed_size}")
    if chunk.uncompressed_crc not in (0, zlib.crc32(data)):
        raise ValueError("the checksum of a chunk is wrong")
    return data


def _topic(bag: Bag, channel: Any, schema: Any, decoders: Any) -> Topic:
    """Return the topic of a channel; several publishers of a topic have several channels."""
    if channel.message_encoding == "ros1":
        raise RecordingError(f"{bag.path}: it is a recording of ROS 1, {FROM_ROS1}")
    name = escaped(channel.topic)  # messages show it
    known = bag.topics.get(name)
    if known is None:
        # The library caches decoders by schema number, which differs from file to file.
        make_decoder = functools.partial(_decoder, decoders, channel.message_encoding, schema)
        known = bag.topics[name] = Topic(name, escaped(schema.name) if schema else "unknown", [], make_decoder)
    return known


def _decoder(decoders: Any, encoding: str, schema: Any) -> Callable[[bytes], Any] | None:
    """Return the decoder of a topic, on its first use; None: it has no definition."""
    if schema is not None:  # comments may have any encoding; the library expects UTF-8
        schema = replace(schema, data=schema.data.decode("utf-8", "replace").encode())
    found: Callable[[bytes], Any] | None = decoders.decoder_for(encoding, schema)
    return found
