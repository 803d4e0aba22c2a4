# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Environments for learned laws: the same motion as the plant, Gymnasium's rules, bad input, robots that differ."""

import copy
import pickle
import warnings
from dataclasses import replace

import cloudpickle
import numpy as np
import pytest
from shipped import few

pytest.importorskip("gymnasium", reason="Gymnasium is not installed: pip install 'robodyn_ros[learn]'")
from gymnasium.utils.env_checker import check_env
from gymnasium.vector import AsyncVectorEnv, AutoresetMode, SyncVectorEnv

from robodyn_ros import InputError, Plant, PlantModel, Robot
from robodyn_ros.actuation import JointActuators
from robodyn_ros.actuation.driver_profile import DriverProfile
from robodyn_ros.actuation.friction import Friction
from robodyn_ros.actuation.transmission import Transmission
from robodyn_ros.control import JointReference, State, TipReference
from robodyn_ros.control.networks.actions import ActionLayout
from robodyn_ros.learn import RobotEnv, SingleRobotEnv
from robodyn_ros.simulation.commands import Drive
from robodyn_ros.simulation.contact_world import ContactPoint, World
from robodyn_ros.simulation.driver import Driver
from robodyn_ros.simulation.quantities import varied_plant
from robodyn_ros.simulation.surfaces import Material, Plane
from robodyn_ros.toolbox.study.performance import simulated_plant

PERIOD, LONG = 0.002, 0.01
GOAL = np.array([0.4, -0.3])


@pytest.fixture(scope="module")
def planar():
    return Robot.named("planar_2r")


def goal(rng, count):
    rest = np.zeros((count, 2))
    return JointReference(np.tile(GOAL, (count, 1)), rest, rest)


def actions(count, steps, m=2, seed=0):
    return np.random.default_rng(seed).uniform(-1.0, 1.0, (steps, count, m))


def moved_plant(robot, plant, layout, commands, reference=None):
    """Joint positions and velocities after each action, by the plant and the action's formula on floats."""
    simulated = Plant(robot, plant.step, actuators=plant.actuators, friction=plant.friction)
    found = []
    for action in commands:
        for _ in range(int(np.rint(LONG / PERIOD))):
            state = State(0.0, PERIOD, simulated.q, simulated.v)
            asked = layout.command(action, robot.dynamics(), state, reference)
            none = np.zeros(robot.n)
            drive = (Drive(none, none, none, asked, np.ones(robot.n)) if layout.kind == "voltage" else
                     Drive(np.clip(asked, -robot.effort_limit, robot.effort_limit), none, none))
            simulated.advance(drive, int(np.rint(PERIOD / plant.step)))
        found.append(np.concatenate([simulated.q, simulated.v]))
    return np.array(found)


@pytest.mark.parametrize(("action", "motors"), [
    ({"kind": "position", "gravity": True}, False), ({"kind": "effort", "scale": 3.0}, True),
    ({"kind": "gains"}, False), ({"kind": "voltage", "scale": 24.0}, True)], ids=lambda value: str(value))
def test_robots_move_as_plants_under_the_same_actions(planar, action, motors):
    plant = (simulated_plant(planar.model, 0.001, "hardware_dc_motors") if motors else
             PlantModel.from_description(planar.model, friction=Friction(*np.full((3, 2), 0.4))))
    env = RobotEnv(planar, 3, observations=["q", "v", "error_q"], action=action, plant=plant, period=PERIOD,
                   action_period=LONG, targets=goal, threads=2)
    env.reset(seed=3)
    commands = actions(3, 12, env.action.size)
    layout = ActionLayout.from_settings(planar.with_timing(PERIOD), **action)
    seen = np.array([env.step(each)[0] for each in commands])
    for robot in range(3):
        expected = moved_plant(planar, plant, layout, commands[:, robot],
                               JointReference(GOAL, *np.zeros((2, 2))))
        np.testing.assert_allclose(seen[:, robot, :4], expected, rtol=1e-5, atol=1e-6)
        np.testing.assert_allclose(seen[:, robot, 4:], GOAL - seen[:, robot, :2], atol=1e-6)
    assert np.ptp(seen[-1], axis=0).max() > 1e-3  # under their own actions they differ


