# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Node ``hardware``: the simulated robot. Efforts or voltages in, joint states out; see docs/hardware.md."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from geometry_msgs.msg import WrenchStamped
from rclpy.callback_groups import ReentrantCallbackGroup
from rclpy.task import Future
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray
from std_srvs.srv import SetBool, Trigger
from visualization_msgs.msg import MarkerArray

from robodyn_interfaces.msg import VoltageCommands
from robodyn_interfaces.srv import SetState, Step
from robodyn_ros.base import topic_names
from robodyn_ros.base.errors import RobodynError, SimulationError, one_line
from robodyn_ros.base.fields import Field
from robodyn_ros.base.timing import to_seconds
from robodyn_ros.description.model import Array
from robodyn_ros.kinematics.reach import reach
from robodyn_ros.nodes.common.control_path import ControlPath
from robodyn_ros.nodes.common.messages import POSITION, VELOCITY, JointOrder, MessageError, set_stamp
from robodyn_ros.nodes.common.parameters import given_robot
from robodyn_ros.nodes.common.participants import sender
from robodyn_ros.nodes.common.poses import to_wrench
from robodyn_ros.nodes.common.runtime import RobodynNode, run_node
from robodyn_ros.nodes.common.surface_markers import to_markers
from robodyn_ros.nodes.common.topics import COMMAND_QOS, LATCHED_QOS
from robodyn_ros.nodes.hardware.arm_driver import DriverAnnouncement
from robodyn_ros.nodes.hardware.outputs import StateOutputs, WrenchOutput
from robodyn_ros.nodes.hardware.ownership import HardwareOwnership, commanders
from robodyn_ros.nodes.hardware.parameters import (
    COMMANDERS,
    PARAMETERS,
    SENSOR,
    SURROUNDINGS,
    TimeMode,
    control_period,
    force_torque_sensing,
    live_settings,
    make_plant,
    payload,
    sensing,
)
from robodyn_ros.nodes.hardware.plant_loop import PlantLoop
from robodyn_ros.robot import Robot
from robodyn_ros.simulation.contact_world import World
from robodyn_ros.simulation.engine import SharedPlant, SimulatedRobot
from robodyn_ros.simulation.outputs import OUTPUTS, ActuatorState
from robodyn_ros.simulation.plant import Plant, default_position
from robodyn_ros.simulation.sensing import Sensors
from robodyn_ros.simulation.surface_shapes import surface_shape

WRENCH_PERIOD = 0.1
"""Time between two messages about the wrench on one link [s]."""
OWNERSHIP_PERIOD = 0.2
"""Period of checks for other nodes and of reports of refused commands [s]."""


class AppliedWrenches:
    """Publishes each external wrench in the axes of its link, then zeros after its end; on the executor.

    Args:
        node: The node that publishes.
        loop: The loop that applies the wrenches.
        frame_prefix: Prefix of tf frames.
    """

    def __init__(self, node: RobodynNode, loop: PlantLoop, frame_prefix: str) -> None:
        self._loop, self._prefix = loop, frame_prefix
        self._publisher = node.create_publisher(WrenchStamped, topic_names.own(topic_names.APPLIED_WRENCH), 10)
        self._shown: set[str] = set()
        self._timer = node.create_steady_timer(WRENCH_PERIOD, self._publish)
        self._timer.cancel()

    def show(self) -> None:
        """Publish until no wrench is active; the timer runs only then."""
        self._timer.reset()

    def _publish(self) -> None:
        wrenches = self._loop.wrenches.in_force()
        for link in self._shown - wrenches.keys():
            wrenches[link] = np.zeros(6)
        self._shown = {link for link, wrench in wrenches.items() if wrench.any()}
        for link, wrench in wrenches.items():
            message = WrenchStamped(wrench=to_wrench(wrench))
            message.header.frame_id = self._prefix + link
            set_stamp(message.header.stamp, self._loop.stamp)
            self._publisher.publish(message)
        if not wrenches:
            self._timer.cancel()


