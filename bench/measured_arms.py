# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Recorded real arms beside published results, for docs/measured-arms.md: ``python -m bench.measured_arms``."""

from __future__ import annotations

import csv
import re
from argparse import ArgumentParser
from dataclasses import replace
from pathlib import Path

import numpy as np
from scipy.signal import decimate

from robodyn_ros.actuation.configuration import HardwareSettings
from robodyn_ros.actuation.friction import Friction
from robodyn_ros.commands.table_columns import add_table_options, table_columns
from robodyn_ros.description.model import Array
from robodyn_ros.description.resources import robot_file
from robodyn_ros.robot import Robot
from robodyn_ros.simulation.plant import Plant
from robodyn_ros.simulation.segment_replay import replay_segments, step_for
from robodyn_ros.toolbox.identification.effort_model import EffortModel
from robodyn_ros.toolbox.identification.identified_model import IdentifiedModel, identify
from robodyn_ros.toolbox.identification.measured_motion import MeasuredMotion, prepare
from robodyn_ros.toolbox.identification.report import table
from robodyn_ros.toolbox.recording.joint_table import JointTable
from robodyn_ros.toolbox.recording.table_file import Table

FOLDER = Path(__file__).parents[1] / "test" / "toolbox" / "identification" / "real_arms"

OPTIONS = {
    "tx40.parquet": "--rate 500 --motor-positions position_* --motor-efforts torque_* --ratios 32 32 45 -48 45 32 "
                    "--coupling joint6:joint5=32",
    "lbr_med7.csv": "--rate 100 --positions q_* --efforts tau_0 tau_1 tau_2 tau_3 tau_4 tau_5 tau_6 "
                    "--torque-constants -1",
    "tiago.npz": "--time time --positions position --currents current --ratios 1 100 100 100 100 336 336 336 "
                 "--torque-constants 1 0.136 0.136 -0.087 -0.087 -0.0613 -0.0613 -0.0613",
}
"""What the columns of each file are."""

CUTOFFS = {"tx40.parquet": 25.0, "lbr_med7.csv": 5.0, "tiago.npz": 4.0}
"""Of the filter [Hz]."""

TIAGO_MOMENTS = {"arm_2_link.hx": (2.022, "1.369 ± 3.23"), "arm_4_link.hx": (-0.759, "-0.952 ± 3.82")}
"""First moments of mass, as sums with the links behind, by the maker's description and as published [kg m]."""

_KINDS = {"mx": "hx", "my": "hy", "mz": "hz", "Ia": "rotor", "fv": "viscous", "fs": "coulomb", "off": "offset"}
_MOTOR = {"Iam6": "motor_rotor", "fvm6": "motor_viscous", "fsm6": "motor_coulomb"}
_DEAD_ZONES = 0.0501, 0.0501, 0.0750, 0.0716, 0.0559, 0.1222  # of figaroh's configuration [rad/s]


class Arm:
    """A recorded arm.

    Args:
        file: One of `OPTIONS`.
    """

    def __init__(self, file: str) -> None:
        parser = ArgumentParser()
        add_table_options(parser)
        self.robot = Robot.from_urdf(FOLDER / f"{Path(file).stem}_nominal.urdf")
        columns = table_columns(parser.parse_args(OPTIONS[file].split()))
        self.table = JointTable.from_file(FOLDER / file, columns, self.robot)
        self._cutoff = CUTOFFS[file]

    def motion(self, begin: float = 0.0, end: float = 1.0, effort: Array | None = None) -> MeasuredMotion:
        """Prepare a part of the recording, between shares of it; with other efforts than the measured ones, (N, n)."""
        made = self.table
        part = slice(round(begin * len(made.time)), round(end * len(made.time)))
        efforts = made.effort if effort is None else effort
        return prepare(self.robot.model, made.time[part], made.position[part], efforts[part], str(made.path),
                       self._cutoff, shortest=1.0)

    def identify(self, motion: MeasuredMotion) -> IdentifiedModel:
        """Identify the arm as the command line does."""
        return identify(self.robot, motion, self.table.has_rotor, coupling=self.table.coupling, has_offset=True)

    def column(self, pattern: str) -> Array:
        """Other columns of the file, shape (N, k)."""
        return Table.from_file(self.table.path).array([pattern])[1]


def errors(motion: MeasuredMotion, predicted: Array) -> Array:
    """Root mean square of each joint's errors, shape (n,)."""
    square = np.where(motion.usable, motion.effort - predicted, 0.0) ** 2
    return np.asarray(np.sqrt(square.sum(axis=0) / motion.usable.sum(axis=0)))


