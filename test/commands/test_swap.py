# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""The swap command, the README's own controller, and swaps at every save."""

import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from ros_process import RosProcess, RosTest, run_robodyn

from robodyn_interfaces.msg import ControllerState

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder on the PYTHONPATH, with the controller that the README writes."""
    code = next(block for block in re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)
                if "my_controllers.py" in block)
    folder = tmp_path_factory.mktemp("plugins")
    (folder / "my_controllers.py").write_text(code)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", str(folder), prepend=":")
        yield folder


@pytest.fixture(scope="module")
def graph(folder):
    """Hardware and a pd controller in lockstep, and a node of the test's own that hears the controller."""
    start = {"initial_position.joint1": 0.4, "initial_position.joint2": 0.3}
    pace = {"time_mode": "lockstep", "update_rate": 200, "lockstep_speed_limit": 2.0}
    with (RosProcess("hardware", {"robot": "planar_2r", **pace, **start}),
          RosProcess("controller", {"robot": "planar_2r"}), RosTest() as ros):
        ros.states = ros.record(ControllerState, "controller/controller_state")
        ros.wait_for(lambda: ros.states, "a controller state")
        yield ros


def test_readme_controller_is_swapped_in_and_cancels_the_sag(graph):
    own_controller, states = "my_controllers:PDGravity", graph.states

    def sag():
        return max(abs(error) for error in states[-1].error.positions)

    graph.wait_for(lambda: sag() > 0.01, "the offset of pd")
    assert run_robodyn("swap", own_controller).returncode == 0
    graph.wait_for(lambda: states[-1].controller == own_controller and sag() < 1e-4, "the offset's end")

    refused = run_robodyn("swap", "my_controllers:Nothing")
    assert refused.returncode == 1
    assert "my_controllers" in refused.stderr and "Nothing" in refused.stderr
    assert "Traceback" not in refused.stderr
    before = len(states)
    graph.wait_for(lambda: len(states) > before + 2, "the controller going on")
    assert states[-1].controller == own_controller


@pytest.mark.long
def test_a_package_of_new_controller_swaps_in_by_its_name(graph, folder, tmp_path):
    assert run_robodyn("new-controller", "swapped_law", "--folder", str(tmp_path)).returncode == 0
    subprocess.run([sys.executable, "-m", "pip", "install", "-q", "--no-build-isolation", "--no-deps", "--no-index",
                    "--target", folder, tmp_path / "swapped_law"], check=True, capture_output=True, text=True)
    swapped = run_robodyn("swap", "swapped_law")
    assert swapped.returncode == 0, swapped.stderr
    graph.wait_for(lambda: graph.states[-1].controller == "swapped_law", "the law of the package")


def test_swap_without_a_controller_node_says_so():
    result = run_robodyn("swap", "pd", "--node", "/nobody")
    assert result.returncode == 1
    assert "no node '/nobody'" in result.stderr


def test_swap_of_what_is_no_controller_node_says_so(graph):
    result = run_robodyn("swap", "pd", "--node", "the controller")
    assert result.returncode == 1
    assert "robodyn: error: 'the controller' is no name of a node" in result.stderr
    assert "Traceback" not in result.stderr
    result = run_robodyn("swap", "pd", "--node", "/hardware")
    assert result.returncode == 1
    assert "no parameter 'controller'" in result.stderr


PLUGIN = """
import numpy as np
from robodyn_ros.control import Controller

class Saved(Controller):
    def update(self, state, reference):
        return np.full(2, 0.125)
"""


def test_watch_swaps_at_every_save_and_tells_why_an_edit_is_refused(graph, folder):
    file, name, states = folder / "saved_plugin.py", "saved_plugin:Saved", graph.states
    file.write_text(PLUGIN)

    def wait_for_effort(value):
        graph.wait_for(states.first_from_now(lambda state: state.controller == name
                                             and np.allclose(state.output, value)), f"efforts of {value}")

    script = (f"import sys; from robodyn_ros.commands.command_line import main; "
              f"sys.exit(main(['swap', '--watch', '{name}']))")
    command = RosProcess("swap", command=("-c", script))
    with command:
        wait_for_effort(0.125)
        command.wait_for_output(f"watching {file}; Ctrl-C ends")
        file.write_text(PLUGIN.replace("0.125", "0.25"))
        wait_for_effort(0.25)

        temporary = folder / "saved_plugin.py~"  # as editors do that keep the old file until the new one is whole
        temporary.write_text(PLUGIN.replace("0.125", "0.5"))
        os.replace(temporary, file)
        wait_for_effort(0.5)

        file.write_text(PLUGIN[:PLUGIN.index("0.125")])  # half written
        command.wait_for_output(f"({file}, line 7: return np.full(2,)")
        wait_for_effort(0.5)
        file.write_text(PLUGIN.replace("0.125", "0.75"))
        wait_for_effort(0.75)
        graph.wait_for(lambda: command.output().count(f"controller '{name}' is in force") == 4, "word of each swap")
        assert command.output().count("watching") == 1, "printed again only if the watched files change"
        command.stop(signal.SIGINT)


FAILING = """
import numpy as np
from robodyn_ros.control import Controller

class Fails{ticks}(Controller):
    def update(self, state, reference):
        self.ticks = getattr(self, "ticks", 0) + 1
        return np.full(2, np.nan if self.ticks > {ticks} else 0.0)
"""


@pytest.mark.parametrize("ticks", [10, 40])
def test_a_law_that_is_dropped_after_the_swap_is_told_with_the_reason(graph, folder, ticks):
    (folder / f"failing_{ticks}.py").write_text(FAILING.format(ticks=ticks))
    name = f"failing_{ticks}:Fails{ticks}"
    result = run_robodyn("swap", name)
    assert result.returncode == 1 and "in force" not in result.stdout
    assert f"robodyn: error: controller '{name}' was dropped, 'damping' took over: " in result.stderr
    assert "nan" in result.stderr and "Traceback" not in result.stderr
    graph.wait_for(lambda: "fallback: controller" in graph.states[-1].intervention, "the same words in the states")
    assert run_robodyn("swap", "pd").stdout == "controller 'pd' is in force, compiled\n"
    graph.wait_for(lambda: not graph.states[-1].intervention, "the end of the fallback")


def test_watch_tells_a_drop_long_after_the_swap(graph, folder):
    (folder / "failing_late.py").write_text(FAILING.format(ticks=600))
    script = ("import sys; from robodyn_ros.commands.command_line import main; "
              "sys.exit(main(['swap', '--watch', 'failing_late:Fails600']))")
    with RosProcess("swap", command=("-c", script)) as command:
        command.wait_for_output("controller 'failing_late:Fails600' is in force")
        command.wait_for_output("controller 'failing_late:Fails600' was dropped, 'damping' took over: ")
        command.stop(signal.SIGINT)
    run_robodyn("swap", "pd")


def test_watch_needs_a_source_file():
    result = run_robodyn("swap", "--watch", "no_such_module:Mine")
    assert result.returncode == 1
    assert "there is no source file of module 'no_such_module' on the PYTHONPATH" in result.stderr
