"""What all nodes share: the life of a node's process, and the control path beside the executor.

``run_node(factory, args)`` is the body of every node's ``main``. A node derives from :class:`RobodynNode`; its
parameters, services and timers are served by an ordinary executor on the main thread. Whatever is on the control path
(joint state in, command out) has a thread of its own: a :class:`ControlPath` waits for one subscription, or a few, and
nothing else, which costs a small part of what an executor does. Nothing is locked between the two: a change is handed
over by assigning one immutable object to one attribute, or with :meth:`ControlPath.call`, which runs a function between
two ticks.

    class Echo(RobodynNode):
        def __init__(self):
            super().__init__("echo")
            self.parameters.declare([Parameter("gain", 1.0, "Factor on positions.")])
            self._publisher = self.create_publisher(JointState, "out", CONTROL_QOS)
            self.add_control_path(ControlPath(self, JointState, "in", self._loop))

        def _loop(self, path):
            while path.active:
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
import traceback
import warnings
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from contextlib import ExitStack
from typing import Any, NamedTuple

import rclpy
from rclpy.callback_groups import CallbackGroup
from rclpy.clock import Clock, ClockType
from rclpy.event_handler import SubscriptionEventCallbacks
from rclpy.executors import SingleThreadedExecutor
from rclpy.impl.implementation_singleton import rclpy_implementation as _rclpy
from rclpy.logging import get_logger
from rclpy.node import Node
from rclpy.qos import (
    DurabilityPolicy,
    HistoryPolicy,
    QoSCompatibility,
    QoSProfile,
    ReliabilityPolicy,
    qos_check_compatible,
)
from rclpy.signals import SignalHandlerOptions

from robodyn_ros.errors import RobodynError
from robodyn_ros.nodes.diagnostics import Diagnostics
from robodyn_ros.nodes.parameters import Parameters
from robodyn_ros.nodes.signals import StopSignals

EXIT_OK, EXIT_FAILURE, EXIT_USAGE = 0, 1, 2

CONTROL_QOS = QoSProfile(reliability=ReliabilityPolicy.RELIABLE, durability=DurabilityPolicy.VOLATILE,
                         history=HistoryPolicy.KEEP_LAST, depth=1)
"""Of joint_states and joint_commands, publishers and subscriptions: nothing lost while both keep up, else the newest.

