# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""The benchmarks' machinery, with few repetitions: every comparison first checks that both sides agree."""

import importlib.util
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from bench import __main__ as bench_main
from bench import report
from bench.timing import Comparison, compare, enough_calls

HAS_ROS = importlib.util.find_spec("rclpy") is not None
HAS_PEERS = all(importlib.util.find_spec(name) for name in ("pinocchio", "mujoco"))
needs_peers = pytest.mark.skipif(not HAS_PEERS, reason="the peers are not installed: pip install 'robodyn_ros[bench]'")


def test_ratio_is_the_median_of_the_repetitions():
    result = Comparison(np.array([1.0, 2.0, 9.0]), np.array([2.0, 2.0, 3.0]))
    assert result.ratio == 1.0
    assert result.spread == (0.75, 2.0)


def test_both_sides_are_called_alternately():
    calls = []
    result = compare(lambda: calls.append("ours"), lambda: calls.append("peer"), repetitions=3, seconds=0.0)
    assert len(result.ours) == len(result.peer) == 3
    assert "".join(call[0] for call in calls[-6:]) == "opopop"


def test_slow_functions_are_called_once():
    calls = []
    assert enough_calls(lambda: calls.append(1), 0.0) == 1
    assert len(calls) == 1


@pytest.mark.parametrize(("ratio", "least", "cells"), [
    (0.3, False, ["0.3", "0.3 to 0.3", "0.4", "met"]),
    (0.5, False, ["0.5", "0.5 to 0.5", "0.4", "**missed**"]),
    (0.5, True, ["0.5", "0.5 to 0.5", "0.4", "met"]),
])
def test_aims(ratio, least, cells):
    assert report.ratio_cells(Comparison(np.full(3, ratio), np.ones(3)), 0.4, least) == cells
    assert report.ratio_cells(Comparison(np.full(3, ratio), np.ones(3)), 1 / 30)[2] == "1/30"


def test_section_becomes_markdown(capsys):
    section = report.Section("Title", "Words.", ("a", "b"), lambda: [["1", "2"]], "images/x.svg", lambda: "A limit.")
    assert section.run("row") == (
        "## Title\n\n`python -m bench row`. Words.\n\n| a | b |\n| --- | --- |\n| 1 | 2 |\n\n![Title](images/x.svg)"
        "\n\nA limit.")
    assert "| 1 | 2 |" in capsys.readouterr().out


@needs_peers
def test_full_run_writes_the_report(monkeypatch, tmp_path):
    section = report.Section("Title", "Words.", ("a",), lambda: [["1"]])
    monkeypatch.setattr(bench_main, "SECTIONS", {"row": "bench.report:THE_ROW"})
    monkeypatch.setattr(report, "THE_ROW", section, raising=False)
    monkeypatch.setattr(bench_main, "DOCS", tmp_path)
    monkeypatch.setattr(sys, "argv", ["bench", "row"])
    bench_main.main()
    assert list(tmp_path.iterdir()) == []
    monkeypatch.setattr(sys, "argv", ["bench"])
    bench_main.main()
    text = (tmp_path / "benchmarks.md").read_text()
    assert text.startswith("# Benchmarks\n") and text.endswith("\n\n" + section.run("row") + "\n")


def test_every_row_is_a_section():
    need_ros = {"start_up", "round_trips", "node_cost", "real_time", "browser_view", "recorder"}
    for name in bench_main.SECTIONS if HAS_ROS else set(bench_main.SECTIONS) - need_ros:
        assert bench_main.section(name).title


@pytest.mark.long
@needs_peers
def test_single_calls_and_batches_agree_with_pinocchio():
    from bench import batch, single_call
    from bench.pinocchio_calls import calls, derivative_calls, other_calls
    from bench.robots import Pair, tree

    pair = Pair(tree([("trunk", "base", 1), ("left", "trunk", 1), ("right", "trunk", 1)]))
    for functions in (calls(pair), derivative_calls(pair), other_calls(pair)):
        assert len(list(single_call.run(pair, functions, repetitions=1))) == len(functions)
        for call in functions:
            result = batch.run(pair, call, samples=40, looped=20, repetitions=1)
            assert min(result.one.ours.min(), result.two.ours.min(), result.new.ours.min()) > 0.0


