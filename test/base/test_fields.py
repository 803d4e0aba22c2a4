# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Sections of YAML files: accepted content, and error messages for the rest."""

from dataclasses import dataclass

import numpy as np
import pytest

from robodyn_ros import InputError
from robodyn_ros.base.bounded_files import read_yaml
from robodyn_ros.base.fields import Field, Unit, declare, declared, section


@dataclass(frozen=True)
class Example:
    name: str
    mass: float = declare(minimum=0.0, above=True, unit="kg", description="Mass")
    offset: float | None = declare(None, minimum=-1.0, maximum=1.0, description="Offset")
    rigid: bool = declare(True, description="Whether it is rigid")
    count: int = declare(3, minimum=1, maximum=9, description="Count")
    place: list = declare([0.0] * 3, length=3, unit="m", minimum=-1.0, maximum=1.0, description="Place")


def test_whole_numbers_are_numbers():
    assert section(Example, "here", {"name": "a", "mass": 2e-3}) == Example("a", 0.002)
    full = {"name": "a", "mass": 1, "offset": -1, "rigid": False}
    assert section(Example, "here", full) == Example("a", 1.0, -1.0, False)
    assert section(Example, "here", full | {"count": 4.0, "place": [1, 1e-1, 0]}).place == [1.0, 0.1, 0.0]
    assert section(Example, "here", {"name": "a", "mass": 1, "offset": None}).offset is None


@pytest.mark.parametrize(("values", "message"), [
    (None, "here: expected name, mass, offset, rigid, count, place; missing: name, mass"),
    ([1], r"here: expected keys and values, received \[1\]"),
    ({"name": "a", "mass": 1, "ridgid": True}, "here: unknown key 'ridgid': did you mean 'rigid'"),
    ({"name": "a", "mass": 0}, "here: mass: expected a finite number above 0 and up to 1e.09 .kg., received 0"),
    ({"name": "a", "mass": None}, "here: mass: expected a finite number above 0 and up to 1e.09 .kg., received None"),
    ({"name": "a", "mass": True}, "here: mass: expected a finite number above 0 and up to 1e.09 .kg., received True"),
    ({"name": "a", "mass": [1]}, r"here: mass: expected a finite number above 0 and up to 1e.09 .kg., received \[1\]"),
    ({"name": "a", "mass": ".inf"}, "here: mass: expected a finite number above 0 and up to 1e.09 .kg., received"),
    ({"name": "a", "mass": 1, "offset": 1.5}, "here: offset: expected a finite number from -1 to 1, received 1.5"),
    ({"name": "a", "mass": 1, "rigid": "yes"}, "here: rigid: expected true or false, received 'yes'"),
    ({"name": "a", "mass": 1, "count": 2.5}, "here: count: expected a whole number from 1 to 9, received 2.5"),
    ({"name": "a", "mass": 1, "count": 10**400}, "here: count: expected a whole number from 1 to 9, received 1000"),
    ({"name": "a", "mass": 1, "place": [0, 1]}, r"here: place: expected a list of 3, each .* \[m\], rec"),
    ({"name": "a", "mass": 1, "place": [0, 1, "x"]}, "here: place: expected a list of 3"),
    ({"name": "a", "mass": 1, "place": [0, 1, 2]}, "here: place: expected a list of 3"),
    ({"name": "a", "mass": 1, "place": 1.0}, "here: place: expected a list of 3"),
])
def test_what_does_not_fit_is_named(values, message):
    with pytest.raises(InputError, match=message):
        section(Example, "here", values)


def test_files_that_are_no_yaml_are_named(tmp_path):
    good, bad, binary = tmp_path / "good.yaml", tmp_path / "bad.yaml", tmp_path / "binary.yaml"
    good.write_text("a: [1, 2]")
    bad.write_text("a: [1")
    binary.write_bytes(b"\xff\xfe\x00")
    assert read_yaml(good) == {"a": [1, 2]}
    for path in (bad, binary, tmp_path / "none.yaml", tmp_path):
        what = "a regular file, received a directory" if path is tmp_path else "a readable YAML file"
        with pytest.raises(InputError, match=f"expected {what}"):
            read_yaml(path)


def test_one_declaration_serves_options_and_documents():
    pitch = Field("pitch", 1.5, "Pitch of the screw; 0: none", unit=Unit("rad", "m"), minimum=0.0, maximum=2.0)
    assert pitch.text == "Pitch of the screw [rad or m]; 0: none."
    assert pitch.read("2e-1", "here") == 0.2
    with pytest.raises(InputError, match=r"^here: expected a finite number from 0 to 2 \[rad or m\], received 'x'$"):
        pitch.read("x", "here")
    assert list(declared(Example)) == ["mass", "offset", "rigid", "count", "place"]
    assert declared(Example)["mass"].name == "mass" and declared(Example)["mass"].unit == "kg"


def test_a_default_that_numpy_computed_takes_any_number():
    assert Field("gain", np.float64(1.0), "A gain").checked(2.0, "gain") == 2.0