Reliable publishers also serve best-effort subscriptions (robot_state_publisher, RViz); a best-effort publisher is not
heard by a control path, which reports it by name.
"""

COMMAND_QOS = QoSProfile(reliability=ReliabilityPolicy.RELIABLE, durability=DurabilityPolicy.VOLATILE,
                         history=HistoryPolicy.KEEP_LAST, depth=10)
"""Of the subscription of joint_commands: commands of several publishers, each for some joints, do not displace each
other within a control period.
"""

LATCHED_QOS = QoSProfile(reliability=ReliabilityPolicy.RELIABLE, durability=DurabilityPolicy.TRANSIENT_LOCAL,
                         history=HistoryPolicy.KEEP_LAST, depth=1)
"""Of robot_description: late joiners get the last value."""

# A thread that wants the interpreter waits at most this long for another that holds it (Python's default: 5 ms).
_SWITCH_INTERVAL = 0.0005

NO_EVENTS = SubscriptionEventCallbacks(use_default_callbacks=False)
"""For subscriptions that no executor serves."""


class NoExecutor(CallbackGroup):
    """Callback group whose entities no executor ever waits for."""

    def can_execute(self, entity: Any) -> bool:
        """Return that no executor may."""
        return False

    def beginning_execution(self, entity: Any) -> bool:
        """Return that no executor may."""
        return False

    def ending_execution(self, entity: Any) -> None:
        """Do nothing."""


class _Further(NamedTuple):
    """A further subscription of a control path."""

    subscription: Any
    message_type: type[Any]
    handler: Callable[[Any], None]

    def handle_all(self) -> None:
        """Hand over every message that is there."""
        while (taken := self.subscription.handle.take_message(self.message_type, False)) is not None:
            self.handler(taken[0])


class ControlPath:
    """A subscription and the thread that waits for it: the control path of a node.

    Its messages are what :meth:`wait` and :meth:`take` return. Messages of further topics, see :meth:`listen`, go to
    handlers in the same thread.

    Args:
        node: The node that subscribes; :meth:`RobodynNode.add_control_path` starts and stops this path with it.
        message_type: Type of the messages.
        topic: Name of the topic.
        loop: Body of the thread, called with this path; it runs while :attr:`active` and waits with :meth:`wait`.
        qos: Quality of service of the subscription.
    """

    def __init__(self, node: Node, message_type: type[Any], topic: str, loop: Callable[[ControlPath], None],
                 qos: QoSProfile = CONTROL_QOS) -> None:
        self.active = True
        self._node, self._loop = node, loop
        self._message_type = message_type
        self._calls: deque[tuple[Callable[[], Any], Future[Any]]] = deque()
        self._subscription = self._subscribe(message_type, topic, qos)
        self._further: list[_Further] = []
        assert node.context.handle is not None  # for mypy: a node exists only in an initialized context
        self._handle = self._subscription.handle
        self._wake = _rclpy.GuardCondition(node.context.handle)
        self._wait_set = _rclpy.WaitSet(1, 1, 0, 0, 0, 0, node.context.handle)
        self._on_failure: Callable[[BaseException], None] = _raise
        self._thread = threading.Thread(target=self._run, name=f"control path of {topic}", daemon=True)

    def listen(self, message_type: type[Any], topic: str, handler: Callable[[Any], None],
               qos: QoSProfile = CONTROL_QOS) -> None:
        """Wait for a further topic too; to be called before the path starts.

        Args:
            message_type: Type of the messages.
            topic: Name of the topic.
            handler: Called in the path's thread, by :meth:`wait` and :meth:`handle_further`, with each message.
            qos: Quality of service of the subscription.
        """
        self._further.append(_Further(self._subscribe(message_type, topic, qos), message_type, handler))
        self._wait_set = _rclpy.WaitSet(1 + len(self._further), 1, 0, 0, 0, 0, self._node.context.handle)

    def wait(self, timeout: float | None = None) -> Any | None:
        """Wait for the next message of any topic; to be called in the path's thread only.

        Functions given to :meth:`call` are run here, and handlers of further topics.

        Args:
            timeout: Longest wait [s]; None: without end, 0: not at all.

        Returns:
            The message, or None after the timeout, a message of a further topic, a call, :meth:`wake` or a stop.
        """
        self._wait(timeout, for_message=True)
        for place, further in enumerate(self._further, start=1):
            if self._wait_set.is_ready("subscription", place):
                further.handle_all()
        return self.take()

    def sleep(self, timeout: float | None = None) -> None:
        """As :meth:`wait`, but messages that arrive neither end it nor are taken."""
        self._wait(timeout, for_message=False)

    def _wait(self, timeout: float | None, for_message: bool) -> None:
        wait_set = self._wait_set
        wait_set.clear_entities()
        if for_message:
            wait_set.add_subscription(self._handle)
            for further in self._further:
                wait_set.add_subscription(further.subscription.handle)
        wait_set.add_guard_condition(self._wake)
        wait_set.wait(-1 if timeout is None else int(timeout * 1e9))
        if self._calls:
            self._run_calls()

    def take(self) -> Any | None:
        """Return the message that is there, if any, without waiting; in the path's thread only."""
        taken = self._handle.take_message(self._message_type, False)
        return None if taken is None else taken[0]

    def handle_further(self) -> None:
        """Hand the messages of further topics that are there to their handlers, without waiting; likewise."""
        for further in self._further:
            further.handle_all()

    def wake(self) -> None:
        """Let a :meth:`wait` return early; from any thread."""
        self._wake.trigger_guard_condition()

    def call(self, function: Callable[[], Any], timeout: float = 5.0) -> Any:
        """Run a function in the path's thread between two waits, and return its result; from any other thread.

        Args:
            function: Called without arguments; must be quick.
            timeout: Longest wait for the result [s].

        Raises:
            RobodynError: The path has stopped or did not get to it in time.
            Exception: Whatever the function raises.
        """
        if not self._thread.is_alive():
            raise RobodynError("the control path has stopped: restart the node")
        result: Future[Any] = Future()
        self._calls.append((function, result))
        self.wake()
        try:
            return result.result(timeout)
        except TimeoutError:
            if result.done():
                raise
            result.cancel()
            raise RobodynError(f"the control path did not answer within {timeout} s: try again") from None

    def unheard_publishers(self) -> str:
        """Which publishers are not heard because of their quality of service, and why; empty: none."""
        faults = []
        for subscription in (self._subscription, *(further.subscription for further in self._further)):
            topic = subscription.topic_name
            for publisher in self._node.get_publishers_info_by_topic(topic):
                compatibility, reason = qos_check_compatible(publisher.qos_profile, subscription.qos_profile)
                if compatibility == QoSCompatibility.ERROR:
                    faults.append(f"'{publisher.node_name}' publishes {topic}, but is not heard: {reason.strip()}")
        return "; ".join(faults)

    def start(self, on_failure: Callable[[BaseException], None]) -> None:
        """Start the thread.

        Args:
            on_failure: Called in the thread with an exception that ends the loop.
        """
        self._on_failure = on_failure
        self._thread.start()

    def stop(self) -> None:
        """End the loop and wait for the thread; more than once is fine."""
        self.active = False
        if self._thread.is_alive():
            self.wake()
            self._thread.join()

    def _subscribe(self, message_type: type[Any], topic: str, qos: QoSProfile) -> Any:
        # Without event handlers (incompatible quality of service): Fast DDS wakes who waits for a reader's events for
        # each of its messages too, so the executor would turn as often as messages come. See unheard_publishers.
        subscription = self._node.create_subscription(
            message_type, topic, ignore_message, qos, event_callbacks=NO_EVENTS)
        subscription.callback_group = NoExecutor()
        return subscription

    def _run_calls(self) -> None:
        while self._calls:
            function, result = self._calls.popleft()
            if not result.set_running_or_notify_cancel():
                continue
            try:
                result.set_result(function())
            except Exception as error:  # handed to the caller
                result.set_exception(error)

    def _run(self) -> None:
        try:
            with ExitStack() as used:
                for entity in (self._handle, self._wake, self._wait_set,
                               *(further.subscription.handle for further in self._further)):
                    used.enter_context(entity)
                self._loop(self)
        except Exception as error:
            self._on_failure(error)


