"""What the documents say of controllers is so: the one in 20 lines runs, every parameter is in the table."""

import re
from pathlib import Path

import numpy as np
import pytest
from closed_loop import simulate

from robodyn_ros import Robot
from robodyn_ros.control import Unit
from robodyn_ros.control.registry import controller_names, load_controller, make_controller
from robodyn_ros.resources import robot_file

ROOT = Path(__file__).parents[2]
OURS = [name for name in controller_names() if load_controller(name).__module__.startswith("robodyn_ros.")]


def test_the_readmes_controller_runs(tmp_path, monkeypatch):
    (source,) = re.findall(r"```python\n(# my_controllers\.py.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)
    assert len([line for line in source.splitlines() if line.strip()]) <= 20
    (tmp_path / "my_controllers.py").write_text(source)
    monkeypatch.syspath_prepend(tmp_path)
    robot = Robot.from_urdf(robot_file("arm6"))
    controller = make_controller("my_controllers:PDGravity", robot)
    goal = np.array([0.3, -1.0, 1.0, 0.2, 0.1, 0.0])
    _, q, v = simulate(robot, controller, q=goal, q_d=goal, duration=0.05)
    np.testing.assert_allclose(q[-1], goal, atol=1e-6)
    np.testing.assert_allclose(v[-1], 0.0, atol=1e-6)


@pytest.mark.parametrize("name", OURS)
def test_every_parameter_is_in_the_table(name):
    text = (ROOT / "docs" / "controllers.md").read_text()
    assert f"| `{name}` |" in text and f"### `{name}`\n" in text
    for field, declaration in load_controller(name).Parameters.declarations().items():
        row = f"`{name}.gains.<joint>.{field}`" if declaration.per_joint else f"`{name}.{field}`"
        unit = declaration.unit
        expected = f"{unit.turning} ({unit.sliding})" if isinstance(unit, Unit) else unit
        expected = expected.replace("^2", "²").replace("^3", "³")
        assert f"| {row} | {expected} |" in text
