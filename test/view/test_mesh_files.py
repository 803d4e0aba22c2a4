# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Mesh files as URDFs name them."""

import pytest

pytest.importorskip("viser", reason="viser is not installed: make setup")

import trimesh  # noqa: E402

from robodyn_ros.view.mesh_files import find_mesh, load_mesh  # noqa: E402


@pytest.fixture
def package(tmp_path, monkeypatch):
    """A description package with its URDF in urdf/ and a mesh in meshes/."""
    monkeypatch.setenv("AMENT_PREFIX_PATH", "")
    monkeypatch.setenv("ROS_PACKAGE_PATH", "")
    folder = tmp_path / "my_robot"
    (folder / "urdf").mkdir(parents=True)
    (folder / "meshes").mkdir()
    trimesh.creation.box([1, 2, 3]).export(folder / "meshes" / "my link.stl")
    return folder


def test_paths_begin_at_the_urdf_file(package):
    assert find_mesh("../meshes/my link.stl", package / "urdf").samefile(package / "meshes" / "my link.stl")


def test_packages_are_found_above_the_urdf_file_and_in_the_prefixes(package, tmp_path, monkeypatch):
    name, mesh = "package://my_robot/meshes/my%20link.stl", package / "meshes" / "my link.stl"
    assert find_mesh(name, package / "urdf").samefile(mesh)
    with pytest.raises(FileNotFoundError, match="no package 'my_robot' is known: source its workspace"):
        find_mesh(name)
    monkeypatch.setenv("ROS_PACKAGE_PATH", str(tmp_path))
    assert find_mesh(name).samefile(mesh)
    monkeypatch.setenv("ROS_PACKAGE_PATH", "")
    prefix = tmp_path / "install"
    (prefix / "share").mkdir(parents=True)
    package.rename(prefix / "share" / "my_robot")
    monkeypatch.setenv("AMENT_PREFIX_PATH", str(prefix))
    assert find_mesh(name).is_file()


def test_file_urls_are_paths(package):
    assert find_mesh(f"file://{package}/meshes/my%20link.stl").is_file()


@pytest.mark.parametrize("name", ["http://example.org/a.stl", "https://example.org/a.stl", "ftp://a/b.stl"])
def test_nothing_is_fetched(name):
    with pytest.raises(ValueError, match="expected package://, file:// or a path"):
        find_mesh(name)


def test_a_relative_path_needs_to_know_the_file():
    with pytest.raises(FileNotFoundError, match="give --robot"):
        find_mesh("meshes/a.stl")


def test_a_missing_file_is_told_with_the_places(package):
    with pytest.raises(FileNotFoundError, match=f"was not found .{package}/meshes/none.stl"):
        find_mesh("package://my_robot/meshes/none.stl", package)


@pytest.mark.parametrize("ending", ["stl", "obj", "ply", "glb", "dae"])
def test_formats(package, ending):
    path = package / f"box.{ending}"
    trimesh.creation.box([1, 2, 3]).export(path)
    assert load_mesh(path).extents == pytest.approx([1, 2, 3])


@pytest.mark.parametrize(("name", "content"), [("text.stl", b"no mesh"), ("empty.obj", b""), ("zeros.stl", bytes(84)),
                                               ("text.dae", b"<a/>"), ("unknown.xyz123", b"1 2 3")])
def test_what_is_no_mesh_is_an_error_with_the_path(tmp_path, name, content):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(ValueError, match=name):
        load_mesh(tmp_path / name)
