# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Mesh files as URDFs name them."""

import json
import resource
import struct
import time
import zipfile
from contextlib import closing

import pytest

pytest.importorskip("trimesh", reason="trimesh is not installed: make setup")

import numpy as np  # noqa: E402
import trimesh  # noqa: E402

from robodyn_ros.description.mesh_files import MeshReader, find_mesh  # noqa: E402
from robodyn_ros.description.mesh_formats import load_mesh  # noqa: E402


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


@pytest.mark.parametrize("ending", ["stl", "obj", "ply", "glb", "dae", "3mf", "off", "STL"])
def test_formats(package, ending):
    path = package / f"box.{ending}"
    trimesh.creation.box([1, 2, 3]).export(path, file_type=ending.lower())
    assert load_mesh(path).extents == pytest.approx([1, 2, 3])


@pytest.mark.parametrize(("name", "content"), [("text.stl", b"no mesh"), ("empty.obj", b""), ("zeros.stl", bytes(84)),
                                               ("text.dae", b"<a/>"), ("unknown.xyz123", b"1 2 3")])
def test_what_is_no_mesh_is_an_error_with_the_path(tmp_path, name, content):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(ValueError, match=name):
        load_mesh(tmp_path / name)


@pytest.fixture(scope="module")
def reader():
    with closing(MeshReader()) as reader:
        yield reader


def test_the_reader_keeps_colors(reader, tmp_path):
    mesh = trimesh.creation.box([1, 2, 3])
    mesh.visual.face_colors = [10, 20, 30, 255]
    mesh.export(tmp_path / "box.ply")
    assert reader.read(tmp_path / "box.ply").visual.face_colors[0].tolist() == [10, 20, 30, 255]


