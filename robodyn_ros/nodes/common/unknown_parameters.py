# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Values without effect, which rclpy ignores: usually of misspelt names, reported with the closest known names.

In a file, names of other nodes or of unloaded controllers are ignored, since one file may hold the parameters of all
nodes. Unknown names are warnings there, because a file may hold parameters of other packages too. On the command line,
every name that the nodes of the process do not have is an error.
"""

from __future__ import annotations

import difflib
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Protocol

from robodyn_ros.base.errors import InputError, suggest
from robodyn_ros.nodes.common.given_parameters import COMMAND_LINE, GivenParameters, GivenValue, matches
from robodyn_ros.nodes.common.throttled_log import ThrottledLog

PARAMETERS = frozenset((
    "action_monitor_rate", "actuator_state_rate", "actuators", "allow_nonzero_velocity_at_trajectory_end",
    "allow_partial_joints_goal", "allow_python_plugins", "cartesian.", "clock_rate", "command_timeout",
    "commands_publisher", "constraints.", "controller", "controller_manager", "cpu_affinity", "delay_compensation",
    "display_rate", "driver", "effort_group_joints", "engine", "filter", "force_torque_sensor.", "frame_prefix",
    "gravity", "gravity_compensation_by", "gripper.", "initial_position.", "integrator", "joint_states_publisher",
    "law_ignores", "law_timeout", "lock_memory", "lockstep_speed_limit", "max_overruns", "model_error.", "mujoco_scene",
    "output", "payload.", "publish_frequency", "real_time_factor", "robot", "robot_description", "runaway_factor",
    "safe_behaviour", "safe_controller", "safe_time_constant", "seed", "sensing.", "speed_scaling", "state_delay",
    "state_publish_rate", "state_timeout", "step", "supervisor.", "swap_time", "swap_timeout", "thread_priority",
    "time_mode", "tip_link", "trajectory_limits", "unchanged_command_timeout", "update_rate", "velocity_filter",
    "world", "wrench_sensor.", "wrench_timeout",
))
"""Parameters of all nodes; a group represents all its parameters.

