# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Figures of motions: which curves are in them, of which runs, and who controlled when."""

from dataclasses import replace

import numpy as np
import pytest
from matplotlib.image import imread
from shipped import few

from robodyn_ros.base.errors import InputError
from robodyn_ros.toolbox.plots.motion import Curves, MotionCurves
from robodyn_ros.toolbox.plots.motion_figure import motion_figure, save_motions

TIME = np.linspace(0.0, 2.0, 201)
Q = np.column_stack([np.sin(TIME), 0.1 * TIME])
SPANS = [("pd", 0.0, 0.8), ("computed_torque", 0.8, 1.0), ("pd", 1.0, 2.0)]


def motion(label="one", scale=1.0):
    position = Curves(TIME, scale * Q)
    tip = Curves(TIME, np.column_stack([Q, TIME]))
    return MotionCurves(label, ["turn", "slide"], ["rad", "m"], SPANS, position, Curves(TIME, Q),
                        Curves(TIME, Q - scale * Q), Curves(TIME, 10.0 * scale * Q), np.array([12.0, np.inf]),
                        energies=Curves(TIME, Q**2), tip=tip, desired_tip=tip)


def axes_of(figure, label):
    return [axes for axes in figure.axes if axes.get_ylabel().startswith(label)]


def legend(figure):
    return [text.get_text() for text in figure.legends[0].get_texts()]


def test_each_joint_has_a_row_and_each_quantity_a_column():
    figure = motion_figure([motion(scale=0.9)], "a run")
    labels = [axes.get_ylabel() for axes in figure.axes]
    assert [label for label in labels if "[" in label and "energy" not in label] == [
        "position [rad]", "position [m]", "error [mrad]", "error [mm]", "effort [N m]", "effort [N]", "tip error [mm]"]
    error, = (line.get_ydata() for line in axes_of(figure, "error [mrad]")[0].lines[:1])
    np.testing.assert_allclose(error, 100.0 * Q[:, 0])
    assert legend(figure) == ["measured", "desired", "pd", "computed_torque"]
    assert len(axes_of(figure, "energy")) == 1 and sum(axes.name == "3d" for axes in figure.axes) == 1


def test_a_path_in_a_plane_is_drawn_in_it_and_the_tip_has_an_error():
    flat = Curves(TIME, np.column_stack([Q[:, 0], np.full_like(TIME, 0.3), Q[:, 1]]))
    wanted = Curves(TIME, flat.values + [0.003, 0.0, 0.004])
    figure = motion_figure([replace(motion(), tip=flat, desired_tip=wanted)], "planar")
    assert not any(axes.name == "3d" for axes in figure.axes)
    path, = (axes for axes in figure.axes if axes.get_title() == "path of the tip link [m]")
    assert (path.get_xlabel(), path.get_ylabel()) == ("x", "z")
    error, = (line.get_ydata() for line in axes_of(figure, "tip error")[0].lines)
    np.testing.assert_allclose(error, 5.0)


def test_runs_that_lie_over_each_other_show_their_difference():
    one, alike, other = (replace(motion(str(scale), scale), error=None) for scale in (1.0, 1.01, 2.0))
    line, = axes_of(motion_figure([one, alike], "alike"), "difference [mrad]")[0].lines
    np.testing.assert_allclose(line.get_ydata(), 10.0 * Q[:, 0], atol=1e-9)
    assert not axes_of(motion_figure([one, other], "apart"), "difference")
    assert not axes_of(motion_figure([motion("one"), motion("two", 1.01)], "errors tell it"), "difference")


def test_a_run_called_as_its_only_law_stands_once_in_the_legend():
    figure = motion_figure([replace(motion(name), controllers=[(name, 0.0, 2.0)]) for name in ("before", "after")], "")
    assert legend(figure) == ["before", "after", "desired"]
    assert not figure.axes[0].texts


