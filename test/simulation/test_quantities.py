# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Rollouts whose plants differ, each against a plant rebuilt with the same values, which its program has built in."""

from dataclasses import replace

import numpy as np
import pytest
from shipped import few

from robodyn_ros import InputError, Robot
from robodyn_ros.actuation.actuators import Actuators
from robodyn_ros.actuation.current_loop import CurrentLoops
from robodyn_ros.actuation.dc_motor import DCMotor
from robodyn_ros.actuation.drive_limits import DriveLimits
from robodyn_ros.actuation.drive_losses import DriveLosses
from robodyn_ros.actuation.driver_profile import DriverProfile
from robodyn_ros.actuation.friction import Friction
from robodyn_ros.actuation.gear_train import GearTrain
from robodyn_ros.actuation.harmonics import Harmonics
from robodyn_ros.actuation.joint_actuators import JointActuators
from robodyn_ros.actuation.maxwell_slip import MaxwellSlip
from robodyn_ros.actuation.winding_heat import WindingHeat
from robodyn_ros.control import Controller, JointReference, Law, State
from robodyn_ros.control.laws.adaptive import nominal_parameters
from robodyn_ros.control.plugins.registry import make_controller
from robodyn_ros.control.references.joint_trajectory import JointTrajectory, Points
from robodyn_ros.description.resources import robot_file
from robodyn_ros.simulation.driver import Driver
from robodyn_ros.simulation.model_perturbations import (
    with_gravity,
    with_link_changes,
    with_mass_error,
    with_payload,
)
from robodyn_ros.simulation.mujoco_plant import MujocoPlant
from robodyn_ros.simulation.plant import default_position
from robodyn_ros.simulation.plant_model import PlantModel
from robodyn_ros.simulation.quantities import HARMONICS, LOOP_BANDWIDTH, LOOP_GAINS, QUANTITIES, varied_plant
from robodyn_ros.simulation.rollout import ClosedLoop, rollout, rollout_scores
from robodyn_ros.simulation.sensing import Sensing, Sensors

DURATION = 0.2
ROBOT = Robot.from_urdf(robot_file("scara"))
N = ROBOT.n


def motion(robot):
    """All joints to a place nearby."""
    q, rest = default_position(robot), np.zeros(robot.n)
    return JointTrajectory(JointReference(q, rest, rest), 0.0, Points.from_arrays([DURATION], [q + 0.1]))


def plant_of(robot, **options):
    return PlantModel.from_description(robot.model, **options)


def loop_of(plant, varied=(), law="pd"):
    return ClosedLoop(make_controller(law, ROBOT), plant, varied=varied)


def scores(loop, **given):
    return loop.scores(loop.scenario([motion(ROBOT)]), **given)


def numbers(name, plant, count, seed=0):
    """Values within the range of a quantity, different from the plant's."""
    random, quantity = np.random.default_rng(seed), QUANTITIES[name]
    shape = (count, *quantity.shape(plant))
    if name in ("gear.efficiency", "motor.torque_ripple"):
        return random.uniform(0.6, 1.0, shape)
    if name == "friction.stiffness":
        return 1e4 * random.uniform(0.5, 2.0, shape)
    if name in ("gear.static_loss", LOOP_BANDWIDTH):
        return random.uniform(0.05, 0.2, shape) * (1e3 if name == LOOP_BANDWIDTH else 1.0)
    if name.startswith("motor.derating"):
        return np.array(26.0 if name.endswith("start") else 30.0) + random.uniform(-1.0, 1.0, shape)
    if name in ("motor.friction", "motor.thermal_time_constant", "friction.stribeck_velocity"):
        return 1e-2 * random.uniform(0.5, 1.5, shape)
    if quantity.only:
        return quantity.nominal_value(plant) * random.uniform(0.7, 1.4, shape)
    if name == "gravity":
        return np.array([0.0, 0.0, -9.81]) + random.uniform(-2.0, 2.0, shape)
    if name == "start.q":
        return default_position(ROBOT) + random.uniform(0.0, 0.1, shape)
    return random.uniform(0.5, 2.0, shape) * (0.05 if name.endswith(("offset", "center_of_mass")) else 1.0)


def assert_same_bits(ours, theirs, index):
    """Samples of one program against a program with the values built in."""
    for name, mine in ours._asdict().items():
        np.testing.assert_array_equal(mine[index], getattr(theirs, name), err_msg=name)


