# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""``--scheduler`` and ``--threads``: whether a cluster or this machine computes rollouts."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from robodyn_ros.base.errors import InputError
from robodyn_ros.base.fields import Field
from robodyn_ros.base.timing import usable_processors
from robodyn_ros.commands.options import add_options


def add_machine_options(parser: ArgumentParser) -> None:
    """Add ``--threads`` and ``--scheduler``."""
    add_options(parser, Field("threads", None, "Number of threads of this machine (default: "
                              f"{usable_processors()}, its processors)", kind=int, minimum=1, maximum=10_000))
    parser.add_argument("--scheduler", metavar="ADDRESS", help="compute on the workers of a Dask scheduler, "
                        "tcp://HOST:PORT or tls://HOST:PORT; needs pip install distributed (default: on this machine)")


def threads_of(command: str, options: Namespace) -> int:
    """Return the number of threads of this machine that compute rollouts.

    Args:
        command: Name of the command, for messages.
        options: Including those of `add_machine_options`.

    Raises:
        InputError: A cluster computes.
    """
    if options.threads is None:
        return usable_processors()
    if options.scheduler is not None:
        raise InputError(f"{command}: --threads has no effect with --scheduler, whose workers have their own; leave "
                         "one of them out")
    return int(options.threads)


@contextmanager
def machine_options(command: str, options: Namespace) -> Iterator[dict[str, Any]]:
    """Connect to the cluster, if one is named, and print its workers.

    Args:
        command: Name of the command, for messages.
        options: Including those of `add_machine_options`.

    Yields:
        Arguments ``threads`` and ``client`` of `map_blocks`.

    Raises:
        InputError: As for `threads_of`.
        ClusterError: The cluster cannot be used.
    """
    threads = threads_of(command, options)
    if options.scheduler is None:
        yield {"threads": threads, "client": None}
        return
    from robodyn_ros.toolbox.study.cluster import Cluster

    with Cluster(options.scheduler) as client:
        print(f"computed on {client}", flush=True)
        yield {"threads": threads, "client": client}
