# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""docs/sources.md and docs/errata.md hold together with texts and code.

Keys resolve, no equation is missing, and the named functions and tests exist and cite the equations of their rows.
"""

import ast
import importlib
import inspect
import re
from pathlib import Path
from typing import NamedTuple

import pytest

pytestmark = pytest.mark.lint

ROOT = Path(__file__).parents[1]
SOURCES = (ROOT / "docs" / "sources.md").read_text(encoding="utf-8")
ERRATA = (ROOT / "docs" / "errata.md").read_text(encoding="utf-8")
KEYS = set(re.findall(r"^- \*\*\[(\w+)\]\*\*", SOURCES, re.MULTILINE))
CITATION = re.compile(r"\[([A-Z][a-z][A-Za-z]+)\](?!\()")
"""A key, not the text of a link nor a unit such as [N m] or [Hz]."""

EQUATIONS = {
    "Yamamoto": {"1": (1, 37), "2": (1, 7), "3": (1, 47), "4": (1, 40), "5": (1, 4), "6": (1, 49), "A": (1, 10),
                 "B": (1, 13), "C": (1, 16), "D": (1, 15), "E": (1, 10), "F": (1, 16), "G": (1, 12), "H": (1, 4)},
    "LagrangeNotes": {"": (27, 50)},
    "ManipulatorNotes": {"4.3": (1, 8)},
    "LynchPark": {"9": (3, 99)},
}
"""Of each text the numbers of the equations, or of sections, by chapter: first and last."""

RANGE = re.compile(r"\((?:(\d|[A-H])\.)?(\d+)\)(?:(?: to |–|-)\((?:\1\.)?(\d+)\))?")
"""As (9.53), or (9.53)-(9.57), or (27) where the text has no chapters."""

SECTION = re.compile(r"\b(4\.3)\.(\d)()")
"""Of [ManipulatorNotes], whose equations have no numbers."""


class Row(NamedTuple):
    """Of a table: the cells by the heading of their column, and the key of the text that the table is about."""

    key: str
    cells: dict[str, str]

    def __str__(self) -> str:
        return f"{self.key} {next(iter(self.cells.values()))}"


def rows(document):
    """All rows of the tables in a document."""
    found, key, heading = [], "", []
    for line in document.splitlines():
        if line.startswith("#"):
            key, heading = line.strip("# []"), []
        elif line.startswith("|") and not heading:
            heading = [cell.strip() for cell in line.strip("|").split("|")]
        elif line.startswith("|") and "---" not in line:
            cells = [cell.strip() for cell in re.split(r"(?<!\\)\|", line[1:-1])]
            found.append(Row(key, dict(zip(heading, cells, strict=True))))
        elif not line.startswith("|"):
            heading = []
    return found


ROWS = rows(SOURCES)
MISPRINTS = rows(ERRATA)


def numbers(text, key):
    """Citations of one source in a text: pairs of chapter and number, ranges written out."""
    found = set()
    for chapter, first, last in (SECTION if key == "ManipulatorNotes" else RANGE).findall(text):
        if chapter in EQUATIONS[key]:
            found |= {(chapter, number) for number in range(int(first), int(last or first) + 1)}
    return found


def docstrings(path):
    tree = ast.parse(path.read_text(encoding="utf-8"))
    documented = ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef
    return [ast.get_docstring(node) or "" for node in ast.walk(tree) if isinstance(node, documented)]


def resolve(name):
    """The objects on the way to a dotted name below ``robodyn_ros``, module first."""
    if name.startswith("Robot"):
        name = name.replace("Robot.dynamics()", "dynamics.robot_dynamics.Dynamics").replace("Robot.", "robot.Robot.")
    module, attributes = "robodyn_ros", name.split(".")
    while attributes and (ROOT / module.replace(".", "/")).is_dir():
        module += "." + attributes.pop(0)
    way = [importlib.import_module(module)]
    for attribute in attributes:
        if not hasattr(way[-1], attribute) and attribute in getattr(way[-1], "__annotations__", {}):
            return way  # a field of a class
        way.append(getattr(way[-1], attribute))
    return way


def functions(cell):
    """What a cell names: one way of objects for each name; one without dots is beside, or in, the one before.

    What it names after "with" only has to exist.
    """
    cell, _, used = cell.partition(" with ")
    for name in re.findall(r"`(\w+\.[\w.]+)`", used):
        resolve(name)
    ways = []
    for name in re.findall(r"`([\w.()]+)`", cell):
        if "." in name:
            ways.append(resolve(name))
        else:
            owner = next((owner for owner in reversed(ways[-1]) if hasattr(owner, name)), None) if ways else None
            assert owner is not None, f"`{name}` follows no name that it belongs to"
            ways.append([*ways[-1][: ways[-1].index(owner) + 1], getattr(owner, name)])
    return ways


def assert_tests_exist(cell):
    """A cell names one or more tests, as file::test, or as ::test of the file before it."""
    named = re.findall(r"`([\w/.]*)::(\w+)`", cell)
    assert named
    file = ""
    for path, name in named:
        file = path or file
        text = (ROOT / "test" / file).read_text(encoding="utf-8")
        assert re.search(rf"^def {name}\(", text, re.MULTILINE), f"test/{file} has no {name}"


def problems(check, rows_to_check):
    """Findings of a check of rows, each with its row, as one text; empty if nothing is wrong."""
    found = []
    for row in rows_to_check:
        try:
            check(row)
        except (AssertionError, AttributeError, ImportError, OSError) as error:
            found.append(f"{row}: {type(error).__name__}: {error}")
    return "\n".join(found)


def test_cited_keys_are_in_the_bibliography():
    units = {"Hz"}
    cited = {file: set(CITATION.findall("\n".join(docstrings(file)))) - KEYS - units
             for file in sorted(ROOT.glob("robodyn_ros/**/*.py"))}
    unknown = {str(file.relative_to(ROOT)): keys for file, keys in cited.items() if keys}
    assert not unknown, "docs/sources.md does not explain these keys"


def test_the_bibliography_names_the_texts():
    assert {*EQUATIONS, "Properties"} <= KEYS
    assert set(CITATION.findall(ERRATA)) <= KEYS
    assert {row.key for row in MISPRINTS} == set(EQUATIONS)  # none was found in [Properties]


def test_no_property_is_missing():
    assert [row.cells["property"] for row in ROWS if row.key == "Properties"] == ["1", "2", "3"]


def test_no_equation_is_missing():
    missing = {}
    for key, chapters in EQUATIONS.items():
        listed = set().union(*(numbers(next(iter(row.cells.values())), key) for row in ROWS if row.key == key))
        expected = {(chapter, number) for chapter, (first, last) in chapters.items()
                    for number in range(first, last + 1)}
        missing |= {key: sorted(expected - listed)} if expected - listed else {}
    assert not missing, "docs/sources.md does not say where these equations are"


def test_functions_and_tests_of_every_row_exist():
    def check(row):
        ways = functions(row.cells["function"])
        assert ways or re.match(r"NumPy|arrays|not a function of its own", row.cells["function"])
        assert row.cells["tested against"]
        assert_tests_exist(row.cells["test"])

    found = problems(check, ROWS)
    assert not found, found


def test_docstrings_cite_the_equations_of_their_row():
    def check(row):
        wanted = numbers(next(iter(row.cells.values())), row.key)
        for way in functions(row.cells["function"]) if wanted else []:
            texts = [inspect.getdoc(step) or "" for step in way]
            cited = set().union(*(numbers(text, row.key) for text in texts if f"[{row.key}]" in "".join(texts)))
            assert cited & wanted, f"{way[-1]} cites {sorted(cited)}"

    found = problems(check, [row for row in ROWS if row.key in EQUATIONS])
    assert not found, found


def test_tests_of_the_errata_exist():
    found = problems(lambda row: assert_tests_exist(row.cells["test"]), MISPRINTS)
    assert not found, found
