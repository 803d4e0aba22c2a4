# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Models for MuJoCo: the robot alone, built from its description, or a scene that contains it."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from robodyn_ros.base.errors import DescriptionError, InputError, suggest
from robodyn_ros.description.mjcf import model_file
from robodyn_ros.description.mjcf.model_file import one_line
from robodyn_ros.description.model import Array, Inertia, Joint, RobotModel
from robodyn_ros.simulation.plant_model import PlantModel

_HARD = (0.9999, 0.9999, 0.001, 0.5, 2.0)  # solimp: the hardest constraint of MuJoCo
_FAST = (1e-9, 1.0)  # solref: MuJoCo raises the time constant to two steps
_MIN_INERTIA = 1e-12  # [kg m^2] and [kg]; MuJoCo refuses moving bodies without mass or inertia
_REQUIRED_FLAGS = {"constraint": "brakes and friction need", "equality": "brakes need",
                   "frictionloss": "friction needs", "eulerdamp": "motors need"}
"""Flags of MuJoCo that must be enabled, with the reason for messages."""

_FLAGS_FOR_SPRINGS = {"spring": "elastic joints need", "damper": "elastic joints need"}

_ANGLE, _DISTANCE = 0.02, 0.005  # [rad, m]; greatest difference between a joint's axes in scene and description


def import_mujoco() -> Any:
    """Import MuJoCo, an optional package.

    Raises:
        InputError: It cannot be imported.
    """
    return model_file.import_mujoco(", or choose the engine robodyn")


@dataclass(frozen=True, eq=False)
class MujocoScene:
    """A compiled model of MuJoCo, and the places of the robot in it.

    Attributes:
        model: MuJoCo's model.
        name: Name of the scene in messages.
        joints: MuJoCo's number of each joint, shape (n,).
        positions: Index of each joint into qpos, shape (n,).
        dofs: Index of each joint into qvel, shape (n,).
        has_own_masses: Whether the robot's bodies are the scene's, not those of the description.
        brakes: Number of the equality that locks each joint, shape (n,).
        motors: Number of the tendon of each motor that drives several joints, shape (coupled,).
        rotors: MuJoCo's number of the joint of each motor behind a spring, shape (m,).
        springs: Number of the tendon of each spring, whose length is its deflection, shape (m,).
        mimics: (index into qpos, joint, multiplier, offset) of each mimic joint.
        base: Number of the body that is the base, or of the world.
        base_rotation: Base axes in the axes of the world, shape (3, 3).
        base_position: Origin of the base in the world, shape (3,) [m].
    """

    model: Any
    name: str
    joints: NDArray[np.int64]
    positions: NDArray[np.int64]
    dofs: NDArray[np.int64]
    has_own_masses: bool
    brakes: NDArray[np.int64]
    motors: NDArray[np.int64]
    rotors: NDArray[np.int64]
    springs: NDArray[np.int64]
    mimics: tuple[tuple[int, int, float, float], ...]
    base: int
    base_rotation: Array
    base_position: Array

    def place(self, link: str) -> tuple[int, Array] | None:
        """Return the body with the name of a link, or with a site of this name, and the origin in its frame [m]."""
        kinds: tuple[tuple[Callable[..., Any], str, Callable[..., Any], Callable[..., Array]], ...] = (
            (self.model.body, link if self.has_own_masses else _body(link), lambda found: found.id,
             lambda _: np.zeros(3)),
            (self.model.site, link, lambda found: found.bodyid[0], lambda found: found.pos.copy()))
        for kind, name, body, offset in kinds:
            try:
                found = kind(name)
            except KeyError:
                continue
            return int(body(found)), offset(found)
        return None

    def carried(self, body: int) -> NDArray[np.bool_]:
        """Return which bodies a body carries, itself included, shape (nbody,)."""
        found = np.zeros(self.model.nbody, dtype=bool)
        found[body] = True
        for each, parent in enumerate(self.model.body_parentid):  # parents come first
            found[each] |= found[parent] and each > body
        return found


