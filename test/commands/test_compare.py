# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Comparison of laws: the tables, the picture, refusals."""

import sys
from dataclasses import replace

import numpy as np
import pytest
import yaml

from robodyn_ros import Robot, rollout
from robodyn_ros.actuation.friction import Friction
from robodyn_ros.commands.command_line import main
from robodyn_ros.commands.compare import joint_table, stuck_joints, table
from robodyn_ros.description.model import Limits
from robodyn_ros.description.resources import robot_file
from robodyn_ros.simulation.plant_model import PlantModel
from robodyn_ros.simulation.standard_motion import excursion
from robodyn_ros.simulation.world_file import read_world
from robodyn_ros.toolbox.plots.performance_figure import save_performances
from robodyn_ros.toolbox.study.performance import Failure, compare, perform

ROBOT = Robot.from_urdf(robot_file("scara"))
MOTION = excursion(ROBOT)


def test_table_and_picture_name_every_law(tmp_path):
    done = [perform(ROBOT, name, MOTION) for name in ("pd_gravity", "computed_torque")]
    lines = table(done).splitlines()
    assert [line.split()[0] for line in lines[2:]] == ["pd_gravity", "computed_torque"]
    rms = 1e3 * np.sqrt(np.mean(done[0].tip_error ** 2))
    assert float(lines[2].split()[1]) == pytest.approx(rms, abs=1e-3)
    save_performances(done, tmp_path / "it.png", "two laws")
    assert (tmp_path / "it.png").read_bytes()[:4] == b"\x89PNG"


def test_joints_that_turn_and_that_slide_are_never_one_number():
    done = [perform(ROBOT, name, MOTION) for name in ("pd_gravity", "computed_torque")]
    first, _, row, *_ = table(done).splitlines()
    assert first.split("  ")[0] == "" and "joints [mrad]" in first and "joints [mm]" in first
    numbers = [float(word) for word in row.split()[1:]]
    turning, sliding = done[0].joint_error[:, [0, 1, 3]], done[0].joint_error[:, 2]
    assert numbers[2:6] == pytest.approx([1e3 * np.sqrt(np.mean(turning**2)), 1e3 * np.abs(turning).max(),
                                          1e3 * np.sqrt(np.mean(sliding**2)), 1e3 * np.abs(sliding).max()], abs=1e-3)
    lines = joint_table(done, ROBOT.joint_names).splitlines()
    assert [line.split()[1] for line in lines[1:]] == ["mrad", "mrad", "mm", "mrad"] and "stuck" not in "".join(lines)
    assert float(lines[3].split()[2]) == pytest.approx(1e3 * np.sqrt(np.mean(sliding**2)), abs=1e-3)


def test_a_joint_that_friction_holds_is_marked():
    friction = Friction.from_model(ROBOT.model)
    coulomb = friction.coulomb + np.array([0.0, 0.0, 1e4, 0.0])
    plant = PlantModel.from_description(ROBOT.model, friction=replace(friction, coulomb=coulomb, static=coulomb))
    held = perform(ROBOT, "pd", MOTION, plant)
    stuck = joint_table([held], ROBOT.joint_names).splitlines()
    assert [line.endswith("stuck") for line in stuck[1:]] == [False, False, True, False]
    assert stuck_joints([held], ROBOT.joint_names) == ROBOT.joint_names[2]
    assert stuck_joints([held, perform(ROBOT, "pd", MOTION)], ROBOT.joint_names) == f"{ROBOT.joint_names[2]} (pd)"


