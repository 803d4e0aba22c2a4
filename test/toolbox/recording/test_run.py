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

from robodyn_ros.base.errors import RecordingError  # noqa: E402
from robodyn_ros.description.resources import robot_file  # noqa: E402
from robodyn_ros.robot import Robot  # noqa: E402
from robodyn_ros.toolbox.recording.run import Run  # noqa: E402

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
    assert list(run.control.terms) == ["feedback", "gravity"] and np.all(run.control.terms["feedback"] == [3.0, 4.0])
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


def drivers(path, order, description=DESCRIPTION):
    """One second in which each driver publishes its joints, one right after the other; joint i moves at i rad/s."""
    with Recorder(path) as recorder:
        if description:
            recorder.string("/robot_description", description)
        for i in range(101):
            for place, (names, every) in enumerate(order):
                if i % every == 0:
                    values = [{"joint1": 1.0, "joint2": 2.0}.get(name, 9.0) * 0.01 * i for name in names]
                    effort = [] if "finger" in names else values
                    recorder.joint_state("/joint_states", START + i * PERIOD + place * 1000, names, values, [], effort)
                    recorder.joint_state("/joint_commands", START + i * PERIOD, names, effort=values)
    return path


ARM, GRIPPER = (("joint1", "joint2"), 1), (("finger", "thumb"), 1)


@pytest.mark.parametrize("order", [
    [ARM, GRIPPER], [GRIPPER, ARM], [(("finger",), 1), ARM, (("thumb",), 1)], [(("thumb", "joint2", "joint1"), 1)],
    [ARM, (("finger",), 20)], [ARM, (("finger", "a", "b", "c", "d"), 1)],
])
@pytest.mark.parametrize("description", [DESCRIPTION, ""])
def test_states_of_other_drivers_on_the_same_topic_are_left_out(tmp_path, order, description):
    run = Run(drivers(tmp_path / "run", order, description), joint_names=None if description else ("joint1", "joint2"))
    assert run.joint_names == ("joint1", "joint2") and run.states.time == pytest.approx(np.arange(101) / 100.0)
    assert run.states.position == pytest.approx(np.outer(run.states.time, [1.0, 2.0]))
    others = {name for names, _ in order for name in names} - {"joint1", "joint2"}
    assert set(run.other_joints) == others and all(name in run.notes[0] for name in others)
    assert np.isfinite(run.commands.effort).all() and len(run.commands.time) == 101


@pytest.mark.parametrize("order", [
    [(("joint1",), 1), (("joint2",), 1)], [(("joint2", "finger"), 1), (("finger", "thumb"), 1), (("joint1",), 1)],
    [(("joint1",), 1), (("joint2",), 5)], [(("joint2",), 4), (("joint1",), 1), (("joint1", "finger"), 1)],
])
def test_the_states_of_several_drivers_are_one_with_the_oldest_stamp(tmp_path, order):
    run = Run(drivers(tmp_path / "run", order))
    slowest = max(every for names, every in order if {"joint1", "joint2"} & set(names))
    assert len(run.states.time) == pytest.approx(100 // slowest + 1, abs=1)
    assert np.isfinite(run.states.position).all()
    oldest = np.minimum(run.states.position[:, 0], run.states.position[:, 1] / 2.0)
    assert run.states.time == pytest.approx(oldest, abs=1e-4), "a position is stamped as newer than it is"
    assert run.time_of_receipt(run._receipt[3]) == pytest.approx(run.states.time[3])


def test_without_a_description_the_joints_are_those_of_the_largest_messages(tmp_path):
    assert Run(drivers(tmp_path / "arm", [(("finger",), 1), ARM], "")).joint_names == ("joint1", "joint2")
    both = Run(drivers(tmp_path / "parts", [(("joint2",), 1), (("joint1",), 1)], ""))
    assert both.joint_names == ("joint2", "joint1") and len(both.states.time) == 101


def test_a_joint_that_nobody_published_is_named(tmp_path):
    with pytest.raises(RecordingError, match="expected states of the joints joint1, joint3, found those"):
        Run(drivers(tmp_path / "run", [ARM]), joint_names=("joint1", "joint3"))
