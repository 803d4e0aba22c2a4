# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

import logging
import os
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest
from urdf_parts import one_joint

from robodyn_ros.base import code_cache
from robodyn_ros.compile import compile_function, machine
from robodyn_ros.description.resources import robot_file

KEY, OTHER = code_cache.digest("one"), code_cache.digest("other")
IMAGE = bytes(range(256)) * 40


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch) -> Path:
    """A cache of the test's own."""
    monkeypatch.setenv(code_cache.VARIABLE, str(tmp_path / "cache"))
    monkeypatch.setattr(code_cache, "_logged", set())
    return tmp_path / "cache"


def entry(folder, key=KEY):
    return folder / f"{key}.code"


def test_what_was_stored_is_loaded_and_nothing_else():
    assert code_cache.load(KEY) is None
    code_cache.store(KEY, IMAGE)
    assert code_cache.load(KEY) == IMAGE
    assert code_cache.load(OTHER) is None


def test_digest_tells_parts_apart():
    all_parts = ("ab", "c"), ("a", "bc"), ("abc",), ("abc", ""), ("c", "ab")
    assert len({code_cache.digest(*parts) for parts in all_parts}) == 5
    assert code_cache.digest("é") == code_cache.digest("é".encode())


@pytest.mark.parametrize("damage", [
    lambda content: b"",
    lambda content: content[:20],
    lambda content: content[:-1],
    lambda content: content + b"\0",
    lambda content: content[:100] + bytes([content[100] ^ 1]) + content[101:],
    lambda content: bytes([content[0] ^ 1]) + content[1:],
])
def test_damaged_entry_is_not_used_and_is_replaced(folder, damage):
    code_cache.store(KEY, IMAGE)
    entry(folder).write_bytes(damage(entry(folder).read_bytes()))
    assert code_cache.load(KEY) is None
    code_cache.store(KEY, IMAGE)
    assert code_cache.load(KEY) == IMAGE


def test_entry_under_another_name_is_not_used(folder):
    code_cache.store(KEY, IMAGE)
    entry(folder).rename(entry(folder, OTHER))
    assert code_cache.load(OTHER) is None


@pytest.fixture
def compilations(monkeypatch) -> list[str]:
    """The modules that LLVM compiled."""
    texts, compiled = [], machine._object_code
    monkeypatch.setattr(machine, "_object_code", lambda text, routines: texts.append(text) or compiled(text, routines))
    return texts


def double_sine(x):
    return 2.0 * np.sin(x)


def test_kernels_are_compiled_once_per_cache(folder, compilations):
    x = np.linspace(-1.0, 1.0, 3)
    for _ in range(3):
        kernel = compile_function(double_sine, {"x": (3,)})
        np.testing.assert_allclose(kernel(x), double_sine(x), rtol=1e-15)
        np.testing.assert_allclose(kernel.batch(x[None]), double_sine(x)[None], rtol=1e-15)
    assert len(compilations) == 2
    for path in folder.iterdir():
        path.write_bytes(path.read_bytes()[:50])
    np.testing.assert_allclose(compile_function(double_sine, {"x": (3,)})(x), double_sine(x), rtol=1e-15)
    assert len(compilations) == 3


def test_changed_constant_shape_or_compiler_is_compiled_anew(compilations, monkeypatch):
    compile_function(lambda x: 2.0 * x, {"x": (3,)})
    compile_function(lambda x: 3.0 * x, {"x": (3,)})
    compile_function(lambda x: 2.0 * x, {"x": (4,)})
    monkeypatch.setattr(machine, "_compiler", lambda: "another LLVM, or another processor")
    compile_function(lambda x: 2.0 * x, {"x": (3,)})
    assert len(compilations) == 4


def test_what_the_compiler_is_includes_llvm_processor_and_code(monkeypatch):
    def now():
        machine._compiler.cache_clear()
        return machine._compiler()

    before = now()
    assert now() == before
    with monkeypatch.context() as other:
        other.setattr(machine.llvmlite, "__version__", "0.0.1")
        assert now() != before
    with monkeypatch.context() as other:
        here = machine.host()
        other.setattr(machine, "host", lambda: here._replace(features="-fma"))
        assert now() != before
    with monkeypatch.context() as other:
        other.setattr(machine, "__file__", code_cache.__file__)
        assert now() != before
    assert now() == before


