# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""The dynamics compared with C code that CasADi generates from symbols, called in a C loop without Python."""

from __future__ import annotations

import ctypes
import importlib.util
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import numpy as np

from bench.report import DOCS, RATIO_HEAD, Section, ratio_cells, time_cells
from bench.robots import Pair
from bench.timing import Comparison, compare
from robodyn_ros.compile import compile_function
from robodyn_ros.dynamics.robot_dynamics import FUNCTIONS, InlineDynamics

COMPILER = ("gcc", "-O3", "-march=native", "-ffast-math", "-shared", "-fPIC")

GENERATOR = DOCS.parent / "build" / "generated_code"
"""Folder with CasADi and urdf2casadi, apart from the environment: see docs/dependencies.md."""

INSTALL = "pip install --no-deps --target build/generated_code -r requirements/generated_code.txt"

SAMPLES, LOOPED = 100_000, 1_000
"""States in our batch, and states in the C loop, which stay in the cache together with their results."""

LOOP = """
#include <stddef.h>
int {name}(const double** arg, double** res, long long* iw, double* w, int mem);

void {name}_loop(const double* states, double* results, size_t samples, size_t inputs, size_t joints, size_t size) {{
  for (size_t sample = 0; sample < samples; ++sample) {{
    const double* arg[3];
    double* res[1] = {{results + sample * size}};
    for (size_t input = 0; input < inputs; ++input)
      arg[input] = states + (sample * inputs + input) * joints;
    {name}(arg, res, NULL, NULL, 0);
  }}
}}
"""
"""C code of the loop over one function. Generated functions of scalars need no working memory."""


def available() -> bool:
    """Whether the generator can be imported; it is looked for in `GENERATOR` too."""
    if str(GENERATOR) not in sys.path:
        sys.path.append(str(GENERATOR))
    return importlib.util.find_spec("urdf2casadi") is not None


class GeneratedCode:
    """Inverse dynamics, forward dynamics and mass matrix of a serial robot as generated C.

    Args:
        pair: The robot.
        folder: Folder for the sources and the library.

    Attributes:
        seconds: Time that generating and compiling took [s].
        instructions: Number of CasADi's instructions, by name of our function.
    """

    def __init__(self, pair: Pair, folder: Path) -> None:
        import casadi
        from urdf2casadi.urdfparser import URDFparser

        start = time.perf_counter()
        parser = URDFparser({"jit": False})
        parser.from_string(pair.urdf.encode())
        root, tip = parser.robot_desc.get_root(), pair.robot.tip_link
        self._order = [pair.robot.joint_names.index(name) for name in parser.get_joint_info(root, tip)[1]]
        gravity = pair.robot.model.gravity.tolist()
        functions = {"inverse_dynamics": parser.get_inverse_dynamics_rnea(root, tip, gravity),
                     "forward_dynamics": parser.get_forward_dynamics_aba(root, tip, gravity),
                     "mass_matrix": parser.get_inertia_matrix_crba(root, tip)}
        generator = casadi.CodeGenerator("dynamics.c")
        for name, function in functions.items():
            inputs = [casadi.SX.sym(f"input_{i}", pair.robot.n) for i in range(function.n_in())]
            generator.add(casadi.Function(name, inputs, [casadi.densify(function(*inputs))]))
        generator.generate(f"{folder}/")
        (folder / "loop.c").write_text("".join(LOOP.format(name=name) for name in functions))
        subprocess.run([*COMPILER, "dynamics.c", "loop.c", "-o", "dynamics.so"], cwd=folder, check=True)
        self._library = ctypes.CDLL(str(folder / "dynamics.so"))
        self.instructions = {name: function.n_instructions() for name, function in functions.items()}
        self.seconds = time.perf_counter() - start

    def loop(self, name: str, states: np.ndarray, results: np.ndarray) -> Callable[[], object]:
        """Return a call of the C loop over states.

        Args:
            name: The function.
            states: Shape (samples, inputs, n).
            results: Filled by the call; shape (samples, n), or (samples, n, n) of the mass matrix.
        """
        states = np.ascontiguousarray(states[:, :, self._order])
        sizes = map(ctypes.c_size_t, (*states.shape, results[0].size))
        call = partial(self._library[f"{name}_loop"], ctypes.c_void_p(states.ctypes.data),
                       ctypes.c_void_p(results.ctypes.data), *sizes)
        return lambda: (call(), states)  # the closure keeps the states in memory

    def in_our_order(self, results: np.ndarray) -> np.ndarray:
        """Return results of `loop` in our order of joints."""
        back = np.argsort(self._order)
        for axis in range(1, results.ndim):
            results = np.take(results, back, axis)
        return results


