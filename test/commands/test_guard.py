# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.
"""The guard over the commands of a law, beside a law that is a process, and a node that has a manager's services.

controller_manager is not among the wheels; bench/guard.py stands for it, with the types of controller_manager_msgs.
"""

import signal
import sys
import time

import pytest

from bench.guard import Guard, Law, Manager
from robodyn_ros.commands.command_line import main

NAMESPACE = "guarded"


@pytest.fixture
def manager():
    with Manager(NAMESPACE, {"effort_controller": "active", "spare_controller": "inactive"}) as manager:
        yield manager


@pytest.fixture
def guard(tmp_path):
    """Starts a guard; all are killed in the end."""
    started = []

    def start(*words):
        started.append(Guard(NAMESPACE, tmp_path / f"guard{len(started)}", *words))
        return started[-1]

    yield start
    for each in started:
        each.__exit__()


@pytest.mark.parametrize(("words", "timeout", "number"), [
    ((), 0.1, signal.SIGKILL), (("--timeout", "50ms"), 0.05, signal.SIGSTOP)])
def test_a_controller_is_switched_off_once_its_commands_stop(manager, guard, words, timeout, number):
    for _ in range(10):
        manager.requests.clear()
        manager.refusals[:] = ["busy"]
        guarded = guard("effort_controller", *words)
        with Law(NAMESPACE, "effort_controller") as law:
            guarded.wait_until(f"armed: guarding effort_controller/commands for {timeout:g} s")
            begin = time.monotonic()
            while time.monotonic() < begin + 5.0 * timeout and not manager.requests:
                time.sleep(0.01)
            end = time.monotonic()
            law.end(number)
            assert guarded.process.wait(60.0) == 1
        at, request, last = manager.requests[0]
        if at >= max(end, last + timeout):
            break
        # The machine held the law up between reading the clock and publishing, and the guard was right: once more.
    else:
        pytest.fail("in ten of ten rounds the controller was switched off while commands came, or too soon after them")
    output = guarded.output()
    assert (request.deactivate_controllers, request.strictness) == (["effort_controller"], request.BEST_EFFORT)
    assert len(manager.requests) == 2 and "busy; trying again" in output
    assert f"no command on /{NAMESPACE}/effort_controller/commands for {timeout:g} s: switching" in output
    assert "effort_controller: switched off" in output and "Traceback" not in output
    assert "the driver holds the arm" in output, "the joints stand, since the law published their states"


@pytest.mark.long
def test_commands_that_freeze_while_the_arm_moves_have_stopped_too(manager, guard):
    guarded, patient = guard("effort_controller"), guard(
        "spare_controller", "--unchanged", "0", "--topic", "effort_controller/commands")
    with Law(NAMESPACE, "effort_controller") as law:
        guarded.wait_until("armed")
        patient.wait_until("armed")
        assert "'spare_controller' is not active yet" in patient.output()
        law.end(signal.SIGUSR1)
        assert guarded.process.wait(60.0) == 1
        output = guarded.output()
        assert "are the same to the bit for 0.1" in output and "while the arm moves" in output
        assert "the driver does not hold the arm" in output
        assert patient.process.poll() is None and len(manager.requests) == 1
        law.end(signal.SIGKILL)
        assert patient.process.wait(60.0) == 1


def test_a_guard_that_was_held_up_itself_takes_the_commands_that_wait(manager, guard):
    guarded = guard("effort_controller", "--timeout", "3s")  # longer than a busy computer holds up the law
    with Law(NAMESPACE, "effort_controller"):
        guarded.wait_until("armed")
        for _ in range(2):
            guarded.process.send_signal(signal.SIGSTOP)
            time.sleep(4.0)
            begin = manager.last_command
            guarded.process.send_signal(signal.SIGCONT)
            while manager.last_command < begin + 1.0:
                time.sleep(0.01)
        assert guarded.process.poll() is None and not manager.requests, guarded.output()


def test_a_manager_that_refuses_is_asked_five_times(manager, guard):
    manager.refusals += ["no such interface"] * 5
    guarded = guard("effort_controller")
    with Law(NAMESPACE, "effort_controller") as law:
        guarded.wait_until("armed")
        law.end(signal.SIGKILL)
        assert guarded.process.wait(60.0) == 1
    assert "did not switch effort_controller off: no such interface" in guarded.output().splitlines()[-1]
    assert len(manager.requests) == 5


def test_a_controller_that_the_manager_does_not_have_is_refused_at_the_start(manager, guard):
    guarded = guard("efort_controller")
    assert guarded.process.wait(60.0) == 1
    assert "has no controller 'efort_controller': did you mean 'effort_controller'" in guarded.output()


def test_a_manager_that_is_not_there_is_told_before_the_guard_is_armed(monkeypatch, capsys):
    monkeypatch.setattr("robodyn_ros.nodes.client.command_guard.MANAGER_SECONDS", 0.5)
    assert main(["guard", "effort_controller", "--namespace", "nowhere"]) == 1
    printed = capsys.readouterr()
    assert "no node 'controller_manager' within 0.5 s" in printed.err and "armed" not in printed.out


def test_without_ros2_control_the_guard_says_what_to_install(monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "controller_manager_msgs.srv", None)
    assert main(["guard", "effort_controller"]) == 1
    assert "apt install ros-$ROS_DISTRO-controller-manager-msgs" in capsys.readouterr().err


@pytest.mark.parametrize(("words", "message"), [
    (("--timeout", "1ms"), "--timeout: expected 0.02 to 60 s"),
    (("--timeout", "nan"), "--timeout"),
    (("--unchanged", "1ms"), "--unchanged: expected 0.02 to 60 s"),
])
def test_a_time_that_cannot_be_meant_is_refused(words, message, capsys):
    assert main(["guard", "effort_controller", *words]) == 1
    assert message in capsys.readouterr().err
