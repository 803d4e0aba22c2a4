"""The hardware node with encoders: what joint_states show, and that noise is the same from run to run."""

import numpy as np
import pytest
from hardware_peer import NAMES, Peer, hardware, run_lockstep

NOISY = {"sensing.position_resolution": 1e-4, "sensing.position_noise": [1e-4, 3e-4],
         "sensing.velocity_source": "position", "sensing.velocity_filter": 0.01, "sensing.delay": 1}


def test_noisy_lockstep_runs_are_equal_to_the_bit_for_one_seed_only():
    first = run_lockstep("noise1", 80, seed=5, **NOISY)
    again = run_lockstep("noise2", 80, seed=5, **NOISY)
    other = run_lockstep("noise3", 80, seed=6, **NOISY)
    assert np.abs(first[-1] - first[0]).max() > 1e-3
    assert first.tobytes() == again.tobytes()
    assert (first != other).any()
    steps = first[:, :2] / 1e-4
    assert np.abs(steps - np.rint(steps)).max() < 1e-6


def test_delay_shows_the_state_of_earlier_periods():
    def blind(state):
        return [1.0, 0.5]

    exact, late = run_lockstep("exact", 30, blind), run_lockstep("late", 30, blind, **{"sensing.delay": 4})
    assert (late[4:, :4] == exact[:-4, :4]).all()
    assert (late[:, 4:] == exact[:, 4:]).all()


def test_sensing_changes_while_the_node_runs_and_bad_figures_are_refused():
    with hardware("live", command_timeout=0.0) as process, Peer("live") as peer:
        peer.command(NAMES, [1.0, 0.5])
        assert peer.set_parameters("/live/hardware", {"sensing.position_resolution": [0.01, 0.1]}).successful
        peer.next_state()
        state = peer.next_state(lambda state: abs(state.position[1]) > 0.15, "some way")
        steps = np.array(state.position) / [0.01, 0.1]
        assert np.abs(steps - np.rint(steps)).max() < 1e-6
        assert peer.set_parameters("/live/hardware", {"sensing.position_resolution": 0}).successful
        peer.next_state(lambda state: abs(state.position[1] / 0.1 - round(state.position[1] / 0.1)) > 1e-3,
                        "the position itself")
        result = peer.set_parameters("/live/hardware", {"sensing.position_noise": [0.0, 0.0, 0.0]})
        assert not result.successful
        assert "position_noise: expected one number or one for each of 2 joints, received 3" in result.reason
        process.stop()


@pytest.mark.parametrize(("parameters", "message"), [
    ({"sensing.position_noise": [-1.0]}, "parameter 'sensing.position_noise': expected at least 0, received -1"),
    ({"sensing.velocity_noise": [1.0, 1.0, 1.0]}, "velocity_noise: expected one number or one for each of 2 joints"),
    ({"sensing.velocity_source": "guess"}, "expected one of 'sensor', 'position', received 'guess'"),
])
def test_sensors_that_cannot_be_say_why(parameters, message):
    with hardware("none", **parameters) as process:
        assert process.wait() == 2
        assert message in process.output()
