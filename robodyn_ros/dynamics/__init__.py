"""The compiled forms of the dynamics, and ``Dynamics``, which declares and runs its functions."""
