# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Robots as options change them: completed, and with the rotors of an actuator file at massless joints."""

import numpy as np
import pytest
import yaml
from urdf_parts import joint, link, robot

from robodyn_ros import InputError, Robot
from robodyn_ros.actuation.configuration import HardwareSettings
from robodyn_ros.commands.command_line import main
from robodyn_ros.commands.prepared_robot import prepared_robot
from robodyn_ros.commands.simulation_setup import SimulationSettings, set_up
from robodyn_ros.commands.study_file import read_study
from robodyn_ros.simulation.plant import Plant

MOTOR = {"resistance": 1.0, "torque_constant": 0.02, "rotor_inertia": 1e-6, "nominal_voltage": 12.0}
SHAPE = "<collision><geometry><box size='0.1 0.1 0.1'/></geometry></collision>"


@pytest.fixture
def files(tmp_path, monkeypatch):
    """An arm with a massless finger, an arm without inertias, and a file of the motors of both."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    gripper = [joint("finger", "b", "f", "prismatic", limit='<limit lower="0" upper="0.04" velocity="1" effort="20"/>'),
               link("f", ""), joint("other", "b", "g", "prismatic", extra='<mimic joint="finger"/>'), link("g", "")]
    arm = robot(link("a", ""), joint("j", "a", "b"), link("b"), *gripper)
    (tmp_path / "arm.urdf").write_text(arm)
    (tmp_path / "bare.urdf").write_text(robot(link("a", ""), joint("j", "a", "b"), link("b", SHAPE)))
    actuators = {"joints": {"j": {"actuator": {"motor": MOTOR, "gear_ratio": 100.0}},
                            "finger": {"actuator": {"motor": MOTOR, "gear_ratio": 600.0}}}}
    (tmp_path / "motors.yaml").write_text(yaml.safe_dump(actuators))
    return tmp_path


@pytest.mark.filterwarnings("ignore::robodyn_ros.base.errors.DescriptionWarning")
def test_the_rotor_of_a_motor_moves_a_massless_joint(files, capsys):
    prepared = prepared_robot("arm.urdf", actuators="motors.yaml")
    assert "robodyn: arm: joint finger moves the rotor of its motor, 0.36 kg" in capsys.readouterr().err
    found = Robot.from_urdf(prepared)
    assert found.joint_names == ("j", "finger") and not found.model.held
    settings = HardwareSettings.from_yaml("motors.yaml")
    plant = Plant(found, actuators=settings.joint_actuators(found.model))
    assert plant.joint_inertia()[1] == pytest.approx(0.36)
    assert Robot.from_urdf("arm.urdf").joint_names == ("j",)
    # simulate, and launch files:
    assert set_up(SimulationSettings("arm.urdf", actuators="motors.yaml")).robot_file == prepared
    capsys.readouterr()
    assert main(["compare", "--robot", "arm.urdf", "--actuators", "motors.yaml", "--controllers", "pd"]) == 0
    out, err = capsys.readouterr()
    assert "joint finger moves the rotor" in err and "finger" in out + err


def test_nothing_is_written_where_no_joint_is_held(files):
    (files / "one.yaml").write_text(yaml.safe_dump({"joints": {}}))
    assert prepared_robot("arm.urdf", actuators="one.yaml").name == "arm.urdf"
    assert prepared_robot("arm6").name == "arm6.urdf"
    with pytest.raises(InputError, match="actuators: 'no' is neither a file"):
        prepared_robot("arm.urdf", actuators="no")


def test_studies_and_launch_files_complete_a_robot(files, capsys):
    (files / "study.yaml").write_text("robot: bare.urdf\ncomplete: mass=5\nlaws: [pd]\nsamples: 2\n")
    study = read_study(files / "study.yaml")
    assert study.robot.model.joints[0].inertia.mass == pytest.approx(5.0)
    setup = set_up(SimulationSettings("bare.urdf", complete="density=1000"))
    assert np.isclose(Robot.from_urdf(setup.robot_file).model.joints[0].inertia.mass, 1.0)
    assert capsys.readouterr().err.count("bare.urdf: inertias of 1 link") == 2
    (files / "study.yaml").write_text("robot: bare.urdf\ncomplete: 7\nlaws: [pd]\n")
    with pytest.raises(InputError, match="complete"):
        read_study(files / "study.yaml")
