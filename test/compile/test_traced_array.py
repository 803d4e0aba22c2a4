# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Functions in NumPy, compiled as they stand: the results are NumPy's; functions without a traced form are named."""

import copy
import math
from types import ModuleType

import numpy as np
import pytest
from numpy import array, sqrt
from numpy.linalg import norm

from robodyn_ros import CompileError
from robodyn_ros.compile import compile_function, trace
from robodyn_ros.compile.small_matrices import MAX_ROWS
from robodyn_ros.compile.traced_numpy import TracedCopies


def helper(x):
    return np.sqrt(np.array([x[0] ** 2, 1.0, 4]))


def fill(x):
    filled = np.zeros(4)
    filled[0], filled[1:3] = x[0], x[1:3]
    filled[3] += x[0]
    filled[x.shape[0] - 1] *= 2
    block = np.empty((2, 2))
    block[0], block[1] = x[:2], 0.5
    return filled + block.ravel()


def change_in_place(x):
    y = x.copy()
    y += 1
    y[0] = 2.0
    y *= x
    y[1:] -= 0.5
    np.clip(y, -1, 1, out=y)
    np.multiply(y, 2, out=y)
    y[y < 0.1] = 0.1
    y.flat[3] = 7.0
    np.add.at(y, [0, 0], x[1])
    return y


def filled_constants(x):
    y, z = np.array([0.0] * 4), np.array([[1.0, 2.0], [3.0, 4.0]])
    y[0], z[0, 1] = x[0], x[1]
    chosen, kept = np.array([0, 2]), np.array([True, False, True, True])
    y[chosen] += z[0]
    return np.concatenate([y, z[1], x[chosen], x[kept], np.interp(x, np.array([-1.0, 1.0]), np.array([0.0, 3.0]))])


def swap(a):
    b = a.copy()
    b[a.shape[0] - 1, :] = 0
    b[:, [0, 1]] = b[:, [1, 0]]
    b[b[:, 0] > 0.0] = -1.0
    return b


class Helpers:
    """As a law's class, with a function of its own."""

    @staticmethod
    def law(x):
        return np.sqrt(np.array([x[0] ** 2, 1.0]))


def imports_inside(x):
    import numpy
    from numpy import zeros

    filled = zeros(2)
    filled[0] = numpy.linalg.norm(numpy.array([x[0], 1.0]))
    return filled


def with_closure():
    def root(x):
        return np.sqrt(np.array([x[0] ** 2, 1.0]))

    return lambda x, a: root(x)


HELPERS = ModuleType("helpers")
exec(compile("import numpy as np\ndef root(x):\n    return np.sqrt(np.array([x[0] ** 2, 1.0]))", "helpers.py", "exec"),
     vars(HELPERS))


