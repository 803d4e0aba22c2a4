"""Attacks on the library and its nodes; ``make attack`` runs them. See docs/attack.md."""
