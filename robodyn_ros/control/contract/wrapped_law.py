# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Classes of laws with something behind them, as ``pd+safety`` names it: the safety filter, friction compensation."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from functools import reduce
from inspect import signature
from typing import Any

from robodyn_ros.base.errors import InputError
from robodyn_ros.control.contract.controller import Law
from robodyn_ros.control.contract.parameters import Parameters

AnyLaw = type[Law[Any, Any, Any]]

_made: dict[type, tuple[type, tuple[Callable[[Any], AnyLaw], ...]]] = {}
"""Class of the law, and the functions that made further classes out of it, by the last of these."""


def check_law(law_class: type, purpose: str) -> None:
    """Refuse a controller that is not a `Law`, for which something can be compiled together with it.

    Raises:
        InputError: It is none; the message names the purpose.
    """
    if not issubclass(law_class, Law):
        raise InputError(f"{law_class.__name__}: expected a Law for {purpose}, received a Controller, which cannot be "
                         "compiled")


def wraps(law_class: type) -> tuple[Callable[[Any], AnyLaw], ...]:
    """Return the functions that made a class out of a law's, the first one first; empty: it is a law's own class."""
    return _made[law_class][1] if law_class in _made else ()


def takes_memory(law_class: AnyLaw) -> bool:
    """Whether the function of a law takes a memory."""
    return len(signature(law_class.law).parameters) > 4


def finish(wrapper: AnyLaw, wrap: Callable[[Any], AnyLaw], suffix: str, added: type[Parameters]) -> AnyLaw:
    """Give a subclass of a law's class its name, and parameters: those of the law and further ones.

    Args:
        wrapper: The subclass, to be changed.
        wrap: The function that makes it of the law's class, found by its name when parameters are unpickled.
        suffix: Of the name.
        added: Class of the further parameters.

    Returns:
        The subclass.
    """
    law_class: Any = wrapper.__base__
    first, before = _made.get(law_class, (law_class, ()))
    chain = (*before, wrap)
    own = () if law_class.Parameters is Parameters else (law_class.Parameters,)

    class WrappedParameters(*own, added):  # type: ignore[misc, valid-type]
        """Parameters of a law and of what is behind it."""

        def __reduce__(self) -> Any:
            values = {item.name: getattr(self, item.name) for item in dataclasses.fields(self)}
            return _parameters_of, (first, chain, values)

    WrappedParameters.__module__ = law_class.Parameters.__module__
    WrappedParameters.__qualname__ = f"{law_class.Parameters.__qualname__}{suffix}"
    made: Any = wrapper
    made.Parameters = dataclasses.dataclass(frozen=True, eq=False)(WrappedParameters)
    _made[wrapper] = first, chain
    made.__module__ = law_class.__module__
    made.__qualname__, made.__name__ = f"{law_class.__qualname__}{suffix}", f"{law_class.__name__}{suffix}"
    return wrapper


def _parameters_of(first: Any, chain: tuple[Callable[[Any], AnyLaw], ...], values: dict[str, Any]) -> Parameters:
    """Unpickle parameters."""
    made: Any = reduce(lambda law_class, wrap: wrap(law_class), chain, first)
    found: Parameters = made.Parameters(**values)
    return found
