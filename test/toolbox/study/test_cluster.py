# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Studies on a cluster: a real scheduler, and workers in processes of their own, which are killed and stopped."""

import logging
import pickle
import shutil
import signal
import subprocess
import sys
import threading
import time
from contextlib import ExitStack
from http.server import BaseHTTPRequestHandler, HTTPServer
from itertools import count
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from test_loop_description import described, numbers, same

from bench.cluster_processes import ClusterProcesses, free_port, wait_for
from bench.two_machines.network import ADDRESSES, Network
from robodyn_ros import InputError, Robot, rollout_scores
from robodyn_ros.base.errors import ClusterError, RobodynError
from robodyn_ros.control.laws.pd import PD, PDParameters
from robodyn_ros.control.plugins.registry import make_controller
from robodyn_ros.description.resources import robot_file
from robodyn_ros.simulation.rollout import ClosedLoop
from robodyn_ros.simulation.score import joined
from robodyn_ros.simulation.standard_motion import excursion
from robodyn_ros.toolbox.study import block as block_module
from robodyn_ros.toolbox.study import cluster_connection
from robodyn_ros.toolbox.study.blocks import all_scores, map_blocks
from robodyn_ros.toolbox.study.cluster import Cluster
from robodyn_ros.toolbox.study.cluster_connection import ClusterConnection, site
from robodyn_ros.toolbox.study.loop_description import PARAMETERS

distributed = pytest.importorskip("distributed", reason="needs robodyn_ros[cluster]: Dask distributed")

ROOT = Path(__file__).parents[3]
NAMES = map("worker {}".format, count())


@pytest.fixture(scope="module")
def processes(tmp_path_factory):
    with ClusterProcesses(tmp_path_factory.mktemp("cluster")) as processes:
        for _ in range(2):
            processes.start_worker(next(NAMES))
        yield processes


@pytest.fixture
def cluster(processes, monkeypatch):
    """A connection to two workers at least."""
    monkeypatch.setattr(cluster_connection, "ANSWER_TIME", 60.0)  # a busy machine needs long to start a worker
    for _ in range(2 - sum(worker.poll() is None for worker in processes.workers.values())):
        processes.start_worker(next(NAMES))
    with Cluster(processes.address, patience=60.0) as cluster:
        wait_for(lambda: len(cluster.refresh_workers()) >= 2, "second worker")
        yield cluster


DEADLINE = 180.0
"""For each test, on a busy machine [s]."""


@pytest.fixture(autouse=True)
def deadline():
    """End a test that waits for a cluster for ever."""
    def end(number, frame):
        raise AssertionError(f"the cluster did not answer within {DEADLINE:g} s")

    before = signal.signal(signal.SIGALRM, end)
    signal.setitimer(signal.ITIMER_REAL, DEADLINE)
    yield
    signal.setitimer(signal.ITIMER_REAL, 0.0)
    signal.signal(signal.SIGALRM, before)


@pytest.fixture(autouse=True)
def short_blocks(monkeypatch):
    monkeypatch.setattr(block_module, "BLOCK_TIME", 0.05)


@pytest.fixture(scope="module")
def task():
    """A loop, samples and their scores here: about 2 s of work."""
    description = described(duration=4.0)
    arrays = {PARAMETERS: numbers(description, 6000)}
    return description, arrays, description.scores(arrays, threads=2)


def check(blocks, whole):
    """Every sample is there once, in order, with its score to the bit."""
    covered = [number for block in blocks for number in range(block.begin, block.end)]
    assert covered == list(range(len(whole.q)))
    assert same(joined(block.score for block in blocks), whole)


@pytest.fixture(scope="module")
def computed():
    """Blocks of the first test, in all of its attempts: a worker keeps its code for the next one."""
    return []


