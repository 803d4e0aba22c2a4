"""The probe, for the tests of a file. Imported late: rclpy need not be there."""

import pytest


@pytest.fixture(scope="module")
def probe():
    """The node of runtime_probe.py; a file names it in its ``pytestmark`` if its tests ask it by ``ros`` alone."""
    from probe_rig import start

    with start() as process:
        yield process