@pytest.fixture(scope="module")
def elastic(planar):
    """Soft joints, whose encoders are on the motor's side at joint1 and on the link's at joint2."""
    springs = replace(JointActuators.ideal_sources(2), transmission=Transmission(stiffness=np.full(2, 300.0),
                                                                                 spring_damping=np.full(2, 3.0),
                                                                                 source_inertia=np.full(2, 0.3),
                                                                                 backlash=np.full(2, 2e-3),
                                                                                 motor_encoder=np.array([True, False])))
    return PlantModel.from_description(planar.model, 0.001, springs, Friction(np.full(2, 0.4), np.zeros(2)))


@pytest.mark.parametrize("drives", few([False, True], (True,)), ids=["without a driver", "driver that adds gravity"])
def test_elastic_robots_are_measured_by_their_encoders(planar, elastic, drives):
    """As the node measures them: inner law, driver and policy see the motor's side where the encoder is there."""
    driver = Driver(DriverProfile("mine", "none", compensates_gravity=True), planar.model, elastic.friction)
    env = RobotEnv(planar, 2, observations=["q", "v"], action={"kind": "position", "gravity": True},
                   plant=replace(elastic, driver=driver) if drives else elastic, period=PERIOD, action_period=LONG)
    first, _ = env.reset(seed=3)
    commands = actions(2, 12)
    seen = np.array([first, *(env.step(each)[0] for each in commands)])
    for robot in range(2):
        simulated = Plant(planar, actuators=elastic.actuators, friction=elastic.friction)
        expected = [np.concatenate(simulated.encoder_motion)]
        for action in commands[:, robot]:
            for _ in range(5):
                asked = env.action.command(action, planar.dynamics(), State(0.0, PERIOD, *simulated.encoder_motion),
                                           None)
                if drives:
                    asked = asked - planar.dynamics().gravity(simulated.encoder_motion[0]) + driver.gravity(
                        simulated.encoder_motion[0])
                none = np.zeros(2)
                simulated.advance(Drive(np.clip(asked, -planar.effort_limit, planar.effort_limit), none, none), 2)
            expected.append(np.concatenate(simulated.encoder_motion))
        np.testing.assert_allclose(seen[:, robot], expected, rtol=1e-5, atol=1e-6)
        bent = simulated.motor_side[0] - simulated.q
        assert np.abs(bent).min() > 1e-3  # else both sides would measure the same


def test_the_wrench_of_surfaces_is_that_of_the_plant(planar):
    height = planar.dynamics().forward_kinematics(np.zeros(2))[2, 3]
    floor = Plane("floor", Material(5e3, 0.5, 0.2), np.eye(3), np.array([0.0, 0.0, height - 0.02]))
    world = World((floor,), (ContactPoint(planar.tip_link, np.zeros(3), 0.01),))
    friction = Friction(np.full(2, 0.4), np.zeros(2))
    plant = PlantModel.from_description(planar.model, 0.001, friction=friction, world=world)
    env = RobotEnv(planar, 2, observations=["q", "v", "wrench_tip"], action={"kind": "effort", "scale": 5.0},
                   plant=plant, period=PERIOD, action_period=LONG)
    commands = actions(2, 30)
    seen = np.array([env.reset(seed=3)[0], *(env.step(each)[0] for each in commands)])
    for robot in range(2):
        simulated = Plant(planar, friction=friction, world=world)
        expected = [np.concatenate([simulated.q, simulated.v, np.zeros(6)])]
        for action in commands[:, robot]:
            none = np.zeros(2)
            simulated.advance(Drive(5.0 * action, none, none), 10)
            expected.append(np.concatenate([simulated.q, simulated.v, simulated.environment_wrench(planar.tip_link)]))
        np.testing.assert_allclose(seen[:, robot], expected, rtol=1e-5, atol=1e-5)
        assert np.abs(seen[:, robot, 6]).max() > 1.0 and seen[:, robot, 6].min() == 0.0  # it presses