class RobodynNode(Node):
    """A node with declared parameters, diagnostics and control paths.

    Attributes:
        parameters: The node's parameters; see :mod:`robodyn_ros.nodes.parameters`.
        diagnostics: Counters and throttled warnings; see :mod:`robodyn_ros.nodes.diagnostics`.
        stop_requested: Set once the process is asked to stop: a callback that waits for something looks at it.
    """

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.stop_requested = threading.Event()
        self.parameters = Parameters(self)
        self.diagnostics = Diagnostics(self)
        self._control_paths: list[ControlPath] = []

    def add_control_path(self, path: ControlPath) -> ControlPath:
        """Let a control path start and stop with this node."""
        self._control_paths.append(path)

        def look_for_unheard_publishers() -> None:
            if text := path.unheard_publishers():
                self.diagnostics.raise_condition(key, text)
            else:
                self.diagnostics.clear_condition(key, "all publishers are heard")

        key = f"publishers not heard {len(self._control_paths)}"
        self.create_timer(1.0, look_for_unheard_publishers, clock=Clock(clock_type=ClockType.STEADY_TIME))
        return path

    def start(self, on_failure: Callable[[BaseException], None]) -> None:
        """Start the node's threads, once it is complete."""
        for path in self._control_paths:
            path.start(on_failure)

    def stop(self) -> None:
        """Stop the node's threads; it can still publish."""
        for path in self._control_paths:
            path.stop()


