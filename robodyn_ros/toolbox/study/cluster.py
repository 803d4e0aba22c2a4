# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""An existing cluster of Dask distributed, whose workers compute samples."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property

from robodyn_ros.description.model import Array
from robodyn_ros.simulation.rollout import ClosedLoop
from robodyn_ros.simulation.scenario import Scenario
from robodyn_ros.simulation.score import Score, joined
from robodyn_ros.toolbox.study.block import Block, BlockSize, sample_count
from robodyn_ros.toolbox.study.cluster_connection import ClusterConnection
from robodyn_ros.toolbox.study.cluster_run import ClusterRun
from robodyn_ros.toolbox.study.loop_description import LoopDescription


class Cluster(ClusterConnection):
    """A connection to a Dask scheduler, whose workers compute samples; see `ClusterConnection` for its arguments."""

    @cached_property
    def _sizes(self) -> dict[str, BlockSize]:
        """What is known of the times of each loop, by its digest."""
        return {}

    def blocks(self, description: LoopDescription, arrays: Mapping[str, Array],
               gaps: Iterable[tuple[int, int]]) -> Iterator[Block]:
        """Compute samples on the workers, and yield their blocks in the order of the samples.

        Args:
            description: The closed loop.
            arrays: A row for each sample.
            gaps: Begin and end of the samples to compute, in their order.

        Raises:
            ClusterError: No scheduler or no worker came back in time, or samples end their workers again and again.
            RobodynError: As for `LoopDescription.scores`. Before any error, all blocks that are computed are yielded.
        """
        size = self._sizes.setdefault(description.digest, BlockSize())
        return ClusterRun(self, description, arrays, gaps, size).blocks()

    def scores(self, loop: ClosedLoop, scenario: Scenario, arrays: Mapping[str, Array]) -> Score:
        """Compute samples of a closed loop on the workers, for ``client=`` of `ClosedLoop.scores`.

        Args:
            loop: The loop.
            scenario: The task of all samples.
            arrays: A row for each sample, see `LoopDescription.scores`.

        Raises:
            InputError: The workers could not make the loop, see `LoopDescription.from_loop`; or the arrays do not fit.
            PluginError: The controller fails.
            ClusterError: As for `blocks`.
        """
        blocks = self.blocks(LoopDescription.from_loop(loop, scenario), arrays, [(0, sample_count(arrays))])
        return joined(block.score for block in blocks)
