# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Laws in C against the same laws in Python, tick by tick: efforts, memory, gains."""

import ctypes
import shutil
import subprocess
from dataclasses import replace

import numpy as np
import pytest
from c_libraries import FLAGS, c_library
from shipped import few

from bench.swaps import AIM, PERIOD, Rig, wrong
from robodyn_ros import CompileError, InputError, Robot
from robodyn_ros.actuation.configuration import HardwareSettings
from robodyn_ros.actuation.joint_actuators import JointActuators
from robodyn_ros.actuation.transmission import Transmission
from robodyn_ros.commands.command_line import main
from robodyn_ros.compile.records import array_shapes
from robodyn_ros.control import HOLD, INTERPOLATE, JointReference, Parameters, Sampled, UpdateRate
from robodyn_ros.control.contract.compiled_law import PackedParameters
from robodyn_ros.control.contract.controller import Controller, Law
from robodyn_ros.control.contract.state import State
from robodyn_ros.control.laws.elastic_joint_pd import ElasticJointPD
from robodyn_ros.control.laws.policy import PolicyParameters
from robodyn_ros.control.optimisation import qp
from robodyn_ros.control.plugins.plugin import Plugin
from robodyn_ros.control.plugins.registry import make_controller
from robodyn_ros.control.references.tip_reference import TipReference
from robodyn_ros.control.runtime.bumpless_transfer import SWAP_TIME, BumplessTransfer
from robodyn_ros.control.runtime.control_loop import ControlLoop
from robodyn_ros.control.runtime.measurement import Measurement
from robodyn_ros.control.runtime.requests import Follow, Swap
from robodyn_ros.description.resources import robot_file
from robodyn_ros.simulation.commands import Drive
from robodyn_ros.simulation.plant import Plant
from robodyn_ros.simulation.rollout import rollout
from robodyn_ros.simulation.standard_motion import excursion, tip_references
from robodyn_ros.toolbox.export.c_law import law_source, settable
from robodyn_ros.toolbox.export.c_source import write_new

SOME = ("computed_torque", "pid", "operational_space")

needs_compiler = pytest.mark.skipif(not shutil.which("gcc"), reason="no C compiler: apt-get install gcc")


class InC:
    """A law in C with the struct that it works on."""

    def __init__(self, law, name):
        self.law, robot = law, law.robot
        self.prefix = f"{robot.name}_{name}"
        self.library = c_library(law_source(law, name).files)
        self.p = PackedParameters(law.parameters).values.size
        self.own = np.full(max(self.p, 1) + 4096, 7.0)    # the struct: parameters, then memory; and what lies behind

    def _call(self, function, *arrays):
        pointers = [array.ctypes.data_as(ctypes.POINTER(ctypes.c_double)) for array in (self.own, *arrays)]
        return getattr(self.library, f"{self.prefix}_{function}")(*pointers)

    def init(self, state):
        return self._call("init", _flat(state))

    def tick(self, state, reference):
        effort = np.zeros(self.law.robot.n)
        given = [] if reference is None else [np.concatenate([np.ravel(part) for part in reference])]
        self.refused = self._call("tick", _flat(state), *given, effort) != 0
        return effort

    def transfer(self, effort, duration):
        function, pointer = getattr(self.library, f"{self.prefix}_transfer"), ctypes.POINTER(ctypes.c_double)
        function.argtypes = [pointer, pointer, ctypes.c_double]
        return function(self.own.ctypes.data_as(pointer), np.array(effort).ctypes.data_as(pointer), duration)

    def set_gain(self, index, value):
        function = getattr(self.library, f"{self.prefix}_set_gain")
        function.argtypes = [ctypes.POINTER(ctypes.c_double), ctypes.c_int, ctypes.c_double]
        return function(self.own.ctypes.data_as(ctypes.POINTER(ctypes.c_double)), index, value)


def _flat(state):
    return np.concatenate([[state.time, state.period], state.q, state.v, state.wrench_tip, state.motor_q, state.motor_v,
                           state.joint_torque])