def rebuilt(plant, values):
    """The plant made anew by the public functions of payload, masses and friction."""
    model, friction = plant.model, plant.friction
    ones, zeros = np.ones(len(model.joints)), np.zeros((len(model.joints), 3))
    model = with_link_changes(model, values.get("link.mass_scale", ones), values.get("link.inertia_scale", ones),
                              values.get("link.center_offset", zeros))
    if "payload.mass" in values:
        model = with_payload(model, values["payload.mass"], values.get("payload.center_of_mass", np.zeros(3)))
    coulomb = values.get("friction.coulomb", friction.coulomb)
    static = values.get("friction.static", coulomb + friction.static - friction.coulomb)
    bends = {"stiffness": np.where(np.isfinite(friction.stiffness), values.get("friction.stiffness", 1.0), np.inf),
             "damping": values.get("friction.damping", friction.damping)} if isinstance(friction, MaxwellSlip) else {}
    friction = replace(friction, viscous=values.get("friction.viscous", friction.viscous), coulomb=coulomb,
                       static=static, stribeck_velocity=values.get("friction.stribeck_velocity",
                                                                   friction.stribeck_velocity), **bends)
    model = with_gravity(model, values.get("gravity", model.gravity))
    own = plant.actuators
    motor, gear = own.motors.motor, own.motors.gear
    constant = values.get("motor.torque_constant", motor.torque_constant)
    motor = DCMotor(values.get("motor.resistance", motor.resistance), constant,
                    values.get("motor.rotor_inertia", motor.rotor_inertia), motor.inductance,
                    constant * (motor.back_emf_constant / motor.torque_constant))
    loops = own.current_loops
    if "motor.current_loop_bandwidth" in values:
        loops = loops.with_bandwidth(values["motor.current_loop_bandwidth"], own.motors.motor)
    loops = replace(loops, **{name.removeprefix("motor.current_loop_"): values[name][loops.joints]
                              for name in LOOP_GAINS if name in values})
    warmth = {name.removeprefix("motor."): np.where(getattr(own, QUANTITIES[name].only), values[name], getattr(
        own.winding, name.removeprefix("motor."))) for name in WARMTH if name in values}
    own = replace(own, winding=replace(own.winding, **warmth))
    actuators = JointActuators(Actuators(motor, GearTrain(values.get("gear.ratio", gear.ratio))), own.is_motor,
                               winding=own.winding, losses=DriveLosses(
                                   efficiency=values.get("gear.efficiency", own.losses.efficiency),
                                   motor_damping=values.get("motor.damping", own.losses.motor_damping),
                                   motor_friction=values.get("motor.friction", own.losses.motor_friction),
                                   loss_velocity=values.get("gear.loss_velocity", own.losses.loss_velocity),
                                   static_loss=values.get("gear.static_loss", own.losses.static_loss)),
                               limits=DriveLimits(**{
                                   name: values.get(f"motor.{name}", getattr(own.limits, name))
                                   for name in ("voltage_limit", "current_limit", "torque_limit")}),
                               current_loops=loops,
                               cogging=own.cogging.scaled(values.get("motor.cogging", np.ones(plant.n))),
                               torque_ripple=own.torque_ripple.scaled(
                                   values.get("motor.torque_ripple", np.ones(plant.n))))
    return replace(plant, model=model, friction=friction.scaled(values.get("friction.scale", 1.0)),
                   actuators=actuators)


RUBBING = plant_of(ROBOT, friction=Friction(np.full(N, 0.5), np.full(N, 0.3), np.full(N, 0.4)))


def driven(**options):
    """A plant with motors at all joints but the last one, which has an ideal source."""
    motor = DCMotor(np.full(N, 0.8), np.full(N, 0.1), np.full(N, 2e-5), np.array([1e-3, 0.0, 1e-3, 0.0]))
    return plant_of(ROBOT, actuators=JointActuators(Actuators(motor, GearTrain(np.array([80.0, -60.0, 200.0, 50.0]))),
                                                    is_motor=np.array([1, 1, 1, 0]) > 0,
                                                    **{"losses": DriveLosses(motor_damping=1e-6)} | options))


BENDING = plant_of(ROBOT, friction=MaxwellSlip(np.full(N, 0.5), 0.3, 0.4, 0.01, np.array([1e5, np.inf, 1e4, 1e3]),
                                               10.0))
PERIODIC = {name: Harmonics(*(np.full((1, N), figure) for figure in figures)) for name, figures in
            (("cogging", (12.0, 0.01, 0.3)), ("torque_ripple", (6.0, 0.2, 0.1)))}
