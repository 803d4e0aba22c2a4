# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""A control law in C beside our compiled call, Pinocchio in C++ and code that CasADi generates."""

from __future__ import annotations

import ctypes
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from bench.generated_code import GENERATOR, INSTALL, available
from bench.report import RATIO_HEAD, Section, ratio_cells, time_cells
from bench.robots import Pair
from bench.timing import Comparison, compare
from robodyn_ros.control.contract.state import JointReference, State
from robodyn_ros.control.plugins.registry import make_controller
from robodyn_ros.toolbox.export import law_source, write_new

LAW = "computed_torque"
FLAGS = ("-O3", "-march=native")
LOOPED, TICKS = 1_000, 10_000_000

EIGEN = Path("/usr/include/eigen3")

PINOCCHIO = """
#include <pinocchio/multibody.hpp>
#include <pinocchio/algorithm/rnea.hpp>

static pinocchio::Model make()
{{
    pinocchio::Model model;
    pinocchio::JointIndex joint = 0;
    {joints}
    model.gravity.linear() << {gravity};
    return model;
}}

static const pinocchio::Model model = make();
static pinocchio::Data data(model);
typedef Eigen::Matrix<double, {n}, 1> Vector;
static const Vector p = (Vector() << {p}).finished(), d = (Vector() << {d}).finished();
static const Vector friction = (Vector() << {friction}).finished();

extern "C" void law(const double *row, double *effort)
{{
    const Eigen::Map<const Vector> q(row), v(row + {n}), q_d(row + 2 * {n}), v_d(row + 3 * {n}), a_d(row + 4 * {n});
    const Vector a = a_d + d.cwiseProduct(v_d - v) + p.cwiseProduct(q_d - q);
    Eigen::Map<Vector> result(effort);
    result = pinocchio::rnea(model, data, q, v, a) + friction.cwiseProduct(v);
}}
"""
"""The law over Pinocchio's templates, instantiated here: the library of the wheel is compiled for another processor.
The macros that enlarge Boost's lists are those that Pinocchio's CMake targets define."""

LOOP = """
#include <stddef.h>
#include <time.h>
{declared}
static double now(void)
{{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return 1e9 * (double)t.tv_sec + (double)t.tv_nsec;
}}

/* Inputs are rows of q, v, and q, v, a of the reference. */
void run(const double *rows, double *efforts, size_t samples)
{{
    for (size_t i = 0; i < samples; i++) {{
        const double *row = rows + 5 * {n} * i;
        double *effort = efforts + {n} * i;
        {tick}
    }}
}}

/* How long each of many ticks takes, in steps of 1 ns up to 100 us; returns the longest. */
double watch(const double *rows, double *efforts, size_t samples, size_t ticks, unsigned *histogram)
{{
    double worst = 0;
    for (size_t k = 0; k < ticks; k++) {{
        const double *row = rows + 5 * {n} * (k % samples);
        double *effort = efforts + {n} * (k % samples);
        const double begin = now();
        {tick}
        const double took = now() - begin;
        worst = took > worst ? took : worst;
        histogram[took < 99999 ? (size_t)took : 99999]++;
    }}
    return worst;
}}
"""


class InC:
    """A library with the function ``run`` over rows of inputs.

    Args:
        library: Its file.
        n: Number of joints.
    """

    def __init__(self, library: Path, n: int) -> None:
        self.library, self._n = ctypes.CDLL(str(library)), n

    def loop(self, rows: np.ndarray, efforts: np.ndarray) -> Callable[[], object]:
        """Return a call of the loop over rows, shape (samples, 5 n)."""
        call = partial(self.library.run, ctypes.c_void_p(rows.ctypes.data), ctypes.c_void_p(efforts.ctypes.data),
                       ctypes.c_size_t(len(rows)))
        return lambda: (call(), rows)

    def watched(self, rows: np.ndarray, ticks: int) -> tuple[float, float, float]:
        """Median, 99.99th percentile and worst of many ticks, each with a reading of the clock [ns]."""
        histogram, efforts = np.zeros(100_000, dtype=np.uint32), np.zeros((len(rows), self._n))
        self.library.watch.restype = ctypes.c_double
        worst = self.library.watch(ctypes.c_void_p(rows.ctypes.data), ctypes.c_void_p(efforts.ctypes.data),
                                   ctypes.c_size_t(len(rows)), ctypes.c_size_t(ticks),
                                   ctypes.c_void_p(histogram.ctypes.data))
        order = np.cumsum(histogram)
        median, high = (float(np.searchsorted(order, share * ticks)) for share in (0.5, 0.9999))
        return median, high, float(worst)


