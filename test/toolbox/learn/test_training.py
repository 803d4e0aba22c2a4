# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Training in `RobotEnv` with Stable-Baselines3, for seconds, and the files of what it has learned."""

import numpy as np
import pytest
import yaml

pytest.importorskip("gymnasium", reason="Gymnasium is not installed: pip install 'robodyn_ros[learn]'")

from robodyn_ros import ClosedLoop, InputError, Robot
from robodyn_ros.control import JointReference
from robodyn_ros.learn import RobotEnv, copy_policy, write_policy


@pytest.fixture(scope="module")
def planar():
    return Robot.named("planar_2r")


def environment(robot, **settings):
    goal = np.array([0.3, -0.2])

    def targets(rng, count):
        rest = np.zeros((count, 2))
        return JointReference(np.tile(goal, (count, 1)), rest, rest)

    return RobotEnv(robot, **{"num_envs": 64, "observations": {"q": 1.0, "v": {"scale": 0.1, "clip": 3.0},
                                                               "error_q": [2.0, 3.0]},
                              "action": {"kind": "position_step", "gravity": True}, "targets": targets,
                              "quantities": {"start.q": {"uniform": [-0.5, 0.5]}}, "episode": 0.4,
                              "action_period": 0.02, "autoreset_mode": "SameStep"} | settings)


def test_seconds_of_training_bring_the_arm_nearer(planar):
    """Proximal policy optimisation with a hundredth of the steps of docs/tutorials/9_learned_law.md."""
    baselines = pytest.importorskip("stable_baselines3", reason="Stable-Baselines3 is not installed")
    import torch

    from robodyn_ros.toolbox.learn.stable_baselines import StableBaselinesEnv, policy_layers

    torch.set_num_threads(1)
    env = StableBaselinesEnv(environment(planar))

    def final_error(model):
        env.seed(7)
        observations = env.reset()
        for _ in range(19):
            observations, *_ = env.step(model.predict(observations, deterministic=True)[0])
        return np.median(np.abs(observations[:, 4:]))

    model = baselines.PPO("MlpPolicy", env, n_steps=20, batch_size=640, n_epochs=8, learning_rate=4e-3, gamma=0.9,
                          seed=2, policy_kwargs={"net_arch": [16]}, device="cpu")
    before = final_error(model)
    model.learn(20_000)
    assert final_error(model) < 0.5 * before
    shapes = [[part.shape for part in layer] for layer in policy_layers(model)]
    assert shapes == [[(16, 6), (16,)], [(2, 16), (2,)]]
    infos = [env.step(np.zeros((64, 2)))[3] for _ in range(25)]
    ended = [info[0] for info in infos if "terminal_observation" in info[0]]
    assert ended and ended[0]["TimeLimit.truncated"] and ended[0]["terminal_observation"].shape == (6,)
    with pytest.raises(InputError, match="expected a RobotEnv with autoreset_mode 'SameStep', received 'NextStep'"):
        StableBaselinesEnv(environment(planar, autoreset_mode="NextStep"))


def layers(*sizes):
    rng = np.random.default_rng(sizes)
    return [(rng.normal(size=(after, before)), rng.normal(size=after))
            for before, after in zip(sizes, sizes[1:], strict=False)]


def test_the_shipped_policy_fits_its_arm(tmp_path):
    pytest.importorskip("onnx", reason="onnx is not installed")
    from robodyn_ros.control.networks.policy_file import load_policy

    file, network = copy_policy("arm6_reach", tmp_path)
    assert network.parent == tmp_path
    assert load_policy(str(file), Robot.named("arm6").with_timing(0.002)).observations.size == 24
    with pytest.raises(InputError, match="no file 'policies/arm5_reach.yaml'"):
        copy_policy("arm5_reach", tmp_path)


