# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Searches over a study: better gains for all samples, the same after an interruption, and fronts."""


import numpy as np
import pytest

from robodyn_ros import InputError
from robodyn_ros.commands.study_file import read_study
from robodyn_ros.toolbox.study.gain_search import Checkpoint, pareto_front, search_gains
from robodyn_ros.toolbox.study.gain_space import GainSpace
from robodyn_ros.toolbox.study.gain_task import GainTask, Goal

STUDY = """
robot: planar_2r
samples: 12
laws: [pd_gravity]
quantities:
  payload.mass: {uniform: [0.0, 2.0]}
"""


@pytest.fixture(scope="module")
def task(tmp_path_factory):
    path = tmp_path_factory.mktemp("study") / "arm.yaml"
    path.write_text(STUDY)
    study = read_study(path)
    return GainTask(study, "pd_gravity", Goal(),
                      GainSpace(study.laws["pd_gravity"].controller.parameters, ("p", "d"), np.log(10.0)))


def test_what_is_found_is_better_on_all_samples(task):
    seen = []
    found = search_gains(task, 10, 12, on_generation=lambda *each: seen.append(each))
    assert found.cost_after < 0.7 * found.cost_before
    assert list(found.costs) == sorted(found.costs, reverse=True) == [cost for _, cost in seen]
    assert found.costs[0] <= found.cost_before
    assert found.rollouts == 10 * 12 * 12
    assert search_gains(task, 10, 12).costs == found.costs
    assert search_gains(task, 10, 12, seed=1).costs != found.costs


def test_an_interrupted_search_goes_on_to_the_same_end(task, tmp_path):
    class Stop(Exception):
        pass

    def stop(number, _):
        if number == 3:
            raise Stop

    path = tmp_path / "search.json"
    with pytest.raises(Stop):
        search_gains(task, 6, 6, checkpoint=Checkpoint(path, task.digest), on_generation=stop)
    kept = Checkpoint(path, task.digest, resume=True)
    assert len(kept.generations) == 3
    went_on, whole = search_gains(task, 6, 6, checkpoint=kept), search_gains(task, 6, 6)
    assert went_on.costs == whole.costs
    np.testing.assert_array_equal(went_on.after.p, whole.after.p)
    with pytest.raises(InputError, match="is of another search"):
        Checkpoint(path, "other", resume=True)
    path.write_text('{"costs": 3')
    with pytest.raises(InputError, match="cannot read"):
        Checkpoint(path, task.digest, resume=True)
    for costs in ("[3]", "[[1.0], []]", "[[NaN, 1]]", "[[-1e308]]", f"[[1{'0' * 400}]]", '{"a": 1}', "[[1.0, [2.0]]]",
                  "[" * 10**5, '"x"', "[true]", '[["a"]]', "[[null]]", "[[[]]]", "[[[1], [1, 2]]]", "1 2"):
        path.write_text(f'{{"digest": "{task.digest}", "costs": {costs}}}')
        with pytest.raises(InputError, match=r"cannot read '.*': search.json: .*; leave it out for a new search") as no:
            Checkpoint(path, task.digest, resume=True)
        assert "\n" not in str(no.value) and len(str(no.value)) < 600
    for costs in ("[[1.0, 2.0]]", "[[1, 2, 3, 4, 5, 6, 7]]", "[" + ",".join(["[1, 1, 1, 1, 1, 1]"] * 7) + "]",
                  "[[[1, 2], [1, 2], [1, 2], [1, 2], [1, 2], [1, 2]]]"):
        path.write_text(f'{{"digest": "{task.digest}", "costs": {costs}}}')
        with pytest.raises(InputError, match=r"expected at most 6 generations, with costs of shape \(6,\)"):
            search_gains(task, 6, 6, checkpoint=Checkpoint(path, task.digest, resume=True))
    with pytest.raises(InputError, match="there is no search in"):
        Checkpoint(tmp_path / "none.json", task.digest, resume=True)


def test_no_point_of_a_front_beats_another(task):
    front = pareto_front(task, ("rms_error", "effort_change"), 8, 15)
    assert len(front.parameters) == len(front.values) >= 4
    assert (np.diff(front.values[:, 0]) > 0.0).all() and (np.diff(front.values[:, 1]) < 0.0).all()
    for point in front.values:
        assert not (front.evaluated < point).all(axis=1).any()
    for parameters, values in zip(front.parameters, front.values, strict=True):
        found = task.evaluated([parameters])[0]
        assert [task.statistics(found, name) for name in ("rms_error", "effort_change")] == pytest.approx(values)
    assert (front.values[0] < front.own)[0] and (front.values[-1] < front.own)[1]


@pytest.mark.parametrize(("options", "message"), [
    ((4, 1), "population: expected 5 or more, received 4"), ((5, 0), "generations: expected 1 or more"),
    ((5, 1, -1), "seed: expected 0 or more")])
def test_sizes_that_make_no_sense(task, options, message):
    with pytest.raises(InputError, match=message):
        search_gains(task, *options)
