# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Watches the commands of a law, and switches an effort controller of ros2_control off when they stop or freeze.

A forward_command_controller repeats its last command for ever, so an arm whose law has ended continues with its last
efforts. When the controller is deactivated, the joints return to the driver, which holds them, brakes, or lets them
fall.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from threading import Event
from typing import Any, NamedTuple

from rclpy.qos import QoSProfile, ReliabilityPolicy
from sensor_msgs.msg import JointState

from robodyn_ros.base import topic_names
from robodyn_ros.base.errors import InputError, RobodynError, suggest
from robodyn_ros.nodes.client.graph_client import GraphClient
from robodyn_ros.nodes.client.topic_echo import find_topic
from robodyn_ros.nodes.common.control_path import ControlPath
from robodyn_ros.nodes.common.diagnostics import Diagnostics
from robodyn_ros.nodes.common.real_time import prioritize_process
from robodyn_ros.nodes.common.throttled_log import ThrottledLog

ANSWER_SECONDS = 2.0
"""Longest wait for an answer of the controller manager [s]."""
MANAGER_SECONDS = 10.0
"""Longest wait for the controller manager at the start [s]."""
BEST_EFFORT = 1
"""Strictness of the service: an already inactive controller is not an error."""
LATE, GRACE, GRACE_SHARE = 0.005, 0.01, 0.1
"""If the guard wakes later than the first [s], it was delayed itself, and then waits for messages to arrive: the second
[s], or the third as a share of the time without a command that it allows, whichever is longer.

It does so again while it is held up, up to the time without a command that it allows."""
MOVED = 0.01
"""The arm moves if a joint has moved by more than this since the commands froze [rad or m]."""
ATTEMPTS, RETRY_SECONDS = 5, 0.1
"""Number of requests to switch off, and the time from an answer to the next request [s]."""
OBSERVATION_SECONDS, HELD_TOLERANCE = 1.0, 0.05
"""The driver holds the arm if no joint moves by the second [rad or m] within the first [s] after the switch."""
PRIORITY = 40
"""Real-time priority of the guard where the system allows one; the control path of ros2_control has 50."""
LOOK_PERIOD = 0.05
"""Time between two checks of the silence and of the manager [s]."""


class Services(NamedTuple):
    """Types of the services of controller_manager_msgs that the guard calls."""

    switch: Any
    list: Any


def service_types() -> Services:
    """Return the types of the services, which only an installation of ros2_control has.

    Raises:
        RobodynError: It is not installed.
    """
    try:
        from controller_manager_msgs.srv import ListControllers, SwitchController
    except ImportError:
        raise RobodynError("controller_manager_msgs is not installed, which speaks with ros2_control: "
                           "sudo apt install ros-$ROS_DISTRO-controller-manager-msgs, and source that "
                           "installation") from None
    return Services(SwitchController, ListControllers)


