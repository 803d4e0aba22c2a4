# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Laws that are no pure functions, and pure ones that look like it; tests import this module anew for each use."""

import collections
import datetime
import functools
import itertools
import random
import time
from pathlib import Path

import numpy as np

from robodyn_ros.control import JointReference
from robodyn_ros.control.contract.controller import Law
from robodyn_ros.control.contract.parameters import Parameters

Plain = Law[Parameters, JointReference, None]
GAIN_FILE = Path(__file__).with_name("gain.txt")


def pd(state, reference):
    return 30.0 * (reference.q - state.q) - state.v


filtered = None


class FilterInAGlobal(Plain):
    @staticmethod
    def law(dynamics, parameters, state, reference):
        global filtered
        filtered = pd(state, reference) if filtered is None else 0.9 * filtered + 0.1 * pd(state, reference)
        return filtered


ticks = 0


class TickCount(Plain):
    @staticmethod
    def law(dynamics, parameters, state, reference):
        global ticks
        ticks += 1
        return pd(state, reference) * (1.0 if ticks < 8 else 2.0)


ELEMENTS = [0.0]


class FilterInAList(Plain):
    @staticmethod
    def law(dynamics, parameters, state, reference):
        ELEMENTS[0] = 0.9 * ELEMENTS[0] + 0.1 * state.q[0]
        return pd(state, reference) + ELEMENTS[0]


ARRAY = np.zeros(1)


class FilterInAnArray(Plain):
    @staticmethod
    def law(dynamics, parameters, state, reference):
        ARRAY[:] = 0.9 * ARRAY + 0.1 * state.q[0]
        return pd(state, reference) + ARRAY[0]


class CountInAnArray(Plain):
    @staticmethod
    def law(dynamics, parameters, state, reference):
        ARRAY[0] += 1.0
        return pd(state, reference) * (1.0 if ARRAY[0] < 8.0 else 2.0)


LAST = {}


class LastInADict(Plain):
    @staticmethod
    def law(dynamics, parameters, state, reference):
        before = LAST.get("q", state.q)
        LAST["q"] = state.q
        return pd(state, reference) + (state.q - before)


RECENT = collections.deque(maxlen=3)


class MeanOfADeque(Plain):
    @staticmethod
    def law(dynamics, parameters, state, reference):
        RECENT.append(state.q.copy())
        return pd(state, reference) + sum(RECENT) / len(RECENT)


class ClassAttribute(Plain):
    ticks = 0

    @staticmethod
    def law(dynamics, parameters, state, reference):
        ClassAttribute.ticks += 1
        return pd(state, reference) * (1.0 if ClassAttribute.ticks < 8 else 2.0)


class Filter:
    def __init__(self):
        self.y = 0.0

    def step(self, x):
        self.y = 0.9 * self.y + 0.1 * x
        return self.y


FILTER = Filter()


class FilterObject(Plain):
    @staticmethod
    def law(dynamics, parameters, state, reference):
        return pd(state, reference) + FILTER.step(state.q)


def counting_law():
    count = 0

    def law(dynamics, parameters, state, reference):
        nonlocal count
        count += 1
        return pd(state, reference) * (1.0 if count < 8 else 2.0)

    return law


class Closure(Plain):
    law = staticmethod(counting_law())


def mean(value, history=[]):  # noqa: B006
    history.append(value)
    return sum(history) / len(history)


class MutableDefault(Plain):
    @staticmethod
    def law(dynamics, parameters, state, reference):
        return pd(state, reference) + mean(state.q)


COUNTER = itertools.count()


class Counter(Plain):
    @staticmethod
    def law(dynamics, parameters, state, reference):
        return pd(state, reference) * (1.0 if next(COUNTER) < 1000 else 2.0)


class SecondCall(Plain):
    @staticmethod
    def law(dynamics, parameters, state, reference):
        ELEMENTS[0] += 1.0
        return pd(state, reference) * (3.0 if ELEMENTS[0] == 2.0 else 1.0)


start = np.zeros(2)


class StartInAGlobal(Law[Parameters, JointReference, np.ndarray]):
    def initial_memory(self, state):
        global start
        start = state.q.copy()
        return np.zeros(1)

    @staticmethod
    def law(dynamics, parameters, state, reference, memory):
        return pd(state, reference) + start, memory


class Method(Plain):
    i = 0.0

    def law(self, dynamics, parameters, state, reference):
        self.i = self.i + 0.01 * (reference.q - state.q)
        return pd(state, reference) + self.i


class CaughtCondition(Plain):
    @staticmethod
    def law(dynamics, parameters, state, reference):
        try:
            gain = 1.0 if state.q[0] > 0.0 else 2.0
        except Exception:
            gain = 3.0
        return gain * pd(state, reference)


BEGIN = time.monotonic()


class Clock(Plain):
    @staticmethod
    def law(dynamics, parameters, state, reference):
        return pd(state, reference) * (1.0 if time.monotonic() - BEGIN < 1e6 else 2.0)


class Calendar(Plain):
    @staticmethod
    def law(dynamics, parameters, state, reference):
        return pd(state, reference) * (1.0 if datetime.datetime.now().year > 2000 else 2.0)


class RandomGain(Plain):
    @staticmethod
    def law(dynamics, parameters, state, reference):
        return pd(state, reference) * (1.0 if random.random() < 2.0 else 2.0)


class Noise(Plain):
    @staticmethod
    def law(dynamics, parameters, state, reference):
        return pd(state, reference) + np.random.normal(size=2)  # noqa: NPY002


GENERATOR = np.random.default_rng(0)


class NoiseOfAGenerator(Plain):
    @staticmethod
    def law(dynamics, parameters, state, reference):
        return pd(state, reference) * (1.0 if GENERATOR.random() < 2.0 else 2.0)


class UnseededGenerator(Plain):
    @staticmethod
    def law(dynamics, parameters, state, reference):
        return pd(state, reference) * (1.0 if np.random.default_rng().random() < 2.0 else 2.0)


class GainFromAFile(Plain):
    @staticmethod
    def law(dynamics, parameters, state, reference):
        return pd(state, reference) * float(GAIN_FILE.read_text())


class ChangesTheState(Plain):
    @staticmethod
    def law(dynamics, parameters, state, reference):
        error = state.q
        error -= reference.q
        return -30.0 * error


# Pure laws

constant = None
CONSTANTS = {}


@functools.cache
def weights(n):
    return 2.0 * np.eye(n)


class Cached(Plain):
    @staticmethod
    def law(dynamics, parameters, state, reference):
        global constant
        if constant is None:
            constant = np.eye(2)
        if "gravity" not in CONSTANTS:
            CONSTANTS["gravity"] = dynamics.gravity(np.zeros(2))
            CONSTANTS["gain"] = float(GAIN_FILE.read_text())
        return weights(2) @ constant @ pd(state, reference) * CONSTANTS["gain"] + CONSTANTS["gravity"]


class Seeded(Plain):
    @staticmethod
    def law(dynamics, parameters, state, reference):
        return pd(state, reference) + np.random.default_rng(3).normal(size=2)


class Printing(Plain):
    @staticmethod
    def law(dynamics, parameters, state, reference):
        error = reference.q - state.q
        print("error", error, f"{error[0]:.3f}")
        return pd(state, reference)


class Remembering(Law[Parameters, JointReference, np.ndarray]):
    def initial_memory(self, state):
        return 1.0 * state.q

    @staticmethod
    def law(dynamics, parameters, state, reference, memory):
        memory = 0.9 * memory + 0.1 * state.q
        return pd(state, reference) + dynamics.mass_matrix(state.q) @ memory, memory