def unusable(folder, kind):
    """Put something unusable in the place of the cache."""
    if kind == "a file":
        folder.write_text("")
    elif kind == "a link to a file":
        folder.symlink_to(__file__)
    elif kind == "below a file":
        (folder.parent / "file").write_text("")
        folder.symlink_to(folder.parent / "file" / "cache")
    elif kind == "writable by others":
        folder.mkdir(mode=0o700)
        folder.chmod(0o777)
    elif kind == "with an entry writable by others":
        code_cache.store(KEY, IMAGE)
        entry(folder).chmod(0o666)
    elif kind == "with an entry that is a link":
        code_cache.store(OTHER, IMAGE)
        entry(folder).symlink_to(entry(folder, OTHER))
    elif kind == "with an entry that is a directory":
        entry(folder).mkdir(parents=True)
        folder.chmod(0o700)


@pytest.mark.parametrize(("kind", "level"), [
    ("a file", "WARNING"),
    ("a link to a file", "WARNING"),
    ("below a file", "DEBUG"),
    ("writable by others", "WARNING"),
    ("with an entry writable by others", "WARNING"),
    ("with an entry that is a link", "DEBUG"),
    ("with an entry that is a directory", "DEBUG"),
])
def test_place_that_will_not_do_is_not_used(folder, kind, level, caplog):
    unusable(folder, kind)
    caplog.set_level(logging.DEBUG, logger=code_cache.__name__)
    x = np.ones(2)
    for _ in range(2):
        assert code_cache.load(KEY) is None
        np.testing.assert_array_equal(compile_function(lambda x: x + x, {"x": (2,)})(x), x + x)
    assert [record.levelname for record in caplog.records] == [level]
    assert code_cache.VARIABLE in caplog.text


def test_an_entry_that_is_a_fifo_is_not_waited_for(folder, caplog):
    code_cache.store(OTHER, IMAGE)
    os.mkfifo(entry(folder), 0o600)
    loaded = []
    loading = threading.Thread(target=lambda: loaded.append(code_cache.load(KEY)), daemon=True)
    loading.start()
    loading.join(5.0)
    assert loaded == [None]
    assert "plain files" in caplog.text
    code_cache.store(KEY, IMAGE)  # replaces it
    assert code_cache.load(KEY) == IMAGE


def test_an_immense_entry_is_not_read(folder, monkeypatch):
    code_cache.store(KEY, IMAGE)
    monkeypatch.setattr(code_cache, "MAX_SIZE", len(IMAGE))
    assert code_cache.load(KEY) is None


def test_directory_of_another_user_is_not_used(folder, monkeypatch, caplog):
    code_cache.store(KEY, IMAGE)
    user = os.geteuid()
    monkeypatch.setattr(os, "geteuid", lambda: user + 1)
    assert code_cache.load(KEY) is None
    code_cache.store(OTHER, IMAGE)
    assert not entry(folder, OTHER).exists()
    assert "another user" in caplog.text


def test_full_disk_is_survived(folder, monkeypatch):
    def full(source, target):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", full)
    code_cache.store(KEY, IMAGE)
    assert code_cache.load(KEY) is None
    assert list(folder.iterdir()) == []


def test_only_this_user_can_enter(folder):
    code_cache.store(KEY, IMAGE)
    assert folder.stat().st_mode & 0o777 == 0o700
    assert entry(folder).stat().st_mode & 0o777 == 0o600


def test_longest_unused_entries_go(folder, monkeypatch):
    monkeypatch.setattr(code_cache, "MAX_SIZE", 5 * (len(IMAGE) + 32))
    keys = [code_cache.digest(str(number)) for number in range(6)]
    stranger = folder / "notes.txt"
    for age, key in enumerate(keys[:5]):
        code_cache.store(key, IMAGE)
        os.utime(entry(folder, key), (1000.0 + age, 1000.0 + age))
    stranger.write_text("not ours")
    assert code_cache.load(keys[0]) == IMAGE  # used, so not the longest unused any more
    code_cache.store(keys[5], IMAGE)
    assert [key for key in keys if entry(folder, key).exists()] == [keys[0], keys[4], keys[5]]
    assert stranger.exists()


