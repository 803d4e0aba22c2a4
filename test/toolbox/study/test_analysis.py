# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Findings of studies: quantiles that count failures, and influences of numbers with known ones."""

import numpy as np
import pyarrow as pa
import pytest

from robodyn_ros.commands.study_file import read_study
from robodyn_ros.toolbox.study.analysis import rank_correlations, sobol_indices, summaries, table
from robodyn_ros.toolbox.study.metrics import QUANTILES, quantile
from robodyn_ros.toolbox.study.results import About, Results

COUNT = 100


@pytest.fixture(scope="module")
def results():
    """Errors of law 'good' are 1 to 100 mrad and follow 'a'; of 'bad', every fifth sample failed."""
    about = About("a", "", "", "", 0, 2 * COUNT, ("a", "b"), {})
    rng = np.random.default_rng(0)
    a, b = np.arange(COUNT, dtype=float), rng.permutation(COUNT).astype(float)
    columns = {"law": ["good"] * COUNT + ["bad"] * COUNT, "trajectory": ["m"] * 2 * COUNT,
               "sample": list(range(COUNT)) * 2, "a": np.tile(a, 2), "b": np.tile(b, 2),
               "rms_error": np.r_[1e-3 * (a + 1.0), 2e-3 * (b + 1.0)],
               "failed": [None] * COUNT + ["diverged" if number % 5 == 0 else None for number in range(COUNT)]}
    arrays = [pa.array(values) for values in columns.values()]
    return Results(about, pa.table(arrays, names=list(columns)))


def test_a_quantile_is_infinite_when_too_many_failed():
    values = np.r_[np.arange(1.0, 96.0), [np.nan] * 5]
    assert quantile(values, 0.95) == 95.0
    assert quantile(np.r_[values[1:], np.nan], 0.95) == np.inf
    assert quantile(values, 0.5) == 50.0


def test_summaries_and_their_table(results):
    good, bad = summaries(results)
    assert (good.mean, *good.quantiles, good.worst) == pytest.approx((0.0505, 0.05, 0.095, 0.1))
    assert good.failures == {}
    assert bad.failures == {"diverged": 20}
    assert bad.quantiles[QUANTILES.index(0.95)] == np.inf
    lines = table(results).splitlines()
    assert lines[0].split() == ["law", "mean", "50", "%", "95", "%", "worst", "failed"]
    assert lines[1].split() == ["good", "50.500", "50.000", "95.000", "100.000", "0.0", "%"]
    assert lines[2].endswith("20.0 %  diverged (20)") and " failed " in lines[2]


def test_rank_correlations(results):
    good, bad = (rank_correlations(results, law) for law in ("good", "bad"))
    assert list(good) == ["a", "b"] and good["a"] == pytest.approx(1.0) and abs(good["b"]) < 0.3
    assert list(bad) == ["b", "a"] and 0.5 < bad["b"] < 1.0


def test_sobol_indices_find_the_payload(tmp_path):
    path = tmp_path / "arm.yaml"
    path.write_text("robot: planar_2r\nlaws: [pd]\nsamples: 2\nquantities:\n  payload.mass: {uniform: [0, 2]}\n"
                    "  friction.viscous: {shared: {uniform: [0, 0.01]}}\n  link.inertia_scale: 1.1\n")
    study = read_study(path)
    found = sobol_indices(study, study.pairs[0], 32)
    assert found.columns == ("payload.mass", "friction.viscous")
    assert found.total[0] > 0.9 > 0.1 > found.total[1]


@pytest.mark.parametrize("columns", [["payload.mass"], []])
def test_a_number_that_differs_alone_has_all_of_the_variance(tmp_path, columns):
    """SciPy computes indices of two numbers and more."""
    path = tmp_path / "arm.yaml"
    varied = "".join(f"  {column}: {{uniform: [0, 2]}}\n" for column in columns)
    path.write_text(f"robot: planar_2r\nlaws: [pd]\nsamples: 2\nquantities:\n{varied}  link.inertia_scale: 1.1\n")
    study = read_study(path)
    found = sobol_indices(study, study.pairs[0], 2)
    assert list(found.columns) == columns
    assert found.first.tolist() == found.total.tolist() == [1.0] * len(columns)
