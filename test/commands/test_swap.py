"""The swap command, the README's own controller, and swaps at every save."""

import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from ros_process import RosProcess, RosTest

from robodyn_interfaces.msg import ControllerState

ROOT = Path(__file__).parents[2]


def robodyn(*arguments):
    """A robodyn command that has run to its end."""
    return subprocess.run([sys.executable, "-m", "robodyn_ros", *arguments], cwd=ROOT, capture_output=True, text=True,
                          timeout=120, check=False)


@pytest.fixture
def own_controller(tmp_path, monkeypatch):
    """The controller that the README writes, on the PYTHONPATH."""
    code = next(block for block in re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)
                if "my_controllers.py" in block)
    (tmp_path / "my_controllers.py").write_text(code)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path), prepend=":")
    return "my_controllers:PDGravity"


def test_readme_controller_is_swapped_in_and_cancels_the_sag(own_controller):
    start = {"initial_position.joint1": 0.4, "initial_position.joint2": 0.3}
    with (RosProcess("hardware", {"robot": "planar_2r", "time_mode": "lockstep", **start}),
          RosProcess("controller", {"robot": "planar_2r"}), RosTest() as ros):
        states = ros.record(ControllerState, "controller/controller_state")

        def sag():
            return max(abs(error) for error in states[-1].error.positions)

        ros.wait_for(lambda: states and sag() > 0.01, "the offset of pd")
        assert robodyn("swap", own_controller).returncode == 0
        ros.wait_for(lambda: states[-1].controller == own_controller and sag() < 1e-4, "the offset's end")

        refused = robodyn("swap", "my_controllers:Nothing")
        assert refused.returncode == 1
        assert "my_controllers" in refused.stderr and "Nothing" in refused.stderr
        assert "Traceback" not in refused.stderr
        before = len(states)
        ros.wait_for(lambda: len(states) > before + 2, "the controller going on")
        assert states[-1].controller == own_controller


def test_swap_without_a_controller_node_says_so():
    result = robodyn("swap", "pd", "--node", "/nobody")
    assert result.returncode == 1
    assert "no node '/nobody'" in result.stderr


def test_swap_of_what_is_no_controller_node_says_so():
    result = robodyn("swap", "pd", "--node", "the controller")
    assert result.returncode == 1
    assert "robodyn: error: 'the controller' is no name of a node" in result.stderr
    assert "Traceback" not in result.stderr
    with RosProcess("hardware", {"robot": "planar_2r"}):
        result = robodyn("swap", "pd", "--node", "/hardware")
    assert result.returncode == 1
    assert "no parameter 'controller'" in result.stderr


PLUGIN = """
import numpy as np
from robodyn_ros.control import Controller

class Saved(Controller):
    def update(self, state, reference):
        return np.full(2, 0.125)
"""


def test_watch_swaps_at_every_save_and_tells_why_an_edit_is_refused(tmp_path, monkeypatch):
    monkeypatch.setenv("PYTHONPATH", str(tmp_path), prepend=":")
    file, name = tmp_path / "saved_plugin.py", "saved_plugin:Saved"
    file.write_text(PLUGIN)
    with (RosProcess("hardware", {"robot": "planar_2r", "time_mode": "lockstep"}),
          RosProcess("controller", {"robot": "planar_2r"}), RosTest() as ros):
        states = ros.record(ControllerState, "controller/controller_state")
        ros.wait_for(lambda: states, "a controller state")

        def wait_for_effort(value):
            seen = len(states)
            ros.wait_for(lambda: any(state.controller == name and np.allclose(state.output, value)
                                     for state in states[seen:]), f"efforts of {value}")

        script = (f"import sys; from robodyn_ros.commands.command_line import main; "
                  f"sys.exit(main(['swap', '--watch', '{name}']))")
        command = RosProcess("swap", command=("-c", script))
        with command:
            wait_for_effort(0.125)
            command.wait_for_output(f"watching {file}; Ctrl-C ends")
            file.write_text(PLUGIN.replace("0.125", "0.25"))
            wait_for_effort(0.25)

            temporary = tmp_path / "saved_plugin.py~"  # as editors do that keep the old file until the new one is whole
            temporary.write_text(PLUGIN.replace("0.125", "0.5"))
            os.replace(temporary, file)
            wait_for_effort(0.5)

            file.write_text(PLUGIN[:PLUGIN.index("0.125")])  # half written
            command.wait_for_output(f"({file}, line 7: return np.full(2,)")
            wait_for_effort(0.5)
            file.write_text(PLUGIN.replace("0.125", "0.75"))
            wait_for_effort(0.75)
            ros.wait_for(lambda: command.output().count(f"controller '{name}' is in force") == 4, "word of each swap")
            assert command.output().count("watching") == 1, "printed again only if the watched files change"
            command.stop(signal.SIGINT)


def test_watch_needs_a_source_file():
    result = robodyn("swap", "--watch", "no_such_module:Mine")
    assert result.returncode == 1
    assert "there is no source file of module 'no_such_module' on the PYTHONPATH" in result.stderr
