"""Names that are given values at start and are no parameters, misspelt most of the time; rclpy passes them over.

One file may give parameters to all nodes, and those of controllers that are not in force: what another node or
a controller that is loaded later may take is no mistake. What is one is refused where it stands on the command line of
the nodes' own process, and warned of where a file has it, which may be meant for nodes of other packages, too.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import Any, Protocol

from robodyn_ros.description.model import suggest
from robodyn_ros.errors import InputError

PARAMETERS = frozenset((
    "robot", "robot_description", "actuators", "publish_frequency", "frame_prefix", "tip_link",
    "step", "update_rate", "integrator", "gravity", "payload.", "model_error.", "seed", "sensing.", "initial_position.",
    "time_mode", "clock_rate", "real_time_factor", "lockstep_speed_limit", "command_timeout", "safe_behaviour",
    "safe_time_constant", "wrench_timeout", "actuator_state_rate",
    "controller", "safe_controller", "state_publish_rate", "state_timeout", "output", "allow_partial_joints_goal",
    "action_monitor_rate", "constraints.", "cartesian.",
))
"""Parameters of all nodes, a group for all in it; what a node is given that another takes is no mistake.

Stated here once more, but for a test that compares, since no node has to load all others to know their names.
"""

_OF_ROS = "qos_overrides."
_OPTIONS = ("-p", "--param")


def unknown_names(given: Iterable[str], declared: Collection[str]) -> list[str]:
    """Names that neither this node nor another one has, nor a controller can have.

    Args:
        given: What is given values.
        declared: This node's parameters.
    """
    own = set(map(_group, declared))
    return [name for name in _undeclared(given, declared)
            if (_group(name) in own if "." in name else name not in PARAMETERS)]


def unclaimed_names(given: Iterable[str], declared: Collection[str]) -> list[str]:
    """Names in groups that no node has, so that a controller may have them; arguments as for `unknown_names`."""
    claimed = PARAMETERS.union(map(_group, declared))
    return [name for name in _undeclared(given, declared) if "." in name and _group(name) not in claimed]


class NodeParameters(Protocol):
    """What `check_given` needs of a node's parameters."""

    def names(self) -> Collection[str]:
        """Names of the declared parameters."""

    def unknown(self) -> Iterable[str]:
        """Names that are given a value but not declared."""


class ParameterNode(Protocol):
    """What `check_given` needs of a node."""

    parameters: NodeParameters

    def get_fully_qualified_name(self) -> str:
        """Namespace and name."""

    def get_logger(self) -> Any:
        """The logger."""


def check_given(nodes: Sequence[ParameterNode], arguments: Iterable[str]) -> None:
    """Look at all that the nodes of this process were given; they have declared what they have.

    Args:
        nodes: The nodes.
        arguments: The command line of this process.

    Raises:
        InputError: An unknown name stands on the command line.
    """
    meant: dict[str, list[ParameterNode]] = {}
    for node in nodes:
        for name in node.parameters.unknown():
            meant.setdefault(name, []).append(node)
    on_command_line = names_on_command_line(arguments)
    for name, owners in meant.items():
        nodes_given_it = " or ".join(node.get_fully_qualified_name() for node in owners)
        nearest = suggest(name, (known for node in owners for known in node.parameters.names()))
        sentence = f"'{name}' is given a value, but is no parameter of {nodes_given_it}: {nearest}"
        if name in on_command_line:
            raise InputError(sentence)
        owners[0].get_logger().warning(sentence)


def names_on_command_line(arguments: Iterable[str]) -> set[str]:
    """Names that a command line gives values, as in ``--ros-args -p robot:=arm6 -p controller:state_timeout:=1.0``."""
    words = list(arguments)
    assigned = (word.partition(":=")[0] for option, word in zip(words, words[1:], strict=False) if option in _OPTIONS)
    return {name.rpartition(":")[2] for name in assigned}


def _undeclared(given: Iterable[str], declared: Collection[str]) -> list[str]:
    return [name for name in given if name not in declared and not name.startswith(_OF_ROS)]


def _group(name: str) -> str:
    """What stands before the first dot, with it; the name if there is none."""
    return "".join(name.partition(".")[:2])
