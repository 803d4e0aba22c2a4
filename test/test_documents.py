# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""README and docs/: Python of the reference runs, links and files are there, a table names every control law."""

import os
import re
import shutil
import subprocess
import sys
import unicodedata
from pathlib import Path

import numpy as np
import pytest
from browser import PATIENCE, open_browser

from robodyn_ros import Robot, rollout
from robodyn_ros.commands.study_file import read_study
from robodyn_ros.compile import Compute, Repeat, compile_procedure
from robodyn_ros.control.plugins.registry import controller_names, load_controller, make_controller
from robodyn_ros.description.denavit_hartenberg import DHRow
from robodyn_ros.description.model import Inertia
from robodyn_ros.description.resources import robot_file
from robodyn_ros.simulation.standard_motion import excursion
from robodyn_ros.toolbox.study.run import run_study

ROOT = Path(__file__).parents[1]
DOCUMENTS = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
REFERENCE = sorted((ROOT / "docs").glob("*.md"))
"""Those whose Python runs here; test/test_pages.py works through README, tutorials and how-to guides."""

FOLDERS = "examples|robodyn_ros|robodyn_interfaces|test|tools|bench|config|launch|urdf|docs|requirements"
ELSEWHERE = {"config/ur5e/physical_parameters.yaml"}
"""Files of other repositories that documents name."""


def blocks():
    """Each Python block that is meant to be run as it stands, with the document's name and its number there."""
    for document in REFERENCE:
        name = document.relative_to(ROOT).as_posix()
        sources = re.findall(r"^```python\n(.*?)^```", document.read_text(), re.DOTALL | re.MULTILINE)
        for number, source in enumerate(sources):
            yield pytest.param(name, source, id=f"{name}-{number}")


def halve(q):
    return 0.5 * q


def taken_for_granted(name):
    """Names that the text around the blocks of a document uses."""
    if name == "docs/rollouts.md":
        parameters = make_controller("computed_torque", Robot.from_urdf(robot_file("arm6"))).parameters
        return {"parameters_1": parameters, "parameters_2": parameters}
    rng = np.random.default_rng(0)
    q, v, a = rng.uniform(-1.0, 1.0, (3, 7))
    if name == "docs/architecture.md":
        robot, body = Robot.from_urdf(robot_file("arm7")), Inertia(1.0, np.zeros(3), 0.01 * np.eye(3))
        return {
            "Robot": Robot, "rollout": rollout, "q": q, "v": v, "a": a,
            "path": robot_file("arm7"), "xml": robot_file("arm7").read_text(),
            "trajectory": excursion(robot), "target": np.eye(4),
            "table": [DHRow(0.1, 1.0, 0.2, 0.3, inertia=body)] * 7,
        }
    if name == "docs/compile.md":
        return {
            "np": np, "q": q, "v": v, "Q": np.tile(q, (3, 1)), "V": np.tile(v, (3, 1)),
            "function": lambda q, v: np.sin(q) * v, "other": print,
            "law": lambda reference, gains, q, v: gains[0] * (reference[:7] - q) - gains[1] * v,
            "step": lambda q, v, tau: (q + 0.001 * v, v + 0.001 * tau),
            "references": np.zeros((1000, 21)), "gains": np.ones((2, 7)), "many_gains": np.ones((3, 2, 7)),
            "step_procedure": compile_procedure({"q": (7,)}, [Repeat("steps", [Compute(halve, "q", "q")])], "q", "q"),
        }
    return {}


@pytest.fixture(scope="module")
def names():
    """Names that the blocks of each document have defined so far."""
    return {}


