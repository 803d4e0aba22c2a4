# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

import threading

import numpy as np
import pytest

from robodyn_ros.base.errors import InputError
from robodyn_ros.compile import batch_abi, compile_function
from robodyn_ros.compile.machine import host


def function(q, matrix):
    return np.array([np.outer(q[:4], np.sin(q[5:9])) @ matrix.T @ matrix[:, 0], q[:4] + matrix[2, 3]])


SHAPES = {"q": (11,), "matrix": (3, 4)}
# A row with a different number of elements than a vector has lanes, two blocks and a bit, and everything below.
COUNTS = [0, 1, 2, 3, 5, 7, 8, 9, 16, 17, 100]


@pytest.fixture(scope="module")
def kernel():
    return compile_function(function, SHAPES, name="sample")


def arrays(count, seed=5):
    rng = np.random.default_rng(seed)
    return [rng.normal(size=(count, *shape)) for shape in SHAPES.values()]


def reference(samples):
    return np.array([function(*sample) for sample in zip(*samples, strict=True)]).reshape(-1, 2, 4)


@pytest.mark.parametrize("count", COUNTS)
def test_any_number_of_samples(kernel, count):
    samples = arrays(count)
    result = kernel.batch(*samples)
    assert result.shape == (count, 2, 4)
    np.testing.assert_allclose(result, reference(samples), rtol=1e-12, atol=1e-14)


def padded(array):
    """The array as a view into a larger one, with distances between all elements."""
    large = np.full([2 * length + 1 for length in array.shape], np.nan)
    view = large[tuple(slice(1, None, 2) for _ in array.shape)]
    view[...] = array
    return view


LAYOUTS = {
    "Fortran order": np.asfortranarray,
    "matrices in Fortran order": lambda a: np.moveaxis(np.moveaxis(a, 1, -1).copy(), -1, 1),
    "views with distances": padded,
    "rows apart": lambda a: np.repeat(a, 3, axis=0)[::3],
    "backwards": lambda a: np.ascontiguousarray(a[::-1])[::-1],
    "read-only": lambda a: np.frombuffer(a.tobytes()).reshape(a.shape),
    "other byte order": lambda a: a.astype(">f8"),
    "lists": lambda a: a.tolist(),
}


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("count", [1, 8, 21])
def test_any_layout(kernel, layout, count):
    samples = arrays(count)
    result = kernel.batch(*map(LAYOUTS[layout], samples))
    np.testing.assert_array_equal(result, kernel.batch(*samples))


@pytest.fixture
def streaming(monkeypatch):
    """Results of any size go around the caches."""
    monkeypatch.setattr(batch_abi, "STREAMED_BYTES", 0)
    monkeypatch.setattr(batch_abi, "ALIGNED_BYTES", 0)


