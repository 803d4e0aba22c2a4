# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

import gc
import inspect
import pickle
import sys
import threading
import tracemalloc
import weakref

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from robodyn_ros import compile as c
from robodyn_ros.base.errors import CompileError, InputError
from robodyn_ros.compile import compile_function
from robodyn_ros.compile.python_entry import documentation, forwarding_function


def function(q, matrix, gain):
    return np.array([gain * (matrix @ np.sin(q)), q[:2] + 1.0])


SHAPES = {"q": (3,), "matrix": (2, 3), "gain": ()}


@pytest.fixture(scope="module")
def kernel():
    kernel = compile_function(function, SHAPES, name="sample")
    assert type(kernel.call) is type(len)
    return kernel


@pytest.fixture
def arguments():
    rng = np.random.default_rng(6)
    return [rng.normal(size=shape) if shape else np.array(0.5) for shape in SHAPES.values()]


def test_the_function_is_computed(kernel, arguments):
    result = kernel(*arguments)
    assert type(result) is np.ndarray
    assert result.dtype == np.float64
    assert result.shape == (2, 2)
    assert result.flags.owndata
    assert result.flags.writeable
    np.testing.assert_allclose(result, function(*arguments), rtol=1e-15)
    np.testing.assert_array_equal(kernel.call(*arguments), result)


class Subclass(np.ndarray):
    pass


OTHER_FORMS = {
    "lists": lambda a: a.tolist(),
    "float32": lambda a: a.astype(np.float32).astype(object),
    "object": lambda a: a.astype(object),
    "other byte order": lambda a: a.astype(">f8"),
    "distances": lambda a: np.repeat(a, 2, axis=-1)[..., ::2] if a.ndim else a,
    "Fortran order": lambda a: np.array(a, order="F"),
    "unaligned": lambda a: np.frombuffer(b"\0" + a.tobytes(), offset=1).reshape(a.shape),
    "subclass": lambda a: a.view(Subclass),
    "another dtype object": lambda a: a.astype(np.dtype("f8", metadata={"unit": "rad"})),
    "read-only": lambda a: np.frombuffer(a.tobytes()).reshape(a.shape),
}


@pytest.mark.parametrize("form", OTHER_FORMS)
def test_anything_of_real_numbers_is_taken(kernel, arguments, form):
    others = [np.round(4 * argument) / 4 for argument in arguments]
    result = kernel(*map(OTHER_FORMS[form], others))
    assert type(result) is np.ndarray
    np.testing.assert_array_equal(result, kernel(*others))


def test_integers_and_names(kernel, arguments):
    q, matrix, gain = arguments
    np.testing.assert_array_equal(kernel(q, matrix, gain=2), kernel(q, matrix, 2.0))
    np.testing.assert_array_equal(kernel(gain=gain, matrix=matrix, q=q), kernel(q, matrix, gain))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda q, m, g: (q[:2], m, g), r"sample: q: expected shape \(3,\), received \(2,\)"),
        (lambda q, m, g: (q[None], m, g), r"sample: q: expected shape \(3,\), received \(1, 3\)"),
        (lambda q, m, g: (q, m.T, g), r"sample: matrix: expected shape \(2, 3\), received \(3, 2\)"),
        (lambda q, m, g: (q, m, [g]), r"sample: gain: expected shape \(\), received \(1,\)"),
        (lambda q, m, g: (q, m), r"sample: expected 3 arrays \(q, matrix, gain\), received 2 by position"),
        (lambda q, m, g: (q, m, g, g), "received 4 by position"),
        (lambda q, m, g: (), "received 0 by position"),
        (lambda q, m, g: (q, m, None), "sample: gain: expected real numbers, received NoneType"),
        (lambda q, m, g: (q * 1j, m, g), "sample: q: expected real numbers, received ndarray .dtype complex128"),
    ],
)
def test_bad_arguments_are_explained(kernel, arguments, change, message):
    with pytest.raises(InputError, match=message):
        kernel(*change(*arguments))


def test_bad_names_are_explained(kernel, arguments):
    q, matrix, gain = arguments
    for named in ({"gain": gain, "extra": 1}, {"Gain": gain}, {"q": q}):
        with pytest.raises(
            InputError, match=r"sample: expected 3 arrays \(q, matrix, gain\), received 2 by position, "
        ):
            kernel(q, matrix, **named)


def test_result_is_new_each_time(kernel, arguments):
    first = kernel(*arguments)
    kept = first.copy()
    kernel(*(2.0 * argument for argument in arguments))
    np.testing.assert_array_equal(first, kept)


