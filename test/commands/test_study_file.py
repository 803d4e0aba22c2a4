# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Study files: everything that makes no sense is refused with its place, before anything is computed."""

import numpy as np
import pytest
import yaml

from robodyn_ros import InputError, PluginError, Robot
from robodyn_ros.commands.study_file import law_parameters, read_study
from robodyn_ros.commands.tune import parameter_file
from robodyn_ros.control.plugins.registry import make_controller
from robodyn_ros.description.resources import robot_file
from robodyn_ros.simulation.plant_model import PlantModel
from robodyn_ros.toolbox.study.distributions import Choice, Uniform
from robodyn_ros.toolbox.study.gain_task import _spread, fresh
from robodyn_ros.toolbox.study.quantity_axes import element_names
from robodyn_ros.toolbox.study.study import run_sample

WHOLE = {"robot": "planar_2r", "laws": ["pd"], "samples": 4, "quantities": {"payload.mass": {"uniform": [0, 1]}}}


def study(tmp_path, **changes):
    path = tmp_path / "arm.yaml"
    path.write_text(yaml.safe_dump({name: value for name, value in (WHOLE | changes).items() if value != "left out"}))
    return read_study(path)


def test_quantities_by_element_shared_and_listed(tmp_path):
    read = study(tmp_path, quantities={
        "link.mass_scale": {"uniform": [0.8, 1.2]}, "friction.viscous": [0.1, {"choice": [0, 1]}],
        "payload.mass": 0.5, "payload.center_of_mass": {"z": {"uniform": [0, 0.1]}},
        "friction.scale": {"shared": {"uniform": [1, 2]}}, "start.v": {"shared": 0.1}})
    axes = {axis.column: axis for axis in read.axes}
    assert axes["link.mass_scale[link2]"].distribution == Uniform(0.8, 1.2)
    assert axes["friction.viscous[joint1]"].distribution == Choice((0.1,))
    assert axes["payload.center_of_mass[z]"].elements == (2,)
    assert axes["start.v"].elements == (0, 1)
    pair = read.pairs[0]
    arrays = read.arrays(pair, read.description(pair).scenario)
    assert arrays["payload.mass"].shape == (4,)
    assert arrays["payload.center_of_mass"].shape == (4, 3)
    assert (arrays["payload.center_of_mass"][:, :2] == 0.0).all()
    assert (arrays["payload.center_of_mass"][:, 2] > 0.0).all()
    assert np.ptp(arrays["link.mass_scale"], axis=1).min() > 0.0
    assert set(arrays["friction.viscous"][:, 0]) == {0.1} and set(arrays["friction.viscous"][:, 1]) == {0.0, 1.0}
    assert arrays["parameters"].shape == (4, 4)
    plant = PlantModel.from_description(read.robot.model)
    assert element_names("link.center_offset", plant)[3:5] == ["link2.x", "link2.y"]


def test_starts_differ_around_the_start_of_any_motion(tmp_path):
    (tmp_path / "late.csv").write_text("time,joint1,joint2\n0,0.4,-0.3\n0.5,0.2,0.1\n")
    spread = {"start.q_offset": {"joint1": {"uniform": [-0.1, 0.1]}}, "start.v": {"shared": {"normal": [0, 0.1]}}}
    read = study(tmp_path, laws=["pd", "task_space_pd"], trajectories=["test_motion", "late.csv"], quantities=spread)
    for pair in read.pairs:
        begin = read.motions[pair.motion].sample(0.0).q
        rollout = run_sample(read, pair, 2)
        offset = [read.values["start.q_offset[joint1]"][2], 0.0]
        np.testing.assert_array_equal(rollout.q[0], begin + offset)
        np.testing.assert_array_equal(rollout.v[0], np.full(2, read.values["start.v"][2]))
    exact = study(tmp_path, trajectories=["late.csv"], quantities={"start.q_offset": 0.0})
    assert not run_sample(exact, exact.pairs[0], 0).error[0].any()


def test_mujoco_simulates_the_robots_of_a_study_that_vary_in_their_starts(tmp_path):
    pytest.importorskip("mujoco")
    starts = {"start.q_offset": {"uniform": [-0.05, 0.05]}}
    read = study(tmp_path, engine="mujoco", quantities=starts)
    rollout = run_sample(read, read.pairs[0], 1)
    assert "stepped by MujocoPlant" in rollout.note
    ours = run_sample(study(tmp_path, quantities=starts), read.pairs[0], 1)
    np.testing.assert_array_equal(rollout.q[0], ours.q[0])
    assert 0.0 < np.abs(rollout.q - ours.q).max() < 0.01
    with pytest.raises(InputError, match=r"varied: payload.mass: expected no quantities of a robot that MujocoPlant"):
        study(tmp_path, engine="mujoco")


