# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Profiles of drivers: files, values per joint, and errors that say what to do."""

import numpy as np
import pytest

from robodyn_ros import InputError
from robodyn_ros.actuation.driver_profile import DRIVERS, GENERIC, DriverProfile


def test_the_drivers_of_the_package_say_what_their_documents_say():
    assert set(DRIVERS.names) == {GENERIC, "ur", "franka", "kuka_fri", "kortex"}
    profiles = {name: DRIVERS.load(name) for name in DRIVERS.names}
    assert all(profile.source and profile.name for profile in profiles.values())
    assert {name for name, profile in profiles.items() if profile.compensates_gravity} == {"ur", "franka", "kuka_fri"}
    assert not profiles[GENERIC].changes_commands and not profiles["kortex"].changes_commands
    assert profiles["franka"].effort_rate == pytest.approx(1000.0 - 1e-3)
    assert profiles["ur"].viscous_compensation == [0.9, 0.9, 0.8, 0.9, 0.9, 0.9]
    assert {profile.rate for profile in profiles.values()} == {None, 500.0, 1000.0}


def test_a_list_counts_from_the_base_and_its_last_number_for_all_further_joints():
    profile = DriverProfile("a", "b", viscous_compensation=[0.9, 0.8, 0.7], coulomb_compensation=0.5)
    np.testing.assert_array_equal(profile.per_joint("viscous_compensation", 5), [0.9, 0.8, 0.7, 0.7, 0.7])
    np.testing.assert_array_equal(profile.per_joint("viscous_compensation", 2), [0.9, 0.8])
    np.testing.assert_array_equal(profile.per_joint("coulomb_compensation", 3), 0.5)


@pytest.mark.parametrize(("line", "words"), [
    ("effort: watts", "effort: expected one of 'drive_torque'.*received 'watts'"),
    ("viscous_compensation: 1.5", r"viscous_compensation: expected a finite number from 0 to 1.*1\.5"),
    ("coulomb_compensation: [0.5, .nan]", "coulomb_compensation: expected a finite number from 0 to 1"),
    ("coulomb_compensation: []", r"coulomb_compensation: expected .*received \[\]"),
    ("effort_resolution: -1", "effort_resolution: expected a finite number of 0 or more"),
    ("effort_rate: 0", "effort_rate: expected a finite number above 0"),
    ("effort_rate: fast", "effort_rate: expected a finite number above 0.*'fast'"),
    ("delay: -1", "delay: expected a whole number from 0 to 64"),
    ("delay: 100000", "delay: expected a whole number from 0 to 64"),
    ("rate: 0", "rate: expected"),
    ("gravity: true", "unknown key 'gravity'"),
])
def test_a_bad_file_is_told_with_its_place(tmp_path, line, words):
    file = tmp_path / "mine.yaml"
    file.write_text(f"name: mine\nsource: measured\n{line}\n")
    with pytest.raises(InputError, match=f"^{file}: .*{words}"):
        DRIVERS.load(str(file))


@pytest.mark.parametrize(("name", "words"), [
    ("urs", "parameter 'driver': unknown driver 'urs': did you mean 'ur'.*path of a file"), ("", "unknown driver ''"),
    ("/nowhere/ur.yaml", "unknown driver '/nowhere/ur.yaml'")])
def test_unknown_drivers_are_named(name, words):
    with pytest.raises(InputError, match=words):
        DRIVERS.load(name, "parameter 'driver'")