class PlantValues:
    """Reads values of a plant loop on the executor's thread; they may belong to two consecutive control periods.

    Args:
        loop: The loop.
    """

    def __init__(self, loop: PlantLoop) -> None:
        self._loop = loop
        self._last = time.monotonic(), loop.periods

    def __call__(self) -> dict[str, Any]:
        """Return values by name, with units; rates refer to the time since the last call."""
        loop, plant, pace = self._loop, self._loop.plant, self._loop.timing.pace
        now, periods = time.monotonic(), loop.periods
        since, before = self._last
        self._last = now, periods
        return {
            "driver": "none" if plant.model.driver is None else plant.model.driver.profile.name,
            "time mode": str(loop.time_mode), "simulated time [s]": plant.time, "paused": loop.budget == 0,
            "periods": periods, "rate [Hz]": round((periods - before) / (now - since), 1),
            "worst jitter [s]": to_seconds(pace.worst), "missed periods": pace.missed,
            "time fallen behind [s]": to_seconds(pace.dropped),
            "periods without a new command": loop.commands.missed, "pushed links": len(loop.wrenches),
            "saturated joints": ", ".join(saturated(plant.joint_names, plant.actuator_state)) or "none",
            **loop.ages.statistics(),
            **{f"energy: {name.replace('_', ' ')} [J]": value for name, value in plant.energy._asdict().items()},
        }


def saturated(names: Sequence[str], state: ActuatorState) -> list[str]:
    """Return the joints whose actuator is at a limit, each with the kind of limit.

    Args:
        names: Joint names, length n.
        state: The actuators' state.
    """
    kinds = {kind: values for kind, values in state._asdict().items() if OUTPUTS[kind].is_flag}
    return [f"{name} ({kind.removesuffix('_saturated')})" for kind, mask in kinds.items()
            for name, at_limit in zip(names, mask, strict=True) if at_limit]


