# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""The simulated robot in C against the simulated robot in Python, step by step."""

import shutil
from ctypes import POINTER, c_double

import numpy as np
import pytest
from c_libraries import c_library
from shipped import few

from robodyn_ros import InputError, Robot
from robodyn_ros.actuation.configuration import HardwareSettings
from robodyn_ros.actuation.drive_loop import DriveCommand
from robodyn_ros.commands.command_line import main
from robodyn_ros.compile.records import flatten_all, form_of, from_numbers, to_numbers
from robodyn_ros.description.resources import actuators_file, robot_file
from robodyn_ros.simulation.commands import Drive
from robodyn_ros.simulation.integrator import Integrator
from robodyn_ros.simulation.outputs import OUTPUTS
from robodyn_ros.simulation.plant import Plant
from robodyn_ros.simulation.plant_model import PlantModel
from robodyn_ros.toolbox.export import plant_source

needs_compiler = pytest.mark.skipif(not shutil.which("gcc"), reason="no C compiler: apt-get install gcc")


class InC:
    """The struct of a simulated robot in C, as an array of doubles, and what lies behind it."""

    def __init__(self, model):
        rest = model.state(*np.zeros((2, model.n)))
        self.form = form_of(rest)
        self._size = len(to_numbers(self.form, rest, "state"))
        self.n, self.name = model.n, f"{model.model.name}_plant"
        self._library = c_library(plant_source(model).files, "-Wconversion")
        self._numbers = np.full(8192, 7.0)

    def _call(self, function, *arrays):
        getattr(self._library, f"{self.name}_{function}")(
            *(array.ctypes.data_as(POINTER(c_double)) for array in (self._numbers, *arrays)))

    def init(self, q, v):
        self._call("init", q, v)

    def step(self, **command):
        names = ("effort", "voltage", "by_voltage", "damping", "brake", "external", "drives")
        for name, values in command.items():
            first = self._size + names.index(name) * self.n
            self._numbers[first:first + max(self.n, np.size(values))] = np.ravel(values)
        self._call("step")
        assert self._numbers[-1] == 7.0

    def read(self):
        """Outputs at the end of the last step, the last fields of the struct, shape (outputs, n)."""
        self._call("read")
        end = np.flatnonzero(self._numbers != 7.0)[-1] + 1
        return self._numbers[end - len(OUTPUTS) * self.n:end].reshape(-1, self.n)

    @property
    def state(self):
        """Positions, velocities, currents, temperatures, modes, energies, and what else the state has."""
        return from_numbers(self.form, self._numbers[:self._size])


def drive(robot, model, steps=1500, by_voltage=False):
    """Drive both against stops and back, and compare; returns the greatest speeds."""
    options = {"actuators": model.actuators, "friction": model.friction, "integrator": model.integrator}
    plant, in_c, rng = Plant(robot, model.step, **options), InC(model), np.random.default_rng(6)
    in_c.init(plant.q, plant.v)
    n, fastest = robot.n, np.zeros(robot.n)
    scale = np.minimum(robot.effort_limit, 2.0 * np.abs(robot.dynamics().gravity(plant.q)) + 2.0)
    for step in range(steps):
        if step % 100 == 0:
            command = rng.uniform(-1.0, 1.0, n)
            given = plant._drive._replace(effort=np.zeros(n) if by_voltage else command * scale)
            if by_voltage:
                given = given._replace(voltage=12.0 * command, by_voltage=np.ones(n))
        plant.advance(given)
        in_c.step(effort=given.effort, by_voltage=np.full(n, float(by_voltage)),
                  voltage=12.0 * command if by_voltage else np.zeros(n))
        if step % 10 == 0:
            forms = {"state": in_c.form}
            expected = flatten_all(forms, {"state": plant._state}, "Python")
            for path, found in flatten_all(forms, {"state": in_c.state}, "C").items():
                np.testing.assert_allclose(found, expected[path], rtol=1e-6, atol=1e-6, err_msg=f"{path} at {step}")
        if step % 50 == 49:
            np.testing.assert_allclose(in_c.read(), np.array(plant.actuator_state, float), rtol=1e-5, atol=1e-5)
        fastest = np.maximum(fastest, np.abs(plant.v))
    return fastest


@needs_compiler
@pytest.mark.parametrize("integrator", few([Integrator.SEMI_IMPLICIT_EULER, Integrator.RUNGE_KUTTA], 1))
def test_a_robot_with_friction_moves_as_in_python(integrator):
    robot = Robot.from_urdf(robot_file("scara"))
    assert (drive(robot, PlantModel.from_description(robot.model, integrator=integrator)) > 0.02).all()


@needs_compiler
@pytest.mark.parametrize("by_voltage", few([False, True], (True,)))
def test_motors_move_as_in_python(by_voltage):
    robot = Robot.from_urdf(robot_file("planar_2r"))
    settings = HardwareSettings.from_yaml(actuators_file("hardware_dc_motors"))
    model = PlantModel.from_description(robot.model, 0.001, settings.joint_actuators(robot.model),
                                        settings.joint_friction(robot.model))
    drive(robot, model, by_voltage=by_voltage)


