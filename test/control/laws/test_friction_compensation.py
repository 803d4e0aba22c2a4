# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Friction compensation: its efforts, what it costs, that it does not hunt, and how far laws lag behind with it."""

import pickle
import shutil

import numpy as np
import pytest

from bench.law_in_c import FLAGS, LawInC, accuracy
from robodyn_ros import InputError, PluginError, Robot, rollout
from robodyn_ros.actuation import MaxwellSlip
from robodyn_ros.actuation.configuration import HardwareSettings
from robodyn_ros.actuation.friction import Friction
from robodyn_ros.compile import trace
from robodyn_ros.control import Controller, JointReference, State
from robodyn_ros.control.contract.compiled_law import PackedParameters, law_on_arrays
from robodyn_ros.control.laws.pd import PD
from robodyn_ros.control.plugins.registry import load_controller, make_controller, prefix
from robodyn_ros.control.references.joint_trajectory import JointTrajectory, Points
from robodyn_ros.simulation.plant_model import PlantModel
from robodyn_ros.simulation.rollout import ClosedLoop
from robodyn_ros.simulation.standard_motion import excursion
from robodyn_ros.toolbox.study.loop_description import LoopDescription

JOINT = """<robot name="joint"><link name="base"/><link name="arm">
<inertial><origin xyz="0.3 0 0"/><mass value="3"/><inertia ixx="0.02" iyy="0.02" izz="0.02" ixy="0" ixz="0" iyz="0"/>
</inertial></link><joint name="joint1" type="revolute"><parent link="base"/><child link="arm"/><axis xyz="0 0 1"/>
<limit lower="-3" upper="3" effort="30" velocity="5"/></joint></robot>"""
DRY = {"viscous": 0.1, "coulomb": 0.7, "static": 2.4, "stribeck_velocity": 0.02}
GAINS = {"p": 300.0, "d": 8.0}
PLANAR = Robot.named("planar_2r")


class Python(Controller):
    def update(self, state, reference):
        return np.zeros(self.robot.n)


class Sum(PD):
    """PD without named terms."""

    @staticmethod
    def law(dynamics, parameters, state, reference):
        return PD.law(dynamics, parameters, state, reference).effort


def joint(scale=1.0, kind=Friction, **own):
    """A joint about a vertical axis, whose friction is known times a factor."""
    return Robot.from_urdf_text(JOINT).with_actuators(None, kind(**DRY | own).scaled(scale))


def geared(*couplings):
    """Two joints with gears that lose effort."""
    motor = {"resistance": 1.2, "torque_constant": 0.05, "rotor_inertia": 2e-4, "nominal_voltage": 48.0}
    actuator = {"motor": motor, "gear_efficiency": 0.7, "gear_static_loss": 0.2, "motor_damping": 1e-4,
                "motor_friction": 0.01}
    joints = {name: {"actuator": actuator, "friction": {"coulomb": 0.5, "static": 0.8, "viscous": 0.3}}
              for name in PLANAR.joint_names}
    settings = HardwareSettings.from_mapping({"joints": joints, "couplings": list(couplings)})
    return PLANAR.with_actuators(settings.joint_actuators(PLANAR.model), settings.joint_friction(PLANAR.model))


def wrist():
    """Two joints, one of whose motors drives both of them."""
    return geared({"joints": list(PLANAR.joint_names), "matrix": [[45.0, 0.0], [32.0, 32.0]]})


def by_hand(robot, own, state, reference, effort, viscous):
    """Efforts of the compensation, a joint and a motor after the other."""
    gear, losses, n = robot.actuators.motors.gear, robot.actuators.losses, robot.n
    rows = np.eye(n) if gear.coupling is None else gear.coupling
    e = reference.q - state.q

    def direction(e, v, v_d, k):
        forward = own["feedforward"] * min(1.0, max(-1.0, v_d / 0.01))
        size = min(1.0, max(0.0, abs(e) / own["dead_zone"] - 1.0))
        left = 1.0 / (1.0 + (v / own["fade"]) ** 2)
        push = own["push"] * size * left * np.sign(e)
        both = max(forward, push, key=abs) if forward * push > 0.0 else forward + push
        wave = own["dither"] * np.sin(2.0 * np.pi * 40.0 * state.time + np.pi * (3.0 - np.sqrt(5.0)) * k)
        return both + wave * max(abs(min(1.0, max(-1.0, v_d / 0.01))), size) * left

    level = robot.friction.level(state.v)
    behind = np.array([effort[k] + own["feedforward"] * viscous[k] + level[k] * direction(
        e[k], state.v[k], reference.v[k], k) for k in range(n)])
    at_motors, before = np.linalg.solve(rows.T, behind), np.zeros(n)
    speed = rows @ state.v
    for k in range(n):
        if not robot.actuators.has_gear_friction[k]:
            before[k] = at_motors[k]
            continue
        d = direction(rows[k] @ e, speed[k], rows[k] @ reference.v, k)
        needed = at_motors[k] + d * abs(gear.ratio[k]) * losses.motor_friction[k]
        rise = losses.static_loss[k] * np.exp(-(speed[k] / losses.loss_velocity[k]) ** 2)
        share = 1.0 - losses.efficiency[k] + rise
        before[k] = needed / max(0.25, 1.0 - d * np.sign(needed) * share)
    return rows.T @ before - effort


