# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Message transport by UDP instead of shared memory, so that no process waits for a killed one; and discovery.

Fast DDS's shared memory has a mutex for each receiving process. A process killed while it holds its mutex blocks
everyone who sends to it for a second, including the control thread of a node. Sockets have no such lock.

A new process finds the others by their announcements, which Fast DDS repeats every 3 s; a profile makes it 0.2 s on
this machine and 0.5 s in a network. The profile also returns the memory of large messages.

Fast DDS reads its settings from the environment. :func:`set_up_transport` sets them before rclpy starts, unless the
user has. Child processes inherit them. With the discovery range LOCALHOST, rmw_fastrtps adds shared memory regardless
of the settings; a profile with the same discovery then replaces the range.
"""

from __future__ import annotations

import atexit
import os
import socket
import tempfile
from collections.abc import MutableMapping, Sequence
from pathlib import Path
from typing import Any

import rclpy
from rclpy import subscription
from rclpy.utilities import get_rmw_implementation_identifier

from robodyn_ros.base.errors import RobodynError
from robodyn_ros.description.resources import config_file
from robodyn_ros.nodes.common.discovery import LOCAL_PROFILE, OLD_PROFILES, PEERS, PROFILES, RANGE, THIS_MACHINE

TRANSPORTS = "FASTDDS_BUILTIN_TRANSPORTS"
QOS_OF_PROFILE, PUBLICATION_MODE = "RMW_FASTRTPS_USE_QOS_FROM_XML", "RMW_FASTRTPS_PUBLICATION_MODE"
"""Whether the profile's settings of writers and readers apply, and a setting that they would override."""

UDP = "UDPv4"
UDP_WITHOUT_WAITING = f"{UDP}?non_blocking=true"
"""Only UDP; sending waits neither for buffer space nor for an address on the network."""

NETWORK_PROFILE = "fastdds_network.xml"

_NAMES = (PROFILES,) if hasattr(subscription, "MessageInfo") else (PROFILES, OLD_PROFILES)
"""ROS 2 Jazzy, which has no MessageInfo, reads the old name; later ones warn of it."""
_PROFILES_HERE = "DEFAULT_FASTDDS_PROFILES.xml"  # Fast DDS reads it in the working directory
_PEERS_END = "</initialPeersList>"


def init_ros(**options: Any) -> None:
    """Initialise rclpy; options as for ``rclpy.init``.

    Raises:
        RobodynError: ROS refuses the environment or the arguments.
    """
    set_up_transport(os.environ, get_rmw_implementation_identifier())
    try:
        rclpy.init(**options)
    except Exception as error:  # rclpy raises RCLError and others
        raise RobodynError(f"cannot start ROS: {error}") from None


def set_up_transport(environment: MutableMapping[str, str], middleware: str) -> None:
    """Make Fast DDS use only UDP and announce nodes often, unless the user has chosen transports or profiles.

    Args:
        environment: Environment variables; changed in place.
        middleware: Identifier of the ROS middleware; only rmw_fastrtps is concerned.

    Raises:
        RobodynError: A static peer has no address.
    """
    if (not middleware.startswith("rmw_fastrtps") or environment.get(PROFILES) or environment.get(OLD_PROFILES)
            or not environment.get(TRANSPORTS, UDP).startswith(UDP) or Path(_PROFILES_HERE).exists()):
        return
    if environment.get(RANGE) == THIS_MACHINE:
        peers = [peer for peer in environment.get(PEERS, "").split(";") if peer]
        profile = config_file(f"{LOCAL_PROFILE}.xml")
        profile = _with_peers(profile, peers) if peers else profile
        environment[RANGE] = "SYSTEM_DEFAULT"
    else:
        environment.setdefault(TRANSPORTS, UDP_WITHOUT_WAITING)
        profile = config_file(NETWORK_PROFILE)
    environment.update(dict.fromkeys(_NAMES, str(profile)))
    if not environment.get(PUBLICATION_MODE):
        environment.setdefault(QOS_OF_PROFILE, "1")


def _with_peers(profile: Path, peers: Sequence[str]) -> Path:
    """Return a copy of the profile that also searches static peers; it is removed at exit."""
    locators = ""
    for peer in peers:
        try:
            address = socket.gethostbyname(peer)
        except (OSError, UnicodeError) as error:
            raise RobodynError(f"{PEERS}: expected names or addresses of machines, separated by ';', received "
                               f"'{peer}': {error}") from None
        locators += f"<locator><udpv4><address>{address}</address></udpv4></locator>"
    with tempfile.NamedTemporaryFile("w", prefix=f"{LOCAL_PROFILE}_", suffix=".xml", delete=False) as copy:
        copy.write(profile.read_text(encoding="utf-8").replace(_PEERS_END, locators + _PEERS_END))
    atexit.register(os.remove, copy.name)
    return Path(copy.name)
