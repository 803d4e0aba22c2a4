# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""`--scheduler`: a study on a cluster has the rows of one on this machine; options that make no sense."""

import pytest

from bench.cluster_processes import ClusterProcesses, free_port
from robodyn_ros.commands.command_line import main
from robodyn_ros.study import cluster_connection
from robodyn_ros.study.results import Results

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


def run(study, output, *options):
    return main(["study", str(study), "--output", str(study.parent / output), *options])


def test_a_study_on_a_cluster_has_the_rows_of_one_on_this_machine(study, capsys, monkeypatch):
    pytest.importorskip("distributed", reason="needs robodyn_ros[cluster]: Dask distributed")
    monkeypatch.setattr(cluster_connection, "ANSWER_TIME", 60.0)
    gains = ["tune", "--robot", "planar_2r", "--controllers", "pd", "--generations", "2", "--population", "5",
             "--output"]
    with ClusterProcesses(study.parent) as processes:
        processes.start_worker("worker")
        assert run(study, "there", "--sobol", "4", "--scheduler", processes.address) == 0
        assert main([*gains, str(study.parent / "gains there"), "--scheduler", processes.address]) == 0
    there = capsys.readouterr().out
    assert f"computed on {processes.address}: 1 thread of 1 worker on " in there and "Sobol indices" in there
    assert run(study, "here") == 0
    here = [Results.read(study.parent / name).table for name in ("here", "there")]
    assert here[0].equals(here[1])
    assert main([*gains, str(study.parent / "gains here")]) == 0
    found = [(study.parent / f"gains {place}" / "parameters.yaml").read_text() for place in ("here", "there")]
    assert found[0] == found[1]


def test_senseless_options_and_clusters_that_are_not_there_are_told_before_any_work(study, capsys, monkeypatch):
    monkeypatch.setattr(cluster_connection, "ANSWER_TIME", 0.5)
    missing = f"tcp://127.0.0.1:{free_port()}"
    for options, message in ((("--threads", "2", "--scheduler", missing), "--threads has no effect with --scheduler"),
                             (("--threads", "0"), "threads: expected 1 or more, received 0"),
                             (("--sample", "1", "--scheduler", missing), "--scheduler has no effect with --sample"),
                             (("--scheduler", missing), f"{missing}: expected the address of a Dask scheduler")):
        assert run(study, "out", *options) == 2
        error = capsys.readouterr().err
        assert message in error and len(error.strip().splitlines()) == 1
    assert not (study.parent / "out").exists()
