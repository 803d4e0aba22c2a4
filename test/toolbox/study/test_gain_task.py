# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Costs of gains over the samples of a study: statistics, constraints, failures, margins."""

from dataclasses import replace

import numpy as np
import pytest

from robodyn_ros import InputError
from robodyn_ros.commands.study_file import read_study
from robodyn_ros.toolbox.study.gain_space import GainSpace
from robodyn_ros.toolbox.study.gain_task import INFEASIBLE, GainTask, Goal, Margins, fresh, margins

STUDY = """
robot: planar_2r
samples: 21
laws: [pd_gravity]
quantities:
  payload.mass: {uniform: [0.0, 2.0]}
"""


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    path = tmp_path_factory.mktemp("study") / "arm.yaml"
    path.write_text(STUDY)
    return read_study(path)


def task(study, **goal):
    space = GainSpace(study.laws["pd_gravity"].controller.parameters, ("p", "d"), np.log(10.0))
    return GainTask(study, "pd_gravity", Goal(**goal), space)


def test_the_cost_is_the_statistic_of_each_samples_cost(study):
    (found,), = task(study).evaluated([study.laws["pd_gravity"].controller.parameters])
    costs = np.sort(found["rms_error"] + 0.01 * found["effort_change"])
    assert len(costs) == 21 and np.ptp(costs) > 0.01
    for statistic, expected in (("mean", costs.mean()), ("worst", costs[-1]), ("95%", costs[19]), ("50%", costs[10])):
        assert task(study, statistic=statistic).costs(np.zeros((1, 4)))[0] == pytest.approx(expected)


def test_the_worst_motion_counts(study):
    slow = next(iter(study.motions.values()))
    both = replace(study, motions={"one": slow, "other": slow})
    assert task(both).costs(np.zeros((2, 4))) == pytest.approx(task(study).costs(np.zeros((2, 4))))
    assert task(both).rollouts(3) == 2 * 21 * 3


def test_broken_constraints_and_failures_cost_more_than_any_error(study):
    free = task(study).costs(np.zeros((1, 4)))[0]
    assert free < 1.0
    assert task(study, limits={"worst_effort": 10.0}).costs(np.zeros((1, 4)))[0] == free
    far, near = (task(study, limits={"worst_effort": limit}).costs(np.zeros((1, 4)))[0] for limit in (0.01, 0.1))
    assert free < 0.5 * INFEASIBLE < near < far < INFEASIBLE
    assert INFEASIBLE < task(replace(study, limits={"worst_error": 1e-3})).costs(np.zeros((1, 4)))[0]
    (found,), = task(study).evaluated([study.laws["pd_gravity"].controller.parameters])
    one = float(np.sort(found["worst_error"])[-2])
    tolerant = task(replace(study, limits={"worst_error": one + 1e-6}))  # one of 21 fails, which 95 % allows
    assert tolerant.costs(np.zeros((1, 4)))[0] == free
    assert task(replace(study, limits={"worst_error": one + 1e-6}), statistic="worst").costs(
        np.zeros((1, 4)))[0] > INFEASIBLE


@pytest.mark.long
def test_gains_that_the_law_refuses_fail_in_all_samples(tmp_path):
    path = tmp_path / "elastic.yaml"
    path.write_text("""
robot: arm7
actuators: hardware_elastic_arm7
samples: 3
laws: [elastic_composite]
quantities:
  transmission.stiffness: {uniform: [8000, 40000]}
""")
    elastic = read_study(path)
    own = elastic.laws["elastic_composite"].controller.parameters
    swinging = replace(own, fast_damping=100.0 * own.fast_damping)
    space = GainSpace(own, ("fast_damping",), np.log(100.0))
    with pytest.raises(InputError, match="with which it swings on its springs"):
        swinging.for_robot(elastic.laws["elastic_composite"].controller.robot)
    robust = GainTask(elastic, "elastic_composite", Goal(), space)
    (good,), (bad,), (again,) = robust.evaluated([own, swinging, own])
    assert (bad["failed"] == 1.0).all() and np.isnan(bad["rms_error"]).all() and not good["failed"].any()
    assert np.array_equal(good["rms_error"], again["rms_error"]) and (good["rms_error"] < 0.1).all()
    costs = robust.costs(np.log([np.full(7, 100.0), np.ones(7)]))
    assert costs[0] > INFEASIBLE and costs[1] < 1.0
    assert 1.0 <= margins(robust, own).larger < 10.0


def test_margins_end_where_a_sample_fails(study):
    own = study.laws["pd_gravity"].controller.parameters
    worst = task(study).evaluated([own])[0][0]["worst_error"].max()
    limited = replace(study, limits={"worst_error": 1.05 * float(worst)})
    found = margins(task(limited), own)
    assert found.failed == 0 and 1.0 <= found.spread < 10.0 and 0.1 < found.smaller < 1.0
    weaker = replace(own, p=own.p * 0.99 * found.smaller, d=own.d * 0.99 * found.smaller)
    assert task(limited).evaluated([weaker])[0][0]["failed"].sum() <= 1
    assert "no sample fails with" in str(found)
    broken = margins(task(replace(study, limits={"worst_error": 1e-3})), own)
    assert str(broken) == "margin: none, 21 of the samples fail"
    assert str(Margins(0, np.inf, 0.0, np.inf)).startswith("margin: no sample fails with less than 0.1 to more than 10")


def test_fresh_samples_are_others(study):
    other = fresh(study, 1, 8)
    assert other.count == 8 and not np.isin(other.values["payload.mass"], study.values["payload.mass"]).any()


@pytest.mark.parametrize(("goal", "message"), [
    ({"statistic": "most"}, "expected mean, worst, or a quantile"), ({"statistic": "100%"}, "received '100%'"),
    ({"statistic": "x%"}, "received 'x%'"), ({"smoothness": -1.0}, "smoothness: expected 0 or more"),
    ({"limits": {"saturated": float("nan")}}, "limit: expected a metric"),
    ({"limits": {"speed": 1.0}}, "received 'speed' and 1.0"),
])
def test_goals_that_make_no_sense(goal, message):
    with pytest.raises(InputError, match=message):
        Goal(**goal)
