# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Swaps between every two laws, in motion and at rest."""

import numpy as np
import pytest
from plant_motion import BENT
from recorded_loop import RecordedLoop
from shipped import few

from robodyn_ros import Robot
from robodyn_ros.control import JointReference, State, TipReference
from robodyn_ros.control.laws.damping import Damping
from robodyn_ros.control.plugins.dry_run import dry_run
from robodyn_ros.control.plugins.plugin import Plugin
from robodyn_ros.control.plugins.registry import law_names, load_controller, make_controller
from robodyn_ros.control.references.joint_trajectory import JointTrajectory, Points
from robodyn_ros.control.references.reference import SOURCES
from robodyn_ros.control.references.tip_trajectory import TipTrajectory
from robodyn_ros.control.runtime.measurement import Measurement
from robodyn_ros.control.runtime.requests import Follow, Swap
from robodyn_ros.description.resources import robot_file
from robodyn_ros.simulation.commands import Drive
from robodyn_ros.simulation.plant import Plant

OURS = [name for name in law_names() if load_controller(name).__module__.startswith("robodyn_ros.")]
WITHOUT_GRAVITY = {"pd", "pid", "damping"}


def circuit(items):
    """Every ordered pair once, one after the other: items in an order in which each follows each."""
    order = []
    for distance in range(1, len(items)):
        start, seen = 0, set()
        while len(seen) < len(items):
            while start in seen:
                start = (start + 1) % len(items)
            seen.add(start)
            order.append((items[start], items[(start + distance) % len(items)]))
            start = (start + distance) % len(items)
    return order


def move(loop, robot, rng):
    """A trajectory of the kind that the active controller follows."""
    follows = loop.laws.chosen.controller.follows
    if follows is None:
        return
    if follows is JointReference:
        begin = loop.trajectory_start(None)
        goal = np.array(BENT[robot.name]) + rng.uniform(-0.2, 0.2, robot.n)
        points = Points.from_arrays([0.5], [goal])
        loop.request(Follow(JointTrajectory(begin.reference, begin.start_time, points), True))
    else:
        begin = loop.trajectory_start(None, TipReference)
        home = SOURCES[TipReference](robot, np.array(BENT[robot.name])).sample(0.0)
        goal = home.position + rng.uniform(-0.03, 0.03, 3)
        loop.request(Follow(TipTrajectory.line(begin.reference, begin.start_time, 0.5, goal, home.quaternion), True))


@pytest.mark.parametrize("name", few(["scara", "arm6"], 1))
def test_every_pair_in_motion(name):
    """Efforts are finite and within limits at every tick, nothing is dropped, and the robot stays in its workspace."""
    robot, rng = Robot.from_urdf(robot_file(name)), np.random.default_rng(0)
    q, plant = np.array(BENT[name]), Plant(robot, 2e-3)
    plant.set_state(q)
    controllers = {law: make_controller(law, robot) for law in OURS}
    for law, controller in controllers.items():
        dry_run(law, controller, q, np.zeros(robot.n))
    loop = RecordedLoop(robot, Plugin("damping", controllers["damping"]), Plugin("safe", Damping(robot)), 0.5)
    pairs, rest, tick = circuit(OURS), np.zeros(robot.n), 0
    assert len(set(pairs)) == len(OURS) * (len(OURS) - 1)
    for before, after in pairs:
        for law in (before, after):
            if tick and loop.laws.chosen.name != law:
                loop.request(Swap(Plugin(law, controllers[law])))
                move(loop, robot, rng)
            for _ in range(8):
                answer = loop.tick(Measurement(tick * 2_000_000, plant.q, plant.v))
                assert np.isfinite(answer.effort).all() and (np.abs(answer.effort) <= robot.model.effort_limit).all()
                plant.advance(Drive(answer.effort, rest, rest))
                tick += 1
        assert not loop.failures and not loop.starts, (before, after)
    assert np.abs(plant.q - q).max() < 2.0


@pytest.mark.parametrize("name", few(BENT, ("scara",)))
@pytest.mark.parametrize("law", sorted(set(OURS) - WITHOUT_GRAVITY))
def test_at_rest_laws_that_know_gravity_begin_with_it(law, name):
    """A swap between them is bumpless, also between kinds of references."""
    robot = Robot.from_urdf(robot_file(name))
    state = State(0.0, 0.0, np.array(BENT[name]), np.zeros(robot.n))
    controller = make_controller(law, robot)
    controller.activate(state)
    reference = None if controller.follows is None else SOURCES[controller.follows](robot, state.q).sample(0.0)
    gravity = robot.dynamics().gravity(state.q)
    np.testing.assert_allclose(controller.update(state, reference), gravity, atol=1e-9 * (1.0 + np.abs(gravity).max()))
