"""Unknown parameter names, usually misspelt, which rclpy ignores: reported with the closest known names.

Names of other nodes or of unloaded controllers are ignored, since one file may hold the parameters of all nodes.
Unknown names are errors on the command line, and warnings in files, which may hold parameters of other packages too.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from pathlib import Path
from typing import Protocol

from robodyn_ros.bounded_files import read_yaml
from robodyn_ros.description.model import suggest
from robodyn_ros.errors import InputError
from robodyn_ros.nodes.common.throttled_log import ThrottledLog

PARAMETERS = frozenset((
    "robot", "robot_description", "actuators", "publish_frequency", "frame_prefix", "tip_link",
    "step", "update_rate", "integrator", "gravity", "payload.", "model_error.", "seed", "sensing.", "initial_position.",
    "time_mode", "clock_rate", "real_time_factor", "lockstep_speed_limit", "command_timeout", "safe_behaviour",
    "safe_time_constant", "wrench_timeout", "actuator_state_rate",
    "controller", "safe_controller", "state_publish_rate", "display_rate", "state_timeout", "output",
    "allow_partial_joints_goal", "action_monitor_rate", "constraints.", "cartesian.",
))
"""Parameters of all nodes; a group stands for all its parameters.

Repeated here so that no node has to import all others; a test compares the list with the declarations.
"""

_OF_ROS = "qos_overrides."
_OPTIONS = ("-p", "--param")


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
    """Return the names in groups that no node has and a controller may have; arguments as for `unknown_names`."""
    claimed = PARAMETERS.union(map(_group, declared))
    return [name for name in _undeclared(given, declared) if "." in name and _group(name) not in claimed]


class NodeParameters(Protocol):
    """The part of the parameters of a node that `check_given` uses."""

    def names(self) -> Collection[str]:
        """Names of the declared parameters."""

    def unknown(self) -> Iterable[str]:
        """Names that are given a value but not declared."""


class ParameterNode(Protocol):
    """The part of a node that `check_given` uses."""

    parameters: NodeParameters
    log: ThrottledLog

    def get_fully_qualified_name(self) -> str:
        """Namespace and name."""



def check_given(nodes: Sequence[ParameterNode], arguments: Iterable[str]) -> None:
    """Report unknown names that the nodes of this process were given; for nodes that have declared all parameters.

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
        owners[0].log.warning(f"unknown parameter {name}", sentence)


def check_files(arguments: Iterable[str]) -> None:
    """Refuse parameter files on a command line that ROS 2 would wait for or read without bounds.

    Raises:
        InputError: A file is no regular file, no YAML, or exceeds the bounds of `read_yaml`.
    """
    words = list(arguments)
    for option, word in zip(words, words[1:], strict=False):
        if option == "--params-file":
            read_yaml(Path(word), construct=False)


def names_on_command_line(arguments: Iterable[str]) -> set[str]:
    """Names that a command line gives values, as in ``--ros-args -p robot:=arm6 -p controller:state_timeout:=1.0``."""
    words = list(arguments)
    assigned = (word.partition(":=")[0] for option, word in zip(words, words[1:], strict=False) if option in _OPTIONS)
    return {name.rpartition(":")[2] for name in assigned}


def _undeclared(given: Iterable[str], declared: Collection[str]) -> list[str]:
    return [name for name in given if name not in declared and not name.startswith(_OF_ROS)]


def _group(name: str) -> str:
    """Return the part up to the first dot, with the dot; the name if there is none."""
    return "".join(name.partition(".")[:2])
