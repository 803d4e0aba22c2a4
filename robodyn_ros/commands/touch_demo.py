# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""``robodyn demo --touch``: an arm presses on a wall while it draws a circle there."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Mapping

import numpy as np

from robodyn_ros.base.errors import InputError
from robodyn_ros.base.text_tables import aligned
from robodyn_ros.commands.demo import DEADLINE, START, start_nodes
from robodyn_ros.commands.progress import Progress
from robodyn_ros.commands.required import ros_required
from robodyn_ros.description.model import Array
from robodyn_ros.description.resources import config_file, robot_file
from robodyn_ros.nodes.common.discovery import described, stay_on_this_machine
from robodyn_ros.robot import Robot
from robodyn_ros.toolbox.plots.touch_figure import save_touch

FORCE, RADIUS, DURATION = 10.0, 0.03, 8.0
"""Force on the wall [N], radius of the circle [m] and its duration [s]."""
SETTLED_SHARE, SETTLING_SECONDS = 0.02, 0.5
"""The force has settled if its relative error stays below the first for the second [s]."""
NORMAL = np.array([1.0, 0.0, 0.0])
"""Normal of the wall in config/touch_wall.yaml, along the base's x axis, so that y and z are in the wall."""
SENSOR_NOISE = 0.05
"""Standard deviation of the measured forces [N]."""


def run_touch_demo(options: Namespace) -> int:
    """Start the nodes, press, draw, print the errors of force and position and write the plot.

    Raises:
        InputError: The robot is not arm6, or an option belongs to the other demo.
        RobodynError: A node ended or does not answer, or ROS 2 cannot be imported.
        OSError: The plot cannot be written.
    """
    with ros_required():
        from robodyn_ros.nodes.client.graph_client import GraphClient
        from robodyn_ros.nodes.client.touch_requests import TouchRequests

    for name in ("trajectory", "actuators", "tip_link", "controllers", "more_controllers", "filter"):
        if getattr(options, name):
            option = name.removeprefix("more_").replace("_", "-")
            raise InputError(f"--{option} has no effect with --touch, which draws a circle under 'force'; leave one of "
                             "them out")
    file = robot_file(options.robot).resolve()
    robot = Robot.from_urdf(file)
    if robot.joint_names != tuple(START):
        raise InputError(f"demo --touch: expected arm6, in front of which the wall stands, received '{options.robot}'; "
                         "docs/touch.md shows how to set up another robot")
    stay_on_this_machine()
    print(described())
    options.output.mkdir(parents=True, exist_ok=True)
    world = config_file("touch_wall.yaml").resolve()
    parameters: Mapping[str, Mapping[str, object]] = {
        "hardware": {"world": str(world), "force_torque_sensor.force_noise": SENSOR_NOISE,
                     **{f"initial_position.{name}": value for name, value in START.items()}},
        "controller": {"controller": "force", "force.force_axes": "x"}, "state_publisher": {}}
    with GraphClient("demo") as client, start_nodes(str(file), parameters) as processes:
        client.checks += [process.check for process in processes]
        requests = TouchRequests(client, robot.model.base_link)
        record = requests.record()
        client.wait_for(lambda: record.times and record.forces, "controller state and measured force", DEADLINE)
        print(f"started hardware with {world.name}, controller (force) and state_publisher for '{robot.name}'")

        requests.press(-FORCE * NORMAL, DEADLINE)
        settling = round(SETTLING_SECONDS * 500.0)  # measurements

        def settled() -> bool:
            last = [float(np.linalg.norm(each)) for each in record.forces[-settling:]]
            spread = max(abs(float(np.mean(last)) - FORCE), float(np.std(last)))
            return len(last) == settling and spread < SETTLED_SHARE * FORCE

        client.wait_for(settled, f"steady force of {FORCE:g} N", DEADLINE)
        begin = record.times[-1]
        print(f"the tip presses the wall with {FORCE:g} N; it draws a circle of {1000 * RADIUS:g} mm")
        center = record.desired[-1] + RADIUS * np.array([0.0, 1.0, 0.0])
        requests.draw_circle(center, NORMAL, DURATION, DEADLINE)
        progress = Progress(DURATION, "s", decimals=1)

        def over() -> bool:
            progress.show(record.times[-1] - begin, "circle")
            return record.times[-1] > begin + DURATION + 0.5

        client.wait_for(over, "end of the circle", 10.0 * DURATION)
        progress.end()
    times, force_times = np.array(record.times), np.array(record.force_times)
    force = forces_along(robot, record.joints, times, np.array(record.forces), force_times)
    drawn, pressed = times >= begin, force_times >= begin
    desired, measured = np.array(record.desired)[drawn, 1:], np.array(record.measured)[drawn, 1:]
    print(error_table(force[pressed] - FORCE, desired - measured))
    plot = options.output / "touch.png"
    save_touch(plot, f"{robot.name}: 10 N on a wall while the tip draws a circle", force_times - begin, force, FORCE,
               desired, measured)
    print(f"\nPlot of force and path: {plot}")
    return 0


def forces_along(robot: Robot, joints: list[Array], times: Array, forces: Array, force_times: Array) -> Array:
    """Return the measured forces along the wall's normal, shape (K,) [N].

    Args:
        robot: The robot; the sensor has the frame of its tip link.
        joints: Joint positions at some times, shape (n,) each [rad].
        times: These times, shape (N,) [s].
        forces: Forces in sensor axes, shape (K, 3) [N].
        force_times: Their times, shape (K,) [s].
    """
    nearest = np.clip(np.searchsorted(times, force_times), 0, len(times) - 1)
    axes = robot.dynamics().batch.forward_kinematics(np.array(joints))[nearest, :3, :3]
    along: Array = np.einsum("kij,kj,i->k", axes, forces, NORMAL)
    return along


def error_table(force_error: Array, position_error: Array) -> str:
    """Return the errors as text.

    Args:
        force_error: Measured minus desired force, shape (K,) [N].
        position_error: Desired minus measured position in the wall, shape (N, 2) [m].
    """
    rows = [("force on the wall", "N", force_error), ("y", "mm", 1000.0 * position_error[:, 0]),
            ("z", "mm", 1000.0 * position_error[:, 1])]
    cells = [[name, unit, f"{np.sqrt(np.mean(errors**2)):.3f}", f"{np.abs(errors).max():.3f}"]
             for name, unit, errors in rows]
    return "\nErrors while the tip draws the circle:\n\n" + "\n".join(
        aligned([["", "unit", "RMS", "worst"], *cells], -5, 9, 8, gap=" "))
