# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""The control path of a node (joint state in, command out): a thread that waits for one or a few subscriptions.

The thread waits for nothing else, which costs a fraction of a turn of an executor. The thread and the executor share no
lock. Other threads hand over a change by assigning one immutable object to one attribute, or by
:meth:`ControlPath.call`, which runs a function between two ticks.
"""

from __future__ import annotations

import ctypes
import threading
import time
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import ExitStack, suppress
from typing import Any, NamedTuple

from rclpy.impl.implementation_singleton import rclpy_implementation as _rclpy
from rclpy.node import Node
from rclpy.qos import QoSCompatibility, QoSProfile, qos_check_compatible

from robodyn_ros.errors import RobodynError
from robodyn_ros.nodes.common.diagnostics import Diagnostics
from robodyn_ros.nodes.common.topics import STATE_QOS, take_newest, unserved_subscription
from robodyn_ros.timing import to_nanoseconds

FAILED_CYCLES = "failed control cycles"
"""Counter of the exceptions of a control path."""

_PR_SET_TIMERSLACK = 29  # of Linux's <sys/prctl.h>
_REST_AFTER_FAILURE = 0.001  # so that a cycle that fails at once leaves the processor to others [s]


class _Further(NamedTuple):
    """A further subscription of a control path."""

    subscription: Any
    message_type: type[Any]
    topic: str
    handler: Callable[[Any], None]


class ControlPath:
    """A subscription and the thread that waits for it: the control path of a node.

    :meth:`wait` and :meth:`take` return the messages of this subscription. Messages of further topics, see
    :meth:`listen`, go to handlers in the same thread.

    No exception ends the thread: an exception of a cycle is counted and logged, and the next cycle begins.

    Args:
        node: The node that subscribes; :meth:`RobodynNode.add_control_path` starts and stops this path with it.
        diagnostics: The node's diagnostics.
        message_type: Type of the messages.
        topic: Name of the topic.
        cycle: Called with this path again and again while :attr:`active`; it waits with :meth:`wait`.
        qos: Quality of service of the subscription.
        serialized: Return the messages as bytes; see :mod:`robodyn_ros.nodes.common.joint_wire`.
        every: Return every message; otherwise only the newest of those that wait.

    Attributes:
        active: Whether the loop is to go on.
        prepare: Called first on the path's thread, for settings of the thread.
        info: Sequence number, times and publisher of the message taken last, also of a further topic; for the thread
            of the path only.
    """

    def __init__(self, node: Node, diagnostics: Diagnostics, message_type: type[Any], topic: str,
                 cycle: Callable[[ControlPath], None], qos: QoSProfile = STATE_QOS, serialized: bool = False,
                 every: bool = False) -> None:
        self.active = True
        self.prepare: Callable[[], None] = lambda: None
        self.info: dict[str, Any] = {}
        self._node, self._diagnostics, self._cycle, self._serialized = node, diagnostics, cycle, serialized
        self._message_type, self._topic, self._every = message_type, topic, every
        self._calls: deque[tuple[Callable[[], Any], Future[Any]]] = deque()
        self._subscription = unserved_subscription(node, message_type, topic, qos)
        self._further: list[_Further] = []
        assert node.context.handle is not None  # for mypy: a node exists only in an initialized context
        self._handle = self._subscription.handle
        self._wake = _rclpy.GuardCondition(node.context.handle)
        self._rest = threading.Lock()  # held but for a wake
        self._rest.acquire()
        self._wait_set = _rclpy.WaitSet(1, 1, 0, 0, 0, 0, node.context.handle)
        self._thread = threading.Thread(target=self._run, name=f"control path of {topic}", daemon=True)

    def listen(self, message_type: type[Any], topic: str, handler: Callable[[Any], None],
               qos: QoSProfile = STATE_QOS) -> None:
        """Wait for a further topic too; call this before the path starts.

        Args:
            message_type: Type of the messages.
            topic: Name of the topic.
            handler: Called in the path's thread, by :meth:`wait` and :meth:`handle_further`, with each message.
            qos: Quality of service of the subscription.
        """
        subscription = unserved_subscription(self._node, message_type, topic, qos)
        self._further.append(_Further(subscription, message_type, topic, handler))
        self._wait_set = _rclpy.WaitSet(1 + len(self._further), 1, 0, 0, 0, 0, self._node.context.handle)

    def wait(self, timeout: float | None = None) -> Any | None:
        """Wait for the next message of any topic; for the thread of the path only.

        This method also runs functions given to :meth:`call` and handlers of further topics.

        Args:
            timeout: Longest wait [s]; None: no limit.

        Returns:
            The message, or None after the timeout, a message of a further topic, a call, :meth:`wake` or a stop.
        """
        wait_set = self._wait_set
        wait_set.clear_entities()
        wait_set.add_subscription(self._handle)
        for further in self._further:
            wait_set.add_subscription(further.subscription.handle)
        wait_set.add_guard_condition(self._wake)
        wait_set.wait(-1 if timeout is None else to_nanoseconds(timeout))
        if self._calls:
            self._run_calls()
        for place, further in enumerate(self._further, start=1):
            if self._wait_set.is_ready("subscription", place):
                self._handle_all(further)
        return self.take()

    def sleep(self, timeout: float) -> None:
        """Wait as :meth:`wait`, but do not return early for messages, and leave them waiting.

        Args:
            timeout: Longest wait [s].
        """
        self._rest.acquire(timeout=max(timeout, 0.0))  # a wait set would take several times as long
        if self._calls:
            self._run_calls()

    def take(self) -> Any | None:
        """Return a waiting message, if any, without waiting; for the thread of the path only."""
        taken = (self._handle.take_message(self._message_type, True) if self._every
                 else take_newest(self._handle, self._message_type))
        if taken is None:
            return None
        data, self.info = taken
        return data if self._serialized else self._diagnostics.deserialize(data, self._message_type, self._topic)

    def handle_further(self) -> None:
        """Pass the waiting messages of further topics to their handlers; for the thread of the path only."""
        for further in self._further:
            self._handle_all(further)

    def discard(self) -> None:
        """Drop the waiting messages of all topics; for the thread of the path only."""
        take_newest(self._handle, self._message_type)
        for further in self._further:
            take_newest(further.subscription.handle, further.message_type)

    def _handle_all(self, further: _Further) -> None:
        """Pass all waiting messages to the handler; malformed ones go to the diagnostics."""
        while (taken := further.subscription.handle.take_message(further.message_type, True)) is not None:
            data, self.info = taken
            message = self._diagnostics.deserialize(data, further.message_type, further.topic)
            if message is not None:
                further.handler(message)

    def wake(self) -> None:
        """Make a :meth:`wait` or :meth:`sleep` return early; from any thread."""
        self._wake.trigger_guard_condition()
        with suppress(RuntimeError):  # it has been released, and will end the next sleep
            self._rest.release()

    def call(self, function: Callable[[], Any], timeout: float = 5.0) -> Any:
        """Run a function in the path's thread between two waits, and return its result; from any other thread.

        Args:
            function: Called without arguments; has to return quickly.
            timeout: Longest wait for the result [s].

        Raises:
            RobodynError: The path has stopped, or did not run the function in time.
            Exception: Whatever the function raises.
        """
        if not self._thread.is_alive():
            raise RobodynError("the control path has stopped: restart the node")
        result: Future[Any] = Future()
        self._calls.append((function, result))
        self.wake()
        try:
            return result.result(timeout)
        except TimeoutError:
            if result.done():
                raise
            result.cancel()
            raise RobodynError(f"the control path did not answer within {timeout} s: try again") from None

    def unheard_publishers(self) -> str:
        """Return which publishers the path cannot hear because of their quality of service, and why; empty: none."""
        faults = []
        for subscription in (self._subscription, *(further.subscription for further in self._further)):
            topic = subscription.topic_name
            for publisher in self._node.get_publishers_info_by_topic(topic):
                compatibility, reason = qos_check_compatible(publisher.qos_profile, subscription.qos_profile)
                if compatibility == QoSCompatibility.ERROR:
                    faults.append(f"'{publisher.node_name}' publishes {topic}, but is not heard: {reason.strip()}")
        return "; ".join(faults)

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    def stop(self) -> None:
        """End the loop and wait for the thread; further calls do nothing."""
        self.active = False
        if self._thread.is_alive():
            self.wake()
            self._thread.join()

    def _run_calls(self) -> None:
        while self._calls:
            function, result = self._calls.popleft()
            if not result.set_running_or_notify_cancel():
                continue
            try:
                result.set_result(function())
            except Exception as error:  # handed to the caller
                result.set_exception(error)

    def _run(self) -> None:
        _wake_on_time()
        self.prepare()
        with ExitStack() as used:
            for entity in (self._handle, self._wake, self._wait_set,
                           *(further.subscription.handle for further in self._further)):
                used.enter_context(entity)
            while self.active:
                try:
                    self._cycle(self)
                except Exception as error:
                    self._diagnostics.failure(FAILED_CYCLES, error)
                    self._run_calls()  # a cycle that fails before it waits must not keep requests waiting
                    time.sleep(_REST_AFTER_FAILURE)


def _wake_on_time() -> None:
    """Turn off the timer slack of this thread: by default, Linux may end its waits up to 50 us late to save power."""
    with suppress(AttributeError, OSError):
        ctypes.CDLL(None).prctl(_PR_SET_TIMERSLACK, ctypes.c_ulong(1))
