# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""One tick of the control loop, shared by compiled rollouts and the interpreted loop.

At each tick, the law receives the measured joint state and returns efforts; then the plant takes some steps under these
efforts, as the nodes do in lockstep. A tick is :func:`sense`, the law, then :func:`apply_and_score`. Rollouts compile
them together with the steps of the plant; `InterpretedLoop` calls a controller in Python between them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from robodyn_ros.actuation.joint_values import within
from robodyn_ros.base.errors import InputError
from robodyn_ros.compile import Compute, Procedure, Repeat, compile_procedure, equal, maximum
from robodyn_ros.compile.program import Statement
from robodyn_ros.control.contract.compiled_law import PackedParameters, traceable
from robodyn_ros.control.contract.controller import UNMEASURED, Controller, JointReference, Law, State
from robodyn_ros.control.contract.handover import joint_law
from robodyn_ros.control.contract.law_inputs import state_form
from robodyn_ros.control.contract.terms import DRIVER, LIMITS
from robodyn_ros.control.laws.task_space import pose_error
from robodyn_ros.description.model import Array, RobotModel
from robodyn_ros.dynamics.robot_dynamics import Dynamics, InlineDynamics
from robodyn_ros.simulation.contact import CONTACT_FORCE, contact_wrench
from robodyn_ros.simulation.contact_world import World
from robodyn_ros.simulation.driver import DriverMemory
from robodyn_ros.simulation.fast_motion import angular_speed_sum, period_program
from robodyn_ros.simulation.plant_model import PlantModel
from robodyn_ros.simulation.plant_state import MotorSide
from robodyn_ros.simulation.quantities import (
    COMMAND_DELAY,
    COMMANDS,
    DELAY,
    MODEL,
    NOISES,
    QUANTITIES,
    RESOLUTION,
    SENSING,
    plant_quantities,
    varied_model,
    varied_plant,
)
from robodyn_ros.simulation.readings import encoder_motion, read_motor_side
from robodyn_ros.simulation.score import Sums
from robodyn_ros.simulation.sensing import delayed, encoded


class TickInput(NamedTuple):
    """Input of a tick, from the scenario."""

    clock: Any  # time and period, shape (2,) [s]
    reference: Any  # reference, of the class that the law follows; None if it follows none
    noise: Any = None  # standard normal numbers for measured positions and velocities, shape (2, n); None: no noise
    inputs: Any = None  # the law's `Inputs`; None if it has none


class LoopState(NamedTuple):
    """State of the control loop between two ticks, besides the state of the plant."""

    memory: Any  # memory of the law
    line: Any  # delay line: the last measurements, newest first, shape (D, 2, n); None without a delay
    taken: Any  # number of measurements so far; None without a delay
    driver: DriverMemory | None  # memory of the driver; None without one
    sums: Sums  # sums for the score
    fastest: Any  # greatest `angular_speed_sum` at any tick [rad/s]


class TickMotion(NamedTuple):
    """Record of a tick: true positions and velocities, efforts, shape (n,), and the tracking error, shape (e,)."""

    q: Any
    v: Any
    effort: Any
    error: Any


def sense(tick_input: TickInput, q: NDArray[Any], v: NDArray[Any], wrench_tip: NDArray[Any], sensors: Mapping[str, Any],
          loop_state: LoopState, motors: Sequence[NDArray[Any]] = ()) -> tuple[State, LoopState]:
    """Measure the joints.

    Args:
        tick_input: Input of the tick.
        q: True positions, at the encoders, shape (n,) [rad or m].
        v: True velocities, likewise, shape (n,) [rad/s or m/s].
        wrench_tip: As in `State`.
        sensors: Values of the quantities of the sensors, by name.
        loop_state: State after the previous tick.
        motors: Exact readings of :func:`.readings.read_motor_side`; empty for laws that do not read
            them.

    Returns:
        The measured state, and ``loop_state`` with the new delay line.
    """
    position, velocity = q, v
    if tick_input.noise is not None:
        position, velocity = (exact + sensors[name] * noise
                              for exact, name, noise in zip((q, v), NOISES, tick_input.noise, strict=True))
    if RESOLUTION in sensors:
        position = encoded(position, sensors[RESOLUTION])
    if loop_state.line is not None:
        measured, line = delayed(np.stack([position, velocity]), loop_state.line, loop_state.taken, sensors[DELAY])
        position, velocity = measured
        loop_state = loop_state._replace(line=line, taken=loop_state.taken + 1.0)
    time, period = tick_input.clock
    state = State(time, period, position, velocity, wrench_tip, *motors)
    return state if tick_input.inputs is None else state._replace(inputs=tick_input.inputs), loop_state


