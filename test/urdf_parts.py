# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Pieces of URDF for tests: small robots in a line or two."""

from __future__ import annotations

import warnings
from pathlib import Path

import pytest

from robodyn_ros.base.errors import DescriptionError
from robodyn_ros.description.urdf import load_urdf_text

INERTIA = '<inertia ixx="0.02" iyy="0.03" izz="0.04" ixy="0" ixz="0" iyz="0"/>'
INERTIAL = f'<inertial><origin xyz="0.1 0.2 0.3"/><mass value="2"/>{INERTIA}</inertial>'
LIMIT = '<limit lower="-1" upper="2" velocity="3" effort="4"/>'


def link(name: str, content: str = INERTIAL) -> str:
    """A link, by default with an inertia."""
    return f'<link name="{name}">{content}</link>'


def joint(
    name: str,
    parent: str,
    child: str,
    kind: str = "revolute",
    *,
    axis: str = "0 0 1",
    limit: str = LIMIT,
    origin: str = '<origin xyz="0 0 0.5"/>',
    extra: str = "",
) -> str:
    """A joint, by default a revolute one about z."""
    ends = f'<parent link="{parent}"/><child link="{child}"/>'
    return f'<joint name="{name}" type="{kind}">{ends}{origin}<axis xyz="{axis}"/>{limit}{extra}</joint>'


def robot(*parts: str) -> str:
    """A robot, one part to a line: part i stands in line i + 1."""
    return "\n".join(['<robot name="test">', *parts, "</robot>"])


def one_joint(content: str = INERTIAL, **options: str) -> str:
    """A base, a joint ``j`` in line 3, and a link ``b`` in line 4 with the given content."""
    return robot(link("a", ""), joint("j", "a", "b", **options), link("b", content))


def xacro_that_runs(written: Path) -> str:
    """A xacro file that writes an empty file when it is expanded: its lambda leaves the sandbox of xacro."""
    classes = "().__class__.__base__.__subclasses__()"
    system = f"[c for c in {classes} if c.__name__ == '_wrap_close'][0].__init__.__globals__['system']"
    return (f'<robot name="r" xmlns:xacro="http://www.ros.org/wiki/xacro"><xacro:property name="p" value="'
            f"${{(lambda: {system}('touch {written}'))()}}\"/><link name=\"l\"><a b=\"${{p}}\"/></link></robot>")


def load_with_warnings(xml: str):
    """The model, and the messages of its warnings."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model = load_urdf_text(xml)
    messages = [str(warning.message) for warning in caught]
    if messages:
        with pytest.raises(DescriptionError):
            load_urdf_text(xml, strict=True)
    return model, messages


def only(messages: list[str]) -> str:
    assert len(messages) == 1, messages
    return messages[0]
