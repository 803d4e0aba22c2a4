# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""The robodyn command without ROS: robots, check, and error messages."""

import os
import re
import subprocess
import sys
import warnings
from importlib.metadata import version

import numpy as np
import pytest
import yaml
from shipped import few
from urdf_parts import one_joint

from robodyn_ros import Robot
from robodyn_ros.base import code_cache
from robodyn_ros.base.errors import InputError
from robodyn_ros.commands.command_line import GROUPS, main, make_parser, print_warning
from robodyn_ros.commands.simulation_setup import NODES, SimulationSettings, set_up
from robodyn_ros.commands.study_file import read_study
from robodyn_ros.description.resources import config_file, shipped_robots
from robodyn_ros.toolbox.study.cluster_connection import site
from robodyn_ros.toolbox.study.run import about

ODD = """<robot name='odd'><link name='base'/><link name='arm'><inertial><mass value='2'/>
<inertia ixx='1' iyy='1' izz='9' ixy='0' ixz='0' iyz='0'/></inertial></link>
<joint name='turn' type='continuous'><parent link='base'/><child link='arm'/><axis xyz='0 0 1'/></joint></robot>"""


def test_robots_lists_every_shipped_robot(capsys):
    assert main(["robots"]) == 0
    assert [line.split()[0] for line in capsys.readouterr().out.splitlines()] == list(shipped_robots())


def test_check_tells_the_natural_frequencies_of_elastic_joints(tmp_path, capsys):
    """Link against the motor that is held, and both free; of the fastest mode, the step that resolves it."""
    file = tmp_path / "elastic.yaml"
    file.write_text("joints:\n  joint2: {transmission: {stiffness: 1000, inertia: 0.1, backlash: 0.001}}\n")
    assert main(["check", "planar_2r", "--actuators", str(file), "--step", "0.0001"]) == 0
    out = capsys.readouterr().out
    words = next(line for line in out.splitlines() if line.startswith("joint2") and "0.001" in line).split()
    inertia = Robot.named("planar_2r").dynamics().mass_matrix(np.zeros(2))[1, 1]
    np.testing.assert_allclose(list(map(float, words[1:])), [
        1000.0, 0.001, np.sqrt(1000.0 / inertia) / (2.0 * np.pi),
        np.sqrt(1000.0 * (1.0 / inertia + 10.0)) / (2.0 * np.pi)], rtol=1e-3)
    fastest = float(re.search(r"fastest mode: ([\d.]+) Hz, mainly of joint2", out)[1])
    assert main(["check", "planar_2r", "--actuators", str(file), "--step", "0.01"]) == 1
    told = re.search(r"doubt: spring of joint 'joint2': a step of 0.01 s is too long for its mode of ([\d.]+) Hz, "
                     r"which swings at ([\d.]+) Hz in it; a step of ([\d.]+) s has it within 1 %",
                     capsys.readouterr().out)
    assert float(told[1]) == fastest
    np.testing.assert_allclose(float(told[2]), np.arctan(0.005 * 2.0 * np.pi * fastest) / (0.01 * np.pi), rtol=1e-3)
    assert main(["check", "planar_2r", "--actuators", str(file), "--step", told[3]]) == 0
    assert main(["check", "arm6", "--actuators", "hardware_dc_motors"]) == 2  # of another robot


def test_check_prints_the_robot_and_its_exit_code_tells_of_findings(tmp_path, capsys):
    file = tmp_path / "odd.urdf"
    file.write_text(ODD)
    assert main(["check", str(file)]) == 1
    out = capsys.readouterr().out
    turn = next(line for line in out.splitlines() if line.startswith("turn"))
    assert turn.split() == ["turn", "continuous", "none", "none", "none", "none", "0", "2", "0", "0", "0"]
    assert "base link base, tip link arm" in out and "warning: " in out and "triangle" in out
    assert main(["check", "--strict", str(file)]) == 2
    assert "triangle" in capsys.readouterr().err
    assert main(["check", "arm6"]) == 0
    assert capsys.readouterr().out.endswith("\nno findings\n")
    assert main(["check", "scara"]) == 1  # its published link 4: 1 kg, and 1 kg m^2
    out = capsys.readouterr().out
    assert "doubt: " in out and "<link name='link4'>: its inertia is that of 1 kg at 1 m" in out
    assert out.endswith("\n1 finding\n")
    assert main(["check", "--strict", "scara"]) == 2
    out, err = capsys.readouterr()
    assert not out and "link4" in err


