# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""`RobotEnv`: many simulated robots as one vector environment of Gymnasium, in compiled code."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from robodyn_ros.base.checks import Range, as_number
from robodyn_ros.base.common_fields import PERIOD
from robodyn_ros.base.errors import InputError, RobodynError, shown, unknown
from robodyn_ros.base.fields import MAX_MAGNITUDE
from robodyn_ros.base.optional_packages import missing_message
from robodyn_ros.base.timing import usable_processors, whole_steps
from robodyn_ros.compile.records import array_shapes, flatten, form_of
from robodyn_ros.control.networks.actions import ActionKind, ActionLayout
from robodyn_ros.control.networks.observations import ObservationLayout
from robodyn_ros.description.model import Array
from robodyn_ros.robot import Robot
from robodyn_ros.simulation.plant import default_position, start_position
from robodyn_ros.simulation.plant_model import PlantModel
from robodyn_ros.simulation.plant_state import MotorSide
from robodyn_ros.simulation.quantities import COMMAND_DELAY
from robodyn_ros.toolbox.learn.env_program import EnvProgram, quantities_of_program
from robodyn_ros.toolbox.learn.episodes import EpisodeStarts, Targets, default_targets, longest_delay, read_quantities

try:
    import gymnasium
    from gymnasium.spaces import Box
    from gymnasium.vector import AutoresetMode, VectorEnv
    from gymnasium.vector.utils import batch_space
except ImportError as error:
    raise RobodynError(missing_message("gymnasium", error)) from None

DEFAULT_OBSERVATIONS = ("q", "v", "error_q", "last_action")
"""Default observations of a policy."""

MAX_ENVS = 1_000_000
"""Greatest number of robots in an environment."""


class EnvStep(NamedTuple):
    """Result of an action, for rewards and terminations; valid during their call.

    Each array has a leading axis of the N robots.

    Attributes:
        q: True joint positions, shape (N, n) [rad or m].
        v: True joint velocities, shape (N, n) [rad/s or m/s].
        effort: Efforts of the last control period, within the limits, shape (N, n) [N m or N]; 0 under voltages.
        error: Error of the true state: q_d - q, shape (N, n); for tip targets, translation and rotation in base axes,
            shape (N, 6) [m, rad]; without targets, shape (N, 0).
        tip_position: Position of the tip link in base axes, shape (N, 3) [m].
        wrench_tip: Wrench on the tip link, shape (N, 6) [N, N m]; NaN for a robot without surroundings.
        action: The action, within the action space, shape (N, m).
        last_action: Action of the previous step, 0 at the first, shape (N, m).
        reference: The target, each array with a leading axis of robots; None without targets.
        observation: Next observation of the policy, shape (N, size).
        time: Time since the start of the episode, shape (N,) [s].
        failed: Whether the robot diverged or became too fast for the step, and keeps its last good state, shape (N,).
    """

    q: Array
    v: Array
    effort: Array
    error: Array
    tip_position: Array
    wrench_tip: Array
    action: Array
    last_action: Array
    reference: Any
    observation: Array
    time: Array
    failed: NDArray[np.bool_]


def distance_reward(step: EnvStep) -> Array:
    """Minus the Euclidean norm of the error, shape (N,)."""
    reward: Array = -np.sqrt((step.error * step.error).sum(axis=1))
    return reward


def _no_reward(step: EnvStep) -> Array:
    return np.zeros(len(step.time))


