# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""The type of the dynamics that laws receive has every function of `Dynamics`, with the same arguments."""

import inspect

from robodyn_ros.control import DynamicsLike
from robodyn_ros.dynamics.robot_dynamics import Dynamics


def functions(cls):
    """Signatures of the functions that a class has or inherits, by name; without properties and private names."""
    return {name: inspect.signature(member) for name, member in inspect.getmembers(cls, inspect.isfunction)
            if not name.startswith("_")}


def test_every_function_of_dynamics_with_its_arguments():
    ours, theirs = functions(DynamicsLike), functions(Dynamics)
    assert ours.keys() == theirs.keys()
    for name, signature in theirs.items():
        expected = [(each.name, each.kind, each.default) for each in signature.parameters.values()]
        assert [(each.name, each.kind, each.default) for each in ours[name].parameters.values()] == expected, name
