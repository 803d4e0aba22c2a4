# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Tasks in levels within limits: the same programs by daqp, projections, closed loops at the limits, and contact."""

import contextlib
import pickle
from functools import cache

import daqp
import numpy as np
import pytest
from law_inputs import random_reference
from plant_motion import BENT, follow
from scipy.linalg import block_diag
from shipped import few

from robodyn_ros import InputError, Robot, rollout
from robodyn_ros.control import State, TipReference
from robodyn_ros.control.laws.operational_space import OperationalSpace
from robodyn_ros.control.laws.singularity import singularity_damping
from robodyn_ros.control.laws.task_priority import TaskPriority, TaskPriorityParameters
from robodyn_ros.control.laws.task_space import task_errors, tip_acceleration
from robodyn_ros.control.optimisation import qp
from robodyn_ros.control.optimisation.safety_limits import joint_bounds
from robodyn_ros.control.references.reference import SOURCES
from robodyn_ros.control.references.tip_trajectory import TipTrajectory
from robodyn_ros.description.resources import robot_file
from robodyn_ros.simulation.commands import Drive
from robodyn_ros.simulation.contact_world import ContactPoint, World
from robodyn_ros.simulation.plant import Plant
from robodyn_ros.simulation.surfaces import Material, Plane
from robodyn_ros.toolbox.export.c_law import law_source

ROBOTS = {name: Robot.from_urdf(robot_file(name)) for name in BENT}
LEVELS = "x y z; rx ry rz"
WALL = 1e5  # stiffness [N/m]


@cache
def law(name, **own):
    return TaskPriority(ROBOTS[name], TaskPriorityParameters(**own))


def case(name, seed, share=1.0):
    """A state, a reference beside it that moves, and a posture elsewhere; with a small share no limit acts."""
    robot, rng = ROBOTS[name], np.random.default_rng(seed)
    reach = np.minimum(0.3, 0.1 * (robot.position_upper - robot.position_lower))
    q = np.array(BENT[name]) + reach * rng.uniform(-1.0, 1.0, robot.n)
    v = share * rng.uniform(-0.3, 0.3, robot.n) * np.minimum(robot.velocity_limit, 5.0)
    state, held = State(0.0, 0.002, q, v), SOURCES[TipReference](robot, q).sample(0.0)
    wanted = random_reference(robot, TipReference, state, seed)
    reference = held._replace(position=held.position + 0.2 * share * rng.uniform(-1.0, 1.0, 3),
                              quaternion=wanted.quaternion if share == 1.0 else held.quaternion,
                              twist=share * wanted.twist, acceleration=share * wanted.acceleration)
    return state, reference, q + share * rng.uniform(-0.3, 0.3, robot.n)


def told(controller):
    return dict(zip(controller.memory_names(), controller.memory_numbers, strict=True))


class Unsolved(Exception):
    """daqp ends at its bound on iterations, as at some programs whose cost hardly depends on some variables."""


def exact(h, g, rows, lower, upper):
    """The solution of a program by daqp."""
    x, _, flag, _ = daqp.solve(h, g, rows, upper, lower, np.zeros(len(lower), dtype=np.int32), primal_tol=1e-10,
                               dual_tol=1e-10)
    if flag != 1:
        raise Unsolved
    return x


