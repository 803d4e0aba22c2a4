# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.
"""Files of strangers at the commands that read them: a picture or one line, soon, with little memory; no code runs."""

import contextlib
import io
import multiprocessing
import re
import resource
import time
import warnings
from pathlib import Path

import pytest

pytest.importorskip("mcap_ros2", reason="mcap-ros2-support is not installed: make setup")
pytest.importorskip("pyarrow", reason="pyarrow is not installed: make setup")

from bench.attack.files import (  # noqa: E402
    MutatedFiles,
    hostile_recordings,
    hostile_scenes,
    parameters,
    states,
    write_recording,
)
from robodyn_ros import RobodynError, Robot  # noqa: E402
from robodyn_ros.commands.command_line import main  # noqa: E402
from robodyn_ros.description.resources import robot_file  # noqa: E402

LONGEST, LARGEST = 10.0, 400
"""Processor time [s], with imports and pictures, and growth of memory [MB]."""


def judged(command, conclusion):
    """Run commands in this process, and send what each came to."""
    for words in iter(command.recv, None):
        before, begin, told = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, time.process_time(), io.StringIO()
        try:
            with contextlib.redirect_stderr(told), contextlib.redirect_stdout(io.StringIO()):
                code = main(words)
        except BaseException as error:  # what a user would see as a traceback
            code = f"{type(error).__name__}: {error}"
        grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) // 1024
        conclusion.send((code, told.getvalue(), time.process_time() - begin, grown))


@pytest.fixture(scope="module")
def run():
    """Runs commands in one other process, which would be killed with its memory; returns exit codes and errors."""
    fork = multiprocessing.get_context("fork")
    (command, commands), (conclusion, conclusions) = fork.Pipe(False), fork.Pipe(False)
    process = fork.Process(target=judged, args=(command, conclusions))
    process.start()

    def run(*words):
        commands.send([str(word) for word in words])
        assert conclusion.poll(120.0), f"{words}: no end"
        code, error, seconds, grown = conclusion.recv()
        assert code in (0, 1, 2) and seconds < LONGEST and grown < LARGEST, (words, code, seconds, grown)
        assert len(error.splitlines()) <= 2 and len(error) < 5000, error
        return code, error

    yield run
    commands.send(None)
    process.join(10.0)
    process.kill()


@pytest.mark.parametrize("part", [0, *(pytest.param(part, marks=pytest.mark.long) for part in (1, 2, 3, 4))])
def test_recordings(run, tmp_path, monkeypatch, part):
    """Each part reads a fifth of the recordings, and those whose exit code is known."""
    monkeypatch.chdir(tmp_path)
    Path("evil.urdf.xacro").write_text("<robot/>")
    codes, known = {}, {"bomb": 2, "bomb_that_lies": 2, "names_long": 2, "position_huge": 2, "fifo": 2,
                        "names_formula": 0}
    paths = list(hostile_recordings(tmp_path))
    for path in [*paths[part::5], *(path for path in paths if path.stem in known)]:
        codes[path.stem], error = run("plot", path, "--output", tmp_path / "picture.png")
        assert codes[path.stem] == 0 or path.name in error, error
        if path.stem.startswith(("metadata", "gravity", "description")):
            run("identify", path, "--robot", "planar_2r", "--output", tmp_path / "out")
    assert known.items() <= codes.items()
    assert not Path("ran").exists()


def test_recorded_rates_and_times_that_no_simulation_has(run, tmp_path):
    pytest.importorskip("rclpy")
    topics = ("/joint_states", "/joint_commands")
    for number, rate in enumerate((0, -1, "x", 1e308, [1], float("nan"), 1e-300)):
        path = write_recording(tmp_path / f"{number}.mcap", states(), parameters=parameters(update_rate=rate),
                               topics=topics)
        code, error = run("replay", path, "--robot", "planar_2r", "--open-loop")
        assert code == 2 and "recorded parameters: update_rate" in error
    apart = write_recording(tmp_path / "apart.mcap", [*states(3), *states(3, begin=2e9)], topics=topics,
                            parameters=parameters(update_rate=500, time_mode="scaled"))
    code, error = run("replay", apart, "--robot", "planar_2r", "--open-loop")
    assert code == 2 and "at most 20000000 can be replayed" in error


def test_scenes(tmp_path):
    pytest.importorskip("mujoco")
    from robodyn_ros.simulation.mujoco_plant import MujocoPlant

    robot = Robot.from_urdf(robot_file("planar_2r"))
    for path in hostile_scenes(tmp_path):
        before, begin = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, time.thread_time()
        with pytest.raises(RobodynError, match=re.escape(path.name)) as refusal:
            MujocoPlant(robot, scene=str(path))
        assert "\n" not in str(refusal.value)
        assert time.thread_time() - begin < 2.0 and resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 4e5


def test_mutated_files(tmp_path):
    files = MutatedFiles(tmp_path)
    outcomes = {kind: set() for kind in files.kinds}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for number in range(20):
            for kind, found in outcomes.items():
                fault = files.fault(kind, 1, number)
                assert not fault, (kind, number, fault)
                found.add(fault)
    assert all(None in found for found in outcomes.values())
