# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Python functions with loops on flat arrays, translated to LLVM assembly or C.

Tracing unrolls loops and cannot branch on values. An iterative algorithm is instead written in a small subset of
Python. This module reads it, `loops_in_llvm` and `loops_in_c` translate it, so it is written once and Python itself
runs the reference:

- functions whose arguments are ``int``, ``float``, ``Array`` (flat) or named tuples of these, and that return ``int``,
  ``float`` or None,
- ``for ... in range(...)``, ``while``, ``if``, ``continue``, ``return``, assignments,
- ``a[k]``, ``a[k:]`` (the array from index k), ``+ - * / //``, comparisons, ``and or not``, ``x if c else y``,
- ``sqrt``, ``max``, ``int``, ``float``, other such functions of the module, and its numeric constants.

Both sides of ``and``, ``or`` and ``if ... else`` are computed; operands of ``//`` must not be negative.
"""

import ast
import functools
import inspect
import sys
import textwrap
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from types import FunctionType
from typing import Any

from robodyn_ros.base.errors import CompileError

COMPARE = {ast.Lt: ("slt", "olt", "<"), ast.LtE: ("sle", "ole", "<="), ast.Gt: ("sgt", "ogt", ">"),
            ast.GtE: ("sge", "oge", ">="), ast.Eq: ("eq", "oeq", "=="), ast.NotEq: ("ne", "une", "!=")}
"""Comparisons of integers and of floats in LLVM assembly, and of both in C."""

Value = tuple[str, str]
"""Kind (int, float, bool or Array) and text of a value."""


def functions_of(function: Callable[..., Any]) -> list[Callable[..., Any]]:
    """A function and the functions of its module that it calls, callees first."""
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


@functools.cache
def _definition(function: Callable[..., Any]) -> ast.FunctionDef:
    node = ast.parse(textwrap.dedent(inspect.getsource(function))).body[0]
    assert isinstance(node, ast.FunctionDef)
    return node


def _global(function: Callable[..., Any], name: str) -> Any:
    return vars(sys.modules[function.__module__]).get(name)


@functools.cache
def _signature(function: Callable[..., Any]) -> tuple[dict[str, str], str]:
    """Kinds of the arguments by name, and of the result; a record counts as the fields that the function uses."""
    node, kinds = _definition(function), dict[str, str]()
    for each in node.args.args:
        record = _record(function, each.annotation)
        if record:
            kinds |= {f"{each.arg}_{field}": "Array" for field in _used_fields(function, each.arg, record)}
        elif each.annotation:
            kinds[each.arg] = ast.unparse(each.annotation)
    return kinds, ast.unparse(node.returns) if node.returns else "None"


def _record(function: Callable[..., Any], node: ast.expr | None) -> Any:
    """The class of named tuples that an annotation or a call names, or None."""
    named = _global(function, node.id) if isinstance(node, ast.Name) else None
    return named if hasattr(named, "_fields") else None


@functools.cache
def _used_fields(function: Callable[..., Any], name: str, record: Any) -> list[str]:
    """Fields of an argument that a function reads, or passes to functions that read them, in the record's order."""
    used = set[str]()
    for node in ast.walk(_definition(function)):
        match node:
            case ast.Attribute(value=ast.Name(id=read), attr=field) if read == name:
                used.add(field)
            case ast.Call(func=ast.Name(id=called), args=given):
                inner = _global(function, called)
                for place, each in enumerate(given):
                    if isinstance(each, ast.Name) and each.id == name and isinstance(inner, FunctionType):
                        used.update(_used_fields(inner, _definition(inner).args.args[place].arg, record))
    return [field for field in record._fields if field in used]


class LoopFunction(ABC):
    """Walks a function; subclasses write LLVM assembly or C, each abstract method one construct.

    Attributes:
        kinds: Kinds of arguments and variables, by name.
        lines: Lines written so far.
    """

    def __init__(self, function: Callable[..., Any]) -> None:
        self._function, self._node = function, _definition(function)
        self._arguments, self._result = _signature(function)
        self.kinds, self.lines = dict(self._arguments), list[str]()
        self._records = {each.arg: record for each in self._node.args.args
                         if (record := _record(function, each.annotation))}
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
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.Call(func=called, args=values)) if (
                    record := _record(self._function, called)):
                self._records[name] = record
                for field, value in zip(record._fields, values, strict=True):
                    self._assign(ast.Name(f"{name}_{field}"), self._expression(value))
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
            case ast.Attribute(value=ast.Name(id=name), attr=field) if name in self._records:
                return "Array", self._read(f"{name}_{field}")
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
                return self._call(name, [self._expression(each) for each in self._given(name, given)])
        return self._refuse(node)

    def _given(self, name: str, given: list[ast.expr]) -> Iterator[ast.expr]:
        """The arguments of a call; a record becomes the fields that the function uses."""
        called = _global(self._function, name)
        for place, each in enumerate(given):
            record = self._records.get(each.id) if isinstance(each, ast.Name) else None
            if record is None:
                yield each
            else:
                argument = _definition(called).args.args[place].arg
                yield from (ast.Attribute(each, field) for field in _used_fields(called, argument, record))

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
        """An array from an index on."""

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
        """Several assignments; all values are computed first."""

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
