"""For the tests of one file: a node of the test's own, and the probe. Imported late: rclpy need not be there."""

import gc

import pytest


@pytest.fixture(scope="module", autouse=True)
def short_collections():
    """Let no look at what thousands of tests before left behind keep a test from the messages that it waits for."""
    gc.collect()
    gc.freeze()


@pytest.fixture(scope="module")
def ros():
    from ros_process import RosTest

    with RosTest() as ros:
        yield ros


@pytest.fixture(scope="module")
def probe():
    """The node of runtime_probe.py; a file names it in its ``pytestmark`` if its tests ask it by ``ros`` alone."""
    from probe_rig import start

    with start() as process:
        yield process
