# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Writes the robot of a compiled MJCF file as a URDF; a part that a URDF cannot describe is an error that names it.

A body of MuJoCo becomes a link. Each joint of a body moves a link of its own: its frame has the body's axes and its
origin at the joint's anchor. The body's link is the last of these links, or fixed to it. Positions are those of
``qpos``.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from lxml import etree
from numpy.typing import NDArray

from robodyn_ros.base.checks import Range
from robodyn_ros.base.errors import DescriptionError, first_of
from robodyn_ros.description.mjcf import UNLIMITED
from robodyn_ros.description.mjcf.model_file import MujocoModel, import_mujoco, read_mujoco_model

WORLD = "world"
"""Name of the root link."""

_READABLE_MESHES = (".stl", ".obj", ".dae", ".ply", ".glb")
_NO_NAME = "MuJoCo Model"  # name of a file without a name
_DISPLAYED_GROUPS = 3
"""MuJoCo's viewer shows geoms of the groups 0 to 2."""
_GEAR = Range(-1e6, 1e6)
"""Range of an actuator's gear, the same as for a reduction in a URDF."""


class ConvertedRobot(NamedTuple):
    """A robot of an MJCF file."""

    urdf: str
    gravity: NDArray[np.float64]  # gravitational acceleration of the file, shape (3,) [m/s^2]
    notes: tuple[str, ...]  # parts of the file that the URDF leaves out, one line each
    remarks: tuple[str, ...]  # parts of the file that act differently here, one line each


def convert_mjcf(path: Path) -> ConvertedRobot:
    """Write the robot of an MJCF file as a URDF.

    Args:
        path: The file.

    Raises:
        DescriptionError: MuJoCo cannot read it, or the robot has a part that a URDF cannot describe.
        InputError: MuJoCo is not installed.
    """
    found = read_mujoco_model(path)
    mujoco = import_mujoco()
    writer = _Writer(mujoco, found)
    no_gravity = bool(found.model.opt.disableflags & mujoco.mjtDisableBit.mjDSBL_GRAVITY)
    gravity = np.zeros(3) if no_gravity else np.array(found.model.opt.gravity)
    return ConvertedRobot(writer.urdf(), gravity, tuple(writer.notes), tuple(writer.remarks))


class _Mimic(NamedTuple):
    leader: int
    multiplier: float
    offset: float


