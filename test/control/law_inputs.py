# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Random arguments of any law, and the law as it is written, without compilation."""

import numpy as np
from scipy.spatial.transform import Rotation

from robodyn_ros.control import ForceReference, JointReference, State, TipReference
from robodyn_ros.control.contract.compiled_law import call_law
from robodyn_ros.control.references.reference import SOURCES

PROGRAMS = ("mpc", "task_priority")
"""Laws that solve programs, whose compilation takes seconds for an arm; they run on planar_2r unless tests are long."""


def random_state(robot, seed=0, wrench=True):
    rng = np.random.default_rng(seed)
    lower, upper = np.maximum(robot.model.position_lower, -2.0), np.minimum(robot.model.position_upper, 2.0)
    state = State(0.3, 0.002, rng.uniform(lower, upper), rng.normal(size=robot.n))
    return state._replace(wrench_tip=rng.normal(size=6)) if wrench else state


def random_reference(robot, kind, state, seed=0):
    """Near a state, in motion."""
    rng = np.random.default_rng(1000 + seed)
    if kind is None:
        return None
    if kind is JointReference:
        return JointReference(state.q + rng.normal(size=robot.n), *rng.normal(size=(2, robot.n)))
    held = SOURCES[TipReference](robot, state.q).sample(0.0)
    turn = Rotation.from_rotvec(rng.normal(size=3)) * Rotation.from_quat(held.quaternion)
    pose = (held.position + 0.3 * rng.normal(size=3), turn.as_quat(), *rng.normal(size=(2, 6)))
    joints = state.q + rng.normal(size=robot.n), *rng.normal(size=(2, robot.n))
    return TipReference(*pose, *joints) if kind is TipReference else ForceReference(*pose, *joints, rng.normal(size=6))


def as_written(controller, state, reference, memory):
    """Efforts and memory of the law in plain Python with the textbook's dynamics."""
    dynamics = controller.robot.dynamics(False, "textbook")
    return call_law(controller, dynamics, controller.parameters, state, reference, memory)


def frictionless(robots):
    """Names of the robots without dry friction, which keeps a joint from where a law without an integral moves it."""
    return [name for name, robot in robots.items() if not robot.model.friction.any()]
