# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""``robodyn identify``: inertias, friction and motors of a robot from a recording or table of its motion."""

from __future__ import annotations

from argparse import Namespace
from pathlib import Path

from robodyn_ros.base.common_fields import CUTOFF
from robodyn_ros.base.errors import InputError
from robodyn_ros.base.fields import Field
from robodyn_ros.base.optional_packages import require
from robodyn_ros.commands.options import Subparsers, add_complete_option, add_options, warn
from robodyn_ros.commands.table_columns import add_table_options, recorded_arm


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
    from robodyn_ros.toolbox.identification.arm_files import write_identified_arm
    from robodyn_ros.toolbox.identification.arm_identification import IdentificationSettings, identify_arm

    if options.hold_out is not None and options.validate:
        raise InputError("identify: --hold-out has no effect with --validate; leave one of them out")
    known = content = None
    if options.actuators:
        file = actuators_file(options.actuators)
        content = read_yaml(file)
        known = HardwareSettings.from_mapping(content, str(file))
    settings = IdentificationSettings(options.cutoff or CUTOFF.default, known, options.hold_out or 0.0, options.offsets,
                                      options.presliding, options.frequency_response)
    found = identify_arm(recorded_arm(options.recording, options), settings,
                         recorded_arm(options.validate, options) if options.validate else None)
    lines, written = write_identified_arm(found, options.output, content)
    print("\n".join(lines))
    print(f"written: {', '.join(map(str, written))}")
    return 0


def _write_adaptive(options: Namespace) -> int:
    """Write the last estimates of `adaptive` as a URDF."""
    from robodyn_ros.dynamics.regressor import with_inertial_parameters
    from robodyn_ros.toolbox.identification.adaptive_estimates import consistent_estimates
    from robodyn_ros.toolbox.identification.identified_files import urdf_with_inertias
    from robodyn_ros.toolbox.identification.recorded_arm import recorded_run

    run, robot = recorded_run(options.recording, options.robot or "", options.namespace or None, warn)
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
