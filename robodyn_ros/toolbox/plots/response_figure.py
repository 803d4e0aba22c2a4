# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Figure of the frequency responses of motors, measured and fitted: a column of magnitude and coherence for a joint."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from robodyn_ros.toolbox.identification.response_fit import MIN_COHERENCE, ResponseFit

_COLUMNS = 4


def save_responses(fit: ResponseFit, joints: Sequence[str], path: Path, title: str) -> None:
    """Draw the responses of all motors to their own torques into a PNG or SVG file.

    Args:
        fit: Of the responses.
        joints: Names of the n joints.
        path: The file.
        title: Heading.

    Raises:
        OSError: The file cannot be written.
    """
    measured, columns = fit.measured, min(len(joints), _COLUMNS)
    rows = -(-len(joints) // columns)
    figure = Figure(figsize=(max(3.2 * columns, 5.0) + 0.6, 3.4 * rows + 0.8), layout="constrained")
    FigureCanvasAgg(figure)
    figure.suptitle(title, parse_math=False)  # names are no formulas; labels of powers are
    grid = figure.subplots(2 * rows, columns, squeeze=False, sharex=True, height_ratios=[3.0, 1.0] * rows)
    for axes in grid.flat:
        axes.set_visible(False)
    for j, joint in enumerate(joints):
        magnitude, coherence = grid[2 * (j // columns):2 * (j // columns) + 2, j % columns]
        used = measured.used[:, j]
        magnitude.loglog(measured.frequency, np.abs(measured.response[:, j, j]), color="0.8", label="measured")
        magnitude.loglog(measured.frequency, np.where(used, np.abs(measured.response[:, j, j]), np.nan), color="0.4",
                         label="measured, used")
        magnitude.loglog(measured.frequency, np.abs(fit.fitted[:, j, j]), color="tab:blue", linewidth=1.0,
                         label="fitted")
        coherence.semilogx(measured.frequency, measured.coherence[:, j], color="0.4", linewidth=0.8)
        coherence.axhline(MIN_COHERENCE, color="tab:orange", linewidth=0.8)
        coherence.set_ylim(0.0, 1.05)
        if used.any():  # noise beside them hides the response
            shown = np.abs(np.concatenate([measured.response[used, j, j], fit.fitted[:, j, j]]))
            magnitude.set_ylim(0.5 * shown.min(), 2.0 * shown.max())
        if fit.springs.told[j]:
            magnitude.axvline(fit.antiresonance[j], color="tab:blue", linestyle=":", label="antiresonance")
        magnitude.set_title(joint, fontsize="small", loc="left", pad=3, parse_math=False)
        magnitude.set_title("" if fit.springs.told[j] else "not told", fontsize="x-small", loc="right", pad=3)
        for axes in (magnitude, coherence):
            axes.set_visible(True)
            axes.tick_params(labelsize="small")
            axes.margins(x=0.0)
        if j % columns == 0:
            magnitude.set_ylabel("acceleration / torque [1/(kg m²)]", fontsize="small")
            coherence.set_ylabel("coherence", fontsize="small")
        coherence.set_xlabel("frequency [Hz]", fontsize="small")
    handles = dict(zip(*reversed([list(each) for each in zip(*(
        pair for axes in grid[::2].flat for pair in zip(*axes.get_legend_handles_labels(), strict=True)),
        strict=True)]), strict=True))
    figure.legend(handles.values(), handles.keys(), loc="outside lower center", ncols=2, fontsize="small")
    figure.savefig(path, dpi=100)
