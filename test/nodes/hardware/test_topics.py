# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""The hardware node over DDS: commands as an array, external wrenches, actuator states, diagnostics."""

import math
from itertools import pairwise

import numpy as np
import pytest
from geometry_msgs.msg import Vector3, Wrench, WrenchStamped
from hardware_peer import NAMES, PERIOD, Peer, hardware, hardware_for_a_file, stamp
from std_msgs.msg import Float64MultiArray, Header
from std_srvs.srv import SetBool, Trigger

from robodyn_interfaces.msg import ActuatorStates
from robodyn_interfaces.srv import SetState, Step
from robodyn_ros import Robot
from robodyn_ros.description.resources import robot_file


@pytest.fixture(scope="module")
def process():
    with hardware_for_a_file("topics", time_mode="scaled", command_timeout=0.0) as process:
        yield process


@pytest.fixture(scope="module")
def peer(process):
    with Peer("topics") as peer:
        peer.array = peer.publisher(Float64MultiArray, "hardware/commands")
        peer.wrench = peer.publisher(WrenchStamped, "hardware/external_wrench")
        yield peer


@pytest.fixture
def paused(peer):
    """At the initial state, paused, no joint released yet."""
    assert peer.service(SetBool, "pause", data=True).success
    assert peer.service(Trigger, "reset").success
    yield peer
    assert peer.service(SetBool, "pause", data=False).success


def step(peer, periods=1):
    """The state after some periods."""
    answer = peer.service(Step, "step", steps=periods)
    assert answer.success, answer.message
    end = answer.stamp
    return peer.next_state(lambda state: state.header.stamp == end, "the state after the steps")


def push(peer, link, force=(0.0, 0.0, 0.0), torque=(0.0, 0.0, 0.0)):
    peer.wrench.publish(WrenchStamped(
        header=Header(frame_id=link), wrench=Wrench(force=Vector3(**dict(zip("xyz", force, strict=True))),
                                                    torque=Vector3(**dict(zip("xyz", torque, strict=True))))))


def pushed_links(peer, number):
    peer.statuses.clear()
    peer.wait_for(lambda: peer.counter("pushed links") == str(number), f"{number} pushed links")


def test_an_array_of_efforts_commands_all_joints(peer):
    peer.array.publish(Float64MultiArray(data=[2.5, -1.5]))
    peer.next_state(lambda state: list(state.effort) == [2.5, -1.5], "the efforts")
    peer.array.publish(Float64MultiArray(data=[9.0]))
    peer.wait_for(lambda: peer.counter("rejected commands: wrong length") == "1", "the counter")
    assert list(peer.next_state().effort) == [2.5, -1.5]


def test_in_lockstep_an_array_answers_the_last_state():
    with hardware("array", time_mode="lockstep") as process, Peer("array") as peer:
        array = peer.publisher(Float64MultiArray, "hardware/commands")
        for period in range(1, 20):
            peer.next_stamped(period * PERIOD)
            peer.states.clear()
            array.publish(Float64MultiArray(data=[0.5, 0.25]))
        assert list(peer.next_stamped(20 * PERIOD).effort) == [0.5, 0.25]
        process.stop()


def test_a_wrench_pushes_its_link_in_the_links_axes_until_it_is_cleared(paused):
    robot = Robot.from_urdf(robot_file("planar_2r"))
    dynamics = robot.dynamics()
    link, force, torque = "link2", np.array([3.0, -30.0, 1.0]), np.array([0.2, 0.1, 5.0])

    q = np.array([0.3, 0.4])

    gravity = dynamics.gravity(q).tolist()

    def stepped():
        assert paused.service(SetState, "set_state", position=q.tolist()).success
        paused.command(NAMES, gravity)
        state = step(paused)
        return state if list(state.effort) == gravity else None  # else the command came too late

    def acceleration():
        return np.array(paused.wait_for(stepped, "a step under the command").velocity) / (PERIOD * 1e-9)

    push(paused, link, force, torque)
    pushed_links(paused, 1)
    pose = dynamics.forward_kinematics(q, link)
    wrench = np.concatenate([pose[:3, :3] @ force, pose[:3, :3] @ torque])
    expected = np.linalg.solve(dynamics.mass_matrix(q), dynamics.jacobian(q, link).T @ wrench)
    assert np.abs(expected).min() > 1.0
    assert acceleration() == pytest.approx(expected, rel=2e-2)
    push(paused, link)
    pushed_links(paused, 0)
    assert np.abs(acceleration()).max() < 0.2


