# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

import pickle
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from time import sleep

import numpy as np
import pytest

from robodyn_ros import InputError, PluginError, Robot
from robodyn_ros.control import Controller
from robodyn_ros.control.laws.pd import PD
from robodyn_ros.control.laws.pid import PIDParameters
from robodyn_ros.control.plugins.registry import make_controller
from robodyn_ros.description.resources import robot_file
from robodyn_ros.simulation.mujoco_plant import MujocoPlant
from robodyn_ros.simulation.plant_model import PlantModel
from robodyn_ros.simulation.rollout import ClosedLoop
from robodyn_ros.simulation.standard_motion import excursion
from robodyn_ros.toolbox.study.loop_description import _MAX_KEPT_LOOPS, PARAMETERS, LoopDescription, _loops

ROBOT = Robot.from_urdf(robot_file("planar_2r"))


class StatefulPI(Controller):
    """PD and an integral that it keeps itself, and lets other threads run between reading and writing it."""

    Parameters = PIDParameters

    def activate(self, state):
        self.integral = np.zeros(len(state.q))

    def update(self, state, reference):
        gains, error, integral = self.parameters, reference.q - state.q, self.integral
        sleep(0.0)
        self.integral = integral + state.period * gains.i * error
        return gains.p * error + gains.d * (reference.v - state.v) + self.integral


def described(controller="pd_gravity", **scenario):
    loop = ClosedLoop(make_controller(controller, Robot.from_urdf(robot_file("planar_2r"))))
    options = {"duration": 0.3, "velocity_noise": 0.01} | scenario
    return LoopDescription.from_loop(loop, loop.scenario([excursion(loop.robot)], **options))


def numbers(description, count, seed=0):
    own = description.loop.packed()
    return own * np.random.default_rng(seed).uniform(0.5, 2.0, (count, own.size))


def same(one, other):
    return all(np.array_equal(a, b, equal_nan=True) for a, b in zip(one, other, strict=True))


def test_scores_are_those_of_the_closed_loop_to_the_bit():
    description = described()
    loop = ClosedLoop(make_controller("pd_gravity", ROBOT))
    given = numbers(description, 20)
    assert same(description.scores({PARAMETERS: given}), loop.scores(description.scenario, given))


def test_another_process_makes_the_same_loop_of_the_pickled_description(tmp_path):
    description = described()
    given = numbers(description, 9)
    file = tmp_path / "description.pickle"
    file.write_bytes(pickle.dumps((description, given)))
    script = ("import dataclasses, pickle, sys; description, given = pickle.load(open(sys.argv[1], 'rb')); "
              "score = description.scores({'parameters': given}); again = pickle.dumps(tuple(score)); "
              "print(dataclasses.replace(description).digest); sys.stdout.flush(); sys.stdout.buffer.write(again)")
    out = subprocess.run([sys.executable, "-c", script, str(file)], capture_output=True, check=True).stdout
    digest, _, score = out.partition(b"\n")
    assert digest.decode() == description.digest
    assert same(pickle.loads(score), description.scores({PARAMETERS: given}))


def test_equal_content_has_one_digest_and_one_loop_and_any_change_another():
    one, two = described(), described()
    assert one is not two and one.digest == two.digest and one.loop is two.loop
    others = [replace(one, period=0.004), replace(one, varied=("payload.mass",)), described(velocity_noise=0.02),
              replace(one, parameters=None), described("pd"), described(seed=1),
              replace(one, plant=PlantModel.from_description(one.robot, 5e-4))]
    assert len({each.digest for each in (one, *others)}) == 1 + len(others)


def test_a_controller_with_another_source_than_where_it_was_described_is_refused(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(tmp_path)
    file = tmp_path / "law_of_a_plugin.py"
    file.write_text("from robodyn_ros.control.laws.pd import PD\n\n\nclass Mine(PD):\n    pass\n")
    pickled = pickle.dumps(described("law_of_a_plugin:Mine"))
    assert pickle.loads(pickled).loop
    file.write_text(file.read_text() + "    gain = 2.0\n")
    _loops.clear()
    with pytest.raises(PluginError, match="law_of_a_plugin:Mine': its source on .* is not that"):
        _ = pickle.loads(pickled).loop
    assert described("law_of_a_plugin:Mine").digest != pickle.loads(pickled).digest


def test_a_process_keeps_some_loops_and_lets_go_of_the_longest_unused():
    first = described(seed=1000)
    kept = first.loop
    for seed in range(1001, 1001 + _MAX_KEPT_LOOPS - 1):
        assert described(seed=seed).loop is not kept and first.loop is kept
    for seed in range(2000, 2000 + _MAX_KEPT_LOOPS):
        assert described(seed=seed).loop
    assert len(_loops) == _MAX_KEPT_LOOPS and first.loop is not kept


def test_threads_may_roll_out_a_law_in_python_at_once():
    loop = ClosedLoop(StatefulPI(ROBOT))
    description = described("pid", q=[0.3, 0.2], duration=0.05)
    description._cached().loop = loop
    given = numbers(description, 12)
    alone = [ClosedLoop(StatefulPI(ROBOT)).scores(description.scenario, one[None]) for one in given]
    with ThreadPoolExecutor(4) as pool:
        together = list(pool.map(lambda one: description.scores({PARAMETERS: one[None]}), given))
    assert loop.note and all(map(same, alone, together))


def test_loops_that_no_other_process_can_make_are_refused():
    class Local(PD):
        """PD control."""

    loop = ClosedLoop(Local(ROBOT))
    with pytest.raises(InputError, match="controller that any process can import, received .*Local"):
        LoopDescription.from_loop(loop, loop.scenario([], 0.1))
    stepped = ClosedLoop(make_controller("pd", ROBOT), engine=MujocoPlant(ROBOT))
    with pytest.raises(InputError, match="engine MujocoPlant"):
        LoopDescription.from_loop(stepped, stepped.scenario([], 0.1))