class HardwareNode(RobodynNode):
    """Parameters, services and topics of a :class:`PlantLoop`.

    Raises:
        RobodynError: A parameter or the robot description is not valid.
    """

    def __init__(self) -> None:
        super().__init__("hardware")
        parameters = self.parameters
        parameters.declare(PARAMETERS)
        self._robot = robot = given_robot(parameters, Robot.from_urdf, Robot.from_urdf_text,
                                          tip_link=parameters["tip_link"] or None)
        robot.check_accelerations()
        self._period_ns, steps = control_period(parameters["update_rate"], parameters["step"])
        plant = make_plant(robot, parameters.__getitem__, self._initial_position(robot))
        time_mode = TimeMode(parameters["time_mode"])
        simulated, self._announcement = SharedPlant(plant), DriverAnnouncement(self)
        outputs = StateOutputs(self, simulated, self._period_ns,
                               0.0 if time_mode is TimeMode.REAL_TIME else parameters["clock_rate"],
                               parameters["frame_prefix"] + robot.model.base_link)

        self._announce(plant, parameters.__getitem__)
        if isinstance(plant, Plant) and (doubt := plant.model.elastic.unresolved_mode()):
            self.log.warning("spring", doubt)
        self._joints = JointOrder(plant.joint_names)
        self._random = np.random.default_rng(parameters["seed"])
        settings = live_settings(parameters.__getitem__, self._sensors(parameters.__getitem__))
        self._commanders = commanders(self, plant.joint_names)
        self._loop = PlantLoop(simulated, time_mode, self._period_ns, settings, outputs, self.diagnostics,
                               self._commanders)
        carrier = parameters[f"{SENSOR}.frame"] or (robot.tip_link if plant.has_surroundings else "")
        if carrier:
            self._loop.force_torque = WrenchOutput(self, simulated, carrier, parameters["frame_prefix"],
                                                   force_torque_sensing(parameters.__getitem__), self._period_ns,
                                                   self._random)
            self._loop.force_torque.payload = payload(parameters.__getitem__)
            self.create_service(Trigger, topic_names.own(topic_names.TARE), self._on_tare)
        parameters.on_change(self._on_change)
        self.diagnostics.values = PlantValues(self._loop)
        self._path = ControlPath(self, self.diagnostics, JointState, topic_names.JOINT_COMMANDS, self._loop.cycle,
                                 COMMAND_QOS, serialized=True, every=True)
        self._path.use(outputs.handle)
        self._path.listen(Float64MultiArray, topic_names.own(topic_names.COMMANDS),
                          lambda message: self._loop.on_array(message, sender(self._path.info)), COMMAND_QOS)
        if plant.model.actuators.is_motor.any():
            self._path.listen(VoltageCommands, topic_names.VOLTAGE_COMMANDS,
                              lambda message: self._loop.on_voltages(message, self._path.info), COMMAND_QOS)
        self.add_control_path(self._path)
        self._ownership = HardwareOwnership(self, self._loop, self._path, outputs, self._commanders)
        self.create_steady_timer(OWNERSHIP_PERIOD, self._ownership.look)
        self.listen(WrenchStamped, topic_names.own(topic_names.EXTERNAL_WRENCH), self._on_wrench)
        self._applied = AppliedWrenches(self, self._loop, parameters["frame_prefix"])
        self._publish_surfaces(plant.model.world)
        self.create_service(Trigger, topic_names.own(topic_names.RESET), self._on_reset)
        self.create_service(SetBool, topic_names.own(topic_names.PAUSE), self._on_pause)
        self.create_service(Step, topic_names.own(topic_names.STEP), self._on_step,
                            callback_group=ReentrantCallbackGroup())
        self.create_service(SetState, topic_names.own(topic_names.SET_STATE), self._on_set_state)
        self._compiling = self.create_steady_timer(0.0, self._compile_further)
        self.introduction = (f"'{robot.name}', {robot.n} joints, {time_mode}, {parameters['update_rate']} Hz, "
                             f"{steps} steps of {plant.step} s each")

    def _compile_further(self) -> None:
        """Compile a program for fast motions, which would otherwise block the control path at its first use.

        It
        compiles one per turn, so that the executor can serve requests and a stop in between.
        """
        if not self._loop.plant.prepare_further():
            self._compiling.cancel()

    def _publish_surfaces(self, world: World | None) -> None:
        """Publish the surfaces of the world once, for displays."""
        model = self._robot.model
        shapes = [] if world is None else [surface_shape(surface, reach(model)) for surface in world.surfaces]
        self._surfaces = self.create_publisher(MarkerArray, topic_names.own(topic_names.SURFACES), LATCHED_QOS)
        self._surfaces.publish(to_markers(shapes, self.parameters["frame_prefix"] + model.base_link))

    def _initial_position(self, robot: Robot) -> Array:
        """Declare and read one initial position per joint, shape (n,) [rad or m]."""
        names = [f"initial_position.{name}" for name in robot.joint_names]
        self.parameters.declare(
            Field(name, float(value), "Position at the start and after ~/reset", unit="rad or m", structural=True,
                  minimum=max(float(lower), POSITION.minimum), maximum=min(float(upper), POSITION.maximum))
            for name, value, lower, upper in zip(names, default_position(robot), robot.model.position_lower,
                                                 robot.model.position_upper, strict=True))
        return np.array([self.parameters[name] for name in names])

    def _announce(self, plant: SimulatedRobot, value: Callable[[str], Any]) -> None:
        """Announce driver and timing; ``value`` as for :func:`live_settings`."""
        if plant.model.driver is not None:
            self._announcement.publish(plant.model.driver.profile, value("update_rate"), sensing(value).delay)

    def _sensors(self, value: Callable[[str], Any]) -> Sensors | None:
        """Create the sensors; None: exact measurements. ``value`` as for :func:`live_settings`."""
        how = sensing(value)
        sensors = Sensors(how, len(self._joints), to_seconds(self._period_ns), self._random)
        return None if how.exact else sensors

    def _on_change(self, changed: Mapping[str, Any]) -> None:
        def value(name: str) -> Any:
            return changed.get(name, self.parameters[name])

        if COMMANDERS.name in changed:
            self._commanders.name(changed[COMMANDERS.name])
        sensed = any(name.startswith("sensing.") for name in changed)
        sensors = self._sensors(value) if sensed else self._loop.settings.sensors
        force_torque = self._loop.force_torque
        if force_torque is not None and any(name.startswith(f"{SENSOR}.") for name in changed):
            force_torque.configure(force_torque_sensing(value))
        if not changed.keys().isdisjoint(SURROUNDINGS):
            plant = make_plant(self._robot, value, self._loop.plant.initial_position)
            if force_torque is not None:
                force_torque.prepare(plant)
            self._path.call(lambda: self._loop.replace_plant(plant))
            self._compiling.reset()
            if force_torque is not None:
                force_torque.payload = payload(value)
        self._loop.settings = live_settings(value, sensors)
        if sensed:
            self._announce(self._loop.plant, value)

    def _on_wrench(self, message: WrenchStamped) -> None:
        try:
            link, wrench = self._loop.wrenches.read(message)
        except MessageError as error:
            self.diagnostics.problem(f"rejected wrenches: {error.reason}", f"wrench rejected: {error}")
        else:
            self._path.call(lambda: self._loop.wrenches.put_in_force(link, wrench))
            self._applied.show()

    def _on_reset(self, _: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
        return self._answer(response, lambda: self._path.call(self._loop.reset), "at the initial state")

    def _on_tare(self, _: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
        def tare() -> None:
            if self._loop.force_torque is not None:
                self._loop.force_torque.sensor.tare()

        return self._answer(response, lambda: self._path.call(tare), "the present wrench is the zero of later ones")

    def _on_pause(self, request: SetBool.Request, response: SetBool.Response) -> SetBool.Response:
        action = self._loop.pause if request.data else self._loop.resume
        return self._answer(response, lambda: self._path.call(action), "paused" if request.data else "running")

    def _on_set_state(self, request: SetState.Request, response: SetState.Response) -> SetState.Response:
        if not request.position and not request.velocity:
            response.message = "set_state: expected positions, velocities or both, received neither"
            return response

        def read(position: Array) -> tuple[Array, Array]:
            names, joints = request.joint_names, self._joints
            return (joints.read(names, request.position, "set_state: position", POSITION, position)
                    if request.position else position,
                    joints.read(names, request.velocity, "set_state: velocity", VELOCITY, np.zeros(len(joints)))
                    if request.velocity else np.zeros(len(joints)))

        return self._answer(response, lambda: self._path.call(lambda: self._loop.set_state(read)), "state set")

    async def _on_step(self, request: Step.Request, response: Step.Response) -> Step.Response:
        """Run control periods of a paused simulation; meanwhile the executor serves other callbacks."""
        ended: Future[str] = Future()

        def on_end(reason: str) -> None:  # on the control path's thread
            ended.set_result(reason)
            if self.executor is not None:
                self.executor.wake()

        try:
            self._check_not_yielded()
            self._path.call(lambda: self._loop.step(request.steps, on_end))
            if reason := await ended:
                raise RobodynError(reason)
            response.success, response.message = True, f"{request.steps} periods done"
        except RobodynError as error:
            self._refuse(response, error)
        set_stamp(response.stamp, self._loop.stamp)
        return response

    def start(self) -> None:
        """Publish the first state, unless another node may simulate the robot, and start the control path."""
        self._ownership.begin()
        if not self._loop.yielded:
            self._loop.begin()
        super().start()

    def stop(self) -> None:
        """Stop the control path, and answer pending step requests."""
        super().stop()
        if self._loop.stepping():
            self._loop.pause("the node was stopped")
            self.serve_last()

    def _answer(self, response: Any, action: Callable[[], Any], success: str) -> Any:
        """Run an action, and write its success and message into a response."""
        try:
            self._check_not_yielded()
            action()
            response.success, response.message = True, success
        except RobodynError as error:
            self._refuse(response, error)
        return response

    def _check_not_yielded(self) -> None:
        if self._loop.yielded:
            raise SimulationError(f"this node stands still: {self._loop.yielded}")

    def _refuse(self, response: Any, error: RobodynError) -> None:
        response.success, response.message = False, one_line(str(error))
        self.diagnostics.problem("rejected requests", f"request rejected: {error}")


def main(args: Sequence[str] | None = None) -> int:
    """Run the node; the entry point."""
    return run_node(HardwareNode, args)
