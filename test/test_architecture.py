# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""The twelve rooms of docs/architecture.md: imports go down its list only, and ROS stays in nodes/."""

import ast
import re
import subprocess
import sys
import textwrap
from pathlib import Path
from xml.etree import ElementTree

import pytest

pytestmark = pytest.mark.lint
ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "robodyn_ros"
MODULES = sorted(PACKAGE.rglob("*.py"))
ENTRANCES = ("__init__", "__main__", "learn", "trajectories")
"""They stand outside of the house: they may import from every room, and no room may import them."""
EXCEPTIONS = {
    "description/completion/nearest_inertia.py": {"robodyn_ros.dynamics.spatial_inertia",
                                                  "robodyn_ros.dynamics.pseudo_inertia"},
    "description/completion/rotors_of_motors.py": {"robodyn_ros.actuation.configuration"},
}
"""Modules that a file imports from a room above its own: the completion of a description needs masses and motors."""


def rooms():
    """Rank of each room by name, the top one highest, as the table in docs/architecture.md lists them."""
    rows = [re.findall(r"`robodyn_ros/(\w+)(?:/|\.py)`", line.split("|")[1])
            for line in (ROOT / "docs" / "architecture.md").read_text().splitlines() if line.startswith("| `")]
    rows = [row for row in rows if row and any((PACKAGE / name).is_dir() or (PACKAGE / f"{name}.py").is_file()
                                               for name in row)]
    return {name: rank for rank, row in enumerate(reversed(rows)) for name in row}


def room_of(path):
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


def imports(path):
    """Every module that a file imports, at its top or later, with the line."""
    for node in ast.walk(ast.parse(path.read_text(), str(path))):
        if isinstance(node, ast.Import):
            yield from ((alias.name, node.lineno) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}:{node.lineno}: imports are absolute here"
            yield from ((f"{node.module}.{alias.name}", node.lineno) for alias in node.names)


def ros_modules():
    """Packages of ROS 2 that package.xml names."""
    root = ElementTree.parse(ROOT / "package.xml").getroot()
    names = {element.text for element in root.findall("exec_depend")}
    return {name for name in names if not name.startswith("python3-")}


def test_the_map_names_every_room():
    there = {room_of(path) for path in MODULES} - set(ENTRANCES)
    assert there == set(rooms()) and len(there - {"robot"}) == 12


def test_every_room_says_in_five_lines_what_to_open_first():
    for name in set(rooms()) - {"robot"}:
        text = ast.get_docstring(ast.parse((PACKAGE / name / "__init__.py").read_text()))
        _, _, first = text.partition("Open first:")
        files = re.findall(r"``([\w/]+\.py)``", first)
        assert len(text.splitlines()) <= 5 and len(files) == 3, name
        assert not [file for file in files if not (PACKAGE / name / file).is_file()], name


def upward_imports(path):
    """Imports of a module that lead into a room above its own, or into none."""
    rank, here = rooms(), room_of(path)
    if here in ENTRANCES:
        return
    for name, line in imports(path):
        parts = name.split(".")
        if parts[0] != "robodyn_ros" or name == "robodyn_ros.__version__":
            continue
        there = "robot" if parts[1] == "Robot" else parts[1]
        if there not in rank:
            yield f"{path}:{line} imports {name}, which is in no room"
        elif rank[there] > rank[here] and name.rpartition(".")[0] not in EXCEPTIONS.get(
                path.relative_to(PACKAGE).as_posix(), ()):
            yield f"{path}:{line}: {here} is below {there} and may not import {name}"


def test_imports_go_down():
    found = [problem for path in MODULES for problem in upward_imports(path)]
    assert not found, "\n".join(found)


def test_no_exception_is_left_that_nobody_needs():
    for file, modules in EXCEPTIONS.items():
        assert modules <= {name.rpartition(".")[0] for name, _ in imports(PACKAGE / file)}, file


def test_only_commands_and_nodes_import_the_toolbox():
    found = [f"{path}:{line} imports {name}" for path in MODULES for name, line in imports(path)
             if name.startswith("robodyn_ros.toolbox")
             and room_of(path) not in ("toolbox", "nodes", "commands", "learn")]
    assert not found, "\n".join(found)


def module_name(path):
    return ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")


def circles():
    """Groups of modules that import each other, directly or through others; the package's front page left out."""
    names = {module_name(path) for path in MODULES} - {"robodyn_ros"}
    graph = {module_name(path): set() for path in MODULES}
    for path in MODULES:
        for name, _ in imports(path):
            found = next((each for each in (name, name.rpartition(".")[0]) if each in names), None)
            if found is not None:
                graph[module_name(path)].add(found)
    reached = {name: set(after) for name, after in graph.items()}
    for middle in reached:
        for after in reached.values():
            if middle in after:
                after |= reached[middle]
    return {frozenset(each for each in names if each in reached[name] and name in reached[each])
            for name in names if name in reached[name]}


def test_no_modules_import_each_other_in_a_circle():
    assert not circles()


