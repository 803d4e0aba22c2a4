# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""A tick of laws that have a neural network inside, compared with the same law in NumPy."""

from __future__ import annotations

import time
from collections.abc import Iterator
from functools import partial

import numpy as np

from bench.report import RATIO_HEAD, Section, ratio_cells, time_cells
from bench.timing import compare
from robodyn_ros import Robot
from robodyn_ros.control import JointReference, Law, State
from robodyn_ros.description.resources import robot_file

UNITS = (64, 128, 256, 512)


def network_law(units: int) -> type[Law]:
    """A law with two hidden layers of a number of units, and gravity compensation."""
    rng = np.random.default_rng(0)
    first, second, third = (rng.normal(size=shape) / shape[1] ** 0.5 for shape in ((units, 21), (units, units),
                                                                                    (7, units)))

    class NetworkLaw(Law):
        follows = JointReference

        @staticmethod
        def law(dynamics, parameters, state, reference):  # type: ignore[no-untyped-def]
            features = np.concatenate([state.q, state.v, reference.q - state.q])
            return third @ np.tanh(second @ np.tanh(first @ features)) + dynamics.gravity(state.q)

    return NetworkLaw


def rows() -> Iterator[list[str]]:
    """A row for each size."""
    robot, rng = Robot.from_urdf(robot_file("arm7")), np.random.default_rng(1)
    state, reference = State(0.1, 0.002, *rng.normal(size=(2, 7))), JointReference(*rng.normal(size=(3, 7)))
    for units in UNITS:
        law, peer = network_law(units)(robot), network_law(units)(robot)
        peer.activate(state)
        begin = time.process_time()
        ours = law.update(state, reference)
        seconds = time.process_time() - begin
        in_numpy = partial(peer._update_uncompiled, state, reference)
        np.testing.assert_allclose(ours, in_numpy(), rtol=1e-9, atol=1e-9)
        result = compare(partial(law.update, state, reference), in_numpy)
        yield [f"2 x {units}", "NumPy" if law.uncompiled_reason else "machine code", f"{seconds:.2f}",
               *time_cells(result, 1e6, 2), *ratio_cells(result, 1.05)]


NETWORKS = Section(
    "Networks inside a law",
    "One tick of a law with two hidden layers of 64 to 512 units for arm7, and the same law as Python code with "
    "NumPy's BLAS. A law with more than 25,000 weights stays Python code, so that from there on both are the same.",
    ("hidden units", "runs as", "first tick, processor time [s]", "ours [µs]", "NumPy [µs]", *RATIO_HEAD),
    rows,
)
