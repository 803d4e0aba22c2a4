# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Distributions: their values, their ends, and forms of study files that make no sense."""

import numpy as np
import pytest

from robodyn_ros import InputError
from robodyn_ros.base.checks import Range
from robodyn_ros.toolbox.study.distributions import Choice, LogNormal, Normal, Uniform, read_distribution

MASS = Range(0.0, unit="kg")
SHARES = (np.arange(20_000) + 0.5) / 20_000


def test_values_have_the_moments_asked_for():
    assert np.mean(Uniform(1.0, 3.0).ppf(SHARES)) == pytest.approx(2.0)
    normal = Normal(5.0, 0.5).ppf(SHARES)
    assert (np.mean(normal), np.std(normal)) == pytest.approx((5.0, 0.5), rel=1e-3)
    logarithms = np.log(LogNormal(2.0, 1.5).ppf(SHARES))
    assert (np.mean(logarithms), np.std(logarithms)) == pytest.approx((np.log(2.0), np.log(1.5)), rel=1e-3)
    values, counts = np.unique(Choice((1.0, 2.0, 5.0)).ppf(SHARES), return_counts=True)
    assert values.tolist() == [1.0, 2.0, 5.0]
    assert np.ptp(counts) <= 1


def test_normal_distributions_are_cut_off_at_the_ends_of_the_range():
    for value in ({"normal": [0.1, 1.0]}, {"log_normal": [1.0, 3.0], "within": [0.5, 4]}):
        values = read_distribution(value, MASS, "x").ppf(np.r_[1e-12, SHARES, 1.0 - 1e-12])
        low, high = value.get("within", (0.0, np.inf))
        assert (values >= low).all() and (values <= high).all()
        assert (np.diff(values) > 0.0).all()


def test_numbers_as_yaml_reads_them():
    assert read_distribution("2e-3", MASS, "x") == Choice((0.002,))
    assert read_distribution({"uniform": ["1e-3", 1]}, MASS, "x") == Uniform(0.001, 1.0)


@pytest.mark.parametrize(("value", "message"), [
    (-1.0, r"x: expected a finite number of 0 or more \[kg\], received -1.0"),
    (True, "received True"),
    ({}, "expected one distribution of uniform, normal, log_normal, choice"),
    ({"uniform": [0, 1], "choice": [1]}, "expected one distribution"),
    ({"unifrom": [0, 1]}, "unknown distribution 'unifrom': did you mean 'uniform'"),
    ({"uniform": [-1, 1]}, "x: uniform: expected a finite number of 0 or more"),
    ({"uniform": [2, 1]}, "expected a lower and a higher number"),
    ({"uniform": [1]}, "expected 2 numbers in brackets, received"),
    ({"uniform": [0, ".inf"]}, "received '.inf'"),
    ({"normal": [-10, 0.1]}, "only 0 % of it lie from 0 to inf"),
    ({"normal": [1, 0]}, "expected a mean and a positive standard deviation"),
    ({"normal": [1, 1], "within": [3, 2]}, "within: expected a lower and a higher number"),
    ({"normal": [1, 1], "within": [-3, 2]}, "within: expected a finite number of 0 or more"),
    ({"log_normal": [1, 0.5]}, "expected a positive median and a factor above 1"),
    ({"choice": []}, "expected a list of numbers"),
    ({"choice": [1, 2], "within": [0, 3]}, "'within' has an effect on normal and log_normal only"),
])
def test_impossible_distributions_are_refused(value, message):
    with pytest.raises(InputError, match=message):
        read_distribution(value, MASS, "x")