def references(law, ticks):
    """References of the test motion of the robot, at each tick."""
    motion, robot = excursion(law.robot), law.robot
    if law.follows is None:
        return [None] * len(ticks)
    if law.follows.__name__ == "JointReference":
        return [motion.sample(time) for time in ticks]
    tips = tip_references(robot, motion, np.asarray(ticks))
    if law.follows.__name__ == "TipReference":
        return [type(tips)(*(part[i] for part in tips)) for i in range(len(ticks))]
    shapes = law.follows.shapes(robot.n)
    return [law.follows(**{name: getattr(tips, name)[i] if hasattr(tips, name) else np.full(shape, 0.5)
                           for name, shape in shapes.items()}) for i in range(len(ticks))]


def compare(name, shipped, count=300, parameters=None):
    """Drive both through a motion beside random states; the tick before leaves its memory to the next."""
    robot = Robot.from_urdf(robot_file(shipped))
    law, rng = make_controller(name, robot, parameters), np.random.default_rng(5)
    in_c = InC(law, name)
    ticks = np.linspace(0.0, excursion(robot).end_time, count).tolist()
    wanted = references(law, ticks)
    state = None
    for i, time in enumerate(ticks):
        q = excursion(robot).sample(time).q + rng.normal(0.0, 0.02, robot.n)
        state = State(time, 0.0 if i == 0 else ticks[1], q, rng.normal(0.0, 0.5, robot.n), rng.normal(0.0, 2.0, 6))
        if i == 0:
            law.activate(state)
            in_c.init(state)
        expected, found = law.update(state, wanted[i]), in_c.tick(state, wanted[i])
        scale = max(1.0, np.abs(expected).max())
        np.testing.assert_allclose(found, expected, rtol=0.0, atol=1e-9 * scale, err_msg=f"{name} at tick {i}")
    memory = law.memory_numbers
    np.testing.assert_allclose(in_c.own[max(in_c.p, 1):][:memory.size], memory, rtol=1e-9, atol=1e-9)
    assert (in_c.own[max(in_c.p, 1) + memory.size + 2 * robot.n + 2:] == 7.0).all(), "it wrote beyond its struct"


@needs_compiler
@pytest.mark.parametrize("name", SOME)
def test_a_law_in_c_gives_the_efforts_of_python(name):
    compare(name, "scara")


@needs_compiler
@pytest.mark.parametrize(("name", "error"), [("computed_torque", 1e-12), ("pid+safety", 1e-12),
                                             ("operational_space", 1e-12), ("task_priority", 1e-9)])
def test_a_transfer_in_c_is_that_of_the_loop(name, error):
    """Begun twice, the second time in the middle of the first one. A program with weights of 1e6 has fewer digits."""
    robot = Robot.named("planar_2r")
    law, rng, period = make_controller(name, robot), np.random.default_rng(7), 0.002
    transfer, in_c = BumplessTransfer(robot.effort_limit), InC(law, name.replace("+", "_"))
    ticks, limit = (period * np.arange(60)).tolist(), robot.effort_limit.max()
    for i, wanted in enumerate(references(law, ticks)):
        state = State(ticks[i], period, *rng.normal(0.0, 0.3, (2, robot.n)), np.zeros(6))
        if i == 0:
            law.activate(state)
            assert in_c.init(state) == 0
        if i in (0, 10):
            before, transfer.duration = rng.normal(0.0, 5.0, robot.n), 0.04
            transfer.begin(law, before)
            assert in_c.transfer(before, 0.04) == 0
        expected = law.update(state, transfer.reference(wanted, state) if transfer.under_way else wanted)
        if transfer.under_way:
            expected = transfer.effort(expected, period)
        found = in_c.tick(state, wanted)
        np.testing.assert_allclose(found, expected, rtol=error, atol=error * limit, err_msg=f"tick {i}")
    assert not transfer.under_way
    kept = in_c.own.copy()
    for effort, duration in (([np.nan, 0.0], 0.1), ([1.0, 2.0], np.inf), ([1.0, 2.0], -1.0)):
        assert in_c.transfer(effort, duration) == -1
    np.testing.assert_array_equal(in_c.own, kept)
    in_c.transfer([1.0, 2.0], 0.1)
    in_c.tick(state, wanted)
    kept = in_c.own.copy()
    assert not in_c.tick(state._replace(period=np.nan), wanted).any() and in_c.refused
    np.testing.assert_array_equal(in_c.own, kept)


