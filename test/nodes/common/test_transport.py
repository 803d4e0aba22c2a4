# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Nodes send by sockets alone, whatever the discovery range, unless the user has chosen otherwise."""

import ctypes
import os
import re
import socket
import time
from pathlib import Path
from xml.etree import ElementTree

import pytest
from listening import WAITING_BYTES, in_new_process, memory_of_messages, room_of_listeners
from ros_process import RosProcess
from tf2_msgs.msg import TFMessage

from robodyn_ros import RobodynError
from robodyn_ros.commands.processes import NodeProcess
from robodyn_ros.description.resources import config_file
from robodyn_ros.nodes.common.discovery import OLD_PROFILES, PEERS, PROFILES, RANGE, described
from robodyn_ros.nodes.common.transport import (
    PUBLICATION_MODE,
    QOS_OF_PROFILE,
    TRANSPORTS,
    UDP_WITHOUT_WAITING,
    set_up_transport,
)

FAST_DDS = "rmw_fastrtps_cpp"
LOCALHOST, NETWORK = (str(config_file(f"fastdds_{name}.xml")) for name in ("localhost", "network"))

ROOM = 1 << 20  # of the profiles' sockets [bytes]


def after(environment, middleware=FAST_DDS):
    environment = dict(environment)
    set_up_transport(environment, middleware)
    return environment


def give(monkeypatch, given):
    """Let the environment be that of a user who has set these variables alone."""
    for name in (RANGE, PEERS, PROFILES, OLD_PROFILES, TRANSPORTS, QOS_OF_PROFILE, PUBLICATION_MODE):
        monkeypatch.delenv(name, raising=False)
    for name, value in given.items():
        monkeypatch.setenv(name, value)


def threads(pid):
    """Kinds of Fast DDS's threads in a process, by their names."""
    names = (path.read_text() for path in Path(f"/proc/{pid}/task").glob("*/comm"))
    return {name.split(".")[1] for name in names if name.startswith("dds.")}


def transports(pid):
    """Transports that a process listens with."""
    return threads(pid) & {"udp", "tcp", "shm"}


def test_a_node_has_no_shared_memory_unless_the_user_wants_it(ros, monkeypatch):
    give(monkeypatch, {RANGE: "LOCALHOST"})  # where rmw_fastrtps adds shared memory by itself
    with NodeProcess("hardware", {"robot": "planar_2r"}) as hardware:
        monkeypatch.setenv(TRANSPORTS, "DEFAULT")
        with NodeProcess("state_publisher", {"robot": "planar_2r"}) as other:
            frames = ros.record(TFMessage, "/tf")
            ros.wait_for(lambda: len(frames) > 5, "frames by the one of the joint states of the other")
            assert transports(hardware.pid) == {"udp"}
            assert "/dev/shm/fastdds" not in Path(f"/proc/{hardware.pid}/maps").read_text()
            assert transports(other.pid) == {"udp", "shm"}


@pytest.mark.parametrize("discovery", ["LOCALHOST", "SUBNET"])
def test_a_node_has_no_service_for_types(discovery, monkeypatch):
    """Its threads work on while a participant is removed, which ended one of 366 nodes by SIGSEGV."""
    give(monkeypatch, {RANGE: discovery})
    with RosProcess("hardware", {"robot": "planar_2r"}) as hardware:
        hardware.wait_for_output("parameters that differ")  # told once the node is complete
        found = threads(hardware.pid)
    assert found >= {"udp", "ev", "asyn"}
    assert "tls" not in found


@pytest.mark.parametrize(("given", "last"), [
    ({RANGE: "LOCALHOST"}, 31),
    ({RANGE: "SUBNET", PEERS: "127.0.0.1"}, 3),  # where there is no network, a peer hears what the network would
])
def test_a_node_announces_itself_at_least_twice_a_second(given, last, monkeypatch):
    """A new process loses the first answers of the others and finds them by their next announcement."""
    give(monkeypatch, given)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as listener:
        # The port of the last process of a domain to which a process announces itself.
        listener.bind(("127.0.0.1", 7400 + 250 * int(os.environ["ROS_DOMAIN_ID"]) + 10 + 2 * last))
        listener.settimeout(60.0)
        heard = []
        with NodeProcess("dynamics", {"robot": "planar_2r"}):
            while len(heard) < 16:  # the first six come every 0.1 s
                listener.recv(65536)
                heard.append(time.monotonic())
    gaps = [after - before for before, after in zip(heard[9:], heard[10:], strict=False)]
    assert min(gaps) < 0.7


