# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Every law in C: compiled strictly by two compilers, watched by their sanitizers, against Python at many states."""

import shutil
import subprocess

import numpy as np
import pytest
from shipped import REDUNDANT

from bench.law_in_c import FLAGS, LAWS, LawInC, accuracy, compiled, make_law
from robodyn_ros import Robot
from robodyn_ros.base.errors import PluginError
from robodyn_ros.control import JointReference
from robodyn_ros.control.contract.controller import Law
from robodyn_ros.control.laws.policy import PolicyParameters
from robodyn_ros.control.plugins.registry import make_controller

SANITIZE = ("-fsanitize=undefined,address", "-fno-sanitize-recover")
CROSS = {("aarch64-linux-gnu-gcc", "double"): (), ("arm-none-eabi-gcc", "float"): (
    "-Wdouble-promotion", "-mcpu=cortex-m7", "-mfpu=fpv5-d16", "-mfloat-abi=hard")}

pytestmark = [pytest.mark.long,
              pytest.mark.skipif(not shutil.which("gcc"), reason="no C compiler: apt-get install gcc")]


def sanitizes(compiler, folder):
    """Whether a compiler is there, with the libraries of its sanitizers."""
    (folder / "empty.c").write_text("int main(void)\n{\n    return 0;\n}\n")
    return shutil.which(compiler) is not None and not subprocess.run(
        [compiler, *SANITIZE, str(folder / "empty.c"), "-o", str(folder / "empty")], capture_output=True).returncode


def check(law, name, folder):
    """Run it with sanitizers by both compilers, compare, and compile it for other processors."""
    programs, in_c = {}, LawInC(law, name, folder / "double")
    for compiler in ("gcc", "clang"):
        if sanitizes(compiler, folder):
            programs[compiler] = in_c.program(compiler, *FLAGS, *SANITIZE)
    found = accuracy(law, in_c, programs.get("gcc") or in_c.program("gcc", *FLAGS), programs.get("clang"))
    for (compiler, precision), flags in CROSS.items():
        if shutil.which(compiler):
            file = (in_c if precision == "double" else LawInC(law, name, folder / precision, precision)).file
            compiled(compiler, ("-O1", "-c", *flags), [file], folder / "cross.o")
    return found


@pytest.mark.parametrize("shipped", REDUNDANT)
@pytest.mark.parametrize("name", LAWS)
def test_every_law_in_c_answers_as_in_python(name, shipped, tmp_path):
    try:
        law = make_law(name, Robot.named(shipped))
    except PluginError as error:
        assert "above which" in str(error)
        pytest.skip("its default gains are not for this robot")
    found = check(law, name, tmp_path)
    solves = name in ("task_priority", "mpc", "computed_torque+safety")
    assert found.to_the_bit is (None if solves else True)
    if solves:  # quadratic programs, at some random states with rows that contradict each other up to rounding
        assert (found.efforts > 1e-5).sum() <= 20 and found.motion < 1e-5
    else:
        assert max(np.quantile(found.efforts, 0.9), found.memory, found.motion) < 1e-12
        assert found.efforts.max() < 1e-9  # where the tip link is near a singular posture, rounding grows


class Own(Law):
    """Computed torque that remembers its errors, in a way of its own."""

    follows = JointReference

    def initial_memory(self, state):
        return np.zeros(self.robot.n)

    @staticmethod
    def law(dynamics, parameters, state, reference, memory):
        error = reference.q - state.q
        memory = np.where(np.abs(error) < 0.1, 0.99 * memory + state.period * np.tanh(error), 0.0)
        wanted = reference.a + 40.0 * (reference.v - state.v) + 400.0 * (error + memory)
        return dynamics.inverse_dynamics(state.q, state.v, wanted), memory


def test_a_law_of_ones_own(tmp_path):
    found = check(Own(Robot.named("scara")), "own", tmp_path)
    assert found.to_the_bit
    assert max(found.efforts.max(), found.memory, found.motion) < 1e-12


def test_a_policy(tmp_path):
    pytest.importorskip("onnx", reason="onnx is not installed: pip install onnx")
    from onnx_models import recurrent, written

    written(tmp_path, recurrent(np.random.default_rng(0), 24, 5, 6))
    (tmp_path / "policy.yaml").write_text(
        "network: network.onnx\nrate: 50\nbetween: interpolate\nobservations: [q, v, error_q, last_action]\n"
        "memory: {h_in: h_out}\naction: {default: 0.0, gravity: true}\n")
    law = make_controller("policy", Robot.named("arm6"), PolicyParameters(file=str(tmp_path / "policy.yaml")))
    found = check(law, "policy", tmp_path)
    assert found.to_the_bit
    assert max(found.efforts.max(), found.memory, found.motion) < 1e-12
