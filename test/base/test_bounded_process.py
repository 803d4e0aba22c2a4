# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Calls in a process with bounded memory and time: exceeding them ends only that process."""

import importlib
import os
import resource
import time
from contextlib import closing

import pytest

from robodyn_ros.base.bounded_process import BoundedProcess, BoundsError, call_bounded
from robodyn_ros.base.checks import ANY_FINITE, as_number
from robodyn_ros.base.errors import InputError

BOUNDS = {"memory": 100 * 2**20, "seconds": 2}


@pytest.fixture(scope="module")
def process():
    with closing(BoundedProcess()) as found:
        yield found


def test_results_and_errors_come_back(process):
    assert process.call(divmod, 7, 3, **BOUNDS) == (2, 1)
    assert process.call(os.getpid, **BOUNDS) != os.getpid()
    with pytest.raises(InputError, match="q: expected a finite number"):
        process.call(as_number, "x", ANY_FINITE, "q", **BOUNDS)
    with pytest.raises(FileNotFoundError):
        process.call(os.stat, "/nowhere", **BOUNDS)


@pytest.mark.parametrize(("function", "arguments"), [(bytes, (2**30,)), (exec, ("while True: pass",)), (os.abort, ()),
                                                     (sum, (range(10**12),)), (os._exit, (0,))])
def test_what_exceeds_the_bounds_is_left(process, function, arguments):
    with pytest.raises(BoundsError):
        process.call(function, *arguments, **BOUNDS)
    assert process.call(divmod, 7, 3, **BOUNDS) == (2, 1), "the next call begins anew"


def test_a_deadline_ends_a_call(process):
    with pytest.raises(BoundsError):
        process.call(time.sleep, 60.0, **BOUNDS, deadline=time.monotonic() + 0.1)


def test_a_forked_process_has_its_own():
    first = call_bounded(os.getpid, **BOUNDS)
    reader, writer = os.pipe()
    if (child := os.fork()) == 0:
        os.write(writer, str(call_bounded(os.getpid, **BOUNDS)).encode())
        os._exit(0)
    os.waitpid(child, 0)
    assert int(os.read(reader, 100)) != first == call_bounded(os.getpid, **BOUNDS)


@pytest.mark.parametrize("busy", ["memory = bytes(400 * 2**20)", "import time\nwhile time.process_time() < 2.5: pass"])
def test_the_bounds_of_a_call_do_not_hold_for_the_import_of_the_next_function(monkeypatch, tmp_path, busy):
    """A library such as pyarrow takes more memory than a small file may."""
    (tmp_path / "heavy_module.py").write_text(f"{busy}\n\n\ndef answer():\n    return 42\n")
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")]))
    monkeypatch.syspath_prepend(tmp_path)
    with closing(BoundedProcess()) as process:
        assert process.call(divmod, 7, 3, memory=2**20, seconds=1) == (2, 1)
        assert process.call(importlib.import_module("heavy_module").answer, memory=2**20, seconds=1) == 42


@pytest.mark.parametrize("kind", [resource.RLIMIT_AS, resource.RLIMIT_CPU])
def test_it_keeps_within_limits_of_the_shell(process, kind):
    """Batch systems, `ulimit -v` and `ulimit -t` set limits that a process cannot raise."""
    before = resource.getrlimit(kind)
    pid = process.call(os.getpid, **BOUNDS)
    resource.prlimit(pid, kind, (10**10, 10**10))
    assert process.call(resource.getrlimit, kind, **BOUNDS)[1] == 10**10
    assert resource.getrlimit(kind) == before
    process.close()
