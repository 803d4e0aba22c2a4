# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Remembers the study files that this user has named, because results may name any file, and a study can run code.

A study names robots, laws and modules. So ``robodyn study FOLDER`` opens the study file of results only if the same
user has passed it to ``robodyn study`` before, and only if its content is unchanged.
"""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

from robodyn_ros.base.bounded_files import MAX_YAML_BYTES, is_file, read_file
from robodyn_ros.base.code_cache import digest, make_private, user_folder
from robodyn_ros.base.errors import InputError
from robodyn_ros.toolbox.study.results import About


def remember(path: Path) -> None:
    """Remember that the user has named a file; do nothing if the user has no cache folder."""
    with suppress(OSError, RuntimeError):
        make_private(user_folder())
        make_private(user_folder() / "studies")
        _marker_file(path).touch()


def file_of_results(about: About, folder: Path) -> Path:
    """Return the study file of results.

    Args:
        about: Description of the study in the results.
        folder: Folder of the results, for messages.

    Raises:
        InputError: The user never named the file, or it is missing or has changed.
    """
    path = Path(about.path)
    with suppress(OSError, RuntimeError):
        if _marker_file(path).is_file():
            if not is_file(path):
                raise InputError(f"study: '{folder}' holds results of '{path}', which is not there any more: give the "
                                 f"file of the study, and --output {folder}")
            if read_file(path, MAX_YAML_BYTES).decode("utf-8", "replace") != about.text:
                raise InputError(f"'{folder}' holds results of another study: '{path}' has changed since; give another "
                                 "--output")
            return path
    raise InputError(f"study: '{folder}' holds results of '{path}', which you have not named here: results open no "
                     f"file by themselves; give the file of the study, and --output {folder}")


def _marker_file(path: Path) -> Path:
    return user_folder() / "studies" / digest(str(path))
