# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Results of a study as a table with a row for each law, motion and sample, saved block by block.

A running study appends rows to an Arrow stream, which is readable up to its last complete block at any time. In the end
the stream becomes a Parquet file, for example for pandas and polars.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Self

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from robodyn_ros.base.bounded_files import MAX_JSON_BYTES, is_file, json_value
from robodyn_ros.base.bounded_process import BoundsError, call_bounded
from robodyn_ros.base.checks import NOT_NEGATIVE, as_number
from robodyn_ros.base.errors import InputError, RecordingError, error_text, shown
from robodyn_ros.base.fields import section
from robodyn_ros.description.model import Array
from robodyn_ros.toolbox.study.metrics import METRICS

KEY = b"robodyn_ros.study"
"""Key of `About` in the metadata of the schema."""

STREAM, TABLE = "samples.arrows", "samples.parquet"
"""Names of the two files in the folder of a study."""

LAW, MOTION, SAMPLE, REASON, PROCESSOR = "law", "trajectory", "sample", "failed", "processor"
"""Columns besides those of axes and metrics; ``failed`` is the reason, or null."""

MIN_LIMIT, MAX_GROWTH = 64 * 2**20, 64
"""Limit of the content of a file of results: bytes, or multiple of its size, whichever is greater."""

READ_SECONDS = 60
"""Greatest processor time for reading a Parquet file [s]."""

_TEXT = pa.dictionary(pa.int32(), pa.string())
_DICTIONARY_BATCH, _RECORD_BATCH = 2, 3  # numbers of MessageHeader in format/Message.fbs of Apache Arrow


@dataclass(frozen=True)
class About:
    """Origin of results."""

    path: str  # path of the study's file at the time of computation
    digest: str  # hash of the study's content
    text: str  # content of the study's file
    version: str  # version of robodyn_ros
    seed: int  # seed of the study
    rows: int  # number of rows of the complete results
    axes: tuple[str, ...]  # columns of the varied numbers
    limits: dict[str, float]  # greatest values of metrics; samples beyond have failed

    @classmethod
    def from_schema(cls, schema: pa.Schema) -> Self:
        """Read the origin from a schema's metadata.

        Raises:
            InputError: The schema has no metadata, or does not belong to results.
        """
        content = json_value((schema.metadata or {}).get(KEY, b"null"), "metadata")
        if content is None:
            raise InputError("it holds no study")
        found = section(cls, "metadata", content)
        kinds = {"path": str, "digest": str, "text": str, "version": str, "seed": int, "rows": int, "axes": list,
                 "limits": dict}
        for name, kind in kinds.items():
            if type(getattr(found, name)) is not kind:
                raise InputError(f"metadata: {name}: expected {kind.__name__}, received {shown(getattr(found, name))}")
        for value in found.limits.values():
            as_number(value, NOT_NEGATIVE, "metadata: limits")
        if not all(isinstance(name, str) for name in found.axes) or not found.rows >= 0:
            raise InputError(f"metadata: expected names of axes and a number of rows, received {shown(found.axes)} and "
                             f"{shown(found.rows)}")
        return replace(found, axes=tuple(found.axes))

    def schema(self) -> pa.Schema:
        """The columns of results."""
        fields = [(LAW, _TEXT), (MOTION, _TEXT), (SAMPLE, pa.int64()), *((name, pa.float64()) for name in self.axes),
                  *((name, pa.float64()) for name in METRICS), (REASON, _TEXT), (PROCESSOR, _TEXT)]
        return pa.schema(fields, metadata={KEY: json.dumps(self.__dict__).encode()})


