# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Tables of parameters in docs/ agree with the declarations."""

import re

import parameter_tables
import pytest

from robodyn_ros.control.plugins.registry import controller_names, load_controller
from robodyn_ros.simulation.quantities import QUANTITIES

pytestmark = pytest.mark.lint

OURS = [name for name in controller_names() if load_controller(name).__module__.startswith("robodyn_ros.")]
TEXTS = {path.name: path.read_text(encoding="utf-8") for path in parameter_tables.documents()}


@pytest.mark.ros
@pytest.mark.parametrize("document", TEXTS)
def test_tables_are_current(document):
    text = TEXTS[document]
    assert parameter_tables.rendered(text) == text, f"docs/{document}: run python tools/parameter_tables.py"


@pytest.mark.ros
def test_the_names_of_all_nodes_are_those_that_they_declare():
    text = parameter_tables.NAMES.read_text(encoding="utf-8")
    assert parameter_tables.names_rendered(text) == text, "run python tools/parameter_tables.py"
    assert {"step", "controller", "payload.", "constraints.", "initial_position."} <= parameter_tables.parameter_names()


def test_the_message_of_actuators_has_the_outputs_of_the_plant():
    text = parameter_tables.MESSAGE.read_text(encoding="utf-8")
    assert parameter_tables.message_rendered(text) == text, "run python tools/parameter_tables.py"
    assert "bool[] effort_saturated" in text and "Header header" in text


def test_every_law_and_every_node_has_one_table():
    tables = [name for text in TEXTS.values() for name in parameter_tables.names(text)]
    others = [*parameter_tables.NODES, *parameter_tables.SETTINGS, "filter", "friction_compensation", "observations",
              "modes", "mode_changes", "quantities", "surfaces"]
    assert sorted(tables) == sorted({*OURS, *others} - DIVIDED)


DIVIDED = {"actuator", "values"}


def test_each_row_of_a_divided_table_stands_with_one_part_of_the_plant():
    found = parameter_tables.divided(TEXTS["plant.md"])
    assert sorted(found) == sorted((name, row) for name in DIVIDED for row in parameter_tables.row_names(name))
    assert not [name for name, text in TEXTS.items() if name != "plant.md" and parameter_tables.divided(text)]


def test_the_parts_of_the_plant_name_the_quantities_that_vary_them():
    named = set(re.findall(r"`((?:friction|motor|gear|transmission)\.\w+)`", TEXTS["plant.md"]))
    assert named == {name for name in QUANTITIES if name.split(".")[0] in ("friction", "motor", "gear", "transmission")}


def test_a_table_is_written_anew_and_the_rest_of_the_text_stays():
    before, after = "# Title\n\n<!-- parameters: pd -->\n", "<!-- end of parameters -->\n\nMore of `pd.gains`.\n"
    written = parameter_tables.rendered(f"{before}| stale |\n{after}")
    assert written.startswith(before) and written.endswith(after) and "stale" not in written
    assert "| `pd.gains.<joint>.p` | N m/rad (N/m) | stiffness of each joint | 0 to 10⁹ | " in written
    assert parameter_tables.rendered(written) == written


def test_a_table_beside_another_one_leaves_its_rows_out():
    def table(marks):
        return parameter_tables.rendered(f"<!-- parameters: {marks} -->\n<!-- end of parameters -->\n")

    assert "`pd_gravity.gains.<joint>.p`" in table("pd_gravity")
    beside = table("pd_gravity beside pd")
    assert "| meaning |" in beside and "`pd_gravity.lead`" in beside and ".gains." not in beside
    assert "|" not in table("operational_space beside pd_gravity resolved_acceleration")