def test_quantities_are_those_of_each_robot(planar):
    masses = {"choice": [0.0, 2.0]}
    env = RobotEnv(planar, 8, observations=["q", "v"], action={"kind": "position", "gravity": True},
                   quantities={"payload.mass": masses, "start.q": {"uniform": [-0.5, 0.5]}}, action_period=LONG)
    first, _ = env.reset(seed=1)
    drawn = env._bound.arrays["payload.mass"].copy()
    assert set(drawn) == {0.0, 2.0}
    assert len(np.unique(first[:, 0])) == 8 and (np.abs(first[:, :2]) <= 0.5).all()
    commands = actions(8, 6)
    for each in commands:
        seen = env.step(each)[0]
    layout = ActionLayout.from_settings(planar.with_timing(PERIOD), gravity=True)
    for robot in range(8):
        plant = varied_plant(env.plant, {"payload.mass": drawn[robot]})
        simulated = Plant(Robot(plant.model), plant.step, friction=plant.friction)
        simulated.set_state(first[robot, :2].astype(float), np.zeros(2))
        for action in commands[:, robot]:
            for _ in range(5):
                asked = layout.command(action, planar.dynamics(), State(0.0, PERIOD, simulated.q, simulated.v), None)
                none = np.zeros(2)
                simulated.advance(Drive(np.clip(asked, -planar.effort_limit, planar.effort_limit), none, none), 2)
        np.testing.assert_allclose(seen[robot], [*simulated.q, *simulated.v], rtol=1e-4, atol=1e-5)


def pushed_hard(step):
    return step.action[:, 0] > 0.8


def shaped(step):
    return -np.abs(step.error).sum(axis=1) - 0.1 * (step.action - step.last_action)[:, 0] ** 2 + step.time


@pytest.mark.parametrize("mode", few(list(AutoresetMode), 1))
def test_it_resets_as_gymnasiums_own_vector_of_single_environments(planar, mode):
    settings = {"observations": ["q", "v", "error_q", "last_action"], "action_period": LONG, "targets": goal,
                "reward": shaped, "terminates": pushed_hard, "episode": 0.1, "history": 2}
    theirs = SyncVectorEnv([lambda: SingleRobotEnv(planar, **settings)] * 3, autoreset_mode=mode)
    ours = RobotEnv(planar, 3, autoreset_mode=mode, **settings)
    assert ours.metadata["autoreset_mode"] is mode is theirs.metadata["autoreset_mode"]
    assert ours.single_observation_space == theirs.single_observation_space
    assert ours.action_space == theirs.action_space
    np.testing.assert_array_equal(ours.reset(seed=2)[0], theirs.reset(seed=2)[0])
    ended = np.zeros(2, dtype=int)
    for each in actions(3, 40):
        mine, other = ours.step(each), theirs.step(each)
        for one, their in zip(mine[:4], other[:4], strict=True):
            np.testing.assert_array_equal(one, their)
            assert one.dtype == their.dtype
        ended += [mine[2].sum(), mine[3].sum()]
        if mode is AutoresetMode.SAME_STEP:
            assert ("final_obs" in mine[4]) == ("final_obs" in other[4])
            for robot in np.flatnonzero(mine[2] | mine[3]):
                np.testing.assert_array_equal(mine[4]["final_obs"][robot], other[4]["final_obs"][robot])
                assert mine[4]["_final_obs"][robot] and mine[4]["_final_info"][robot]
        over = mine[2] | mine[3]
        if mode is AutoresetMode.DISABLED and over.any():
            np.testing.assert_array_equal(ours.reset(options={"reset_mask": over})[0],
                                          theirs.reset(options={"reset_mask": over})[0])
    assert (ended > 0).all()


def test_gymnasiums_checker_passes(planar):
    env = SingleRobotEnv(planar, action_period=LONG, quantities={"start.q": {"uniform": [-0.5, 0.5]}})
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.filterwarnings("ignore", message=".*(not set in the init|render modes|spec|infinity).*")
        check_env(env, skip_render_check=True)


