# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""A node for test_runtime.py and test_control_path.py, run as a process: doubles positions, and fails on request."""

import sys
import threading
import time

from robodyn_ros.base.fields import Field
from robodyn_ros.nodes.common.signals import hold_stop_signals

hold_stop_signals()
if "slow_import" in sys.argv:
    print("importing", flush=True)
    time.sleep(1.5)

from sensor_msgs.msg import JointState  # noqa: E402
from std_msgs.msg import Float64  # noqa: E402
from std_srvs.srv import Trigger  # noqa: E402

from robodyn_ros.base.errors import InputError  # noqa: E402
from robodyn_ros.nodes.common.control_path import ControlPath  # noqa: E402
from robodyn_ros.nodes.common.runtime import RobodynNode, run_node  # noqa: E402
from robodyn_ros.nodes.common.topics import COMMAND_QOS, CONTROL_QOS  # noqa: E402


def even(value):
    if value % 2:
        raise InputError(f"expected an even number, received {value}")


class Probe(RobodynNode):

    def __init__(self):
        super().__init__("probe")
        self.parameters.declare([
            Field("gain", 2.0, "Factor", unit="-", minimum=0.0, maximum=10.0),
            Field("gains", [1.0, 1.0], "Factors", unit="-", minimum=-10.0, maximum=10.0),
            Field("mode", "up", "Direction", choices=("up", "down")),
            Field("pairs", 4, "An even number", minimum=0, maximum=100, check=even),
            Field("rate", 100, "Structure", structural=True, minimum=1, maximum=1000),
        ])
        self.parameters.on_change(self._on_change)
        self._gain = self.parameters["gain"]
        self._seen = 0
        self._publisher = self.create_publisher(JointState, "out", CONTROL_QOS)
        self._path = self.add_control_path(ControlPath(self, self.diagnostics, JointState, "in", self._cycle))
        self._path.listen(Float64, "further_gain", self._on_gain, COMMAND_QOS)
        self.create_service(Trigger, "~/seen", self._on_seen)
        self.create_service(Trigger, "~/fail", self._on_fail)
        print("ready", flush=True)

    def _cycle(self, path):
        message = path.wait()
        if message is None:
            return
        self._seen += 1
        if message.name == ["crash"]:
            raise RuntimeError("asked to crash")
        message.position = [self._gain * value for value in message.position]
        self._publisher.publish(message)

    def _on_gain(self, message):
        self._gain = message.data
        self._publisher.publish(JointState(name=[threading.current_thread().name]))

    def _on_change(self, changed):
        if changed.get("gain") == 3.0:
            raise InputError("3 is refused by the node")
        self._gain = changed.get("gain", self._gain)

    def _on_seen(self, _, response):
        response.success, response.message = True, str(self._path.call(lambda: self._seen))
        return response

    def _on_fail(self, _, response):
        self.diagnostics.problem("things", "a thing happened")
        raise RuntimeError("a callback's own fault")


if __name__ == "__main__":
    sys.exit(run_node(Probe, [argument for argument in sys.argv[1:] if argument != "slow_import"]))
