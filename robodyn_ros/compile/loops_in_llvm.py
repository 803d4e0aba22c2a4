# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Functions with loops as LLVM assembly."""

import ast
import functools
from collections.abc import Callable, Iterator
from typing import Any

from robodyn_ros.base.errors import CompileError
from robodyn_ros.compile.llvm_text import literal
from robodyn_ros.compile.loops import COMPARE, LoopFunction, Value, functions_of

_LLVM = {"int": "i64", "float": "double", "bool": "i1", "Array": "ptr", "None": "void"}
_INTEGER = {ast.Add: "add", ast.Sub: "sub", ast.Mult: "mul", ast.FloorDiv: "sdiv"}
_FLOAT = {ast.Add: "fadd", ast.Sub: "fsub", ast.Mult: "fmul", ast.Div: "fdiv"}


@functools.cache
def llvm_functions(function: Callable[..., Any]) -> str:
    """LLVM assembly of a function and the functions that it calls, as internal functions ``@<name>``."""
    texts = [_LlvmFunction(each).text() for each in functions_of(function)]
    return "declare double @llvm.sqrt.f64(double)\n" + "".join(texts)


class _LlvmFunction(LoopFunction):
    """Writes LLVM assembly; variables are memory, which LLVM's optimiser turns into registers."""

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__(function)
        self._fresh, self._rounds = 0, list[str]()  # labels at which ``continue`` goes on

    def text(self) -> str:
        given = ", ".join(f"{_LLVM[kind]} %{name}" for name, kind in self._arguments.items())
        for name, kind in self._arguments.items():
            self.lines.append(f"  store {_LLVM[kind]} %{name}, ptr %{name}.at")
        self._body()
        last = {"None": "ret void", "float": f"ret double {literal(0.0, 1)}", "int": "ret i64 0"}[self._result]
        memory = [f"  %{name}.at = alloca {_LLVM[kind]}" for name, kind in self.kinds.items()]
        head = f"define internal {_LLVM[self._result]} @{self._node.name}({given}) nounwind {{"
        return "\n".join([head, *memory, *self.lines, f"  {last}", "}", ""])

    def _let(self, instruction: str) -> str:
        self._fresh += 1
        self.lines.append(f"  %x{self._fresh} = {instruction}")
        return f"%x{self._fresh}"

    def _labels(self, *names: str) -> Iterator[str]:
        self._fresh += 1
        yield from (f"{name}{self._fresh}" for name in names)

    def _begin(self, label: str) -> None:
        self.lines += [f"  br label %{label}", f"{label}:"]

    def _number(self, value: float) -> str:
        return literal(value, 1)

    def _read(self, name: str) -> str:
        return self._let(f"load {_LLVM[self.kinds[name]]}, ptr %{name}.at")

    def _from(self, array: str, place: str) -> str:
        return self._let(f"getelementptr double, ptr {array}, i64 {place}")

    def _element(self, array: str, place: str) -> str:
        return self._let(f"load double, ptr {self._from(array, place)}")

    def _binary(self, operation: ast.operator, left: Value, right: Value) -> Value:
        kind = left[0]
        if kind != right[0]:
            raise CompileError(f"{self._node.name}: expected two numbers of one kind, received {kind} and {right[0]}")
        instruction = (_INTEGER if kind == "int" else _FLOAT)[type(operation)]
        return kind, self._let(f"{instruction} {_LLVM[kind]} {left[1]}, {right[1]}")

    def _negative(self, value: Value) -> Value:
        kind, text = value
        return kind, self._let(f"sub i64 0, {text}" if kind == "int" else f"fneg double {text}")

    def _not(self, text: str) -> str:
        return self._let(f"xor i1 {text}, true")

    def _logical(self, both: bool, left: str, right: str) -> str:
        return self._let(f"{'and' if both else 'or'} i1 {left}, {right}")

    def _compare(self, operation: ast.cmpop, left: Value, right: Value) -> str:
        whole, real, _ = COMPARE[type(operation)]
        instruction = f"icmp {whole} i64" if left[0] == "int" else f"fcmp {real} double"
        return self._let(f"{instruction} {left[1]}, {right[1]}")

    def _choose(self, condition: str, first: Value, second: Value) -> Value:
        kind = _LLVM[first[0]]
        return first[0], self._let(f"select i1 {condition}, {kind} {first[1]}, {kind} {second[1]}")

    def _sqrt(self, text: str) -> str:
        return self._let(f"call double @llvm.sqrt.f64(double {text})")

    def _convert(self, kind: str, text: str) -> str:
        return self._let(f"fptosi double {text} to i64" if kind == "int" else f"sitofp i64 {text} to double")

    def _invoke(self, name: str, kind: str, given: list[Value]) -> str:
        call = f"call {_LLVM[kind]} @{name}({', '.join(f'{_LLVM[each]} {text}' for each, text in given)})"
        if kind != "None":
            return self._let(call)
        self.lines.append(f"  {call}")
        return ""

    def _discard(self, value: Value) -> None:
        pass

    def _assign(self, target: ast.expr, value: Value) -> None:
        kind, text = value
        if isinstance(target, ast.Name):
            self.kinds.setdefault(target.id, kind)
            self.lines.append(f"  store {_LLVM[kind]} {text}, ptr %{target.id}.at")
        elif isinstance(target, ast.Subscript):
            place = self._from(self._expression(target.value)[1], self._expression(target.slice)[1])
            self.lines.append(f"  store double {text}, ptr {place}")
        else:
            self._refuse(target)

    def _together(self, targets: list[ast.expr], values: list[ast.expr]) -> None:
        for target, value in zip(targets, [self._expression(value) for value in values], strict=True):
            self._assign(target, value)

    def _for(self, name: str, first: Value, end: Value, body: list[ast.stmt]) -> None:
        head, inside, following, done = self._labels("head", "inside", "next", "done")
        self._assign(ast.Name(name), first)
        self._begin(head)
        more = self._let(f"icmp slt i64 {self._read(name)}, {end[1]}")
        self.lines += [f"  br i1 {more}, label %{inside}, label %{done}", f"{inside}:"]
        self._rounds.append(following)
        self._block(body)
        self._rounds.pop()
        self._begin(following)
        self._assign(ast.Name(name), ("int", self._let(f"add i64 {self._read(name)}, 1")))
        self.lines += [f"  br label %{head}", f"{done}:"]

    def _while(self, test: ast.expr, body: list[ast.stmt]) -> None:
        head, inside, done = self._labels("head", "inside", "done")
        self._begin(head)
        self.lines += [f"  br i1 {self._expression(test)[1]}, label %{inside}, label %{done}", f"{inside}:"]
        self._rounds.append(head)
        self._block(body)
        self._rounds.pop()
        self.lines += [f"  br label %{head}", f"{done}:"]

    def _if(self, test: ast.expr, body: list[ast.stmt], otherwise: list[ast.stmt]) -> None:
        then, other, done = self._labels("then", "else", "done")
        self.lines += [f"  br i1 {self._expression(test)[1]}, label %{then}, label %{other}", f"{then}:"]
        self._block(body)
        self.lines += [f"  br label %{done}", f"{other}:"]
        self._block(otherwise)
        self._begin(done)

    def _continue(self) -> None:
        (past,) = self._labels("past")
        self.lines += [f"  br label %{self._rounds[-1]}", f"{past}:"]

    def _return(self, value: Value | None) -> None:
        (past,) = self._labels("past")
        self.lines += [f"  ret {_LLVM[value[0]]} {value[1]}" if value else "  ret void", f"{past}:"]
