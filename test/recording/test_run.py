# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""A recording as arrays: columns by joint name, times of the stamps, controllers, energies; other robots and none."""

import numpy as np
import pytest

pytest.importorskip("mcap_ros2", reason="mcap-ros2-support is not installed: make setup")

from recorded_bags import SECOND, Recorder  # noqa: E402

from robodyn_ros.errors import RecordingError  # noqa: E402
from robodyn_ros.recording.run import Run  # noqa: E402
from robodyn_ros.resources import robot_file  # noqa: E402
from robodyn_ros.robot import Robot  # noqa: E402

DESCRIPTION = robot_file("planar_2r").read_text()
START = 5 * SECOND
PERIOD = SECOND // 100


def record(recorder, namespace="", joints=("joint1", "joint2"), description=DESCRIPTION):
    """One second of a robot whose joint i moves at i rad/s; after half of it, another controller takes over."""
    names = list(joints)[::-1]  # the other way around than the robot has them
    if description:
        recorder.string(f"{namespace}/robot_description", description)
    for i in range(101):
        stamp, time = START + i * PERIOD, 0.01 * i
        recorder.joint_state(f"{namespace}/joint_states", stamp, names, [2.0 * time, time], [2.0, 1.0])
        recorder.joint_state(f"{namespace}/joint_commands", stamp, names[:1], effort=[3.0])
        if i % 10 == 0:
            controller = "pd" if i < 50 else "gravity_compensation"
            reference = [1.0, 2.0] if i < 50 else []
            recorder.controller_state(stamp, controller, joints, reference, [time, 2.0 * time], [4.0, 5.0],
                                      topic=f"{namespace}/controller".strip("/"))


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    path = tmp_path_factory.mktemp("runs") / "run"
    with Recorder(path) as recorder:
        record(recorder)
    return Run(path)


def test_columns_are_the_robots_joints_and_times_count_from_the_first_joint_state(run):
    assert run.joint_names == Robot.from_urdf_text(DESCRIPTION).joint_names == ("joint1", "joint2")
    assert run.states.time == pytest.approx(np.arange(101) / 100.0, abs=1e-12)
    assert run.states.position == pytest.approx(np.outer(run.states.time, [1.0, 2.0]))
    assert np.all(run.states.velocity == [1.0, 2.0])
    assert np.all(np.isnan(run.states.effort))


def test_joints_that_a_command_leaves_out_are_nan(run):
    assert np.all(np.isnan(run.commands.effort[:, 0])) and np.all(run.commands.effort[:, 1] == 3.0)


def test_control_has_reference_error_and_output(run):
    assert run.control.time == pytest.approx(np.arange(11) / 10.0)
    assert np.all(run.control.desired_position[:5] == [1.0, 2.0]) and np.all(np.isnan(run.control.desired_position[5:]))
    assert run.control.error[:5] == pytest.approx(np.subtract([1.0, 2.0], run.states.position[:50:10]))
    assert np.all(run.control.effort == [4.0, 5.0]) and np.all(np.isnan(run.control.voltage))
    assert np.all(np.isnan(run.control.desired_tip))
    assert run.actuators is None


def test_it_knows_which_controller_was_in_force_when(run):
    assert [(span.controller, span.start, span.end) for span in run.controllers] == [
        ("pd", 0.0, 0.5), ("gravity_compensation", 0.5, 1.0)]


def test_energies_and_tip_are_those_of_the_recorded_robot(run):
    dynamics = Robot.from_urdf_text(DESCRIPTION).dynamics()
    kinetic, potential = run.energies()
    q, v = run.states.position[30], run.states.velocity[30]
    assert kinetic[30] == pytest.approx(dynamics.kinetic_energy(q, v))
    assert potential[30] == pytest.approx(dynamics.potential_energy(q))
    assert run.tip_positions()[30] == pytest.approx(dynamics.forward_kinematics(q)[:3, 3])


def test_messages_without_a_stamp_get_the_time_of_the_states_around_them(run):
    received, _ = run.topics["/joint_states"].messages[25]
    assert run.time_of_receipt(received + PERIOD // 2) == pytest.approx(0.255)


def test_one_of_several_robots_is_chosen_by_its_namespace(tmp_path):
    with Recorder(tmp_path / "two") as recorder:
        record(recorder, "/left")
        record(recorder, "/right")
    with pytest.raises(RecordingError, match="several robots were recorded: give the namespace of one, /left, /right"):
        Run(tmp_path / "two")
    right = Run(tmp_path / "two", namespace="right")
    assert right.namespace == "/right" and len(right.controllers) == 2 and right.commands is not None
    with pytest.raises(RecordingError, match="no joint states in the namespace 'middle'"):
        Run(tmp_path / "two", namespace="middle")


def test_a_recording_without_joint_states_is_one_line(tmp_path):
    with Recorder(tmp_path / "text") as recorder:
        recorder.string("/robot_description", DESCRIPTION)
    with pytest.raises(RecordingError, match="no joint states: expected .* found the topics /robot_description"):
        Run(tmp_path / "text")


def test_a_description_of_another_robot_is_one_line(tmp_path):
    with Recorder(tmp_path / "other") as recorder:
        record(recorder, joints=("hip", "knee"))
    run = Run(tmp_path / "other")
    assert run.joint_names == ("knee", "hip")
    with pytest.raises(RecordingError, match="is that of another robot: it has the joints joint1, joint2, the joint "
                                             "states knee, hip"):
        run.energies()


def test_without_a_description_the_states_are_there_and_the_robot_is_not(tmp_path):
    with Recorder(tmp_path / "bare") as recorder:
        record(recorder, description="")
    run = Run(tmp_path / "bare")
    assert run.joint_names == ("joint2", "joint1") and np.all(run.states.velocity == [2.0, 1.0])
    with pytest.raises(RecordingError, match="no robot_description was recorded"):
        run.energies()