def test_a_seed_gives_the_same_episodes(planar):
    quantities = {"start.q": {"uniform": [-0.5, 0.5]}, "friction.viscous": {"uniform": [0.0, 1.0]},
                  "sensing.position_noise": 1e-3}

    def run(seed, threads):
        env = RobotEnv(planar, 5, quantities=quantities, episode=0.05, action_period=LONG, threads=threads,
                       autoreset_mode="SameStep")
        seen = [env.reset(seed=seed)[0]]
        return np.array(seen + [env.step(each)[0] for each in actions(5, 20)])

    np.testing.assert_array_equal(run(4, 1), run(4, 2))
    assert (run(4, 1) != run(5, 1)).any()
    env = RobotEnv(planar, 5, quantities=quantities)
    first = env.reset(seed=9)[0]
    env.step(actions(5, 1)[0])
    np.testing.assert_array_equal(env.reset(seed=9)[0], first)


@pytest.mark.parametrize("duplicate", [copy.deepcopy, lambda given: pickle.loads(pickle.dumps(given)),
                                       lambda given: cloudpickle.loads(cloudpickle.dumps(given))])
@pytest.mark.parametrize("observed", few(["error_q", "error_pose"], 1))
def test_a_duplicate_goes_on_where_the_environment_was(planar, duplicate, observed):
    """Also under noise and between two episodes; other environments of Gymnasium are sent to processes likewise."""
    drawn = {"sensing.position_noise": {"uniform": [0.0, 1e-3]}, "payload.mass": {"uniform": [0.0, 1.0]}}
    env = RobotEnv(planar, 3, observations=["q", "v", observed, "last_action"], episode=5 * LONG, action_period=LONG,
                   quantities=drawn, history=2)
    env.reset(seed=4)
    commands = actions(3, 16)
    for action in commands[:7]:
        env.step(action)
    other = duplicate(env)
    for action in commands[7:]:
        for mine, its in zip(env.step(action)[:4], other.step(action)[:4], strict=True):
            np.testing.assert_array_equal(mine, its)


@pytest.mark.long
def test_environments_run_in_processes_of_gymnasium(planar):
    """`AsyncVectorEnv` sends a closure over the robot; each process compiles for itself."""
    made = [lambda: SingleRobotEnv(planar, action_period=LONG)] * 2
    here, there = SyncVectorEnv(made), AsyncVectorEnv(made, context="spawn")
    try:
        first, second = (each.reset(seed=3)[0] for each in (here, there))
        np.testing.assert_array_equal(first, second)
        for action in actions(2, 3):
            np.testing.assert_array_equal(here.step(action)[0], there.step(action)[0])
    finally:
        there.close()


def test_sensors_disturb_what_the_policy_sees_alone(planar):
    quantities = {"sensing.position_noise": 2e-3, "sensing.velocity_noise": 0.0, "sensing.position_resolution": 1e-3}
    env = RobotEnv(planar, 400, observations=["q", "v"], quantities=quantities, action={"kind": "effort"})
    seen, _ = env.reset(seed=0)
    for _ in range(3):
        seen = env.step(np.zeros((400, 2)))[0]
    noise = seen[:, :2] - env._bound.arrays["state.q"]
    assert 1.8e-3 < noise.std() < 2.3e-3
    np.testing.assert_allclose(seen[:, :2] / 1e-3, np.rint(seen[:, :2] / 1e-3), atol=1e-2)
    delayed = RobotEnv(planar, 2, observations=["q"], quantities={"sensing.delay": 3}, action={"kind": "effort"})
    exact = RobotEnv(planar, 2, observations=["q"], action={"kind": "effort"})
    rows = []
    for env in (delayed, exact):
        rows.append([env.reset(seed=0)[0], *(env.step(np.ones((2, 2)))[0] for _ in range(8))])
    np.testing.assert_array_equal(np.array(rows[0][3:]), np.array(rows[1][:-3]))


