# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""The transfer after a swap in C, see `control.contract.transfer`: a part of the struct and of the tick of a law."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from robodyn_ros.compile import trace
from robodyn_ros.control.contract.compiled_law import memory_numbers
from robodyn_ros.control.contract.controller import JointReference, Law
from robodyn_ros.control.contract.transfer import Transfer, adds_transfer, joined_reference, transferred
from robodyn_ros.description.model import Array
from robodyn_ros.toolbox.export.c_function import CFunction


class CTransfer:
    """The transfer of a law.

    Args:
        law: The law.
        memory: Its initial memory at any state.
        prefix: Of its names in C.
        real: Type of all numbers.

    Attributes:
        functions: The formulas.
        joins: Whether the law follows joints, so that its reference joins the motion.
        member: Line of the law's struct: offset, elapsed, duration, lead.
        declaration: Of the function that begins a transfer.
    """

    def __init__(self, law: Law[Any, Any, Any], memory: Any, prefix: str, real: str) -> None:
        n, limit = law.robot.n, law.robot.effort_limit
        self._n, self._prefix, self._real = n, prefix, real
        self.joins = law.follows is JointReference
        self._is_limited = adds_transfer(memory)
        self._place = memory_numbers(memory).size - n - 2  # of the law's own transfer, the last of its memory
        shapes = {"transfer": (n + 2,), "period": (1,)}

        def of(numbers: Array) -> Transfer:
            return Transfer(numbers[:n], numbers[n:n + 1], numbers[n + 1:])

        def join(transfer: Array, period: Array, lead: Array, q_d: Array, v_d: Array, a_d: Array, q: Array) -> Array:
            reference, lead = joined_reference(of(transfer), lead, JointReference(q_d, v_d, a_d), q, period)
            return np.concatenate([*reference, lead])

        def go_over(transfer: Array, period: Array, effort: Array) -> Array:
            wish, after = transferred(of(transfer), effort, limit, period)
            return np.concatenate([wish, *after])

        self.functions = [CFunction(f"{prefix}_go_over", trace(go_over, shapes | {"effort": (n,)}), (),
                                    {"wish": (n,), "after": (n + 2,)})]
        if self.joins:
            more = dict.fromkeys(("lead", "q_d", "v_d", "a_d", "q"), (n,))
            self.functions.append(CFunction(f"{prefix}_join", trace(join, shapes | more), (),
                                            dict.fromkeys(("q_r", "v_r", "a_r", "after"), (n,))))
        self.member = f"    {real} transfer[{2 * n + 2}];\n"
        self.declaration = (f"int {prefix}_transfer({prefix} *law, const {real} effort[{n}], {real} duration)")

    def begin(self) -> str:
        """The function that begins a transfer."""
        n, is_finite = self._n, f"{self._prefix}_is_finite"
        lines = [self.declaration, "{", "    int i;",
                 f"    if (!{is_finite}(effort, {n}) || !{is_finite}(&duration, 1) || duration < 0)",
                 "        return -1;",
                 f"    for (i = 0; i < {n}; i++)", "        law->transfer[i] = duration > 0 ? effort[i] : 0;",
                 f"    law->transfer[{n}] = duration > 0 ? -1 : 0;", f"    law->transfer[{n + 1}] = duration;"]
        if self._is_limited:
            lines += [f"    for (i = 0; i < {n + 2}; i++)",
                      f"        law->memory[{self._place} + i] = law->transfer[i];"]
        return "\n".join([*lines, "    return 0;", "}"])

    def before(self) -> Iterator[str]:
        """Lines of the tick before the law's formula, which reads ``given`` in the place of ``reference``."""
        n, prefix = self._n, self._prefix
        yield f"    const int goes_over = law->transfer[{n + 1}] > 0;"
        yield f"    {self._real} wish[{n}], after[{n + 2}];"
        if self.joins:
            yield f"    {self._real} lead[{n}];"
            yield f"    {prefix}_reference followed;"
            yield f"    const {prefix}_reference *given = goes_over ? &followed : reference;"
            yield "    if (goes_over)"
            yield (f"        {prefix}_join(law->transfer, &state->period, law->transfer + {n + 2}, reference->q, "
                   "reference->v, reference->a, state->q, followed.q, followed.v, followed.a, lead);")

    def after(self) -> Iterator[str]:
        """Lines of the tick behind the law's formula, which set ``finite``."""
        n, prefix = self._n, self._prefix
        yield "    if (finite && goes_over) {"
        yield f"        {prefix}_go_over(law->transfer, &state->period, effort, wish, after);"
        yield f"        finite = {prefix}_is_finite(wish, {n}) && {prefix}_is_finite(after, {n + 2});"
        yield "    }"

    def keep(self) -> Iterator[str]:
        """Lines of a tick whose numbers are finite."""
        n = self._n
        yield f"    for (i = 0; goes_over && i < {n + 2}; i++) {{ law->transfer[i] = after[i]; }}"
        if self.joins:
            yield f"    for (i = 0; goes_over && i < {n}; i++) {{ law->transfer[{n + 2} + i] = lead[i]; }}"
        if not self._is_limited:
            yield f"    for (i = 0; goes_over && i < {n}; i++) {{ effort[i] = wish[i]; }}"
