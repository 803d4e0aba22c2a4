# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Decides which node is followed for each joint of a topic: joint states at a controller, commands at the hardware.

The first node that publishes a joint owns it. The owner's silence alone never makes another node followed; docs/
hardware.md, "Two nodes on one robot", has the rules::

    owners = TopicOwners("joint_states", names, "/controller", "joint_states_publisher", graph, silent_after=0.5)
    if owners.admits(gid, now, joints): ...    # for each message, on the thread that takes them
    owners.look()                              # from time to time, on another thread
    owners.conflict(now)                       # what to report
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from math import inf
from threading import Lock
from typing import NamedTuple

from robodyn_ros.base.errors import InputError, shown
from robodyn_ros.base.fields import Field
from robodyn_ros.nodes.common.joint_states import Indices
from robodyn_ros.nodes.common.participants import UNNAMED, describe, participant

AT_START = 1.0
"""Two nodes first heard within this time count as publishing the same joints from the start [s]."""

_LOOK_PERIOD = 0.1  # shortest time between two readings of the graph on the thread that takes messages [s]
_COMMAND_LINE_NODE = re.compile(r".*/_ros2cli_\d+")  # a node of `ros2 topic pub`, named by its process id
_NODE_NAME = re.compile(r"/?[A-Za-z_][A-Za-z0-9_]*(/[A-Za-z_][A-Za-z0-9_]*)*")


@dataclass(eq=False, slots=True)
class Owner:
    """A node that is followed.

    Attributes:
        process: Its participant.
        name: Its full name; empty: not known yet.
        since: When it was bound as the first one at the start [s]; minus infinity: it was bound for another reason.
        heard: When its last message came [s].
        gids: Its publishers.
        disputed: Whether another node published its joints from the start, too; then neither is followed.
    """

    process: bytes
    name: str
    since: float
    heard: float
    gids: set[bytes] = field(default_factory=set)
    disputed: bool = False


@dataclass(eq=False, slots=True)
class Refusal:
    """A node that is not followed.

    Attributes:
        gid: Its publisher.
        name: Full name of the node; empty: not known.
        owner: The followed node; None: the refused node is not named in the parameter.
        joints: Indices of the joints that both publish.
        since: When it was refused first [s].
        heard: When its last message came [s].
    """

    gid: bytes
    name: str
    owner: Owner | None
    joints: tuple[int, ...]
    since: float
    heard: float


class Conflict(NamedTuple):
    """Report about nodes that are not followed.

    Attributes:
        text: Which nodes are followed and not followed, and what to do.
        error: Whether the user must act, because some joints follow no node.
    """

    text: str
    error: bool


def publisher_field(name: str, what: str) -> Field:
    """Return the parameter by which the user names the nodes to follow.

    Args:
        name: Its name.
        what: What the nodes publish.
    """
    return Field(name, "", f"Names of the nodes whose {what} this node follows, with commas between them; empty: the "
                 "first one of each joint", check=_check_names)


def _check_names(text: str) -> None:
    for name in _split(text):
        if not _NODE_NAME.fullmatch(name):
            raise InputError(f"expected names of nodes with commas between them, such as '/arm_driver', received "
                             f"{shown(name)}")


def _split(text: str) -> list[str]:
    return [name for word in text.split(",") if (name := word.strip())]