class Published:
    """The published parameters of the TX40.

    Args:
        model: Our parameters.

    Attributes:
        names: Of the 60 parameters: the first one of each sum.
        values: By weighted least squares, shape (60,).
        deviations: Their standard deviations, shape (60,).
        sums: Each as a sum of ours, shape (60, p).
    """

    def __init__(self, model: EffortModel) -> None:
        place = {name: index for index, name in enumerate(model.names)}
        with (FOLDER / "tx40_published.csv").open() as file:
            rows = list(csv.reader(file))
        self.names = [row[0].split()[0] for row in rows]
        self.values = np.array([float(row[3]) for row in rows])
        self.deviations = np.abs(self.values) * [float(row[4]) / 100.0 for row in rows]
        self.sums = np.zeros((len(rows), len(place)))
        for terms, (expression, *_) in zip(self.sums, rows, strict=True):
            for sign, factor, name in re.findall(r"([+-]? ?)(?:([\d.]+)\*)?([A-Za-z]+\d)", expression):
                terms[place[_our_name(name)]] += (-1.0 if "-" in sign else 1.0) * float(factor or 1.0)
        # Theirs of joints 5 and 6 include the motor that turns with both; ours are beside it.
        for name, kind in (("Ia5", "rotor"), ("fv5", "viscous"), ("fv6", "viscous")):
            self.sums[self.names.index(name), place[f"joint6.motor_{kind}"]] += 1.0
        self._base = model.base

    def ours(self, model: IdentifiedModel) -> Array:
        """The same sums by our weighted least squares, shape (60,); they are sums of our base parameters."""
        factors = np.linalg.lstsq(self._base.combinations.T, self.sums.T, rcond=None)[0].T
        assert np.abs(factors @ self._base.combinations - self.sums).max() < 2e-6, "another grouping"
        return np.asarray(factors @ model.base_values)

    def base_values(self) -> Array:
        """Our base parameters with the published values, shape (b,)."""
        return self._base.values(np.linalg.lstsq(self.sums, self.values, rcond=None)[0])


def _our_name(name: str) -> str:
    if name in _MOTOR:
        return f"joint6.{_MOTOR[name]}"
    kind, number = name[:-1], name[-1]
    return f"{'joint' if kind in ('Ia', 'fv', 'fs', 'off') else 'link'}{number}.{_KINDS.get(kind, kind)}"


def without_last_acceleration(motion: MeasuredMotion) -> MeasuredMotion:
    """The motion with the accelerations of the last joint at 0, as the published program has them."""
    all_but_last = np.arange(motion.a.shape[1]) < motion.a.shape[1] - 1
    instruments = motion.instruments and motion.instruments._replace(a=motion.instruments.a * all_but_last)
    covariance = motion.noise_covariance
    if covariance is not None:
        covariance = covariance.copy()
        covariance[-1, [2, 5]] = covariance[-1, :, [2, 5]] = 0.0
    return replace(motion, a=motion.a * all_but_last, instruments=instruments, noise_covariance=covariance)


def by_published_method(model: EffortModel, motion: MeasuredMotion) -> Array:
    """Base parameters as figaroh finds them, shape (b,): decimated columns and efforts, dead zones, two weightings."""
    columns = model.columns(motion.q, motion.v, motion.a)[:, :, model.base.independent]
    columns, effort, v = (decimate(values, 10, axis=0) for values in (columns, motion.effort, motion.v))
    used, deviations = np.abs(v) > _DEAD_ZONES, np.ones(len(_DEAD_ZONES))
    for _ in range(2):
        rows = (np.concatenate([columns, effort[..., None]], axis=2) / deviations[:, None])[used]
        values = np.linalg.lstsq(rows[:, :-1], rows[:, -1], rcond=None)[0]
        square = np.where(used, effort - columns @ values, 0.0) ** 2
        deviations = np.sqrt(square.sum(axis=0) / used.sum(axis=0))
    return np.asarray(values)


