# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Changes of the simulated robot that its controllers may not know: payload, masses, gravity."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from robodyn_ros.base.checks import Range, as_floats, as_number
from robodyn_ros.base.errors import InputError, suggest
from robodyn_ros.description.model import Array, Inertia, RobotModel


def with_payload(model: RobotModel, mass: float, com: ArrayLike = (0.0, 0.0, 0.0), rotational: ArrayLike | None = None,
                 link: str | None = None) -> RobotModel:
    """Return the robot with a rigid body welded to a link.

    Args:
        model: The robot.
        mass: Mass of the body [kg].
        com: Its centre of mass in the link's frame, shape (3,) [m].
        rotational: Its rotational inertia about its centre of mass, in the link's axes, shape (3, 3) [kg m^2]; None: a
            point mass.
        link: Name of the link; None: the tip link.

    Raises:
        InputError: No link has that name, or it does not move; the mass is negative; a shape is wrong or a number not
            finite; or the rotational inertia is not symmetric and positive.
    """
    frame = model.frame(model.tip_link if link is None else link)
    if frame.joint < 0:
        raise InputError(f"payload: link '{frame.name}' of '{model.name}' does not move, so a payload on it has no "
                         "effect; name another link")
    as_number(mass, Range(0.0, unit="kg"), f"payload of '{model.name}': mass")
    tensor = np.zeros((3, 3)) if rotational is None else as_floats(rotational, (3, 3), "payload: rotational inertia")
    if np.abs(tensor - tensor.T).max() > 1e-9 * np.abs(tensor).max(initial=0.0) or np.linalg.eigvalsh(tensor)[0] < 0.0:
        raise InputError(f"payload: expected a symmetric rotational inertia without negative principal moments, "
                         f"received {tensor.tolist()}")
    return with_body(model, float(mass), as_floats(com, (3,), "payload: centre of mass"), tensor, frame.name)


def with_body(model: RobotModel, mass: Any, com: NDArray[Any], rotational: Array | None = None, link: str | None = None
              ) -> RobotModel:
    """Like :func:`with_payload`, without checks; mass and centre of mass may be traced."""
    frame = model.frame(model.tip_link if link is None else link)
    body = Inertia(mass, com, np.zeros((3, 3)) if rotational is None else rotational)
    return _with_inertias(model, {frame.joint: model.joints[frame.joint].inertia
                                  + body.transformed(frame.pose_link_frame)})


def with_link_changes(model: RobotModel, mass_scale: NDArray[Any] | None = None,
                      inertia_scale: NDArray[Any] | None = None, center_offset: NDArray[Any] | None = None
                      ) -> RobotModel:
    """Return the robot with changed inertias of its moving links, without checks; the values may be traced.

    Args:
        model: The robot, with L moving links in the order of ``model.joints``.
        mass_scale: Factor on mass and rotational inertia, shape (L,); None: 1.
        inertia_scale: Further factor on the rotational inertia about the centre of mass, shape (L,); None: 1.
        center_offset: Displacement of the centre of mass in the link's axes, shape (L, 3) [m]; None: 0.
    """
    changed = {}
    for index, inertia in enumerate(joint.inertia for joint in model.joints):
        mass, com, rotational = inertia.mass, inertia.com, inertia.rotational
        if mass_scale is not None:
            mass, rotational = mass_scale[index] * mass, mass_scale[index] * rotational
        if inertia_scale is not None:
            rotational = inertia_scale[index] * rotational
        if center_offset is not None:
            com = com + center_offset[index]
        changed[index] = Inertia(mass, com, rotational)
    return _with_inertias(model, changed)


def with_mass_error(model: RobotModel, percent: float | Mapping[str, float]) -> RobotModel:
    """Return the robot with masses that deviate from its description, and inertias in proportion.

    Args:
        model: The robot.
        percent: Excess mass of all links, or of each link by the name of the joint that moves it [%].

    Raises:
        InputError: No joint has that name, or an error is not above -100 %.
    """
    names = [joint.name for joint in model.joints]
    by_joint = percent if isinstance(percent, Mapping) else dict.fromkeys(names, percent)
    changed = {}
    for name, value in by_joint.items():
        if name not in names:
            raise InputError(f"mass error: robot '{model.name}' has no moving joint '{name}': {suggest(name, names)}")
        as_number(value, Range(-100.0, unit="%", above=True), f"mass error of joint '{name}'")
        index, factor = names.index(name), 1.0 + value / 100.0
        inertia = model.joints[index].inertia
        changed[index] = Inertia(factor * inertia.mass, inertia.com, factor * inertia.rotational)
    return _with_inertias(model, changed)


def with_gravity(model: RobotModel, gravity: Sequence[float] | ArrayLike) -> RobotModel:
    """Return the robot under another gravity, for example of another mounting position.

    Args:
        model: The robot.
        gravity: Gravitational acceleration in base axes, shape (3,) [m/s^2].

    Raises:
        InputError: It is not three finite numbers.
    """
    return replace(model, gravity=as_floats(gravity, (3,), "gravity"))


def _with_inertias(model: RobotModel, inertias: Mapping[int, Inertia]) -> RobotModel:
    joints = tuple(replace(joint, inertia=inertias.get(index, joint.inertia))
                   for index, joint in enumerate(model.joints))
    return replace(model, joints=joints, description="")  # the URDF no longer describes this robot
