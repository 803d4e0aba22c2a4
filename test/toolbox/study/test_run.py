# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Studies: samples of any block are those of one alone; interrupted, broken and foreign results."""

import contextlib
import errno
import json
import os
import resource

import numpy as np
import pandas
import polars
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from robodyn_ros import InputError
from robodyn_ros.base.errors import RecordingError
from robodyn_ros.commands.study_file import read_study
from robodyn_ros.control import Controller
from robodyn_ros.toolbox.study.metrics import METRICS, effort_scale, metrics
from robodyn_ros.toolbox.study.results import KEY, STREAM, TABLE, About, Results, ResultStream
from robodyn_ros.toolbox.study.run import about, run_study
from robodyn_ros.toolbox.study.study import Pair, run_sample

STUDY = """
robot: planar_2r
samples: 40
laws:
  pd_gravity:
  soft: {controller: pd_gravity, gains: {gains.joint1.p: {uniform: [50, 100]}}}
quantities:
  payload.mass: {uniform: [0.0, 1.0]}
  link.mass_scale: {link1: {normal: [1.0, 0.1]}}
  friction.viscous: {shared: {choice: [0.0, 0.5]}}
  start.q: {joint2: {uniform: [-0.1, 0.1]}}
fail: {worst_error: 0.1}
"""


class FailsAtOnce(Controller):
    """Raises at its first tick."""

    def update(self, state, reference):
        raise RuntimeError("no battery")


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    path = tmp_path_factory.mktemp("study") / "arm.yaml"
    path.write_text(STUDY)
    return read_study(path)


@pytest.fixture(scope="module")
def results(study, tmp_path_factory):
    folder = tmp_path_factory.mktemp("results") / "new"
    return folder, run_study(study, folder, threads=2)


def test_every_sample_has_its_values(study, results):
    folder, found = results
    assert found.complete
    assert found.table.num_rows == 80
    assert [axis.column for axis in study.axes] == [
        "payload.mass", "link.mass_scale[link1]", "friction.viscous", "start.q[joint2]", "soft.gains.joint1.p"]
    for law in study.laws:
        rows = found.rows(law)
        np.testing.assert_array_equal(rows.numbers("sample"), np.arange(40))
        np.testing.assert_array_equal(rows.numbers("payload.mass"), study.values["payload.mass"])
    assert np.isnan(found.rows("pd_gravity").numbers("soft.gains.joint1.p")).all()
    assert set(found.text("failed")) == {"", "worst_error above 0.1"}
    for text, worst in zip(found.text("failed"), found.numbers("worst_error"), strict=True):
        assert bool(text) == (worst > 0.1)
    assert [file.name for file in folder.iterdir()] == [TABLE]


def test_other_libraries_read_the_table(results):
    folder, found = results
    ours = found.numbers("rms_error")
    np.testing.assert_array_equal(pandas.read_parquet(folder / TABLE)["rms_error"], ours)
    frame = polars.read_parquet(folder / TABLE)
    np.testing.assert_array_equal(frame["rms_error"], ours)
    assert frame["law"].cast(str).to_list() == found.text("law").tolist()


@pytest.mark.parametrize(("law", "number"), [("pd_gravity", 3), ("soft", 39)])
def test_a_sample_alone_is_that_of_the_study(study, results, law, number):
    rollout = run_sample(study, Pair(law, "test_motion"), number)
    assert rollout.q[0, 1] == pytest.approx(study.values["start.q[joint2]"][number])
    alone = metrics(type(rollout.score)(*(array[None] for array in rollout.score)),
                    effort_scale(study.robot.model.effort_limit))
    row = results[1].rows(law)
    for name in METRICS:
        assert alone[name][0] == pytest.approx(row.numbers(name)[number], rel=1e-8, abs=1e-10), name
    with pytest.raises(InputError, match="from 0 to 39, received 40"):
        run_sample(study, Pair(law, "test_motion"), 40)


def test_an_interrupted_study_goes_on(study, results, tmp_path):
    class Stop(Exception):
        pass

    def stop(rows):
        if rows >= 16:
            raise Stop

    with pytest.raises(Stop):
        run_study(study, tmp_path, on_rows=stop)
    kept = Results.read(tmp_path)
    assert 16 <= kept.table.num_rows < 80 and not kept.complete
    (tmp_path / STREAM).write_bytes((tmp_path / STREAM).read_bytes() + b"half a block")
    with pytest.raises(InputError, match=r"rows of this study: add --resume"):
        run_study(study, tmp_path)
    counts = []
    whole = run_study(study, tmp_path, resume=True, on_rows=counts.append)
    assert counts[0] == kept.table.num_rows
    for name in METRICS:
        np.testing.assert_array_equal(whole.numbers(name), results[1].numbers(name))
    again = run_study(study, tmp_path, resume=True)  # nothing is left to do
    assert again.table.equals(whole.table)


def test_results_of_another_study_are_refused(study, results, tmp_path):
    path = tmp_path / "other.yaml"
    path.write_text(STUDY.replace("samples: 40", "samples: 40\nseed: 3"))
    message = r"holds results of another study: '.*arm.yaml', seed 0.* '.*other.yaml', seed 3"
    with pytest.raises(InputError, match=message):
        run_study(read_study(path), results[0], resume=True)
    with pytest.raises(InputError, match="there are no results in"):
        run_study(study, tmp_path / "none", resume=True)
    (tmp_path / TABLE).write_bytes(b"PAR1 nothing")
    with pytest.raises(RecordingError, match="cannot read results"):
        run_study(study, tmp_path)
    with pytest.raises(RecordingError, match=r"no results in .*: expected samples.parquet"):
        Results.read(tmp_path / "..")