@pytest.mark.parametrize("count", COUNTS)
@pytest.mark.parametrize("threads", [1, 3])
def test_results_that_go_around_the_caches(kernel, count, threads, streaming):
    samples = arrays(count)
    result = kernel.batch(*samples, threads=threads)
    assert result.ctypes.data % batch_abi.CACHE_LINE == 0 or count == 0
    np.testing.assert_allclose(result, reference(samples), rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("layout", ["Fortran order", "views with distances", "rows apart", "8 bytes on"])
def test_results_that_go_around_the_caches_in_an_array_of_the_callers(kernel, layout, streaming):
    samples = arrays(21)
    nothing = np.full((21, 2, 4), np.nan)
    out = np.full(1 + nothing.size, np.nan)[1:].reshape(nothing.shape) if layout == "8 bytes on" else (
        LAYOUTS[layout](nothing))
    assert kernel.batch(*samples, out=out) is out
    np.testing.assert_array_equal(out, kernel.batch(*samples))


def test_results_go_around_the_caches_if_all_arrays_together_are_large():
    def streamed(inputs, results):
        words, _ = batch_abi.row_words([(inputs, "input"), (results, "output")])
        return [bool(word) for word in words[batch_abi.ROW_WORDS - 1::batch_abi.ROW_WORDS]]

    count = batch_abi.STREAMED_BYTES // (8 * 28) + 1
    inputs, results = np.empty((count, 21)), batch_abi.empty_result((count, 7))
    assert streamed(inputs, results) == [False, True]
    assert streamed(inputs[1:], results[1:]) == [False, False]
    assert streamed(np.broadcast_to(inputs[0], inputs.shape), results) == [False, False]


def test_large_results_go_around_the_caches():
    kernel = compile_function(lambda x: np.outer(x, x), {"x": (7,)})
    x = np.random.default_rng(0).normal(size=(batch_abi.STREAMED_BYTES // (8 * 49) + 5, 7))
    np.testing.assert_array_equal(kernel.batch(x), np.einsum("ki,kj->kij", x, x))


def test_one_sample_for_all_by_broadcasting(kernel):
    q, matrix = arrays(13)
    same = np.broadcast_to(matrix[0], matrix.shape)
    np.testing.assert_array_equal(kernel.batch(q, same), kernel.batch(q, same.copy()))


@pytest.mark.parametrize("layout", ["C", "Fortran order", "views with distances", "rows apart"])
@pytest.mark.parametrize("count", [0, 3, 8, 21])
def test_result_in_an_array_of_the_callers(kernel, layout, count):
    samples = arrays(count)
    out = LAYOUTS.get(layout, np.array)(np.full((count, 2, 4), -1.0))
    assert kernel.batch(*samples, out=out) is out
    np.testing.assert_array_equal(out, kernel.batch(*samples))


def test_result_may_replace_an_input():
    kernel = compile_function(lambda x: x[::-1] + 1.0, {"x": (3,)})
    memory = np.random.default_rng(9).normal(size=(30, 3))
    expected = kernel.batch(memory[:20].copy())
    assert kernel.batch(memory[:20], out=memory[1:21]).base is memory
    np.testing.assert_array_equal(memory[1:21], expected)


def test_nothing_beside_the_result_is_written(kernel):
    samples = arrays(21)
    large = np.full((23, 2, 6), 7.0)
    kernel.batch(*samples, out=large[1:-1, :, 1:-1])
    np.testing.assert_array_equal(large[1:-1, :, 1:-1], kernel.batch(*samples))
    large[1:-1, :, 1:-1] = 7.0
    assert np.all(large == 7.0)


@pytest.mark.parametrize("threads", [1, 2, 3, 50])
@pytest.mark.parametrize("count", [0, 1, 7, 300])
def test_threads_share_the_samples(kernel, threads, count):
    samples = arrays(count)
    np.testing.assert_array_equal(kernel.batch(*samples, threads=threads), kernel.batch(*samples))


def test_calls_from_several_threads_do_not_meet():
    kernel = compile_function(function, SHAPES)  # the first thread compiles the batch form
    samples = [arrays(200, seed) for seed in range(6)]
    results = [None] * len(samples)

    def work(number):
        for _ in range(20):
            results[number] = kernel.batch(*samples[number])

    workers = [threading.Thread(target=work, args=(number,)) for number in range(len(samples))]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    for given, result in zip(samples, results, strict=True):
        np.testing.assert_allclose(result, reference(given), rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("lanes", [2, 4, 8])
def test_every_vector_width(monkeypatch, lanes):
    """LLVM splits vectors wider than the processor's: slower, but the same numbers."""
    monkeypatch.setattr("robodyn_ros.compile.kernel.host", lambda: host()._replace(lanes=lanes))
    kernel = compile_function(function, SHAPES)
    for count in (1, 7, 24):
        samples = arrays(count)
        np.testing.assert_allclose(kernel.batch(*samples), reference(samples), rtol=1e-12, atol=1e-14)


def test_nan_stays_in_its_sample(kernel):
    samples = arrays(21)
    samples[0][9, 0] = np.nan
    result = kernel.batch(*samples)
    assert np.isnan(result[9, 0, 0])
    assert np.isfinite(np.delete(result, 9, axis=0)).all()


def test_by_name_and_without_dimensions():
    kernel = compile_function(lambda q, gain: gain * q.sum(), {"q": (3,), "gain": ()})
    q, gain = np.ones((5, 3)), np.arange(5.0)
    np.testing.assert_array_equal(kernel.batch(q, gain=gain), 3.0 * gain)
    np.testing.assert_array_equal(kernel.batch(gain=gain, q=q), 3.0 * gain)


def test_empty_inputs_and_results():
    kernel = compile_function(lambda q, empty: empty, {"q": (3,), "empty": (0, 2)})
    assert kernel.batch(np.ones((5, 3)), np.empty((5, 0, 2))).shape == (5, 0, 2)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda q, m: (q[0], m), r"sample: q: expected shape \(N, 11\), received \(11,\)"),
        (lambda q, m: (q[:, :5], m), r"sample: q: expected shape \(N, 11\), received \(4, 5\)"),
        (lambda q, m: (q, m[:, :, 0]), r"sample: matrix: expected shape \(N, 3, 4\), received \(4, 3\)"),
        (lambda q, m: (q, m[:3]), "as many samples in each array, received 4 in q, 3 in matrix"),
        (lambda q, m: (q,), r"sample: expected 2 arrays \(q, matrix\), received 1 by position"),
        (lambda q, m: (q, "text"), "sample: matrix: expected real numbers, received str"),
    ],
)
def test_bad_arguments_are_explained(kernel, change, message):
    with pytest.raises(InputError, match=message):
        kernel.batch(*change(*arrays(4)))


@pytest.mark.parametrize("threads", [0, -1, 1.5, "2"])
def test_bad_number_of_threads(kernel, threads):
    with pytest.raises(InputError, match="sample: threads: expected an integer of 1 or more"):
        kernel.batch(*arrays(4), threads=threads)


def test_bad_result_array(kernel):
    read_only = np.empty((4, 2, 4))
    read_only.flags.writeable = False
    for out, message in (
        (np.empty((4, 2, 4), dtype=np.float32), "expected a float64 array"),
        ([[0.0]], "expected a float64 array, received list"),
        (np.empty((4, 8)), r"out: expected shape \(4, 2, 4\), received \(4, 8\)"),
        (read_only, "expected a writeable, aligned array"),
    ):
        with pytest.raises(InputError, match=message):
            kernel.batch(*arrays(4), out=out)


def test_a_function_without_inputs_has_no_batch():
    with pytest.raises(InputError, match="has no inputs"):
        compile_function(lambda: np.ones(3), {}).batch()