DOUBTFUL = one_joint(axis="0 0 2", limit="").replace('name="j"', 'name="jörg"')


def test_the_warnings_about_a_robot_are_one_line(tmp_path, capsys):
    file = tmp_path / "odd arm.urdf"
    file.write_text(DOUBTFUL, encoding="utf-8")
    assert main(["compare", "no_law", "--robot", str(file)]) == 2
    told = [line for line in capsys.readouterr().err.splitlines() if "warning" in line.lower()]
    assert told == [f"robodyn: warning: {file}: 2 warnings: robodyn check '{file}'; the first: line 3, <joint "
                    "name='jörg'>: the axis has length 2 instead of 1; it is normalised; write a unit vector"]
    file.write_text(one_joint(axis="0 0 2"))
    main(["compare", "no_law", "--robot", str(file)])
    assert f"robodyn: warning: {file}, line 3, <joint name='j'>: the axis has" in capsys.readouterr().err


@pytest.mark.parametrize("encoding", few(["ascii", "latin-1", "cp437"], 1))
def test_any_encoding_of_the_terminal_will_do(tmp_path, encoding):
    file = tmp_path / "odd.urdf"
    file.write_text(DOUBTFUL, encoding="utf-8")
    run = subprocess.run([sys.executable, "-m", "robodyn_ros", "check", str(file)], capture_output=True, check=False,
                         env={**os.environ, "PYTHONIOENCODING": encoding}, cwd=tmp_path)
    out = run.stdout.decode(encoding)
    assert run.returncode == 1 and not run.stderr
    tree, name = {"ascii": ("`- ", "j\\xf6rg"), "latin-1": ("`- ", "jörg"), "cp437": ("└─ ", "jörg")}[encoding]
    assert f"{tree}{name} (revolute) -> b  2 kg" in out and "2 findings" in out


@pytest.mark.parametrize("pipe", ["<(cat '{}')", "/dev/stdin < <(cat '{}')", "/dev/fd/5 5< <(cat '{}')"])
def test_a_pipe_of_the_shell_is_read(tmp_path, pipe):
    file = tmp_path / "arm.urdf"
    file.write_text(one_joint(), encoding="utf-8")
    command = f"'{sys.executable}' -m robodyn_ros check {pipe.format(file)}"
    run = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=False, cwd=tmp_path,
                         env={**os.environ, "XDG_CACHE_HOME": str(tmp_path)})
    assert run.returncode == 0, run.stderr
    assert "test: 1 joints" in run.stdout


@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_a_reader_that_ends_early_is_no_error(unbuffered, tmp_path):
    command = f"set -o pipefail; PYTHONUNBUFFERED={unbuffered} '{sys.executable}' -m robodyn_ros check arm6 | true"
    run = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=False, cwd=tmp_path)
    assert (run.returncode, run.stderr) == (141, "")


def test_a_pipe_without_a_robot_is_one_error(tmp_path):
    for text, words in (("true", "has written nothing"), ("echo no robot", "malformed XML")):
        run = subprocess.run(["bash", "-c", f"'{sys.executable}' -m robodyn_ros check <({text})"], capture_output=True,
                             text=True, check=False, cwd=tmp_path, env={**os.environ, "XDG_CACHE_HOME": str(tmp_path)})
        assert run.returncode == 2 and run.stderr.count("\n") == 1 and words in run.stderr, run.stderr


