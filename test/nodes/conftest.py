# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""What tests of nodes share. Imported late: rclpy need not be there."""

import os
from pathlib import Path

import pytest


@pytest.fixture(scope="module", autouse=True)
def plugins_are_found():
    """Let the nodes find this directory's plugins, as they would a user's installed package."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", str(Path(__file__).parent), prepend=os.pathsep)
        yield


@pytest.fixture(scope="module")
def probe():
    """The node of runtime_probe.py, for the tests of a file.

    A file names it in its ``pytestmark`` if its tests ask it by ``ros`` alone.
    """
    from probe_rig import start

    with start() as process:
        yield process
