# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Parquet files with crafted headers of pages and footers: immense sizes, wrong encodings and counts, bombs.

Headers are structures of Thrift's compact protocol
(https://github.com/apache/thrift/blob/master/doc/specs/thrift-compact-protocol.md), with the fields of parquet.thrift
(https://github.com/apache/parquet-format/blob/master/src/main/thrift/parquet.thrift).
"""

from __future__ import annotations

import functools
import io
import itertools
import random
import struct
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

_TRUE, _FALSE, _BYTE, _I64, _DOUBLE, _BINARY, _LIST, _SET, _STRUCT = 1, 2, 3, 6, 7, 8, 9, 10, 12
_MAGIC = b"PAR1"
_DICTIONARY_PAGE = 2
_ENCODINGS = (0, 2, 3, 4, 5, 6, 7, 8, 9)
IMMENSE = (-2**63, -2**31, -1, 0, 1, 2, 7, 255, 2**16, 10**6, 2**28, 2**31 - 1, 2**31, 2**40, 2**63 - 1)
"""In place of a number of a header."""

LARGEST_PAGE = 2**31 - 1
"""Bytes that a page can say that it has."""


class Reader:
    """Reads structures of Thrift's compact protocol.

    A structure is a dictionary of (type, value) by number; a list is (type of its elements, elements).
    """

    def __init__(self, data: bytes, at: int = 0) -> None:
        self.data, self.at = data, at

    def _varint(self) -> int:
        value = shift = 0
        while True:
            byte = self.data[self.at]
            self.at += 1
            value |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                return value

    def _number(self) -> int:
        value = self._varint()
        return value >> 1 ^ -(value & 1)

    def _bytes(self, count: int) -> bytes:
        self.at += count
        return self.data[self.at - count:self.at]

    def struct(self) -> dict[int, tuple[int, Any]]:
        """Read a structure."""
        fields, number = {}, 0
        while (head := self._bytes(1)[0]) != 0:
            number = number + (head >> 4) if head >> 4 else self._number()
            fields[number] = (head & 15, self._value(head & 15))
        return fields

    def _value(self, kind: int, in_list: bool = False) -> Any:
        if kind in (_TRUE, _FALSE):
            return self._bytes(1)[0] if in_list else None
        if kind == _BYTE:
            return self._bytes(1)[0]
        if kind <= _I64:
            return self._number()
        if kind == _DOUBLE:
            return self._bytes(8)
        if kind == _BINARY:
            return self._bytes(self._varint())
        if kind == _STRUCT:
            return self.struct()
        head = self._bytes(1)[0]
        count = self._varint() if head >> 4 == 15 else head >> 4
        return head & 15, [self._value(head & 15, in_list=True) for _ in range(count)]


def _varint(value: int) -> bytes:
    found = bytearray()
    while value >= 0x80:
        found.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes(found) + bytes([value])


def _number(value: int) -> bytes:
    return _varint((value << 1 ^ value >> 63) & (2**64 - 1))


def written(fields: dict[int, tuple[int, Any]]) -> bytes:
    """Write a structure."""
    found, last = bytearray(), 0
    for number, (kind, value) in fields.items():
        found += (bytes([number - last << 4 | kind]) if 0 < number - last < 16 else bytes([kind]) + _number(number))
        found += _written_value(kind, value)
        last = number
    return bytes(found) + b"\0"


def _written_value(kind: int, value: Any) -> bytes:
    if kind in (_TRUE, _FALSE):
        return b"" if value is None else bytes([value])
    if kind == _BYTE:
        return bytes([value & 255])
    if kind <= _I64:
        return _number(value)
    if kind == _DOUBLE:
        return bytes(value)
    if kind == _BINARY:
        return _varint(len(value)) + value
    if kind == _STRUCT:
        return written(value)
    inner, elements = value
    head = bytes([len(elements) << 4 | inner]) if len(elements) < 15 else bytes([15 << 4 | inner]) + _varint(
        len(elements))
    return head + b"".join(_written_value(inner, element) for element in elements)


@dataclass
class Page:
    """A page: its header, a structure ``PageHeader``, and its bytes as they are in the file."""

    header: dict[int, tuple[int, Any]]
    body: bytes

    def set_sizes(self, uncompressed: int) -> None:
        """Set the sizes to that of the body, and to an uncompressed one."""
        self.header[2], self.header[3] = (5, uncompressed), (5, len(self.body))


@dataclass
class ParquetParts:
    """A Parquet file in parts.

    Attributes:
        footer: Structure ``FileMetaData``.
        pages: Of each column chunk, in the order of the footer.
    """

    footer: dict[int, tuple[int, Any]]
    pages: list[list[Page]] = field(default_factory=list)

    @classmethod
    def of(cls, data: bytes) -> ParquetParts:
        """Take a good file apart."""
        length, = struct.unpack("<I", data[-8:-4])
        parts = cls(Reader(data, len(data) - 8 - length).struct())
        for chunk in parts.chunks():
            begin = min(chunk[number][1] for number in (9, 11) if number in chunk)
            reader, pages = Reader(data, begin), []
            while reader.at < begin + chunk[7][1]:
                header = reader.struct()
                pages.append(Page(header, data[reader.at:reader.at + header[3][1]]))
                reader.at += header[3][1]
            parts.pages.append(pages)
        return parts

    def chunks(self) -> list[dict[int, tuple[int, Any]]]:
        """Structure ``ColumnMetaData`` of each column chunk."""
        return [column[3][1] for group in self.footer[4][1][1] for column in group[1][1][1]]

    def put_together(self, fault_of_footer: Callable[[], None] = lambda: None) -> bytes:
        """Write the file, with places and sizes as its pages have them now.

        Args:
            fault_of_footer: Changes the footer in the end.
        """
        data = bytearray(_MAGIC)
        for chunk, pages in zip(self.chunks(), self.pages, strict=True):
            begin = len(data)
            chunk.pop(11, None)
            if pages and pages[0].header.get(1, (5, 0))[1] == _DICTIONARY_PAGE:
                chunk[11] = (6, len(data))
            for number, page in enumerate(pages):
                if number == 0 or (number == 1 and 11 in chunk):
                    chunk[9] = (6, len(data))
                data += written(page.header) + page.body
            chunk[7] = (6, len(data) - begin)
            for number in sorted(chunk):
                chunk[number] = chunk.pop(number)
        fault_of_footer()
        footer = written(self.footer)
        return bytes(data + footer + struct.pack("<I", len(footer)) + _MAGIC)


def _structures(structure: Any) -> Iterator[Any]:
    """A structure, and all inside of it."""
    yield structure
    for kind, value in structure.values():
        inner = [value] if kind == _STRUCT else value[1] if kind in (_LIST, _SET) and value[0] == _STRUCT else []
        for each in inner:
            yield from _structures(each)


def _change_number(structure: Any, chance: random.Random) -> None:
    fields, number = chance.choice([(fields, number) for fields in _structures(structure)
                                    for number, (kind, _) in fields.items() if _BYTE <= kind <= _I64])
    fields[number] = (fields[number][0], chance.choice(IMMENSE if chance.random() < 0.8 else _ENCODINGS))


def _change_fields(structure: Any, chance: random.Random) -> None:
    """Remove a field, give it another number or type, or add an unknown one."""
    fields = chance.choice([found for found in _structures(structure) if found])
    number = chance.choice(list(fields))
    match chance.randrange(4):
        case 0:
            del fields[number]
        case 1:
            fields[number + chance.choice((-1, 1, 100))] = fields.pop(number)
        case 2:
            fields[number] = chance.choice(((_BINARY, b"x" * 100), (_LIST, (5, [1] * 100)), (_STRUCT, {}),
                                             (_TRUE, None)))
        case _:
            nested: Any = {}
            for _ in range(chance.choice((1, 60, 300))):
                nested = {1: (_STRUCT, nested)}
            fields[chance.choice((99, 20_000))] = (_STRUCT, nested)


def mutated_headers(good: bytes, chance: random.Random) -> bytes:
    """Return a Parquet file with one to four faults in its headers of pages and its footer."""
    parts = ParquetParts.of(good)
    of_footer = []
    for _ in range(chance.randint(1, 4)):
        change = chance.choice((_change_number, _change_number, _change_fields))
        if chance.random() < 0.3:
            of_footer.append(change)
        else:
            change(chance.choice(chance.choice(parts.pages)).header, chance)

    def fault() -> None:
        for change in of_footer:
            change(parts.footer, chance)

    return parts.put_together(fault)


@functools.cache
def zeros(count: int, codec: str) -> bytes:
    """Return compressed zeros: a bomb.

    Args:
        count: Bytes.
        codec: ``zstd`` or ``gzip``.
    """
    sink, block = pa.BufferOutputStream(), bytes(2**24)
    with pa.CompressedOutputStream(sink, codec) as stream:
        for begin in range(0, count, len(block)):
            stream.write(block[:min(len(block), count - begin)])
    return bytes(sink.getvalue())


def good_table(compression: str = "zstd", rows: int = 50, **options: Any) -> bytes:
    """Return a Parquet file of three columns of numbers."""
    sink, values = io.BytesIO(), np.random.default_rng(0).normal(size=(3, rows)).round(2)
    pq.write_table(pa.table(dict(zip(("t", "q_1", "q_2"), values, strict=True))), sink, compression=compression,
                   **options)
    return sink.getvalue()


def bomb(good: bytes, codec: str, size: int = LARGEST_PAGE) -> bytes:
    """Return a file whose first page is a bomb: compressed zeros."""
    parts = ParquetParts.of(good)
    parts.pages[0][0].body = zeros(size, codec)
    parts.pages[0][0].set_sizes(size)
    return parts.put_together()


def many_groups(good: bytes) -> bytes:
    """Return a file with thousands of row groups that share their pages."""
    parts = ParquetParts.of(good)
    groups = parts.footer[4][1][1]
    return parts.put_together(lambda: groups.extend(groups * 2000))


def hostile_tables() -> Iterator[tuple[str, bytes]]:
    """Write tables of a few rows, with their names."""
    yield "bomb_dictionary", bomb(good_table(), "zstd")
    yield "bomb_data", bomb(good_table(use_dictionary=False), "zstd")
    yield "bomb_gzip", bomb(good_table("gzip"), "gzip", 2**30)
    yield "bombs", _many_pages()
    codecs = ("none", "snappy", "gzip", "brotli", "lz4", "zstd")
    for codec, size, page in itertools.product(codecs, (2**28, LARGEST_PAGE), (0, 1)):
        parts = ParquetParts.of(good_table(codec))
        parts.pages[0][page].header[2] = (5, size)
        yield f"claims_{codec}_{page}_{size}", parts.put_together()
    for version, encoding in itertools.product(("1.0", "2.0"), ("PLAIN", "DELTA_BINARY_PACKED", "BYTE_STREAM_SPLIT")):
        yield from _wrong_pages(version, encoding)
    for count in (10**6, 2**31, 2**62):
        yield f"rows_{count}", _with_rows(count)
    yield "groups", many_groups(good_table("zstd", rows=100_000))


def _many_pages() -> bytes:
    """Bombs without values, which are passed over, before the values."""
    parts = ParquetParts.of(good_table(use_dictionary=False))
    header = parts.pages[0][0].header
    empty = Page({**header, 5: (_STRUCT, {**header[5][1], 1: (5, 0)})}, zeros(2**29, "zstd"))
    empty.set_sizes(2**29)
    parts.pages[0] = [empty] * 50 + parts.pages[0]
    return parts.put_together()


def _wrong_pages(version: str, encoding: str) -> Iterator[tuple[str, bytes]]:
    """Pages with wrong numbers of values, and with values that are none."""
    sink, values = io.BytesIO(), np.arange(50) if encoding.startswith("DELTA") else np.arange(50.0)
    pq.write_table(pa.table({"t": values}), sink, compression="none", use_dictionary=False, column_encoding=encoding,
                   data_page_version=version)
    for count in (-1, 0, 10**6, LARGEST_PAGE):
        parts = ParquetParts.of(sink.getvalue())
        header = parts.pages[0][0].header
        header[5 if 5 in header else 8][1][1] = (5, count)
        yield f"counts_{version[0]}_{encoding}_{count}", parts.put_together()
    for name, body in {"ones": b"\xff" * 400, "numbers": b"\xff\xff\xff\xff\x0f" * 80, "zeros": bytes(400)}.items():
        parts = ParquetParts.of(sink.getvalue())
        parts.pages[0][0].body = body
        parts.pages[0][0].set_sizes(len(body))
        yield f"body_{version[0]}_{encoding}_{name}", parts.put_together()


def _with_rows(count: int) -> bytes:
    """A footer with immense numbers of rows, which its pages do not have."""
    parts = ParquetParts.of(good_table())

    def claim() -> None:
        for chunk in parts.chunks():
            chunk[5] = (6, count)
        parts.footer[4][1][1][0][3] = (6, count)

    return parts.put_together(claim)
