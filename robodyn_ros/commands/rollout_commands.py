# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""``robodyn tune`` and ``robodyn compare``: the options of the two commands that simulate motions without ROS."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace, _StoreAction
from pathlib import Path
from typing import Any

from robodyn_ros.base.common_fields import PERIOD, POSITION_NOISE, SEED, STEP, VELOCITY_NOISE
from robodyn_ros.base.errors import InputError
from robodyn_ros.base.fields import Field
from robodyn_ros.base.optional_packages import require
from robodyn_ros.commands.cluster_options import add_machine_options
from robodyn_ros.commands.law_parameters import add_law_options
from robodyn_ros.commands.options import (
    Subparsers,
    add_law_ignores_option,
    add_options,
    add_task_options,
    given_robot,
)
from robodyn_ros.commands.simulation_setup import ENGINES


def add_commands(commands: Subparsers) -> None:
    """Add ``tune`` and ``compare``."""
    tune = commands.add_parser(
        "tune",
        help="search the gains of a control law by thousands of simulated motions",
        description="Search the gains of a control law for a robot. Thousands of motions are simulated, each with "
        "other gains. Writes a YAML file for 'robodyn simulate --params-file', and pictures.",
    )
    tune.register("action", None, _StoreGiven)
    add_task_options(tune, "laws that follow joints or poses, tuned one after the other (default: computed_torque, or "
                     "all of the study)", ["computed_torque"])
    tune.add_argument("--gains", nargs="+", help="parameters to search (default: gains such as p, d, i)")
    add_law_options(tune)
    _add_simulator_options(tune)
    add_options(
        tune,
        Field("output", Path("tune_output"), "folder for the results; with several laws, for a folder of each"),
        Field("generations", 100, "generations of the search", minimum=1, maximum=1_000_000),
        Field("population", 24, "candidates in a generation, each simulated on every sample", minimum=1,
              maximum=1_000_000),
        SEED.renamed("seed", description="seed of the search, and of the noise without a study"),
        Field("span", 10.0, "factor by which each gain may grow or shrink", minimum=1.0, maximum=1e6),
        Field("smoothness", 0.01, "tracking error that costs as much as efforts that change by their limits at each "
              "tick", unit="rad or m", minimum=0.0, maximum=1e6),
        PERIOD,
        STEP,
        POSITION_NOISE,
        VELOCITY_NOISE,
    )
    add_machine_options(tune)
    tune.add_argument("--study", metavar="STUDY", help="YAML file of a study: robots that differ, laws, motions; other "
                      "options replace what it has (default: one robot)")
    tune.add_argument("--goal", default="95%", metavar="STATISTIC", help="of the cost over the samples: mean, worst or "
                      "a quantile (default: 95%%)")
    tune.add_argument("--limit", nargs="+", default=[], metavar="METRIC=VALUE", help="greatest value of the same "
                      "statistic of a metric: saturated, overshoot, worst_effort and others")
    tune.add_argument("--pareto", nargs=2, metavar="METRIC", help="search the front of two metrics instead of one cost")
    tune.add_argument("--resume", action="store_true", help="go on with an interrupted search")
    tune.set_defaults(run=run_tune, given=())

    compare = commands.add_parser(
        "compare",
        help="simulate several control laws on the same motion: a table and a picture",
        description="Simulate control laws, with their default parameters but for those set, on the same robot and the "
        "same motion. Prints and draws the errors, efforts and work of each.",
    )
    add_task_options(compare, "laws that follow joints or poses (default: all)")
    add_law_options(compare)
    _add_simulator_options(compare)
    add_options(
        compare,
        Field("output", Path("compare.png"), "picture"),
        Field("mass_error", 0.0, "how much heavier the simulated links are than in the laws' model", unit="%",
              minimum=-99.0, maximum=1e4),
        PERIOD,
        STEP,
        POSITION_NOISE.renamed("position_noise", default=0.0),
        VELOCITY_NOISE.renamed("velocity_noise", default=0.0),
        SEED.renamed("seed", default=None, description="seed of the noise; none: 0"),
    )
    compare.add_argument("--signal", nargs="+", default=[], metavar="NAME=VALUE", help="scripted input of the laws "
                         "that declare it: numbers with commas between them, or a CSV file of times and values")
    compare.add_argument("--terms", action="store_true", help="print the terms of the efforts, such as feedback and "
                         "gravity, too")
    compare.add_argument("--per-joint", action="store_true", help="print the error of each joint, too")
    compare.set_defaults(run=run_compare)


class _StoreGiven(_StoreAction):
    """Stores a value, and records in `given` that it was given."""

    def __call__(self, parser: ArgumentParser, namespace: Namespace, values: Any, option: str | None = None) -> None:
        super().__call__(parser, namespace, values, option)
        namespace.given = (*namespace.given, self.dest)


def _add_simulator_options(parser: ArgumentParser) -> None:
    add_law_ignores_option(parser)
    parser.add_argument("--world", metavar="FILE", help="YAML file of surfaces that the robot can touch, or its "
                        "name in config/")
    parser.add_argument("--driver", metavar="NAME", help="driver of the arm, such as ur or franka, or its file "
                        "(default: one that passes efforts on)")
    parser.add_argument("--engine", choices=ENGINES, default=ENGINES[0],
                        help="simulator of the bodies; mujoco needs pip install mujoco (default: %(default)s)")


def run_tune(options: Namespace) -> int:
    """Search gains, print and draw them, and write them into a file."""
    require("cmaes")
    from robodyn_ros.commands.tune import tune

    return tune(options)


def run_compare(options: Namespace) -> int:
    """Compare control laws, print and draw the results."""
    if options.seed is not None and not options.position_noise and not options.velocity_noise:
        raise InputError("compare: --seed has no effect without --position-noise or --velocity-noise")
    options.seed = options.seed or 0
    from robodyn_ros.commands.compare import compare_robot

    return compare_robot(given_robot(options), options)
