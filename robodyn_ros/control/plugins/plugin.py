# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.


"""A controller with its name, as the control loop runs it."""

from __future__ import annotations

from typing import Any, NamedTuple

from robodyn_ros.control.contract.controller import Controller


class Plugin(NamedTuple):
    """A controller."""

    name: str  # as it was given
    controller: Controller
    memory_names: tuple[str, ...] = ()  # see `Law.memory_names`

    @property
    def follows(self) -> Any:
        """Class of the references that it follows, or None; asks none of its own code.

        A controller may choose it when it is made, as one that reads a file does.
        """
        return getattr(self.controller, "__dict__", {}).get("follows", type(self.controller).follows)