PLUGINS = """
import numpy as np
from robodyn_ros.control import Controller, JointReference, Law
from robodyn_ros.control.laws.pd import PD, PDParameters

class Branching(Law):
    Parameters = PDParameters

    @staticmethod
    def law(dynamics, parameters, state, reference):
        error = reference.q - state.q
        return parameters.p * (error if error[0] > 0.0 else 0.9 * error) - parameters.d * state.v

class Stateful(Controller):
    Parameters = PDParameters

    def activate(self, state):
        self.last = state.q

    def update(self, state, reference):
        velocity = (state.q - self.last) / state.period if state.period else state.v
        self.last = state.q
        return self.parameters.p * (reference.q - state.q) - self.parameters.d * velocity

class Diverging(PD):
    @staticmethod
    def law(dynamics, parameters, state, reference):
        return 1e200 * state.v**3 + 1e200

class Raises(Controller):
    def update(self, state, reference):
        raise ZeroDivisionError("at once")
"""


@pytest.mark.long
def test_any_controller_is_compared_and_one_that_fails_does_not_end_the_others(tmp_path, monkeypatch, capsys):
    (tmp_path / "compared_plugins.py").write_text(PLUGINS)
    monkeypatch.syspath_prepend(tmp_path)
    free = Robot(replace(ROBOT.model, joints=tuple(replace(joint, limits=Limits()) for joint in ROBOT.model.joints)))
    names = ["no_such_law", "compared_plugins:Diverging", "compared_plugins:Branching", "compared_plugins:Raises",
             "compared_plugins:Missing", "damping", "compared_plugins:Stateful", "pd"]
    results = compare(names, lambda name: perform(free, name, MOTION))
    assert [one.controller for one in results] == names
    reasons = {one.controller.rpartition(":")[2]: one.reason for one in results if isinstance(one, Failure)}
    assert reasons.keys() == {"no_such_law", "Diverging", "Raises", "Missing", "damping"}
    for name, words in (("no_such_law", "unknown controller"), ("Diverging", "diverged at about"),
                        ("Raises", "ZeroDivisionError: at once"), ("Missing", "cannot be imported"),
                        ("damping", "follow joints or poses")):
        assert words in reasons[name]
    lines = table(results).splitlines()
    failed = [name for name in names if name.rpartition(":")[2] in reasons]
    assert [line.split()[0] for line in lines[2:10]] == [name for name in names if name not in failed] + failed
    for name, line in zip(failed, lines[10 - len(failed):10], strict=True):
        assert line.endswith(f"failed: {reasons[name.rpartition(':')[2]]}")
    assert [line.split(" runs uncompiled, ")[0] for line in lines[10:]] == ["Branching", "Stateful"]
    assert all(" us per tick: " in line for line in lines[10:])
    picture = tmp_path / "it.png"
    assert main(["compare", "--robot", "scara", "--output", str(picture), names[0], names[3], names[2]]) == 1
    out = capsys.readouterr().out
    assert "failed: unknown controller" in out and "failed: controller 'Raises' fails at 0 s" in out
    assert picture.is_file()


def wall_on_the_way(robot, motion, folder, share=0.5):
    """World file of a wall across the way of the tip link, after a share of the way from the start to the far end."""
    path = np.array([robot.dynamics().forward_kinematics(motion.sample(time).q)[:3, 3]
                     for time in np.linspace(motion.start_time, motion.end_time, 50)])
    start = path[0]
    way = path[np.argmax(np.linalg.norm(path - start, axis=1))] - start
    file = folder / "wall.yaml"
    file.write_text(yaml.safe_dump({"surfaces": {"wall": {
        "shape": "plane", "position": (start + share * way).tolist(), "normal": (-way).tolist()}}}))
    return file


def test_laws_meet_the_surfaces_of_a_world(tmp_path, capsys):
    robot = Robot.from_urdf(robot_file("planar_2r"))
    motion = excursion(robot)
    file = wall_on_the_way(robot, motion, tmp_path)
    picture = tmp_path / "it.png"
    assert main(["compare", "pd_gravity", "--robot", "planar_2r", "--output", str(picture), "--world", str(file)]) == 0
    title, *_, row = capsys.readouterr().out.splitlines()[:-1]
    assert title.endswith("world wall.yaml")
    free, pressed = (rollout(robot, "pd_gravity", motion, motion.end_time + 0.3,
                             plant=PlantModel.from_description(robot.model, world=world))
                     for world in (None, read_world(file, robot.model)))
    tip = robot.dynamics().batch.forward_kinematics
    far, near = (1e3 * np.linalg.norm(tip(one.q)[:, :3, 3] - tip(one.reference.q)[:, :3, 3], axis=1).max()
                 for one in (pressed, free))
    assert float(row.split()[2]) == pytest.approx(far, abs=1e-3) and far > 2.0 * near


