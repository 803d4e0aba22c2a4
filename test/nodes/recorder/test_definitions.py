# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Names of message types, which come from the graph or a recording, import interfaces and nothing else."""

import sys

import pytest

pytest.importorskip("rclpy")

from robodyn_ros.base.errors import RecordingError  # noqa: E402
from robodyn_ros.nodes.recorder.definitions import definition, message_class  # noqa: E402


@pytest.mark.parametrize("name", ["antigravity/msg/X", "this/msg/X", "evil/msg/Law", "os/path/x", "a", "", "a/b/c/d",
                                  "../x/msg/Y", "sensor_msgs/msg/../x", "sensor_msgs/msg/__doc__", "x" * 10**5])
def test_a_name_that_is_no_installed_type_imports_nothing(name, tmp_path, monkeypatch):
    (tmp_path / "evil").mkdir()
    (tmp_path / "evil" / "msg.py").write_text("class Law: pass")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(RecordingError) as refusal:
        message_class(name)
    assert "\n" not in str(refusal.value) and len(str(refusal.value)) < 500
    assert not {"antigravity", "this", "evil", "evil.msg"} & sys.modules.keys()


def test_installed_types_have_definitions_with_those_that_they_use():
    assert message_class("sensor_msgs/msg/JointState").__name__ == "JointState"
    text = definition("sensor_msgs/msg/JointState")
    assert "float64[] position" in text and "MSG: std_msgs/Header" in text and "MSG: builtin_interfaces/Time" in text
