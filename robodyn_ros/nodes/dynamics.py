# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Node ``dynamics``: the robot's dynamics and kinematics as services, and its gravity effort as a topic.

Requests give values by joint name in any order; answers are in the order of the robot. If the node cannot answer a
request, ``success`` is false and ``message`` says why.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sensor_msgs.msg import JointState

from robodyn_interfaces.srv import (
    Coriolis,
    ForwardDynamics,
    ForwardKinematics,
    Gravity,
    InverseDynamics,
    Jacobian,
    MassMatrix,
)
from robodyn_ros.base import topic_names
from robodyn_ros.base.checks import Range
from robodyn_ros.base.errors import InputError, RobodynError
from robodyn_ros.base.fields import Field
from robodyn_ros.nodes.common.joint_wire import JointWire
from robodyn_ros.nodes.common.messages import (
    ACCELERATION,
    EFFORT,
    POSITION,
    VELOCITY,
    JointOrder,
    to_field,
)
from robodyn_ros.nodes.common.parameters import ACTUATORS, ROBOT_PARAMETERS, TIP_LINK, given_robot
from robodyn_ros.nodes.common.polled_states import DEFAULT_RATE, NewestStates, PolledJointStates
from robodyn_ros.nodes.common.poses import read_wrench, to_pose
from robodyn_ros.nodes.common.runtime import RobodynNode, run_node
from robodyn_ros.robot import Robot

Array = NDArray[np.float64]

PARAMETERS = (
    *ROBOT_PARAMETERS,
    TIP_LINK,
    ACTUATORS,
    Field("publish_frequency", DEFAULT_RATE, "Rate of ~/gravity_effort while joint states arrive", unit="Hz",
          structural=True, minimum=0.1, maximum=1000.0),
)


