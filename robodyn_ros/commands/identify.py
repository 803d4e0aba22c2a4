# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""``robodyn identify``: inertias, friction and motors of a robot from a recording or table of its motion."""

from __future__ import annotations

import sys
from argparse import Namespace
from pathlib import Path
from typing import Any

import numpy as np

from robodyn_ros.base.common_fields import CUTOFF
from robodyn_ros.base.errors import InputError
from robodyn_ros.base.fields import Field
from robodyn_ros.base.optional_packages import require
from robodyn_ros.commands.options import Subparsers, add_complete_option, add_options
from robodyn_ros.commands.recorded_arm import RecordedArm, recorded_run
from robodyn_ros.commands.table_columns import JointTable, add_table_options

_POSTURES = 200  # postures for the mean inertia of the links


def add_commands(commands: Subparsers) -> None:
    """Add ``identify``."""
    identify = commands.add_parser(
        "identify", help="masses, centres, friction and motors of a robot from a recording of its motion",
        description="Identify a robot's inertias and friction, and its motors where their currents were recorded, from "
        "recorded positions and efforts. Writes a URDF and a YAML file of actuators for 'robodyn simulate', a report, "
        "and a picture of measured against predicted efforts.",
    )
    identify.add_argument("recording", metavar="RUN", type=Path, help="rosbag2 folder with MCAP, .mcap file, or "
                          "table, of a motion such as robodyn excite writes")
    identify.add_argument("--validate", metavar="RUN2", type=Path, help="recording of another motion, whose efforts "
                          "the model has to predict")
    add_options(identify, Field("hold_out", None, "Keep this share of the recording, its end, for validation, instead "
                                "of --validate", minimum=0.0, above=True, maximum=0.99), metavar="SHARE")
    add_complete_option(identify)
    identify.add_argument("--robot", metavar="ROBOT", help="name or file of the robot as it is described (default: the "
                          "recorded robot_description)")
    identify.add_argument("--actuators", metavar="FILE", help="YAML file of the motors and gears as far as they are "
                          "known, or its name in config/; identified constants take the place of its values")
    identify.add_argument("--output", type=Path, default=Path("identified"), help="folder for the results (default: "
                          "%(default)s)")
    add_options(identify, CUTOFF.renamed("cutoff", default=None, description=f"{CUTOFF.description} (default: "
                                         f"{CUTOFF.default:g})"))
    identify.add_argument("--presliding", action="store_true", help="identify the stiffness of dry friction before the "
                          "joints slide, too, from slow motion that reverses")
    identify.add_argument("--frequency-response", action="store_true", help="identify the stiffness of elastic joints "
                          "from the frequency response of their motors, where only the motors are measured; the "
                          "recording holds one posture, excited by chirps or multisines")
    identify.add_argument("--offsets", action="store_true", help="the measured efforts have offsets, which are "
                          "identified, too; always so with --motor-efforts and --currents")
    identify.add_argument("--namespace", help="namespace of the robot, if several were recorded")
    identify.add_argument("--adaptive", action="store_true", help="write the last estimates of the controller "
                          "'adaptive' in the recording as a URDF, instead of identifying")
    add_table_options(identify)
    identify.set_defaults(run=run_identify)


