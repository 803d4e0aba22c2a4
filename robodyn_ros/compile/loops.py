# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Python functions with loops on flat arrays, as LLVM assembly and as C.

Tracing unrolls loops and cannot branch on values. An algorithm that repeats until it is done is instead written in a
small part of Python, which this module translates, so that it stands once and Python itself runs the reference:

- functions whose arguments are ``int``, ``float`` or ``Array`` (flat), and that return ``int``, ``float`` or None,
- ``for ... in range(...)``, ``while``, ``if``, ``continue``, ``return``, assignments,
- ``a[k]``, ``a[k:]`` (the array from there on), ``+ - * / //``, comparisons, ``and or not``, ``x if c else y``,
- ``sqrt``, ``max``, ``int``, ``float``, other such functions of the module, and its numbers.

Both sides of ``and``, ``or`` and ``if ... else`` are computed; integers of ``//`` are not negative.
"""

import ast
import inspect
import sys
import textwrap
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from types import FunctionType
from typing import Any

from robodyn_ros.compile.llvm_text import literal
from robodyn_ros.errors import CompileError

Value = tuple[str, str]
"""Kind (int, float, bool or Array), and the text of the value."""

_LLVM = {"int": "i64", "float": "double", "bool": "i1", "Array": "ptr", "None": "void"}
_INTEGER = {ast.Add: "add", ast.Sub: "sub", ast.Mult: "mul", ast.FloorDiv: "sdiv"}
_FLOAT = {ast.Add: "fadd", ast.Sub: "fsub", ast.Mult: "fmul", ast.Div: "fdiv"}
_COMPARE = {ast.Lt: ("slt", "olt", "<"), ast.LtE: ("sle", "ole", "<="), ast.Gt: ("sgt", "ogt", ">"),
            ast.GtE: ("sge", "oge", ">="), ast.Eq: ("eq", "oeq", "=="), ast.NotEq: ("ne", "une", "!=")}
_INFIX = {ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/", ast.FloorDiv: "/"}


def functions_of(function: Callable[..., Any]) -> list[Callable[..., Any]]:
    """A function and those of its module that it calls, each after those that it calls."""
    found: dict[Callable[..., Any], None] = {}

    def visit(each: Callable[..., Any]) -> None:
        for node in ast.walk(_definition(each)):
            called = _global(each, node.func.id) if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) \
                else None
            if isinstance(called, FunctionType) and called not in found:
                visit(called)
        found[each] = None

    visit(function)
    return list(found)


def llvm_functions(function: Callable[..., Any]) -> str:
    """LLVM assembly of a function and of those that it calls, as internal functions ``@<name>``."""
    texts = [_LlvmFunction(each).text() for each in functions_of(function)]
    return "declare double @llvm.sqrt.f64(double)\n" + "".join(texts)


def c_functions(function: Callable[..., Any], prefix: str, real: str, number: Callable[[float], str]) -> list[str]:
    """C of a function and of those that it calls, as static functions.

    Args:
        function: The function.
        prefix: What the names of the functions begin with.
        real: ``double`` or ``float``.
        number: The text of a number in C.
    """
    return [_CFunction(each, prefix, real, number).text() for each in functions_of(function)]


def _definition(function: Callable[..., Any]) -> ast.FunctionDef:
    node = ast.parse(textwrap.dedent(inspect.getsource(function))).body[0]
    assert isinstance(node, ast.FunctionDef)
    return node


def _global(function: Callable[..., Any], name: str) -> Any:
    return vars(sys.modules[function.__module__]).get(name)


def _signature(function: Callable[..., Any]) -> tuple[dict[str, str], str]:
    """Kinds of the arguments by name, and of the result."""
    node = _definition(function)
    return {each.arg: ast.unparse(each.annotation) for each in node.args.args if each.annotation}, \
        ast.unparse(node.returns) if node.returns else "None"


class _Function(ABC):
    """Walks a function; the subclasses write LLVM assembly or C, the abstract methods one piece each.

    Attributes:
        kinds: Kinds of arguments and variables, by name.
        lines: What has been written.
    """

    def __init__(self, function: Callable[..., Any]) -> None:
        self._function, self._node = function, _definition(function)
        self._arguments, self._result = _signature(function)
        self.kinds, self.lines = dict(self._arguments), list[str]()
        self._depth = 0

    def _body(self) -> None:
        for statement in self._node.body:
            self._statement(statement)

    def _statement(self, node: ast.stmt) -> None:
        match node:
            case ast.Expr(value=ast.Constant()):  # the docstring
                pass
            case ast.Expr(value=value):
                self._discard(self._expression(value))
            case ast.Assign(targets=[ast.Tuple(elts=targets)], value=ast.Tuple(elts=values)):
                self._together(targets, values)
            case ast.Assign(targets=[target], value=value):
                self._assign(target, self._expression(value))
            case ast.AugAssign(target=target, op=operation, value=value):
                self._assign(target, self._binary(operation, self._expression(target), self._expression(value)))
            case ast.For(target=ast.Name(id=name), iter=ast.Call(func=ast.Name(id="range"), args=given), body=body):
                first = self._expression(given[0]) if len(given) > 1 else ("int", "0")
                self.kinds.setdefault(name, "int")
                self._for(name, first, self._expression(given[-1]), body)
            case ast.While(test=test, body=body):
                self._while(test, body)
            case ast.If(test=test, body=body, orelse=otherwise):
                self._if(test, body, otherwise)
            case ast.Continue():
                self._continue()
            case ast.Return(value=value):
                self._return(self._expression(value) if value else None)
            case _:
                self._refuse(node)

    def _expression(self, node: ast.expr) -> Value:
        match node:
            case ast.Constant(value=int(value)):
                return "int", str(value)
            case ast.Constant(value=float(value)):
                return "float", self._number(value)
            case ast.Name(id=name) if name in self.kinds:
                return self.kinds[name], self._read(name)
            case ast.Name(id=name) if isinstance(_global(self._function, name), int | float):
                return self._expression(ast.Constant(_global(self._function, name)))
            case ast.Subscript(value=array, slice=ast.Slice(lower=lower)) if lower:
                return "Array", self._from(self._expression(array)[1], self._expression(lower)[1])
            case ast.Subscript(value=array, slice=place):
                return "float", self._element(self._expression(array)[1], self._expression(place)[1])
            case ast.BinOp(left=left, op=operation, right=right):
                return self._binary(operation, self._expression(left), self._expression(right))
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                return self._negative(self._expression(operand))
            case ast.UnaryOp(op=ast.Not(), operand=operand):
                return "bool", self._not(self._expression(operand)[1])
            case ast.BoolOp(op=operation, values=values):
                first, *rest = [self._expression(value)[1] for value in values]
                for text in rest:
                    first = self._logical(isinstance(operation, ast.And), first, text)
                return "bool", first
            case ast.Compare(left=left, ops=[operation], comparators=[right]):
                return "bool", self._compare(operation, self._expression(left), self._expression(right))
            case ast.IfExp(test=test, body=body, orelse=otherwise):
                return self._choose(self._expression(test)[1], self._expression(body), self._expression(otherwise))
            case ast.Call(func=ast.Name(id=name), args=given):
                return self._call(name, [self._expression(each) for each in given])
        return self._refuse(node)

    def _call(self, name: str, given: list[Value]) -> Value:
        called = _global(self._function, name)
        if isinstance(called, FunctionType):
            return _signature(called)[1], self._invoke(name, _signature(called)[1], given)
        match name:
            case "sqrt":
                return "float", self._sqrt(given[0][1])
            case "max":
                value = given[0]
                for other in given[1:]:
                    value = self._choose(self._compare(ast.Gt(), other, value), other, value)
                return value
            case "int" | "float":
                return name, self._convert(name, given[0][1])
        raise CompileError(f"{self._node.name}: {name}() has no form in machine code")

    def _refuse(self, node: ast.AST) -> Any:
        raise CompileError(f"{self._node.name}: '{ast.unparse(node)}' has no form in machine code")

    def _block(self, body: list[ast.stmt]) -> None:
        self._depth += 1
        for statement in body:
            self._statement(statement)
        self._depth -= 1

    @abstractmethod
    def _read(self, name: str) -> str:
        """The value of an argument or variable."""

    @abstractmethod
    def _number(self, value: float) -> str:
        """A constant."""

    @abstractmethod
    def _from(self, array: str, place: str) -> str:
        """An array from a place on."""

    @abstractmethod
    def _element(self, array: str, place: str) -> str:
        """An element of an array."""

    @abstractmethod
    def _binary(self, operation: ast.operator, left: Value, right: Value) -> Value:
        """A sum, product or quotient."""

    @abstractmethod
    def _negative(self, value: Value) -> Value:
        """-x."""

    @abstractmethod
    def _not(self, text: str) -> str:
        """Whether a condition does not hold."""

    @abstractmethod
    def _logical(self, both: bool, left: str, right: str) -> str:
        """Whether both conditions hold, or one of them."""

    @abstractmethod
    def _compare(self, operation: ast.cmpop, left: Value, right: Value) -> str:
        """A comparison."""

    @abstractmethod
    def _choose(self, condition: str, first: Value, second: Value) -> Value:
        """One value or the other."""

    @abstractmethod
    def _sqrt(self, text: str) -> str:
        """A square root."""

    @abstractmethod
    def _convert(self, kind: str, text: str) -> str:
        """A number as int or float."""

    @abstractmethod
    def _invoke(self, name: str, kind: str, given: list[Value]) -> str:
        """A call, and the kind of its result."""

    @abstractmethod
    def _discard(self, value: Value) -> None:
        """A call as a statement."""

    @abstractmethod
    def _assign(self, target: ast.expr, value: Value) -> None:
        """An assignment to a variable or an element."""

    @abstractmethod
    def _together(self, targets: list[ast.expr], values: list[ast.expr]) -> None:
        """Several assignments, whose values are computed before."""

    @abstractmethod
    def _for(self, name: str, first: Value, end: Value, body: list[ast.stmt]) -> None:
        """A loop over integers."""

    @abstractmethod
    def _while(self, test: ast.expr, body: list[ast.stmt]) -> None:
        """A loop while a condition holds."""

    @abstractmethod
    def _if(self, test: ast.expr, body: list[ast.stmt], otherwise: list[ast.stmt]) -> None:
        """A branch."""

    @abstractmethod
    def _continue(self) -> None:
        """On to the next round."""

    @abstractmethod
    def _return(self, value: Value | None) -> None:
        """The end of the function."""


class _LlvmFunction(_Function):
    """LLVM assembly; variables are memory, which LLVM's optimisation makes registers."""

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__(function)
        self._fresh, self._rounds = 0, list[str]()  # labels to continue at

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
        whole, real, _ = _COMPARE[type(operation)]
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


