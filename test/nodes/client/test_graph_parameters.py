# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Values of parameters as `robodyn set` reads them: the numbers of files, of `--set`, `move` and `push`."""

from dataclasses import dataclass

import pytest
from rcl_interfaces.msg import ParameterDescriptor, ParameterType

from robodyn_ros.base.bounded_files import read_yaml
from robodyn_ros.base.errors import InputError
from robodyn_ros.base.fields import Field, declare, section
from robodyn_ros.commands.quantities import ANGLES, parse_quantity
from robodyn_ros.nodes.client.graph_parameters import to_value

NUMBERS = {"1e-3": 0.001, "1E5": 1e5, "-.5e-2": -0.005, "010": 10, "-010": -10, "+3": 3, "0x1F": 31, "5.": 5.0, "0": 0}
NO_NUMBERS = ("1:30", "1:30.5", "1_000", "1e", "0b11", "１２", "e3", "[1")


@dataclass(frozen=True)
class OneNumber:
    value: float = declare(0.0, minimum=-1e9, maximum=1e9, description="A number")


def readings(text, file):
    file.write_text(f"value: {text}")
    descriptor = ParameterDescriptor(name="x", type=ParameterType.PARAMETER_DOUBLE)
    return (lambda: section(OneNumber, "x", read_yaml(file)).value, lambda: to_value(text, descriptor),
            lambda: Field("x", 1.0, "X", minimum=-1e9, maximum=1e9).read(text, "x"),
            *([] if text.startswith("0x") else [lambda: parse_quantity(text, ANGLES, "x")]))


@pytest.mark.parametrize("text", NUMBERS)
def test_numbers_are_the_same_everywhere(text, tmp_path):
    """PyYAML takes 1e-3 for text, 010 for 8 and 1:30 for 90, as YAML 1.1 has it."""
    for read in readings(text, tmp_path / "file.yaml"):
        assert read() == NUMBERS[text] and type(read()) is float


@pytest.mark.parametrize("text", NO_NUMBERS)
def test_other_words_are_no_numbers_anywhere(text, tmp_path):
    for read in readings(text, tmp_path / "file.yaml"):
        with pytest.raises(InputError, match="expected a"):
            read()


def test_infinity_is_a_number_where_it_is_allowed():
    for text in ("inf", ".inf", ".Inf"):
        assert Field("x", 1.0, "X", minimum=0.0, or_infinite=True).read(text, "x") == float("inf")
