# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Which node is followed for each joint, without messages."""

import numpy as np
import pytest

from robodyn_ros.base.errors import InputError
from robodyn_ros.nodes.common import topic_owners
from robodyn_ros.nodes.common.topic_owners import AT_START, TopicOwners, publisher_field

SILENT_AFTER = 0.5
NAMES = ["shoulder", "elbow", "wrist"]
LONG = 10.0 * AT_START


def gid(process, publisher=0):
    """GID of a publisher of a process."""
    return process.to_bytes(12, "big") + publisher.to_bytes(4, "big")


DRIVER, ZEROS, AGAIN, OTHER = gid(1), gid(2), gid(3), gid(4)


class Graph(dict):
    """Names of nodes by GID, a clock of the test's own, and the owners that look at both."""

    def __init__(self, monkeypatch, wait_for_present=True):
        super().__init__({DRIVER: "/driver"})
        self.now = 100.0
        monkeypatch.setattr(topic_owners, "time", self)
        self.owners = TopicOwners("/joint_states", NAMES, "/ns/controller", "joint_states_publisher", lambda: self,
                                  SILENT_AFTER, wait_for_present)

    def monotonic(self):
        return self.now

    def hear(self, sender, joints=None, after=0.01):
        """Whether a message is followed that comes some time after the last one."""
        self.now += after
        return self.owners.admits(sender, self.now, joints)

    def run(self, *senders, seconds=LONG):
        """Let nodes publish every 0.1 s; returns those that are followed each time, from the second time on."""
        followed = []
        for _ in range(round(10 * seconds)):
            self.now += 0.1
            followed.append({sender for sender in senders if self.hear(sender, after=0.0)})
        assert all(each == followed[-1] for each in followed[1:])
        return followed[-1]

    def conflict(self):
        self.owners.look()
        return self.owners.conflict(self.now)


@pytest.fixture
def graph(monkeypatch):
    return Graph(monkeypatch)


@pytest.fixture
def bound(graph):
    """A driver that has published for long, and then another node."""
    assert graph.run(DRIVER) == {DRIVER}
    graph[ZEROS] = "/joint_state_publisher"
    assert graph.run(DRIVER, ZEROS) == {DRIVER}
    conflict = graph.conflict()
    assert "'/joint_state_publisher' publishes /joint_states and is not followed" in conflict.text
    assert "shoulder, elbow, wrist follow '/driver'" in conflict.text and not conflict.error
    return graph


def test_a_refused_node_is_never_followed_because_the_owner_falls_silent_or_leaves(bound):
    assert bound.run(ZEROS, seconds=60.0) == set()
    conflict = bound.conflict()
    assert conflict.error and "'/driver', which is silent" in conflict.text
    assert "ros2 param set /ns/controller joint_states_publisher /joint_state_publisher" in conflict.text
    del bound[DRIVER]
    assert bound.run(ZEROS, seconds=60.0) == set() and bound.conflict().error
    bound[DRIVER] = "/driver"
    assert bound.run(DRIVER, ZEROS) == {DRIVER} and not bound.conflict().error


@pytest.mark.parametrize("is_shown", [True, False], ids=["still in the graph", "left the graph"])
def test_a_driver_that_is_started_again_is_followed(bound, is_shown):
    if not is_shown:
        del bound[DRIVER]
    bound[AGAIN] = "/driver"
    assert bound.hear(AGAIN, after=0.2) is not is_shown, "one that has left is replaced at once"
    bound.now += SILENT_AFTER
    assert bound.run(AGAIN, ZEROS) == {AGAIN}
    assert bound.run(DRIVER, AGAIN) == {AGAIN}, "the former one comes back beside it"


def test_a_node_of_the_same_name_that_published_beside_the_driver_is_no_new_one(graph):
    graph.run(DRIVER)
    graph[AGAIN] = "/driver"
    assert graph.run(DRIVER, AGAIN) == {DRIVER}
    assert graph.run(AGAIN) == set()
    assert "start this one again" in graph.conflict().text and "participant" in graph.conflict().text
    graph[gid(3, 7)] = "/driver"
    assert graph.run(gid(3, 7)) == set(), "another publisher of the refused node"
    graph[OTHER] = "/driver"
    assert graph.run(OTHER) == {OTHER}, "started again"


def test_a_node_of_another_name_that_appears_in_the_gap_waits_for_a_persons_word(graph):
    graph.run(DRIVER)
    graph.now += LONG
    graph[OTHER] = "/ns/new_driver"
    assert graph.run(OTHER) == set() and graph.conflict().error
    graph.owners.name("new_driver")
    assert graph.run(OTHER) == {OTHER} and graph.conflict() is None
    assert graph.run(DRIVER, OTHER) == {OTHER}
    text, error = graph.conflict()
    assert "does not name it" in text and not error
    graph.owners.name("")
    assert graph.run(DRIVER, OTHER) == {OTHER}


def test_two_nodes_at_the_start_are_an_error_until_one_is_named(graph):
    graph[ZEROS] = "/joint_state_publisher"
    assert graph.hear(DRIVER) and not graph.hear(ZEROS) and graph.hear(DRIVER)
    assert graph.run(DRIVER, ZEROS) == set()
    text, error = graph.conflict()
    assert error and "'/driver' publishes /joint_states" in text and "'/joint_state_publisher' publishes" in text
    assert "since the start, so that neither is followed" in text
    assert graph.run(DRIVER) == set() and graph.run(ZEROS) == set()
    graph.owners.name("/driver")
    assert graph.run(DRIVER, ZEROS) == {DRIVER}


