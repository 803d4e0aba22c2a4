# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Unknown arguments of a launch file are refused, if it is the one that the command line starts."""

import pytest

from robodyn_ros.base.errors import InputError
from robodyn_ros.commands.launch_arguments import refuse_unknown

FILE = "/share/robodyn_ros/launch/simulation.launch.py"
KNOWN = ("robot", "controller", "restarts")


@pytest.mark.parametrize("words", [["ros2", "launch", "robodyn_ros", "simulation.launch.py"],
                                   ["ros2", "launch", "./launch/simulation.launch.py"]])
@pytest.mark.parametrize("argument, advice", [("robt:=scara", "did you mean 'robot'?"),
                                              ("speed:=1", "it has robot, controller, restarts")])
def test_unknown_arguments_are_refused(words, argument, advice):
    with pytest.raises(InputError) as refusal:
        refuse_unknown(FILE, [*words, "controller:=pd", argument], KNOWN)
    assert argument.partition(":=")[0] in str(refusal.value) and advice in str(refusal.value)


def test_known_ones_launchs_own_and_those_of_a_file_that_includes_this_one_are_taken():
    refuse_unknown(FILE, ["ros2", "launch", "robodyn_ros", "simulation.launch.py", "robot:=a:=b", "emulate_tty:=true"],
                   KNOWN)
    refuse_unknown(FILE, ["ros2", "launch", "cell", "cell.launch.py", "robt:=scara"], KNOWN)
