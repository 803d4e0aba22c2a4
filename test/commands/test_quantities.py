# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Numbers with units as people type them."""

import math

import pytest

from robodyn_ros.base.errors import InputError
from robodyn_ros.commands.quantities import ANGLES, parse_joint_values, parse_quantity

KINDS = {"elbow": "revolute", "slide": "prismatic"}


@pytest.mark.parametrize("words, values", [
    (["elbow=0.5"], {"elbow": 0.5}),
    (["elbow=-90deg", "slide=12cm"], {"elbow": -math.pi / 2, "slide": 0.12}),
    (["slide=1e-3m"], {"slide": 0.001}),
    (["-.5", "3mm"], {"elbow": -0.5, "slide": 0.003}),
])
def test_values_are_in_si_units(words, values):
    assert parse_joint_values(words, KINDS) == pytest.approx(values)


def test_velocities_have_units_per_second():
    assert parse_joint_values(["elbow=180deg/s"], KINDS, per="/s") == pytest.approx({"elbow": math.pi})
    with pytest.raises(InputError, match=r"rad/s, deg/s, received 'deg'"):
        parse_joint_values(["elbow=180deg"], KINDS, per="/s")


@pytest.mark.parametrize("text", ["", "x", "nan", "inf", "1e999", "1 2", "--1"])
def test_what_is_no_finite_number_is_refused(text):
    with pytest.raises(InputError, match="q: expected a number"):
        parse_quantity(text, ANGLES, "q")


@pytest.mark.parametrize("words, message", [
    (["elbow=1", "elbow=2"], "two values"), (["elbow=1", "2"], "received '2' beside"), (["hand=1"], "unknown joint"),
    (["slide=1deg"], "among m, cm, mm"),
])
def test_mistakes_name_the_joint_or_the_word(words, message):
    with pytest.raises(InputError, match=message):
        parse_joint_values(words, KINDS)
