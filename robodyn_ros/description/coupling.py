# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Joints that several motors drive together: coupled wrists, differentials, four-bar linkages."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from robodyn_ros.base.errors import InputError, shown
from robodyn_ros.description.ranges import REDUCTION

_MIN_SINGULAR_RATIO = 1e-6
"""Least ratio of the smallest to the greatest singular value of B; below it the motors leave a joint free."""


@dataclass(frozen=True, eq=False)
class Coupling:
    """Motors whose positions depend on several joints: q_m = C (q - q_0), tau = C^T tau_m.

    There are as many motors as joints. Motor i counts as the motor of joint i: settings with one section per joint
    have its data there.

    Attributes:
        joints: Names of the k joints.
        matrix: C, turns of each motor (row) per turn of each joint (column), shape (k, k) [-, or rad/m for prismatic
            joints].

    Raises:
        InputError: A joint is named twice, the matrix is not k x k finite numbers, or it has no inverse.
    """

    joints: tuple[str, ...]
    matrix: NDArray[np.float64]

    def __post_init__(self) -> None:
        """Check the matrix."""
        k, where = len(self.joints), f"coupling of {', '.join(map(str, self.joints))}"
        if k < 2 or len(set(self.joints)) < k:
            raise InputError(f"{where}: expected two joints or more, each once")
        try:
            matrix = np.array(self.matrix, dtype=np.float64)
        except (TypeError, ValueError):
            matrix = np.zeros(0)
        if matrix.shape != (k, k) or not REDUCTION.holds(matrix).all():
            raise InputError(f"{where}: matrix: expected {k} rows, one for each motor, of {k} numbers up to "
                             f"{REDUCTION.maximum:g}, one for each joint, received {shown(self.matrix)}")
        object.__setattr__(self, "matrix", matrix)
        if not np.abs(matrix).max(axis=1).all():
            raise InputError(f"{where}: matrix: expected no motor that drives no joint, received {matrix.tolist()}")
        lengths = np.linalg.svd(self.shares / np.abs(self.shares).max(axis=0).clip(1e-300), compute_uv=False)
        if lengths[-1] < _MIN_SINGULAR_RATIO * lengths[0]:
            raise InputError(f"{where}: matrix: expected one that has an inverse, so that the motors determine the "
                             f"joints, received {matrix.tolist()}")

    @property
    def ratio(self) -> NDArray[np.float64]:
        """Gamma: turns of each motor per turn of its own joint, or of the joint that it turns most, shape (k,)."""
        own = np.diagonal(self.matrix)
        greatest = self.matrix[np.arange(len(own)), np.abs(self.matrix).argmax(axis=1)]
        return np.where(own == 0.0, greatest, own)

    @property
    def shares(self) -> NDArray[np.float64]:
        """B of C = Gamma B: position of each motor's gear output per position of each joint, shape (k, k)."""
        return self.matrix / self.ratio[:, None]

    def among(self, names: Collection[str]) -> Coupling | None:
        """Return the coupling restricted to some joints, with the others fixed; None if no coupling is left."""
        kept = [index for index, joint in enumerate(self.joints) if joint in names]
        if len(kept) == len(self.joints):
            return self
        try:
            return Coupling(tuple(self.joints[index] for index in kept), self.matrix[np.ix_(kept, kept)])
        except InputError:
            return None


def output_shares(couplings: Sequence[Coupling], names: Sequence[str]) -> NDArray[np.float64] | None:
    """Return B of all joints of a robot: p = B q are the positions of the gears' outputs.

    Args:
        couplings: Couplings of different joints.
        names: Names of all joints, in the order of q.

    Returns:
        Shape (n, n); None if every motor drives a single joint.
    """
    shares = np.eye(len(names))
    for coupling in couplings:
        places = [names.index(joint) for joint in coupling.joints]
        shares[np.ix_(places, places)] = coupling.shares
    return None if (shares == np.eye(len(names))).all() else shares