def test_commands_are_late_by_the_delay_of_the_quantity(planar):
    """A driver that delays by three periods, and one that does not: the same motion, three periods apart."""
    plant = PlantModel.from_description(planar.model, friction=Friction(*np.zeros((2, 2))))
    plant = replace(plant, model=replace(plant.model, gravity=np.zeros(3)),
                    driver=Driver(DriverProfile(name="bus", source="test"), planar.model, plant.friction))
    rows = []
    for delay in (3, 0):
        env = RobotEnv(planar, 2, observations=["q"], plant=plant, quantities={"command.delay": delay},
                       action={"kind": "effort"})
        rows.append([env.reset(seed=0)[0], *(env.step(np.full((2, 2), float(step > 0)))[0] for step in range(8))])
    np.testing.assert_allclose(rows[0][4:], rows[1][1:-3], atol=1e-7)
    assert np.abs(rows[0][-1] - rows[1][-1]).max() > 1e-5


def test_a_robot_that_fails_ends_alone_at_its_last_good_state(planar):
    """Starts beyond the speed that the step can follow: those end, the others move as without them."""
    starts = {"start.v": {"joint1": {"choice": [0.0, 9e4]}}}
    env = RobotEnv(planar, 6, observations=["q", "v"], quantities=starts, action_period=LONG, autoreset_mode="SameStep")
    env.reset(seed=1)
    bad = env._bound.arrays["state.v"][:, 0] > 1.0
    assert bad.any() and not bad.all()
    command = actions(6, 1)[0]
    observations, rewards, terminated, _, info = env.step(command)
    np.testing.assert_array_equal(terminated, bad)
    np.testing.assert_array_equal(info["final_info"]["failed"], bad)
    assert np.isfinite(observations).all() and np.isfinite(rewards).all()
    assert all(np.isfinite(info["final_obs"][robot]).all() for robot in np.flatnonzero(bad))
    calm = RobotEnv(planar, 6, observations=["q", "v"], action_period=LONG)
    calm.reset(seed=1)
    np.testing.assert_array_equal(observations[~bad], calm.step(command)[0][~bad])


def test_a_nan_state_leaves_the_other_robots_alone(planar):
    env = RobotEnv(planar, 9, observations=["q", "v"], action_period=LONG)
    env.reset(seed=1)
    env._bound.arrays["state.v"][4] = np.nan
    command = actions(9, 1)[0]
    observations, _, terminated, _, info = env.step(command)
    assert terminated.tolist() == [k == 4 for k in range(9)] and info["failed"][4]
    calm = RobotEnv(planar, 9, observations=["q", "v"], action_period=LONG)
    calm.reset(seed=1)
    rest = np.arange(9) != 4
    np.testing.assert_array_equal(observations[rest], calm.step(command)[0][rest])


def test_poses_are_reachable_and_rewards_are_of_the_true_state():
    arm = Robot.named("arm6")
    seen = []

    def reward(step):
        seen.append(step.error.copy())
        assert isinstance(step.reference, TipReference)
        return -np.linalg.norm(step.error[:, :3], axis=1)

    env = RobotEnv(arm, 4, observations=["q", "error_pose", "target_rotation"], reward=reward,
                   action={"gravity": True}, action_period=0.02)
    env.reset(seed=0)
    observations, rewards, *_ = env.step(np.zeros((4, 6)))
    np.testing.assert_allclose(observations[:, 6:12], seen[0], atol=1e-6)
    np.testing.assert_allclose(rewards, -np.linalg.norm(seen[0][:, :3], axis=1))
    goals = env._bound["task"].reference
    for position, quaternion in zip(goals.position, goals.quaternion, strict=True):
        np.testing.assert_allclose(np.linalg.norm(quaternion), 1.0)
        assert np.linalg.norm(position) < 1.6


@pytest.mark.parametrize(("given", "message"), [
    (np.zeros((3, 3)), r"actions: expected shape \(3, 2\), received shape \(3, 3\)"),
    ([[0, 0], [np.nan, 0], [0, 0]], "received nan for robot 1, element 0; no robot has moved"),
    ([["a", 0]] * 3, "actions: expected numbers"),
])
def test_wrong_actions_move_no_robot(planar, given, message):
    env = RobotEnv(planar, 3)
    with pytest.raises(InputError, match=r"expected reset\(\) before"):
        env.step(np.zeros((3, 2)))
    env.reset(seed=0)
    before = env._bound.arrays["state.v"].copy()
    with pytest.raises(InputError, match=message):
        env.step(given)
    np.testing.assert_array_equal(env._bound.arrays["state.v"], before)
    assert np.isfinite(env.step(np.ones((3, 2)))[0]).all()