class Problem:
    """The program of a tick in the joints' accelerations, made from the library's terms."""

    def __init__(self, controller, state, reference, posture):
        robot, own, dynamics = controller.robot, controller.parameters, controller.robot.dynamics()
        q, v = state.q, state.v
        self.mass = dynamics.mass_matrix(q)
        self.bias = dynamics.bias(q, v) + own.friction * v
        errors = task_errors(dynamics, own.rows, state, reference)
        self.jacobian = errors.jacobian
        drift = dynamics.jacobian_derivative(q, v)[own.rows] @ v
        self.task = tip_acceleration(own, errors, reference) - drift
        mobility = self.jacobian @ np.linalg.solve(self.mass, self.jacobian.T)
        self.damping = singularity_damping(mobility, own.thresholds)
        self.thresholds = own.thresholds
        self.posture = own.posture_acceleration(state, posture, self.damping, reference)
        lower, upper = joint_bounds(own, state)
        limit = own.effort_share * robot.effort_limit
        self.rows = np.vstack([np.eye(robot.n), self.mass])
        self.lower, self.upper = np.r_[lower, -limit - self.bias], np.r_[upper, limit - self.bias]

    def effort(self, a):
        return self.mass @ a + self.bias

    def weighted(self, softness):
        """Posture and tip in one program, the tip's slack being variables."""
        n, m = len(self.bias), len(self.task)
        rows = np.block([[self.rows, np.zeros((2 * n, m))], [self.jacobian, np.eye(m)]])
        h = block_diag(self.mass, np.diag(1.0 / softness))
        g = np.r_[-self.mass @ self.posture, np.zeros(m)]
        return exact(h, g, rows, np.r_[self.lower, self.task], np.r_[self.upper, self.task])[:n]

    def lexicographic(self, levels):
        """Level by level, each of least slack while those before keep theirs; the posture is the last one."""
        n, kept, values = len(self.bias), np.zeros((0, len(self.bias))), np.zeros(0)
        for level in levels:
            m, (own, task) = len(level), (self.jacobian[level], self.task[level])
            known = np.r_[values, task]
            rows = np.block([[np.vstack([self.rows, kept]), np.zeros((2 * n + len(kept), m))], [own, np.eye(m)]])
            h = block_diag(1e-6 * self.mass, np.diag(1.0 / self.thresholds[level]))
            x = exact(h, np.zeros(n + m), rows, np.r_[self.lower, known], np.r_[self.upper, known])
            kept, values = np.vstack([kept, own]), np.r_[values, task - x[n:]]
        return exact(self.mass, -self.mass @ self.posture, np.vstack([self.rows, kept]), np.r_[self.lower, values],
                     np.r_[self.upper, values])


def solved(controller, seed, share=1.0):
    """The problem of a random tick, the efforts of the law, and whether a limit acts."""
    name = controller.robot.name
    state, reference, posture = case(name, seed, share)
    controller.activate(state._replace(q=posture))
    effort = controller.update(state, reference)
    acts = any(value != 0.0 for key, value in told(controller).items() if key.endswith((".motion", ".effort")))
    return Problem(controller, state, reference, posture), effort, acts


@pytest.mark.parametrize("name", few(ROBOTS, ("scara",)))
def test_where_no_limit_acts_it_is_operational_space(name):
    plain, found = OperationalSpace(ROBOTS[name]), law(name)
    for seed in range(10):
        state, reference, posture = case(name, seed, share=0.03)
        efforts = []
        for controller in (plain, found):
            controller.activate(state._replace(q=posture))
            efforts.append(controller.update(state, reference))
        np.testing.assert_allclose(*efforts, rtol=0.0, atol=1e-5 * np.abs(efforts[0]).max())
        assert told(found)["status"] == qp.OPTIMAL
    assert not found.uncompiled_reason


@pytest.mark.parametrize("name, axes, levels", few([("arm6", "x y z rx ry rz", [[0, 1, 2, 3, 4, 5]]),
                                                ("arm7", "x y z rx ry rz", [[0, 1, 2, 3, 4, 5]]),
                                                ("arm7", LEVELS, [[0, 1, 2], [3, 4, 5]])], 2))
def test_at_limits_it_is_the_lexicographic_solution_of_daqp(name, axes, levels):
    compared, controller, tolerance = 0, law(name, axes=axes), 1e-4 * ROBOTS[name].effort_limit.max()
    for seed in range(50):
        problem, effort, acts = solved(controller, seed)
        if acts and problem.damping == 0.0 and told(controller)["status"] == qp.OPTIMAL:
            with contextlib.suppress(Unsolved):
                np.testing.assert_allclose(effort, problem.effort(problem.lexicographic(levels)), 0.0, tolerance)
                compared += 1
    assert compared > 10


