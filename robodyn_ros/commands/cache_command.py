# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""``robodyn cache`` shows or removes the compiled code on disk."""

from __future__ import annotations

from argparse import Namespace

from robodyn_ros.commands.options import Subparsers


def add_commands(commands: Subparsers) -> None:
    """Add ``cache``."""
    cache = commands.add_parser("cache", help="show or remove the compiled code on disk")
    cache.add_argument("action", choices=("info", "clear"), help="info: show place and size; clear: remove all of it")
    cache.set_defaults(run=run_cache)


def run_cache(options: Namespace) -> int:
    """Print location and size of the compiled code on disk, or remove it.

    Raises:
        OSError: The folder cannot be read, or a file cannot be removed.
    """
    from robodyn_ros.base import code_cache

    kept = code_cache.contents() if options.action == "info" else code_cache.clear()
    amount = f"{kept.entries} entries, {kept.size / 2**20:.1f} MiB"
    folder = code_cache.directory() or f"no folder (caching is off, by {code_cache.VARIABLE} or by the system)"
    print(f"{folder}: {amount}" if options.action == "info" else f"{folder}: removed {amount}")
    return 0
