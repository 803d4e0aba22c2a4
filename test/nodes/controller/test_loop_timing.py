# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""The controller node derives gains for the period and the delay of its loop, and tells the margin."""

import itertools
from unittest.mock import MagicMock

import numpy as np
import pytest
from controller_rig import Rig, trajectory
from rcl_interfaces.srv import GetParameters
from ros_process import RosProcess

from robodyn_ros import Robot
from robodyn_ros.commands.command_line import main
from robodyn_ros.control.age_monitor import FOREIGN_CLOCK
from robodyn_ros.control.default_gains import joint_gains
from robodyn_ros.nodes.controller.loop_timing import LOOKS, LoopTimingWatch
from robodyn_ros.resources import robot_file
from robodyn_ros.timing import to_nanoseconds

ARM6 = Robot.from_urdf(robot_file("arm6"))
UNDECLARED = 0
CALM = 0.3  # a tenth of the velocity limit of the joints [rad/s]


def gains(ros, namespace, law, field):
    names = [f"{law}.gains.{joint}.{field}" for joint in ARM6.joint_names]
    answer = ros.call(GetParameters, f"{namespace}/controller/get_parameters", names=names)
    return np.array([value.double_value for value in answer.values])


def test_a_declared_period_and_delay_count_from_the_start(ros):
    controller = {"update_rate": 100, "state_delay": 2, "controller": "pd_gravity", "pd.gains.elbow_joint.p": 7.0}
    with Rig(ros, "arm6", "/declared", hardware={"update_rate": 100}, controller=controller) as rig:
        expected = joint_gains(ARM6.with_timing(0.01, 2))
        np.testing.assert_allclose(gains(ros, rig.namespace, "pd_gravity", "p"), expected[0])
        np.testing.assert_allclose(gains(ros, rig.namespace, "damping", "d"), expected[1])
        assert gains(ros, rig.namespace, "pd", "p")[2] == 7.0
        rig.nodes["controller"].wait_for_output("controller 'pd_gravity' is stable with a period of 10 ms and a delay "
                                                "of 2 periods, also with 2 times its gains")
        _, values = rig.status(lambda status, values: "stable gains of the safe controller, over its own" in values)
        assert values["gains are for"] == "a period of 10 ms and a delay of 2 periods"
        assert float(values["stable gains of the active controller, over its own"]) >= 2.0
        assert "the loop has" not in rig.nodes["controller"].output()


def test_the_delay_of_a_simulation_counts_where_all_nodes_are_given_it(ros, tmp_path):
    file = tmp_path / "simulation.yaml"
    file.write_text("/**: {ros__parameters: {sensing: {delay: 3}}}")
    command = ("-m", "robodyn_ros", "controller", "--ros-args", "--params-file", str(file))
    with RosProcess("controller", {"robot": "arm6"}, "simulated", command=command):
        expected = joint_gains(ARM6.with_timing(0.002, 3))[1]
        np.testing.assert_allclose(gains(ros, "/simulated", "damping", "d"), expected)


def test_a_longer_period_is_measured_and_given_gains_stay(ros):
    """The arm under pd_gravity rests again, also after its gains for 500 Hz let it swing for a moment."""
    controller = {"update_rate": UNDECLARED, "controller": "pd_gravity", "safe_controller": "pd_gravity",
                  "damping.gains.elbow_joint.d": 0.5}
    with Rig(ros, "arm6", "/measured", hardware={"update_rate": 50}, controller=controller) as rig:
        rig.nodes["controller"].wait_for_output("the loop has a period of 20 ms and a delay of 0 periods, not a "
                                                "period of 2 ms")
        expected = joint_gains(ARM6.with_timing(0.02))
        np.testing.assert_allclose(gains(ros, rig.namespace, "pd_gravity", "d"), expected[1])
        damping = gains(ros, rig.namespace, "damping", "d")
        assert damping[2] == 0.5
        np.testing.assert_allclose(damping[3:], expected[1][3:])
        rig.next("rest", lambda state: np.abs(state.feedback.velocities).max() < 0.01)
        rig.nodes["controller"].wait_for_output("controller 'pd_gravity' is stable with a period of 20 ms")


