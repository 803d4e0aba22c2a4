# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""The search for gains: searched fields, better gains as a result, and the files of `robodyn tune`."""

import re
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pytest
import yaml

from robodyn_ros import InputError, Robot
from robodyn_ros.commands.command_line import main
from robodyn_ros.commands.study_file import study_from_mapping
from robodyn_ros.commands.tune import curves_of
from robodyn_ros.control.contract.parameters import Parameters, scalar
from robodyn_ros.control.plugins.registry import make_controller
from robodyn_ros.description.resources import robot_file
from robodyn_ros.toolbox.study.gain_search import search_gains
from robodyn_ros.toolbox.study.gain_space import GAINS, GainSpace, searched_fields
from robodyn_ros.toolbox.study.gain_task import INFEASIBLE, GainTask, Goal
from robodyn_ros.toolbox.study.study import run_sample


def task_of(*, law="pd", fields=None, span=10.0, smoothness=0.01, threads=1, **content):
    """The task for one robot."""
    study = study_from_mapping({"robot": "planar_2r", "laws": [law], "samples": 1, **content}, "", Path("one"))
    own = study.laws[law].controller.parameters
    space = GainSpace(own, searched_fields(own, fields), np.log(span))
    return GainTask(study, law, Goal(smoothness=smoothness), space, threads=threads)


def run(task, parameters=None):
    return run_sample(task.study, task.pairs[0], 0, parameters)


def total(rollout):
    return np.sqrt(np.mean(rollout.score.rms_error**2))


def test_a_law_with_gains_for_no_joint_is_told_to_name_them():
    @dataclass(frozen=True, eq=False)
    class Scalars(Parameters):
        rate: float = scalar(3.0, description="Rate")

    with pytest.raises(InputError, match="for each joint to search: name others, such as --gains rate"):
        searched_fields(Scalars())


def test_what_is_found_tracks_better():
    task = task_of(smoothness=0.0)
    seen = []
    found = search_gains(task, 16, 6, on_generation=lambda *each: seen.append(each))
    assert found.cost_before == pytest.approx(total(run(task)))
    assert found.cost_after == pytest.approx(total(run(task, found.after)))
    assert found.cost_after < 0.5 * found.cost_before
    assert found.rollouts == 6 * 16
    assert [number for number, _ in seen] == [1, 2, 3, 4, 5, 6]
    assert list(found.costs) == [best for _, best in seen] == sorted(found.costs, reverse=True)
    assert found.costs[-1] == pytest.approx(found.cost_after, rel=1e-3)  # up to the rounding to four digits
    for name in ("p", "d"):
        ratio = getattr(found.after, name) / getattr(found.before, name)
        assert (ratio > 0.0999).all() and (ratio < 10.001).all()
        assert [float(f"{value:.4g}") for value in getattr(found.after, name)] == getattr(found.after, name).tolist()


def test_curves_of_a_rollout_have_its_energies():
    rollout, robot = run(task_of()), Robot.from_urdf(robot_file("planar_2r"))
    kinetic, potential = curves_of(rollout, robot, "before").energies.values.T
    tick = len(rollout.time) // 2
    q, v, dynamics = rollout.q[tick], rollout.v[tick], robot.dynamics()
    assert kinetic[tick] == pytest.approx(0.5 * v @ dynamics.mass_matrix(q) @ v) != 0.0
    assert potential[tick] == pytest.approx(dynamics.potential_energy(q))


def test_the_same_seed_finds_the_same():
    one, same, other = (search_gains(task_of(threads=threads), 8, 2, seed)
                        for seed, threads in ((3, 1), (3, 2), (4, 1)))
    assert one.costs == same.costs != other.costs
    np.testing.assert_array_equal(one.after.p, same.after.p)


def test_smooth_efforts_have_their_price():
    tasks = [task_of(smoothness=weight) for weight in (0.0, 10.0)]
    rough, smooth = (run(task, search_gains(task, 16, 6).after) for task in tasks)
    assert (smooth.score.rms_effort_change < 0.5 * rough.score.rms_effort_change).all()
    assert total(smooth) > total(rough)


