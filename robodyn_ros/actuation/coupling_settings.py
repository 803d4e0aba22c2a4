# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Couplings of joints with motors in YAML files."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from robodyn_ros.base.errors import InputError, shown
from robodyn_ros.base.fields import section
from robodyn_ros.description.coupling import Coupling


@dataclass(frozen=True)
class _CouplingSection:
    joints: Any
    matrix: Any


def coupling_settings(where: str, values: Any) -> tuple[Coupling, ...]:
    """Read a list of couplings.

    Args:
        where: Source of the values, for messages.
        values: A list of sections with ``joints`` and ``matrix``, or None.

    Raises:
        InputError: The values are no list, or a section is not valid.
    """
    if values is None:
        return ()
    if not isinstance(values, list):
        raise InputError(f"{where}: expected a list of sections with joints and matrix, received {shown(values)}")
    couplings = []
    for index, each in enumerate(values):
        found = section(_CouplingSection, f"{where}: {index}", each)
        if not isinstance(found.joints, list):
            raise InputError(f"{where}: {index}: joints: expected a list of names, received {shown(found.joints)}")
        try:
            couplings.append(Coupling(tuple(map(str, found.joints)), found.matrix))
        except InputError as error:
            raise InputError(f"{where}: {index}: {error}") from None
    return tuple(couplings)
