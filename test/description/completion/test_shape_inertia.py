# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Inertias of shapes: primitives against fine meshes, meshes against known bodies, and invalid shapes."""

import contextlib

import numpy as np
import pytest
from lxml import etree
from numpy.testing import assert_allclose

from robodyn_ros import DescriptionError
from robodyn_ros.description.completion.shape_inertia import mesh_body, primitive, shape_inertia
from robodyn_ros.description.mesh_files import MeshReader
from robodyn_ros.description.report import Report

trimesh = pytest.importorskip("trimesh", reason="trimesh is not installed: make setup")


@pytest.fixture(scope="module")
def reader():
    with contextlib.closing(MeshReader()) as found:
        yield found


def of_link(shapes, folder, reader):
    return shape_inertia(etree.fromstring(f"<link name='l'>{shapes}</link>"), Report("r.urdf"), folder, reader)


@pytest.mark.parametrize(("kind", "sizes", "mesh"), [
    ("box", [0.2, 0.3, 0.5], trimesh.creation.box([0.2, 0.3, 0.5])),
    ("sphere", [0.3], trimesh.creation.icosphere(5, 0.3)),
    ("cylinder", [0.2, 0.7], trimesh.creation.cylinder(0.2, 0.7, sections=400)),
    ("capsule", [0.2, 0.7], trimesh.creation.capsule(0.7, 0.2, count=[200, 200])),
    ("capsule", [0.3, 1e-9], trimesh.creation.icosphere(5, 0.3)),
])
def test_primitives_in_closed_form(kind, sizes, mesh):
    body, (reference, _) = primitive(kind, sizes), mesh_body(mesh)
    assert_allclose(body.mass, reference.mass, rtol=2e-3)
    assert_allclose(body.rotational, reference.rotational, rtol=4e-3, atol=1e-6)


def test_shapes_of_a_link_are_one_body_in_its_frame(tmp_path, reader):
    along = 0.1 * np.array([np.cos(0.5), np.sin(0.5)])  # the x axis of the boxes, which are turned
    halves = "".join(f"<collision><origin xyz='{0.3 + x} {0.1 + y} 0.2' rpy='0 0 0.5'/><geometry>"
                     "<box size='0.2 0.2 0.3'/></geometry></collision>" for x, y in (along, -along))
    whole = "<visual><origin xyz='0.3 0.1 0.2' rpy='0 0 0.5'/><geometry><box size='0.4 0.2 0.3'/></geometry></visual>"
    found, expected = of_link(halves, tmp_path, reader), of_link(whole, tmp_path, reader)
    assert (found.source, expected.source) == ("collision: 2 boxes", "visual: box")
    for name in ("mass", "com", "rotational"):
        assert_allclose(getattr(found.body, name), getattr(expected.body, name), atol=1e-12)
    assert of_link(whole + halves, tmp_path, reader).source == "collision: 2 boxes"
    assert of_link("", tmp_path, reader) is None and of_link("<visual/>", tmp_path, reader) is None


def test_meshes_by_their_volume_or_hull(tmp_path, reader):
    tee = trimesh.boolean.union([trimesh.creation.box(bounds=[[0, 0, 0], [300, 100, 100]]),
                                 trimesh.creation.box(bounds=[[100, 0, 0], [200, 100, 400]])])
    tee.export(tmp_path / "tee.stl")
    opened = tee.copy()
    opened.update_faces(np.arange(len(tee.faces)) > 0)
    opened.export(tmp_path / "open.obj")
    trimesh.creation.box([100, 100, 0]).export(tmp_path / "flat.stl")
    mesh = "<collision><geometry><mesh filename='{}' scale='{} 0.001 0.001'/></geometry></collision>"
    for scale in ("0.001", "-0.001"):  # a mirrored mesh is a body, too
        found = of_link(mesh.format("tee.stl", scale), tmp_path, reader)
        assert found.source == "collision: mesh"
        assert_allclose(found.body.mass, 6e-3)
        assert_allclose(found.body.com, [1e3 * float(scale) * 0.15, 0.05, (3 * 0.05 + 3 * 0.25) / 6])
    hull = of_link(mesh.format("open.obj", "0.001"), tmp_path, reader)
    assert hull.source == "collision: convex hull of an open mesh" and hull.body.mass == pytest.approx(9e-3)
    assert of_link(mesh.format("flat.stl", "0.001"), tmp_path, reader) is None
    inner = trimesh.creation.box([90, 90, 90])
    inner.invert()
    trimesh.util.concatenate([trimesh.creation.box([100, 100, 100]), inner]).export(tmp_path / "shell.stl")
    shell = of_link(2 * mesh.format("shell.stl", "0.001"), tmp_path, reader)  # what it covers has a mass, too
    assert shell.source == "collision: 2 convex hulls of hollow meshes" and shell.body.mass == pytest.approx(2e-3)


