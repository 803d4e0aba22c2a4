# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Ages of commands, and what joints do whose command is missing or too old."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from robodyn_ros import Robot
from robodyn_ros.control import JointReference, State
from robodyn_ros.control.plugins.registry import make_controller
from robodyn_ros.description.resources import robot_file
from robodyn_ros.simulation.commands import JointCommands, SafeBehaviour
from robodyn_ros.simulation.plant import Plant

INERTIA = np.array([2.0, 4.0])


def commands(timeout=3, behaviour=SafeBehaviour.DAMPING):
    result = JointCommands(2, np.array([10.0, 0.0]), np.array([3.0, 0.0]))
    result.configure(timeout, behaviour, 0.5)
    return result


def as_lists(drive):
    return drive.effort.tolist(), drive.damping.tolist(), drive.brake.tolist()


def drive(of, v=(0.0, 0.0)):
    return as_lists(of.drive(lambda: INERTIA, np.array(v)))


def test_without_any_command_brakes_hold():
    of = commands()
    of.advance(100)
    assert drive(of) == ([0, 0], [0, 0], [np.inf, np.inf])
    assert of.waiting().all()
    assert not of.stale().any()


def test_only_commanded_joints_are_released():
    of = commands()
    of.accept(np.array([0.0, 7.0]), [1])
    assert drive(of) == ([0, 7], [0, 0], [np.inf, 0])
    assert not of.fresh()
    of.accept(np.array([1.0, 7.0]), [0])
    assert drive(of) == ([1, 7], [0, 0], [0, 0])
    assert of.fresh()


@pytest.mark.parametrize(("behaviour", "damping", "brake"), [
    (SafeBehaviour.DAMPING, [4, 8], [0, 0]),
    (SafeBehaviour.HOLD, [0, 0], [10, np.inf]),
    (SafeBehaviour.ZERO, [0, 0], [0, 0]),
])
def test_too_old_commands_lead_to_the_safe_behaviour_and_back(behaviour, damping, brake):
    of = commands(behaviour=behaviour)
    of.accept(np.array([5.0, 6.0]))
    of.advance(2)
    assert drive(of) == ([5, 6], [0, 0], [0, 0])
    of.advance()
    assert drive(of) == ([0, 0], damping, brake)
    of.accept(np.array([5.0, 6.0]))
    assert drive(of) == ([5, 6], [0, 0], [0, 0])


def test_each_joint_has_its_own_age():
    of = commands()
    of.accept(np.array([5.0, 6.0]))
    of.advance(2)
    of.accept(np.array([5.0, 9.0]), [1])
    of.advance(2)
    assert of.stale().tolist() == [True, False]
    assert drive(of) == ([0, 9], [4, 0], [0, 0])


def test_without_timeout_commands_never_age():
    of = commands(timeout=0)
    of.accept(np.array([5.0, 6.0]))
    of.advance(1_000_000)
    assert of.fresh()
    assert drive(of) == ([5, 6], [0, 0], [0, 0])


def test_clear_forgets_all_commands():
    of = commands()
    of.accept(np.array([5.0, 6.0]))
    of.clear()
    assert drive(of) == ([0, 0], [0, 0], [np.inf, np.inf])


def quantities(of):
    drive = of.drive(lambda: INERTIA, np.zeros(2))
    return drive.effort.tolist(), drive.voltage.tolist(), drive.by_voltage.tolist()


def test_a_joint_is_driven_by_the_quantity_of_its_last_command():
    of = commands()
    of.accept(np.array([5.0, 6.0]))
    assert quantities(of) == ([5, 6], [0, 0], [0, 0])
    of.accept_voltage(np.array([0.0, 12.0]), [1])
    assert quantities(of) == ([5, 6], [0, 12], [0, 1])
    assert of.fresh()
    of.accept_voltage(np.array([24.0, 13.0]))
    assert quantities(of) == ([5, 6], [24, 13], [1, 1])
    of.accept(np.array([7.0, 6.0]), [0])
    assert quantities(of) == ([7, 6], [24, 13], [0, 1])
    of.accept(np.array([1.0, 2.0]))
    assert quantities(of)[2] == [0, 0]


def test_voltages_grow_old_as_efforts_do():
    of = commands()
    of.accept_voltage(np.array([24.0, 13.0]))
    of.advance(2)
    of.accept_voltage(np.array([24.0, 14.0]), [1])
    of.advance(2)
    assert of.stale().tolist() == [True, False]
    assert quantities(of)[2] == [0, 1]
    assert drive(of) == ([0, 0], [4, 0], [0, 0])
    of.clear()
    assert quantities(of) == ([0, 0], [0, 0], [0, 0])
    assert of.waiting().all()


def test_periods_without_a_new_command_are_counted():
    of = commands()
    of.advance(5)
    assert of.missed == 0
    for _ in range(3):
        of.accept(np.array([5.0, 6.0]), [0])
        of.advance()
    assert of.missed == 0
    of.advance(2)
    of.accept_voltage(np.array([5.0, 6.0]))
    of.advance(4)
    assert of.missed == 5


