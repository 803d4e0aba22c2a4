# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""The simulated robot on MuJoCo, which provides bodies, contacts and constraints; motors and friction are ours."""

from __future__ import annotations

from functools import partial
from typing import Any, NamedTuple, NoReturn, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from robodyn_ros.actuation.friction import FrictionModel
from robodyn_ros.actuation.joint_actuators import JointActuators
from robodyn_ros.base.checks import as_floats
from robodyn_ros.base.errors import InputError, SimulationError, shown
from robodyn_ros.base.timing import DEFAULT_STEP
from robodyn_ros.compile import compile_function
from robodyn_ros.description.mjcf.model_file import one_line
from robodyn_ros.description.model import Array
from robodyn_ros.robot import Robot
from robodyn_ros.simulation import semi_implicit_euler
from robodyn_ros.simulation.commands import Drive
from robodyn_ros.simulation.driver import Driver
from robodyn_ros.simulation.engine import SimulatedRobot
from robodyn_ros.simulation.integrator import Integrator
from robodyn_ros.simulation.joint_constraints import STICKING, ConstraintSolution
from robodyn_ros.simulation.joint_drives import JointDrives, joint_drives
from robodyn_ros.simulation.mujoco_scene import check_axes, import_mujoco, load_scene
from robodyn_ros.simulation.outputs import ActuatorState, StepEnd, report, report_at_rest
from robodyn_ros.simulation.plant import default_position, start_position
from robodyn_ros.simulation.plant_model import PlantModel
from robodyn_ros.simulation.plant_part import PlantParts
from robodyn_ros.simulation.plant_state import PlantCommand, PlantState
from robodyn_ros.simulation.readings import Energy, summed_energy

_NO_RESULTS = PlantParts(None, None, None)  # MuJoCo has no bristles, and contacts of its own
_MAX_RATE = 1e10  # velocity or acceleration beyond which MuJoCo, too, considers the motion divergent
_MAX_ATTEMPTS = 20  # to find the motors at their limits; two or three usually suffice
_TRIAL_SECONDS = 0.05
_STABLE_ANGLE = 1.0  # h omega at positions 0: half of the stability limit, since omega depends on the positions