def moved_box(size, x=0.0, inwards=False):
    found = trimesh.creation.box([size] * 3, transform=trimesh.transformations.translation_matrix([x, 0.0, 0.0]))
    if inwards:
        found.invert()
    return found


def turned(mesh, *faces):
    """A closed mesh some of whose triangles face inwards."""
    mesh.faces[list(faces)] = mesh.faces[list(faces)][:, ::-1]
    return trimesh.Trimesh(mesh.vertices, mesh.faces, process=False)


@pytest.mark.parametrize(("meshes", "volume", "center"), [
    ([moved_box(1.0, inwards=True)], 1.0, 0.0),
    ([turned(moved_box(1.0), 3)], 1.0, 0.0),
    ([turned(moved_box(1.0, inwards=True), 3, 7)], 1.0, 0.0),
    ([moved_box(1.0), moved_box(1.0, 1.2, inwards=True)], 2.0, 0.6),
    ([moved_box(1.0, inwards=True), moved_box(1.0, 1.2, inwards=True)], 2.0, 0.6),
    ([moved_box(1.0), moved_box(0.5, inwards=True)], 0.875, 0.0),
    ([moved_box(1.0, inwards=True), moved_box(0.5)], 0.875, 0.0),
])
def test_a_closed_mesh_has_a_volume_whichever_way_its_triangles_face(meshes, volume, center):
    """Bodies inside others whose triangles face the other way are cavities."""
    body, kind = mesh_body(trimesh.util.concatenate(meshes))
    reference, _ = mesh_body(moved_box(1.0))
    assert kind == "mesh" and body.mass == pytest.approx(volume)
    assert_allclose(body.com, [center, 0.0, 0.0], atol=1e-12)
    if volume == 1.0:
        assert_allclose(body.rotational, reference.rotational, atol=1e-12)


@pytest.mark.parametrize(("shape", "message"), [
    ("<box size='1 2'/>", "line 1, <box> in .*size='1 2'; expected 3 finite numbers"),
    ("<box size='1 2 x'/>", "expected 3 finite numbers"),
    ("<box/>", "expected 3 finite numbers"),
    ("<sphere radius='nan'/>", "radius='nan'; expected 1 finite number"),
    ("<sphere radius='0'/>", "expected sizes above 0 and up to 10 m, received 0"),
    ("<cylinder radius='0.1' length='-1'/>", "received 0.1 -1"),
    ("<cylinder radius='100' length='500'/>", "lengths are in metres"),
    ("<mesh/>", "it names no file"),
    ("<mesh filename='none.stl'/>", "mesh 'none.stl' was not found"),
    ("<mesh filename='package://nowhere/none.stl'/>", "nowhere"),
    ("<mesh filename='text.stl'/>", "text.stl"),
    ("<mesh filename='long.stl'/>", "mesh 'long.stl' is 400 m long; if these are millimetres"),
    ("<mesh filename='long.stl' scale='1 1'/>", "scale='1 1'; expected 3"),
])
def test_what_is_no_shape_is_told(tmp_path, reader, shape, message):
    (tmp_path / "text.stl").write_text("solid")
    trimesh.creation.box([400, 1, 1]).export(tmp_path / "long.stl")
    with pytest.raises(DescriptionError, match=message) as caught:
        of_link(f"<collision><geometry>{shape}</geometry></collision>", tmp_path, reader)
    assert str(caught.value).startswith("r.urdf, line 1") and "\n" not in str(caught.value)


def test_a_shape_far_away_is_told(tmp_path, reader):
    with pytest.raises(DescriptionError, match="450 m from the frame of its link"):
        of_link("<visual><origin xyz='450 0 0'/><geometry><sphere radius='1'/></geometry></visual>", tmp_path, reader)
    with pytest.raises(DescriptionError, match="xyz='1 2'; expected 3 finite numbers"):
        of_link("<visual><origin xyz='1 2'/><geometry><sphere radius='1'/></geometry></visual>", tmp_path, reader)
