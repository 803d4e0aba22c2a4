"""What a controller must return."""

import numpy as np
import pytest

from robodyn_ros import InputError, PluginError, Robot
from robodyn_ros.control import Controller
from robodyn_ros.control.dry_run import check_effort, rehearse
from robodyn_ros.control.laws.damping import Damping
from robodyn_ros.control.laws.pd import PD
from robodyn_ros.resources import robot_file

ROBOT = Robot.from_urdf(robot_file("planar_2r"))


class Answers(Controller):
    """Returns, or raises, what it is told to."""

    def __init__(self, answer):
        super().__init__(ROBOT)
        self.answer = answer

    def update(self, state, reference):
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer


@pytest.mark.parametrize("controller", [PD, Damping])
def test_sound_controllers_pass(controller):
    rehearse("it", controller(ROBOT), np.ones(2), np.ones(2))


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (None, "returned None"),
        (0.0, "returned 0.0"),
        ([0.0, 0.0], r"returned \[0.0, 0.0\]"),
        (np.zeros(3), r"float64 \(3,\).*shape \(2,\)"),
        (np.zeros((2, 1)), r"\(2, 1\)"),
        (np.zeros(2, dtype=int), "int64"),
        (np.array([0.0, np.nan]), "not finite.*nan"),
        (np.array([np.inf, -np.inf]), "not finite.*inf"),
        (ValueError("odd"), r"ValueError: odd \(.*test_rehearsal.py, line \d+\)"),
    ],
)
def test_what_is_wrong_with_an_answer_is_said(answer, words):
    with pytest.raises(PluginError, match=rf"(?s)controller 'it' fails: .*{words}"):
        rehearse("it", Answers(answer), np.zeros(2), np.zeros(2))


def test_finite_efforts_whose_sum_overflows_are_finite():
    check_effort(np.array([1.7e308, 1.7e308]), 2)
    with pytest.raises(InputError):
        check_effort(np.array([1.7e308, np.inf]), 2)