@pytest.mark.parametrize("activation", ["tanh", "relu", "elu", "sigmoid"])
def test_the_network_in_the_file_is_the_one_that_was_given(planar, activation, tmp_path):
    pytest.importorskip("onnx", reason="onnx is not installed")
    from onnx.reference import ReferenceEvaluator

    env, network = environment(planar, num_envs=1), layers(6, 5, 4, 2)
    file, onnx_file = write_policy(tmp_path / "reach.yaml", env, network, activation)
    given = np.random.default_rng(0).normal(size=(1, 6))
    functions = {"tanh": np.tanh, "relu": lambda x: np.maximum(x, 0.0), "sigmoid": lambda x: 1.0 / (1.0 + np.exp(-x)),
                 "elu": lambda x: np.where(x > 0.0, x, np.expm1(np.minimum(x, 0.0)))}
    expected = given
    for number, (weights, biases) in enumerate(network):
        expected = expected @ weights.T + biases
        expected = functions[activation](expected) if number < 2 else expected
    (action,) = ReferenceEvaluator(str(onnx_file)).run(None, {"observations": given.astype(np.float32)})
    np.testing.assert_allclose(action, expected, rtol=1e-5, atol=1e-5)
    content = yaml.safe_load(file.read_text())
    assert content["network"] == "reach.onnx" and content["rate"] == 50.0 and content["history"] == 1
    assert content["observations"] == {"q": {"scale": 1.0}, "v": {"scale": 0.1, "clip": 3.0},
                                       "error_q": {"scale": [2.0, 3.0]}}
    assert content["action"]["kind"] == "position_step" and content["action"]["gravity"] is True
    assert content["action"]["clip"] == env.action.clip == env.single_action_space.high[0] == 1.0
    np.testing.assert_array_equal(content["action"]["p"], env.action.p)


class Goal:
    """A target that stays, as a trajectory."""

    kind, start_time, end_time = JointReference, 0.0, 0.0

    def sample(self, time):
        return JointReference(np.array([0.3, -0.2]), np.zeros(2), np.zeros(2))


@pytest.mark.parametrize(("action", "history"), [("position_step", 1), ("position", 3), ("effort", 1)])
def test_as_a_controller_it_moves_the_robot_as_in_its_environment(planar, action, history, tmp_path):
    """The law `policy` in a rollout, from the files: the same observations, actions and motion as in training."""
    pytest.importorskip("onnx", reason="onnx is not installed")
    from robodyn_ros.control.laws.policy import Policy, PolicyParameters

    env = environment(planar, num_envs=1, quantities=None, q=[0.1, 0.2], history=history, autoreset_mode="Disabled",
                      action={"kind": action, "scale": [0.4, 0.3], "gravity": True},
                      observations={"q": 1.0, "error_q": 2.0, "last_action": 0.5})
    network = [(0.4 * weights, 0.2 * biases) for weights, biases in layers(6 * history, 8, 2)]
    file, _ = write_policy(tmp_path / "reach.yaml", env, network)
    observations, moved = env.reset(seed=0)[0], []
    for _ in range(15):
        hidden = np.tanh(observations @ network[0][0].T + network[0][1])
        observations = env.step(hidden @ network[1][0].T + network[1][1])[0]
        moved.append(observations[0, :2])
    law = Policy(planar.with_timing(0.002), PolicyParameters(file=str(file)))
    loop = ClosedLoop(law, period=0.002)
    found = loop.run(loop.scenario([Goal()], 0.32, q=[0.1, 0.2]))
    np.testing.assert_allclose(found.q[10:160:10], moved, atol=1e-4)  # the network of the file is in single precision
    assert np.ptp(moved, axis=0).max() > 1e-2


@pytest.mark.parametrize(("given", "activation", "message"), [
    ([], "tanh", "expected a last layer of 2 outputs, one for each element of the action, received no layer"),
    (layers(6, 4, 3), "tanh", "expected a last layer of 2 outputs"),
    (layers(5, 2), "tanh", "weights of layer 1: expected an array of shape"),
    ([(np.full((2, 6), np.nan), np.zeros(2))], "tanh", "weights of layer 1: expected finite numbers"),
    (layers(6, 2), "swish", "unknown activation 'swish'"),
])
def test_layers_that_do_not_fit_write_nothing(planar, given, activation, message, tmp_path):
    pytest.importorskip("onnx", reason="onnx is not installed")
    with pytest.raises(InputError, match=message):
        write_policy(tmp_path / "reach.yaml", environment(planar, num_envs=1), given, activation)
    assert not list(tmp_path.iterdir())
