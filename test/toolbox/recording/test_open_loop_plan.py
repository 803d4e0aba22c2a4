# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Recorded commands by the control period that they answer, lost ones, and what has no stamp."""

import numpy as np
import pytest

pytest.importorskip("mcap_ros2", reason="mcap-ros2-support is not installed: make setup")

from recorded_bags import SECOND, Recorder  # noqa: E402

from robodyn_ros.base.errors import RecordingError  # noqa: E402
from robodyn_ros.toolbox.recording.open_loop_plan import OpenLoopPlan  # noqa: E402
from robodyn_ros.toolbox.recording.run import Run  # noqa: E402

PERIOD_NS = 2_000_000
JOINTS = ("joint1", "joint2")
START = 7 * SECOND
COUNT = 100


def record(path, answered=range(COUNT), lost_states=(), stamp=lambda i: START + i * PERIOD_NS, unstamped=0):
    """Record the states of a robot, and efforts that answer some of them: their number is the effort."""
    with Recorder(path) as recorder:
        for i in range(COUNT):
            if i not in lost_states:
                recorder.joint_state("/joint_states", START + i * PERIOD_NS, JOINTS, [0.0, 0.0], [0.0, 0.0])
            if i in answered:
                recorder.joint_state("/joint_commands", stamp(i), JOINTS, effort=[float(i), -float(i)])
        for _ in range(unstamped):
            recorder.add("/hardware/commands", "std_msgs/msg/Float64MultiArray", 0, recorder.message(
                "std_msgs/msg/Float64MultiArray", data=np.zeros(2), layout=recorder.message(
                    "std_msgs/msg/MultiArrayLayout", dim=[], data_offset=0)))
    return Run(path)


def efforts(run, plan):
    """Effort of the first joint that the plan sends at each tick."""
    decode = {data: message.effort[0] for (_, message), (_, data) in zip(
        run.topics["/joint_commands"].decode(), run.topics["/joint_commands"].messages, strict=True)}
    return {tick: [decode[message.data] for message in messages] for tick, messages in plan.commands.items()}


def test_each_command_answers_the_state_of_its_stamp_and_the_first_one_begins(tmp_path):
    run = record(tmp_path / "run", answered=range(10, COUNT), lost_states=(20, 21, 22))
    plan = OpenLoopPlan(run)
    assert efforts(run, plan) == {i - 10: [float(i)] for i in range(10, COUNT)}
    assert plan.end == COUNT - 11 and plan.missing == 0 and plan.left_out == 0
    assert [(request.tick, request.position.tolist()) for request in plan.requests] == [(-1, [0.0, 0.0])]


def test_ticks_without_a_command_are_counted(tmp_path):
    plan = OpenLoopPlan(record(tmp_path / "run", answered=[0, 1, 5, *range(10, COUNT)]))
    assert plan.missing == 7 and 2 not in plan.commands


def test_commands_without_a_stamp_are_counted_and_left_out(tmp_path):
    plan = OpenLoopPlan(record(tmp_path / "run", stamp=lambda i: 0 if i % 2 else START + i * PERIOD_NS, unstamped=3))
    assert plan.left_out == COUNT // 2 + 3
    assert set(plan.commands) == set(range(0, COUNT, 2))


def test_a_recording_without_commands_is_one_line(tmp_path):
    with pytest.raises(RecordingError, match="nothing to replay in open loop: expected messages of joint_commands or "
                                             "voltage_commands with the stamps of joint states, found none"):
        OpenLoopPlan(record(tmp_path / "run", answered=()))