@pytest.mark.parametrize(("settings", "message"), [
    ({"num_envs": 0}, "num_envs: expected a whole number from 1"),
    ({"observations": ["q", "tip_positions"]}, "unknown observation 'tip_positions': did you mean 'tip_position'"),
    ({"observations": ["wrench_tip"]}, "wrench_tip: expected a plant with surfaces"),
    ({"action": "torque"}, "action: unknown kind 'torque'"),
    ({"action": {"kind": "effort", "scales": 1.0}}, "action: unknown key 'scales': did you mean 'scale'"),
    ({"action": {"kind": "voltage", "scale": 1.0}}, "expected for joints with motors"),
    ({"action": "gains", "observations": ["error_pose"]}, "expected references of joints beside actions of kind"),
    ({"quantities": {"payload.mas": 1.0}}, "unknown quantity 'payload.mas': did you mean 'payload.mass'"),
    ({"quantities": {"friction.scale": {"uniform": [0, 2]}}, "action": "effort",
      "plant": "frictionless"}, "friction.scale: no effect on 'planar_2r'"),
    ({"quantities": {"start.q_offset": 0.1}}, "expected in studies only"),
    ({"quantities": 3}, "quantities: expected distributions by the name of the quantity, received 3"),
    ({"targets": 5}, "targets: expected a function, received 5"), ({"reward": 3}, "reward: expected a function"),
    ({"terminates": "late"}, "terminates: expected a function, received 'late'"),
    ({"period": 0.0015}, "period: expected a multiple of the plant's step"),
    ({"action_period": 0.003}, "action_period: expected a multiple of the period"),
    ({"episode": -1.0}, "episode: expected a finite number above 0"),
    ({"autoreset_mode": "same"}, "autoreset_mode: unknown mode 'same'"),
    ({"observations": ["q"], "targets": goal}, "targets: no effect"),
    ({"targets": lambda rng, count: goal(rng, 3)}, "targets: q: expected an array of shape"),
    ({"targets": lambda rng, count: None}, "targets: expected a JointReference of arrays, received NoneType"),
    ({"reward": lambda step: step.q}, r"reward: expected one number for each of 3 robots, received shape \(3, 2\)"),
    ({"reward": lambda step: step.q[:, 0] * np.nan}, "reward: expected one number for each of 3 robots, received NaN"),
])
def test_wrong_settings_are_told_in_one_line(planar, settings, message):
    if settings.get("plant") == "frictionless":
        settings = settings | {"plant": PlantModel.from_description(planar.model, friction=Friction(*np.zeros((3, 2))))}
    with pytest.raises(InputError, match=message) as error:
        env = RobotEnv(planar, **{"num_envs": 3} | settings)
        env.reset(seed=0)
        env.step(np.zeros((3, 2)))
    assert len(str(error.value).splitlines()) == 1


@pytest.mark.parametrize("settings", [{"q": [9.0] * 6}, {"quantities": {"start.q": [9.0] * 6}},
                                      {"quantities": {"start.q": {"uniform": [-6.0, 9.0]}}}], ids=str)
def test_starts_beyond_the_position_limits_are_refused(settings):
    with pytest.raises(InputError, match="joint.*: expected .*-6.28319 to 6.28319.*, received 9"):
        RobotEnv(Robot.named("arm6"), 2, **settings)


@pytest.mark.parametrize(("arguments", "message"), [
    ({"seed": 1.5}, "seed: expected a whole number"),
    ({"seed": -1}, "seed: expected a whole number"),
    ({"options": {"mask": 1}}, "options: unknown key 'mask'"),
    ({"options": {"reset_mask": np.zeros(3, dtype=bool)}}, "reset_mask: expected bool of shape"),
    ({"options": {"reset_mask": np.array([True, False, False])}}, "expected a reset of all robots first"),
])
def test_wrong_resets_are_told(planar, arguments, message):
    with pytest.raises(InputError, match=message):
        RobotEnv(planar, 3).reset(**arguments)
