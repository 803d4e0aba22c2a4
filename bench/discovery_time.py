# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Time until a new process finds a driver that publishes joint states, a node of plain rclpy, and hears it.

``python -m bench.discovery_time`` starts listeners one after another, as nodes of this package start: with the profile
config/fastdds_localhost.xml. Beside them run two drivers, each in a ROS domain of its own: one as ROS 2 starts it, one
with the same profile.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from argparse import ArgumentParser
from collections.abc import Sequence

import numpy as np
import rclpy
from rclpy.node import Node
from sensor_msgs.msg import JointState

from robodyn_ros.description.resources import config_file
from robodyn_ros.nodes.common.discovery import LOCAL_PROFILE, PROFILES, RANGE, THIS_MACHINE
from robodyn_ros.nodes.common.topics import STATE_QOS

RATE = 200.0
"""Joint states per second [Hz]."""
PATIENCE = 30.0
"""Longest wait for the first joint state [s]."""
DRIVERS = ("as ROS 2 starts it", "with the profile")


def publish() -> None:
    """Publish joint states until the process is killed."""
    rclpy.init()
    node = Node("driver")
    publisher = node.create_publisher(JointState, "joint_states", 10)
    node.create_timer(1.0 / RATE, lambda: publisher.publish(JointState(name=["joint1"], position=[0.0])))
    print("ready", flush=True)
    rclpy.spin(node)


def listen() -> None:
    """Print when this node, since it began, knew the driver, and when it had heard it [s]."""
    rclpy.init()
    begin, heard = time.monotonic(), list[float]()
    known = np.inf
    node = Node("listener")
    node.create_subscription(JointState, "joint_states", lambda _: heard.append(time.monotonic() - begin), STATE_QOS)
    while not heard and time.monotonic() < begin + PATIENCE:
        rclpy.spin_once(node, timeout_sec=0.005)
        if known == np.inf and node.count_publishers("joint_states"):
            known = time.monotonic() - begin
    print(min(known, heard[0]), heard[0], flush=True)
    os._exit(0)


def measure(starts: int, domains: Sequence[int]) -> np.ndarray:
    """Return when listeners knew and had heard each driver, shape (drivers, starts, 2) [s]; in turn.

    Args:
        starts: Listeners beside each driver.
        domains: ROS domain of each driver.
    """
    profile = str(config_file(f"{LOCAL_PROFILE}.xml"))
    found = np.zeros((len(DRIVERS), starts, 2))

    def environment(driver: int, with_profile: bool) -> dict[str, str]:
        profiles = {PROFILES: profile} if with_profile else {}
        return {**os.environ, RANGE: THIS_MACHINE, "ROS_DOMAIN_ID": str(domains[driver]), **profiles}

    drivers = [subprocess.Popen([sys.executable, "-m", "bench.discovery_time", "--publish"], stdout=subprocess.PIPE,
                                env=environment(driver, bool(driver))) for driver in range(len(DRIVERS))]
    try:
        for process in drivers:
            assert process.stdout is not None and process.stdout.readline() == b"ready\n"
        for start in range(starts):
            for driver in range(len(DRIVERS)):
                told = subprocess.run([sys.executable, "-m", "bench.discovery_time", "--listen"], capture_output=True,
                                      check=True, text=True, env=environment(driver, with_profile=True),
                                      timeout=2.0 * PATIENCE)
                found[driver, start] = list(map(float, told.stdout.split()))
    finally:
        for process in drivers:
            process.kill()
            process.communicate()
    return found


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the times."""
    parser = ArgumentParser(prog="python -m bench.discovery_time", description=__doc__)
    parser.add_argument("--starts", type=int, default=50, help="listeners beside each driver (default: 50)")
    parser.add_argument("--second-domain", type=int, help="ROS domain of the second driver (default: the one after "
                        "ROS_DOMAIN_ID)")
    parser.add_argument("--publish", action="store_true", help="be a driver")
    parser.add_argument("--listen", action="store_true", help="be a listener")
    options = parser.parse_args(arguments)
    if options.publish or options.listen:
        (publish if options.publish else listen)()
        return 0
    domain = int(os.environ.get("ROS_DOMAIN_ID", "0"))
    domains = domain, domain + 1 if options.second_domain is None else options.second_domain
    print(f"{'driver':<22}{'heard, median [s]':>20}{'worst [s]':>12}{'heard - known, worst [s]':>27}")
    for name, (known, heard) in zip(DRIVERS, measure(options.starts, domains).transpose(0, 2, 1), strict=True):
        print(f"{name:<22}{np.median(heard):>20.2f}{heard.max():>12.2f}{(heard - known).max():>27.3f}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
