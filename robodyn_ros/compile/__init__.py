# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Turns a formula into machine code: tracing onto a tape, LLVM back end, calls from Python.

Open first: ``kernel.py``, ``tape.py``, ``program.py``.
"""

from robodyn_ros.compile.derivatives import derivative, derivative_at
from robodyn_ros.compile.kernel import Kernel, compile_function
from robodyn_ros.compile.operations import (
    arctan2,
    by_element,
    clip,
    equal,
    exp,
    expm1,
    greater,
    greater_equal,
    less,
    less_equal,
    maximum,
    minimum,
    sign,
    where,
)
from robodyn_ros.compile.procedure import Procedure, compile_procedure
from robodyn_ros.compile.products import Products, Term
from robodyn_ros.compile.program import Compute, Repeat
from robodyn_ros.compile.tape import Tape, trace

__all__ = [
    "Compute", "Kernel", "Procedure", "Products", "Repeat", "Tape", "Term", "arctan2", "by_element", "clip",
    "compile_function", "compile_procedure", "derivative", "derivative_at", "equal", "exp", "expm1", "greater",
    "greater_equal", "less", "less_equal", "maximum", "minimum", "sign", "trace", "where",
]
