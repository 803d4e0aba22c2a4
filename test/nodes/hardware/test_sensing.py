# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""The hardware node with encoders: what joint_states show, and changes while it runs."""

import numpy as np
from hardware_peer import NAMES, Peer, hardware, run_lockstep

NOISY = {"sensing.position_resolution": 1e-4, "sensing.position_noise": [1e-4, 3e-4],
         "sensing.velocity_source": "position", "sensing.velocity_filter": 0.01, "sensing.delay": 1}


def test_the_seed_decides_the_noise_and_encoders_count_steps():
    """That one seed gives equal runs, test_hardware_motors.py shows."""
    first, other = (run_lockstep(f"noise{seed}", 60, seed=seed, **NOISY) for seed in (5, 6))
    assert np.abs(first[-1] - first[0]).max() > 1e-3
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
        assert ("position_noise: expected one number or shape (2,), one for each joint, received shape (3,)"
                in result.reason)
        process.stop()


def test_sensors_that_cannot_be_say_why():
    with hardware("none", **{"sensing.velocity_noise": [1.0, 1.0, 1.0]}) as process:
        assert process.wait() == 2
        assert "velocity_noise: expected one number or shape (2,), one for each joint" in process.output()
