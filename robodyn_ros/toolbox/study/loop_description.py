# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""A closed loop as data, from which any process can recreate the loop and compute samples."""

from __future__ import annotations

import dataclasses
import pickle
import platform
import threading
from collections.abc import Iterator, Mapping
from contextlib import nullcontext
from enum import Enum
from functools import cached_property
from typing import Any, Self

import numpy as np

from robodyn_ros.actuation.known_friction import KnownFriction
from robodyn_ros.base.code_cache import digest
from robodyn_ros.base.errors import InputError, PluginError
from robodyn_ros.control.contract.parameters import Parameters
from robodyn_ros.control.plugins.plugin_source import plugin_sources
from robodyn_ros.control.plugins.registry import controller_source, load_controller, make_controller
from robodyn_ros.description.model import Array, RobotModel
from robodyn_ros.robot import Robot
from robodyn_ros.simulation.engine import Engine
from robodyn_ros.simulation.mujoco_plant import MujocoPlant
from robodyn_ros.simulation.plant_model import PlantModel
from robodyn_ros.simulation.rollout import ClosedLoop
from robodyn_ros.simulation.scenario import Scenario
from robodyn_ros.simulation.score import Score

PARAMETERS = "parameters"
"""Name of the array of the law's packed parameters; all other arrays of samples are plant quantities."""

_MAX_KEPT_LOOPS = 16
"""Greatest number of loops that a process keeps; the compiled programs of each take up to some MB."""


@dataclasses.dataclass(frozen=True, eq=False)
class LoopDescription:
    """A closed loop and its task as data.

    It can be pickled. A process makes a `ClosedLoop` of it once, and keeps it by the content of the description, so
    that equal descriptions share one compiled program.
    """

    robot: RobotModel  # the robot as the law knows it
    controller: str  # name of an installed controller, or ``package.module:Class``
    parameters: Parameters | None  # parameters of the controller; None: the defaults
    plant: PlantModel
    period: float  # control period [s]
    scenario: Scenario  # the task of all samples
    varied: tuple[str, ...] = ()  # names of the plant quantities that differ between samples
    delay: int = 0  # delay of the loop, for fields derived from parameters [control periods]
    engine: Engine = Engine.ROBODYN  # simulator of the bodies
    friction: KnownFriction | None = None  # of the robot as the law knows it

    @classmethod
    def from_loop(cls, loop: ClosedLoop, scenario: Scenario) -> Self:
        """Describe a closed loop.

        Args:
            loop: The loop.
            scenario: The task of all samples.

        Raises:
            InputError: Another process could not recreate the loop: an engine steps the robot, or the controller's
                class cannot be imported by name.
        """
        kind = type(loop.controller)
        name = f"{kind.__module__}:{kind.__qualname__}"
        if loop.engine is not None:
            raise InputError(f"rollout: expected a loop with the compiled plant, received one with the engine "
                             f"{type(loop.engine).__name__}, which only this process has")
        if kind.__module__ == "__main__" or "<locals>" in name or load_controller(name) is not kind:
            raise InputError(f"rollout: expected a controller that any process can import, received {name}; put its "
                             "class at the top of a module on the PYTHONPATH")
        return cls(loop.robot.model, name, loop.controller.parameters, loop.plant, loop.period, scenario,
                   loop.varied, loop.robot.timing.delay, friction=loop.robot.known_friction)

    @cached_property
    def digest(self) -> str:
        """Hash of the content, equal in every process."""
        return digest(*_parts(self), self.sources)

    @cached_property
    def sources(self) -> str:
        """Hash of the controller's source files on the describing machine; empty: no files."""
        return _digest_of_sources(self.controller)

    def __getstate__(self) -> dict[str, Any]:
        fields = {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}
        return fields | {"sources": self.sources, "digest": self.digest}

    @property
    def used(self) -> bool:
        """Whether this process has computed samples of the loop, so its program is compiled."""
        with _lock:
            return self.digest in _loops and _loops[self.digest].used

    @property
    def loop(self) -> ClosedLoop:
        """The closed loop; the same object while this process keeps it.

        Raises:
            PluginError: No controller has that name here, its source differs, or it cannot be constructed.
            InputError: The parts do not fit together.
        """
        return self._cached().loop

    def scores(self, arrays: Mapping[str, Array], threads: int = 1) -> Score:
        """Compute samples; several threads may call it at once.

        Args:
            arrays: A row for each sample: `PARAMETERS`, shape (N, p), see `ClosedLoop.packed`; and plant quantities.
            threads: Threads that share the samples.

        Raises:
            InputError: The arrays do not fit the loop.
            PluginError: The controller fails.
        """
        kept = self._cached()
        quantities = {name: array for name, array in arrays.items() if name != PARAMETERS}
        # A law in Python has its own memory, so its samples wait for each other.
        with nullcontext() if kept.compiled else kept.lock:
            result = kept.loop.scores(self.scenario, arrays.get(PARAMETERS), threads=threads, samples=quantities)
            kept.compiled, kept.used = not kept.loop.note, True
        return result

    def _cached(self) -> _CachedLoop:
        with _lock:
            if self.digest not in _loops:
                while len(_loops) >= _MAX_KEPT_LOOPS:
                    del _loops[next(iter(_loops))]
                _loops[self.digest] = _CachedLoop(self._make())
            _loops[self.digest] = _loops.pop(self.digest)  # moves it to the end; the first one is the longest unused
            return _loops[self.digest]

    def _make(self) -> ClosedLoop:
        if _digest_of_sources(self.controller) != self.sources:
            raise PluginError(f"controller '{self.controller}': its source on {platform.node()} is not that of the "
                              "machine that started the study; install the same one on both")
        robot = Robot(self.robot).with_timing(self.period, self.delay)
        robot.known_friction = self.friction
        controller = make_controller(self.controller, robot, self.parameters)
        engine = None if self.engine is Engine.ROBODYN else MujocoPlant.from_plant(self.plant)
        return ClosedLoop(controller, self.plant, self.period, engine, varied=self.varied)


