# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Stand-ins for packages of ROS 2 step back where the real package is.

A workspace that is sourced last comes first in every search path. So that control_msgs of this one, which has only some
of the actions, does not hide a real one, its set-up script leaves the paths alone where another prefix has the package.
"""

from __future__ import annotations

from functools import partial
from pathlib import Path

import environment
import places
import workspace
from steps import Step, fingerprint

SCRIPT = """\
# Made by tools/stand_ins.py: sets the paths of this stand-in, unless another prefix has {name} already.
_robodyn_rest="${{AMENT_PREFIX_PATH:-}}:"
_robodyn_real=
while [ -n "$_robodyn_rest" ]; do
  _robodyn_prefix="${{_robodyn_rest%%:*}}"
  _robodyn_rest="${{_robodyn_rest#*:}}"
  if [ "$_robodyn_prefix" != "$COLCON_CURRENT_PREFIX" ] && [ -f "$_robodyn_prefix/share/{name}/package.xml" ]; then
    _robodyn_real=$_robodyn_prefix
  fi
done
if [ -z "$_robodyn_real" ]; then
  . "$COLCON_CURRENT_PREFIX/share/{name}/package.sh"
fi
unset _robodyn_rest _robodyn_real _robodyn_prefix
"""


def steps() -> list[Step]:
    """Return one step for each stand-in: to step back, or to leave where ROS 2 has the package by now."""
    found = []
    for name in workspace.STAND_INS:
        if not places.has_ros_package(name):
            found.append(Step(f"stand-in {name}", places.INSTALL / name / "steps_back.stamp",
                              fingerprint(Path(__file__)), partial(step_back, places.INSTALL / name)))
        elif (places.INSTALL / name).exists():
            found.append(Step(f"stand-in {name} leaves, as ROS 2 has the package", places.NOTES / f"{name}_left.stamp",
                              str((places.INSTALL / name).stat().st_ino),
                              partial(environment.remove, places.INSTALL / name)))
    return found


def step_back(prefix: Path) -> None:
    """Have the set-up script of a package ask for the real package first.

    Args:
        prefix: Folder into which colcon has installed the stand-in, with the package's name.
    """
    share = prefix / "share" / prefix.name
    (share / "stand_in.sh").write_text(SCRIPT.format(name=prefix.name), encoding="utf-8")
    # colcon's scripts follow this file; it names one script instead of the hooks of each path.
    (share / "package.dsv").write_text(f"source;share/{prefix.name}/stand_in.sh\n", encoding="utf-8")