def test_a_wrench_ends_after_its_timeout(paused):
    assert paused.set_parameters("/topics/hardware", {"wrench_timeout": 0.01}).successful
    push(paused, "tip", (1.0, 0.0, 0.0))
    pushed_links(paused, 1)
    step(paused, 4)
    pushed_links(paused, 1)
    step(paused, 2)
    pushed_links(paused, 0)
    assert paused.set_parameters("/topics/hardware", {"wrench_timeout": 0.0}).successful


@pytest.mark.parametrize(("link", "force", "reason", "text"), [
    ("finger", (1.0, 0.0, 0.0), "unknown link", "robot 'planar_2r' has no link 'finger'"),
    ("tip", (math.nan, 0.0, 0.0), "not finite", "external_wrench on 'tip': expected finite numbers"),
])
def test_a_bad_wrench_is_rejected_with_a_counter(peer, process, link, force, reason, text):
    push(peer, link, force)
    peer.wait_for(lambda: peer.counter(f"rejected wrenches: {reason}") == "1", "the counter")
    assert peer.counter("pushed links") == "0"
    assert text in process.output()


def test_payload_and_gravity_change_at_any_time_and_the_motion_goes_on(paused):
    robot = Robot.from_urdf(robot_file("planar_2r"))
    q = np.array([0.3, 0.4])

    def change(**values):
        result = paused.set_parameters("/topics/hardware", {name.replace("__", "."): x for name, x in values.items()})
        assert result.successful, result.reason

    def holds(effort):
        """Whether an effort, to the limits of a step, keeps the arm where it is."""
        def stepped():
            assert paused.service(SetState, "set_state", position=q.tolist()).success
            paused.command(NAMES, effort.tolist())
            state = step(paused)
            return state if list(state.effort) == effort.tolist() else None

        return np.abs(paused.wait_for(stepped, "a step under the command").velocity).max() < 1e-9

    moon = [0.0, 0.0, -1.62]
    weight = robot.dynamics().gravity(q)
    load = robot.dynamics().jacobian(q)[2] * 3.0 * 9.81
    assert holds(weight)
    change(payload__mass=3.0)
    assert not holds(weight)
    assert holds(weight + load)
    change(gravity=moon)
    assert holds((weight + load) * 1.62 / 9.81)
    change(payload__mass=0.0, model_error__mass=50.0)
    assert holds(1.5 * weight * 1.62 / 9.81)
    change(gravity=[0.0, 0.0, -9.81], model_error__mass=0.0)
    before = step(paused)
    change(payload__mass=3.0)
    after = step(paused)
    assert stamp(after) == stamp(before) + PERIOD
    assert np.abs(np.array(after.position) - before.position).max() < 1e-3
    change(payload__mass=0.0)
    refused = paused.set_parameters("/topics/hardware", {"gravity": [0.0, 9.81]})
    assert not refused.successful
    assert "'gravity': expected a list of 3" in refused.reason


def test_actuator_states_tell_of_ideal_drives_with_the_stamps_of_joint_states(peer):
    messages = peer.record(ActuatorStates, "hardware/actuator_states")
    assert peer.set_parameters("/topics/hardware", {"actuator_state_rate": 125.0}).successful
    peer.command(NAMES, [1e6, 1.0])
    peer.next_state(lambda state: state.effort[0] == 60.0, "the effort at its limit")
    messages.clear()
    peer.wait_for(lambda: len(messages) > 5, "actuator states")
    last = messages[-1]
    peer.wait_for(lambda: stamp(peer.states[-1]) >= stamp(last), "the joint state of the same stamp or a later one")
    assert stamp(last) % PERIOD == 0
    assert list(last.name) == NAMES
    assert list(last.joint_effort) == [60.0, 1.0]
    assert (list(last.effort_saturated), list(last.voltage_saturated)) == ([True, False], [False, False])
    assert all(math.isnan(value) for field in (last.voltage, last.current, last.motor_torque, last.temperature)
               for value in field)
    assert len(last.friction_effort) == 2
    peer.wait_for(lambda: peer.counter("saturated joints") == "joint1 (effort)", "the saturation")


def test_diagnostics_tell_rate_jitter_misses_and_energy(peer):
    def reported():
        """The values of a report whose rate is that of the periods since the one before."""
        for (before, begin), (values, end) in pairwise(peer.reports()):
            rate = (int(values["periods"]) - int(before["periods"])) / (end - begin)
            if float(values["rate [Hz]"]) == pytest.approx(rate, rel=0.05):
                return values if rate > 0.0 else None

    values = peer.wait_for(reported, "a report with the rate of the periods")
    assert float(values["worst jitter [s]"]) >= 0.0
    assert int(values["missed periods"]) >= 0
    assert int(values["periods without a new command"]) > 0
    for kind in ("kinetic", "potential", "drive work", "viscous loss", "stop loss"):
        assert math.isfinite(float(values[f"energy: {kind} [J]"]))