tools/parameter_tables.py writes them from the declarations, so that no node must import all the others.
"""

_ROS_PREFIX = "qos_overrides."

RENAMED = {"gravity_compensation": "gravity_compensation_by"}
"""New names of renamed parameters, whose old names would be ignored; see `_check_unknown`."""


def unknown_names(given: Iterable[str], declared: Collection[str]) -> list[str]:
    """Return the names that no node declares and no controller can have.

    Args:
        given: Names with a value.
        declared: This node's parameters.
    """
    own = set(map(_group, declared))
    return [name for name in _undeclared(given, declared)
            if (_group(name) in own if "." in name else name not in PARAMETERS)]


def unclaimed_names(given: Iterable[str], declared: Collection[str]) -> list[str]:
    """Return the names in groups that no node but possibly a controller has; arguments as for `unknown_names`."""
    claimed = PARAMETERS.union(map(_group, declared))
    return [name for name in _undeclared(given, declared) if "." in name and _group(name) not in claimed]


class NodeParameters(Protocol):
    """The part of the parameters of a node that `check_given` uses."""

    given: Mapping[str, GivenValue]

    def names(self) -> Collection[str]:
        """Names of the declared parameters."""

    def unknown(self) -> Iterable[str]:
        """Names with a given value that are not declared."""


class ParameterNode(Protocol):
    """The part of a node that `check_given` uses."""

    parameters: NodeParameters
    log: ThrottledLog

    def get_fully_qualified_name(self) -> str:
        """Namespace and name."""


def check_given(nodes: Sequence[ParameterNode], given: GivenParameters) -> None:
    """Report given values without effect, after the nodes have declared all parameters.

    Args:
        nodes: The nodes of this process.
        given: Values given to the process.

    Raises:
        InputError: A value on the command line matches no parameter or no node of this process.
    """
    full_names = [node.get_fully_qualified_name() for node in nodes]
    own_names = [name.rpartition("/")[2] for name in full_names]
    for stray in given.without_node(full_names):
        owner = stray.partition(":")[0]
        raise InputError(f"'{stray}' is given a value on the command line, but there is no node '{owner}' here: "
                         f"{suggest(owner, own_names)}")
    _check_unknown(nodes)
    _check_others(nodes, " or ".join(full_names))
    _check_sections(nodes[0].log, given, full_names)
    for node, full_name in zip(nodes, full_names, strict=True):
        for name, lost in given.outranked(full_name).items():
            value, source = node.parameters.given[name]
            node.log.warning(f"outranked {name}", f"{name} = {lost.value} of the command line does not count: {source} "
                             f"gives {value} to this node by its name")


def _check_sections(log: ThrottledLog, given: GivenParameters, full_names: Sequence[str]) -> None:
    """Log file sections that match no node of this process; warn if one may be meant for a node."""
    own = {name.rpartition("/")[2]: name for name in full_names}
    others: dict[str, list[str]] = {}
    for pattern, source in given.file_patterns().items():
        if any(matches(pattern, name) for name in full_names):
            continue
        space, _, name = pattern.rpartition("/")
        remedy = ""
        if "*" in name and not space:
            remedy = f"'/**' fits {', '.join(full_names)}"
        elif name in own and (not space or "*" in space):
            remedy = f"the node is '{own[name]}': name it so, or '/**/{name}'"
        elif name not in own and (near := difflib.get_close_matches(name, own, n=1, cutoff=0.75)):
            remedy = f"did you mean '{near[0]}'?"
        if remedy:
            log.warning(f"section {pattern}", f"{source}: section '{pattern}' fits no node of this process, so that "
                        f"its values do not count: {remedy}")
        else:
            others.setdefault(source, []).append(pattern)
    for source, patterns in others.items():
        log.info(f"sections of {source}", f"{source}: sections for nodes outside this process: {', '.join(patterns)}")


def _check_unknown(nodes: Sequence[ParameterNode]) -> None:
    """Refuse unknown and old names on the command line; warn of unknown names in files."""
    meant: dict[str, list[ParameterNode]] = {}
    for node in nodes:
        for name in node.parameters.unknown():
            meant.setdefault(name, []).append(node)
    for name, owners in meant.items():
        nodes_given_it = " or ".join(node.get_fully_qualified_name() for node in owners)
        if name in RENAMED:
            raise InputError(f"parameter '{name}' is named '{RENAMED[name]}' now: rename it in what {nodes_given_it} "
                             f"is given ('{name}' is the group of a law's parameters)")
        nearest = suggest(name, dict.fromkeys(known for node in owners for known in node.parameters.names()))
        sentence = f"'{name}' is given a value, but is no parameter of {nodes_given_it}: {nearest}"
        if any(node.parameters.given[name].source == COMMAND_LINE for node in owners):
            raise InputError(sentence)
        owners[0].log.warning(f"unknown parameter {name}", sentence)


def _check_others(nodes: Sequence[ParameterNode], full_names: str) -> None:
    """Refuse names on the command line that only nodes outside this process have."""
    declared = {name for node in nodes for name in node.parameters.names()}
    for node in nodes:
        names = [name for name, value in node.parameters.given.items() if value.source == COMMAND_LINE]
        # A controller that is loaded later may have other groups; the controller node warns of them.
        of_plugins = unclaimed_names(names, declared) if "safe_controller" in declared else []
        for name in _undeclared(names, declared):
            if name not in of_plugins:
                raise InputError(f"'{name}' is given a value on the command line, but {full_names} has no such "
                                 "parameter: it is one of another node")


def _undeclared(given: Iterable[str], declared: Collection[str]) -> list[str]:
    return [name for name in given if name not in declared and not name.startswith(_ROS_PREFIX)]


def _group(name: str) -> str:
    """Return the part up to the first dot, with the dot; the name if there is none."""
    return "".join(name.partition(".")[:2])
