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

where g leaves out a dead zone as wide as the backlash. The spring pulls across no gap: D acts where it is loaded, and T
never has the other sign than K g.

A step takes the mean of T by the discrete gradient of the spring's energy between the mean deflections of this step and
of the step before [HairerLubichWanner], so that the spring stores what it takes, exactly, also through the dead zone.
Without backlash, this is K (delta + h (delta'_after - delta'_before) / 4), the average acceleration method of [Newmark]
for velocities at the middles of steps: stable for any stiffness, without damping of its own, and with the frequency
(2 / h) atan(h omega / 2). The damping takes the mean rate of the step, so that it never gives energy.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from robodyn_ros.checks import constants
from robodyn_ros.compile import clip, equal, greater, maximum, minimum, where
from robodyn_ros.simulation.joint_constraints import Problem
from robodyn_ros.simulation.plant_model import Integrator, PlantModel, PlantState

_TOLERANCE = 1e-10  # relative error of a spring's impulse that counts as solved
_LEAST_DEFLECTION = 1e-15  # error of a deflection that counts as solved [rad or m]

NEWTON_ROUNDS = 8
"""Rounds of Newton's method for the impulses of springs with backlash, after which it goes half of its way."""

DEAD_ZONE_ROUNDS = 100
"""More rounds than it needs."""


class Windup(NamedTuple):
    """Springs at the beginning of a step, each array of shape (springs,).

    Attributes:
        deflection: theta - q [rad or m].
        rate: Its velocity [rad/s or m/s].
    """

    deflection: NDArray[Any]
    rate: NDArray[Any]

    def at(self, springs: NDArray[Any]) -> Windup:
        """Return some of the springs."""
        return Windup(self.deflection[springs], self.rate[springs])


class SpringLine(NamedTuple):
    """Impulses of springs in a step near a rate of deflection, each array of shape (springs,).

    Attributes:
        impulse: Of the whole spring [N m s or N s].
        elastic: The part that is stored, without damping.
        slope: By how much ``impulse`` rises per rate after the step.
    """

    impulse: NDArray[Any]
    elastic: NDArray[Any]
    slope: NDArray[Any]


class SpringTorque(NamedTuple):
    """Springs at an instant, each array of shape (m,).

    Attributes:
        whole: T, the reading of torque sensors [N m or N].
        loss: Power that the springs' damping takes [W].
    """

    whole: NDArray[Any]
    loss: NDArray[Any]


def windup(plant: PlantModel, state: PlantState) -> Windup:
    """Return the springs' deflections and their rates, shape (m,) each."""
    return winding_of(plant, state.q, state.motor_side.q, state.v, state.motor_side.v)


def winding_of(plant: PlantModel, q: NDArray[Any], motor_q: NDArray[Any], v: NDArray[Any], motor_v: NDArray[Any]
               ) -> Windup:
    """As :func:`windup`, from positions and velocities of joints, shape (n,), and of motors, shape (m,)."""
    return Windup(motor_q - q[plant.elastic], motor_v - v[plant.elastic])


def play(deflection: NDArray[Any], backlash: NDArray[Any]) -> NDArray[Any]:
    """g: deflections beyond the dead zone, whose total width is ``backlash``; arrays of one shape."""
    half = 0.5 * backlash
    return np.where(_always_loaded(backlash), deflection,
                    maximum(deflection - half, 0.0) + minimum(deflection + half, 0.0))


def spring_line(plant: PlantModel, springs: NDArray[Any], start: Windup, rate: NDArray[Any]) -> SpringLine:
    """Return the impulses of springs in a step that ends with given rates of deflection, and their slopes.

    Args:
        plant: The simulated model.
        springs: Their joints, shape (springs,).
        start: At the beginning of the step.
        rate: At its end, shape (springs,) [rad/s or m/s].
    """
    actuators, h = plant.actuators, plant.step
    stiffness, damping, backlash = (array[springs] for array in
                                    (actuators.stiffness, actuators.spring_damping, actuators.backlash))
    linear = h * stiffness * (start.deflection + 0.25 * h * (rate - start.rate))
    firm = SpringLine(linear + 0.5 * h * damping * (start.rate + rate), linear,
                      0.25 * h * h * stiffness + 0.5 * h * damping)
    simple = _always_loaded(backlash)
    if simple.all():
        return firm
    before, after = start.deflection - 0.5 * h * start.rate, start.deflection + 0.5 * h * rate
    front = _face(h, stiffness, damping, before - 0.5 * backlash, after - 0.5 * backlash)
    back = _face(h, stiffness, damping, -before - 0.5 * backlash, -after - 0.5 * backlash)
    slack = SpringLine(front.impulse - back.impulse, front.elastic - back.elastic, front.slope + back.slope)
    return SpringLine(*(np.where(simple, one, other) for one, other in zip(firm, slack, strict=True)))