def test_starts_stay_within_the_limits_of_the_joints_in_every_motion(tmp_path):
    """Normal distributions are cut off there, also those of fresh samples and of margins."""
    robot = Robot.from_urdf(robot_file("scara"))
    lower, upper = robot.model.position_lower, robot.model.position_upper
    for name in ("start.q", "start.q_offset"):
        read = study(tmp_path, robot="scara", samples=64, quantities={name: {"normal": [0.0, 3.0]}})
        begin = read.motions["test_motion"].sample(0.0).q if name == "start.q_offset" else np.zeros(robot.n)
        for values in (read.values, fresh(read, 9).values, _spread(read, 100.0)):
            q = begin + np.stack([values[f"{name}[{joint}]"] for joint in robot.joint_names], axis=1)
            assert (q >= lower).all() and (q <= upper).all() and np.ptp(q, axis=0).min() > 0.05


def test_sensors_motors_and_the_laws_own_model(tmp_path):
    """Whole numbers are whole; noise that only one joint has leaves the others the study's."""
    read = study(tmp_path, actuators="hardware_dc_motors", laws=["pd_gravity"], quantities={
        "sensing.delay": {"uniform": [0, 3]}, "sensing.velocity_noise": {"joint1": 0.05},
        "sensing.position_noise": 1e-5, "model.payload.mass": {"uniform": [0, 1]},
        "motor.torque_constant": {"shared": {"log_normal": [0.05, 1.1]}}})
    pair = read.pairs[0]
    arrays = read.arrays(pair, read.description(pair).scenario)
    assert set(arrays["sensing.delay"]) <= {0.0, 1.0, 2.0, 3.0}
    np.testing.assert_array_equal(arrays["sensing.velocity_noise"], [[0.05, 0.01]] * 4)
    assert np.isfinite(read.description(pair).scores(arrays).rms_error).all()


def test_the_driver_of_an_arm_is_that_of_all_samples(tmp_path):
    read = study(tmp_path, driver="ur", laws=["pd_gravity"])
    pair = read.pairs[0]
    description = read.description(pair)
    behind = description.loop.plant.driver
    assert behind.profile.compensates_gravity and behind.model.n == 2
    arrays = read.arrays(pair, description.scenario)
    bare = study(tmp_path, laws=["pd_gravity"])
    alone = bare.description(bare.pairs[0]).scores(bare.arrays(bare.pairs[0], description.scenario))
    # The driver adds gravity at the true positions, the law leaves it out at the measured ones, which have noise.
    np.testing.assert_allclose(description.scores(arrays).rms_error, alone.rms_error, rtol=1e-4)
    with pytest.raises(InputError, match="control rate: expected 1000 Hz"):
        study(tmp_path, driver="franka")


def test_laws_with_gains_of_a_file_and_of_distributions(tmp_path):
    robot = Robot.from_urdf(robot_file("planar_2r"))

    class Found:
        fields = ("p",)
        before = after = make_controller("pd", robot).parameters.with_flat_values(robot, {"gains.joint1.p": 7.0})

    (tmp_path / "found.yaml").write_text(parameter_file(Found, robot, "pd", "found"))
    read = study(tmp_path, laws={"tuned": {"controller": "pd", "parameters": "found.yaml"},
                                 "spread": {"controller": "pd", "gains": {"d": {"uniform": [1, 2]}}}})
    assert read.laws["tuned"].controller.parameters.p[0] == 7.0
    assert list(read.laws["spread"].gains) == ["gains.joint1.d", "gains.joint2.d"]
    packed = read.parameters("spread", read.values)
    assert packed.shape == (4, 4)
    assert read.sample_parameters("spread", read.values, 2).d[1] == read.values["spread.gains.joint2.d"][2]
    with pytest.raises(InputError, match="expected parameters of 'pid' under"):
        law_parameters(tmp_path / "found.yaml", "pid", robot, Found.after)