def run_identify(options: Namespace) -> int:
    """Identify a robot, print the report, and write all files.

    Raises:
        RobodynError: A recording cannot be read or used, or belongs to another robot; an option has no effect; or a
            package is missing.
        OSError: A file cannot be written.
    """
    if options.adaptive:
        for name in ("validate", "hold_out", "actuators", "cutoff", "presliding", "frequency_response"):
            if getattr(options, name) not in (None, False):
                raise InputError(f"identify: --{name.replace('_', '-')} has no effect with --adaptive; leave it out")
        require("mcap_ros2")
        return _write_adaptive(options)
    require("matplotlib")
    from robodyn_ros.actuation.configuration import HardwareSettings
    from robodyn_ros.base.bounded_files import read_yaml
    from robodyn_ros.description.resources import actuators_file
    from robodyn_ros.toolbox.identification.identified_files import actuator_sections
    from robodyn_ros.toolbox.identification.identified_model import identify

    if options.hold_out is not None and options.validate:
        raise InputError("identify: --hold-out has no effect with --validate; leave one of them out")
    settings = content = None
    if options.actuators:
        file = actuators_file(options.actuators)
        content = read_yaml(file)
        settings = HardwareSettings.from_mapping(content, str(file))
    recorded, cutoff = RecordedArm.from_options(options.recording, options), options.cutoff or CUTOFF.default
    robot, begin = recorded.robot, 1.0 - (options.hold_out or 0.0)
    motion = recorded.prepared(cutoff, settings, end=begin)
    compared = [(recorded.path.name, "identification", motion)]
    if options.hold_out:
        compared.append((recorded.path.name, "validation", recorded.prepared(cutoff, settings, begin, shortest=1.0)))
    elif options.validate:
        other = RecordedArm.from_options(options.validate, options)
        compared.append((other.path.name, "validation", other.prepared(cutoff, settings)))
    has_rotor, constants = _motors(recorded, motion, settings)
    table = recorded.source if isinstance(recorded.source, JointTable) else None
    described = None if settings is None else settings.joint_actuators(robot.model)
    coupling = (table.coupling if table else None if described is None else described.motors.gear.coupling)
    _check_efforts(recorded, motion)
    # First, because motion without an identifiable response hardly identifies a model.
    response = _response(recorded, described, cutoff, begin) if options.frequency_response else None
    model = identify(robot, motion, has_rotor, coupling=robot.model.coupling if coupling is None else coupling,
                     has_offset=bool(options.offsets or table and table.from_motors))
    _check_model(recorded, model, motion)
    coupled = model.effort_model.coupled
    if len(coupled) and (described is None or not described.is_motor[coupled].all()):
        print(f"robodyn: warning: the motor of joint '{robot.joint_names[coupled[0]]}' turns with several joints: its "
              "friction is identified, and written if --actuators names a file that describes the motors and their "
              "couplings",
              file=sys.stderr)
    for j in np.flatnonzero(~motion.usable.any(axis=0)):
        print(f"robodyn: warning: {recorded.path}: joint '{robot.joint_names[j]}' moves at "
              f"{np.abs(motion.v[:, j]).max():.3g} at most, too slowly to identify its friction, which stays as "
              "described; record a faster motion", file=sys.stderr)
    springs = _springs(recorded, motion, cutoff, begin) if response is None else response.springs
    presliding = _presliding(recorded, model, motion, cutoff) if options.presliding else None
    lines, comparisons, scale = _report(model, constants, compared, springs)
    if response is not None:
        from robodyn_ros.toolbox.identification.report import response_lines

        lines += ["", *response_lines(robot.joint_names, response)]
    if presliding is not None:
        from robodyn_ros.toolbox.identification.report import presliding_table

        lines += ["", "## Presliding", "", *presliding_table(robot.joint_names, presliding)]
    folder = options.output
    folder.mkdir(parents=True, exist_ok=True)
    urdf, picture = folder / f"{robot.name}.urdf", folder / "efforts.png"
    urdf.write_text(_urdf(robot, model), encoding="utf-8")
    import yaml

    actuators = folder / "actuators.yaml"
    actuators.write_text("# Identified by robodyn identify\n" + yaml.safe_dump(
        actuator_sections(model, constants, content, springs, presliding), sort_keys=False), encoding="utf-8")
    from robodyn_ros.toolbox.plots.identification_figures import save_efforts

    written = [urdf, actuators, folder / "report.md", picture]
    units = [joint.effort_unit for joint in robot.model.leaders]
    save_efforts(comparisons, robot.joint_names, units, scale, picture, f"{robot.name}: measured and predicted efforts")
    pictures = ["![Measured and predicted efforts](efforts.png)"]
    if response is not None:
        from robodyn_ros.toolbox.plots.identification_figures import save_responses

        written.append(folder / "responses.png")
        save_responses(response, robot.joint_names, written[-1], f"{robot.name}: frequency responses of the motors")
        pictures.append("![Frequency responses of the motors](responses.png)")
    (folder / "report.md").write_text("\n\n".join(["\n".join(lines), *pictures]) + "\n", encoding="utf-8")
    print("\n".join(lines))
    print(f"written: {', '.join(map(str, written))}")
    return 0


