# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Tests of formulas run for two of the shipped robots or a few laws; with -m long for the others, too."""

import pytest

QUICK = ("scara", "arm6")
"""Between them: both kinds of joints, friction, limits of all kinds, a full chain."""
REDUNDANT = ("scara", "arm7")
"""For laws of the tip link: one that cannot turn it freely, and one with a joint to spare."""


def few(names, quick=QUICK):
    """Parameters of a test for each robot or law; those beside the quick ones are long."""
    return [pytest.param(name, marks=() if name in quick else pytest.mark.long) for name in names]