def test_a_node_that_was_there_at_the_start_and_is_heard_late_counts_from_the_start(graph):
    graph[ZEROS] = "/joint_state_publisher"
    graph.run(DRIVER)
    graph.hear(ZEROS)
    graph.hear(DRIVER)
    assert graph.run(DRIVER, ZEROS) == set()


def test_a_commander_that_was_there_at_the_start_and_is_heard_late_is_the_second_one(monkeypatch):
    graph = Graph(monkeypatch, wait_for_present=False)
    graph[ZEROS] = "/joint_state_publisher"
    graph.run(DRIVER)
    assert graph.run(DRIVER, ZEROS) == {DRIVER}


def test_nodes_own_different_joints(graph):
    graph[OTHER], graph[ZEROS] = "/gripper", "/second_gripper"
    for _ in range(100):
        assert graph.hear(DRIVER, np.array([0, 1])) and graph.hear(OTHER, [2])
    assert not graph.hear(ZEROS, [1, 2]), "refused as a whole"
    assert graph.owners.refusals[ZEROS[:12], "/second_gripper"].joints == (1,)
    assert not graph.hear(DRIVER) and graph.hear(DRIVER, [0])
    del graph[OTHER]
    assert not graph.hear(ZEROS, [2]) and not graph.hear(ZEROS, [2], LONG)
    graph[AGAIN] = "/gripper"
    assert graph.hear(AGAIN, [2]) and graph.hear(DRIVER, [0, 1])


def test_publishers_of_a_node_are_one_and_those_of_its_process_are_not(graph):
    graph[gid(1, 1)], graph[gid(1, 2)] = "/driver", "/joint_state_publisher"
    assert graph.run(DRIVER, gid(1, 1)) == {DRIVER, gid(1, 1)}
    assert not graph.hear(gid(1, 2)) and graph.hear(DRIVER) and not graph.hear(gid(1, 2), after=LONG)


def test_a_node_whose_name_comes_late_is_followed_then(graph):
    graph.clear()
    assert graph.run(DRIVER, ZEROS, seconds=0.1) == {DRIVER}
    graph.now += LONG
    assert not graph.hear(AGAIN)
    graph.update({DRIVER: "/driver", AGAIN: "/driver"})
    graph.owners.look()
    assert graph.hear(AGAIN, after=SILENT_AFTER) and graph.run(AGAIN) == {AGAIN}


@pytest.mark.parametrize("joints", [None, [1]], ids=["all joints", "one joint"])
def test_an_owner_whose_name_comes_late_and_that_soon_dies_is_known_when_it_is_back(graph, joints):
    del graph[DRIVER]
    assert graph.hear(DRIVER, joints)
    graph[DRIVER] = "/driver"
    assert graph.hear(DRIVER, joints, 0.11)  # without a look from the other thread
    del graph[DRIVER]
    graph[AGAIN] = "/driver"
    assert graph.hear(AGAIN, joints, 0.2)


def test_a_hand_with_ros2_topic_pub_leaves_the_joints_free_when_it_ends(graph):
    graph[DRIVER], graph[OTHER] = "/_ros2cli_17", "/_ros2cli_18"
    graph.run(DRIVER)
    assert not graph.hear(OTHER, after=LONG), "silent, but not ended"
    del graph[DRIVER]
    graph[AGAIN] = "/controller"
    assert graph.hear(AGAIN, after=1.0) and graph.run(AGAIN, OTHER) == {AGAIN}
    del graph[AGAIN]
    assert not graph.hear(OTHER, after=LONG)


def test_refusals_end_where_the_refused_node_leaves_or_is_to_be_followed(graph):
    graph.run(DRIVER)
    graph[AGAIN], graph[ZEROS] = "/driver", "/zeros"
    assert not graph.hear(AGAIN) and not graph.hear(ZEROS)
    graph.owners.look()
    assert len(graph.owners.refusals) == 2
    del graph[ZEROS]
    graph.owners.look()
    assert [key[1] for key in graph.owners.refusals] == ["/driver"]
    graph.now += SILENT_AFTER
    graph.owners.look()
    assert not graph.owners.refusals, "a commander that was told to wait publishes nothing"


def test_messages_without_a_sender_are_all_followed(graph):
    assert graph.run(b"") == {b""} and graph.hear(b"", [1]) and graph.conflict() is None


@pytest.mark.parametrize("text", ["/arm driver", "/arm,7", "~/driver", "/"])
def test_what_is_no_name_of_a_node_is_refused(text):
    with pytest.raises(InputError, match="expected names of nodes"):
        publisher_field("joint_states_publisher", "joint states").checked(text, "parameter")


def test_the_names_of_several_nodes_have_commas_between_them(graph):
    names = " /driver, gripper "
    assert publisher_field("joint_states_publisher", "joint states").checked(names, "parameter") == names
    graph.owners.name(names)
    graph[OTHER], graph[ZEROS] = "/ns/gripper", "/zeros"
    assert graph.hear(DRIVER, [0, 1]) and graph.hear(OTHER, [2]) and not graph.hear(ZEROS, [0])
