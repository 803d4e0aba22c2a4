# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Node ``view``: a page that shows the running graph in a browser; see docs/driving.md.

It uses the topics, services and parameters of the nodes like any other node. It may run on another machine, and
together with RViz.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

import viser
from rcl_interfaces.msg import ParameterEvent
from rclpy.parameter import parameter_value_to_python
from rclpy.qos import qos_profile_parameter_events
from std_msgs.msg import String
from visualization_msgs.msg import MarkerArray

from robodyn_ros.base import topic_names
from robodyn_ros.base.common_fields import PORT
from robodyn_ros.base.errors import RobodynError
from robodyn_ros.base.fields import Field
from robodyn_ros.base.timing import to_seconds
from robodyn_ros.control.plugins.registry import prefix
from robodyn_ros.description.robot_sources import mesh_folder
from robodyn_ros.nodes.common import drawing_markers
from robodyn_ros.nodes.common.drawing_markers import Strokes
from robodyn_ros.nodes.common.messages import MessageError
from robodyn_ros.nodes.common.parameters import TIP_LINK
from robodyn_ros.nodes.common.runtime import RobodynNode, run_node
from robodyn_ros.nodes.common.surface_markers import from_markers
from robodyn_ros.nodes.common.topics import LATCHED_QOS
from robodyn_ros.nodes.view.graph_commands import GraphCommands
from robodyn_ros.nodes.view.graph_state import GraphState
from robodyn_ros.nodes.view.recording import Recording
from robodyn_ros.robot import Robot
from robodyn_ros.simulation.surface_shapes import SurfaceShape
from robodyn_ros.toolbox.view.live_plots import LivePlots
from robodyn_ros.toolbox.view.panel import Panel
from robodyn_ros.toolbox.view.robot_scene import RobotScene
from robodyn_ros.toolbox.view.server import address, start_server, stop_server
from robodyn_ros.toolbox.view.sliders import Gain

SLOW = 4
"""Pictures between two updates of plots, status and sliders."""
ASK_AGAIN = 50
"""Pictures until the page repeats a request to a node that was not running."""
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


