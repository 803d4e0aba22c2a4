# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Rollouts against the loop of controller and plant, tick by tick, and against themselves in other forms."""

import warnings
from dataclasses import replace

import numpy as np
import pytest
from law_inputs import PROGRAMS
from recorded_loop import RecordedLoop
from scipy.spatial.transform import Rotation
from shipped import few

from robodyn_ros import InputError, Robot, rollout, rollout_scores
from robodyn_ros.actuation.actuators import Actuators
from robodyn_ros.actuation.dc_motor import DCMotor
from robodyn_ros.actuation.drive_limits import DriveLimits
from robodyn_ros.actuation.drive_losses import DriveLosses
from robodyn_ros.actuation.gear_train import GearTrain
from robodyn_ros.actuation.joint_actuators import JointActuators
from robodyn_ros.base.errors import PluginError, SimulationError
from robodyn_ros.compile import equal
from robodyn_ros.control import Controller, JointReference, Law, State, Terms, TipReference
from robodyn_ros.control.laws.operational_space import OperationalSpace
from robodyn_ros.control.laws.pd import PDParameters
from robodyn_ros.control.plugins.plugin import Plugin
from robodyn_ros.control.plugins.registry import law_names, make_controller
from robodyn_ros.control.references.joint_trajectory import JointTrajectory, Points
from robodyn_ros.control.references.reference import SOURCES
from robodyn_ros.control.references.tip_trajectory import TipTrajectory
from robodyn_ros.control.runtime.measurement import Measurement
from robodyn_ros.control.runtime.requests import Follow
from robodyn_ros.description.model import Limits
from robodyn_ros.description.resources import robot_file
from robodyn_ros.simulation.commands import Drive
from robodyn_ros.simulation.plant import Plant, default_position
from robodyn_ros.simulation.plant_model import PlantModel
from robodyn_ros.simulation.rollout import ClosedLoop

KINDS = ("adaptive", "computed_torque", "force", "gravity_compensation", "iterative_learning", "task_priority")
"""Laws of each kind of reference, with memory and without, and one that solves programs."""


def robot_called(name):
    return Robot.from_urdf(robot_file(name))


def motion(robot, end=0.6, amplitude=0.3, start_time=0.1):
    """There and back, out of step with each other."""
    q, rest = default_position(robot), np.zeros(robot.n)
    swing = amplitude * np.where(np.arange(robot.n) % 2, -1.0, 1.0)
    points = Points.from_arrays([0.4 * end, 0.7 * end, end], [q + swing, q - 0.5 * swing, q])
    return JointTrajectory(JointReference(q, rest, rest), start_time, points)


def rubbing(robot, friction):
    return Robot(replace(robot.model, joints=tuple(replace(j, friction=friction) for j in robot.model.joints)))


def tick_by_tick(robot, law, trajectory, ticks, period, step, **options):
    """The loop of the nodes in lockstep: the plant's state to the control loop, its effort to the plant."""
    plant = Plant(robot, step, **options)
    safe = Plugin("damping", make_controller("damping", robot))
    loop = RecordedLoop(robot, Plugin("law", law), safe, 1.0)
    nanoseconds = round(period * 1e9)
    nothing, rows = np.zeros(robot.n), []
    for k in range(ticks):
        if k == 0:
            loop.tick(Measurement(0, plant.q, plant.v))
            loop.request(Follow(trajectory, on_arrival=False))
        tick = loop.tick(Measurement(k * nanoseconds, plant.q, plant.v))
        rows.append((plant.q, plant.v, tick.effort, tick.reference.q))
        plant.advance(Drive(tick.effort, nothing, nothing), round(period / step))
    assert not loop.events
    return plant, [np.array(column) for column in zip(*rows, strict=True)]


@pytest.mark.parametrize("name", ["pd", "pid", "computed_torque"])
def test_what_the_graph_does_in_lockstep(name):
    robot = rubbing(robot_called("arm6"), 0.4)
    trajectory = motion(robot)
    result = rollout(robot.with_timing(0.004), name, trajectory,
                     plant=PlantModel.from_description(robot.model, 0.002))
    plant, (q, v, effort, reference) = tick_by_tick(
        robot, make_controller(name, robot.with_timing(0.004)), trajectory, len(result.time), 0.004, 0.002)
    assert len(result.time) == round(trajectory.end_time / 0.004)
    for ours, theirs in ((result.q, q), (result.v, v), (result.effort, effort), (result.score.q, plant.q),
                         (result.score.v, plant.v)):
        np.testing.assert_allclose(ours, theirs, rtol=1e-9, atol=1e-9)
    np.testing.assert_array_equal(result.reference.q, reference)