@needs_peers
def test_check_finds_wrong_numbers():
    from bench.pinocchio_calls import calls, check
    from bench.robots import Pair, chain

    pair = Pair(chain(3))
    gravity = next(call for call in calls(pair) if call.name == "gravity")
    q = np.ones(3)
    right = pair.robot.dynamics().gravity(q)
    check(gravity, pair, right, (q,))
    with pytest.raises(AssertionError, match="gravity"):
        check(gravity, pair, right + 1e-6, (q,))


@pytest.mark.long
def test_loops_with_plants_as_inputs_agree_with_those_that_have_them_built_in():
    from bench import varied_plants

    for plant in varied_plants.plants().values():
        varied = varied_plants.everything(plant)
        assert varied_plants.ticks(plant, varied, robots=9, duration=0.05, repetitions=1).ratio > 0.0
    assert varied_plants.compiling(plant, varied, robots=1, repetitions=1).ratio > 0.0


@pytest.mark.long
@needs_peers
def test_steps_and_closed_loops_agree_with_mujoco():
    from bench import closed_loop, plant
    from bench.robots import Pair

    pair = Pair(plant.damped(Pair.shipped("arm7").urdf))
    assert plant.one(pair, steps=50, repetitions=1).ratio > 0.0
    assert plant.many(pair, 2, robots=19, steps=20, repetitions=1).ratio > 0.0
    assert plant.rollout(pair, 2, robots=5, steps=20, repetitions=1).ratio > 0.0
    assert closed_loop.one(duration=0.2, repetitions=1).ratio > 0.0
    assert closed_loop.many(1, duration=0.1, robots=9, repetitions=1).ratio > 0.0


@pytest.mark.long
@needs_peers
def test_environments_agree_with_those_of_gymnasium_and_with_rollouts_of_mujoco():
    from bench import learn

    pytest.importorskip("gymnasium", reason="Gymnasium is not installed: make setup")
    assert learn.against_gymnasium("SyncVectorEnv", steps=3, repetitions=1, robots=9).ratio > 0.0
    assert learn.against_rollout(steps=3, repetitions=1, robots=9).ratio > 0.0


@pytest.mark.long
def test_identification_explains_efforts_as_plain_least_squares_do():
    from bench import identification_time

    samples, result = identification_time.comparison("scara", duration=10.0, repetitions=1)
    assert samples > 4000 and result.ratio > 0.0


@pytest.mark.long
@needs_peers
def test_growth_is_fitted_and_drawn(monkeypatch, tmp_path):
    from bench import growth

    monkeypatch.setattr(growth, "JOINTS", (2, 10, 12))
    monkeypatch.setattr(growth, "DOCS", tmp_path)
    rows = list(growth.rows(repetitions=1))
    assert [row[0] for row in rows] == ["2", "10", "12", "power, from 10 joints"]
    assert {len(row) for row in rows} == {len(growth.GROWTH.head)}
    assert (tmp_path / growth.IMAGE).read_text().startswith("<?xml")


@pytest.mark.long
@needs_peers
def test_large_robots_are_compared_in_every_function(monkeypatch):
    from bench import growth

    monkeypatch.setattr(growth, "HANDS", ())
    monkeypatch.setattr(growth, "HUMANOID", (("arm", "base", 3),))
    monkeypatch.setattr(growth, "LARGE", (4,))
    rows = list(growth.large_rows(repetitions=1))
    assert {len(row) for row in rows} == {len(growth.LARGE_ROBOTS.head)}
    assert len(rows) == 2 * len({row[0] for row in rows})  # each function, on both robots


def test_power_of_known_times():
    from bench import growth

    times = {n: {"f": Comparison(np.array([n**2.0]), np.array([3.0 * n]))} for n in (3, 10, 20, 40)}
    assert growth.power(times, "f", "ours") == pytest.approx(2.0)
    assert growth.power(times, "f", "peer") == pytest.approx(1.0)


