"""For the tests of one file: a node of the test's own, and the probe. Imported late: rclpy need not be there."""

import pytest


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
