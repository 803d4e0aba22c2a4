# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Stop, release, speed and bounds of the controller node, by its services and by the command line."""

import numpy as np
import pytest
from controller_rig import Rig, trajectory
from diagnostic_msgs.msg import DiagnosticStatus

from robodyn_ros.commands.command_line import main
from robodyn_ros.nodes.common.messages import read_stamp

SPACE = "/supervised"


@pytest.fixture(scope="module")
def rig(ros):
    with Rig(ros, "planar_2r", SPACE, hardware={"lockstep_speed_limit": 5.0}) as rig:
        yield rig
        for node in rig.nodes.values():
            node.stop()


def command(capsys, *words, code=0):
    result = main([words[0], "--namespace", SPACE, *words[1:]])
    printed = capsys.readouterr()
    assert result == code, printed.err
    return printed.err if code else printed.out


def test_a_stop_is_latched_until_the_release(rig, capsys):
    rig.hold_at("computed_torque", [0.0, 0.0])
    rig.publisher.publish(trajectory([4.0], [[1.0, -1.0]]))
    rig.next("motion", lambda state: state.reference.velocities and state.reference.velocities[0] > 0.2)
    assert "until ~/release" in command(capsys, "stop")
    stopped = rig.next("the stop", lambda state: (state.mode, state.reason) == ("stopped", "on request"))
    assert stopped.controller == "damping"
    status, values = rig.status(lambda status, values: values.get("stopped") == "on request")
    assert status.level == DiagnosticStatus.ERROR and "~/release lets it go on" in status.message
    assert values["controller"] == "computed_torque" and int(values["stops"]) == 1 and values["mode"] == "stopped"
    rig.publisher.publish(trajectory([1.0], [[0.5, 0.5]]))
    rig.nodes["controller"].wait_for_output("the robot is stopped (on request): call ~/release first")
    assert "released" in command(capsys, "release")
    free = rig.next("the release", lambda state: state.mode == "running")
    assert free.controller == "computed_torque"
    status, _ = rig.status(lambda status, values: values.get("stopped") == "no")
    assert "stopped" not in status.message
    rig.hold_at("computed_torque", [0.2, 0.2])


def test_the_speed_of_motions_is_scaled(rig, capsys):
    rig.hold_at("computed_torque", [0.0, 0.0])
    assert command(capsys, "speed", "50") == "50 %\n" == command(capsys, "speed")
    assert "expected 0 to 100 %" in command(capsys, "speed", "150", code=1)
    rig.next("half speed", lambda state: state.speed_scaling_factor == 0.5)
    count = len(rig.states)
    rig.publisher.publish(trajectory([1.0], [[0.8, -0.8]]))
    rig.next("the end", lambda state: np.allclose(state.reference.positions, [0.8, -0.8], atol=1e-9))
    times = [read_stamp(state.header.stamp) * 1e-9 for state in rig.states[count:] if any(state.reference.velocities)]
    assert np.ptp(times) == pytest.approx(2.0, abs=0.1)
    assert max(np.abs(state.error.positions).max() for state in rig.states[count:]) < 0.02
    assert command(capsys, "speed", "100%") == "100 %\n"


def test_a_trajectory_that_is_too_fast_is_refused_or_slowed(rig):
    rig.hold_at("computed_torque", [0.0, 0.0])
    rig.set(trajectory_limits="refuse")
    rig.publisher.publish(trajectory([0.05], [[1.0, 0.0]]))
    rig.nodes["controller"].wait_for_output("rejected a trajectory: trajectory: joint 'joint1' would have to move at")
    rig.set(trajectory_limits="scale")
    count = len(rig.states)
    rig.publisher.publish(trajectory([0.05], [[1.0, 0.0]]))
    rig.next("the end", lambda state: np.allclose(state.reference.positions, [1.0, 0.0], atol=1e-9))
    assert max(state.reference.velocities[0] for state in rig.states[count:]) <= 12.0 * 1.001
    rig.nodes["controller"].wait_for_output("times as long")
    rig.set(trajectory_limits="warn")


def test_a_tip_link_outside_the_workspace_is_warned_of_before_it_moves(rig):
    rig.hold_at("computed_torque", [0.0, 0.0])
    rig.set(**{"supervisor.workspace": [5.0, -1.0, -1.0, 6.0, 1.0, 1.0]})
    rig.status(lambda status, values: "the tip link is outside the workspace: x = " in status.message)
    rig.set(**{"supervisor.workspace": [0.0] * 6})
    rig.status(lambda status, values: "workspace" not in status.message)
    assert not rig.states[-1].intervention


def test_a_bound_stops_the_robot_and_counts_what_it_did(rig, capsys):
    rig.hold_at("computed_torque", [0.0, 0.0])
    assert "expected lowest x, y, z below" in rig.refuse(**{"supervisor.workspace": [1.0, 0.0, 0.0, 0.5, 1.0, 1.0]})
    rig.set(**{"supervisor.tip_speed": 0.2})
    rig.publisher.publish(trajectory([1.0], [[1.5, 1.0]]))
    stopped = rig.next("the stop", lambda state: state.mode == "stopped")
    assert stopped.reason.startswith("the tip link moves at") and "limit 0.2 m/s" in stopped.reason
    assert (stopped.reason_kind, list(stopped.reason_joints)) == ("tip speed", [])
    rig.set(**{"supervisor.tip_speed": 0.0})
    command(capsys, "release")
    rig.hold_at("computed_torque", [0.0, 0.0])
    rig.status(lambda status, values: int(values.get("supervised commands: stopped", 0)) > 0)
