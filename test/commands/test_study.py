# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""`robodyn study`: table, plots and samples; a sample as a recording; options that make no sense."""

from pathlib import Path

import numpy as np
import pytest
from shipped import few
from urdf_parts import xacro_that_runs

from robodyn_ros import Robot, __version__
from robodyn_ros.commands.command_line import main
from robodyn_ros.description.resources import robot_file
from robodyn_ros.toolbox.recording.run import Run
from robodyn_ros.toolbox.study.results import REASON, STREAM, About, Results, ResultStream

STUDY = """
robot: planar_2r
samples: 20
laws: [pd_gravity, task_space_pd]
quantities:
  payload.mass: {uniform: [0.0, 1.0]}
  friction.viscous: {shared: {uniform: [0.0, 0.1]}}
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("study")
    (folder / "arm.yaml").write_text(STUDY)
    return folder


def run(folder, *options):
    return main(["study", str(folder / "arm.yaml"), "--output", str(folder / "out"), *options])


def test_table_plots_and_samples(folder, capsys):
    assert run(folder, "--sobol", "4") == 0
    output = capsys.readouterr().out
    for text in ("RMS tracking error of laws that follow joints [mrad or mm], 20 samples each",
                 "RMS tracking error of laws that follow poses of the tip link [mm or mrad]",
                 "Rank correlation", "payload.mass", "Sobol indices of the RMS error, task_space_pd", "written: "):
        assert text in output
    for name in ("samples.parquet", "errors_joints.png", "errors_tip.png", "influences_joints.png",
                 "influences_tip.png", "sobol.png"):
        assert (folder / "out" / name).stat().st_size > 1000
    assert run(folder) == 2
    assert "holds 40 of 40 rows of this study: add --resume" in capsys.readouterr().err
    assert run(folder, "--resume") == 0
    assert "Rank correlation" in capsys.readouterr().out


@pytest.mark.parametrize("law", few(["pd_gravity", "task_space_pd"], 1))
def test_a_sample_becomes_a_recording_that_plot_draws(folder, capsys, law):
    out = folder / "out"
    if not out.is_dir():
        assert run(folder) == 0
    assert main(["study", str(out), "--sample", "7", "--law", law]) == 0
    output = capsys.readouterr().out
    assert "sample 7 of arm.yaml" in output and "payload.mass" in output
    recorded = Run(out / f"{law}_7.mcap")
    assert recorded.joint_names == ("joint1", "joint2")
    assert [span.controller for span in recorded.controllers] == [law]
    rows = Results.read(out).rows(law)
    if law == "pd_gravity":
        error = np.sqrt(np.mean(recorded.control.error**2))
    else:
        # Two joints control the tip's position; the turn that they give it counts as none.
        error = np.sqrt(np.sum(recorded.control.tip_error**2) / (6 * len(recorded.control.time)))
        tip = Robot.from_urdf(robot_file("planar_2r")).dynamics().batch.forward_kinematics(recorded.states.position)
        np.testing.assert_allclose(recorded.control.tip, tip[:, :3, 3], atol=1e-9)
    assert error == pytest.approx(rows.numbers("rms_error")[7], rel=1e-6)
    assert np.isfinite(recorded.energies()[0]).all()
    picture = folder / f"{law}.png"
    assert main(["plot", str(out / f"{law}_7.mcap"), "--output", str(picture)]) == 0
    assert picture.stat().st_size > 1000


def test_a_changed_study_is_refused_for_a_sample_of_old_results(folder, tmp_path, capsys):
    path = tmp_path / "arm.yaml"
    path.write_text(STUDY)
    assert main(["study", str(path), "--output", str(tmp_path / "out")]) == 0
    path.write_text(STUDY.replace("1.0]", "2.0]"))
    assert main(["study", str(tmp_path / "out"), "--sample", "1"]) == 2
    assert "holds results of another study" in capsys.readouterr().err
    path.unlink()
    assert main(["study", str(tmp_path / "out"), "--sample", "1"]) == 2
    assert "which is not there any more" in capsys.readouterr().err


@pytest.mark.parametrize("name", ["/etc/passwd", "evil.yaml", "/dev/zero"])
def test_results_open_no_file_that_the_user_has_not_named(name, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    ran = tmp_path / "ran"
    Path("evil.yaml").write_text("robot: evil.urdf.xacro\nlaws: ['evil:Law']")
    Path("evil.urdf.xacro").write_text(xacro_that_runs(ran))
    Path("evil.py").write_text(f"open({str(ran)!r}, 'w')")
    text = Path("evil.yaml").read_text()
    ResultStream(tmp_path / "out" / STREAM, About(name, "digest", text, __version__, 0, 8, (), {})).close()
    for options in ([], ["--resume"], ["--sample", "0"]):
        assert main(["study", "out", *options]) == 2
        error = capsys.readouterr().err
        assert error.count("\n") == 1 and "which you have not named here" in error and "root:" not in error
    assert not ran.exists()


@pytest.mark.parametrize(("options", "message"), [
    (("--law", "pd"), "--law has no effect without --sample"),
    (("--sample", "20"), "sample: expected a number from 0 to 19, received 20"),
    (("--sample", "1", "--law", "pid"), "law: the study has no 'pid': "),
    (("--sobol", "3"), "sobol: expected a power of two"),
    (("--threads", "0"), "--threads: expected a whole number from 1"),
])
def test_options_that_make_no_sense(folder, tmp_path, capsys, options, message):
    assert main(["study", str(folder / "arm.yaml"), "--output", str(tmp_path / "new"), *options]) == 2
    error = capsys.readouterr().err
    assert message in error and error.count("\n") == 1


def test_sobol_indices_of_a_study_in_which_nothing_differs_are_refused(tmp_path, capsys):
    path = tmp_path / "same.yaml"
    path.write_text("robot: planar_2r\nlaws: [pd]\nsamples: 2\nquantities: {payload.mass: 1.0}\n")
    assert main(["study", str(path), "--output", str(tmp_path / "out"), "--sobol", "4"]) == 2
    error = capsys.readouterr().err
    assert "sobol: expected numbers that differ from sample to sample, received none in" in error
    assert error.count("\n") == 1 and not (tmp_path / "out").exists()


def test_a_law_that_fails_in_all_samples_is_named(tmp_path, capsys):
    path = tmp_path / "arm.yaml"
    path.write_text(STUDY + "fail: {worst_error: 1.0e-6}\n")
    assert main(["study", str(path), "--output", str(tmp_path / "out")]) == 1
    output = capsys.readouterr().out
    assert "failed in all samples: pd_gravity, task_space_pd" in output
    assert "worst_error above 1e-06 (20)" in output


@pytest.mark.long
def test_samples_with_gains_that_the_law_refuses_are_told(tmp_path, capsys):
    (tmp_path / "elastic.yaml").write_text("""
