# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Checks of the efforts that a controller returns."""

import numpy as np
import pytest

from robodyn_ros import InputError, PluginError, Robot
from robodyn_ros.control import Controller
from robodyn_ros.control.laws.damping import Damping
from robodyn_ros.control.laws.pd import PD
from robodyn_ros.control.plugins.dry_run import checked_effort, dry_run
from robodyn_ros.description.resources import robot_file

ROBOT = Robot.from_urdf(robot_file("planar_2r"))


class Answers(Controller):
    """Returns or raises a given object."""

    def __init__(self, answer):
        super().__init__(ROBOT)
        self.answer = answer

    def update(self, state, reference):
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer


@pytest.mark.parametrize("controller", [PD, Damping])
def test_sound_controllers_pass(controller):
    dry_run("it", controller(ROBOT), np.ones(2), np.ones(2))


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (None, "array of real numbers, received NoneType None"),
        (0.0, r"received float 0.0 of shape \(\)"),
        ([0.0, 0.0, 0.0], r"shape \(2,\), received list \[0.0, 0.0, 0.0\] of shape \(3,\)"),
        ([[0.0], [0.0, 1.0]], "array of real numbers, received list"),
        (["0.0", "1.0"], "array of real numbers, received list"),
        (np.zeros(2, dtype=bool), "array of real numbers, received ndarray"),
        (np.zeros(2, dtype=complex), "array of real numbers, received ndarray"),
        (np.zeros(3), r"shape \(2,\), received ndarray .* of shape \(3,\)"),
        (np.zeros((2, 1)), r"\(2, 1\)"),
        (np.array([0.0, np.nan]), "expected finite efforts.*nan"),
        ([0.0, float("nan")], "expected finite efforts.*nan"),
        (np.array([np.inf, -np.inf]), "expected finite efforts.*inf"),
        (ValueError("odd"), r"ValueError: odd \(.*test_dry_run.py, line \d+: raise self.answer\)"),
    ],
)
def test_wrong_results_are_refused_with_the_reason(answer, words):
    with pytest.raises(PluginError, match=rf"(?s)controller 'it' fails: .*{words}"):
        dry_run("it", Answers(answer), np.zeros(2), np.zeros(2))


@pytest.mark.parametrize("answer", [[1, 2], (1.0, 2.0), np.array([1, 2]), np.array([1.0, 2.0], np.float32),
                                    np.array([1.0, 0.0, 2.0])[::2]])
def test_any_array_like_of_the_right_shape_is_accepted(answer):
    dry_run("it", Answers(answer), np.zeros(2), np.zeros(2))
    array, values = checked_effort(answer, 2)
    assert array.dtype == np.float64 and array.tolist() == values == [1.0, 2.0]


def test_finite_efforts_whose_sum_overflows_are_finite():
    checked_effort(np.array([1.7e308, 1.7e308]), 2)
    with pytest.raises(InputError):
        checked_effort(np.array([1.7e308, np.inf]), 2)
