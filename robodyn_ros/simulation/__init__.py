"""The simulated robot: bodies, motors, friction, limits, integrators, its commands and sensors; rollouts."""
