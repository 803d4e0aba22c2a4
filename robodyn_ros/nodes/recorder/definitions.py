# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Message definitions, stored in recordings so that readers need no ROS installation."""

from __future__ import annotations

import importlib
import re
from pathlib import Path
from typing import Any

from ament_index_python.packages import PackageNotFoundError, get_package_share_directory

from robodyn_ros.base.errors import RecordingError, shown

_TYPE = re.compile(r"[a-z][a-z0-9_]*/(msg|srv|action)/[A-Za-z]\w*")
_SEPARATOR = f"\n{'=' * 80}\nMSG: "
_NESTED = re.compile(r"(\w+)/(\w+)")
"""A message type inside the type of a field, such as ``sequence<geometry_msgs/Point, 3>``."""


def message_class(type_name: str) -> type[Any]:
    """Return the class of a message type.

    Args:
        type_name: Such as ``sensor_msgs/msg/JointState``.

    Raises:
        RecordingError: Its package is not installed here.
    """
    if not _TYPE.fullmatch(type_name):
        raise RecordingError(f"expected the name of a message type, such as sensor_msgs/msg/JointState, received "
                             f"{shown(type_name)}")
    package, kind, name = type_name.split("/")
    try:
        get_package_share_directory(package)  # only modules of interface packages
        found: type[Any] = getattr(importlib.import_module(f"{package}.{kind}"), name)
    except (ImportError, AttributeError, PackageNotFoundError):
        raise RecordingError(f"{type_name} is not installed here: source the workspace that has it") from None
    return found


def definition(type_name: str) -> str:
    """Return the definition of a message type, followed by the definitions of nested types (format ros2msg).

    Raises:
        RecordingError: The type or a nested one is not installed here as a .msg file.
    """
    names = [type_name]
    for name in names:  # grows by nested types
        for field in message_class(name).get_fields_and_field_types().values():
            if nested := _NESTED.search(field):
                used = f"{nested[1]}/msg/{nested[2]}"
                if used not in names:
                    names.append(used)
    first, *others = names
    return _text(first) + "".join(f"{_SEPARATOR}{name.replace('/msg/', '/')}\n{_text(name)}" for name in others)


def _text(type_name: str) -> str:
    package, _, name = type_name.split("/")
    try:
        return (Path(get_package_share_directory(package)) / "msg" / f"{name}.msg").read_text(encoding="utf-8")
    except (PackageNotFoundError, OSError):
        raise RecordingError(f"the definition of {type_name} is not installed here as a .msg file") from None