def test_levels_without_limits_are_projections_into_the_null_space_of_those_before():
    """a = a_0 + J_1# e_1 + N_1 (J_2 N_1)# (e_2 - J_2 J_1# e_1), # weighted by M: recursive projections."""
    controller = law("arm7", axes=LEVELS)
    problem, effort, acts = solved(controller, 3, share=0.03)
    assert not acts
    root = np.linalg.cholesky(problem.mass)              # y = L^T (a - a_0) has the length of the kinetic energy
    first, second = (problem.jacobian[part] @ np.linalg.inv(root.T) for part in (slice(3), slice(3, 6)))
    errors = problem.task - problem.jacobian @ problem.posture
    y = np.linalg.pinv(first) @ errors[:3]
    null = np.eye(7) - np.linalg.pinv(first) @ first
    y = y + np.linalg.pinv(second @ null) @ (errors[3:] - second @ y)
    expected = problem.effort(problem.posture + np.linalg.solve(root.T, y))
    np.testing.assert_allclose(effort, expected, rtol=0.0, atol=1e-5 * np.abs(expected).max())


def test_a_weight_divides_between_tip_and_posture():
    controller, acting = law("arm7", weight=3.0), 0
    for seed in range(20):
        problem, effort, acts = solved(controller, seed)
        if told(controller)["status"] == qp.OPTIMAL:
            acting += acts
            softness = (1.0 / 3.0 + problem.damping) * problem.thresholds
            np.testing.assert_allclose(effort, problem.effort(problem.weighted(softness)), rtol=0.0, atol=1e-5)
    assert acting > 5


@pytest.mark.parametrize("name", few(["planar_2r", "arm6"], ("arm6",)))
def test_singular_positions_are_the_damped_program(name):
    """A stretched arm, at which the tip cannot follow: the tick is daqp's, and it is finite."""
    robot, controller = ROBOTS[name], law(name)
    for turn in (0.0, 1e-9, 1e-3):
        state = State(0.0, 0.002, np.full(robot.n, turn), np.zeros(robot.n))
        reference = SOURCES[TipReference](robot, state.q).sample(0.0)
        reference = reference._replace(position=reference.position - 0.05)
        controller.activate(state)
        effort, problem = controller.update(state, reference), Problem(controller, state, reference, state.q)
        assert problem.damping > 0.0
        expected = problem.effort(problem.weighted((1e-6 + problem.damping) * problem.thresholds))
        np.testing.assert_allclose(effort, expected, rtol=0.0, atol=1e-5 * np.abs(expected).max())


def fast_line(robot, q, size, duration):
    start = SOURCES[TipReference](robot, q).sample(0.0)
    return TipTrajectory.line(start, 0.0, duration, start.position + size)


def test_limits_hold_where_operational_space_breaks_them():
    """A line that asks for more than the velocity and effort limits."""
    robot, q = ROBOTS["arm6"], np.array(BENT["arm6"])
    motion = fast_line(robot, q, np.array([0.0, 0.5, 0.2]), 0.25)
    plain, found = (rollout(robot, each, motion, 1.5, q=q) for each in (OperationalSpace(robot), law("arm6")))
    assert not found.note
    share = [(np.abs(each.v) / robot.velocity_limit).max() for each in (plain, found)]
    assert share[0] > 1.02
    assert share[1] < 0.96
    assert (np.abs(found.effort) <= robot.effort_limit).all()
    assert ((robot.position_lower <= found.q) & (found.q <= robot.position_upper)).all()
    end = robot.dynamics().forward_kinematics(found.q[-1])[:3, 3]
    np.testing.assert_allclose(end, motion.sample(1.5).position, atol=2e-3)


FINGER = """<link name="finger"><inertial><mass value="0.02"/><inertia ixx="1e-5" iyy="1e-5" izz="1e-5" ixy="0" ixz="0"
iyz="0"/></inertial></link><joint name="finger_joint" type="prismatic"><parent link="tip"/><child link="finger"/>
<axis xyz="0 1 0"/><limit lower="0" upper="0.04" effort="20" velocity="0.2"/><dynamics damping="0.3"/></joint>
</robot>"""


