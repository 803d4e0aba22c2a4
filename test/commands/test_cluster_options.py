# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""`--scheduler`: what a cluster computes is what this machine does, also after an interruption; senseless options."""

import json
import signal
import subprocess
import sys
from types import SimpleNamespace

import pytest

from bench.cluster_processes import ROOT, ClusterProcesses, free_port, wait_for
from robodyn_ros.commands.command_line import main
from robodyn_ros.toolbox.study import cluster_connection
from robodyn_ros.toolbox.study.cluster import Cluster
from robodyn_ros.toolbox.study.gain_task import GainTask
from robodyn_ros.toolbox.study.results import STREAM, TABLE, Results

STUDY = """
robot: planar_2r
samples: 40
laws: [pd_gravity]
quantities:
  payload.mass: {uniform: [0.0, 1.0]}
  friction.viscous: {shared: {uniform: [0.0, 0.1]}}
"""


@pytest.fixture
def study(tmp_path):
    (tmp_path / "arm.yaml").write_text(STUDY)
    return tmp_path / "arm.yaml"


@pytest.fixture(scope="module")
def processes(tmp_path_factory):
    """A scheduler and one worker."""
    pytest.importorskip("distributed", reason="needs robodyn_ros[cluster]: Dask distributed")
    with ClusterProcesses(tmp_path_factory.mktemp("cluster")) as processes:
        processes.start_worker("worker")
        yield processes


@pytest.fixture
def cluster(processes, monkeypatch):
    """Address of the scheduler."""
    monkeypatch.setattr(cluster_connection, "ANSWER_TIME", 60.0)
    return processes.address


def run(study, output, *options):
    return main(["study", str(study), "--output", str(study.parent / output), *options])


@pytest.mark.long
def test_a_study_on_a_cluster_has_the_rows_of_one_on_this_machine(study, capsys, cluster):
    gains = ["tune", "--robot", "planar_2r", "--controllers", "pd", "--generations", "2", "--population", "5",
             "--output"]
    assert run(study, "there", "--sobol", "4", "--scheduler", cluster) == 0
    assert main([*gains, str(study.parent / "gains there"), "--scheduler", cluster]) == 0
    there = capsys.readouterr().out
    assert f"computed on {cluster}: 1 thread of 1 worker on " in there and "Sobol indices" in there
    assert run(study, "here") == 0
    here = [Results.read(study.parent / name).table for name in ("here", "there")]
    assert here[0].equals(here[1])
    assert main([*gains, str(study.parent / "gains here")]) == 0
    found = [(study.parent / f"gains {place}" / "parameters.yaml").read_text() for place in ("here", "there")]
    assert found[0] == found[1]


INTERRUPTED = """
import os, signal, sys
from pathlib import Path

from robodyn_ros.commands.command_line import main
from robodyn_ros.toolbox.study import block, cluster_connection
from robodyn_ros.toolbox.study.results import ResultStream
from robodyn_ros.toolbox.study.gain_search import Checkpoint

block.BLOCK_TIME, cluster_connection.ANSWER_TIME = 0.01, 60.0
marker, worker, left = Path(sys.argv[1]), int(sys.argv[2]), [None] * 2


def then_stop_the_worker(kind, method):
    original = getattr(kind, method)

    def wrapped(self, argument):
        result = original(self, argument)
        if left:
            left.pop()
        elif not marker.exists():
            os.kill(worker, signal.SIGSTOP)
            marker.touch()
        return result

    setattr(kind, method, wrapped)


then_stop_the_worker(ResultStream, "append")
then_stop_the_worker(Checkpoint, "costs")
sys.exit(main(sys.argv[3:]))
"""
"""The command line, whose only worker stops after the third block or generation; so the command stands in its midst."""


@pytest.fixture(params=[signal.SIGINT, signal.SIGKILL], ids=["SIGINT", "SIGKILL"])
def interrupted(request, processes, cluster, tmp_path):
    """A function that runs a command on the cluster and interrupts it in its midst."""
    worker = processes.workers["worker"]

    def interrupt(*command):
        marker = tmp_path / "stopped"
        arguments = [str(marker), str(worker.pid), *map(str, command), "--scheduler", cluster]
        with subprocess.Popen([sys.executable, "-c", INTERRUPTED, *arguments], cwd=ROOT, stderr=subprocess.PIPE) as run:
            try:
                wait_for(lambda: marker.exists() or run.poll() is not None, "block")
                run.send_signal(request.param)
                error = run.communicate(timeout=60.0)[1].decode()
            finally:
                run.kill()
                worker.send_signal(signal.SIGCONT)
        assert (run.returncode, error) == ((130, "\nstopped\n") if request.param == signal.SIGINT else (-9, ""))

    return interrupt