MOTORS = tuple(name for name, quantity in QUANTITIES.items()
               if quantity.only == "is_motor" and name not in (*HARMONICS, "gear.loss_velocity"))
WARMTH = tuple(name for name, quantity in QUANTITIES.items() if quantity.only in ("has_heat", "derates"))
LIMITS = DriveLimits(voltage_limit=24.0, current_limit=8.0)
REGULATED = CurrentLoops(np.array([0, 2]), *np.array([[0.5, 0.4], [300.0, 200.0], [2.5e-4, 5e-4]]), np.array([1, 0]))
HOT = driven(limits=LIMITS, winding=WindingHeat(
    np.array([9.0, 5.0, 0.0, 0.0]), 0.02, resistance_coefficient=0.004, torque_constant_coefficient=-0.001,
    derating_start=np.array([26.0, np.inf, np.inf, np.inf]), derating_end=np.array([30.0, *[np.inf] * 3])))
LIMITED = driven(limits=DriveLimits(24.0, 8.0, torque_limit=np.array([2.0, 2.0, np.inf, np.inf])))


@pytest.mark.parametrize(("varied", "plant"), [
    pytest.param(("gravity",), plant_of(ROBOT), marks=pytest.mark.long),
    pytest.param(MOTORS, LIMITED, marks=pytest.mark.long),
    (MOTORS, driven(limits=LIMITS)),
    (("motor.torque_constant", "motor.resistance", "gear.ratio"), driven()),
    (("gear.efficiency",), driven()),
    ((*MOTORS, *sorted(HARMONICS)), driven(limits=LIMITS, **PERIODIC)),
    ((*MOTORS, LOOP_BANDWIDTH), driven(limits=LIMITS, current_loops=REGULATED)),
    ((*WARMTH, "gear.static_loss", "gear.loss_velocity"), HOT),
    (LOOP_GAINS, driven(limits=DriveLimits(24.0), current_loops=REGULATED)),
    (("friction.stiffness", "friction.damping", "friction.coulomb", "friction.stribeck_velocity"), BENDING),
    ((*MOTORS, "gravity", "payload.mass", "friction.scale"), replace(LIMITED, friction=RUBBING.friction)),
    (("motor.torque_constant", "gear.ratio", "payload.mass", "gravity", "friction.scale"),
     replace(LIMITED, integrator="runge_kutta", friction=RUBBING.friction, step=5e-4)),
    (("payload.mass",), plant_of(ROBOT)),
    (("payload.mass", "payload.center_of_mass", "link.mass_scale", "link.inertia_scale", "link.center_offset"),
     plant_of(ROBOT)),
    (("friction.viscous", "friction.scale"), plant_of(ROBOT)),
    (("friction.coulomb",), RUBBING),
    (("friction.scale", "start.q", "start.v"), RUBBING),
], ids=lambda given: " ".join(given) if isinstance(given, tuple) else "")
def test_a_sample_is_the_plant_rebuilt_with_its_values(varied, plant):
    samples = {name: numbers(name, plant, 3) for name in varied}
    ours = scores(loop_of(plant, varied), samples=samples)
    start = {name.removeprefix("start."): samples.pop(name)[1] for name in list(samples) if name.startswith("start.")}
    other = loop_of(rebuilt(plant, {name: values[1] for name, values in samples.items()}))
    expected = other.run(other.scenario([motion(ROBOT)], **start)).score
    if "motor.thermal_time_constant" in varied:  # NumPy's exponential of a constant, and the compiled one
        for mine, theirs in zip(ours, expected, strict=True):
            np.testing.assert_allclose(mine[1], theirs, rtol=1e-11)
    else:
        assert_same_bits(ours, expected, 1)
    assert np.abs(ours.q[0] - ours.q[1]).max() > 1e-6


@pytest.mark.parametrize(("name", "plant"), [
    *((name, HOT) for name in (*WARMTH, "motor.rotor_inertia", "motor.damping", "motor.friction",
                               "motor.torque_limit")),
    ("gear.loss_velocity", driven(losses=DriveLosses(static_loss=0.3, motor_damping=1e-6))),
    ("friction.stribeck_velocity", RUBBING),
    *((name, driven(limits=DriveLimits(24.0), current_loops=REGULATED)) for name in (LOOP_BANDWIDTH, *LOOP_GAINS))])
