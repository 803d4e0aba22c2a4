# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Reads an MJCF file with MuJoCo, within bounds, and compiles it without the parts that the dynamics do not need.

Without these checks MuJoCo would wait for an included FIFO and create any number of bodies for ``<replicate>``. Meshes
are read only if the inertia of a body depends on them.
"""

from __future__ import annotations

import logging
import math
import warnings
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from lxml import etree

from robodyn_ros.base.bounded_files import read_file
from robodyn_ros.base.errors import DescriptionError, DescriptionWarning, InputError, escaped
from robodyn_ros.base.optional_packages import missing_message

MAX_MJCF_BYTES = 16 * 2**20
"""Greatest size of a file with everything that it includes [bytes]."""
MAX_MESH_BYTES = 64 * 2**20
"""Greatest size of a mesh from whose volume MuJoCo computes the inertia of a body [bytes]."""
MAX_FILES, MAX_ELEMENTS, MAX_BODIES = 200, 100_000, 5000
"""Greatest number of included files; of elements and bodies with every ``<replicate>`` expanded."""

MAX_HFIELD_POINTS, MAX_PIXELS, MAX_MEMORY = 1_000_000, 64 * 2**20, 2**30

_REPEATING = ("replicate", "composite", "flexcomp")
_TOLERATED = ("ERR_HYPHEN_IN_COMMENT", "NS_ERR_UNDEFINED_NAMESPACE")  # MuJoCo tolerates them
_CORNERS = np.array([0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 1], dtype=np.float32)
_FACES = np.array([0, 2, 1, 0, 1, 3, 0, 3, 2, 1, 2, 3], dtype=np.int32)

_logger = logging.getLogger(__name__)


class MujocoModel(NamedTuple):
    """A compiled MJCF file."""

    path: Path
    spec: Any  # MuJoCo's ``MjSpec``, whose elements know the lines of the file
    model: Any  # the ``MjModel`` compiled from it
    mesh_files: dict[str, Path]  # file of each mesh by name; meshes without a file are left out


def import_mujoco(instead: str = "") -> Any:
    """Import MuJoCo, which most programs do not need.

    Args:
        instead: End of the error message: an alternative without MuJoCo.

    Raises:
        InputError: It cannot be imported.
    """
    try:
        import mujoco
    except ImportError as error:
        raise InputError(f"{missing_message('mujoco', error)}{instead}") from None
    if mujoco.get_mju_user_warning() is None:  # else MuJoCo writes MUJOCO_LOG.TXT into the current folder
        mujoco.set_mju_user_warning(_logger.debug)
    return mujoco


def is_mjcf(path: Path) -> bool:
    """Whether the outermost element of a file is ``<mujoco>``; False for a file that is not XML.

    Raises:
        DescriptionError: It cannot be read, or is too large.
    """
    try:
        root = etree.fromstring(_content(path, MAX_MJCF_BYTES), parser=_parser())
    except etree.XMLSyntaxError:
        return False
    return root is not None and bool(root.tag == "mujoco")


def read_mujoco_model(path: Path) -> MujocoModel:
    """Read and compile a file.

    Raises:
        DescriptionError: It is not MJCF, includes something other than regular files, or is too large.
        InputError: MuJoCo is not installed.
    """
    mujoco, spec = import_mujoco(), read_spec(path)
    if spec.plugins or spec.flexes:
        kind, found = ("plugin", spec.plugins) if spec.plugins else ("flex", spec.flexes)
        raise DescriptionError(f"{path}: {kind} '{found[0].name}': a URDF has no word for it; remove it")
    files = _leave_out_files(mujoco, path, spec)
    return MujocoModel(path, spec, compile_spec(spec, str(path)), files)


def compile_spec(spec: Any, name: str) -> Any:
    """Return MuJoCo's ``MjModel`` of a specification, and issue MuJoCo's warnings.

    Args:
        spec: The specification.
        name: Name of the specification in messages.

    Raises:
        DescriptionError: MuJoCo cannot compile it.
    """
    try:
        with warnings.catch_warnings(record=True) as found:
            warnings.simplefilter("always")
            model = spec.compile()
    except (ValueError, import_mujoco().FatalError) as error:
        raise DescriptionError(f"{name}: MuJoCo cannot compile it: {one_line(error)}") from None
    for number, warning in enumerate(found):
        warnings.warn(DescriptionWarning(f"{name}: MuJoCo: {one_line(warning.message)}", name, number, len(found)),
                      stacklevel=2)
    return model


def read_spec(path: Path) -> Any:
    """Return MuJoCo's ``MjSpec`` of a file; its assets are not read yet.

    Raises:
        DescriptionError: See `check_files`; or MuJoCo cannot read it, or it has too many bodies.
        InputError: MuJoCo is not installed.
    """
    mujoco = import_mujoco()
    check_files(path)
    try:
        spec = mujoco.MjSpec.from_file(str(path))
    except ValueError as error:
        raise DescriptionError(f"{path}: MuJoCo cannot read it: {one_line(error)}") from None
    if len(spec.bodies) > MAX_BODIES:
        raise DescriptionError(f"{path}: expected at most {MAX_BODIES} bodies, received {len(spec.bodies)}")
    return spec


def check_assets(path: Path, spec: Any) -> None:
    """Check the files that MuJoCo reads when it compiles a specification; MuJoCo itself reports missing ones.

    Raises:
        DescriptionError: A file is not a regular file, or is too large.
    """
    for assets, directory in ((spec.meshes, "meshdir"), (spec.skins, "meshdir"), (spec.hfields, "meshdir"),
                              (spec.textures, "texturedir")):
        for asset in assets:
            for name in filter(None, (asset.file, *getattr(asset, "cubefiles", ()))):
                _check_asset(path, asset, _asset_file(spec, asset, name, directory))
    for texture in spec.textures:
        if texture.width * texture.height > MAX_PIXELS:
            raise DescriptionError(f"{path}, {texture.info}, texture '{texture.name}': expected at most {MAX_PIXELS} "
                                   f"pixels, received {texture.width} x {texture.height}")


def _check_asset(path: Path, asset: Any, file: Path) -> None:
    if file.exists() and not (file.is_file() and file.stat().st_size <= MAX_MESH_BYTES):
        raise DescriptionError(f"{path}, {asset.info}, '{asset.name}': {file}: expected a regular file of at most "
                               f"{MAX_MESH_BYTES >> 20} MiB, received another one")


def _asset_file(spec: Any, asset: Any, name: str, directory: str) -> Path:
    """Path at which MuJoCo looks for the file of an asset."""
    folder = getattr(asset.compiler, directory) or getattr(spec.compiler, directory)
    file: Path = Path(spec.modelfiledir) / folder / (Path(name).name if spec.strippath else name)
    return file.resolve()


def check_files(path: Path) -> None:
    """Check a file and all files that it includes before MuJoCo reads them.

    Raises:
        DescriptionError: A file cannot be read, is not regular or not XML, or all together are too large.
    """
    left, elements, bodies, pending, seen = MAX_MJCF_BYTES, 0.0, 0.0, [(path, 1.0)], 0
    while pending:
        file, times = pending.pop()
        root, size = _parse(file, left)
        left, seen = left - size, seen + 1
        for element, repeated in _with_repetitions(root, times):
            elements += repeated
            bodies += repeated if element.tag in ("body", "frame") else 0.0
            if element.tag == "size":
                _check_size(element, file)
            points = _product(element, "nrow") * _product(element, "ncol") if element.tag == "hfield" else 0.0
            if points > MAX_HFIELD_POINTS:
                raise DescriptionError(f"{file}, line {element.sourceline}: expected a height field of at most "
                                       f"{MAX_HFIELD_POINTS} points, received {points:.3g}; take a coarser one")
            name = element.get("file")
            if element.tag in ("include", "model") and name:
                pending += [(place, repeated) for place in dict.fromkeys((file.parent / name, path.parent / name))
                            if place.exists()]
        if elements > MAX_ELEMENTS or seen + len(pending) > MAX_FILES:
            raise DescriptionError(f"{file}: expected at most {MAX_ELEMENTS} elements, with those of <replicate> "
                                   f"written out, in {MAX_FILES} files, received more; leave some out")
        if bodies > MAX_BODIES:  # MuJoCo would take minutes
            raise DescriptionError(f"{file}: expected at most {MAX_BODIES} bodies, received {bodies:.0f}")


def _check_size(element: etree._Element, file: Path) -> None:
    """Reject sizes that do not fit into memory."""
    for name, text in element.attrib.items():
        digits, unit = text.strip().rstrip("KMGTPE"), "KMGTPE".find(text.strip()[-1:]) + 1
        try:
            wanted = float(digits) * (1024.0 ** unit if name == "memory" else 1.0)
        except ValueError:
            continue  # MuJoCo reports the error
        most = MAX_MEMORY // (1 if name == "memory" else 8)  # numbers of 8 bytes
        if not wanted <= most:
            raise DescriptionError(f"{file}, line {element.sourceline}: size: {name}: expected at most {most}, "
                                   f"received '{text}'")


def _with_repetitions(root: etree._Element, times: float) -> list[tuple[etree._Element, float]]:
    """Every element, and how many copies of it ``<replicate>`` makes."""
    found, pending = [], [(root, times)]
    while pending:
        element, repeated = pending.pop()
        if element.tag in _REPEATING:
            repeated *= max(1.0, _product(element, "count"))
        found.append((element, repeated))
        pending += [(child, repeated) for child in element.iterchildren(etree.Element)]
    return found


def _product(element: etree._Element, attribute: str) -> float:
    """Product of the numbers in an attribute; 0 for any other text, which MuJoCo reports."""
    try:
        return math.prod(float(word) for word in element.get(attribute, "0").split())
    except ValueError:
        return 0.0


def _parser() -> etree.XMLParser:
    return etree.XMLParser(resolve_entities=False, no_network=True, load_dtd=False, huge_tree=False, recover=True)


def _content(path: Path, largest: int) -> bytes:
    try:
        return read_file(path, largest)
    except InputError as error:
        raise DescriptionError(str(error)) from None
    except OSError as error:
        raise DescriptionError(f"cannot read '{path}': {error}; check path and permissions") from None


def _parse(path: Path, largest: int) -> tuple[etree._Element, int]:
    content = _content(path, largest)
    parser = _parser()
    try:
        root = etree.fromstring(content, parser=parser)
    except etree.XMLSyntaxError as error:
        raise DescriptionError(f"{path}: malformed XML: {error}; correct the file there") from None
    for entry in parser.error_log:
        if entry.type_name not in _TOLERATED:
            raise DescriptionError(f"{path}, line {entry.line}: malformed XML: {entry.message}; correct the file there")
    if root is None:
        raise DescriptionError(f"{path}: malformed XML: it has no element; an MJCF file has one <mujoco> element")
    return root, len(content)


def _leave_out_files(mujoco: Any, path: Path, spec: Any) -> dict[str, Path]:
    """Replace textures and meshes by stand-ins if no inertia depends on them; return the files of the meshes."""
    for texture in spec.textures:
        texture.file, texture.width, texture.height = "", 1, 1
        for side in range(len(texture.cubefiles)):
            texture.cubefiles[side] = ""
        texture.builtin = mujoco.mjtBuiltin.mjBUILTIN_FLAT
    shapes = mujoco.mjtGeom
    for element in (*spec.pairs, *spec.sensors, *spec.tuples, *spec.skins, *spec.keys):
        spec.delete(element)  # it may refer to height fields
    for geom in list(spec.geoms):
        if geom.type == shapes.mjGEOM_HFIELD:
            spec.delete(geom)
    for field in spec.hfields:
        spec.delete(field)
    spec.compiler.discardvisual = False
    needed = {geom.meshname for geom in spec.geoms if geom.meshname
              and (geom.type != shapes.mjGEOM_MESH or _has_inertia_of_shapes(mujoco, spec, geom.parent))}
    files: dict[str, Path] = {}
    for mesh in spec.meshes:
        if not mesh.file:
            continue
        files[mesh.name] = file = _asset_file(spec, mesh, mesh.file, "meshdir")
        if mesh.name not in needed:
            mesh.file, mesh.uservert, mesh.userface = "", _CORNERS, _FACES
            mesh.usernormal = mesh.usertexcoord = mesh.userfacenormal = mesh.userfacetexcoord = []
        else:
            _check_asset(path, mesh, file)
    return files


def _has_inertia_of_shapes(mujoco: Any, spec: Any, body: Any) -> bool:
    """Whether the inertia of a body is needed and follows from its shapes."""
    rule = mujoco.mjtInertiaFromGeom
    if body.explicitinertial and spec.compiler.inertiafromgeom != rule.mjINERTIAFROMGEOM_TRUE:
        return False
    if spec.compiler.settotalmass > 0.0:
        return True
    while body is not None and body.name != "world":
        if body.joints:
            return True
        body = body.parent
    return False


def one_line(error: Warning | Exception | str) -> str:
    """Return a message of MuJoCo as one line."""
    lines = (line.strip().removeprefix("Error: ") for line in str(error).splitlines())
    return escaped(", ".join(line for line in lines if line))
