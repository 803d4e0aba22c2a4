# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Reads recordings as tables with named columns, of bounded size: CSV, NPZ, MAT and Parquet."""

from __future__ import annotations

import fnmatch
import io
import math
import zipfile
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, Self

import numpy as np

from robodyn_ros.base.bounded_files import expand_user, read_file
from robodyn_ros.base.bounded_process import BoundsError, call_bounded
from robodyn_ros.base.errors import InputError, RecordingError, error_text, list_names, shown, suggest
from robodyn_ros.base.optional_packages import require
from robodyn_ros.description.model import Array

MAX_TABLE_SIZE = 64 * 2**20
"""Bytes of a file."""

MAX_NUMBERS = 8 * 2**20
"""Numbers in a file."""

MAX_COLUMNS = 10_000

MEMORY, SECONDS = 512 * 2**20, 5
"""Limits of memory [bytes] and processor time [s] while a library reads a MAT or Parquet file."""

_MAX_REMARKS = 100  # lines
_DELIMITERS = ",;\t"


class Table:
    """Columns of numbers by name.

    Args:
        path: Path of the file, for messages.
        columns: Arrays of shape (N,) for a column, or (N, k) for k columns ``NAME[1]`` and so on; for an unreadable
            column, a text that describes its content.

    Attributes:
        path: As given.
        columns: The columns by name, shape (N,) each.
        unread: Description of the unreadable columns, by name.

    Raises:
        RecordingError: There are no columns, or they have no common length.
    """

    def __init__(self, path: Path, columns: Iterable[tuple[str, Any]]) -> None:
        self.path, self.columns, self.unread = path, {}, {}
        for name, values in columns:
            if isinstance(values, str):
                self.unread[name] = values
                continue
            array = np.squeeze(np.asarray(values))
            if array.ndim == 2 and array.shape[0] < array.shape[1]:
                array = array.T  # one row for each joint
            if array.ndim == 1 and array.size > 1:
                self.columns[name] = array.astype(np.float64)
            elif array.ndim == 2:
                self.columns |= {f"{name}[{k + 1}]": column.astype(np.float64) for k, column in enumerate(array.T)}
        if not self.columns:
            raise RecordingError(f"{path}: expected columns of numbers, received none; arrays inside of others "
                                 "(structs, lists, objects) are not searched")

    @classmethod
    def from_file(cls, path: str | Path) -> Self:
        """Read a file with the ending .csv, .txt, .npz, .mat or .parquet.

        Raises:
            RecordingError: It cannot be read, is too large, or has no columns of numbers.
            RobodynError: Parquet files need a package that is not installed.
        """
        path = expand_user(path)
        readers: dict[str, Callable[[bytes, Path], Iterable[tuple[str, Any]]]] = {
            ".csv": _from_text, ".txt": _from_text, ".npz": _from_npz, ".mat": _from_mat, ".parquet": _from_parquet}
        reader = readers.get(path.suffix.lower())
        if reader is None:
            raise RecordingError(f"{path}: expected a file {', '.join(readers)}, a rosbag2 folder or an .mcap file")
        if reader is _from_parquet:
            require("pyarrow")
        try:
            if reader in (_from_mat, _from_parquet):
                return cls(path, call_bounded(_columns, reader, path, memory=MEMORY, seconds=SECONDS))
            return cls(path, _columns(reader, path))
        except RecordingError:
            raise
        except FileNotFoundError:
            raise RecordingError(f"no table '{path}': looked for {path.absolute()}; give the path of a file "
                                 f"{', '.join(readers)}") from None
        except BoundsError:
            raise RecordingError(f"{path}: expected a file that takes at most {MEMORY >> 20} MiB and {SECONDS} s to "
                                 "read, received one that takes more, or that is damaged; thin the recording, or leave "
                                 "columns out") from None
        except (InputError, OSError) as error:
            text = " ".join(str(error).split())
            raise RecordingError(text if str(path) in text else f"{path}: {text}") from None
        except Exception as error:  # damaged binary files make their parsers raise anything
            raise RecordingError(f"{path}: expected a readable {path.suffix} file, received: "
                                 f"{error_text(error)}") from None

    def find(self, pattern: str) -> list[str]:
        """Return the names of the columns that match a name or a pattern with ``*``, in the order of the file.

        Raises:
            InputError: No column matches.
        """
        array = [name for name in self.columns if name.rpartition("[")[0] == pattern]
        found = [pattern] if pattern in self.columns else array or [
            name for name in self.columns if fnmatch.fnmatchcase(name, pattern.replace("[", "[[]"))]
        if not found:
            numbered = "" if not all(map(str.isdecimal, self.columns)) else (
                "the file has no line of names, so its columns are named by their numbers, from 1 on; with numbers in "
                f"it are {list_names(self.columns)}")
            if pattern in self.unread:
                raise InputError(f"{self.path}: column {shown(pattern)} exists, but holds {self.unread[pattern]}: " + (
                    numbered or "expected one number in each row, or a list of numbers of one length"))
            if numbered:
                raise InputError(f"{self.path}: there is no column {shown(pattern)}: {numbered}")
            raise InputError(f"{self.path}: there is no column {shown(pattern)}: {suggest(pattern, self.columns)}")
        return found

    def array(self, patterns: Iterable[str]) -> tuple[list[str], Array]:
        """Return the names and values of columns, shape (N, k).

        Raises:
            InputError: A column is missing, or the lengths differ.
        """
        names = [name for pattern in patterns for name in self.find(pattern)]
        lengths = {name: len(self.columns[name]) for name in names}
        if len(set(lengths.values())) > 1:
            raise InputError(f"{self.path}: expected columns of one length, received "
                             f"{list_names(f'{name}: {length}' for name, length in lengths.items())}")
        return names, np.stack([self.columns[name] for name in names], axis=1)