@pytest.mark.parametrize("command", ["compare", "tune"])
def test_a_world_that_cannot_be_taken_is_refused_in_one_line(command, tmp_path, capsys):
    robot = Robot.from_urdf(robot_file("planar_2r"))
    file = str(wall_on_the_way(robot, excursion(robot), tmp_path, share=-0.5))
    for options, words in (((file,), "inside surface 'wall'"), (("nowhere.yaml",), "nowhere.yaml"),
                           ((file, "--engine", "mujoco"), "world: has an effect only with engine robodyn")):
        assert main([command, "--robot", "planar_2r", "--output", str(tmp_path / "out.png"), "--controllers", "pd",
                     "--world", *options]) == 2
        output = capsys.readouterr()
        assert words in output.err and output.err.count("\n") == 1 and not output.out


def test_the_command_prints_the_table_and_writes_the_picture(tmp_path, capsys):
    picture = tmp_path / "new" / "compare.png"
    assert main(["compare", "pd", "computed_torque", "--robot", "planar_2r", "--output", str(picture)]) == 0
    out = capsys.readouterr().out
    assert "planar_2r" in out and "computed_torque" in out and str(picture) in out and picture.is_file()
    assert "gravity" not in out
    assert main(["compare", "damping", "--robot", "planar_2r", "--output", str(picture)]) == 2
    assert "received 'damping'" in capsys.readouterr().err
    assert main(["compare", "pd", "--robot", "planar_2r", "--output", str(picture.with_suffix(""))]) == 0
    assert f"written: {picture}" in capsys.readouterr().out
    assert main(["compare", "pd", "pd_gravity", "--robot", "planar_2r", "--terms", "--output", str(picture)]) == 0
    names, pd, pd_gravity = capsys.readouterr().out.split("effort [% of limit], RMS")[1].splitlines()[:3]
    assert names.split() == ["feedback", "limits", "gravity"] and len(pd.split()) == 3 and len(pd_gravity.split()) == 4
    assert main(["compare", "pd", "--robot", "planar_2r", "--output", str(picture.with_suffix(".doc"))]) == 2
    assert "compare: output: Format 'doc' is not supported" in capsys.readouterr().err
    assert main(["compare", "no_such_law", "--robot", "planar_2r"]) == 2
    assert "unknown controller 'no_such_law'" in capsys.readouterr().err


def test_the_tip_link_is_the_one_that_is_named(tmp_path, capsys, monkeypatch):
    tips = []
    monkeypatch.setattr("robodyn_ros.commands.compare.compare_robot", lambda robot, _: tips.append(robot.tip_link) or 0)
    assert main(["compare", "pd", "--robot", "scara"]) == 0
    assert main(["compare", "pd", "--robot", "scara", "--tip-link", "link3"]) == 0
    assert tips == ["tool0", "link3"]
    assert main(["compare", "pd", "--robot", "scara", "--tip-link", "link33"]) == 2
    assert "link33" in capsys.readouterr().err


def test_without_matplotlib_the_table_says_what_the_picture_needs(tmp_path, monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    assert main(["compare", "pd", "--robot", "planar_2r", "--output", str(tmp_path / "compare.png")]) == 0
    printed = capsys.readouterr().out
    assert "pd " in printed and printed.endswith(
        "no picture: the plots need Matplotlib, which is not installed: pip install matplotlib\n")
    assert not list(tmp_path.iterdir())