@pytest.mark.parametrize("dither", [0.0, 0.15])
@pytest.mark.parametrize("make", [joint, wrist, lambda: joint(kind=MaxwellSlip, stiffness=1e4)])
def test_the_efforts_are_those_of_the_formulas(make, dither):
    robot, rng = make(), np.random.default_rng(3)
    own = {"feedforward": 0.9, "push": 0.7, "dead_zone": 2e-3, "fade": 0.1, "dither": dither}
    named = {f"friction_{name}": value for name, value in own.items()}
    alone = PD(robot)
    for name in ("pd+friction", f"{__name__}:Sum+friction"):
        law_class = load_controller(name)
        law = law_class(robot, law_class.Parameters(**named))
        damping = np.diag(robot.friction.viscous) + robot.actuators.motors.gear.joint_matrix(
            robot.actuators.reflected_damping)
        for sample in range(200):
            size = rng.choice([0.0, 0.5, 1.0])
            state = State(0.002 * sample, 0.002, rng.normal(0.0, 1.0, robot.n), size * rng.normal(0.0, 0.1, robot.n))
            beside, v_d, a_d = rng.normal(0.0, 1.0, (3, robot.n))
            reference = JointReference(state.q + 3e-3 * beside, rng.choice([0.0, 0.005, 1.0]) * v_d, a_d)
            effort = alone.update(state, reference)
            expected = by_hand(robot, own, state, reference, effort, damping @ reference.v)
            found = law.update(state, reference)
            np.testing.assert_allclose(found - effort, expected, rtol=1e-9, atol=1e-9)
            np.testing.assert_allclose(law.call_as_written(state, reference)[0], found, rtol=1e-12, atol=1e-12)
        assert not law.uncompiled_reason


def test_its_effort_is_the_term_friction():
    robot = joint()
    for name in ("pd+friction", "computed_torque+friction"):
        run = rollout(robot, name, excursion(robot), terms=True)
        alone = make_controller(name.partition("+")[0], robot)
        state = State(0.5, 0.002, run.q[250], run.v[250])
        reference = excursion(robot).sample(0.5)
        law = make_controller(name, robot)
        assert "friction" in run.terms
        difference = law.update(state, reference) - alone.update(state, reference)
        assert abs(difference[0]) > 0.5
        terms = law.law(robot.dynamics(), law.parameters, state, reference).parts()
        before = alone.law(robot.dynamics(), alone.parameters, state, reference).parts().get("friction", 0.0)
        np.testing.assert_allclose(terms["friction"] - before, difference, atol=1e-12)


