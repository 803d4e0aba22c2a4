# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""No plugin ends a node or blocks it, wherever it raises or blocks."""

import itertools
import re
import signal
import subprocess
import sys
import time
from contextlib import contextmanager

import pytest
from controller_rig import SLOW, Rig
from ros_process import DEADLINE, RosProcess
from shipped import few

from robodyn_ros.nodes.common.signals import EXIT_CLOSED

NAME = "hostile_plugins:Hostile"
RAISE = ("interrupt", "exit", "generator", "base", "odd", "recurse")
BLOCK = ("loop", "stubborn", "sleep")


@pytest.fixture
def notes(tmp_path, monkeypatch):
    """File into which the controllers of new processes write what is done to them."""
    monkeypatch.setenv("HOSTILE_NOTES", str(tmp_path / "notes"))
    return lambda: (tmp_path / "notes").read_text().split()[1:] if (tmp_path / "notes").exists() else None


@pytest.fixture(scope="module")
def rig(ros):
    with Rig(ros, "planar_2r", "/hostile", hardware=SLOW, controller={"controller": "pd_gravity"}) as rig:
        for name in (NAME, "hostile_plugins:HostileLaw", "pd_gravity"):
            rig.set(controller=name)  # whose parameters there are from then on
        yield rig


@pytest.fixture
def hostile_rig(rig):
    """In which a sound law can be put in force afterwards."""
    yield rig
    rig.set(controller="pd_gravity")
    rig.next("a sound law", lambda state: state.controller == "pd_gravity")


@contextmanager
def impatient(rig):
    """Meanwhile swaps are refused soon; sound laws may take longer on a busy machine."""
    rig.set(swap_timeout=0.5)
    yield
    rig.set(swap_timeout=15.0)


def hostile(how, where, name="Hostile"):
    """Values of parameters that put a hostile controller in force."""
    return {f"{name}.how": how, f"{name}.where": where}


@pytest.mark.parametrize(("where", "how"), [
    *itertools.product(("init", "trial", "hook"), ("sleep", "exit", "odd")), ("init", "interrupt"),
    ("init", "recurse")])
def test_it_is_refused_before_it_is_in_force(hostile_rig, where, how):
    with impatient(hostile_rig):
        reason = hostile_rig.refuse(controller=NAME, **hostile(how, where))
    assert "controller 'hostile_plugins:Hostile'" in reason and "hostile_plugins.py, line " in reason
    assert how != "sleep" or "did not return within 0.5 s" in reason


@pytest.mark.parametrize("how", BLOCK)
def test_a_law_that_blocks_while_it_is_traced_is_refused(hostile_rig, how):
    name = "hostile_plugins:HostileLaw"
    hostile_rig.set(controller=name)
    with impatient(hostile_rig):
        reason = hostile_rig.refuse(**{"HostileLaw.how": how})
    assert "did not return within 0.5 s" in reason and "hostile_plugins.py, line " in reason
    assert hostile_rig.next().controller == name


@pytest.mark.parametrize(("where", "how"), [
    *(("update", how) for how in (*RAISE, *BLOCK)), ("activate", "exit"), ("activate", "loop"), ("activate", "sleep")])
def test_the_safe_law_takes_over(hostile_rig, where, how):
    hostile_rig.set(controller=NAME, **hostile("", ""))
    hostile_rig.next("the law", lambda state: state.controller == NAME)
    if where == "activate":
        hostile_rig.set(controller="pd_gravity")
        hostile_rig.ros.set_parameters("/hostile/controller", {"controller": NAME, **hostile(how, where)})
    else:
        hostile_rig.set(**hostile(how, where))
    seen = len(hostile_rig.diagnostics)
    hostile_rig.next("the safe law", lambda state: state.controller == "damping")
    told = f"controller '{NAME}' was dropped, 'damping' took over: "
    told += "it did not return within 0.25 s: it stands in" if how in BLOCK else ""
    hostile_rig.ros.wait_for(lambda: any(told in status.message for message in hostile_rig.diagnostics[seen:]
                                         for status in message.status), told)
    hostile_rig.set(**hostile("", ""))


@pytest.mark.parametrize("how", ["odd", "sleep"])
@pytest.mark.parametrize("where", ["deactivate", "del"])
def test_its_end_holds_up_nobody(hostile_rig, where, how):
    hostile_rig.set(controller=NAME, **hostile("", ""))
    hostile_rig.set(**hostile(how, where))
    hostile_rig.set(controller="pd_gravity")
    hostile_rig.next("the next law", lambda state: state.controller == "pd_gravity")
    hostile_rig.set(**hostile("", ""))