def test_each_figure_of_a_drive_alone_changes_the_motion(name, plant):
    given = numbers(name, plant, 2)
    if name == "motor.torque_limit":
        given = np.array([[0.05] * N, [0.1] * N])
    ours = scores(loop_of(plant, (name,)), samples={name: given})
    assert np.abs(ours.q[0] - ours.q[1]).max() > 1e-9


def test_breakaway_friction_is_that_of_the_sample():
    plant = plant_of(ROBOT, friction=Friction(np.zeros(N), np.full(N, 0.1)))
    samples = {"friction.coulomb": numbers("friction.coulomb", plant, 2)}
    samples["friction.static"] = samples["friction.coulomb"] * 1.5
    ours = scores(loop_of(plant, tuple(samples)), samples=samples)
    expected = scores(loop_of(rebuilt(plant, {name: values[0] for name, values in samples.items()})),
                      parameters=[loop_of(plant).controller.parameters])
    assert_same_bits(ours, type(expected)(*(array[0] for array in expected)), 0)


def test_a_sample_has_the_same_bits_alone_in_any_batch_and_with_any_threads():
    plant, varied = RUBBING, ("payload.mass", "link.mass_scale", "friction.scale", "start.v")
    loop = loop_of(plant, varied, law="pid")
    samples = {name: numbers(name, plant, 21) for name in varied}
    together = scores(loop, samples=samples)
    for given, threads in ((slice(0, 21), 2), (slice(3, 14), 1), (slice(20, 21), 1)):
        part = scores(loop, samples={name: values[given] for name, values in samples.items()}, threads=threads)
        for ours, theirs in zip(part, together, strict=True):
            np.testing.assert_array_equal(ours, theirs[given])
    scenario = loop.scenario([motion(ROBOT)])
    alone = loop.run(scenario, sample={name: values[5] for name, values in samples.items()}).score
    for ours, theirs in zip(alone, together, strict=True):
        np.testing.assert_array_equal(ours, theirs[5])


def test_what_is_not_given_is_that_of_the_plant():
    plant = rebuilt(RUBBING, {"payload.mass": 1.0})
    loop = loop_of(plant, ("payload.mass", "friction.viscous", "friction.scale", "link.mass_scale"))
    ours, folded = loop.run(loop.scenario([motion(ROBOT)])), loop_of(plant)
    expected = folded.run(folded.scenario([motion(ROBOT)]))
    np.testing.assert_allclose(ours.q, expected.q, rtol=1e-10, atol=1e-12)


def test_masses_scale_like_the_mass_error_of_the_hardware():
    ours = with_link_changes(ROBOT.model, mass_scale=np.full(len(ROBOT.model.joints), 1.2))
    for mine, theirs in zip(ours.joints, with_mass_error(ROBOT.model, 20.0).joints, strict=True):
        np.testing.assert_array_equal(mine.inertia.spatial(), theirs.inertia.spatial())


def test_a_sample_of_sensors_is_what_the_sensors_of_the_hardware_measure():
    """Encoders and delay, tick by tick: the same bits as `Sensors`, which the hardware node has."""
    loop = loop_of(RUBBING, ("sensing.position_resolution", "sensing.delay", "friction.scale"))
    scenario = loop.scenario([motion(ROBOT)])
    resolution = np.array([1e-3, 0.0, 1e-4, 2e-3])
    for delay in (0, 3, 10):
        sample = {"sensing.position_resolution": resolution, "sensing.delay": delay}
        ours = loop.run(scenario, sample=sample)
        sensors, law = Sensors(Sensing(position_resolution=resolution, delay=delay), N, 0.002), loop.controller
        law.activate(State(0.0, 0.0, scenario.q, scenario.v))
        measured = sensors.restart(ours.q[0], ours.v[0])
        for k, (time, period) in enumerate(scenario.clocks):
            if k:
                measured = sensors.measure(ours.q[k], ours.v[k])
            reference = JointReference(*(field[k] for field in scenario.references))
            effort = law.update(State(time, period, *measured), reference)
            limit = ROBOT.model.effort_limit
            np.testing.assert_array_equal(ours.effort[k], np.clip(effort, -limit, limit))