def test_no_two_public_classes_have_one_name():
    homes = {}
    for path in MODULES:
        for node in ast.parse(path.read_text()).body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                homes.setdefault(node.name, []).append(str(path.relative_to(PACKAGE)))
    assert not {name: paths for name, paths in homes.items() if len(paths) > 1}


def test_no_import_is_for_type_checkers_only():
    found = [f"{path}:{inner.lineno}" for path in MODULES for node in ast.walk(ast.parse(path.read_text()))
             if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test)
             for inner in ast.walk(node) if isinstance(inner, ast.Import | ast.ImportFrom)]
    assert not found, f"{', '.join(found)}: import it as everything else, or declare a narrower type"


def test_ros_stays_in_nodes():
    outside = [path for path in MODULES if room_of(path) != "nodes"]
    found = [f"{path}:{line} imports {name}; only nodes/ may" for path in outside for name, line in imports(path)
             if name.split(".")[0] in ros_modules()]
    assert not found, "\n".join(found)


def test_everything_but_nodes_imports_without_ros():
    names = [module_name(path) for path in MODULES if room_of(path) not in ("nodes", "__main__")]
    script = textwrap.dedent(f"""
        import importlib, sys
        for name in {sorted(ros_modules())!r}:
            sys.modules[name] = None    # importing it now raises ImportError
        for name in {names!r}:
            importlib.import_module(name)
    """)
    done = subprocess.run([sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_the_two_formulations_are_independent():
    """Neither of dynamics/ and textbook/ imports the other; of the rooms above, robot.py alone offers the textbook."""
    found = [f"{path.relative_to(PACKAGE)}:{line} imports {name}" for path in MODULES for name, line in imports(path)
             if (room_of(path), name.split(".")[1:2]) in (("dynamics", ["textbook"]), ("textbook", ["dynamics"]))
             or name.startswith("robodyn_ros.textbook") and room_of(path) not in ("textbook", "robot")]
    assert not found, found


PRIVATE_PARTS = {
    "nodes/internals/rclpy_parts.py": ("rclpy_implementation", "_make_handler",
                                       "_set_parameters_atomically_callback"),
    "nodes/internals/rcl.py": ("librcl", "librcutils"),
    "base/interpreter.py": ("_current_frames", "PyThreadState_SetAsyncExc", "_module_locks"),
    "toolbox/view/viser_parts.py": ("viser._messages", "_websock_interface", "_gui_input_handle_from_uuid",
                                    "websockets.asyncio.server.serve ="),
    "toolbox/learn/stable_baselines.py": ("_reset_seeds", "_get_indices"),
    "compile/python_entry.py": ("PyObject_Vectorcall", "_ARRAY_API"),
    "nodes/__init__.py": ("rosidl_generator_py.generate_py_impl",),
}
"""Files that use private interfaces of others, each with words that no other file may have."""

PUBLIC_NAMES = {"_replace", "_asdict", "_fields", "_make", "_field_defaults",  # NamedTuple
                "_getframe", "_exit",  # sys and os
                "_Element",  # lxml
                "_actions"}  # argparse has no other list of options
"""Names of others that begin with an underscore, and are documented or have no substitute."""


def attributes(tree):
    """Names of attributes that a module uses, and those that it defines."""
    used, defined = [], set()
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            defined.add(node.name)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            defined.add(node.id)
        elif isinstance(node, ast.Attribute):
            own = isinstance(node.ctx, ast.Store) and isinstance(node.value, ast.Name)
            defined.add(node.attr) if own else used.append((node.attr, node.lineno))
        elif isinstance(node, ast.arg):
            defined.add(node.arg)
        elif isinstance(node, ast.Call) and ast.unparse(node.func) in ("getattr", "hasattr", "setattr"):
            used += [(word.value, node.lineno) for word in node.args[1:2] if isinstance(word, ast.Constant)]
    return used, defined


def test_attributes_of_others_are_public():
    """Every other attribute that begins with an underscore is defined in the folder of the module that uses it."""
    found = {path.relative_to(PACKAGE): attributes(ast.parse(path.read_text())) for path in MODULES}
    defined = {}
    for path, (_, names) in found.items():
        defined.setdefault(path.parent, set()).update(names)
    strangers = [f"{path}:{line}: {name}" for path, (used, _) in found.items() if path.as_posix() not in PRIVATE_PARTS
                 for name, line in used if name.startswith("_") and not name.endswith("__")
                 and name not in defined[path.parent] | PUBLIC_NAMES]
    assert not strangers, strangers


def test_private_interfaces_of_others_are_used_in_one_file_each():
    texts = {path.relative_to(PACKAGE).as_posix(): path.read_text() for path in MODULES}
    for owner, words in PRIVATE_PARTS.items():
        for word in words:
            assert [name for name, text in texts.items() if word in text] == [owner], word
    strangers = [f"{path.relative_to(PACKAGE)}:{line}: {name}" for path in MODULES for name, line in imports(path)
                 if path.relative_to(PACKAGE).as_posix() not in PRIVATE_PARTS
                 and not name.startswith(("robodyn_", "argparse."))  # argparse has no other names of its types
                 and (name.startswith("unittest") or any(part.startswith("_") and not part.startswith("__")
                                                         for part in name.split(".")))]
    assert not strangers, strangers
