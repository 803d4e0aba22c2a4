# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Manifests, requirements and installed files agree."""

import ast
import importlib
import importlib.metadata
import json
import os
import re
import sys
from pathlib import Path
from xml.etree import ElementTree

import places
import pytest
from environment import ALWAYS, PURPOSES
from packaging.specifiers import SpecifierSet

from robodyn_ros import __version__

pytestmark = pytest.mark.lint

ROOT = Path(__file__).parents[1]
REQUIREMENTS = ("run", "mujoco", "cluster", "learn", "test", "bench", "docs", "build")
DATA_FOLDERS = ("launch", "config", "urdf")
ROS_PACKAGES = ("robodyn_ros", "robodyn_interfaces")
KEYS = {"mcap": "mcap-ros2-support", "mcap-ros2-support": "mcap-ros2-support", "pin": "pinocchio",
        "pyyaml": "python3-yaml",
        **{name: f"python3-{name}-pip" for name in ("rosbags", "ruff", "trimesh", "yourdfpy")}}
"""Keys in rosdistro's rosdep/python.yaml, and a package of ROS 2, that are not named python3-PROJECT."""
RUN_EXTRAS = ("cluster", "learn", "meshes", "mujoco", "plot", "record", "study", "view", "xacro")
UNPINNED_EXTRA = "train"
"""It brings PyTorch, hundreds of megabytes, so that `make setup` leaves it out."""
WITHOUT_KEY = {"cmaes", "daqp", "distributed", "gymnasium", "llvmlite", "lz4", "msgspec", "mujoco", "onnx",
               "onnxruntime", "playwright", "polars", "pyarrow", "pytest-rerunfailures", "qpsolvers", "viser",
               "websockets", "xacrodoc", "zstandard"}
"""Without a key of rosdep, or they come with such a one."""
MADE_BY_SET_UP = Path(sys.prefix).resolve() == places.VENV.resolve()


def normal(name):
    """Name of a distribution as PyPI compares them."""
    return re.sub(r"[-_.]+", "-", name).lower()


def pins(name):
    """Versions by distribution that a file in requirements/ pins."""
    lines = (ROOT / "requirements" / f"{name}.txt").read_text().splitlines()
    pairs = [line.split("==") for line in lines if line and not line.startswith("#")]
    assert all(len(pair) == 2 for pair in pairs), f"requirements/{name}.txt: every line is a comment or name==version"
    return {normal(project.split("[")[0]): version for project, version in pairs}


def run_pins():
    """Versions by distribution of all that robodyn_ros imports."""
    return pins("run") | pins("mujoco") | pins("cluster") | pins("learn")


def manifest(folder=ROOT):
    return ElementTree.parse(folder / "package.xml").getroot()


def dependencies(kind):
    return {element.text for element in manifest().findall(kind)}


@pytest.fixture(scope="module")
def distribution():
    """Declarations of setup.py."""
    pytest.importorskip("setuptools")
    core = importlib.import_module("distutils.core")    # of setuptools, from Python 3.12 on
    before, arguments = Path.cwd(), sys.argv
    os.chdir(ROOT)
    try:
        return core.run_setup("setup.py", stop_after="init")
    finally:
        os.chdir(before)
        sys.argv = arguments


def names_of(requirements):
    return {normal(re.split(r"[\[<>=!~;]", requirement)[0].strip()) for requirement in requirements}


def imported(*folders):
    """Top-level modules that the files of some folders import."""
    for path in (path for folder in folders for path in (ROOT / folder).rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Import):
                yield from (alias.name.split(".")[0] for alias in node.names)
            elif isinstance(node, ast.ImportFrom):
                yield node.module.split(".")[0]


@pytest.mark.parametrize("name", REQUIREMENTS)
def test_requirements_are_pinned_as_the_lock_has_them(name):
    assert pins(name).items() <= pins("lock").items()


@pytest.mark.parametrize("distro", places.WHEELS)
def test_wheels_of_ros_are_pinned_as_their_lock_has_them(distro):
    locked = pins(f"lock_{distro}")
    assert pins(distro).items() <= locked.items()
    assert not pins("lock").keys() & locked.keys()


@pytest.mark.skipif(not MADE_BY_SET_UP or "ROS_DISTRO" in os.environ,
                    reason="not in an environment that 'make setup' fills with the locked versions alone")