@pytest.mark.parametrize("discovery", ["LOCALHOST", "SUBNET"])
def test_a_process_that_waits_for_a_busy_processor_loses_no_messages(discovery, monkeypatch):
    """As much room as the system gives: ten times that of a socket without a wish where its limit allows it."""
    give(monkeypatch, {RANGE: discovery})
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as example:
        example.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, ROOM)
        room = example.getsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF)
    assert set(in_new_process(room_of_listeners)) == {room}


@pytest.mark.parametrize("discovery", ["LOCALHOST", "SUBNET"])
def test_the_memory_of_large_messages_is_given_back(discovery, monkeypatch):
    if not hasattr(ctypes.CDLL(None), "mallinfo2"):
        pytest.skip("the C library does not tell how much memory is in use: needs glibc 2.33")
    give(monkeypatch, {RANGE: discovery})
    before, waiting, after = in_new_process(memory_of_messages)
    assert waiting - before >= WAITING_BYTES
    assert after - before < 0.25 * (waiting - before)


def test_every_node_and_command_starts_ros_in_one_place():
    sources = Path(__file__).parents[3] / "robodyn_ros"
    starting = [path.name for path in sources.rglob("*.py") if re.search(r"\brclpy\.init\(", path.read_text())]
    assert starting == ["transport.py"]


@pytest.mark.parametrize("given", [{}, {RANGE: "SUBNET"}, {RANGE: "OFF"}, {RANGE: "SYSTEM_DEFAULT"}])
def test_beyond_localhost_the_range_stays(given):
    old = {OLD_PROFILES: NETWORK}  # set for Jazzy alone
    assert after(given) | old == {**given, TRANSPORTS: UDP_WITHOUT_WAITING, PROFILES: NETWORK,
                                  QOS_OF_PROFILE: "1"} | old
    assert after(after(given)) == after(given)


def test_localhost_is_replaced_by_a_profile_of_the_same_discovery():
    local = {RANGE: "LOCALHOST"}
    assert after(local).items() >= {RANGE: "SYSTEM_DEFAULT", PROFILES: LOCALHOST}.items()
    assert after(after(local)) == after(local)  # in a process that this one starts
    assert after({**local, TRANSPORTS: "UDPv4"})[PROFILES] == LOCALHOST  # rmw_fastrtps would ignore the user's wish


@pytest.mark.parametrize("given", [{TRANSPORTS: "SHM"}, {TRANSPORTS: "LARGE_DATA"}, {PROFILES: "mine.xml"},
                                   {OLD_PROFILES: "mine.xml"}])
@pytest.mark.parametrize("discovery", ["LOCALHOST", "SUBNET"])
def test_the_choice_of_the_user_stays(given, discovery):
    assert after({**given, RANGE: discovery}) == {**given, RANGE: discovery}


@pytest.mark.parametrize(("given", "left"), [
    ({QOS_OF_PROFILE: "0"}, "0"), ({PUBLICATION_MODE: "ASYNCHRONOUS"}, None), ({PUBLICATION_MODE: ""}, "1")])
def test_how_the_user_wants_to_publish_stays(given, left):
    assert after(given).get(QOS_OF_PROFILE) == left


def test_a_profile_in_the_working_directory_and_another_middleware_stay(tmp_path, monkeypatch):
    assert after({RANGE: "LOCALHOST"}, "rmw_cyclonedds_cpp") == {RANGE: "LOCALHOST"}
    monkeypatch.chdir(tmp_path)
    (tmp_path / "DEFAULT_FASTDDS_PROFILES.xml").write_text("<dds/>")
    assert after({RANGE: "LOCALHOST"}) == {RANGE: "LOCALHOST"}


@pytest.mark.parametrize("given", [{}, {RANGE: "SUBNET"}, {RANGE: "LOCALHOST"},
                                   {RANGE: "LOCALHOST", PEERS: "127.0.0.1"}])
def test_the_log_tells_the_range_of_the_user(given, monkeypatch):
    give(monkeypatch, given)
    told = described()
    for name, value in after(given).items():
        monkeypatch.setenv(name, value)
    assert described() == told


def test_static_peers_are_looked_for_too():
    profile = after({RANGE: "LOCALHOST", PEERS: "192.0.2.7;localhost;"})[PROFILES]
    addresses = [node.text for node in ElementTree.parse(profile).iter() if node.tag.endswith("address")]
    assert addresses == ["127.0.0.1", "192.0.2.7", "127.0.0.1"]
    with pytest.raises(RobodynError, match=r"ROS_STATIC_PEERS: .*received '\.\.': "):
        after({RANGE: "LOCALHOST", PEERS: ".."})
