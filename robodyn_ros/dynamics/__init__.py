"""The textbook's dynamics, and ``Dynamics``, which serves them compiled."""