@needs_compiler
@pytest.mark.parametrize("names", ["pd computed_torque", "computed_torque pid", "task_space_pd operational_space"])
def test_a_swap_of_laws_in_c_is_that_of_the_loop(names):
    """In motion, on a wrong model: the same efforts, and no step."""
    robot, names, at, count = Robot.named("planar_2r"), names.split(), 150, 450
    laws = [Plugin(name, make_controller(name, robot)) for name in names]
    loop = ControlLoop(robot, laws[0], Plugin("damping", make_controller("damping", robot)), 0.5)
    rig = Rig(robot, 1.0, tip=loop.laws.chosen.follows is TipReference)
    plant, rest, limit = Plant(wrong(robot), PERIOD), np.zeros(robot.n), robot.effort_limit
    plant.set_state(rig.start)
    in_c, steps, last = InC(laws[0].controller, names[0]), [], None
    for i in range(count):
        if i == at:
            loop.request(Swap(laws[1]))
            in_c = InC(laws[1].controller, names[1])
            assert in_c.init(last.state) == 0 and in_c.transfer(last.effort, SWAP_TIME.default) == 0
        tick = loop.tick(Measurement(round(1e9 * PERIOD * i) + 1, plant.q, plant.v))
        if i == 0:
            loop.request(Follow(rig.motion(loop), on_arrival=True))
            assert in_c.init(tick.state) == 0
        found = np.clip(in_c.tick(tick.state, tick.reference), -limit, limit)
        np.testing.assert_allclose(found, tick.effort, rtol=1e-12, atol=1e-12 * limit.max(), err_msg=f"tick {i}")
        steps.append(np.abs(tick.effort - last.effort).max() / limit.min() if last else 0.0)
        plant.advance(Drive(tick.effort, rest, rest))
        last = tick
    assert steps[at] < AIM and np.abs(tick.effort).max() > 0.1


@needs_compiler
@pytest.mark.parametrize(("name", "senses"), [
    ("elastic_joint_pd", ("motor_q", "motor_v")),
    pytest.param("torque_feedback", ("motor_q", "motor_v", "joint_torque"), marks=pytest.mark.long),
    pytest.param("elastic_composite", ("motor_v",), marks=pytest.mark.long)])
def test_laws_of_elastic_joints_in_c_take_the_motors_side(name, senses):
    robot = Robot.named("planar_2r")
    joint = {"transmission": {"stiffness": 5000.0, "damping": 3.0, "inertia": 0.2}}
    actuators = HardwareSettings.from_mapping({"joints": dict.fromkeys(robot.joint_names, joint)}).joint_actuators(
        robot.model)
    law, rng = make_controller(name, robot.with_actuators(actuators)), np.random.default_rng(6)
    in_c = InC(law, name)
    text = next(text for file, text in law_source(law, name).files.items() if file.endswith(".h"))
    assert all(f"{field}[2]" in text for field in senses)
    for _ in range(20):
        q, v, motor_q, motor_v, torque, q_d, v_d, a_d = rng.normal(0.0, 0.5, (8, 2))
        sides = {"motor_q": motor_q, "motor_v": motor_v, "joint_torque": torque}
        state = State(0.0, 0.002, q, v, np.zeros(6), **{field: sides[field] for field in senses})
        reference = JointReference(q_d, v_d, a_d)
        in_c.init(state)
        expected = law.update(state._replace(**sides), reference)
        np.testing.assert_allclose(in_c.tick(state, reference), expected, rtol=1e-9, atol=1e-9)


