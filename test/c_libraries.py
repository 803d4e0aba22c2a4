# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Exported C as libraries that tests call: each text is built once a session."""

import ctypes
import functools
import subprocess
import tempfile
from pathlib import Path

from robodyn_ros.toolbox.export import write_new

FLAGS = ("-std=c99", "-Wall", "-Wextra", "-Werror", "-pedantic", "-O1", "-march=native")
"""As strict as compilers are; without the optimisation that takes longest and is for speed alone."""


def c_library(files, *flags):
    """The library of a header and a file of C, built by gcc with more flags."""
    return ctypes.CDLL(_built(tuple(files.items()), flags))


@functools.cache
def _folder():
    """Removed when the session ends."""
    return tempfile.TemporaryDirectory(prefix="robodyn_test_c_")


@functools.cache
def _built(files, flags):
    folder = Path(tempfile.mkdtemp(dir=_folder().name))
    _, file = write_new(folder / "code", dict(files))
    library = folder / "built.so"
    done = subprocess.run(["gcc", *FLAGS, *flags, "-shared", "-fPIC", str(file), "-o", str(library), "-lm"],
                          capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return str(library)
