# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""C sources of a robot's dynamics: a file and its header, from the same tapes that Python compiles."""

from __future__ import annotations

import inspect
import math
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from robodyn_ros import __version__
from robodyn_ros.base.errors import InputError, unknown
from robodyn_ros.compile import operations as op
from robodyn_ros.compile import trace
from robodyn_ros.compile.loops_in_c import identifier
from robodyn_ros.description.model import RobotModel
from robodyn_ros.dynamics.robot_dynamics import Dynamics, InlineDynamics
from robodyn_ros.dynamics.robot_function import RobotFunction
from robodyn_ros.robot import Robot
from robodyn_ros.toolbox.export.c_function import WIDTH, CFunction, helper_text


class CSource(NamedTuple):
    """A C file and its header."""

    name: str  # name of both files without ending, and prefix of all function names
    header: str  # text of the header
    source: str  # text of the C file
    operations: int  # number of arithmetic operations in it

    @property
    def files(self) -> dict[str, str]:
        """Texts of both files by name, the header first."""
        return {f"{self.name}.h": self.header, f"{self.name}.c": self.source}


def write_new(folder: Path, files: Mapping[str, str]) -> list[Path]:
    """Write files into a new folder, and return their paths.

    Args:
        folder: The folder.
        files: Texts by path in the folder.

    Raises:
        InputError: The folder exists, or it cannot be written.
    """
    paths = [folder / name for name in files]
    try:
        if folder.exists():
            raise InputError(f"export: '{folder}' exists; name a new folder, or remove it")
        for path, text in zip(paths, files.values(), strict=True):
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise InputError(f"export: cannot write '{folder}': {error.strerror}; name another folder") from None
    return paths


BYTES_PER_OPERATION = 15
"""Code size of an operation, for estimates [bytes]: 7 to 15 on a Cortex-M7 for laws, dynamics and plants."""


def check_size(sources: Sequence[CSource], flash: float) -> None:
    """Estimate whether code fits into the flash memory of a micro-controller, from its number of operations.

    Args:
        sources: The code.
        flash: Size of the memory [kB].

    Raises:
        InputError: The estimate exceeds the memory.
    """
    operations = sum(source.operations for source in sources)
    size = operations * BYTES_PER_OPERATION / 1000.0
    if not size <= flash:
        raise InputError(f"export: {operations:,} operations take about {size:.0f} kB of code, --flash is {flash:g} "
                         "kB; choose a law with a smaller model, or a larger micro-controller")


def files_of(sources: Sequence[CSource]) -> dict[str, str]:
    """Texts of the files of sources by name.

    Raises:
        InputError: Two have the same name.
    """
    names = [source.name.lower() for source in sources]  # some file systems ignore case
    for source, name in zip(sources, names, strict=True):
        if names.count(name) > 1:
            raise InputError(f"export: the law's files have the same names as others, '{source.name}'; rename its "
                             "class")
    return {name: text for source in sources for name, text in source.files.items()}


def functions() -> dict[str, RobotFunction]:
    """The functions of `Dynamics` that can be exported, by name."""
    return {name: member for name, member in vars(Dynamics).items() if isinstance(member, RobotFunction)}


def dynamics_source(robot: Robot, names: Sequence[str], precision: str = "double") -> CSource:
    """Write functions of a robot's dynamics in C.

    Args:
        robot: The robot.
        names: Names of methods of `Dynamics`, such as ``inverse_dynamics``; without wrenches, for the tip link.
        precision: ``double`` or ``float``.

    Returns:
        C99 functions that take the joint arrays and fill the flat result, row by row; they are reentrant.

    Raises:
        InputError: A name is unknown or occurs twice, or the precision is unknown.
        DescriptionError: The robot has no inertia, and a function needs it.
    """
    known = functions()
    prefix = identifier(robot.name)
    written = []
    for name in names:
        if ":" in name:
            raise InputError(f"export: '{name}': wrenches and further links are not exported; leave out "
                             f"':{name.partition(':')[2]}', and name the link of all functions by --tip-link")
        if name not in known:
            raise InputError(f"export: {unknown('function', name, known)}")
        if list(names).count(name) > 1:
            raise InputError(f"export: expected each function once, received '{name}' twice")
        written.append(_function(robot, known[name], f"{prefix}_{name}"))
    if not written:
        raise InputError(f"export: expected functions, received none; there are {', '.join(known)}")
    return source_of(f"{prefix}_dynamics", robot, written, precision)


def source_of(name: str, robot: Robot, written: Sequence[CFunction], precision: str) -> CSource:
    """Put functions into a file and its header.

    Args:
        name: Name of the files without ending.
        robot: The robot.
        written: The functions.
        precision: ``double`` or ``float``.
    """
    bodies = ["\n".join(function.definition(precision)) for function in written]  # raises for an unknown precision
    declared = [f"{comment(function.comment)}\n{function.declaration(precision)};" for function in written]
    return assembled(name, robot.model, declared, bodies, written, precision)


