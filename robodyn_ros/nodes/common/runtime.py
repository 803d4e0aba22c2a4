# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""The base class of all nodes, and the life of their process: start, executor, stop.

``run_node(factory, args)`` is the body of every node's ``main``. A node derives from :class:`RobodynNode`; its
parameters, services and timers are served by an ordinary executor on the main thread. The control path has a thread of
its own, a :class:`~robodyn_ros.nodes.common.control_path.ControlPath`.

    class Echo(RobodynNode):
        def __init__(self):
            super().__init__("echo")
            self.parameters.declare([Parameter("gain", 1.0, "Factor on positions.")])
            self._publisher = self.create_publisher(JointState, "out", CONTROL_QOS)
            self.add_control_path(ControlPath(self, self.diagnostics, JointState, "in", self._cycle))

        def _cycle(self, path):
            message = path.wait()
            if message is not None:
                self._publisher.publish(message)

    def main(args=None):
        return run_node(Echo, args)
"""

from __future__ import annotations

import gc
import sys
import threading
import time
import warnings
from collections.abc import Callable, Sequence
from contextlib import suppress
from contextvars import ContextVar
from functools import partial
from typing import Any

import rclpy
from rcl_interfaces.msg import SetParametersResult
from rclpy.clock import Clock, ClockType
from rclpy.event_handler import PublisherEventCallbacks
from rclpy.exceptions import ParameterException
from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node
from rclpy.parameter import Parameter as RosParameter
from rclpy.publisher import Publisher
from rclpy.qos import QoSProfile
from rclpy.signals import SignalHandlerOptions
from rclpy.subscription import Subscription
from rclpy.timer import Timer

from robodyn_ros.base.errors import DescriptionWarning, InputError, RobodynError, suggest, with_escaped_arguments
from robodyn_ros.nodes.common.control_path import ControlPath
from robodyn_ros.nodes.common.diagnostics import Diagnostics
from robodyn_ros.nodes.common.discovery import described
from robodyn_ros.nodes.common.given_parameters import GIVEN, GivenParameters, namespace_rule
from robodyn_ros.nodes.common.node_thread import NodeThread
from robodyn_ros.nodes.common.parameters import DeclaredParameters
from robodyn_ros.nodes.common.real_time import PARAMETERS as REAL_TIME_PARAMETERS
from robodyn_ros.nodes.common.real_time import apply_to_thread
from robodyn_ros.nodes.common.signals import StopSignals
from robodyn_ros.nodes.common.throttled_log import ThrottledLog, short_lines
from robodyn_ros.nodes.common.transport import init_ros
from robodyn_ros.nodes.common.unknown_parameters import check_given
from robodyn_ros.nodes.internals.rclpy_parts import CheckedParameterService, GuardedExecutor, missing

EXIT_OK, EXIT_USAGE = 0, 2

_VALUES_PER_LINE = 6

_STOP: ContextVar[threading.Event | None] = ContextVar("stop", default=None)  # for the nodes being made

LAST_ROUNDS, LAST_SECONDS = 5, 2.0
"""Rounds of the executor for the last answers of a stopping node, and their longest time [s]."""

TAKING_SECONDS = 0.3
"""Time for receivers to take these [s]; Fast DDS may lose an answer if its sender leaves before."""

FAILED_CALLBACKS = "failed callbacks"
"""Counter of the exceptions on the executor."""

# Longest time for which a thread holds the GIL while another one waits for it [s] (default of Python: 5 ms). A control
# period re-acquires the GIL several times; even 0.5 ms let diagnostics delay it by one period.
_SWITCH_INTERVAL = 0.00001

# Thresholds of the garbage collector. A collection holds the GIL, and with Python's defaults it would traverse the 10^6
# objects of an immense message again and again during its conversion.
_COLLECTIONS = (5000, 20, 50)


class RobodynNode(Node):
    """A node with declared parameters, diagnostics and control paths.

    Attributes:
        parameters: The node's parameters; see :mod:`robodyn_ros.nodes.common.parameters`.
        log: The node's log; see :mod:`robodyn_ros.nodes.common.throttled_log`.
        diagnostics: Counters and throttled warnings; see :mod:`robodyn_ros.nodes.common.diagnostics`.
        stop_requested: Set when the process is asked to stop; waiting callbacks must check it.
        introduction: What the node is, logged once its threads run; empty: nothing.
    """

    def __init__(self, name: str) -> None:
        try:
            super().__init__(name, start_parameter_services=False)
        except ParameterException as error:  # in a parameter of rclpy itself
            raise InputError(f"node '{name}': {error}") from None
        except RuntimeError as error:  # rclpy's RCLError: the middleware refuses, for example for want of security
            raise RobodynError(f"node '{name}' cannot start: {error}") from None
        self._checked_services = CheckedParameterService(self)
        self.stop_requested = _STOP.get() or threading.Event()
        self.introduction = ""
        self.log = ThrottledLog(self.get_logger().name)
        self.parameters = DeclaredParameters(self, self.log)
        self.diagnostics = Diagnostics(self, self.log)
        self.create_steady_timer(1.0, self.diagnostics.once_a_second)
        self._threads: list[NodeThread] = []

    def set_parameters_atomically(self, parameter_list: list[RosParameter[Any]]) -> SetParametersResult:
        """Set parameters; names that are not declared are refused with the closest known ones."""
        for parameter in parameter_list:
            if not self.has_parameter(parameter.name):
                return SetParametersResult(successful=False, reason=f"unknown parameter '{parameter.name}': "
                                           f"{suggest(parameter.name, self.parameters.names())}")
        return super().set_parameters_atomically(parameter_list)

    def create_steady_timer(self, period: float, callback: Callable[[], None]) -> Timer:
        """Create a timer of the steady clock, which runs while simulated time is paused.

        Args:
            period: Time between two calls [s].
            callback: Called by the executor.
        """
        return self.create_timer(period, callback, clock=Clock(clock_type=ClockType.STEADY_TIME))

    def create_publisher(self, *args: Any, **options: Any) -> Publisher[Any]:
        """Create a publisher without rclpy's events, which the executor would check in each turn.

        The subscriber's process reports an incompatible quality of service.
        """
        events = PublisherEventCallbacks(use_default_callbacks=False)
        return super().create_publisher(*args, **{"event_callbacks": events, **options})

    def add_thread(self, thread: NodeThread) -> None:
        """Start and stop a thread with this node."""
        self._threads.append(thread)
        if all(parameter.name in self.parameters.names() for parameter in REAL_TIME_PARAMETERS):
            values = {parameter.name: self.parameters[parameter.name] for parameter in REAL_TIME_PARAMETERS}
            thread.prepare = partial(apply_to_thread, values, lambda text: self.log.warning(text, text))

    def add_control_path(self, path: ControlPath) -> ControlPath:
        """Start and stop a control path with this node, and report publishers with incompatible quality of service."""
        self.add_thread(path)

        def report_incompatible_publishers() -> None:
            if text := path.incompatible_publishers():
                self.diagnostics.raise_condition(key, text)
            else:
                self.diagnostics.clear_condition(key, "all publishers are heard")

        key = f"publishers not heard {len(self._threads)}"
        self.diagnostics.checks.append(report_incompatible_publishers)
        return path

    def listen(self, message_type: type[Any], topic: str, handler: Callable[[Any], None], qos: QoSProfile | int = 10,
               accepts: Callable[[bytes], bool] | None = None) -> Subscription[Any]:
        """Subscribe to a topic that the executor serves.

        Malformed messages, which rclpy drops silently, are counted and reported.

        Args:
            message_type: Type of the messages.
            topic: Name of the topic.
            handler: Called with each message on the executor's thread.
            qos: Quality of service of the subscription.
            accepts: Called first with each serialized message; returns whether to convert and handle it. None: always.
        """
        def on_data(data: bytes) -> None:
            if accepts is not None and not accepts(data):
                return
            message = self.diagnostics.deserialize(data, message_type, topic)
            if message is not None:
                handler(message)

        return self.create_subscription(message_type, topic, on_data, qos, raw=True)

    def start(self) -> None:
        """Start the node's threads, once it is complete."""
        for thread in self._threads:
            thread.start()

    def stop(self) -> None:
        """Stop the node's threads; it can still publish."""
        for thread in self._threads:
            thread.stop()

    def serve_last(self) -> None:
        """Let a stopping node send its prepared answers; one answer may need several tasks in sequence."""
        executor, end = self.executor, time.monotonic() + LAST_SECONDS
        if executor is None:
            return
        for _ in range(LAST_ROUNDS):
            mark = executor.create_task(lambda: None)  # runs after all tasks of this round
            while not mark.done() and time.monotonic() < end:
                with suppress(Exception):  # of another callback, whose node may have stopped
                    executor.spin_once(timeout_sec=0.0)
        time.sleep(TAKING_SECONDS)


