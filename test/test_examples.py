# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Every script in examples/ runs as it stands; those of nodes share one graph. The notebooks run from top to bottom."""

import subprocess
import sys
from pathlib import Path

import pytest
from ros_process import DEADLINE, RosProcess

EXAMPLES = Path(__file__).parents[1] / "examples"
PRINTS = {
    "01_dynamics.py": "mass matrices:",
    "02_inverse_kinematics.py": "reached: False - out of reach",
    "03_compare_laws.py": "computed_torque:",
    "04_own_law.py": "rate   20/s: greatest error",
    "05_publish_a_trajectory.py": "elbow_joint is at 0.",
    "06_follow_a_trajectory.py": "result: 0",
    "07_dynamics_services.py": "tip in base_link:",
    "08_step_the_simulation.py": "0.200 s of simulated time later",
    "09_kept_solver.py": "greatest difference of their efforts: ",
}
"""What each script prints if it did what it is there for."""


@pytest.fixture(scope="module")
def graph():
    arguments = ["-m", "robodyn_ros", "simulate", "--robot", "arm6", "--controller", "computed_torque",
                 "--time-mode", "lockstep", "--speed-limit", "3"]
    with RosProcess("simulate", command=arguments) as process:
        yield process


def test_scripts_are_numbered_and_all_are_run():
    assert [path.name for path in sorted(EXAMPLES.glob("*.py"))] == list(PRINTS)


@pytest.mark.long
@pytest.mark.parametrize("name", PRINTS)
def test_script_runs(name, request, tmp_path):
    needs_graph = "robodyn simulate" in (EXAMPLES / name).read_text().split('"""')[1]
    graph = request.getfixturevalue("graph") if needs_graph else None
    done = subprocess.run([sys.executable, EXAMPLES / name], cwd=tmp_path, capture_output=True, text=True,
                          timeout=2 * DEADLINE)
    assert done.returncode == 0 and PRINTS[name] in done.stdout, done.stdout + done.stderr + (
        graph.output() if graph else "")


@pytest.mark.long
@pytest.mark.parametrize("notebook", sorted(EXAMPLES.glob("*.ipynb")), ids=lambda path: path.stem)
def test_notebook_runs(notebook, tmp_path):
    nbclient = pytest.importorskip("nbclient", reason="nbclient is not installed: make setup")
    nbformat = pytest.importorskip("nbformat")
    content = nbformat.read(notebook, as_version=4)
    nbformat.validate(content)
    nbclient.NotebookClient(content, timeout=2 * DEADLINE, resources={"metadata": {"path": str(tmp_path)}}).execute()
    pictures = [output for cell in content.cells for output in cell.get("outputs", [])
                if "image/png" in output.get("data", {})]
    assert len(pictures) >= 2