@needs_compiler
@pytest.mark.parametrize("name", ["pid", "adaptive", "computed_torque+safety"])
def test_a_bad_tick_commands_nothing_and_leaves_the_memory(name):
    robot = Robot.named("scara")
    law, rng = make_controller(name, robot), np.random.default_rng(2)
    in_c = InC(law, name.replace("+", "_"))
    good = State(0.0, 0.002, *rng.normal(0.0, 0.1, (2, robot.n)), np.zeros(6))
    reference = JointReference(*rng.normal(0.0, 0.1, (3, robot.n)))
    assert in_c.init(good) == 0
    for _ in range(3):
        in_c.tick(good, reference)
    kept = in_c.own.copy()
    for number in (np.nan, np.inf):
        for state, wanted in ((good._replace(q=good.q + number), reference), (good._replace(period=number), reference),
                              (good._replace(v=np.where(np.arange(robot.n) == 2, number, good.v)), reference),
                              (good, reference._replace(q=reference.q * number))):
            effort = in_c.tick(state, wanted)
            assert np.isfinite(effort).all() and np.isfinite(in_c.own).all(), (number, state)
            if in_c.refused:
                assert not effort.any()
                np.testing.assert_array_equal(in_c.own, kept)
            else:  # the law does not read it, or bounds what comes of it
                in_c.own[:] = kept
        in_c.tick(good._replace(q=good.q + number), reference)
        assert in_c.refused
    assert in_c.init(good._replace(q=good.q * np.nan)) in (0, -1) and np.isfinite(in_c.own).all()


class Limited(Law):
    """Computed torque with the accelerations nearest to those wanted whose efforts are at most 250."""

    follows = JointReference

    def initial_memory(self, state):
        return np.zeros(2 * self.robot.n)

    @staticmethod
    def law(dynamics, parameters, state, reference, memory):
        wanted = reference.a + 40.0 * (reference.v - state.v) + 400.0 * (reference.q - state.q)
        mass, bias = dynamics.mass_matrix(state.q), dynamics.bias(state.q, state.v)
        n = len(wanted)
        found = qp.solve(np.eye(n), -wanted, mass, -250.0 - bias, 250.0 - bias, softness=1e-6, warm=memory)
        return mass @ found.x + bias, found.multipliers


