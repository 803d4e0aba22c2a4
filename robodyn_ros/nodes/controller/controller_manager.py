# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Services of ros2_control's controller_manager: its tools list, load and switch the laws of this node.

A law is a controller of type ``robodyn_ros/NAME``; one is active at a time. Where controller_manager_msgs are not
installed, the node runs without these services.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar

from lifecycle_msgs.msg import State as LifecycleState
from rcl_interfaces.msg import ListParametersResult, ParameterType, SetParametersResult
from rcl_interfaces.srv import GetParameters, ListParameters, SetParameters
from rclpy.callback_groups import ReentrantCallbackGroup
from rclpy.parameter import Parameter as RosParameter
from rclpy.parameter import parameter_value_to_python
from rclpy.task import Future

from robodyn_ros.base import topic_names
from robodyn_ros.base.common_fields import FILTER, filtered_name
from robodyn_ros.base.errors import InputError, RobodynError, suggest
from robodyn_ros.base.fields import Field
from robodyn_ros.base.timing import to_seconds
from robodyn_ros.control.contract.controller import JointReference
from robodyn_ros.control.plugins.registry import controller_names, prefix
from robodyn_ros.control.runtime.loop_events import Event, LawEnded, LawFailed, ModeChanged
from robodyn_ros.control.runtime.modes import Mode, Reason
from robodyn_ros.control.runtime.requests import Release, Stop
from robodyn_ros.nodes.common.given_parameters import GIVEN
from robodyn_ros.nodes.common.messages import read_duration
from robodyn_ros.nodes.common.topics import LATCHED_QOS
from robodyn_ros.nodes.controller.command_output import EFFORT, VOLTAGE
from robodyn_ros.nodes.controller.gripper_actions import GripperActions
from robodyn_ros.nodes.controller.introspection import Introspection
from robodyn_ros.nodes.controller.law_swaps import CONTROLLER, SAFE_CONTROLLER
from robodyn_ros.nodes.controller.loop_timing import declared_timing
from robodyn_ros.nodes.controller.managed_controllers import (
    ACTIVE,
    INACTIVE,
    PACKAGE,
    UNCONFIGURED,
    ManagedController,
    law_of_type,
    plan_switch,
    type_of_law,
    values_from_files,
)
from robodyn_ros.nodes.controller.part import AnsweredState, Context, Part
from robodyn_ros.nodes.controller.plugins import SWAP_TIMEOUT

try:
    from controller_manager_msgs import msg, srv
except ImportError:
    msg = srv = None  # type: ignore[assignment]

MANAGER = Field("controller_manager", True, "Whether this node answers ros2_control's tools as controller_manager; "
                "not with the outputs joint_commands and effort_group, beside which a real one runs", structural=True)

REFUSED = "refused requests to controller_manager"
BROADCASTER = "joint_state_broadcaster"
DEACTIVATED = "deactivated"
"""Kind of the reason of a stop that an activation ends."""

MOST_LAWS = 100
"""Greatest number of laws that are loaded; each may have been given two parameters."""

_IDS = {UNCONFIGURED: LifecycleState.PRIMARY_STATE_UNCONFIGURED, INACTIVE: LifecycleState.PRIMARY_STATE_INACTIVE,
        ACTIVE: LifecycleState.PRIMARY_STATE_ACTIVE}
_REFERENCES = ("position", "velocity", "acceleration")


