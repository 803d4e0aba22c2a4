# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Motors whose drives regulate the current: their effort and electrical step, in the place of those under a voltage."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from robodyn_ros.actuation.current_loop import CurrentLoopRun, CurrentLoops, CurrentLoopState
from robodyn_ros.actuation.dc_motor import DCMotor
from robodyn_ros.actuation.joint_actuators import JointActuators
from robodyn_ros.actuation.joint_values import is_limit
from robodyn_ros.actuation.motor_circuits import EffortLine, Electrical
from robodyn_ros.compile import sign, where


class CurrentLoopDemand(NamedTuple):
    """Demands on current loops in a step, and their state; each array has shape (m,) of `CurrentLoops`.

    Attributes:
        target: Commanded currents [A].
        is_open: 1 where the voltage is commanded instead of the current, else 0.
        voltage: Commanded voltages, within their limits [V].
        current: Currents at the beginning of the step [A].
        state: State at the beginning of the step.
        target_slope: Derivatives of the targets by the motors' speeds [A s/rad]; None: 0.
    """

    target: NDArray[Any]
    is_open: NDArray[Any]
    voltage: NDArray[Any]
    current: NDArray[Any]
    state: CurrentLoopState
    target_slope: NDArray[Any] | None = None


def regulated_line(actuators: JointActuators, line: EffortLine, requested: CurrentLoopDemand, v: NDArray[Any],
                   step: float) -> EffortLine:
    """Return the line of `effort_line`, replaced for joints with active current loops.

    Args:
        actuators: The actuators.
        line: Line without current loops.
        requested: Demands on the loops, and their state.
        v: Joint velocities at which the loops are linearised, shape (n,) [rad/s or m/s].
        step: h [s].
    """
    loops = actuators.current_loops
    if not len(loops.joints):
        return line
    speed = actuators.motors.gear.motor_motion(v)[loops.joints]
    run = _run_loops(actuators, requested, speed, step)
    factor, ratio = actuators.circuits.effort_per_current[loops.joints], actuators.motors.gear.ratio[loops.joints]
    ours = (factor * (run.mean - run.mean_slope * speed), -factor * ratio * run.mean_slope)
    return EffortLine(*(_where_closed(loops, requested, every, own) for every, own in zip(line, ours, strict=True)))


def regulated_step(actuators: JointActuators, without: Electrical, requested: CurrentLoopDemand, before: NDArray[Any],
                   v: NDArray[Any], saturation: NDArray[Any], step: float) -> tuple[Electrical, CurrentLoopState]:
    """Return the result of `electrical_step`, replaced for joints with active current loops, and their state.

    Args:
        actuators: The actuators.
        without: Result without current loops.
        requested: Demands on the loops, and their state.
        before: Joint velocities of `regulated_line`, shape (n,) [rad/s or m/s].
        v: Joint velocities, held, shape (n,) [rad/s or m/s].
        saturation: 1 or -1 where the effort is at its limit of that sign, 0 elsewhere, shape (n,).
        step: h [s].
    """
    joints = actuators.current_loops.joints
    if not len(joints):
        return without, requested.state
    gear, motor = actuators.motors.gear, actuators.motors.motor
    first, speed = gear.motor_motion(before)[joints], gear.motor_motion(v)[joints]
    at_end = requested if requested.target_slope is None else requested._replace(
        target=requested.target + requested.target_slope * (speed - first))
    line, run = _run_loops(actuators, requested, first, step), _run_loops(actuators, at_end, speed, step)
    mean, end, square = line.mean + line.mean_slope * (speed - first), run.current, run.mean_square
    greatest = actuators.circuits.greatest_current[joints]
    at_limit = saturation[joints] * sign(gear.ratio[joints]) * np.where(is_limit(greatest), greatest, 0.0)
    capped = np.where(is_limit(greatest), saturation[joints] * saturation[joints], 0.0)
    mean, end = where(capped, at_limit, mean), where(capped, at_limit, end)
    square = where(capped, at_limit * at_limit, square)
    heat = step * motor.resistance[joints] * square
    stored = 0.5 * motor.inductance[joints] * (end * end - requested.current * requested.current)
    work = heat + stored + step * motor.back_emf_constant[joints] * speed * mean
    columns = [_where_closed(actuators.current_loops, requested, every, own)
               for every, own in zip(without, (end, mean, heat, work), strict=True)]
    state = CurrentLoopState(where(requested.is_open, 0.0, run.state.integral),
                             where(requested.is_open, requested.voltage, run.state.voltage),
                             where(requested.is_open, requested.voltage, run.state.pending))
    return Electrical(*columns), state


def _run_loops(actuators: JointActuators, requested: CurrentLoopDemand, speed: NDArray[Any], step: float
               ) -> CurrentLoopRun:
    joints = actuators.current_loops.joints
    motor = DCMotor(*(figure[joints] for figure in vars(actuators.motors.motor).values()))
    return actuators.current_loops.run(motor, requested.target, requested.current, speed, requested.state,
                                       actuators.limits.voltage_limit[joints], step, requested.target_slope)


def _where_closed(loops: CurrentLoops, requested: CurrentLoopDemand, values: NDArray[Any], own: NDArray[Any]
                  ) -> NDArray[Any]:
    """Replace values of joints, shape (n,), by others, shape (m,), where a current loop is closed."""
    result = values.astype(np.result_type(values, own, requested.is_open))
    result[loops.joints] = where(requested.is_open, values[loops.joints], own)
    return result
