"""A model that fits: excitation, and identification of inertias, friction and motors from recorded motion."""
