# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""A quick set of rows, compared with recorded ratios: ``python -m bench --check``.

A ratio is our time divided by the peer's, as in the report. Run it before and after a change of the code that these
rows time: what became slower by `WORSE` is printed. Other machines have other ratios: ``--record`` writes those of this
one to `RECORDED`.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import numpy as np
import rclpy

from bench import batch, closed_loop, node_cost, plant, round_trips, single_call
from bench.pinocchio_calls import calls
from bench.report import machine
from bench.robots import Pair
from bench.timing import Comparison
from robodyn_ros.base.errors import RobodynError

RECORDED = Path(__file__).with_name("recorded_ratios.json")

WORSE = 1.25
"""A ratio beyond this times the recorded one is reported."""

Rows = Callable[[], Iterator[tuple[str, float]]]


def _calls() -> Iterator[tuple[str, float]]:
    pair = Pair.shipped("arm7")
    for name, times in single_call.run(pair, calls(pair), repetitions=15):
        yield name, times.ratio


def _batches() -> Iterator[tuple[str, float]]:
    pair = Pair.shipped("arm7")
    for call in calls(pair)[:2]:
        yield call.name, batch.run(pair, call, samples=20_000, looped=500, repetitions=5).one.ratio


def _plant() -> Iterator[tuple[str, float]]:
    pair = Pair(plant.damped(Pair.shipped("arm7").urdf))
    yield "one robot", plant.one(pair, repetitions=7).ratio
    yield "1,000 robots, one core", plant.many(pair, 1, robots=1000, steps=200, repetitions=3).ratio


def _closed_loop() -> Iterator[tuple[str, float]]:
    yield "one robot", closed_loop.one(duration=2.0, repetitions=5).ratio


def _round_trips() -> Iterator[tuple[str, float]]:
    yield "hardware and controller", round_trips.run(repetitions=3, seconds=2.0).ratio


def _node_cost() -> Iterator[tuple[str, float]]:
    os.environ.setdefault("ROS_AUTOMATIC_DISCOVERY_RANGE", "LOCALHOST")
    rclpy.init()
    try:
        ours = node_cost.our_shares("arm7", 1000, 3.0)
        bare = node_cost.bare_shares(7, 1000, 3.0, by_udp=True)
    finally:
        rclpy.try_shutdown()
    for name in node_cost.JUDGED_BY_ECHO:
        yield name, Comparison(np.array([ours[name]]), np.array([bare[name]])).ratio


QUICK: dict[str, Rows] = {"single_call": _calls, "batch": _batches, "plant": _plant, "closed_loop": _closed_loop,
                          "round_trips": _round_trips, "node_cost": _node_cost}
"""The rows by section; two minutes in all."""


def check(recorded: Mapping[str, float], quick: Mapping[str, Rows] = QUICK) -> dict[str, float]:
    """Measure the rows and print each with its recorded ratio; then those that are worse.

    Args:
        recorded: Ratios by section and row.
        quick: The rows.

    Returns:
        The ratios measured, by section and row; without rows that could not be measured.
    """
    found: dict[str, float] = {}
    for section, rows in quick.items():
        try:
            for row, ratio in rows():
                name = f"{section}: {row}"
                found[name] = ratio
                before = recorded.get(name)
                print(f"{name}: {ratio:.3g}, " + ("not recorded" if before is None else f"recorded {before:.3g}"),
                      flush=True)
        except RobodynError as error:  # the machine is too busy
            print(f"{section}: not measured: {error}", flush=True)
    worse = {name: ratio for name, ratio in found.items() if ratio > WORSE * recorded.get(name, np.inf)}
    print("\n" + ("\n".join(f"WORSE: {name}: {ratio:.3g}, {ratio / recorded[name]:.2f} times the recorded "
                            f"{recorded[name]:.3g}" for name, ratio in worse.items()) or
                  f"No ratio is beyond {WORSE:g} times the recorded one."))
    return found


def main(record: bool) -> None:
    """Compare with the recorded ratios; afterwards record those found, if asked to."""
    about = machine()
    stored = json.loads(RECORDED.read_text(encoding="utf-8"))
    print(f"{about}\nrecorded on: {stored['machine']}")
    found = check(stored["ratios"])
    if record:
        ratios = {**stored["ratios"], **{name: float(f"{ratio:.3g}") for name, ratio in found.items()}}
        RECORDED.write_text(json.dumps({"machine": about, "ratios": ratios}, indent=2) + "\n", encoding="utf-8")
        print(f"wrote {RECORDED}")
