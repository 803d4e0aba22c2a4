# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""The terms of a commanded effort: those of the law, and those that the control loop added."""

from __future__ import annotations

from robodyn_ros.control.contract.terms import CALMING, WHOLE
from robodyn_ros.control.runtime.tick import NO_LAW_WORKS, Tick
from robodyn_ros.description.model import Array


def effort_terms(tick: Tick) -> dict[str, Array]:
    """Return the terms of the efforts of the last tick, each of shape (n,) [N m or N]; empty if no law works.

    They are those of the law, see `Law.terms` (the term ``law`` alone if they are not known), then ``transfer`` and
    ``limits`` while a swap and the supervisor change the efforts. While the safe law swings the robot, the term
    ``calming`` takes the place of the law's.
    """
    added = dict(tick.added)
    if CALMING in added or tick.intervention == NO_LAW_WORKS:
        return added
    terms = dict(tick.plugin.controller.terms() or {WHOLE: tick.effort - sum(added.values())})
    for name, term in added.items():  # a filtered law has a transfer of its own
        terms[name] = terms.get(name, 0.0) + term
    return terms