def apply_and_score(plant: PlantModel, follows: Any, tick_input: TickInput, q: NDArray[Any], v: NDArray[Any],
                    motors: MotorSide, requested: NDArray[Any], loop_state: LoopState, period: float,
                    counted: Array | float = 1.0) -> tuple[LoopState, TickMotion]:
    """Pass the requested efforts through the driver and the limits, and add the tick to the score.

    Args:
        plant: The simulated robot.
        follows: Class of the references of the law; None if it follows none.
        tick_input: Input of the tick.
        q: True positions, shape (n,) [rad or m].
        v: True velocities, shape (n,) [rad/s or m/s].
        motors: Motors of elastic joints.
        requested: Commanded efforts, shape (n,) [N m or N].
        loop_state: Result of :func:`sense`.
        period: Control period [s].
        counted: `counted_errors` of the law.

    Returns:
        ``loop_state`` for the next tick; and the record of this one, whose effort acts until the next tick.
    """
    effort, memory = acting_effort(plant, *encoder_motion(plant, q, v, motors), requested, loop_state.driver, period)
    loop_state = loop_state._replace(driver=memory)
    error = tracking_error(plant.model, follows, q, tick_input.reference)
    sums = loop_state.sums.with_tick(equal(tick_input.clock[1], 0.0), counted * error, effort, plant.model.effort_limit)
    after = loop_state._replace(sums=sums, fastest=maximum(loop_state.fastest, angular_speed_sum(plant, v)))
    return after, TickMotion(q, v, effort, error)


def added_term(plant: PlantModel) -> str:
    """Name of the term that limits, or a driver with its limits, add to the efforts of a law."""
    return LIMITS if plant.driver is None else DRIVER


def counted_errors(controller: Controller) -> Array | float:
    """1 for each element of the tracking error; 0 for axes of the tip link that the controller does not control."""
    rows = getattr(controller.parameters, "rows", None)
    return 1.0 if rows is None else np.isin(np.arange(6), rows).astype(np.float64)


def acting_effort(plant: PlantModel, q: NDArray[Any], v: NDArray[Any], requested: NDArray[Any],
                  memory: DriverMemory | None, period: float) -> tuple[NDArray[Any], DriverMemory | None]:
    """Return the efforts that act during a control period: after the driver, if there is one, and the effort limits.

    Args:
        plant: The simulated robot.
        q: True positions, at the encoders, shape (n,) [rad or m].
        v: True velocities, likewise, shape (n,) [rad/s or m/s].
        requested: Commanded efforts, shape (n,) [N m or N].
        memory: Memory of the driver; None without one.
        period: Control period [s].

    Returns:
        Efforts, shape (n,) [N m or N], and the memory of the driver for the next period.
    """
    if plant.driver is not None and memory is not None:
        requested, memory = plant.driver.drive(requested, q, v, memory, period)
    return within(requested, plant.model.effort_limit), memory


def commanded_effort(plant: PlantModel, dynamics: Dynamics, q: NDArray[Any], requested: NDArray[Any]) -> NDArray[Any]:
    """Return the efforts to command: without gravity if the driver adds it, shape (n,) [N m or N].

    Args:
        plant: The simulated robot.
        dynamics: Dynamics of the robot as the law knows it.
        q: Measured positions, shape (n,) [rad or m].
        requested: Efforts of the law, shape (n,) [N m or N].
    """
    if plant.driver is None or not plant.driver.profile.compensates_gravity:
        return requested
    result: NDArray[Any] = requested - dynamics.gravity(q)
    return result


