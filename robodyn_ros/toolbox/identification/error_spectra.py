# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Variances of estimates that are linear in errors whose spectrum is measured."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from robodyn_ros.description.model import Array

_SMOOTHING = 20  # bands in which the errors' spectrum is even [1 / duration of the recording]
_LONGEST_GAP = 0.1  # as a share of the samples: errors before a longer gap are not like those after it


class ErrorSpectra:
    """Spectra of errors along a recording.

    Args:
        time: Of the samples, evenly spaced in each part of the recording, shape (K,) [s].
    """

    def __init__(self, time: Array) -> None:
        steps = np.diff(time)
        counts = np.rint(steps / np.median(steps)) if len(steps) else steps
        counts = np.clip(counts, 1, max(1, int(_LONGEST_GAP * len(time))))
        self._place = np.concatenate([[0], np.cumsum(counts)]).astype(np.intp)
        self._length = 1 << int(self._place[-1] + 1).bit_length()
        self._width = max(1, round(_SMOOTHING * self._length / max(len(time), 1)))
        kept = np.arange(self._width * -(-(self._length // 2 + 1) // self._width)).reshape(-1, 1, self._width)
        self._sizes = np.count_nonzero(kept <= self._length // 2, axis=(1, 2))
        # Frequencies between the first and the last one stand for the other half of the spectrum, too.
        self._halves = np.where((kept > 0) & (kept < self._length // 2), 2.0, 1.0)

    def variances(self, influence: Array, errors: Array) -> Array:
        """Variances of m sums of influence times error over samples and joints, for each of r errors, shape (r, m).

        Args:
            influence: Of each error on each sum, shape (K, n, m).
            errors: 0 where there are none, shape (r, K, n); errors of joints at the same time may be alike.
        """
        count = np.maximum(np.count_nonzero(errors, axis=1), 1)
        spectrum = self._bands(np.swapaxes(errors / np.sqrt(count)[:, None], 0, 1))
        density = spectrum.conj() @ np.swapaxes(spectrum, 2, 3) / self._sizes[:, None, None]
        factors = self._bands(influence.transpose(0, 2, 1))
        gain = (factors * self._halves) @ np.swapaxes(factors.conj(), 2, 3)
        return np.asarray(np.einsum("mbjk,rbjk->rm", gain, density, optimize=True).real / self._length)

    def _bands(self, series: Array) -> NDArray[np.complex128]:
        """Spectra in bands of frequency, shape (r, bands, n, frequencies); of series of shape (K, r, n)."""
        placed = np.zeros((*series.shape[1:], self._length))
        placed[..., self._place] = np.moveaxis(series, 0, -1)
        found = np.zeros((*series.shape[1:], len(self._sizes) * self._width), dtype=np.complex128)
        found[..., :self._length // 2 + 1] = np.fft.rfft(placed)
        return np.swapaxes(found.reshape(*series.shape[1:], -1, self._width), 1, 2)
