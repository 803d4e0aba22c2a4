# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Which nodes the nodes of a process find, by ROS 2's environment variables, and when they ask again.

See docs/two-machines.md.
"""

from __future__ import annotations

import os
from pathlib import Path

RANGE, PEERS, SERVER = "ROS_AUTOMATIC_DISCOVERY_RANGE", "ROS_STATIC_PEERS", "ROS_DISCOVERY_SERVER"
THIS_MACHINE = "LOCALHOST"

ANSWER_SECONDS = 2.0
"""Time after which a request that got no answer is sent again, if it may be served twice [s].

A server that is held up while it discovers a new client cannot send it the first answer.
"""

PROFILES, OLD_PROFILES = "FASTDDS_DEFAULT_PROFILES_FILE", "FASTRTPS_DEFAULT_PROFILES_FILE"
"""Variables of Fast DDS 3, and of Fast DDS 2, which is that of ROS 2 Jazzy."""
LOCAL_PROFILE = "fastdds_localhost"
"""Begin of the name of the profile that stands for `THIS_MACHINE`; see transport.py."""


def stay_on_this_machine() -> None:
    """Let the nodes of this process, and of those that it starts, look for nodes of this machine alone.

    A range that the environment gives, also an empty one, stays; so do peers and a discovery server.
    """
    os.environ.setdefault(RANGE, THIS_MACHINE)


def described() -> str:
    """Return a sentence for the log: which nodes the nodes of this process find, by which variable."""
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
