# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""The safety filter: limits hold under laws that would break them, and efforts stay as they are where none is near."""

import pickle

import numpy as np
import pytest

from robodyn_ros import InputError, PluginError, Robot, rollout, rollout_scores
from robodyn_ros.control import Controller, JointReference, State, qp
from robodyn_ros.control.registry import load_controller, make_controller, prefix
from robodyn_ros.control.safety_filter import approach, filtered
from robodyn_ros.control.trajectories.joint_trajectory import JointTrajectory, Points
from robodyn_ros.export.c_law import law_source
from robodyn_ros.simulation.excursion import excursion
from robodyn_ros.simulation.rollout import ClosedLoop
from robodyn_ros.study.loop_description import LoopDescription

Filtered = load_controller("computed_torque+safety")
ROBOT = Robot.named("arm6")
ROOM = 0.1


class Python(Controller):
    def update(self, state, reference):
        return np.zeros(self.robot.n)


def tip(motion):
    """Positions and speeds of the tip, at every fifth tick."""
    dynamics = ROBOT.dynamics()
    places = np.array([dynamics.forward_kinematics(q)[:3, 3] for q in motion.q[::5]])
    speeds = [np.linalg.norm(dynamics.jacobian(q)[:3] @ v) for q, v in zip(motion.q[::5], motion.v[::5], strict=True)]
    return places, np.array(speeds)


def with_filter(**own):
    return rollout(ROBOT, Filtered(ROBOT, Filtered.Parameters(**own)), excursion(ROBOT))


@pytest.fixture(scope="module")
def free():
    return rollout(ROBOT, "computed_torque", excursion(ROBOT))


@pytest.mark.parametrize("law", ["computed_torque", pytest.param("pid", marks=pytest.mark.long)])
def test_a_motion_far_from_all_limits_is_the_same_bit_for_bit(law):
    plain, safe = (rollout(ROBOT, name, excursion(ROBOT), 0.5) for name in (law, f"{law}+safety"))
    assert not safe.note
    np.testing.assert_array_equal(safe.q, plain.q)
    np.testing.assert_array_equal(safe.effort, plain.effort)


def test_positions_hold_in_loops_with_a_wrong_model_and_a_law_that_overshoots():
    """The reference ends at the declared limit; `overshoot` is how far a joint went beyond it."""
    n, links, count = ROBOT.n, len(ROBOT.model.joints), 100
    rng, rest = np.random.default_rng(0), np.zeros(ROBOT.n)
    limit = ROBOT.position_upper - ROOM
    motion = JointTrajectory(JointReference(limit, rest, rest), 0.0, Points.from_arrays([1.0], [limit]))
    samples = {"start.q": limit - rng.uniform(0.1, 1.0, (count, n)), "payload.mass": rng.uniform(0.0, 0.2, count),
               "link.mass_scale": rng.uniform(0.8, 1.2, (count, links)),
               "friction.viscous": rng.uniform(0.0, 0.1, (count, n))}
    hasty = {"p": np.full(n, 400.0), "d": np.full(n, 5.0)}
    plain = load_controller("computed_torque").Parameters(**hasty)
    safe = Filtered.Parameters(**hasty, safety_margin=np.full(n, ROOM + 0.05))
    over = [rollout_scores(ROBOT, name, samples, motion, 1.0, parameters=given).overshoot
            for name, given in (("computed_torque", plain), ("computed_torque+safety", safe))]
    assert over[0].max(axis=0).min() > 0.05
    assert over[1].max() == 0.0


def test_velocities_hold(free):
    motion = excursion(ROBOT)
    peak = (np.abs(free.v) / ROBOT.velocity_limit).max()
    safe = rollout(ROBOT, Filtered(ROBOT, Filtered.Parameters(safety_speed=0.5 * peak)), motion)
    assert (np.abs(safe.v) / ROBOT.velocity_limit).max() < 0.505 * peak


def test_efforts_hold():
    """The law asks for more than the limits; the filter gives no more."""
    law = Filtered(ROBOT)
    q = ROBOT.position_lower + 0.5 * (ROBOT.position_upper - ROBOT.position_lower)
    state = State(0.0, 0.002, q, np.zeros(6))
    effort = law.update(state, JointReference(q + 2.0, np.zeros(6), np.zeros(6)))
    assert (np.abs(effort) <= ROBOT.effort_limit).all()
    assert (np.abs(make_controller("computed_torque", ROBOT).update(state, JointReference(q + 2.0, *np.zeros((2, 6)))))
            > ROBOT.effort_limit).any()