@pytest.mark.parametrize("arguments, words", [
    (["chek", "arm6"], ("unknown command 'chek'", "did you mean 'check'")),
    (["simulate", "--contrller", "pd"], ("'--contrller'", "did you mean '--controller'")),
    (["check", "arm6", "arm7"], ("check: unexpected 'arm7': see robodyn check --help",)),
    (["tune", "pd", "--populaton", "5"], ("tune: unexpected '--populaton': did you mean '--population'",)),
    (["tune", "--robot", "scara", "computed_torqe"],
     ("unknown controller 'computed_torqe'; did you mean 'computed_torque'",)),
    (["check", "nowhere.urdf"], ("nowhere.urdf",)),
    (["check", "arm6", "--tip-link", "hand"], ("hand",)),
    (["hardware", "robot:=arm6"], ("robot:=arm6", "--ros-args -p")),
    (["check", "arm6", "--ros-args", "-p", "a:=1"], ("check: takes no --ros-args",)),
    (["simulate", "--robot", "arm66"], ("arm66", "arm6, arm7")),
    (["simulate", "--params-file", "nowhere.yaml"], ("nowhere.yaml",)),
    (["simulate", "--actuators", "nowhere.yaml"], ("actuators", "nowhere.yaml")),
    (["simulate", "--actuators", "nope"], ("actuators: 'nope' is neither",
                                           "(hardware_dc_motors, hardware_elastic_arm7, tx40); give")),
    (["simulate", "--time-mode", "scaled", "--real-time-factor", "-1"], ("--real-time-factor: expected", "-1")),
    (["simulate", "--time-mode", "lockstep", "--speed-limit", "fast"], ("--speed-limit: expected a finite", "'fast'")),
    (["simulate", "--view", "--view-port", "99999"], ("--view-port", "0 to 65535", "99999")),
    (["view", "--port", "-1"], ("--port", "0 to 65535", "-1")),
    (["simulate", "--restarts", "-1"], ("restarts", "-1")),
    # of argparse
    ([], ("required: command", "robodyn --help")),
    (["check"], ("check: the following arguments are required: file", "robodyn check --help")),
    (["step", "two"], ("step: argument periods: expected a whole number from 1 to 1e+09, received 'two'",)),
    (["step", "0"], ("step: argument periods: expected a whole number from 1 to 1e+09, received 0",)),
    (["echo", "joint_states", "--count", "-1"], ("echo: argument --count: expected a whole number from 0", "-1")),
    (["simulate", "--time-mode", "fast"], ("--time-mode: expected one of", "'lockstep', received 'fast'")),
    (["simulate", "--robot"], ("--robot: expected one argument",)),
    (["tune", "--span", "big"], ("tune: argument --span: expected a finite number from 1 to 1e+06, received 'big'",)),
    # without effect
    (["simulate", "--real-time-factor", "2"], ("real_time_factor: has an effect only in time mode scaled",
                                                 "received time mode lockstep, from the parameter files")),
    (["simulate", "--time-mode", "lockstep", "--real-time-factor", "2"], ("mode scaled, received time mode lockstep",)),
    (["simulate", "--time-mode", "real_time", "--speed-limit", "1"], ("speed_limit", "lockstep, received time mode")),
    (["simulate", "--view-port", "8081"], ("--view-port has no effect without --view",)),
    (["compare", "pd", "--seed", "3"], ("--seed has no effect without --position-noise",)),
], ids=lambda value: " ".join(value[:3]))
def test_mistakes_get_one_clear_message_and_exit_code_2(arguments, words, capsys):
    assert main(arguments) == 2
    out, message = capsys.readouterr()
    assert not out and message.count("\n") == 1
    assert message.startswith("robodyn: error: ") and all(word in message for word in words), message


def test_a_negative_value_with_a_unit_is_no_option(capsys):
    assert main(["push", "tool0", "0", "-5kg", "0"]) == 1
    assert "force: expected a unit among N, kN, received 'kg'" in capsys.readouterr().err


@pytest.mark.parametrize("command", ["dynamics", "simulate"])
def test_without_ros_it_says_what_is_missing(command):
    without_ros = ("import sys; sys.modules['rclpy'] = None; from robodyn_ros.commands.command_line import main; "
                   "sys.exit(main())")
    result = subprocess.run([sys.executable, "-c", without_ros, command], capture_output=True, text=True)
    assert result.returncode == 2
    assert "rclpy" in result.stderr and "make setup" in result.stderr and "Traceback" not in result.stderr


