# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Immense, deep and endless files, and messages about them: refused in a second, with little memory, in one line."""

import os
import resource
import stat
import time

import pytest
from urdf_parts import joint, link, one_joint, robot

from robodyn_ros import Robot
from robodyn_ros.actuation.configuration import HardwareSettings
from robodyn_ros.base.bounded_files import MAX_YAML_DEPTH, read_yaml
from robodyn_ros.base.errors import MAX_MESSAGE_LENGTH, DescriptionError, InputError, RobodynError, printable, shown
from robodyn_ros.description.resources import actuators_file, robot_file

BOMB = "a: &a0 [x]\n" + "".join(f"b{i}: &a{i + 1} [{', '.join([f'*a{i}'] * 10)}]\n" for i in range(12))


def refused_quickly(read, given, megabytes=250):
    """Message of the error of the family that a call raises, within a second of this thread and with little memory."""
    before, begin = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, time.thread_time()
    with pytest.raises(RobodynError) as refusal:
        read(given)
    assert time.thread_time() - begin < 1.0
    assert (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024 < megabytes
    return str(refusal.value)


def chain(count):
    joints = (joint(f"j{i}", f"l{i}", f"l{i + 1}") for i in range(count - 1))
    return robot(*(link(f"l{i}") for i in range(count)), *joints)


@pytest.mark.parametrize(("read", "given", "expected"), [
    (Robot.from_urdf_text, robot('<link name="l"/>' * 1_100_000), "at most 16777216 characters"),
    (Robot.from_urdf_text, chain(20_000), "it has 20000 links; a robot has at most 5000"),
    (Robot.from_urdf_text, chain(400), "it has 399 moving joints; a robot has at most 300"),
    (Robot.from_dh, [(1.0, 0.0, 0.0, 0.0)] * 10**6, "it has more than 300 rows"),
], ids=["links", "chain", "joints", "table"])
def test_immense_robots(read, given, expected):
    assert expected in refused_quickly(read, given)


@pytest.mark.parametrize(("content", "expected"), [
    (BOMB, "more than 20000 nodes with its aliases expanded"),
    ("[" * 5000 + "]" * 5000, f"more than {MAX_YAML_DEPTH} levels"),
    ("".join(f"{' ' * depth}a:\n" for depth in range(600)), f"more than {MAX_YAML_DEPTH} levels"),
    ("&a [*a]", "contains itself"),
    ("a: &a {<<: *a}", "contains itself"),
    ("a: " + "1" * 5000, "integer"),
    ("a: 2001-99-99", "month"),
    ("a: " + "b" * 10**6, "at most 262144 bytes"),
], ids=["bomb", "deep", "indented", "itself", "merged itself", "integer", "date", "large"])
def test_immense_yaml(content, expected, tmp_path):
    path = tmp_path / "hardware.yaml"
    path.write_text(content)
    message = refused_quickly(HardwareSettings.from_yaml, path)
    assert expected in message and message.startswith(str(path)) and len(message) < 1000


def test_what_aliases_are_for(tmp_path):
    path = tmp_path / "hardware.yaml"
    path.write_text("base: &base {k: 1}\none: {<<: *base, l: 2}\ntwo: *base\n")
    assert read_yaml(path) == {"base": {"k": 1}, "one": {"k": 1, "l": 2}, "two": {"k": 1}}


@pytest.mark.parametrize("read", [Robot.from_urdf, robot_file, actuators_file, HardwareSettings.from_yaml])
@pytest.mark.parametrize("name", ["a" * 300, "~nosuch/x", "a\0b", "fifo", ".", "/dev/zero"])
def test_paths_that_are_no_files(read, name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    os.mkfifo("fifo")
    with pytest.raises(RobodynError) as refusal:
        read(name)
    assert len(str(refusal.value)) < 1500


def test_a_file_whose_content_is_yet_to_come(tmp_path, monkeypatch):
    """Like /proc/kmsg, which claims to be a regular file; here a FIFO with a silent writer."""
    os.mkfifo(tmp_path / "fifo")
    reader = os.open(tmp_path / "fifo", os.O_RDONLY | os.O_NONBLOCK)
    writer = os.open(tmp_path / "fifo", os.O_WRONLY)
    monkeypatch.setattr(stat, "S_ISREG", lambda mode: True)
    try:
        with pytest.raises(InputError, match="fifo: expected .* no content yet"):
            HardwareSettings.from_yaml(tmp_path / "fifo")
    finally:
        os.close(reader)
        os.close(writer)


@pytest.mark.parametrize("name", ["a" * 300, "a&#10;b", "a&#155;2Jb"])
def test_names_that_nobody_can_print(name):
    with pytest.raises(DescriptionError, match=r"line 3.*has a name of \d+ char.*at most 200 printable") as refusal:
        Robot.from_urdf_text(one_joint().replace('"j"', f'"{name}"'))
    assert str(refusal.value).isprintable()


def test_messages_of_the_family_are_cut_and_escaped():
    message = str(InputError("begin \x1b[2J\a\u202e" + "x" * 10**6 + "end"))
    assert message.startswith(r"begin \x1b[2J\x07\u202exxx") and message.endswith("xxxend")
    assert "characters left out" in message and len(message) < MAX_MESSAGE_LENGTH + 100
    assert printable("several\nlines") == "several\nlines"


def test_values_are_shown_cut():
    value = {"b": 1}
    for _ in range(100):
        value = {"b": [value] * 10}
    assert len(shown(value)) < 10_000  # of 10**100
    assert shown({"b": 1, "a": [0.5, "x"]}) == "{'b': 1, 'a': [0.5, 'x']}"
    assert shown(10**5000) == "an integer of 16610 bits"
    assert len(shown("x" * 10**6)) < 200 and len(shown(list(range(10**5)))) < 200