def _check_efforts(recorded: RecordedArm, motion: Any) -> None:
    """Warn about each joint that moves with constant effort; raise if that holds for all joints."""
    from robodyn_ros.base.errors import RecordingError

    moves = motion.usable.any(axis=0)
    constant = moves & (np.ptp(recorded.effort, axis=0) == 0.0)
    for j in np.flatnonzero(constant):
        text = (f"{recorded.path}: joint '{recorded.robot.joint_names[j]}' moves while its effort never varies from "
                f"{recorded.effort[0, j]:g}: ")
        if (constant == moves).all():
            raise RecordingError(f"{text}expected measured efforts; record them, or name their columns")
        print(f"robodyn: warning: {text}unless that was measured, the parameters of this joint are wrong; record its "
              "effort, or name its column", file=sys.stderr)


def _check_model(recorded: RecordedArm, model: Any, motion: Any) -> None:
    """Warn about each effort that the model misses by far; raise if no robot can have the model."""
    from robodyn_ros.base.errors import RecordingError
    from robodyn_ros.toolbox.identification.implausible_efforts import impossible, large_residuals, likely_causes

    if found := impossible(model, motion):
        raise RecordingError(f"{recorded.path}: {'; '.join(found)}. Nothing was written. Likely causes: "
                             f"{'; '.join(likely_causes(model, motion))}")
    if found := large_residuals(model, motion):
        print(f"robodyn: warning: {recorded.path}: {'; '.join(found)}. Likely causes: "
              f"{'; '.join(likely_causes(model, motion))}", file=sys.stderr)


def _motors(recorded: RecordedArm, motion: Any, settings: Any) -> tuple[Any, Any]:
    """Return which joints have a motor with a rotor, and the motor constants."""
    from robodyn_ros.toolbox.identification.motor_constants import motor_constants

    robot, source = recorded.robot, recorded.source
    described = (np.zeros(robot.n, dtype=bool) if settings is None else settings.joint_actuators(robot.model).is_motor)
    nothing = np.full((1, robot.n), np.nan)
    if isinstance(source, JointTable):
        return described | source.has_rotor, motor_constants(nothing, nothing, nothing, nothing)
    actuators = source.actuators
    if actuators is None:
        return described, motor_constants(nothing, nothing, nothing, nothing)
    outputs = actuators.outputs
    order = [source.joint_names.index(name) for name in robot.joint_names]
    v = np.stack([np.interp(actuators.time, motion.time, column) for column in motion.v.T], axis=1)
    effort, current, voltage = (values[:, order] for values in (outputs.joint_effort, outputs.current, outputs.voltage))
    if settings is not None:  # at the gear outputs, one motor each
        gear = settings.joint_actuators(robot.model).motors.gear
        v, effort = gear.output_motion(v.T).T, gear.output_effort(effort.T).T
    constants = motor_constants(v, effort, current, voltage)
    for j in np.flatnonzero(constants.known & ~described):
        print(f"robodyn: warning: {source.path}: joint '{robot.joint_names[j]}' has a motor: give --actuators a "
              "file that describes it, so that its rotor is separated from the links and its constants are written",
              file=sys.stderr)
    return described, constants


