# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Renews requirements/lock*.txt after a change to another requirements file: python tools/lock.py, then make setup.

Run it in the environment that ``make setup`` made, with the oldest Python that is supported.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import places
from environment import ALWAYS, PURPOSES, REQUIREMENTS

LOCK = REQUIREMENTS / "lock.txt"
HEADER = """\
# Every version, direct or not, that the other files here resolve to: pip's constraints for `make setup`.
# Renewed by `python tools/lock.py`.
"""
ROS_HEADER = """\
# Versions of the wheels of ROS 2 {}, direct or not: pip's constraints for `make setup`, beside lock.txt.
# Renewed by `python tools/lock.py`.
"""


def main() -> None:
    """Let pip resolve all requirements anew; every release of ROS 2 gets the same versions of all other packages."""
    first, *others = places.WHEELS
    write(LOCK, HEADER, {name: version for name, version in resolve(first).items() if not name.startswith("ros-")})
    for distro in (first, *others):
        resolved = resolve(distro, "--constraint", str(LOCK))
        write(REQUIREMENTS / f"lock_{distro}.txt", ROS_HEADER.format(distro.title()),
              {name: version for name, version in resolved.items() if name.startswith("ros-")})


def resolve(distro: str, *options: str) -> dict[str, str]:
    """Return the version of each package that pip would install for a release of ROS 2."""
    command = [sys.executable, "-m", "pip", "install", "--dry-run", "--ignore-installed", "--quiet", "--report", "-",
               *options]
    for name in (*ALWAYS, *{name: None for names in PURPOSES.values() for name in names}, distro):
        command += ["--requirement", str(REQUIREMENTS / f"{name}.txt")]
    report = json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout)
    metadata = [item["metadata"] for item in report["install"]]
    return {re.sub(r"[-_.]+", "-", each["name"]).lower(): each["version"] for each in metadata}


def write(path: Path, header: str, versions: dict[str, str]) -> None:
    """Write pins, sorted by name."""
    path.write_text(header + "".join(f"{name}=={version}\n" for name, version in sorted(versions.items())))


if __name__ == "__main__":
    main()
