# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Packages that only some features need: what is missing, and the command that installs it."""

from __future__ import annotations

import importlib.util

from robodyn_ros.base.errors import RobodynError

PURPOSES = {
    "matplotlib": ("the plots need Matplotlib", "matplotlib"),
    "mcap_ros2": ("recordings need mcap-ros2-support", "mcap mcap-ros2-support"),
    "cmaes": ("searches of gains need the package cmaes", "cmaes"),
    "pyarrow": ("results of studies and Parquet files need Apache Arrow", "pyarrow"),
    "stable_baselines3": ("training with Stable-Baselines3 needs it", "stable-baselines3"),
    "viser": ("the browser view needs viser", "viser yourdfpy"),
    "yourdfpy": ("the shapes of robots need yourdfpy and trimesh", "yourdfpy trimesh"),
    "trimesh": ("mesh files need trimesh", "trimesh"),
    "distributed": ("a cluster needs Dask distributed", "distributed"),
    "gymnasium": ("environments for learned laws need Gymnasium", "gymnasium"),
    "mujoco": ("the engine mujoco and robots in MJCF files need MuJoCo", "mujoco"),
    "xacrodoc": ("xacro files need xacrodoc", "xacrodoc"),
    "onnx": ("policies need the package onnx", "onnx"),
    "onnxruntime": ("networks that cannot be compiled need ONNX Runtime", "onnxruntime"),
    "robot_descriptions": ("its robots need the package robot_descriptions", "robot_descriptions xacrodoc"),
}
"""The feature that needs a module, and the packages that pip installs for it, by the name of the module."""


def is_installed(module: str) -> bool:
    """Whether a module is installed; it is not imported."""
    return importlib.util.find_spec(module) is not None


def missing_message(module: str, error: ImportError | None = None) -> str:
    """Return a message: the feature that needs a module of `PURPOSES`, and how to install it.

    Args:
        module: The module.
        error: Reason why it cannot be imported; None: it is not installed.
    """
    need, packages = PURPOSES[module]
    why = "is not installed" if error is None else f"cannot be imported ({error})"
    return f"{need}, which {why}: pip install {packages}"


def require(module: str) -> None:
    """Raise unless a module of `PURPOSES` is installed.

    Raises:
        RobodynError: It is not; the message says how to install it.
    """
    if not is_installed(module):
        raise RobodynError(missing_message(module))