class ControllerManager(Part):
    """Serves the laws to ros2_control's tools. A switch sets the parameter ``controller``, as `robodyn swap` does.

    Args:
        context: What it knows of the node.
    """

    PARAMETERS: ClassVar[tuple[Field, ...]] = (MANAGER,)

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self._node, self._robot, self._thread = context.node, context.robot, context.thread
        self._loop, self._plugins = context.loop, context.plugins
        self._laws: dict[str, ManagedController] = {}
        self._last_active: dict[str, str] = {}  # name of the controller that was active last, by law
        self._keeps = ""  # name of the controller that a client activated
        self._waiting: Future[bool] | None = None
        self._reported: tuple[dict[str, str], str] | None = None
        self._served = False
        self._introspection: Introspection | None = None
        parameters = self._node.parameters
        if not parameters[MANAGER.name] or parameters["output"] not in (EFFORT, VOLTAGE):
            return
        if not hasattr(msg, "ControllerManagerActivity"):
            self._node.log.info(MANAGER.name, "controller_manager_msgs of ROS 2 Jazzy or later are not installed: "
                                "ros2_control's tools do not find the controllers of this node")
            return
        self._served = True
        self._command = VOLTAGE if parameters["output"] == VOLTAGE else EFFORT
        base = self._node.resolve_service_name(MANAGER.name)  # one rule of remapping renames all
        self._given = {name: RosParameter(name, value=given.value).to_parameter_msg().value
                       for name, given in GIVEN.get().for_node(base).items() if _is_of_manager(name)}
        services: dict[str, Callable[[Any, Any], Any]] = {
            "ListControllers": self._list, "ListControllerTypes": self._list_types,
            "LoadController": self._checked(self._load), "ConfigureController": self._checked(self._configure),
            "CleanupController": self._checked(self._clean_up), "UnloadController": self._checked(self._unload),
            "ReloadControllerLibraries": self._checked(self._reload), "SwitchController": self._switch,
            "ListHardwareComponents": self._list_components, "ListHardwareInterfaces": self._list_interfaces,
            "SetHardwareComponentState": self._set_component_state}
        group = ReentrantCallbackGroup()  # the node serves all else while a switch waits
        for kind, callback in services.items():
            if hasattr(srv, kind):  # a release may lack the newest ones
                name = "".join(f"_{letter.lower()}" if letter.isupper() else letter for letter in kind).lstrip("_")
                self._node.create_service(getattr(srv, kind), f"{base}/{name}", callback, callback_group=group)
        self._node.create_service(SetParameters, f"{base}/set_parameters", self._set_parameters)
        self._node.create_service(GetParameters, f"{base}/get_parameters", self._get_parameters)
        self._node.create_service(ListParameters, f"{base}/list_parameters", self._list_parameters)
        self._namespace = base.rpartition("/")[0]
        self._introspection = Introspection(context, base, self._command)
        self._activity = self._node.create_publisher(msg.ControllerManagerActivity, f"{base}/activity", LATCHED_QOS)
        self._node.diagnostics.checks.append(self._publish_activity)

    # Which controllers there are, and their states.

    def _sync(self) -> dict[str, str]:
        """List the chosen law and the safe one, whoever chose them; return the state of each law by name."""
        parameters, modes, laws = self._node.parameters, self._loop.modes, self._loop.laws
        for law in (parameters[CONTROLLER.name], parameters[SAFE_CONTROLLER.name]):
            if all(known.law != law for known in self._laws.values()):
                name = law if prefix(law) in self._laws or ":" not in law else prefix(law)
                self._laws[name] = ManagedController(name, type_of_law(law), law, configured=True)
        running = None if modes.present is Mode.SUSPENDED else laws.running.name
        named = [known.name for known in self._laws.values() if running in (known.law, self._chosen_name(known))]
        last = [name for name in named if name == self._last_active.get(self._laws[name].law)]
        active = (last or named or [""])[0]
        self._keeps = self._keeps if self._keeps in (active, "") or modes.present is Mode.HOLDING else ""
        return {name: ACTIVE if name == active else INACTIVE if known.configured else UNCONFIGURED
                for name, known in self._laws.items()}

    def _chosen_name(self, law: ManagedController) -> str:
        """Name of a law in the loop once it is chosen."""
        return filtered_name(law.law, self._node.parameters[FILTER.name])

    def _others(self) -> list[Any]:
        """The controllers that are no laws: they publish joint states, follow trajectories, and move the gripper."""
        joints, present = self._robot.joint_names, self._loop.modes.present
        states = msg.ControllerState(
            name=BROADCASTER, type=f"{BROADCASTER}/JointStateBroadcaster",
            state=INACTIVE if present is Mode.WAITING_FOR_STATE else ACTIVE,
            required_state_interfaces=_interfaces(joints, ("position", "velocity", "effort")))
        running = self._loop.laws.running
        active = present is Mode.RUNNING and running.follows is JointReference
        law = next((name for name, state in self._sync().items() if state == ACTIVE), "")
        references = _interfaces(joints, _REFERENCES)
        required = [f"{law}/{name}" for name in references]
        trajectories = msg.ControllerState(
            name=self._node.get_name(), type="joint_trajectory_controller/JointTrajectoryController",
            state=ACTIVE if active else INACTIVE,
            required_state_interfaces=_interfaces(joints, ("position", "velocity")))
        if active:
            trajectories.claimed_interfaces = trajectories.required_command_interfaces = required
            trajectories.chain_connections = [msg.ChainConnection(name=law, reference_interfaces=references)]
        follows = present is Mode.RUNNING and running.follows is not None
        grippers = self.context.parts[GripperActions]
        positions = _interfaces(grippers.names, ("position",))
        return [states, trajectories, *(msg.ControllerState(
            name=name, type=kind, state=ACTIVE if follows else INACTIVE, required_command_interfaces=positions,
            required_state_interfaces=_interfaces(grippers.names, ("position", "velocity")),
            claimed_interfaces=positions if follows else []) for name, kind in grippers.controllers().items())]

    def _list(self, _: Any, response: Any) -> Any:
        others = self._others()
        chained = others[1].state == ACTIVE
        for name, state in self._sync().items():
            found = msg.ControllerState(name=name, type=self._laws[name].type, state=state)
            if state != UNCONFIGURED:
                found.required_command_interfaces = _interfaces(self._robot.joint_names, (self._command,))
                found.required_state_interfaces = _interfaces(self._robot.joint_names, ("position", "velocity"))
            if state == ACTIVE:
                found.claimed_interfaces = found.required_command_interfaces
                found.is_chainable = found.is_chained = chained
                found.reference_interfaces = _interfaces(self._robot.joint_names, _REFERENCES) if chained else []
            response.controller.append(found)
        response.controller += others
        for each in response.controller:
            _fill(each, update_rate=self._rate())
        return response

    def _list_types(self, _: Any, response: Any) -> Any:
        response.types = [type_of_law(name) for name in controller_names()]
        response.base_classes = ["robodyn_ros.control.Controller"] * len(response.types)
        return response

    # Changes.

    def _checked(self, change: Callable[[str], None]) -> Callable[[Any, Any], Any]:
        """Return the callback of a service that changes one controller; the log says why if it does not."""
        def callback(request: Any, response: Any) -> Any:
            try:
                change(getattr(request, "name", ""))
                response.ok = True
            except RobodynError as error:
                self._node.diagnostics.problem(REFUSED, str(error))
            self._publish_activity()
            return response

        return callback

    def _load(self, name: str) -> None:
        if name in self._sync() or name in self._other_names():
            raise InputError(f"controller '{name}' is loaded already")
        if len(self._laws) >= MOST_LAWS:
            raise InputError(f"controller '{name}': {len(self._laws)} are loaded, and no more can be; unload one")
        given = self._given.get(f"{name}.type")
        kind = "" if given is None else str(parameter_value_to_python(given))
        law = law_of_type(name, kind)
        loaded = ManagedController(name, kind or type_of_law(law), law)
        self._plugins.declare(self._chosen_name(loaded))
        self._laws[name] = loaded

    def _configure(self, name: str) -> None:
        """Read the files of a controller, and check what they set."""
        if name in self._other_names():
            return
        law, given = self._law(name), self._given.get(f"{name}.params_file")
        if self._sync()[name] == ACTIVE:
            raise InputError(f"controller '{name}': expected one that is not active")
        paths = [] if given is None else parameter_value_to_python(given)
        values = values_from_files(name, self._namespace, [paths] if isinstance(paths, str) else paths)
        self._plugins.declare(self._chosen_name(law))
        front = prefix(self._chosen_name(law))
        known = {row.removeprefix(f"{front}.") for row in self._node.parameters.names() if row.startswith(f"{front}.")}
        for key in sorted(values.keys() - known):
            text = f"controller '{name}': no parameter '{key}', {suggest(key, known)}; its value is ignored"
            self._node.log.warning(text, text)
            del values[key]
        self._plugins.changed({f"{front}.{key}": value for key, value in values.items()}, ())
        law.values, law.fresh, law.configured = values, True, True

    def _reload(self, _: str) -> None:
        """Import the laws anew whose files were edited; the active one goes on as it is."""
        for name, state in self._sync().items():
            if state != ACTIVE:
                self._plugins.declare(self._chosen_name(self._laws[name]))

    def _clean_up(self, name: str) -> None:
        law = self._inactive_law(name)
        law.configured = False

    def _unload(self, name: str) -> None:
        self._inactive_law(name)
        del self._laws[name]

    def _inactive_law(self, name: str) -> ManagedController:
        """Return a law that is not needed; the safe one is chosen instead of a chosen one that is stopped."""
        law = self._law(name)
        if self._sync()[name] == ACTIVE:
            raise InputError(f"controller '{name}': expected one that is not active; deactivate it first")
        safe = self._node.parameters[SAFE_CONTROLLER.name]
        alone = not any(other.law == law.law for other in self._laws.values() if other is not law)
        if law.law == safe and alone:
            raise InputError(f"controller '{name}': it is the safe controller, which stays")
        if law.law == self._node.parameters[CONTROLLER.name] and alone:
            self._set({CONTROLLER.name: safe})
        return law

    def _law(self, name: str) -> ManagedController:
        states = self._sync()
        if name not in states:
            raise InputError(f"controller '{name}' is not a law that is loaded; loaded are: {', '.join(states)}")
        return self._laws[name]

    def _other_names(self) -> list[str]:
        return [BROADCASTER, self._node.get_name(), *self.context.parts[GripperActions].controllers()]

    def _set(self, values: Mapping[str, Any]) -> None:
        """Set parameters of the node, as clients do.

        Raises:
            InputError: They are refused.
        """
        result = self._node.set_parameters_atomically([RosParameter(name, value=value)
                                                       for name, value in values.items()])
        if not result.successful:
            raise InputError(result.reason)

    async def _switch(self, request: Any, response: Any) -> Any:
        try:
            response.message, response.ok = await self._switched(request), True
        except RobodynError as error:
            response.message = f"Failed switching controllers: {error}"
            self._node.diagnostics.problem(REFUSED, response.message)
        self._publish_activity()
        return response

    async def _switched(self, request: Any) -> str:
        """Do a switch; return what was done."""
        if self._waiting is not None:
            raise InputError("another switch waits for the inputs of its controller")
        timeout = to_seconds(read_duration(request.timeout))
        switch = plan_switch(request.activate_controllers, request.deactivate_controllers, request.strictness,
                             self._sync(), self._other_names(), self._keeps)
        done = ["Successfully switched controllers!", *(f"ignored: {text}" for text in switch.ignored)]
        if switch.stop:
            [name] = [name for name, state in self._sync().items() if state == ACTIVE]
            self._thread.request(Stop(Reason(DEACTIVATED, f"controller '{name}' was deactivated")))
            self._keeps = ""
            done.append(f"'{self._node.parameters[SAFE_CONTROLLER.name]}' holds the robot until another one is "
                        "activated")
        elif switch.activate:
            done += await self._activate(self._laws[switch.activate], timeout, request.activate_asap)
        return "\n".join(done)

    async def _activate(self, law: ManagedController, timeout: float, asap: bool) -> list[str]:
        modes, before = self._loop.modes, self._node.parameters[CONTROLLER.name]
        if modes.is_stopped() and not self._deactivated():
            raise InputError(f"the robot is stopped: {modes.stopped()}; call ~/release first")
        if modes.present is Mode.SUSPENDED:
            raise InputError(self._suspended())
        values: dict[str, Any] = {CONTROLLER.name: law.law}
        if law.fresh or self._last_active.get(law.law, law.name) != law.name:
            values |= {f"{prefix(self._chosen_name(law))}.{key}": value for key, value in law.values.items()}
        self._set(values)
        law.fresh = False
        self._last_active[law.law], self._keeps = law.name, law.name
        if self._deactivated():
            self._thread.request(Release())
        waits = modes.reason(Mode.HOLDING)
        if waits is None:
            return []
        if asap:
            return [f"'{law.name}' begins later: {waits.text}"]
        if not await self._inputs(timeout or self._node.parameters[SWAP_TIMEOUT.name]):
            text = waits.text
            if self._node.parameters[CONTROLLER.name] == law.law:
                self._keeps = ""
                self._set({CONTROLLER.name: before})
                text += f"; '{before}' goes on"
            raise InputError(text)
        return []

    async def _inputs(self, timeout: float) -> bool:
        """Wait until the chosen law has its inputs, or is no longer the chosen one; return whether it has them."""
        future: Future[bool] = Future()
        self._waiting = future
        timer = self._node.create_steady_timer(timeout, lambda: future.done() or future.set_result(False))
        chosen = self._loop.laws.chosen
        try:
            if self._loop.modes.reason(Mode.HOLDING) is None:  # they came meanwhile
                return True
            return bool(await future) and self._loop.laws.chosen is chosen
        finally:
            self._waiting = None
            self._node.destroy_timer(timer)

    def _deactivated(self) -> bool:
        """Whether the robot is stopped, and only because its law was deactivated."""
        reason = self._loop.modes.reason(Mode.STOPPED)
        return self._loop.modes.is_stopped() and reason is not None and reason.kind == DEACTIVATED

    # The hardware.

    def _suspended(self) -> str:
        reason = self._loop.modes.reason(Mode.SUSPENDED)
        return "" if reason is None else f"the hardware refuses the commands of this node: {reason.text}"

    def _component(self) -> Any:
        """The robot as one hardware component."""
        joints, present = self._robot.joint_names, self._loop.modes.present
        state = {Mode.WAITING_FOR_STATE: UNCONFIGURED, Mode.SUSPENDED: INACTIVE}.get(present, ACTIVE)
        found = msg.HardwareComponentState(name=self._robot.name, type="system",
                                           state=LifecycleState(id=_IDS[state], label=state))
        _fill(found, rw_rate=self._rate(), plugin_name=f"{PACKAGE}{topic_names.JOINT_STATES}")
        commands = [EFFORT, VOLTAGE] if self._node.count_subscribers(topic_names.VOLTAGE_COMMANDS) else [self._command]
        claimed = ACTIVE in self._sync().values()
        for name in _interfaces(joints, commands):
            found.command_interfaces.append(_fill(msg.HardwareInterface(
                name=name, is_available=state == ACTIVE,
                is_claimed=claimed and name.endswith(f"/{self._command}")), data_type="double"))
        for name in _interfaces(joints, ("position", "velocity", "effort")):
            found.state_interfaces.append(_fill(msg.HardwareInterface(
                name=name, is_available=state != UNCONFIGURED), data_type="double"))
        return found

    def _list_components(self, _: Any, response: Any) -> Any:
        response.component = [self._component()]
        return response

    def _list_interfaces(self, _: Any, response: Any) -> Any:
        component = self._component()
        response.command_interfaces, response.state_interfaces = (
            component.command_interfaces, component.state_interfaces)
        return response

    def _set_component_state(self, request: Any, response: Any) -> Any:
        """Answer with the present state; this node starts and stops no hardware."""
        response.state = self._component().state
        response.ok = request.name == self._robot.name and request.target_state.id == response.state.id
        if not response.ok:
            self._node.diagnostics.problem(REFUSED, f"hardware component '{request.name}': this node starts and stops "
                                           f"no hardware; '{self._robot.name}' is {response.state.label}")
        return response

    def _rate(self) -> int:
        return round(1.0 / declared_timing(self._node.parameters).period)

    # Parameters of the manager, as the spawner sets them.

    def _set_parameters(self, request: Any, response: Any) -> Any:
        for parameter in request.parameters:
            reason = ""
            if not _is_of_manager(parameter.name):
                reason = f"parameter '{parameter.name}': expected NAME.type or NAME.params_file"
            elif parameter.value.type not in (ParameterType.PARAMETER_STRING, ParameterType.PARAMETER_STRING_ARRAY):
                reason = f"parameter '{parameter.name}': expected text"
            elif parameter.name not in self._given and len(self._given) >= 2 * MOST_LAWS:
                reason = f"parameter '{parameter.name}': expected at most {2 * MOST_LAWS} parameters"
            else:
                self._given[parameter.name] = parameter.value
            response.results.append(SetParametersResult(successful=not reason, reason=reason))
        return response

    def _get_parameters(self, request: Any, response: Any) -> Any:
        none = RosParameter("none").to_parameter_msg().value
        response.values = [self._given.get(name, none) for name in request.names]
        return response

    def _list_parameters(self, request: Any, response: Any) -> Any:
        response.result = ListParametersResult(names=sorted(
            name for name in self._given
            if not request.prefixes or any(name.startswith(f"{front}.") for front in request.prefixes)))
        return response

    # Activity and statistics.

    def after_tick(self, answer: AnsweredState) -> None:
        """Note the times of a tick."""
        if self._introspection is not None:
            self._introspection.after_tick(answer)

    def on_event(self, event: Event) -> None:
        """Publish the activity after a change, and end the wait for inputs."""
        executor = self._node.executor
        if self._served and executor is not None and isinstance(event, ModeChanged | LawEnded | LawFailed):
            executor.create_task(self._after_event)

    def _after_event(self) -> None:
        waiting = self._waiting
        if waiting is not None and not waiting.done() and self._loop.modes.reason(Mode.HOLDING) is None:
            waiting.set_result(True)
        self._publish_activity()

    def _publish_activity(self) -> None:
        """Publish the states of controllers and hardware if they are other ones."""
        component = self._component()
        states = {**self._sync(), **{each.name: each.state for each in self._others()}}
        if (reported := (states, component.state.label)) == self._reported:
            return
        self._reported = reported
        message = msg.ControllerManagerActivity(
            controllers=[msg.NamedLifecycleState(name=name, state=LifecycleState(id=_IDS[state], label=state))
                         for name, state in states.items()],
            hardware_components=[msg.NamedLifecycleState(name=component.name, state=component.state)])
        message.header.stamp = self._node.get_clock().now().to_msg()
        self._activity.publish(message)


def _is_of_manager(name: str) -> bool:
    controller, _, key = name.rpartition(".")
    return bool(controller) and key in ("type", "params_file")


def _interfaces(joints: Sequence[str], kinds: Sequence[str]) -> list[str]:
    return [f"{joint}/{kind}" for joint in joints for kind in kinds]


def _fill(message: Any, **fields: Any) -> Any:
    """Set those fields of a message that its release has; return it."""
    for name, value in fields.items():
        if hasattr(message, name):
            setattr(message, name, value)
    return message