@pytest.mark.parametrize(("changes", "message"), [
    ({"sample": 3}, "arm.yaml: unknown key 'sample': did you mean 'samples'"),
    ({"laws": "left out"}, "missing: laws"),
    ({"laws": []}, "laws: expected names of laws"),
    ({"laws": ["pd", "pd"]}, "laws: expected different names"),
    ({"laws": ["damping"]}, "expected a law that follows joints or poses, received 'damping'"),
    ({"laws": {"pd": {"gain": 1}}}, "laws: pd: unknown key 'gain': did you mean 'gains'"),
    ({"laws": {"pd": {"gains": {"q": 1}}}}, "laws: pd: gains: unknown gain 'q'"),
    ({"laws": {"pd": {"gains": {"p": -1}}}}, "gains: p: expected a finite number"),
    ({"samples": 0}, "samples: expected a whole number from 1 to 1e.07, received 0"),
    ({"samples": 2.5}, "samples: expected a whole number"),
    ({"samples": 1e30}, "samples: expected"),
    ({"design": "sobl"}, "design: expected one of 'sobol', 'latin_hypercube', 'random', received 'sobl'"),
    ({"trajectories": []}, "trajectories: expected a list"),
    ({"trajectories": ["none.csv"]}, "trajectories: .*none.csv"),
    ({"fail": {"worst": 1}}, "fail: unknown metric 'worst': did you mean 'worst_error'"),
    ({"fail": {"worst_error": -1}}, "fail: worst_error: expected a finite number of 0 or more"),
    ({"period": 0.0015}, "expected a control period of a whole number of steps"),
    ({"quantities": {"payload.masss": 1}}, "quantities: unknown quantity 'payload.masss': did you mean 'payload.mass'"),
    ({"quantities": {"payload.mass": -1}}, r"payload.mass: expected a finite number from 0 to 1e.09 \[kg\], rec"),
    ({"quantities": {"payload.mass": {"normal": [-1, 0.1]}}}, "payload.mass: normal: only 0 % of it"),
    ({"quantities": {"payload.center_of_mass": 0.1}}, "expected 'payload.mass' beside 'payload.center_of_mass'"),
    ({"quantities": {"link.mass_scale": [1]}}, r"expected 2 numbers \(link1, link2\), received"),
    ({"quantities": {"link.mass_scale": {"link1": 1, "link3": 1}}}, "unknown element 'link3': did you mean"),
    ({"quantities": {"link.mass_scale": {"shared": 1, "link1": 1}}}, "expected 'shared' alone"),
    ({"robot": "scara", "quantities": {"start.q": {"uniform": [-9, 9]}}}, r"start.q: .*: uniform: .*, received -9"),
    ({"robot": "scara", "quantities": {"start.q_offset": 9}}, r"start.q_offset: expected .* to .*, received 9"),
    ({"quantities": {"start.q": 0, "start.q_offset": 0}}, "start in start.q or start.q_offset, received both"),
    ({"quantities": [1]}, "quantities: expected distributions by the name"),
    ({"tip_link": "link3"}, "link3.*did you mean"), ({"tip_link": 3}, "3"),
])
def test_what_makes_no_sense_is_refused_with_its_place(tmp_path, changes, message):
    with pytest.raises(InputError, match=message):
        study(tmp_path, **changes)


def test_unknown_laws_and_files(tmp_path):
    with pytest.raises(PluginError, match="no controller 'pdd'|unknown controller 'pdd'|'pdd'"):
        study(tmp_path, laws=["pdd"])
    with pytest.raises(OSError, match="No such file"):
        read_study(tmp_path / "none.yaml")
    (tmp_path / "list.yaml").write_text("- 1\n")
    with pytest.raises(InputError, match="expected keys and values"):
        read_study(tmp_path / "list.yaml")


def test_parameters_stand_in_the_study_itself(tmp_path):
    pytest.importorskip("onnx", reason="onnx is not installed: make setup FOR=learn")
    from robodyn_ros.learn import copy_policy

    copy_policy("arm6_reach", tmp_path)
    read = study(tmp_path, robot="arm6", laws={
        "policy": {"parameters": {"file": "arm6_reach.yaml"}},
        "pd": {"parameters": {"gains": {"elbow_joint": {"p": 70}}}}})
    assert read.laws["policy"].controller.parameters.file == str(tmp_path / "arm6_reach.yaml")
    assert read.laws["pd"].controller.parameters.p[2] == 70.0
    with pytest.raises(InputError, match="laws: pd: parameters: .*unknown parameter 'gains.elbow_joint.k'"):
        study(tmp_path, robot="arm6", laws={"pd": {"parameters": {"gains.elbow_joint.k": 1.0}}})
