# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Edit, swap, see: a plugin's file is edited while the simulation runs, over DDS, in lockstep."""

import textwrap

import numpy as np
import pytest
from controller_rig import Rig
from rcl_interfaces.srv import ListParameters

from robodyn_ros.control.plugins.registry import GROUP

PLUGIN = """
    from dataclasses import dataclass

    import numpy as np

    from helper_of_NAME import EFFORT
    from robodyn_ros.control import Controller, Parameters, scalar


    @dataclass(frozen=True, eq=False)
    class Gains(Parameters):
        factor: float = scalar(1.0, minimum=0.0, description="Factor on the efforts")
        offset: float = scalar(0.0, description="Added to the efforts", unit="N m")


    class NAME(Controller):
        Parameters = Gains

        def update(self, state, reference):
            return np.full(2, self.parameters.factor * EFFORT + self.parameters.offset)
"""


@pytest.fixture(scope="module")
def rig(tmp_path_factory, ros):
    """The nodes, with a folder on their path that has a plugin for each test; one of them is installed."""
    folder = tmp_path_factory.mktemp("plugins")
    for name in ("Edited", "Declared", "Installed", "Failing"):
        (folder / f"{name.lower()}.py").write_text(textwrap.dedent(PLUGIN).replace("NAME", name))
        (folder / f"helper_of_{name}.py").write_text("EFFORT = 0.25\n")
    metadata = folder / "installed-1.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: installed\nVersion: 1.0\n")
    (metadata / "entry_points.txt").write_text(f"[{GROUP}]\nshort_name = installed:Installed\n")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", str(folder), prepend=":")
        with Rig(ros, "planar_2r", "/edited") as rig:
            rig.folder = folder
            yield rig


def edit(file, old, new):
    text = file.read_text()
    assert old in text
    file.write_text(text.replace(old, new))


def effort(rig, name, value):
    """Wait for a controller that commands an effort."""
    rig.next(f"efforts of {value}", lambda s: s.controller == name and np.allclose(s.output, value, atol=1e-12))


def test_an_edited_plugin_is_swapped_in_anew(rig):
    name, plugin, helper = "edited:Edited", rig.folder / "edited.py", rig.folder / "helper_of_Edited.py"
    rig.set(controller=name)
    effort(rig, name, 0.25)
    edit(plugin, "* EFFORT", "* 2.0 * EFFORT")
    rig.set(controller=name)
    effort(rig, name, 0.5)
    edit(helper, "0.25", "0.5")
    rig.set(controller=name)
    effort(rig, name, 1.0)

    edit(plugin, "def update(self, state, reference):", "def update(self, state, reference:")
    reason = rig.refuse(controller=name)
    assert f"SyntaxError: '(' was never closed ({plugin}, line 19: def update(self, state, reference:)" in reason
    effort(rig, name, 1.0)
    edit(plugin, "reference:", "reference):")
    edit(plugin, "np.full(2, ", "np.full(2, self.nonsense + ")
    reason = rig.refuse(controller=name)
    assert f"({plugin}, line 20: return np.full(2, self.nonsense" in reason
    effort(rig, name, 1.0)
    rig.set(**{"Edited.factor": 0.5})
    effort(rig, name, 0.5)
    rig.set(controller="pd")
    edit(plugin, "self.nonsense", "0.25")
    rig.set(controller=name)
    effort(rig, name, 0.75)


def test_parameters_follow_an_edit_and_keep_what_was_set(rig):
    name, plugin = "declared:Declared", rig.folder / "declared.py"
    rig.set(controller=name)
    rig.set(**{"Declared.factor": 2.0})
    effort(rig, name, 0.5)
    edit(plugin, "scalar(1.0,", "scalar(9.0,")
    edit(plugin, "offset: float = scalar(0.0,", "bias: float = scalar(0.125,")
    edit(plugin, "self.parameters.offset", "self.parameters.bias")
    rig.set(controller=name)
    effort(rig, name, 0.625)
    assert rig.get("Declared.factor", "Declared.bias") == [2.0, 0.125]
    names = rig.ros.call(ListParameters, f"{rig.namespace}/controller/list_parameters").result.names
    assert {name for name in names if name.startswith("Declared.")} == {"Declared.factor", "Declared.bias"}
    edit(plugin, "scalar(9.0, minimum=0.0", "scalar(9.0, minimum=5.0")
    assert "'Declared.factor': expected a finite number from 5 to 1e+09, received 2.0" in rig.refuse(controller=name)
    effort(rig, name, 0.625)
    rig.set(**{"Declared.factor": 6.0})
    rig.set(controller=name)
    effort(rig, name, 1.625)


def test_an_installed_plugin_is_swapped_in_anew(rig):
    rig.set(controller="short_name")
    effort(rig, "short_name", 0.25)
    edit(rig.folder / "helper_of_Installed.py", "0.25", "0.75")
    rig.set(controller="short_name")
    effort(rig, "short_name", 0.75)


def test_a_plugin_that_fails_later_is_told_with_its_line_and_what_runs_uncompiled_once(rig):
    name, plugin = "failing:Failing", rig.folder / "failing.py"
    edit(plugin, "    def update", "    ticks = 0\n\n    def update")
    edit(plugin, "return np", "self.ticks += 1\n        return 1.0 / (self.ticks < 50) * np")
    rig.set(controller=name)
    status, values = rig.status(lambda status, values: "ZeroDivisionError" in status.message)
    assert f"({plugin}, line 23: return 1.0 / (self.ticks < 50) * np.full" in status.message
    assert values["controller"] == "damping" and values["uncompiled"] == "no"
    edit(plugin, "1.0 / (self.ticks < 50) * ", "")
    rig.set(controller=name)
    _, values = rig.status(lambda _, values: values["uncompiled"] != "no")
    assert "only a Law can be compiled" in values["uncompiled"]
    assert rig.nodes["controller"].output().count(f"controller '{name}' runs uncompiled: ") == 1