@pytest.mark.lint
@pytest.mark.parametrize(("document", "source"), list(blocks()))
def test_python_runs(document, source, names, monkeypatch, tmp_path):
    monkeypatch.chdir(ROOT)
    if "my_robot.urdf" in source:
        text = Path(robot_file("arm6")).read_text().replace('"tool0"', '"gripper"')
        (tmp_path / "my_robot.urdf").write_text(text)
        monkeypatch.chdir(tmp_path)
    if '"run_1"' in source:
        recorded_bags = pytest.importorskip("recorded_bags", reason="rosbags is not installed: make setup")
        recorded_bags.record_planar_2r(tmp_path / "run_1")
        monkeypatch.chdir(tmp_path)
    if ".write_text(" in source or "onnx.save(" in source:  # not into the checkout
        monkeypatch.chdir(tmp_path)
    if "arm.yaml" in source or "arm_study" in source:
        monkeypatch.chdir(tmp_path)
        (page,) = re.findall(r"```yaml\n# arm.yaml\n(.*?)```", (ROOT / document).read_text(), re.DOTALL)
        Path("arm.yaml").write_text(page.replace("samples: 256", "samples: 8"))
        run_study(read_study("arm.yaml"), Path("arm_study"))
    known = names.setdefault(document, {"__name__": "document", **taken_for_granted(document)})
    exec(compile(source, document, "exec"), known)


@pytest.mark.lint
@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_links_and_files_are_there(document):
    text = document.read_text()
    prose = re.sub(r"^```.*?^```", "", text, flags=re.DOTALL | re.MULTILINE)
    links = [link for link in re.findall(r"\]\(([\w./#:-]+)\)", prose) if "://" not in link]
    for link in links:
        path, _, anchor = link.partition("#")
        target = document.parent / path if path else document
        assert target.exists(), f"{document.name}: {link}"
        if anchor:
            titles = re.findall(r"^#+ (.+)$", target.read_text(), re.MULTILINE)
            assert anchor in {re.sub(r"[^\w -]", "", title).lower().replace(" ", "-") for title in titles}, link
    files = set(re.findall(rf"(?<![\w/.])((?:{FOLDERS})/[\w/.-]*\w\.\w+)", text)) - ELSEWHERE
    assert not [name for name in sorted(files) if not any((folder / name).exists() for folder in (ROOT, ROOT / "test"))]


@pytest.mark.lint
def test_a_table_names_every_control_law():
    ours = {name for name in controller_names() if load_controller(name).__module__.startswith("robodyn_ros.")}
    text = (ROOT / "docs" / "controllers.md").read_text()
    table = re.search(r"^\| controller \| law \|.*?\n(.*?)\n\n", text, re.DOTALL | re.MULTILINE)
    named = [name for row in table[1].splitlines() for name in re.findall(r"`(\w+)`", row.split("|")[1])]
    assert sorted(named) == sorted(ours)


@pytest.mark.lint
def test_the_files_on_a_calls_way_exist():
    page = (ROOT / "docs" / "architecture.md").read_text()
    section = re.search(r"^## How a call travels\n.*?(?=^## )", page, re.DOTALL | re.MULTILINE)[0]
    named = re.findall(r"`([\w/]+\.py)`", section)
    below = [name if name.startswith(("robodyn_ros/", "test/")) else f"robodyn_ros/{name}" for name in named]
    assert len(below) > 15 and not [name for name in below if not (ROOT / name).is_file()]


@pytest.mark.lint
def test_the_code_has_the_error_messages_of_the_index():
    """Parts of a text that stand in several literals are joined; `…` in the index is what the code puts in."""
    sources = (path.read_text(encoding="utf-8") for path in (ROOT / "robodyn_ros").rglob("*.py"))
    code = re.sub(r'"\s*\n\s*f?"', "", "\n".join(sources))
    index = (ROOT / "docs" / "error-messages.md").read_text(encoding="utf-8")
    messages = [message for row in re.findall(r"^\| (`.*?) \| ", index, re.MULTILINE)
                for message in re.findall(r"`([^`]+)`", row)]
    assert len(messages) > 50
    assert not [text for text in messages if not re.search(".*".join(map(re.escape, text.split("…"))), code)]


FORMULA = re.compile(r"\$[^$\n]+\$")
MATHEMATICS = re.compile(
    r"[Α-Ωα-ω\u0302-\u0304\u0307\u0308\u20dbᵀ∫√∂Σ∑½⁺₀-₉ᵢⱼ]|(?<!\d)⁻¹|(?<![\w./`-])[A-Za-z]_[A-Za-z0-9](?![\w(.])")
