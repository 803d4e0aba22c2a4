# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Finds controllers by name: entry points of installed packages, or ``package.module:Class``.

A package adds controllers without touching this one, by entry points in its setup.py::

    entry_points={"robodyn_ros.controllers": ["spring = my_package.spring:Spring"]}
"""

from __future__ import annotations

import inspect
import sys
from functools import lru_cache, reduce
from importlib.metadata import EntryPoint, EntryPoints, entry_points

from robodyn_ros.base.errors import InputError, PluginError, suggest
from robodyn_ros.control.contract.controller import Controller, Law
from robodyn_ros.control.contract.law_drawings import drawn_fields
from robodyn_ros.control.contract.law_inputs import state_form
from robodyn_ros.control.contract.parameters import Parameters
from robodyn_ros.control.laws.friction_compensation import compensated
from robodyn_ros.control.optimisation.safety_filter import filtered
from robodyn_ros.control.plugins.plugin_errors import FAULTS, describe, plugin_error
from robodyn_ros.control.plugins.plugin_source import Source, find_source, has_changed, import_current
from robodyn_ros.control.references.reference import SOURCES
from robodyn_ros.robot import Robot

WRAPPERS = {"friction": compensated, "safety": filtered}
"""Functions that put something behind a law's class, by the ending of the name."""

GROUP = "robodyn_ros.controllers"
"""Entry point group of controllers."""

_READ_BETWEEN_CALLS = ("follows", "senses", "Inputs", "Drawing", "parameters", "memory", "memory_numbers",
                       "uncompiled_reason", "prepare", "__getattribute__", "__getattr__", "__setattr__")
"""Attributes of a controller that must not be properties: their code might raise or block outside the guarded calls."""

REFERENCES: tuple[type | None, ...] = (None, *SOURCES)
"""Classes of references that a controller may follow."""


def controller_names() -> tuple[str, ...]:
    """Names of all installed controllers, sorted; none is imported."""
    return tuple(sorted(_installed(tuple(sys.path)).names))


def law_names() -> tuple[str, ...]:
    """Names of the installed laws that run on any robot as they are, sorted.

    Laws that need a file, and laws for elastic joints, are left out.
    """
    classes = {name: load_controller(name) for name in controller_names()}
    return tuple(name for name, found in classes.items() if issubclass(found, Law)
                 and not (needs_file(found) or found.for_elastic_joints))


def needs_file(controller_class: type[Controller]) -> bool:
    """Return whether a controller of this class needs a file from the user."""
    return any(field.file and not field.default for field in controller_class.Parameters.declarations().values())


def prefix(name: str) -> str:
    """Return the prefix of a controller's parameters: its name, or the class of ``package.module:Class``.

    On a ROS command line a colon would end a node's name, and a plus sign is not allowed in one.
    """
    return name.rpartition(":")[2].replace("+", "_")


def load_controller(name: str) -> type[Controller]:
    """Import a controller, anew if one of its files has changed.

    Args:
        name: Name of an installed controller, or ``package.module:Class``; with ``+safety`` behind it, its efforts are
            filtered, see `safety_filter`; with ``+friction``, see `friction_compensation`.

    Raises:
        PluginError: The name is unknown or ambiguous, or the class cannot be imported or is no valid controller.
            Modules imported before stay.
    """
    inner, _, ending = name.rpartition("+")
    if inner and ending in WRAPPERS:
        try:
            return WRAPPERS[ending](load_controller(inner))  # type: ignore[arg-type]  # they refuse other classes
        except InputError as error:
            raise PluginError(f"controller '{name}': {error}") from error
    module, attribute = _location(name)
    try:
        loaded = reduce(getattr, attribute.split("."), import_current(module))
    except ModuleNotFoundError as error:
        hint = "; name the folder of the module with --plugins-from DIR, or on PYTHONPATH"
        raise PluginError(f"controller '{name}' cannot be imported: {describe(error)}"
                          + hint * (error.name == module.partition(".")[0])) from error
    except FAULTS as error:
        raise plugin_error(f"controller '{name}' cannot be imported", error) from error
    return _checked(name, loaded)


def make_controller(name: str, robot: Robot, parameters: Parameters | None = None) -> Controller:
    """Import and construct a controller.

    Args:
        name: As in `load_controller`.
        robot: The robot to control.
        parameters: Its parameters; None means the defaults.

    Raises:
        PluginError: As in `load_controller`, or its constructor raised.
    """
    return construct(name, load_controller(name), robot, parameters)


def construct(name: str, controller_class: type[Controller], robot: Robot, parameters: Parameters | None) -> Controller:
    """Construct a controller.

    Args:
        name: Name for messages.
        controller_class: Class from `load_controller`.
        robot: The robot to control.
        parameters: Its parameters; None means the defaults.

    Raises:
        PluginError: The constructor raised.
    """
    try:
        controller = controller_class(robot, parameters)
    except FAULTS as error:
        raise plugin_error(f"controller '{name}' cannot be constructed", error) from error
    if not {"robot", "dynamics", "parameters"} <= vars(controller).keys():
        raise PluginError(f"controller '{name}' cannot be constructed: {controller_class.__name__}.__init__ does not "
                          "call super().__init__(robot, parameters)")
    return controller