def test_joints_beside_the_chain_keep_their_limits_too():
    """A gripper that is to close at once, on an arm that moves."""
    text = robot_file("planar_2r").read_text(encoding="utf-8").replace("</robot>", FINGER)
    robot = Robot.from_urdf_text(text, tip_link="tip").with_timing(1e-3)
    q = np.array([*BENT["planar_2r"], 0.005])
    start = SOURCES[TipReference](robot, q).sample(0.0)
    closed = start._replace(position=start.position + [0.05, 0.0, 0.05], q=np.array([0.0, 0.0, 0.06]))
    fastest, furthest = [], []
    for each in (OperationalSpace(robot), TaskPriority(robot)):
        done = follow(robot, each, lambda _: closed, 1.0, q)
        fastest.append(np.abs(done.v[:, 2]).max() / robot.velocity_limit[2])
        furthest.append(done.q[:, 2].max())
    assert fastest[0] > 1.1
    assert fastest[1] < 0.951
    assert furthest[1] == pytest.approx(0.04 - 0.0004, abs=1e-4)


def test_limits_that_contradict_each_other_go_before_tasks_and_are_told():
    """Too fast, too near to the position limit: the joint brakes with all its effort, whatever the tip should do."""
    robot, controller = ROBOTS["arm6"], law("arm6")
    q = np.array(BENT["arm6"])
    q[1] = robot.position_upper[1] - controller.parameters.safety_margin[1] - 1e-3
    v = np.zeros(6)
    v[1] = robot.velocity_limit[1]
    state, reference = State(0.0, 0.002, q, v), SOURCES[TipReference](robot, q).sample(0.0)
    controller.activate(state)
    effort = controller.update(state, reference._replace(twist=robot.dynamics().jacobian(q) @ v))
    assert told(controller)["status"] == qp.INFEASIBLE
    assert told(controller)[f"{robot.joint_names[1]}.motion.slack"] > 1.0
    assert effort[1] == pytest.approx(-robot.effort_limit[1])
    assert (np.abs(effort) <= robot.effort_limit).all()


def pressed(controller, slide=0.0, friction=0.0, duration=1.5):
    """Normal force, and where along the surface the tip is, for a goal 0.1 m behind the surface and beside it."""
    robot, q, rest = ROBOTS["planar_2r"], np.array(BENT["planar_2r"]), np.zeros(2)
    start = SOURCES[TipReference](robot, q).sample(0.0)
    goal = start._replace(position=start.position + [slide, 0.0, -0.1])
    floor = Plane("floor", Material(WALL, 1.0, friction), np.eye(3), start.position)
    plant = Plant(robot, 1e-3, q, world=World((floor,), (ContactPoint(robot.tip_link, np.zeros(3), 0.0),)))
    controller.activate(State(0.0, 0.0, plant.q, plant.v))
    normal, along = [], []
    for tick in range(round(duration / 1e-3)):
        effort = controller.update(State(plant.time, 1e-3 if tick else 0.0, plant.q, plant.v), goal)
        plant.advance(Drive(effort, rest, rest))
        normal.append(plant.contact_forces[0, 2])
        along.append(robot.dynamics().forward_kinematics(plant.q)[0, 3] - start.position[0])
    return np.array(normal), np.array(along)


def plane(robot, q):
    return f"0 0 2 {2.0 * robot.dynamics().forward_kinematics(np.array(q))[2, 3]}"


def test_the_normal_force_on_a_surface_has_a_bound():
    robot = ROBOTS["planar_2r"]
    surface = plane(robot, BENT["planar_2r"])
    free, _ = pressed(OperationalSpace(robot))
    bounded, _ = pressed(TaskPriority(robot, TaskPriorityParameters(contact_plane=surface, contact_force=8.0)))
    assert free[-200:].min() > 16.0
    np.testing.assert_allclose(bounded[-200:], 8.0, atol=0.2)
    pushing, _ = pressed(TaskPriority(robot, TaskPriorityParameters(tip_force=5.0)))
    np.testing.assert_allclose(pushing[-200:], 5.0, atol=0.2)


