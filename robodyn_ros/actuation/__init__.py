"""Actuators and friction: DC motors, gear trains, and the robot's dynamics with them, from motor voltage to motion."""

from robodyn_ros.actuation.actuators import Actuators
from robodyn_ros.actuation.dc_motor import DCMotor
from robodyn_ros.actuation.friction import Friction
from robodyn_ros.actuation.gear_train import GearTrain
from robodyn_ros.actuation.joint_actuators import JointActuators

__all__ = ["Actuators", "DCMotor", "Friction", "GearTrain", "JointActuators"]