@pytest.mark.long
def test_the_tip_stays_before_planes_in_the_box_and_out_of_spheres(free):
    places, _ = tip(free)
    low, high = places.min(axis=0), places.max(axis=0)
    cut = low[1] + 0.3 * (high[1] - low[1])
    box, plane = (Filtered(ROBOT, Filtered.Parameters(**own)).parameters.safety_half_spaces
                  for own in ({"safety_box": f"-2 {cut} -2 2 2 2"}, {"safety_planes": f"0 2 0 {2.0 * cut}"}))
    assert len(box) == 6
    assert plane[0] in box
    found, _ = tip(with_filter(safety_planes=f"0 2 0 {2.0 * cut}"))
    assert cut < found[:, 1].min() < cut + 0.05            # the law alone went 0.2 m further
    middle = places[np.argmax(np.linalg.norm(places - places[0], axis=1))]
    found, _ = tip(with_filter(safety_spheres=f"{' '.join(map(str, middle))} 0.1; 5 5 5 0.1"))
    assert 0.1 < np.linalg.norm(found - middle, axis=1).min() < 0.15


@pytest.mark.long
def test_the_tip_keeps_its_speed(free):
    most = 0.4 * tip(free)[1].max()
    assert tip(with_filter(safety_tip_speed=most))[1].max() < most


def test_the_speed_of_approach_is_continuous_with_its_slope():
    distances = np.linspace(-0.1, 1.0, 2001)
    speed, slope = approach(distances, 20.0, 8.0)
    np.testing.assert_allclose(np.gradient(speed, distances)[1:-1], slope[1:-1], atol=0.2)
    far = distances > 0.1
    np.testing.assert_allclose(speed[far] ** 2 / (2.0 * 8.0), distances[far] - 0.01, atol=1e-12)


def test_memory_tells_which_limit_acts_and_by_how_much():
    law = filtered(load_controller("pid"))(ROBOT)
    names = law.memory_names()
    assert len(set(names)) == len(names)
    for room, status in ((0.06, qp.OPTIMAL), (-0.05, qp.INFEASIBLE)):  # of 0.05; the second needs more than the efforts
        q = ROBOT.position_upper - room
        law.update(State(0.0, 0.002, q, np.zeros(6)), JointReference(q + 0.5, *np.zeros((2, 6))))
        told = dict(zip(names, law.memory_numbers, strict=True))
        assert told["safety.status"] == status
        assert (told["safety.violation"] > 1.0) == (status == qp.INFEASIBLE)
        assert any(told[f"safety.{joint}.motion"] > 0.0 for joint in ROBOT.joint_names)
        assert any(told[f"safety.{joint}.correction"] < 0.0 for joint in ROBOT.joint_names)
    assert not law.uncompiled_reason


@pytest.mark.parametrize("own, text", [
    ({"safety_margin": np.full(6, 7.0)}, "the margins leave no room"),
    ({"safety_box": "0 0 0 1 1"}, "safety_box: expected 'x_min"),
    ({"safety_box": "0 0 0 1 -1 1"}, "a minimum below the maximum along y, received 0 and -1"),
    ({"safety_planes": "0 0 0 1"}, "a normal other than 0"), ({"safety_planes": "a b c d"}, "safety_planes: expected"),
    ({"safety_spheres": "0 0 0 -1"}, "radii above 0"), ({"safety_spheres": "0 0 nan 1"}, "safety_spheres: expected")])
def test_limits_that_make_no_sense_are_one_line(own, text):
    with pytest.raises(InputError, match=text) as caught:
        Filtered(ROBOT, Filtered.Parameters(**own))
    assert "\n" not in str(caught.value)


def test_a_start_beyond_a_limit_is_refused():
    law = Filtered(ROBOT, Filtered.Parameters(safety_planes="0 0 1 5"))
    with pytest.raises(InputError, match="is 4.* m beyond the plane"):
        law.activate(State(0.0, 0.0, np.zeros(6), np.zeros(6)))


def test_only_laws_have_a_filter_and_names_are_told():
    with pytest.raises(PluginError, match="expected a Law for the safety filter"):
        load_controller(f"{__name__}:Python+safety")
    with pytest.raises(PluginError, match="unknown controller 'computed_torqe'"):
        load_controller("computed_torqe+safety")
    assert load_controller("computed_torque+safety") is Filtered
    assert prefix("computed_torque+safety") == "computed_torque_safety"


def test_it_is_exported_described_and_pickled():
    law = Filtered(ROBOT)
    assert "qp_solve_program" in law_source(law, "safe").source
    loop = ClosedLoop(law, None, 0.002)
    description = LoopDescription.from_loop(loop, loop.scenario([excursion(ROBOT)], 0.1))
    assert description.controller.endswith("ComputedTorque+safety")
    again = pickle.loads(pickle.dumps(law.parameters))
    assert type(again) is Filtered.Parameters
    np.testing.assert_array_equal(again.safety_braking, law.parameters.safety_braking)