def test_laws_compute_with_the_textbooks_formulas_too():
    robot = robot_called("planar_2r")
    book = robot.with_formulas("textbook")
    law = make_controller("computed_torque", book)
    assert "textbook" not in ClosedLoop(law).note and law.robot.formulas == "textbook"
    ours, theirs = (rollout(each, "computed_torque", motion(robot)) for each in (robot, book))
    assert not np.array_equal(ours.effort, theirs.effort)
    np.testing.assert_allclose(ours.q, theirs.q, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(ours.effort, theirs.effort, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("name", few(law_names(), KINDS))
def test_every_law_that_is_installed(name):
    robot = robot_called("planar_2r" if name in PROGRAMS else "arm6")
    law, q, v = make_controller(name, robot), default_position(robot) + 0.4, np.full(robot.n, 0.2)
    rest = np.zeros(robot.n)
    loop = ClosedLoop(law)
    scenario = loop.scenario([], 0.06, q=q, v=v)
    score = loop.run(scenario).score
    plant = Plant(robot)
    plant.set_state(q, v)
    law.activate(State(0.0, 0.0, q, v))
    for k, (time, period) in enumerate(scenario.clocks):
        reference = None if law.follows is None else law.follows(*(field[k] for field in scenario.references))
        effort = law.update(State(time, period, plant.q, plant.v), reference)
        plant.advance(Drive(np.clip(effort, -robot.model.effort_limit, robot.model.effort_limit), rest, rest), 2)
    np.testing.assert_allclose(score.q, plant.q, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(score.v, plant.v, rtol=1e-9, atol=1e-9)


def test_with_motors_and_limits():
    robot = robot_called("arm7")
    model = replace(robot.model, joints=tuple(
        replace(joint, limits=replace(joint.limits, effort=15.0)) for joint in robot.model.joints))
    robot = Robot(model)
    motors = DCMotor(np.full(7, 0.1), np.full(7, 1.2), np.full(7, 2e-5), inductance=np.full(7, 1e-3))
    actuators = JointActuators(Actuators(motors, GearTrain(np.full(7, 50.0))), limits=DriveLimits(current_limit=4.0),
                               losses=DriveLosses(efficiency=0.9))
    trajectory = motion(robot, amplitude=0.8)
    result = rollout(robot, "pd", trajectory,
                     plant=PlantModel.from_description(robot.model, actuators=actuators))
    law = make_controller("pd", robot.with_actuators(actuators))
    _, (q, _, effort, _) = tick_by_tick(robot, law, trajectory, len(result.time), 0.002, 0.001, actuators=actuators)
    np.testing.assert_allclose(result.q, q, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(result.effort, effort, rtol=1e-9, atol=1e-9)
    assert (np.abs(result.effort) <= 15.0).all()
    assert (np.abs(result.effort) == 15.0).any()


def test_compiled_equals_the_textbook_over_a_second():
    robot = rubbing(robot_called("planar_2r"), 0.3)
    loop = ClosedLoop(make_controller("pid", robot), PlantModel.from_description(robot.model, 0.002), 0.004)
    scenario = loop.scenario([motion(robot, end=0.9, amplitude=1.0)], 1.0, velocity_noise=0.01)
    compiled, textbook = loop.run(scenario), loop.run(scenario, compiled=False)
    for name in ("q", "v", "effort", "error"):
        np.testing.assert_allclose(getattr(compiled, name), getattr(textbook, name), rtol=1e-9, atol=1e-9, err_msg=name)
    for ours, theirs in zip(compiled.score, textbook.score, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-9, atol=1e-9)


@pytest.fixture(scope="module")
def arm():
    robot = rubbing(robot_called("arm6"), 0.2)
    loop = ClosedLoop(make_controller("computed_torque", robot))
    return loop, loop.scenario([motion(robot, end=0.3, amplitude=0.03)])


def varied(loop, count, seed=1):
    """Parameters with other gains."""
    rng = np.random.default_rng(seed)
    own = loop.controller.parameters
    return [replace(own, p=own.p * rng.uniform(0.3, 2.0, 6), d=own.d * rng.uniform(0.5, 1.2, 6)) for _ in range(count)]


def test_many_robots_do_what_each_does_alone(arm):
    loop, scenario = arm
    parameters = varied(loop, 11)
    together = loop.scores(scenario, parameters)
    assert together.rms_error.shape == (11, 6)
    for i, one in enumerate(parameters):
        alone = loop.run(scenario, one).score
        for name, ours in together._asdict().items():
            np.testing.assert_allclose(ours[i], getattr(alone, name), rtol=1e-8, atol=1e-10, err_msg=name)


def test_a_batch_of_one_is_the_first_of_many(arm):
    loop, scenario = arm
    parameters = varied(loop, 2)
    starts = scenario.q + np.random.default_rng(3).uniform(-0.1, 0.1, (2, 6))
    for given in ({"parameters": parameters}, {"q": starts}, {"parameters": parameters, "q": starts}):
        together = loop.scores(scenario, **given)
        alone = loop.scores(scenario, **{name: values[:1] for name, values in given.items()})
        for name, ours in alone._asdict().items():
            assert ours.shape == (1, 6)
            np.testing.assert_allclose(ours, getattr(together, name)[:1], rtol=1e-8, atol=1e-10, err_msg=name)


def test_same_inputs_give_the_same_bits(arm):
    loop, scenario = arm
    parameters = varied(loop, 21)
    numbers = np.array([loop.packed(one) for one in parameters])
    first = loop.scores(scenario, parameters)
    for again in (loop.scores(scenario, parameters), loop.scores(scenario, numbers, threads=2)):
        for ours, theirs in zip(first, again, strict=True):
            np.testing.assert_array_equal(ours, theirs)
    np.testing.assert_array_equal(loop.run(scenario).q, loop.run(scenario).q)


def test_different_starts(arm):
    loop, scenario = arm
    starts = scenario.q + np.random.default_rng(2).uniform(-0.1, 0.1, (5, 6))
    together = loop.scores(scenario, q=starts)
    for i, start in enumerate(starts):
        np.testing.assert_allclose(together.q[i], loop.run(replace(scenario, q=start)).score.q, atol=1e-10)


def test_score_is_that_of_the_record(arm):
    loop, scenario = arm
    result = loop.run(scenario)
    error = result.reference.q - result.q
    np.testing.assert_array_equal(result.error, error)
    np.testing.assert_allclose(result.score.rms_error, np.sqrt(np.mean(error**2, axis=0)))
    np.testing.assert_array_equal(result.score.worst_error, np.abs(error).max(axis=0))
    np.testing.assert_allclose(result.score.rms_effort, np.sqrt(np.mean(result.effort**2, axis=0)))
    np.testing.assert_array_equal(result.score.worst_effort, np.abs(result.effort).max(axis=0))
    changes = np.diff(result.effort, axis=0)
    np.testing.assert_allclose(result.score.rms_effort_change, np.sqrt(np.mean(changes**2, axis=0)))
    np.testing.assert_array_equal(result.score.overshoot, np.maximum(-np.sign(error[0]) * error, 0.0).max(axis=0))
    saturated = np.abs(result.effort) >= loop.robot.model.effort_limit
    np.testing.assert_array_equal(result.score.saturated, saturated.mean(axis=0))
    assert "ComputedTorque" in result.tracking().table()


def test_overshoot_and_saturation_of_a_start_beside_the_reference(arm):
    """Hardly damped joints swing over, and the offset asks for more than the limits."""
    loop, scenario = arm
    loose = replace(loop.controller.parameters, d=np.full(6, 1.0))
    result = loop.run(replace(scenario, q=scenario.q + 0.1), loose)
    error = result.reference.q - result.q
    assert (error[0] < -0.05).all()
    np.testing.assert_array_equal(result.score.overshoot, np.maximum(error.max(axis=0), 0.0))
    assert (result.score.overshoot > 0.02).any()
    np.testing.assert_array_equal(result.score.saturated,
                                  (np.abs(result.effort) >= loop.robot.model.effort_limit).mean(axis=0))
    assert (result.score.saturated > 0.1).any()


def test_the_law_sees_noise_and_the_score_does_not(arm):
    loop, scenario = arm
    noisy = [loop.scenario([motion(loop.robot, end=0.3, amplitude=0.03)], position_noise=1e-4, velocity_noise=0.02,
                           seed=seed) for seed in (1, 1, 2)]
    assert np.std(noisy[0].noises[:, 0]) == pytest.approx(1e-4, rel=0.1)
    assert np.std(noisy[0].noises[:, 1]) == pytest.approx(0.02, rel=0.1)
    one, same, other = (loop.run(each) for each in noisy)
    np.testing.assert_array_equal(one.q, same.q)
    assert not np.array_equal(one.q, other.q)
    np.testing.assert_array_equal(one.error, one.reference.q - one.q)
    q, v = scenario.q + noisy[0].noises[0, 0], scenario.v + noisy[0].noises[0, 1]
    reference = JointReference(*(array[0] for array in scenario.references))
    law, state = loop.controller, State(0.0, 0.0, q, v)
    effort = law.law(law.dynamics, law.parameters, state, reference)
    np.testing.assert_allclose(one.effort[0], effort, rtol=1e-10)


def test_stops_hold():
    robot = robot_called("arm6")
    loop, upper = ClosedLoop(make_controller("pd", robot)), robot.model.position_upper
    scenario = loop.scenario([], 0.3, q=upper - 0.01, v=np.full(6, 2.0))
    scenario = replace(scenario, references=scenario.references._replace(q=scenario.references.q + 0.5))
    result = loop.run(scenario)
    assert (result.q <= upper + 1e-12).all()
    np.testing.assert_allclose(result.score.q, upper, atol=0.02)


def test_a_law_without_reference_needs_a_duration():
    robot = robot_called("scara")
    result = rollout(robot, "damping", duration=0.2, v=np.full(robot.n, 0.1))
    assert result.reference is None
    assert result.error.shape == (100, 0)
    assert np.abs(result.score.v[:2]).max() < 0.1
    loop = ClosedLoop(make_controller("damping", robot))
    scores = loop.scores(loop.scenario([], 0.2, v=np.full(robot.n, 0.1)), [loop.controller.parameters] * 3)
    assert scores.rms_error.shape == (3, 0)
    np.testing.assert_allclose(scores.v, np.tile(result.score.v, (3, 1)), atol=1e-12)
    with pytest.raises(InputError, match="expected a law that follows a reference"):
        result.tracking()


class Spring(Law):
    """Pulls the tip to a point."""

    follows = TipReference

    @staticmethod
    def law(dynamics, parameters, state, reference):
        """As in `Law`."""
        error = reference.position - dynamics.forward_kinematics(state.q)[:3, 3]
        pull = 400.0 * dynamics.jacobian(state.q)[:3].T @ error
        return dynamics.gravity(state.q) + dynamics.mass_matrix(state.q) @ (pull - 20.0 * state.v)


def test_a_law_that_follows_poses():
    robot = robot_called("arm6")
    loop = ClosedLoop(Spring(robot))
    start = default_position(robot) + 0.2
    scenario = loop.scenario([], 0.4, q=start)
    shifted = scenario.references._replace(position=scenario.references.position + np.array([0.0, 0.02, -0.02]))
    result = loop.run(replace(scenario, references=shifted))
    tip = np.array([robot.dynamics().forward_kinematics(q)[:3, 3] for q in result.q])
    np.testing.assert_allclose(result.error[:, :3], shifted.position - tip, atol=1e-12)
    assert np.linalg.norm(result.error[-1, :3]) < 0.5 * np.linalg.norm(result.error[0, :3])
    assert result.score.rms_error.shape == (6,)
    wanted, turned = (Rotation.from_quat(shifted.quaternion[-1]),
                      Rotation.from_matrix(robot.dynamics().forward_kinematics(result.q[-1])[:3, :3]))
    np.testing.assert_allclose(result.error[-1, 3:], (wanted * turned.inv()).as_rotvec(), atol=1e-3)
    tracking = result.tracking()
    np.testing.assert_allclose(tracking.measured, tip, atol=1e-12)
    assert f"{robot.tip_link} y" in tracking.table()


class Branching(OperationalSpace):
    """The same in Python: it branches on a value."""

    @staticmethod
    def law(dynamics, parameters, state, reference, memory):
        """As in `Law`."""
        assert float(state.q[0]) < 100.0
        return OperationalSpace.law(dynamics, parameters, state, reference, memory)


@pytest.mark.parametrize("law", [OperationalSpace, Branching])
def test_axes_that_a_law_does_not_control_count_no_error(law):
    """The planar arm goes along x and z; how its tip turns follows from that."""
    robot = robot_called("planar_2r")
    loop = ClosedLoop(law(robot))
    scenario = loop.scenario([], 0.2, q=np.array([0.3, 0.6]))
    shifted = scenario.references._replace(position=scenario.references.position + np.array([0.0, 0.0, -0.02]))
    result = loop.run(replace(scenario, references=shifted))
    assert bool(result.note) == (law is Branching)
    worst = np.abs(result.error).max(axis=0)
    assert worst[4] > 0.01
    np.testing.assert_allclose(result.score.worst_error, worst * [1, 0, 1, 0, 0, 0], atol=1e-15)


def test_lines_of_the_tip_for_laws_that_follow_poses_and_wrenches():
    robot = robot_called("arm6")
    q = default_position(robot) + 0.4
    for name in ("resolved_acceleration", "force"):
        loop = ClosedLoop(make_controller(name, robot))
        start = SOURCES[TipReference](robot, q).sample(0.0)
        line = TipTrajectory.line(start, 0.0, 0.2, start.position + np.array([0.0, 0.03, 0.0]))
        scenario = loop.scenario([line], q=q)
        np.testing.assert_allclose(scenario.references.position[-1], line.sample(scenario.clocks[-1, 0]).position)
        result = loop.run(scenario)
        assert np.abs(result.error[:, 1]).max() < 0.005
        with pytest.raises(InputError, match="follows trajectories of TipReference, received one of JointRefer"):
            loop.scenario([motion(robot)])


def test_what_diverges_is_said():
    robot = robot_called("arm6")
    parameters = make_controller("computed_torque", robot).parameters
    wild = replace(parameters, d=np.full(6, 1e9))
    endless = Robot(replace(robot.model, joints=tuple(replace(j, limits=Limits()) for j in robot.model.joints)))
    with pytest.raises(SimulationError, match=r"rollout of 'arm6' under ComputedTorque diverged at about \S+ s; use"):
        rollout(endless, "computed_torque", duration=0.1, parameters=wild, v=np.ones(6))
    loop = ClosedLoop(make_controller("computed_torque", endless))
    scores = loop.scores(loop.scenario([], 0.1, v=np.ones(6)), [loop.controller.parameters, wild])
    assert np.isfinite(scores.rms_error[0]).all()
    assert not np.isfinite(scores.q[1]).all()


class Rooted(Law):
    """Takes a root that is NaN once the first joint has gone below its start."""

    follows = None

    @staticmethod
    def law(dynamics, parameters, state, reference):
        """As in `Law`."""
        return np.sqrt(state.q - 0.1 + np.where(np.arange(len(state.q)) == 1, 0.0, 10.0)) - 10.0


class RootedInPython(Controller):
    """The same, not compiled."""

    follows = None

    def update(self, state, reference):
        """As in `Controller`."""
        with np.errstate(invalid="ignore"):
            return Rooted.law(self.dynamics, self.parameters, state, reference)


@pytest.mark.parametrize("law", [Rooted, RootedInPython])
def test_an_effort_that_is_nan_is_told_as_the_laws(law):
    robot = robot_called("planar_2r")
    loop = ClosedLoop(law(robot))
    scenario = loop.scenario([], 0.5, q=np.array([0.3, 0.2]))
    with pytest.raises(PluginError, match=rf"{law.__name__} answered a finite state with the effort nan for joint "
                                          r"'joint2' at 0.0\d+ s: look for a division by 0"):
        loop.run(scenario)


class Measures(Law):
    """Pushes with the first joint if the wrench on the tip is measured."""

    follows = None

    @staticmethod
    def law(dynamics, parameters, state, reference):
        """As in `Law`."""
        measured = equal(state.wrench_tip[0], state.wrench_tip[0])
        return [measured] + [0.0] * (len(state.q) - 1)


def test_the_wrench_on_the_tip_is_not_measured():
    """As in the nodes, without a sensor: a law must not take it for zero."""
    robot = robot_called("planar_2r")
    assert not rollout(robot, Measures(robot), duration=0.01).effort.any()
    assert Measures(robot).update(State(0.0, 0.0, *np.zeros((2, 2)), np.zeros(6)), None).tolist() == [1.0, 0.0]


class Elsewhere:
    """A client that keeps what it is asked for."""

    def scores(self, loop, scenario, arrays):
        """As in `RolloutClient`."""
        self.arrays = {name: array.copy() for name, array in arrays.items()}
        numbers = self.arrays.pop("parameters", None)
        return loop.scores(scenario, numbers, samples=self.arrays)


def test_many_robots_by_one_call_are_those_of_a_closed_loop():
    robot, client = robot_called("planar_2r"), Elsewhere()
    samples = {"payload.mass": np.array([0.0, 0.5, 1.0]), "start.v": np.full((3, 2), 0.1)}
    loop = ClosedLoop(make_controller("pd", robot), varied=tuple(samples))
    expected = loop.scores(loop.scenario([motion(robot)]), samples=samples)
    for options in ({}, {"workers": 2}, {"workers": client}, {"parameters": PDParameters(), "workers": client}):
        score = rollout_scores(robot, "pd", samples, motion(robot), **options)
        for ours, theirs in zip(score, expected, strict=True):
            np.testing.assert_array_equal(ours, theirs)
    assert client.arrays.keys() == samples.keys()
    soft = rollout_scores(robot, make_controller("pd", robot), samples, motion(robot), parameters=PDParameters(p=9.0))
    assert (soft.rms_error > expected.rms_error).all()


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda r, t: rollout(r, object(), t), "expected a Controller, received object"),
        (lambda r, t: rollout(r.with_timing(0.0015), "pd", t), "control period of a whole number of steps of 0.001 s"),
        (lambda r, t: rollout(r, "pd"), "expected a duration, or a trajectory to follow"),
        (lambda r, t: rollout(r, "pd", t, duration=0.0), "expected a duration of a control period or more"),
        (lambda r, t: rollout(r, "damping", t), "follows no reference, received one of JointReference"),
        (lambda r, t: rollout(r, "pd", t, q=[0.0]),
         r"positions of .*: expected an array of shape \(2,\), received shape \(1,\)"),
        (lambda r, t: rollout(r, "pd", t, q=[9.0, 0.0]), "position of joint '.*': expected .* its limits"),
        (lambda r, t: rollout(r, "pd", t, v=[np.nan, 0.0]), "velocities at the start: expected finite numbers"),
        (lambda r, t: rollout(r, "pd", np.zeros((9, 2))), "follows trajectories of JointReference, received ndarray"),
        (lambda r, t: rollout(r, "pd", t, plant="hardware_dc_motors"), "plant: expected a PlantModel, received str"),
        (lambda r, t: ClosedLoop(make_controller("pd", r)).scenario(t), "list of trajectories, received JointTraj"),
        (lambda r, t: ClosedLoop(make_controller("pd", r)).scenario([t], velocity_noise=-0.1),
         "velocity_noise of joint .*: expected a finite number of 0 or more, received -0.1"),
        (lambda r, t: ClosedLoop(make_controller("pd", r)).scenario([t], seed=-1),
         "seed: expected a finite number of 0 or more"),
        (lambda r, t: ClosedLoop(make_controller("pd", r)).scores(
            ClosedLoop(make_controller("pd", r)).scenario([t])), "expected an axis of samples"),
        (lambda r, t: ClosedLoop(make_controller("pd", r)).packed(make_controller("pid", r).parameters),
         "expected PDParameters that differ from the controller's in numbers only"),
        (lambda r, t: ClosedLoop(make_controller("pd", r), PlantModel.from_description(r.model, integrator="adaptive")),
         "expected an integrator of fixed steps, received adaptive"),
        (lambda r, t: rollout_scores(r, "pd", [1.0], t), "samples: expected values by the name of the quantity"),
        (lambda r, t: rollout_scores(r, "pd", {}, t), "expected an axis of samples"),
        (lambda r, t: rollout_scores(r, "pd", {"payload.mass": [-1.0]}, t), "payload.mass, sample 0: expected a fin"),
        (lambda r, t: rollout_scores(r, "pd", {"payload.mass": [1.0]}, t, workers="tcp://10.0.0.1:8786"),
         r"client: expected a robodyn_ros.toolbox.study.cluster.Cluster, received str; "
         r"Cluster.from_client\(client\) makes"),
    ],
)
def test_what_does_not_fit_is_said(call, message):
    robot = robot_called("planar_2r")
    robot = Robot(replace(robot.model, joints=tuple(
        replace(joint, limits=replace(joint.limits, lower=-3.0, upper=3.0)) for joint in robot.model.joints)))
    with pytest.raises(InputError, match=message):
        call(robot, motion(robot))


def test_continuous_joints_are_angles():
    """A turn further is the same place: of the start, of samples of it, and of a plan that is normalized."""
    text = robot_file("planar_2r").read_text().replace('type="revolute"', 'type="continuous"')
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        robot = Robot.from_urdf_text(text)
    begin, rest = np.array([3.0, -0.2]), np.zeros(2)
    plan = JointTrajectory(JointReference(begin, rest, rest), 0.0, Points.from_arrays([0.5], [[-3.0, 0.2]]))
    found = rollout(robot, "computed_torque", plan)
    np.testing.assert_allclose(found.reference.q[-1], [2.0 * np.pi - 3.0, 0.2], atol=1e-3)  # 0.28 rad, not 6
    assert np.abs(found.v).max() < 2.0
    turned = rollout(robot, "computed_torque", plan, q=begin + [-2.0 * np.pi, 4.0 * np.pi])
    np.testing.assert_allclose(turned.q, found.q, atol=1e-9)
    starts = begin + 2.0 * np.pi * np.array([[0.0, 0.0], [1.0, -3.0]])
    score = rollout_scores(robot, "computed_torque", {"start.q": starts}, plan)
    np.testing.assert_allclose(score.rms_error[1], score.rms_error[0], rtol=1e-6, atol=1e-9)
    whole = JointTrajectory(JointReference(rest, rest, rest), 0.0, Points.from_arrays([1.0], [[8.0, 0.0]]))
    found = rollout(robot, "computed_torque", whole)
    np.testing.assert_allclose(found.reference.q[-1, 0], 8.0 - 2.0 * np.pi, atol=1e-3)
    several = Points.from_arrays([0.5, 1.0], [[4.0, 0.0], [8.0, 0.0]])
    plan = JointTrajectory(JointReference(rest + [2.0, 0.0], rest, rest), 0.0, several)
    np.testing.assert_allclose(rollout(robot, "computed_torque", plan).reference.q[-1, 0], 8.0, atol=1e-3)


@pytest.mark.parametrize("law", few(["computed_torque", "pid", "computed_torque+safety"], ("computed_torque+safety",)))
def test_terms_add_up_to_the_efforts_and_leave_the_motion_as_it_is(law):
    """Compiled, in plain Python and in the interpreted loop; limits are a term."""
    robot = robot_called("planar_2r")
    weak = Robot(replace(robot.model, joints=tuple(
        replace(joint, limits=replace(joint.limits, effort=8.0)) for joint in robot.model.joints)))
    loop = ClosedLoop(make_controller(law, robot), PlantModel.from_description(weak.model))
    scenario = loop.scenario([motion(robot, end=0.3)])
    plain, named = loop.run(scenario), loop.run(scenario, terms=True)
    np.testing.assert_array_equal(named.effort, plain.effort)
    assert plain.terms == {} and list(named.terms)[0] == "feedback" and list(named.terms)[-1] == "limits"
    assert ("filter" in named.terms) is law.endswith("+safety")
    np.testing.assert_allclose(sum(named.terms.values()), named.effort, rtol=0.0, atol=1e-10)
    beyond = np.abs(named.effort - named.terms["limits"]) > 8.0
    assert beyond.any() and (np.abs(named.effort[beyond]) == 8.0).all()
    np.testing.assert_array_equal(named.terms["limits"][~beyond], 0.0)
    written = loop.run(scenario, compiled=False, terms=True)
    assert written.terms.keys() == named.terms.keys()
    for name, term in named.terms.items():
        np.testing.assert_allclose(written.terms[name], term, rtol=1e-6, atol=1e-6)


def test_a_law_in_python_has_terms_too_and_a_controller_its_efforts():
    class Branches(Law):
        """Cannot be compiled; names a term at some ticks."""

        @staticmethod
        def law(dynamics, parameters, state, reference):
            feedback = Terms(feedback=20.0 * (reference.q - state.q))
            return feedback + Terms(damping=-state.v) if state.time > 0.05 else feedback

    class Own(Controller):
        """No law."""

        def update(self, state, reference):
            return 20.0 * (reference.q - state.q)

    robot = robot_called("planar_2r")
    done = rollout(robot, Branches(robot), duration=0.1, terms=True)
    assert done.note and list(done.terms) == ["feedback", "limits", "damping"]
    assert not done.terms["damping"][:20].any() and done.terms["damping"][30:].any()
    np.testing.assert_allclose(sum(done.terms.values()), done.effort, rtol=0.0, atol=1e-12)
    assert list(rollout(robot, Own(robot), duration=0.1, terms=True).terms) == ["law", "limits"]
