"""Every test process gets a ROS domain of its own, on this machine only."""

import os
import socket

import pytest


def _claim_domain() -> tuple[int, socket.socket]:
    """A domain that no other test process on this machine uses, held until the socket is closed."""
    for domain in range(1, 100):
        claim = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        try:
            claim.bind(f"\0robodyn_ros test domain {domain}")
        except OSError:
            claim.close()
        else:
            return domain, claim
    raise RuntimeError("all ROS domains from 1 to 99 are in use by other test processes")


def pytest_configure(config: pytest.Config) -> None:
    """Choose the domain before anything imports rclpy."""
    domain, config._robodyn_domain_claim = _claim_domain()
    os.environ["ROS_DOMAIN_ID"] = str(domain)
    os.environ["ROS_AUTOMATIC_DISCOVERY_RANGE"] = "LOCALHOST"
