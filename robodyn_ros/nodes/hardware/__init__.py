"""The node ``hardware``: the simulated robot."""
