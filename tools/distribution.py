# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""``make dist`` makes the files of a release in dist/.

- robodyn_ros-VERSION.tar.gz and robodyn_ros-VERSION-py3-none-any.whl, for PyPI;
- robodyn_ros-VERSION-ros.tar.gz: the packages robodyn_ros and robodyn_interfaces side by side, as bloom and colcon look
  for packages. (Neither looks inside a package, and in the checkout one is inside the other.)
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path
from xml.etree import ElementTree

import places
import workspace

DIST = places.ROOT / "dist"
INTERFACES = "robodyn_interfaces"


def main() -> None:
    """Make dist/ anew."""
    shutil.rmtree(DIST, ignore_errors=True)
    make(DIST)
    for path in sorted(DIST.iterdir()):
        print(f"{path.relative_to(places.ROOT)}  {path.stat().st_size / 1e6:.1f} MB")


def make(target: Path) -> None:
    """Write all files to an empty folder; the wheel is built from the sdist, so that nothing can be missing there."""
    with tempfile.TemporaryDirectory() as folder:  # not the checkout, where an older list of files may be
        subprocess.run([sys.executable, "setup.py", "-q", "egg_info", "--egg-base", folder, "sdist",
                        "--dist-dir", str(target)], cwd=places.ROOT, check=True)
    [sdist] = target.iterdir()
    subprocess.run([sys.executable, "-m", "pip", "wheel", "-q", "--no-deps", "--no-build-isolation", "--no-index",
                    "--wheel-dir", str(target), str(sdist)], check=True)
    pack_ros_packages(target / f"robodyn_ros-{version()}-ros.tar.gz")


def version() -> str:
    """Return the version of package.xml; a test holds that of setup.py and robodyn_interfaces to it."""
    return ElementTree.parse(places.ROOT / "package.xml").findtext("version") or ""


def pack_ros_packages(target: Path) -> None:
    """Pack the files under version control: both packages, each in a folder of its own."""
    top = target.name.removesuffix(".tar.gz")
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=places.ROOT, check=True, stdout=subprocess.PIPE, text=True)
    with tarfile.open(target, "w:gz") as archive:
        for name in sorted(filter(None, listed.stdout.split("\0"))):
            package = "" if name.startswith(f"{INTERFACES}/") else "robodyn_ros/"
            if not name.startswith(tuple(f"tools/{own}/" for own in workspace.STAND_INS)):  # never released
                archive.add(places.ROOT / name, f"{top}/{package}{name}", recursive=False)


if __name__ == "__main__":
    main()
