# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Every joint of a description, fixed or moving, as the pose of its child link in its parent link.

``RobotModel`` merges fixed links into the moving link that carries them. tf needs the tree of all named frames;
``LinkTree`` keeps every link under its parent of the description.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from lxml import etree

from robodyn_ros.description.document import read_document
from robodyn_ros.description.model import Array, RobotModel
from robodyn_ros.description.robot_sources import text_source
from robodyn_ros.kinematics.forward import joint_poses
from robodyn_ros.kinematics.twists import inverse_pose


@dataclass(frozen=True)
class LinkTree:
    """All links of a robot with their parents."""

    model: RobotModel
    parents: Mapping[str, str]  # name of the parent link of every link except the base link, by the link's name

    @classmethod
    def from_model(cls, model: RobotModel) -> LinkTree:
        """Build the tree of a model that was read from a description.

        Raises:
            DescriptionError: The model carries no description.
        """
        document, _ = read_document(text_source(model.description))
        parents = {_link(joint, "child"): _link(joint, "parent") for joint in document.joints.values()}
        return cls(model, MappingProxyType(parents))

    def fixed_poses(self) -> dict[str, Array]:
        """Pose of every fixed link in its parent link, by the link's name, each of shape (4, 4)."""
        frames, moving = self.model.frames, {joint.link for joint in self.model.joints}
        return {
            link: inverse_pose(frames[parent].pose_link_frame) @ frames[link].pose_link_frame
            for link, parent in self.parents.items()
            if link not in moving
        }

    def moving_poses(self, q: Array) -> dict[str, Array]:
        """Pose of every moving link in its parent link.

        Args:
            q: Joint positions, shape (n,) [rad or m]; NaN for unknown positions.

        Returns:
            Poses by link name, each of shape (4, 4); with NaN for joints whose position is unknown.
        """
        frames = self.model.frames
        return {
            joint.link: inverse_pose(frames[self.parents[joint.link]].pose_link_frame) @ pose
            for joint, pose in zip(self.model.joints, joint_poses(self.model, q), strict=True)
        }


def _link(joint: etree._Element, end: str) -> str:
    return str(joint.find(end).get("link"))