"""Signs of formulas, and letters with an index; units such as kg m² and limits such as 10⁻⁶ have none."""


@pytest.mark.lint
@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_formulas_are_typeset(document):
    """Prose has mathematics between dollar signs only, not as text and not as code; GitHub shows these as well."""
    prose = re.sub(r"^```.*?^```", "", document.read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE)
    plain = []
    for line in FORMULA.sub("", prose).splitlines():
        text = unicodedata.normalize("NFC", re.sub(r"\]\([^)]*\)|`[^`]*`", "", line))
        in_code = re.search(r"`[^`]*[Α-Ωα-ωᵀ∫√∂][^`]*`", line)
        if MATHEMATICS.search(text) or "\u0307" in unicodedata.normalize("NFD", text) or in_code:
            plain.append(line)
    assert not plain, plain
    assert not [formula for formula in FORMULA.findall(prose) if re.search(r"\\[^A-Za-z]", formula)], (
        "GitHub drops the backslash before a sign: take a block of the language math")


@pytest.fixture(scope="module")
def built_pages(tmp_path_factory):
    """Folder of the pages, as `make docs` builds them, by a process that cannot reach the network."""
    pytest.importorskip("sphinx", reason="sphinx is not installed: make setup FOR=docs")
    folder = tmp_path_factory.mktemp("documents")
    source = shutil.copytree(ROOT / "docs", folder / "docs", ignore=shutil.ignore_patterns("generated", "_build"))
    done = subprocess.run([sys.executable, "-m", "sphinx", "-W", "--keep-going", "-q", source, folder / "pages"],
                          env={**os.environ, "http_proxy": "http://127.0.0.1:9", "https_proxy": "http://127.0.0.1:9"},
                          capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-5000:]
    return folder / "pages"


@pytest.mark.long
def test_pages_build_without_a_warning(built_pages):
    assert (built_pages / "reference" / "generated" / "robodyn_ros.robot.html").is_file()


@pytest.mark.long
def test_built_pages_typeset_formulas_without_a_network(built_pages):
    """Every formula is drawn, fits the page, and no page asks a host for anything."""
    written, asked = 0, []
    with open_browser() as browser:
        page = browser.new_page(viewport={"width": 800, "height": 900}, offline=True)
        page.set_default_timeout(1000.0 * PATIENCE)
        page.on("request", lambda request: asked.append(request.url))
        for document in sorted((ROOT / "docs").rglob("*.md")):
            count = len(FORMULA.findall(re.sub(r"^```.*?^```", "", document.read_text(encoding="utf-8"),
                                               flags=re.DOTALL | re.MULTILINE)))
            if not count:
                continue
            built = built_pages / document.relative_to(ROOT / "docs").with_suffix(".html")
            page.goto(built.as_uri())
            page.wait_for_function("document.querySelectorAll('mjx-container').length > 0 && "
                                   "document.querySelectorAll('mjx-container').length === "
                                   "document.querySelectorAll('.math').length")
            assert page.locator("mjx-container").count() >= count, document.name
            assert page.locator("mjx-merror").count() == 0, document.name
            assert page.evaluate("document.documentElement.scrollWidth") <= 800, document.name
            written += count
    assert written > 500
    assert asked and not [url for url in asked if not url.startswith(("file:", "data:"))]


USER_PAGES = [ROOT / "README.md", *sorted((ROOT / "docs" / "tutorials").glob("*.md")),
              *sorted((ROOT / "examples").glob("*.py")), *sorted((ROOT / "examples").glob("*.ipynb"))]


def test_users_import_from_few_modules():
    """README, tutorials and examples need five modules of this package, and those of messages."""
    found = {name for page in USER_PAGES for name in re.findall(
        r"^[ \"$]*(?:from|import) (robodyn_ros[\w.]*)", page.read_text(encoding="utf-8"), re.MULTILINE)}
    assert found <= {"robodyn_ros", "robodyn_ros.control", "robodyn_ros.trajectories", "robodyn_ros.learn",
                     "robodyn_ros.dynamics.regressor"}
