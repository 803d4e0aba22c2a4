# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Springs between motors and links, with backlash: the elastic joints of [Spong].

The motor of such a joint has a position theta and a velocity of its own, at the output of its gear:

    M(q) q'' + ... = T + efforts on the link,    J theta'' = motor - T,    T = K g(theta - q) + D (theta' - q'),

where g subtracts a dead zone as wide as the backlash. The spring transmits nothing across the gap: D acts only while
the spring is loaded, and T never has the opposite sign of K g.

A step takes the mean of T by the discrete gradient of the spring's energy between the deflections before and after it
[HairerLubichWanner], so that the spring stores exactly the work done on it, also through the dead zone. Without
backlash, this is the mean of both, the average acceleration method of [Newmark]: stable for any stiffness, without
numerical damping, and with the frequency (2 / h) atan(h omega / 2). The damping uses the mean rate of the step, so that
it never adds energy. The step begins with the deflections in its middle, delta = delta_before + h delta'_before / 2,
since positions drift first, see `semi_implicit_euler`.
"""

from __future__ import annotations

from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from robodyn_ros.base.checks import constants
from robodyn_ros.compile import by_element, clip, greater, greater_equal, less, maximum, minimum, where
from robodyn_ros.simulation.joint_constraints import Problem
from robodyn_ros.simulation.plant_model import PlantModel
from robodyn_ros.simulation.plant_state import PlantState

_TOLERANCE = 1e-10  # relative error of a spring's impulse that counts as solved
_MIN_CHANGE = 1e-150  # smaller changes of a deflection count as 0: their inverse would overflow [rad or m]
_DEFLECTION_TOLERANCE = 1e-15  # error of a deflection that counts as solved [rad or m]

NEWTON_ROUNDS = 8
"""Full rounds of Newton's method for the impulses of springs with backlash; later rounds take half of its step."""

DEAD_ZONE_ROUNDS = 100
"""Bound of the rounds, which is never reached."""


class SpringDeflection(NamedTuple):
    """Deflection of springs at an instant, or amid a step with the rate before it, shape (springs,) each."""

    value: NDArray[Any]  # theta - q [rad or m]
    rate: NDArray[Any]  # theta' - q' [rad/s or m/s]

    def at(self, springs: NDArray[Any]) -> SpringDeflection:
        """Return some of the springs."""
        return SpringDeflection(self.value[springs], self.rate[springs])


class SpringImpulse(NamedTuple):
    """Impulses of springs in a step near a rate of deflection, each array of shape (springs,)."""

    impulse: NDArray[Any]  # impulse of spring and damper [N m s or N s]
    elastic: NDArray[Any]  # its elastic part, without damping [N m s or N s]
    slope: NDArray[Any]  # derivative of ``impulse`` by the rate after the step

    def tangent(self, rate: NDArray[Any]) -> SpringLine:
        """Return the line through the impulses at a rate, shape (springs,) [rad/s or m/s]."""
        return SpringLine(self.impulse - self.slope * rate, self.slope)


class SpringLine(NamedTuple):
    """Impulses of springs that are linear in the rate of deflection after the step, each array of shape (springs,)."""

    at_rest: NDArray[Any]  # impulse at rate 0 [N m s or N s]
    slope: NDArray[Any]  # derivative by the rate


class SpringTorque(NamedTuple):
    """Torque of springs at an instant, each array of shape (m,)."""

    whole: NDArray[Any]  # T, which torque sensors measure [N m or N]
    loss: NDArray[Any]  # power dissipated by the dampers [W]


def spring_deflection(plant: PlantModel, state: PlantState) -> SpringDeflection:
    """Return the springs' deflections and their rates, shape (m,) each."""
    return deflection_from_motion(plant, state.q, state.motor_side.q, state.v, state.motor_side.v)


def deflection_from_motion(plant: PlantModel, q: NDArray[Any], motor_q: NDArray[Any], v: NDArray[Any],
                           motor_v: NDArray[Any]) -> SpringDeflection:
    """As :func:`spring_deflection`, from positions and velocities of joints, shape (n,), and of motors, shape (m,)."""
    return SpringDeflection(motor_q - q[plant.elastic], motor_v - v[plant.elastic])


def beyond_dead_zone(deflection: NDArray[Any], backlash: NDArray[Any]) -> NDArray[Any]:
    """g: deflections beyond the dead zone of total width ``backlash``; both arrays have one shape."""
    half = 0.5 * backlash
    return np.where(_always_loaded(backlash), deflection,
                    maximum(deflection - half, 0.0) + minimum(deflection + half, 0.0))


