# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Distributions of a quantity: from probabilities to values, and their form in a study file."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from scipy import stats

from robodyn_ros.base.checks import Range
from robodyn_ros.base.errors import InputError, shown, unknown
from robodyn_ros.description.model import Array

_MIN_INSIDE = 0.01  # least share of a normal distribution inside of its range


class Distribution(Protocol):
    """The distribution of one number."""

    def ppf(self, share: Array) -> Array:
        """Inverse of the cumulative distribution (percent point function), of the shape of ``share``."""
        ...


@dataclass(frozen=True)
class Uniform:
    """Equally probable between two values."""

    low: float  # lowest value
    high: float  # highest value

    def ppf(self, share: Array) -> Array:
        """As in `Distribution`."""
        return self.low + (self.high - self.low) * np.asarray(share)


@dataclass(frozen=True)
class Normal:
    """Normal, cut off at both ends of an interval."""

    mean: float  # mean before it is cut off
    deviation: float  # standard deviation before it is cut off
    low: float = -np.inf  # lowest value
    high: float = np.inf  # highest value

    def ppf(self, share: Array) -> Array:
        """As in `Distribution`."""
        ends = (np.array([self.low, self.high]) - self.mean) / self.deviation
        return np.asarray(self.mean + self.deviation * stats.truncnorm.ppf(share, *ends))


@dataclass(frozen=True)
class LogNormal:
    """The logarithm is normal, cut off at both ends of an interval."""

    median: float  # median before it is cut off
    factor: float  # standard deviation as a factor; two thirds lie between median / factor and median * factor
    low: float = 0.0  # lowest value
    high: float = np.inf  # highest value

    def ppf(self, share: Array) -> Array:
        """As in `Distribution`."""
        with np.errstate(divide="ignore"):
            low, high = np.log([max(self.low, 0.0), self.high])
        return np.exp(Normal(np.log(self.median), np.log(self.factor), low, high).ppf(share))


@dataclass(frozen=True)
class Choice:
    """Some values, equally probable."""

    values: tuple[float, ...]

    def ppf(self, share: Array) -> Array:
        """As in `Distribution`."""
        places = np.floor(np.asarray(share) * len(self.values)).astype(int)
        return np.array(self.values)[np.clip(places, 0, len(self.values) - 1)]


def read_distribution(value: Any, allowed: Range, where: str) -> Distribution:
    """Make a distribution from its form in a study file.

    Args:
        value: A number; or a mapping with one of ``uniform: [low, high]``, ``normal: [mean, deviation]``, ``log_normal:
            [median, factor]`` and ``choice: [value, …]``; the middle two may have ``within: [low, high]``.
        allowed: The numbers that the quantity can have. Normal distributions are cut off at its ends.
        where: Place in the file, for messages.

    Raises:
        InputError: The form is wrong, or the distribution has values that the quantity cannot have.
    """
    if not isinstance(value, Mapping):
        return Choice((_number(value, allowed, where),))
    for key in value:
        if key not in (*_KINDS, "within"):
            raise InputError(f"{where}: {unknown('distribution', key, (*_KINDS, 'within'))}")
    kinds = [kind for kind in value if kind != "within"]
    if len(kinds) != 1:
        raise InputError(f"{where}: expected one distribution of {', '.join(_KINDS)}, received {shown(dict(value))}")
    (kind,) = kinds
    where = f"{where}: {kind}"
    low, high = allowed.minimum, allowed.maximum
    if "within" in value:
        if kind not in ("normal", "log_normal"):
            raise InputError(f"{where}: 'within' has an effect on normal and log_normal only; leave it out")
        low, high = _numbers(value["within"], 2, allowed, f"{where}: within")
        if not low < high:
            raise InputError(f"{where}: within: expected a lower and a higher number, received "
                             f"{shown(value['within'])}")
    return _KINDS[kind](value[kind], allowed, (low, high), where)


def _uniform(given: Any, allowed: Range, _: tuple[float, float], where: str) -> Distribution:
    low, high = _numbers(given, 2, allowed, where)
    if not low < high:
        raise InputError(f"{where}: expected a lower and a higher number, received {shown(given)}")
    return Uniform(low, high)


def _normal(given: Any, allowed: Range, ends: tuple[float, float], where: str) -> Distribution:
    mean, deviation = _numbers(given, 2, Range(), where)
    if not deviation > 0.0:
        raise InputError(f"{where}: expected a mean and a positive standard deviation, received {shown(given)}")
    inside = float(np.diff(stats.norm.cdf(ends, mean, deviation))[0])
    return _checked(Normal(mean, deviation, *ends), inside, allowed, ends, where)


def _log_normal(given: Any, allowed: Range, ends: tuple[float, float], where: str) -> Distribution:
    median, factor = _numbers(given, 2, Range(0.0, above=True), where)
    if not factor > 1.0:
        raise InputError(f"{where}: expected a positive median and a factor above 1, received {shown(given)}")
    with np.errstate(divide="ignore"):
        logarithms = np.log(np.maximum(ends, 0.0))
    inside = float(np.diff(stats.norm.cdf(logarithms, np.log(median), np.log(factor)))[0])
    return _checked(LogNormal(median, factor, *ends), inside, allowed, ends, where)


def _checked(made: Distribution, inside: float, allowed: Range, ends: tuple[float, float], where: str) -> Distribution:
    if inside < _MIN_INSIDE:
        raise InputError(f"{where}: only {100.0 * inside:.2g} % of it lie from {ends[0]:g} to {ends[1]:g}; expected "
                         f"{allowed}, and a distribution of which {100.0 * _MIN_INSIDE:g} % or more lie there")
    return made


def _choice(given: Any, allowed: Range, _: tuple[float, float], where: str) -> Distribution:
    if not isinstance(given, list) or not given:
        raise InputError(f"{where}: expected a list of numbers, received {shown(given)}")
    return Choice(tuple(_number(one, allowed, where) for one in given))


_KINDS: dict[str, Callable[[Any, Range, tuple[float, float], str], Distribution]] = {
    "uniform": _uniform, "normal": _normal, "log_normal": _log_normal, "choice": _choice}


def _numbers(given: Any, count: int, allowed: Range, where: str) -> list[float]:
    if not isinstance(given, list) or len(given) != count:
        raise InputError(f"{where}: expected {count} numbers in brackets, received {shown(given)}")
    return [_number(one, allowed, where) for one in given]


def _number(given: Any, allowed: Range, where: str) -> float:
    try:
        number = np.nan if isinstance(given, bool) else float(given)  # YAML reads 2e-3 as text
    except (TypeError, ValueError, OverflowError):
        number = np.nan
    if not allowed.holds(number):
        raise InputError(f"{where}: expected {allowed}, received {shown(given)}")
    return number
