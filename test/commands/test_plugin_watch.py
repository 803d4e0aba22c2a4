# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Noticing that a plugin's source files were saved."""

import os

import pytest

from robodyn_ros.commands.plugin_watch import POLL_SECONDS, PluginWatch
from robodyn_ros.control.plugins.plugin_source import Source


class Looks:
    """Actions between two looks at the files, in place of waiting."""

    def __init__(self, *events):
        self.events = list(events)

    def __call__(self, seconds):
        assert seconds == POLL_SECONDS
        self.events.pop(0)()


def nothing():
    pass


@pytest.fixture
def file(tmp_path):
    (tmp_path / "helper.py").write_text("GAIN = 1")
    (tmp_path / "unused.py").write_text("")
    file = tmp_path / "law.py"
    file.write_text("import helper")
    return file


def saves(file, *events):
    """Whether a save is noticed exactly when all of these events have passed."""
    looks = Looks(*events)
    PluginWatch(Source("law", file), looks).wait_for_save()
    assert not looks.events


def never(file, *events):
    """Whether no save is noticed: the events run out."""
    with pytest.raises(IndexError):
        PluginWatch(Source("law", file), Looks(*events)).wait_for_save()


def test_files_are_the_module_and_what_it_imports(file):
    assert PluginWatch(Source("law", file)).files == [file, file.with_name("helper.py")]


@pytest.mark.parametrize("name", ["law.py", "helper.py"])
def test_a_save_is_noticed_once_the_file_rests(file, name):
    target = file.with_name(name)
    saves(file, nothing, lambda: target.write_text("import helper # a"), nothing)
    saves(file, lambda: target.write_text("import"), lambda: target.write_text("import helper # whole"), nothing)


def test_a_file_that_is_renamed_or_gone_for_a_moment_is_noticed_when_it_is_there(file):
    other = file.with_name("law.py.new")
    other.write_text(file.read_text())
    os.utime(other, ns=(file.stat().st_atime_ns, file.stat().st_mtime_ns))
    saves(file, lambda: os.replace(other, file), nothing)
    saves(file, file.unlink, nothing, nothing, lambda: file.write_text("import helper"), nothing)


def test_a_helper_that_is_written_later_counts(file):
    file.write_text("import helper, later")
    saves(file, lambda: file.with_name("later.py").write_text(""), nothing)


def test_other_files_and_no_change_are_no_save(file):
    never(file, nothing, lambda: file.with_name("unused.py").write_text("x = 1"), nothing, nothing)


def test_each_save_is_noticed_once(file):
    looks = Looks(lambda: file.write_text("import helper # a"), nothing, nothing, nothing)
    watch = PluginWatch(Source("law", file), looks)
    watch.wait_for_save()
    with pytest.raises(IndexError):
        watch.wait_for_save()
