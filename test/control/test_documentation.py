# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Statements of the documents on controllers: the one in 20 lines runs, every law has a section."""

import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import yaml
from closed_loop import simulate

from robodyn_ros import Robot, rollout
from robodyn_ros.commands.command_line import main
from robodyn_ros.control.plugins.registry import GROUP, controller_names, load_controller, make_controller
from robodyn_ros.description.resources import robot_file
from robodyn_ros.simulation.standard_motion import excursion

ROOT = Path(__file__).parents[2]
OURS = [name for name in controller_names() if load_controller(name).__module__.startswith("robodyn_ros.")]


def example(document, first_line):
    """The Python block of a document that begins with this comment."""
    (source,) = re.findall(rf"```python\n(# {re.escape(first_line)}.*?)```", (ROOT / document).read_text(), re.DOTALL)
    return source


EXAMPLES = (("README.md", "my_controllers.py"), ("docs/how_to/write_a_law.md", "my_robot_control/filtered_pd.py"))


@pytest.fixture(scope="module")
def cache(tmp_path_factory):
    return tmp_path_factory.mktemp("mypy")


@pytest.mark.lint
@pytest.mark.parametrize(("function", "errors"), [("dynamics.gravity", 0), ("dynamics.gravty", 1)])
def test_examples_pass_a_strict_type_checker(tmp_path, cache, function, errors):
    """As they stand; and the checker sees the package's types, so that a wrong name is an error."""
    for document, first_line in EXAMPLES:
        name = first_line.replace("/", "_")
        (tmp_path / name).write_text(example(document, first_line).replace("dynamics.gravity", function))
    done = subprocess.run([sys.executable, "-m", "mypy", "--strict", "--cache-dir", str(cache), "."],
                          cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == bool(errors), done.stdout + done.stderr
    assert done.stdout.count('has no attribute "gravty"') == errors * len(EXAMPLES)


def test_the_readmes_controller_runs(tmp_path, monkeypatch):
    source = example("README.md", "my_controllers.py")
    assert len([line for line in source.splitlines() if line.strip()]) <= 20
    (tmp_path / "my_controllers.py").write_text(source)
    monkeypatch.syspath_prepend(tmp_path)
    robot = Robot.from_urdf(robot_file("arm6"))
    controller = make_controller("my_controllers:PDGravity", robot)
    goal = np.array([0.3, -1.0, 1.0, 0.2, 0.1, 0.0])
    _, q, v = simulate(robot, controller, q=goal, q_d=goal, duration=0.05)
    np.testing.assert_allclose(q[-1], goal, atol=1e-6)
    np.testing.assert_allclose(v[-1], 0.0, atol=1e-6)
    assert not controller.uncompiled_reason


@pytest.mark.long
def test_the_readmes_controller_in_rollout_compare_and_tune(tmp_path, monkeypatch, capsys):
    """Same gains and law as pd_gravity, and hence the same figures."""
    (tmp_path / "my_controllers.py").write_text(example("README.md", "my_controllers.py"))
    monkeypatch.syspath_prepend(tmp_path)
    name, robot = "my_controllers:PDGravity", Robot.from_urdf(robot_file("planar_2r"))
    ours, theirs = (rollout(robot, each, excursion(robot)) for each in (name, "pd_gravity"))
    np.testing.assert_array_equal(ours.q, theirs.q)
    assert ours.note == ""
    assert main(["compare", name, "pd_gravity", "--robot", "planar_2r", "--output", str(tmp_path / "it.png")]) == 0
    first, second = capsys.readouterr().out.splitlines()[3:5]
    assert first.split()[1:] == second.split()[1:] and first.split()[0] == name
    found = []
    for each in (name, "pd_gravity"):
        assert main(["tune", "--robot", "planar_2r", "--controller", each, "--generations", "2", "--population", "8",
                     "--output", str(tmp_path)]) == 0
        assert "cost" in capsys.readouterr().out
        values = yaml.safe_load((tmp_path / "parameters.yaml").read_text())["/**"]["ros__parameters"]
        assert values["controller"] == each
        found.append(values[each.rpartition(":")[2]]["gains"])
    assert found[0] == found[1]


def test_the_plugin_of_ones_own_is_found_by_name_and_runs_compiled(tmp_path, monkeypatch):
    """The walk-through of docs/how_to/write_a_law.md: its package, its entry point, its parameters, its law."""
    text = (ROOT / "docs" / "how_to" / "write_a_law.md").read_text()
    source = example("docs/how_to/write_a_law.md", "my_robot_control/filtered_pd.py")
    ((group, entry),) = re.findall(r'entry_points=\{"([\w.]+)": \["([^"]+)"\]\}', text)
    assert group == GROUP
    package, metadata = tmp_path / "my_robot_control", tmp_path / "my_robot_control-1.0.dist-info"
    for folder in (package, metadata):
        folder.mkdir()
    (package / "filtered_pd.py").write_text(source)
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: my-robot-control\nVersion: 1.0\n")
    (metadata / "entry_points.txt").write_text(f"[{group}]\n{entry}\n")
    monkeypatch.syspath_prepend(tmp_path)
    robot = Robot.from_urdf(robot_file("arm6"))
    controller = make_controller("filtered_pd", robot)
    assert {"gains.shoulder_pan_joint.p", "time_constant"} <= {row.name for row in controller.parameters.flat(robot)}
    goal = np.array([0.3, -1.0, 1.0, 0.2, 0.1, 0.0])
    _, q, v = simulate(robot, controller, q=goal + 0.1, q_d=goal, duration=1.5)
    assert not controller.uncompiled_reason
    np.testing.assert_allclose(q[-1], goal, atol=1e-2)


@pytest.mark.lint
@pytest.mark.parametrize("name", OURS)
def test_every_law_is_in_the_table_of_laws_and_has_a_section(name):
    text = (ROOT / "docs" / "controllers.md").read_text()
    sections = [page for page in (ROOT / "docs").glob("laws-*.md") if f"\n## `{name}`\n" in page.read_text()]
    assert f"| `{name}` |" in text and len(sections) == 1
