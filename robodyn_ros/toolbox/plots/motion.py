# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Motions of a robot as arrays over time, for the figures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from robodyn_ros.base.errors import RecordingError
from robodyn_ros.description.model import Array, RobotModel
from robodyn_ros.robot import Robot
from robodyn_ros.toolbox.recording.run import Run


@dataclass(frozen=True)
class Curves:
    """One quantity of all joints over time."""

    time: Array  # shape (N,) [s]
    values: Array  # shape (N, n)


@dataclass(frozen=True)
class MotionCurves:
    """Curves of one run in a figure; None for missing quantities.

    Attributes:
        label: Name of the run.
        joint_names: Names of the n joints.
        units: ``rad`` or ``m`` for each joint.
        controllers: Name, start and end [s] of each active controller, in order of time.
        position: Measured positions [rad or m].
        desired: Desired positions [rad or m].
        error: Desired minus measured positions [rad or m].
        effort: Efforts [N m or N].
        effort_limit: Effort limits, shape (n,) [N m or N]; infinite without a limit.
        current: Motor currents [A].
        voltage: Motor voltages [V].
        energies: Kinetic and potential energy: two columns [J].
        tip: Positions of the tip link: three columns [m].
        desired_tip: Desired positions of the tip link: three columns [m].
        terms: Terms of the efforts by name [N m or N]; NaN where there is no such term.
    """

    label: str
    joint_names: Sequence[str]
    units: Sequence[str]
    controllers: Sequence[tuple[str, float, float]]
    position: Curves
    desired: Curves | None = None
    error: Curves | None = None
    effort: Curves | None = None
    effort_limit: Array | None = None
    current: Curves | None = None
    voltage: Curves | None = None
    energies: Curves | None = None
    tip: Curves | None = None
    desired_tip: Curves | None = None
    terms: Mapping[str, Curves] | None = None

    @property
    def tip_error(self) -> Curves | None:
        """Distance of the tip link from the desired position: one column [m]."""
        if self.tip is None or self.desired_tip is None:
            return None
        tip = np.column_stack([np.interp(self.desired_tip.time, self.tip.time, row) for row in self.tip.values.T])
        return Curves(self.desired_tip.time, np.linalg.norm(self.desired_tip.values - tip, axis=1)[:, None])


def joint_units(model: RobotModel) -> list[str]:
    """Return ``rad`` or ``m`` for each independent joint, in the order of q."""
    return [joint.unit for joint in model.leaders]


def energies(robot: Robot, time: Array, q: Array, v: Array) -> Curves:
    """Return kinetic and potential energy of the rigid bodies.

    Args:
        robot: The robot, of n joints.
        time: Shape (N,) [s].
        q: Joint positions, shape (N, n) [rad or m].
        v: Joint velocities, shape (N, n) [rad/s or m/s].
    """
    batch = robot.dynamics().batch
    return Curves(time, np.column_stack([batch.kinetic_energy(q, v), batch.potential_energy(q)]))


def recorded_motion(run: Run, label: str = "") -> MotionCurves:
    """Return a recording as a motion.

    Without a usable robot description, there are no units, limits, energies and path of the tip link.

    Args:
        run: The recording.
        label: Name of the run; empty: name of its folder.
    """
    states, control, actuators = run.states, run.control, run.actuators
    try:
        model = run.robot.model
    except RecordingError:
        model = None
    desired = error = desired_tip = current = voltage = None
    if control is not None:
        desired, error = _known(control.time, control.desired_position), _known(control.time, control.error)
        desired_tip = _known(control.time, control.desired_tip)
    if actuators is not None:
        outputs = actuators.outputs
        current, voltage = (_known(actuators.time, each) for each in (outputs.current, outputs.voltage))
    return MotionCurves(
        label or run.path.stem, run.joint_names, ["rad or m"] * len(run.joint_names) if model is None
        else joint_units(model), [(span.controller, span.start, span.end) for span in run.controllers],
        Curves(states.time, states.position), desired, error, _known(states.time, states.effort),
        None if model is None else model.effort_limit, current, voltage,
        None if model is None else Curves(states.time, np.column_stack(run.energies())),
        None if model is None else Curves(states.time, run.tip_positions()), desired_tip,
        {name: Curves(control.time, values) for name, values in control.terms.items()} if control is not None else None)


def _known(time: Array, values: Array) -> Curves | None:
    return None if np.isnan(values).all() else Curves(time, values)
