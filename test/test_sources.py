"""docs/sources.md and docs/errata.md hold together with the code: keys resolve, functions and tests exist."""

import ast
import importlib
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
SOURCES = (ROOT / "docs" / "sources.md").read_text(encoding="utf-8")
ERRATA = (ROOT / "docs" / "errata.md").read_text(encoding="utf-8")
KEYS = set(re.findall(r"^- \*\*\[(\w+)\]\*\*", SOURCES, re.MULTILINE))
CITATION = re.compile(r"\[([A-Z][a-z][A-Za-z]+)\](?!\()")
"""A key, not the text of a link nor a unit such as [N m] or [Hz]."""


def docstrings(path):
    tree = ast.parse(path.read_text(encoding="utf-8"))
    documented = ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef
    return [ast.get_docstring(node) or "" for node in ast.walk(tree) if isinstance(node, documented)]


@pytest.mark.parametrize("path", sorted(ROOT.glob("robodyn_ros/*/")), ids=lambda path: path.name)
def test_cited_keys_are_in_the_bibliography(path):
    units = {"Hz"}
    for file in path.rglob("*.py"):
        for text in docstrings(file):
            unknown = set(CITATION.findall(text)) - KEYS - units
            assert not unknown, f"{file.relative_to(ROOT)} cites {unknown}, which docs/sources.md does not explain"


def test_the_bibliography_names_the_texts():
    assert {"LynchPark", "Yamamoto", "LagrangeNotes", "ManipulatorNotes", "Properties"} <= KEYS
    assert set(CITATION.findall(ERRATA)) <= KEYS


def test_functions_of_the_tables_exist():
    rows = [line.split("|") for line in SOURCES.splitlines() if line.startswith("|")]
    named = {name for row in rows for name in re.findall(r"`((?:\w+\.)+\w+)`", row[3])}
    assert len(named) > 10
    for name in named:
        module, attributes = "robodyn_ros", name.split(".")
        while (ROOT / module.replace(".", "/")).is_dir():
            module += "." + attributes.pop(0)
        found = importlib.import_module(module)
        for attribute in attributes:
            found = getattr(found, attribute)
        assert callable(found), name


def test_tests_of_the_errata_exist():
    for file in re.findall(r"`(test/[\w/]+\.py)`", ERRATA):
        assert (ROOT / file).is_file(), file
    tests = "".join(path.read_text(encoding="utf-8") for path in (ROOT / "test").rglob("test_*.py"))
    named = re.findall(r"`(test_\w+)(…?)`", ERRATA)
    assert named
    for name, shortened in named:
        rest = r"\w+" if shortened else ""
        assert re.search(rf"def {name}{rest}\(", tests), name
