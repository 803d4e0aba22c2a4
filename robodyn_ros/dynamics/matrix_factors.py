# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""The matrices of robots with many joints as products of columns, one or a few for each joint.

An element of M, C, dtau/dq or Y is a scalar product of a column of joint i and one of joint j if one of the two joints
carries the other, else 0. Each joint's columns are a formula of fixed length. `compile.Products` computes the scalar
products in loops, because their number grows with the square of a chain's joints. The formulas are those of
``mass_matrix``, ``coriolis``, ``derivatives`` and ``regressor``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import numpy as np

from robodyn_ros.compile import Products, Term
from robodyn_ros.description.model import Array, RobotModel
from robodyn_ros.dynamics.coriolis import JointMotion, common_frame, joint_motions
from robodyn_ros.dynamics.derivatives import base_acceleration_of, position_columns
from robodyn_ros.dynamics.regressor import body_regressor
from robodyn_ros.kinematics.forward import joint_poses, joint_twist, path_to
from robodyn_ros.kinematics.link_motions import link_motions
from robodyn_ros.kinematics.twists import twist_in_parent, wrench_in_parent

MIN_LARGE_PAIRS = 250
"""Number of pairs of joints, one carrying the other, above which products in loops are faster than formulas written
out: a chain of 23 joints has that many, a humanoid with hands has 279."""


def is_large(model: RobotModel) -> bool:
    """Whether loops compute the matrices of this robot faster; False if joints share a degree of freedom."""
    pairs = sum(len(path_to(model, index)) - 1 for index in range(len(model.joints)))
    return model.has_tree_mass_matrix and pairs >= MIN_LARGE_PAIRS


class _Tree(NamedTuple):
    """The order of the joints along the tree, by degree of freedom."""

    dofs: list[int]  # degree of freedom of each joint
    carries: np.ndarray  # [i, j]: joint i is j or carries it; by degree of freedom, shape (n, n)

    @classmethod
    def from_model(cls, model: RobotModel) -> _Tree:
        dofs = [joint.dof for joint in model.joints]
        carries = np.zeros((model.n, model.n), dtype=bool)
        for index, dof in enumerate(dofs):
            carries[[dofs[other] for other in path_to(model, index)], dof] = True
        return cls(dofs, carries)

    @property
    def behind(self) -> np.ndarray:
        """[j, i]: joint i carries j and is not j."""
        return self.carries.T & ~np.eye(len(self.dofs), dtype=bool)

    def side_by_side(self, columns: Iterable[Array]) -> Array:
        """The joints' columns as a matrix, ordered by degree of freedom, shape (length of a column, n)."""
        rows = np.array(list(columns))
        result = rows.copy()
        result[self.dofs] = rows
        return result.T


def mass_matrix(model: RobotModel, q: Array) -> Products:
    """M(q): S_i^T G_j S_j if joint i carries j."""
    tree, motions = _Tree.from_model(model), joint_motions(model, q, np.zeros(model.n))
    return Products([_mass_terms(tree, motions)])


def coriolis_matrix(model: RobotModel, q: Array, v: Array) -> Products:
    """C(q, v), as ``coriolis.coriolis_matrix``."""
    return Products([_coriolis_terms(_Tree.from_model(model), joint_motions(model, q, v), 1.0)])


def inverse_dynamics_derivatives(model: RobotModel, q: Array, v: Array, a: Array) -> Products:
    """dtau/dq, dtau/dv and dtau/da, as ``derivatives.inverse_dynamics_derivatives``."""
    tree, motions = _Tree.from_model(model), joint_motions(model, q, v)
    columns = position_columns(model, motions, base_acceleration_of(model, q), v, a)
    axes = tree.side_by_side(motion.axis for motion in motions)
    turned = tree.side_by_side(column.turned for column in columns)
    behind = tree.side_by_side(np.concatenate([column.inertial, 2.0 * column.moment]) for column in columns)
    before = tree.side_by_side(
        np.concatenate([column.gain, motion.rate[:3]]) for column, motion in zip(columns, motions, strict=True)
    )
    by_position = [Term(axes, turned, tree.carries), Term(behind, before, tree.behind)]
    return Products([by_position, _coriolis_terms(tree, motions, 2.0), _mass_terms(tree, motions)])


def regressor(model: RobotModel, q: Array, v: Array, a: Array) -> Products:
    """Y(q, v, a): S_i^T times each link's wrench per inertial parameter, all in one frame at rest."""
    tree, poses = _Tree.from_model(model), common_frame(model, q).poses
    base_acceleration = np.concatenate([np.zeros(3), -model.gravity])
    motions = link_motions(model, joint_poses(model, q), v, a, base_acceleration)
    axes = tree.side_by_side(
        twist_in_parent(pose, joint_twist(joint)) for joint, pose in zip(model.joints, poses, strict=True)
    )
    wrenches: list[Any] = []
    for pose, motion in zip(poses, motions, strict=True):
        wrenches += [wrench_in_parent(pose, column) for column in body_regressor(motion.twist, motion.acceleration).T]
    carries = np.repeat(tree.carries[:, tree.dofs], 10, axis=1)
    return Products([[Term(axes, np.array(wrenches).T, carries)]])


def _mass_terms(tree: _Tree, motions: list[JointMotion]) -> list[Term]:
    axes = tree.side_by_side(motion.axis for motion in motions)
    wrenches = tree.side_by_side(motion.body.inertia.momentum(motion.axis) for motion in motions)
    return [Term(axes, wrenches, tree.carries), Term(wrenches, axes, tree.behind)]


def _coriolis_terms(tree: _Tree, motions: list[JointMotion], factor: float) -> list[Term]:
    """Terms of C times a factor."""
    axes = tree.side_by_side(motion.axis for motion in motions)
    columns = tree.side_by_side(
        factor * (motion.body.inertia.momentum(motion.rate) + motion.body.times(motion.axis)) for motion in motions
    )
    behind = tree.side_by_side(
        factor * np.concatenate([motion.body.inertia.momentum(motion.axis), motion.body.transposed_times(motion.axis)])
        for motion in motions
    )
    before = tree.side_by_side(np.concatenate([motion.rate, motion.axis[:3]]) for motion in motions)
    return [Term(axes, columns, tree.carries), Term(behind, before, tree.behind)]


LARGE_ROBOT_FUNCTIONS: dict[str, Callable[..., Products]] = {
    "mass_matrix": mass_matrix,
    "coriolis_matrix": coriolis_matrix,
    "inverse_dynamics_derivatives": inverse_dynamics_derivatives,
    "regressor": regressor,
}
"""The functions of ``Dynamics`` that have a form for large robots, by name; without wrenches on links."""
