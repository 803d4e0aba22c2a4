# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.


"""The comparison of published robots with Pinocchio, on the shipped ones and on files that are refused."""

from pathlib import Path

import pytest
from urdf_parts import link, one_joint, robot

pytest.importorskip("pinocchio", reason="Pinocchio is not installed: make bench")

from bench.published_robots import SAME, Result, examine, files, table  # noqa: E402
from robodyn_ros.description.resources import robot_file  # noqa: E402


def test_files_that_load_are_compared_and_others_are_counted(tmp_path):
    held = one_joint().replace("</robot>", link("finger", "") + '<joint name="g" type="prismatic"><parent link="b"/>'
                               '<child link="finger"/><limit lower="0.1" upper="1" effort="1" velocity="1"/></joint>'
                               "</robot>")
    for name, text in (("arm", robot_file("arm7").read_text()), ("same", robot_file("arm7").read_text()),
                       ("bare", one_joint("")), ("held", held), ("broken", robot(link("a"), link("b")))):
        (tmp_path / f"{name}.urdf").write_text(text)
    results = [examine(file) for file in files([tmp_path])]
    assert [Path(result.file).stem for result in results] == ["arm", "bare", "broken", "held"]
    arm, bare, broken, held = results
    for result in (arm, bare, held):
        assert result.peer_reads and result.difference < 1e-12, result
    assert (arm.has_inertia, bare.has_inertia, held.held) == (True, False, 1)
    assert "2 root links" in broken.refusal and not broken.peer_reads
    lines = table(results)
    assert "| of these loaded here | 3 |" in lines and "| compared: mass matrix and gravity | 2 |" in lines
    assert "| there are … root links | 1 | 0 |" in lines


def test_what_differs_is_named():
    lines = table([Result("a.urdf", peer_reads=True, difference=2 * SAME)])
    assert f"| different by more than {SAME:g} | 1 |" in lines and "different by 2e-09: a.urdf" in lines
