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
from robodyn_ros.nodes.common.parameters import Parameter, given_robot
from robodyn_ros.resources import robot_file

RATE = Parameter("rate", 100, "Rate [Hz].", minimum=1, maximum=1000)
GAINS = Parameter("gains", [1.0, 2.0], "Gains [-].", minimum=0.0, maximum=1e6)
MODE = Parameter("mode", "up", "Direction.", choices=("up", "down"))


@pytest.mark.parametrize(("parameter", "value"), [
    (RATE, 1), (RATE, 1000), (GAINS, [0.0, 5.0]), (GAINS, [3.0]), (MODE, "down"),
    (Parameter("x", math.pi, "", minimum=-1e9, maximum=1e9), -1e9),
])
def test_values_within_the_declaration_pass(parameter, value):
    parameter.validate(value)


@pytest.mark.parametrize(("parameter", "value", "what"), [
    (RATE, 0, "expected a finite number from 1 to 1000 [Hz], received 0"),
    (RATE, 1001, "expected a finite number from 1 to 1000 [Hz], received 1001"),
    (RATE, 2.0, "expected int like 100, received float 2.0"),
    (RATE, True, "expected int like 100, received bool True"),
    (GAINS, [1.0, -1.0], "expected a finite number from 0 to 1e+06 [-], received -1.0"),
    (GAINS, [1.0, math.nan], "expected a finite number from 0 to 1e+06 [-], received nan"),
    (GAINS, [1, 2], "expected list of float like [1.0, 2.0], received list of int [1, 2]"),
    (GAINS, 1.0, "expected list of float like [1.0, 2.0], received float 1.0"),
    (MODE, "left", "expected one of 'up', 'down', received 'left'"),
])
def test_other_values_are_refused_with_what_was_expected(parameter, value, what):
    with pytest.raises(InputError) as refusal:
        parameter.validate(value)
    assert str(refusal.value) == f"parameter '{parameter.name}': {what}"


def test_a_check_of_its_own_completes_the_sentence():
    def odd(value):
        if value % 2 == 0:
            raise InputError(f"expected an odd number, received {value}")

    parameter = Parameter("count", 1, "Odd.", minimum=0, maximum=9, check=odd)
    parameter.validate(3)
    with pytest.raises(InputError, match="^parameter 'count': expected an odd number, received 4$"):
        parameter.validate(4)


def test_the_descriptor_tells_ranges_and_choices():
    rate, = RATE.descriptor().integer_range
    assert (rate.from_value, rate.to_value) == (1, 1000)
    gain, = Parameter("gain", 1.0, "Gain [-].", read_only=True, minimum=0.5, maximum=8).descriptor(
        ).floating_point_range
    assert (gain.from_value, gain.to_value) == (0.5, 8.0)
    count, = Parameter("count", 1, "Count.", minimum=0.1, maximum=7.9).descriptor().integer_range
    assert (count.from_value, count.to_value) == (1, 7)
    assert GAINS.descriptor().additional_constraints == "each finite number from 0 to 1e+06 [-]"
    assert MODE.descriptor().additional_constraints == "one of: up, down"
    assert not RATE.descriptor().read_only and RATE.descriptor().description == "Rate [Hz]."


@pytest.mark.parametrize("default", [1, 1.0, [1.0, 2.0]])
@pytest.mark.parametrize("limits", [{}, {"minimum": 0}, {"maximum": 1}, {"minimum": 0, "maximum": math.inf}])
def test_a_parameter_of_numbers_needs_a_range(default, limits):
    with pytest.raises(InputError, match="parameter 'rate': expected a finite minimum and maximum"):
        Parameter("rate", default, "Rate [Hz].", **limits)


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
