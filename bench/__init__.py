"""Benchmarks of robodyn_ros against its peers, side by side in one process: ``python -m bench``."""
