"""JointTrajectory messages as trajectories that the control loop can follow."""

from __future__ import annotations

import numpy as np
from trajectory_msgs.msg import JointTrajectory as JointTrajectoryMessage
from trajectory_msgs.msg import JointTrajectoryPoint

from robodyn_ros.control.control_loop import Beginning
from robodyn_ros.control.trajectories.joint_trajectory import JointTrajectory, Points
from robodyn_ros.control.trajectories.trajectory_limits import check_positions
from robodyn_ros.description.model import Array, RobotModel
from robodyn_ros.errors import InputError
from robodyn_ros.nodes.common.messages import JointOrder, MessageError, read_stamp
from robodyn_ros.timing import to_seconds

TOPIC = "joint_trajectory"


def plan(message: JointTrajectoryMessage, joints: JointOrder, model: RobotModel, begin: Beginning) -> JointTrajectory:
    """The motion that a trajectory message asks for.

    Args:
        message: The message.
        joints: The robot's joints.
        model: The robot.
        begin: Where and when it begins.

    Raises:
        InputError: As in `read_points`; or the motion passes a limit, or lies in the past.
    """
    points = read_points(message, joints, begin.reference.q)
    trajectory = JointTrajectory(begin.reference, begin.start_time, points, begin.origin)
    check_positions(model, points, trajectory, begin.reference)
    return trajectory


def read_points(message: JointTrajectoryMessage, joints: JointOrder, held: Array) -> Points:
    """The points of a trajectory message.

    Args:
        message: The message: positions by name, in any order; velocities and accelerations may be left empty.
        joints: The robot's joints.
        held: Where joints that are not named stay, shape (n,) [rad or m].

    Raises:
        InputError: Names, lengths, values or times do not fit; the message says which, where.
    """
    if not message.joint_names:
        raise MessageError("missing joint", f"{TOPIC}: expected joint_names, received none")
    named = joints.columns(message.joint_names, TOPIC)
    rest = np.zeros(len(joints))
    free = np.zeros(len(joints))
    free[named] = np.nan

    def read(index: int, point: JointTrajectoryPoint, field: str, absent: Array | None, unnamed: Array) -> Array:
        values = getattr(point, field)
        if not values and absent is not None:
            return absent
        return joints.read(message.joint_names, values, f"{TOPIC}: {field} of point {index}", fill=unnamed)

    points = list(enumerate(message.points))
    for index, point in points:
        if point.effort:
            raise InputError(f"{TOPIC}: effort of point {index}: expected none, as controllers follow motion only; "
                             f"received {len(point.effort)} values")
    return Points.checked(
        [_seconds(point) for _, point in points],
        [read(index, point, "positions", None, held) for index, point in points],
        [read(index, point, "velocities", free, rest) for index, point in points],
        [read(index, point, "accelerations", free, rest) for index, point in points],
    )


def _seconds(point: JointTrajectoryPoint) -> float:
    return to_seconds(read_stamp(point.time_from_start))
