"""README, tutorials and how-to guides work: every block runs in order, in a folder of the page's own."""

from pathlib import Path

import pages
import pytest

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", ROOT / "docs" / "index.md", *sorted((ROOT / "docs" / "tutorials").glob("*.md")),
         *sorted((ROOT / "docs" / "how_to").glob("*.md"))]


@pytest.mark.long
@pytest.mark.parametrize("page", PAGES, ids=lambda path: path.stem)
def test_page_works(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setenv("MPLBACKEND", "agg")
    with pages.Reader(tmp_path) as reader:
        for block in pages.blocks(page):
            reader.read(block)


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
