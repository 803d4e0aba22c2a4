# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Controllers that raise or block wherever their code runs, for the tests of the controller node.

The module does at import what the environment variable HOSTILE_IMPORT says. HOSTILE_NOTES names a file for notes.
"""

import os
import threading
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from robodyn_ros.control import Controller, Law, Parameters, per_joint, scalar


def note(what):
    """Write into the file that the environment names, if any."""
    if "HOSTILE_NOTES" in os.environ:
        with Path(os.environ["HOSTILE_NOTES"]).open("a") as file:
            file.write(f"{what}\n")


class Odd(BaseException):
    """Whose text cannot be shown."""

    def __str__(self):
        raise SystemExit("no text")

    __repr__ = __str__


def loop():
    """Never returns; ends by an exception that is raised in its thread."""
    while True:
        pass


def stubborn():
    """Never returns, whatever is raised in its thread; after five seconds it leaves the processor to other tests."""
    end = time.monotonic() + 5.0
    while True:
        try:
            while time.monotonic() < end:
                pass
            sleep()
        except BaseException:
            pass


def sleep():
    """Waits in C code that lets other threads run."""
    time.sleep(3600.0)


def hold():
    """Never returns, and lets no other thread run."""
    note("hold")
    sum(range(10**15))


def recurse():
    """Endless recursion."""
    recurse()


def close():
    """Closes all file descriptors of the process but its output, those of ROS among them."""
    os.closerange(3, 4096)
    sleep()


def raises(error):
    """Return a function that raises an exception."""
    def fail():
        raise error

    return fail


HOW = {
    "loop": loop, "stubborn": stubborn, "sleep": sleep, "hold": hold, "recurse": recurse,
    "close": close,
    "interrupt": raises(KeyboardInterrupt()), "exit": raises(SystemExit(0)), "generator": raises(GeneratorExit()),
    "base": raises(BaseException("odd")), "odd": raises(Odd()),
}


note("import")
HOW.get(os.environ.get("HOSTILE_IMPORT", ""), lambda: None)()


@dataclass(frozen=True, eq=False)
class HostileParameters(Parameters):
    """How and where the controllers of this module attack; `hook` attacks when the parameters are made."""

    how: str = scalar("", description="How to attack")
    where: str = scalar("update", description="Method that attacks")
    p: np.ndarray = per_joint(20.0, description="Stiffness")

    def __post_init__(self):
        if self.where == "hook" and self.how:
            HOW[self.how]()


class Hostile(Controller):
    """Attacks in one of its methods, of those but for the constructor once it is in force."""

    Parameters = HostileParameters

    def __init__(self, robot, parameters=None):
        super().__init__(robot, parameters)
        self.calls = 0
        self.attack("init")

    def attack(self, where):
        if self.parameters.where == where and self.parameters.how:
            HOW[self.parameters.how]()

    def activate(self, state):
        if self.calls:  # not in the trial
            self.attack("activate")
        else:
            self.attack("trial")

    def update(self, state, reference):
        self.calls += 1
        if self.calls > 20:
            self.attack("update")
        return self.dynamics.gravity(state.q) + self.parameters.p * (reference.q - state.q) - 2.0 * state.v

    def deactivate(self):
        self.attack("deactivate")

    def __del__(self):
        self.attack("del")


class HostileLaw(Law):
    """Attacks while it is traced."""

    Parameters = HostileParameters

    @staticmethod
    def law(dynamics, parameters, state, reference, memory):
        if parameters.how:
            HOW[parameters.how]()
        return dynamics.gravity(state.q)


class Opens(Hostile):
    """Writes into a file what is done to it."""

    def __init__(self, robot, parameters=None):
        super().__init__(robot, parameters)
        note("init")

    def activate(self, state):
        note("activate")

    def deactivate(self):
        note("deactivate")


class LeavesAThread(Hostile):
    """Starts a thread that never ends and that Python waits for."""

    def __init__(self, robot, parameters=None):
        super().__init__(robot, parameters)
        threading.Thread(target=threading.Event().wait).start()
