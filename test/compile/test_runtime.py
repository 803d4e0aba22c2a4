# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

import math

import numpy as np
import pytest

from robodyn_ros.compile import Kernel, compile_function
from robodyn_ros.compile.llvm_text import FunctionText, float_type, function, struct_type
from robodyn_ros.compile.machine import Code, compile_module, host
from robodyn_ros.compile.runtime import COSINE, HALF_PI_PARTS, MAX_REDUCED_ANGLE, SINE, Runtime

ANGLES = 16


@pytest.fixture(scope="module")
def kernel() -> Kernel:
    return compile_function(lambda x: [np.sin(x), np.cos(x)], {"x": (ANGLES,)}, name="sincos")


def computed(kernel, angles, form):
    """Sine and cosine of each angle, in the single or the batch form."""
    rows = np.resize(angles, (-(-len(angles) // ANGLES), ANGLES))
    results = kernel.batch(rows) if form == "batch" else np.array([kernel(row) for row in rows])
    return np.moveaxis(results, 1, 0).reshape(2, -1)[:, : len(angles)]


def units_in_last_place(result, reference):
    return np.abs(result - reference) / np.spacing(np.abs(reference))


@pytest.mark.parametrize("form", ["single", "batch"])
@pytest.mark.parametrize("largest", [1e-3, 0.8, 4.0, 1e2, 1e4, 1e6, 1e9, 1e12])
def test_accurate_to_two_units_in_the_last_place(kernel, form, largest):
    angles = np.random.default_rng(3).uniform(-largest, largest, 4000)
    sines, cosines = computed(kernel, angles, form)
    assert units_in_last_place(sines, np.sin(angles)).max() <= 2.0
    assert units_in_last_place(cosines, np.cos(angles)).max() <= 2.0


@pytest.mark.parametrize("form", ["single", "batch"])
def test_accurate_where_the_result_is_nearly_zero(kernel, form):
    quarter_turns = np.arange(-3000, 3000) * (math.pi / 2)
    for angles in (quarter_turns, np.nextafter(quarter_turns, np.inf), quarter_turns * 1001):
        sines, cosines = computed(kernel, angles, form)
        assert units_in_last_place(sines, np.sin(angles)).max() <= 2.0
        assert units_in_last_place(cosines, np.cos(angles)).max() <= 2.0


@pytest.mark.parametrize("form", ["single", "batch"])
def test_special_angles(kernel, form):
    limit = MAX_REDUCED_ANGLE
    angles = np.array([0.0, -0.0, 5e-324, -5e-324, math.inf, -math.inf, math.nan, limit, -limit, limit * 1.5, 1e308])
    sines, cosines = computed(kernel, angles, form)
    with np.errstate(invalid="ignore"):
        np.testing.assert_allclose(sines, np.sin(angles), rtol=4e-16)
        np.testing.assert_allclose(cosines, np.cos(angles), rtol=4e-16)
    np.testing.assert_array_equal(np.signbit(sines[:4]), [False, True, False, True])
    np.testing.assert_array_equal(sines[2:4], angles[2:4])


@pytest.mark.parametrize("width", [1, 2, 4, 8])
@pytest.mark.parametrize("count", [1, 3])
@pytest.mark.parametrize("fused", [True, False])
def test_every_width_and_processors_without_fused_multiply_add(width, count, fused):
    if fused and not host().fused:
        pytest.skip("this processor has no fused multiply-add")
    kind, pairs = float_type(width), struct_type(2 * count, width)
    caller = FunctionText(width)
    angles = [caller.load(caller.at("%x", number, kind)) for number in range(count)]
    given = ", ".join(f"{kind} {angle}" for angle in angles)
    runtime = Runtime(width, width, fused)
    called = caller.let(f"call {pairs} @{runtime.sincos(width, count, True)}({given})")
    for place in range(2 * count):
        caller.store(caller.let(f"extractvalue {pairs} {called}, {place}"), caller.at("%pairs", place, kind))
    text = runtime.text() + function("void @all(ptr %x, ptr %pairs)", caller.lines)
    code = Code(compile_module(text), ("all",), {})
    compute = code.function("all", None, *[np.ctypeslib.ndpointer(np.float64)] * 2)
    near, far = np.random.default_rng(1).uniform(-20.0, 20.0, (2, count, width))
    far[-1, -1] = 1e10  # one angle for the C library, which then takes all
    for x in (near, far):
        results = np.empty((count, 2, width))
        compute(x, results)
        np.testing.assert_allclose(results, np.stack([np.sin(x), np.cos(x)], axis=1), rtol=5e-16)


def test_constants():
    assert math.fsum(HALF_PI_PARTS) == math.pi / 2
    assert math.sin(HALF_PI_PARTS[0]) == 1.0
    # cos(fl(pi/2)) is what fl(pi/2) lacks to pi/2.
    assert math.cos(HALF_PI_PARTS[0]) == pytest.approx(HALF_PI_PARTS[1], rel=1e-15)
    taylor_sine = [(-1) ** k / math.factorial(2 * k + 1) for k in range(1, 7)]
    taylor_cosine = [(-1) ** k / math.factorial(2 * k) for k in range(2, 8)]
    for minimax, taylor in ((SINE, taylor_sine), (COSINE, taylor_cosine)):
        np.testing.assert_allclose(minimax[:3], taylor[:3], rtol=1e-7)
        np.testing.assert_allclose(minimax, taylor, rtol=2e-2)
