# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Discovery range of a process, from ROS 2's environment variables, and repetition of requests.

See docs/two-machines.md.
"""

from __future__ import annotations

import os
from pathlib import Path

RANGE, PEERS, SERVER = "ROS_AUTOMATIC_DISCOVERY_RANGE", "ROS_STATIC_PEERS", "ROS_DISCOVERY_SERVER"
THIS_MACHINE = "LOCALHOST"

ANSWER_SECONDS = 2.0
"""Time after which an unanswered request is repeated, if it may be served twice [s]. A server that is delayed while it
discovers a new client cannot send it the first answer.
"""

PROFILES, OLD_PROFILES = "FASTDDS_DEFAULT_PROFILES_FILE", "FASTRTPS_DEFAULT_PROFILES_FILE"
"""Variables of Fast DDS 3, and of Fast DDS 2 in ROS 2 Jazzy."""
LOCAL_PROFILE = "fastdds_localhost"
"""Prefix of the name of the profile for `THIS_MACHINE`; see transport.py."""

_SOCKETS = Path("/proc/net/udp")
_LARGEST_NUMBER_HERE = 32  # maxInitialPeersRange of config/fastdds_localhost.xml


def stay_on_this_machine() -> None:
    """Restrict this process and its child processes to nodes on this machine.

    A range, peers or a discovery server
    given by the environment stay, also if empty.
    """
    os.environ.setdefault(RANGE, THIS_MACHINE)


def is_this_machine_alone() -> bool:
    """Return whether the nodes of this process find only nodes on this machine, once ROS is started (transport.py)."""
    return (Path(os.environ.get(PROFILES, "")).name == f"{LOCAL_PROFILE}.xml" and not os.environ.get(SERVER)
            and not os.environ.get(PEERS))


def participants_here(domain: int) -> int:
    """Return the number of DDS participants of a domain on this machine, including this process; 0: unknown.

    Each participant receives discovery messages at its own port, and the kernel lists the used ports. A program that
    uses such a port for other purposes is counted, too.

    Args:
        domain: ROS_DOMAIN_ID.
    """
    try:
        lines = _SOCKETS.read_text(encoding="ascii").splitlines()[1:]
    except OSError:  # not Linux
        return 0
    used = {int(line.split()[1].rpartition(":")[2], 16) for line in lines}
    first = 7400 + 250 * domain + 10  # DDS Interoperability Wire Protocol 2.5, 9.6.2.3
    return len(used.intersection(range(first, first + 2 * _LARGEST_NUMBER_HERE, 2)))


def described() -> str:
    """Return a sentence for the log: which nodes this process can find, and by which variable."""
    found, peers, server = (os.environ.get(name, "") for name in (RANGE, PEERS, SERVER))
    if Path(os.environ.get(PROFILES, "")).name.startswith(LOCAL_PROFILE):
        found = THIS_MACHINE
    if server:
        return f"discovery: nodes that use the discovery server {SERVER} = {server}"
    others = f", and the machines of {PEERS} = {peers}" if peers else ""
    if found == THIS_MACHINE:
        return f"discovery: this machine{others or ' alone'} ({RANGE} = {found}; SUBNET: the whole network)"
    if found == "OFF":
        return f"discovery: no other process ({RANGE} = {found})"
    if os.environ.get("ROS_SECURITY_ENABLE", "") == "true":
        return f"discovery: the whole network{others}, with ROS_SECURITY_ENABLE = true"
    return (f"discovery: the whole network{others}, everybody on which can move the robot "
            f"({RANGE} = {found or 'not set'}; {THIS_MACHINE}: this machine alone)")
