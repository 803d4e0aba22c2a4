# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Friction compensation behind any law of joints, as ``pd+friction``: feed-forward, a push out of rest, and dither.

The compensation has a direction d of each joint and gear, from -1 to 1, and is d times the friction f that the model
of the drives gives at the measured speed: dry friction with Stribeck's rise, and losses of gears under the law's load.

    feed-forward = clip(v_d / v_0)
    push = s clip((|e| - z) / z, 0, 1) sign(e) / (1 + (v / v_f)^2)
    d = the greater of both where they agree, else their sum

The direction of the feed-forward is that of the desired velocity v_d, as the measured one has noise, comes late, and
is 0 for a joint that has to start [Armstrong]. Viscous friction is that of v_d, too. The level f is that of the
measured speed v: a level of v_d would leave the fall of friction with the speed in the loop, by which slow motions
stick and slip. The push starts a joint that has stopped beside its goal: it has the direction of the position error e,
as in [Southward], and fades with the measured velocity.

It does not hunt: where no motion is desired, the push is at most the share s < 1 of the friction. So under a law like
PD the energy falls by at least (1 - s) f(v) |v| while a joint moves, whatever sign e has, if the friction is at least
s times that of the model. A delay can add to it no more than the friction changes meanwhile, which the dead zone z
without a push takes up. [Southward] pushes with more than the friction of a joint at rest.

Dither is a small oscillation of d while a motion is desired and the joint is slow. Push and dither together do not
exceed the friction either.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from robodyn_ros.actuation.known_friction import KnownFriction
from robodyn_ros.base.errors import InputError
from robodyn_ros.control.contract.controller import JointReference, State
from robodyn_ros.control.contract.parameters import POSITION, VELOCITY, Parameters, derived, per_joint, scalar
from robodyn_ros.control.contract.terms import Terms, as_terms
from robodyn_ros.control.contract.wrapped_law import AnyLaw, check_law, finish, takes_memory, wraps
from robodyn_ros.description.model import Array
from robodyn_ros.robot import Robot

SUFFIX = "+friction"
"""Suffix of the name of a law with friction compensation."""

_LEAST_PASSED = 0.25  # of an effort by a gear: losses under load are compensated by at most four times the effort
_PHASE = np.pi * (3.0 - np.sqrt(5.0))  # of the dither from joint to joint: no two joints swing together [rad]


def _known(robot: Robot, complete: FrictionParameters) -> KnownFriction | None:
    """Return the friction to compensate; None: none.

    Raises:
        InputError: There is dither for a joint without dry friction, too much of it, or it is too fast for the loop.
    """
    known = robot.known_friction
    has_dry = np.zeros(robot.n, dtype=bool) if known is None else known.has_dry
    for joint, dither, push, dry in zip(robot.joint_names, complete.friction_dither, complete.friction_push, has_dry,
                                        strict=True):
        if dither > 0.0 and not dry:
            raise InputError(f"friction_dither of '{joint}': expected 0, as no dry friction of it is known, received "
                             f"{dither:g}; give the actuators, or its friction in the description")
        if dither > 0.0 and dither + push > 1.0:
            raise InputError(f"friction_dither of '{joint}': expected at most {1.0 - push:g}, as dither and push "
                             f"(friction_push) together may not exceed the friction, received {dither:g}")
    fastest = 0.25 / robot.timing.period
    if complete.friction_dither.any() and complete.friction_dither_frequency > fastest:
        raise InputError(f"friction_dither_frequency: expected at most {fastest:g} Hz, a quarter of the rate of the "
                         f"control loop, received {complete.friction_dither_frequency:g}")
    return known


@dataclass(frozen=True, eq=False)
class FrictionParameters(Parameters):
    """Parameters of the compensation, in addition to those of the law.

    Attributes:
        friction_feedforward: Shape (n,).
        friction_rise: Shape (n,) [rad/s or m/s].
        friction_push: s, shape (n,).
        friction_dead_zone: z, shape (n,) [rad or m].
        friction_fade: v_f, shape (n,) [rad/s or m/s].
        friction_dither: Shape (n,).
        friction_dither_frequency: [Hz].
        friction_known: The friction; None: none, and nothing is computed.
        friction_dithers: Whether there is dither.
    """

    friction_feedforward: Array = per_joint(1.0, minimum=0.0, maximum=1.5, description="Share of the friction that is "
                                            "fed forward, in the direction of the desired velocity")
    friction_rise: Array = per_joint(0.01, unit=VELOCITY, minimum=1e-6, maximum=100.0, description="Desired velocity "
                                     "from which on all dry friction is fed forward")
    friction_push: Array = per_joint(0.8, minimum=0.0, maximum=0.95, description="Share of the friction with which a "
                                     "joint beside its goal is pushed towards it")
    friction_dead_zone: Array = per_joint(5e-4, unit=POSITION, minimum=1e-7, maximum=1.0, description="Position error "
                                          "without a push, which is whole at twice this error; above the resolution "
                                          "of the encoder")
    friction_fade: Array = per_joint(0.05, unit=VELOCITY, minimum=1e-6, maximum=100.0, description="Measured velocity "
                                     "at which half of the push and of the dither is left")
    friction_dither: Array = per_joint(0.0, minimum=0.0, maximum=1.0, structural=True, description="Amplitude of the "
                                       "dither, as a share of the friction")
    friction_dither_frequency: float = scalar(40.0, unit="Hz", minimum=0.1, maximum=10000.0,
                                              description="Frequency of the dither")
    friction_known: KnownFriction | None = derived(_known, structural=True)
    friction_dithers: bool = derived(lambda _, complete: bool(complete.friction_dither.any()), structural=True)