def test_contents_are_counted_and_cleared(folder):
    assert code_cache.contents() == code_cache.clear() == (0, 0)
    code_cache.store(KEY, IMAGE)
    code_cache.store(OTHER, IMAGE)
    (folder / "notes.txt").write_text("not ours")
    assert code_cache.contents() == (2, 2 * (len(IMAGE) + 32))
    assert code_cache.clear() == (2, 2 * (len(IMAGE) + 32))
    assert [path.name for path in folder.iterdir()] == ["notes.txt"]


@pytest.mark.parametrize(("given", "xdg", "expected"), [
    (None, "", "home/.cache/robodyn_ros"),
    (None, "relative", "home/.cache/robodyn_ros"),
    (None, "{tmp}/caches", "caches/robodyn_ros"),
    ("{tmp}/own", "{tmp}/caches", "own"),
    ("~/own", "", "home/own"),
    ("~there_is_no_such_user/own", "", None),
    ("", "", None),
    ("off", "", None),
])
def test_where_it_is(tmp_path, monkeypatch, given, xdg, expected):
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("XDG_CACHE_HOME", xdg.format(tmp=tmp_path))
    monkeypatch.delenv(code_cache.VARIABLE)
    if given is not None:
        monkeypatch.setenv(code_cache.VARIABLE, given.format(tmp=tmp_path))
    assert code_cache.directory() == (None if expected is None else tmp_path / expected)
    code_cache.store(KEY, IMAGE)
    assert code_cache.load(KEY) == (None if expected is None else IMAGE)


HAMMER = """
import sys
from robodyn_ros.base import code_cache
key, wrong = code_cache.digest("hammered"), 0
image = bytes(range(256)) * 2000
for _ in range(150):
    code_cache.store(key, image)
    wrong += code_cache.load(key) != image
sys.exit(wrong > 0)
"""


def test_processes_and_threads_may_write_the_same_entry(folder):
    processes = [subprocess.Popen([sys.executable, "-c", HAMMER]) for _ in range(3)]
    key, image, wrong = code_cache.digest("hammered"), bytes(range(256)) * 2000, []

    def hammer():
        for _ in range(50):
            code_cache.store(key, image)
            if code_cache.load(key) != image:
                wrong.append(1)

    threads = [threading.Thread(target=hammer) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [process.wait(60) for process in processes] == [0, 0, 0]
    assert not wrong
    assert code_cache.contents().entries == 1
    assert len(list(folder.iterdir())) == 1


@pytest.mark.parametrize("umask", [0o002, 0o000])
def test_the_users_own_folder_is_private_whoever_made_it_first(umask, tmp_path, monkeypatch, caplog):
    monkeypatch.delenv(code_cache.VARIABLE)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "of_user"))
    pytest.importorskip("xacrodoc", reason="xacrodoc is not installed: make setup")
    file = tmp_path / "arm.urdf.xacro"
    file.write_text(one_joint())
    before = os.umask(umask)
    try:
        expanded = robot_file(file)
        code_cache.store(KEY, IMAGE)
        assert code_cache.load(KEY) == IMAGE
        made = expanded.parent, code_cache.user_folder()
        for folder in made:
            folder.chmod(0o775)  # as an earlier version created it
        assert code_cache.load(KEY) == IMAGE
        robot_file(file)
    finally:
        os.umask(before)
    assert [folder.stat().st_mode & 0o777 for folder in made] == [0o700, 0o700]
    assert not caplog.records


def test_a_folder_of_another_user_is_never_made_private(tmp_path, monkeypatch):
    monkeypatch.setattr(os, "geteuid", lambda: os.getuid() + 1)
    (tmp_path / "there").mkdir(mode=0o755)
    with pytest.raises(PermissionError, match="belongs to another user"):
        code_cache.make_private(tmp_path / "there")
    assert (tmp_path / "there").stat().st_mode & 0o777 == 0o755