def test_a_sample_of_the_driver_is_the_driver_rebuilt_with_its_values():
    """Delay and steps of the commands, compiled and under a controller in Python; delays that differ in one batch."""
    profile = DriverProfile(name="bus", source="test")
    plant = replace(RUBBING, driver=Driver(profile, ROBOT.model, RUBBING.friction))
    steps, delays = np.array([[0.5, 0.0, 0.25, 1.0], [1.0, 1.0, 0.0, 0.5], np.zeros(N)]), [0.0, 3.0, 7.0]
    samples = {"command.delay": delays, "command.resolution": steps}
    for kind in (Compiled, Interpreted):
        loop = ClosedLoop(kind(ROBOT), plant, varied=tuple(samples))
        ours = scores(loop, samples=samples)
        for place, (delay, step) in enumerate(zip(delays, steps, strict=True)):
            own = Driver(replace(profile, delay=int(delay), effort_resolution=step.tolist()), ROBOT.model,
                         RUBBING.friction)
            other = ClosedLoop(kind(ROBOT), replace(plant, driver=own))
            assert_same_bits(ours, other.run(other.scenario([motion(ROBOT)])).score, place)
        assert len(np.unique(ours.q[:, 0])) == 3


def test_noise_has_the_deviation_of_the_sample():
    """The standard normal numbers are those of the scenario, so that samples differ in nothing but the deviation."""
    noise = np.array([1e-4, 0.0, 1e-5, 1e-4])
    loop, folded = loop_of(RUBBING, ("sensing.position_noise", "payload.mass")), loop_of(RUBBING)
    given = loop.scenario([motion(ROBOT)], velocity_noise=0.02, seed=4)
    expected = folded.run(folded.scenario([motion(ROBOT)], position_noise=noise, velocity_noise=0.02, seed=4))
    ours = loop.run(given, sample={"sensing.position_noise": noise})
    np.testing.assert_array_equal(ours.q, expected.q)
    quiet = loop.run(given, sample={"sensing.position_noise": np.zeros(N)})
    np.testing.assert_allclose(quiet.q, loop.run(given).q, rtol=0.0, atol=0.0)
    assert np.abs(quiet.effort - ours.effort).max() > 1e-3


@pytest.mark.parametrize("law", few(["computed_torque", "adaptive"], 1))
@pytest.mark.parametrize("start", [(), ("start.q",)], ids=["", "start.q"])
def test_a_wrong_model_is_that_of_the_law_alone(law, start):
    """Of `adaptive`, the estimates that it begins with, and the middle of the box that it keeps them in."""
    varied = ("model.payload.mass", "model.link.mass_scale", "model.link.center_offset", *start)
    values = {name: numbers(name, RUBBING, 3) for name in varied}
    loop = loop_of(RUBBING, varied, law)
    ours = scores(loop, samples=values)
    sample = {name: value[1] for name, value in values.items()}
    own = {name.removeprefix("model."): value for name, value in sample.items() if name not in start}
    wrong = Robot(rebuilt(RUBBING, own).model)
    controller = make_controller(law, wrong)
    estimates = {"nominal": nominal_parameters(wrong)} if law == "adaptive" else {}
    controller.parameters = replace(make_controller(law, ROBOT).parameters, **estimates)
    other = ClosedLoop(controller, RUBBING)
    assert_same_bits(ours, other.run(other.scenario([motion(ROBOT)], q=sample.get("start.q"))).score, 1)
    assert np.abs(ours.q[0] - ours.q[1]).max() > 1e-6
    for alone in (loop.run(loop.scenario([motion(ROBOT)]), sample=sample).score,
                  [array[0] for array in scores(loop, samples={name: value[1:2] for name, value in values.items()})],
                  [array[1] for array in scores(loop, samples=values, threads=2)]):
        for mine, theirs in zip(alone, ours, strict=True):
            np.testing.assert_array_equal(mine, theirs[1])


def test_an_offset_of_the_start_is_from_where_the_motion_begins():
    offset = np.random.default_rng(0).uniform(0.0, 0.02, (3, N))
    loop = loop_of(RUBBING, ("start.q_offset",))
    absolute = {"start.q": default_position(ROBOT) + offset}
    for ours, theirs in zip(scores(loop, samples={"start.q_offset": offset}), scores(loop, samples=absolute),
                            strict=True):
        np.testing.assert_array_equal(ours, theirs)
    alone = loop.run(loop.scenario([motion(ROBOT)]), sample={"start.q_offset": offset[1]})
    np.testing.assert_array_equal(alone.q[0], absolute["start.q"][1])


