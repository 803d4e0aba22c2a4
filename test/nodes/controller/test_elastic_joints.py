# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Laws of elastic joints over DDS: motions, swaps, and what they do without the states of the motors."""

import re

import numpy as np
import pytest
import yaml
from controller_rig import NAMES, Rig, trajectory
from sensor_msgs.msg import JointState

from robodyn_ros.nodes.common.topics import CONTROL_QOS

LAWS = ["elastic_joint_pd", "torque_feedback", "elastic_composite"]
SPRING = {"stiffness": 800.0, "damping": 5.0, "inertia": 0.2}
HIDDEN = "hidden"  # namespace of what the simulated driver sends, until the relay passes it on


class Relay:
    """Passes on the states of motors and joints of a simulated driver, the motors' before the joints' of a stamp.

    Attributes:
        motors: Edits a message of the motors, or returns None for none; by default they are kept back.
    """

    def __init__(self, ros, namespace):
        self.motors = lambda message: None
        self._publishers = [ros.node.create_publisher(JointState, f"{namespace}/{topic}", CONTROL_QOS)
                            for topic in ("motor_states", "joint_states")]
        for topic, take in (("motor_states", self._take_motors), ("joint_states", self._publishers[1].publish)):
            ros.node.create_subscription(JointState, f"{namespace}/{HIDDEN}_{topic}", take, CONTROL_QOS)

    def _take_motors(self, message):
        if (passed := self.motors(message)) is not None:
            self._publishers[0].publish(passed)


@pytest.fixture(scope="module")
def actuators(tmp_path_factory):
    """File of a planar arm's springs."""
    file = tmp_path_factory.mktemp("springs") / "springs.yaml"
    file.write_text(yaml.safe_dump({"joints": {name: {"transmission": SPRING} for name in NAMES}}))
    return {"actuators": str(file), "update_rate": 200}


@pytest.fixture(scope="module")
def rig(ros, actuators):
    lighter = {f"torque_feedback.gains.{name}.lighter": 1.2 for name in NAMES}
    with Rig(ros, "planar_2r", "/elastic", hardware=actuators, controller=actuators | lighter | {
            "controller": "pd_gravity"}) as rig:
        yield rig


@pytest.fixture(scope="module")
def relayed(ros, actuators):
    """A rig whose states come by a relay, and the relay."""
    rules = [part for topic in ("motor_states", "joint_states")
             for part in ("-r", f"{topic}:={HIDDEN}_{topic}")]
    relay = Relay(ros, "/relayed")
    fast = actuators | {"update_rate": 500}  # the arm sinks in the ten states after which the motors count as missing
    with Rig(ros, "planar_2r", "/relayed", hardware=fast, controller=fast | {
            "controller": "pd_gravity", "state_publish_rate": 500.0}, rules={"hardware": rules}) as rig:
        yield rig, relay


def is_at(goal, name):
    def check(state):
        missing = np.exp(1j * np.array(state.reference.positions)) - np.exp(1j * np.array(goal))  # whole turns are none
        return (state.controller == name and state.mode == "running" and np.abs(missing).max() < 1e-9
                and np.abs(np.subtract(state.feedback.positions, state.reference.positions)).max() < 5e-3
                and np.abs(state.feedback.velocities).max() < 0.05)
    return check


def test_each_law_moves_the_arm_to_a_goal_and_gives_it_back(ros, rig):
    for turn, name in enumerate(LAWS):
        rig.set(controller="pd_gravity")
        rig.next("the law for rigid joints", lambda s: s.controller == "pd_gravity" and s.mode == "running")
        ros.wait_for(lambda: not ros.node.count_subscribers("/elastic/motor_states"), "the end of the subscription")
        rig.set(controller=name)
        rig.next("the law with the motors' states", lambda s, name=name: s.controller == name and s.mode == "running")
        assert ros.node.count_subscribers("/elastic/motor_states") == 1
        goal = [0.5 - 0.3 * turn, -1.0 + 0.4 * turn]
        rig.publisher.publish(trajectory([1.0], [goal]))
        rig.next(f"the goal under {name}", is_at(goal, name))
    rig.set(controller="pd_gravity")
    held = rig.next("the law for rigid joints", lambda s: s.controller == "pd_gravity" and s.mode == "running")
    np.testing.assert_allclose(np.exp(1j * np.array(held.feedback.positions)), np.exp(1j * np.array(goal)), atol=0.02)


@pytest.mark.parametrize("name", LAWS)
def test_gains_that_would_swing_are_refused_and_the_law_in_force_stays(rig, name):
    rig.set(controller="pd_gravity")
    gains = {f"{name}.gains.{joint}.{gain}": 1e6 for joint in NAMES for gain in "pd"}
    reason = rig.refuse(controller=name, **gains)
    assert re.search(r"p and d.*: expected .* comes to rest with .* it swings on its springs", reason)
    assert "\n" not in reason
    rig.next("the law in force", lambda s: s.controller == "pd_gravity" and s.mode == "running")


@pytest.mark.parametrize("name", LAWS)
def test_a_law_waits_for_a_driver_without_motor_states_and_when_they_stop(relayed, name):
    """The law before holds the robot until they have come for the first time, then the safe law whenever they lack."""
    rig, relay = relayed
    relay.motors = lambda message: None
    rig.set(controller="pd_gravity")
    rig.next("the start", lambda s: s.controller == "pd_gravity" and s.mode == "running")
    rig.ros.wait_for(lambda: not rig.ros.node.count_subscribers("/relayed/motor_states"), "no motors of the law before")
    rig.set(controller=name)
    for what, motors in (("none", lambda message: None),
                         ("without velocities and efforts", lambda message: JointState(
                             header=message.header, name=message.name, position=message.position)),
                         ("of other joints", lambda message: JointState(
                             header=message.header, name=["finger"], position=[0.0])),
                         ("of one joint", lambda message: JointState(
                             header=message.header, name=message.name[:1], position=message.position[:1],
                             velocity=message.velocity[:1], effort=message.effort[:1])),
                         ("with a position that is no number", lambda message: JointState(
                             header=message.header, name=message.name, position=[np.nan, 0.0],
                             velocity=message.velocity, effort=message.effort))):
        before = rig.next(f"the law before motor states {what}").feedback.positions
        relay.motors = motors
        held = rig.next(f"another law with motor states {what}", lambda s: s.mode == "holding")
        assert held.controller == ("pd_gravity" if what == "none" else "damping")
        assert re.fullmatch(f"controller '{name}' waits: nothing measures 'motor_[qv]' on motor_states", held.reason)
        np.testing.assert_allclose(held.feedback.positions, before, atol=0.2, err_msg=what)
        relay.motors = lambda message: message
        rig.next(f"the law after motor states {what}", lambda s: s.controller == name and s.mode == "running")


@pytest.mark.parametrize("name", LAWS)
def test_a_robot_whose_joints_are_rigid_is_refused_in_one_line(ros, rigid, name):
    reason = rigid.refuse(controller=name)
    assert "joint_stiffness: expected elastic joints, received 'planar_2r'" in reason and "\n" not in reason
    rigid.next("the law in force", lambda s: s.controller == "pd_gravity" and s.mode == "running")


@pytest.fixture(scope="module")
def rigid(ros):
    with Rig(ros, "planar_2r", "/rigid", hardware={"update_rate": 200}, controller={"controller": "pd_gravity"}) as rig:
        yield rig