def test_scores_are_those_of_this_machine_in_order_and_say_who_computed_them(cluster, processes, task, computed):
    description, arrays, whole = task
    blocks, end = [], time.monotonic() + 0.8 * DEADLINE
    while {block.worker for block in computed} != set(cluster.sites):  # on a busy machine one may compute all
        assert time.monotonic() < end, "both workers compute"
        blocks = list(map_blocks(description, arrays, client=cluster))
        check(blocks, whole)
        computed += blocks
    # A worker's first block is left out if the other one, asked as well near the end, has answered before.
    compiled = [block.worker for block in computed if block.fresh]
    assert 0 < len(compiled) == len(set(compiled)), "each compiles once"
    assert len(cluster.sites) == 2
    assert {block.processor for block in computed} == {site().processor}
    assert str(cluster) == f"{processes.address}: 2 threads of 2 workers on {site().processor}"
    assert all(processes.code(name) == 1 for name in processes.workers), "each keeps its code"
    again = list(map_blocks(description, arrays, client=cluster, done=[(100, 5900)]))
    assert [number for block in again for number in range(block.begin, block.end)] == [*range(100), *range(5900, 6000)]


def test_an_open_client_of_dask_can_be_used_and_stays_open(cluster, processes, task):
    description, arrays, whole = task
    few = {name: array[:40] for name, array in arrays.items()}
    with distributed.Client(processes.address, set_as_default=False) as client:
        with Cluster.from_client(client) as borrowed:
            assert same(all_scores(description, few, client=borrowed), [array[:40] for array in whole])
        assert client.status == "running"
        with pytest.raises(InputError, match=r"received Client; Cluster.from_client\(client\) makes one of a distrib"):
            description.loop.scores(description.scenario, few[PARAMETERS], client=client)


def test_rollouts_on_a_cluster_have_the_bits_of_this_machine(cluster):
    robot = Robot.from_urdf(robot_file("planar_2r"))
    random, motion = np.random.default_rng(0), excursion(robot)
    samples = {"payload.mass": random.uniform(0.0, 1.0, 50), "start.q": random.uniform(-0.1, 0.1, (50, 2))}
    here = rollout_scores(robot, "computed_torque", samples, motion, workers=2)
    assert same(rollout_scores(robot, "computed_torque", samples, motion, workers=cluster), here)
    soft = PDParameters(p=50.0)
    soft_here, soft_there = (rollout_scores(robot, PD(robot), samples, motion, parameters=soft, workers=client)
                             for client in (None, cluster))
    assert same(soft_there, soft_here) and not np.array_equal(soft_here.q, here.q)
    loop = ClosedLoop(make_controller("pid", robot), varied=("payload.mass",))
    scenario = loop.scenario([motion], velocity_noise=0.01)
    gains = loop.packed() * random.uniform(0.5, 2.0, (50, loop.packed().size))
    for given in ({"parameters": gains, "q": samples["start.q"]}, {"samples": {"payload.mass": np.ones(1)}},
                  {"parameters": [loop.controller.parameters] * 3}):
        assert same(loop.scores(scenario, **given, client=cluster), loop.scores(scenario, **given))


def test_a_killed_worker_loses_nothing_and_one_that_joins_takes_part(cluster, processes, task):
    description, arrays, whole = task
    first = next(iter(processes.workers))
    blocks = []
    for block in map_blocks(description, arrays, client=cluster):
        blocks.append(block)
        if len(blocks) == 3:
            processes.start_worker(next(NAMES))
            processes.kill(first)
            del processes.workers[first]
    check(blocks, whole)


def test_near_the_end_a_stopped_worker_is_not_waited_for(cluster, processes, task, monkeypatch):
    monkeypatch.setattr("robodyn_ros.toolbox.study.cluster._MIN_SLOW_TIME", 1.0)
    description, arrays, whole = task
    stopped = next(process for process in processes.workers.values())
    blocks, begin = [], time.monotonic()
    try:
        for block in map_blocks(description, arrays, client=cluster):
            if not blocks:
                stopped.send_signal(signal.SIGSTOP)
            blocks.append(block)
        check(blocks, whole)
        assert time.monotonic() - begin < 60.0, "Dask itself gives a silent worker five minutes"
    finally:
        stopped.send_signal(signal.SIGCONT)


