"""The node ``controller``: one control law, swapped by a parameter."""