class ControllerSwitch:
    """A prepared request that switches controllers off: with a connected client and known names.

    Args:
        client: The connection to the graph.
        services: Types of the services.
        manager: Name of the controller manager's node.
        controllers: Names of the controllers.

    Attributes:
        names: Names of the controllers, for messages.
        manager: Name of the controller manager's node.
        inactive: Controllers that are not active now.

    Raises:
        InputError: The manager has no controller of this name.
        RobodynError: The manager does not answer.
    """

    def __init__(self, client: GraphClient, services: Services, manager: str, controllers: Sequence[str]) -> None:
        self.names, self.manager, self._client = ", ".join(controllers), manager, client
        listed = client.call(services.list, manager, "list_controllers", services.list.Request(), MANAGER_SECONDS)
        states = {each.name: each.state for each in listed.controller}
        for name in controllers:
            if name not in states:
                raise InputError(f"node '{manager}' has no controller '{name}': {suggest(name, states)}")
        self.inactive = [name for name in controllers if states[name] != "active"]
        self._service = client.node.create_client(services.switch, f"{manager}/switch_controller")
        self._request = services.switch.Request(deactivate_controllers=list(controllers), strictness=BEST_EFFORT)
        client.wait_for(self.is_ready, f"service switch_controller of node '{manager}'", MANAGER_SECONDS)

    def is_ready(self) -> bool:
        """Whether the controller manager is available."""
        return bool(self._service.service_is_ready())

    def ask(self) -> Any:
        """Send the request from any thread, and return its future."""
        return self._service.call_async(self._request)

    def finish(self, future: Any, report: Callable[[str], None]) -> None:
        """Wait for the answer to a request, and repeat the request if it fails.

        Args:
            future: Future of the request.
            report: Called with the reason of a failure.

        Raises:
            RobodynError: All attempts failed.
        """
        for attempt in range(1, ATTEMPTS + 1):
            try:
                return self._check(future)
            except RobodynError as error:
                if attempt == ATTEMPTS:
                    raise
                report(f"{error}; trying again")
                time.sleep(RETRY_SECONDS)
                future = self.ask()

    def _check(self, future: Any) -> None:
        """Wait for the answer to a request; raise if the controller manager does not answer, or refuses."""
        self._client.wait_for(future.done, f"answer of node '{self.manager}'", ANSWER_SECONDS)
        answer = future.result()
        if not answer.ok:
            raise RobodynError(f"'{self.manager}' did not switch {self.names} off: "
                               f"{getattr(answer, 'message', '') or 'it gives no reason'}")


class CommandGuard:
    """A thread that waits for commands, and acts when they stop, or freeze while the arm moves.

    Args:
        client: The connection to the graph.
        topic: Name of the commands' topic; a relative name belongs to the client's namespace.
        timeout: Time without a command after which commands have stopped [s].
        unchanged: Time of bitwise equal commands, while a joint moves, after which commands are frozen [s]; 0: never.
        act: Called on this thread at the alarm.

    Attributes:
        alarm: Why it acted; empty: it has not.
        armed: Set at the first command.

    Raises:
        InputError: Python has no messages of the topic's type.
    """

    def __init__(self, client: GraphClient, topic: str, timeout: float, unchanged: float, act: Callable[[], None]
                 ) -> None:
        self.alarm = ""
        self.armed = Event()
        self._timeout, self._unchanged, self._act = timeout, unchanged, act
        self._topic, message_type, qos = find_topic(client, topic)
        self._has_header = "header" in message_type.get_fields_and_field_types()
        self._message_type = message_type
        diagnostics = Diagnostics(client.node, ThrottledLog(client.node.get_logger().name))
        self._diagnostics = diagnostics
        self._path = ControlPath(client.node, diagnostics, message_type, topic, self._cycle, qos, serialized=True)
        self._path.listen(JointState, topic_names.JOINT_STATES, self._on_joint_state,
                          QoSProfile(depth=1, reliability=ReliabilityPolicy.BEST_EFFORT))
        self._last = self._changed = 0.0  # steady times of the last command, and of the first of equal ones
        self._command: Any = None
        self._positions: dict[str, float] = {}
        self._begin: dict[str, float] = {}  # positions when the commands froze or at the alarm

    def __enter__(self) -> CommandGuard:
        """Begin to watch; the guard is armed from the first command on."""
        self._path.start()
        return self

    def __exit__(self, *_: object) -> None:
        """End the watch."""
        self._path.stop()

    def moved(self) -> float:
        """Return how far a joint has moved at most since the commands froze, or since the alarm [rad or m]."""
        begin = self._begin  # drivers may wrap angles by 2 pi
        return max((abs(math.remainder(position - begin[name], math.tau))
                    for name, position in self._positions.copy().items() if name in begin), default=0.0)

    # On the thread of the path.

    def _cycle(self, path: ControlPath) -> None:
        if self.alarm or not self.armed.is_set():
            wait = LOOK_PERIOD
        else:
            wait = max(0.0, self._last + self._timeout - time.monotonic())
        begin = time.monotonic()
        data = path.wait(wait)
        now = time.monotonic()
        if self.armed.is_set() and not self.alarm:
            end = now + self._timeout
            while data is None and begin + wait + LATE < now < end:  # delayed: commands may still be arriving
                begin, wait = now, max(GRACE, GRACE_SHARE * self._timeout)
                data, now = path.wait(wait), time.monotonic()
        if data is not None:
            self._on_command(data, now)
        if self.alarm or not self.armed.is_set():
            return
        if now - self._last >= self._timeout:
            self._fire(f"no command on {self._topic} for {self._timeout:g} s")
        elif self._unchanged and now - self._changed >= self._unchanged and self.moved() > MOVED:
            self._fire(f"the commands on {self._topic} are the same to the bit for {now - self._changed:.3g} s while "
                       "the arm moves")

    def _on_command(self, data: bytes, now: float) -> None:
        command: Any = data
        if self._has_header:  # the stamp always differs
            message = self._diagnostics.deserialize(data, self._message_type, self._topic)
            if message is None:
                return
            message.header = type(message.header)()
            command = repr(message)
        if command != self._command:
            self._command, self._changed, self._begin = command, now, self._positions.copy()
        self._last = now
        self.armed.set()

    def _on_joint_state(self, message: JointState) -> None:
        self._positions.update(zip(message.name, message.position, strict=False))

    def _fire(self, alarm: str) -> None:
        self._act()
        self.alarm, self._begin = alarm, self._positions.copy()