class _Writer:
    """Writes one robot.

    Args:
        mujoco: The module.
        found: The compiled file.

    Attributes:
        notes: See `ConvertedRobot`.
        remarks: See `ConvertedRobot`.
    """

    def __init__(self, mujoco: Any, found: MujocoModel) -> None:
        self.notes: list[str] = []
        self.remarks: list[str] = []
        self._mujoco, self._found, self._model = mujoco, found, found.model
        self._check_joints()
        self._check_rest()
        self._mimics = self._read_couplings()
        self._check_tendons()
        self._gears, self._greatest_efforts = self._read_actuators()
        name = found.spec.modelname
        self._robot = etree.Element("robot", name=found.path.stem if name in ("", _NO_NAME) else name)
        self._links: set[str] = {WORLD}
        self._link_of: dict[int, str] = {}
        self._joint_names: list[str] = []
        for joint in range(self._model.njnt):
            self._joint_names.append(_unused(self._model.joint(joint).name or f"joint{joint}", self._joint_names))

    def urdf(self) -> str:
        """Return the URDF."""
        model, path = self._model, self._found.path
        text = f" Written from {path.name} by robodyn_ros with MuJoCo {self._mujoco.__version__}. "
        self._robot.append(etree.Comment(text.replace("--", "- ")))
        names = [WORLD]
        for body in range(1, model.nbody):
            names.append(_unused(model.body(body).name or f"body{body}", names))
        self._links.update(names)
        for body, name in enumerate(names):
            self._link_of[body] = name
            link = self._add_link(name)
            if body:
                self._add_inertial(link, body)
                self._add_joints(body, name)
            self._add_shapes(link, body)
        for site in range(model.nsite):
            if model.site(site).name:
                self._add_site(site)
        for joint, gear in sorted(self._gears.items()):
            name = self._joint_names[joint]
            transmission = etree.SubElement(self._robot, "transmission", name=f"{name}_transmission")
            etree.SubElement(transmission, "type").text = "transmission_interface/SimpleTransmission"
            etree.SubElement(transmission, "joint", name=name)
            actuator = etree.SubElement(transmission, "actuator", name=f"{name}_motor")
            etree.SubElement(actuator, "mechanicalReduction").text = repr(gear)
        etree.indent(self._robot)
        return str(etree.tostring(self._robot, encoding="unicode", pretty_print=True))

    # What a URDF cannot say

    def _refuse(self, kind: str, element: Any, problem: str, remedy: str) -> DescriptionError:
        info = getattr(element, "info", "")
        place = f"{self._found.path}{f', {info}' if info else ''}"
        named = f"{kind} '{element.name}'" if element.name else f"a {kind} without name"
        return DescriptionError(f"{place}, {named}: {problem}; {remedy}")

    def _check_joints(self) -> None:
        model, kinds = self._model, self._mujoco.mjtJoint
        for joint in self._found.spec.joints:
            if joint.type == kinds.mjJNT_FREE:
                raise self._refuse("joint", joint, f"it is a free joint of body '{joint.parent.name}', and the base of "
                                   "a robot is fixed here", "remove the joint, or the body with it; a scene with free "
                                   "bodies is for --engine mujoco (mujoco_scene)")
            if joint.type == kinds.mjJNT_BALL:
                raise self._refuse("joint", joint, "it is a ball joint, and joints of a URDF have one degree of "
                                   "freedom", "write three hinges in its place")
            dof = model.jnt_dofadr[joint.id]
            for quantity, values in (("stiffness", (model.jnt_stiffness[joint.id], model.jnt_stiffnesspoly[joint.id])),
                                     ("damping that is not linear", (model.dof_dampingpoly[dof],))):
                if np.any(np.concatenate([np.atleast_1d(value) for value in values])):
                    self._note(f"joint '{joint.name}' has {quantity}, and a URDF has no word for it", "left out")

    def _check_rest(self) -> None:
        """Check bodies and the medium."""
        model, spec = self._model, self._found.spec
        for body in spec.bodies:
            if body.mocap:
                raise self._refuse("body", body, "it is a mocap body, which moves without joints", "remove it")
        if model.opt.density or model.opt.viscosity:
            raise DescriptionError(f"{self._found.path}: the medium has a density of {model.opt.density:g} kg/m^3 and "
                                   f"a viscosity of {model.opt.viscosity:g} Pa s, and a URDF has no medium; set both "
                                   "to 0 in <option>")
        lifted = [model.body(body).name for body in np.flatnonzero(model.body_gravcomp)]
        if lifted:
            self.remarks.append(f"{self._found.path}: gravcomp of {first_of(lifted)} does not act here: a law "
                                "compensates gravity, or the driver does (gravity_compensation)")

    def _read_couplings(self) -> dict[int, _Mimic]:
        """Linear couplings between joints, by the joint that follows."""
        model, mimics = self._model, dict[int, _Mimic]()
        for equality in self._found.spec.equalities:
            row, kind = equality.id, self._mujoco.mjtEq(equality.type)
            if not model.eq_active0[row]:
                self._note(f"equality '{equality.name}' is not active", "left out")
                continue
            if kind != self._mujoco.mjtEq.mjEQ_JOINT:
                word = kind.name.removeprefix("mjEQ_").lower()
                raise self._refuse("equality", equality, f"it is a {word} constraint, and a URDF has no closed loops",
                                   "remove it, or make it inactive")
            follower, leader, data = int(model.eq_obj1id[row]), int(model.eq_obj2id[row]), model.eq_data[row]
            if leader < 0:
                raise self._refuse("equality", equality, f"it holds the joint '{equality.name1}'", "remove that joint")
            if np.any(data[2:5]):
                raise self._refuse("equality", equality, "it couples joints by a polynomial, and a URDF by a line "
                                   "alone", "set all but the first two numbers of polycoef to 0")
            if follower in mimics:
                raise self._refuse("equality", equality, f"the joint '{equality.name1}' follows another one already",
                                   "remove one of them")
            q_follower, q_leader = (float(model.qpos0[model.jnt_qposadr[joint]]) for joint in (follower, leader))
            slope = float(data[1])
            mimics[follower] = _Mimic(leader, slope, q_follower + float(data[0]) - slope * q_leader)
        return mimics

    def _leader(self, joint: int) -> tuple[int, float]:
        """The independent joint that a joint follows in the end, and the factor between them."""
        factor = 1.0
        for _ in range(len(self._mimics)):
            if joint in self._mimics:
                factor *= self._mimics[joint].multiplier
                joint = self._mimics[joint].leader
        return joint, factor

    def _check_tendons(self) -> None:
        """Report tendons that do more than transmit an actuator's effort to joints that follow each other."""
        model = self._model
        for tendon in self._found.spec.tendons:
            row = tendon.id
            acts = any(np.any(values[row]) for values in (
                model.tendon_stiffness, model.tendon_stiffnesspoly, model.tendon_damping, model.tendon_dampingpoly,
                model.tendon_frictionloss, model.tendon_armature, model.tendon_limited))
            start = model.tendon_adr[row]
            wraps = slice(start, start + model.tendon_num[row])
            fixed = np.all(model.wrap_type[wraps] == self._mujoco.mjtWrap.mjWRAP_JOINT)
            leaders = {self._leader(int(joint))[0] for joint in model.wrap_objid[wraps]} if fixed else set()
            if acts or len(leaders) != 1:
                self._note(f"tendon '{tendon.name or row}' acts on the joints, and a URDF has no tendons",
                           "left out; <equality><joint> couples joints" if fixed else "left out")

    # Drives

    def _read_actuators(self) -> tuple[dict[int, float], dict[int, float]]:
        """Gear of the actuators (if it is not 1) and greatest effort, by joint."""
        model = self._model
        gears: dict[int, float] = {}
        efforts: dict[int, NDArray[np.float64]] = {}  # least and greatest
        left_out, no_drives, undriven = [], [], set(range(model.njnt)) - set(self._mimics)
        for row in range(model.nactuator):
            name = model.actuator(row).name or f"actuator {row}"
            joint, arm = self._driven(row)
            if joint < 0:
                left_out.append(name)
                continue
            gear = float(model.actuator_gear[row, 0])
            if gear == 0.0:
                continue
            undriven.discard(joint)
            force = _force_range(self._mujoco, model, row)
            if force is None:
                no_drives.append(name)
                continue
            if self._drives_joint(row) and gears.setdefault(joint, gear) != gear:
                self._note(f"the actuators of joint '{model.joint(joint).name}' have the gears {gears[joint]:g} and "
                           f"{gear:g}", "the first is used")
            if arm:
                efforts[joint] = efforts.get(joint, np.zeros(2)) + np.sort(gear * arm * np.array(force))
        for joint in map(int, np.flatnonzero(model.jnt_actfrclimited)):
            efforts[joint] = np.clip(efforts.get(joint, np.array([-np.inf, np.inf])), *model.jnt_actfrcrange[joint])
        for joint, (low, high) in efforts.items():
            if -low != high:
                self._note(f"the actuators of joint '{model.joint(joint).name}' have efforts from {low:g} to {high:g}, "
                           "and a URDF has one limit for both directions", f"{max(-low, high):g} is used")
        if left_out:
            self._note(f"actuators that drive no single joint: {first_of(left_out)}", "left out: joints are driven")
        if no_drives:
            self._note(f"actuators whose force has no range of its own: {first_of(no_drives)}",
                       "not converted; actuatorfrcrange of a joint sets its effort limit")
        if model.nactuator and undriven:
            self._note(f"no actuator drives {first_of([model.joint(joint).name for joint in sorted(undriven)])}",
                       "here all joints are driven; their efforts have no limit")
        greatest = {joint: float(np.abs(ends).max()) for joint, ends in efforts.items()}
        return ({joint: gear for joint, gear in gears.items() if gear != 1.0},
                {joint: effort for joint, effort in greatest.items() if 0.0 < effort < np.inf})

    def _driven(self, row: int) -> tuple[int, float]:
        """The joint that an actuator drives directly or by a tendon, and the lever; -1 if it is not a single joint.

        Joints that follow each other count as one.
        """
        model, joint = self._model, int(self._model.actuator_trnid[row, 0])
        if self._drives_joint(row):
            return joint, 1.0
        if self._mujoco.mjtTrn(int(model.actuator_trntype[row])) != self._mujoco.mjtTrn.mjTRN_TENDON:
            return -1, 0.0
        wraps = slice(model.tendon_adr[joint], model.tendon_adr[joint] + model.tendon_num[joint])
        if not np.all(model.wrap_type[wraps] == self._mujoco.mjtWrap.mjWRAP_JOINT):
            return -1, 0.0
        arms: dict[int, float] = {}
        for each, lever in zip(model.wrap_objid[wraps], model.wrap_prm[wraps], strict=True):
            leader, factor = self._leader(int(each))
            arms[leader] = arms.get(leader, 0.0) + factor * float(lever)
        return next(iter(arms.items())) if len(arms) == 1 else (-1, 0.0)

    def _drives_joint(self, row: int) -> bool:
        kinds = self._mujoco.mjtTrn
        return kinds(int(self._model.actuator_trntype[row])) in (kinds.mjTRN_JOINT, kinds.mjTRN_JOINTINPARENT)

    def _rotor_and_damping(self, joint: int) -> tuple[float, float]:
        """Armature and viscous friction of a joint and of its actuators."""
        model, dof = self._model, self._model.jnt_dofadr[joint]
        armature, damping = float(model.dof_armature[dof]), float(model.dof_damping[dof, ...].item())
        for row in range(model.nactuator):
            if self._drives_joint(row) and model.actuator_trnid[row, 0] == joint:
                gear = float(model.actuator_gear[row, 0])
                if not _GEAR.holds(gear):
                    raise self._refuse("actuator", self._found.spec.actuators[row], f"gear: expected {_GEAR}, "
                                       f"received {gear:g}", "correct it")
                armature += gear**2 * float(model.actuator_armature[row])
                damping += gear**2 * float(model.actuator_damping[row])
        return armature, damping

    # Elements

    def _note(self, found: str, effect: str) -> None:
        self.notes.append(f"{self._found.path}: {found}; {effect}")

    def _add_link(self, name: str) -> etree._Element:
        return etree.SubElement(self._robot, "link", name=name)

    def _add_inertial(self, link: etree._Element, body: int) -> None:
        model = self._model
        if model.body_mass[body] == 0.0:
            return
        rotation = self._rotation(model.body_iquat[body])
        tensor = rotation @ np.diag(model.body_inertia[body]) @ rotation.T
        inertial = etree.SubElement(link, "inertial")
        etree.SubElement(inertial, "origin", xyz=_numbers(model.body_ipos[body]), rpy="0 0 0")
        etree.SubElement(inertial, "mass", value=_numbers([model.body_mass[body]]))
        etree.SubElement(inertial, "inertia", {f"i{'xyz'[row]}{'xyz'[column]}": _numbers([tensor[row, column]])
                                               for row, column in zip(*np.triu_indices(3), strict=True)})

    def _add_joints(self, body: int, name: str) -> None:
        """Add the joints of a body in the order in which MuJoCo applies them."""
        model, previous = self._model, self._link_of[int(self._model.body_parentid[body])]
        pose = _pose(model.body_pos[body], self._rotation(model.body_quat[body]))
        joints = range(model.body_jntadr[body], model.body_jntadr[body] + model.body_jntnum[body])
        for joint in joints:
            anchor = np.array(model.jnt_pos[joint])
            is_body = joint == joints[-1] and not anchor.any()
            moved = name if is_body else _unused(f"{name}_{self._joint_names[joint]}", self._links)
            if not is_body:
                self._links.add(moved)
                self._add_link(moved)
            self._add_moving_joint(joint, previous, moved, pose @ _pose(anchor, np.eye(3)))
            previous, pose = moved, _pose(-anchor, np.eye(3))
        if previous != name:
            self._add_joint(f"{name}_to_parent" if not len(joints) else f"{name}_frame", "fixed", previous, name, pose)

    def _add_moving_joint(self, joint: int, parent: str, child: str, pose: NDArray[np.float64]) -> None:
        model, name = self._model, self._joint_names[joint]
        slides = model.jnt_type[joint] == self._mujoco.mjtJoint.mjJNT_SLIDE
        limited, axis = bool(model.jnt_limited[joint]), np.array(model.jnt_axis[joint])
        reference = float(model.qpos0[model.jnt_qposadr[joint]])
        if slides:
            pose = pose @ _pose(-reference * axis, np.eye(3))
        elif reference:
            pose = pose @ _pose(np.zeros(3), self._turned(axis, -reference))
        kind = "prismatic" if slides else "revolute" if limited else "continuous"
        element = self._add_joint(name, kind, parent, child, pose)
        etree.SubElement(element, "axis", xyz=_numbers(axis))
        effort = self._greatest_efforts.get(joint, 0.0)
        limits = etree.SubElement(element, "limit", effort=_numbers([effort]), velocity="0")
        never = ["velocity", *(["effort"] if not effort else []), *(["lower", "upper"] if not limited else [])]
        limits.set(UNLIMITED, " ".join(never))
        if limited:
            limits.set("lower", _numbers(model.jnt_range[joint, :1]))
            limits.set("upper", _numbers(model.jnt_range[joint, 1:]))
        armature, damping = self._rotor_and_damping(joint)
        dynamics = etree.SubElement(element, "dynamics", damping=_numbers([damping]),
                                    friction=_numbers([model.dof_frictionloss[model.jnt_dofadr[joint]]]))
        if armature:
            dynamics.set("armature", _numbers([armature]))
        if joint in self._mimics:
            leader, multiplier, offset = self._mimics[joint]
            etree.SubElement(element, "mimic", joint=self._joint_names[leader], multiplier=_numbers([multiplier]),
                             offset=_numbers([offset]))

    def _add_joint(self, name: str, kind: str, parent: str, child: str, pose: NDArray[np.float64]) -> etree._Element:
        if kind == "fixed":
            name = _unused(name, self._joint_names)
            self._joint_names.append(name)
        element = etree.SubElement(self._robot, "joint", name=name, type=kind)
        etree.SubElement(element, "parent", link=parent)
        etree.SubElement(element, "child", link=child)
        _add_origin(element, pose)
        return element

    def _add_site(self, site: int) -> None:
        model = self._model
        name = _unused(model.site(site).name, self._links)
        self._links.add(name)
        self._add_link(name)
        self._add_joint(f"{name}_frame", "fixed", self._link_of[int(model.site_bodyid[site])], name,
                        _pose(model.site_pos[site], self._rotation(model.site_quat[site])))

    def _add_shapes(self, link: etree._Element, body: int) -> None:
        model = self._model
        for geom in range(model.body_geomadr[body], model.body_geomadr[body] + model.body_geomnum[body]):
            shown = model.geom_group[geom] < _DISPLAYED_GROUPS
            collides = bool(model.geom_contype[geom] or model.geom_conaffinity[geom])
            for tag, wanted in (("visual", shown), ("collision", collides)):
                for pose, tagged in self._shapes(geom) if wanted else ():
                    shape = etree.SubElement(link, tag)
                    _add_origin(shape, pose)
                    etree.SubElement(shape, "geometry").append(tagged)
                    if tag == "visual":
                        material = etree.SubElement(shape, "material", name=f"geom{geom}")
                        etree.SubElement(material, "color", rgba=_numbers(self._color(geom)))

    def _shapes(self, geom: int) -> Iterator[tuple[NDArray[np.float64], etree._Element]]:
        """The URDF shapes that make up a geom of MuJoCo; none for planes and ellipsoids."""
        model, kinds = self._model, self._mujoco.mjtGeom
        kind, (a, b, c) = kinds(int(model.geom_type[geom])), (float(size) for size in model.geom_size[geom])
        pose = _pose(model.geom_pos[geom], self._rotation(model.geom_quat[geom]))
        if kind == kinds.mjGEOM_SPHERE:
            yield pose, etree.Element("sphere", radius=repr(a))
        elif kind == kinds.mjGEOM_BOX:
            yield pose, etree.Element("box", size=_numbers([2 * a, 2 * b, 2 * c]))
        elif kind in (kinds.mjGEOM_CYLINDER, kinds.mjGEOM_CAPSULE):
            yield pose, etree.Element("cylinder", radius=repr(a), length=repr(2 * b))
            for end in (b, -b) if kind == kinds.mjGEOM_CAPSULE else ():
                yield pose @ _pose(np.array([0.0, 0.0, end]), np.eye(3)), etree.Element("sphere", radius=repr(a))
        elif kind == kinds.mjGEOM_MESH:
            yield from self._mesh(int(model.geom_dataid[geom]), pose)

    def _mesh(self, mesh: int, pose: NDArray[np.float64]) -> Iterator[tuple[NDArray[np.float64], etree._Element]]:
        """A mesh placed as in its file; MuJoCo moves its origin to the centre of its volume."""
        model, spec = self._model, self._found.spec.mesh(self._model.mesh(mesh).name)
        file = self._found.mesh_files.get(spec.name)
        if file is None or file.suffix.lower() not in _READABLE_MESHES:
            return
        centred = _pose(model.mesh_pos[mesh], self._rotation(model.mesh_quat[mesh]))
        scale = np.array(model.mesh_scale[mesh])
        reference = _pose(spec.refpos * scale, self._rotation(spec.refquat))
        if np.ptp(scale) > 0.0 and not np.array_equal(reference[:3, :3], np.eye(3)):
            return  # MuJoCo stretches it along axes that are not those of its file
        element = etree.Element("mesh", filename=f"file://{file}")
        if np.any(scale != 1.0):
            element.set("scale", _numbers(scale))
        yield pose @ np.linalg.inv(centred) @ np.linalg.inv(reference), element

    def _color(self, geom: int) -> NDArray[np.float64]:
        model = self._model
        own = model.geom_rgba[geom]
        material = int(model.geom_matid[geom])
        is_default = np.array_equal(own, np.array([0.5, 0.5, 0.5, 1.0], dtype=own.dtype))
        return np.array(model.mat_rgba[material] if material >= 0 and is_default else own, dtype=np.float64).round(6)

    def _rotation(self, quaternion: NDArray[np.float64]) -> NDArray[np.float64]:
        matrix = np.zeros(9)
        self._mujoco.mju_quat2Mat(matrix, np.array(quaternion, dtype=np.float64) / np.linalg.norm(quaternion))
        return matrix.reshape(3, 3)

    def _turned(self, axis: NDArray[np.float64], angle: float) -> NDArray[np.float64]:
        quaternion = np.zeros(4)
        self._mujoco.mju_axisAngle2Quat(quaternion, axis, angle)
        return self._rotation(quaternion)