@pytest.mark.parametrize("hidden, command, words", [
    ("matplotlib", ["demo"], "Matplotlib, which is not installed: pip install matplotlib"),
    ("matplotlib", ["plot", "run_1"], "Matplotlib, which is not installed"),
    ("mcap_ros2", ["plot", "run_1"], "mcap-ros2-support, which is not installed"),
    ("mcap_ros2", ["replay", "run_1"], "mcap-ros2-support, which is not installed"),
    ("mcap_ros2", ["simulate", "--record", "run_1"], "mcap-ros2-support, which is not installed"),
])
def test_a_missing_package_is_reported_before_the_work(hidden, command, words, monkeypatch, tmp_path, capsys):
    monkeypatch.setitem(sys.modules, hidden, None)
    monkeypatch.chdir(tmp_path)
    assert main(command) in (1, 2)
    out, message = capsys.readouterr()
    assert words in message and message.count("\n") == 1 and not out
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("hidden", few(["rclpy", "robodyn_interfaces"], 1))
def test_missing_ros_is_reported_before_the_work(hidden, tmp_path):
    commands = [["demo"], ["swap", "pd"], ["push", "tool0", "0", "0", "1"], ["controller"]]
    if hidden == "rclpy":  # these two need no interfaces
        commands += [["record"], ["view"]]
    program = (f"import sys; sys.modules[{hidden!r}] = None; from robodyn_ros.commands.command_line import main\n"
               f"for command in {commands}: assert main(command) in (1, 2), command")
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, cwd=tmp_path, timeout=120)
    assert result.returncode == 0, result.stderr
    messages = result.stderr.splitlines()
    assert len(messages) == len(commands) and not result.stdout and not list(tmp_path.iterdir())
    assert all(line.startswith("robodyn: error: ") and "'make setup'" in line for line in messages), messages


def test_cache_is_counted_and_cleared(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv(code_cache.VARIABLE, str(tmp_path))
    code_cache.store(code_cache.digest("code"), bytes(2**20))
    assert main(["cache", "info"]) == 0
    assert main(["cache", "clear"]) == 0
    counted, removed = capsys.readouterr().out.splitlines()
    assert counted == f"{tmp_path}: 1 entries, 1.0 MiB"
    assert removed == f"{tmp_path}: removed 1 entries, 1.0 MiB"
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(("command", "more"), [("", set()), ("simulate", {"numpy", "lxml"})])
def test_the_command_line_imports_nothing_that_only_some_commands_need(command, more):
    names = (f"import sys; from robodyn_ros.commands.command_line import make_parser; make_parser({command!r}); "
             "print(*sys.modules)")
    loaded = subprocess.run([sys.executable, "-c", names], capture_output=True, text=True, check=True).stdout.split()
    heavy = {"rclpy", "scipy", "llvmlite", "matplotlib", "robodyn_ros.control.plugins.registry", *more}
    assert not heavy.intersection(loaded)


INTERRUPTED = """
import sys
from robodyn_ros.commands import command_line

def interrupt(options):
    exec("raise KeyboardInterrupt(15)")

command_line.prepare_robot = interrupt
sys.exit(command_line.main(["check", "arm6"]))
"""


def test_an_interrupt_in_code_from_a_string_has_the_exit_code_of_any_other(tmp_path):
    (tmp_path / "interrupted.py").write_text(INTERRUPTED)
    ended = subprocess.run([sys.executable, "-m", "interrupted"], cwd=tmp_path, capture_output=True, text=True)
    assert (ended.returncode, ended.stderr) == (143, "\nstopped\n")


def test_the_nodes_import_neither_scipy_nor_libraries_of_meshes():
    names = "import sys, robodyn_ros.nodes.all_nodes; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", names], capture_output=True, text=True, check=True).stdout.split()
    assert not {"scipy", "trimesh", "yourdfpy"}.intersection(loaded)


