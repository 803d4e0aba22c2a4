# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Samples in the plots."""

import numpy as np
import pytest

pytest.importorskip("viser", reason="viser is not installed: make setup")

from robodyn_ros.description.resources import robot_file  # noqa: E402
from robodyn_ros.description.urdf import load_urdf  # noqa: E402
from robodyn_ros.toolbox.view.live_plots import SECONDS, LivePlots, nice_limit  # noqa: E402


@pytest.fixture
def plots(server):
    return LivePlots(server, load_urdf(robot_file("planar_2r")))


@pytest.mark.parametrize(("value", "limit"), [(0.9, 1), (1, 1), (1.01, 2), (3, 5), (7, 10), (0.03, 0.05), (0.0, 1e-12)])
def test_axes_end_at_round_numbers(value, limit):
    assert nice_limit(value) == pytest.approx(limit)


def test_only_what_there_is_is_shown(plots):
    plots.add(1.0, np.array([0.001, -0.002]), None, np.array([1.0, 2.0]), None, np.array([np.nan, 12.0]), {})
    plots.draw()
    shown = {name for name, plot in plots._plots.items() if plot._plot.visible}
    assert shown == {"error", "effort", "voltage"}
    times, first, second = plots._plots["error"]._plot.data
    assert (times[-1], first[-1], second[-1]) == pytest.approx((0.0, 1.0, -2.0))


def test_nothing_is_shown_before_the_first_sample(plots):
    plots.draw()
    assert not any(plot._plot.visible for plot in plots._plots.values())


def test_effort_is_relative_to_its_limit(plots):
    limit = load_urdf(robot_file("planar_2r")).effort_limit
    plots.add(0.0, None, None, 0.5 * limit, None, None, {})
    plots.draw()
    assert [line[-1] for line in plots._plots["effort"]._plot.data[1:]] == pytest.approx([50.0, 50.0])


def test_plots_look_back_so_far_and_begin_anew_when_time_does(plots):
    for time in np.arange(0.0, 3.0 * SECONDS, 0.1):
        plots.add(time, np.zeros(2), None, np.zeros(2), None, None, {})
    assert len(plots._plots["error"]._samples.values()) == pytest.approx(10.0 * SECONDS, abs=2)
    plots.add(0.0, np.zeros(2), None, np.zeros(2), None, None, {})
    assert len(plots._plots["error"]._samples.values()) == 1


def test_the_lines_of_the_terms_follow_laws_and_the_chosen_joint(plots):
    def add(time, **terms):
        plots.add(time, None, None, np.zeros(2), None, None, {name: np.array(both) for name, both in terms.items()})
        plots.draw()
        return plots._terms

    assert add(0.0)._plot is None
    shown = add(1.0, feedback=[1.0, 2.0])
    assert "feedback" in shown._key.content and "[N m]" in shown._plot._plot.title
    shown = add(2.0, feedback=[3.0, 4.0], gravity=[5.0, 6.0])
    times, feedback, gravity = shown._plot._plot.data
    np.testing.assert_allclose(times, [-2.0, -1.0, 0.0])
    np.testing.assert_array_equal(feedback, [np.nan, 1.0, 3.0])
    np.testing.assert_array_equal(gravity, [np.nan, np.nan, 5.0])
    shown._joint.value = "joint2"
    shown = add(3.0, gravity=[7.0, 8.0])
    np.testing.assert_array_equal(shown._plot._plot.data[2], [np.nan, np.nan, 6.0, 8.0])
    shown = add(3.0 + 2.0 * SECONDS)
    assert shown._plot is None and "no terms" in shown._key.content
