"""The simulated robot: rigid bodies, friction, limits, the integrator."""