def zipped(path, entry, size):
    """A zip file of some kilobytes with zeros."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive, archive.open(entry, "w") as file:
        for _ in range(size >> 22):
            file.write(bytes(2**22))


def doubled_dae(path):
    """A COLLADA file whose nodes each hold the next one twice: 2^40 boxes."""
    trimesh.creation.box([1, 1, 1]).export(path)
    nodes = "".join(f'<node id="n{i}"><instance_node url="#n{i + 1}"/><instance_node url="#n{i + 1}"/></node>'
                    for i in range(40))
    path.write_text(path.read_text().replace(
        "<library_visual_scenes>", f'<library_nodes>{nodes}<node id="n40"/></library_nodes><library_visual_scenes>'
    ).replace("</visual_scene>", '<node><instance_node url="#n0"/></node></visual_scene>'))


def repeated_gltf(path):
    """A glTF file of 3 MB that shows a ball of 80,000 triangles 20,000 times."""
    trimesh.creation.icosphere(6).export(path.with_suffix(".glb"))
    data = path.with_suffix(".glb").read_bytes()
    length = struct.unpack("<I", data[12:16])[0]
    tree, rest = json.loads(data[20:20 + length]), data[20 + length:]
    [mesh] = [node["mesh"] for node in tree["nodes"] if "mesh" in node]
    tree["nodes"] = [{"children": list(range(1, 20_001))}, *({"mesh": mesh} for _ in range(20_000))]
    tree["scenes"] = [{"nodes": [0]}]
    text = json.dumps(tree).encode()
    text += b" " * (-len(text) % 4)
    path.write_bytes(data[:8] + struct.pack("<III", 20 + len(text) + len(rest), len(text), 0x4E4F534A) + text + rest)


@pytest.mark.parametrize(("name", "make", "reason"), [
    ("bomb.3mf", lambda path: zipped(path, "3D/3dmodel.model", 2**28), "128 MiB unzipped"),
    ("bomb.zae", lambda path: zipped(path, "robot.dae", 2**28), "128 MiB unzipped"),
    ("bomb.zip", lambda path: zipped(path, "robot.stl", 2**24), "expected a file of type .stl, .obj"),
    ("mesh.stl.gz", lambda path: path.write_bytes(b""), "expected a file of type"),
    pytest.param("double.dae", doubled_dae, "takes more than", marks=pytest.mark.long),
    ("repeated.glb", repeated_gltf, "takes more than|at most 2,000,000 triangles"),
    ("count.stl", lambda path: path.write_bytes(bytes(80) + struct.pack("<I", 4 * 10**9) + bytes(50)), "count.stl"),
    ("count.off", lambda path: path.write_text("OFF\n4000000000 4000000000 0\n0 0 0\n"), "count.off"),
    ("count.ply", lambda path: path.write_text("ply\nformat ascii 1.0\nelement vertex 4000000000\nproperty float x\n"
                                               "property float y\nproperty float z\nend_header\n0 0 0\n"), "count.ply"),
    ("nan.obj", lambda path: path.write_text("v nan 0 0\nv 1 0 0\nv 0 1 0\nv 1 1 0\nf 1 2 3\nf 2 3 4\n"), "finite"),
    ("nan.stl", lambda path: path.write_bytes(bytes(80) + struct.pack("<I", 1)
                                              + struct.pack("<12f", *[np.nan] * 12) + bytes(2)), "nan.stl"),
    ("index.obj", lambda path: path.write_text("v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 300000000\n"), "index.obj"),
    ("large.stl", lambda path: path.open("wb").truncate(2**32), "at most 128 MiB"),
    ("entities.dae", lambda path: path.write_text('<!DOCTYPE x [<!ENTITY a0 "lol">' + "".join(
        f'<!ENTITY a{i} "{f"&a{i - 1};" * 10}">' for i in range(1, 12)) + "]><COLLADA>&a11;</COLLADA>"), "entities"),
    ("secret.dae", lambda path: path.write_text('<!DOCTYPE x [<!ENTITY a SYSTEM "file:///etc/passwd">]>'
                                                "<COLLADA>&a;</COLLADA>"), "secret.dae"),
])
def test_hostile_files_are_refused_by_name_with_bounded_memory_and_time(reader, tmp_path, name, make, reason):
    make(tmp_path / name)
    before, begin = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, time.monotonic()
    reader._end = 0.0  # each file is the first of a robot
    with pytest.raises(ValueError, match=reason) as refusal:
        reader.read(tmp_path / name)
    assert name in str(refusal.value) and "root:" not in str(refusal.value)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 100_000, "more than 100 MB in this process"
    assert time.monotonic() - begin < 60.0
    trimesh.creation.box([1, 2, 3]).export(tmp_path / "box.stl")
    reader._end = 0.0
    assert len(reader.read(tmp_path / "box.stl").faces) == 12, "the reader reads the next file"


def test_all_meshes_of_a_robot_have_a_bounded_time(tmp_path, monkeypatch):
    trimesh.creation.box([1, 2, 3]).export(tmp_path / "box.stl")
    monkeypatch.setattr("robodyn_ros.description.mesh_files.ROBOT_SECONDS", 0.001)
    with closing(MeshReader()) as reader, pytest.raises(ValueError, match="0.001 s for all meshes"):
        reader.read(tmp_path / "box.stl")


@pytest.mark.parametrize("name", ["a" * 300, "a\0b", "file:///dev/zero", "file:///etc"])
def test_names_that_no_file_can_have_are_not_found(name, tmp_path):
    with pytest.raises((OSError, ValueError)):
        find_mesh(name, tmp_path)


def test_a_package_beside_the_file_is_found_by_the_name_in_its_manifest(tmp_path):
    """As in moveit_resources, whose folders are not called as their packages."""
    packages = {"fanuc_description": "resources_fanuc", "parts": "fanuc_parts"}
    for folder, name in packages.items():
        (tmp_path / folder / "meshes").mkdir(parents=True)
        (tmp_path / folder / "meshes" / "a.stl").touch()
        (tmp_path / folder / "package.xml").write_text(f"<package><name>{name}</name></package>")
    for folder, name in packages.items():
        found = find_mesh(f"package://{name}/meshes/a.stl", tmp_path / "fanuc_description" / "urdf")
        assert found == tmp_path / folder / "meshes" / "a.stl"