def test_a_law_that_compensates_viscous_friction_gets_only_the_dry_part():
    """And what its diagonal lacks where a motor drives two joints."""
    robot = wrist()
    still, moving = np.zeros(2), JointReference(np.zeros(2), np.array([1.0, -1.0]), np.zeros(2))
    state = State(0.0, 0.002, still, moving.v)
    none = {"friction_push": 0.0}
    of_shafts = robot.actuators.motors.gear.joint_matrix(robot.actuators.reflected_damping)
    assert of_shafts[0, 1] > 0.01
    for name in ("computed_torque+friction", "pd+friction"):
        law_class = load_controller(name)
        law = law_class(robot, law_class.Parameters(**none))
        alone = make_controller(name.removesuffix("+friction"), robot)
        effort = alone.update(state, moving)
        damping = np.diag(robot.friction.viscous) + of_shafts
        lacks = damping - np.diag(np.diag(damping)) if name.startswith("computed") else damping
        own = {"feedforward": 1.0, "push": 0.0, "dead_zone": 1.0, "fade": 1.0, "dither": 0.0}
        expected = by_hand(robot, own, state, moving, effort, lacks @ moving.v)
        np.testing.assert_allclose(law.update(state, moving) - effort, expected, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("robot", [PLANAR, joint().ignoring("friction")], ids=["none", "ignored"])
@pytest.mark.parametrize("name", ["pd", "computed_torque", "adaptive"])
def test_without_friction_it_costs_nothing(name, robot):
    tapes, efforts = [], []
    assert not robot.model.damping.any()
    for each in (name, f"{name}+friction"):
        law = make_controller(each, robot)
        tapes.append(trace(*law_on_arrays(law, PackedParameters(law.parameters))))
        run = rollout(robot, each, excursion(robot))
        efforts.append(run.effort)
    assert len(tapes[0]) == len(tapes[1]) and tapes[0].operation_count == tapes[1].operation_count
    np.testing.assert_array_equal(*efforts)


def held(law, plant, goal=0.0, start=0.05, seconds=30.0, **noise):
    """Motion of a law that holds a goal, from rest beside it."""
    loop, rest = ClosedLoop(law, plant), np.zeros(1)
    motion = JointTrajectory(JointReference(np.array([goal]), rest, rest), 0.0,
                             Points.from_arrays([0.1], [[goal]]))
    return loop.run(loop.scenario([motion], seconds, q=[start], **noise))


@pytest.mark.parametrize("less", [1.0, 0.85])
@pytest.mark.parametrize("kind", [Friction, MaxwellSlip])
@pytest.mark.parametrize(("velocity", "gains"), [(0.02, GAINS), (0.1, {"p": 60.0, "d": 3.0})])
@pytest.mark.parametrize("noise", [{}, {"position_noise": 1e-4, "velocity_noise": 0.01, "seed": 1}])
def test_it_never_hunts(less, kind, velocity, gains, noise):
    """For 30 s: also where the friction is less than that of the model, and with dither."""
    more = {"stiffness": 2e4, "damping": 20.0} if kind is MaxwellSlip else {}
    robot = joint(kind=kind, stribeck_velocity=velocity, **more)
    plant = PlantModel.from_description(robot.model.described, friction=robot.friction.scaled(less))
    law_class = load_controller("pd+friction")
    for own in ({}, {"friction_dither": 0.1, "friction_dither_frequency": 20.0}):
        run = held(law_class(robot, law_class.Parameters(**gains, **own)), plant, **noise)
        late = run.time > 5.0
        assert np.ptp(run.q[late]) < 2.5e-4 and abs(run.q[-1, 0]) < 2e-3
        if kind is Friction and not noise and not own:
            assert not run.v[late].any()


def test_a_push_of_more_than_the_friction_would_hunt():
    """So the test above can fail: here the friction is a twentieth of that of the model, in next to no dead zone."""
    robot = joint()
    plant = PlantModel.from_description(robot.model.described, friction=robot.friction.scaled(0.05))
    law_class = load_controller("pd+friction")
    run = held(law_class(robot, law_class.Parameters(p=60.0, d=0.0, friction_dead_zone=1e-5)), plant)
    assert np.abs(run.v[run.time > 25.0]).max() > 0.02


def test_the_push_never_exceeds_the_friction():
    """Nor does it together with dither: friction at the same speed, with the gear under law and push together."""
    robot, rng = geared(), np.random.default_rng(4)
    law_class = load_controller("pd+friction")
    law = law_class(robot, law_class.Parameters(friction_push=0.8, friction_dither=0.15))
    alone = PD(robot)
    for sample in range(300):
        state = State(0.01 * sample, 0.002, np.zeros(2), rng.normal(0.0, 0.1, 2))
        reference = JointReference(rng.normal(0.0, 0.01, 2), np.zeros(2), np.zeros(2))
        effort = law.update(state, reference)
        friction = robot.friction.level(state.v) + robot.actuators.gear_friction(effort, state.v)
        assert (np.abs(effort - alone.update(state, reference)) <= 0.95 * friction + 1e-9).all()


def slow():
    """A motion at 0.05 rad/s for 10 s."""
    times = np.linspace(0.1, 10.0, 199)
    q = np.where(times < 0.5, 0.05 * times**2, 0.05 * (times - 0.25))
    v = np.where(times < 10.0, np.minimum(0.1 * times, 0.05), 0.0)
    return JointTrajectory(JointReference(*np.zeros((3, 1))), 0.0, Points.from_arrays(times, q[:, None], v[:, None]))


def stairs(run):
    """Greatest way between two rests in the last three quarters [degrees]."""
    q, v = run.q[len(run.q) // 4:, 0], np.abs(run.v[len(run.v) // 4:, 0])
    rests = q[v < 1e-9]
    return 0.0 if len(rests) < 2 else float(np.degrees(np.diff(rests).max()))


def test_slow_motions_lose_their_stairs():
    robot, law_class = joint(), load_controller("pd+friction")
    before = rollout(robot, PD(robot, PD.Parameters(**GAINS)), slow())
    after = rollout(robot, law_class(robot, law_class.Parameters(**GAINS)), slow())
    assert stairs(before) > 0.5 and stairs(after) < 0.05
    assert np.abs(before.error).max() > 7e-3 and np.abs(after.error[500:]).max() < 5e-4
    more = PlantModel.from_description(robot.model.described, friction=robot.friction.scaled(1.3))
    worse = rollout(robot, law_class(robot, law_class.Parameters(**GAINS)), slow(), plant=more)
    assert stairs(worse) < 0.05


def test_the_wrist_of_the_tx40_keeps_up():
    robot = Robot.named("tx40").with_actuators("tx40")
    before, after = (rollout(robot, name, excursion(robot)) for name in ("computed_torque", "computed_torque+friction"))
    errors = [np.sqrt((run.error**2).mean(axis=0)) for run in (before, after)]
    assert (errors[0][3:] > 0.1).all() and (errors[1] < 2e-3).all()


@pytest.mark.skipif(not shutil.which("gcc"), reason="no C compiler: apt-get install gcc")
@pytest.mark.parametrize("dither", [0.0, 0.1])
@pytest.mark.parametrize("name", ["pd+friction", "pid+friction", "computed_torque+friction+safety"])
def test_in_c_it_answers_as_in_python(name, dither, tmp_path):
    robot = PLANAR.with_actuators(None, Friction([0.1, 0.2], 0.5, 0.9)) if "safety" in name else wrist()
    law_class = load_controller(name)
    law = law_class(robot, law_class.Parameters(friction_dither=dither))
    in_c = LawInC(law, "friction", tmp_path / "c")
    found = accuracy(law, in_c, in_c.program("gcc", *FLAGS))
    assert found.to_the_bit is (None if "safety" in name else True)
    assert np.quantile(found.efforts, 0.9) < 1e-9 and found.motion < 1e-9


@pytest.mark.parametrize(("own", "message"), [
    ({"friction_push": -0.1}, "friction_push.*0 to 0.95"),
    ({"friction_push": 1.0}, "friction_push"),
    ({"friction_feedforward": np.nan}, "friction_feedforward"),
    ({"friction_dead_zone": 0.0}, "friction_dead_zone"),
    ({"friction_fade": np.inf}, "friction_fade"),
    ({"friction_rise": [0.01, 0.01]}, "friction_rise"),
    ({"friction_dither": 0.3}, "friction_dither of 'joint1': expected at most 0.2"),
    ({"friction_dither": 0.1, "friction_dither_frequency": 130.0}, "at most 125 Hz"),
])
def test_values_that_cannot_be(own, message):
    law_class = load_controller("pd+friction")
    with pytest.raises(InputError, match=message):
        law_class(joint(), law_class.Parameters(**own))


def test_dither_needs_friction():
    law_class = load_controller("pd+friction")
    with pytest.raises(InputError, match="friction_dither of 'joint1': expected 0, as no dry friction"):
        law_class(PLANAR, law_class.Parameters(friction_dither=0.1))


@pytest.mark.parametrize(("name", "message"), [
    (f"{__name__}:Python+friction", "expected a Law for friction compensation"),
    ("operational_space+friction", "follows motions of the joints.*TipReference"),
    ("gravity_compensation+friction", "follows nothing"),
    ("pd+safety+friction", r"\+friction once, and before \+safety"),
    ("pd+friction+friction", r"\+friction once"),
    ("pd+frictin", r"unknown controller 'pd\+frictin'"),
])
def test_what_cannot_be_behind_what(name, message):
    with pytest.raises(PluginError, match=message):
        load_controller(name)


@pytest.mark.parametrize("name", ["elastic_composite+friction", "elastic_joint_pd+safety"])
def test_laws_of_elastic_joints_have_it_too(name):
    robot = Robot.named("arm7").with_actuators("hardware_elastic_arm7")
    alone = make_controller(name.partition("+")[0], robot)
    law = make_controller(name, robot)
    for field in alone.parameters.declarations():
        np.testing.assert_array_equal(getattr(law.parameters, field), getattr(alone.parameters, field))


def test_names():
    assert prefix("pd+friction") == "pd_friction" and prefix("a.b:Law+friction+safety") == "Law_friction_safety"
    assert load_controller("pd+friction") is load_controller("pd+friction")


def test_it_is_described_and_pickled():
    robot = joint()
    law = make_controller("pd+friction+safety", robot)
    again = pickle.loads(pickle.dumps(law.parameters))
    assert type(again) is type(law.parameters)
    np.testing.assert_array_equal(again.friction_push, law.parameters.friction_push)
    loop = ClosedLoop(law)
    description = LoopDescription.from_loop(loop, loop.scenario([excursion(robot)], 0.1))
    assert description.controller.endswith("PD+friction+safety")
    loop = pickle.loads(pickle.dumps(description)).loop
    scenario = loop.scenario([excursion(robot)], 0.3)
    np.testing.assert_array_equal(loop.run(scenario).q, ClosedLoop(law).run(scenario).q)
