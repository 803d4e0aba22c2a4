"""For every test: a ROS domain and a cache of compiled code of this run's own, and how hypothesis searches."""

import importlib.util
import os
import socket
import tempfile
from pathlib import Path

import pytest
from hypothesis import settings

ROS_FOLDERS = ("nodes", "launch")
HAS_ROS = importlib.util.find_spec("rclpy") is not None
collect_ignore = [] if HAS_ROS else list(ROS_FOLDERS)

# A deadline would make slow machines fail; in CI, chance would.
settings.register_profile("robodyn", deadline=None, derandomize="CI" in os.environ, print_blob=True)
settings.load_profile("robodyn")


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


def pytest_configure(config: pytest.Config) -> None:
    """Choose the domain before anything imports rclpy, and where this run and the nodes it starts keep code."""
    domain, config.claim_of_domain = claim_domain()
    os.environ["ROS_DOMAIN_ID"] = str(domain)
    os.environ["ROS_AUTOMATIC_DISCOVERY_RANGE"] = "LOCALHOST"
    config.code_cache = tempfile.TemporaryDirectory(prefix="robodyn_test_cache_")
    os.environ["ROBODYN_CACHE_DIR"] = config.code_cache.name


def pytest_unconfigure(config: pytest.Config) -> None:
    """Remove what was kept."""
    config.code_cache.cleanup()


def pytest_report_header() -> str:
    """Say what is tested against, and what is left out."""
    if not HAS_ROS:
        return f"ROS 2: rclpy does not import, so test/{', test/'.join(ROS_FOLDERS)} are left out (see 'make setup')"
    return f"ROS 2: {os.environ.get('ROS_DISTRO', 'wheels')}, domain {os.environ['ROS_DOMAIN_ID']}"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark what starts nodes, so that -m 'not ros' leaves it out."""
    here = Path(__file__).parent
    for item in items:
        if item.path.relative_to(here).parts[0] in ROS_FOLDERS:
            item.add_marker("ros")
