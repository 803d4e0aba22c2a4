# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Controller plugins in the node: constructs them by name and declares their parameters as ROS parameters.

The name of a plugin's parameter is ``<plugin>.gains.<joint>.<field>`` or ``<plugin>.<field>``.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import numpy as np

from robodyn_ros.base.errors import InputError, PluginError, RobodynError, suggest
from robodyn_ros.base.fields import Field
from robodyn_ros.control.contract.controller import Controller, Law
from robodyn_ros.control.contract.parameters import FlatParameter
from robodyn_ros.control.contract.parameters import Parameters as PluginParameters
from robodyn_ros.control.plugins.dry_run import dry_run
from robodyn_ros.control.plugins.plugin import Plugin
from robodyn_ros.control.plugins.plugin_errors import FAULTS, plugin_error
from robodyn_ros.control.plugins.plugin_threads import end, run_bounded
from robodyn_ros.control.plugins.registry import construct, controller_names, load_controller, prefix
from robodyn_ros.control.runtime.tick import Tick
from robodyn_ros.nodes.common.runtime import RobodynNode
from robodyn_ros.nodes.common.unknown_parameters import unclaimed_names
from robodyn_ros.robot import Robot

ALLOW_PYTHON_PLUGINS = Field("allow_python_plugins", True, "Whether a controller may be named as "
                             "package.module:Class, which imports and runs that module in this node; false: installed "
                             "controllers only", structural=True)


SWAP_TIMEOUT = Field("swap_timeout", 15.0, "Time after which a controller is refused that is not imported, "
                     "constructed, tried or given its parameters", unit="s", minimum=0.1, maximum=3600.0)

BROKEN = "broken plugins"
"""Counter of the errors of plugins that are not in force."""

_Result = TypeVar("_Result")


@dataclass
class _Declared:
    """A plugin whose parameters are declared.

    Attributes:
        plugin_class: The plugin's class.
        defaults: The default parameters of the class.
        values: The parameters in force; `make` computes derived ones.
        table: ROS declarations by full name.
        rows: The plugin's declarations by full name.
    """

    plugin_class: type[Controller]
    defaults: PluginParameters
    values: PluginParameters
    table: dict[str, Field]
    rows: dict[str, FlatParameter]