def controller_changed(name: str) -> bool:
    """Return whether a file of a controller has changed since its import; False if it was not imported.

    Raises:
        PluginError: Unknown or ambiguous.
    """
    return has_changed(_location(name)[0])


def controller_source(name: str) -> Source:
    """Return the source of a controller's module.

    Args:
        name: As in `load_controller`. The controller itself is not imported.

    Raises:
        PluginError: Unknown or ambiguous, its module cannot be found, or it has no source file.
    """
    module = _location(name)[0]
    try:
        source = find_source(module)
    except FAULTS as error:
        raise plugin_error(f"controller '{name}' cannot be found", error) from error
    if source is None:
        raise PluginError(f"controller '{name}': there is no source file of module '{module}' on the PYTHONPATH")
    return source


def _location(name: str) -> tuple[str, str]:
    """Module and attribute of a controller, filtered or not."""
    law, *endings = name.split("+")
    name = law if WRAPPERS.keys() >= set(endings) else name
    module, colon, attribute = name.partition(":")
    if not colon:
        entry = _entry(name)
        return entry.module, entry.attr
    return module, attribute


@lru_cache(maxsize=1)
def _installed(path: tuple[str, ...]) -> EntryPoints:
    """Return the entry points of controllers on a search path; cached, since reading all files takes 15 ms."""
    return entry_points(group=GROUP)


def _entries(name: str) -> dict[str, EntryPoint]:
    """Entry points of a name, by value."""
    return {entry.value: entry for entry in _installed(tuple(sys.path)).select(name=name)}


def _entry(name: str) -> EntryPoint:
    found = _entries(name)
    if not found:  # a package may have been installed since
        _installed.cache_clear()
        found = _entries(name)
    if not found:
        known = ", ".join(controller_names())
        near = suggest(name, controller_names())
        raise PluginError(
            f"unknown controller '{name}'; "
            + (f"{near} " if near.startswith("did you") else "")
            + (f"installed are: {known}; " if known else "none is installed (run `make setup`, or colcon build); ")
            + "any other can be named as package.module:Class"
        )
    if len(found) > 1:
        raise PluginError(f"controller '{name}' is ambiguous, name one of these instead: {', '.join(sorted(found))}")
    return next(iter(found.values()))


def _check_signatures(name: str, loaded: type[Controller]) -> None:
    """Refuse a controller whose constructor or law has a wrong signature."""
    given = inspect.signature(loaded)
    if not _takes(given, 2):
        raise PluginError(f"controller '{name}': expected {loaded.__name__}.__init__(self, robot, parameters=None), "
                          f"which begins with super().__init__(robot, parameters); received "
                          f"__init__{_with_self(given)}; numbers to set are fields of its Parameters")
    if not issubclass(loaded, Law):
        return
    right = "law(dynamics, parameters, state, reference), with memory as a fifth argument if there is an initial_memory"
    if not isinstance(inspect.getattr_static(loaded, "law"), staticmethod):
        raise PluginError(f"controller '{name}': expected @staticmethod above {right}")
    given = inspect.signature(loaded.law)
    if not (_takes(given, 4) or _takes(given, 5)):
        raise PluginError(f"controller '{name}': expected {right}; received law{given}")


def _takes(signature: inspect.Signature, count: int) -> bool:
    try:
        signature.bind(*range(count))
    except TypeError:
        return False
    return True


def _with_self(signature: inspect.Signature) -> str:
    return f"(self, {str(signature)[1:]}" if signature.parameters else f"(self){str(signature)[2:]}"


def _checked(name: str, loaded: object) -> type[Controller]:
    if not (isinstance(loaded, type) and issubclass(loaded, Controller)):
        raise PluginError(f"controller '{name}' is {loaded!r}, expected a subclass of robodyn_ros.control.Controller")
    missing = ", ".join(sorted(loaded.__abstractmethods__))
    if missing:
        raise PluginError(f"controller '{name}': class {loaded.__name__} does not define {missing}")
    for attribute in _READ_BETWEEN_CALLS:
        found = inspect.getattr_static(loaded, attribute, None)
        own = found is not inspect.getattr_static(Law if issubclass(loaded, Law) else Controller, attribute, None)
        if own and hasattr(type(found), "__get__") and not inspect.ismemberdescriptor(found):
            raise PluginError(f"controller '{name}': {loaded.__name__}.{attribute} is code, expected none, as the "
                              "control loop uses this attribute between its calls of the controller; rename it")
    _check_signatures(name, loaded)
    parameters = loaded.Parameters
    if not (isinstance(parameters, type) and issubclass(parameters, Parameters)):
        raise PluginError(f"controller '{name}': {loaded.__name__}.Parameters is {parameters!r}, expected a subclass "
                          f"of robodyn_ros.control.Parameters, itself a dataclass")
    try:
        parameters.declarations()
        state_form(loaded, 1)
        drawn_fields(loaded.Drawing)
    except InputError as error:
        raise PluginError(f"controller '{name}': {error}") from error
    if loaded.follows not in REFERENCES:
        known = ", ".join("None" if kind is None else kind.__name__ for kind in REFERENCES)
        raise PluginError(f"controller '{name}' follows {loaded.follows!r}, expected one of {known}")
    return loaded
