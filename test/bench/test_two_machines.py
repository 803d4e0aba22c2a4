# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Hardware on one machine and controller, state publisher and view on another one; see docs/two-machines.md."""

import os
import shutil
import subprocess
import sys
import urllib.request
from contextlib import ExitStack
from pathlib import Path
from unittest.mock import patch

import numpy as np
import pytest
from ros_process import RosProcess

from bench.two_machines.graph import DEADLINE, DISCOVERY, TwoMachines
from bench.two_machines.link import Quality
from bench.two_machines.network import ADDRESSES, Network
from robodyn_ros.base.errors import RobodynError
from robodyn_ros.nodes.common.discovery import OLD_PROFILES, PEERS, PROFILES, RANGE

pytestmark = pytest.mark.long  # graphs that find each other anew for each way of discovery

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def network():
    with ExitStack() as stack:
        try:
            made = stack.enter_context(Network())
        except (OSError, RobodynError) as error:
            pytest.skip(f"this machine cannot play two: {error}")
        yield made


@pytest.mark.parametrize(("discovery", "count"), [("multicast", 5), ("static peers", 1), ("discovery server", 1)])
def test_hardware_is_safe_within_the_time_out_of_each_cut_and_soon_follows_again(discovery, count, network):
    if discovery == "discovery server" and shutil.which("fast-discovery-server") is None:
        pytest.skip("there is no fast-discovery-server in PATH")
    command = ["-m", "bench.two_machines", "--discovery", discovery, "--only-cuts", "--cuts", str(count)]
    done = subprocess.run([sys.executable, *command], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    assert f"{count} cuts of " in done.stdout and "; 0 too late." in done.stdout


def test_simulate_is_found_by_its_own_machine_and_by_strangers_who_name_it_alone(network):
    def ask(environment):
        return {**os.environ, RANGE: "SUBNET", PROFILES: "", OLD_PROFILES: "", **environment}

    question = ("-m", "robodyn_ros", "get", "controller", "controller")
    bare = {name: value for name, value in os.environ.items() if name not in (RANGE, PROFILES, OLD_PROFILES)}
    with network.here("robot"):
        with patch.dict(os.environ, bare, clear=True):
            started = RosProcess("simulate", command=("-m", "robodyn_ros", "simulate", "--robot", "planar_2r"))
        with started as simulate:
            simulate.wait_for_output("[state_publisher]: parameters that differ")
            assert "discovery: this machine alone" in simulate.output()
            here = subprocess.run([sys.executable, *question], env=ask({}), capture_output=True, text=True)
            assert here.returncode == 0, here.stderr
            stranger, namer = (subprocess.run(
                [sys.executable, *network.command("desk", *question)], env=ask(environment), capture_output=True,
                text=True) for environment in ({}, {PEERS: ADDRESSES["robot"]}))
            assert stranger.returncode != 0 and "Traceback" not in stranger.stderr
            assert namer.returncode == 0 and namer.stdout == here.stdout, "docs/security.md says so"


# The graph of all further tests finds itself by multicast. Those above end before it starts: one hardware at a time.
@pytest.fixture(scope="module")
def graph(network):
    with TwoMachines(network, DISCOVERY["multicast"]) as graph:
        yield graph


def test_the_arm_follows_over_a_link_that_delays_loses_and_reorders(graph):
    good, _ = graph.move()
    graph.network.set(Quality(delay=0.002, jitter=0.001, loss=0.02, reordering=0.05))
    try:
        bad, _ = graph.move()
    finally:
        graph.network.set(Quality())
    for error in (good, bad):
        assert len(error) > 100
        assert np.abs(error).max() < 0.2, "the joints move by up to 1.6 rad"
    assert graph.samples[-1].controller == "computed_torque"
    assert "Traceback" not in graph.nodes["hardware"].output() + graph.nodes["controller"].output()


def test_state_publisher_and_view_work_on_the_second_machine(graph):
    pytest.importorskip("viser", reason="viser is not installed: make setup")
    graph.start_on_desk("state_publisher", {"robot": "arm6"})
    graph.client.wait_for_transforms(DEADLINE)
    view = graph.start_on_desk("view", {"host": ADDRESSES["desk"], "port": 8080})

    def is_shown():
        view.check()
        listeners = graph.client.node.get_subscriptions_info_by_topic("/controller/_display_state")
        return any(each.node_name == "view" for each in listeners)

    graph.client.wait_for(is_shown, "view of the robot", DEADLINE)
    with urllib.request.urlopen(f"http://{ADDRESSES['desk']}:8080", timeout=DEADLINE) as page:
        assert page.status == 200