class TopicOwners:
    """Admits or refuses whole messages by their publisher.

    A joint belongs to the first node that publishes it. Nodes may own different joints. The graph may show the name of
    an owner later than its first messages come; until it does, each message asks again, because a driver that dies
    without a name cannot be told from others when it is back. Other nodes that publish a joint are refused, with three
    exceptions:

    - a node of the same name, if the owner is silent or has left the graph, and the node was not refused while the
    owner still published: a restarted driver;
    - any node after an owner that was `ros2 topic pub` has left, because that cannot return under its name;
    - nodes named by the user.

    If two nodes publish the same joints from the start, neither is followed until the user names one.

    Args:
        topic: Name of the topic, for reports.
        joint_names: The robot's joints.
        node: Full name of this node.
        parameter: Name of its parameter by :func:`publisher_field`, for reports.
        graph: Returns the full names of publishing nodes by GID.
        silent_after: Time without a message after which an owner is silent [s].
        wait_for_present: Whether nodes in the graph at the start count as publishers from the start, however late their
            first message is.
        on_refusal: Called after each refusal with its steady time [s].

    Attributes:
        refusals: Refused nodes still in the graph, by participant and name; replaced as a whole, never changed.
    """

    def __init__(self, topic: str, joint_names: Sequence[str], node: str, parameter: str,
                 graph: Callable[[], Mapping[bytes, str]], silent_after: float, wait_for_present: bool = False,
                 on_refusal: Callable[[float], None] = lambda now: None) -> None:
        self._topic, self._joint_names, self._node, self._parameter = topic, list(joint_names), node, parameter
        self._graph, self._silent_after, self._wait_for_present = graph, silent_after, wait_for_present
        self._on_refusal = on_refusal
        self._all = range(len(self._joint_names))
        self._owners: list[Owner | None] = [None] * len(self._joint_names)
        self._nodes: dict[bytes, Owner] = {}  # owners by their publishers
        self._gid_of_all: bytes | None = None  # a publisher of the owner of all joints
        self._owner_of_all = Owner(b"", "", -inf, -inf)
        self._named: frozenset[str] = frozenset()
        self._names: Mapping[bytes, str] = {}
        self._present: frozenset[bytes] = frozenset()  # publishers at the start
        self._next_look = -inf
        self._lock = Lock()  # not taken for the messages of owners
        self.refusals: dict[tuple[bytes, str], Refusal] = {}

    def admits(self, gid: bytes, now: float, joints: Sequence[int] | Indices | None = None) -> bool:
        """Return whether a message may be followed; if so, its node owns its joints.

        Args:
            gid: Publisher of the message; empty: unknown, and the same for all.
            now: Steady time of its arrival [s].
            joints: Indices of the joints in the message; None: all.
        """
        if gid == self._gid_of_all:
            self._owner_of_all.heard = now
            return True
        columns = self._all if joints is None else [int(joint) for joint in joints]
        owner = self._nodes.get(gid)
        if owner is not None and owner.name and not owner.disputed and all(self._owners[column] is owner
                                                                           for column in columns):
            owner.heard = now
            return True
        with self._lock:
            admitted = self._claim(gid, now, columns)
        if not admitted:
            self._on_refusal(now)
        return admitted

    def follows(self, process: bytes) -> bool:
        """Return whether any joint follows a node of this participant; True for an unknown participant."""
        return not process or any(owner is not None and owner.process == process for owner in self._owners)

    def name(self, names: str) -> None:
        """Follow only nodes of these names from now on, as the user says.

        Args:
            names: Names separated by commas, full or relative to the namespace of this node; empty: any.
        """
        namespace = self._node.rpartition("/")[0]
        named = frozenset(name if name.startswith("/") else f"{namespace}/{name}" for name in _split(names))
        now = time.monotonic()
        with self._lock:
            self._named = named
            if named:
                self._read_graph(now)
                self._gid_of_all, self.refusals = None, {}
                self._owners = [owner if owner is not None and not owner.disputed and owner.name in named
                                and not self._is_gone(owner, now) else None for owner in self._owners]
            for owner in self._owners:
                if owner is not None and not owner.disputed:
                    owner.since = -inf  # named by the user, not only the first one
            self._forget_former_owners()

    def look(self) -> None:
        """Learn the names of owners; forget refused nodes that have left or may now be followed."""
        if not self.refusals and all(owner is None or owner.name or not owner.gids for owner in self._owners):
            return
        now = time.monotonic()
        with self._lock:
            self._read_graph(now)
            for refusal in self.refusals.values():
                refusal.name = refusal.name or self._names.get(refusal.gid, "")
            self.refusals = {(participant(refusal.gid), refusal.name): refusal for refusal in self.refusals.values()
                             if refusal.gid in self._names and not self._may_follow(refusal, now)}

    def conflict(self, now: float) -> Conflict | None:
        """Return what to report at a steady time [s]; None: nothing."""
        refusals = list(self.refusals.values())
        error = any((owner := self._owners[column]) is None or owner.disputed or self._is_gone(owner, now)
                    for each in refusals for column in each.joints)
        texts = dict.fromkeys(f"{self._described(each.gid, each.name)} publishes {self._topic} and is not followed: "
                              f"{self.reason(each, now)}" for each in refusals)
        return Conflict("; ".join(texts), error) if texts else None

    def reason(self, refusal: Refusal, now: float) -> str:
        """Return why a node is not followed, and what to do."""
        joints, owner = ", ".join(self._joint_names[column] for column in refusal.joints), refusal.owner
        remedy = f"to have this node follow it: ros2 param set {self._node} {self._parameter} {refusal.name or 'NAME'}"
        if owner is None:
            return f"{self._parameter} does not name it; {remedy}"
        if owner.disputed:
            others = [self._described(next(iter(owner.gids)), owner.name) if refusal.gid not in owner.gids else
                      self._described(each.gid, each.name) for each in self.refusals.values()
                      if each.owner is owner and each is not refusal]
            return (f"{' and '.join(dict.fromkeys(others)) or 'another node'} publishes {joints} too, since the start, "
                    f"so that neither is followed; {remedy}")
        followed = self._described(next(iter(owner.gids)), owner.name)
        if self._is_gone(owner, now):
            again = "; start this one again" if refusal.name == owner.name else ""
            return (f"{joints} follow {followed}, which is silent; it, or a new node of its name, is followed as soon "
                    f"as it is back, but no node that published beside it{again}; {remedy}")
        return f"{joints} follow {followed}; end one of the two, or give it another namespace; {remedy}"

    def _claim(self, gid: bytes, now: float, columns: Sequence[int]) -> bool:
        """Bind joints to the sender of a message, if allowed."""
        name = self._name(gid, now)
        if self._named and name not in self._named:
            return self._refuse(gid, name, None, columns, now)
        node = self._owner_of(gid, name)
        refusal = self._refusal(gid, name)
        others = dict.fromkeys(owner for column in columns if (owner := self._owners[column]) not in (None, node))
        for other in filter(None, others):
            if not self._succeeds(name, other, refusal, now):
                return self._refuse(gid, name, other, columns, now)
        if node is None:
            if self._wait_for_present and not any(self._owners):
                self._read_graph(now)
                self._present = frozenset(self._names)
            node = Owner(participant(gid), name, -inf if others else now, now)
        elif node.disputed:
            return self._refuse(gid, name, node, columns, now)
        node.gids.add(gid)
        node.heard = now
        for column in columns:
            self._owners[column] = node
        self._nodes[gid] = node
        self._gid_of_all = None
        if all(owner is node for owner in self._owners) and (node.name or not gid):
            self._owner_of_all = node
            self._gid_of_all = gid
        self._forget_former_owners()
        self.refusals = {key: each for key, each in self.refusals.items() if each is not refusal}
        return True

    def _refuse(self, gid: bytes, name: str, owner: Owner | None, columns: Iterable[int], now: float) -> bool:
        joints = tuple(column for column in columns if owner is None or self._owners[column] is owner)
        refusal = self._refusal(gid, name)
        if refusal is None or refusal.name != name:
            since = now if refusal is None else refusal.since
            refusal = Refusal(gid, name, owner, joints, since, now)
            self.refusals = {**{key: each for key, each in self.refusals.items() if key != (participant(gid), "")},
                             (participant(gid), name): refusal}
        refusal.gid, refusal.owner, refusal.joints, refusal.heard = gid, owner, joints, now
        if owner is not None and owner.heard > refusal.since and owner.since > -inf and (
                gid in self._present or refusal.since - owner.since < AT_START):
            owner.disputed = True
            if self._owner_of_all is owner:
                self._gid_of_all = None
        return False

    def _succeeds(self, name: str, owner: Owner, refusal: Refusal | None, now: float) -> bool:
        """Return whether a node of this name may replace an owner."""
        if owner.disputed or not name or not owner.name or (refusal is not None and owner.heard > refusal.since):
            return False
        if name == owner.name:
            return now - owner.heard >= self._silent_after or self._has_left(owner, now)
        return _COMMAND_LINE_NODE.fullmatch(owner.name) is not None and self._has_left(owner, now)

    def _may_follow(self, refusal: Refusal, now: float) -> bool:
        """Return whether a refused node may be followed now; the lock is held."""
        return refusal.owner is not None and all(
            (owner := self._owners[column]) is None or self._succeeds(refusal.name, owner, refusal, now)
            for column in refusal.joints)

    def _is_gone(self, owner: Owner, now: float) -> bool:
        """Return whether an owner is silent or has left."""
        return now - owner.heard >= self._silent_after or (bool(owner.name) and owner.gids.isdisjoint(self._names))

    def _has_left(self, owner: Owner, now: float) -> bool:
        if owner.gids.isdisjoint(self._names):
            return True
        if now >= self._next_look:
            self._read_graph(now)
        return owner.gids.isdisjoint(self._names)

    def _owner_of(self, gid: bytes, name: str) -> Owner | None:
        """Return the owner to which a publisher belongs: the same node of the same process."""
        if (node := self._nodes.get(gid)) is not None:
            return node
        return next((owner for owner in self._owners if owner is not None and name and owner.name == name
                     and owner.process == participant(gid)), None)

    def _refusal(self, gid: bytes, name: str) -> Refusal | None:
        process = participant(gid)
        return self.refusals.get((process, name)) or self.refusals.get((process, ""))

    def _name(self, gid: bytes, now: float) -> str:
        """Return the node name of a publisher; empty: the graph does not show it yet."""
        if gid not in self._names and now >= self._next_look:
            self._read_graph(now)
        return self._names.get(gid, "")

    def _read_graph(self, now: float) -> None:
        """Read the graph."""
        self._next_look = now + _LOOK_PERIOD
        self._names = {gid: name for gid, name in self._graph().items() if not name.endswith(UNNAMED)}
        for owner in self._owners:
            if owner is not None and not owner.name:
                owner.name = next((self._names[gid] for gid in owner.gids if gid in self._names), "")

    def _forget_former_owners(self) -> None:
        self._nodes = {gid: node for gid, node in self._nodes.items() if node in self._owners}

    def _described(self, gid: bytes, name: str) -> str:
        return describe({**self._names, gid: name} if name else self._names, gid)