@pytest.mark.parametrize("name", ["start.q", "start.q_offset"])
def test_a_start_beyond_the_limits_names_the_sample_and_the_joint(name):
    loop, joint = loop_of(RUBBING, (name,)), int(np.isfinite(ROBOT.model.position_upper).argmax())
    starts = np.zeros((3, N))
    starts[2, joint] = 100.0
    with pytest.raises(InputError, match=f"samples of start.q, sample 2: position of joint "
                                         f"'{ROBOT.joint_names[joint]}': expected .*, its limits, received 100"):
        scores(loop, samples={name: starts})


def test_searched_gains_keep_the_wrong_model_of_their_sample():
    loop, masses = loop_of(RUBBING, ("model.payload.mass",), "adaptive"), np.array([1.0, 2.0])
    gains = [replace(loop.controller.parameters, d=factor * loop.controller.parameters.d) for factor in (0.5, 2.0)]
    ours = scores(loop, parameters=gains, samples={"model.payload.mass": masses})
    for i in range(2):
        alone = loop.run(loop.scenario([motion(ROBOT)]), gains[i], sample={"model.payload.mass": masses[i]}).score
        assert_same_bits(ours, alone, i)


def test_samples_and_parameters_differ_together():
    loop = loop_of(RUBBING, ("friction.scale",))
    gains = np.array([loop.packed(), 0.5 * loop.packed()])
    scale = np.array([1.0, 2.0])
    ours = scores(loop, parameters=gains, samples={"friction.scale": scale})
    for i in range(2):
        alone = scores(loop, parameters=gains[i], samples={"friction.scale": scale[i:i + 1]})
        np.testing.assert_array_equal(ours.q[i], alone.q[0])


class Compiled(Law):
    """PD with given gains."""

    @staticmethod
    def law(dynamics, parameters, state, reference):
        """As in `Law`."""
        return 50.0 * (reference.q - state.q) - 5.0 * state.v


class Interpreted(Controller):
    """The same law, which cannot be compiled."""

    def update(self, state, reference):
        """As in `Controller`."""
        return Compiled.law(None, None, state, reference)


def test_a_controller_that_is_not_compiled_takes_samples_too():
    varied = ("payload.mass", "friction.scale", "start.q", "sensing.delay", "sensing.velocity_noise")
    samples = {name: numbers(name, RUBBING, 2) for name in varied[:3]}
    samples |= {"sensing.delay": [0.0, 3.0], "sensing.velocity_noise": np.full((2, N), 0.01)}
    loop = ClosedLoop(Interpreted(ROBOT), RUBBING, varied=varied)
    ours = scores(loop, samples=samples)
    compiled = ClosedLoop(Compiled(ROBOT), RUBBING, varied=varied)
    for mine, theirs in zip(ours, scores(compiled, samples=samples), strict=True):
        np.testing.assert_allclose(mine, theirs, rtol=1e-9, atol=1e-12)


def test_the_model_of_a_controller_that_is_not_compiled_cannot_be_replaced():
    loop = ClosedLoop(Interpreted(ROBOT), RUBBING, varied=("model.payload.mass",))
    with pytest.raises(InputError, match=r"varied: model.payload.mass: expected a law that can be .*Interpreted"):
        scores(loop, samples={"model.payload.mass": [1.0]})


@pytest.mark.parametrize(("varied", "message"), [
    (("friction.scale", "sensing.delay"), r"varied: friction.scale: expected no quantities of a robot that Mujoco"),
    (("model.payload.mass",), r"expected a law that can be compiled, .* received PD: .* is stepped by MujocoPlant"),
])
def test_quantities_that_an_engine_has_built_in_are_told(varied, message):
    pytest.importorskip("mujoco", reason="MuJoCo is not installed: pip install mujoco")
    with pytest.raises(InputError, match=message):
        ClosedLoop(make_controller("pd", ROBOT), engine=MujocoPlant(ROBOT), varied=varied)


@pytest.mark.parametrize(("varied", "law"), [(("model.payload.mass",), "pd"), (("friction.scale",), "pd")])
def test_a_quantity_without_effect_is_told(varied, law):
    smooth = plant_of(ROBOT, friction=Friction(np.zeros(N), np.zeros(N)))
    with pytest.raises(InputError, match=f"varied: {varied[0]}: no effect on 'scara' under PD"):
        scores(loop_of(smooth, varied, law), samples={varied[0]: [1.0]})


