# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Where modules are imported from: installed packages, PYTHONPATH and ``--plugins-from``, never the working directory.

This module imports nothing heavy, since every program imports it first.
"""

from __future__ import annotations

import os
import sys
from importlib.machinery import PathFinder
from pathlib import Path

from robodyn_ros.base.bounded_files import expand_user
from robodyn_ros.base.errors import InputError

VARIABLE = "ROBODYN_PLUGINS_FROM"
"""Environment variable with the folders of ``--plugins-from``, for processes that a command starts."""


def set_module_path() -> None:
    """Remove the working directory from the module path unless it is named explicitly: it may contain data.

    ``python -m`` puts it first, and an empty folder in PYTHONPATH means it too. Folders of ``--plugins-from`` come
    last, so that no file there replaces a standard module.

    Raises:
        FileNotFoundError: The working directory was removed.
    """
    here, package = os.path.realpath(os.curdir), str(Path(__file__).absolute().parents[2])
    given = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    if not sys.flags.safe_path and sys.path[0] in ("", os.curdir, here):
        del sys.path[0]
    if "" in given and here not in map(os.path.realpath, filter(None, given)):
        sys.path[:] = [folder for folder in sys.path if folder and os.path.realpath(folder) != here]
    sys.path += [folder for folder in (package, *_plugin_folders()) if folder not in sys.path]


def add_plugin_folder(name: str) -> None:
    """Allow imports from a folder, in this process and in those that it starts.

    Raises:
        InputError: There is no such folder.
    """
    folder = expand_user(name).absolute()
    if not folder.is_dir():
        raise InputError(f"--plugins-from: expected a folder with modules of controllers, received '{name}'")
    sys.path.append(str(folder))
    os.environ[VARIABLE] = os.pathsep.join([*_plugin_folders(), str(folder)])


def is_from_plugin_folder(module: str) -> bool:
    """Whether a module that is not imported yet would come from a folder of ``--plugins-from``."""
    top = module.partition(".")[0]
    spec = PathFinder.find_spec(top, sys.path) if top.isidentifier() and top not in sys.builtin_module_names else None
    places = [] if spec is None else filter(None, [spec.origin, *(spec.submodule_search_locations or ())])
    return any(Path(place).absolute().is_relative_to(folder) for place in places for folder in _plugin_folders())


def _plugin_folders() -> list[str]:
    return [folder for folder in os.environ.get(VARIABLE, "").split(os.pathsep) if folder]
