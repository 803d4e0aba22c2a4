"""Plugins' parameters as ROS parameters: ``<controller>.gains.<joint>.<field>`` and ``<controller>.<field>``."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Collection, Mapping
from typing import Any

from robodyn_ros.control.dry_run import FAULTS
from robodyn_ros.control.parameters import FlatParameter
from robodyn_ros.control.parameters import Parameters as PluginParameters
from robodyn_ros.control.registry import load_controller, prefix
from robodyn_ros.description.model import suggest
from robodyn_ros.errors import InputError, PluginError
from robodyn_ros.nodes.common.parameters import Parameter, Parameters
from robodyn_ros.nodes.common.unknown_parameters import unclaimed_names
from robodyn_ros.robot import Robot


class ControllerParameters:
    """The parameters of all plugins that have been declared, complete and validated, by the plugin's name.

    Args:
        parameters: The node's parameters.
        robot: The robot that the plugins are for.
    """

    def __init__(self, parameters: Parameters, robot: Robot) -> None:
        self._parameters = parameters
        self._robot = robot
        self._values: dict[str, PluginParameters] = {}
        self._names: dict[str, str] = {}  # by prefix
        self._owners: dict[str, tuple[str, str]] = {}  # plugin and flat name by full name
        self._structural: set[str] = set()  # full names

    def __getitem__(self, name: str) -> PluginParameters:
        """Parameters of a declared plugin."""
        return self._values[name]

    def declare(self, name: str) -> None:
        """Import a plugin and declare its parameters, with values given at start; again: nothing.

        Raises:
            PluginError: The plugin cannot be had, or another one has its prefix.
            InputError: A default or a value given at start is not valid.
        """
        if name in self._values:
            return
        front = prefix(name)
        if front in self._names:
            raise PluginError(f"controller '{name}': its parameters would begin with '{front}.', as do those of "
                              f"'{self._names[front]}'; rename the class")
        plugin_class = load_controller(name)
        try:
            defaults = plugin_class.Parameters().for_robot(self._robot)
        except FAULTS as error:
            raise PluginError(f"controller '{name}': its default parameters fail: {error}") from error
        declared: dict[str, str] = {}
        rows = defaults.flat(self._robot)
        try:
            for row in rows:
                full = f"{front}.{row.name}"
                self._parameters.declare([_parameter(full, row)])
                declared[full] = row.name
            given = {flat: self._parameters[full] for full, flat in declared.items()}
            self._values[name] = defaults.with_flat_values(self._robot, given)
        except InputError:
            self._parameters.undeclare(declared)
            raise
        self._names[front] = name
        self._owners.update({full: (name, flat) for full, flat in declared.items()})
        self._structural.update(f"{front}.{row.name}" for row in rows if row.structural)

    def unclaimed(self) -> list[str]:
        """A sentence for each value that was given at start to a parameter of a plugin that is not known so far."""
        return [
            f"'{name}' is given a value, which counts only once a controller has that parameter; of those known none "
            f"does: {suggest(name, self._owners)}"
            for name in unclaimed_names(self._parameters.given(), self._parameters.names())
        ]

    def changed(self, changes: Mapping[str, Any], in_force: Collection[str]) -> dict[str, PluginParameters]:
        """What the parameters of plugins will be after a change; nothing is stored.

        Args:
            changes: New values by full name; those of other parameters are passed over.
            in_force: Plugins whose structural parameters cannot change now.

        Returns:
            Parameters by the plugin's name, only of plugins that something changes for.

        Raises:
            InputError: A value is not valid, or is structural and its plugin in force.
        """
        by_plugin: dict[str, dict[str, Any]] = defaultdict(dict)
        for full, value in changes.items():
            if full in self._owners:
                name, flat = self._owners[full]
                if full in self._structural and name in in_force:
                    raise InputError(f"parameter '{full}': fixed while controller '{name}' is in force or the safe "
                                     f"one; swap to another one first")
                by_plugin[name][flat] = value
        return {
            name: self._values[name].with_flat_values(self._robot, values) for name, values in by_plugin.items()
        }

    def store(self, changed: Mapping[str, PluginParameters]) -> None:
        """Keep what `changed` returned."""
        self._values.update(changed)


def _parameter(name: str, row: FlatParameter) -> Parameter:
    unit = f" [{row.unit}]" if row.unit else ""
    fixed = "; fixed while the controller is in force" if row.structural else ""
    return Parameter(
        name,
        row.value,
        f"{row.description}{unit}{fixed}.",
        minimum=row.minimum if math.isfinite(row.minimum) else None,
        maximum=row.maximum if math.isfinite(row.maximum) else None,
    )