def _force_range(mujoco: Any, model: Any, row: int) -> tuple[float, float] | None:
    """Least and greatest force of an actuator before its gear, infinite without a limit; None for a damper."""
    gain, bias, dyn = mujoco.mjtGain, mujoco.mjtBias, mujoco.mjtDyn
    kind, offset = gain(int(model.actuator_gaintype[row])), bias(int(model.actuator_biastype[row]))
    slopes = model.actuator_gainprm[row], model.actuator_biasprm[row]
    known = offset == bias.mjBIAS_NONE or offset == bias.mjBIAS_AFFINE
    limited = bool(model.actuator_forcelimited[row])
    if kind == gain.mjGAIN_AFFINE and not (slopes[0][:2].any() or offset != bias.mjBIAS_NONE):
        return None  # a damper
    if not (known and kind in (gain.mjGAIN_FIXED, gain.mjGAIN_AFFINE)) and not limited:
        return None
    low, high = -np.inf, np.inf
    if kind == gain.mjGAIN_FIXED and known and not (offset == bias.mjBIAS_AFFINE and slopes[1][1:3].any()):
        control, held = int(model.actuator_ctrladr[row]), dyn(int(model.actuator_dyntype[row]))
        if model.actuator_actlimited[row]:
            low, high = model.actuator_actrange[row]
        elif model.actuator_ctrllimited[control] and held in (dyn.mjDYN_NONE, dyn.mjDYN_FILTER, dyn.mjDYN_FILTEREXACT):
            low, high = model.actuator_ctrlrange[control]
        constant = slopes[1][0] if offset == bias.mjBIAS_AFFINE else 0.0
        ends = [slopes[0][0] * end + constant if slopes[0][0] else constant for end in (low, high)]
        low, high = min(ends), max(ends)
    if limited:
        low, high = np.clip([low, high], *model.actuator_forcerange[row])
    return float(low), float(high)