def exported(law: Any, folder: Path) -> tuple[InC, int, int]:
    """Our law in C, the size of its object code, and its stack [bytes]."""
    n, prefix = law.robot.n, f"{law.robot.name}_{LAW}"
    write_new(folder / "law", law_source(law, LAW).files)
    tick = (f"{prefix}_state s; {prefix}_reference r; s.time = s.period = 0;"
            f"for (int j = 0; j < {n}; j++) {{ s.q[j] = row[j]; s.v[j] = row[{n} + j]; r.q[j] = row[2 * {n} + j];"
            f" r.v[j] = row[3 * {n} + j]; r.a[j] = row[4 * {n} + j]; }} {prefix}_tick(&law, &s, &r, effort);")
    (folder / "law" / "loop.c").write_text(LOOP.format(
        declared=f'#include "{prefix}.h"\nstatic {prefix} law;\n'
        f"void begin(void) {{ {prefix}_state s = {{0}}; {prefix}_init(&law, &s); }}", n=n, tick=tick))
    _compile(["gcc", *FLAGS, "-std=gnu11", "-fstack-usage", "-c", f"{prefix}.c", "-o", "law.o"], folder / "law")
    _compile(["gcc", *FLAGS, "-std=gnu11", "-fPIC", "-shared", f"{prefix}.c", "loop.c", "-o", "law.so", "-lm"],
             folder / "law")
    text = subprocess.run(["size", "law.o"], cwd=folder / "law", capture_output=True, text=True, check=True).stdout
    stack = {line.split()[0].rpartition(":")[2]: int(line.split()[1])
             for line in (folder / "law" / "law.su").read_text().splitlines()}
    deepest = stack[f"{prefix}_tick"] + stack.get(f"{prefix}_formula", 0)
    found = InC(folder / "law" / "law.so", n)
    found.library.begin()
    return found, int(text.splitlines()[1].split()[0]), deepest


def generated(pair: Pair, law: Any, folder: Path) -> InC:
    """The same law over the inverse dynamics of urdf2casadi, in C that CasADi generates."""
    sys.path.append(str(GENERATOR))
    import casadi
    from urdf2casadi.urdfparser import URDFparser

    n, parser, gains = pair.robot.n, URDFparser({"jit": False}), law.parameters
    parser.from_string(pair.urdf.encode())
    root, tip = parser.robot_desc.get_root(), pair.robot.tip_link
    order = [pair.robot.joint_names.index(name) for name in parser.get_joint_info(root, tip)[1]]
    if order != list(range(n)):
        raise ValueError("expected a serial robot whose joints are in the order of the chain")
    dynamics = parser.get_inverse_dynamics_rnea(root, tip, pair.robot.model.gravity.tolist())
    row = casadi.SX.sym("row", 5 * n)
    q, v, q_d, v_d, a_d = casadi.vertsplit(row, n)
    a = a_d + casadi.DM(gains.d) * (v_d - v) + casadi.DM(gains.p) * (q_d - q)
    effort = casadi.densify(dynamics(q, v, a)) + casadi.DM(gains.friction) * v
    generator = casadi.CodeGenerator("law.c")
    generator.add(casadi.Function("law", [row], [effort]))
    folder = folder / "casadi"
    folder.mkdir()
    generator.generate(f"{folder}/")
    tick = "const double *arg[1] = {row}; double *res[1] = {effort}; law(arg, res, NULL, NULL, 0);"
    (folder / "loop.c").write_text(LOOP.format(
        declared="int law(const double **arg, double **res, long long *iw, double *w, int mem);", n=n, tick=tick))
    _compile(["gcc", *FLAGS, "-std=gnu11", "-fPIC", "-shared", "law.c", "loop.c", "-o", "law.so", "-lm"], folder)
    return InC(folder / "law.so", n)