def test_samples_that_do_not_fit_and_laws_that_fail_are_told_as_on_this_machine(cluster):
    description = described()
    with pytest.raises(InputError, match="shape"):
        all_scores(description, {PARAMETERS: np.ones((30, 99))}, client=cluster)
    with pytest.raises(InputError, match="expected quantities"):
        all_scores(description, {"payload.mass": np.ones(30)}, client=cluster)


@pytest.fixture(scope="module")
def other_version(tmp_path_factory):
    """A folder with another version of the package."""
    folder = tmp_path_factory.mktemp("other")
    copy = folder / "robodyn_ros"
    shutil.copytree(ROOT / "robodyn_ros", copy, ignore=shutil.ignore_patterns("__pycache__"))
    init = copy / "__init__.py"
    init.write_text(init.read_text().replace('__version__ = "', '__version__ = "9.'))
    return folder


def test_a_worker_with_another_version_is_refused_with_both_versions(cluster, processes, other_version, task, caplog):
    description, arrays, whole = task
    name = next(NAMES)
    with caplog.at_level(logging.WARNING, "robodyn_ros"):
        blocks, started = [], False
        for block in map_blocks(description, {n: np.concatenate([a] * 3) for n, a in arrays.items()}, client=cluster):
            blocks.append(block)
            if not started:
                processes.start_worker(name, other_version)
                started = True
        wait_for(lambda: cluster.refresh_workers() and "is left out" in caplog.text, "refusal")
    check(blocks, joined([whole] * 3))
    (line,) = [record.getMessage() for record in caplog.records if "is left out" in record.getMessage()]
    assert "has robodyn_ros 9." in line and f"here is {site().version}" in line and "\n" not in line
    assert line.split("left out: ")[1].split()[0] not in {block.worker for block in blocks}
    processes.kill(name)
    del processes.workers[name]


@pytest.mark.long
def test_a_scheduler_that_starts_again_loses_nothing(cluster, processes, task):
    description, arrays, whole = task
    blocks = []
    for block in map_blocks(description, arrays, client=cluster):
        blocks.append(block)
        if len(blocks) == 3:
            processes.kill("scheduler")
            for name in list(processes.workers):
                processes.kill(name)
            processes.workers.clear()
            processes.start_scheduler()
            processes.start_worker(next(NAMES))
    check(blocks, whole)


def test_without_worker_for_too_long_all_computed_blocks_come_before_the_error(cluster, processes, task, monkeypatch):
    description, arrays, whole = task
    cluster._patience = 0.5
    blocks = []
    with pytest.raises(ClusterError, match=r"no worker came back within 0\.5 s"):
        for block in map_blocks(description, arrays, client=cluster):
            if not blocks:
                for name in list(processes.workers):
                    processes.kill(name)
                processes.workers.clear()
            blocks.append(block)
    done = [(block.begin, block.end) for block in blocks]
    assert done == sorted(done)
    for block in blocks:
        assert same(block.score, [array[block.begin:block.end] for array in whole])
    rest = list(map_blocks(description, arrays, done=done))
    check(sorted([*blocks, *rest]), whole)
    monkeypatch.setattr(cluster_connection, "ANSWER_TIME", 0.5)
    with pytest.raises(ClusterError, match=r"no worker can take part: .*dask worker tcp://"):
        Cluster(processes.address)


class Lost(ClusterConnection):
    """A connection whose scheduler is lost, and comes back after some seconds of a clock that only sleeping moves on.

    Args:
        monkeypatch: Replaces the clock.
        status: Of Dask's client meanwhile; it tries by itself unless it is closed.
        returns: When the scheduler is back [s].
    """

    def __init__(self, monkeypatch, status, returns):
        self.seconds, self.returns, self.attempts = 0.0, returns, []
        clock = SimpleNamespace(monotonic=lambda: self.seconds, sleep=self.sleep)
        monkeypatch.setattr(cluster_connection, "time", clock)
        self._begin("tcp://there:1", 60.0)
        self._client, self.sites, self._answered = SimpleNamespace(status=status), {"old": site()}, {"old"}

    def sleep(self, seconds):
        self.seconds += seconds
        if self._client.status == "connecting" and self.seconds >= self.returns:
            self._client.status = "running"

    def _connected(self, seconds):
        self.attempts.append(seconds)
        self.seconds += min(seconds, 7.0)
        if self.seconds < self.returns:
            raise ClusterError("nobody answers")
        return SimpleNamespace(status="running")


