# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""A control law and the robot that it controls as one program, to be compiled for rollouts.

At each tick, the law receives the measured joint state and returns efforts; then the plant takes some steps under these
efforts, as in the loop of the nodes in lockstep.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from robodyn_ros.actuation.joint_actuators import within
from robodyn_ros.compile import (
    Compute,
    Procedure,
    Repeat,
    compile_procedure,
    equal,
    greater_equal,
    maximum,
    sign,
    where,
)
from robodyn_ros.compile.program import Statement
from robodyn_ros.control.compiled_law import PackedParameters, traceable
from robodyn_ros.control.controller import UNMEASURED, JointReference, Law
from robodyn_ros.control.laws.task_space import pose_error
from robodyn_ros.description.model import Array, RobotModel
from robodyn_ros.dynamics.robot_dynamics import InlineDynamics
from robodyn_ros.errors import InputError
from robodyn_ros.simulation.contact import contact_wrench
from robodyn_ros.simulation.contact_world import World
from robodyn_ros.simulation.plant_model import PlantModel
from robodyn_ros.simulation.plant_step import step_program
from robodyn_ros.simulation.quantities import (
    DELAY,
    MODEL,
    NOISES,
    QUANTITIES,
    RESOLUTION,
    SENSING,
    of_plant,
    varied_model,
)
from robodyn_ros.simulation.sensing import delayed, encoded

SUMS = ("error_square", "error_worst", "effort_square", "effort_worst", "change_square", "overshoot", "saturated")
"""Sums of squares, or largest magnitudes, over the ticks: of tracking error, effort, and change of effort; the largest
error against its sign at the first tick; and the number of ticks at the effort limit."""

RECORDS = {"q": "true_q", "v": "true_v", "effort": "effort"}
"""What is recorded at every tick, and the variables with these values; also ``error``, unless it is q_d - q."""


def closed_loop_procedure(law: Law, packed: PackedParameters, plant: PlantModel, steps: int, *,
                          recorded: bool, noisy: bool, varied: Sequence[str] = (), longest_delay: int = 0) -> Procedure:
    """Compile a closed loop.

    Its inputs are ``state``, ``parameters``, shape (p,), ``memory``, shape (m,), of the law,
    the varied quantities, and with noise `NOISES`. Its sequences have one row for each of its ``ticks``: ``clocks``,
    time and period, shape (2,); each field of the reference, ``references.<field>``; and with noise ``normals``, the
    standard normal numbers of the measured positions and velocities, shape (2, n). Its outputs are ``state.q``,
    ``state.v`` and `SUMS`.

    Args:
        law: The law.
        packed: Its parameters; only those that are ``fixed`` are built in. The caller computes
            `Parameters.with_inertias` of varied quantities of the law's model.
        plant: The robot.
        steps: Steps of the plant in a control period.
        recorded: Whether the variables of `RECORDS` are recorded.
        noisy: Whether the law's measurements have noise.
        varied: Names of `QUANTITIES` whose values are inputs of the program, not built in.
        longest_delay: Greatest delay of the measurements that the program has room for [control periods].

    Raises:
        CompileError: The law cannot be traced: it branches on a value, stores one as a float, or raised.
        InputError: A varied quantity has no effect on this loop.
    """
    n = plant.n
    answer, shapes = traceable(law, packed)
    world = plant.world
    if world is None:  # no sensor of it is simulated
        del shapes["wrench_tip"]
    fields = [name for name in shapes if name.startswith("reference.")]
    tracking_error = tracking_error_function(plant.model, law.follows)
    error_shape = np.shape(tracking_error(np.zeros(n), *(np.zeros(shapes[name]) for name in fields)))

    inputs = (*(name for name in varied if name not in NOISES), *(NOISES if noisy else ()))
    of_law = [name for name in varied if name.startswith(MODEL)]
    line = ("line", "taken") if DELAY in varied else ()
    sensed = ("state", *(["noise"] if noisy else []), *line, *(name for name in inputs if name in SENSING))
    step = step_program(plant, of_plant(varied), under_efforts=True)
    variables = step.variables | {name: QUANTITIES[name].shape(plant) for name in inputs}
    variables |= {"line": (longest_delay, 2, n), "taken": ()}
    variables |= shapes | {"noise": (2, n), "true_q": (n,), "true_v": (n,), "effort": (n,), "change": (n,)}
    variables |= {"error": error_shape, "first_error": error_shape}
    variables |= dict(zip(SUMS, (error_shape, error_shape, (n,), (n,), (n,), error_shape, (n,)), strict=True))

    def respond(effort: NDArray[Any], clock: NDArray[Any], q: NDArray[Any], v: NDArray[Any],
                *given: NDArray[Any]) -> tuple[Any, ...]:
        arrays, values = given[:len(shapes) - 3], given[len(shapes) - 3:]
        own = dict(zip((name.removeprefix(MODEL) for name in of_law), values, strict=True))
        wrench = () if world is not None else (UNMEASURED,)
        with np.errstate(invalid="ignore"):  # the wrench can be NaN
            asked, memory = answer(clock, q, v, *wrench, *arrays,
                                   model=varied_model(law.robot.model, own) if own else None)
        effort_now = within(asked, plant.model.effort_limit)
        is_first = equal(clock[1], 0.0)
        return effort_now, effort_now, where(is_first, 0.0, effort_now - effort), memory

    record = {} if not recorded else RECORDS if law.follows is JointReference else RECORDS | {"error": "error"}
    read = {"clock": "clocks"} | ({"noise": "normals"} if noisy else {})
    read |= {name: name.replace("reference.", "references.", 1) for name in fields}
    tick: list[Statement] = [
        Compute(lambda *arrays: measure(dict(zip(sensed, arrays, strict=True))), sensed,
                ("true_q", "true_v", "q", "v", *line)),
        *([] if world is None else [
            Compute(partial(tip_wrench, plant.model, world), ("true_q", "solution.contact_force"), "wrench_tip")]),
        Compute(respond, ("effort", *shapes, *of_law), ("command.effort", "effort", "change", "memory")),
        Compute(tracking_error, ("true_q", *fields), "error"),
        Compute(lambda clock, error, first: where(equal(clock[1], 0.0), error, first),
                ("clock", "error", "first_error"), "first_error"),
        Compute(partial(_add_up, plant.model.effort_limit), ("error", "first_error", "effort", "change", *SUMS), SUMS),
        Repeat(steps, step.statements),
    ]
    typical = {name: QUANTITIES[name].typical_value(plant) for name in inputs}
    procedure = compile_procedure(variables, [Repeat("ticks", tick, typical, read, record)],
                                  ("state", "parameters", "memory", *inputs), ("state.q", "state.v", *SUMS),
                                  name=f"rollout of {type(law).__name__}")
    by_parameters = of_law if type(law.parameters).inertia_fields() else []
    without_effect = [name for name in varied if not procedure.traced.reads(name) and name not in by_parameters]
    if without_effect:
        raise InputError(f"varied: {', '.join(without_effect)}: no effect on '{law.robot.name}' under "
                         f"{type(law).__name__}; leave it out, or vary the parameter in which the law keeps its model")
    return procedure