def test_a_law_has_one_colour_wherever_it_is_in_force_and_its_name_where_there_is_room():
    figure = motion_figure([motion()], "a run")
    strip = figure.axes[0]
    colors = [bar.get_facecolor() for bar in strip.patches]
    assert colors[0] == colors[2] != colors[1]
    assert [text.get_text() for text in strip.texts] == ["pd", "pd"], "the middle one is too short for its name"
    shaded = [patch.get_facecolor()[:3] for patch in axes_of(figure, "position [rad]")[0].patches]
    assert shaded == [color[:3] for color in colors]


def test_the_limit_is_shown_where_there_is_one():
    turn, = axes_of(motion_figure([motion()], "a run"), "effort [N m]")
    slide, = axes_of(motion_figure([motion()], "a run"), "effort [N]")
    assert {float(line.get_ydata()[0]) for line in turn.lines[1:]} == {-12.0, 12.0} and len(slide.lines) == 1
    assert turn.get_title("right") == "at most 83% of 12" and not slide.get_title("right")


def test_two_runs_are_in_one_figure_and_have_a_strip_each():
    figure = motion_figure([motion("first"), motion("second", 0.5)], "two runs")
    position, = axes_of(figure, "position [rad]")
    assert [line.get_color() for line in position.lines] == ["tab:blue", "black", "tab:orange", "black"]
    assert [label.get_text() for label in figure.axes[0].get_yticklabels()] == ["first", "second"]
    assert legend(figure)[:3] == ["first", "second", "desired"]


def test_what_a_run_lacks_is_left_out():
    bare = replace(motion(), desired=None, error=None, effort=None, energies=None, tip=None, desired_tip=None)
    figure = motion_figure([bare], "positions only")
    assert [axes.get_ylabel() for axes in figure.axes if axes.get_ylabel()] == ["position [rad]", "position [m]"]


def test_noise_does_not_fill_an_axis():
    """An arm that stands still: rounding noise is drawn as a flat line, larger values as they are."""
    noise = Curves(TIME, 0.5 + 1e-6 * np.sin(50.0 * Q))
    error = replace(noise, values=noise.values - 0.5)
    still = replace(motion(), position=noise, desired=None, error=error, effort=noise, tip=None, desired_tip=None)
    figure = motion_figure([still], "at rest")
    for label, least in (("position", 1e-3), ("error", 1.0), ("effort", 1.0)):
        low, high = axes_of(figure, label)[0].get_ylim()
        assert high - low == pytest.approx(least) and low < (0.0 if label == "error" else 0.5) < high
    low, high = axes_of(motion_figure([motion()], "moving"), "position")[0].get_ylim()
    assert high - low > 0.9


@pytest.mark.parametrize("ending", few(["png", "svg"], 1))
def test_pictures(tmp_path, ending):
    path = tmp_path / f"it.{ending}"
    save_motions([motion()], path, "a run")
    assert (imread(path).std() > 0.01) if ending == "png" else path.read_text().lstrip().startswith("<?xml")


def test_other_joints_and_unknown_formats_are_refused(tmp_path):
    with pytest.raises(InputError, match="runs of one robot.*turn, slide in 'one' and a, b in 'other'"):
        motion_figure([motion(), replace(motion("other"), joint_names=["a", "b"])], "two robots")
    with pytest.raises(InputError, match=r"it\.xyz.*xyz"):
        save_motions([motion()], tmp_path / "it.xyz", "a run")


def test_terms_of_the_efforts_have_a_column_and_names():
    terms = {"feedback": Curves(TIME, 7.0 * Q), "gravity": Curves(TIME, 3.0 * Q)}
    figure = motion_figure([replace(motion(), terms=terms)], "terms")
    feedback, gravity = axes_of(figure, "terms [N m]")[0].lines
    np.testing.assert_allclose([feedback.get_ydata(), gravity.get_ydata()], [7.0 * Q[:, 0], 3.0 * Q[:, 0]])
    assert {"feedback", "gravity"} <= set(legend(figure)) and axes_of(figure, "terms [N]")
    with pytest.raises(InputError, match="expected one run for the terms of its efforts, received 2"):
        motion_figure([replace(motion(), terms=terms), motion("two")], "two")
