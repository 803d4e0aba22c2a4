# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""A `RobotEnv` as a vector environment of Stable-Baselines3, which has its own interface.

| part of its base class for subclasses | why the public interface does not do | in a release without it |
| --- | --- | --- |
| `_seeds`, `_reset_seeds` | `seed` stores a seed there, which `reset` has to take | `reset` raises |
| `_get_indices` | it alone reads the forms of `indices` | `get_attr` and `env_method` raise |
"""

from __future__ import annotations

from typing import Any

import numpy as np
from gymnasium.vector import AutoresetMode
from numpy.typing import NDArray

from robodyn_ros.base.errors import InputError
from robodyn_ros.base.optional_packages import require
from robodyn_ros.toolbox.learn.robot_env import RobotEnv

try:
    from stable_baselines3.common.vec_env import VecEnv
except ImportError:  # the class reports it on construction
    VecEnv = object


class StableBaselinesEnv(VecEnv):  # type: ignore[misc]  # the base class is untyped where the package is missing
    """An environment for the algorithms of Stable-Baselines3.

    Args:
        env: The environment, with ``autoreset_mode`` ``SameStep``, which these algorithms expect.

    Attributes:
        env: As given.

    Raises:
        InputError: The environment has another ``autoreset_mode``.
        RobodynError: Stable-Baselines3 is not installed.
    """

    def __init__(self, env: RobotEnv) -> None:
        require("stable_baselines3")
        if env.metadata["autoreset_mode"] is not AutoresetMode.SAME_STEP:
            raise InputError("Stable-Baselines3: expected a RobotEnv with autoreset_mode 'SameStep', received "
                             f"'{env.metadata['autoreset_mode'].value}'")
        self.env = env
        super().__init__(env.num_envs, env.single_observation_space, env.single_action_space)

    def reset(self) -> NDArray[np.float32]:
        """Begin new episodes of all robots, with the seeds that `seed` set."""
        seed: int | None = self._seeds[0]
        self._reset_seeds()
        observations, _ = self.env.reset(seed=seed)
        return observations

    def step_async(self, actions: NDArray[Any]) -> None:
        """Keep the actions for :meth:`step_wait`."""
        self._actions = actions

    def step_wait(self) -> tuple[NDArray[np.float32], NDArray[Any], NDArray[np.bool_], list[dict[str, Any]]]:
        """Let all robots act."""
        observations, rewards, terminated, truncated, info = self.env.step(self._actions)
        over = terminated | truncated
        infos: list[dict[str, Any]] = [{} for _ in range(self.num_envs)]
        for robot in np.flatnonzero(over):
            infos[robot] = {"terminal_observation": info["final_obs"][robot],
                            "TimeLimit.truncated": bool(truncated[robot] and not terminated[robot])}
        return observations, rewards.astype(np.float32), over, infos

    def close(self) -> None:
        """As in Gymnasium."""
        self.env.close()

    def get_attr(self, attr_name: str, indices: Any = None) -> list[Any]:
        """An attribute of the environment, for each of some robots."""
        return [getattr(self.env, attr_name)] * self._count(indices)

    def set_attr(self, attr_name: str, value: Any, indices: Any = None) -> None:
        """Set an attribute of the environment, which all robots share."""
        setattr(self.env, attr_name, value)

    def env_method(self, method_name: str, *method_args: Any, indices: Any = None, **method_kwargs: Any) -> list[Any]:
        """Call a method of the environment once, and return its result for each of some robots."""
        return [getattr(self.env, method_name)(*method_args, **method_kwargs)] * self._count(indices)

    def env_is_wrapped(self, wrapper_class: type, indices: Any = None) -> list[bool]:
        """Whether single robots have wrappers: never."""
        return [False] * self._count(indices)

    def _count(self, indices: Any) -> int:
        return len(list(self._get_indices(indices)))


def policy_layers(model: Any) -> list[tuple[NDArray[Any], NDArray[Any]]]:
    """Return the layers of the mean action of an on-policy algorithm, as `policy_files.write_policy` takes them.

    Args:
        model: A trained algorithm with the policy ``MlpPolicy``, such as PPO or A2C.

    Raises:
        InputError: Its policy has parts other than layers and activation functions.
    """
    try:
        hidden, last = model.policy.mlp_extractor.policy_net, model.policy.action_net
        linear = [layer for layer in hidden if hasattr(layer, "weight")]
        return [tuple(part.detach().cpu().numpy() for part in (layer.weight, layer.bias)) for layer in (*linear, last)]
    except AttributeError as error:
        raise InputError("Stable-Baselines3: expected an algorithm with an MlpPolicy whose features are the "
                         f"observations, received {type(model).__name__} ({error})") from None