def _springs(recorded: RecordedArm, motion: Any, cutoff: float, end: float) -> Any:
    """Return the springs of elastic joints if both sides were measured, else None; raise if a table identifies none."""
    from robodyn_ros.base.errors import RecordingError
    from robodyn_ros.toolbox.identification.spring_fit import fit_springs

    if recorded.motor_position is None:
        return None
    motors = recorded.prepared_motors(cutoff, end)
    if not np.array_equal(motors.time, motion.time):
        raise RecordingError(f"{recorded.path}: positions of the motors jump where those of the links do not; leave "
                             "out --motor-positions, or record again")
    springs = fit_springs(recorded.robot.joint_names, motion, motors)
    if not springs.identified.any() and not isinstance(recorded.source, JointTable):
        return None  # a recording also has motors of rigid joints
    if not springs.identified.any():
        raise RecordingError(f"{recorded.path}: {springs.reasons[0]}; or leave out the positions of the motors")
    for reason in filter(None, springs.reasons):
        print(f"robodyn: warning: {recorded.path}: {reason}", file=sys.stderr)
    return springs


def _response(recorded: RecordedArm, described: Any, cutoff: float, end: float) -> Any:
    """Identify the springs of elastic joints from the response of their motors.

    Args:
        recorded: Recording of the motors only.
        described: Known data of the actuators; None: none.
        cutoff: Cutoff of the position filter [Hz].
        end: Share of the samples to use, from the beginning.

    Raises:
        InputError: The links were measured.
        RecordingError: The response identifies no spring.
    """
    from robodyn_ros.base.errors import RecordingError
    from robodyn_ros.toolbox.identification.response_fit import fit_response, motor_response

    robot, table = recorded.robot, recorded.source if isinstance(recorded.source, JointTable) else None
    if recorded.motor_position is not None:
        raise InputError(f"{recorded.path}: --frequency-response: expected positions of the motors alone, received "
                         "those of the links, too, which identify the springs without it; leave it out")
    if table is not None and not table.at_motors:
        raise InputError(f"{recorded.path}: --frequency-response: expected --motor-positions, received --positions, "
                         "those of the links; the springs are identified from the response of the motors")
    posture = recorded.position[:round(end * len(recorded.position))]
    links = (robot.dynamics().batch.mass_matrix(posture[::max(1, len(posture) // _POSTURES)])
             - robot.model.rotor_inertia)
    diagonals = np.einsum("kii->ki", links)
    inertia = stiffness = np.full(robot.n, np.nan)
    if described is not None:
        inertia = np.where(described.reflected_inertia > 0.0, described.reflected_inertia, np.nan)
        if described.springs is not None:
            stiffness = np.where(np.isfinite(described.springs.stiffness), described.springs.stiffness, np.nan)
    fit = fit_response(robot.joint_names, motor_response(recorded.even_samples(cutoff, end)), links.mean(axis=0),
                       diagonals.std(axis=0) / diagonals.mean(axis=0), inertia,
                       None if table is None else table.coupling, stiffness)
    for reason in filter(None, fit.springs.reasons) if fit.springs.identified.any() else ():
        print(f"robodyn: warning: {recorded.path}: {reason}", file=sys.stderr)
    if not fit.springs.identified.any():
        raise RecordingError(f"{recorded.path}: --frequency-response: {'; '.join(fit.springs.reasons)}")
    return fit


def _presliding(recorded: RecordedArm, model: Any, motion: Any, cutoff: float) -> Any:
    """Identify the presliding of the joints; raise if the motion identifies none."""
    from robodyn_ros.base.errors import RecordingError
    from robodyn_ros.toolbox.identification.presliding_fit import fit_presliding

    friction = model.friction
    rubbed = friction.viscous * motion.v + friction.level(motion.v) * np.sign(motion.v)
    found = fit_presliding(recorded.robot.joint_names, motion, model.predict(motion.q, motion.v, motion.a) - rubbed,
                           cutoff)
    if not found.identified.any():
        raise RecordingError(f"{recorded.path}: {found.reasons[0]}; or leave out --presliding")
    for reason in filter(None, found.reasons):
        print(f"robodyn: warning: {recorded.path}: {reason}", file=sys.stderr)
    return found


def _report(model: Any, constants: Any, compared: list[tuple[str, str, Any]], springs: Any
            ) -> tuple[list[str], list[Any], Any]:
    """Return report lines, the efforts to draw, and their full scale, for names, uses and motions."""
    from robodyn_ros.actuation.friction import Friction
    from robodyn_ros.toolbox.identification import report
    from robodyn_ros.toolbox.identification.identified_model import drive_efforts, effort_scale
    from robodyn_ros.toolbox.plots.identification_figures import EffortComparison

    robot = model.effort_model.robot
    scale = effort_scale(robot, compared[0][2].effort)
    errors, comparisons = [], []
    for name, use, motion in compared:
        kinematics = motion.q, motion.v, motion.a
        identified = model.predict(*kinematics)
        described = drive_efforts(robot, Friction.from_model(robot.model), *kinematics)
        comparisons.append(EffortComparison(
            f"{name} ({use})", motion.time, motion.effort,
            *(np.where(motion.usable, values, np.nan) for values in (identified, described))))
        for whose, values in (("description", described), ("identified", identified)):
            square, count = np.where(motion.usable, values - motion.effort, 0.0) ** 2, motion.usable.sum(axis=0)
            errors.append((f"{use}: {whose}", np.where(count > 0, np.sqrt(square.sum(axis=0) / np.maximum(count, 1)),
                                                       np.nan)))
    name, _, motion = compared[0]
    lines = [f"# {robot.name}, identified from {name}", "",
             f"{motion.time[-1] - motion.time[0]:.1f} s, {len(motion.time)} samples of {robot.n} joints. "
             f"{motion.processing} Each joint counts by the variance of its residuals (instrumental variables).", "",
             "## Errors of predicted efforts, RMS", "", *report.effort_table(robot.joint_names, scale, errors), ""]
    if len(compared) == 1:
        lines += ["No other motion validates this model: give --validate another recording, or --hold-out a share of "
                  "this one.", ""]
    lines += ["## Friction", "", *report.friction_table(model), "",
              "## Base parameters", "", *report.base_table(model), ""]
    if constants.known.any():
        lines += ["## Motors", "", *report.motor_table(robot.joint_names, constants), ""]
    if springs is not None and springs.damping is None:  # a response has its own section
        lines += ["## Springs", "", *report.spring_table(robot.joint_names, springs), ""]
    missing = report.not_identifiable(model)
    lines += ["## Not identifiable from this recording", "",
              *([f"- {name}" for name in missing] or ["Nothing: every base parameter and friction is identified."]), "",
              report.link_summary(model) + "."]
    return lines, comparisons, scale


def _urdf(robot: Any, model: Any) -> str:
    """Return the identified URDF for laws, with rotors as armatures; a plant with its own motors ignores these."""
    from dataclasses import replace

    from robodyn_ros.toolbox.identification.identified_files import urdf_with_inertias

    identified, leaders = model.robot.model, set(robot.joint_names)
    identified = replace(identified, joints=tuple(
        replace(joint, armature=float(model.rotor_inertia[joint.dof])) if joint.name in leaders else joint
        for joint in identified.joints))
    friction = model.friction
    return urdf_with_inertias(robot.model, identified, friction.viscous, friction.coulomb)


def _write_adaptive(options: Namespace) -> int:
    """Write the last estimates of `adaptive` as a URDF."""
    from robodyn_ros.dynamics.regressor import with_inertial_parameters
    from robodyn_ros.toolbox.identification.adaptive_estimates import consistent_estimates
    from robodyn_ros.toolbox.identification.identified_files import urdf_with_inertias

    run, robot = recorded_run(options.recording, options)
    names, estimates, time = run.last_memory("adaptive")
    model, parameters = consistent_estimates(robot, names, estimates)
    identified = with_inertial_parameters(robot.model, parameters[:model.inertial_count])
    path = options.output / f"{robot.name}.urdf"
    path.parent.mkdir(parents=True, exist_ok=True)
    viscous = parameters[model.slots("viscous")]
    path.write_text(urdf_with_inertias(robot.model, identified, viscous, robot.model.friction), encoding="utf-8")
    print(f"estimates of 'adaptive' at {time:.2f} s of {options.recording}")
    print(f"written: {path}")
    return 0