def run_node(factory: Callable[[], RobodynNode], args: Sequence[str] | None = None) -> int:
    """Run one node until SIGINT or SIGTERM; see :func:`run_nodes`."""
    return run_nodes([factory], args)


def run_nodes(factories: Sequence[Callable[[], RobodynNode]], args: Sequence[str] | None = None) -> int:
    """Run nodes in this process until SIGINT or SIGTERM; the body of an entry point, called on the main thread.

    Args:
        factories: Each makes a node.
        args: Command line without the program's name; None: ``sys.argv[1:]``.

    Returns:
        Exit code: 0 after a signal; 2 if a node could not be made as configured.
        An error is one message on stderr.
    """
    stop = threading.Event()
    arguments = list(sys.argv[1:] if args is None else args)
    with StopSignals(stop.set):
        try:
            GIVEN.set(GivenParameters.from_arguments(arguments))  # before rcl, which reads files without bounds
            init_ros(args=["robodyn_ros", *arguments], signal_handler_options=SignalHandlerOptions.NO)
            namespace_rule(arguments)
            return _run(factories, stop)
        except RobodynError as error:
            return _fail(with_escaped_arguments(str(error), arguments), EXIT_USAGE)
        finally:
            rclpy.try_shutdown()


def _run(factories: Sequence[Callable[[], RobodynNode]], stop: threading.Event) -> int:
    def wake_at_stop() -> None:
        stop.wait()
        executor.wake()

    executor = GuardedExecutor(_report_failure)
    nodes: list[RobodynNode] = []
    waker = threading.Thread(target=wake_at_stop, name="stop", daemon=True)
    waker.start()
    try:
        _STOP.set(stop)
        with warnings.catch_warnings():
            warnings.showwarning = _log_warning
            for factory in factories:
                try:
                    nodes.append(factory())
                except RobodynError:
                    if not stop.is_set():  # otherwise a plugin was abandoned for the stop
                        raise
                if stop.is_set():
                    print("robodyn: stopped while starting", file=sys.stderr, flush=True)
                    return EXIT_OK
        check_given(nodes, GIVEN.get())
        sys.setswitchinterval(_SWITCH_INTERVAL)
        gc.collect()
        gc.freeze()  # excludes start-up objects from later collections, which become short
        gc.set_threshold(*_COLLECTIONS)
        gc.enable()
        for node in nodes:
            executor.add_node(node)
            node.start()
        for node in nodes:
            if node.introduction:
                node.log.info("introduction", node.introduction)
        nodes[0].log.info("discovery", described())
        for text in missing():
            nodes[0].log.warning(text, text)
        for node in nodes:
            _log_parameters(node)
        _spin(executor, stop, nodes[0].diagnostics)
    finally:
        stop.set()
        waker.join()
        for node in nodes:
            node.stop()
        executor.shutdown()
        for node in nodes:
            node.destroy_node()
    return EXIT_OK


