"""``robodyn robots`` lists the shipped robots, ``robodyn check`` reads a URDF and prints its contents."""

from __future__ import annotations

import math
import warnings
from argparse import Namespace

from robodyn_ros.commands.options import Subparsers
from robodyn_ros.errors import DescriptionWarning


def add_commands(commands: Subparsers) -> None:
    """Add ``robots`` and ``check``."""
    robots = commands.add_parser("robots", help="list the robots that come with the package")
    robots.set_defaults(run=run_robots)

    check = commands.add_parser(
        "check", help="read a URDF and print joints, limits, masses and warnings",
        description="Read a URDF and print its joints, limits and masses, and warnings about odd values.",
    )
    check.add_argument("file", help="path of a URDF file, or the name of a shipped robot")
    check.add_argument("--strict", action="store_true", help="refuse a robot with physically odd values")
    check.add_argument("--tip-link", help="link that functions refer to when none is named")
    check.set_defaults(run=run_check)


def run_robots(_: Namespace) -> int:
    """List the robots that come with the package."""
    from robodyn_ros import resources
    from robodyn_ros.description.urdf import load_urdf

    for name in resources.shipped_robots():
        model = load_urdf(resources.robot_file(name))
        print(f"{name:<12} {model.n} joints ({', '.join(model.joint_names)}), tip link {model.tip_link}")
    return 0


def run_check(options: Namespace) -> int:
    """Read a URDF and print its joints, limits, masses and warnings.

    Raises:
        RobodynError: The file does not exist, or the description cannot be used.
    """
    from robodyn_ros.resources import robot_file
    from robodyn_ros.robot import Robot

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", DescriptionWarning)
        model = Robot.from_urdf(robot_file(options.file), strict=options.strict, tip_link=options.tip_link).model
    mass = sum(joint.inertia.mass for joint in model.joints)
    print(f"{model.name}: {model.n} joints, {len(model.frames)} links, {mass:.6g} kg moving")
    print(f"base link {model.base_link}, tip link {model.tip_link}")
    row = "{:<24} {:<11} {:>10} {:>10} {:>10} {:>10} {:>10}".format
    print(row("joint", "kind", "lower", "upper", "velocity", "effort", "mass"))
    for joint in model.joints:
        limits = joint.limits
        numbers = (limits.lower, limits.upper, limits.velocity, limits.effort, joint.inertia.mass)
        kind = joint.kind if joint.name in model.joint_names else "mimic"
        print(row(joint.name, kind, *("none" if math.isinf(x) else f"{x:.4g}" for x in numbers)))
    for warning in caught:
        print(f"warning: {warning.message}")
    return 0
