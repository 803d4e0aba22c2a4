# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Weights of the network of the controller ``neural``.

Written by ``python tools/train_neural.py --generations 400 --seed 0``.
"""

WEIGHTS = (
    0.872433,
    0.421506,
    -1.415729,
    -0.598988,
    -0.477241,
    -0.171770,
    -0.163385,
    0.377292,
    0.124876,
    -1.250034,
    -0.743864,
    0.614546,
    0.193607,
    0.145593,
    0.037818,
    0.614046,
    -1.055666,
    -0.123624,
    0.287004,
    0.310005,
    -0.895941,
    -0.184238,
    -0.377370,
    1.035750,
    0.155946,
    0.144890,
    0.853079,
    -0.105177,
    0.924823,
    -1.442530,
    0.530477,
    -0.508781,
    -0.603071,
    -0.056812,
    0.493037,
    0.370630,
    1.272748,
    0.040850,
    0.014925,
    -0.024798,
    -1.205637,
    0.281839,
    -0.237009,
    0.644073,
    0.766607,
    0.930287,
    -0.341262,
    -0.206605,
    2.903703,
    -0.406399,
)
