# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.
"""The controller manager of an installed ros2_control, as a process beside a measurement or a test."""

from __future__ import annotations

import os
import subprocess
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Self

import yaml

PATIENCE = 60.0
"""Longest wait for the manager [s]."""
AGAIN = 10.0
"""Time after which a call without an answer is repeated [s]."""
SETTLED = 0.5
"""Time that a server gets to discover a new client [s]; no condition shows when it has."""


def executable() -> Path | None:
    """The executable of the controller manager on AMENT_PREFIX_PATH; None: ros2_control is not installed."""
    prefixes = filter(None, os.environ.get("AMENT_PREFIX_PATH", "").split(os.pathsep))
    files = (Path(prefix) / "lib" / "controller_manager" / "ros2_control_node" for prefix in prefixes)
    return next((file for file in files if file.exists()), None)


class ControllerManager:
    """A process that runs a controller manager, with a node beside it that calls its services.

    Args:
        description: URDF with the hardware components.
        parameters: Parameters by node.
        folder: For its parameter file and its log.
        namespace: Its namespace; "": none.
        prefixes: Further folders in which packages of controllers are installed.

    Attributes:
        node: The node beside it.
    """

    def __init__(self, description: str, parameters: dict[str, Any], folder: Path, namespace: str = "",
                 prefixes: Sequence[Path] = ()) -> None:
        import rclpy
        from rclpy.executors import SingleThreadedExecutor
        from rclpy.qos import DurabilityPolicy, QoSProfile
        from std_msgs.msg import String

        self._log, self._top = folder / "manager.log", f"/{namespace}" if namespace else ""
        settings = folder / "manager.yaml"
        settings.write_text(yaml.safe_dump(
            {f"{self._top}/{node}": {"ros__parameters": values} for node, values in parameters.items()}))
        self._context, self._clients = rclpy.Context(), dict[str, Any]()
        rclpy.init(context=self._context)
        self.node = rclpy.create_node("manager_client", namespace=namespace or None, context=self._context)
        self._executor = SingleThreadedExecutor(context=self._context)
        self._executor.add_node(self.node)
        self._thread = threading.Thread(target=self._executor.spin)
        self._thread.start()
        latched = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)
        self._description = self.node.create_publisher(String, "robot_description", latched)
        self._description.publish(String(data=description))
        paths = {name: os.pathsep.join([*(f"{prefix}{tail}" for prefix in prefixes), os.environ.get(name, "")])
                 for name, tail in (("AMENT_PREFIX_PATH", ""), ("LD_LIBRARY_PATH", "/lib"))}
        with self._log.open("w") as log:
            self.process = subprocess.Popen(
                [str(executable()), "--ros-args", "-r", f"__ns:={self._top or '/'}", "--params-file", str(settings)],
                env=os.environ | paths, stdout=log, stderr=subprocess.STDOUT)

    def __enter__(self) -> Self:
        """Return it; it runs."""
        return self

    def __exit__(self, *_: object) -> None:
        """End it."""
        self.process.terminate()
        try:
            self.process.wait(20.0)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self._executor.shutdown()
        self._thread.join()
        self.node.destroy_node()
        self._context.try_shutdown()

    def log(self) -> str:
        """All that it has printed."""
        return self._log.read_text()

    def wait(self, condition: Callable[[], bool], what: str) -> None:
        """Wait until a condition holds.

        Raises:
            TimeoutError: It did not within `PATIENCE`, or the manager has ended.
        """
        end = time.monotonic() + PATIENCE
        while not condition():
            if time.monotonic() > end or self.process.poll() is not None:
                raise TimeoutError(f"not {what}:\n{self.log()[-3000:]}")
            time.sleep(0.01)

    def call(self, kind: Any, name: str, /, **fields: Any) -> Any:
        """Call a service and return its answer.

        Clients are kept, and asked again, since a busy server drops the answer to one that it has not discovered yet.
        """
        if name not in self._clients:
            self._clients[name] = self.node.create_client(kind, name)
            self.wait(self._clients[name].service_is_ready, f"offered: {name}")
            time.sleep(SETTLED)
        sent: list[tuple[float, Any]] = []

        def answered() -> bool:
            if not sent or time.monotonic() > sent[-1][0] + AGAIN:
                sent.append((time.monotonic(), self._clients[name].call_async(kind.Request(**fields))))
            return any(future.done() for _, future in sent)

        self.wait(answered, f"answered by {name}")
        return next(future.result() for _, future in sent if future.done())

    def load(self, name: str) -> bool:
        """Load and configure a controller; whether the manager did it."""
        from controller_manager_msgs.srv import ConfigureController, LoadController

        return all(self.call(kind, f"controller_manager/{verb}_controller", name=name).ok
                   for kind, verb in ((LoadController, "load"), (ConfigureController, "configure")))

    def switch(self, activate: Sequence[str] = (), deactivate: Sequence[str] = ()) -> bool:
        """Activate and deactivate controllers; whether the manager did it, as it does not before there are states."""
        from controller_manager_msgs.srv import SwitchController

        return bool(self.call(SwitchController, "controller_manager/switch_controller",
                              activate_controllers=list(activate), deactivate_controllers=list(deactivate),
                              activate_asap=True, strictness=SwitchController.Request.STRICT).ok)