@pytest.mark.parametrize("distance, bounded", few([(0.004, True), (0.006, False), (0.3, False)], 2))
def test_the_force_is_free_away_from_the_surface(distance, bounded):
    robot, q = ROBOTS["planar_2r"], np.array(BENT["planar_2r"])
    height = robot.dynamics().forward_kinematics(q)[2, 3]
    goal = SOURCES[TipReference](robot, q).sample(0.0)
    state, goal = State(0.0, 0.002, q, np.zeros(2)), goal._replace(position=goal.position - [0.0, 0.0, 0.1])
    efforts = []
    for own in ({}, {"contact_plane": f"0 0 1 {height - distance}", "contact_distance": 0.005}):
        controller = TaskPriority(robot, TaskPriorityParameters(**own))
        controller.activate(state)
        efforts.append(controller.update(state, goal))
    assert (told(controller)["contact.normal"] != 0.0) == bounded
    assert np.allclose(*efforts, rtol=0.0, atol=1e-6) != bounded


def test_in_the_cone_of_friction_the_tip_does_not_slip():
    robot = ROBOTS["planar_2r"]
    own = {"contact_plane": plane(robot, BENT["planar_2r"]), "contact_force": 8.0}
    slipped, held = (pressed(TaskPriority(robot, TaskPriorityParameters(**own, contact_friction=coefficient)),
                             slide=0.05, friction=0.5)[1] for coefficient in (0.0, 0.45))
    assert slipped[-1] > 0.02
    assert np.abs(held).max() < 5e-3                       # until the wall, which is soft, bears the force
    assert np.ptp(held[500:]) < 3e-4


def test_the_tip_leaves_the_surface_where_its_reference_does():
    robot, q = ROBOTS["planar_2r"], np.array(BENT["planar_2r"])
    controller = TaskPriority(robot, TaskPriorityParameters(contact_plane=plane(robot, q), contact_friction=0.4))
    goal = SOURCES[TipReference](robot, q).sample(0.0)
    goal = goal._replace(position=goal.position + [0.0, 0.0, 0.05])
    motion = follow(robot, controller, lambda _: goal, 1.0, q)
    np.testing.assert_allclose(robot.dynamics().forward_kinematics(motion.q[-1])[:3, 3], goal.position, atol=1e-3)


@pytest.mark.parametrize("own, text", [
    ({"axes": "x; "}, "axes: expected some of .*, received 'x; '"),
    ({"axes": "x; x"}, "axes: expected some of .*, received 'x; x'"),
    ({"axes": "x; w"}, "axes: expected some of .*, received 'x; w'"),
    ({"axes": "x; z", "contact_plane": "0 1 0 0"}, "contact_plane: expected a normal along the axes 'x; z'"),
    ({"contact_plane": "0 0 1"}, "contact_plane: expected 'nx ny nz d'"),
    ({"contact_plane": "0 0 1 0; 1 0 0 0"}, "contact_plane: expected one plane, received 2"),
    ({"axes": "ry", "tip_force": 5.0}, "tip_force: expected a translation among the axes, received 'ry'"),
    ({"weight": 0.0}, "weight")])
def test_wrong_parameters_are_one_line(own, text):
    with pytest.raises(InputError, match=text) as caught:
        TaskPriority(ROBOTS["planar_2r"], TaskPriorityParameters(**own))
    assert "\n" not in str(caught.value)


def test_it_is_exported_and_pickled_and_names_its_memory():
    controller = TaskPriority(ROBOTS["planar_2r"], TaskPriorityParameters(
        axes="x; z", tip_force=9.0, contact_plane="0 0 1 -5", contact_friction=0.3, safety_planes="0 0 1 -6"))
    assert "qp_solve_program" in law_source(controller, "priority").source
    assert pickle.loads(pickle.dumps(controller.parameters)).levels == [[0], [1]]
    controller.activate(State(0.0, 0.0, np.array(BENT["planar_2r"]), np.zeros(2)))
    names = controller.memory_names()
    assert len(set(names)) == len(names) == controller.memory_numbers.size
    assert {"level1.contact.normal", "level2.plane0", "level2.tip_force.z", "level1.contact.friction3"} <= set(names)


def test_a_start_beyond_a_plane_is_refused():
    controller = TaskPriority(ROBOTS["planar_2r"], TaskPriorityParameters(safety_planes="0 0 1 5"))
    with pytest.raises(InputError, match="beyond the plane"):
        controller.activate(State(0.0, 0.0, np.zeros(2), np.zeros(2)))
