# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Runs plugin code on threads that can be abandoned, because Python cannot stop a thread.

A thread that does not return from a plugin in time is left behind: the program continues without it and discards its
late result. `Abandoned` ends it if it runs Python code; a thread that sleeps or runs C code stays until it returns.
"""

from __future__ import annotations

import os
import sys
import threading
import time
import weakref
from collections.abc import Callable
from contextlib import suppress
from typing import Any, TypeVar

from robodyn_ros.base.errors import PluginError, RobodynError
from robodyn_ros.base.interpreter import frame_of, raise_in, release_imports
from robodyn_ros.base.timing import scheduling_of
from robodyn_ros.control.plugins.plugin_errors import detached, place_of, plugin_error

LOOK_PERIOD = 0.05
"""Time between two checks of a thread [s]."""

ACTIVE_SHARE = 0.1
"""A thread that computes or waits for a processor for this share of a check period is not blocked."""

LATE_SHARE = 0.25
"""Share of a check period that counts for a blocked thread if the check came late, as on a busy computer."""

_RELEASE_SECONDS = 1.0
"""Time for which a replaced plugin is referenced, so that no other thread destroys it [s]."""

_Result = TypeVar("_Result")

_left_behind = weakref.WeakSet[threading.Thread]()


class Abandoned(BaseException):
    """Raised in an abandoned thread."""


class _EndOfSearch(BaseException):
    """Raised in the thread that abandons another one."""


class ThreadWatch:
    """Measures for how long a thread has computed or been blocked, without its waits for a processor.

    Computing is measured by the thread's processor time. A thread is blocked if it neither computes nor waits for a
    processor between two checks: it sleeps, or waits for a lock or a device. A thread that waits for the GIL takes
    turns and computes a little, or delays the checks themselves.

    Args:
        thread: A running thread.
    """

    def __init__(self, thread: threading.Thread) -> None:
        self._task = thread.native_id or 0
        self._counted, self._seen, self._at = 0.0, scheduling_of(self._task), time.monotonic()

    def look(self) -> float:
        """Return the time measured so far [s]; call this every `LOOK_PERIOD`."""
        before, self._seen = self._seen, scheduling_of(self._task)
        begin, self._at = self._at, time.monotonic()
        computed, waited = self._seen.computed - before.computed, self._seen.waited - before.waited
        if computed + waited < ACTIVE_SHARE * LOOK_PERIOD:
            in_time = self._at - begin < 2.0 * LOOK_PERIOD
            self._counted += LOOK_PERIOD if in_time else LATE_SHARE * LOOK_PERIOD
        else:
            self._counted += computed
        return self._counted


def run_bounded(what: str, seconds: float, is_stopped: Callable[[], bool], function: Callable[..., _Result],
                *arguments: Any) -> _Result:
    """Run plugin code on its own thread, and wait for it.

    Args:
        what: What it does, for messages, such as ``controller 'spring' cannot be imported``.
        seconds: Longest time [s], by a `ThreadWatch`.
        is_stopped: Whether to wait no longer.
        function: The code.
        *arguments: Its arguments.

    Raises:
        RobodynError: The code raised, did not return in time, or `is_stopped`. The error refers to no plugin object;
            the traceback is attached as a note.
    """
    results: list[_Result] = []
    failures: list[RobodynError] = []

    def run() -> None:
        try:
            results.append(function(*arguments))
        except BaseException as error:
            failures.append(detached(error if isinstance(error, RobodynError) else plugin_error(what, error)))

    thread = threading.Thread(target=run, name=what, daemon=True)
    modules = dict(sys.modules)
    thread.start()
    watch = ThreadWatch(thread)
    while thread.is_alive():
        thread.join(LOOK_PERIOD)
        if not thread.is_alive():
            break
        late = watch.look() > seconds
        if late or is_stopped():
            place = plugin_location(thread)
            leave_behind(thread)
            release_imports(thread, modules)
            raise PluginError(f"{what}: it did not return within {seconds:g} s{place}" if late else
                              f"{what}: stopped before it returned{place}")
    for failure in failures:
        raise failure
    return results[0]


def plugin_location(thread: threading.Thread) -> str:
    """Return the plugin line that a thread executes, as the end of a sentence; empty: it executes none."""
    place = place_of(frame_of(thread))
    return place and f": it stands in {place}"


def leave_behind(thread: threading.Thread) -> None:
    """End a thread's real-time priority, and the thread at its next line of Python code, unless that catches all."""
    _left_behind.add(thread)
    raise_in(thread.ident or 0, Abandoned)
    # Until a thread takes its exception, Python 3.11 checks for one at each call and loop turn of all threads, and a
    # traced function never gets beyond its first instruction. This thread takes one, which ends the check; the
    # abandoned thread finds its own the next time that threads take turns.
    with suppress(_EndOfSearch):
        raise_in(threading.get_ident(), _EndOfSearch)
    with suppress(AttributeError, OSError):
        os.sched_setscheduler(thread.native_id or 0, os.SCHED_OTHER, os.sched_param(0))


def some_left_behind() -> bool:
    """Return whether an abandoned thread still runs; Python may crash if it ends meanwhile."""
    return any(thread.is_alive() for thread in _left_behind)


def is_left_behind() -> bool:
    """Return whether the calling thread was abandoned, so that nobody waits for its result."""
    return threading.current_thread() in _left_behind


def end(name: str, deactivate: Callable[[], None], on_failure: Callable[[str], None]) -> threading.Event:
    """Deactivate a replaced controller on its own thread, which also holds the last reference to it.

    Args:
        name: Name of the controller, for messages.
        deactivate: Its method.
        on_failure: Called on that thread with the reason if the method raises.

    Returns:
        An event, set when the method has returned.
    """
    done = threading.Event()

    def run(held: list[Callable[[], None]]) -> None:
        try:
            held[0]()
        except BaseException as error:
            on_failure(str(plugin_error(f"controller '{name}' fails to deactivate", error)))
        done.set()
        time.sleep(_RELEASE_SECONDS)
        held.clear()

    threading.Thread(target=run, args=([deactivate],), name=f"end of controller '{name}'", daemon=True).start()
    return done
