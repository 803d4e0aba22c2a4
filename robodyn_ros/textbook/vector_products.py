# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Products of two and three vectors ([Yamamoto] appendix A)."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from robodyn_ros.base.checks import as_array
from robodyn_ros.kinematics.twists import cross


def vector_product(a: ArrayLike, b: ArrayLike) -> NDArray[Any]:
    """Vector product a × b, shape (3,), perpendicular to both, length |a| |b| sin theta. [Yamamoto] (A.1) to (A.3).

    Args:
        a: Shape (3,).
        b: Shape (3,).

    Raises:
        InputError: A shape differs.
    """
    return cross(as_array(a, (3,), "a"), as_array(b, (3,), "b"))


def scalar_triple_product(a: ArrayLike, b: ArrayLike, c: ArrayLike) -> Any:
    """Number a^T (b × c), the determinant of the matrix with rows a, b, c. [Yamamoto] (A.4), (A.5).

    Args:
        a: Shape (3,).
        b: Shape (3,).
        c: Shape (3,).

    Raises:
        InputError: A shape differs.
    """
    return as_array(a, (3,), "a") @ vector_product(b, c)


def vector_triple_product(a: ArrayLike, b: ArrayLike, c: ArrayLike) -> NDArray[Any]:
    """Product a × (b × c) = (c^T a) b - (a^T b) c, shape (3,). [Yamamoto] (A.6), first element corrected; (A.7).

    Args:
        a: Shape (3,).
        b: Shape (3,).
        c: Shape (3,).

    Raises:
        InputError: A shape differs.
    """
    a, b, c = as_array(a, (3,), "a"), as_array(b, (3,), "b"), as_array(c, (3,), "c")
    return (c @ a) * b - (a @ b) * c


def triple_product_matrix(a: ArrayLike, c: ArrayLike) -> NDArray[Any]:
    """Matrix c^T a E - c a^T, shape (3, 3), whose product with b is a × (b × c). [Yamamoto] (A.8) to (A.10).

    Args:
        a: Shape (3,).
        c: Shape (3,).

    Raises:
        InputError: A shape differs.
    """
    a, c = as_array(a, (3,), "a"), as_array(c, (3,), "c")
    return (c @ a) * np.eye(3) - np.outer(c, a)