def _columns(reader: Callable[[bytes, Path], Iterable[tuple[str, Any]]], path: Path) -> list[tuple[str, Any]]:
    return list(reader(read_file(path, MAX_TABLE_SIZE), path))


def _check_size(path: Path, numbers: int, columns: int = 1) -> None:
    if numbers > MAX_NUMBERS or columns > MAX_COLUMNS:
        raise RecordingError(f"{path}: expected at most {MAX_NUMBERS} numbers in {MAX_COLUMNS} columns, received "
                             f"{numbers} in {columns}; thin the recording, or leave columns out")


def _from_text(content: bytes, path: Path) -> Iterable[tuple[str, Any]]:
    """Columns named by the first line; named by number if the first line is mostly numbers, hence data."""
    text = content.decode("utf-8-sig", "replace")
    text = text[_names_begin(text):]
    first = text.split("\n", 1)[0].strip("\r#% \t")
    delimiter = next((each for each in _DELIMITERS if each in first), None)
    names = [name.strip().strip('"') for name in first.split(delimiter)]
    has_names = 2 * sum(map(_is_number, names)) <= len(names)
    if not has_names:
        names = [str(number) for number in range(1, len(names) + 1)]
    if not first or len(set(names)) < len(names):
        raise RecordingError(f"{path}: line 1: expected different names of columns, received {shown(names)}")
    rows = text.count("\n") + 1
    _check_size(path, rows * len(names), len(names))
    _check_size(path, -(-text.count(delimiter or " ") // 4))  # later lines may be longer, but not by so much
    if delimiter is not None:  # a place without a number
        for _ in range(2):
            text = text.replace(2 * delimiter, f"{delimiter}nan{delimiter}")
        text = text.replace(f"\n{delimiter}", f"\nnan{delimiter}")
        text = text.replace(f"{delimiter}\r\n", f"{delimiter}nan\n").replace(f"{delimiter}\n", f"{delimiter}nan\n")
    data = text.split("\n", 2)[1 if has_names else 0:][:1]
    cells = data[0].strip("\r").split(delimiter) if data else []
    if len(cells) != len(names):
        raise RecordingError(f"{path}: expected {len(names)} numbers in each line, as line 1 has names, received "
                             f"{len(cells)}")
    used = [column for column, cell in enumerate(cells) if names[column] and _is_number(cell)]  # the others hold texts
    if not used:
        raise RecordingError(f"{path}: expected numbers below the names of the columns, received {shown(cells)}; leave "
                             "lines of units out, and write decimal points")
    try:
        values = np.loadtxt(io.StringIO(text), delimiter=delimiter, skiprows=int(has_names), ndmin=2, usecols=used)
    except ValueError as error:
        raise RecordingError(f"{path}: expected a number in every place below the names of the columns, received: "
                             f"{str(error).split('; ')[0]}") from None
    texts = [(name, "texts") for column, name in enumerate(names) if name and column not in used]
    return [*zip([names[column] for column in used], values.T, strict=True), *texts]


def _names_begin(text: str) -> int:
    """Position of the line with the names, below remarks; the last line beginning with # may hold them."""
    begin = 0
    for _ in range(_MAX_REMARKS):
        end = text.find("\n", begin)
        below = text[end + 1:end + 100].split("\n", 1)[0]
        cell = below.split(next((each for each in _DELIMITERS if each in below), None), 1)
        if not text.startswith("#", begin) or end < 0 or not cell or _is_number(cell[0]):
            break
        begin = end + 1
    return begin


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _from_npz(content: bytes, path: Path) -> Iterable[tuple[str, Any]]:
    """Arrays of numbers in a zip file; sizes in headers are checked before memory is allocated."""
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        entries = [entry for entry in archive.infolist() if entry.filename.endswith(".npy")]
        _check_size(path, sum(entry.file_size for entry in entries) // 8, len(entries))
        for entry in entries:
            with archive.open(entry) as file:
                version = np.lib.format.read_magic(file)
                header = np.lib.format.read_array_header_1_0 if version == (1, 0) else (
                    np.lib.format.read_array_header_2_0)
                shape, in_columns, kind = header(file)
                if kind.kind not in "fiub":
                    yield entry.filename.removesuffix(".npy"), f"values of the type {kind}"
                    continue
                count = math.prod(shape)
                _check_size(path, count)
                data = file.read(count * kind.itemsize)
            yield entry.filename.removesuffix(".npy"), np.frombuffer(data, kind, count).reshape(
                shape, order="F" if in_columns else "C")


def _from_mat(content: bytes, path: Path) -> Iterable[tuple[str, Any]]:
    """Matrices of numbers of a MAT file of version 4 to 7."""
    from scipy.io import loadmat, whosmat

    if content.startswith(b"MATLAB 7.3") or content.startswith(b"\x89HDF"):
        raise RecordingError(f"{path}: this MAT file is of version 7.3: save('{path.name}', …, '-v7') writes one that "
                             "can be read here")
    every = whosmat(io.BytesIO(content))
    numeric = [(name, math.prod(shape)) for name, shape, kind in every
               if kind in ("double", "single", "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64",
                           "uint64")]
    _check_size(path, sum(count for _, count in numeric), len(numeric))
    names = [name for name, _ in numeric]
    found = loadmat(io.BytesIO(content), variable_names=names)
    numbers = {name: found[name] for name in names if name in found and np.isrealobj(found[name])}
    return [(name, numbers.get(name, f"values of the type {kind}")) for name, _, kind in every]


def _from_parquet(content: bytes, path: Path) -> Iterable[tuple[str, Any]]:
    """Columns of numbers of a Parquet file."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    file = pq.ParquetFile(pa.BufferReader(content))
    rows, columns = file.metadata.num_rows, []
    _check_size(path, rows, len(file.schema_arrow))
    for field in file.schema_arrow:
        of_lists = pa.types.is_fixed_size_list(field.type) or pa.types.is_list(field.type)
        kind = field.type.value_type if of_lists else field.type
        if not (pa.types.is_floating(kind) or pa.types.is_integer(kind)):
            columns.append((field.name, f"values of the type {kind}"))
        elif not of_lists:
            columns.append((field.name, file.read([field.name], use_threads=False).column(0).to_numpy()))
        else:
            lists = file.read([field.name], use_threads=False).column(0).combine_chunks()
            lengths = set(lists.value_lengths().to_pylist()) if pa.types.is_list(field.type) else {
                field.type.list_size} | ({None} if lists.null_count else set())
            if len(lengths) == 1 and None not in lengths:
                columns.append((field.name, lists.flatten().to_numpy().reshape(rows, -1)))
            else:
                columns.append((field.name, "lists of different lengths"))
    _check_size(path, sum(np.size(values) for _, values in columns), len(columns))
    return columns
