# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Node ``view``: a page that shows the running graph in a browser; see docs/view.md.

It subscribes to topics of the nodes and calls their services and parameters, like any other node. It may run on another
machine, and together with RViz.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from std_msgs.msg import String

from robodyn_ros.base import topic_names
from robodyn_ros.base.common_fields import PORT
from robodyn_ros.base.errors import RobodynError
from robodyn_ros.base.fields import Field
from robodyn_ros.description.robot_sources import mesh_folder
from robodyn_ros.nodes.common.parameters import TIP_LINK
from robodyn_ros.nodes.common.runtime import RobodynNode, run_node
from robodyn_ros.nodes.common.topics import LATCHED_QOS
from robodyn_ros.nodes.view.graph_view import GraphView
from robodyn_ros.robot import Robot
from robodyn_ros.toolbox.view.server import address, start_server, stop_server

PARAMETERS = (
    TIP_LINK,
    Field("host", "127.0.0.1", "Address to listen on; 0.0.0.0: all addresses of this machine, so that everyone who "
          "reaches it can move the robot", structural=True),
    PORT,
    Field("robot_file", "", "Path of the robot's URDF file, to which mesh paths are relative; empty: unknown",
          structural=True),
    Field("recordings", "", "Folder in which the page's recordings are made; empty: the working directory",
          structural=True),
    Field("frame_rate", 25.0, "Pictures per second", unit="Hz", structural=True, minimum=1.0, maximum=60.0),
)

NICENESS = 10
WAITING = ("Waiting for a robot on the topic **{topic}**. Start one, in another terminal for example by\n\n"
           "`robodyn simulate`\n\nwith the same ROS_DOMAIN_ID and namespace.")


class ViewNode(RobodynNode):
    """The page: waits for a robot's description, then shows its graph until another description comes.

    Raises:
        InputError: The page cannot be served at this host and port.
    """

    def __init__(self) -> None:
        super().__init__("view")
        self.parameters.declare(PARAMETERS)
        self._server = start_server(self.parameters["host"], self.parameters["port"], "robodyn",
                                    lambda kind, text: self.diagnostics.problem(f"refused {kind}", text))
        self._folder = mesh_folder(Path(self.parameters["robot_file"])) if self.parameters["robot_file"] else None
        self._description = ""
        self._view: GraphView | None = None
        subscription = self.listen(String, topic_names.ROBOT_DESCRIPTION, self._on_description, LATCHED_QOS)
        self._server.gui.add_markdown(WAITING.format(topic=subscription.topic_name))
        self.log.info("waiting", f"waiting for a robot on {subscription.topic_name}")
        self.create_steady_timer(1.0 / self.parameters["frame_rate"], self._show)
        print(f"robodyn view: open {address(self._server)} in a browser", flush=True)

    def stop(self) -> None:
        """End a push of the tip and a recording, and close the page."""
        super().stop()
        if self._view is not None:
            self._view.close()
        stop_server(self._server)

    def _on_description(self, message: String) -> None:
        if message.data == self._description:
            return
        self._description = message.data
        try:
            robot = Robot.from_urdf_text(message.data, tip_link=self.parameters["tip_link"] or None)
        except RobodynError as error:
            self.diagnostics.problem("rejected descriptions", f"robot_description: {error}")
            return
        if self._view is not None:
            self._view.destroy()
        self._view = GraphView(self, self._server, robot, self._folder, Path(self.parameters["recordings"]))

    def _show(self) -> None:
        if self._view is not None:
            with self._server.atomic():
                self._view.show()


def main(args: Sequence[str] | None = None) -> int:
    """Run the node until SIGINT or SIGTERM, with a low priority, so that a control loop on this machine goes first."""
    os.nice(NICENESS)
    if hasattr(os, "SCHED_BATCH"):  # Linux: threads of this process interrupt no others when they wake up
        os.sched_setscheduler(0, os.SCHED_BATCH, os.sched_param(0))
    return run_node(ViewNode, args)