@pytest.mark.parametrize(("age", "delay"), [(0.0061, 3), (0.0021, 0), (1e6, 0), (0.3, 0), (59.0, 0)])
def test_a_longer_delay_is_measured_for_some_seconds_before_it_counts(age, delay):
    """The nodes are stand-ins: on a busy computer, no driver keeps its delay. A period is borne."""
    node, loop, plugins, count = MagicMock(), MagicMock(), MagicMock(), itertools.count(1)
    watch = LoopTimingWatch(node, ARM6.with_timing(0.002), loop, MagicMock(), plugins, lambda: 0.0)
    for _ in range(LOOKS):
        plugins.retime.assert_not_called()
        for number in itertools.islice(count, 100):
            watch.note(number * to_nanoseconds(0.002), 0.002, number, to_nanoseconds(age))
        watch.look()
    assert [call.args[0].timing for call in plugins.retime.call_args_list] == ([(0.002, delay)] if delay else [])
    assert node.diagnostics.problem.called == bool(delay)
    told = [call.args[1] for call in node.diagnostics.raise_condition.call_args_list]
    assert any("the clocks of two machines differ" in text for text in told) == (0.25 < age < FOREIGN_CLOCK)


def test_a_state_that_paused_hardware_repeats_tells_no_delay():
    """The nodes are stand-ins."""
    plugins, count = MagicMock(), itertools.count(1)
    watch = LoopTimingWatch(MagicMock(), ARM6.with_timing(0.002), MagicMock(), MagicMock(), plugins, lambda: 0.0)
    for second in range(10 * LOOKS):
        for number in itertools.islice(count, 20):
            watch.note(1, 0.002, number, to_nanoseconds(0.02 + 0.01 * second))
        watch.look()
    plugins.retime.assert_not_called()


def test_a_pause_lowers_no_gains(ros):
    """In real time; the last state comes again and again, older and older."""
    with Rig(ros, "arm6", "/pause", hardware={"update_rate": 500, "time_mode": "real_time"}) as rig:
        rig.next()
        before = gains(ros, rig.namespace, "pd", "p")
        assert main(["pause", "--namespace", rig.namespace]) == 0
        ages = iter(range(LOOKS + 2))
        rig.status(lambda status, values: next(ages, None) is None)  # one a second
        np.testing.assert_array_equal(gains(ros, rig.namespace, "pd", "p"), before)
        assert "the loop has" not in rig.nodes["controller"].output()


def test_gains_beyond_the_bound_are_warned_of(ros):
    with Rig(ros, "planar_2r", "/beyond", controller={"controller": "damping"}) as rig:
        rig.set(**{"pd.gains.joint2.d": 500.0})  # not in force
        rig.set(**{"damping.gains.joint2.d": 500.0})
        rig.nodes["controller"].wait_for_output("controller 'damping' oscillates in some postures with a period of 5 "
                                                "ms and a delay of 0 periods: its gains would have to be")
        rig.status(lambda status, values: "oscillates" in status.message)
        assert "'pd' oscillates" not in rig.nodes["controller"].output()
        rig.set(**{"damping.gains.joint2.d": 1.0})
        rig.status(lambda status, values: "oscillates" not in status.message)


@pytest.mark.parametrize("safe", ["pd_gravity", "damping"])
def test_a_stop_calms_an_arm_whose_delay_nobody_told(ros, safe, capsys):
    """Three periods at 500 Hz: what such an arm did on after ~/stop."""
    hardware = {"update_rate": 500, "sensing.delay": 3, "lockstep_speed_limit": 2.0}
    controller = {"controller": "pd_gravity", "safe_controller": safe}
    with Rig(ros, "arm6", f"/untold_{safe}", hardware=hardware, controller=controller) as rig:
        start = rig.next()
        away = np.array(start.feedback.positions) + 0.3
        rig.publisher.publish(trajectory([0.3], [away], names=start.joint_names))
        rig.next("a swing", lambda state: np.abs(state.feedback.velocities).max() > CALM)
        assert main(["stop", "--namespace", rig.namespace]) == 0
        capsys.readouterr()
        rig.next("calm", lambda state: state.intervention and np.abs(state.feedback.velocities).max() < 0.5 * CALM)
        rig.next("calm still", lambda state: True)
        assert np.abs(rig.states[-1].feedback.velocities).max() < CALM
