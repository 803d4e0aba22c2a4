"""The robot as data (``model``) and the loader that reads it from a URDF (``urdf``)."""
