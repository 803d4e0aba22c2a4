# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Random robots for property tests: a hypothesis strategy that yields URDFs as XML strings.

The structure (how many joints, their kinds, who is whose parent, who mimics whom) is drawn by hypothesis and shrinks;
the figures come from one drawn seed, so that an example costs few draws. Every inertia belongs to a possible body,
and every moving joint's own link has one, so the mass matrix is positive definite. The URDFs load without a warning.
"""

from __future__ import annotations

import math

import numpy as np
from hypothesis import strategies as st
from numpy.typing import NDArray

MOVING = ("revolute", "continuous", "prismatic")
ANGLES = (0.0, math.pi / 2, -math.pi / 2, math.pi)


@st.composite
def urdf_robots(draw: st.DrawFn, *, max_joints: int = 12, fixed: bool = True, mimic: bool = True) -> str:
    """A random kinematic tree.

    Args:
        draw: Given by hypothesis.
        max_joints: The most joints, of all kinds.
        fixed: Whether there are fixed joints, also to massless frames.
        mimic: Whether there are mimic joints, also of mimic joints.

    Returns:
        The URDF as XML. Links are called link0 (the base) to linkN, joints joint1 to jointN; joint i moves link i.
    """
    count = draw(st.integers(1, max_joints), label="joints")
    moving = draw(st.integers(1, count), label="a joint that moves and is independent")
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1), label="seed of the figures"))
    kinds_allowed = (*MOVING, "fixed") if fixed else MOVING
    kinds = {moving: draw(st.sampled_from(MOVING), label=f"kind of joint{moving}")}
    leaders: dict[int, int] = {}
    parts = ['<robot name="random">', f'<link name="link0">{_inertial(rng)}</link>']
    for index in range(1, count + 1):
        if index != moving:
            kinds[index] = draw(st.sampled_from(kinds_allowed), label=f"kind of joint{index}")
        # 0 continues the chain, k goes k links back: chains are the simplest robots.
        parent = index - 1 - draw(st.integers(0, index - 1), label=f"branch before joint{index}")
        followed = sorted(other for other in kinds if kinds[other] != "fixed" and other < index) or [moving]
        if mimic and kinds[index] != "fixed" and index != moving and draw(st.booleans(), label=f"joint{index} mimics"):
            leaders[index] = draw(st.sampled_from(sorted({*followed, moving})), label=f"leader of joint{index}")
        massless = kinds[index] == "fixed" and draw(st.booleans(), label=f"link{index} is massless")
        parts.append(f'<link name="link{index}">{"" if massless else _inertial(rng)}</link>')
        parts.append(_joint(index, parent, kinds[index], leaders.get(index), rng))
    return "\n".join([*parts, "</robot>"])


def _joint(index: int, parent: int, kind: str, leader: int | None, rng: np.random.Generator) -> str:
    rpy = rng.choice(ANGLES, 3) if rng.random() < 0.5 else rng.uniform(-math.pi, math.pi, 3)
    xyz = rng.uniform(-0.6, 0.6, 3) * (rng.random(3) < 0.7)
    body = f'<parent link="link{parent}"/><child link="link{index}"/><origin xyz="{_text(xyz)}" rpy="{_text(rpy)}"/>'
    if kind != "fixed":
        axis = rng.choice([-1.0, 1.0]) * np.eye(3)[rng.integers(3)] if rng.random() < 0.5 else rng.normal(size=3)
        body += f'<axis xyz="{_text(axis / np.linalg.norm(axis))}"/>'
        # Wide enough that a mimic joint's limits and its leader's always overlap.
        ends = "" if kind == "continuous" else f'lower="-{6 + rng.random()}" upper="{6 + rng.random()}"'
        body += f'<limit {ends} velocity="3" effort="100"/>'
        body += f'<dynamics damping="{rng.random()}" friction="{rng.random()}"/>'
    if leader is not None:
        multiplier = rng.choice([-1.0, 1.0]) * rng.uniform(0.2, 2.0)
        body += f'<mimic joint="joint{leader}" multiplier="{multiplier}" offset="{rng.uniform(-1, 1)}"/>'
    return f'<joint name="joint{index}" type="{kind}">{body}</joint>'


def _inertial(rng: np.random.Generator) -> str:
    mass = rng.uniform(0.1, 5.0)
    # A body's principal moments are sums of two of the second moments of its mass; those are free and positive.
    second = mass * rng.uniform(0.02, 0.2, 3) ** 2
    rotation = np.linalg.qr(rng.normal(size=(3, 3)))[0]
    inertia = rotation @ np.diag(second.sum() - second) @ rotation.T
    names = {"ixx": (0, 0), "ixy": (0, 1), "ixz": (0, 2), "iyy": (1, 1), "iyz": (1, 2), "izz": (2, 2)}
    figures = " ".join(f'{name}="{float(inertia[place])!r}"' for name, place in names.items())
    origin = f'<origin xyz="{_text(rng.uniform(-0.3, 0.3, 3))}" rpy="{_text(rng.uniform(-3, 3, 3))}"/>'
    return f'<inertial>{origin}<mass value="{mass!r}"/><inertia {figures}/></inertial>'


def _text(values: NDArray[np.float64]) -> str:
    return " ".join(repr(float(value)) for value in values)


def random_chain(count, seed=0):
    """URDF of a chain of random links; every seventh joint is prismatic."""
    rng = np.random.default_rng(seed)
    parts = ["<link name='l0'/>"]
    for number in range(1, count + 1):
        x, y, z, cx, cy, cz = rng.uniform(-0.15, 0.15, 6)
        roll, pitch, yaw = rng.uniform(-1.5, 1.5, 3)
        axis = np.eye(3, dtype=int)[rng.integers(3)]
        kind = "prismatic" if number % 7 == 0 else "revolute"
        parts.append(
            f"<link name='l{number}'><inertial><origin xyz='{cx} {cy} {cz}'/><mass value='{rng.uniform(0.5, 2)}'/>"
            "<inertia ixx='0.02' iyy='0.025' izz='0.03' ixy='0.001' ixz='-0.002' iyz='0.003'/></inertial></link>"
            f"<joint name='j{number}' type='{kind}'><parent link='l{number - 1}'/><child link='l{number}'/>"
            f"<origin xyz='{x} {y} {z}' rpy='{roll} {pitch} {yaw}'/><axis xyz='{axis[0]} {axis[1]} {axis[2]}'/>"
            "<limit lower='-3' upper='3' effort='200' velocity='10'/></joint>"
        )
    return f"<robot name='chain'>{''.join(parts)}</robot>"
