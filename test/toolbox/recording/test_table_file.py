# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

import io
import os
import resource
import time
import zipfile

import numpy as np
import pytest
from scipy.io import savemat

from robodyn_ros.base.errors import InputError, RecordingError
from robodyn_ros.toolbox.recording.table_file import Table

VALUES = np.random.default_rng(0).normal(size=(50, 3))
NAMES = ["t", "q_1", "q_2"]


def written(folder, kind):
    path = folder / f"table.{kind}"
    columns = dict(zip(NAMES, VALUES.T, strict=True))
    if kind == "csv":
        path.write_text("\n".join([",".join(NAMES), *(",".join(map(repr, map(float, row))) for row in VALUES)]) + "\n")
    elif kind == "txt":
        path.write_text("\n".join(["\t".join(NAMES), *("\t".join(map(repr, map(float, row))) for row in VALUES)]))
    elif kind == "npz":
        np.savez_compressed(path, **columns, name=np.array("arm"))
    elif kind == "mat":
        savemat(path, columns | {"name": "arm"}, do_compression=True)
    else:
        parquet = pytest.importorskip("pyarrow.parquet")
        parquet.write_table(pytest.importorskip("pyarrow").table(columns | {"name": ["arm"] * len(VALUES)}), path)
    return path


@pytest.mark.parametrize("kind", ["csv", "txt", "npz", "mat", "parquet"])
def test_all_kinds_hold_the_same_columns(tmp_path, kind):
    table = Table.from_file(written(tmp_path, kind))
    assert list(table.columns) == NAMES
    names, values = table.array(["t", "q_*"])
    assert names == NAMES
    np.testing.assert_array_equal(values, VALUES)
    with pytest.raises(InputError, match=r"there is no column 'q_3': did you mean 'q_[12]'"):
        table.find("q_3")


@pytest.mark.parametrize("kind", ["npz", "mat"])
def test_matrices_are_columns_by_number(tmp_path, kind):
    path = tmp_path / f"matrix.{kind}"
    content = {"q": VALUES, "other": VALUES[:20].T}
    np.savez(path, **content) if kind == "npz" else savemat(path, content)
    table = Table.from_file(path)
    assert table.array(["q"])[0] == ["q[1]", "q[2]", "q[3]"] and table.find("q[2]") == ["q[2]"]
    np.testing.assert_array_equal(table.array(["q"])[1], VALUES)
    np.testing.assert_array_equal(table.array(["other"])[1], VALUES[:20])  # a row for each joint
    with pytest.raises(InputError, match="expected columns of one length"):
        table.array(["q", "other"])


@pytest.mark.parametrize("fixed", [True, False])
def test_lists_of_one_length_in_a_parquet_file_are_columns_by_number(tmp_path, fixed):
    pa, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    kind = pa.list_(pa.float32(), 3) if fixed else pa.list_(pa.float64())
    uneven = [[0.0] * (1 + row % 2) for row in range(len(VALUES))]
    path = tmp_path / "lists.parquet"
    parquet.write_table(pa.table({"state": pa.array(VALUES.tolist(), kind), "uneven": uneven}), path)
    names, values = Table.from_file(path).array(["state"])
    assert names == ["state[1]", "state[2]", "state[3]"]
    np.testing.assert_allclose(values, VALUES, rtol=1e-6)
    with pytest.raises(InputError, match="column 'uneven' exists, but holds lists of different lengths"):
        Table.from_file(path).find("uneven")


@pytest.mark.parametrize("kind", ["npz", "mat", "parquet"])
def test_a_column_of_texts_is_named_as_one(tmp_path, kind):
    with pytest.raises(InputError, match="column 'name' exists, but holds values of the type"):
        Table.from_file(written(tmp_path, kind)).find("name")


@pytest.mark.parametrize("line", ["1.5,2.5,3.5", "1700000000,20,,a,3.5"])
def test_without_names_columns_have_numbers(tmp_path, line):
    path = tmp_path / "plain.csv"
    path.write_text(f"{line}\n" * 5)
    table, places = Table.from_file(path), dict(enumerate(line.split(","), 1))
    assert list(table.columns) == [str(place) for place, cell in places.items() if cell != "a"]
    assert len(table.columns["1"]) == 5
    for name in ["0", *(str(place) for place, cell in places.items() if cell == "a")]:  # also where one holds texts
        with pytest.raises(InputError, match=f"'{name}'.*the file has no line of names, so its columns are named by"):
            table.find(name)


def test_texts_are_left_out_and_places_without_a_number_are_nan(tmp_path):
    path = tmp_path / "mixed.csv"
    path.write_text('stamp,"q [rad]",name,i,j\r\n0.0,1.5,arm,,4\r\n,2.5,,,\r\n0.2,,arm,7,8\r\n')
    columns = Table.from_file(path).columns
    assert list(columns) == ["stamp", "q [rad]", "i", "j"]
    np.testing.assert_array_equal(np.stack(list(columns.values())), [[0.0, np.nan, 0.2], [1.5, 2.5, np.nan],
                                                                     [np.nan, np.nan, 7.0], [4.0, np.nan, 8.0]])


def test_remarks_above_the_names_and_ends_of_lines_are_passed_over(tmp_path):
    path = tmp_path / "remarks.csv"
    for text in ("# of arm 3\n# in SI units\na,b\n1,2\n3,4\n", "# a,b\n1,2\n3,4\n", "a,b,\n1,2,\n3,4,\n",
                 "a,b\n1,2\n\n3,4\n\n"):
        path.write_text(text)
        names, values = Table.from_file(path).array(["a", "b"])
        np.testing.assert_array_equal(values, [[1.0, 2.0], [3.0, 4.0]])