class MujocoPlant(SimulatedRobot):
    """A robot on MuJoCo, alone or in a scene.

    In each step, MuJoCo gets for each joint an effort, a damping (taken implicitly) and a level of dry friction. Stops,
    sticking, brakes and contacts are constraints of MuJoCo, which are soft: a joint may pass its stop a little, and a
    resting joint creeps under load (1e-5 rad/s), except under a brake that always holds.

    Args:
        robot: The robot. If the scene has its joints, the masses are those of the scene.
        step: Time step [s].
        position: Positions at the start and after :meth:`reset`, shape (n,) [rad or m]; None: as for `Plant`.
        scene: MJCF file; empty: the robot alone, without contacts.
        actuators: One for each joint; None: ideal sources of effort.
        friction: Friction of the joints; None: that of the robot, or else of its description.
        integrator: ``semi_implicit_euler`` or ``runge_kutta``: MuJoCo's methods Euler and RK4.

    Attributes:
        has_own_masses: Whether the scene, not the description, defines the robot's bodies.

    Raises:
        InputError: MuJoCo is not installed, the scene cannot be read or does not fit the robot, the simulation
            diverges from the start, or as for `Plant`.
    """

    def __init__(self, robot: Robot, step: float = DEFAULT_STEP, position: ArrayLike | None = None, *,
                 scene: str = "", actuators: JointActuators | None = None, friction: FrictionModel | None = None,
                 integrator: Integrator | str = Integrator.SEMI_IMPLICIT_EULER,
                 driver: Driver | None = None) -> None:
        self._mujoco = import_mujoco()
        self.robot = robot
        self.model = model = PlantModel.from_robot(robot, step, actuators, friction, integrator=integrator,
                                                        driver=driver)
        if not model.method.mujoco:
            raise InputError("engine mujoco: integrator: expected "
                             f"{' or '.join(each for each in Integrator if each.method.mujoco)}, received "
                             f"{model.integrator}")
        if not model.model.has_diagonal_rotors:
            raise InputError(f"engine mujoco: expected motors of '{robot.name}' for the rotors of its coupled joints, "
                             "received none; give a file of actuators, or choose the engine robodyn")
        if model.follows_state:
            raise InputError("engine mujoco: expected motors that do not depend on the temperature or their angle; use "
                             "engine robodyn, or leave out temperature_effects, derating and torque_ripple")
        if model.parts.presliding.modes:
            raise InputError(f"engine mujoco: expected friction without presliding, received stiffness of friction "
                             f"model '{model.friction.name}'; use engine robodyn, or leave out the stiffness")
        self._check_springs()
        self.step, self.steps = step, 0
        self.joint_names = robot.joint_names
        self._file, self._scene = scene, load_scene(model, scene)
        self.has_own_masses = self._scene.has_own_masses
        self._engine = self._scene.model
        self._data, self._probe = self._mujoco.MjData(self._engine), self._mujoco.MjData(self._engine)
        self._everything = int(self._mujoco.mjtState.mjSTATE_INTEGRATION)
        self._before = np.zeros(self._mujoco.mj_stateSize(self._engine, self._everything))
        self._external = np.zeros(self._engine.nv)
        self._wrenches: dict[str, Array] = {}
        self._places: dict[str, tuple[int, Array]] = {}  # by link: its body, and its origin in the body's frame [m]
        self._lower = np.where(self._engine.jnt_limited[self._scene.joints],
                               self._engine.jnt_range[self._scene.joints, 0], -np.inf)
        self._upper = np.where(self._engine.jnt_limited[self._scene.joints],
                               self._engine.jnt_range[self._scene.joints, 1], np.inf)
        self._joint_of_brake = np.full(self._engine.neq, -1)
        self._joint_of_brake[self._scene.brakes] = model.elastic.at_motors(np.arange(robot.n + len(model.elastic)))
        self._joint_of_dof, self._joint_of_number = (np.full(size, -1) for size in (self._engine.nv, self._engine.njnt))
        joints = np.concatenate([self._scene.joints, self._scene.rotors])  # of links, and of motors behind springs
        self._positions = self._engine.jnt_qposadr[joints]
        self._dofs = self._engine.jnt_dofadr[joints]
        self._braked = self._positions[model.elastic.at_motors(np.arange(len(joints)))]
        self._joint_of_dof[self._dofs] = self._joint_of_number[joints] = np.arange(len(joints))
        self._tendons, self._joint_of_tendon = np.full(robot.n, -1), np.full(self._engine.ntendon, -1)
        self._tendons[model.actuators.is_coupled] = self._scene.motors
        self._joint_of_tendon[self._scene.motors] = np.flatnonzero(model.actuators.is_coupled)
        self._limit = model.actuators.circuits.effort_limit
        self._limited = bool(np.isfinite(self._limit).any())
        self._sticking = np.full(len(joints), float(STICKING))
        n, self._state = robot.n, model.state(*np.zeros((2, robot.n)))
        self._command, self._report = model.command(np.zeros(n)), report_at_rest(model, self._state)
        given: dict[str, Any] = {"state": self._state, "command": self._command}
        self._drives = compile_function(partial(joint_drives, model), given, "joint drives").call
        each, motors, none = np.zeros(len(joints)), np.zeros(n), np.zeros(len(model.sliding_motors))
        given |= {"drives": joint_drives(model, self._state, self._command), "q": (len(joints),),
                  "solution": ConstraintSolution(each, each, each, each, motors, none)}
        self._step_end = compile_function(partial(_step_end, model), given, "end of a step").call
        self.initial_position = default_position(robot) if position is None else start_position(robot, position)
        self.q: Array
        self.v: Array
        self.reset()
        dynamics = robot.dynamics()
        poses = [dynamics.forward_kinematics(self.q, joint.link) for joint in robot.model.leaders]
        check_axes(self._scene, robot.model, np.array([pose[:3, :3] @ joint.axis for pose, joint in
                                                       zip(poses, robot.model.leaders, strict=True)]),
                   np.array([pose[:3, 3] for pose in poses]), self._data)
        self._check_start()

    @classmethod
    def from_plant(cls, plant: PlantModel) -> Self:
        """Simulate the bodies of a compiled plant, alone; arguments and errors as for the class."""
        return cls(Robot(plant.model), plant.step, actuators=plant.actuators, friction=plant.friction,
                   driver=plant.driver)

    def _check_springs(self) -> None:
        """Refuse springs that are too fast for the step: MuJoCo takes their stiffness explicitly."""
        model = self.model
        if not len(model.elastic) or not model.method.is_implicit:  # else it is checked
            return
        fastest, joint = model.elastic.fastest_mode()
        if model.step * fastest > _STABLE_ANGLE:
            raise InputError(f"engine mujoco: expected steps of at most {_STABLE_ANGLE / fastest:.3g} s for "
                             f"the spring of joint '{joint}', which swings at {fastest / (2.0 * np.pi):.4g} Hz, "
                             f"received {model.step:g} s; use engine robodyn, or smaller steps")

    @property
    def has_surroundings(self) -> bool:
        """Whether there is a scene."""
        return bool(self._file)

    @property
    def energy(self) -> Energy:
        """Stored energy of the whole scene, and work and losses since the last reset or new state.

        Contacts and loops of the scene count as external work. The potential energy is 0 with the centre of mass at the
        height of the world's origin.
        """
        mujoco, probe = self._mujoco, self._probe
        probe.qpos[:], probe.qvel[:] = self._snapshot
        mujoco.mj_fwdPosition(self._engine, probe)
        mujoco.mj_energyPos(self._engine, probe)
        mujoco.mj_energyVel(self._engine, probe)
        potential, kinetic = probe.energy.tolist()
        half = 0.5 * self.model.elastic.springs.backlash
        stretched = probe.ten_length[self._scene.springs]
        bent = np.maximum(np.abs(stretched) - half, 0.0)
        potential -= float(0.5 * self._engine.tendon_stiffness[self._scene.springs] @ bent**2)  # counted in the state
        return summed_energy(self.model, self._state, kinetic, potential)

    def prepare(self) -> None:
        """Do nothing: the trial at the start compiled all code."""

    def prepare_further(self) -> bool:
        """Return False: no program is left to compile."""
        return False

    def joint_inertia(self) -> Array:
        """Return the inertia of each joint moving alone, with rotors, shape (n,) [kg m^2 or kg]."""
        matrix = np.zeros((self._engine.nv, self._engine.nv))
        self._mujoco.mj_fullM(self._engine, self._data, matrix)
        own = np.where(self.model.actuators.is_elastic, self.model.actuators.reflected_inertia, 0.0)
        return matrix.diagonal()[self._scene.dofs] + own

    def reset(self) -> None:
        """Return robot and scene to the initial state at rest; time continues."""
        self._mujoco.mj_resetData(self._engine, self._data)
        self._begin(self.model.state(self.initial_position, np.zeros(self.robot.n)))

    def set_state(self, q: ArrayLike | None = None, v: ArrayLike | None = None) -> None:
        """Set the state of the robot's joints, as for `Plant`; the rest of the scene keeps its state."""
        position = self.q if q is None else start_position(self.robot, q)
        velocity = np.zeros(len(position)) if v is None else as_floats(v, (self.robot.n,), "velocities")
        self._begin(self.model.state(position, velocity)._replace(temperature=self._state.temperature))

    def continue_from(self, other: MujocoPlant) -> None:
        """Take over time and state of a plant in the same scene, without energies and wrenches."""
        mujoco, everything = self._mujoco, self._everything
        mujoco.mj_getState(other._engine, other._data, self._before, everything)
        mujoco.mj_setState(self._engine, self._data, self._before, everything)
        state = other._state.without_energies()
        self._begin(state)
        self.steps = other.steps

    def check_link(self, link: str) -> None:
        """Check that wrenches can act on a link.

        Raises:
            InputError: Neither the robot nor the scene has such a link.
        """
        if link not in self._places:
            self.robot.model.frame(link)
            self._places[link] = self._scene.place(link) or self._place_by_kinematics(link)

    def set_wrench(self, link: str, wrench: ArrayLike) -> None:
        """Apply an external wrench to a link until it is replaced, as for `Plant`."""
        self.check_link(link)
        array = as_floats(wrench, (6,), f"wrench on '{link}'").copy()
        if array.any():
            self._wrenches[link] = array
        else:
            self._wrenches.pop(link, None)

    def environment_wrench(self, link: str) -> Array:
        """Return the wrench of contacts, loops and external wrenches on a link and all that it carries."""
        self.check_link(link)
        mujoco, engine, data = self._mujoco, self._engine, self._data
        body, origin = self._find_link(link)
        mujoco.mj_rnePostConstraint(engine, data)
        carried = self._scene.carried(body)
        torques, forces = data.cfrc_ext[carried, :3], data.cfrc_ext[carried, 3:]
        centers = data.subtree_com[engine.body_rootid[carried]]  # reference points of the torques
        force, torque = forces.sum(axis=0), (torques + np.cross(centers - origin, forces)).sum(axis=0)
        for pushed_link, wrench in self._wrenches.items():
            other, point = self._find_link(pushed_link)
            if carried[other]:
                pushed = self._scene.base_rotation @ wrench[:3]
                force = force + pushed
                torque = torque + self._scene.base_rotation @ wrench[3:] + np.cross(point - origin, pushed)
        return np.concatenate([force @ self._scene.base_rotation, torque @ self._scene.base_rotation])

    def _find_link(self, link: str) -> tuple[int, Array]:
        """Body of a link, and the link's origin in the world, shape (3,) [m]."""
        body, offset = self._places[link]
        return body, self._data.xpos[body] + self._data.xmat[body].reshape(3, 3) @ offset

    def _place_by_kinematics(self, link: str) -> tuple[int, Array]:
        """Place of a link that the scene does not name: on the body that its joint moves, by the description."""
        model, engine, probe, scene = self.robot.model, self._engine, self._probe, self._scene
        carrier, body = model.frame(link).joint, scene.base
        if carrier >= 0:
            name = model.joints[carrier].name
            try:
                body = int(engine.jnt_bodyid[engine.joint(name).id])
            except KeyError:
                raise InputError(f"{scene.name} has no body and no site '{link}', and no joint '{name}', which moves "
                                 "it: give a body the name of the link") from None
        probe.qpos[:], _ = self._snapshot
        self._mujoco.mj_kinematics(engine, probe)
        pose = self.robot.dynamics().forward_kinematics(probe.qpos[scene.positions], link)
        point = scene.base_rotation @ pose[:3, 3] + scene.base_position
        return body, probe.xmat[body].reshape(3, 3).T @ (point - probe.xpos[body])

    def advance(self, drive: Drive, steps: int = 1) -> None:
        """Take steps under the same drive; as for `Plant`."""
        command, zeros = self._command, np.zeros(self.robot.n)
        by_voltage = zeros if drive.by_voltage is None else drive.by_voltage
        self.model.check_voltages(by_voltage)
        try:
            command.effort[:] = drive.effort
        except ValueError:
            raise InputError(f"plant: effort: expected {self.model.n} numbers, "
                             f"received {shown(drive.effort)}") from None
        command.voltage[:] = zeros if drive.voltage is None else drive.voltage
        loops = drive.loops or self.model.actuators.drive_loops.no_command()
        for own, given in zip(command.drives, loops, strict=True):
            own[:] = given
        command.by_voltage[:], command.damping[:], command.brake[:] = by_voltage, drive.damping, drive.brake
        self._lock(np.isinf(drive.brake))
        for _ in range(steps):
            self._step()

    def _lock(self, locked: NDArray[np.bool_]) -> None:
        """Lock joints where they are, and unlock the others."""
        data, brakes = self._data, self._scene.brakes
        new = locked & (data.eq_active[brakes] == 0)
        if new.any():
            turned = data.qpos[self._braked] - self._engine.qpos0[self._braked]
            self._engine.eq_data[brakes[new], 0] = turned[new]
        data.eq_active[brakes] = locked

    def _step(self) -> None:
        """Take a step; repeat it with other motor modes while the currents contradict their limits."""
        mujoco, engine, data, dofs = self._mujoco, self._engine, self._data, self._dofs
        model, springs, n, none = self.model, self._scene.springs, self.robot.n, np.zeros(self.robot.n)
        state, command = self._state, self._command
        mujoco.mj_getState(engine, data, self._before, self._everything)
        command.external[:] = self._apply_wrenches()[self._scene.dofs]
        elastic = model.elastic
        bent = elastic.deflection(state.q, state.v, state.motor_side).value
        loaded = abs(bent) > 0.5 * elastic.springs.backlash
        engine.tendon_damping[springs] = np.where(loaded, elastic.springs.spring_damping, 0.0)
        drives = self._drives(state, command)
        locked = np.isinf(drives.friction)
        engine.dof_frictionloss[dofs] = np.where(locked, 0.0, drives.friction)
        limits, coupled, sliding = self.model.limits, self.model.actuators.is_coupled, self.model.sliding_motors
        engine.tendon_frictionloss[self._tendons[sliding]] = drives.motor_friction
        saturation = state.saturation
        for attempt in range(_MAX_ATTEMPTS):
            linear = saturation == 0.0
            damping = np.where(linear, drives.motor_damping, 0.0)
            engine.dof_damping[dofs] = drives.viscous + model.elastic.split(none, np.where(coupled, 0.0, damping))
            engine.tendon_damping[self._scene.motors] = (self.model.coupled_damping + damping)[coupled]
            motors = np.where(linear, drives.motor_effort, saturation * np.where(linear, 0.0, self._limit))
            data.qfrc_applied[:] = self._external
            data.qfrc_applied[dofs] += drives.effort + limits.on_joints(motors)
            try:
                mujoco.mj_step(engine, data)
            except mujoco.FatalError as error:  # when numbers overflow
                self._diverged(one_line(error))
            if not (np.abs(data.qacc).max() < _MAX_RATE and np.abs(data.qvel).max() < _MAX_RATE):
                self._diverged()
            v = data.qvel[dofs]
            line = drives.motor_effort - drives.motor_damping * limits.output_velocity(v)
            needed = np.sign(line) * (np.abs(line) > self._limit)
            if not self._limited or (needed == saturation).all() or attempt == _MAX_ATTEMPTS - 1:
                break
            saturation = needed
            mujoco.mj_setState(engine, data, self._before, self._everything)
        friction, stops, of_motors = self._constraint_efforts()
        others = data.qfrc_constraint[dofs] - friction - stops - limits.sliding.T @ of_motors[sliding]
        command.external[:] += others[:n]
        solution = ConstraintSolution(v, self.step * (friction + stops), self.step * drives.friction, self._sticking,
                                      saturation, self.step * of_motors[sliding])
        self._state, self._report = self._step_end(state, command, drives, data.qpos[self._positions], solution)
        self.q, self.v = self._state.q, self._state.v
        self._snapshot = data.qpos.copy(), data.qvel.copy()
        self.steps += 1

    def _apply_wrenches(self) -> Array:
        """Compute the generalized forces of external wrenches on the whole scene, shape (nv,)."""
        external, engine, data = self._external, self._engine, self._data
        external[:] = 0.0
        if self._wrenches:
            self._mujoco.mj_kinematics(engine, data)
            self._mujoco.mj_comPos(engine, data)
        for link, wrench in self._wrenches.items():
            body, point = self._find_link(link)
            force, torque = (self._scene.base_rotation @ part for part in (wrench[:3], wrench[3:]))
            self._mujoco.mj_applyFT(engine, data, force, torque, point, body, external)
        return external

    def _constraint_efforts(self) -> tuple[Array, Array, Array]:
        """Efforts of the constraints in the last step [N m or N].

        Friction and brakes, shape (n + m,); stops, shape (n + m,); friction of coupled motors at their gears' outputs,
        shape (n,).
        """
        n, of_motors = self.robot.n, np.zeros(self.robot.n)
        friction, stops = np.zeros((2, len(self._dofs)))
        data, kinds = self._data, self._mujoco.mjtConstraint
        if not data.nefc:
            return friction, stops, of_motors
        kind, number, force = data.efc_type, data.efc_id, data.efc_force
        for wanted, joint_of in ((kinds.mjCNSTR_FRICTION_DOF, self._joint_of_dof),
                                 (kinds.mjCNSTR_EQUALITY, self._joint_of_brake)):
            rows = kind == wanted
            joint = joint_of[number[rows]]
            np.add.at(friction, joint[joint >= 0], force[rows][joint >= 0])
        rows = kind == kinds.mjCNSTR_LIMIT_JOINT
        joint = self._joint_of_number[number[rows]]
        np.add.at(stops, joint[joint >= 0], force[rows][joint >= 0])
        rows = kind == kinds.mjCNSTR_FRICTION_TENDON
        joint = self._joint_of_tendon[number[rows]]
        np.add.at(of_motors, joint[joint >= 0], force[rows][joint >= 0])
        stops[:n] *= np.where(self.q - self._lower < self._upper - self.q, 1.0, -1.0)
        return friction, stops, of_motors

    def _diverged(self, reason: str = "") -> NoReturn:
        """Restore the last good state, and raise."""
        velocity = self._data.qvel[self._scene.dofs].tolist()
        self._mujoco.mj_setState(self._engine, self._data, self._before, self._everything)
        raise SimulationError(
            f"the simulation of '{self.robot.name}' on MuJoCo diverged at {self.time:.6g} s: "
            f"{reason}{'; ' if reason else ''}velocities became {velocity} from {self.v.tolist()} under efforts "
            f"{self._command.effort.tolist()}; use a smaller step (now {self.step} s) or reset")

    def _begin(self, state: PlantState) -> None:
        """Set the state of the robot's joints."""
        data = self._data
        self._state = state
        self.q, self.v = state.q, state.v
        data.qpos[self._positions] = np.concatenate([self.q, state.motor_side.q])
        data.qvel[self._dofs] = np.concatenate([self.v, state.motor_side.v])
        for position, joint, multiplier, offset in self._scene.mimics:
            data.qpos[position] = multiplier * self.q[joint] + offset
        data.qacc_warmstart[:] = 0.0
        self._lock(np.zeros(self.robot.n, dtype=bool))
        try:
            self._mujoco.mj_forward(self._engine, data)
        except self._mujoco.FatalError as error:
            raise SimulationError(f"{self._scene.name}: MuJoCo cannot simulate it with '{self.robot.name}' at "
                                  f"{self.q.tolist()}: {one_line(error)}") from None
        self._snapshot = data.qpos.copy(), data.qvel.copy()
        self._report = report_at_rest(self.model, state)

    def _check_start(self) -> None:
        """Simulate a moment with brakes, and return to the start; refuse a scene that diverges."""
        none = np.zeros(self.robot.n)
        try:
            self.advance(Drive(none, none, np.full(self.robot.n, np.inf)), max(1, round(_TRIAL_SECONDS / self.step)))
        except SimulationError as error:
            raise InputError(f"{self._scene.name}: it diverges from the start, before any command; check the initial "
                             f"positions, bodies that overlap, and loops that do not close there: {error}") from None
        self.steps = 0
        self.reset()


class _StepEnd(NamedTuple):
    """State and report after a step."""

    state: PlantState
    report: ActuatorState


def _step_end(plant: PlantModel, state: PlantState, command: PlantCommand, drives: JointDrives, q: NDArray[Any],
              solution: ConstraintSolution) -> _StepEnd:
    """State and report after a step of MuJoCo.

    Args:
        plant: The simulated model.
        state: State before the step.
        command: The commands; their external efforts include the contacts.
        drives: Efforts of the drives in the step.
        q: Positions of links and motors of elastic joints after the step, shape (n + m,).
        solution: Velocities after the step, and impulses of friction and stops.
    """
    after = semi_implicit_euler.METHOD.integrate(plant, state, command, drives.voltage, solution, _NO_RESULTS)
    after = after._replace(q=q[:plant.n], motor_side=after.motor_side._replace(q=q[plant.n:]))
    return _StepEnd(after, report(StepEnd(plant, after, command, drives.voltage, solution.friction, solution.impulse,
                                          solution.motor_impulse, _NO_RESULTS)))