@pytest.mark.parametrize(("samples", "message"), [
    ({"friction.dry": [1.0]}, "unknown quantity 'friction.dry': did you mean"),
    ({"link.mass_scale": np.ones((2, N))}, r"expected quantities that this ClosedLoop varies .*'link.mass_scale'"),
    ({"payload.mass": [[1.0]]}, r"samples of payload.mass: expected shape \(N,\), received shape \(1, 1\)"),
    ({"payload.mass": ["heavy"]}, "samples of payload.mass: expected numbers"),
    ({"payload.mass": [1.0, -2.0]},
     r"samples of payload.mass, sample 1: expected a finite number from 0 to 1e.09 \[kg\], received -2"),
    ({"payload.mass": [1.0, np.nan]}, "sample 1: expected .* received nan"),
    ({"payload.mass": [np.inf]}, "sample 0: expected .* received inf"),
    ({"payload.mass": [1.0, 2.0], "friction.scale": [1.0]}, "as many samples of each quantity, received"),
    ({"friction.static": np.full((1, N), 0.1)},
     "samples of friction.static, sample 0, joint .*: expected 0.3 or more, the Coulomb friction, received 0.1"),
    ({"start.q": np.full((3, N), 99.0)}, "position of joint"),
    ({"start.q_offset": np.full((3, N), 99.0)}, "position of joint"),
    ({"start.q": np.zeros((3, N)), "start.q_offset": np.zeros((3, N))}, "in start.q or start.q_offset, received both"),
    ({"sensing.delay": [1.0, 2.5]},
     r"sample 1: expected a whole number from 0 to 64 \[control periods\], received 2.5"),
    ({"gear.ratio": [[1.0, 2.0, 0.0, 1.0]]}, "sample 0, joint joint3: expected .*, other than 0, received 0"),
    ({"gear.efficiency": np.full((1, N), 1.1)}, "expected a finite number above 0 and up to 1, received 1.1"),
    ({}, "expected an axis of samples, of equal length, in parameters, positions or samples, received none"),
])
def test_bad_samples_are_told(samples, message):
    loop = loop_of(replace(LIMITED, friction=RUBBING.friction), ("payload.mass", "friction.scale", "friction.static",
                                                                 "sensing.delay", "gear.ratio", "gear.efficiency"))
    with pytest.raises(InputError, match=message):
        scores(loop, samples=samples)


@pytest.mark.parametrize(("varied", "message"), [
    (("payload.masss",), "unknown quantity 'payload.masss': did you mean 'payload.mass'"),
    (("payload.mass", "payload.mass"), "expected each quantity once, received 'payload.mass' twice"),
    (("payload.center_of_mass",), "expected 'payload.mass' beside 'payload.center_of_mass'"),
    ("payload.mass", "expected a list of quantities, received 'payload.mass'"),
    (("gear.ratio",), "'gear.ratio' has no effect, because 'scara' has no motors"),
    (("motor.derating_start",), "'motor.derating_start' has no effect, because 'scara' has no motors"),
    (("command.delay",), "'command.delay' has no effect, because no driver is between law and drives"),
])
def test_quantities_that_cannot_be_varied_are_told(varied, message):
    with pytest.raises(InputError, match=message):
        loop_of(RUBBING, varied)


@pytest.mark.parametrize(("varied", "plant", "message"), [
    (("motor.thermal_resistance",), LIMITED, "no motor of 'scara' has a thermal model; give one thermal_resistance"),
    (("motor.derating_end",), LIMITED, "no motor of 'scara' has limits that fall with its temperature; give one"),
    (("motor.current_loop_integral",), LIMITED, "no motor of 'scara' has a current loop"),
    ((LOOP_BANDWIDTH, LOOP_GAINS[0]), driven(current_loops=REGULATED), "from which the gains follow, .* received both"),
])
def test_quantities_of_drives_without_effect_are_told(varied, plant, message):
    with pytest.raises(InputError, match=message):
        loop_of(plant, varied)


def test_springs_of_ideal_sources_vary_without_motors():
    own = JointActuators.ideal_sources(N)
    plant = plant_of(ROBOT, actuators=replace(own, transmission=replace(
        own.transmission, stiffness=np.array([1e4, np.inf, np.inf, np.inf]),
        source_inertia=np.array([0.5, 0.0, 0.0, 0.0]))))
    ours = scores(loop_of(plant, ("transmission.stiffness",)), samples={
        "transmission.stiffness": [[2e3, *[np.inf] * 3], [2e4, *[np.inf] * 3]]})
    assert np.abs(ours.q[0] - ours.q[1]).max() > 1e-6
    with pytest.raises(InputError, match="all joints of 'scara' are rigid"):
        loop_of(RUBBING, ("transmission.stiffness",))


