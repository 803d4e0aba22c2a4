# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Files of `make dist`: what is in them runs in an environment that has nothing but the declared dependencies."""

import importlib.metadata
import os
import re
import subprocess
import sys
import sysconfig
import tarfile
import venv
from pathlib import Path

import distribution
import pytest

ROOT = Path(__file__).parents[2]

pytestmark = [pytest.mark.long,
              pytest.mark.skipif(not (ROOT / ".git").exists(), reason="make dist needs a checkout")]


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """Sdist, wheel and ROS sources."""
    folder = tmp_path_factory.mktemp("dist")
    distribution.make(folder)
    found = {path.name.partition(distribution.version())[2]: path for path in folder.iterdir()}
    assert set(found) == {".tar.gz", "-py3-none-any.whl", "-ros.tar.gz"}
    return found


def closure(names):
    """Distributions that requirements of the wheel need, direct or not, here."""
    requirements = pytest.importorskip("packaging.requirements", reason="matplotlib brings it")
    found, pending = {}, [requirements.Requirement(name) for name in names]
    while pending:
        wanted = pending.pop()
        extras = wanted.extras or {""}
        if wanted.name in found or wanted.marker and not wanted.marker.evaluate({"extra": ""}):
            continue
        found[wanted.name] = importlib.metadata.distribution(wanted.name)
        pending += [inner for inner in map(requirements.Requirement, found[wanted.name].requires or ())
                    if inner.marker is None or any(inner.marker.evaluate({"extra": extra}) for extra in extras)]
    return found.values()


@pytest.fixture(scope="module")
def python(files, tmp_path_factory):
    """Python of an environment with the wheel and, linked, its dependencies and those of its extra `plot` alone."""
    folder = tmp_path_factory.mktemp("empty") / "venv"
    venv.create(folder, symlinks=True)
    site = folder / "lib" / f"python3.{sys.version_info[1]}" / "site-packages"
    subprocess.run([sys.executable, "-m", "pip", "--python", str(folder / "bin" / "python"), "install", "-q",
                    "--no-index", "--no-deps", str(files["-py3-none-any.whl"])], check=True)
    [ours] = importlib.metadata.distributions(name="robodyn_ros", path=[str(site)])
    wanted = [line for line in ours.requires if "extra ==" not in line or 'extra == "plot"' in line]
    installed_in = Path(sysconfig.get_path("purelib"))
    for each in closure([line.partition(";")[0] for line in wanted]):
        for top in {path.parts[0] for path in each.files if path.parts[0] not in ("..", "__pycache__")}:
            if (installed_in / top).exists() and not (site / top).exists():
                (site / top).symlink_to(installed_in / top)
    return folder / "bin" / "python"


def run(python, *arguments, cwd):
    """Run a program of the empty environment, without any variable that leads to this checkout."""
    variables = {name: os.environ[name] for name in ("HOME", "PATH", "ROBODYN_CACHE_DIR") if name in os.environ}
    done = subprocess.run([str(python), *arguments], cwd=cwd, env={**variables, "MPLBACKEND": "agg"}, text=True,
                          capture_output=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.long
def test_the_wheel_runs_without_ros_and_without_the_checkout(python, tmp_path):
    robodyn = python.with_name("robodyn")
    where = run(python, "-c", "import robodyn_ros; print(robodyn_ros.__file__)", cwd=tmp_path)
    assert Path(where.strip()).is_relative_to(python.parents[1])
    assert "shoulder_pan_joint" in run(python, str(robodyn), "check", "arm6", cwd=tmp_path)
    run(python, str(robodyn), "compare", "pd", "--robot", "planar_2r", cwd=tmp_path)
    run(python, str(robodyn), "tune", "--robot", "planar_2r", "--controller", "pd", "--generations", "2",
        "--population", "8", cwd=tmp_path)
    assert (tmp_path / "compare.png").is_file() and list((tmp_path / "tune_output").glob("*.yaml"))


def test_a_recording_is_refused_without_the_extra_that_reads_it(python, tmp_path):
    (tmp_path / "run.mcap").touch()
    code = "from robodyn_ros.toolbox.recording.run import Run; Run('run.mcap')"
    done = subprocess.run([str(python), "-c", code], cwd=tmp_path, text=True, capture_output=True)
    assert "recordings need mcap-ros2-support, which cannot be imported" in done.stderr
    assert "pip install mcap" in done.stderr


def test_the_library_block_of_the_readme_runs_there(python, tmp_path):
    [block] = [block for block in re.findall(r"^```python\n(.*?)^```", (ROOT / "README.md").read_text(),
                                             re.DOTALL | re.MULTILINE) if "from_urdf" in block]
    assert "RMS" in run(python, "-c", block, cwd=tmp_path)


def test_bloom_finds_both_packages(files, tmp_path):
    packages = pytest.importorskip("catkin_pkg.packages", reason="colcon brings it")
    with tarfile.open(files["-ros.tar.gz"]) as archive:
        archive.extractall(tmp_path, filter="data")
    found = packages.find_packages(str(tmp_path), warnings=(warnings := []))
    assert {package.name for package in found.values()} == {"robodyn_ros", "robodyn_interfaces"} and not warnings
    for folder, package in found.items():
        package.validate()
        assert package.package_format == 3 and package.maintainers and package.licenses == ["Apache-2.0"]
        source = tmp_path / folder
        assert (source / "LICENSE").is_file()
        assert re.search(rf"^{re.escape(package.version)} \(\d{{4}}-\d\d-\d\d\)$|^Forthcoming$",
                         (source / "CHANGELOG.rst").read_text(), re.MULTILINE)
