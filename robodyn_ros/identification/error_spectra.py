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
from scipy.ndimage import uniform_filter1d

from robodyn_ros.description.model import Array

_SMOOTHING = 20  # of the errors' spectrum [1 / duration of the recording]
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

    def variances(self, influence: Array, errors: Array) -> Array:
        """Variances of m sums of influence times error over samples and joints, shape (m,).

        Args:
            influence: Of each error on each sum, shape (K, n, m).
            errors: 0 where there are none, shape (K, n); errors of joints at the same time may be alike.
        """
        count = np.maximum(np.count_nonzero(errors, axis=0), 1)
        spectrum = self._spectrum(errors / np.sqrt(count))
        density = spectrum[:, :, None].conj() * spectrum[:, None, :]
        density = uniform_filter1d(density, self._width, axis=0, mode="reflect")
        density[1:-1] *= 2.0  # the other half of the spectrum
        factors = self._spectrum(influence)
        return np.asarray(np.einsum("fjm,fjk,fkm->m", factors, density, factors.conj(), optimize=True).real
                          / self._length)

    def _spectrum(self, series: Array) -> NDArray[np.complex128]:
        placed = np.zeros((self._length, *series.shape[1:]))
        placed[self._place] = series
        return np.fft.rfft(placed, axis=0)
