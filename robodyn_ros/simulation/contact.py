# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Contact of the robot with surfaces, implicit in the velocities after the step; can be compiled.

The normal force is that of [HuntCrossley] with exponent 1. The friction is that of Coulomb with a steep line through
velocity 0, as in [Castro]:

    F_n = max(0, k d + k c d0 d'),    F_t = -mu F_n u / max(|u|, u_s)

with the penetration d and its rate d' at the end of the step, the penetration d0 at its beginning, the tangential
velocity u, and the creep velocity u_s of a contact that sticks. Without friction, the velocities after the step
minimise a convex function. The penetration that the tangent plane predicts for the end of the step is never less than
the true one, since surfaces are convex. Hence a contact never increases the sum of the energies of motion and surfaces.

Newton's method solves for the velocities. Each contact is open, sticks or slides, and adds a matrix J^T W J and an
impulse J^T p to the problem of :mod:`robodyn_ros.simulation.joint_constraints`. If it does not converge, sliding
friction becomes a viscous friction of the same force, which converges slowly but dissipates energy in every round.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from robodyn_ros.base.errors import InputError
from robodyn_ros.compile import greater, maximum, where
from robodyn_ros.description.model import RobotModel
from robodyn_ros.kinematics.forward import forward_kinematics, link_poses, path_to
from robodyn_ros.kinematics.twists import cross
from robodyn_ros.simulation.contact_world import ContactPoint, World
from robodyn_ros.simulation.joint_constraints import Problem
from robodyn_ros.simulation.plant_part import PartRound, PlantPart
from robodyn_ros.simulation.plant_state import PlantCommand, PlantState

CREEP = 1e-6
"""u_s: greatest tangential velocity of a contact that sticks [m/s]."""

NEWTON_ROUNDS = 20
"""Rounds with Newton's method."""

MAX_ROUNDS = 100
"""Bound of the rounds, which no contact reaches."""

_FORCE_TOLERANCE = 1e-9  # [N]
_RELATIVE_TOLERANCE, _LATE_TOLERANCE = 1e-6, 1e-3  # for friction levels and slips: during Newton's method, and after it
_TINY = 1e-300


CONTACT_FORCE = "solution.parts.contacts.force"
"""Path of the forces in programs of a step, see `ContactResult`."""


class ContactGeometry(NamedTuple):
    """Geometry and motion of all pairs of a contact point and a surface."""

    penetration: NDArray[Any]  # depth of each contact point in each surface, negative outside, shape (pairs,) [m]
    normal: NDArray[Any]  # unit normals of the surfaces in base axes, shape (pairs, 3)
    place: NDArray[Any]  # deepest point of each sphere, in the base frame, shape (pairs, 3) [m]
    jacobian: NDArray[Any]  # Jacobian J of these points; J v is their velocity in base axes, shape (pairs, 3, n)


class ContactChoice(NamedTuple):
    """Contact modes, levels and slips that a round assumes."""

    pressed: NDArray[Any]  # 1 where there is a contact force, else 0, shape (pairs,)
    sliding: NDArray[Any]  # 1 where the contact slides, 0 where it sticks, shape (pairs,)
    level: NDArray[Any]  # mu F_n, shape (pairs,) [N]
    slip: NDArray[Any]  # tangential velocity, shape (pairs, 3) [m/s]


class ContactResult(NamedTuple):
    """Action of the contacts in a step."""

    force: NDArray[Any]  # mean force on the robot in base axes, shape (pairs, 3) [N]
    effort: NDArray[Any]  # joint efforts of these forces, shape (n,) [N m or N]


def contact_geometry(world: World, model: RobotModel, q: NDArray[Any]) -> ContactGeometry:
    """Compute the geometry of all pairs.

    Args:
        world: Surfaces and contact points.
        model: The robot.
        q: Joint positions, shape (n,) [rad or m].
    """
    poses = link_poses(model, q)
    penetrations, normals, places, jacobians = [], [], [], []
    for point in world.points:
        centre, angular, linear = _point_motion(model, poses, point)
        for surface in world.surfaces:
            distance, normal = surface.distance(centre)
            arm = -point.radius * normal
            penetrations.append(point.radius - distance)
            normals.append(normal)
            places.append(centre + arm)
            jacobians.append(np.array([column + cross(turn, arm) for turn, column
                                       in zip(angular.T, linear.T, strict=True)]).T)
    pairs = world.pairs
    return ContactGeometry(np.array(penetrations), np.reshape(normals, (pairs, 3)), np.reshape(places, (pairs, 3)),
                           np.reshape(jacobians, (pairs, 3, model.n)))


def contact_wrench(world: World, model: RobotModel, q: NDArray[Any], force: NDArray[Any], link: str) -> NDArray[Any]:
    """Return the wrench of the surfaces on a link and all links that it carries.

    Args:
        world: Surfaces and contact points.
        model: The robot.
        q: Joint positions, shape (n,) [rad or m].
        force: Force on each pair in base axes, shape (pairs, 3) [N].
        link: Name of the link.

    Returns:
        (force, torque) about the link's origin in base axes, shape (6,) [N, N m].
    """
    carrier = model.frame(link).joint
    carried = [carrier in (-1, *path_to(model, model.frame(point.link).joint)) for point in world.points]
    origin, places = forward_kinematics(model, q, link)[:3, 3], contact_geometry(world, model, q).place
    total: Any = np.zeros(6)
    for pair, (place, acting) in enumerate(zip(places, force, strict=True)):
        if carried[pair // len(world.surfaces)]:
            total = total + np.concatenate([acting, cross(place - origin, acting)])
    return np.asarray(total)


def surface_energy(world: World, penetration: NDArray[Any]) -> Any:
    """Return the energy that the surfaces store [J].

    Args:
        world: Surfaces and contact points.
        penetration: As in :class:`ContactGeometry`, shape (pairs,) [m].
    """
    stiffness = np.array([surface.material.stiffness for _ in world.points for surface in world.surfaces])
    deep = maximum(penetration, 0.0)
    return 0.5 * (stiffness * deep) @ deep


def _point_motion(model: RobotModel, poses: list[NDArray[Any]], point: ContactPoint) -> tuple[NDArray[Any], ...]:
    """Centre of a contact point, and the Jacobians of its angular and linear velocity, shapes (3,) and (3, n)."""
    frame = model.frame(point.link)
    angular, linear = (np.zeros((3, model.n), dtype=np.result_type(*poses)) for _ in range(2))
    local = frame.pose_link_frame[:3, :3] @ point.position + frame.pose_link_frame[:3, 3]
    if frame.joint < 0:
        return local, angular, linear
    pose = poses[frame.joint]
    centre = pose[:3, :3] @ local + pose[:3, 3]
    for index in path_to(model, frame.joint):
        joint = model.joints[index]
        axis = joint.multiplier * (poses[index][:3, :3] @ joint.axis)
        if joint.kind == "prismatic":
            linear[:, joint.dof] += axis
        else:
            angular[:, joint.dof] += axis
            linear[:, joint.dof] += cross(axis, centre - poses[index][:3, 3])
    return centre, angular, linear


def _slips(geometry: ContactGeometry, v: NDArray[Any]) -> NDArray[Any]:
    """Tangential velocity of each pair, shape (pairs, 3) [m/s]."""
    slips = []
    for normal, jacobian in zip(geometry.normal, geometry.jacobian, strict=True):
        velocity = jacobian @ v
        slips.append(velocity - (normal @ velocity) * normal)
    return np.reshape(slips, (len(slips), 3))


def _lengths(vectors: NDArray[Any]) -> NDArray[Any]:
    return np.array([np.sqrt(vector @ vector) for vector in vectors])


@dataclass(frozen=True, eq=False)
class Contacts(PlantPart):
    """The contacts of a robot with surfaces; a round is given a `ContactGeometry`, a guess is a `ContactChoice`.

    Attributes:
        world: Surfaces and contact points.
        model: The robot.
        step: h [s].
        drift: Time from the geometry to the end of the step [s].
    """

    world: World
    model: RobotModel
    step: float
    drift: float

    @property
    def more_rounds(self) -> int:  # type: ignore[override]  # depends on the plant
        """As in `PlantPart`."""
        return MAX_ROUNDS if self.world.pairs else 0

    def check(self, plant: Any) -> None:
        """As in `PlantPart`."""
        if not self.world.pairs:
            return
        self.world.check(self.model)
        if not plant.method.is_implicit:
            raise InputError(f"{self.world.where}: expected the integrator {type(plant.integrator).SEMI_IMPLICIT_EULER}"
                             f", the only one with contacts, received {plant.integrator}; set the integrator, or leave "
                             "out the world")

    def example(self) -> tuple[Any, Any, Any]:
        """As in `PlantPart`."""
        pairs, n = self.world.pairs, self.model.n
        forces = np.zeros((pairs, 3))
        return (ContactGeometry(np.zeros(pairs), forces, forces, np.zeros((pairs, 3, n))), self._open(),
                ContactResult(forces, np.zeros(n)))

    def _open(self) -> ContactChoice:
        pairs = self.world.pairs
        return ContactChoice(np.zeros(pairs), np.zeros(pairs), np.zeros(pairs), np.zeros((pairs, 3)))

    def start(self, state: PlantState, _bending: NDArray[Any]) -> tuple[Any, Any]:
        """As in `PlantPart`; the first guess is the forces that the velocities before the step would cause."""
        geometry, v = contact_geometry(self.world, self.model, state.q), state.v
        forces, slips = self._normal_forces(geometry, v), _slips(geometry, v)
        pressed = greater(forces, 0.0)
        return geometry, ContactChoice(pressed, greater(_lengths(slips), CREEP),
                                       self.world.friction * maximum(forces, 0.0), slips)

    def add(self, given: Any, guess: Any, problem: Problem, rounds: Any) -> Problem:
        """As in `PlantPart`."""
        matrix, momentum = problem.matrix, problem.momentum
        late = greater(rounds, NEWTON_ROUNDS - 0.5)
        for pair in range(self.world.pairs):
            weight, impulse = self._linearised(given, guess, pair, late)
            jacobian = given.jacobian[pair]
            matrix = matrix + jacobian.T @ (weight @ jacobian)
            momentum = momentum + jacobian.T @ impulse
        return problem._replace(matrix=matrix, momentum=momentum)

    def compare(self, given: Any, guess: Any, velocity: NDArray[Any], rounds: Any, moved: Any) -> PartRound:
        """As in `PlantPart`."""
        world, step, v = self.world, self.step, velocity[:self.model.n]
        late = greater(rounds, NEWTON_ROUNDS - 0.5)
        forces, slips = self._normal_forces(given, v), _slips(given, v)
        pressed = greater(forces, where(guess.pressed, -_FORCE_TOLERANCE, _FORCE_TOLERANCE))
        differs = sum(abs(pressed - guess.pressed), np.float64(0.0))
        levels = world.friction * maximum(forces, 0.0)
        tolerance = where(late, _LATE_TOLERANCE, _RELATIVE_TOLERANCE)
        lengths, sliding, total = _lengths(slips), [], []
        for pair, coefficient in enumerate(world.friction):
            weight, impulse = self._linearised(given, guess, pair, late)
            total.append((impulse - weight @ (given.jacobian[pair] @ v)) / step)
            if coefficient == 0.0:
                sliding.append(np.float64(0.0))
                continue
            before, slip, length = guess.slip[pair], slips[pair], lengths[pair]
            along = before @ slip / maximum(np.sqrt(before @ before), _TINY)
            fast = greater(length, CREEP * (1.0 + tolerance))
            slides = where(guess.sliding[pair], greater(along, 0.0) * greater(length, CREEP), fast)
            turned = where(guess.sliding[pair] * slides,
                           where(late, greater(abs(_lengths(np.array([before]))[0] - length), tolerance * length),
                                 greater(length - along, tolerance * length)), 0.0)
            changed = greater(abs(levels[pair] - guess.level[pair]),
                              tolerance * levels[pair] + _FORCE_TOLERANCE)
            differs = differs + pressed[pair] * (abs(slides - guess.sliding[pair]) + turned + changed)
            sliding.append(slides)
        force = np.reshape(total, (world.pairs, 3))
        effort = sum((jacobian.T @ each for jacobian, each in zip(given.jacobian, force, strict=True)),
                     start=np.zeros(self.model.n))
        return PartRound(ContactResult(force, effort), ContactChoice(pressed, np.array(sliding), levels, slips),
                         moved + differs)

    def undisturbed(self, _state: PlantState, given: Any, _guess: Any, velocity: NDArray[Any], moved: Any) -> PartRound:
        """As in `PlantPart`: no contact acts."""
        forces = self._normal_forces(given, velocity[:self.model.n])
        touches = sum(greater(forces, _FORCE_TOLERANCE), np.float64(0.0))
        return PartRound(self.example()[2], self._open(), moved + touches)

    def acting(self, command: PlantCommand, result: Any) -> PlantCommand:
        """As in `PlantPart`."""
        return command._replace(external=command.external + result.effort)

    def _coefficients(self, geometry: ContactGeometry, pair: int) -> tuple[float, Any]:
        """Stiffness [N/m] and damping [N s/m] of a pair in this step."""
        material = self.world.surfaces[pair % len(self.world.surfaces)].material
        if material.damping == 0.0:
            return material.stiffness, np.float64(0.0)
        return material.stiffness, material.stiffness * material.damping * maximum(geometry.penetration[pair], 0.0)

    def _normal_forces(self, geometry: ContactGeometry, v: NDArray[Any]) -> NDArray[Any]:
        """k d + k c d0 d' of each pair at velocities v after the step; negative: it is open, shape (pairs,) [N]."""
        forces = []
        for pair, (normal, jacobian) in enumerate(zip(geometry.normal, geometry.jacobian, strict=True)):
            stiffness, damping = self._coefficients(geometry, pair)
            rate = normal @ (jacobian @ v)
            forces.append(stiffness * geometry.penetration[pair] - (self.drift * stiffness + damping) * rate)
        return np.array(forces)

    def _linearised(self, geometry: ContactGeometry, choice: ContactChoice, pair: int, late: Any
                    ) -> tuple[NDArray[Any], NDArray[Any]]:
        """W, shape (3, 3), and p, shape (3,), of the impulse p - W u of a pair at the velocity u of its point."""
        stiffness, damping = self._coefficients(geometry, pair)
        normal, pressed = geometry.normal[pair], choice.pressed[pair]
        across = np.outer(normal, normal)
        weight = (pressed * self.step * (self.drift * stiffness + damping)) * across
        impulse = (pressed * self.step * stiffness * geometry.penetration[pair]) * normal
        if self.world.friction[pair] == 0.0:
            return weight, impulse
        level, slip, sliding = choice.level[pair] * pressed, choice.slip[pair], choice.sliding[pair]
        length = maximum(np.sqrt(slip @ slip), CREEP)
        direction = slip / length
        newton = sliding * (1.0 - late)
        viscous = self.step * level / where(sliding, length, CREEP)
        weight = weight + viscous * (np.eye(3) - across - newton * np.outer(direction, direction))
        return weight, impulse - (newton * self.step * level) * direction
