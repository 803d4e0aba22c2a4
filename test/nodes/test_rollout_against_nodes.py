# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""A rollout computes the same motion as the nodes in lockstep, bit for bit."""

import numpy as np
import pytest
import yaml
from builtin_interfaces.msg import Time
from controller_rig import trajectory
from ros_process import RosProcess
from sensor_msgs.msg import JointState
from std_srvs.srv import SetBool
from trajectory_msgs.msg import JointTrajectory as JointTrajectoryMessage

from robodyn_ros import Robot
from robodyn_ros.base.timing import to_seconds
from robodyn_ros.control import JointReference
from robodyn_ros.control.plugins.registry import make_controller
from robodyn_ros.control.references.joint_trajectory import JointTrajectory, Points
from robodyn_ros.description.resources import robot_file
from robodyn_ros.nodes.common.messages import read_stamp
from robodyn_ros.simulation.plant import default_position
from robodyn_ros.simulation.plant_model import PlantModel
from robodyn_ros.simulation.rollout import ClosedLoop
from robodyn_ros.simulation.world_file import world_from_mapping

PERIOD = 2_000_000  # of the nodes by default, and stamp of the first joint state [ns]
AHEAD = 50  # ticks between the pause and the start of the trajectory
TIMES, TURNS = [0.2, 0.5], [0.3, -0.1]  # of the trajectory's points [s], joint positions relative to the start [rad]
TICKS = 600


def wall(robot, start):
    """A wall across the way of the tip, which reaches it half-way to the first point of the trajectory."""
    tip = [robot.dynamics().forward_kinematics(q)[:3, 3] for q in (start, start + TURNS[0])]
    return {"surfaces": {"wall": {"shape": "plane", "position": (0.5 * (tip[0] + tip[1])).tolist(),
                                  "normal": (tip[0] - tip[1]).tolist(), "friction": 0.3}}}


OTHER_PLANT = {"payload.mass": 0.4, "payload.center_of_mass": [0.02, -0.03, 0.05], "model_error.mass": 20.0,
               "gravity": [0.3, -0.5, -9.7], "sensing.position_resolution": [1e-4],
               "sensing.delay": 1}
"""Parameters of the hardware."""
SAMPLE = {"payload.mass": 0.4, "payload.center_of_mass": [0.02, -0.03, 0.05], "link.mass_scale": np.full(6, 1.2),
          "gravity": [0.3, -0.5, -9.7], "sensing.position_resolution": np.full(6, 1e-4),
          "sensing.delay": 1}
"""The same plant as a sample of a rollout that varies these quantities."""


@pytest.mark.parametrize(("law", "touches", "differs"), [
    ("pid", True, False), *(pytest.param(*each, marks=pytest.mark.long) for each in (
        ("adaptive", False, False), ("pid", False, False), ("pid", False, True)))])
def test_joint_states_are_those_of_the_rollout(ros, law, touches, differs, tmp_path):
    namespace, robot = f"/rollout_{law}_{touches}_{differs}", Robot.from_urdf(robot_file("arm6"))
    start = default_position(robot)
    file, world = tmp_path / "wall.yaml", None
    if touches:
        content = wall(robot, start)
        world = world_from_mapping(content, robot.model)
        file.write_text(yaml.safe_dump(content))
    states = ros.record(JointState, f"{namespace}/joint_states", 2 * TICKS)
    goals = ros.node.create_publisher(JointTrajectoryMessage, f"{namespace}/controller/joint_trajectory", 1)
    settings = {"robot": "arm6", "time_mode": "lockstep", "lockstep_speed_limit": 1.0,
                "world": str(file) if touches else ""} | (OTHER_PLANT if differs else {})
    # The rollout's gains are for no delay; the hardware announces that of its sensors.
    given = {"robot": "arm6", "controller": law, "state_delay": 0}
    with (RosProcess("controller", given, namespace) as controller,
          RosProcess("hardware", settings, namespace) as hardware):
        ros.wait_for(lambda: goals.get_subscription_count() and states, "the nodes", 120.0)
        ros.wait_for(lambda: stamp(states[-1]) > PERIOD, "commands that move the time on")
        assert ros.call(SetBool, f"{namespace}/hardware/pause", data=True).success
        ros.wait_for(lambda: len(states) > 1 and stamp(states[-1]) == stamp(states[-2]),
                     "the joint state that a pause repeats")
        begin = stamp(states[-1]) + AHEAD * PERIOD
        message = trajectory(TIMES, [start + turn for turn in TURNS], robot.joint_names)
        message.header.stamp = Time(sec=begin // 10**9, nanosec=begin % 10**9)
        goals.publish(message)
        controller.wait_for_output("following a trajectory")
        assert ros.call(SetBool, f"{namespace}/hardware/pause", data=False).success
        ros.wait_for(lambda: stamp(states[-1]) >= begin + TICKS * PERIOD, "the end")
        hardware.stop()
        controller.stop()
    ticks = [stamp(state) // PERIOD - 1 for state in states]
    count = ticks[-1] + 1
    assert ticks[0] < begin // PERIOD and len(set(ticks)) > 0.9 * (count - ticks[0])  # a busy test may miss some
    expected = rollout(robot, law, start, to_seconds(begin - PERIOD), count, world, SAMPLE if differs else {})
    position, velocity = (measured(expected, SAMPLE) if differs else (expected.q, expected.v))
    np.testing.assert_array_equal([state.position for state in states], position[ticks])
    np.testing.assert_array_equal([state.velocity for state in states], velocity[ticks])
    assert np.ptp(expected.q, axis=0).min() > (0.02 if touches else 0.1)
    if touches:
        free = rollout(robot, law, start, to_seconds(begin - PERIOD), count, None)
        assert np.abs(free.q - expected.q).max() > 0.02


def measured(motion, sample):
    """The positions and velocities that encoders and a delay make of a motion, shape (ticks, n) each."""
    ticks = np.maximum(np.arange(len(motion.time)) - sample["sensing.delay"], 0)
    step = sample["sensing.position_resolution"]
    return np.rint(motion.q[ticks] / step) * step, motion.v[ticks]


def stamp(state):
    return read_stamp(state.header.stamp)


def rollout(robot, law, start, begin, ticks, world, sample=None):
    """The motion that the nodes are sent, [s] and ticks since their first joint state."""
    points = Points.from_arrays(TIMES, [start + turn for turn in TURNS])
    motion = JointTrajectory(JointReference(start, np.zeros(robot.n), np.zeros(robot.n)), begin, points, begin)
    loop = ClosedLoop(make_controller(law, robot), PlantModel.from_description(robot.model, world=world),
                      varied=tuple(sample or ()))
    return loop.run(loop.scenario([motion], to_seconds(ticks * PERIOD), q=start), sample=sample)