def first_loop_state(plant: PlantModel, follows: Any, memory: Any, longest_delay: int | None,
                     longest_command_delay: int | None = None) -> LoopState:
    """Return the state of the control loop before the first tick.

    Args:
        plant: The simulated robot.
        follows: Class of the references of the law; None if it follows none.
        memory: The initial memory of the law.
        longest_delay: Length of the delay line for measurements [control periods]; None: no delay.
        longest_command_delay: Length of the delay line for commands; None: the delay of the driver.
    """
    errors = 0 if follows is None else plant.n if follows is JointReference else 6
    line, taken = (None, None) if longest_delay is None else (np.zeros((longest_delay, 2, plant.n)), 0.0)
    driver = None if plant.driver is None else plant.driver.first_memory(longest_command_delay)
    return LoopState(memory, line, taken, driver, Sums.zeros(errors, plant.n), 0.0)


def closed_loop_procedure(law: Law[Any, Any, Any], packed: PackedParameters, plant: PlantModel, steps: int, *,
                          recorded: bool, noisy: bool, varied: Sequence[str] = (), longest_delay: int = 0,
                          divides: bool = False, terms: Sequence[str] = ()) -> Procedure:
    """Compile a closed loop.

    Its inputs are ``state``, a `PlantState`; ``parameters`` of the law, shape (p,), and ``loop_state.memory`` if it has
    one; the varied quantities; and with noise `NOISES`. Its sequence ``inputs`` has a `TickInput` for each of its
    ``ticks``. Its outputs are ``state.q``, ``state.v``, ``loop_state.sums`` and ``loop_state.fastest``.

    Args:
        law: The law.
        packed: Parameters of the law; only the ``fixed`` ones become constants of the program. If quantities of the
            law's model vary, the caller computes `Parameters.with_inertias`.
        plant: The robot.
        steps: Steps of the plant in a control period.
        recorded: Whether ``motions``, a `TickMotion` of each tick, is recorded.
        noisy: Whether the law's measurements have noise.
        varied: Names of `QUANTITIES` that are inputs of the program, not constants.
        longest_delay: Length of the delay lines of measurements and commands [control periods].
        divides: Whether to divide steps that are too long for the speed, see `fast_motion`.
        terms: Names of the law's terms, see `terms_on_arrays`. If there are any, ``terms`` of each tick is recorded:
            the efforts of each, and then what limits and driver add to their sum, shape (k + 1, n).

    Raises:
        CompileError: The law cannot be traced: it branches on a value, stores one as a float, or raised.
        InputError: A varied quantity has no effect on this loop.
    """
    n, world, follows, counted = plant.n, plant.world, law.follows, counted_errors(law)
    answer, form = traceable(law, packed), state_form(type(law), n)
    inputs = (*(name for name in varied if name not in NOISES), *(NOISES if noisy else ()))
    of_law = [name for name in varied if name.startswith(MODEL)]
    sensing, driving = ([name for name in inputs if name in group] for group in (SENSING, COMMANDS))
    seen = plant_quantities(varied) if form.senses else ()  # by the sensors of the motors' side
    moved = ("state", "command.effort") if form.senses else ()
    period = period_program(plant, steps, plant_quantities(varied), divides=divides)
    loop_state = first_loop_state(plant, follows, answer.memory, *(longest_delay if name in varied else None
                                                                   for name in (DELAY, COMMAND_DELAY)))
    variables = period.variables | {name: QUANTITIES[name].shape(plant) for name in inputs}
    tick_input = TickInput(np.zeros(2), answer.reference, np.zeros((2, n)) if noisy else None,
                           form.record({}) if form.inputs else None)
    variables |= {"tick_input": tick_input, "loop_state": loop_state,
                  "motion": TickMotion(np.zeros(n), np.zeros(n), np.zeros(n), loop_state.sums.first_error),
                  "parameters": packed.values, "wrench_tip": (6,)}
    if terms:
        variables["terms"] = (len(terms) + 1, n)

    drives = plant.actuators.drive_loops
    drives.check_law(plant.model.joint_names)
    if len(drives) and of_law:
        raise InputError(f"varied: {of_law[0]}: expected none of the law's model beside drives with a drive_loop")

    def tick(tick_input: TickInput, q: NDArray[Any], v: NDArray[Any], motors: MotorSide, before: LoopState,
             parameters: NDArray[Any], wrench_tip: NDArray[Any], *values: Any
             ) -> tuple[Any, ...]:
        before_step, values = values[:len(moved)], values[len(moved):]
        by_name = dict(zip((*sensing, *driving, *of_law, *seen), values, strict=True))
        sides = (read_motor_side(varied_plant(plant, {name: by_name[name] for name in seen}), *before_step)
                 if moved else ())
        sensors = {name: by_name[name] for name in sensing}
        own = {name.removeprefix(MODEL): by_name[name] for name in of_law}
        driver = varied_plant(plant, {name: by_name[name] for name in driving})
        position, velocity = encoder_motion(plant, q, v, motors)
        measured, after = sense(tick_input, position, velocity, UNMEASURED if world is None else wrench_tip, sensors,
                                before, sides)
        with np.errstate(invalid="ignore"):  # the wrench can be NaN
            parts: dict[str, NDArray[Any]] | None = {} if terms else None
            asked, memory = answer.function(parameters, measured, tick_input.reference, after.memory, terms=parts,
                                            model=varied_model(law.robot.model, own) if own else None)
        requested = commanded_effort(plant, InlineDynamics(varied_model(law.robot.model, own)), measured.q, asked)
        after, motion = apply_and_score(driver, follows, tick_input, q, v, motors, requested,
                                        after._replace(memory=memory), steps * plant.step, counted)
        forward = (motion.effort,) if not len(drives) else drives.follow(
            joint_law(law.robot, answer, parameters, measured, tick_input.reference, before.memory, asked,
                      drives.sample_times(n, steps * plant.step, plant.step)))
        if parts is not None:
            return after, motion, *forward, np.stack([*parts.values(), motion.effort - asked])
        return after, motion, *forward

    statements: list[Statement] = [
        *([] if world is None else [
            Compute(partial(tip_wrench, plant.model, world), ("state.q", CONTACT_FORCE), "wrench_tip")]),
        Compute(tick, ("tick_input", "state.q", "state.v", "state.motor_side", "loop_state", "parameters", "wrench_tip",
                       *moved, *sensing, *driving, *of_law, *seen),
                ("loop_state", "motion", "command.effort", *(("command.drives",) if len(drives) else ()),
                 *(("terms",) if terms else ()))),
        *period.statements,
    ]
    typical = {name: QUANTITIES[name].typical_value(plant) for name in inputs}
    last = Compute(lambda fastest, peak, v: maximum(maximum(fastest, peak), angular_speed_sum(plant, v)),
                   ("loop_state.fastest", "peak", "state.v"), "loop_state.fastest")
    procedure = compile_procedure(
        variables,
        [Repeat("ticks", statements, typical, {"tick_input": "inputs"},
                ({"motions": "motion"} if recorded else {}) | ({"terms": "terms"} if terms else {})),
         last],
        ("state", "parameters", *(() if answer.memory is None else ("loop_state.memory",)), *inputs),
        ("state.q", "state.v", "loop_state.sums", "loop_state.fastest"),
        name=f"rollout of {type(law).__name__}")
    by_parameters = of_law if type(law.parameters).inertia_fields() else []
    without_effect = [name for name in varied if not procedure.traced.reads(name) and name not in by_parameters]
    if without_effect:
        raise InputError(f"varied: {', '.join(without_effect)}: no effect on '{law.robot.name}' under "
                         f"{type(law).__name__}; leave it out, or vary the parameter in which the law keeps its model")
    return procedure


def tracking_error(model: RobotModel, follows: Any, q: NDArray[Any], reference: Any) -> NDArray[Any]:
    """Return the tracking error of a rollout.

    Args:
        model: The robot.
        follows: Class of the references of the law; None if it follows none.
        q: Joint positions, shape (n,) [rad or m].
        reference: The reference.

    Returns:
        q_d - q, shape (n,) [rad or m]; for poses of the tip link `task_space.pose_error`, shape (6,) [m, rad]; nothing,
        shape (0,), for a law that follows no reference.
    """
    if follows is None:
        return np.zeros(0)
    if follows is JointReference:
        error: NDArray[Any] = reference.q - q
        return error
    return pose_error(InlineDynamics(model).forward_kinematics(q), reference)


def tip_wrench(model: RobotModel, world: World, q: NDArray[Any], force: NDArray[Any]) -> NDArray[Any]:
    """`State.wrench_tip` as an ideal sensor measures it: mean over the last step of the plant, shape (6,) [N, N m].

    Args:
        model: The robot.
        world: Surfaces and contact points.
        q: Joint positions, shape (n,) [rad or m].
        force: Contact forces of the plant, shape (pairs, 3) [N].
    """
    return contact_wrench(world, model, q, force, model.tip_link)
