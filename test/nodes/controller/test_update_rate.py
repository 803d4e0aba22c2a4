# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""A law with a slow part in the node: updates at the declared rate, held between them."""

import numpy as np
import pytest
from controller_rig import Rig
from ros_process import RosTest

pytestmark = pytest.mark.ros


def test_a_slow_part_is_updated_at_its_rate():
    settings = {"hardware": {"update_rate": 200}, "controller": {"state_publish_rate": 200.0}}
    with RosTest() as ros, Rig(ros, "planar_2r", "/planner", **settings) as rig:
        rig.hold_at("computed_torque", [0.3, -0.9])
        told = rig.refuse(controller="plugins_for_test:PlansTooOften")
        assert "plan: PlansTooOften asks for 5000 Hz, more than the controller's rate, 200 Hz" in told
        assert rig.next().controller == "computed_torque"
        rig.set(controller="plugins_for_test:Planner")

        def planned():
            return [state for state in rig.states if state.controller.endswith("Planner")]

        ros.wait_for(lambda: len({state.memory[1] for state in planned()}) > 10, "ten updates")
        assert planned()[-1].memory_names == ["since", "time"] and not planned()[-1].uncompiled_reason
        since, times = np.array([state.memory for state in planned()]).T
        gaps = np.diff(np.unique(times)) / 0.02        # a state may be missing: gaps are whole numbers of periods
        np.testing.assert_allclose(gaps, np.round(gaps), atol=1e-6)
        assert gaps.min() > 0.5 and np.median(gaps) == pytest.approx(1.0)
        assert set(np.round(since / 0.005).astype(int)) == {0, 1, 2, 3}  # ticks since the update
