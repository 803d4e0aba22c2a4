# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""README and docs/ work: every block runs in order, in a folder of the page's own."""

from pathlib import Path

import pages
import pytest

from robodyn_ros.description.resources import robot_file

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
REFERENCE = [page for page in PAGES if page.parent.name == "docs" and page.stem != "index"]
"""Their Python runs in test/test_documents.py; their commands run in the checkout, on the files that they show."""
LANGUAGES = {"c", "sh", "console", "python", "py", "yaml", "xml", "text", "math", "mermaid"}
SHELL = ("sh", "console")
ARMS = {"docs/recordings.md": ("my_arm.urdf", "heavier.urdf"), "docs/urdf.md": ("my_robot.urdf", "my_robot.urdf.xacro")}
"""Descriptions that the reader of a page has."""
XACRO = '<robot xmlns:xacro="http://www.ros.org/wiki/xacro" name="arm6"><xacro:arg name="gripper" default="false"/>'


def is_read(page, block):
    return page not in REFERENCE or block.language in SHELL or pages.FILE.match(block.text)


def provide(page, folder):
    """Give a page the files that its reader has."""
    if page in REFERENCE:
        for name in ("bench", "config", "robodyn_ros", "urdf"):
            (folder / name).symlink_to(ROOT / name)
    for name in ARMS.get(page.relative_to(ROOT).as_posix(), ()):
        text = Path(robot_file("arm6")).read_text()
        (folder / name).write_text(text.replace('<robot name="arm6">', XACRO) if name.endswith("xacro") else text)
    if page.name == "rollouts.md":
        pytest.importorskip("recorded_bags", reason="rosbags is not installed: make setup").record_planar_2r(
            folder / "run_1")


@pytest.mark.long
@pytest.mark.parametrize("page", [page for page in PAGES if any(
    block.language in SHELL and not block.reason or page not in REFERENCE for block in pages.blocks(page))],
    ids=lambda page: page.stem)
def test_page_works(page, tmp_path, monkeypatch):
    provide(page, tmp_path)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setenv("MPLBACKEND", "agg")
    with pages.Reader(tmp_path) as reader:
        for block in pages.blocks(page):
            if is_read(page, block):
                reader.read(block)


@pytest.mark.lint
@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_every_block_is_run_or_says_why_not(page):
    for block in pages.blocks(page):
        assert block.language in LANGUAGES, f"a block needs its language, so that commands are run:\n{block.text}"
        assert not block.reason or pages.may_be_left_out(block), f"this block could be run:\n{block.text}"
        if not block.reason and block.language == "console":
            assert block.text.startswith("$ ")


def test_shown_output_is_compared():
    output = "a\njoint 1.5 is at  -0.25 rad\nthe end"
    assert pages.missing(["a", "joint 2 is at 0.1 rad"], output) == ""
    assert pages.missing(["…", "joint … rad", "the end"], output) == ""
    assert pages.missing(["the end", "a"], output) == "a"
    assert pages.missing(["joint 2 is near 0.1 rad"], output) == "joint 2 is near 0.1 rad"


def test_commands_are_told_from_output():
    block = pages.Block("console", "$ a \\\n  b    # note\nshown\n^C\n$ python - <<'EOF'\n$ no\nEOF\n", "")
    assert pages.commands(block) == [
        ("a \\\n  b    # note", ["shown"]), ("^C", []), ("python - <<'EOF'\n$ no\nEOF", [])]


def test_a_block_that_could_be_run_is_run(tmp_path):
    with pages.Reader(tmp_path) as reader, pytest.raises(AssertionError, match="could be run"):
        reader.read(pages.Block("sh", "robodyn robots\n", "it is long"))


def test_a_command_that_fails_fails(tmp_path):
    with pages.Reader(tmp_path) as reader:
        with pytest.raises(AssertionError, match="ended with 3"):
            reader.read(pages.Block("sh", "exit 3\n", ""))
        with pytest.raises(AssertionError, match="did not print"):
            reader.read(pages.Block("console", "$ echo one\ntwo\n", ""))


def test_what_python_code_prints_is_compared(tmp_path):
    with pages.Reader(tmp_path) as reader:
        reader.read(pages.Block("python", "print('mass', 2.5)\n", ""))
        reader.read(pages.Block("text", "mass 3.5\n", ""))
        reader.read(pages.Block("python", "print('mass', 2.5)\n", ""))
        with pytest.raises(AssertionError, match="did not print 'length"):
            reader.read(pages.Block("text", "length 3.5\n", ""))
