# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Packaging, for colcon (ament_python) and for `pip install .` alike."""

from collections.abc import Iterator
from pathlib import Path

from setuptools import find_packages, setup

NAME = "robodyn_ros"
HERE = Path(__file__).parent
NODES = ("hardware", "controller", "dynamics", "state_publisher", "view")


def data_files() -> Iterator[tuple[str, list[str]]]:
    """Package marker, manifest, and every file in launch/, config/ and urdf/, for share/."""
    yield "share/ament_index/resource_index/packages", [f"resource/{NAME}"]
    yield f"share/{NAME}", ["package.xml"]
    for top in ("launch", "config", "urdf"):
        for folder in sorted({path.parent for path in (HERE / top).rglob("*") if path.is_file()}):
            inner = folder.relative_to(HERE)
            if inner.name != "__pycache__":
                yield f"share/{NAME}/{inner}", [str(inner / path.name) for path in sorted(folder.iterdir())
                                                if path.is_file()]


setup(
    name=NAME,
    version="0.1.0",
    description="Robot dynamics from a URDF, compiled; a simulated robot and swappable controllers, as ROS 2 nodes",
    # colcon runs a link to this file in its build folder, which has no README.
    long_description=(Path(__file__).resolve().parent / "README.md").read_text(encoding="utf-8"),
    long_description_content_type="text/markdown",
    license="Apache-2.0",
    maintainer="robodyn_ros maintainers",
    maintainer_email="maintainers@example.org",
    packages=find_packages(include=[NAME, f"{NAME}.*"]),
    package_data={NAME: ["py.typed", "*.pyi"],  # types for programs that import the package
                  f"{NAME}.toolbox.export": ["templates/*.in", "templates/ros2_control/*.in"]},
    data_files=list(data_files()),
    python_requires=">=3.11",
    install_requires=["argcomplete", "cmaes~=0.13", "llvmlite", "lxml", "numpy>=1.26", "pyyaml", "scipy"],
    extras_require={
        "cluster": ["distributed"],
        "learn": ["gymnasium~=1.1", "onnx>=1.17", "onnxruntime>=1.20"],
        "meshes": ["trimesh", "yourdfpy"],
        "mujoco": ["mujoco~=4.0"],
        "plot": ["matplotlib"],
        "record": ["lz4", "mcap~=1.6", "mcap-ros2-support~=0.6", "zstandard"],
        "robots": ["robot_descriptions~=3.3", "xacrodoc~=2.0"],
        "study": ["pyarrow>=20"],
        "train": ["stable-baselines3~=2.7"],
        "view": ["msgspec", "trimesh", "viser~=1.1", "websockets", "yourdfpy"],
        "xacro": ["xacrodoc~=2.0"],
        "test": ["daqp", "hypothesis", "matplotlib", "mujoco", "mypy", "pandas", "pin", "playwright", "polars",
                 "pytest", "pytest-rerunfailures", "pytest-xdist", "qpsolvers", "rosbags", "ruff"],
        "bench": ["daqp", "matplotlib", "mujoco", "pin", "proxsuite"],
        "docs": ["furo", "ipykernel", "matplotlib", "myst-parser", "nbclient", "sphinx", "sphinx-copybutton",
                 "sphinx-mathjax-offline"],
    },
    entry_points={
        "console_scripts": [f"{NAME.split('_')[0]} = {NAME}.commands.entry_points:main",
                            *(f"{node} = {NAME}.commands.entry_points:{node}" for node in NODES)],
        f"{NAME}.controllers": [
            f"pd = {NAME}.control.laws.pd:PD",
            f"pid = {NAME}.control.laws.pid:PID",
            f"pd_gravity = {NAME}.control.laws.pd_gravity:PDGravity",
            f"computed_torque = {NAME}.control.laws.computed_torque:ComputedTorque",
            f"iterative_learning = {NAME}.control.laws.iterative_learning:IterativeLearning",
            f"fuzzy = {NAME}.control.laws.fuzzy:Fuzzy",
            f"neural = {NAME}.control.laws.neural:Neural",
            f"adaptive = {NAME}.control.laws.adaptive:Adaptive",
            f"task_space_pd = {NAME}.control.laws.task_space_pd:TaskSpacePD",
            f"resolved_acceleration = {NAME}.control.laws.resolved_acceleration:ResolvedAcceleration",
            f"operational_space = {NAME}.control.laws.operational_space:OperationalSpace",
            f"task_priority = {NAME}.control.laws.task_priority:TaskPriority",
            f"impedance = {NAME}.control.laws.impedance:Impedance",
            f"force = {NAME}.control.laws.force:Force",
            f"gravity_compensation = {NAME}.control.laws.gravity_compensation:GravityCompensation",
            f"joint_impedance = {NAME}.control.laws.joint_impedance:JointImpedance",
            f"computed_torque_pid = {NAME}.control.laws.computed_torque_pid:ComputedTorquePID",
            f"lqr = {NAME}.control.laws.lqr:LQR",
            f"damping = {NAME}.control.laws.damping:Damping",
            f"policy = {NAME}.control.laws.policy:Policy",
            f"mpc = {NAME}.control.laws.mpc:MPC",
            f"elastic_joint_pd = {NAME}.control.laws.elastic_joint_pd:ElasticJointPD",
            f"torque_feedback = {NAME}.control.laws.elastic_joint_pd:TorqueFeedback",
            f"elastic_composite = {NAME}.control.laws.elastic_composite:ElasticComposite",
        ],
    },
    zip_safe=False,
)
