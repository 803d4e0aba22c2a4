"""Packaging, for colcon (ament_python) and for `pip install .` alike."""

from collections.abc import Iterator
from pathlib import Path

from setuptools import find_packages, setup

NAME = "robodyn_ros"
HERE = Path(__file__).parent
NODES = ("hardware", "controller", "dynamics", "state_publisher")


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
    license="Apache-2.0",
    maintainer="robodyn_ros maintainers",
    maintainer_email="maintainers@example.org",
    packages=find_packages(include=[NAME, f"{NAME}.*"]),
    data_files=list(data_files()),
    python_requires=">=3.11",
    install_requires=["llvmlite", "lxml", "numpy>=1.26", "pyyaml", "scipy", "yourdfpy"],
    extras_require={
        "plot": ["matplotlib"],
        "test": ["hypothesis", "matplotlib", "mypy", "pin", "pytest", "ruff"],
        "bench": ["matplotlib", "mujoco", "pin"],
    },
    entry_points={
        "console_scripts": [f"{NAME.split('_')[0]} = {NAME}.cli:main",
                            *(f"{node} = {NAME}.cli:{node}" for node in NODES)],
        f"{NAME}.controllers": [
            f"pd = {NAME}.control.pd:PD",
            f"pid = {NAME}.control.pid:PID",
            f"pd_gravity = {NAME}.control.pd_gravity:PDGravity",
            f"computed_torque = {NAME}.control.computed_torque:ComputedTorque",
            f"iterative_learning = {NAME}.control.iterative_learning:IterativeLearning",
            f"fuzzy = {NAME}.control.fuzzy:Fuzzy",
            f"neural = {NAME}.control.neural:Neural",
            f"adaptive = {NAME}.control.adaptive:Adaptive",
            f"workspace_pd = {NAME}.control.workspace_pd:WorkspacePD",
            f"resolved_acceleration = {NAME}.control.resolved_acceleration:ResolvedAcceleration",
            f"operational_space = {NAME}.control.operational_space:OperationalSpace",
            f"impedance = {NAME}.control.impedance:Impedance",
            f"force = {NAME}.control.force:Force",
            f"gravity_compensation = {NAME}.control.gravity_compensation:GravityCompensation",
            f"joint_impedance = {NAME}.control.joint_impedance:JointImpedance",
            f"computed_torque_pid = {NAME}.control.computed_torque_pid:ComputedTorquePID",
            f"lqr = {NAME}.control.lqr:LQR",
            f"damping = {NAME}.control.damping:Damping",
        ],
    },
    zip_safe=False,
)
