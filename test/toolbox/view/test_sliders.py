# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Ranges, units and groups of gains."""

import math

import pytest

pytest.importorskip("viser", reason="viser is not installed: make setup")

from robodyn_ros.toolbox.view.sliders import Gain, GainSliders  # noqa: E402


def gain(name="pd.gains.elbow.p", value=100.0, minimum=0.0, maximum=math.inf):
    return Gain(name, value, minimum, maximum, "Effort per position error [N m/rad].")


def test_a_gain_of_a_joint_stands_under_its_field_with_its_unit():
    assert (gain().group, gain().label, gain().unit) == ("p", "elbow", "N m/rad")


def test_joints_may_have_dots_and_laws_parameters_of_their_own():
    assert (gain("lqr.horizon").group, gain("lqr.horizon").label) == ("", "horizon")
    assert gain("force.stiffness.x").label == "stiffness.x"


@pytest.mark.parametrize(("value", "minimum", "maximum", "ends"), [
    (100.0, 0.0, math.inf, (0.0, 500.0)),
    (100.0, 0.0, 150.0, (0.0, 150.0)),
    (100.0, 0.0, 1e9, (0.0, 500.0)),
    (2.0, -1e9, 1e9, (-10.0, 10.0)),
    (0.0, 0.0, math.inf, (0.0, 1.0)),
    (-2.0, -math.inf, math.inf, (-10.0, 10.0)),
    (5.0, -math.inf, 8.0, (-32.0, 8.0)),
    (12.0, 10.0, math.inf, (10.0, 60.0)),
])
def test_a_slider_ends_at_the_limits_or_well_beyond_the_value(value, minimum, maximum, ends):
    shown = gain(value=value, minimum=minimum, maximum=maximum)
    assert shown.range == pytest.approx(ends)
    assert shown.range[0] <= value <= shown.range[1]


@pytest.mark.parametrize("value", [math.nan, math.inf, 1e308, "text", None, [1.0], 2**70, True])
def test_values_that_a_slider_cannot_show_leave_it_as_it_is(server, value):
    sliders = GainSliders(server, server.gui.add_folder("Gains"), lambda *_: None)
    sliders.show([gain()])
    sliders.update(gain().name, value)
    handle = sliders._sliders[gain().name].handle
    assert (handle.value, handle.min, handle.max) == (100.0, 0.0, 500.0)
    sliders.update(gain().name, 600.0)
    assert (handle.value, handle.max) == (600.0, 600.0)
