# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Private parts of CPython's threads and imports, used to leave a thread behind that does not return.

| part | why the public interface does not do | in a release without it |
| --- | --- | --- |
| `sys._current_frames` | nothing else says where a thread is | messages do not name the line |
| `PyThreadState_SetAsyncExc` | Python cannot stop a thread | the thread runs on, and its result is dropped |
| `importlib._bootstrap._module_locks` | an import that hangs keeps its lock for good | its next import hangs, too |
"""

from __future__ import annotations

import ctypes
import sys
import threading
from collections.abc import Mapping
from types import FrameType
from typing import Any


def frame_of(thread: threading.Thread) -> FrameType | None:
    """Return what a thread executes; None: nothing, or it is unknown."""
    frames: dict[int, FrameType] = getattr(sys, "_current_frames", dict)()
    return frames.get(thread.ident or 0)


def raise_in(identifier: int, exception: type[BaseException]) -> None:
    """Raise an exception in a thread at its next line of Python code.

    Args:
        identifier: ``ident`` of the thread.
        exception: The exception.
    """
    if (set_exception := getattr(ctypes.pythonapi, "PyThreadState_SetAsyncExc", None)) is not None:
        set_exception(ctypes.c_ulong(identifier), ctypes.py_object(exception))


def release_imports(thread: threading.Thread, before: Mapping[str, Any]) -> None:
    """Release the import locks of a thread that was left behind, and restore modules that it had replaced.

    Args:
        thread: The thread.
        before: ``sys.modules`` before it began.
    """
    locks = getattr(getattr(sys.modules.get("importlib"), "_bootstrap", None), "_module_locks", {})
    for name, reference in list(locks.items()):
        if getattr(reference(), "owner", None) == thread.ident:
            locks.pop(name, None)
            sys.modules.pop(name, None)
    for name in before.keys() - sys.modules.keys():
        sys.modules[name] = before[name]
