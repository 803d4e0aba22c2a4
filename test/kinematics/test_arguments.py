# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

import numpy as np
import pytest

from robodyn_ros.base.errors import InputError
from robodyn_ros.kinematics.arguments import as_rotation, as_rows


@pytest.mark.parametrize("bad", [2.0 * np.eye(3), np.diag([1.0, 1.0, -1.0]), np.zeros((3, 3))])
def test_as_rotation_refuses_other_matrices(bad):
    with pytest.raises(InputError, match="rotation: expected a rotation matrix"):
        as_rotation(bad, "rotation")


@pytest.mark.parametrize("rows", [(True, False) * 3, [1, 0] * 3, np.array([1, 0] * 3, bool)])
def test_rows_of_a_jacobian_are_six_booleans(rows):
    assert as_rows(rows) == (True, False) * 3


@pytest.mark.parametrize("rows", [(True,) * 5, (False,) * 6, (0, 1, 2, 3, 4, 5), (None,) * 6, "xyzxyz"])
def test_other_rows_are_refused(rows):
    with pytest.raises(InputError, match="rows: expected six booleans with one or more true"):
        as_rows(rows)