class _CachedLoop:
    """A closed loop of this process.

    Attributes:
        loop: The loop.
        used: Whether it has computed samples.
        compiled: Whether its law is known to be compiled.
        lock: Lock of its rollouts until the law is compiled.
    """

    def __init__(self, loop: ClosedLoop) -> None:
        self.loop, self.used, self.compiled, self.lock = loop, False, False, threading.Lock()


_lock = threading.Lock()
_loops: dict[str, _CachedLoop] = {}


def _digest_of_sources(controller: str) -> str:
    try:
        files = sorted(part.file for part in plugin_sources(controller_source(controller)))
        return digest(*(part for file in files for part in (file.name, file.read_bytes())))
    except (OSError, PluginError):  # no source files; errors appear on construction
        return ""


def _parts(value: Any) -> Iterator[str | bytes]:
    """Yield the content of a value, including its types.

    Unlike pickles, the result does not depend on the identity of objects.
    """
    kind = type(value)
    yield f"{kind.__module__}.{kind.__qualname__}"
    if isinstance(value, np.ndarray):
        yield f"{value.dtype.str} {value.shape}"
        yield value.tobytes()
    elif isinstance(value, Enum) or value is None or isinstance(value, bool | int | float | str | bytes | np.generic):
        yield repr(value)
    elif dataclasses.is_dataclass(value):
        for field in dataclasses.fields(value):
            yield field.name
            yield from _parts(getattr(value, field.name))
    elif isinstance(value, Mapping):
        yield str(len(value))
        for key, each in value.items():
            yield from _parts(key)
            yield from _parts(each)
    elif isinstance(value, tuple | list):
        yield str(len(value))
        for each in value:
            yield from _parts(each)
    else:
        yield pickle.dumps(value, 5)