robot: arm7
actuators: hardware_elastic_arm7
samples: 8
laws:
  elastic_joint_pd: {controller: elastic_joint_pd}
  torque_feedback: {controller: torque_feedback, gains: {lighter: 1.5}}
  damped: {controller: elastic_composite, gains: {gains.joint1.fast_damping: {uniform: [50, 1500]}}}
quantities:
  transmission.stiffness: {uniform: [8000, 40000]}
""")
    command = ["study", str(tmp_path / "elastic.yaml"), "--output", str(tmp_path / "out")]
    assert main(command) == 0
    output = capsys.readouterr().out
    found = Results.read(tmp_path / "out")
    errors = {law: found.rows(law).numbers("rms_error") for law in ("elastic_joint_pd", "torque_feedback", "damped")}
    refused = [reason == "gains that the law refuses" for reason in found.rows("damped").text(REASON)]
    assert 0 < sum(refused) < 8 and np.array_equal(np.isnan(errors["damped"]), refused)
    assert f"gains that the law refuses ({sum(refused)})" in output
    assert (errors["elastic_joint_pd"] < 0.05).all() and (errors["torque_feedback"] < 0.2).all()
    assert not np.array_equal(errors["elastic_joint_pd"], errors["torque_feedback"])
    assert main([*command, "--sample", str(refused.index(True)), "--law", "damped"]) == 2
    assert "springs of 'arm7' swing" in capsys.readouterr().err
