# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Functions with loops as C99; their names are also valid in C++."""

import ast
import re
import textwrap
from collections.abc import Callable
from typing import Any

from robodyn_ros.compile.loops import COMPARE, LoopFunction, Value, functions_of

_INFIX = {ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/", ast.FloorDiv: "/"}

_KEYWORDS = frozenset(
    "alignas alignof and and_eq asm auto bitand bitor bool break case catch char class compl concept const const_cast "
    "consteval constexpr constinit continue co_await co_return co_yield decltype default delete do double "
    "dynamic_cast else enum explicit export extern false float for friend goto if inline int long mutable namespace "
    "new noexcept not not_eq nullptr operator or or_eq private protected public register reinterpret_cast requires "
    "restrict return short signed sizeof static static_assert static_cast struct switch template this thread_local "
    "throw true try typedef typeid typename union unsigned using virtual void volatile "
    "wchar_t while xor xor_eq".split())
"""Keywords of C and C++."""


def identifier(name: str) -> str:
    """A valid name in C and C++ close to a given name: letters, digits, single underscores; never a reserved one."""
    found = re.sub(r"[\W_]+", "_", name, flags=re.ASCII).strip("_")
    return f"n_{found}".rstrip("_") if not found or found[0].isdigit() or found in _KEYWORDS else found


def c_functions(function: Callable[..., Any], prefix: str, real: str, number: Callable[[float], str]) -> list[str]:
    """C code of a function and the functions that it calls, as static functions.

    Args:
        function: The function.
        prefix: Prefix of the functions' names.
        real: ``double`` or ``float``.
        number: Converts a number to its text in C.
    """
    return [_CFunction(each, prefix, real, number).text() for each in functions_of(function)]


class _CFunction(LoopFunction):
    """Writes C99."""

    def __init__(self, function: Callable[..., Any], prefix: str, real: str, number: Callable[[float], str]) -> None:
        super().__init__(function)
        self._prefix, self._real, self._written = prefix, real, number
        self._c = {"int": "int", "float": real, "bool": "int", "Array": f"{real} *", "None": "void"}

    def text(self) -> str:
        given = ", ".join(self._declared(name, kind) for name, kind in self._arguments.items())
        self._depth = 1
        self._body()
        own = [f"    {self._declared(name, kind)};" for name, kind in self.kinds.items() if name not in self._arguments]
        head = textwrap.fill(f"static {self._c[self._result]} {self._prefix}{self._node.name}({given})", 110,
                             subsequent_indent="    ")
        return "\n".join([head, "{", *own, *self.lines, "}"])

    def _declared(self, name: str, kind: str) -> str:
        return f"{self._c[kind]}{'' if kind == 'Array' else ' '}{identifier(name)}"

    def _number(self, value: float) -> str:
        return self._written(value)

    def _line(self, text: str) -> None:
        self.lines.append("    " * self._depth + text)

    def _read(self, name: str) -> str:
        return identifier(name)

    def _from(self, array: str, place: str) -> str:
        return f"({array} + {place})"

    def _element(self, array: str, place: str) -> str:
        return f"{array}[{place}]"

    def _binary(self, operation: ast.operator, left: Value, right: Value) -> Value:
        return left[0], f"({left[1]} {_INFIX[type(operation)]} {right[1]})"

    def _negative(self, value: Value) -> Value:
        return value[0], f"(-{value[1]})"

    def _not(self, text: str) -> str:
        return f"(!{text})"

    def _logical(self, both: bool, left: str, right: str) -> str:
        return f"({left} {'&&' if both else '||'} {right})"

    def _compare(self, operation: ast.cmpop, left: Value, right: Value) -> str:
        return f"({left[1]} {COMPARE[type(operation)][2]} {right[1]})"

    def _choose(self, condition: str, first: Value, second: Value) -> Value:
        return first[0], f"({condition} ? {first[1]} : {second[1]})"

    def _sqrt(self, text: str) -> str:
        return f"{'sqrtf' if self._real == 'float' else 'sqrt'}({text})"

    def _convert(self, kind: str, text: str) -> str:
        return f"({self._c[kind]}){text}"

    def _invoke(self, name: str, kind: str, given: list[Value]) -> str:
        return f"{self._prefix}{name}({', '.join(text for _, text in given)})"

    def _discard(self, value: Value) -> None:
        self._line(f"{value[1]};")

    def _assign(self, target: ast.expr, value: Value) -> None:
        if isinstance(target, ast.Name):
            self.kinds.setdefault(target.id, value[0])
        self._line(f"{self._expression(target)[1]} = {value[1]};")

    def _together(self, targets: list[ast.expr], values: list[ast.expr]) -> None:
        """One after the other; no value may read a target before it."""
        set_before: set[str] = set()
        for target, value in zip(targets, values, strict=True):
            if set_before & {ast.unparse(node) for node in ast.walk(value)}:
                self._refuse(value)
            self._assign(target, self._expression(value))
            set_before.add(ast.unparse(target))

    def _for(self, name: str, first: Value, end: Value, body: list[ast.stmt]) -> None:
        counter = identifier(name)
        self._line(f"for ({counter} = {first[1]}; {counter} < {end[1]}; {counter}++) {{")
        self._block(body)
        self._line("}")

    def _condition(self, test: ast.expr) -> str:
        """The condition in exactly one pair of parentheses: Clang warns of ((a == b))."""
        text = self._expression(test)[1]
        return text if text.startswith("(") else f"({text})"

    def _while(self, test: ast.expr, body: list[ast.stmt]) -> None:
        self._line(f"while {self._condition(test)} {{")
        self._block(body)
        self._line("}")

    def _if(self, test: ast.expr, body: list[ast.stmt], otherwise: list[ast.stmt]) -> None:
        self._line(f"if {self._condition(test)} {{")
        self._block(body)
        if otherwise:
            self._line("} else {")
            self._block(otherwise)
        self._line("}")

    def _continue(self) -> None:
        self._line("continue;")

    def _return(self, value: Value | None) -> None:
        self._line(f"return {value[1]};" if value else "return;")