def test_a_late_answer_that_speeds_up_a_joint_gives_way_to_damping_until_the_next_command():
    of = commands(timeout=50)
    of.accept(np.array([5.0, 6.0]), answers=True)
    assert drive(of, [0.1, 0.0]) == ([5, 6], [0, 0], [0, 0])
    of.advance()
    assert drive(of, [9.0, 9.0]) == ([5, 6], [0, 0], [0, 0]), "not late yet"
    of.advance()
    assert drive(of, [-0.69, 9.0]) == ([5, 6], [0, 0], [0, 0]), "within a fifth of the limit; the other has no limit"
    assert of.sped_up is None
    of.advance()
    assert drive(of, [-0.71, 9.0]) == ([0, 6], [400, 0], [0, 0])
    assert of.sped_up.tolist() == [True, False]
    assert drive(of, [0.0, 0.0]) == ([0, 6], [400, 0], [0, 0])
    assert of.fresh(), "the controller goes on"
    of.accept(np.array([5.0, 6.0]), answers=True)
    assert drive(of, [-0.71, 0.0]) == ([5, 6], [0, 0], [0, 0])
    assert of.sped_up is None


def test_late_commands_that_answer_no_state_may_speed_up_joints():
    of = commands(timeout=0)
    of.accept(np.array([5.0, 6.0]))
    drive(of)
    of.advance(100)
    assert drive(of, [9.0, 9.0]) == ([5, 6], [0, 0], [0, 0])


@pytest.mark.parametrize("most", [10, 40, 80])
@pytest.mark.parametrize("between", [1, 5])
def test_pd_at_rest_does_not_whirl_an_arm_while_a_busy_computer_holds_it_up(most, between):
    """Commands come for a few periods, then none for a random number of them, again and again."""
    robot, chance = Robot.from_urdf(robot_file("arm6")), np.random.default_rng(0)
    plant, law, model = Plant(robot), make_controller("pd", robot), robot.model
    of = JointCommands(robot.n, model.effort_limit, model.velocity_limit)
    of.configure(50, SafeBehaviour.DAMPING, 0.05)
    at_rest = JointReference(plant.q, np.zeros(robot.n), np.zeros(robot.n))
    next_tick, ticks = 0, 0
    for period in range(1000):
        if period == next_tick:
            effort = law.update(State(0.002 * period, 0.002, plant.q, plant.v), at_rest)
            of.accept(np.clip(effort, -model.effort_limit, model.effort_limit), answers=True)
            ticks += 1
            next_tick += 1 if period < 250 or ticks % between else int(chance.integers(1, most))
        plant.advance(of.drive(plant.joint_inertia, plant.v), 2)
        of.advance()
        if period > 250:
            assert (np.abs(plant.v) < 2.0 * model.velocity_limit).all(), "hundreds of rad/s without the rule"


class Naive:
    """The same rules joint by joint, from the last command and its time."""

    def __init__(self):
        self.now, self.last = 0, [None, None]

    def accept(self, kind, values, columns):
        for column in columns:
            self.last[column] = (kind, values[column], self.now)

    def drive(self, timeout):
        for last in self.last:
            if last is None:
                yield 0.0, None, np.inf  # effort, voltage, brake
            elif self.now - last[2] >= timeout:
                yield 0.0, None, 0.0
            else:
                kind, value, _ = last
                yield (value if kind == "effort" else None, value if kind == "voltage" else None, 0.0)


COLUMNS = st.sampled_from([None, [0], [1], [0, 1], [1, 0]])
VALUES = st.tuples(st.floats(-9, 9), st.floats(-9, 9))


@given(st.lists(st.one_of(st.tuples(st.sampled_from(["effort", "voltage"]), VALUES, COLUMNS),
                          st.tuples(st.just("advance"), st.integers(1, 3), st.none()),
                          st.tuples(st.just("clear"), st.none(), st.none()))))
def test_any_sequence_of_commands_gives_what_the_rules_say_joint_by_joint(sequence):
    timeout, of, naive = 3, commands(timeout=3, behaviour=SafeBehaviour.ZERO), Naive()
    for what, values, columns in sequence:
        if what == "advance":
            of.advance(values)
            naive.now += values
        elif what == "clear":
            of.clear()
            naive.last = [None, None]
        else:
            take, last = (of.accept, of.effort) if what == "effort" else (of.accept_voltage, of.voltage)
            full = last.copy()
            commanded = [0, 1] if columns is None else columns
            full[commanded] = np.array(values)[commanded]
            take(full, columns)
            naive.accept(what, values, commanded)
        given_drive = of.drive(lambda: INERTIA, np.zeros(2))
        for joint, (effort, voltage, brake) in enumerate(naive.drive(timeout)):
            assert given_drive.brake[joint] == brake
            assert given_drive.by_voltage[joint] == (voltage is not None)
            if voltage is None:
                assert given_drive.effort[joint] == effort
            else:
                assert given_drive.voltage[joint] == voltage


def test_commands_that_stay_the_same_to_the_bit_in_motion_are_too_old_until_they_change():
    of = commands(timeout=0)
    of.configure(0, SafeBehaviour.DAMPING, 0.5, unchanged_timeout=3)

    def send(effort, v):
        of.accept(np.array(effort))
        of.advance()
        of.note_motion(np.array(v))

    for _ in range(10):
        send([5.0, 6.0], [0.0, 0.001])
    assert of.fresh(), "an arm at rest is held by the same efforts"
    for _ in range(2):
        send([5.0, 6.0], [0.0, -0.2])
        assert of.fresh()
    send([5.0, np.nextafter(6.0, 7.0)], [0.0, -0.2])
    for _ in range(2):
        assert of.fresh()
        send([5.0, np.nextafter(6.0, 7.0)], [0.0, -0.2])
    assert not of.fresh() and of.stale().all() and of.stuck()
    for _ in range(5):
        send([5.0, np.nextafter(6.0, 7.0)], [0.0, 0.0])
    assert drive(of) == ([0, 0], [4, 8], [0, 0]), "an arm that came to rest does not fall again"
    send([5.0, 6.0], [0.0, 0.0])
    assert of.fresh() and drive(of) == ([5, 6], [0, 0], [0, 0])