def _add_origin(owner: etree._Element, pose: NDArray[np.float64]) -> None:
    if not np.array_equal(pose, np.eye(4)):
        etree.SubElement(owner, "origin", xyz=_numbers(pose[:3, 3]), rpy=_numbers(roll_pitch_yaw(pose[:3, :3])))


def roll_pitch_yaw(rotation: NDArray[np.float64]) -> NDArray[np.float64]:
    """Angles with R = R_z(yaw) R_y(pitch) R_x(roll), shape (3,) [rad].

    Roll and pitch are computed from R_z(yaw)^T R, so they are exact for any yaw if pitch is a right angle.
    """
    yaw = np.arctan2(rotation[1, 0], rotation[0, 0])
    s, c = np.sin(yaw), np.cos(yaw)
    pitch = np.arctan2(-rotation[2, 0], c * rotation[0, 0] + s * rotation[1, 0])
    roll = np.arctan2(s * rotation[0, 2] - c * rotation[1, 2], c * rotation[1, 1] - s * rotation[0, 1])
    return np.array([roll, pitch, yaw])


def _pose(position: NDArray[np.float64], rotation: NDArray[np.float64]) -> NDArray[np.float64]:
    pose = np.eye(4)
    pose[:3, :3], pose[:3, 3] = rotation, position
    return pose


def _numbers(values: Any) -> str:
    return " ".join(repr(float(value)) for value in values)


def _unused(name: str, used: Any) -> str:
    """Return the given name if it is unused, else a similar one."""
    number, found = 1, name
    while found in used:
        number, found = number + 1, f"{name}_{number + 1}"
    return found