@needs_compiler
@pytest.mark.parametrize("precision", few(["double", "float"], 1))
def test_a_law_with_a_quadratic_program_in_c(precision, tmp_path):
    robot = Robot.named("scara")
    law = Limited(robot)
    code = law_source(law, "limited", precision)
    assert ("solved in double" in code.header) == (precision == "float")
    _, file = write_new(tmp_path / "code", code.files)
    for compiler in filter(shutil.which, ("gcc", "clang")):
        done = subprocess.run([compiler, *FLAGS, "-Wconversion", "-c", str(file), "-o", str(tmp_path / "law.o")],
                              capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
    if precision == "float":
        return
    in_c, rng, limited = InC(law, "limited"), np.random.default_rng(6), 0
    for tick in range(200):
        state = State(0.002 * tick, 0.002, *rng.normal(0.0, 0.05, (2, robot.n)), np.zeros(6))
        if tick == 0:
            law.activate(state)
            in_c.init(state)
        reference = JointReference(*rng.normal(0.0, 0.05, (3, robot.n)))
        expected = law.update(state, reference)
        np.testing.assert_allclose(in_c.tick(state, reference), expected, rtol=0.0, atol=1e-6)
        limited += np.abs(law.memory).max() > 0.0
    assert not law.uncompiled_reason
    assert 10 < limited < 190, limited


@needs_compiler
@pytest.mark.parametrize("kind", few(["GRU", "LSTM", "LayerNormalization and Elu"], 1))
def test_a_policy_in_c_decides_as_in_python(kind, tmp_path):
    """A network that decides at every tenth tick, with its memory in the caller's struct."""
    pytest.importorskip("onnx", reason="onnx is not installed: pip install onnx")
    from onnx_models import dense, recurrent, written

    rng = np.random.default_rng(0)
    if kind in ("GRU", "LSTM"):
        written(tmp_path, recurrent(rng, 24, 5, 6, operator=kind))
        memory = "memory: {h_in: h_out, c_in: c_out}\n" if kind == "LSTM" else "memory: {h_in: h_out}\n"
    else:
        written(tmp_path, dense(rng, [24, 8, 6], "Elu", normal=True))
        memory = ""
    (tmp_path / "policy.yaml").write_text(
        "network: network.onnx\nrate: 50\nbetween: interpolate\nobservations: [q, v, error_q, last_action]\n"
        f"{memory}action: {{default: 0.0, gravity: true}}\n")
    compare("policy", "arm6", 100, PolicyParameters(file=str(tmp_path / "policy.yaml")))


@needs_compiler
@pytest.mark.parametrize("between", [HOLD, INTERPOLATE])
def test_a_slow_part_in_c_is_updated_at_the_ticks_of_python(between):
    """30 Hz do not divide the rate of the controller, so that the gaps between updates are of two lengths."""
    plan, robot = UpdateRate(30.0, between), Robot.from_urdf(robot_file("planar_2r"))

    class Planner(Law[Parameters, JointReference, Sampled]):
        rates = {"plan": plan}

        @staticmethod
        def law(dynamics, parameters, state, reference, memory):
            memory = plan.update(memory, state, lambda: dynamics.gravity(state.q) + state.time)
            return plan.in_force(memory) - state.v, memory

        def initial_memory(self, state):
            return plan.first(np.zeros(2))

    law, motion, period = Planner(robot), excursion(robot), robot.timing.period
    in_c, updates = InC(law, "planner"), []
    for tick in range(200):
        wanted = motion.sample(tick * period)
        state = State(tick * period, period if tick else 0.0, wanted.q, wanted.v)
        if tick == 0:
            law.activate(state)
            in_c.init(state)
        np.testing.assert_allclose(in_c.tick(state, wanted), law.update(state, wanted), rtol=1e-12, atol=1e-12)
        updates.append(law.memory.value[0])
    gaps = np.diff(np.flatnonzero(np.diff(updates)))
    assert set(gaps) == {16, 17}


@needs_compiler
@pytest.mark.parametrize("name", ["computed_torque", "pid"])
def test_a_law_in_c_makes_the_motion_of_a_rollout(name):
    robot = Robot.from_urdf(robot_file("planar_2r"))
    motion, plant = excursion(robot), Plant(robot)
    expected = rollout(robot, name, motion, plant=plant.model)
    in_c, period = InC(make_controller(name, robot), name), robot.timing.period
    plant.set_state(motion.sample(0.0).q)
    none = np.zeros(robot.n)
    for tick, (q, v) in enumerate(zip(expected.q, expected.v, strict=True)):
        np.testing.assert_allclose([plant.q, plant.v], [q, v], rtol=0.0, atol=1e-8, err_msg=f"tick {tick}")
        state = State(tick * period, period if tick else 0.0, plant.q, plant.v)
        if tick == 0:
            in_c.init(state)
        effort = in_c.tick(state, motion.sample(tick * period))
        plant.advance(Drive(np.clip(effort, -robot.effort_limit, robot.effort_limit), none, none),
                      round(period / plant.step))
    assert tick > 100


@needs_compiler
def test_gains_are_set_within_their_ranges_and_derived_ones_are_kept():
    robot = Robot.from_urdf(robot_file("planar_2r"))
    law = make_controller("pd", robot)
    in_c = InC(law, "pd")
    state = State(0.0, 0.0, np.array([0.1, -0.2]), np.zeros(2), np.zeros(6))
    in_c.init(state)
    gains = list(settable(law.parameters, robot, PackedParameters(law.parameters)))
    assert [gain.parameter.name for gain in gains] == [
        f"gains.{joint}.{gain}" for gain in ("p", "d") for joint in robot.joint_names]
    assert in_c.set_gain(0, 123.0) == 0
    reference = excursion(robot).sample(0.0)
    law.parameters = law.parameters.with_flat_values(robot, {gains[0].parameter.name: 123.0})
    np.testing.assert_allclose(in_c.tick(state, reference), law.update(state, reference), rtol=1e-12)
    before = in_c.own.copy()
    for index, value in ((0, -1.0), (0, np.nan), (0, np.inf), (-1, 1.0), (len(gains), 1.0)):
        assert in_c.set_gain(index, value) == -1
    np.testing.assert_array_equal(in_c.own, before)
    osc = make_controller("operational_space", Robot.from_urdf(robot_file("scara")))
    names = [gain.parameter.name for gain in settable(osc.parameters, osc.robot, PackedParameters(osc.parameters))]
    assert "p" in names and "singularity" not in names  # from which thresholds are derived
    assert any("thresholds" in path for path in array_shapes("", PackedParameters(osc.parameters).fixed))


def test_a_law_that_refuses_some_gains_has_settable_ones():
    """Of elastic joints, whose gains have to fit the period; far ones would be refused."""
    robot = Robot.from_urdf(robot_file("planar_2r"))
    robot = robot.with_actuators(replace(JointActuators.ideal_sources(2), transmission=Transmission(
        stiffness=np.array([800.0, 300.0]), source_inertia=np.array([0.1, 0.05]))))
    law = ElasticJointPD(robot)
    gains = list(settable(law.parameters, robot, PackedParameters(law.parameters)))
    assert [gain.parameter.name for gain in gains] == [
        f"gains.{joint}.{gain}" for gain in ("p", "d") for joint in robot.joint_names]


class Branching(Law):
    """A law that decides by a value."""

    @staticmethod
    def law(dynamics, parameters, state, reference):
        """Brake only where the first joint is positive."""
        return -state.v if state.q[0] > 0.0 else state.v


class Uncompiled(Controller):
    """No law."""

    def update(self, state, reference):
        """Nothing."""
        return np.zeros(self.robot.n)


def test_what_cannot_be_exported_is_told_with_its_line(tmp_path, monkeypatch, capsys):
    robot = Robot.from_urdf(robot_file("planar_2r"))
    with pytest.raises(CompileError, match=r"(?s)Write np.where.*test_c_law.py, line \d+: return -state.v if"):
        law_source(Branching(robot), "branching")
    with pytest.raises(InputError, match="expected a Law, .*received Uncompiled"):
        law_source(Uncompiled(robot), "uncompiled")
    monkeypatch.chdir(tmp_path)
    for words, message in ((["pd", "--function", "gravity"], "one of"), ([], "one of"),
                           (["pd", "--set", "gains.joint1.q=1"], "gains.joint1.q"),
                           (["pd", "--set", "p"], "LAW.NAME=VALUE"),
                           (["pd", "--set", "gains.joint1.p=-1"], "received -1"), (["no_such_law"], "no_such_law"),
                           (["pd", "--set", "gains.joint1.p=1", "gains.joint1.p=2"], "'gains.joint1.p' of pd twice"),
                           (["pd", "--period", "1e9"], "up to 1 [s]"), (["pd", "--flash", "nan"], "received nan"),
                           (["--plant", "--step", "1e9"], "from 1e-06 to 0.1 [s]"),
                           (["pd", "--output", "/proc/none"], "cannot write '/proc/none': No such file"),
                           (["pd", "--output", "/dev/null/x"], "cannot write '/dev/null/x': Not a directory")):
        assert main(["export", *words, "--robot", "planar_2r"]) != 0
        error = capsys.readouterr().err
        assert message in error and error.count("\n") == 1, error
    assert not list(tmp_path.iterdir())
    assert main(["export", "pd", "--robot", "planar_2r", "--set", "gains.joint1.p=80", "--output", "c"]) == 0
    assert "{80.0, " in (tmp_path / "c" / "planar_2r_pd.c").read_text()