def load_scene(plant: PlantModel, path: str = "") -> MujocoScene:
    """Load a scene, or make one of the robot alone, without contacts.

    The joints of the robot get the armature, damping and friction of the plant, not of the scene. Actuators of the
    scene and its gravity compensation of the robot's bodies are switched off.

    Args:
        plant: The simulated robot; its integrator and step are MuJoCo's.
        path: MJCF file with a joint for each one of the robot, by name; or with a site that has the name of the base
            link, at which the robot of the description is mounted. Empty: the robot alone.

    Raises:
        InputError: There is no such file, MuJoCo cannot read it, or it does not fit the robot.
    """
    mujoco, robot = import_mujoco(), plant.model
    name = f"mujoco_scene '{path}'" if path else f"MuJoCo's model of '{robot.name}'"
    spec = _read(mujoco, path, name) if path else mujoco.MjSpec()
    try:
        mounting = _mounting(spec, robot, name) if path else (spec.worldbody, {})
        if mounting is not None:
            add_robot(mujoco, spec, mounting[0], robot, **mounting[1])
        _drive(mujoco, spec, plant)
    except InputError:
        raise
    except ValueError as error:  # the scene already has a name of the robot
        raise InputError(f"{name}: MuJoCo cannot add '{robot.name}': {one_line(error)}; give it another name there"
                         ) from None
    for flag, needed in _REQUIRED_FLAGS.items():
        if spec.option.disableflags & getattr(mujoco.mjtDisableBit, f"mjDSBL_{flag.upper()}"):
            raise InputError(f"{name}: expected the flag '{flag}' enabled, since {needed} it, received 'disable'")
    try:
        model = model_file.compile_spec(spec, name)
    except DescriptionError as error:
        raise InputError(str(error)) from None
    model.opt.timestep = plant.step
    model.opt.integrator = getattr(mujoco.mjtIntegrator, f"mjINT_{plant.method.mujoco}")
    if plant.actuators.is_coupled.any() and plant.method.is_implicit:
        model.opt.integrator = mujoco.mjtIntegrator.mjINT_IMPLICITFAST  # Euler: tendon damping explicit
    model.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_AUTORESET | mujoco.mjtDisableBit.mjDSBL_ACTUATION
    joints = np.array([model.joint(joint).id for joint in robot.joint_names], dtype=np.int64)
    elastic = [robot.joint_names[joint] for joint in plant.elastic.joints]
    rotors = np.array([model.joint(_motor(joint)).id for joint in elastic], dtype=np.int64)
    springs = np.array([model.tendon(_spring(joint)).id for joint in elastic], dtype=np.int64)
    half = 0.5 * plant.elastic.springs.backlash
    model.tendon_stiffness[springs] = plant.elastic.springs.stiffness
    model.tendon_lengthspring[springs] = np.stack([-half, half], axis=1)
    base_body, rotation, position = _base(mujoco, model, robot, name, mounting is None)
    model.opt.gravity = rotation @ robot.gravity
    scene = MujocoScene(
        model, name, joints, model.jnt_qposadr[joints].astype(np.int64), model.jnt_dofadr[joints].astype(np.int64),
        mounting is None,
        np.array([model.equality(_brake(joint)).id for joint in robot.joint_names], dtype=np.int64),
        np.array([model.tendon(_motor(joint)).id for joint, coupled in
                  zip(robot.joint_names, plant.actuators.is_coupled, strict=True) if coupled], dtype=np.int64),
        rotors, springs,
        tuple((int(model.jnt_qposadr[model.joint(joint.name).id]), joint.dof, joint.multiplier, joint.offset)
              for joint in robot.joints if joint.name not in robot.joint_names) if mounting is not None else (),
        base_body, rotation, position)
    for joint in joints:
        model.body_gravcomp[scene.carried(model.jnt_bodyid[joint])] = 0.0
    return scene


def check_axes(scene: MujocoScene, robot: RobotModel, axes: Array, anchors: Array, data: Any) -> None:
    """Check that the joints of a scene have the axes of the description.

    Args:
        scene: The scene.
        robot: The description.
        axes: Joint axes of the description, in base axes, shape (n, 3).
        anchors: Points on these axes, shape (n, 3) [m].
        data: MuJoCo's data at the same joint positions, with kinematics computed.

    Raises:
        InputError: An axis differs.
    """
    for index, joint in enumerate(robot.leaders):
        number = scene.joints[index]
        axis = data.xaxis[number] @ scene.base_rotation
        anchor = (data.xanchor[number] - scene.base_position) @ scene.base_rotation
        offset = np.linalg.norm(np.cross(anchors[index] - anchor, axis)) if joint.kind != "prismatic" else 0.0
        if axis @ axes[index] < np.cos(_ANGLE) or offset > _DISTANCE:
            raise InputError(f"{scene.name}: joint '{joint.name}': expected the axis of the description, "
                             f"{np.round(axes[index], 3).tolist()} through {np.round(anchors[index], 3).tolist()} in "
                             f"axes of '{robot.base_link}', received {np.round(axis, 3).tolist()} through "
                             f"{np.round(anchor, 3).tolist()}; correct one of them, or name the body of the base "
                             f"'{robot.base_link}'")