def test_environment_is_what_the_lock_says():
    installed = {normal(each.metadata["Name"]): each.version for each in importlib.metadata.distributions()
                 if (each.read_text("INSTALLER") or "").strip() == "pip"
                 or each.read_text("installed-files.txt") is not None}  # of an sdist, without the package wheel
    installed.pop("pip")
    locked = pins("lock") | pins(f"lock_{places.CHOSEN}")
    assert installed.items() <= locked.items()
    names = (*ALWAYS, *PURPOSES["test"], places.CHOSEN)
    assert installed.keys() >= {project for name in names for project in pins(name)}


def test_each_locked_version_admits_the_first_release_of_the_oldest_python(distribution):
    """Debian 12 has Python 3.11.2, for which pip finds no release that asks for 3.11.5."""
    oldest = distribution.python_requires.removeprefix(">=") + ".0"
    locked = pins("lock") | pins(f"lock_{places.CHOSEN}")
    asked = {each.metadata["Name"]: each.metadata["Requires-Python"] for each in importlib.metadata.distributions()
             if normal(each.metadata["Name"]) in locked and each.metadata["Requires-Python"]}
    assert len(asked) > 50
    assert {name: wanted for name, wanted in asked.items() if oldest not in SpecifierSet(wanted)} == {}


def test_setup_asks_for_what_the_requirements_pin(distribution):
    extras = {extra: names_of(wanted) for extra, wanted in distribution.extras_require.items()}
    assert names_of(distribution.install_requires).union(
        *(extras[name] for name in RUN_EXTRAS)) == run_pins().keys()
    assert extras["test"] == pins("test").keys() | extras["mujoco"] | extras["plot"]
    assert extras["bench"] == pins("bench").keys() | extras["mujoco"] | extras["plot"]
    assert extras["docs"] == pins("docs").keys() | extras["plot"]


def test_what_is_imported_is_declared_and_no_more(distribution):
    """package.xml declares packages of ROS 2; setup.py declares all others."""
    extras = (names_of(distribution.extras_require[extra]) for extra in (*RUN_EXTRAS, UNPINNED_EXTRA))
    declared = names_of(distribution.install_requires).union(*extras)
    ros = dependencies("exec_depend")
    known = {"robodyn_ros", *ros, *sys.stdlib_module_names}
    projects = {"yaml": "pyyaml", "mcap_ros2": "mcap-ros2-support", "xacro": "xacrodoc"}
    others = {projects.get(name, normal(name)) for name in imported("robodyn_ros", "launch")
              if name not in known}
    assert others == declared


def test_manifest_names_nothing_unused():
    packages = {name for name in dependencies("exec_depend") if not name.startswith("python3-")}
    others = {"launch_xml", "launch_yaml", "rviz2", *KEYS.values()}  # launch files and keys of rosdep
    assert packages - others <= set(imported("robodyn_ros", "launch"))


def test_manifest_names_every_dependency_that_has_a_rosdep_key():
    needed, tests = run_pins().keys(), pins("test").keys() - {"matplotlib"}
    assert WITHOUT_KEY <= needed | tests
    for names, kind in ((needed, "exec_depend"), (tests, "test_depend")):
        keys = {KEYS.get(name, f"python3-{name}") for name in names - WITHOUT_KEY}
        ros = {name for name in dependencies(kind) if not name.startswith("python3-")} - set(KEYS.values())
        assert dependencies(kind) - ros == keys


def test_manifests_agree(distribution):
    roots = [manifest(), manifest(ROOT / "robodyn_interfaces")]
    assert tuple(root.findtext("name") for root in roots) == ROS_PACKAGES
    assert {root.findtext("version") for root in roots} == {distribution.get_version()} == {__version__}
    assert {root.findtext("license") for root in roots} == {distribution.get_license()} == {"Apache-2.0"}
    assert {root.get("format") for root in roots} == {"3"}
    maintainers = {(element.text, element.get("email")) for root in roots for element in root.findall("maintainer")}
    assert maintainers == {(distribution.get_maintainer(), distribution.get_maintainer_email())}
    assert distribution.get_name() == "robodyn_ros"


def test_colcon_finds_pytest(distribution):
    """colcon test runs pytest where the extra of this name asks for it."""
    assert "pytest" in distribution.extras_require["test"]


