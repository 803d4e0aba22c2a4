# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Prepares the robot of a command: estimates missing inertias, and adds rotors from an actuator file."""

from __future__ import annotations

import sys
from pathlib import Path

from robodyn_ros.description.resources import robot_file
from robodyn_ros.description.robot_sources import cached_urdf, source_of

NOTHING_TO_COMPLETE = "nothing to complete: every moving link with a shape has an inertia that a body can have"


def prepared_robot(robot: str | Path, complete: str = "", actuators: str | Path = "") -> Path:
    """Return a file of the robot with completed inertias and rotors at massless joints; report this on stderr.

    Args:
        robot: As for `robot_file`.
        complete: As for `CompletionRule.from_text`; empty: keep the inertias.
        actuators: File of actuators, or its name in config/; empty: there are no motors.

    Raises:
        DescriptionError: See `complete_urdf`.
        InputError: The robot or file does not exist, or a text is not a rule.
    """
    file = robot_file(robot)
    stem = file.stem
    if complete:
        from robodyn_ros.description.completion.completed_urdf import CompletionRule, complete_urdf

        found = complete_urdf(file, CompletionRule.from_text(complete), absolute_meshes=True)
        print(f"robodyn: {file.name}: {found.summary or NOTHING_TO_COMPLETE}", file=sys.stderr)
        file = cached_urdf(stem, found.text.encode(), "completed", source_of(file)) if found.lines else file
    if actuators:
        from robodyn_ros.actuation.configuration import HardwareSettings
        from robodyn_ros.description.completion.rotors_of_motors import urdf_with_rotors

        text, lines = urdf_with_rotors(file, HardwareSettings.named(actuators))
        for line in lines:
            print(f"robodyn: {stem}: {line}", file=sys.stderr)
        file = cached_urdf(stem, text.encode(), "rotors", source_of(file)) if lines else file
    return file