def _spin(executor: SingleThreadedExecutor, stop: threading.Event, diagnostics: Diagnostics) -> None:
    """Serve callbacks until the stop; report exceptions of callbacks and continue."""
    while not stop.is_set():
        try:
            executor.spin_once()
        except BaseException as error:
            diagnostics.failure(FAILED_CALLBACKS, error)


def _report_failure(node: Any, error: Exception) -> None:
    """Report a message, request or response of a node that cannot be taken."""
    if isinstance(node, RobodynNode):
        node.diagnostics.failure(FAILED_CALLBACKS, error)


def _log_parameters(node: RobodynNode) -> None:
    """Log the parameters that differ from their defaults, and the sources of their values."""
    values = node.parameters.set_apart() or ["none"]
    for first in range(0, len(values), _VALUES_PER_LINE):  # the length of a log line is limited
        line = "; ".join(values[first:first + _VALUES_PER_LINE])
        node.log.info(f"parameters from {first}", f"parameters that differ from their defaults: {line}")


def _log_warning(message: Warning | str, *_: object, **__: object) -> None:
    """Log a Python warning as a warning of the node; join those of a robot description."""
    text = message.summary if isinstance(message, DescriptionWarning) else str(message)
    if text:
        ThrottledLog("robodyn_ros").warning("warnings of Python", text)


def _fail(message: str, code: int) -> int:
    print(f"robodyn: error: {short_lines(message)}", file=sys.stderr, flush=True)
    return code
