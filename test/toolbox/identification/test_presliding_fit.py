# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Presliding of a simulated joint, from slow motion; faster motion does not tell it."""

import numpy as np
import pytest

from robodyn_ros import Plant, Robot
from robodyn_ros.actuation import MaxwellSlip
from robodyn_ros.actuation.configuration import HardwareSettings
from robodyn_ros.commands.command_line import main
from robodyn_ros.simulation.commands import Drive
from robodyn_ros.toolbox.identification.measured_motion import prepare
from robodyn_ros.toolbox.identification.presliding_fit import branches, fit_presliding

WHEEL = Robot.from_urdf_text("""<robot name="wheel"><link name="base"/><link name="rim"><inertial><mass value="1"/>
<inertia ixx="0.5" iyy="0.5" izz="0.5" ixy="0" ixz="0" iyz="0"/></inertial></link>
<joint name="axle" type="continuous"><parent link="base"/><child link="rim"/><axis xyz="0 0 1"/></joint></robot>""")
SIGMA, LEVEL, CUTOFF = 4e3, 2.0, 40.0


def recorded(amplitude, rate):
    """Time, positions and efforts under a stiff PD law, with encoders of 1 microradian."""
    plant = Plant(WHEEL, friction=MaxwellSlip(viscous=0.2, coulomb=LEVEL, stiffness=SIGMA, damping=5.0, elements=16))
    rows = []
    for k in range(10000):
        time = 1e-3 * k
        wanted, speed = amplitude * np.sin(rate * time), amplitude * rate * np.cos(rate * time)
        effort = 2e4 * (wanted - plant.q) + 200.0 * (speed - plant.v)
        rows.append([time, plant.q[0], effort[0]])
        plant.advance(Drive(effort, np.zeros(1), np.zeros(1)))
    time, q, effort = np.array(rows).T
    return time, q + np.random.default_rng(1).normal(0.0, 1e-6, len(q)), effort


def prepared(amplitude, rate):
    time, q, effort = recorded(amplitude, rate)
    return prepare(WHEEL.model, time, q[:, None], effort[:, None], "wheel", CUTOFF)


def test_slow_motion_tells_the_stiffness_within_its_deviation():
    motion = prepared(0.01, 1.5)
    found = fit_presliding(("axle",), motion, 0.5 * motion.a, CUTOFF)
    assert found.reasons == ("",)
    assert abs(found.stiffness[0] - SIGMA) < 3.0 * found.deviation[0] and found.deviation[0] < 0.1 * SIGMA
    assert found.level[0] == pytest.approx(LEVEL, rel=0.05)


def test_faster_motion_is_told_in_one_line():
    motion = prepared(1.0, 6.0)
    found = fit_presliding(("axle",), motion, 0.5 * motion.a, CUTOFF)
    assert not found.identified[0] and "too much to identify its presliding; move more slowly" in found.reasons[0]


def test_a_branch_is_the_closed_form_after_a_reversal():
    x = np.concatenate([np.linspace(0.0, 1.0, 500), np.linspace(1.0, 0.5, 500)])
    np.testing.assert_allclose(branches(x, 50.0)[500:], -1.0 + 2.0 * np.exp(-50.0 * (1.0 - x[500:])), atol=1e-9)


def test_the_command_writes_it_for_the_simulation(tmp_path, capsys):
    np.savez(tmp_path / "wheel.npz", **dict(zip(("t", "q", "e"), recorded(0.01, 1.5), strict=True)))
    (tmp_path / "wheel.urdf").write_text(WHEEL.model.description)
    assert main(["identify", str(tmp_path / "wheel.npz"), "--robot", str(tmp_path / "wheel.urdf"), "--time", "t",
                 "--positions", "q", "--efforts", "e", "--cutoff", "40", "--presliding", "--output",
                 str(tmp_path / "found")]) == 0
    assert "## Presliding" in capsys.readouterr().out
    friction = HardwareSettings.named(tmp_path / "found" / "actuators.yaml").joint_friction(WHEEL.model)
    assert isinstance(friction, MaxwellSlip)
    np.testing.assert_allclose([friction.stiffness[0], friction.coulomb[0]], [SIGMA, LEVEL], rtol=0.1)
