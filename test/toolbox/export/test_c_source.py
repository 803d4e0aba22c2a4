# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Exported C against the dynamics it was made of, compiled by gcc and clang with strict flags."""

import ctypes
import math
import re
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

from robodyn_ros import InputError, Robot
from robodyn_ros.commands.command_line import main
from robodyn_ros.compile import clip, exp, expm1, sign, trace, where
from robodyn_ros.compile.loops_in_c import identifier
from robodyn_ros.control.plugins.registry import make_controller
from robodyn_ros.description.resources import robot_file
from robodyn_ros.simulation.plant_model import PlantModel
from robodyn_ros.toolbox.export import law_source, motion_source, plant_source, ros2_control_package
from robodyn_ros.toolbox.export.c_function import CFunction
from robodyn_ros.toolbox.export.c_source import dynamics_source, functions, source_of, write_new

STRICT = ("-std=c99", "-Wall", "-Wextra", "-Werror", "-pedantic")
COMPILERS = [name for name in ("gcc", "clang") if shutil.which(name)]
CROSS = {"aarch64-linux-gnu-gcc": (), "arm-none-eabi-gcc": ("-Wdouble-promotion", "-mcpu=cortex-m7", "-mfpu=fpv5-d16",
                                                            "-mfloat-abi=hard")}
SMALL = ("inverse_dynamics", "gravity", "mass_matrix", "forward_kinematics", "jacobian")

needs_compiler = pytest.mark.skipif(not COMPILERS, reason="no C compiler: apt-get install gcc")