def guard(client: GraphClient, switch: ControllerSwitch, topic: str, timeout: float, unchanged: float,
          report: Callable[[str], None]) -> None:
    """Guard a topic with commands until they stop, and switch the controllers off.

    Args:
        client: The connection to the graph.
        switch: The request to send.
        topic: Name of the topic, which has a publisher.
        timeout: As for :class:`CommandGuard`.
        unchanged: Likewise.
        report: Called with each line for the user.

    Raises:
        InputError: Python has no messages of the topic's type.
        RobodynError: The controller manager does not answer, or refuses.
    """
    requests: list[Any] = []
    is_ready = True
    with CommandGuard(client, topic, timeout, unchanged, lambda: requests.append(switch.ask())) as guarded:
        refusal = prioritize_process(PRIORITY)
        client.wait_for(guarded.armed.is_set, "first command", math.inf)
        states = client.node.resolve_topic_name(topic_names.JOINT_STATES)
        has_states = bool(client.node.get_publishers_info_by_topic(states))
        report(f"armed: guarding {topic} for {timeout:g} s without a command"
             + ("" if has_states else "; without joint_states, frozen commands are not noticed")
             + (f"; without real-time priority, other programs may delay it ({refusal})" if refusal else ""))

        def has_fired() -> bool:
            nonlocal is_ready
            if is_ready != (is_ready := switch.is_ready()):
                report(f"node '{switch.manager}' is back" if is_ready
                     else f"node '{switch.manager}' has left: nothing can be switched off")
            return bool(guarded.alarm)

        client.wait_for(has_fired, "end of the commands", math.inf)
        report(f"{guarded.alarm}: switching {switch.names} off")
        switch.finish(requests[0], report)
        report(f"{switch.names}: switched off")
        if not has_states:
            return report("the driver decides what the arm does now; there are no joint_states that show it")
        end = time.monotonic() + OBSERVATION_SECONDS
        client.wait_for(lambda: time.monotonic() > end, "joint states", 2.0 * OBSERVATION_SECONDS)
        moved = guarded.moved()
        outcome = ("the driver holds the arm" if moved < HELD_TOLERANCE
                   else "the driver does not hold the arm, stop it by other means")
        report(f"within {OBSERVATION_SECONDS:g} s the joints have moved by up to {moved:.3g} rad or m: {outcome}")
