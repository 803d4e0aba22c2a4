# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""By what factor the gains of a law can grow before the robot oscillates, on springs where it has them."""

from __future__ import annotations

from typing import Any

import numpy as np

from robodyn_ros.base.timing import LoopTiming
from robodyn_ros.control.contract.controller import Law, State
from robodyn_ros.control.contract.parameters import Parameters
from robodyn_ros.control.contract.state import MOTOR_SIDE
from robodyn_ros.control.gains.elastic_arm import ElasticArm, MotorFeedback
from robodyn_ros.control.gains.sampled_loop import (
    MIN_GROWTH,
    STEP,
    differences,
    oscillation_growth,
    with_longer_periods,
)
from robodyn_ros.control.references.reference import SOURCES
from robodyn_ros.description.drivetrain import JointSprings
from robodyn_ros.description.model import Array

MAX_DELAY = 12
"""Greatest delay of the exact check [control periods]; a longer delay is checked with longer periods instead."""

FACTORS = (0.01, 0.03, 0.1, 0.2, 0.35, 0.5, 0.7, 0.85, 1.0, 1.2, 1.5, 2.0, 3.0, 5.0)
"""Factors of the gains that `stable_factor` tries."""


def stability(name: str, factor: float, timing: LoopTiming) -> str:
    """Return in words whether a law is stable, and its margin; for logs and tables.

    Args:
        name: Name of the law.
        factor: Result of `stable_factor`.
        timing: Of the loop.
    """
    if factor >= 1.0:
        most = "5 or more" if factor == FACTORS[-1] else f"{factor:g}"
        return f"controller '{name}' is stable with {timing}, also with {most} times its gains"
    most = f"its gains would have to be {factor:g} times as high" if factor else "weaker feedback does not help"
    return (f"controller '{name}' oscillates in some postures with {timing}: {most}; give other gains, or shorten the "
            "delay")


def stable_factor(law: Law[Any, Any, Any], parameters: Parameters, timing: LoopTiming, q: Array) -> float:
    """Return the factor by which all gains of a law can grow before the robot, held at rest, oscillates.

    The law is linearised with its memory held. The robot, with gravity, viscous friction, and its motors on springs, is
    linearised and sampled exactly. Motions that fall or drift without oscillating count as stable, since neither
    period, delay nor springs cause them.

    Args:
        law: The law; its memory stays as it is.
        parameters: Complete for its robot.
        timing: Of the loop.
        q: Configurations, shape (S, n) [rad or m].

    Returns:
        The greatest factor tried, from 0 to 5, without a growing oscillation in any configuration; below 1 the law is
        unstable.
    """
    robot, (period, delay) = law.robot, with_longer_periods(timing, MAX_DELAY)
    batch, springs = robot.dynamics().batch, robot.springs or JointSprings.of_rigid_joints(robot.n)
    arm = ElasticArm.from_robot(robot.model, period, delay, springs, batch.mass_matrix(q),
                                differences(batch.gravity, q), robot.model.damping)
    feedback = [_feedback(law, parameters, springs, timing.period, each) for each in q]
    gain = arm.gain(MotorFeedback(*map(np.stack, zip(*feedback, strict=True))))
    low, high, probe = 0, len(FACTORS), FACTORS.index(1.0)  # stable at factors before low, unstable from high on
    while low < high:
        if oscillation_growth(arm.transition, arm.response, FACTORS[probe] * gain, delay) > MIN_GROWTH * period:
            high = probe
        else:
            low = probe + 1
        probe = (low + high) // 2
    return FACTORS[low - 1] if low else 0.0


def _feedback(law: Law[Any, Any, Any], parameters: Parameters, springs: JointSprings, period: float, q: Array
              ) -> MotorFeedback:
    """Derivatives of the efforts of a law that holds a configuration, each of shape (n, n)."""
    n = len(q)
    rest = State(0.0, period, q, np.zeros(n), motor_q=q, motor_v=np.zeros(n), joint_torque=np.zeros(n))
    reference = None if law.follows is None else SOURCES[law.follows](law.robot, q).sample(0.0)
    answer = law.answering(parameters, rest)
    by: dict[str, Array] = {}
    for field in ("q", "v", *law.senses):
        columns = []
        for step in np.eye(n) * STEP:
            beyond, before = (answer(rest._replace(**{field: getattr(rest, field) + sign * step}), reference)
                              for sign in (1.0, -1.0))
            columns.append((beyond - before) / (2.0 * STEP))
        by[field] = np.stack(columns, axis=1)
    none = np.zeros((n, n))
    of_q, of_v, of_torque = (by.get(field, none) for field in MOTOR_SIDE)
    stiffness, damping = (of_torque * np.where(springs.is_elastic, values, 0.0)
                          for values in (springs.stiffness, springs.damping))  # T = K (theta - q) + D (theta' - q')
    return MotorFeedback(of_q + stiffness, by["q"] - stiffness, of_v + damping, by["v"] - damping)
