# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""For tests of launch files: one in a process of its own, with its output and the processes that it started."""

import os
import re
import signal
import subprocess
import sys
import tempfile

from nodes.ros_process import DEADLINE

RUN = """
import sys
from launch import LaunchService
from launch.actions import IncludeLaunchDescription
from launch.launch_description_sources import AnyLaunchDescriptionSource
from launch import LaunchDescription
file, *arguments = sys.argv[1:]
service = LaunchService(argv=arguments, noninteractive=True)
service.include_launch_description(LaunchDescription([IncludeLaunchDescription(
    AnyLaunchDescriptionSource(file), launch_arguments=[tuple(a.split(":=", 1)) for a in arguments])]))
sys.exit(service.run())
"""


class Launch:
    """A launch file in a process and session of its own, as `ros2 launch` runs it."""

    def __init__(self, file, *arguments):
        self._output = tempfile.NamedTemporaryFile("r", errors="replace")
        with open(self._output.name, "w") as sink:
            self.process = subprocess.Popen(
                [sys.executable, "-c", RUN, str(file), *arguments], stdin=subprocess.DEVNULL, stdout=sink,
                stderr=subprocess.STDOUT, start_new_session=True)

    def output(self):
        self._output.seek(0)
        return self._output.read()

    def pids(self):
        return {name: int(pid) for name, pid in re.findall(r"\[(\w+)-\d+\]: process started with pid \[(\d+)\]",
                                                            self.output())}

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGINT)
            try:
                self.process.wait(DEADLINE)
            except subprocess.TimeoutExpired:
                os.killpg(self.process.pid, signal.SIGKILL)
                self.process.wait()
        self._output.close()


def alive(pid):
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True
