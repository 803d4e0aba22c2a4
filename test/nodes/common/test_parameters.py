# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""One parameter's declaration, and where the robot comes from. Parameters of a node at work: test_runtime."""

import math

import pytest

from robodyn_ros import InputError
from robodyn_ros.base.fields import Field
from robodyn_ros.description.resources import robot_file
from robodyn_ros.nodes.common.parameters import descriptor, given_robot

RATE = Field("rate", 100, "Rate", unit="Hz", minimum=1, maximum=1000)
GAINS = Field("gains", [1.0, 2.0], "Gains", unit="-", minimum=0.0, maximum=1e6)
MODE = Field("mode", "up", "Direction", choices=("up", "down"))


@pytest.mark.parametrize(("parameter", "value"), [
    (RATE, 1), (RATE, 1000), (GAINS, [0.0, 5.0]), (GAINS, [3]), (MODE, "down"),
    (Field("x", math.pi, "", minimum=-1e9, maximum=1e9), -1e9),
])
def test_values_within_the_declaration_pass(parameter, value):
    checked(parameter, value)


@pytest.mark.parametrize(("parameter", "value", "what"), [
    (RATE, 0, "expected a whole number from 1 to 1000 [Hz], received 0"),
    (RATE, 1001, "expected a whole number from 1 to 1000 [Hz], received 1001"),
    (RATE, 2.0, "expected a whole number from 1 to 1000 [Hz], received 2.0"),
    (RATE, True, "expected a whole number from 1 to 1000 [Hz], received True"),
    (GAINS, [1.0, -1.0], "expected a list, each element a finite number from 0 to 1e+06 [-], received [1.0, -1.0]"),
    (GAINS, [1.0, math.nan], "expected a list, each element a finite number from 0 to 1e+06 [-], received [1.0, nan]"),
    (GAINS, [True], "expected a list, each element a finite number from 0 to 1e+06 [-], received [True]"),
    (GAINS, [], "expected a list, each element a finite number from 0 to 1e+06 [-], received []"),
    (RATE, 2**70, "expected a whole number from 1 to 1000 [Hz], received 1180591620717411303424"),
    (GAINS, 1.0, "expected a list, each element a finite number from 0 to 1e+06 [-], received 1.0"),
    (MODE, "left", "expected one of 'up', 'down', received 'left'"),
])
def test_other_values_are_refused_with_what_was_expected(parameter, value, what):
    with pytest.raises(InputError) as refusal:
        checked(parameter, value)
    assert str(refusal.value) == f"parameter '{parameter.name}': {what}"


def test_a_check_of_its_own_completes_the_sentence():
    def odd(value):
        if value % 2 == 0:
            raise InputError(f"expected an odd number, received {value}")

    parameter = Field("count", 1, "Odd", minimum=0, maximum=9, check=odd)
    checked(parameter, 3)
    with pytest.raises(InputError, match="^parameter 'count': expected an odd number, received 4$"):
        checked(parameter, 4)


def test_the_descriptor_tells_ranges_and_choices():
    rate, = descriptor(RATE).integer_range
    assert (rate.from_value, rate.to_value) == (1, 1000)
    gain, = descriptor(Field("gain", 1.0, "Gain", minimum=0.5, maximum=8)).floating_point_range
    assert (gain.from_value, gain.to_value) == (0.5, 8.0)
    count, = descriptor(Field("count", 1, "Count", minimum=0.1, maximum=7.9)).integer_range
    assert (count.from_value, count.to_value) == (1, 7)
    assert descriptor(GAINS).additional_constraints == "each finite number from 0 to 1e+06 [-]"
    assert descriptor(MODE).additional_constraints == "one of: up, down"
    assert not descriptor(RATE).read_only and descriptor(RATE).description == "Rate [Hz]."


def checked(parameter, value):
    return parameter.checked(value, f"parameter '{parameter.name}'")


class Given(dict):
    """Values by name, also of unknown parameters."""

    def names(self):
        return ["robot_description", "robot"]

    def unknown(self):
        return [name for name in self if name not in self.names()]


def test_the_robot_is_the_description_given_or_else_the_one_named():
    loaders = ("file {}".format, "text {}".format)
    assert given_robot(Given(robot_description="<robot/>", robot="arm6"), *loaders) == "text <robot/>"
    assert given_robot(Given(robot_description="", robot="arm6"), *loaders) == f"file {robot_file('arm6')}"
    with pytest.raises(InputError, match=r"no robot given: set the parameter 'robot' .* \(URDF as XML\)$"):
        given_robot(Given(robot_description="", robot=""), *loaders)
    with pytest.raises(InputError, match=r"; 'robt' is no parameter: did you mean 'robot'\?$"):
        given_robot(Given(robot_description="", robot="", robt="arm6"), *loaders)