def spring_impulse(plant: PlantModel, springs: NDArray[Any], start: SpringDeflection, rate: NDArray[Any]
                   ) -> SpringImpulse:
    """Return the impulses of springs in a step that ends with given rates of deflection, and their slopes.

    Args:
        plant: The simulated model.
        springs: Joints of the springs, shape (springs,).
        start: Deflection in the middle of the step, with the rate before it.
        rate: Rate at the end of the step, shape (springs,) [rad/s or m/s].
    """
    h, stiffness, damping, backlash = _spring_constants(plant, springs)
    linear = h * stiffness * (start.value + 0.25 * h * (rate - start.rate))
    firm = SpringImpulse(linear + 0.5 * h * damping * (start.rate + rate), linear,
                         0.25 * h * h * stiffness + 0.5 * h * damping)
    simple = _always_loaded(backlash)
    if simple.all():
        return firm
    slack = by_element(partial(_slack_impulse, h), stiffness, damping, 0.5 * backlash, _deflection_before(h, start),
                       start.value + 0.5 * h * rate)
    return SpringImpulse(*(np.where(simple, one, other) for one, other in zip(firm, slack, strict=True)))


def _slack_impulse(h: float, stiffness: Any, damping: Any, half: Any, before: Any, after: Any) -> tuple[Any, Any, Any]:
    """Impulse of a spring with backlash, its elastic part, and its slope by the rate after the step.

    A face of the dead zone pushes and never pulls. A step that stays on one face takes the mean of both deflections.
    In other steps, the faces that the spring leaves and enters push for the share of the way on which they are pressed.
    ``h`` is the step [s], ``half`` the half backlash, ``before`` and ``after`` are the deflections.
    """
    start, end = (where(greater(x, half), x - half, where(less(x, -half), x + half, 0.0)) for x in (before, after))
    apart, weight = after - before, 0.5 * h * stiffness
    inverse = 1.0 / where(less(abs(apart), _MIN_CHANGE), 1.0, apart)
    left, entered = clip(-start * inverse, 0.0, 1.0), clip(end * inverse, 0.0, 1.0)  # shares of the way
    pushes = greater(weight * left, damping)
    impulse = where(pushes, start * (weight * left - damping), 0.0) + end * (weight * entered + damping)
    slope = where(pushes, weight * left * left, 0.0) + where(end, weight * entered * (2.0 - entered) + damping, 0.0)
    on_one = weight * (start + end) + damping * (end - start)
    held = greater(on_one * start, 0.0)
    stays = greater(start * end, 0.0)
    return (where(stays, where(held, on_one, 0.0), impulse),
            weight * where(stays, start + end, start * left + end * entered),
            0.5 * h * where(stays, where(held, weight + damping, 0.0), slope))


def loaded_line(plant: PlantModel, start: SpringDeflection) -> SpringLine:
    """Return the impulses of springs with backlash if each stays on its face, or in the dead zone.

    Args:
        plant: The simulated model.
        start: Deflection of these springs in the middle of the step.
    """
    h, stiffness, damping, backlash = _spring_constants(plant, plant.elastic[plant.slack_springs])
    before, side = _deflection_before(h, start), _face(plant, start)
    pressed = side * side
    mean = 0.5 * (before + start.value) - side * (0.5 * backlash)
    at_rest = h * stiffness * mean + 0.5 * h * damping * start.rate
    return SpringLine(pressed * at_rest, pressed * (0.25 * h * h * stiffness + 0.5 * h * damping))


def leaves_face(plant: PlantModel, start: SpringDeflection, line: SpringLine, velocity: NDArray[Any]) -> Any:
    """Return a positive number if a spring leaves the face, or the dead zone, that `loaded_line` assumes; else 0.

    Args:
        plant: The simulated model.
        start: Deflection of the springs with backlash in the middle of the step.
        line: Result of `loaded_line`.
        velocity: Velocities of links and motors after the step, shape (n + m,).
    """
    rate, h = slack_rates(plant, velocity), plant.step
    half = 0.5 * plant.actuators.transmission.backlash[plant.elastic[plant.slack_springs]]
    side, after = _face(plant, start), start.value + 0.5 * h * rate
    pushes = greater_equal(side * (line.at_rest + line.slope * rate), 0.0)
    stays = where(side, greater(side * after, half) * pushes, greater_equal(half, abs(after)))
    return sum(1.0 - stays, np.float64(0.0))


def _spring_constants(plant: PlantModel, springs: NDArray[Any]
                      ) -> tuple[float, NDArray[Any], NDArray[Any], NDArray[Any]]:
    """Step, and stiffness, damping and backlash of springs, shape (springs,)."""
    own = plant.actuators.transmission
    return plant.step, own.stiffness[springs], own.spring_damping[springs], own.backlash[springs]


def _deflection_before(h: float, start: SpringDeflection) -> NDArray[Any]:
    """Deflections before the step, from those in its middle, shape (springs,) [rad or m]."""
    return start.value - 0.5 * h * start.rate


