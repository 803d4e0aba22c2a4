import numpy as np
import pytest

from robodyn_ros.actuation.per_joint import per_actuator, require
from robodyn_ros.errors import InputError


def test_single_numbers_stand_for_all_actuators():
    arrays = per_actuator("Motor", {"resistance": 2, "limit": [1.0, np.inf, 3.0]}, limits=("limit",))
    assert arrays["resistance"].tolist() == [2.0, 2.0, 2.0]
    assert arrays["limit"].tolist() == [1.0, np.inf, 3.0]
    assert not any(array.flags.writeable for array in arrays.values())


def test_the_callers_array_is_copied():
    given = np.array([1.0, 2.0])
    kept = per_actuator("Motor", {"resistance": given})["resistance"]
    given[0] = 9.0
    assert kept.tolist() == [1.0, 2.0]


@pytest.mark.parametrize(("values", "message"), [
    ({"resistance": "two"}, "Motor.resistance: expected a number or one for each joint, received 'two'"),
    ({"resistance": [[1.0, 2.0]]}, "Motor.resistance: expected a finite number or one for each joint"),
    ({"resistance": [1.0, np.nan]}, "Motor.resistance: expected a finite number"),
    ({"resistance": np.inf}, "Motor.resistance: expected a finite number"),
    ({"limit": np.nan}, "Motor.limit: expected a finite number"),
    ({"resistance": [1.0, 2.0], "limit": [1.0, 2.0, 3.0]}, "received lengths {'resistance': 2, 'limit': 3}"),
])
def test_other_values_are_refused_by_name(values, message):
    with pytest.raises(InputError, match=message):
        per_actuator("Motor", values, limits=("limit",))


def test_a_condition_is_on_every_value():
    array = np.array([1.0, -2.0])
    require("Motor", "inductance", array, array > -3.0, "numbers above -3")
    with pytest.raises(InputError, match=r"Motor.inductance: expected positive numbers, received \[1.0, -2.0\]"):
        require("Motor", "inductance", array, array > 0.0, "positive numbers")