@pytest.mark.parametrize("status", ["connecting", "closed"])
def test_a_lost_scheduler_is_waited_for_and_all_workers_asked_again(status, monkeypatch):
    lost = Lost(monkeypatch, status, returns=50.0)
    client = lost._client
    lost.reconnect()
    assert lost.running and 50.0 <= lost.seconds < 58.0 and not lost.sites and not lost._answered
    assert (lost._client is client) == (status == "connecting") == (not lost.attempts), "Dask's client tries by itself"


@pytest.mark.parametrize("status", ["connecting", "closed"])
def test_a_scheduler_that_stays_away_is_an_error_after_the_patience(status, monkeypatch):
    lost = Lost(monkeypatch, status, returns=90.0)
    with pytest.raises(ClusterError, match="tcp://there:1: no scheduler came back within 60 s"):
        lost.reconnect()
    assert 60.0 <= lost.seconds < 61.0 and max(lost.attempts, default=10.0) == 10.0


class _Web(BaseHTTPRequestHandler):

    def do_GET(self):
        self.send_response(200)
        self.end_headers()


@pytest.mark.parametrize("address", ["", "nowhere", "tcp://127.0.0.1:{free}", "tcp://127.0.0.1:{web}", "udp://a:1",
                                     "tcp://no-such-host.invalid:8786", "tcp://127.0.0.1:99999999"])
def test_wrong_addresses_are_told_in_one_line(address, monkeypatch):
    monkeypatch.setattr(cluster_connection, "ANSWER_TIME", 0.5)
    with HTTPServer(("127.0.0.1", 0), _Web) as web:
        thread = threading.Thread(target=web.serve_forever, args=(0.05,))
        thread.start()
        try:
            given = address.format(free=free_port(), web=web.server_port)
            with pytest.raises(ClusterError) as caught:
                Cluster(given)
        finally:
            web.shutdown()
            thread.join()
    assert "\n" not in str(caught.value) and "expected the address of a Dask scheduler, tcp://HOST:PORT" in str(
        caught.value) and given in str(caught.value)


ON_TWO_MACHINES = """
import pickle, sys, time
from robodyn_ros.toolbox.study import block
from robodyn_ros.toolbox.study.blocks import map_blocks
from robodyn_ros.toolbox.study.cluster import Cluster

block.BLOCK_TIME = 0.05
address, description, arrays = pickle.load(open(sys.argv[1], "rb"))
with Cluster(address) as cluster:
    while len(cluster.sites) < 2:
        time.sleep(0.05)
        cluster.refresh_workers()
    list(map_blocks(description, arrays, client=cluster, done=[(64, 6000)]))  # until both have compiled
    blocks = list(map_blocks(description, arrays, client=cluster))
sys.stdout.buffer.write(pickle.dumps(blocks))
"""
"""A process of its own: the threads of Dask in this one use the network of the tests."""


@pytest.mark.long
def test_workers_on_another_machine(tmp_path, task):
    description, arrays, whole = task
    with ExitStack() as stack:
        try:
            network = stack.enter_context(Network())
        except (OSError, RobodynError) as error:
            pytest.skip(f"this machine cannot play two: {error}")
        stack.enter_context(network.here("robot"))
        processes = stack.enter_context(ClusterProcesses(tmp_path, ADDRESSES["robot"]))
        processes.start_worker("here")
        processes.start_worker("there", launch=network.command("desk"), host=ADDRESSES["desk"])
        file = tmp_path / "task.pickle"
        file.write_bytes(pickle.dumps((processes.address, description, arrays)))
        done = subprocess.run([sys.executable, "-c", ON_TWO_MACHINES, str(file)], cwd=ROOT, capture_output=True)
    assert done.returncode == 0, done.stderr.decode()
    blocks = pickle.loads(done.stdout)
    check(blocks, whole)
    assert {block.worker.split(":")[1] for block in blocks} == {f"//{address}" for address in ADDRESSES.values()}
