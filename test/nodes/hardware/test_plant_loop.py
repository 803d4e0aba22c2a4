# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""The loop of the hardware node with a clock and outputs of the test's own: what stamps are when it is held up."""

from types import SimpleNamespace

import pytest

from robodyn_ros import Robot
from robodyn_ros.description.resources import robot_file
from robodyn_ros.nodes.common.topic_owners import TopicOwners
from robodyn_ros.nodes.hardware import plant_loop, plant_timing
from robodyn_ros.nodes.hardware.parameters import LiveSettings, TimeMode
from robodyn_ros.nodes.hardware.plant_loop import PlantLoop
from robodyn_ros.simulation.commands import SafeBehaviour
from robodyn_ros.simulation.engine import SharedPlant
from robodyn_ros.simulation.plant import Plant

MILLISECOND = 1_000_000
SYSTEM_START = 1_700_000_000_000 * MILLISECOND
SETTINGS = LiveSettings(command_timeout=0.0, safe_behaviour=SafeBehaviour("damping"), safe_time_constant=0.1,
                        real_time_factor=1.0, lockstep_speed_limit=0.0, wrench_timeout=0.0, actuator_state_rate=0.0,
                        sensors=None)


class World:
    """Clocks, control path and outputs for a loop.

    Attributes:
        now: Time on the steady clock [ns].
        system_ahead: Of the system clock to the steady one [ns].
        stamps: Of the states that were published, each with the system time then [ns].
        new_starts: Which of these states were published as new starts.
        hold_ups: By the number of states published before, how long the plant takes for the next [ns].
        jumps: Likewise, by how much the system clock then jumps [ns].
    """

    def __init__(self) -> None:
        self.now, self.system_ahead = 5 * MILLISECOND, SYSTEM_START
        self.stamps: list[tuple[int, int]] = []
        self.new_starts: list[int] = []
        self.hold_ups: dict[int, int] = {}
        self.jumps: dict[int, int] = {}

    @property
    def active(self) -> bool:
        """Whether the loop goes on."""
        return len(self.stamps) < 300

    def monotonic_ns(self) -> int:
        """The steady clock."""
        return self.now

    def time_ns(self) -> int:
        """The system clock."""
        return self.now + self.system_ahead

    def monotonic(self) -> float:
        """The steady clock [s]."""
        return self.now * 1e-9

    def sleep(self, seconds: float) -> None:
        """As of a control path."""
        self.now += max(1, round(seconds * 1e9))

    def take(self) -> None:
        """As of a control path, without messages."""

    handle_further = take

    def publish(self, tick: int, stamp: int, position, velocity, new_start: str) -> None:
        """As of outputs."""
        if new_start:
            self.new_starts.append(len(self.stamps))
        self.stamps.append((stamp, self.time_ns()))

    def advance_plant(self, advance):
        """A plant's step that may be held up."""
        def advanced(*arguments):
            self.now += self.hold_ups.pop(len(self.stamps), 0)
            self.system_ahead += self.jumps.pop(len(self.stamps), 0)
            advance(*arguments)

        return advanced


@pytest.fixture
def world(monkeypatch):
    world = World()
    for module in (plant_loop, plant_timing):
        monkeypatch.setattr(module, "time", world)
    return world


def run(world):
    """Run a loop; returns it, and how far the stamps were ahead of system time [ms]."""
    plant = Plant(Robot.from_urdf(robot_file("planar_2r")))
    plant.advance = world.advance_plant(plant.advance)
    outputs = SimpleNamespace(publish=world.publish, set_actuator_state_rate=lambda rate: None)
    ignore = SimpleNamespace(problem=lambda *_: None, raise_condition=lambda *_, **__: None,
                             clear_condition=lambda *_: None, count=lambda *_: None)
    loop = PlantLoop(SharedPlant(plant), TimeMode.REAL_TIME, MILLISECOND, SETTINGS, outputs, ignore,
                     TopicOwners("commands", plant.joint_names, "/hardware", "commands_publisher", dict, 1.0))
    loop.commands.accept(plant.q)
    loop.begin()
    while world.active:
        loop.cycle(world)
    return loop, [(stamp - system) / MILLISECOND for stamp, system in world.stamps]


def test_stamps_are_system_time_one_period_apart(world):
    _, ahead = run(world)
    assert max(map(abs, ahead)) < 0.01
    stamps = [stamp for stamp, _ in world.stamps]
    assert {after - before for before, after in zip(stamps, stamps[1:], strict=False)} == {MILLISECOND}


@pytest.mark.parametrize("hold_up", [20, 99, 101, 128, 191, 500])
def test_stamps_are_system_time_again_after_a_hold_up(world, hold_up):
    world.hold_ups[100] = hold_up * MILLISECOND
    loop, ahead = run(world)
    assert loop.timing.pace.missed == hold_up - 1
    assert max(ahead) < 0.01, "a stamp is ahead of time"
    assert min(ahead[102:]) > -0.01
    assert min(ahead[:100]) > -0.01
    assert world.new_starts == [0, *([101] if hold_up > 100 else [])], "time went on without the plant"


def test_stamps_follow_a_clock_that_jumps(world):
    world.jumps = {100: 3_600_000 * MILLISECOND, 200: -7_200_000 * MILLISECOND}
    _, ahead = run(world)
    assert max(map(abs, ahead)) < 0.01


def test_a_step_ends_at_once_when_another_node_has_the_robot(world):
    loop, _ = run(world)
    loop.pause()
    ended = []
    loop.step(5, ended.append)
    loop.yield_robot("'/other/hardware' publishes joint_states of the same joints already")
    assert ended == ["step: 0 of 5 control periods done, then '/other/hardware' publishes joint_states of the same "
                     "joints already"]
