# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""The picture of the performance of laws."""

from dataclasses import replace

import numpy as np
from matplotlib.figure import Figure

from robodyn_ros import Robot
from robodyn_ros.description.resources import robot_file
from robodyn_ros.simulation.standard_motion import excursion
from robodyn_ros.toolbox.plots.performance_figure import save_performances
from robodyn_ros.toolbox.study.performance import perform

ROBOT = Robot.from_urdf(robot_file("scara"))
MOTION = excursion(ROBOT)


def test_the_picture_shows_error_effort_work_and_saturation(tmp_path, monkeypatch):
    done, figures = [perform(ROBOT, name, MOTION) for name in ("pd", "pd_gravity")], []
    done[1] = replace(done[1], effort_share=done[1].effort_share / np.abs(done[1].effort_share).max())
    monkeypatch.setattr(Figure, "savefig", lambda figure, *_, **__: figures.append(figure))
    save_performances(done, tmp_path / "it.png", "two laws")
    curves, dots = figures[0].axes[:2], figures[0].axes[2:]
    assert all(len(axis.lines) == 2 for axis in curves)
    assert {text.get_text() for text in figures[0].legends[0].get_texts()} == {"pd", "pd_gravity"}
    done.sort(key=lambda one: np.mean(one.tip_error**2))
    assert [label.get_text() for label in dots[0].get_yticklabels()] == [one.controller for one in done]
    assert {axis.get_xlabel(): axis.lines[0].get_xdata().tolist() for axis in dots} == {
        "RMS tip error [mm]": [1e3 * np.sqrt(np.mean(one.tip_error**2)) for one in done],
        "RMS effort [% of limit]": [1e2 * np.sqrt(np.mean(one.effort_share**2)) for one in done],
        "work [J]": [one.work for one in done],
        "saturated [% of time]": [1e2 * one.saturated for one in done],
    }
    assert {one.controller for one in done if one.saturated} == {"pd_gravity"}
