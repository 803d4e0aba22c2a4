# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Common behaviour of all nodes, observed on a node in a separate process."""

import signal

import pytest
from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus
from probe_rig import echo, start
from rcl_interfaces.msg import Parameter as ParameterMessage
from rcl_interfaces.msg import ParameterValue
from rcl_interfaces.srv import DescribeParameters, SetParameters, SetParametersAtomically
from ros_process import RosTest
from std_srvs.srv import Trigger

from robodyn_ros.nodes.internals.rclpy_parts import GuardedExecutor

pytestmark = pytest.mark.usefixtures("probe")


def test_parameters_are_described(ros):
    names = ["gain", "mode", "rate"]
    gain, mode, rate = ros.call(DescribeParameters, "/probe/describe_parameters", names=names).descriptors
    assert gain.description == "Factor [-]."
    assert (gain.floating_point_range[0].from_value, gain.floating_point_range[0].to_value) == (0.0, 10.0)
    assert mode.additional_constraints == "one of: up, down"
    assert rate.read_only


@pytest.mark.parametrize(("values", "reason"), [
    ({"gain": -1.0}, "gain"),
    ({"gain": float("nan")}, "Parameter gain out of range"),
    ({"gain": "fast"}, "expected a finite number from 0 to 10 [-], received 'fast'"),
    ({"gains": [1.0, float("inf")]}, "parameter 'gains': expected a list, each element a finite number from -10 to 10"),
    ({"mode": "sideways"}, "parameter 'mode': expected one of 'up', 'down', received 'sideways'"),
    ({"pairs": 3}, "parameter 'pairs': expected an even number, received 3"),
    ({"gain": 3.0}, "3 is refused by the node"),
    ({"rate": 50}, "read-only"),
    ({"gian": 2.0}, "unknown parameter 'gian': did you mean 'gain' or 'gains'?"),
])
def test_bad_parameters_are_refused_with_the_reason(ros, values, reason):
    result = ros.set_parameters("/probe", values)
    assert not result.successful
    assert reason in result.reason


def test_good_parameters_take_effect_and_integers_become_floats(ros):
    assert ros.set_parameters("/probe", {"gain": 4, "mode": "down"}).successful
    assert echo(ros, [1.0]) == [4.0]
    assert ros.set_parameters("/probe", {"gain": 2.0}).successful


@pytest.mark.parametrize("kind", [SetParameters, SetParametersAtomically])
def test_a_type_that_no_parameter_has_is_refused(ros, probe, kind):
    wrong = ParameterMessage(name="rate", value=ParameterValue(type=77))
    service = "set_parameters_atomically" if kind is SetParametersAtomically else "set_parameters"
    response = ros.call(kind, f"/probe/{service}", parameters=[wrong])
    [result] = [response.result] if kind is SetParametersAtomically else response.results
    assert not result.successful and "'rate'" in result.reason and "received 77" in result.reason
    assert "Traceback" not in probe.output()


def test_failing_callback_is_reported_and_the_node_goes_on(ros, probe):
    statuses = ros.record(DiagnosticArray, "/diagnostics")
    client = ros.node.create_client(Trigger, "/probe/fail")
    ros.wait_for(client.service_is_ready, "the service")
    client.call_async(Trigger.Request())

    def reported():
        for message in statuses:
            values = {value.key: value.value for value in message.status[0].values}
            if values.get("failed callbacks") == "1" and values.get("things") == "1":
                return message.status[0]

    status = ros.wait_for(reported, "the counters")
    assert status.level == DiagnosticStatus.ERROR
    assert status.name == "/probe"
    assert "failed callbacks, please report this" in probe.output()
    assert ros.call(Trigger, "/probe/seen").success


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_signals_end_the_node_cleanly(number):
    with start() as process:
        process.wait_for_output("ready")
        process.stop(number)


def test_signal_while_importing_ends_the_node_cleanly():
    with start(None, "slow_import") as process:
        process.wait_for_output("importing")
        process.stop()


@pytest.mark.parametrize(("parameters", "message"), [
    ({"gain": -1.0}, "parameter 'gain': expected a finite number from 0 to 10 [-], received -1.0 (command line)"),
    ({"gain": "fast"}, "parameter 'gain': expected a finite number from 0 to 10 [-], received 'fast' (command line)"),
    ({"mode": "left"}, "parameter 'mode': expected one of 'up', 'down', received 'left' (command line)"),
    ({"rate": 1.5}, "parameter 'rate': expected a whole number from 1 to 1000, received 1.5 (command line)"),
])
def test_bad_parameters_at_start_end_it_with_one_line(parameters, message):
    with start(parameters) as process:
        assert process.wait() == 2
        assert process.output().strip() == f"robodyn: error: {message}"


def test_integer_is_taken_for_a_float_at_start():
    with start({"gain": 3, "gains": [1, 2]}, namespace="alone") as process, RosTest(namespace="alone") as ros:
        assert echo(ros, [1.0]) == [3.0]
        process.stop()


def test_a_request_that_cannot_be_taken_leaves_the_node_served(monkeypatch):
    taken = []

    def take(executor, service, take=GuardedExecutor._take_service):
        taken.append(service.srv_name)
        if len(taken) == 1:
            raise RuntimeError("malformed")
        return take(executor, service)

    monkeypatch.setattr(GuardedExecutor, "_take_service", take)
    with RosTest("server") as server, RosTest("asker") as asker:
        failures = []
        executor = GuardedExecutor(lambda node, error: failures.append((node, str(error))), context=server.context)
        executor.add_node(server.node)
        server.node.create_service(Trigger, "answer", lambda _, response: response)
        client = asker.node.create_client(Trigger, "answer")
        asker.wait_for(client.service_is_ready, "the service")
        client.call_async(Trigger.Request())
        second = client.call_async(Trigger.Request())

        def answered():
            executor.spin_once(timeout_sec=0.05)
            return second.done()

        asker.wait_for(answered, "an answer")
        executor.shutdown()
        assert failures == [(server.node, "malformed")]
