"""Rotations, twists, forward kinematics and Jacobians."""