@needs_peers
def test_new_process_answers():
    from bench import cold_start
    from bench.robots import chain

    took = cold_start.fresh(chain(2), ["gravity"], "off")
    assert took["answer"] > 0.0 and took["memory"] >= took["memory_before"] > 0.0


@pytest.mark.long
@needs_peers
def test_generated_code_agrees(tmp_path):
    from bench import generated_code
    from bench.robots import Pair, chain

    if not generated_code.available():
        pytest.skip(generated_code.INSTALL)
    pair = Pair(chain(3))
    code = generated_code.GeneratedCode(pair, tmp_path)
    assert list(code.instructions) == ["inverse_dynamics", "forward_dynamics", "mass_matrix"]
    for name in code.instructions:
        for result in generated_code.run(pair, code, name, samples=40, looped=20, repetitions=1):
            assert min(result.ours.min(), result.peer.min()) > 0.0
    heavier = Pair(chain(3).replace("<mass value='", "<mass value='1"))
    with pytest.raises(AssertionError, match="inverse_dynamics"):
        generated_code.run(heavier, code, "inverse_dynamics", samples=40, looped=20, repetitions=1)


@needs_peers
def test_generated_code_that_is_not_installed_is_said_to_be(monkeypatch):
    from bench import generated_code

    monkeypatch.setattr(generated_code, "available", lambda: False)
    (row,) = generated_code.rows()
    assert len(row) == len(generated_code.GENERATED_CODE.head)
    assert generated_code.INSTALL in row[0]


@pytest.mark.long
@needs_peers
@pytest.mark.skipif(not shutil.which("gcc"), reason="no C compiler: apt-get install gcc")
def test_an_exported_law_is_timed_beside_python(monkeypatch):
    from bench import exported_law

    monkeypatch.setattr(exported_law, "available", lambda: False)
    monkeypatch.setattr(exported_law, "EIGEN", Path("/nowhere"))  # Pinocchio takes a minute to compile
    ours, casadi, pinocchio, ticks = exported_law.rows(ticks=2000, repetitions=1)
    assert {len(row) for row in (ours, casadi, pinocchio, ticks)} == {len(exported_law.EXPORTED_LAW.head)}
    assert float(ours[1]) > 0.0 and exported_law.INSTALL in casadi[1]
    assert "median" in ticks[0] and "stack" in ticks[0]


@pytest.mark.long
@pytest.mark.skipif(not HAS_ROS, reason="ROS 2 is not installed")
def test_costs_of_processes_are_judged():
    from bench import node_cost

    with subprocess.Popen([sys.executable, "-c", "while True: pass"]) as busy, \
            subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"]) as sleeping:
        found = node_cost.shares({"busy": busy.pid, "sleeping": sleeping.pid}, 1.0)
        busy.kill()
        sleeping.kill()
    assert 0.0 <= found["sleeping"] < found["busy"] < 1.5
    one, two, three = (np.array([share]) for share in (0.01, 0.02, 0.03))
    assert node_cost._judged("hardware", three, three, two) == [
        "3.0", "1.3", "3.0", "1", "1 to 1", "met", "2.0", "1.5", "1.5 to 1.5", "**missed**"]
    assert node_cost._judged("dynamics", three, two, one) == [
        "3.0", "2 %", "2.0", "1.5", "1.5 to 1.5", "**missed**", "1.0", "3", "3 to 3", ""]
    assert node_cost._judged("dynamics", two, two, one)[5] == "met"
    assert len(["robot", "node", *node_cost._judged("hardware", one, one, one)]) == len(node_cost.NODE_COST.head)


@pytest.mark.long
@needs_peers
def test_parts_of_the_compiler_are_left_out():
    from bench.compile_parts import PARTS, rows

    simplified, each_once = PARTS[:2]
    found = list(rows([simplified, each_once], repetitions=1))
    assert [row[0] for row in found] == [simplified.name] * 2 + [each_once.name]
    for name, left_out in simplified.left_out.items():
        assert getattr(simplified.owner, name) is not left_out