class TorqueDamping(Law):
    """Damping of the velocities, and a share of the torques that are measured between motors and links."""

    senses = ("joint_torque",)

    def law(self, dyn, params, state, reference):
        return 0.3 * state.joint_torque - state.v


@pytest.mark.parametrize("compiled", [True, False])
def test_torque_sensors_of_samples_measure_their_own_springs(compiled):
    robot, own = Robot.named("planar_2r"), JointActuators.ideal_sources(2)
    plant = plant_of(robot, actuators=replace(own, transmission=replace(own.transmission,
                                                                        stiffness=np.array([1e3, 2e3]),
                                                                        source_inertia=np.full(2, 0.1))))
    value = np.array([3e2, 9e3])
    ends = []
    for each, varied, sample in ((plant, ("transmission.stiffness",), {"transmission.stiffness": value}),
                                 (varied_plant(plant, {"transmission.stiffness": value}), (), {})):
        loop = ClosedLoop(TorqueDamping(robot), each, varied=varied)
        if not compiled:
            loop._interpreted = loop._interpreted_loop()
        found = loop.run(loop.scenario([], 0.1), sample=sample)
        ends.append(np.concatenate([found.q[-1], found.v[-1]]))
    np.testing.assert_allclose(*ends, rtol=1e-6)


@pytest.mark.parametrize("name", few(["transmission.stiffness", "transmission.backlash", "payload.mass", "gravity"], 1))
def test_springs_of_samples_bear_the_links_from_the_start(name):
    """Each robot begins and moves as one that has the values built in: no spring is deflection up by those of
    another."""
    robot, own = Robot.named("planar_2r"), JointActuators.ideal_sources(2)
    plant = plant_of(robot, actuators=replace(own, transmission=replace(own.transmission,
                                                                        stiffness=np.array([1e3, 2e3]),
                                                                        source_inertia=np.full(2, 0.1),
                                                                        backlash=np.full(2, 1e-3))))
    given = {"transmission.stiffness": [[1e2, 1e3], [1e6, 1e7]], "transmission.backlash": [[0.0, 0.0], [0.1, 0.2]],
             "payload.mass": [0.0, 9.0], "gravity": [[0.0, 0.0, -9.8], [0.0, -50.0, 0.0]]}[name]
    ours = rollout_scores(robot, "damping", {name: given}, duration=0.1, plant=plant)
    for sample, value in enumerate(given):
        built_in = varied_plant(plant, {name: np.asarray(value)})
        alone = rollout_scores(robot, "damping", {"start.v": np.zeros((1, 2))}, duration=0.1, plant=built_in)
        np.testing.assert_allclose(ours.q[sample], alone.q[0], rtol=1e-6, atol=1e-7)
        np.testing.assert_allclose(ours.v[sample], alone.v[0], rtol=1e-5, atol=1e-6)


def test_samples_of_springs_too_fast_for_the_step_are_refused_as_at_load():
    robot, own = Robot.named("planar_2r"), JointActuators.ideal_sources(2)
    plant = plant_of(robot, actuators=replace(own, transmission=replace(
        own.transmission, stiffness=np.array([1e2, np.inf]),
        source_inertia=np.array([0.1, 0.0]))), integrator="runge_kutta")
    given = {"transmission.stiffness": [[2e2, np.inf], [1e8, np.inf]]}
    with pytest.raises(InputError, match=r"^samples, sample 1: integrator runge_kutta: expected steps of at most "
                                         r"8\.\d+e-05 s for the spring of joint 'joint1', which swings at 55.. Hz"):
        rollout_scores(robot, "damping", given, duration=0.01, plant=plant)
    with pytest.raises(InputError, match="which swings at 55.. Hz, received"):
        rollout(robot, "damping", duration=0.01, plant=varied_plant(plant, {
            "transmission.stiffness": np.array(given["transmission.stiffness"][1])}))


def test_limits_that_end_to_fall_before_they_begin_are_told():
    with pytest.raises(InputError, match=r"derating_end, sample 1, joint joint1: expected more than .*, 26, received"):
        scores(loop_of(HOT, ("motor.derating_end",)), samples={"motor.derating_end": [[30.0] * N, [25.0] * N]})
    with pytest.raises(InputError, match=r"rotor_inertia, sample 0, joint .*: expected a finite number above 0"):
        scores(loop_of(HOT, ("motor.rotor_inertia",)), samples={"motor.rotor_inertia": [[0.0] * N]})