@pytest.fixture
def computed(monkeypatch):
    """The samples of all blocks that come from the cluster, as numbers of law and sample; rows of searches."""
    blocks, generations = [], []

    def spied_blocks(self, description, *arguments, original=Cluster.blocks):
        for block in original(self, description, *arguments):
            blocks.extend((description.controller, number) for number in range(block.begin, block.end))
            yield block

    def spied_costs(self, exponents, original=GainTask.costs):
        generations.append(self.law)
        return original(self, exponents)

    monkeypatch.setattr(Cluster, "blocks", spied_blocks)
    monkeypatch.setattr(GainTask, "costs", spied_costs)
    return SimpleNamespace(samples=blocks, generations=generations)


@pytest.mark.long
def test_a_study_interrupted_on_a_cluster_goes_on_with_what_it_kept(study, cluster, interrupted, computed):
    study.write_text(STUDY.replace("samples: 40", "samples: 400").replace("pd_gravity", "pd_gravity, pd"))
    there, here = study.parent / "there", study.parent / "here"
    interrupted("study", study, "--output", there)
    table = Results.read(there).table
    kept = set(zip(table["law"].to_pylist(), table["sample"].to_pylist(), strict=True))
    assert 3 <= len(kept) == table.num_rows < 800 and {law for law, _ in kept} == {"pd_gravity"}
    assert [path.name for path in there.iterdir()] == [STREAM]
    assert run(study, "there", "--resume", "--scheduler", cluster) == 0
    assert len(computed.samples) == len(set(computed.samples)) == 800 - len(kept)
    assert kept.isdisjoint(computed.samples)
    assert run(study, "here") == 0
    assert Results.read(there).table.equals(Results.read(here).table)
    assert (there / TABLE).is_file() and not (there / STREAM).exists()


@pytest.mark.long
def test_a_search_interrupted_on_a_cluster_goes_on_with_what_it_kept(study, cluster, interrupted, computed, capsys):
    """The second of two laws, whose search had not begun, begins."""
    study.write_text(STUDY.replace("pd_gravity", "pd_gravity, pd"))
    there, here = study.parent / "there", study.parent / "here"
    command = ["tune", "--study", str(study), "--generations", "6", "--population", "5", "--output"]
    interrupted(*command, there)
    kept = json.loads((there / "pd_gravity" / "search.json").read_text())["costs"]
    assert len(kept) == 3 and not (there / "pd").exists()
    assert main([*command, str(there), "--resume", "--scheduler", cluster]) == 0
    assert computed.generations == ["pd_gravity"] * 3 + ["pd"] * 6
    printed = capsys.readouterr().out.split("6 of 6 generations")[1:]
    assert main([*command, str(here)]) == 0
    assert capsys.readouterr().out.replace(str(here), str(there)).split("6 of 6 generations")[1:] == printed
    for law in ("pd_gravity", "pd"):
        for name in ("search.json", "parameters.yaml"):
            assert (there / law / name).read_text() == (here / law / name).read_text()


def test_senseless_options_and_clusters_that_are_not_there_are_told_before_any_work(study, capsys, monkeypatch):
    monkeypatch.setattr(cluster_connection, "ANSWER_TIME", 0.5)
    missing = f"tcp://127.0.0.1:{free_port()}"
    for options, message in ((("--threads", "2", "--scheduler", missing), "--threads has no effect with --scheduler"),
                             (("--threads", "0"), "--threads: expected a whole number from 1 to 10000, received 0"),
                             (("--sample", "1", "--scheduler", missing), "--scheduler has no effect with --sample"),
                             (("--scheduler", missing), f"{missing}: expected the address of a Dask scheduler")):
        assert run(study, "out", *options) == 2
        error = capsys.readouterr().err
        assert message in error and len(error.strip().splitlines()) == 1
    assert not (study.parent / "out").exists()
