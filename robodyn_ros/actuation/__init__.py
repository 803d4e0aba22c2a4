# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Actuators and friction: DC motors, gear trains, and the robot's dynamics with them, from motor voltage to motion.

Open first: ``joint_actuators.py``, ``dc_motor.py``, ``friction.py``.
"""

from robodyn_ros.actuation.actuators import Actuators
from robodyn_ros.actuation.dc_motor import DCMotor
from robodyn_ros.actuation.friction import Friction, FrictionModel
from robodyn_ros.actuation.gear_train import GearTrain
from robodyn_ros.actuation.joint_actuators import JointActuators
from robodyn_ros.actuation.maxwell_slip import MaxwellSlip

__all__ = ["Actuators", "DCMotor", "Friction", "FrictionModel", "GearTrain", "JointActuators", "MaxwellSlip"]
