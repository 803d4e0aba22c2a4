# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

import numpy as np

from robodyn_ros.toolbox.identification.excitation import FourierSeries

SERIES = FourierSeries(period=4.0, harmonics=3)


def test_it_begins_and_ends_at_rest_where_it_began():
    q, v, a = SERIES.basis(np.array([0.0, 4.0, 8.0]))
    assert q.shape == (3, SERIES.amplitudes)
    for values in (q, v, a):
        np.testing.assert_allclose(values, 0.0, atol=1e-12)


def test_velocity_and_acceleration_are_the_derivatives():
    times = np.linspace(0.0, 4.0, 4001)
    q, v, a = SERIES.basis(times)
    np.testing.assert_allclose(np.gradient(q, times, axis=0)[1:-1], v[1:-1], atol=1e-4)
    np.testing.assert_allclose(np.gradient(v, times, axis=0)[1:-1], a[1:-1], atol=1e-4)
    assert np.linalg.matrix_rank(q) == SERIES.amplitudes