@dataclass(frozen=True, eq=False)
class Results:
    """Results, complete or not."""

    about: About  # their origin
    table: pa.Table  # a row for each rollout

    @property
    def complete(self) -> bool:
        """Whether no row is missing."""
        return bool(self.table.num_rows == self.about.rows)

    def rows(self, law: str, motion: str | None = None) -> Results:
        """Return the results of one law, optionally of one motion."""
        chosen = self.text(LAW) == law
        if motion is not None:
            chosen &= self.text(MOTION) == motion
        return Results(self.about, self.table.filter(pa.array(chosen)))

    def for_laws(self, laws: Sequence[str]) -> Results:
        """Return the results of some laws."""
        return Results(self.about, self.table.filter(pa.array(np.isin(self.text(LAW), laws))))

    def numbers(self, column: str) -> Array:
        """Return a column of numbers, NaN for nulls."""
        return np.asarray(self.table.column(column).to_numpy(), dtype=np.float64)

    def text(self, column: str) -> NDArray[np.object_]:
        """Return a column of texts; empty for nulls."""
        return np.array([value or "" for value in self.table.column(column).to_pylist()], dtype=object)

    def values(self, column: str) -> list[str]:
        """The different texts of a column, in the order of the rows."""
        return list(dict.fromkeys(self.text(column).tolist()))

    def write(self, path: Path) -> None:
        """Write a Parquet file, completely or not at all.

        Raises:
            RecordingError: The file cannot be written, for example to a full disk.
        """
        new = path.with_name(f".{path.name}")
        try:
            pq.write_table(self.table, new, compression="zstd")
            new.replace(path)
        except OSError as error:
            raise RecordingError(f"cannot write '{path}': {error_text(error)}") from None
        finally:
            with suppress(OSError):
                new.unlink(missing_ok=True)

    @classmethod
    def read(cls, path: Path) -> Self:
        """Read a Parquet file, a stream, or the folder of a study with either.

        Raises:
            RecordingError: There is no such file, or it is no result of a study.
        """
        if path.is_dir():
            found = [path / name for name in (TABLE, STREAM) if (path / name).is_file()]
            if not found:
                raise RecordingError(f"no results in '{path}': expected {TABLE} or {STREAM}, as robodyn study writes")
            path = found[0]
        try:
            if not is_file(path):
                raise InputError("it is no regular file")
            about, table = _read_stream(path) if path.suffix == Path(STREAM).suffix else _read_table(path)
            table.validate(full=True)
        except BoundsError:
            raise RecordingError(f"cannot read results from '{path}': it is damaged, or takes more than "
                                 f"{_most_bytes(path) >> 20} MiB or {READ_SECONDS} s; expected a file that robodyn "
                                 "study wrote") from None
        except (OSError, pa.ArrowException, InputError, ValueError, RecursionError, MemoryError) as error:
            raise RecordingError(f"cannot read results from '{path}': {error_text(error)}; expected a file that "
                                 "robodyn study wrote") from None
        return cls(about, table)


class ResultStream:
    """Appends rows to a file that can be read at any time.

    Args:
        path: The file; an existing file is overwritten.
        about: Origin of the rows.
        kept: First rows, of an interrupted study.

    Raises:
        RecordingError: The file cannot be written.
    """

    def __init__(self, path: Path, about: About, kept: pa.Table | None = None) -> None:
        self._path, self._schema = path, about.schema()
        self._batches: list[pa.RecordBatch] = [] if kept is None else kept.combine_chunks().to_batches()
        new = path.with_name(f".{path.name}")
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._file = new.open("wb", buffering=0)
            # Blocks are flushed completely; a reader stops at the first incomplete one.
            self._writer = pa.ipc.new_stream(self._file, self._schema,
                                             options=pa.ipc.IpcWriteOptions(emit_dictionary_deltas=False))
            for batch in self._batches:
                self._writer.write_batch(batch)
            new.replace(path)
        except OSError as error:
            raise RecordingError(f"cannot write '{path}': {error_text(error)}") from None

    def append(self, columns: Mapping[str, Any]) -> None:
        """Append a block of rows.

        Args:
            columns: Values by column; missing columns are null, and a single text applies to all rows.

        Raises:
            RecordingError: The file cannot be written, for example to a full disk; it keeps the previous blocks.
        """
        count = len(columns[SAMPLE])
        arrays = [_array(columns.get(name), kind, count) for name, kind in zip(self._schema.names, self._schema.types,
                                                                               strict=True)]
        batch = pa.record_batch(arrays, schema=self._schema)
        try:
            self._writer.write_batch(batch)
        except OSError as error:
            raise RecordingError(f"cannot write '{self._path}': {error_text(error)}; the samples so far are kept "
                                 "there, and --resume goes on") from None
        self._batches.append(batch)

    @property
    def row_count(self) -> int:
        """Number of rows so far."""
        return sum(batch.num_rows for batch in self._batches)

    def results(self) -> Results:
        """All rows so far."""
        table = pa.Table.from_batches(self._batches, self._schema)
        return Results(About.from_schema(self._schema), table)

    def close(self) -> None:
        """Close the file."""
        with suppress(OSError):
            self._writer.close()
        self._file.close()