def test_every_data_file_is_installed(distribution):
    installed = {(target, source) for target, sources in distribution.data_files for source in sources}
    for folder in DATA_FOLDERS:
        for path in (ROOT / folder).rglob("*"):
            if path.is_file() and "__pycache__" not in path.parts:
                inner = path.relative_to(ROOT)
                assert (f"share/robodyn_ros/{inner.parent}", str(inner)) in installed
    assert ("share/robodyn_ros", "package.xml") in installed
    assert ("share/ament_index/resource_index/packages", "resource/robodyn_ros") in installed
    assert all((ROOT / source).is_file() for _, source in installed)


def test_every_package_is_installed(distribution):
    folders = {str(path.parent.relative_to(ROOT)).replace(os.sep, ".") for path in
               (ROOT / "robodyn_ros").rglob("*.py")}
    assert folders == set(distribution.packages)


def test_types_are_installed(distribution):
    """Without py.typed, a type checker takes everything imported from the package for Any."""
    patterns = distribution.package_data["robodyn_ros"]
    shipped = {path for pattern in patterns for path in (ROOT / "robodyn_ros").glob(pattern)}
    typed = {path for path in (ROOT / "robodyn_ros").rglob("*") if path.suffix == ".pyi" or path.name == "py.typed"}
    assert shipped == typed
    assert (ROOT / "robodyn_ros" / "py.typed") in shipped


def test_entry_points_lead_somewhere(distribution):
    pytest.importorskip("rclpy", reason="the nodes need ROS 2")
    for group, entries in distribution.entry_points.items():
        for entry in entries:
            name, value = (part.strip() for part in entry.split("="))
            assert callable(importlib.metadata.EntryPoint(name, value, group).load())


def test_cmake_generates_every_interface():
    folder = ROOT / "robodyn_interfaces"
    listed = re.findall(r"^\s+((?:msg|srv)/\w+\.\w+)$", (folder / "CMakeLists.txt").read_text(), re.MULTILINE)
    there = [f"{path.parent.name}/{path.name}" for kind in ("msg", "srv") for path in (folder / kind).iterdir()]
    assert sorted(listed) == sorted(there)


@pytest.mark.parametrize(("path", "type_hash"), [
    ("tf2_msgs/msg/TFMessage", "e369d0f05a23ae52508854b66f6aa0437f3449d652e8cbf22d5abe85d020f087"),
    pytest.param(
        "control_msgs/action/FollowJointTrajectory", {
            "kilted": "ff29901b2693f5deb847e96084a1c2cdb26e70b7c847be21859b70a55fb29cf0",
            "jazzy": "738ebcb7a2d7cfa42f9f1001cc99ce3a4383d1cfe508015d9be8485e4b1c66f6",  # without index in feedback
        }.get(places.CHOSEN), marks=pytest.mark.skipif("ROS_DISTRO" in os.environ, reason="it has its own")),
    ("control_msgs/action/GripperCommand", "e17c0e644eccf14bea84a0a93e0977182872c2eb7873ca6694900059b46dbc84"),
    ("control_msgs/action/ParallelGripperCommand", "adfd3c1ebe8abc38ebcc0e454b6423d291d4010dd5697d14eca5b9be4726ae18"),
    ("pal_statistics_msgs/msg/StatisticsNames", "3b9f11f92019fa7b7bb20b885b18d89972d6836d3f8296fe5c6f87ed9b0f7b28"),
    ("pal_statistics_msgs/msg/StatisticsValues", "5227587e2d85c96fe55d619607437b847a1d65665a8e00aeb3b716bc56bd200a"),
])
def test_stand_ins_have_the_types_that_others_know(path, type_hash):
    """Hashes of ROS 2's own packages; nodes on other machines refuse messages with other hashes."""
    pytest.importorskip(f"{path.split('/')[0]}", reason="the workspace is not sourced")
    prefixes = [Path(prefix) for prefix in os.environ.get("AMENT_PREFIX_PATH", "").split(os.pathsep) if prefix]
    [found, *_] = [description for prefix in prefixes
                   if (description := prefix / "share" / f"{path}.json").is_file()]
    hashes = {each["type_name"]: each["hash_string"] for each in json.loads(found.read_text())["type_hashes"]}
    assert hashes[path] == f"RIHS01_{type_hash}"