_NEEDS_NAN = """\
#if defined(__FAST_MATH__) || (defined(__FINITE_MATH_ONLY__) && __FINITE_MATH_ONLY__ > 0)
#error "compile this file without -ffast-math, -Ofast and -ffinite-math-only: it has to recognise NaN"
#endif"""


_DECLARED = re.compile(r"^ +(?:const )?(?:double|float) (\w[^;=]*)", re.MULTILINE)
_REST_OF_STACK = 1024
"""Bytes for arguments, saved registers, counters and helper functions."""


def stack_bytes(functions: Sequence[str], precision: str) -> int:
    """Return a bound of the stack of nested calls, from the local variables of functions.

    Args:
        functions: Texts of functions of C.
        precision: ``double`` or ``float``.
    """
    counts = [sum(math.prod(map(int, re.findall(r"\[(\d+)\]", name))) for names in _DECLARED.findall(text)
                  for name in names.split(",")) for text in functions]
    return sum(sorted(counts)[-2:]) * (8 if precision == "double" else 4) + _REST_OF_STACK


def renamed_for_linker(prefix: str, law: str, declarations: str) -> str:
    """Return lines that rename the functions of a header in object files, with the name of a law.

    Exports of several laws of one robot can then be in one program, each with its own motion and delay.

    Args:
        prefix: Prefix of the function names: the robot.
        law: Name of the law in C.
        declarations: Text of the header.
    """
    names = re.findall(rf"^\S[^;{{}}/]*?\b{prefix}_(\w+)\(", declarations, re.MULTILINE)
    return "\n".join([comment([f"Names in object files, so that several laws of {prefix} can be in one program."]),
                      *(f"#define {prefix}_{name} {prefix}_{law}_{name}" for name in names)])


def assembled(name: str, model: RobotModel, declared: Sequence[str], bodies: Sequence[str],
              written: Sequence[CFunction], precision: str) -> CSource:
    """Assemble a file and its header, with a comment on their origin at the top.

    Args:
        name: Name of the files without ending.
        model: The robot.
        declared: Texts of the header.
        bodies: Texts of the C file.
        written: Functions that may need helper functions.
        precision: ``double`` or ``float``.
    """
    about = [f"{model.name}, {model.n} joints, tip link {model.tip_link}; written by robodyn_ros {__version__}.",
             f"Order of the joints: {', '.join(model.joint_names)}.",
             "Units: rad, m, N m, N, s, kg. No memory is allocated, nothing is kept between calls."]
    helpers = sorted({code for function in written for code in function.helpers()})
    texts = [*(helper_text(code, precision) for code in helpers), *bodies]
    about.append(f"Stack: at most {stack_bytes(texts, precision):,} bytes, without optimisation; optimised code needs "
                 "a part of it, which -fstack-usage of GCC reports.")
    if op.QUADRATIC_PROGRAM in helpers and precision != "double":
        about.append("Quadratic programs are solved in double: float is too coarse to find their active rows.")
    top = comment(about)
    guard = identifier(name).upper() + "_H"
    opened = '#ifdef __cplusplus\nextern "C" {\n#endif', "#ifdef __cplusplus\n}\n#endif"
    header = "\n\n".join([top, f"#ifndef {guard}\n#define {guard}", opened[0], *declared, opened[1], "#endif"]) + "\n"
    source = "\n\n".join([top, _NEEDS_NAN, f'#include "{name}.h"\n\n#include <math.h>',
                          *texts]) + "\n"
    return CSource(name, header, source, sum(function.tape.operation_count for function in written))


def _function(robot: Robot, function: RobotFunction, name: str) -> CFunction:
    method = getattr(InlineDynamics(robot.model), function.name)

    def formula(*arrays: object) -> object:
        return method(*arrays)

    formula.__name__ = function.name
    tape = trace(formula, dict.fromkeys(function.arrays, (robot.n,)))
    summary = (inspect.getdoc(function.method) or "").partition("\n")[0]
    shape = " x ".join(map(str, tape.output_shape)) or "1 number"
    return CFunction(name, tape, (summary, f"result: {shape}; {tape.operation_count} operations."))


def comment(lines: Sequence[str]) -> str:
    """A comment of C with lines of at most `WIDTH`, unless a word is longer."""
    wrapped: list[str] = []
    for line in lines:
        row = ""
        for word in line.replace("*/", "* /").split():
            if row and len(row) + len(word) >= WIDTH:
                wrapped.append(row)
                row = ""
            row += (" " if row else "") + word
        wrapped.append(row)
    return "/* " + "\n * ".join(wrapped) + " */"