class DynamicsNode(RobodynNode):
    """The services, and the topic of gravity effort."""

    def __init__(self) -> None:
        super().__init__("dynamics")
        self.parameters.declare(PARAMETERS)
        self._robot = given_robot(self.parameters, Robot.from_urdf, Robot.from_urdf_text,
                                  tip_link=self.parameters["tip_link"] or None)
        if file := self.parameters["actuators"]:
            self._robot = self._robot.with_actuators(file)
        self._robot.check_accelerations()
        self._dynamics = self._robot.dynamics()
        self._joints = JointOrder(self._robot.joint_names)

        for kind, name, answer in (
            (InverseDynamics, "inverse_dynamics", self._inverse_dynamics),
            (ForwardDynamics, "forward_dynamics", self._forward_dynamics),
            (Gravity, "gravity", self._gravity),
            (MassMatrix, "mass_matrix", self._mass_matrix),
            (Coriolis, "coriolis", self._coriolis),
            (ForwardKinematics, "forward_kinematics", self._forward_kinematics),
            (Jacobian, "jacobian", self._jacobian),
        ):
            self.create_service(kind, f"~/{name}", partial(self._answer, name, answer))

        self._gravity_effort = self.create_publisher(JointState, topic_names.own(topic_names.GRAVITY_EFFORT), 1)
        self._wire = JointWire(self._joints.names, ("effort",))
        self._updated = np.zeros(self._robot.n, bool)  # joints, since the last gravity effort
        PolledJointStates(self, self._joints, self.parameters["publish_frequency"], self._gravity_effort,
                          self._stream_gravity)
        self._started = time.monotonic()
        self._to_compile = self._first_calls()
        self._compiling = self.create_steady_timer(0.0, self._compile_next)

    def _first_calls(self) -> list[Callable[[], object]]:
        """Return one call of each function; the calls compile the functions before requests need them."""
        dynamics, zero, wrench = self._dynamics, np.zeros(self._robot.n), np.zeros(6)
        return [
            lambda: dynamics.gravity(zero),
            lambda: dynamics.inverse_dynamics(zero, zero, zero, wrench),
            lambda: dynamics.forward_dynamics(zero, zero, zero, wrench),
            lambda: dynamics.mass_matrix(zero),
            lambda: dynamics.coriolis_matrix(zero, zero),
            lambda: dynamics.forward_kinematics(zero),
            lambda: dynamics.jacobian(zero),
        ]

    def _compile_next(self) -> None:
        """Compile one function per turn, so that the executor can serve requests and a stop in between."""
        self._to_compile.pop(0)()
        if not self._to_compile:
            self._compiling.cancel()
            seconds = time.monotonic() - self._started
            self.log.info(
                "ready", f"ready: robot '{self._robot.name}', {self._robot.n} joints, compiled in {seconds:.2f} s")

    def _stream_gravity(self, newest: NewestStates) -> None:
        """Publish the gravity effort once every joint has a new state; on the polling thread.

        Its stamp is the oldest
        one of the joints, so that no position appears newer than it is.
        """
        self._updated |= newest.updated
        if self._updated.all() and not self._to_compile:
            self._updated[:] = False
            self._gravity_effort.publish(self._wire.encode(int(newest.stamps.min()), self._dynamics.gravity(newest.q)))

    def _answer(self, name: str, answer: Callable[[Any, Any], None], request: Any, response: Any) -> Any:
        """Answer a request, or write into the response why it cannot be answered."""
        try:
            answer(request, response)
            response.success = True
        except RobodynError as error:
            response.message = str(error)
            self.diagnostics.problem("rejected requests", f"{name}: {error}")
        return response

    def _inverse_dynamics(self, request: InverseDynamics.Request, response: InverseDynamics.Response) -> None:
        tau = self._dynamics.inverse_dynamics(
            self._position(request), self._values(request, "velocity", VELOCITY),
            self._values(request, "acceleration", ACCELERATION),
            read_wrench(request.wrench_tip, "wrench_tip"))
        response.effort = to_field(_finite(tau))
        response.joint_names = self._joints.names

    def _forward_dynamics(self, request: ForwardDynamics.Request, response: ForwardDynamics.Response) -> None:
        a = self._dynamics.forward_dynamics(
            self._position(request), self._values(request, "velocity", VELOCITY),
            self._values(request, "effort", EFFORT),
            read_wrench(request.wrench_tip, "wrench_tip"))
        response.acceleration = to_field(_finite(a))
        response.joint_names = self._joints.names

    def _gravity(self, request: Gravity.Request, response: Gravity.Response) -> None:
        response.effort = to_field(_finite(self._dynamics.gravity(self._position(request))))
        response.joint_names = self._joints.names

    def _mass_matrix(self, request: MassMatrix.Request, response: MassMatrix.Response) -> None:
        response.data = to_field(_finite(self._dynamics.mass_matrix(self._position(request))))
        response.joint_names = self._joints.names

    def _coriolis(self, request: Coriolis.Request, response: Coriolis.Response) -> None:
        matrix = self._dynamics.coriolis_matrix(self._position(request),
                                                 self._values(request, "velocity", VELOCITY))
        response.data = to_field(_finite(matrix))
        response.joint_names = self._joints.names

    def _forward_kinematics(self, request: ForwardKinematics.Request, response: ForwardKinematics.Response) -> None:
        pose_base_link = self._dynamics.forward_kinematics(self._position(request), request.link or None)
        response.pose.pose = to_pose(_finite(pose_base_link))
        response.pose.header.frame_id = self._robot.model.base_link

    def _jacobian(self, request: Jacobian.Request, response: Jacobian.Response) -> None:
        matrix = self._dynamics.jacobian(self._position(request), request.link or None)
        response.data = to_field(_finite(matrix))
        response.joint_names = self._joints.names

    def _position(self, request: Any) -> Array:
        return self._joints.read(request.joint_names, request.position, "position", POSITION)

    def _values(self, request: Any, field: str, allowed: Range) -> Array:
        """Read the values of a field; an empty field means zeros."""
        values = getattr(request, field)
        return self._joints.read(request.joint_names, values, field, allowed) if values else np.zeros(len(self._joints))


def _finite(result: Array) -> Array:
    """Return a result; raise if it is not finite: inputs are too large, or the mass matrix is singular."""
    if not np.isfinite(result).all():
        raise InputError("the result is not finite: the values given are too large, or the robot is singular there")
    return result


def main(args: Sequence[str] | None = None) -> int:
    """Run the node until SIGINT or SIGTERM."""
    return run_node(DynamicsNode, args)
