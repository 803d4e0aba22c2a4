# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""A minute of ``make attack``: descriptions, and the nodes under messages and kills."""

import json
import random
import subprocess
import sys
from pathlib import Path

import pytest

from bench.attack.descriptions import mutated_yaml, yaml_fault
from bench.attack.report import Report
from robodyn_ros.base.errors import MAX_MESSAGE_LENGTH, InputError

ROOT = Path(__file__).parents[2]


def test_mutated_yaml_is_refused_or_valid(tmp_path):
    path = tmp_path / "hardware.yaml"
    outcomes = []
    for number in range(40):
        path.write_bytes(mutated_yaml(1, number))
        outcomes.append(yaml_fault(path))
    assert set(outcomes) == {None, ""}


def test_the_same_seed_gives_the_same_attacks():
    assert [mutated_yaml(3, i) for i in range(20)] == [mutated_yaml(3, i) for i in range(20)]
    assert [mutated_yaml(3, i) for i in range(20)] != [mutated_yaml(4, i) for i in range(20)]
    assert len(str(InputError("x" * 10**5))) < MAX_MESSAGE_LENGTH + 100


def test_the_report_names_what_failed_and_how_to_repeat_it(tmp_path):
    report = Report(seed=7)
    report.count("kills", "tried", "fell")
    report.measure("kills", "gap [s]", 0.2)
    report.measure("kills", "gap [s]", 0.1)
    report.fail("kills", 5, "no joint states")
    assert "kills 5 (--seed 7): no joint states" in report.text() and "1 fell, 1 tried" in report.text()
    report.write(tmp_path / "report.json")
    written = json.loads((tmp_path / "report.json").read_text())
    assert written["worst"] == {"kills": {"gap [s]": 0.2}} and written["failures"] == report.failures
    assert Report.read(tmp_path / "report.json") == report


def test_the_report_of_a_run_has_those_of_its_parts(tmp_path):
    faults, inputs = Report(seed=7), Report(seed=7)
    faults.count("kill of hardware", "tried", times=3)
    inputs.count("messages", "tried", times=40)
    inputs.memory["controller"] = [100.0, 101.0]
    inputs.fail("messages", 1, "no joint states")
    run = Report.merged([faults, inputs])
    assert run.tried("kill of hardware") == 3 and run.tried("messages") == 40 and run.tried("URDFs") == 0
    assert run.memory == inputs.memory and run.failures == inputs.failures
    assert "controller                  100.0 101.0" in run.text()


def test_absurd_messages_can_be_sent():
    absurd = pytest.importorskip("bench.attack.absurd", reason="needs ROS 2")
    from diagnostic_msgs.msg import DiagnosticArray
    from geometry_msgs.msg import PoseWithCovarianceStamped
    from rclpy.serialization import serialize_message
    from trajectory_msgs.msg import JointTrajectory

    chance = random.Random(2)
    for kind in (JointTrajectory, DiagnosticArray, PoseWithCovarianceStamped):
        sent = {absurd.bytes_of(kind, chance) for _ in range(50)}
        assert len(sent) > 20
        assert len(serialize_message(absurd.largest(kind))) >= max(map(len, sent))


@pytest.mark.long
def test_a_minute(tmp_path, second_domain):
    """Without the gaps, which need a machine with nothing else to do: make attack judges them."""
    pytest.importorskip("rclpy")
    done = subprocess.run([sys.executable, "-m", "bench.attack", "--minutes", "1", "--seed", "1",
                           "--input-domain", str(second_domain), "--report", str(tmp_path / "report.json")], cwd=ROOT,
                          capture_output=True, text=True, timeout=600.0)
    assert (tmp_path / "report.json").exists(), done.stdout + done.stderr
    report = Report.read(tmp_path / "report.json")
    assert [text for text in report.failures if "no joint state for" not in text] == [], done.stdout + done.stderr
    assert report.tried("hostile files") >= 70 and report.tried("recordings") >= 10
    assert report.tried("URDFs") >= 100 and report.tried("messages") >= 300 and report.tried("kill of controller") >= 1
    assert report.tried("laws") >= 1
    assert report.worst["kill of controller"]["beyond law [N m]"] < 1e-6
    assert set(report.memory) == {"hardware", "controller", "dynamics", "state_publisher"}


@pytest.mark.long
@pytest.mark.parametrize("killed", ["controller", "hardware", "listener"])
def test_killed_nodes_do_not_hold_up_the_others(killed):
    pytest.importorskip("rclpy")
    command = ("bench.attack.kill_stalls", "--node", killed, "--kills", "2", "--limit", "0.5")
    done = subprocess.run([sys.executable, "-m", *command], cwd=ROOT, capture_output=True, text=True, timeout=180.0)
    assert done.returncode == 0, done.stdout + done.stderr
    assert f"2 kills of {killed}: 0 held up the survivor" in done.stdout
