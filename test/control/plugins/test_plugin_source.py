# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Plugins whose files change are imported anew with their imports from the same folder; others are kept."""

import gc
import importlib
import os
import py_compile
import sys
import textwrap
import weakref
from pathlib import Path

import pytest

from robodyn_ros import PluginError
from robodyn_ros.control.plugins.plugin_source import find_source, has_changed, import_current, plugin_sources
from robodyn_ros.control.plugins.registry import GROUP, controller_changed, controller_source, load_controller

MODULES = ("edited_plugin", "edited_helper", "edited_package", "edited_package.law", "edited_package.gains")


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder on the path with a plugin and a module that it imports."""
    monkeypatch.syspath_prepend(tmp_path)
    write(tmp_path / "edited_helper.py", "GAIN = 1.0")
    write(tmp_path / "edited_plugin.py", """
        from edited_helper import GAIN
        from robodyn_ros.control import Controller

        class Mine(Controller):
            gain, version = GAIN, 1

            def update(self, state, reference):
                return -self.gain * state.v
    """)
    yield tmp_path
    for name in MODULES:
        sys.modules.pop(name, None)


def write(file, text):
    file.parent.mkdir(exist_ok=True)
    file.write_text(textwrap.dedent(text))


def edit(file, old, new):
    assert old in file.read_text()
    file.write_text(file.read_text().replace(old, new))


def load():
    return load_controller("edited_plugin:Mine")


def test_a_plugin_whose_file_is_as_it_was_is_not_imported_again(folder):
    first = load()
    os.utime(folder / "edited_plugin.py")
    assert not controller_changed("edited_plugin:Mine")
    assert load() is first


@pytest.mark.parametrize(("file", "old", "new", "seen"), [
    ("edited_plugin.py", "GAIN, 1", "GAIN, 2", (1.0, 2)),
    ("edited_helper.py", "1.0", "3.0", (3.0, 1)),
])
def test_an_edit_is_seen_in_the_plugin_and_in_what_it_imports(folder, file, old, new, seen):
    first = load()
    edit(folder / file, old, new)
    assert controller_changed("edited_plugin:Mine")
    second = load()
    assert (second.gain, second.version) == seen
    assert (first.gain, first.version) == (1.0, 1), "who has the old class keeps it"
    assert not controller_changed("edited_plugin:Mine") and load() is second


def test_an_edit_within_the_same_second_is_seen_in_spite_of_kept_bytecode(folder):
    file = folder / "edited_plugin.py"
    load()
    times = file.stat().st_atime_ns, file.stat().st_mtime_ns
    py_compile.compile(str(file))
    edit(file, "GAIN, 1", "GAIN, 2")
    os.utime(file, ns=times)  # same size, same time: what Python takes for the same file
    assert load().version == 2


def test_a_helper_that_is_edited_is_new_for_every_plugin_that_imports_it(folder):
    write(folder / "edited_package" / "__init__.py", "")
    write(folder / "edited_package" / "gains.py", "GAIN = 1.0")
    for name in ("law", "other"):
        write(folder / "edited_package" / f"{name}.py", "from . import gains\nfrom edited_plugin import Mine\n\n"
              "class Law(Mine):\n    gain = gains.GAIN\n")
    names = [f"edited_package.{name}:Law" for name in ("law", "other")]
    assert [load_controller(name).gain for name in names] == [1.0, 1.0]
    write(folder / "edited_package" / "gains.py", "GAIN = 2.0")
    assert [load_controller(name).gain for name in names] == [2.0, 2.0]


def test_an_edit_that_fails_leaves_what_was_imported(folder):
    first, helper = load(), sys.modules["edited_helper"]
    edit(folder / "edited_helper.py", "1.0", "2.0")
    edit(folder / "edited_plugin.py", "class Mine(Controller):", "class Mine(Controller:")
    with pytest.raises(PluginError, match=r"edited_plugin\.py, line 5: class Mine\(Controller:\)"):
        load()
    edit(folder / "edited_plugin.py", "class Mine(Controller:", "class Mine(Missing):")
    with pytest.raises(PluginError, match=r"NameError: .*edited_plugin\.py, line 5: class Mine\(Missing\):\)"):
        load()
    assert sys.modules["edited_plugin"].Mine is first and sys.modules["edited_helper"] is helper
    edit(folder / "edited_plugin.py", "Mine(Missing)", "Mine(Controller)")
    assert load().gain == 2.0


def test_a_file_that_is_gone_for_a_moment_is_refused_and_comes_back(folder):
    first, file = load(), folder / "edited_plugin.py"
    text = file.read_text()
    file.unlink()
    with pytest.raises(PluginError, match="No module named 'edited_plugin'"):
        load()
    assert sys.modules["edited_plugin"].Mine is first
    file.write_text(text.replace("GAIN, 1", "GAIN, 2"))
    assert load().version == 2


def test_a_package_and_its_relative_imports(folder):
    write(folder / "edited_package" / "gains.py", "GAIN = 1.0")
    write(folder / "edited_package" / "law.py", """
        from edited_plugin import Mine
        from .gains import GAIN

        class Law(Mine):
            gain = GAIN
    """)
    write(folder / "edited_package" / "__init__.py", "from .law import Law")
    assert load_controller("edited_package:Law").gain == 1.0
    write(folder / "edited_package" / "gains.py", "GAIN = 2.0")
    assert load_controller("edited_package:Law").gain == 2.0
    assert load_controller("edited_package.law:Law").gain == 2.0
    assert sys.modules["edited_package"].law is sys.modules["edited_package.law"]


def test_an_installed_plugin_is_imported_anew_like_any_other(folder):
    metadata = folder / "edited_plugin-1.0.dist-info"
    write(metadata / "METADATA", "Metadata-Version: 2.1\nName: edited-plugin\nVersion: 1.0\n")
    write(metadata / "entry_points.txt", f"[{GROUP}]\nedited = edited_plugin:Mine\n")
    assert load_controller("edited").version == 1
    edit(folder / "edited_plugin.py", "GAIN, 1", "GAIN, 2")
    assert controller_changed("edited") and load_controller("edited").version == 2


def test_old_classes_are_freed(folder):
    old = []
    for version in range(1, 6):
        old.append(weakref.ref(load()))
        edit(folder / "edited_plugin.py", f"GAIN, {version}", f"GAIN, {version + 1}")
    load()
    gc.collect()
    assert [reference() for reference in old] == [None] * 5


def test_another_look_at_a_plugin_makes_no_new_paths(folder, monkeypatch):
    """Pathlib enters the parts of every new path into Python's table of names, which grew by 1 MB in 280 swaps."""
    load()
    monkeypatch.setattr(Path, "with_name", None)
    load()


def test_files_of_a_plugin_are_found_without_importing_it(folder):
    edit(folder / "edited_helper.py", "GAIN = 1.0", "import edited_plugin, os, json\nGAIN = 1.0")  # a circle
    source = controller_source("edited_plugin:Mine")
    assert [part.file for part in plugin_sources(source)] == [folder / "edited_plugin.py", folder / "edited_helper.py"]
    assert "edited_plugin" not in sys.modules
    edit(folder / "edited_plugin.py", "class Mine", "class (")
    assert list(plugin_sources(source)) == [source]
    with pytest.raises(PluginError, match="no source file of module 'no_such_module' on the PYTHONPATH"):
        controller_source("no_such_module:Mine")
    with pytest.raises(PluginError, match="no source file of module 'math'"):
        controller_source("math:Mine")


def test_modules_without_source_are_imported_once():
    assert import_current("math") is importlib.import_module("math")
    assert not has_changed("math") and not has_changed("edited_nowhere") and find_source("__main__") is None


def test_modules_of_other_folders_do_not_belong_to_a_plugin(folder):
    source = find_source("robodyn_ros.control.laws.pd_gravity")
    assert {part.file.parent for part in plugin_sources(source)} == {source.file.parent}
