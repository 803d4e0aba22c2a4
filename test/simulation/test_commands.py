"""Ages of commands, and what joints do whose command is missing or too old."""

import numpy as np
import pytest

from robodyn_ros.simulation.commands import JointCommands, SafeBehaviour

INERTIA = np.array([2.0, 4.0])


def commands(timeout=3, behaviour=SafeBehaviour.DAMPING):
    result = JointCommands(2, np.array([10.0, 0.0]))
    result.configure(timeout, behaviour, 0.5)
    return result


def as_lists(drive):
    return drive.effort.tolist(), drive.damping.tolist(), drive.brake.tolist()


def drive(of):
    return as_lists(of.drive(lambda: INERTIA))


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
    drive = of.drive(lambda: INERTIA)
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