class _CFunction(_Function):
    """C99."""

    def __init__(self, function: Callable[..., Any], prefix: str, real: str, number: Callable[[float], str]) -> None:
        super().__init__(function)
        self._prefix, self._real, self._written = prefix, real, number
        self._c = {"int": "int", "float": real, "bool": "int", "Array": f"{real} *", "None": "void"}

    def text(self) -> str:
        given = ", ".join(f"{self._c[kind]}{'' if kind == 'Array' else ' '}{name}"
                          for name, kind in self._arguments.items())
        self._depth = 1
        self._body()
        own = [f"    {self._c[kind]}{'' if kind == 'Array' else ' '}{name};" for name, kind in self.kinds.items()
               if name not in self._arguments]
        head = textwrap.fill(f"static {self._c[self._result]} {self._prefix}{self._node.name}({given})", 110,
                             subsequent_indent="    ")
        return "\n".join([head, "{", *own, *self.lines, "}"])

    def _number(self, value: float) -> str:
        return self._written(value)

    def _line(self, text: str) -> None:
        self.lines.append("    " * self._depth + text)

    def _read(self, name: str) -> str:
        return name

    def _from(self, array: str, place: str) -> str:
        return f"({array} + {place})"

    def _element(self, array: str, place: str) -> str:
        return f"{array}[{place}]"

    def _binary(self, operation: ast.operator, left: Value, right: Value) -> Value:
        return left[0], f"({left[1]} {_INFIX[type(operation)]} {right[1]})"

    def _negative(self, value: Value) -> Value:
        return value[0], f"(-{value[1]})"

    def _not(self, text: str) -> str:
        return f"!({text})"

    def _logical(self, both: bool, left: str, right: str) -> str:
        return f"({left} {'&&' if both else '||'} {right})"

    def _compare(self, operation: ast.cmpop, left: Value, right: Value) -> str:
        return f"({left[1]} {_COMPARE[type(operation)][2]} {right[1]})"

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
        self._line(f"for ({name} = {first[1]}; {name} < {end[1]}; {name}++) {{")
        self._block(body)
        self._line("}")

    def _while(self, test: ast.expr, body: list[ast.stmt]) -> None:
        self._line(f"while {self._expression(test)[1]} {{")
        self._block(body)
        self._line("}")

    def _if(self, test: ast.expr, body: list[ast.stmt], otherwise: list[ast.stmt]) -> None:
        self._line(f"if ({self._expression(test)[1]}) {{")
        self._block(body)
        if otherwise:
            self._line("} else {")
            self._block(otherwise)
        self._line("}")

    def _continue(self) -> None:
        self._line("continue;")

    def _return(self, value: Value | None) -> None:
        self._line(f"return {value[1]};" if value else "return;")
