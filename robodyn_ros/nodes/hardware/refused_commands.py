# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Topic ``refused_commands``: tells commanders that their commands are refused, because others command the joints."""

from __future__ import annotations

from diagnostic_msgs.msg import DiagnosticStatus, KeyValue

from robodyn_ros import topic_names
from robodyn_ros.nodes.common.control_path import ControlPath
from robodyn_ros.nodes.common.participants import describe, publishers
from robodyn_ros.nodes.common.runtime import RobodynNode
from robodyn_ros.nodes.common.topics import LATCHED_QOS
from robodyn_ros.nodes.hardware.joint_owners import Refusal
from robodyn_ros.nodes.hardware.plant_loop import PlantLoop

COMMAND_TOPICS = (topic_names.JOINT_COMMANDS, topic_names.VOLTAGE_COMMANDS, topic_names.own(topic_names.COMMANDS))


class RefusedCommands:
    """Publishes and reports the refusals of the loop's :class:`JointOwners`; the executor does this.

    Args:
        node: The node that publishes.
        loop: The loop that refuses commands.
        path: Its path.
    """

    def __init__(self, node: RobodynNode, loop: PlantLoop, path: ControlPath) -> None:
        self._node, self._loop, self._path = node, loop, path
        self._topics = [node.resolve_topic_name(topic) for topic in COMMAND_TOPICS]
        self._joints = loop.plant.joint_names
        self._told: dict[bytes, Refusal] = {}
        self._publisher = node.create_publisher(DiagnosticStatus, topic_names.REFUSED_COMMANDS, LATCHED_QOS)
        self._publish({})  # a controller that another hardware node refused is free

    def tell(self) -> None:
        """Publish and report refusals that are new or have ended."""
        owners = self._loop.owners
        if not owners.refusals and not self._told:
            return
        names = publishers(self._node, self._topics)
        self._path.call(lambda: owners.release(set(names)))
        refusals = owners.refusals
        if refusals == self._told:
            return
        self._told = refusals
        texts = {process: f"{self._joint_list(refusal)} follow the commands of {describe(names, refusal.owner)}"
                 for process, refusal in refusals.items()}
        self._publish(texts)
        if refusals:
            self._node.diagnostics.raise_condition("refused commands", "; ".join(
                f"commands of {describe(names, refusals[process].sender)} are refused: {text}"
                for process, text in texts.items()))
        else:
            self._node.diagnostics.clear_condition("refused commands", "no commands are refused any more")

    def _joint_list(self, refusal: Refusal) -> str:
        return ", ".join(self._joints[column] for column in refusal.columns)

    def _publish(self, texts: dict[bytes, str]) -> None:
        self._publisher.publish(DiagnosticStatus(
            level=DiagnosticStatus.WARN if texts else DiagnosticStatus.OK,
            name=self._node.get_fully_qualified_name(), message="; ".join(texts.values()),
            values=[KeyValue(key=process.hex(), value=text) for process, text in texts.items()]))