def tracking_error_function(model: RobotModel, follows: Any) -> Callable[..., Any]:
    """The tracking error of a rollout as a function of q and the fields of the reference.

    Args:
        model: The robot.
        follows: Class of the references of the law; None if it follows none.

    Returns:
        q_d - q, shape (n,) [rad or m]; for poses of the tip link `task_space.pose_error`, shape (6,) [m, rad]; nothing,
        shape (0,), for a law that follows no reference.
    """
    if follows is None:
        return lambda q: np.zeros(0)
    if follows is JointReference:
        return lambda q, *fields: JointReference(*fields).q - q
    dynamics = InlineDynamics(model)
    return lambda q, *fields: pose_error(dynamics.forward_kinematics(q), follows(*fields))


def tip_wrench(model: RobotModel, world: World, q: NDArray[Any], force: NDArray[Any]) -> NDArray[Any]:
    """`State.wrench_tip` of an ideal sensor: the mean over the last step of the plant, shape (6,) [N, N m].

    Args:
        model: The robot.
        world: Surfaces and contact points.
        q: Joint positions, shape (n,) [rad or m].
        force: Of the plant, shape (pairs, 3) [N].
    """
    return contact_wrench(world, model, q, force, model.tip_link)


def measure(given: Mapping[str, Any]) -> tuple[Any, ...]:
    """Measure the joints at a tick.

    Args:
        given: ``state`` of the plant; values of quantities of the sensors, by name; with
            `NOISES`, standard normal numbers ``noise`` for position and velocity, shape (2, n); and with a delay, the
            last measurements and their number, ``line`` and ``taken``, see `sensing.delayed`.

    Returns:
        True position and velocity, measured position and velocity, shape (n,) each; with a delay also the new line and
        number.
    """
    q, v = given["state"].q, given["state"].v
    position, velocity = q, v
    if "noise" in given:
        position, velocity = (exact + given[name] * noise
                              for exact, name, noise in zip((q, v), NOISES, given["noise"], strict=True))
    if RESOLUTION in given:
        position = encoded(position, given[RESOLUTION])
    if DELAY not in given:
        return q, v, position, velocity
    measured, line = delayed(np.stack([position, velocity]), given["line"], given["taken"], given[DELAY])
    return q, v, *measured, line, given["taken"] + 1.0


def _add_up(limit: Array, error: NDArray[Any], first_error: NDArray[Any], effort: NDArray[Any], change: NDArray[Any],
            *sums: NDArray[Any]) -> tuple[Any, ...]:
    error_square, error_worst, effort_square, effort_worst, change_square, overshoot, saturated = sums
    return (error_square + error * error, maximum(error_worst, abs(error)), effort_square + effort * effort,
            maximum(effort_worst, abs(effort)), change_square + change * change,
            maximum(overshoot, -sign(first_error) * error), saturated + greater_equal(abs(effort), limit))
