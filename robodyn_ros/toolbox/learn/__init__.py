# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Simulated robots as environments to train laws in; needs the extra ``learn``."""

from robodyn_ros.toolbox.learn.policy_files import copy_policy, write_policy
from robodyn_ros.toolbox.learn.robot_env import EnvStep, RobotEnv, SingleRobotEnv, distance_reward
from robodyn_ros.toolbox.learn.stable_baselines import StableBaselinesEnv, policy_layers

__all__ = ["EnvStep", "RobotEnv", "SingleRobotEnv", "StableBaselinesEnv", "copy_policy", "distance_reward",
           "policy_layers", "write_policy"]
