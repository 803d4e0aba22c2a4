"""What the hardware node makes of its parameters."""

import pytest

from robodyn_ros.errors import InputError
from robodyn_ros.nodes.hardware_parameters import PARAMETERS, control_period, sensing
from robodyn_ros.simulation.sensing import Sensing, VelocitySource

DEFAULTS = {parameter.name: parameter.default for parameter in PARAMETERS}


def test_by_default_joints_are_seen_as_they_are():
    assert sensing(DEFAULTS.get).exact


def test_sensing_is_read_from_its_parameters():
    values = DEFAULTS | {"sensing.position_resolution": [0.1, 0.2], "sensing.position_noise": [0.3],
                         "sensing.velocity_noise": [0.4], "sensing.velocity_source": "position",
                         "sensing.velocity_filter": 0.5, "sensing.delay": 6}
    read = sensing(values.get)
    assert read.position_resolution.tolist() == [0.1, 0.2]
    assert (read.position_noise.tolist(), read.velocity_noise.tolist()) == ([0.3], [0.4])
    assert (read.velocity_source, read.velocity_filter, read.delay) == (VelocitySource.POSITION, 0.5, 6)
    assert isinstance(read, Sensing)


@pytest.mark.parametrize(("rate", "step", "expected"), [
    (1000, 0.001, (1_000_000, 1)), (500, 0.001, (2_000_000, 2)), (250, 0.0005, (4_000_000, 8)),
])
def test_control_period(rate, step, expected):
    assert control_period(rate, step) == expected


@pytest.mark.parametrize(("rate", "step", "message"), [
    (2000, 0.001, "received 2000 Hz; possible: 1000 Hz"),
    (500, 1 / 3000, "parameter 'step': expected a whole number of nanoseconds"),
    (500, 0.0007, "with this step no whole rate is possible"),
])
def test_impossible_control_period(rate, step, message):
    with pytest.raises(InputError, match=message):
        control_period(rate, step)