def test_it_never_gets_worse():
    found = search_gains(task_of(), 16, 12).after
    values = {"p": found.p.tolist(), "d": found.d.tolist()}
    given = {f"gains.joint{joint + 1}.{name}": values[name][joint] for name in values for joint in range(2)}
    again = search_gains(task_of(laws={"pd": {"parameters": given}}, span=1000.0), 5, 1)
    np.testing.assert_array_equal(again.before.p, found.p)
    assert again.cost_after <= again.cost_before


@pytest.fixture
def unlimited(tmp_path):
    """A robot whose efforts have no limits."""
    path = tmp_path / "unlimited.urdf"
    path.write_text(re.sub('type="revolute"', 'type="continuous"',
                           re.sub("<limit [^>]*/>", "", Path(robot_file("planar_2r")).read_text())))
    return str(path)


def test_gains_that_diverge_are_no_obstacle(unlimited):
    """A million times the default damping is more than a sampled controller can give."""
    task = task_of(robot=unlimited, fields=["d"], span=1e6)
    assert task.costs(np.full((1, 2), task.space.reach))[0] > INFEASIBLE
    found = search_gains(task, 8, 2)
    assert np.isfinite(found.costs).all()
    assert found.cost_after <= found.cost_before


def test_joints_without_effort_limits_count_by_their_efforts_with_the_gains_before(unlimited):
    task = task_of(robot=unlimited)
    (found,), = task.evaluated([task.study.laws["pd"].controller.parameters])
    score = run(task).score
    assert found["worst_effort"] == pytest.approx(1.0)
    assert found["effort_change"] == pytest.approx(np.sqrt(np.mean((score.rms_effort_change / score.worst_effort)**2)))


@pytest.mark.parametrize(("controller", "fields"), [
    ("pd", ("p", "d")), ("pid", ("p", "d", "i")), ("computed_torque", ("p", "d")), ("damping", ("d",)),
    ("task_space_pd", ("d", "translation", "rotation")),
])
def test_what_is_searched_by_default(controller, fields):
    parameters = make_controller(controller, Robot.from_urdf(robot_file("arm6"))).parameters
    assert searched_fields(parameters) == fields
    assert set(fields) <= set(GAINS)
    assert searched_fields(parameters, ["d"]) == ("d",)


def test_fields_that_cannot_be_searched_are_refused():
    with pytest.raises(InputError, match="PDParameters: expected some of d, p, which are positive, received 'k'"):
        task_of(fields=["k"])


def test_gains_of_zero_cannot_be_searched():
    own = make_controller("pd", Robot.from_urdf(robot_file("planar_2r"))).parameters
    with pytest.raises(InputError, match="PDParameters has no positive gain for each joint to search"):
        searched_fields(replace(own, p=np.zeros(2), d=np.array([0.0, 1.0])))


def test_the_command_writes_parameters_and_pictures(tmp_path, capsys):
    folder = tmp_path / "new" / "folder"
    arguments = ["tune", "--robot", "planar_2r", "--controllers", "pd", "--generations", "3", "--population", "8",
                 "--threads", "1", "--output", str(folder)]
    assert main(arguments) == 0
    out = capsys.readouterr().out
    robot = Robot.from_urdf(robot_file("planar_2r"))
    names = [row.name for row in make_controller("pd", robot).parameters.flat(robot)]
    assert all(name in out for name in (*names, "3 of 3 generations", "before", "after", str(folder)))
    for picture in ("search.png", "tracking.png"):
        assert (folder / picture).read_bytes().startswith(b"\x89PNG")
    written = yaml.safe_load((folder / "parameters.yaml").read_text())["/**"]["ros__parameters"]
    assert written["controller"] == "pd"
    gains = {f"gains.{joint}.{field}": value for joint, fields in written["pd"]["gains"].items()
             for field, value in fields.items()}
    assert sorted(gains) == sorted(names)
    found = make_controller("pd", robot).parameters.with_flat_values(robot, gains)
    for row in found.flat(robot):
        assert f"{row.value:.6g}" in out


