# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""The law `policy` in the node: put in force by a parameter; its file is named at the start, by nobody on the graph."""

import numpy as np
import pytest
import yaml

pytest.importorskip("onnx", reason="onnx is not installed: pip install onnx")
from controller_rig import Rig, trajectory  # noqa: E402  # after the skip
from onnx_models import dense, written  # noqa: E402
from ros_process import RosTest  # noqa: E402

pytestmark = pytest.mark.ros


@pytest.fixture
def file(tmp_path):
    """Small targets beside the default pose, 50 decisions in a second, which interpolate."""
    written(tmp_path, dense(np.random.default_rng(0), [8, 8, 2], "Tanh"))
    path = tmp_path / "policy.yaml"
    path.write_text(yaml.safe_dump({"network": "network.onnx", "observations": ["q", "v", "error_q", "last_action"],
                                    "rate": 50.0, "between": "interpolate",
                                    "action": {"scale": 0.1, "default": [0.3, -0.9], "gravity": True}}))
    return path


def test_it_is_put_in_force_by_a_parameter(file):
    settings = {"policy.file": str(file), "update_rate": 500}  # the hardware is slower
    with RosTest() as ros, Rig(ros, "planar_2r", "/policy", controller=settings) as rig:
        rig.hold_at("computed_torque", [0.3, -0.9])
        rig.set(controller="policy")
        swapped = rig.next("the policy", lambda state: state.controller == "policy")
        assert np.isfinite(swapped.output).all()
        rig.publisher.publish(trajectory([0.5], [[0.4, -0.8]]))
        moved = rig.next("the goal that it observes", lambda state: np.allclose(state.reference.positions, [0.4, -0.8]))
        assert moved.controller == "policy"
        np.testing.assert_allclose(moved.feedback.positions, [0.3, -0.9], atol=0.2)
        for value in ("/etc/passwd", ""):
            assert "policy.file': fixed from the start of the node" in rig.refuse(**{"policy.file": value})
        rig.set(controller="computed_torque")
        assert "policy.file': fixed from the start of the node" in rig.refuse(**{"policy.file": "/etc/passwd"})
        assert rig.get("policy.file") == [str(file)]


def test_without_a_file_it_is_refused_and_nothing_changes():
    with RosTest() as ros, Rig(ros, "planar_2r", "/nameless") as rig:
        assert "policy.file: expected the YAML file of a policy, received none" in rig.refuse(controller="policy")
        assert rig.next().controller == "computed_torque"
