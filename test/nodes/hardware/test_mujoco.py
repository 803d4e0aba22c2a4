# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""The hardware node on MuJoCo: lockstep, push, reset, pause and step in one process; and starts that are refused."""

import re

import numpy as np
import pytest
from geometry_msgs.msg import WrenchStamped
from hardware_peer import NAMES, PERIOD, Peer, hardware, sine_effort, stamp
from std_srvs.srv import SetBool, Trigger

from robodyn_interfaces.srv import SetState, Step
from robodyn_ros import Robot
from robodyn_ros.description.resources import robot_file
from robodyn_ros.simulation.commands import Drive
from robodyn_ros.simulation.plant import Plant

pytest.importorskip("mujoco", reason="MuJoCo is not installed: pip install mujoco")

SCENE = """<mujoco><worldbody><geom type='plane' size='5 5 .1'/><site name='base_link'/>
<body name='box' pos='3 0 .5'><freejoint/><geom type='box' size='.1 .1 .1'/></body></worldbody></mujoco>"""


def test_lockstep_push_reset_pause_and_step(tmp_path):
    (tmp_path / "scene.xml").write_text(SCENE)
    settings = {"engine": "mujoco", "mujoco_scene": str(tmp_path / "scene.xml"), "time_mode": "lockstep"}
    with hardware("mujoco", **settings) as process, Peer("mujoco") as peer:
        def answer(ticks, law=sine_effort):
            for _ in range(ticks):
                state = peer.wait_for(lambda: peer.states and peer.states[-1], "a state")
                peer.states.clear()
                expected = stamp(state) + PERIOD
                peer.command(NAMES, law(state), state.header.stamp)
                state = peer.next_stamped(expected)
            return state

        plant, rest = Plant(Robot.from_urdf(robot_file("planar_2r"))), np.zeros(2)

        def follow(begin, end):
            for tick in range(begin, end):
                now = 1e-9 * (tick + 1) * PERIOD
                effort = [3.0 * np.sin(now) - plant.v[0], 1.0 - 2.0 * plant.q[1]]
                plant.advance(Drive(np.array(effort), rest, rest), 2)

        follow(0, 100)
        state = answer(100)
        np.testing.assert_allclose([*state.position, *state.velocity], [*plant.q, *plant.v], atol=1e-8)

        # A push on the tip moves it; a sensor there feels it, since there is a scene.
        felt = peer.record(WrenchStamped, "force_torque_sensor_broadcaster/wrench")
        pushes = peer.publisher(WrenchStamped, "hardware/external_wrench")
        applied = peer.record(WrenchStamped, "hardware/applied_wrench")
        push = WrenchStamped()
        push.header.frame_id, push.wrench.force.y = "tip", 100.0
        pushes.publish(push)
        peer.wait_for(lambda: applied, "the wrench in force")
        follow(100, 110)  # without the push
        assert np.abs(answer(10).velocity - plant.v).max() > 0.5

        peer.wait_for(lambda: felt and abs(felt[-1].wrench.force.y - 100.0) < 0.5, "the wrench on the sensor")
        for service, fields in ((Trigger, {}), (SetState, {"position": [0.3, 0.2]})):
            name = {Trigger: "reset", SetState: "set_state"}[service]
            answered = peer.service(service, name, **fields)
            assert answered.success, answered.message
            expected = list(fields.get("position", [0.0, 0.0]))
            state = peer.next_state(lambda state, e=expected: list(state.position) == e, "the new state")
        assert peer.service(SetBool, "pause", data=True).success
        client = peer.node.create_client(Step, "/mujoco/hardware/step")
        peer.wait_for(client.service_is_ready, "the service")
        stepped = client.call_async(Step.Request(steps=3))
        begin = stamp(state)
        assert stamp(answer(3)) == begin + 3 * PERIOD
        peer.wait_for(stepped.done, "the answer to the step")
        assert stepped.result().success, stepped.result().message
        peer.wait_for(lambda: "energy: kinetic [J]" in peer.values(), "diagnostics")
        process.stop()


@pytest.mark.parametrize("settings, message", [
    ({"engine": "mojoco"}, "'mojoco'"),
    ({"engine": "mujoco", "mujoco_scene": "/none.xml"}, "mujoco_scene '/none.xml': there is no such file"),
])
def test_start_that_cannot_be_is_refused_in_one_line(settings, message):
    with hardware("refused", **settings) as process:
        assert process.wait() == 2
        assert re.fullmatch(f"robodyn: error: .*{message}.*", process.output().strip())
