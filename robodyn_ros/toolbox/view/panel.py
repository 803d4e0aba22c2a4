# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""The page's control panel: controller, simulation, joints, gains, display options, and the handle at the tip.

`Commands` are the requests that it sends; a browser has no other way to move the robot.
"""

from __future__ import annotations

import math
import secrets
import time
from collections.abc import Callable, Sequence
from typing import Any, Protocol

import numpy as np
import viser

from robodyn_ros.description.model import Array, RobotModel
from robodyn_ros.toolbox.view.robot_figure import position_and_quaternion, to_pose
from robodyn_ros.toolbox.view.robot_scene import RobotScene
from robodyn_ros.toolbox.view.sliders import USER_HOLD_TIME, Gain, GainSliders, JointSliders, SharedValue
from robodyn_ros.toolbox.view.text import plain

MOVE, PUSH, OFF = "move it", "push it", "off"
MODES = MOVE, PUSH, OFF

RECORD, END_RECORDING = "record", "end recording"
PAUSE, RESUME, STEP, RESET = "pause", "resume", "step", "reset"
STOP, RELEASE = "Stop", "Release"
GOOD, BAD = "#2a7d3f", "#c03030"


class Commands(Protocol):
    """Requests of a page; each method returns at once, on any thread, and replaces earlier requests of its kind."""

    def swap(self, controller: str) -> None:
        """Swap to an installed controller."""

    def set_parameter(self, name: str, value: float | bool) -> None:
        """Set a parameter of the controller node."""

    def set_speed(self, factor: float) -> None:
        """Set the real-time factor: simulated seconds per second."""

    def stop(self) -> None:
        """Stop the robot until it is released."""

    def release(self) -> None:
        """End a stop: the controller begins at the current state."""

    def set_motion_speed(self, share: float) -> None:
        """Set the speed of all motions, relative to the requested one, 0 to 1."""

    def move_joints(self, q: Array) -> None:
        """Move the joints to positions, shape (n,) [rad or m]."""

    def move_tip(self, pose: Array) -> None:
        """Move the tip link to a pose in the base frame, shape (4, 4)."""

    def push(self, force: Array) -> None:
        """Push the tip link with a force in base axes, shape (3,) [N], until the next push; zeros end the push."""

    def pause(self, paused: bool) -> None:
        """Pause or resume the simulation."""

    def step(self) -> None:
        """Advance a paused simulation."""

    def record(self, wanted: bool) -> None:
        """Start or end a recording on the view's machine."""

    def reset(self) -> None:
        """Reset the simulated robot to its initial state."""


class TipHandle:
    """Arrows, planes and rings at the tip that a user drags.

    Args:
        scene: Scene to draw in.
        commands: Receives the target or the force.
        size: Size of the robot [m].
        force_scale: Distance of the handle from the tip divided by the force of the push [m/N].
        turns: Whether the handle also rotates the tip.
    """

    def __init__(self, scene: viser.SceneApi, commands: Commands, size: float, force_scale: float, turns: bool) -> None:
        self._commands, self._force_scale, self._reach = commands, force_scale, 1.5 * size
        self._mode, self._dragging, self._touched = MOVE, False, -math.inf
        self._tip: Array = np.eye(4)
        self._turns = turns
        # A secret name, which only accepted pages know.
        self._gizmo = scene.add_transform_controls(f"/tip handle {secrets.token_hex(16)}", scale=0.22 * size,
                                                   disable_rotations=not turns, depth_test=False, opacity=0.8)
        self._gizmo.on_update(self._on_drag)

    def set_mode(self, mode: str) -> None:
        """Choose one of ``MODES``: dragging moves or pushes the tip, or the handle is hidden."""
        if self._mode == PUSH:
            self._commands.push(np.zeros(3))
        self._mode, self._dragging = mode, False
        self._gizmo.visible = mode != OFF
        self._gizmo.disable_rotations = mode == PUSH or not self._turns

    def follow(self, tip: Array, desired: Array) -> None:
        """Keep the handle at the tip while nobody drags it; during a push, update the force as the tip moves.

        Args:
            tip: Pose of the tip link in the base frame, shape (4, 4).
            desired: Desired pose of the tip link, shape (4, 4).
        """
        self._tip = tip
        if self._mode == PUSH and self._dragging:
            self._push()
        elif self._mode == PUSH or (not self._dragging and time.monotonic() - self._touched > USER_HOLD_TIME):
            # A push starts with the axes of the base, a target with those of the tip.
            position, wxyz = position_and_quaternion(tip if self._mode == PUSH else desired)
            self._gizmo.position, self._gizmo.wxyz = position, (1.0, 0.0, 0.0, 0.0) if self._mode == PUSH else wxyz

    async def _on_drag(self, event: viser.TransformControlsEvent) -> None:  # async: in the order of the events
        self._dragging, self._touched = event.phase != "end", time.monotonic()
        if self._mode == MOVE and event.phase != "start":
            self._commands.move_tip(to_pose(np.asarray(self._gizmo.position), np.asarray(self._gizmo.wxyz)))
        elif self._mode == PUSH and event.phase == "end":
            self._commands.push(np.zeros(3))
        elif self._mode == PUSH:
            self._push()

    def _push(self) -> None:
        offset: Any = np.asarray(self._gizmo.position) - self._tip[:3, 3]
        distance = float(np.linalg.norm(offset))
        self._commands.push(offset * min(1.0, self._reach / max(distance, 1e-9)) / self._force_scale)


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
        # The active controller is an option, too; its name comes from a topic, and may name a module.
        self._controller = SharedValue(handle, lambda name: self._commands.swap(name) if name in names else None)

    def show_controller(self, name: str, refused: bool = False) -> None:
        """Show the active controller.

        Args:
            name: Its name.
            refused: Whether the graph refused the controller that a user chose.
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
        """Show the requested real-time factor; None: real time, or no speed limit."""
        self._speed.visible = factor is not None
        if factor is not None:
            self._speed.max = max(self._speed.max, factor)
            self._speed.value = factor

    def show_supervision(self, stopped: str, speed: float | None) -> None:
        """Show whether the robot is stopped, and the speed of all motions.

        Args:
            stopped: Why the robot is stopped until it is released; empty: not stopped.
            speed: Speed relative to the requested one; None: unknown.
        """
        if self._release.disabled == bool(stopped):
            self._release.disabled = not stopped
        if speed is not None:
            self._motion_speed.show(round(100.0 * speed))

    def show_recording(self, folder: str, running: bool) -> None:
        """Show the folder of the newest recording, and whether it is running."""
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
