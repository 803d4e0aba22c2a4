# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Parameters of another node as sliders: any node can have any value and any range."""

import math

import pytest

pytest.importorskip("viser", reason="viser is not installed: make setup")

from rcl_interfaces.msg import FloatingPointRange, ParameterDescriptor  # noqa: E402
from rclpy.parameter import Parameter  # noqa: E402

from robodyn_ros.nodes.view.remote_parameters import to_gain  # noqa: E402


def gain(value, *limits):
    descriptor = ParameterDescriptor(name="pd.p", floating_point_range=[
        FloatingPointRange(from_value=limits[0], to_value=limits[1])] if limits else [])
    return to_gain(descriptor, Parameter("pd.p", value=value).to_parameter_msg().value)


@pytest.mark.parametrize("value", [math.nan, -math.inf, 1e300, "text", [1.0, 2.0], 2**62])
def test_what_no_slider_can_show_is_left_out(value):
    assert gain(value) is None


@pytest.mark.parametrize("limits", [(math.nan, 1.0), (0.0, math.nan), (5.0, 1.0), (10.0, 20.0)])
def test_a_range_that_its_value_is_not_in_counts_as_none(limits):
    shown = gain(2.0, *limits)
    assert (shown.minimum, shown.maximum) == (-math.inf, math.inf) and all(map(math.isfinite, shown.range))


def test_numbers_and_switches_are_shown_in_their_range():
    assert gain(True).value is True and gain(3).value == 3
    assert (gain(2.0, 0.0, 5.0).minimum, gain(2.0, 0.0, 5.0).maximum) == (0.0, 5.0)
