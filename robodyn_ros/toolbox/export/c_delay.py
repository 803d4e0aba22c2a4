# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Compensation of delay in C: prediction of the state, and stepwise damping of a robot that swings.

Formulas are traced from `control/runtime/state_prediction.py` and `control/runtime/calming.py`;
`templates/delay.c.in` has the branches and loops around them. The default damping for a period and a delay needs
eigenvalues over many configurations. It depends on both through one rate only, so a table over this rate is exported.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from robodyn_ros.base.timing import LoopTiming
from robodyn_ros.compile import trace
from robodyn_ros.compile.loops_in_c import identifier
from robodyn_ros.control import default_gains
from robodyn_ros.control.runtime import calming
from robodyn_ros.control.runtime.state_prediction import prediction_step
from robodyn_ros.description.model import Array
from robodyn_ros.dynamics.robot_dynamics import InlineDynamics
from robodyn_ros.robot import Robot
from robodyn_ros.toolbox.export.c_function import PRECISIONS, CFunction, literal, row
from robodyn_ros.toolbox.export.c_motion import filled, template
from robodyn_ros.toolbox.export.c_source import CSource, assembled, renamed_for_linker

HISTORY = 128
"""Commands that a prediction stores; for 7 joints they take 8 kB."""

_DELAYS = (*range(16), 23, 31, 47, 63, 127, 255)
"""Delays of the table, between which the damping is interpolated [control periods]."""


def delay_source(robot: Robot, precision: str = "double", law: str = "") -> CSource:
    """Write the prediction of states over a delay, and the damping in steps.

    Args:
        robot: The robot; its `timing` is that of the loop.
        precision: ``double`` or ``float``.
        law: Name of the law in the same program, for names in object files.

    Returns:
        C99 that allocates nothing; the caller owns both structs.

    Raises:
        InputError: The precision is unknown.
        DescriptionError: The robot has no inertia.
    """
    robot.check_accelerations()
    prefix, period = identifier(robot.name), robot.timing.period
    written = _formulas(robot, prefix)
    bodies = ["static " + "\n".join(each.definition(precision)) for each in written]
    timings = [LoopTiming(period, delay) for delay in reversed(_DELAYS)] + [LoopTiming(period / 4.0, 0)]
    rates = np.array([default_gains.damping_rate(timing) for timing in timings])
    dampings = [default_gains.damping(robot.with_timing(*timing)) for timing in timings]
    shares = np.array([0.0, *calming.SHARES])  # no damping at level 0
    values: dict[str, str] = {
        "n": str(robot.n), "robot": prefix, "ROBOT": prefix.upper(), "real": precision, "HISTORY": str(HISTORY),
        "rint": "rint" + PRECISIONS[precision], "WAVES": str(2 * calming.HALF_WAVES), "RATES": str(len(rates)),
        "LEVELS": str(len(calming.SHARES)), "DELAY": literal(float(robot.timing.delay), precision),
        "least_speed": row(calming.least_speeds(robot), precision), "rates": row(rates, precision),
        "dampings": ",\n    ".join(f"{{{row(each, precision)}}}" for each in dampings),
        "shares": row(shares, precision)}
    texts = [filled(template(f"delay.{kind}.in"), values).rstrip() for kind in ("h", "c")]
    links = [renamed_for_linker(prefix, identifier(law), texts[0])] if law else []
    return assembled(f"{prefix}_delay", robot.model, [*links, texts[0]], [*bodies, texts[1]], written, precision)


def _formulas(robot: Robot, prefix: str) -> list[CFunction]:
    """The formulas, traced from the control loop."""
    n, dynamics = robot.n, InlineDynamics(robot.model)

    def swing(waves: Array, least: Array) -> Array:
        return calming.swings(waves[:, :, None], least)[:, 0]

    def damping_rate(loop: Array) -> Array:
        return np.array([default_gains.damping_rate(LoopTiming(*loop))])

    functions: list[tuple[Callable[..., Any], str, dict[str, tuple[int, ...]]]] = [
        (prediction_step(robot), "prediction_step", {"q": (n,), "v": (n,), "effort": (n,), "duration": (1,)}),
        (swing, "swing", {"waves": (2 * calming.HALF_WAVES, 5), "least": (1,)}),
        (damping_rate, "damping_rate", {"loop": (2,)}),
        (dynamics.kinetic_energy, "kinetic_energy", {"q": (n,), "v": (n,)}),
        (dynamics.potential_energy, "potential_energy", {"q": (n,)})]
    return [CFunction(f"{prefix}_{name}", trace(function, shapes), ()) for function, name, shapes in functions]
