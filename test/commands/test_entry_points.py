# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Programs as processes: what signals do to them while they start."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from shipped import few

DEADLINE = 60.0
DELAYS = (0.0, 0.03, 0.1, 0.2, 0.4)
NODE = ("hardware", "--ros-args", "-p", "robot:=planar_2r")
ENVIRONMENT = {**os.environ, "_ROS_WHEELS_BOOTSTRAP_COMPLETE": "1"}  # the wheels would start Python a second time
START = "import sys; from robodyn_ros.commands.entry_points import main; sys.exit(main())"


def catches(pid, number):
    """Whether a process has a handler of a signal."""
    status = Path(f"/proc/{pid}/status").read_text()
    caught = int(status.partition("SigCgt:")[2].split()[0], 16)
    return bool(caught & 1 << (number - 1))


@pytest.fixture
def start():
    """Starts programs, and returns each once it has begun to run code of this package; kills what is left."""
    processes = []

    def start(*arguments, folder=None):
        process = subprocess.Popen([sys.executable, "-m", "robodyn_ros", *arguments], stdout=subprocess.PIPE,
                                   stderr=subprocess.STDOUT, text=True, env=ENVIRONMENT, cwd=folder)
        processes.append(process)
        end = time.monotonic() + DEADLINE
        while not catches(process.pid, signal.SIGTERM):  # which Python itself does not
            assert time.monotonic() < end and process.poll() is None
        return process

    yield start
    for process in processes:
        process.kill()
        process.communicate()


def check_ends(start, program, number, delays, folder):
    """Send a program a signal after some delays; it ends with one line or in order, without a traceback."""
    processes = []
    for delay in delays:
        process = start(*program, folder=folder)
        time.sleep(delay)
        process.send_signal(number)
        processes.append(process)
    codes = []
    for delay, process in zip(delays, processes, strict=True):
        output, _ = process.communicate(timeout=DEADLINE)
        assert process.returncode in (128 + number, 0), (delay, process.returncode, output)
        assert "Traceback" not in output and ("stopped" in output or not process.returncode), (delay, output)
        codes.append(process.returncode)
    assert codes[0] == 128 + number


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc")
@pytest.mark.parametrize("number", few([signal.SIGINT, signal.SIGTERM], 1))
def test_a_signal_at_any_moment_of_the_start_ends_a_node_cleanly(start, number, tmp_path):
    pytest.importorskip("rclpy", reason="a node needs ROS 2")
    check_ends(start, NODE, number, DELAYS, tmp_path)


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc")
@pytest.mark.parametrize(("program", "number"), few([
    (("simulate", "--robot", "planar_2r"), signal.SIGTERM), (("simulate", "--robot", "planar_2r"), signal.SIGINT),
    (("demo",), signal.SIGTERM), (("compare",), signal.SIGINT), (("swap", "pd"), signal.SIGTERM)], 2))
def test_a_signal_at_the_start_ends_a_command_with_one_line(start, program, number, tmp_path):
    pytest.importorskip("rclpy", reason="a node needs ROS 2")
    check_ends(start, program, number, DELAYS[::4], tmp_path)


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_command_that_runs_ends_with_one_line(start, tmp_path, number):
    process = start("compare", "pd", "computed_torque", folder=tmp_path)
    end = time.monotonic() + DEADLINE
    while Path(f"/proc/{process.pid}/maps").read_text().count("llvmlite") == 0:  # it has begun to run
        assert time.monotonic() < end and process.poll() is None
    process.send_signal(number)
    output, _ = process.communicate(timeout=DEADLINE)
    assert process.returncode == 128 + number and output.splitlines()[-1] == "stopped", output


@pytest.mark.parametrize("module", ["base.errors", "base.module_path", "base.bounded_files", "nodes.common.signals"])
def test_ctrl_c_before_a_program_can_wait_for_it_is_one_line(module):
    """While it imports the first modules, which everything needs."""
    program = ("import os, runpy, signal, sys\n"
               "class Interrupts:\n"
               "    def find_spec(self, name, *_):\n"
               f"        if name == 'robodyn_ros.{module}':\n"
               "            os.kill(os.getpid(), signal.SIGINT)\n"
               "sys.meta_path.insert(0, Interrupts())\n"
               "sys.argv[1:] = ['hardware', '--help']\n"
               "runpy.run_module('robodyn_ros', run_name='__main__', alter_sys=True)")
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, env=ENVIRONMENT,
                          timeout=DEADLINE)
    assert done.stderr == "\nrobodyn: stopped by SIGINT\n" and done.returncode == 130, done.stderr


@pytest.mark.parametrize("arguments", [("--version",), ("hardware", "--help"), ("view", "--help")])
def test_a_program_that_dies_of_a_fault_prints_where_its_threads_stood(arguments):
    program = ("import os, signal, sys; from robodyn_ros.commands.entry_points import main\n"
               "try:\n    main()\n"
               "except SystemExit:\n    pass\n"
               "finally:\n    os.kill(os.getpid(), signal.SIGSEGV)")
    done = subprocess.run([sys.executable, "-c", program, *arguments], capture_output=True, text=True, env=ENVIRONMENT,
                          timeout=DEADLINE)
    assert done.returncode == -signal.SIGSEGV
    assert "Fatal Python error: Segmentation fault" in done.stderr
    assert 'File "<string>", line 7 in <module>' in done.stderr


def test_processes_that_a_program_starts_print_so_too():
    program = ("import subprocess, sys; from robodyn_ros.commands.entry_points import main\n"
               "try:\n    main()\n"
               "finally:\n    subprocess.run([sys.executable, '-c', 'import os; os.abort()'])")
    done = subprocess.run([sys.executable, "-c", program, "--version"], capture_output=True, text=True, env=ENVIRONMENT,
                          timeout=DEADLINE)
    assert "Fatal Python error: Aborted" in done.stderr


def test_a_working_directory_that_was_removed_is_one_line(tmp_path):
    script = f"cd {tmp_path} && rmdir {tmp_path} && exec {sys.executable} -c '{START}' check planar_2r"
    done = subprocess.run(["sh", "-c", script], capture_output=True, text=True, timeout=DEADLINE,
                          env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)})
    assert done.returncode == 2 and done.stderr.splitlines() == [
        "robodyn: error: the working directory does not exist any more: change to another one with cd"], done.stderr
