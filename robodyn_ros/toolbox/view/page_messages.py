# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Checks of the messages that pages send: any program can send any bytes, names and values by the page's protocol.

Every message is checked before viser sees it, so that handlers get values that their widget can have.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import msgspec
import viser

from robodyn_ros.base.errors import InputError, shown

LARGEST_MESSAGE = 64 * 2**10
"""Bytes of a message; what a page sends is below a kilobyte."""
FARTHEST = 1e4
"""Greatest coordinate of the camera and of the tip handle [m]."""
LARGEST_PICTURE = 1e5
"""Greatest height and width of a picture [pixels]."""

_Vector = tuple[float, float, float]
_Quaternion = tuple[float, float, float, float]


class _Camera(msgspec.Struct, tag="ViewerCameraMessage", forbid_unknown_fields=True):
    wxyz: _Quaternion
    position: _Vector
    fov: float
    near: float
    far: float
    image_height: float
    image_width: float
    look_at: _Vector
    up_direction: _Vector

    def check(self, _: viser.ViserServer) -> None:
        _check_quaternion(self.wxyz)
        for what, values in (("position", self.position), ("look_at", self.look_at), ("up", self.up_direction)):
            _check_numbers(what, values, -100.0 * FARTHEST, 100.0 * FARTHEST)
        _check_numbers("fov", [self.fov], 1e-3, math.pi)
        _check_numbers("near and far", [self.near, self.far], 0.0, 1e9)
        _check_numbers("size of the picture", [self.image_height, self.image_width], 1.0, LARGEST_PICTURE)


class _Values(msgspec.Struct, forbid_unknown_fields=True):
    value: bool | float | str


class _Widget(msgspec.Struct, tag="GuiUpdateMessage", forbid_unknown_fields=True):
    uuid: str
    updates: _Values

    def check(self, server: viser.ViserServer) -> None:
        handle = server.gui._gui_input_handle_from_uuid.get(self.uuid)
        if handle is not None:  # None: removed meanwhile; viser ignores the message
            _check_value(handle, self.updates.value)


class _Drag(msgspec.Struct, tag="TransformControlsUpdateMessage", forbid_unknown_fields=True):
    name: str
    wxyz: _Quaternion
    position: _Vector
    owner: str = ""

    def check(self, _: viser.ViserServer) -> None:
        _check_quaternion(self.wxyz)
        _check_numbers("position", self.position, -FARTHEST, FARTHEST)


class _DragStart(msgspec.Struct, tag="TransformControlsDragStartMessage", forbid_unknown_fields=True):
    name: str
    owner: str = ""

    def check(self, _: viser.ViserServer) -> None:
        """Nothing to check: viser ignores unknown names."""


class _DragEnd(_DragStart, tag="TransformControlsDragEndMessage"):
    pass


_decode = msgspec.msgpack.Decoder(_Camera | _Widget | _Drag | _DragStart | _DragEnd).decode


class PageMessages:
    """The checks of one server.

    Args:
        on_refused: Called with a kind and a sentence for each message that is refused.

    Attributes:
        server: The server; None, and everything is refused, until it is known.
    """

    def __init__(self, on_refused: Callable[[str, str], None]) -> None:
        self.server: viser.ViserServer | None = None
        self._on_refused = on_refused

    def accept(self, frame: bytes | str) -> bool:
        """Whether viser may handle a message; one that it may not is reported."""
        try:
            if self.server is None:
                raise InputError("it came before the page was ready")
            if isinstance(frame, str):
                raise InputError("expected bytes, received text")
            _decode(frame).check(self.server)
        except (InputError, msgspec.MsgspecError, RecursionError) as error:
            self._on_refused("page messages", f"a message of a page was refused: {error}")
            return False
        return True


def _check_value(handle: Any, value: bool | float | str) -> None:
    """Check a value of a widget.

    Raises:
        InputError: The widget cannot have it.
    """
    name = getattr(handle, "label", "widget")
    if isinstance(handle, viser.GuiButtonGroupHandle | viser.GuiDropdownHandle):
        if value not in handle.options:
            raise InputError(f"{name}: expected one of {shown(handle.options)}, received {shown(value)}")
    elif isinstance(handle, viser.GuiButtonHandle | viser.GuiCheckboxHandle):
        if not isinstance(value, bool):
            raise InputError(f"{name}: expected true or false, received {shown(value)}")
    elif isinstance(handle, viser.GuiSliderHandle):
        if isinstance(value, bool | str):
            raise InputError(f"{name}: expected a number, received {shown(value)}")
        rounding = 0.5 * handle.step  # a browser rounds to steps from the lower end
        _check_numbers(name, [value], handle.min - rounding, handle.max + rounding)
    else:
        raise InputError(f"{name}: cannot be changed by a page")
    if handle.disabled:
        raise InputError(f"{name} is disabled")


def _check_quaternion(wxyz: Sequence[float]) -> None:
    if not 0.5 < math.hypot(*wxyz) < 2.0:  # false for NaN, too
        raise InputError(f"expected a unit quaternion, received {shown(wxyz)}")


def _check_numbers(what: str, values: Sequence[float], lower: float, upper: float) -> None:
    for value in values:
        if not lower <= value <= upper:  # false for NaN, too
            raise InputError(f"{what}: expected a number from {lower:g} to {upper:g}, received {value:g}")