def _read_stream(path: Path) -> tuple[About, pa.Table]:
    """Return the complete blocks of a stream, even if it is cut off."""
    batches: list[pa.RecordBatch] = []
    with path.open("rb") as file:
        messages = pa.ipc.MessageReader.open_stream(file)
        with suppress(pa.ArrowException, OSError, EOFError, StopIteration):
            while True:
                if is_compressed(messages.read_next_message().metadata.to_pybytes()):
                    raise InputError("its blocks are compressed")  # they could expand to any size
        file.seek(0)
        reader = pa.ipc.open_stream(file)
        about = _about(reader.schema)
        with suppress(pa.ArrowException, OSError, EOFError, StopIteration):
            while True:
                batches.append(reader.read_next_batch())
    return about, pa.Table.from_batches(batches, reader.schema)


def _most_bytes(path: Path) -> int:
    """Greatest size of the content of a Parquet file [bytes]."""
    return MIN_LIMIT + MAX_GROWTH * path.stat().st_size


def _read_table(path: Path) -> tuple[About, pa.Table]:
    """Read a Parquet file with a content not much larger than the file."""
    # The footer need not describe the pages correctly. While it is sent, the content exists three times.
    return call_bounded(_read_parquet, path, memory=4 * _most_bytes(path), seconds=READ_SECONDS)


def _read_parquet(path: Path) -> tuple[About, pa.Table]:
    with pq.ParquetFile(path, thrift_string_size_limit=MAX_JSON_BYTES, thrift_container_size_limit=10**6) as file:
        about, found = _about(file.schema_arrow), file.metadata
        size = sum(found.row_group(number).total_byte_size for number in range(found.num_row_groups))
        cells = found.num_rows * found.num_columns
        if max(8 * cells, size) > _most_bytes(path):
            raise InputError(f"it would grow to {found.num_rows} rows and {size} bytes")
        return about, file.read(use_threads=False)


def _about(schema: pa.Schema) -> About:
    """Read the origin from a schema, and check its columns."""
    about = About.from_schema(schema)
    if not schema.equals(about.schema()):
        raise InputError(f"expected the columns {', '.join(about.schema().names)}, received "
                         f"{shown(list(zip(schema.names, map(str, schema.types), strict=True)))}")
    return about


def is_compressed(metadata: bytes) -> bool:
    """Whether a message of an Arrow stream has compressed buffers, which Arrow expands to any declared size.

    Args:
        metadata: Metadata of the message, a flatbuffer; see format/Message.fbs of Apache Arrow.
    """
    def field(table: int, number: int) -> int:
        """Position of a field of a table; 0: missing."""
        (back,) = struct.unpack_from("<i", metadata, table)
        size, = struct.unpack_from("<H", metadata, table - back)
        place = 4 + 2 * number
        offset = struct.unpack_from("<H", metadata, table - back + place)[0] if place < size else 0
        return table + offset if offset else 0

    def inner(place: int) -> int:
        return place + int(struct.unpack_from("<I", metadata, place)[0])

    try:
        message = inner(0)
        header = inner(field(message, 2))
        if metadata[field(message, 1)] == _DICTIONARY_BATCH:
            header = inner(field(header, 1))
        elif metadata[field(message, 1)] != _RECORD_BATCH:
            return False
        return field(header, 3) != 0
    except (struct.error, IndexError):
        return True  # not a message of Arrow


def _array(values: Any, kind: pa.DataType, count: int) -> pa.Array:
    if values is None:
        return pa.nulls(count, kind)
    if pa.types.is_dictionary(kind):
        texts: Sequence[str] = [values] * count if isinstance(values, str) else list(values)
        return pa.array([text or None for text in texts], pa.string()).dictionary_encode()
    return pa.array(np.asarray(values), kind)