def friction_effort(parameters: Any, state: State, reference: JointReference, effort: Array, viscous: Array) -> Array:
    """Return the efforts that compensate friction, shape (n,) [N m or N].

    Args:
        parameters: With the fields of `FrictionParameters`.
        state: The measured state.
        reference: The desired motion.
        effort: Of the law, which loads the gears, shape (n,) [N m or N].
        viscous: Efforts of viscous friction that the law does not compensate, shape (n,) [N m or N].
    """
    known: KnownFriction = parameters.friction_known
    error, count = reference.q - state.q, np.arange(len(effort))

    def direction(converted: Callable[[Array], Array]) -> Array:
        """Share of the friction that is compensated, of motions of the joints converted to those of gears, or not."""
        distance = converted(error)
        left = 1.0 / (1.0 + (converted(state.v) / parameters.friction_fade) ** 2)
        wanted = np.clip(converted(reference.v) / parameters.friction_rise, -1.0, 1.0)
        beyond = np.clip(np.abs(distance) / parameters.friction_dead_zone - 1.0, 0.0, 1.0)
        forward = parameters.friction_feedforward * wanted
        push = parameters.friction_push * beyond * left * np.sign(distance)
        both = np.maximum(np.maximum(forward, push), 0.0) + np.minimum(np.minimum(forward, push), 0.0)
        if not parameters.friction_dithers:
            return both
        wave = np.sin(2.0 * np.pi * parameters.friction_dither_frequency * state.time + _PHASE * count)
        return both + parameters.friction_dither * wave * np.maximum(np.abs(wanted), beyond) * left

    behind = effort + parameters.friction_feedforward * viscous
    return known.drive_effort(behind, state.v, direction(lambda motion: motion), direction(known.gear.output_motion),
                              _LEAST_PASSED) - effort


@cache
def compensated(law_class: AnyLaw) -> AnyLaw:
    """Return the class of a law with friction compensation; always the same class for the same law.

    A law with a term ``friction`` compensates viscous friction itself, so that only dry friction is added to it.

    Args:
        law_class: The law's class.

    Raises:
        InputError: It is not a `Law`, follows no joints, or has a filter.
    """
    check_law(law_class, "friction compensation")
    if law_class.follows is not JointReference:
        followed = "nothing" if law_class.follows is None else law_class.follows.__name__
        raise InputError(f"{law_class.__name__}: expected a law that follows motions of the joints for friction "
                         f"compensation, which needs their desired velocities; received one that follows {followed}")
    if wraps(law_class):
        raise InputError(f"{law_class.__name__}: expected +friction once, and before +safety, whose limits then hold")
    own, has_memory = law_class.law, takes_memory(law_class)

    def added(parameters: Any, state: State, reference: JointReference, effort: Any) -> Any:
        if parameters.friction_known is None:
            return effort
        terms = as_terms(effort)
        damping = parameters.friction_known.viscous
        if "friction" in terms.parts():
            damping = damping - np.diag(np.diag(damping))
        viscous = damping @ reference.v
        return terms + Terms(friction=friction_effort(parameters, state, reference, terms.effort, viscous))

    def with_memory(dynamics: Any, parameters: Any, state: State, reference: JointReference, memory: Any) -> Any:
        effort, after = own(dynamics, parameters, state, reference, memory)
        return added(parameters, state, reference, effort), after

    def without_memory(dynamics: Any, parameters: Any, state: State, reference: JointReference) -> Any:
        return added(parameters, state, reference, own(dynamics, parameters, state, reference))

    class Compensated(law_class):  # type: ignore[misc, valid-type]
        __doc__ = (f"`{law_class.__name__}` with friction compensation, see "
                   "`robodyn_ros.control.laws.friction_compensation`.")

        law = staticmethod(with_memory if has_memory else without_memory)  # type: ignore[assignment]

    return finish(Compensated, compensated, SUFFIX, FrictionParameters)
