# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""`BoundBatch`: a procedure for many samples, whose arrays keep their memory from one run to the next."""

from __future__ import annotations

from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np

from robodyn_ros.base.errors import InputError
from robodyn_ros.compile.batch_abi import empty_result, sample_parts
from robodyn_ros.compile.compiled_program import CompiledProgram
from robodyn_ros.compile.records import flatten_all, unflatten_all


class BoundBatch:
    """A procedure for N samples whose arguments and results stay where they are.

    ``bound["q"]`` is always the same array, or record of arrays, with an axis of the N samples first, to read and to
    write in place; ``bound["q"] = values`` writes it. A variable that is an input and an output is one array: a run
    goes on where the last one ended. `run` makes no arrays, checks nothing, and releases the GIL. A sample has the same
    results, to the bit, with any number of samples and threads. Only one thread at a time may use it.

    Args:
        compiled: The code for batches.
        width: Samples that it computes at once.
        samples: N, 1 or more.
        threads: Number of threads that share the samples.
        counts: The counts of loops that have a name.

    Attributes:
        arrays: Each array by its path such as ``state.q``, with an axis of the N samples first.
    """

    def __init__(self, compiled: CompiledProgram, width: int, samples: int, threads: int, counts: Mapping[str, int]
                 ) -> None:
        program, whole = compiled.program, -(-samples // width) * width  # a block is complete
        shapes = {name: program.variables[name] for name in (*program.inputs, *program.outputs)}
        rows = program.sequences | program.records
        shapes |= {name: program.rows_shape(own, counts) for name, own in rows.items()}
        self._arrays = {name: empty_result((whole, *shape)) for name, shape in shapes.items()}
        for array in self._arrays.values():
            array[...] = 0.0
        self._padded = [(array[samples:], array[samples - 1]) for name, array in self._arrays.items()
                        if whole > samples and (name in program.inputs or name in program.sequences)]
        self.arrays = {name: array[:samples] for name, array in self._arrays.items()}
        self._forms = program.arguments | program.answers
        self._values = unflatten_all(self._forms, self.arrays)
        self._words, self._kept = compiled.words(list(counts.values()), self._arrays, self._arrays)
        self._code, self._function = compiled.code, compiled.function  # the code lives as long as its owner
        parts = sample_parts(whole, width, threads)
        self._memories = [np.empty((compiled.frame_size + 1) * width, np.float64) for _ in parts]
        self._calls = [(first, end, self._words.ctypes.data, memory.ctypes.data + -memory.ctypes.data % (8 * width))
                       for (first, end), memory in zip(parts, self._memories, strict=True)]
        self._pool = ThreadPoolExecutor(len(self._calls) - 1) if len(self._calls) > 1 else None

    def run(self) -> None:
        """Run the program once for all samples."""
        for rows, last in self._padded:
            rows[...] = last
        if self._pool is None:
            self._function(*self._calls[0])
            return
        others = [self._pool.submit(self._function, *call) for call in self._calls[1:]]
        self._function(*self._calls[0])
        for other in others:
            other.result()

    def __getitem__(self, name: str) -> Any:
        if name not in self._values:
            raise InputError(f"bound batch: expected one of {', '.join(self._values)}, received {name!r}")
        return self._values[name]

    def __setitem__(self, name: str, values: Any) -> None:
        form = {name: self._forms[name]} if name in self._forms else {}
        if not form:
            raise InputError(f"bound batch: expected one of {', '.join(self._values)}, received {name!r}")
        for path, array in flatten_all(form, {name: values}, "bound batch").items():
            self.arrays[path][...] = array