@pytest.mark.long
def test_the_command_serves_laws_that_follow_poses(tmp_path, capsys):
    arguments = ["tune", "--robot", "scara", "--controllers", "resolved_acceleration", "--generations", "1",
                 "--population", "5", "--output", str(tmp_path)]
    assert main(arguments) == 0
    out = capsys.readouterr().out
    assert "tool0 z" in out and "resolved_acceleration on 'scara': cost" in out
    written = yaml.safe_load((tmp_path / "parameters.yaml").read_text())["/**"]["ros__parameters"]
    assert set(written["resolved_acceleration"]) == {"p", "d"}


PLUGIN = """
from robodyn_ros.control import Controller
from robodyn_ros.control.laws.pid import PIDParameters

class Integrating(Controller):
    Parameters = PIDParameters

    def activate(self, state):
        self.integral = 0.0

    def update(self, state, reference):
        gains, error = self.parameters, reference.q - state.q
        self.integral = self.integral + state.period * gains.i * error
        return gains.p * error + gains.d * (reference.v - state.v) + self.integral
"""


@pytest.mark.long
def test_a_controller_with_state_of_its_own_is_tuned_as_well(tmp_path, monkeypatch, capsys):
    (tmp_path / "tuned_plugin.py").write_text(PLUGIN)
    monkeypatch.syspath_prepend(tmp_path)
    assert main(["tune", "--robot", "planar_2r", "--controllers", "tuned_plugin:Integrating", "--generations", "2",
                 "--population", "6", "--output", str(tmp_path / "out")]) == 0
    out = capsys.readouterr().out
    assert "Integrating runs uncompiled, " in out and "12 rollouts take about " in out
    written = yaml.safe_load((tmp_path / "out" / "parameters.yaml").read_text())["/**"]["ros__parameters"]
    assert set(written["Integrating"]["gains"]["joint1"]) == {"p", "i", "d"}
    found = search_gains(task_of(law="tuned_plugin:Integrating", smoothness=0.0), 6, 3)
    assert found.cost_after < found.cost_before


@pytest.mark.long
def test_gains_are_searched_beside_a_surface_and_on_mujoco(tmp_path, capsys):
    pytest.importorskip("mujoco")
    (tmp_path / "world.yaml").write_text("surfaces: {floor: {shape: plane, position: [0, 0, 0.9]}}")
    costs = {}
    for options in ((), ("--world", str(tmp_path / "world.yaml")), ("--engine", "mujoco")):
        assert main(["tune", "--robot", "planar_2r", "--controllers", "pd", "--generations", "1", "--population", "5",
                     "--output", str(tmp_path), *options]) == 0
        out = capsys.readouterr().out
        assert ("stepped by MujocoPlant" in out) == ("mujoco" in options)
        [costs[options[:1]]] = re.findall(r"cost ([\d.]+) before", out)
    assert costs["--engine",] == costs[()] != costs["--world",]


def test_what_the_command_cannot_use(tmp_path, capsys):
    file = tmp_path / "file"
    file.touch()
    for arguments, words in (
        (["--robot", "arm66"], "arm66"),
        (["--controllers", "unheard_of"], "unknown controller 'unheard_of'"),
        (["--controllers", "damping"], "expected a law that follows joints or poses, received 'damping'"),
        (["--gains", "friction"], "expected some of"),
        (["--period", "0.0015"], "whole number of steps"),
        (["--span", "1"], "span: expected a factor above 1"),
        (["--population", "4"], "population: expected 5 or more, received 4"),
        (["--output", str(file)], "File exists"),
    ):
        assert main(["tune", "--robot", "planar_2r", "--output", str(tmp_path), *arguments]) == 2
        assert words in capsys.readouterr().err


@pytest.mark.long
def test_gains_that_the_law_refuses_are_left_out_of_the_search(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert main(["tune", "elastic_composite", "--robot", "arm7", "--actuators", "hardware_elastic_arm7",
                 "--generations", "2", "--population", "8"]) == 0
    assert "elastic_composite" in capsys.readouterr().out