def run_node(factory: Callable[[], RobodynNode], args: Sequence[str] | None = None) -> int:
    """Run one node until SIGINT or SIGTERM; see :func:`run_nodes`."""
    return run_nodes([factory], args)


def run_nodes(factories: Sequence[Callable[[], RobodynNode]], args: Sequence[str] | None = None) -> int:
    """Run nodes in this process until SIGINT or SIGTERM; the body of an entry point, called on the main thread.

    Args:
        factories: Each makes a node.
        args: Command line without the program's name; None: ``sys.argv[1:]``.

    Returns:
        Exit code: 0 after a signal; 1 when a control path failed; 2 when a node could not be made as configured.
        The last two come with one message on stderr.
    """
    stop = threading.Event()
    with StopSignals(stop.set):
        try:
            rclpy.init(args=["robodyn_ros", *(sys.argv[1:] if args is None else args)],
                       signal_handler_options=SignalHandlerOptions.NO)
        except Exception as error:  # rclpy raises RCLError and others for bad --ros-args
            return _fail(f"cannot start ROS: {error}", EXIT_USAGE)
        try:
            return _run(factories, stop)
        except RobodynError as error:
            return _fail(str(error), EXIT_USAGE)
        finally:
            rclpy.try_shutdown()


def _run(factories: Sequence[Callable[[], RobodynNode]], stop: threading.Event) -> int:
    failures: list[BaseException] = []

    def on_failure(error: BaseException) -> None:
        failures.append(error)
        stop.set()

    def wake_at_stop() -> None:
        stop.wait()
        executor.wake()

    executor = SingleThreadedExecutor()
    nodes: list[RobodynNode] = []
    waker = threading.Thread(target=wake_at_stop, name="stop", daemon=True)
    waker.start()
    try:
        with warnings.catch_warnings():
            warnings.showwarning = _log_warning
            for factory in factories:
                nodes.append(factory())
        sys.setswitchinterval(_SWITCH_INTERVAL)
        gc.collect()
        gc.freeze()  # what start-up made stays: later collections need not look at it and are short
        for node in nodes:
            node.stop_requested = stop
            executor.add_node(node)
            node.start(on_failure)
        _spin(executor, stop, nodes[0].diagnostics)
    finally:
        stop.set()
        waker.join()
        for node in nodes:
            node.stop()
        executor.shutdown()
        for node in nodes:
            node.destroy_node()
    for error in failures:
        detail = str(error) if isinstance(error, RobodynError) else "".join(traceback.format_exception(error))
        _fail(f"the control path failed: {detail}", EXIT_FAILURE)
    return EXIT_FAILURE if failures else EXIT_OK


def _spin(executor: SingleThreadedExecutor, stop: threading.Event, diagnostics: Diagnostics) -> None:
    """Serve callbacks until the stop; one that raises is reported and does not end the process."""
    while not stop.is_set():
        try:
            executor.spin_once()
        except RobodynError as error:
            diagnostics.problem("failed callbacks", str(error))
        except Exception:
            diagnostics.problem("failed callbacks", "a callback failed, please report this:\n"
                                + traceback.format_exc(), error=True)


def _log_warning(message: Warning | str, *_: object, **__: object) -> None:
    """Show a Python warning, of a robot's description for example, as a node's warning."""
    get_logger("robodyn_ros").warning(str(message))


def _fail(message: str, code: int) -> int:
    print(f"robodyn_ros: error: {message}", file=sys.stderr, flush=True)
    return code


def ignore_message(_: Any) -> None:
    """Stand in for the callback of a subscription that no executor serves."""


def _raise(error: BaseException) -> None:
    raise error