def zipped(path, **members):
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(f"{name}.npy", content)
    return path


def npy_header(shape):
    buffer = io.BytesIO()
    np.lib.format.write_array_header_1_0(buffer, {"descr": "<f8", "fortran_order": False, "shape": shape})
    return buffer.getvalue()


def hostile_tables(folder):
    """Files that are refused, with a part of the line that says why."""
    def text(name, content):
        path = folder / name
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return path

    yield text("empty.csv", ""), "line 1"
    yield text("twice.csv", "a,a\n1,2\n1,2\n"), "line 1: expected different names"
    yield text("word.csv", "a,b\n1,2\n1,x\n"), "could not convert string 'x'"
    yield text("short.csv", "a,b\n1,2\n1\n"), "short.csv: expected a number in every place"
    yield text("units.csv", "a,b\ns,rad\n1,2\n"), "below the names of the columns, received ['s', 'rad']"
    yield text("decimals.csv", "a;b\n1,5;2,5\n"), "write decimal points"
    yield text("one_line.csv", "a,b"), "expected 2 numbers in each line"
    yield text("wide.csv", "a,b\n1,2,3\n1,2,3\n"), "expected 2 numbers"
    yield text("names.csv", ",".join(f"c{i}" for i in range(20_000)) + "\n1\n"), "10000 columns"
    yield text("commas.csv", "a,b\n" + "," * (40 * 2**20)), "numbers in"
    yield text("remarks.csv", "#\n" * 20_000_000), "remarks.csv"
    yield text("binary.csv", os.urandom(10_000)), "binary.csv"
    yield text("large.csv", b"a\n" + b"1" * (64 * 2**20)), "expected at most 67108864 bytes"
    yield text("noise.npz", os.urandom(10_000)), "expected a readable .npz file"
    yield text("noise.mat", os.urandom(10_000)), "noise.mat"
    yield text("noise.parquet", os.urandom(10_000)), "expected a readable .parquet file"
    yield text("new.mat", b"MATLAB 7.3 MAT-file" + bytes(500)), "'-v7'"
    yield text("arm.xlsx", "x"), "expected a file .csv, .txt, .npz, .mat, .parquet"
    yield zipped(folder / "bomb.npz", q=bytes(10**8)), "expected at most 8388608 numbers"
    yield zipped(folder / "claims.npz", q=npy_header((10**12,))), "expected at most 8388608 numbers"
    yield zipped(folder / "short.npz", q=npy_header((1000,)) + bytes(80)), "expected a readable .npz file"
    pickled = io.BytesIO()
    np.save(pickled, np.array([print], dtype=object), allow_pickle=True)
    yield zipped(folder / "pickle.npz", q=pickled.getvalue()), "expected columns of numbers, received none"
    savemat(folder / "bomb.mat", {"q": np.zeros((3000, 3000))}, do_compression=True)
    yield folder / "bomb.mat", "expected at most 8388608 numbers"
    yield folder / "missing.csv", "missing.csv"
    os.mkfifo(folder / "fifo.csv")
    yield folder / "fifo.csv", "expected a regular file"


@pytest.mark.long
def test_crafted_parquet_files_take_little_memory_and_time(tmp_path):
    """What the headers of pages and the footer claim and hold: bombs, immense counts and sizes, thousands of groups."""
    pytest.importorskip("pyarrow.parquet")
    from bench.attack.parquet_files import hostile_tables as parquet_tables

    path, refused = tmp_path / "crafted.parquet", {}
    for name, content in parquet_tables():
        path.write_bytes(content)
        before, begin = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, time.thread_time()
        try:
            Table.from_file(path)
        except RecordingError as error:
            refused[name] = str(error)
            assert path.name in refused[name] and "\n" not in refused[name], refused[name]
        grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) // 1024
        assert time.thread_time() - begin < 2.0 and grown < 100, name
    assert {name for name, line in refused.items() if "at most 512 MiB and 5 s" in line} >= {
        "bomb_dictionary", "bomb_data", "bomb_gzip", "bombs", "groups"}
    assert len(Table.from_file(written(tmp_path, "parquet")).columns) == 3


def test_hostile_files_are_one_line_soon_and_with_little_memory(tmp_path):
    pytest.importorskip("pyarrow.parquet")
    for path, told in hostile_tables(tmp_path):
        before, begin = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, time.thread_time()
        with pytest.raises(RecordingError) as refusal:
            Table.from_file(path)
        assert told in str(refusal.value) and path.name in str(refusal.value), refusal.value
        assert "\n" not in str(refusal.value)
        grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) // 1024
        assert time.thread_time() - begin < 5.0 and grown < 400, path
        path.unlink(missing_ok=True)


@pytest.mark.parametrize("kind", ["csv", "npz", "mat", "parquet"])
def test_mutated_files_are_tables_or_one_line(tmp_path, kind):
    content, random = written(tmp_path, kind).read_bytes(), np.random.default_rng(0)
    path, refused = tmp_path / f"mutated.{kind}", 0
    for _ in range(60):
        mutated = bytearray(content)
        for place in random.integers(0, len(mutated), 3):
            mutated[place] = random.integers(0, 256)
        path.write_bytes(mutated[:random.integers(1, len(mutated) + 1)] if random.random() < 0.3 else mutated)
        try:
            Table.from_file(path)
        except RecordingError as error:
            refused += 1
            assert "\n" not in str(error) and path.name in str(error)
    assert refused > 10