def build(source, folder, compiler="gcc", flags=("-O1",)):
    """Compile a source into a shared library, and load it."""
    header, file = write_new(folder / "code", source.files)
    library = folder / f"{compiler}.so"
    done = subprocess.run([compiler, *STRICT, *flags, "-shared", "-fPIC", str(file), "-o", str(library), "-lm"],
                          capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return ctypes.CDLL(str(library))


def call(library, name, arrays, size, real=np.float64):
    """Call a function of the library; its result is guarded on both sides."""
    kind = ctypes.c_double if real is np.float64 else ctypes.c_float
    memory = np.full(size + 2, 7.0, dtype=real)
    given = [np.ascontiguousarray(array, dtype=real) for array in arrays]
    pointers = [array.ctypes.data_as(ctypes.POINTER(kind)) for array in (*given, memory[1:])]
    getattr(library, name)(*pointers)
    assert memory[0] == memory[-1] == 7.0
    return memory[1:-1]


def compare(robot, names, library, real=np.float64, tolerance=1e-12):
    """Compare all functions with the compiled ones at random states."""
    dyn, rng = robot.dynamics(), np.random.default_rng(3)
    for name in names:
        for _ in range(20):
            arrays = rng.uniform(-2.0, 2.0, (len(functions()[name].arrays), robot.n))
            expected = np.asarray(getattr(dyn, name)(*arrays))
            found = call(library, f"{identifier(robot.name)}_{name}", arrays, expected.size, real)
            scale = max(1.0, np.abs(expected).max())
            np.testing.assert_allclose(found, expected.ravel(), rtol=0.0, atol=tolerance * scale, err_msg=name)


@needs_compiler
@pytest.mark.parametrize("compiler", COMPILERS)
@pytest.mark.parametrize("shipped", ["arm7", "scara"])
def test_c_computes_what_python_computes(shipped, compiler, tmp_path):
    robot = Robot.from_urdf(robot_file(shipped))
    compare(robot, SMALL, build(dynamics_source(robot, SMALL), tmp_path, compiler))


@needs_compiler
@pytest.mark.long
@pytest.mark.parametrize("shipped", ["arm6", "arm7", "planar_2r", "scara"])
def test_every_function_of_every_shipped_robot(shipped, tmp_path):
    robot = Robot.from_urdf(robot_file(shipped))
    unless = {"task_space_inertia", "task_space_bias", "dynamically_consistent_inverse"} if robot.n < 6 else set()
    names = [name for name in functions() if name not in unless]  # those need six independent axes
    compare(robot, names, build(dynamics_source(robot, names), tmp_path), tolerance=1e-9)


@needs_compiler
def test_single_precision(tmp_path):
    robot = Robot.from_urdf(robot_file("scara"))
    source = dynamics_source(robot, SMALL, "float")
    assert "double" not in source.source.partition("*/")[2]
    library = build(source, tmp_path, flags=("-O1", "-Wdouble-promotion", "-Wconversion"))
    compare(robot, SMALL, library, np.float32, 1e-5)


@needs_compiler
def test_every_operation_and_its_special_numbers(tmp_path):
    def formula(x):
        a, b = x[0], x[1]
        rest = [np.sqrt(np.abs(a)), np.tan(a), np.arcsin(0.1 * a), np.arccos(0.1 * a), np.arctan(a), np.arctan2(a, b),
                exp(a), expm1(a), np.rint(a), np.log(np.abs(a)), np.tanh(a), np.abs(a) ** 1.5, sign(a),
                clip(a, -0.5, b), where(a < b, 1.0, math.inf), where(a <= b, math.nan, b), where(a == b, 2.0, -a),
                -a / b, a - b, 1e300 * a, np.sin(a), np.cos(b)]
        return np.array(rest, dtype=object)

    tape = trace(formula, {"x": (2,)})
    robot = Robot.from_urdf(robot_file("planar_2r"))
    library = build(source_of("every", robot, [CFunction("every", tape, ("Every operation.",))], "double"), tmp_path)
    for x in ([0.3, -1.2], [-0.4, 0.4], [0.0, 2.0], [2.5, 2.5], [math.nan, 1.0], [1.0, math.inf], [-1e308, 1e-308]):
        np.testing.assert_allclose(call(library, "every", [x], len(tape.outputs)), tape(np.array(x)), rtol=1e-13)


@needs_compiler
def test_nothing_undefined_happens(tmp_path):
    robot = Robot.from_urdf(robot_file("planar_2r"))
    source = dynamics_source(robot, ["inverse_dynamics"])
    (tmp_path / "main.c").write_text(
        '#include "planar_2r_dynamics.h"\nint main(void){double q[2]={1,2},v[2]={3,4},a[2]={5,6},r[2];'
        "planar_2r_inverse_dynamics(q,v,a,r);return r[0] > 0.0 ? 0 : 1;}\n")
    _, file = write_new(tmp_path / "code", source.files)
    program = tmp_path / "program"
    subprocess.run([COMPILERS[0], *STRICT, "-fsanitize=undefined,address", "-fno-sanitize-recover", f"-I{file.parent}",
                    str(tmp_path / "main.c"), str(file), "-o", str(program), "-lm"], check=True)
    dyn = robot.dynamics()
    positive = dyn.inverse_dynamics(np.array([1.0, 2.0]), np.array([3.0, 4.0]), np.array([5.0, 6.0]))[0] > 0.0
    assert subprocess.run([str(program)]).returncode == (0 if positive else 1)


@pytest.mark.parametrize("compiler", CROSS)
def test_it_compiles_for_other_processors(compiler, tmp_path):
    if not shutil.which(compiler):
        pytest.skip(f"{compiler} is not installed")
    robot, precision = Robot.from_urdf(robot_file("planar_2r")), "float" if "none" in compiler else "double"
    for source in (dynamics_source(robot, SMALL, precision), motion_source(robot, precision),
                   law_source(make_controller("pid", robot), "pid", precision),
                   plant_source(PlantModel.from_description(robot.model), precision)):
        _, file = write_new(tmp_path / source.name, source.files)
        done = subprocess.run([compiler, *STRICT, *CROSS[compiler], "-O1", "-c", str(file), "-o",
                               str(tmp_path / "x.o")], capture_output=True, text=True)
        assert done.returncode == 0, done.stderr


def test_names_become_names_of_c():
    names = ("arm", "my-arm 2", "2r", "for", "class", "_x__y_", "é", "")
    assert [identifier(name) for name in names] == ["arm", "my_arm_2", "n_2r", "n_for", "n_class", "x_y", "n", "n"]


def test_what_cannot_be_exported_is_refused_before_anything_is_written(tmp_path, monkeypatch, capsys):
    robot = Robot.from_urdf(robot_file("planar_2r"))
    for names, precision, message in ((["inverse_dynamic"], "double", "did you mean 'inverse_dynamics'"),
                                      (["gravity", "gravity"], "double", "each function once"),
                                      (["jacobian:link1"], "double", "further links are not exported; leave out"),
                                      ([], "double", "none"),
                                      (["gravity"], "half", "expected double or float, received 'half'")):
        with pytest.raises(InputError, match=message):
            dynamics_source(robot, names, precision)
    monkeypatch.chdir(tmp_path)
    command = ["export", "--robot", "planar_2r", "--function", "gravity"]
    assert main([*command, "--output", "code"]) == 0
    assert "code/planar_2r_dynamics.c" in capsys.readouterr().out
    assert main([*command, "--output", "code"]) != 0
    assert "'code' exists" in capsys.readouterr().err
    assert main(["export", "--function", "nonsense"]) != 0
    assert not (tmp_path / "export").exists()


ODD = Path(__file__).with_name("odd_names.urdf").read_text()
"""Joints that slide and turn without end, with names of the languages and with signs."""


@needs_compiler
def test_robots_and_joints_may_have_any_name(tmp_path):
    robot = Robot.from_urdf_text(ODD)
    law, motors = make_controller("computed_torque", robot), PlantModel.from_description(robot.model)
    files = {file: text for source in (law_source(law, "computed_torque"), motion_source(robot), plant_source(motors),
                                       dynamics_source(robot, ["gravity"])) for file, text in source.files.items()}
    write_new(tmp_path / "code", files)
    for name in files:
        if name.endswith(".c"):
            for compiler in COMPILERS:
                subprocess.run([compiler, *STRICT, "-c", name, "-o", "x.o"], cwd=tmp_path / "code", check=True)
    package = ros2_control_package(law, "computed_torque")
    top = next(iter(package)).partition("/")[0]
    assert top == "int_computed_torque_controller"
    controller = package[f"{top}/src/controller.cpp"]
    headers = "".join(text for path, text in package.items() if path.endswith(".h"))
    for word in re.findall(r"\b(n_int_\w+)\b(?!\.h)", controller):
        assert re.search(rf"\b{word}\b", headers), word
    assert "params.gains.n_class.p" in controller


@needs_compiler
@pytest.mark.parametrize("law", ["pd", "adaptive", "computed_torque+safety"])
def test_the_header_bounds_the_stack(law, tmp_path):
    robot, name = Robot.named("scara"), law.replace("+", "_")
    header, file = write_new(tmp_path / "code", law_source(make_controller(law, robot), name).files)
    bound = int(re.search(r"Stack: at most ([\d,]+) bytes", header.read_text())[1].replace(",", ""))
    subprocess.run(["gcc", "-O0", "-fstack-usage", "-c", str(file), "-o", str(tmp_path / "x.o")], check=True)
    used = [int(line.split("\t")[1]) for line in (tmp_path / "x.su").read_text().splitlines()]
    assert sum(sorted(used)[-3:]) <= bound <= 2 * sum(used) + 1024


@needs_compiler
def test_two_laws_of_a_robot_are_in_one_program_of_c_or_cpp(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for law, folder in (("computed_torque", "a"), ("pd_gravity+safety", "b")):
        assert main(["export", law, "--robot", "planar_2r", "--output", folder]) == 0
    for number, source in enumerate(sorted(tmp_path.glob("?/*.c"))):
        subprocess.run(["gcc", *STRICT, "-c", str(source), "-o", f"{number}.o"], check=True)
        subprocess.run(["g++", "-x", "c++", "-Wall", "-Werror", "-c", str(source), "-o", "cpp.o"], check=True)
        refused = subprocess.run(["gcc", "-Ofast", "-c", str(source), "-o", "x.o"], capture_output=True, text=True)
        assert refused.returncode and "compile this file without -ffast-math" in refused.stderr
    subprocess.run(["ld", "-r", *map(str, tmp_path.glob("[0-9].o")), "-o", "all.o"], check=True)
    Path("main.c").write_text("""#include "a/planar_2r_computed_torque.h"
#include "a/planar_2r_motion.h"
#include "b/planar_2r_pd_gravity_safety.h"
int main(void)
{
    const double zero[2] = {0};
    planar_2r_motion motion;
    return planar_2r_motion_init(&motion, zero, zero);
}
""")
    subprocess.run(["gcc", *STRICT, "main.c", "all.o", "-o", "main", "-lm"], check=True)
    assert subprocess.run(["./main"]).returncode == 0


@pytest.mark.parametrize(("joint", "reason"), [("fixed", "nothing moves"), ("revolute", "no moving link has")])
def test_robots_without_dynamics_are_refused_in_one_line(joint, reason, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    Path("robot.urdf").write_text(
        f'<robot name="none"><link name="b"/><link name="l"/><joint name="j" type="{joint}"><parent link="b"/>'
        '<child link="l"/><limit lower="-1" upper="1" effort="1" velocity="1"/></joint></robot>')
    for words in (["computed_torque"], ["damping"], ["computed_torque", "--to", "ros2_control"], ["--plant"],
                  ["--function", "inverse_dynamics"]):
        assert main(["export", *words, "--robot", "robot.urdf"]) != 0
        error = capsys.readouterr().err.splitlines()[-1]
        assert error.startswith("robodyn: error: ") and reason in error and "IndexError" not in error, error
    assert not Path("export").exists()


def test_names_that_are_the_same_in_c_are_refused(tmp_path, monkeypatch, capsys):
    robot = Robot.from_urdf_text(ODD.replace('"while"', '"a-b"').replace('"class"', '"a_b"'))
    with pytest.raises(InputError, match="gains 'gains.a-b.p' and 'gains.a_b.p' have the same name in C"):
        law_source(make_controller("pd", robot), "pd")
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "own.py").write_text("from robodyn_ros.control.laws.pd import PD\nclass motion(PD):\n    pass\n")
    for words in ([], ["--to", "ros2_control"]):
        assert main(["export", "own:motion", "--robot", "planar_2r", *words]) != 0
        error = capsys.readouterr().err
        assert "have the same names as others, 'planar_2r_motion'" in error and error.count("\n") == 1, error
    assert not (tmp_path / "export").exists()
