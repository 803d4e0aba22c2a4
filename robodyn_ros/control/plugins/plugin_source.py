# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Finds the source files of plugins, and imports plugins anew after one of their files has changed.

A plugin consists of its module and the modules of the same folder that it imports directly or indirectly.
"""

from __future__ import annotations

import ast
import functools
import hashlib
import importlib
import importlib.util
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, SourceFileLoader
from pathlib import Path
from types import CodeType, ModuleType
from typing import NamedTuple

from robodyn_ros.control.plugins.plugin_threads import is_left_behind

_executed_digests: dict[str, bytes] = {}
"""Digest of the source from which the module in ``sys.modules`` was executed, by module."""

_source_digests: dict[str, dict[str, bytes]] = {}
"""Digests of a plugin's sources when it was imported, by plugin module and module."""


class Source(NamedTuple):
    """A module with a source file.

    Attributes:
        name: Full name of the module.
        file: Its source file.
    """

    name: str
    file: Path

    @property
    def package(self) -> str:
        """Full name of the package that the folder holds; empty: modules without a package."""
        return self.name if self.file.name == "__init__.py" else self.name.rpartition(".")[0]

    @functools.lru_cache(maxsize=1024)  # noqa: B019 — small keys; each new path makes Python's table of interned names grow
    def sibling(self, name: str) -> Source:
        """Return the module of this name, without dots, in the same folder."""
        return Source(f"{self.package}.{name}".lstrip("."), self.file.with_name(f"{name}.py"))


def find_source(module: str) -> Source | None:
    """Find a module's source file without importing the module; None: there is none.

    Raises:
        ImportError: A package that contains the module cannot be imported.
        ValueError: The name is empty.
    """
    if module == "__main__":  # a script or interactive session cannot be imported anew
        return None
    loaded = sys.modules.get(module)
    spec = importlib.util.find_spec(module) if loaded is None else None
    file = getattr(loaded, "__file__", None) if spec is None else spec.origin
    return Source(module, Path(file)) if file and file.endswith(".py") else None


def plugin_sources(module: Source) -> Iterator[Source]:
    """Yield a plugin's module, then the modules of the same folder that it imports, directly or indirectly.

    A file that cannot be read or parsed is yielded without its imports.
    """
    found, pending = {module}, [module]
    while pending:
        source = pending.pop()
        yield source
        fresh = {sibling for sibling in _imported_siblings(source) if sibling not in found}
        found |= fresh
        pending += sorted(fresh)


def has_changed(module: str) -> bool:
    """Return whether a file of a plugin has changed since its import; False if it was not imported."""
    source = find_source(module) if module in sys.modules else None
    return source is not None and _is_outdated(module, _digests(source))


def import_current(module: str) -> ModuleType:
    """Import a plugin's module; if a file has changed, anew with its imports from the same folder.

    Args:
        module: Full name.

    Raises:
        BaseException: Whatever the import raises. Modules imported before then stay.
    """
    source = find_source(module)
    if source is None:
        return importlib.import_module(module)
    # Taken before the import, so that a file edited meanwhile counts as changed afterwards.
    digests = _digests(source)
    loaded = {name for name in digests if name in sys.modules}
    if module in loaded and not _is_outdated(module, digests):
        return sys.modules[module]
    if module in loaded or any(_executed_digests.setdefault(name, digests[name]) != digests[name] for name in loaded):
        _import_anew(source, loaded)
        loaded = set()
    else:
        importlib.import_module(module)
    if is_left_behind():
        raise ImportError(f"module {module} was imported too late")
    _executed_digests.update({name: digest for name, digest in digests.items() if name not in loaded})
    _source_digests[module] = digests
    return sys.modules[module]


def _is_outdated(module: str, digests: Mapping[str, bytes]) -> bool:
    """Return whether an imported module was built from other sources; the first call takes these as its sources."""
    known = _source_digests.setdefault(module, dict(digests))
    return any(known.get(name) != digest for name, digest in digests.items())


def _import_anew(module: Source, loaded: Iterable[str]) -> None:
    """Replace modules in ``sys.modules`` by new ones; old ones live as long as they are referenced."""
    old = {name: sys.modules.pop(name) for name in loaded}
    attributes = [(sys.modules[package], last, value) for name, value in old.items()
                  for package, _, last in [name.rpartition(".")]
                  if package in sys.modules and vars(sys.modules[package]).get(last) is value]
    for package, last, _ in attributes:
        delattr(package, last)  # "from . import helper" would take the old attribute
    importlib.invalidate_caches()
    finder = _SourceFinder(module)
    sys.meta_path.insert(0, finder)
    try:
        importlib.import_module(module.name)
    except BaseException:
        if not is_left_behind():
            sys.modules.update(old)
            for package, last, value in attributes:
                setattr(package, last, value)
        raise
    finally:
        sys.meta_path.remove(finder)


class _SourceFinder(MetaPathFinder):
    """Finds the modules of one folder like the other finders, but compiles them from source.

    Python's own loader accepts cached bytecode if size and second of the last edit agree.

    Args:
        module: A module of the folder.
    """

    def __init__(self, module: Source) -> None:
        self._module = module

    def find_spec(self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
                  ) -> ModuleSpec | None:
        """Return the spec of another finder with a loader that compiles; None: not of this folder."""
        if fullname not in (self._module.name, self._module.sibling(fullname.rpartition(".")[2]).name):
            return None
        specs = (finder.find_spec(fullname, path, target) for finder in sys.meta_path
                 if not isinstance(finder, _SourceFinder))  # an abandoned import may have left one
        spec = next(filter(None, specs), None)
        if spec is not None and type(spec.loader) is SourceFileLoader and spec.origin is not None \
                and Path(spec.origin).parent == self._module.file.parent:
            spec.loader = _SourceLoader(fullname, spec.origin)
        return spec


class _SourceLoader(SourceFileLoader):
    """Compiles the source at every import."""

    def get_code(self, fullname: str) -> CodeType:
        code: CodeType = self.source_to_code(self.get_data(self.path), self.path)
        return code


def _digests(module: Source) -> dict[str, bytes]:
    """Return digests of a plugin's sources by module; empty for a file that cannot be read."""
    return {part.name: _digest(part.file) for part in plugin_sources(module)}


def _digest(file: Path) -> bytes:
    try:
        return hashlib.sha256(file.read_bytes()).digest()
    except OSError:
        return b""


def _imported_siblings(module: Source) -> Iterator[Source]:
    """Yield the modules of the same folder that a module's source imports anywhere."""
    try:
        names = _imported(module.file.read_bytes(), module.package)
    except (OSError, SyntaxError, ValueError):
        return
    for name in names:
        sibling = module.sibling(name.rpartition(".")[2])
        if sibling.name == name and sibling.file.is_file():
            yield sibling


@functools.lru_cache(maxsize=256)  # laws of one folder share modules, and parsing takes most of the time
def _imported(source: bytes, package: str) -> tuple[str, ...]:
    """Return the full names that a source in a package imports, each once; raises if it cannot be parsed."""
    names: dict[str, None] = {}
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            names.update(dict.fromkeys(alias.name for alias in node.names))
        elif isinstance(node, ast.ImportFrom) and node.level <= 1:
            origin = f"{package}.{node.module or ''}".strip(".") if node.level else node.module or ""
            names.update(dict.fromkeys((origin, *(f"{origin}.{alias.name}" for alias in node.names))))
    return tuple(names)
