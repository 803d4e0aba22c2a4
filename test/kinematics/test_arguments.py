import numpy as np
import pytest

from robodyn_ros.errors import InputError
from robodyn_ros.kinematics.arguments import as_array, as_floats, as_rotation, as_rows, is_traced


def test_as_array_says_expected_and_received_shape():
    with pytest.raises(InputError, match=r"jacobian: expected an array of shape \(6, any\), received shape \(3, 2\)"):
        as_array(np.zeros((3, 2)), (6, None), "jacobian")
    assert as_array(np.zeros((6, 2)), (6, None), "jacobian").shape == (6, 2)


def test_as_array_refuses_ragged_lists():
    with pytest.raises(InputError, match=r"point: expected an array of shape \(3,\), received \[1, \[2, 3\], 4\]"):
        as_array([1, [2, 3], 4], (3,), "point")


@pytest.mark.parametrize("bad", [[1.0, np.nan, 0.0], [1.0, np.inf, 0.0]])
def test_as_array_refuses_what_is_not_finite(bad):
    with pytest.raises(InputError, match="point: expected finite numbers"):
        as_array(bad, (3,), "point")


def test_as_array_refuses_text_and_complex_numbers():
    for bad in (["1", "2", "3"], [1j, 0, 0]):
        with pytest.raises(InputError, match="point: expected real numbers"):
            as_array(bad, (3,), "point")


def test_objects_pass_as_arrays_but_not_as_floats():
    traced = np.array([object(), object()])
    assert is_traced(as_array(traced, (2,), "q"))
    with pytest.raises(InputError, match="q: expected floats, received objects"):
        as_floats(traced, (2,), "q")


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