def tx40() -> None:
    """Print parameters and errors of the TX40 beside the published ones."""
    arm = Arm("tx40.parquet")
    whole, begin, end = arm.motion(), arm.motion(end=0.7), arm.motion(begin=0.7)
    model = arm.identify(whole)
    theirs = Published(model.effort_model)
    found, as_they = theirs.ours(model), theirs.ours(arm.identify(without_last_acceleration(whole)))
    rows = [[name, f"{value:.4g} ± {deviation:.2g}", f"{ours:.4g}", f"{(ours - value) / deviation:.1f}",
             f"{(other - value) / deviation:.1f}"] for name, value, deviation, ours, other in zip(
                 theirs.names, theirs.values, theirs.deviations, found, as_they, strict=True)]
    print("\n".join(table(["parameter", "published", "ours", "difference / σ", "without a_6"], rows)))
    base = model.effort_model.base

    def predicted(values: Array, motion: MeasuredMotion) -> Array:
        columns = model.effort_model.columns(motion.q, motion.v, motion.a)
        return np.asarray(columns[:, :, base.independent] @ values)

    part = arm.identify(begin)
    table_of_errors = [errors(whole, model.predict(whole.q, whole.v, whole.a)),
                       errors(whole, predicted(theirs.base_values(), whole)),
                       errors(end, part.predict(end.q, end.v, end.a)),
                       errors(end, predicted(by_published_method(model.effort_model, begin), end)),
                       errors(end, predicted(theirs.base_values(), end))]
    _print_errors(arm, ["all: ours", "published", "end: ours of the beginning", "their method, of the beginning",
                        "published, of all"], table_of_errors)


def tx40_replay() -> None:
    """Print how far the simulated TX40 gets from the recording in 0.5 s, with one effect after the other."""
    arm, shipped = Arm("tx40.parquet"), Robot.from_urdf(robot_file("tx40"))
    motion = arm.motion()
    settings = HardwareSettings.named("tx40")
    actuators, friction = settings.joint_actuators(shipped.model), settings.joint_friction(shipped.model)
    uncoupled = np.where(actuators.is_coupled, 0.0, 1.0)
    links, with_rotors = (Robot(shipped.model.with_scaled_armature(share)) for share in (0.0 * uncoupled, uncoupled))
    nothing, step = Friction(*np.zeros((2, arm.robot.n))), step_for(motion.time)
    plants = {"guessed description": Plant(arm.robot, step, friction=nothing),
              "identified links": Plant(links, step, friction=nothing),
              "and rotors": Plant(with_rotors, step, friction=nothing),
              "and friction of joints": Plant(with_rotors, step, friction=friction),
              "and the coupled motor": Plant(shipped, step, friction=friction, actuators=actuators)}
    apart = [np.sqrt(np.mean((replay_segments(plant, motion.time, motion.q, motion.v, motion.effort, 0.5)
                              - motion.q) ** 2, axis=0)) for plant in plants.values()]
    _print_errors(arm, list(plants), apart, "RMS distance [rad]")


def lbr_med7() -> None:
    """Print errors and moments of the LBR Med 7 beside those of the maker's model."""
    arm = Arm("lbr_med7.csv")
    external = arm.column("tau_ext_*")
    part, end = arm.identify(arm.motion(end=0.7)), arm.motion(begin=0.7)
    _print_errors(arm, ["end: ours of the beginning", "maker's residual"], [
        errors(end, part.predict(end.q, end.v, end.a)),
        errors(end, end.effort + arm.motion(begin=0.7, effort=external).effort)])
    whole, maker = arm.identify(arm.motion()), arm.identify(arm.motion(effort=arm.table.effort + external))
    rows = [[text, f"{ours:.3f} ± {deviation:.3f}", f"{theirs:.3f}"] for text, ours, deviation, theirs in zip(
        whole.effort_model.base.expressions(), whole.base_values, whole.base_deviations, maker.base_values, strict=True)
        if text.split()[0] in ("link2.hz", "link4.hz", "link6.hz")]
    print("\n".join(table(["moment [kg m]", "measured torques", "maker's model"], rows)))


def tiago() -> None:
    """Print the moments of TIAGo's arm beside those of the maker's description and the published ones."""
    model = Arm("tiago.npz")
    found = model.identify(model.motion())
    values = {text.split()[0]: f"{value:.3f} ± {deviation:.3f}" for text, value, deviation in zip(
        found.effort_model.base.expressions(), found.base_values, found.base_deviations, strict=True)}
    print("\n".join(["", *table(["moment [kg m]", "currents", "maker's description", "published"], [
        [name, values[name], f"{described}", text] for name, (described, text) in TIAGO_MOMENTS.items()])]))


def _print_errors(arm: Arm, heads: list[str], columns: list[Array], what: str = "RMS error [N m]") -> None:
    rows = [[name, *(f"{value:.3g}" for value in row)]
            for name, row in zip(arm.robot.joint_names, np.transpose(columns), strict=True)]
    print("\n".join(["", *table([what, *heads], rows), ""]))


if __name__ == "__main__":
    tx40()
    tx40_replay()
    lbr_med7()
    tiago()
