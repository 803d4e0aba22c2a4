# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Train the network of the controller ``neural``: ``python tools/train_neural.py``.

The training simulates single joints in normalised units: effort limit, K_p and the natural frequency at the largest
inertia are 1. The goal jumps by e_0. Joints differ in inertia, damping, friction, and in a gravity torque that the
model does not contain. The cost of a joint is

    integral of |e| dt / (e_0 (1 + sqrt(e_0))) + 5 overshoot / e_0 + 0.01 mean |change of effort| / dt,

where the first denominator is about the integral for the fastest motion with limited effort. The loss is the mean cost.

The search is an evolution strategy: Gaussian steps around the weights, in pairs of opposite sign, are ranked by their
loss, and the weighted mean of the better half is the next centre. It needs no gradient through the effort limit.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from robodyn_ros.control.laws import neural_weights
from robodyn_ros.control.laws.neural import SIZE, gain_shares
from robodyn_ros.description.model import Array

STEP, STEPS = 0.05, 500
"""Control period in units of 1 / natural frequency, and number of periods in a simulation."""

Shares = Callable[[Array, Array, Array], tuple[Array, Array]]
"""Function of error, rate and inertia, as of `gain_shares`, that returns shares of K_p and K_v, (..., joints) each."""


class Joints(NamedTuple):
    """Joints and their tasks, each array of shape (joints,).

    Attributes:
        jump: Jump of the goal, e_0.
        inertia: Inertia over the largest inertia of the joint.
        damping: K_v.
        friction: Viscous friction.
        gravity: Gravity torque that the model does not contain.
    """

    jump: Array
    inertia: Array
    damping: Array
    friction: Array
    gravity: Array

    @classmethod
    def random(cls, count: int, seed: int) -> Joints:
        """Return random joints with jumps of 0.2 to 12 times the error at which position feedback reaches the limit."""
        rng = np.random.default_rng(seed)
        return cls(np.exp(rng.uniform(np.log(0.2), np.log(12.0), count)), rng.uniform(0.3, 1.0, count),
                   rng.uniform(1.4, 2.0, count), rng.uniform(0.0, 0.1, count), rng.uniform(-0.05, 0.05, count))


def costs(shares: Shares, joints: Joints, leading: tuple[int, ...] = ()) -> Array:
    """Return the cost of each joint under scheduled gains, shape (*leading, joints)."""
    shape = (*leading, len(joints.jump))
    e, v, last = np.broadcast_to(joints.jump, shape).copy(), np.zeros(shape), np.zeros(shape)
    area, overshoot, chatter = np.zeros(shape), np.zeros(shape), np.zeros(shape)
    for _ in range(STEPS):
        p, d = shares(np.abs(e), -joints.damping * v * np.sign(e), np.broadcast_to(joints.inertia, shape))
        effort = np.clip(p * e - d * joints.damping * v, -1.0, 1.0)
        chatter += np.abs(effort - last)
        last = effort
        v = v + STEP * (effort - joints.friction * v + joints.gravity) / joints.inertia
        e = e - STEP * v
        area += STEP * np.abs(e)
        overshoot = np.maximum(overshoot, -e)
    jump = joints.jump
    return area / (jump * (1.0 + np.sqrt(jump))) + 5.0 * overshoot / jump + 0.01 * chatter / (STEPS * STEP)


def network(weights: Array) -> Shares:
    """Return the function of the network's shares, for weights of shape (..., `SIZE`)."""
    return lambda error, rate, inertia: gain_shares(weights, error, rate, inertia)


def loss(weights: Array, joints: Joints) -> Array:
    """Return the mean cost, for weights of shape (..., `SIZE`)."""
    return costs(network(weights), joints, weights.shape[:-1]).mean(axis=-1)


def fixed_loss(joints: Joints, p: float = 1.0, d: float = 1.0) -> float:
    """Return the mean cost with fixed shares of the gains."""
    ones = np.ones(len(joints.jump))
    return float(costs(lambda *_: (p * ones, d * ones), joints).mean())


def train(generations: int, seed: int, population: int = 32, count: int = 48) -> tuple[Array, list[float]]:
    """Train weights from zero; return them and the held-out loss before the first and after each generation."""
    rng, weights, spread = np.random.default_rng(seed), np.zeros(SIZE), 0.3
    held_out = Joints.random(128, seed + 1)
    losses = [float(loss(weights, held_out))]
    shares = np.log(0.5 * population + 0.5) - np.log(np.arange(1, population // 2 + 1))
    shares /= shares.sum()
    for generation in range(generations):
        joints = Joints.random(count, seed + 2 + generation)
        half = rng.normal(size=(population // 2, SIZE))
        steps = np.concatenate([half, -half])
        order = np.argsort(loss(weights + spread * steps, joints))[: population // 2]
        weights = weights + spread * shares @ steps[order]
        spread = max(0.99 * spread, 0.02)
        losses.append(float(loss(weights, held_out)))
    return weights, losses


def main(arguments: Sequence[str] | None = None) -> int:
    """Train, print the losses, and write the weights into the package."""
    parser = argparse.ArgumentParser(description="Train the network of the controller 'neural'.")
    parser.add_argument("--generations", type=int, default=400)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--output", type=Path, default=Path(neural_weights.__file__))
    options = parser.parse_args(arguments)
    weights, losses = train(options.generations, options.seed)
    test = Joints.random(512, 12345)
    grid = [(fixed_loss(test, p, d), p, d) for p in (0.5, 0.7, 1.0, 1.4, 2.0) for d in (0.5, 0.7, 1.0, 1.4, 2.0)]
    print(f"loss on 512 new joints: network {float(loss(weights, test)):.4f}, fixed gains {fixed_loss(test):.4f}, "
          "best of 25 fixed gains {:.4f} (p {:g}, d {:g})".format(*min(grid)))
    numbers = "\n".join(f"    {weight:.6f}," for weight in weights)
    licence = Path(neural_weights.__file__).read_text().partition('"""')[0]
    options.output.write_text(
        f'{licence}"""Weights of the network of the controller ``neural``.\n\nWritten by ``python '
        f"tools/train_neural.py --generations {options.generations} --seed {options.seed}``.\n"
        f'"""\n\nWEIGHTS = (\n{numbers}\n)\n')
    print(f"wrote {options.output.name}; loss while training {losses[0]:.4f} to {losses[-1]:.4f}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