FUNCTIONS = {
    "a function of a class": lambda x, a: Helpers.law(x),
    "a function of a closure": with_closure(),
    "imports inside": lambda x, a: imports_inside(x),
    "a function of a module": lambda x, a: HELPERS.root(x),
    "a function inside": lambda x, a: (lambda y: np.sqrt(np.array([y[0] ** 2, 1.0])))(x),
    "in comprehensions": lambda x, a: np.array([np.linalg.norm([each, 1.0]) for each in x]),
    "made of elements": lambda x, a: helper(x),
    "solve": lambda x, a: (
        np.linalg.solve(a, x) + np.linalg.solve(a, np.outer(x, x))[0] + np.linalg.solve(a, [1.0, 2, 3, 4])),
    "solve with exchanged rows": lambda x, a: np.linalg.solve(np.array([[0.0, 1.0], x[:2]]), np.array([x[2], 1])),
    "solve with constant rows": lambda x, a: np.linalg.solve(np.roll(np.eye(4), 1, axis=0), x),
    "solve stacks": lambda x, a: np.linalg.solve(np.stack([a, a.T]), np.stack([a, a])),
    "inv": lambda x, a: np.linalg.inv(a) + np.linalg.inv(np.stack([a, a.T]))[1] + np.linalg.inv(a[:1, :1]),
    "det": lambda x, a: np.array([
        np.linalg.det(a), np.linalg.det([[0.0, x[0]], [x[1], 0.0]]), *np.linalg.det([a, a.T])]),
    "cholesky": lambda x, a: np.linalg.cholesky(a @ a.T + np.eye(4)) + np.linalg.cholesky([a @ a.T + np.eye(4)])[0],
    "matrix_power": lambda x, a: np.linalg.matrix_power(a, 3) + np.linalg.matrix_power(a, -1),
    "norms": lambda x, a: np.array([
        np.linalg.norm(x), np.linalg.norm(a), np.linalg.norm(x, 1), np.linalg.norm(x, np.inf), np.linalg.norm(a, 1),
        np.linalg.norm(x, 3), np.linalg.norm(x, 0), np.linalg.norm(a, "fro"), np.linalg.norm(a, -1), norm([x[0], 1.0]),
        np.linalg.norm(a, axis=1)[0], np.linalg.norm(a, axis=(0, 1)), np.linalg.norm(x, -np.inf),
        np.linalg.vector_norm(x), np.linalg.matrix_norm(a), np.linalg.norm(a, axis=1, keepdims=True)[0, 0]]),
    "choices": lambda x, a: (
        np.clip(x, -0.5, [0.1, 0.2, 0.3, 0.4]) + x.clip(-0.5, None) + np.clip(x[0], -0.5, 0.5) + np.fmax(x, 0.2)
        + np.where((x > 0) & (x < 0.5) | ~(x != 2), 2.0, x) + np.minimum(x, 0.1) + np.maximum(x[0], x)
        + np.sign(x) * abs(x)
        + np.maximum(0, [x[0], 1.0, x[1], 2.0]) + (x >= 0) * x + (x == x[0]) + np.where(x[0] > 0, x, a[0])
        + np.select([x < -0.5, x < 0.5], [x, 2 * x], 9.0) + np.logical_xor(x > 0, x < 1) + np.heaviside(x, 0.5)),
    "truths": lambda x, a: 1.0 * np.array([
        np.any(x > 0), np.all(x > -9), (x > 0).any(), (x > 0.1).all(), np.count_nonzero(x > 0), np.sum(x > 0),
        np.any(a > 1, axis=0)[1], np.allclose(x, x + 1e-12), np.array_equal(x, x), True]),
    "methods of functions": lambda x, a: (
        np.minimum.reduce([x, a[0], np.ones(4)]) + np.maximum.outer([x[0], 1.0], x)[0] + np.add.reduce([x, x])
        + np.maximum.accumulate([x[0], 0.1, x[1], x[2]])),
    "filled constants": lambda x, a: filled_constants(x),
    "not finite": lambda x, a: np.where(np.isfinite(x) & ~np.isnan(x), x, 0.0) + np.nan_to_num(x) + np.isinf(x),
    "remainders": lambda x, a: (
        (10 * x + np.pi) % (2 * np.pi) - np.pi + (7 * x) // 2 + np.fmod(5 * x, 1.1) + x[0] % 0.1 + 2.0 % x + x % -0.3),
    "whole numbers": lambda x, a: (
        np.floor(9 * x) + np.ceil(3 * x) + np.trunc(7 * x) + np.round(5 * x) + np.around(x, 2) + round(x[0], 1)
        + np.rint(x[0] * 5)),
    "elementary functions": lambda x, a: (
        np.sinh(x) + np.cosh(x) + np.arcsinh(x) + np.arctanh(np.tanh(x)) + np.log1p(x * x) + np.log2(x * x + 1)
        + np.log10(x * x + 1) + np.cbrt(x) + np.hypot(x, 1) + np.exp2(x) + np.deg2rad(x) + np.degrees(x) + np.square(x)
        + np.copysign(2, x) + np.arccosh(1 + x * x) + np.reciprocal(x) + np.expm1(x) + np.sinc(x) + np.sinc(x - x)
        + np.arctan2(x, 1.0) + np.arctan2([1.0, x[0], x[1], 0.0], x) + np.log(np.array([1.0, 2.0, 3.0, 4.0]))
        + np.log1p(1e-9 * x) * 1e9 + np.sinh(1e-9 * x) * 1e9 + np.signbit(x) + np.fabs(x)),
    "powers": lambda x, a: (abs(x) ** 1.5 + np.power(np.abs(x), 0.3) + 2.0**x + x**3 + np.power(x, 2) + np.abs(x) ** x
                            + np.float_power(abs(x), 0.2) + x**-2),
    "reductions": lambda x, a: np.array([
        np.sum(x), x.sum(), np.mean(x), x.mean(), np.sum([x[0], x[1]]), a.sum(axis=0)[1], np.prod(x), np.max(x),
        x.min(), np.amax(a), np.ptp(x), np.std(x), x.var(), np.std(a, axis=0)[0], a.mean(axis=(0, 1)),
        a.max(axis=(0, 1)), sum(x), np.average(x, weights=[1, 2, 3, 4.0]), a.trace(), np.trace(a), np.maximum.reduce(x),
        np.mean(a, axis=1)[2]]),
    "products": lambda x, a: (
        np.outer(x, x) + np.einsum("ij,j->ij", a, x) + np.einsum("i,j", x, x) + np.einsum("ij,jk,k->i", a, a, x)
        + np.einsum("ii->i", a) + np.einsum("ij->", a) + np.dot(a, x) + np.inner(a, x) + np.vdot(x, x) + x.dot(x)
        + a.T @ x + np.matmul(a, x) + np.linalg.multi_dot([a, a, x])
        + np.tensordot(a, x, 1) + np.kron(x[:2], [1.0, 2.0])
        + np.multiply.outer(x, x) + np.maximum.outer(x, x) + np.polyval([1.0, 2.0, 3.0], x)
        + np.convolve(x, [1, 2.0])[:4]),
    "cross": lambda x, a: np.cross(x[:3], x[1:]) + np.cross([x[0], 0, 1.0], [0, 1, 2]) + np.cross(a[:, :3], x[1:])[2],
    "sequences": lambda x, a: (
        np.roll(x, 1) + np.flip(x) + np.cumsum(x) + x[::-1] + np.append(np.diff(x), 0.0) + np.maximum.accumulate(x)
        + np.cumprod(x) + np.interp(x, [-1, 0, 0.5], [0, 1, 5]) + np.interp(x, [-1, 0.5], [0, 1], left=7, right=8.0)),
    "a matrix of blocks": lambda x, a: np.linalg.solve(
        np.block([[a, np.eye(4)], [np.eye(4), np.zeros((4, 4))]]), np.concatenate([x, np.zeros(4)])),
    "chosen terms": lambda x, a: np.sum(x, where=np.array([True, False, True, True])) + np.prod(a, where=np.eye(4) > 0)
    + np.sum(a[np.tril(np.ones((4, 4))) != 0.0]),
    "joined": lambda x, a: np.concatenate([
        x, [1.0, x[0]], np.zeros(2), np.hstack([x, 1.0, x[0]]), np.vstack([x, a]).ravel(), np.append(x, 1.0),
        np.stack([x, np.ones(4)])[1], np.block([[a, x[:, None]], [x[None, :], np.zeros((1, 1))]])[4], np.r_[x[:3], 0.0],
        np.column_stack([x, x])[0], np.tile(x[:2], 2), np.repeat(x[:2], 2), np.squeeze(x[None]), np.take(x, [0, 3])]),
    "diagonals": lambda x, a: (
        np.diag(x) + np.diag([x[0], 1.0, 2.0, 3.0]) + np.diag(np.diag(a)) + np.tril(a) + np.triu(a, 1) + a.diagonal()
        + np.trace(a) * np.eye(4)),
    "arrays": lambda x, a: (
        x.astype(float) * (x > 0).astype(float) + np.asarray(x, dtype=float) + np.array(x, float) + np.full(4, x[0])
        + np.full_like(x, x[1]) + np.ones_like(x) + np.array(x.tolist()) + np.array(list(x)) + x.flatten()
        + x[[0, 0, 1, 1]]
        + np.broadcast_to(x[:1], (4,)) + np.array([[v for v in row] for row in a]).sum(0) + copy.copy(x)),
    "fill": lambda x, a: fill(x),
    "in place": lambda x, a: change_in_place(x),
    "swap": lambda x, a: swap(a),
    "names": lambda x, a: sqrt(array([x[0] ** 2, 1.0])),
    "constants": lambda x, a: np.linalg.svd(np.eye(2))[1] * x[:2] + np.linalg.eigvalsh(np.diag([1.0, 2.0])),
    "a rotation": lambda x, a: np.array(
        [[np.cos(x[0]), -np.sin(x[0]), 0], [np.sin(x[0]), np.cos(x[0]), 0], [0, 0, 1]]) @ x[:3],
    "least squares": lambda x, a: a[:2].T @ np.linalg.solve(a[:2] @ a[:2].T + 1e-3 * np.eye(2), x[:2]),
}


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("name", FUNCTIONS)
def test_the_results_are_those_of_numpy(name):
    function, rng = FUNCTIONS[name], np.random.default_rng(0)
    kernel = compile_function(TracedCopies().copy_of(function), {"x": (4,), "a": (4, 4)}, name="function")
    for _ in range(20):
        x, a = rng.normal(size=4), rng.normal(size=(4, 4))
        expected = np.asarray(function(x, a))
        result = kernel(x, a)
        assert result.shape == expected.shape
        # An ill-conditioned matrix may lose digits; the compiler may not lose more.
        np.testing.assert_allclose(result, expected, rtol=1e-12 * max(1.0, np.linalg.cond(a) ** 2 / 100), atol=1e-12)


def loop(x):
    while x[0] > 0:
        x = x - 1
    return x


OUTSIDE = np.zeros(4)


def store_outside(x):
    OUTSIDE[0] = x[0]
    return OUTSIDE


REFUSED = {
    "if": (lambda x, a: x if x[0] > 0 else -x, r"np\.where\(condition"),
    "if of an array": (lambda x, a: x if x > 0 else -x, r"np\.where\(condition"),
    "while": (lambda x, a: loop(x), r"np\.where\(condition"),
    "min": (lambda x, a: min(x[0], 1.0), r"np\.minimum"),
    "chain": (lambda x, a: np.where(0 < x < 1, x, 0.0), r"\(a < b\) & \(b < c\)"),
    "sorted": (lambda x, a: sorted(x), r"np\.minimum"),
    "float": (lambda x, a: float(x[0]) * x, r"np\.floor"),
    "int": (lambda x, a: x * int(x[0]), r"np\.floor"),
    "astype": (lambda x, a: x.astype(int), r"np\.floor"),
    "range": (lambda x, a: sum(range(x[0])), r"np\.floor"),
    "math": (lambda x, a: math.sin(x[0]) * x, r"np\.sin"),
    "an array made outside": (lambda x, a: store_outside(x), r"np\.zeros"),
    "adding to an array made outside": (lambda x, a: np.add(OUTSIDE, x, out=OUTSIDE), r"a = a \+ b"),
    "mask": (lambda x, a: x[x > 0].sum(), r"np\.where\(condition, a, b\) in the place of a\[condition\]"),
    "one argument": (lambda x, a: np.where(x > 0)[0], r"np\.where\(condition, a, b\)"),
    "index": (lambda x, a: x[np.argmax(x)], r"np\.argmax.*np\.where"),
    "sort": (lambda x, a: np.sort(x), r"np\.sort.*np\.minimum"),
    "median": (lambda x, a: np.median(x), r"np\.median"),
    "svd": (lambda x, a: np.linalg.svd(a)[1], r"np\.linalg\.svd.*np\.linalg\.solve"),
    "eigh": (lambda x, a: np.linalg.eigh(a)[0], r"np\.linalg\.eigh"),
    "pinv": (lambda x, a: np.linalg.pinv(a) @ x, r"np\.linalg\.pinv.*J\.T @ np\.linalg\.solve"),
    "lstsq": (lambda x, a: np.linalg.lstsq(a, x)[0], r"np\.linalg\.lstsq.*J\.T"),
    "norm": (lambda x, a: np.linalg.norm(a, 2), r"np\.linalg\.norm.*'fro'"),
    "a large matrix": (lambda x, a: np.linalg.inv(np.kron(np.eye(MAX_ROWS), a)), f"at most {MAX_ROWS} rows"),
    "not square": (lambda x, a: np.linalg.inv(a[:2]), "square matrix, received shape"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_has_no_traced_form_is_told_with_what_to_write_instead(name):
    function, advice = REFUSED[name]
    with pytest.raises(CompileError, match=advice):
        trace(TracedCopies().copy_of(function), {"x": (4,), "a": (4, 4)})
    assert not OUTSIDE.any()


def test_singular_matrices_give_no_finite_numbers():
    kernel = compile_function(lambda a: np.linalg.inv(a), {"a": (3, 3)}, name="inverse")
    assert not np.isfinite(kernel(np.ones((3, 3)))).any()
    root = compile_function(lambda a: np.linalg.cholesky(a), {"a": (2, 2)}, name="root")
    assert np.isnan(root(-np.eye(2))[0, 0])


def test_the_function_itself_stays_as_it_is():
    before = helper.__globals__.copy()
    assert TracedCopies().copy_of(helper).__globals__["np"] is not np
    assert helper.__globals__ == before and helper.__globals__["np"] is np


def countdown(x, k):
    return x if k == 0 else np.sqrt(np.array([countdown(x, k - 1)[0] + 1.0, 4.0]))


def test_functions_may_call_themselves():
    kernel = compile_function(TracedCopies().copy_of(lambda x: countdown(x, 3)), {"x": (2,)}, name="countdown")
    np.testing.assert_allclose(kernel([0.5, 0.0]), countdown(np.array([0.5, 0.0]), 3), rtol=1e-14)


def test_a_print_does_not_keep_a_function_from_being_traced(capsys):
    trace(lambda x: print(f"{x[0]:.3f}", x) or x, {"x": (1,)})
    assert "traced value" in capsys.readouterr().out


def test_single_numbers_are_compared_as_arrays_are():
    """An array without axes must not become a plain object array, for which NumPy would call bool()."""
    kernel = compile_function(lambda x, y: np.where(x >= 2.0, y, -y) + (x < y), {"x": (), "y": ()})
    for x, y in ((2.0, 3.0), (1.5, 0.5)):
        assert kernel(x, y) == (y if x >= 2.0 else -y) + (x < y)


def test_functions_without_a_module():
    names = {"np": np}
    exec("def law(x):\n    return half(np.sqrt(x))\ndef half(x):\n    return 0.5 * x", names)
    assert names["half"].__module__ is None
    kernel = compile_function(TracedCopies().copy_of(names["law"]), {"x": (4,)}, name="law")
    np.testing.assert_allclose(kernel(np.array([1.0, 4.0, 9.0, 16.0])), [0.5, 1.0, 1.5, 2.0])