def over_pinocchio(pair: Pair, law: Any, folder: Path) -> InC:
    """The same law over Pinocchio's recursive Newton-Euler algorithm in C++."""
    import pinocchio

    n, model, gains = pair.robot.n, pair.model, law.parameters
    if list(pair.to_pin) != list(range(n)):
        raise ValueError("expected a robot whose joints are in Pinocchio's order")
    joints = []
    for index in range(1, n + 1):
        placement, inertia = model.jointPlacements[index], model.inertias[index]
        if model.parents[index] != index - 1:
            raise ValueError("expected a serial robot")
        rows = ", ".join(map(repr, placement.rotation.ravel().tolist()))
        moments = ", ".join(map(repr, inertia.inertia.ravel().tolist()))
        joints.append(
            f"joint = model.addJoint(joint, pinocchio::{model.joints[index].shortname()}(), pinocchio::SE3("
            f"(Eigen::Matrix3d() << {rows}).finished(), {_vector(placement.translation)}), \"{index}\");\n"
            f"    model.appendBodyToJoint(joint, pinocchio::Inertia({inertia.mass!r}, {_vector(inertia.lever)}, "
            f"(Eigen::Matrix3d() << {moments}).finished()), pinocchio::SE3::Identity());")
    folder = folder / "pinocchio"
    folder.mkdir()
    numbers = {name: ", ".join(map(repr, np.broadcast_to(array, n).tolist())) for name, array in (
        ("p", gains.p), ("d", gains.d), ("friction", gains.friction))}
    (folder / "law.cpp").write_text(PINOCCHIO.format(
        n=n, joints="\n    ".join(joints), gravity=", ".join(map(repr, model.gravity.linear.tolist())), **numbers))
    (folder / "loop.c").write_text(LOOP.format(
        declared="void law(const double *row, double *effort);", n=n, tick="law(row, effort);"))
    include = next(parent / "include" for parent in Path(pinocchio.__file__).parents if (parent / "include").is_dir())
    defined = ("-DNDEBUG", "-DBOOST_MPL_LIMIT_LIST_SIZE=30", "-DBOOST_MPL_LIMIT_VECTOR_SIZE=30",
               "-DBOOST_MPL_CFG_NO_PREPROCESSED_HEADERS", "-DBOOST_FUSION_INVOKE_MAX_ARITY=12", "-w")
    _compile(["g++", *FLAGS, "-std=c++17", *defined, "-fPIC", f"-I{include}", f"-I{EIGEN}", "-c", "law.cpp"], folder)
    _compile(["gcc", *FLAGS, "-std=gnu11", "-fPIC", "-c", "loop.c"], folder)
    _compile(["g++", "-shared", "law.o", "loop.o", "-o", "law.so"], folder)
    return InC(folder / "law.so", n)


def _vector(values: np.ndarray) -> str:
    return f"Eigen::Vector3d({', '.join(map(repr, values.tolist()))})"


def _compile(command: list[str], folder: Path) -> None:
    subprocess.run(command, cwd=folder, check=True)


def rows(ticks: int = TICKS, repetitions: int = 31) -> Iterator[list[str]]:
    """One row for each peer, and one for the worst of many ticks."""
    pair = Pair.shipped("arm7")
    robot = pair.robot
    law = make_controller(LAW, robot)
    inputs = np.random.default_rng(6).uniform(-1.0, 1.0, (LOOPED, 5 * robot.n))
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        ours, size, stack = exported(law, folder)
        efforts = np.zeros((LOOPED, robot.n))
        loop = ours.loop(inputs, efforts)
        loop()
        q, v, *reference = np.split(inputs[0], 5)
        state = State(0.0, 0.001, q, v)
        wanted = JointReference(*reference)
        expected = np.asarray(law.update(state, wanted))
        np.testing.assert_allclose(efforts[0], expected, rtol=0.0, atol=1e-9 * np.abs(efforts).max())

        def python_call() -> object:
            return law.update(state, wanted)

        def row(name: str, peer: Callable[[], object], count: int) -> list[str]:
            times = compare(loop, peer, repetitions)
            result = Comparison(times.ours / LOOPED, times.peer / count)
            return [name, *time_cells(result, 1e9, 0), *ratio_cells(result, 1.0)]

        yield row("our compiled call from Python", python_call, 1)
        peers = [("CasADi, generated C", generated, available(), INSTALL),
                 ("Pinocchio, C++", over_pinocchio, EIGEN.is_dir(), "apt-get install g++ libeigen3-dev")]
        for name, make, there, install in peers:
            if not there:
                yield [name, f"not measured: `{install}`", *[""] * (len(EXPORTED_LAW.head) - 2)]
                continue
            theirs, found = make(pair, law, folder), np.zeros_like(efforts)
            call = theirs.loop(inputs, found)
            call()
            np.testing.assert_allclose(found, efforts, rtol=0.0, atol=1e-9 * np.abs(efforts).max(), err_msg=name)
            yield row(name, call, LOOPED)
        median, high, worst = ours.watched(inputs, ticks)
        yield [f"{ticks:.0e} ticks, a clock reading in each: median {median:.0f} ns, 99.99 % {high:.0f} ns, worst "
               f"{worst / 1e3:.0f} us; object code {size / 1024:.1f} kB, stack {stack} bytes",
               *[""] * (len(EXPORTED_LAW.head) - 1)]


EXPORTED_LAW = Section(
    "A law in C",
    f"`{LAW}` of arm7: the tick that `robodyn export` writes, compiled by `gcc {' '.join(FLAGS)}` and called in a C "
    f"loop over {LOOPED:,} states; beside the same law over other dynamics, compiled alike. The efforts are compared "
    "before.",
    ("beside", "ours in C [ns]", "the other [ns]", *RATIO_HEAD),
    rows,
)
