"""Batches of states through each dynamics function, against a Python loop over Pinocchio."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np

from bench.timing import Comparison, compare
from robodyn_ros import Robot
from robodyn_ros.resources import robot_file

SAMPLES, LOOPED = 100_000, 1_000
"""States in our batch, and of them in the peer's loop, whose time grows with their number alone."""


def run(robot_name: str = "arm7") -> list[tuple[str, Comparison]]:
    """Seconds per state of our batch on one core and of the loop, after checking that the numbers agree."""
    import pinocchio as pin

    path = robot_file(robot_name)
    robot = Robot.from_urdf(path)
    batch = robot.dynamics().batch
    model = pin.buildModelFromUrdf(str(path))
    data = model.createData()
    q, v, a = np.random.default_rng(5).uniform(-1.0, 1.0, (3, SAMPLES, robot.n))
    functions: dict[str, tuple[Callable[..., np.ndarray], Callable[..., np.ndarray], tuple[np.ndarray, ...]]] = {
        "inverse_dynamics": (batch.inverse_dynamics, pin.rnea, (q, v, a)),
        "forward_dynamics": (batch.forward_dynamics, pin.aba, (q, v, a)),
        "gravity": (batch.gravity, pin.computeGeneralizedGravity, (q,)),
        "coriolis_matrix": (batch.coriolis_matrix, pin.computeCoriolisMatrix, (q, v)),
    }
    results = []
    for name, (ours, peer, inputs) in functions.items():
        head = [array[:LOOPED] for array in inputs]

        def loop(peer: Callable[..., np.ndarray] = peer, head: list[np.ndarray] = head) -> list[np.ndarray]:
            return [np.array(peer(model, data, *state)) for state in zip(*head, strict=True)]

        expected = np.array(loop())
        np.testing.assert_allclose(ours(*head), expected, rtol=1e-9, atol=1e-9 * np.abs(expected).max(), err_msg=name)
        times = compare(partial(ours, *inputs), loop, repetitions=11)
        results.append((name, Comparison(times.ours / SAMPLES, times.peer / LOOPED)))
    return results
