# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Ranges of the numbers in a robot description.

They include every robot in SI units, and in grams and millimetres. Outside of them, products of a few values overflow,
or lose the digits that decide whether a mass matrix is positive definite.
"""

from robodyn_ros.base.checks import MAX_MAGNITUDE, Range

LENGTH = Range(-1e6, 1e6)
"""Coordinates and offsets [m; an offset of a joint position also in rad]."""

ANGLE = Range(-1e6, 1e6)
"""Roll, pitch and yaw, and the angles of a Denavit-Hartenberg table [rad]."""

GRAVITY = Range(-1e6, 1e6)
"""Components of the gravitational acceleration [m/s^2]."""

AXIS = Range(-1e6, 1e6)
"""Components of an axis, which is normalised."""

MASS = Range(-MAX_MAGNITUDE, MAX_MAGNITUDE)
"""Mass [kg]; the loader reports negative ones."""

MOMENT_OF_INERTIA = Range(-1e12, 1e12)
"""Elements of an inertia tensor [kg m^2]."""

FRICTION = Range(-MAX_MAGNITUDE, MAX_MAGNITUDE)
"""Viscous friction [N m s/rad or N s/m] and Coulomb friction [N m or N]; the loader warns of negative ones."""

MULTIPLIER = Range(-1e4, 1e4)
"""Position of a mimic joint per position of the joint that it follows."""

REDUCTION = Range(-1e6, 1e6)
"""Motor turns per joint turn."""

LIMIT = Range(or_infinite=True)
"""Limits of a joint: infinity, or a number beyond `NO_LIMIT`, means no limit."""

NO_LIMIT = MAX_MAGNITUDE
"""Limits beyond this mean no limit [rad, m, rad/s, m/s, N m or N]; files contain 1e16 and the largest double."""

MAX_LINKS = 5000
"""Greatest number of links of a URDF."""

MAX_JOINTS = 300
"""Greatest number of moving joints: machine code computes each of the n^2 elements of the mass matrix."""

MAX_NAME_LENGTH = 200
"""Greatest length of the name of a robot, link or joint; such names become names of frames and parameters in ROS."""
