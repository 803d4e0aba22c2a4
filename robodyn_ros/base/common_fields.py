# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Declarations of values that nodes, study files and commands have in common."""

from collections.abc import Sequence

from robodyn_ros.base.fields import POSITION, VELOCITY, Field

DEFAULT_ROBOT = "arm6"
"""The shipped robot that is used if none is named."""

ROBOT = Field("robot", DEFAULT_ROBOT, "Name of a shipped robot or of one of robot_descriptions, or path of a URDF, "
              "MJCF or xacro file; arguments may follow a xacro file: 'arm.urdf.xacro gripper:=true'")
COMPLETE = Field("complete", None, "Estimate the robot's missing inertias, as robodyn complete does: mass=KG or "
                 "density=KG_PER_M3, and repair, with commas; auto: no number", kind=str)
TIP_LINK = Field("tip_link", None, "Link that laws and commands of the tip move (default: the tool frame of the "
                 "longest arm, before the fingers of a gripper)", kind=str)

PERIOD = Field("period", 0.002, "Control period", unit="s", minimum=0.0, above=True, maximum=1.0)
STEP = Field("step", 0.001, "Time step of the integrator, a whole number of nanoseconds", unit="s", minimum=1e-6,
             maximum=0.1)
CUTOFF = Field("cutoff", 20.0, "Cutoff frequency of the filter on positions", unit="Hz", minimum=0.0, above=True)
PORT = Field("port", 8080, "TCP port of the page; 0: any that is free", structural=True, minimum=0, maximum=65535)
DELAY = Field("delay", 0, "Time from a measurement to the effect of its command that default gains are for",
              unit="control periods", minimum=0, maximum=1000)
SEED = Field("seed", 0, "Seed of the sensors' noise", minimum=0, maximum=10**9)

POSITION_NOISE = Field("position_noise", 1e-4, "Standard deviation of the noise of measured positions", unit=POSITION,
                       minimum=0.0, maximum=10.0)
VELOCITY_NOISE = Field("velocity_noise", 0.01, "Standard deviation of the noise of measured velocities", unit=VELOCITY,
                       minimum=0.0, maximum=1000.0)
"""Noises assumed by searches and studies. Simulated sensors and comparisons have none unless the user sets it."""

REAL_TIME_FACTOR = Field("real_time_factor", 1.0, "Simulated seconds per second, for time_mode scaled", minimum=1e-3,
                         maximum=1e3)
SPEED_LIMIT = Field("lockstep_speed_limit", 0.0, "Simulated seconds per second that time_mode lockstep does not "
                    "exceed; 0: as fast as the machine goes", minimum=0.0, maximum=1e3)

BEHIND_LAWS = ("friction", "safety")
"""Endings of names of controllers, ``+safety``, in the order in which they follow each other."""

FILTERS = ("none", "safety", "friction", "friction+safety")
"""Names of what can be behind controllers."""

FILTER = Field("filter", "none", "Behind every controller but the safe one: 'friction' compensates the friction of the "
               "drives, 'safety' keeps the efforts within the limits of the robot, as '+friction' and '+safety' behind "
               "the controller's name do", choices=FILTERS)


PARTS_OF_DRIVETRAINS = ("rotors", "friction", "springs")
"""Parts that laws can ignore, see `Robot.ignoring`."""

LAW_IGNORES = Field("law_ignores", ["none"], "Parts of the drivetrains that laws and default gains ignore, of "
                    "actuators and description alike; rotors, friction and springs: they know rigid links only",
                    structural=True, choices=("none", *PARTS_OF_DRIVETRAINS))


def ignored_parts(names: Sequence[str]) -> tuple[str, ...]:
    """Return the parts among values of `LAW_IGNORES`."""
    return tuple(name for name in names if name != "none")


def filtered_name(controller: str, filter_name: str | None) -> str:
    """Name of a controller with a filter (one of `FILTERS`; None: none) beside those that its name already has."""
    law, *own = controller.split("+")
    wanted = {*own, *(filter_name or "none").split("+")}
    others = [each for each in own if each not in BEHIND_LAWS]
    return "+".join([law, *others, *(each for each in BEHIND_LAWS if each in wanted)])
