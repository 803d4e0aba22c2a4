# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""A thread of a node besides its executor, which repeats one function and survives exceptions."""

from __future__ import annotations

import ctypes
import threading
import time
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import suppress
from typing import Any

from robodyn_ros.base.errors import RobodynError
from robodyn_ros.control.plugins.plugin_threads import Abandoned, leave_behind
from robodyn_ros.nodes.common.diagnostics import Diagnostics

FAILED_CYCLES = "failed control cycles"
"""Counter of the exceptions of a thread."""

STOP_SECONDS = 0.5
"""Longest wait for a thread to stop [s]; then it is abandoned."""

_PR_SET_TIMERSLACK = 29  # of Linux's <sys/prctl.h>
_REST_AFTER_FAILURE = 0.001  # so that a cycle that fails immediately does not occupy a processor [s]


class NodeThread:
    """A thread that repeats a cycle; :meth:`RobodynNode.add_thread` starts and stops it with its node.

    The thread and the executor share no lock. Other threads pass a change by assigning one immutable object to one
    attribute, or by :meth:`call`, which runs a function between two waits.

    An exception of a cycle is counted and logged, and the next cycle begins. :meth:`replace` abandons a thread that is
    stuck in plugin code, and continues with a new one.

    Args:
        name: Name of the thread, also for messages.
        diagnostics: The node's diagnostics.
        cycle: Called again and again while :attr:`active`; it waits with :meth:`sleep`.

    Attributes:
        active: Whether the loop continues.
        prepare: Called first on the thread, for its settings.
    """

    def __init__(self, name: str, diagnostics: Diagnostics, cycle: Callable[[], None]) -> None:
        self.active = True
        self.prepare: Callable[[], None] = lambda: None
        self._diagnostics, self._cycle = diagnostics, cycle
        self._calls: deque[tuple[Callable[[], Any], Future[Any]]] = deque()
        self._rest = threading.Lock()  # always held, except after a wake
        self._rest.acquire()
        self._first: Callable[[], None] = lambda: None
        self._called: Future[Any] | None = None  # of the current call
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)

    @property
    def thread(self) -> threading.Thread:
        """The thread."""
        return self._thread

    def sleep(self, timeout: float) -> None:
        """Wait until a timeout or :meth:`wake`; for this thread only.

        This method also runs functions given to :meth:`call`.

        Args:
            timeout: Longest wait [s].
        """
        self._rest.acquire(timeout=max(timeout, 0.0))  # a wait set would cost several times as much
        self._run_calls()

    def wake(self) -> None:
        """Make a :meth:`sleep` return early; from any thread."""
        with suppress(RuntimeError):  # already released: the next sleep ends at once
            self._rest.release()

    def call(self, function: Callable[[], Any], timeout: float = 5.0) -> Any:
        """Run a function in this thread between two waits, and return its result; from any other thread.

        Args:
            function: Called without arguments; must return quickly.
            timeout: Longest wait for the result [s].

        Raises:
            RobodynError: The thread has stopped, or did not run the function in time.
            Exception: Whatever the function raises.
        """
        if not self._thread.is_alive():
            raise RobodynError(f"the {self._thread.name} has stopped: restart the node")
        result: Future[Any] = Future()
        self._calls.append((function, result))
        self.wake()
        try:
            return result.result(timeout)
        except TimeoutError:
            if result.done():
                raise
            result.cancel()
            raise RobodynError(f"the {self._thread.name} did not answer within {timeout} s: try again") from None

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    def stop(self) -> None:
        """End the loop and wait for the thread; further calls do nothing."""
        self.active = False
        if self._thread.is_alive():
            self.wake()
            self._thread.join(STOP_SECONDS)
            if self._thread.is_alive():
                leave_behind(self._thread)

    def replace(self, first: Callable[[], None], why: RobodynError) -> None:
        """Abandon the thread and continue with a new one; from any other thread.

        Args:
            first: Called first on the new thread.
            why: Error for callers whose call is not finished.
        """
        stuck, called = self._thread, self._called
        self._first = first
        self._thread = threading.Thread(target=self._run, name=stuck.name, daemon=True)
        self._thread.start()
        leave_behind(stuck)
        if called is not None:
            called.set_exception(why)

    def _run_calls(self) -> None:
        while self._calls:
            function, result = self._calls.popleft()
            if not result.set_running_or_notify_cancel():
                continue
            self._called = result
            try:
                value, error = function(), None
            except Abandoned:
                raise
            except BaseException as raised:  # handed to the caller
                value, error = None, raised
            self._called = None
            if error is None:
                result.set_result(value)
            else:
                result.set_exception(error)

    def _run(self) -> None:
        _wake_on_time()
        self.prepare()
        step = self._first
        while self.active and self._thread is threading.current_thread():
            try:
                step()
                step = self._cycle
            except Abandoned:
                return
            except BaseException as error:
                step = self._cycle
                self._diagnostics.failure(FAILED_CYCLES, error)
                self._run_calls()  # also if a cycle fails before it waits
                time.sleep(_REST_AFTER_FAILURE)


def _wake_on_time() -> None:
    """Turn off this thread's timer slack, by which Linux may end waits up to 50 us late to save power."""
    with suppress(AttributeError, OSError):
        ctypes.CDLL(None).prctl(_PR_SET_TIMERSLACK, ctypes.c_ulong(1))
