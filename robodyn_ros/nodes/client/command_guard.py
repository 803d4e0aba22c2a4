# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Watches the commands of any law, and switches an effort controller of ros2_control off when they stop.

A forward_command_controller passes its last command on for ever: an arm whose law has ended goes on with its last
efforts. Inactive, the controller gives the joints back to the driver, which holds them or stops.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from typing import Any

from robodyn_ros.errors import RobodynError
from robodyn_ros.nodes.client.graph_client import GraphClient
from robodyn_ros.nodes.client.topic_echo import subscribe

SERVICE, ANSWER_SECONDS = "switch_controller", 2.0
BEST_EFFORT = 1
"""Strictness of the service: a controller that is inactive already is no error."""


def wait_for_silence(client: GraphClient, topic: str, timeout: float, on_first: Callable[[], None]) -> None:
    """Return when the messages of a topic, once they have begun, stop for some time.

    Args:
        client: The connection to the graph.
        topic: Name of the topic; a relative name belongs to the client's namespace.
        timeout: Time without a message [s].
        on_first: Called at the first message.

    Raises:
        InputError: Python has no messages of the topic's type.
    """
    node = client.node
    name = node.resolve_topic_name(topic)
    client.wait_for(lambda: node.get_publishers_info_by_topic(name), f"commands on {name}", math.inf)
    last = looked = 0.0

    def note(_: bytes) -> None:
        nonlocal last
        if not last:
            on_first()
        last = time.monotonic()

    def silent() -> bool:
        nonlocal last, looked
        now, before = time.monotonic(), looked
        looked = now
        if last and now - before > 0.5 * timeout:  # this process was held up, and messages may wait to be taken
            last = max(last, now - 0.5 * timeout)
        return last > 0.0 and now - last > timeout

    subscription = subscribe(client, topic, note, raw=True)
    try:
        client.wait_for(silent, f"end of the commands on {name}", math.inf)
    finally:
        node.destroy_subscription(subscription)


def switch_off(client: GraphClient, service_type: Any, manager: str, controllers: Sequence[str]) -> None:
    """Deactivate controllers of ros2_control.

    Args:
        client: The connection to the graph.
        service_type: controller_manager_msgs/srv/SwitchController.
        manager: Name of the controller manager's node.
        controllers: Names of the controllers.

    Raises:
        RobodynError: The controller manager does not answer, or refuses.
    """
    request = service_type.Request(deactivate_controllers=list(controllers), strictness=BEST_EFFORT)
    answer = client.call(service_type, manager, SERVICE, request, ANSWER_SECONDS)
    if not answer.ok:
        raise RobodynError(f"'{manager}' did not switch {', '.join(controllers)} off: "
                           f"{getattr(answer, 'message', '') or 'it gives no reason'}")


def switch_controller_type() -> Any:
    """Return the type of the service, which only an installation of ros2_control has.

    Raises:
        RobodynError: It is not installed.
    """
    try:
        from controller_manager_msgs.srv import SwitchController
    except ImportError:
        raise RobodynError("controller_manager_msgs is not installed, which speaks with ros2_control: "
                           "sudo apt install ros-$ROS_DISTRO-controller-manager-msgs, and source that "
                           "installation") from None
    return SwitchController