class ControllerPlugins:
    """All declared plugins with their validated parameters.

    Code of plugins runs on threads that are left behind if it does not return within the parameter ``swap_timeout``.

    Args:
        node: The node, with its parameters.
        robot: The robot that the plugins control.

    Attributes:
        open_inputs: Subscribes to what a plugin declares, and raises PluginError; who does that sets it once.
    """

    def __init__(self, node: RobodynNode, robot: Robot) -> None:
        self.open_inputs: Callable[[Plugin], None] = lambda plugin: None
        self._node, self._parameters = node, node.parameters
        self._robot = robot
        self._declared: dict[str, _Declared] = {}
        self._names: dict[str, str] = {}  # plugins by the prefix of their parameters
        self._owners: dict[str, str] = {}  # plugins by the full name of a parameter

    def declare(self, name: str) -> type[Controller]:
        """Import a plugin, anew if its file has changed, and declare its parameters.

        Parameters take the values given at start. After an edit of the file, a parameter keeps a value that was given
        at start or changed since; the others take the new default.

        Raises:
            PluginError: The plugin is not allowed, cannot be imported or is not valid, or another plugin has the same
                prefix.
            InputError: A default, a value given at start or a value kept is not valid.
        """
        self._check_allowed(name)
        plugin_class = self.run(f"controller '{name}' cannot be imported", load_controller, name)
        known = self._declared.get(name)
        if known is None or known.plugin_class is not plugin_class:
            self._declare(name, plugin_class, {} if known is None else self._kept(known))
        return plugin_class

    def make(self, name: str) -> Plugin:
        """Declare and construct a plugin, and subscribe to what it declares.

        Raises:
            PluginError: As in `declare`, its constructor raised, or an input has an unknown type or field.
            InputError: As in `declare`.
        """
        plugin_class = self.declare(name)
        plugin = self.run(f"controller '{name}' cannot be constructed", self._construct, name, plugin_class)
        self.open_inputs(plugin)
        return plugin

    def declare_installed(self) -> None:
        """Declare the parameters of all installed plugins; a broken one is reported."""
        for name in controller_names():
            try:
                self.declare(name)
            except PluginError as error:
                self.report(error)

    def begin(self, name: str) -> Plugin:
        """Make a plugin of the start, and try it.

        Raises:
            RobodynError: It cannot be made.
        """
        plugin = self.make(name)
        try:
            self.check_first_update(plugin, None)
        except PluginError as error:  # the state is made up, and the plugin may work in the real one
            self.report(error, "; it may do better with the robot's real state")
        return plugin

    def report(self, error: RobodynError, more: str = "") -> None:
        """Report a plugin's error, and log its traceback."""
        self._node.diagnostics.problem(BROKEN, f"{error}{more}")
        self.log_traceback(error)

    def log_traceback(self, error: RobodynError) -> None:
        """Log the traceback of a plugin's exception at level debug."""
        for note in getattr(error, "__notes__", ()):
            self._node.log.debug("tracebacks", note)

    def swap_in(self, name: str, changed: dict[str, PluginParameters], last: Tick | None) -> Plugin:
        """Construct a plugin that is about to be put in force, and try it.

        Args:
            name: Installed name, or ``package.module:Class``.
            changed: Result of `changed`. The plugin takes its entry. If the plugin's class is new, the entry belongs to
                the old class and is removed.
            last: The last tick.

        Raises:
            PluginError: As in `make`, or the plugin fails when tried. The plugin's parameters are restored.
            InputError: As in `make`. The plugin's parameters are restored.
        """
        before = current = self._declared.get(name)
        if before is not None and name in changed:
            current = self._declared[name] = replace(before, values=changed[name])
        plugin: Plugin | None = None
        try:
            plugin = self.make(name)
            self.check_first_update(plugin, last)
        except RobodynError:
            if plugin is not None:
                end(name, plugin.controller.deactivate, lambda text: None)
            if before is not None and self._declared.get(name) is current:
                self._declared[name] = before
            elif before is not None:
                self._restore(name, before)
            raise
        if self._declared[name] is not current:
            changed.pop(name, None)
        return plugin

    def check_first_update(self, plugin: Plugin, last: Tick | None) -> None:
        """Run one tick of a plugin without commanding its efforts.

        Args:
            plugin: The plugin.
            last: The tick whose state it gets; None: it gets zero positions, clipped to the position limits.

        Raises:
            PluginError: It raised, or returned anything but finite efforts of shape (n,).
        """
        model = self._robot.model
        q = np.clip(np.zeros(model.n), model.position_lower, model.position_upper) if last is None else last.state.q
        v = np.zeros(model.n) if last is None else last.state.v
        self.run(f"controller '{plugin.name}' fails", dry_run, plugin.name, plugin.controller, q, v)

    def run(self, what: str, function: Callable[..., _Result], *arguments: Any) -> _Result:
        """Run code of a plugin; see `run_bounded`.

        Args:
            what: What it does, for messages.
            function: The code.
            *arguments: Its arguments.

        Raises:
            RobodynError: The code raised, or did not return in time.
        """
        return run_bounded(what, self._parameters[SWAP_TIMEOUT.name], self._node.stop_requested.is_set, function,
                           *arguments)

    def derive_defaults(self, robot: Robot) -> None:
        """Derive all defaults for a robot of another timing, before the first tick; values that were given stay.

        Args:
            robot: The robot with this timing.

        Raises:
            PluginError: A default fails, or is not valid.
        """
        self._robot = robot
        for name, known in list(self._declared.items()):
            self._declare(name, known.plugin_class, self._kept(known))

    def unclaimed(self) -> list[str]:
        """Return a warning for each value given at start to a parameter that no plugin known so far has."""
        return [
            f"'{name}' is given a value, but no known controller has this parameter; the value counts once one has it: "
            f"{suggest(name, self._owners)}"
            for name in unclaimed_names(self._parameters.given, self._parameters.names())
        ]

    def changed(self, changes: Mapping[str, Any], in_force: Collection[str]) -> dict[str, PluginParameters]:
        """Return the parameters of plugins after a change; nothing is stored.

        Args:
            changes: New values by full name; parameters that belong to no plugin are ignored.
            in_force: Plugins whose structural parameters cannot change now.

        Returns:
            Parameters by the plugin's name; only of plugins that change.

        Raises:
            InputError: A value is not valid, names a file, or is structural while its plugin is in force.
        """
        by_plugin: dict[str, dict[str, Any]] = defaultdict(dict)
        for full, value in changes.items():
            if full in self._owners:
                name = self._owners[full]
                row = self._declared[name].rows[full]
                if row.file and value != self._parameters[full]:
                    raise InputError(f"parameter '{full}': fixed from the start of the node: nobody on the graph names "
                                     "the files that it opens; give it on the command line or in a parameter file")
                if row.structural and name in in_force:
                    raise InputError(f"parameter '{full}': fixed while controller '{name}' is in force or the safe "
                                     f"one; swap to another one first")
                by_plugin[name][row.name] = value
        return {name: self._with_values(name, self._declared[name].values, values)
                for name, values in by_plugin.items()}

    def store(self, changed: Mapping[str, PluginParameters]) -> None:
        """Store the result of `changed`."""
        for name, values in changed.items():
            self._declared[name].values = values

    def _check_allowed(self, name: str) -> None:
        """Refuse a class by its module, before anything is imported, where only installed controllers are allowed."""
        if ":" in name and not self._parameters[ALLOW_PYTHON_PLUGINS.name]:
            raise PluginError(f"controller '{name}': expected the name of an installed controller, as the parameter "
                              f"'{ALLOW_PYTHON_PLUGINS.name}' is false; installed are: {', '.join(controller_names())}")

    def _declare(self, name: str, plugin_class: type[Controller], kept: Mapping[str, Any]) -> None:
        front = prefix(name)
        if self._names.get(front, name) != name:
            raise PluginError(f"controller '{name}': its parameters would begin with '{front}.', as do those of "
                              f"'{self._names[front]}'; rename the class")
        what = f"controller '{name}': its default parameters fail"
        defaults, rows = self.run(what, self._defaults, what, plugin_class, front)
        new = _Declared(plugin_class, defaults, defaults, {full: _parameter(full, row) for full, row in rows.items()},
                        rows)
        self._forget(name)
        try:
            self._parameters.declare(new.table.values(), kept)
            given = {row.name: value for full, row in rows.items() if (value := self._parameters[full]) != row.value}
            if given:
                new.values = self._with_values(name, defaults, given)
        except RobodynError:
            self._parameters.undeclare(set(new.table) & set(self._parameters.names()))
            raise
        self._remember(name, new)

    def _defaults(self, what: str, plugin_class: type[Controller], front: str
                  ) -> tuple[PluginParameters, dict[str, FlatParameter]]:
        """The default parameters of a plugin, and their declarations by full name."""
        try:
            defaults = plugin_class.Parameters().without_derived(self._robot)
            return defaults, {f"{front}.{row.name}": row for row in defaults.flat(self._robot)}
        except FAULTS as error:
            raise plugin_error(what, error) from error

    def _construct(self, name: str, plugin_class: type[Controller]) -> Plugin:
        controller = construct(name, plugin_class, self._robot, self._declared[name].values)
        names = controller.memory_names() if isinstance(controller, Law) else ()
        return Plugin(name, controller, tuple(map(str, names)))

    def _with_values(self, name: str, parameters: PluginParameters, values: Mapping[str, Any]) -> PluginParameters:
        return self.run(f"controller '{name}': its parameters fail", parameters.with_flat_values, self._robot, values)

    def _kept(self, known: _Declared) -> dict[str, Any]:
        """Values that survive an edit of the plugin's file: those given at start, or changed since."""
        now, default = (self._by_full_name(known, values) for values in (known.values, known.defaults))
        given = self._parameters.given
        return {full: value for full, value in now.items() if full in given or value != default[full]}

    def _by_full_name(self, declared: _Declared, values: PluginParameters) -> dict[str, Any]:
        rows = self.run("parameters of a controller fail", values.flat, self._robot)
        return dict(zip(declared.rows, (row.value for row in rows), strict=True))

    def _restore(self, name: str, before: _Declared) -> None:
        """Declare a plugin's parameters as they were before a swap."""
        self._forget(name)
        self._parameters.declare(before.table.values(), self._by_full_name(before, before.values))
        self._remember(name, before)

    def _remember(self, name: str, declared: _Declared) -> None:
        self._declared[name] = declared
        self._names[prefix(name)] = name
        self._owners.update(dict.fromkeys(declared.rows, name))

    def _forget(self, name: str) -> None:
        declared = self._declared.pop(name, None)
        if declared is not None:
            self._parameters.undeclare(declared.table)
            for full in declared.table:
                del self._owners[full]


def _parameter(name: str, row: FlatParameter) -> Field:
    """The ROS parameter of a plugin's; ROS may set a structural one, as long as its plugin is not in force.

    `changed` refuses one that names a file; ROS could not declare a read-only one anew.
    """
    fixed = ("; fixed from the start of the node" if row.file else
             "; fixed while the controller is in force" if row.structural else "")
    return row.renamed(name, description=f"{row.description}{fixed}", structural=False)
