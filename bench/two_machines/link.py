# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""A link between two TAP devices that delays, loses and reorders frames, and can be cut.

``python -m bench.two_machines.link DESCRIPTOR DESCRIPTOR`` passes Ethernet frames on between two open TAP devices. Each
line of standard input is the JSON of a :class:`Quality`, which holds from then on and is answered by a line. The
process ends with standard input.

It does what ``tc qdisc ... netem`` does, which many kernels are built without.
"""

from __future__ import annotations

import heapq
import itertools
import json
import os
import random
import select
import sys
import time
from dataclasses import dataclass

LONGEST_FRAME = 65_536
"""Bytes read at once; a frame is shorter."""


@dataclass(frozen=True)
class Quality:
    """Properties of the link, the same in both directions.

    Attributes:
        delay: Time that each frame is held back [s].
        jitter: Greatest further time, uniformly distributed [s]; frames do not overtake each other by it.
        loss: Part of the frames that is lost.
        reordering: Part of the frames that is not held back, and overtakes those that are.
        cut: Whether all frames are lost.
    """

    delay: float = 0.0
    jitter: float = 0.0
    loss: float = 0.0
    reordering: float = 0.0
    cut: bool = False


class Link:
    """Frames on their way, in both directions.

    Args:
        quality: Properties of the link.
        seed: Seed of the losses, the order and the jitter.

    Attributes:
        quality: Can be replaced at any time; holds for the frames that are accepted from then on.
    """

    def __init__(self, quality: Quality, seed: int = 0) -> None:
        self.quality = quality
        self._chance = random.Random(seed)
        self._frames: list[tuple[float, int, int, bytes]] = []  # time due, number, direction, frame: a heap
        self._numbers = itertools.count()
        self._last_due = [0.0, 0.0]

    def accept(self, direction: int, frame: bytes, now: float) -> None:
        """Take a frame, which may get lost.

        Args:
            direction: 0 or 1: the end that the frame goes to.
            frame: Its bytes.
            now: Present time [s].
        """
        quality = self.quality
        if quality.cut or self._chance.random() < quality.loss:
            return
        if self._chance.random() < quality.reordering:
            due = now
        else:
            due = max(now + quality.delay + quality.jitter * self._chance.random(), self._last_due[direction])
            self._last_due[direction] = due
        heapq.heappush(self._frames, (due, next(self._numbers), direction, frame))

    def due(self, now: float) -> list[tuple[int, bytes]]:
        """Return the frames that arrive by now, each with its direction; a cut loses those on their way too."""
        frames = []
        while self._frames and self._frames[0][0] <= now:
            _, _, direction, frame = heapq.heappop(self._frames)
            if not self.quality.cut:
                frames.append((direction, frame))
        return frames

    def wait(self, now: float) -> float | None:
        """Return the time until the next frame arrives [s]; None if none is on its way."""
        return max(0.0, self._frames[0][0] - now) if self._frames else None


def main(ends: tuple[int, int]) -> None:
    """Pass frames on between two TAP devices until standard input ends."""
    link = Link(Quality())
    while True:
        ready, _, _ = select.select([0, *ends], [], [], link.wait(time.monotonic()))
        for direction, end in enumerate(reversed(ends)):
            if end in ready:
                link.accept(direction, os.read(end, LONGEST_FRAME), time.monotonic())
        if 0 in ready:
            line = sys.stdin.readline()
            if not line:
                return
            link.quality = Quality(**json.loads(line))
            print(flush=True)
        for direction, frame in link.due(time.monotonic()):
            os.write(ends[direction], frame)


if __name__ == "__main__":
    main((int(sys.argv[1]), int(sys.argv[2])))