class RobotEnv(VectorEnv):  # type: ignore[misc]  # the base class is untyped where gymnasium is not installed
    """Many simulated robots that differ, under one policy: a `gymnasium.vector.VectorEnv`.

    If its functions can be pickled or copied, so can the environment: the copy continues from the same state, and
    compiles its own code.

    A step is one call of compiled code. For each robot it runs the inner law of the action, the plant with motors,
    friction, stops and surfaces, the sensors, and the observation. Robots that diverge are terminated.

    Args:
        robot: The robot as the policy knows it; without actuators of its own it gets those of the plant.
        num_envs: Number of robots N.
        observations: Names of `OBSERVATIONS`, or scales and clips by name, see `ObservationLayout.from_names`.
        action: Settings of `ActionLayout.from_settings`, or only the kind; ``clip`` bounds the action space, default 1.
        history: Number of steps in an observation, including the present one.
        plant: The simulated robot: motors, friction, surfaces, driver; None: the robot as described.
        quantities: Distributions of `QUANTITIES`, drawn for each episode, as in a study file.
        q: Joint positions at the start if ``quantities`` has no ``start.q``, shape (n,) [rad or m]; None: the default
            position.
        targets: Draws the references of episodes: ``targets(rng, count)``; None: uniform joint positions, or reachable
            poses of the tip link if the observations need them.
        reward: Function of an `EnvStep`, result of shape (N,); None: `distance_reward`, or 0 without targets.
        terminates: Function of an `EnvStep`: whether episodes end, shape (N,); None: never.
        episode: Longest duration of an episode [s].
        period: Control period, at which the inner law answers [s].
        action_period: Duration of an action, a multiple of the control period [s]; None: one control period.
        threads: Threads that share the robots; None: one for each core of this process.
        autoreset_mode: An `AutoresetMode` of Gymnasium, or its value.

    Attributes:
        robot: The robot as the policy knows it.
        plant: The simulated robot.
        observations: The `ObservationLayout`.
        action: The `ActionLayout`.
        step_period: Duration of an action [s].
        num_envs: Number of robots N.
        metadata: Has ``autoreset_mode``.

    Raises:
        InputError: An argument does not fit, or a quantity has no effect.
        CompileError: A formula cannot be traced.
    """

    def __init__(self, robot: Robot, num_envs: int = 1, *,
                 observations: Mapping[str, Any] | Iterable[str] = DEFAULT_OBSERVATIONS,
                 action: Mapping[str, Any] | str = ActionKind.POSITION, history: int = 1,
                 plant: PlantModel | None = None, quantities: Mapping[str, Any] | None = None,
                 q: ArrayLike | None = None, targets: Targets | None = None,
                 reward: Callable[[EnvStep], ArrayLike] | None = None,
                 terminates: Callable[[EnvStep], ArrayLike] | None = None, episode: float = 5.0,
                 period: float = PERIOD.default, action_period: float | None = None, threads: int | None = None,
                 autoreset_mode: AutoresetMode | str = AutoresetMode.NEXT_STEP) -> None:
        if not isinstance(robot, Robot):
            raise InputError(f"environment: expected a Robot, received {type(robot).__name__}; Robot.named('arm6') is "
                             "one")
        self.num_envs = _whole(num_envs, "num_envs", MAX_ENVS)
        self.plant = PlantModel.from_robot(robot) if plant is None else plant
        if not isinstance(self.plant, PlantModel) or not self.plant.method.has_fixed_steps:
            raise InputError(f"environment: plant: expected a PlantModel with fixed steps, received {shown(plant)}")
        self.plant.actuators.drive_loops.check_law(robot.joint_names)
        self.robot = robot = self.plant.known_to(robot)
        for name, function in (("targets", targets), ("reward", reward), ("terminates", terminates)):
            if not (function is None or callable(function)):
                raise InputError(f"{name}: expected a function, received {shown(function)}")
        ticks, steps = self._timing(period, action_period)
        self._start = default_position(robot) if q is None else start_position(robot, q)
        given = {"kind": action} if isinstance(action, str) else dict(action)
        for key in given:
            if key not in (known := ("kind", "scale", "default", "p", "d", "gravity", "clip")):
                raise InputError(f"action: {unknown('key', key, known)}")
        self.action = ActionLayout.from_settings(
            robot.with_timing(period), **{"default": self._start, "clip": 1.0} | given)
        if self.action.kind is ActionKind.VOLTAGE:
            self.plant.check_voltages(np.ones(robot.n))
        self.observations = ObservationLayout.from_names(observations, robot, self.action.size, history)
        if "wrench_tip" in self.observations.sizes and self.plant.world is None:
            raise InputError("observations: wrench_tip: expected a plant with surfaces, without which nothing measures "
                             "it; give the plant a world")
        if self.action.follows and self.observations.follows not in (None, self.action.follows):
            raise InputError(f"observations: expected references of joints beside actions of kind "
                             f"'{self.action.kind}', received those of the tip link")
        axes = read_quantities(quantities, self.plant)
        self._program = EnvProgram(robot, self.plant, self.observations, self.action, float(period), steps, ticks,
                                   quantities_of_program(tuple(axes)), longest_delay(axes),
                                   longest_delay(axes, COMMAND_DELAY))
        if targets is not None and self._program.follows is None:
            raise InputError("targets: no effect, because neither observations nor action follow a target; leave them "
                             "out, or observe error_q or error_pose")
        self._episodes = EpisodeStarts(self._program, axes, self._start,
                                       targets or default_targets(robot, self._program.follows))
        self._reward = reward or (_no_reward if self._program.follows is None else distance_reward)
        self._terminates = terminates
        self._most = max(1, int(np.rint(as_number(episode, Range(0.0, MAX_MAGNITUDE, unit="s", above=True),
                                                  "episode") / self.step_period)))
        self._threads = usable_processors() if threads is None else _whole(threads, "threads", 1024)
        self._compile()
        self._set_spaces(autoreset_mode)
        self._last_action = np.zeros((self.num_envs, self.action.size))
        self._count = np.zeros(self.num_envs, dtype=int)
        self._over = np.zeros(self.num_envs, dtype=bool)
        self._is_reset = False

    def _compile(self) -> None:
        """Compile the code, with its own arrays."""
        self._bound = self._program.step_procedure().bind_batch(self.num_envs, threads=self._threads)
        self._starting = self._program.start_procedure()

    def __getstate__(self) -> dict[str, Any]:
        """The attributes, with the arrays of the compiled code instead of the code."""
        state = {name: value for name, value in vars(self).items() if name not in ("_bound", "_starting")}
        return state | {"arrays": {path: array.copy() for path, array in self._bound.arrays.items()}}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Restore the attributes of `__getstate__`, and compile the code."""
        arrays = state.pop("arrays")
        self.__dict__.update(state)
        self._compile()
        for path, array in arrays.items():
            self._bound.arrays[path][...] = array

    def _timing(self, period: float, action_period: float | None) -> tuple[int, int]:
        """Control periods of an action, and steps of a control period."""
        PERIOD.checked(period, "period")
        _, steps = whole_steps(period, self.plant.step, "period: expected a multiple of the plant's step")
        given = period if action_period is None else as_number(action_period, Range(0.0, 1000.0, unit="s", above=True),
                                                               "action_period")
        _, ticks = whole_steps(given, period, "action_period: expected a multiple of the period")
        self.step_period = given
        return ticks, steps

    def _set_spaces(self, mode: AutoresetMode | str) -> None:
        try:
            self._mode = AutoresetMode(mode)
        except ValueError:
            raise InputError(f"autoreset_mode: {unknown('mode', mode, [each.value for each in AutoresetMode])}"
                             ) from None
        self.metadata = {"autoreset_mode": self._mode, "render_modes": []}
        bound = np.tile(self.observations.clip, self.observations.history).astype(np.float32)
        self.single_observation_space = Box(-bound, bound, dtype=np.float32)
        self.single_action_space = Box(-self.action.clip, self.action.clip, (self.action.size,), np.float32)
        self.observation_space = batch_space(self.single_observation_space, self.num_envs)
        self.action_space = batch_space(self.single_action_space, self.num_envs)

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None
              ) -> tuple[NDArray[np.float32], dict[str, Any]]:
        """Begin new episodes.

        Args:
            seed: Seed of all random numbers from now on; None: continue the sequence.
            options: ``reset_mask``, bool of shape (N,): the robots that begin new episodes; default: all.

        Returns:
            Observations, shape (N, size), and an empty dictionary.

        Raises:
            InputError: The seed is no whole number, an option is unknown, or the mask does not fit.
        """
        if seed is not None:
            if isinstance(seed, bool) or not isinstance(seed, int | np.integer) or seed < 0:
                raise InputError(f"seed: expected a whole number of 0 or more, received {shown(seed)}")
            super().reset(seed=int(seed))
            self._episodes.forget()
        chosen = np.ones(self.num_envs, dtype=bool)
        for key, value in (options or {}).items():
            if key != "reset_mask":
                raise InputError(f"options: {unknown('key', key, ['reset_mask'])}")
            chosen = np.asarray(value)
            if chosen.dtype != np.bool_ or chosen.shape != (self.num_envs,) or not chosen.any():
                raise InputError(f"options: reset_mask: expected bool of shape ({self.num_envs},) with one True or "
                                 f"more, received {shown(value)}")
        if not (self._is_reset or chosen.all()):
            raise InputError("options: reset_mask: expected a reset of all robots first")
        self._begin(np.flatnonzero(chosen))
        self._over[chosen] = False
        self._is_reset = True
        return self._observed(), {}

    def step(self, actions: ArrayLike) -> tuple[NDArray[np.float32], Array, NDArray[np.bool_], NDArray[np.bool_],
                                                dict[str, Any]]:
        """Apply an action to all robots.

        Args:
            actions: Actions, shape (N, m), clipped to the action space.

        Returns:
            Observations, shape (N, size), rewards, terminations, truncations, shape (N,) each, and information. It has
            ``failed`` for robots that diverged, and with `AutoresetMode.SAME_STEP` ``final_obs`` and ``final_info`` of
            episodes that ended.

        Raises:
            InputError: Actions have a wrong shape or are NaN (no robot moves then); the environment was not reset; or a
                reward or termination has a wrong shape or is NaN.
        """
        self._take(actions)
        if self._program.noisy:
            noises = self._bound.arrays["noises"]
            noises[...] = self.np_random.standard_normal(noises.shape)
        self._bound.run()
        self._count += 1
        step = self._result()
        rewards = _of_robots(self._reward(step), self.num_envs, "reward")
        terminated = step.failed.copy()
        if self._terminates is not None:
            terminated |= _of_robots(self._terminates(step), self.num_envs, "terminates") != 0.0
        truncated = self._count >= self._most
        self._last_action[...] = step.action
        return self._after(rewards, terminated, truncated, step.failed)

    def _take(self, actions: ArrayLike) -> None:
        """Check the actions, and write them into the arrays of the compiled code."""
        if not self._is_reset:
            raise InputError("step: expected reset() before the first step")
        if self._mode is AutoresetMode.DISABLED and self._over.any():
            raise InputError(f"step: robot {int(self._over.argmax())} has ended its episode: expected "
                             "reset(options={'reset_mask': ...}) before, because autoreset_mode is 'Disabled'")
        try:
            given = np.asarray(actions, dtype=np.float64)
        except (TypeError, ValueError):
            raise InputError(f"actions: expected numbers, received {shown(actions)}") from None
        taken = self._bound.arrays["action"]
        if given.shape != taken.shape:
            raise InputError(f"actions: expected shape {taken.shape}, received shape {given.shape}")
        if not np.isfinite(given).all():
            robot, element = np.argwhere(~np.isfinite(given))[0]
            raise InputError(f"actions: expected finite numbers, received {given[robot, element]} for robot {robot}, "
                             f"element {element}; no robot has moved")
        np.clip(given, -self.action.clip, self.action.clip, out=taken)

    def _result(self) -> EnvStep:
        bound, outcome = self._bound, self._bound["outcome"]
        return EnvStep(bound.arrays["state.q"], bound.arrays["state.v"], outcome.effort, outcome.error,
                       outcome.tip_position, outcome.wrench_tip, bound.arrays["action"], self._last_action,
                       bound["task"].reference, outcome.observation, self._count * self.step_period,
                       outcome.failed > 0.0)

    def _after(self, rewards: Array, terminated: NDArray[np.bool_], truncated: NDArray[np.bool_],
               failed: NDArray[np.bool_]) -> tuple[Any, Array, NDArray[np.bool_], NDArray[np.bool_], dict[str, Any]]:
        """Return the results of a step, and restart episodes that ended as the autoreset mode demands."""
        info: dict[str, Any] = {}
        if self._mode is AutoresetMode.NEXT_STEP and self._over.any():
            waiting = self._over
            rewards, failed = np.where(waiting, 0.0, rewards), failed & ~waiting
            terminated, truncated = terminated & ~waiting, truncated & ~waiting
            self._begin(np.flatnonzero(waiting))
        over = terminated | truncated
        if self._mode is AutoresetMode.SAME_STEP and over.any():
            final = np.full(self.num_envs, None, dtype=object)
            observed = self._observed()
            for robot in np.flatnonzero(over):
                final[robot] = observed[robot]
            info |= {"final_obs": final, "_final_obs": over.copy(), "_final_info": over.copy(),
                     "final_info": {"failed": failed & over, "_failed": failed & over}}
            self._begin(np.flatnonzero(over))
        elif failed.any():
            info |= {"failed": failed, "_failed": failed.copy()}
        self._over = over if self._mode is not AutoresetMode.SAME_STEP else np.zeros_like(over)
        return self._observed(), rewards, terminated, truncated, info

    def _observed(self) -> NDArray[np.float32]:
        found: NDArray[np.float32] = self._bound["outcome"].observation.astype(np.float32)
        return found

    def _begin(self, robots: NDArray[np.intp]) -> None:
        """Begin new episodes of some robots, in place in the arrays of the compiled code."""
        given = self._episodes.take(len(robots), self.np_random)
        for path, array in given.items():
            self._bound.arrays[path][robots] = array
        if self._program.noisy:
            given["noise"] = self.np_random.standard_normal((len(robots), 2, self.robot.n))
        form = self._starting.program.arguments
        taken: dict[str, Any] = {name: given[name] for name in form if name in given}
        motors = MotorSide(*(given[f"state.motor_side.{name}"] for name in MotorSide._fields))
        begun = self._starting.batch(**taken | {"task": self._task(given), "state.motor_side": motors})
        for path, array in _paths(begun).items():
            self._bound.arrays[path][robots] = array
        self._last_action[robots], self._count[robots] = 0.0, 0

    def _task(self, given: Mapping[str, Array]) -> Any:
        """The targets of some robots, as a record."""
        task, follows = self._program.example_task(), self._program.follows
        if follows is None:
            return task
        return task._replace(reference=follows(*(given[f"task.reference.{name}"] for name in follows._fields)))


class SingleRobotEnv(gymnasium.Env):  # type: ignore[misc]
    """A `RobotEnv` of one robot as a `gymnasium.Env`, for code without vector environments.

    Args:
        robot: The robot.
        **settings: Arguments of `RobotEnv`, except ``num_envs`` and ``autoreset_mode``.

    Attributes:
        vector: The environment.

    Raises:
        InputError: As in `RobotEnv`.
    """

    def __init__(self, robot: Robot, **settings: Any) -> None:
        self.vector = RobotEnv(robot, 1, autoreset_mode=AutoresetMode.DISABLED, threads=1, **settings)
        self.observation_space = self.vector.single_observation_space
        self.action_space = self.vector.single_action_space
        self.metadata: dict[str, Any] = {"render_modes": []}

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None
              ) -> tuple[NDArray[np.float32], dict[str, Any]]:
        """As in `RobotEnv`, without an axis of robots."""
        super().reset(seed=seed)
        observations, info = self.vector.reset(seed=seed, options=options)
        return observations[0], info

    def step(self, action: ArrayLike) -> tuple[NDArray[np.float32], float, bool, bool, dict[str, Any]]:
        """As in `RobotEnv`, without an axis of robots."""
        observations, rewards, terminated, truncated, info = self.vector.step(np.asarray(action)[None])
        return observations[0], float(rewards[0]), bool(terminated[0]), bool(truncated[0]), {
            name: bool(value[0]) for name, value in info.items() if not name.startswith("_")}


def _paths(records: Mapping[str, Any]) -> dict[str, Array]:
    """Return the arrays of named records by path."""
    found: dict[str, Array] = {}
    for name, value in records.items():
        form: Any = form_of(value, shapes=False)
        found |= dict(zip(array_shapes(name, form), flatten(form, value, name), strict=True))
    return found


def _of_robots(given: ArrayLike, count: int, name: str) -> Array:
    """Check the result of a user's function, shape (N,)."""
    array = np.asarray(given, dtype=np.float64)
    if array.shape != (count,) or np.isnan(array).any():
        received = "NaN" if array.shape == (count,) else f"shape {array.shape}"
        raise InputError(f"{name}: expected one number for each of {count} robots, received {received}")
    return array


def _whole(given: Any, name: str, most: int) -> int:
    if isinstance(given, bool) or not isinstance(given, int | np.integer) or not 1 <= given <= most:
        raise InputError(f"{name}: expected a whole number from 1 to {most}, received {shown(given)}")
    return int(given)
