# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Results of a study as a table: a row for each law, motion and sample; kept block by block, read by anyone.

While a study runs, its rows are appended to an Arrow stream, which is readable up to its last whole block at any time.
In the end the stream becomes a Parquet file, which pandas, polars and others read.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from robodyn_ros.description.model import Array
from robodyn_ros.errors import RecordingError
from robodyn_ros.study.metrics import METRICS

KEY = b"robodyn_ros.study"
"""Key of `About` in the metadata of the schema."""

STREAM, TABLE = "samples.arrows", "samples.parquet"
"""Names of the two files in the folder of a study."""

LAW, MOTION, SAMPLE, REASON, PROCESSOR = "law", "trajectory", "sample", "failed", "processor"
"""Columns beside those of axes and metrics; ``failed`` is the reason, or null."""

_TEXT = pa.dictionary(pa.int32(), pa.string())


@dataclass(frozen=True)
class About:
    """Where results come from.

    Attributes:
        path: Of the study's file, when they were computed.
        digest: Of the study's content.
        text: The study's file.
        version: Of robodyn_ros.
        seed: Of the study.
        rows: Number of rows when all are computed.
        axes: Columns of the varied numbers.
        limits: Values of metrics above which a sample has failed.
    """

    path: str
    digest: str
    text: str
    version: str
    seed: int
    rows: int
    axes: tuple[str, ...]
    limits: dict[str, float]

    @classmethod
    def from_json(cls, text: bytes | str) -> Self:
        """Read from a schema's metadata."""
        content = json.loads(text)
        return cls(**{**content, "axes": tuple(content["axes"])})

    def schema(self) -> pa.Schema:
        """The columns of results."""
        fields = [(LAW, _TEXT), (MOTION, _TEXT), (SAMPLE, pa.int64()), *((name, pa.float64()) for name in self.axes),
                  *((name, pa.float64()) for name in METRICS), (REASON, _TEXT), (PROCESSOR, _TEXT)]
        return pa.schema(fields, metadata={KEY: json.dumps(self.__dict__).encode()})


@dataclass(frozen=True, eq=False)
class Results:
    """Results, complete or not.

    Attributes:
        about: Where they come from.
        table: A row for each rollout.
    """

    about: About
    table: pa.Table

    @property
    def complete(self) -> bool:
        """Whether no row is missing."""
        return bool(self.table.num_rows == self.about.rows)

    def rows(self, law: str, motion: str | None = None) -> Results:
        """Return the results of one law, and perhaps of one motion."""
        chosen = self.text(LAW) == law
        if motion is not None:
            chosen &= self.text(MOTION) == motion
        return Results(self.about, self.table.filter(pa.array(chosen)))

    def of_laws(self, laws: Sequence[str]) -> Results:
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
        """Write a Parquet file, whole or not at all.

        Raises:
            RecordingError: The disk is full, or otherwise cannot be written.
        """
        new = path.with_name(f".{path.name}")
        try:
            pq.write_table(self.table, new, compression="zstd")
            new.replace(path)
        except OSError as error:
            raise RecordingError(f"cannot write '{path}': {_why(error)}") from None
        finally:
            with suppress(OSError):
                new.unlink(missing_ok=True)

    @classmethod
    def read(cls, path: Path) -> Self:
        """Read a Parquet file, a stream, or the folder of a study that has one of both.

        Raises:
            RecordingError: There is no such file, or it is not one of a study.
        """
        if path.is_dir():
            found = [path / name for name in (TABLE, STREAM) if (path / name).is_file()]
            if not found:
                raise RecordingError(f"no results in '{path}': expected {TABLE} or {STREAM}, as robodyn study writes")
            path = found[0]
        try:
            table = _read_stream(path) if path.suffix == Path(STREAM).suffix else pq.read_table(path)
            about = About.from_json((table.schema.metadata or {})[KEY])
        except (OSError, pa.ArrowException, KeyError, TypeError, ValueError) as error:
            why = "it holds no study" if isinstance(error, KeyError) else _why(error)
            raise RecordingError(f"cannot read results from '{path}': {why}; expected a file that robodyn study wrote"
                                 ) from None
        return cls(about, table)


class ResultStream:
    """Appends rows to a file that can be read at any time.

    Args:
        path: The file; one that is there is written over.
        about: Where the rows come from.
        kept: Rows to begin with, of an interrupted study.

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
            # Blocks are flushed whole; a reader stops at the first that is not.
            self._writer = pa.ipc.new_stream(self._file, self._schema,
                                             options=pa.ipc.IpcWriteOptions(emit_dictionary_deltas=False))
            for batch in self._batches:
                self._writer.write_batch(batch)
            new.replace(path)
        except OSError as error:
            raise RecordingError(f"cannot write '{path}': {_why(error)}") from None

    def append(self, columns: Mapping[str, Any]) -> None:
        """Append a block of rows.

        Args:
            columns: Values by column; missing columns are null, and texts may be one for all rows.

        Raises:
            RecordingError: The disk is full, or otherwise cannot be written; the blocks before are kept.
        """
        count = len(columns[SAMPLE])
        arrays = [_array(columns.get(name), kind, count) for name, kind in zip(self._schema.names, self._schema.types,
                                                                               strict=True)]
        batch = pa.record_batch(arrays, schema=self._schema)
        try:
            self._writer.write_batch(batch)
        except OSError as error:
            raise RecordingError(f"cannot write '{self._path}': {_why(error)}; the samples so far are kept there, and "
                                 "--resume goes on") from None
        self._batches.append(batch)

    @property
    def row_count(self) -> int:
        """Number of rows so far."""
        return sum(batch.num_rows for batch in self._batches)

    def results(self) -> Results:
        """All rows so far."""
        table = pa.Table.from_batches(self._batches, self._schema)
        return Results(About.from_json(self._schema.metadata[KEY]), table)

    def close(self) -> None:
        """Close the file."""
        with suppress(OSError):
            self._writer.close()
        self._file.close()


def _read_stream(path: Path) -> pa.Table:
    """Return the whole blocks of a stream, also of one that is cut off."""
    batches: list[pa.RecordBatch] = []
    with path.open("rb") as file:
        reader = pa.ipc.open_stream(file)
        with suppress(pa.ArrowException, OSError, EOFError, StopIteration):
            while True:
                batches.append(reader.read_next_batch())
    return pa.Table.from_batches(batches, reader.schema)


def _array(values: Any, kind: pa.DataType, count: int) -> pa.Array:
    if values is None:
        return pa.nulls(count, kind)
    if pa.types.is_dictionary(kind):
        texts: Sequence[str] = [values] * count if isinstance(values, str) else list(values)
        return pa.array([text or None for text in texts], pa.string()).dictionary_encode()
    return pa.array(np.asarray(values), kind)


def _why(error: BaseException) -> str:
    return getattr(error, "strerror", None) or " ".join(str(error).split()) or type(error).__name__