def run(pair: Pair, code: GeneratedCode, name: str, samples: int = SAMPLES, looped: int = LOOPED,
        repetitions: int = 31) -> tuple[Comparison, Comparison]:
    """Check that both sides compute the same numbers, then compare times.

    Args:
        pair: The robot.
        code: Its generated code.
        name: The function.
        samples: States of our batch.
        looped: States of the C loop.
        repetitions: Number of timings of each.

    Returns:
        Our call from Python, and our batch on one core per state, each with the generated call.
    """
    states = np.random.default_rng(6).uniform(-1.0, 1.0, (samples, len(FUNCTIONS[name].arrays), pair.robot.n))
    dynamics = pair.robot.dynamics()
    inputs = list(np.ascontiguousarray(states.transpose(1, 0, 2)))
    batch = dynamics.batch
    batch.threads = 1
    ours = getattr(batch, name)(*inputs)
    generated = np.empty_like(ours[:looped])
    loop = code.loop(name, states[:looped], generated)
    loop()
    np.testing.assert_allclose(ours[:looped], code.in_our_order(generated), rtol=0.0,
                               atol=1e-9 * np.abs(generated).max(), err_msg=name)
    one = [array[0] for array in inputs]
    np.testing.assert_allclose(getattr(dynamics, name)(*one), ours[0], rtol=0.0, atol=1e-9 * np.abs(ours[0]).max())
    call = getattr(dynamics, name)  # the compiled function, which the first call has put in place
    pairs = (compare(partial(call, *one), loop, repetitions),
             compare(partial(getattr(batch.into(ours), name), *inputs), loop, repetitions))
    single, many = (Comparison(times.ours / count, times.peer / looped)
                    for times, count in zip(pairs, (1, samples), strict=True))
    return single, many


def rows() -> Iterator[list[str]]:
    """One row for each function of arm7, or the command that installs the generator."""
    if not available():
        yield [f"not measured: `{INSTALL}`", *[""] * (len(GENERATED_CODE.head) - 1)]
        return
    pair = Pair.shipped("arm7")
    with tempfile.TemporaryDirectory() as folder:
        code = GeneratedCode(pair, Path(folder))
        for name in code.instructions:
            single, many = run(pair, code, name)
            yield [name, *reversed(time_cells(single, 1e9, 0)), *ratio_cells(single, 1.0),
                   *time_cells(many, 1e9, 0)[:1], *ratio_cells(many, 0.1), f"{code.instructions[name]:,}"]


def limits() -> str:
    """Return the number of operations of our functions."""
    model = Pair.shipped("arm7").robot.model
    counts = []
    for name in ("inverse_dynamics", "forward_dynamics", "mass_matrix"):
        function, arrays = getattr(InlineDynamics(model), name), FUNCTIONS[name].arrays
        kernel = compile_function(function, dict.fromkeys(arrays, (model.n,)))
        counts.append(f"{kernel.tape.operation_count:,} for `{name}`")
    return (f"Ours have fewer operations on floating-point numbers: {', '.join(counts)}. The ratio of a batch is the "
            "ratio of these numbers to the instructions generated, times that of the rates at which they are done. The "
            "section \"Limits of a batch\" says what limits these. A batch of mass matrices also writes 392 bytes per "
            "state.")


GENERATED_CODE = Section(
    "Code generated from symbols",
    "arm7: the C code that [urdf2casadi](https://pypi.org/project/urdf2casadi/) 1.2.0 makes with CasADi 3.8.2 from the "
    f"URDF, compiled by `{' '.join(COMPILER[:4])}` and called in a C loop over {LOOPED:,} states, without Python; "
    "beside our function called from Python at one state, and our batch per state: one call for "
    f"{SAMPLES:,} states on one core, into an array made before (`dyn.batch.into(out)`). The ratios are to the "
    "generated call.",
    ("function", "generated, C loop [ns]", "ours from Python [ns]", *RATIO_HEAD, "ours in batches [ns]", *RATIO_HEAD,
     "instructions generated"),
    rows,
    limits=limits,
)
