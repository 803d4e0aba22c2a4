# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Catalogues of motors, gears, drives and drivers: one YAML file per entry, in a folder of config/."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from robodyn_ros.base.bounded_files import expand_user, is_file, read_yaml
from robodyn_ros.base.errors import InputError, unknown
from robodyn_ros.base.fields import section
from robodyn_ros.description.resources import catalogue_files

T = TypeVar("T")


@dataclass(frozen=True)
class Catalogue(Generic[T]):
    """The entries of a kind."""

    folder: str  # folder in config/ with their files
    kind: str  # what an entry is, for messages
    entry_class: type[T]  # dataclass of an entry, with the fields ``name`` and ``source``
    check: Callable[[T], None] | None = None  # raises if values of an entry contradict each other; None: no check

    @property
    def names(self) -> tuple[str, ...]:
        """Sorted names of the entries of the package."""
        return tuple(catalogue_files(self.folder))

    def load(self, given: str | Mapping[str, Any], where: str = "") -> T:
        """Return an entry.

        Args:
            given: Name in the catalogue, path of a file like those there, or the content of such a file.
            where: Place of the value, for messages; empty: the kind.

        Raises:
            InputError: There is no such entry, or a value is not valid.
        """
        where = where or self.kind
        if isinstance(given, Mapping):
            place, content = where, {"name": where, "source": where} | dict(given)
        else:
            there, name = catalogue_files(self.folder), str(given)
            path = there[name] if name in there else expand_user(name)
            if not is_file(path):
                raise InputError(f"{where}: {unknown(self.kind, name, there)}; or give the path of a file")
            place, content = str(path), read_yaml(path)
        found = section(self.entry_class, place, content)
        if self.check is not None:
            try:
                self.check(found)
            except InputError as error:
                raise InputError(f"{place}: {error}") from None
        return found