def test_nothing_is_leaked(kernel, arguments):
    bad = [arguments[0][:2], *arguments[1:]]

    def use(count):
        for _ in range(count):
            kernel(*arguments)
            kernel.call(*arguments)
        for _ in range(count // 100):
            kernel(arguments[0].tolist(), *arguments[1:])
            with pytest.raises(InputError):
                kernel(*bad)

    use(500)
    watched = [*arguments, np.dtype(np.float64), np.ndarray, kernel, kernel.call]
    gc.collect()
    counts = [sys.getrefcount(thing) for thing in watched]
    tracemalloc.start()
    try:
        use(500)
        grown = []
        for _ in range(3):
            gc.collect()
            before = tracemalloc.get_traced_memory()[0]
            use(20_000 if type(kernel.call) is type(len) else 2_000)
            gc.collect()
            grown.append(tracemalloc.get_traced_memory()[0] - before)
    finally:
        tracemalloc.stop()
    # A pointer a call would be more than 30 000 each time; threads of other tests may take some memory meanwhile.
    assert min(grown) < 10_000
    assert [sys.getrefcount(thing) for thing in watched] == counts


def test_calls_from_several_threads_do_not_meet(kernel):
    rng = np.random.default_rng(7)
    samples = [[rng.normal(size=shape) for shape in SHAPES.values()] for _ in range(8)]
    wrong = []

    def work(sample):
        expected = kernel(*sample)
        wrong.extend(1 for _ in range(2000) if not np.array_equal(kernel(*sample), expected))

    workers = [threading.Thread(target=work, args=(sample,)) for sample in samples]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert not wrong


def test_what_is_called_lives_as_long_as_it_is_held(arguments):
    kernel = compile_function(function, SHAPES)
    call, expected = kernel.call, kernel(*arguments)
    del kernel
    gc.collect()
    for _ in range(20):  # new code would reuse the memory of freed code
        compile_function(lambda q: q + 1.0, {"q": (3,)})
    np.testing.assert_array_equal(call(*arguments), expected)


def test_a_kernel_goes_away_without_the_garbage_collector():
    gc.collect()
    gc.disable()
    try:
        kernel = compile_function(function, SHAPES)
        gone = weakref.ref(kernel)
        del kernel
        assert gone() is None
    finally:
        gc.enable()


def test_pickled_kernel_is_compiled_again(kernel, arguments):
    again = pickle.loads(pickle.dumps(kernel))
    assert again.name == "sample"
    np.testing.assert_array_equal(again(*arguments), kernel(*arguments))


def test_kernel_describes_itself(kernel):
    assert repr(kernel).startswith("<Kernel sample: <Tape (q[3], matrix[2, 3], gain[]) -> [2, 2], ")
    assert callable(kernel)
    if type(kernel.call) is type(len):
        assert str(inspect.signature(kernel.call)) == "(q, matrix, gain)"


def test_a_fallback_gets_what_the_kernel_does_not_take(kernel, arguments):
    received = []
    call = kernel.with_fallback(lambda *given, **named: received.append((given, named)) or kernel(*given[:3]))
    np.testing.assert_array_equal(call(*arguments), kernel(*arguments))
    assert not received
    received.clear()
    call(*arguments, None, extra=1)
    ((given, named),) = received
    assert all(a is b for a, b in zip(given, arguments, strict=False))
    assert given[3] is None
    assert named == {"extra": 1}


def test_a_function_tells_its_signature_and_documentation(kernel, arguments):
    """Before it is compiled, by a function that forwards to Python, and after."""
    text = documentation("sample", "(q, matrix, gain, extra=None)", "About it.\n\nMore.")

    def function(q, matrix, gain, extra=None):
        return kernel(q, matrix, gain) + (extra or 0.0)

    forwarding = forwarding_function("sample", text, function)
    for call in (forwarding, kernel.with_fallback(function, text)):
        np.testing.assert_array_equal(call(*arguments, extra=2.0), kernel(*arguments) + 2.0)
        np.testing.assert_array_equal(call(*arguments), kernel(*arguments))
        if type(kernel.call) is type(len):
            assert str(inspect.signature(call)) == "(q, matrix, gain, extra=None)"
            assert call.__doc__ == "About it.\n\nMore."
            assert call.__name__ == "sample"
        with pytest.raises(TypeError):
            call()


def test_an_error_in_a_fallback_passes(kernel, arguments):
    def fail(*given):
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        kernel.with_fallback(fail)(*arguments, None)


def test_no_inputs_no_operations_no_results():
    assert compile_function(lambda: np.eye(2), {})().tolist() == [[1.0, 0.0], [0.0, 1.0]]
    assert compile_function(lambda x: np.zeros((0, 3)), {"x": (2,)})(np.ones(2)).shape == (0, 3)
    assert compile_function(lambda x: x[::-1], {"x": (2,)})(np.array([1.0, 2.0])).tolist() == [2.0, 1.0]
    total = compile_function(lambda x: x.sum(), {"x": (2,)})(np.array([1.0, 2.0]))
    assert total.shape == ()
    assert total == 3.0
    assert compile_function(lambda x: 1.0, {"x": (0,)})(np.empty(0)) == 1.0


def test_what_cannot_be_traced_is_explained():
    with pytest.raises(CompileError, match="used as a condition"):
        compile_function(lambda x: x if x[0] > 0 else -x, {"x": (1,)})


ONE_OPERAND = [
    np.sin,
    np.cos,
    np.tanh,
    np.arctan,
    np.abs,
    np.negative,
    lambda a: np.sqrt(1.0 + a * a),
    lambda a: np.exp(-a * a),
    lambda a: np.log(2.0 + a * a),
    lambda a: np.arcsin(np.sin(a) * 0.9),
    lambda a: np.arccos(np.cos(a) * 0.9),
    lambda a: np.tan(0.5 * np.tanh(a)),
    lambda a: 0.0 * a,
    lambda a: -1.0 * a + 0.0,
    lambda a: 2.5 - a / 4.0,
    lambda a: np.tanh(a) ** 3,
    lambda a: (1.0 + a * a) ** -0.3,
]
TWO_OPERANDS = [
    lambda a, b: a + b,
    lambda a, b: a - b,
    lambda a, b: np.tanh(a) * b,
    lambda a, b: a / (1.0 + b * b),
    lambda a, b: a - (-b),
    lambda a, b: -a - b,
    lambda a, b: c.minimum(a, b),
    lambda a, b: c.maximum(a, b),
    lambda a, b: c.clip(a, -1.0, 2.0) + b,
    lambda a, b: c.arctan2(a, 1.0 + b * b),
]
# Of inputs only: beside a jump, rounding decides.
CHOICES = [
    lambda a, b: c.where(c.less(a, b), a, 2.0 * b),
    lambda a, b: c.where(c.greater_equal(a, 0.25), b, -1.0),
    lambda a, b: c.sign(a) * b,
    lambda a, b: c.equal(a, b) + c.less_equal(a, b),
]
STEP = st.tuples(st.integers(0, 2), st.integers(0, 999), st.integers(0, 999), st.integers(0, 999))


@settings(deadline=None, max_examples=25, derandomize=True)
@given(steps=st.lists(STEP, min_size=1, max_size=40), seed=st.integers(0, 2**32 - 1))
def test_all_forms_of_a_random_function_agree(steps, seed):
    def random_function(x):
        values = [*x, 0.0, 1.0, -0.75]
        for kind, choice, first, second in steps:
            if kind == 0:
                value = ONE_OPERAND[choice % len(ONE_OPERAND)](values[first % len(x)])
            elif kind == 1:
                recent = values[-6:]
                value = TWO_OPERANDS[choice % len(TWO_OPERANDS)](
                    recent[first % len(recent)], values[second % len(values)]
                )
            else:
                value = CHOICES[choice % len(CHOICES)](x[first % len(x)], x[second % len(x)])
            values.append(value)
        return np.array(values[-8:])

    samples = np.random.default_rng(seed).uniform(-3.0, 3.0, (11, 4))
    kernel = compile_function(random_function, {"x": (4,)})
    expected = np.array([random_function(sample) for sample in samples], dtype=float)
    scale = 1e-12 * (1.0 + np.abs(expected).max())
    for result in (kernel.tape(samples), kernel.batch(samples), np.array([kernel(x) for x in samples])):
        np.testing.assert_allclose(result, expected, rtol=1e-12, atol=scale)

    # NaN and infinity: all forms of the tape say NaN of the same results.
    samples[3, 1], samples[4, 2], samples[9, 0] = np.nan, np.inf, -np.inf
    unknown = np.isnan(kernel.tape(samples))
    np.testing.assert_array_equal(np.isnan(kernel.batch(samples)), unknown)
    np.testing.assert_array_equal(np.isnan([kernel(x) for x in samples]), unknown)