def _read(mujoco: Any, path: str, name: str) -> Any:
    if not os.path.isfile(path):
        raise InputError(f"{name}: there is no such file; give the path of an MJCF file, or leave it empty")
    try:
        spec = model_file.read_spec(Path(path))
        model_file.check_assets(Path(path), spec)
    except DescriptionError as error:
        raise InputError(f"{name}: {error}") from None
    return spec


def _mounting(spec: Any, robot: RobotModel, name: str) -> tuple[Any, dict[str, Any]] | None:
    """The body that carries the described robot, and the pose of its base there; None: the scene has its joints.

    Raises:
        InputError: The scene has some but not all joints, joints of another kind, or no place for the robot.
    """
    there = [joint.name for joint in spec.joints]
    missing = [joint for joint in robot.joint_names if joint not in there]
    site = spec.site(robot.base_link)
    if len(missing) == robot.n and site is not None:
        compiler = spec.compiler
        quaternion = site.quat if site.alt.type == site.alt.type.mjORIENTATION_QUAT else spec.resolve_orientation(
            degree=compiler.degree, sequence=compiler.eulerseq, orientation=site.alt)
        return site.parent, {"pos": site.pos, "quat": quaternion}
    if missing:
        raise InputError(f"{name}: expected a joint for each joint of '{robot.name}', or a site '{robot.base_link}' "
                         f"to mount the robot at; '{missing[0]}' is missing: {suggest(missing[0], there)}")
    for joint in robot.leaders:
        expected, received = _kind(joint), spec.joint(joint.name).type
        if received != expected:
            raise InputError(f"{name}: joint '{joint.name}': expected {expected.name}, since it is {joint.kind} in the "
                             f"description, received {received.name}")
    return None


def _kind(joint: Joint) -> Any:
    """MuJoCo's kind of a joint."""
    kinds = import_mujoco().mjtJoint
    return kinds.mjJNT_SLIDE if joint.kind == "prismatic" else kinds.mjJNT_HINGE


def add_robot(mujoco: Any, spec: Any, parent: Any, robot: RobotModel, **pose: Any) -> None:
    """Add the base, the moving bodies, joints and frames of a description, without shapes.

    Args:
        mujoco: The module.
        spec: MuJoCo's ``MjSpec``.
        parent: Body of ``spec`` that carries the base of the robot.
        robot: The description.
        **pose: ``pos`` and ``quat`` of the base in its parent; default: the identity.
    """
    base = parent.add_body(name=_body(robot.base_link), **pose)
    for bound in ("boundmass", "boundinertia"):
        setattr(spec.compiler, bound, max(getattr(spec.compiler, bound), _MIN_INERTIA))
    unit = 180.0 / np.pi if spec.compiler.degree else 1.0
    bodies: list[Any] = []
    for joint in robot.joints:
        body = (base if joint.parent < 0 else bodies[joint.parent]).add_body(
            name=_body(joint.link), **_pose(joint.pose_parent_link), **_inertial(joint.inertia))
        bodies.append(body)
        added = body.add_joint(name=joint.name, type=_kind(joint), axis=joint.axis, solref_limit=_FAST,
                               solimp_limit=_HARD)
        if joint.name not in robot.joint_names:
            data = [joint.offset, joint.multiplier]
            _couple(mujoco, spec, f"{joint.name} mimics", data, joint.name, robot.joint_names[joint.dof])
        elif np.isfinite((low := robot.position_lower[joint.dof], high := robot.position_upper[joint.dof])).any():
            added.limited = True
            added.range = np.clip([low, high], -1e6, 1e6) * (1.0 if joint.kind == "prismatic" else unit)
    moving = {joint.link for joint in robot.joints}
    for frame in robot.frames.values():
        if frame.name != robot.base_link and frame.name not in moving:
            (base if frame.joint < 0 else bodies[frame.joint]).add_site(name=frame.name, **_pose(frame.pose_link_frame))


