# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Every law once in closed loop with MuJoCo, a simulator that shares no code with the law's model."""

from dataclasses import replace

import numpy as np
import pytest
from shipped import few

from robodyn_ros import Robot
from robodyn_ros.control.contract.controller import JointReference
from robodyn_ros.control.plugins.registry import law_names, load_controller, make_controller
from robodyn_ros.control.references.tip_reference import TipReference
from robodyn_ros.description.resources import robot_file
from robodyn_ros.simulation.plant import Plant
from robodyn_ros.simulation.rollout import ClosedLoop
from robodyn_ros.simulation.standard_motion import excursion, tip_references

pytest.importorskip("mujoco", reason="MuJoCo is not installed: pip install mujoco")
from robodyn_ros.simulation.mujoco_plant import MujocoPlant  # noqa: E402  # after the skip

OURS = [name for name in law_names() if load_controller(name).__module__.startswith("robodyn_ros.")]
BENT = [0.3, -0.9]


@pytest.fixture(scope="module")
def robot():
    return Robot.from_urdf(robot_file("planar_2r"))


@pytest.fixture(scope="module")
def engines(robot):
    """Ours, MuJoCo with the same method and step, and MuJoCo with another method and shorter steps."""
    return (Plant(robot), MujocoPlant(robot), MujocoPlant(robot, 5e-4, integrator="runge_kutta"))


@pytest.mark.parametrize("name", few(OURS, ("adaptive", "operational_space")))
def test_law_tracks_on_mujoco_as_on_our_plant(robot, engines, name):
    law = make_controller(name, robot)
    motion, results = excursion(robot), []
    for engine in engines:
        loop = ClosedLoop(law, engine=engine)
        follows_joints = law.follows is JointReference
        start = {} if follows_joints else {"q": BENT, "v": [0.5, -0.5]}  # a start that every law moves on from
        scenario = loop.scenario([motion] if follows_joints else [], 0.5, **start)
        if law.follows is TipReference:
            references = tip_references(robot, motion, scenario.clocks[:, 0])
            start = robot.dynamics().forward_kinematics(np.array(BENT))[:3, 3]
            scenario = replace(scenario, references=references._replace(
                position=references.position - references.position[0] + start))
        results.append(loop.run(scenario))
        assert np.ptp(results[-1].q, axis=0).max() > 0.01
    ours, same, other = results
    np.testing.assert_allclose(same.q, ours.q, atol=1e-7)
    np.testing.assert_allclose(same.effort, ours.effort, atol=1e-4)
    # Our method displaces the motion by half of its step in time, 0.5 ms.
    step_length = 1e-3 * np.abs(ours.v).max()
    np.testing.assert_allclose(other.q, ours.q, atol=step_length + 0.01 * np.ptp(ours.q, axis=0).max())
    np.testing.assert_allclose(np.abs(other.error).max(initial=0.0), np.abs(ours.error).max(initial=0.0), rtol=0.1,
                               atol=1e-3)