@pytest.mark.parametrize(("group", "names"), GROUPS.items())
def test_each_module_of_commands_has_those_that_it_is_imported_for(group, names):
    assert tuple(make_parser(names[0])[1]) == names
    assert set(names) < set(make_parser()[1])


def test_version_is_that_of_the_package_of_results_and_of_workers(capsys, tmp_path):
    with pytest.raises(SystemExit) as end:
        main(["--version"])
    assert end.value.code == 0
    printed = capsys.readouterr().out
    assert printed == f"robodyn_ros {version('robodyn_ros')}\n"
    (tmp_path / "arm.yaml").write_text("robot: planar_2r\nlaws: [pd]\nsamples: 1\n")
    assert f"robodyn_ros {about(read_study(tmp_path / 'arm.yaml')).version}\n" == printed
    assert site().version.startswith(f"{printed.strip()} (sources ")


@pytest.mark.parametrize("command", [name for names in GROUPS.values() for name in names])
def test_every_command_has_help(command, capsys):
    with pytest.raises(SystemExit) as ended:
        main([command, "--help"])
    assert ended.value.code == 0
    printed = capsys.readouterr()
    assert printed.out.startswith(f"usage: robodyn {command}") and not printed.err
    for nested in getattr(make_parser(command)[1][command]._subparsers, "_group_actions", []):
        for name, parser in nested.choices.items():
            assert name in printed.out and "-h, --help" in parser.format_help()


def test_help_names_every_subcommand(capsys):
    with pytest.raises(SystemExit) as end:
        main(["--help"])
    assert end.value.code == 0
    out = capsys.readouterr().out
    commands = (*NODES, "simulate", "swap", "demo", "robots", "check", "tune", "compare", "cache")
    assert all(name in out for name in commands)


def test_set_up_leaves_what_is_not_given_to_the_parameter_file():
    setup = set_up(SimulationSettings("planar_2r"))
    assert setup.values == {"robot": str(setup.robot_file)} and setup.robot_file.name == "planar_2r.urdf"
    assert setup.files == (config_file("simulation.yaml"),)
    everything = set_up(SimulationSettings("arm6", controller="computed_torque", time_mode="scaled",
                                           real_time_factor=2.5, actuators="hardware_dc_motors"))
    assert everything.values == {"robot": str(everything.robot_file), "controller": "computed_torque",
                                 "time_mode": "scaled", "real_time_factor": 2.5,
                                 "actuators": str(config_file("hardware_dc_motors.yaml"))}
    wall = config_file("touch_wall.yaml")
    assert set_up(SimulationSettings("arm6", world=str(wall))).values["world"] == str(wall)
    with pytest.raises(InputError, match="contact point 1: robot 'planar_2r' has no link 'tool0'"):
        set_up(SimulationSettings("planar_2r", world=str(wall)))
    # Values for all nodes, from the launch file or the command, count only if the file names no node.
    assert list(yaml.safe_load(config_file("simulation.yaml").read_text())) == ["/**"]


def test_warnings_of_a_description_are_told_for_files_alone(tmp_path, capsys, monkeypatch):
    file = tmp_path / "odd.urdf"
    file.write_text(ODD)
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        monkeypatch.setattr(warnings, "showwarning", print_warning)
        Robot.from_urdf_text(ODD)
        assert capsys.readouterr().err == ""
        Robot.from_urdf(file)
    assert capsys.readouterr().err.startswith(f"robodyn: warning: {file}, line 1, <link name='arm'>: ")


@pytest.mark.parametrize("arguments", [
    ("check", "no\nrobot.urdf"), ("check", "arm6", "--actuators", "no\nfile.yaml"), ("plot", "no\nfolder"),
    ("new-controller", "no\nname"), ("compare", "no\nlaw", "--robot", "planar_2r"), ("no\ncommand",),
    ("check", "arm6", "--no\noption"), ("simulate", "--params-file", "no\nfile"), ("check", "--step=no\nfile", "arm6"),
])
def test_arguments_with_line_breaks_are_refused_in_one_line(arguments, capsys):
    assert main(arguments) == 2
    [line] = capsys.readouterr().err.splitlines()
    assert line.startswith("robodyn: error: ") and r"no\n" in line