def _face(h: float, stiffness: NDArray[Any], damping: NDArray[Any], before: NDArray[Any], after: NDArray[Any]
          ) -> SpringLine:
    """Impulses of a face of the dead zone, which pushes where it is pressed and never pulls.

    Args:
        h: Step [s].
        stiffness: Shape (springs,), as all arrays.
        damping: Of the face.
        before: Mean depth in the step before, negative without contact.
        after: Mean depth in this step.
    """
    start, end, apart = maximum(before, 0.0), maximum(after, 0.0), after - before
    pressed = greater(start * end, 0.0)
    length = where(equal(apart, 0.0), 1.0, apart)
    share = where(pressed, 1.0, clip((end - start) / length, 0.0, 1.0))  # of the way, pressed
    mean = 0.5 * (start + end) * share
    steepness = where(pressed, 0.5, clip((end - mean) / length, 0.0, 0.5))
    impulse = h * stiffness * mean + damping * (end - start)
    slope = 0.5 * h * (h * stiffness * steepness + damping * greater(end, 0.0))
    pushes = greater(impulse, 0.0)
    return SpringLine(where(pushes, impulse, 0.0), h * stiffness * mean, where(pushes, slope, 0.0))


def with_springs(plant: PlantModel, springs: NDArray[Any], start: Windup, rate: NDArray[Any], problem: Problem
                 ) -> Problem:
    """Return a problem with the impulses of springs, linear in the velocities about a guess of the rates.

    Args:
        plant: The simulated model.
        springs: Their places in ``plant.elastic``, shape (springs,).
        start: At the beginning of the step.
        rate: Guess of the rates at its end, shape (springs,); without effect for springs without backlash.
        problem: Of links and motors.
    """
    line = spring_line(plant, plant.elastic[springs], start, rate)
    at_rest = line.impulse - line.slope * rate
    matrix = problem.matrix.astype(np.result_type(problem.matrix, line.slope))
    momentum = problem.momentum.astype(np.result_type(problem.momentum, at_rest))
    for slope, impulse, joint, place in zip(line.slope, at_rest, plant.elastic[springs], springs, strict=True):
        motor = plant.n + place
        matrix[joint, joint] += slope
        matrix[motor, motor] += slope
        matrix[joint, motor] -= slope
        matrix[motor, joint] -= slope
        momentum[joint] += impulse
        momentum[motor] -= impulse
    return problem._replace(matrix=matrix, momentum=momentum)


def dead_zone_round(plant: PlantModel, start: Windup, guess: NDArray[Any], velocity: NDArray[Any], rounds: Any
                    ) -> tuple[NDArray[Any], Any]:
    """Compare guessed rates of springs with backlash with those that follow from them.

    Args:
        plant: The simulated model.
        start: These springs at the beginning of the step.
        guess: Their rates, shape (springs,).
        velocity: Of links and motors by :func:`with_springs`, shape (n + m,).
        rounds: Number of rounds before this one.

    Returns:
        The next guess; and a number that is positive where it is another one.
    """
    places = plant.slack_springs
    joints = plant.elastic[places]
    rate = velocity[plant.n + places] - velocity[joints]
    line, found = spring_line(plant, joints, start, guess), spring_line(plant, joints, start, rate)
    error = abs(found.impulse - line.impulse - line.slope * (rate - guess))
    least = plant.step * plant.actuators.stiffness[joints] * _LEAST_DEFLECTION
    # Newton's method can swing between the sides of a dead zone that is narrower than the way of a step.
    after = where(greater(rounds, NEWTON_ROUNDS - 0.5), 0.5 * (guess + rate), rate)
    return after, sum(greater(error, _TOLERANCE * abs(found.impulse) + least), np.float64(0.0))


def damping_loss(plant: PlantModel, state: PlantState, velocity: NDArray[Any]) -> NDArray[Any]:
    """Return what the springs' damping takes in a step, shape (m,) [J].

    Args:
        plant: The simulated model.
        state: Before the step.
        velocity: Of links and motors after it, shape (n + m,).
    """
    start, joints = windup(plant, state), plant.elastic
    rate = velocity[plant.n:] - velocity[joints]
    line = spring_line(plant, joints, start, rate)
    return (line.impulse - line.elastic) * (0.5 * (start.rate + rate))


def winding_torque(plant: PlantModel, wound: Windup) -> SpringTorque:
    """Return T of the springs at an instant."""
    actuators, joints = plant.actuators, plant.elastic
    backlash = actuators.backlash[joints]
    elastic = actuators.stiffness[joints] * play(wound.deflection, backlash)
    dashpot = actuators.spring_damping[joints] * wound.rate
    whole = elastic + dashpot
    torque = np.where(_always_loaded(backlash), whole, where(greater(elastic * whole, 0.0), whole, 0.0))
    return SpringTorque(torque, (torque - elastic) * wound.rate)


def spring_energy(plant: PlantModel, state: PlantState) -> NDArray[Any]:
    """Return the energy of the springs, shape (m,) [J].

    Velocities of the semi-implicit Euler method belong to the middle of the last step: so does this energy then.
    """
    wound, actuators = windup(plant, state), plant.actuators
    late = 0.5 * plant.step if plant.integrator is Integrator.SEMI_IMPLICIT_EULER else 0.0
    beyond = play(wound.deflection - late * wound.rate, actuators.backlash[plant.elastic])
    return 0.5 * actuators.stiffness[plant.elastic] * beyond * beyond


def _always_loaded(backlash: NDArray[Any]) -> NDArray[np.bool_]:
    """Whether springs have no dead zone; one that is traced may have."""
    always: NDArray[np.bool_] = constants(backlash, traced=1.0) == 0.0
    return always