def _drive(mujoco: Any, spec: Any, plant: PlantModel) -> None:
    """Add the plant's rotors, and equalities for the brakes; each step sets damping and friction.

    A rotor that several joints turn is the armature of a fixed tendon. A rotor behind a spring is the armature of an
    extra joint between the world and a body without mass; a fixed tendon between both joints is the spring.
    """
    actuators, rows = plant.actuators, plant.actuators.motors.gear.joint_rows
    rotors = plant.model.armature + np.where(actuators.is_coupled, 0.0, actuators.rigid_inertia)
    for index in np.flatnonzero(actuators.is_coupled):
        tendon = spec.add_tendon(name=_motor(plant.model.joint_names[index]), solref_friction=_FAST,
                                 armature=float(actuators.reflected_inertia[index]), solimp_friction=_HARD)
        for name, share in zip(plant.model.joint_names, rows[index].tolist(), strict=True):
            if share:
                tendon.wrap_joint(name, share)
    for joint in plant.elastic.joints:
        name, own = plant.model.joint_names[joint], float(actuators.reflected_inertia[joint])
        body = spec.worldbody.add_body(name=_motor(name), mass=_MIN_INERTIA, inertia=np.full(3, _MIN_INERTIA),
                                       explicitinertial=True)
        body.add_joint(name=_motor(name), type=spec.joint(name).type, axis=[0.0, 0.0, 1.0], armature=own,
                       solref_friction=_FAST, solimp_friction=_HARD)
        spring = spec.add_tendon(name=_spring(name))
        spring.wrap_joint(_motor(name), 1.0)
        spring.wrap_joint(name, -1.0)
    for name, rotor, elastic in zip(plant.model.joint_names, rotors, actuators.is_elastic, strict=True):
        joint = spec.joint(name)
        joint.armature, joint.solref_friction, joint.solimp_friction = rotor, _FAST, _HARD
        _couple(mujoco, spec, _brake(name), [0.0, 0.0], _motor(name) if elastic else name).active = False


def _couple(mujoco: Any, spec: Any, name: str, polynomial: list[float], joint: str, leader: str = "") -> Any:
    """Add an equality: the position of a joint is a polynomial of the position of another one, or a constant."""
    equality = spec.add_equality(name=name, type=mujoco.mjtEq.mjEQ_JOINT, objtype=mujoco.mjtObj.mjOBJ_JOINT,
                                 name1=joint, name2=leader, solref=_FAST, solimp=_HARD)
    equality.data = np.concatenate([polynomial, np.zeros(len(equality.data) - len(polynomial))])
    return equality


def _body(link: str) -> str:
    """Name of a link's body; the name world is reserved for MuJoCo's root."""
    return "link world" if link == "world" else link


def _brake(joint: str) -> str:
    return f"brake of {joint}"


def _motor(joint: str) -> str:
    return f"motor of {joint}"


def _spring(joint: str) -> str:
    return f"spring of {joint}"


def _pose(pose: Array) -> dict[str, Array]:
    return {"pos": pose[:3, 3], "quat": _scalar_first(pose[:3, :3])}


def _inertial(inertia: Inertia) -> dict[str, Any]:
    """Mass and principal moments; unlike MuJoCo's full inertia, these need not be positive."""
    moments, axes = np.linalg.eigh(inertia.rotational)
    if np.linalg.det(axes) < 0.0:
        axes[:, 0] *= -1.0
    return {"mass": inertia.mass, "ipos": inertia.com, "iquat": _scalar_first(axes),
            "inertia": np.maximum(moments, 0.0), "explicitinertial": True}


def _scalar_first(rotation: Array) -> Array:
    quaternion = np.zeros(4)
    import_mujoco().mju_mat2Quat(quaternion, rotation.flatten())
    return quaternion


def _base(mujoco: Any, model: Any, robot: RobotModel, name: str, is_in_scene: bool) -> tuple[int, Array, Array]:
    """Number and pose of the base: the body with its name, or else the world.

    If the scene has the robot's bodies (``is_in_scene``), it may name the base; else `add_robot` did.
    """
    data = mujoco.MjData(model)
    mujoco.mj_kinematics(model, data)
    try:
        body = model.body(robot.base_link if is_in_scene else _body(robot.base_link)).id
    except KeyError:
        body = 0
    if model.body_weldid[body] != 0:
        raise InputError(f"{name}: body '{robot.base_link}' moves; the base of '{robot.name}' has to be fixed to the "
                         "world")
    return int(body), data.xmat[body].reshape(3, 3).copy(), data.xpos[body].copy()