def test_what_it_opened_is_closed_at_a_swap_and_at_the_end(ros, notes):
    name = "hostile_plugins:Opens"
    with Rig(ros, "planar_2r", "/opening", hardware=SLOW, controller={"controller": name}) as rig:
        rig.next("the law", lambda state: state.controller == name)
        opened = ["init", "activate", "activate"]  # one of them in the trial
        assert notes() == opened
        rig.set(controller="pd_gravity")
        ros.wait_for(lambda: notes() == [*opened, "deactivate"], "the end of the law")
        rig.set(controller=name)
        rig.nodes["controller"].stop()
        assert notes() == 2 * [*opened, "deactivate"]


@pytest.mark.parametrize("how", few(["sleep", "odd", "interrupt"], 2))
def test_an_import_that_fails_or_blocks_is_refused(ros, how, monkeypatch):
    monkeypatch.setenv("HOSTILE_IMPORT", how)
    with RosProcess("controller", {"robot": "planar_2r"}, "/importing") as node:
        assert ros.set_parameters("/importing/controller", {"swap_timeout": 0.5}).successful
        result = ros.set_parameters("/importing/controller", {"controller": NAME})
        assert ros.set_parameters("/importing/controller", {"swap_timeout": 15.0}).successful
        assert not result.successful and "hostile_plugins.py, line " in result.reason
        assert ros.set_parameters("/importing/controller", {"controller": "computed_torque"}).successful
        node.stop()


@pytest.mark.parametrize("how", ["sleep"])
def test_an_import_that_blocks_at_the_start_ends_with_one_line(how, monkeypatch):
    monkeypatch.setenv("HOSTILE_IMPORT", how)
    with RosProcess("controller", {"robot": "planar_2r", "controller": NAME, "swap_timeout": 1.0}) as node:
        assert node.wait() == 2
        assert "cannot be imported: it did not return within 1 s: it stands in" in node.output()


def test_a_signal_ends_a_node_that_waits_for_an_import(monkeypatch, notes):
    monkeypatch.setenv("HOSTILE_IMPORT", "sleep")
    with RosProcess("controller", {"robot": "planar_2r", "controller": NAME, "swap_timeout": 3600.0}) as node:
        end = time.monotonic() + DEADLINE
        while notes() is None:
            assert time.monotonic() < end, node.output()
            time.sleep(0.02)
        node.stop(signal.SIGTERM)


@pytest.mark.parametrize(("name", "how"), few([
    ("Hostile", "stubborn"), ("Hostile", "sleep"), ("LeavesAThread", "")], 1))
def test_a_signal_ends_the_node_in_time(ros, name, how):
    settings = {"controller": {"controller": f"hostile_plugins:{name}", f"{name}.how": how, f"{name}.where": "update"},
                "hardware": SLOW}
    with Rig(ros, "planar_2r", "/ending", **settings) as rig:
        node = rig.nodes["controller"]
        if how:
            rig.next("the safe law", lambda state: state.controller == "damping")
        node.stop(signal.SIGTERM)


def test_closed_descriptors_end_the_node_as_a_failure(ros):
    """It could neither hear nor say anything any more; who started it can start it again."""
    settings = {"controller": {"controller": NAME, "Hostile.how": "close", "Hostile.where": "update"}, "hardware": SLOW}
    with Rig(ros, "planar_2r", "/closing", **settings) as rig:
        node = rig.nodes["controller"]
        assert node.wait() == EXIT_CLOSED
        assert "robodyn: error: the file descriptors of this process were closed" in node.output()


def test_a_signal_ends_a_simulation_whose_interpreter_is_held(notes):
    """The law holds the interpreter: nothing of the process runs, and its supervisor kills it."""
    given = ["--ros-args", "-p", "robot:=planar_2r", "-p", f"controller:={NAME}", "-p", "Hostile.how:=hold"]
    process = subprocess.Popen([sys.executable, "-m", "robodyn_ros", "simulate", *given], stderr=subprocess.PIPE,
                               text=True)
    try:
        end = time.monotonic() + DEADLINE
        while notes() != ["hold"]:
            assert time.monotonic() < end and process.poll() is None
            time.sleep(0.02)
        process.send_signal(signal.SIGTERM)
        _, errors = process.communicate(timeout=DEADLINE)
        assert process.returncode == 128 + signal.SIGABRT
        assert "robodyn: the nodes did not end within 2 s and were killed" in errors
        assert re.search(r'File ".*hostile_plugins.py", line \d+ in ', errors), errors  # where its threads were
    finally:
        process.kill()
        process.wait()
