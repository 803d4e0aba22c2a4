# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""``robodyn new-controller NAME`` writes a package with a controller, its parameters, its test and its entry point."""

from __future__ import annotations

import keyword
import re
from argparse import Namespace
from importlib.util import find_spec
from pathlib import Path
from string import Template

from robodyn_ros.base.bounded_files import expand_user
from robodyn_ros.base.errors import InputError
from robodyn_ros.commands.options import Subparsers

LAW = '''"""Controller plugin $name: PD control with gravity compensation, to begin with."""

from dataclasses import dataclass

from robodyn_ros.control import (
    DAMPING,
    STIFFNESS,
    Array,
    Dynamics,
    JointReference,
    Law,
    Parameters,
    State,
    default_gains,
    per_joint,
    scalar,
)


@dataclass(frozen=True, eq=False)
class Gains(Parameters):
    """ROS parameters $name.gains.<joint>.p and .d, and $name.gravity_share."""

    p: Array = per_joint(default_gains.stiffness, unit=STIFFNESS, minimum=0.0, description="Effort per position error")
    d: Array = per_joint(default_gains.damping, unit=DAMPING, minimum=0.0, description="Effort per velocity error")
    gravity_share: float = scalar(1.0, unit="-", minimum=0.0, maximum=1.0, description="Compensated part of gravity")


class $class_name(Law[Gains, JointReference, None]):
    """tau = p (q_d - q) + d (v_d - v) + gravity_share g(q)."""

    @staticmethod
    def law(dynamics: Dynamics, gains: Gains, state: State, reference: JointReference) -> Array:
        """Return the efforts, shape (n,) [N m or N]; do not branch on values: the function is compiled."""
        feedback = gains.p * (reference.q - state.q) + gains.d * (reference.v - state.v)
        return feedback + gains.gravity_share * dynamics.gravity(state.q)
'''
TEST = '''"""Controller $name on the simulated robot."""

import numpy as np
import pytest

from robodyn_ros import Robot, rollout
from robodyn_ros.trajectories import excursion


@pytest.fixture(scope="module")
def robot():
    return Robot.named("arm6")


def test_it_follows_a_motion(robot):
    result = rollout(robot, "$name", excursion(robot))
    assert np.abs(result.error).max() < 0.1  # rad


def test_it_holds_the_robot_against_gravity(robot):
    result = rollout(robot, "$name", duration=1.0, q=np.full(robot.n, 0.3))
    np.testing.assert_allclose(result.q[-1], 0.3, atol=1e-3)
'''
SETUP = '''from setuptools import find_packages, setup

setup(
    name="$name",
    version="0.1.0",
    packages=find_packages(include=["$name"]),
    data_files=[
        ("share/ament_index/resource_index/packages", ["resource/$name"]),
        ("share/$name", ["package.xml"]),
    ],
    entry_points={"robodyn_ros.controllers": ["$name = $name.law:$class_name"]},
    zip_safe=False,
)
'''
MANIFEST = '''<?xml version="1.0"?>
<package format="3">
  <name>$name</name>
  <version>0.1.0</version>
  <description>Controller $name for robodyn_ros</description>
  <maintainer email="you@example.org">you</maintainer>
  <license>Apache-2.0</license>
  <exec_depend>robodyn_ros</exec_depend>
  <test_depend>python3-pytest</test_depend>
  <export>
    <build_type>ament_python</build_type>
  </export>
</package>
'''
README = '''# $name

A controller for [robodyn_ros](https://pypi.org/project/robodyn-ros/). Change the law in `$name/law.py`.

```sh
pip install --no-build-isolation --editable .    # or: colcon build --symlink-install --packages-select $name
python -m pytest
robodyn simulate --robot arm6 --view             # in another terminal
robodyn swap --watch $name                       # puts the law in force, again at every save
robodyn params $name
```
'''
FILES = {"{name}/__init__.py": '"""Controller $name."""\n', "{name}/law.py": LAW, "test/test_{name}.py": TEST,
         "setup.py": SETUP, "package.xml": MANIFEST, "README.md": README, "resource/{name}": "",
         "setup.cfg": "[develop]\nscript_dir=$$base/lib/$name\n[install]\ninstall_scripts=$$base/lib/$name\n"}
"""Text of each file; ``$name`` and ``$class_name`` are replaced."""


def add_commands(commands: Subparsers) -> None:
    """Add ``new-controller``."""
    new = commands.add_parser(
        "new-controller",
        help="write a package with a controller of your own: law, parameters, test, entry point",
        description="Write a Python package, for pip and colcon alike, whose controller you then change.",
    )
    new.add_argument("name", help="of the controller and its package, such as my_law")
    new.add_argument("--folder", default=".", help="where the package's folder is made (default: here)")
    new.set_defaults(run=run_new_controller)


def run_new_controller(options: Namespace) -> int:
    """Write the package.

    Raises:
        InputError: The name is not valid for a package, or taken; or the folder exists.
    """
    from robodyn_ros.control.plugins.registry import controller_names

    name = options.name
    class_name = "".join(part.capitalize() for part in name.split("_"))
    if not re.fullmatch(r"[a-z][a-z0-9_]{0,63}", name) or keyword.iskeyword(name):
        raise InputError(f"new-controller: expected a name of lower-case letters, digits and underscores, such as "
                         f"my_law, received '{name}'")
    if keyword.iskeyword(class_name) or class_name in ("Gains", *re.findall(r"^    (\w+),$", LAW, re.MULTILINE)):
        raise InputError(f"new-controller: '{name}' would be the class '{class_name}', which has a meaning in its file "
                         "already; choose another name")
    if name in controller_names():
        raise InputError(f"new-controller: a controller '{name}' is installed already; choose another name")
    if find_spec(name) is not None:
        raise InputError(f"new-controller: Python has a module '{name}' already; choose another name")
    folder = expand_user(options.folder) / name
    try:
        folder.mkdir(parents=True)
    except FileExistsError:
        raise InputError(f"new-controller: '{folder}' exists already; choose another name or --folder") from None
    words = {"name": name, "class_name": class_name}
    for pattern, text in FILES.items():
        path: Path = folder / pattern.format(name=name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(Template(text).substitute(words), encoding="utf-8")
    print(f"wrote {folder}; its README.md says how to install, test and try it")
    return 0
