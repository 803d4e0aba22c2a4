# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""What a drive with a loop of its own gets of a law for a control period: efforts, and how they change with the motion.

The drive samples the motion faster than the law, so it takes the derivatives of the law as its gains,

    tau_i = tau_i(q_0, v_0) + d tau_i / d q_i (q - q_0 - t v_r)_i + d tau_i / d v_i (v - v_0 - t a_r)_i,

about the measured motion q_0, v_0. The reference moves on by v_r and a_r while the drive holds its command; without
these terms, the drive would hold the robot back. t is the time from the measurement to the middle of the samples.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from robodyn_ros.actuation.drive_loop import JointLaw, SampleTimes
from robodyn_ros.compile import derivative_at
from robodyn_ros.compile.records import array_shapes, flatten, form_of, unflatten
from robodyn_ros.control.contract.compiled_law import TraceableLaw
from robodyn_ros.control.contract.state import JointReference, State
from robodyn_ros.dynamics.robot_dynamics import InlineDynamics
from robodyn_ros.robot import Robot


class _LawInput(NamedTuple):
    """Arguments of a law."""

    parameters: Any
    state: State
    reference: Any
    memory: Any


def joint_law(robot: Robot, law: TraceableLaw, parameters: NDArray[Any], state: State, reference: Any, memory: Any,
              effort: NDArray[Any], ahead: SampleTimes) -> JointLaw:
    """Return what the drives get for a control period.

    Args:
        robot: The robot as the law knows it.
        law: The law.
        parameters: Its numbers, shape (p,).
        state: The measured state.
        reference: The reference. For one that is not of joints, the motion that the robot's model predicts takes the
            place of v_r and a_r.
        memory: The memory of the law before this tick.
        effort: The efforts of this tick, before their limits, which the drives keep to, shape (n,) [N m or N].
        ahead: When the drives sample the motion in this period.

    Raises:
        CompileError: The law has no derivative: it solves a quadratic program.
    """
    given = _LawInput(parameters, state, reference, memory)
    form: Any = form_of(given, shapes=False)
    names, arrays = list(array_shapes("", form)), flatten(form, given, "law")

    def efforts(*arrays: NDArray[Any]) -> NDArray[Any]:
        answer: NDArray[Any] = law.function(*unflatten(form, iter(arrays)))[0]
        return answer

    by_position, by_velocity = (np.diag(derivative_at(efforts, arrays, names.index(name)))
                                for name in (".state.q", ".state.v"))
    if isinstance(reference, JointReference):
        v, a = reference.v, reference.a
    else:
        v, a = state.v, InlineDynamics(robot.model).forward_dynamics(state.q, state.v, effort)
    return JointLaw(effort, by_position, by_velocity, state.q + ahead.q * (v + 0.5 * ahead.q * a),
                    state.v + ahead.v * a)
