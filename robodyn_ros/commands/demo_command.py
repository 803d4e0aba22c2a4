# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Options of ``robodyn demo``; the demo itself is imported when it runs."""

from __future__ import annotations

from argparse import Namespace
from pathlib import Path

from robodyn_ros.base.fields import Field
from robodyn_ros.base.optional_packages import require
from robodyn_ros.commands.options import DEMO_CONTROLLERS, Subparsers, add_options, add_task_options

FAILED = 1


def add_commands(commands: Subparsers) -> None:
    """Add ``demo``."""
    demo = commands.add_parser(
        "demo",
        help="an arm follows a trajectory while its controller is swapped; prints the tracking errors",
        description="A robot follows a trajectory in lockstep, at most at real-time speed. On the way its controllers "
        "are swapped, each one in force for the same time. Prints the tracking errors under each controller and writes "
        "a plot.",
    )
    add_task_options(demo, "laws that follow joints (default: pd computed_torque)", DEMO_CONTROLLERS)
    add_options(demo, Field("output", Path("demo_output"), "folder for the plot"))
    demo.add_argument("--touch", action="store_true", help="press 10 N on a wall while the tip draws a circle there")
    demo.set_defaults(run=run, error_code=FAILED)


def run(options: Namespace) -> int:
    """Run the demo, see `demo.run_demo` and `touch_demo.run_touch_demo`."""
    require("matplotlib")
    if options.touch:
        from robodyn_ros.commands.touch_demo import run_touch_demo

        return run_touch_demo(options)
    from robodyn_ros.commands.demo import run_demo

    return run_demo(options)
