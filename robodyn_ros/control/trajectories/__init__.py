"""Trajectories of joints and of the tip link, and the references that controllers follow."""