class GraphView:
    """The page of one robot.

    Args:
        node: The node that serves the page.
        server: The page's server.
        robot: The robot.
        folder: Folder of its URDF file; None if unknown.
        recordings: Folder in which recordings are made.
    """

    def __init__(self, node: RobodynNode, server: viser.ViserServer, robot: Robot, folder: Path | None,
                 recordings: Path) -> None:
        self._node, self._server, self._robot, self._folder = node, server, robot, folder
        self._graph = GraphState(node, robot.model)
        self._recording = Recording(recordings, node.get_namespace())
        self._commands = GraphCommands(node, robot, self._graph, self._report, self._recording)
        self._events = node.listen(ParameterEvent, topic_names.PARAMETER_EVENTS, self._on_parameter_event,
                                   qos_profile_parameter_events)
        self._surfaces = node.listen(MarkerArray, topic_names.SURFACES, self._on_surfaces, LATCHED_QOS)
        self._drawing = node.listen(MarkerArray, topic_names.DRAWING, self._on_drawing, 10)
        self._strokes: Strokes | None = None
        self._shapes: list[SurfaceShape] = []
        self._scene: RobotScene | None = None
        self._pictures, self._asked = 0, -ASK_AGAIN
        self._shown_gains = self._wanted_gains = ""
        self._offered = False

    def show(self) -> None:
        """Redraw the picture and send pending requests; called once per picture."""
        graph = self._graph
        moved = graph.update()
        if self._scene is None:
            if not graph.alive:
                return
            self._build()
        assert self._scene is not None
        self._pictures += 1
        self._commands.run_pending()
        if moved:
            self._scene.show(graph.q)
            self._plots.add(to_seconds(graph.stamp), graph.follow.error, graph.follow.tip_error, graph.effort,
                            graph.current, graph.voltage, graph.follow.terms)
        desired_tip = self._scene.show_desired(graph.follow.q, graph.follow.tip)
        for kind, (link, wrench) in graph.wrenches.items():
            self._scene.show_wrench(kind, link, wrench)
        self._panel.handle.follow(self._scene.tip_pose, desired_tip)
        if self._pictures % SLOW == 0:
            self._show_slowly()

    def close(self) -> None:
        """End a push of the tip and a recording."""
        self._commands.close()
        self._recording.close()

    def destroy(self) -> None:
        """Remove the robot from the page and destroy all clients."""
        self._commands.destroy()
        self._recording.close()
        self._graph.destroy()
        self._node.destroy_subscription(self._events)
        self._node.destroy_subscription(self._surfaces)
        self._node.destroy_subscription(self._drawing)
        self._server.scene.reset()
        self._server.gui.reset()

    def _build(self) -> None:
        self._server.scene.reset()
        self._server.gui.reset()
        self._scene = RobotScene(self._server, self._robot.model, self._folder, self._graph.q)
        self._scene.surfaces.show(self._shapes)
        self._show_drawing()
        if self._scene.warnings:
            self._node.log.warning("meshes", "; ".join(self._scene.warnings))
        self._panel = Panel(self._server, self._scene, self._robot.model, self._commands)
        self._plots = LivePlots(self._server, self._robot.model)
        self._node.log.info("robot", f"showing robot '{self._robot.name}'")

    def _show_slowly(self) -> None:
        graph = self._graph
        self._plots.draw()
        self._panel.follow(graph.q if graph.follow.q is None else graph.follow.q, graph.is_still)
        self._panel.show_status(*self._status())
        self._panel.show_supervision(graph.follow.stopped, graph.follow.speed)
        if ended := self._recording.ended():
            self._report(*ended)
        self._panel.show_recording(str(self._recording.folder or ""), self._recording.running)
        if not graph.alive:
            return
        if name := graph.follow.controller:
            if self._offered:
                self._panel.show_controller(name)
            if name != self._wanted_gains:
                self._wanted_gains = name
                self._read_gains()
        if not self._offered and self._pictures - self._asked >= ASK_AGAIN:
            self._ask()

    def _ask(self) -> None:
        """Request values that no topic provides."""
        self._asked = self._pictures
        self._commands.read_speed(self._panel.show_speed)
        self._commands.read_controllers(self._offer)

    def _offer(self, names: list[str]) -> None:
        self._panel.offer_controllers(names or [self._graph.follow.controller or "?"])
        self._offered = True

    def _read_gains(self) -> None:
        front = prefix(self._wanted_gains)
        self._commands.read_gains(front, lambda gains: self._show_gains(front, gains))

    def _show_gains(self, front: str, gains: list[Gain]) -> None:
        if front == prefix(self._wanted_gains):
            self._panel.show_gains(gains)

    def _status(self) -> tuple[str, bool]:
        graph, name = self._graph, self._robot.name
        if not graph.alive:
            return f"{name}: no joint states for {graph.silence:.0f} s; is the hardware node still running?", False
        if graph.problem:
            return f"{name}: {graph.problem}", False
        if graph.follow.stopped:
            return f"{name} is stopped: {graph.follow.stopped}; Release lets it go on", False
        if graph.is_still:
            return f"{name} does not move: the simulation is paused or waits for commands", True
        controller = graph.follow.controller or "no controller"
        return f"{name}, {controller}, {graph.real_time_factor:.2f} × real time", True

    def _report(self, text: str, good: bool) -> None:
        self._panel.show_message(text, good)
        if text and not good:
            self._node.log.warning("requests", text)
            self._read_gains()  # sliders return to the actual values
            self._panel.show_controller(self._graph.follow.controller, refused=True)

    def _on_surfaces(self, message: MarkerArray) -> None:
        try:
            self._shapes = from_markers(message)
        except MessageError as error:
            self._node.diagnostics.problem(f"rejected surfaces: {error.reason}", f"surfaces rejected: {error}")
            return
        if self._scene is not None:
            self._scene.surfaces.show(self._shapes)

    def _on_drawing(self, message: MarkerArray) -> None:
        try:
            self._strokes = drawing_markers.from_markers(message)
        except MessageError as error:
            self._node.diagnostics.problem(f"rejected drawing: {error.reason}", f"drawing rejected: {error}")
            return
        self._show_drawing()

    def _show_drawing(self) -> None:
        if self._scene is not None and self._strokes is not None:
            self._scene.drawing.show(*self._strokes)

    def _on_parameter_event(self, event: ParameterEvent) -> None:
        namespace = self._node.get_namespace().rstrip("/")
        if self._scene is None or event.node != f"{namespace}/controller":
            return
        for parameter in event.changed_parameters:
            self._panel.gains.update(parameter.name, parameter_value_to_python(parameter.value))


class ViewNode(RobodynNode):
    """The page: waits for a robot's description, then shows its graph until another description arrives.

    Raises:
        InputError: The page cannot be served on this host and port.
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
    """Run the node until SIGINT or SIGTERM, with a low priority so that control loops on this machine go first."""
    os.nice(NICENESS)
    if hasattr(os, "SCHED_BATCH"):  # Linux: waking threads of this process do not preempt others
        os.sched_setscheduler(0, os.SCHED_BATCH, os.sched_param(0))
    return run_node(ViewNode, args)
