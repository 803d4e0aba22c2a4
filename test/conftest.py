# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""For every test: a ROS domain, the cache of compiled code of this folder, the search of hypothesis, and fixtures."""

import gc
import importlib.util
import os
import signal
import socket
from collections.abc import Generator
from functools import cache
from pathlib import Path

import pytest
from hypothesis import settings
from thread_states import thread_states

from robodyn_ros.base import code_cache

NEED_ROS = ("nodes", "launch", "commands/test_demo.py", "commands/test_simulate.py", "commands/test_swap.py",
            "commands/test_guard.py", "commands/test_view.py", "bench/test_two_machines.py", "test_examples.py",
            "test_pages.py")
"""Folders and files of tests that start ROS nodes."""
LONGEST = ("nodes/controller/test_action.py", "nodes/controller/test_node.py", "commands/test_graph_commands.py",
           "nodes/controller/test_hostile_plugins.py", "toolbox/study/test_cluster.py", "nodes/hardware/test_node.py",
           "commands/test_simulate.py", "commands/test_replay.py", "nodes/recorder/test_node.py",
           "commands/test_swap.py")
"""Files that begin first: a process that began one of them last would run on alone."""
HAS_ROS = importlib.util.find_spec("rclpy") is not None
collect_ignore = [] if HAS_ROS else list(NEED_ROS)

# A deadline would make slow machines fail; in CI, chance would.
settings.register_profile("robodyn", deadline=None, derandomize="CI" in os.environ, print_blob=True)
settings.load_profile("robodyn")


os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # threads of processes side by side would wait for each other
os.environ.pop("COLUMNS", None)  # pytest-xdist gives its processes a terminal of 80 columns, for which tables break

# A shell's background jobs ignore Ctrl-C, and what they start inherits that; tests stop programs by it.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


def claim_domain() -> tuple[int, socket.socket]:
    """A domain that no other test process on this machine uses, held until the socket is closed.

    Domains above 101 have ports that Linux hands out to others.
    """
    for domain in range(1, 102):
        claim = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        try:
            claim.bind(f"\0robodyn_ros test domain {domain}")
        except OSError:
            claim.close()
        else:
            return domain, claim
    raise RuntimeError("all ROS domains from 1 to 101 are in use by other test processes")


@pytest.fixture
def second_domain():
    """A ROS domain beside that of this test process, which no other test process uses either."""
    domain, claim = claim_domain()
    yield domain
    claim.close()


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add an option that lets tests renew the documents' pictures."""
    parser.addoption("--pictures", action="store_true", help="renew docs/images from pages that the tests open")


def pytest_configure(config: pytest.Config) -> None:
    """Choose the domain before anything imports rclpy, and where this run and the nodes it starts keep code.

    Each worker of pytest-xdist has a domain of its own; all use the cache of the process that started them. It is
    kept for the next run: its entries are named by all that they depend on, see `code_cache`.
    """
    domain, config.claim_of_domain = claim_domain()
    os.environ["ROS_DOMAIN_ID"] = str(domain)
    os.environ["ROS_AUTOMATIC_DISCOVERY_RANGE"] = "LOCALHOST"
    if HAS_ROS:
        # A process reads its profile once: nodes that tests make here need it before the first one, too.
        from robodyn_ros.nodes.common.transport import set_up_transport

        set_up_transport(os.environ, "rmw_fastrtps_cpp")
    if not hasattr(config, "workerinput"):
        os.environ[code_cache.VARIABLE] = str(config.rootpath / ".pytest_cache" / "code")


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers() -> int:
    """With `-n auto`, start a worker more than there are cores: tests of nodes mostly wait."""
    return len(os.sched_getaffinity(0)) + 1


def pytest_report_header() -> str:
    """Print the ROS 2 under test, and the tests that are left out."""
    if not HAS_ROS:
        return f"ROS 2: rclpy does not import, so test/{', test/'.join(NEED_ROS)} are left out (see 'make setup')"
    release = os.environ.get("ROS_DISTRO") or f"{os.environ.get('ROBODYN_DISTRO', '')} wheels"
    return f"ROS 2: {release}, domain {os.environ['ROS_DOMAIN_ID']}"


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Leave out garbage collections, each of which would look through all tests found so far, now and in tests."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


@cache
def needs_ros(path: Path) -> bool:
    """Whether the tests of a file start ROS nodes."""
    here = Path(__file__).parent
    return any(path.is_relative_to(here / name) for name in NEED_ROS)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the tests that start nodes, so that -m 'not ros' leaves them out; the longest files go first, then these."""
    here = Path(__file__).parent
    places = {here / name: place for place, name in enumerate(LONGEST)}
    for item in items:
        if needs_ros(item.path):
            item.add_marker("ros")
    items.sort(key=lambda item: (places.get(item.path, len(places)), not needs_ros(item.path)))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Print the threads of all nodes beside the failure of a test that has started some."""
    report = yield
    if report.failed and needs_ros(item.path):
        report.sections.append(("Threads of the processes", thread_states()))
    return report


@pytest.fixture(scope="module", autouse=True)
def short_collections(request: pytest.FixtureRequest) -> None:
    """Keep the objects of earlier tests out of garbage collections: a long collection delays a test's messages."""
    if needs_ros(request.path):
        gc.collect()
        gc.freeze()


@pytest.fixture(scope="module")
def ros():
    """A node of the test file's own. Imported late: rclpy need not be there."""
    from ros_process import RosTest

    with RosTest() as ros:
        yield ros