def _face(plant: PlantModel, start: SpringDeflection) -> NDArray[Any]:
    """Face on which each spring with backlash starts: 1 or -1, or 0 in the dead zone, shape (slack,)."""
    h, _, _, backlash = _spring_constants(plant, plant.elastic[plant.slack_springs])
    before, half = _deflection_before(h, start), 0.5 * backlash
    side: NDArray[Any] = where(greater(before, half), 1.0, where(greater(-half, before), -1.0, 0.0))
    return side


def with_springs(plant: PlantModel, springs: NDArray[Any], line: SpringLine, problem: Problem) -> Problem:
    """Return a problem with the impulses of springs.

    Args:
        plant: The simulated model.
        springs: Indices into ``plant.elastic``, shape (springs,).
        line: Impulses of these springs.
        problem: Problem of links and motors.
    """
    matrix = problem.matrix.astype(np.result_type(problem.matrix, line.slope))
    momentum = problem.momentum.astype(np.result_type(problem.momentum, line.at_rest))
    for slope, impulse, joint, place in zip(line.slope, line.at_rest, plant.elastic[springs], springs, strict=True):
        motor = plant.n + place
        matrix[joint, joint] += slope
        matrix[motor, motor] += slope
        matrix[joint, motor] -= slope
        matrix[motor, joint] -= slope
        momentum[joint] += impulse
        momentum[motor] -= impulse
    return problem._replace(matrix=matrix, momentum=momentum)


def dead_zone_round(plant: PlantModel, start: SpringDeflection, guess: SpringLine, velocity: NDArray[Any], rounds: Any
                    ) -> tuple[SpringLine, Any]:
    """Compare the guessed impulses of springs with backlash with those at the resulting rates.

    Args:
        plant: The simulated model.
        start: Deflection of these springs in the middle of the step.
        guess: Guessed impulses.
        velocity: Velocities of links and motors under this guess, shape (n + m,).
        rounds: Number of rounds before this one.

    Returns:
        The next guess; and a number that is positive if it differs.
    """
    joints, rate = plant.elastic[plant.slack_springs], slack_rates(plant, velocity)
    found = spring_impulse(plant, joints, start, rate)
    error = abs(found.impulse - guess.at_rest - guess.slope * rate)
    least = plant.step * plant.actuators.transmission.stiffness[joints] * _DEFLECTION_TOLERANCE
    # Newton's method can jump back and forth across a dead zone that a step crosses at once.
    late, tangent = greater(rounds, NEWTON_ROUNDS - 0.5), found.tangent(rate)
    after = SpringLine(*(where(late, 0.5 * (old + new), new) for old, new in zip(guess, tangent, strict=True)))
    return after, sum(greater(error, _TOLERANCE * abs(found.impulse) + least), np.float64(0.0))


def slack_rates(plant: PlantModel, velocity: NDArray[Any]) -> NDArray[Any]:
    """Return the rates of springs with backlash, shape (slack,), of velocities of links and motors, shape (n + m,)."""
    springs = plant.slack_springs
    rates: NDArray[Any] = velocity[plant.n + springs] - velocity[plant.elastic[springs]]
    return rates


def damping_loss(plant: PlantModel, state: PlantState, velocity: NDArray[Any]) -> NDArray[Any]:
    """Return the energy that the springs' dampers dissipate in a step, shape (m,) [J].

    Args:
        plant: The simulated model.
        state: State in the middle of the step, with the velocities before it.
        velocity: Velocities of links and motors after the step, shape (n + m,).
    """
    start, joints = spring_deflection(plant, state), plant.elastic
    rate = velocity[plant.n:] - velocity[joints]
    line = spring_impulse(plant, joints, start, rate)
    return (line.impulse - line.elastic) * (0.5 * (start.rate + rate))


def spring_torque(plant: PlantModel, deflection: SpringDeflection) -> SpringTorque:
    """Return T of the springs at an instant."""
    springs, joints = plant.actuators.transmission, plant.elastic
    backlash = springs.backlash[joints]
    elastic = springs.stiffness[joints] * beyond_dead_zone(deflection.value, backlash)
    dashpot = springs.spring_damping[joints] * deflection.rate
    whole = elastic + dashpot
    torque = np.where(_always_loaded(backlash), whole, where(greater(elastic * whole, 0.0), whole, 0.0))
    return SpringTorque(torque, (torque - elastic) * deflection.rate)


def spring_energy(plant: PlantModel, state: PlantState) -> NDArray[Any]:
    """Return the energy of the springs, shape (m,) [J]."""
    deflection, springs = spring_deflection(plant, state), plant.actuators.transmission
    beyond = beyond_dead_zone(deflection.value, springs.backlash[plant.elastic])
    return 0.5 * springs.stiffness[plant.elastic] * beyond * beyond


def _always_loaded(backlash: NDArray[Any]) -> NDArray[np.bool_]:
    """Whether springs have no dead zone; a traced backlash counts as one."""
    always: NDArray[np.bool_] = constants(backlash, traced=1.0) == 0.0
    return always
