# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""The page's control panel: controller, simulation, joints, gains and display options."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import viser

from robodyn_ros.description.model import Array, RobotModel
from robodyn_ros.toolbox.view.commands import Commands
from robodyn_ros.toolbox.view.joint_sliders import JointSliders
from robodyn_ros.toolbox.view.robot_scene import RobotScene
from robodyn_ros.toolbox.view.shared_value import SharedValue
from robodyn_ros.toolbox.view.sliders import Gain, GainSliders
from robodyn_ros.toolbox.view.text import plain
from robodyn_ros.toolbox.view.tip_handle import MODES, TipHandle

RECORD, END_RECORDING = "record", "end recording"
PAUSE, RESUME, STEP, RESET = "pause", "resume", "step", "reset"
STOP, RELEASE = "Stop", "Release"
GOOD, BAD = "#2a7d3f", "#c03030"


class Panel:
    """Widgets of one robot.

    Args:
        server: The page's server.
        scene: The robot's scene.
        model: The robot.
        commands: Receives the requests of the user.
    """

    def __init__(self, server: viser.ViserServer, scene: RobotScene, model: RobotModel, commands: Commands) -> None:
        gui, self._commands, self._scene = server.gui, commands, scene
        self._status = gui.add_html(plain(f"{model.name}: waiting for its controller"))
        self._message = gui.add_html("", visible=False)
        self._controller: SharedValue | None = None
        self.handle = TipHandle(server.scene, commands, scene.size, scene.force_scale, turns=model.n >= 6)
        self._add_stop(gui)
        tabs = gui.add_tab_group()
        with tabs.add_tab("Control"):
            self._controllers = gui.add_folder("Controller")
            with gui.add_folder("Motion"):
                self._motion_speed = SharedValue(
                    gui.add_slider("Speed [%]", 0, 100, 1, 100, hint="Of all motions, relative to the one asked for."),
                    lambda percent: commands.set_motion_speed(percent / 100.0))
            with gui.add_folder("Simulation"):
                self._add_simulation(gui)
            with gui.add_folder("Recording"):
                self._add_recording(gui)
            with gui.add_folder("Drag at the tip"):
                mode = gui.add_button_group("Dragging", MODES)
                mode.on_click(lambda event: self.handle.set_mode(event.target.value))
            with gui.add_folder("Joints"):
                self.joints = JointSliders(server, model, commands.move_joints)
        with (gains := tabs.add_tab("Gains")):
            self.gains = GainSliders(server, gains, commands.set_parameter)
        with tabs.add_tab("Show"):
            self._add_shown(gui)
        gui.main_panel.dock_right()
        gui.main_panel.set_width(330)

    def show_status(self, text: str, good: bool) -> None:
        """Show the state of the graph."""
        content = plain(text, GOOD if good else BAD, bold=True)
        if self._status.content != content:
            self._status.content = content

    def show_message(self, text: str, good: bool = False) -> None:
        """Show the outcome of a request; an empty text clears the message."""
        self._message.visible = bool(text)
        self._message.content = plain(text, GOOD if good else BAD)

    def offer_controllers(self, names: Sequence[str]) -> None:
        """List controllers to choose from."""
        if self._controller is not None:
            self._controller.handle.remove()
        with self._controllers:
            handle: Any = self._scene.server.gui.add_dropdown("In force", tuple(names))
        # The controller in force is an option, too: a name from a topic, which may name a module.
        self._controller = SharedValue(handle, lambda name: self._commands.swap(name) if name in names else None)

    def show_controller(self, name: str, refused: bool = False) -> None:
        """Show the active controller.

        Args:
            name: Its name.
            refused: Whether the graph has refused the controller that a user chose.
        """
        if self._controller is None:
            return
        handle = self._controller.handle
        if name not in handle.options:
            handle.options = (*handle.options, name)
        (self._controller.show_now if refused else self._controller.show)(name)

    def show_gains(self, gains: Sequence[Gain]) -> None:
        """Show the parameters of the active controller."""
        self.gains.show(gains)

    def show_speed(self, factor: float | None) -> None:
        """Show the requested real-time factor; None in real time or without a speed limit."""
        self._speed.visible = factor is not None
        if factor is not None:
            self._speed.max = max(self._speed.max, factor)
            self._speed.value = factor

    def show_supervision(self, stopped: str, speed: float | None) -> None:
        """Show whether the robot is stopped, and the speed of all motions.

        Args:
            stopped: Why the robot is stopped until it is released; empty if it is not.
            speed: Relative to the one that is asked for; None if unknown.
        """
        if self._release.disabled == bool(stopped):
            self._release.disabled = not stopped
        if speed is not None:
            self._motion_speed.show(round(100.0 * speed))

    def show_recording(self, folder: str, running: bool) -> None:
        """Show the folder of the newest recording, and whether it is under way."""
        self._recording = running
        label = END_RECORDING if running else RECORD
        if self._record.label != label:
            self._record.label = label
        content = plain(f"{'recording to' if running else 'recorded:'} {folder}") if folder else ""
        if self._recorded.content != content:
            self._recorded.content, self._recorded.visible = content, bool(folder)

    def follow(self, desired_q: Array, standing: bool) -> None:
        """Let the sliders follow the graph; arguments as for :meth:`JointSliders.follow`."""
        self.joints.follow(desired_q, standing)
        self.gains.follow()

    def _add_stop(self, gui: viser.GuiApi) -> None:
        self._stop = gui.add_button(STOP, color="red", hint="The safe controller takes over until Release.")
        self._stop.on_click(lambda _: self._commands.stop())
        self._release = gui.add_button(RELEASE, disabled=True, hint="The controller begins at the current state.")
        self._release.on_click(lambda _: self._commands.release())

    def _add_simulation(self, gui: viser.GuiApi) -> None:
        buttons = gui.add_button_group("Time", (PAUSE, RESUME, STEP, RESET))
        actions = {PAUSE: lambda: self._commands.pause(True), RESUME: lambda: self._commands.pause(False),
                   STEP: self._commands.step, RESET: self._commands.reset}
        buttons.on_click(lambda event: actions[event.target.value]())
        self._speed: Any = gui.add_slider("Real-time factor", 0.05, 5.0, 0.05, 1.0, visible=False)

        @self._speed.on_update
        def changed(event: viser.GuiEvent[Any]) -> None:
            if event.client is not None:
                self._commands.set_speed(event.target.value)

    def _add_recording(self, gui: viser.GuiApi) -> None:
        self._recording = False
        self._record = gui.add_button(RECORD)
        self._record.on_click(lambda _: self._commands.record(not self._recording))
        self._recorded = gui.add_html("", visible=False)

    def _add_shown(self, gui: viser.GuiApi) -> None:
        scene = self._scene

        def show_ghost(shown: bool) -> None:
            scene.ghost_wanted = shown

        def show_grid(shown: bool) -> None:
            scene.grid.visible = shown

        for label, shown, action in (("Desired pose", True, show_ghost), ("Path of the tip", True,
                                     scene.set_path_visible), ("Link frames", False, scene.robot.set_axes),
                                     ("Grid", True, show_grid), ("Shadows", True, scene.set_shadows)):
            gui.add_checkbox(label, shown).on_update(_switch(action))
        gui.add_button("Forget the path").on_click(lambda _: scene.clear_path())
        gui.add_button("Frame the robot").on_click(
            lambda event: None if event.client is None else scene.frame_robot(event.client))


def _switch(action: Callable[[bool], None]) -> Callable[[viser.GuiEvent[Any]], None]:
    """Return a handler that calls ``action`` with the value of a checkbox."""
    def changed(event: viser.GuiEvent[Any]) -> None:
        action(bool(event.target.value))

    return changed