def write_stream(path, schema, columns=None, **options):
    with pa.ipc.new_stream(path, schema, options=pa.ipc.IpcWriteOptions(**options)) as writer:
        if columns is not None:
            writer.write_table(pa.table(columns, schema=schema))


def test_hostile_results_are_one_line_and_take_little_memory(study, tmp_path):
    good = about(study).schema()
    def with_metadata(text):
        return good.with_metadata({KEY: text})

    broken = {name: json.dumps({**about(study).__dict__, name: value}) for name, value in {
        "path": 3, "axes": 7, "rows": -1, "limits": {"a": "b"}, "seed": 1.5, "text": None, "more": 1}.items()}
    for text in ("null", "3", "[]", "{}", "[" * 10**5, "{", f"1{'0' * 400}", "\xff", *broken.values()):
        write_stream(tmp_path / STREAM, with_metadata(text))
        refused(tmp_path)
    write_stream(tmp_path / STREAM, pa.schema([("law", pa.string())], metadata=good.metadata))
    assert "expected the columns law" in refused(tmp_path)
    zeros = {name: pa.nulls(10**6, kind) for name, kind in zip(good.names, good.types, strict=True)}
    write_stream(tmp_path / STREAM, good, zeros, compression="zstd")
    assert "its blocks are compressed" in refused(tmp_path)
    (tmp_path / STREAM).unlink()
    text = pa.array(["x" * 2 * 10**8], pa.string()).dictionary_encode()
    long = pa.table([text if name == "failed" else array[:1] for name, array in zeros.items()], schema=good)
    for table in (long, pa.concat_tables([pa.table(zeros, schema=good)] * 20)):
        pq.write_table(table, tmp_path / TABLE, compression="zstd")
        assert "it would grow to" in refused(tmp_path)
    (tmp_path / TABLE).unlink()
    os.mkfifo(tmp_path / TABLE)
    with pytest.raises(RecordingError, match="no regular file"):
        Results.read(tmp_path / TABLE)


def refused(folder):
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with pytest.raises(RecordingError) as refusal:
        Results.read(folder)
    assert "\n" not in str(refusal.value) and len(str(refusal.value)) < 2000
    assert (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024 < 250
    return str(refusal.value)


def test_rows_of_no_sample_of_the_study_are_refused(study, tmp_path):
    for samples in ([0, 10**18], [-1], [3, 3]):
        with contextlib.closing(ResultStream(tmp_path / STREAM, about(study))) as stream:
            stream.append({"law": study.pairs[0].law, "trajectory": study.pairs[0].motion, "sample": np.array(samples)})
        with pytest.raises(RecordingError, match="rows that the study does not have, or one of them twice"):
            run_study(study, tmp_path, resume=True)


def test_a_full_disk_keeps_the_blocks_before(tmp_path, monkeypatch):
    stream = ResultStream(tmp_path / STREAM, About("a", "digest", "", "0.1", 0, 8, (), {}))
    stream.append({"law": "pd", "sample": np.arange(4), "rms_error": np.ones(4)})

    class Full:

        def write_batch(self, batch):
            raise OSError(errno.ENOSPC, "No space left on device")

        def close(self):
            raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(stream, "_writer", Full())
    with pytest.raises(RecordingError, match=r"No space left on device; the samples so far are kept there"):
        stream.append({"law": "pd", "sample": np.arange(4, 8)})
    stream.close()
    kept = Results.read(tmp_path)
    assert kept.numbers("rms_error").tolist() == [1.0] * 4
    monkeypatch.setattr("pyarrow.parquet.write_table", lambda *_, **__: Full().write_batch(None))
    with pytest.raises(RecordingError, match="No space left on device"):
        kept.write(tmp_path / TABLE)
    assert [file.name for file in tmp_path.iterdir()] == [STREAM]


def test_a_law_that_fails_does_not_end_the_others(tmp_path):
    path = tmp_path / "arm.yaml"
    path.write_text(f"robot: planar_2r\nsamples: 3\nlaws: ['{__name__}:FailsAtOnce', pd]\n"
                    "quantities: {payload.mass: {uniform: [0, 1]}}")
    results = run_study(read_study(path), tmp_path / "out")
    failed = results.rows(f"{__name__}:FailsAtOnce")
    assert all("no battery" in text for text in failed.text("failed"))
    assert np.isnan(failed.numbers("rms_error")).all()
    assert (results.rows("pd").numbers("rms_error") > 0.0).all()


def test_a_stream_of_no_blocks_is_a_result_without_rows(tmp_path):
    ResultStream(tmp_path / STREAM, About("a", "digest", "", "", 0, 8, ("x",), {})).close()
    table = Results.read(tmp_path).table
    assert isinstance(table, pa.Table) and table.num_rows == 0


def test_results_that_claim_more_than_the_memory_are_refused(tmp_path, monkeypatch):
    def claims(path):
        raise MemoryError

    monkeypatch.setattr("robodyn_ros.toolbox.study.results._read_stream", claims)
    path = tmp_path / STREAM
    path.write_bytes(b"")
    with pytest.raises(RecordingError, match="cannot read results from .*MemoryError"):
        Results.read(path)