@needs_compiler
@pytest.mark.parametrize("integrator", few([Integrator.SEMI_IMPLICIT_EULER, Integrator.RUNGE_KUTTA], 1))
@pytest.mark.parametrize("backlash", few([0.0, 0.002], (0.002,)))
def test_elastic_joints_move_as_in_python(backlash, integrator):
    """Against stops, with motors that begin where the springs bear the links."""
    robot = Robot.from_urdf(robot_file("planar_2r"))
    joint = {"transmission": {"stiffness": 5000.0, "damping": 3.0, "backlash": backlash, "inertia": 0.2}}
    settings = HardwareSettings.from_mapping({"joints": dict.fromkeys(robot.joint_names, joint)})
    model = PlantModel.from_description(robot.model, 0.001, settings.joint_actuators(robot.model),
                                        settings.joint_friction(robot.model), integrator=integrator)
    assert (drive(robot, model) > 1.0).all()


@pytest.mark.long
@needs_compiler
def test_the_shipped_arm_with_elastic_joints_moves_as_in_python():
    robot = Robot.from_urdf(robot_file("arm7"))
    settings = HardwareSettings.from_yaml(actuators_file("hardware_elastic_arm7"))
    model = PlantModel.from_description(robot.model, 0.001, settings.joint_actuators(robot.model),
                                        settings.joint_friction(robot.model))
    assert (drive(robot, model) > 0.1).all()


@needs_compiler
def test_a_motor_with_presliding_behind_a_spring_moves_as_in_python():
    """Beside a rigid joint: current loop, cogging and dry friction at the motor, backlash between it and the link."""
    robot = Robot.from_urdf(robot_file("planar_2r"))
    motor = {"motor": "maxon_re40_148877", "gear_ratio": 50, "gear_static_loss": 0.1,
             "current_loop": {"bandwidth": 300.0, "period": 2.5e-4, "delay": 1},
             "cogging": [{"order": 14, "amplitude": 0.005, "phase": 0.2}]}
    slip = {"model": "maxwell_slip", "coulomb": 0.3, "static": 0.5, "stiffness": 1e4, "elements": 2}
    spring = {"stiffness": 3000.0, "damping": 1.0, "backlash": 0.001}
    settings = HardwareSettings.from_mapping({"joints": {
        robot.joint_names[0]: {"actuator": motor, "friction": slip, "transmission": spring},
        robot.joint_names[1]: {"friction": slip}}})
    model = PlantModel.from_description(robot.model, 0.001, settings.joint_actuators(robot.model),
                                        settings.joint_friction(robot.model))
    assert (drive(robot, model, steps=600) > 0.1).all()


@needs_compiler
def test_drives_that_close_a_loop_move_as_in_python():
    robot = Robot.from_urdf(robot_file("planar_2r"))
    loop = {"kind": "impedance", "max_stiffness": 1e4, "max_damping": 1e3, "delay": 2}
    content = {"joints": {joint: {"drive_loop": loop} for joint in robot.joint_names}}
    actuators = HardwareSettings.from_mapping(content).joint_actuators(robot.model)
    plant = Plant(robot, 1e-3, actuators=actuators)
    in_c, loops = InC(plant.model), DriveCommand(*np.array([[0.4, -0.3], [0.0, 0.1], [300.0, 150.0], [20.0, 9.0]]))
    in_c.init(plant.q, plant.v)
    for _ in range(300):
        plant.advance(Drive(np.array([2.0, -1.0]), *np.zeros((2, 2)), loops=loops))
        in_c.step(effort=np.array([2.0, -1.0]), drives=np.array(loops))
    np.testing.assert_allclose(in_c.state.q, plant.q, rtol=1e-9)
    assert abs(plant.q[0] - 0.4) < 0.2


@needs_compiler
def test_presliding_cogging_and_current_loops_move_as_in_python():
    robot = Robot.from_urdf(robot_file("planar_2r"))
    joint = {"actuator": {"motor": "maxon_re40_148877", "gear_ratio": 50, "gear_static_loss": 0.1,
                          "current_loop": {"bandwidth": 300.0, "period": 2.5e-4, "delay": 1},
                          "cogging": [{"order": 14, "amplitude": 0.005, "phase": 0.2}],
                          "torque_ripple": [{"order": 2, "amplitude": 0.05}]},
             "friction": {"model": "maxwell_slip", "coulomb": 0.3, "static": 0.5, "stiffness": 1e4, "elements": 2}}
    settings = HardwareSettings.from_mapping({"joints": dict.fromkeys(robot.joint_names, joint)})
    model = PlantModel.from_description(robot.model, 0.001, settings.joint_actuators(robot.model),
                                        settings.joint_friction(robot.model))
    assert (drive(robot, model, steps=600) > 0.1).all()


def test_what_is_not_exported_is_refused(tmp_path, monkeypatch, capsys):
    robot = Robot.from_urdf(robot_file("planar_2r"))
    with pytest.raises(InputError, match="expected one with fixed steps, received 'adaptive'"):
        plant_source(PlantModel.from_description(robot.model, integrator="adaptive"))
    monkeypatch.chdir(tmp_path)
    for words, message in ((["pd", "--plant"], "one of"), (["--function", "gravity", "--plant"], "one of"),
                           (["--plant", "--step", "-1"], "-1"),
                           (["--plant", "--flash", "1"], "operations take about"),
                           (["pd", "--flash", "nan"], "--flash"), (["pd", "--flash", "0"], "above 0"),
                           (["--function", "gravity", "--step", "0.01"], "--step")):
        assert main(["export", *words, "--robot", "planar_2r"]) != 0
        error = capsys.readouterr().err
        assert message in error and error.count("\n") == 1, error
    assert not list(tmp_path.iterdir())
    assert main(["export", "--plant", "--robot", "planar_2r", "--actuators", "hardware_dc_motors",
                 "--output", "c"]) == 0
    assert (tmp_path / "c" / "planar_2r_plant.h").exists()
