# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Tests of formulas run for two of the shipped robots, a few laws or figures; with -m long for the others, too."""

import pytest

QUICK = ("scara", "arm6")
"""Between them: both kinds of joints, friction, limits of all kinds, a full chain."""
REDUNDANT = ("scara", "arm7")
"""For laws of the tip link: one that cannot turn it freely, and one with a joint to spare."""


def few(rows, quick=QUICK):
    """Parameters of a test, of which some are quick and the others long.

    Args:
        rows: Values, such as names of robots or laws; for a test with several arguments, tuples of values.
        quick: The quick values, or how many at the beginning are quick.
    """
    rows = list(rows)
    is_quick = [place < quick for place, _ in enumerate(rows)] if isinstance(quick, int) else [
        row in quick for row in rows]
    return [pytest.param(*(row if isinstance(row, tuple) else [row]), marks=() if each else pytest.mark.long)
            for row, each in zip(rows, is_quick, strict=True)]
