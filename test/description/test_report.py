# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Messages name the source, the line, the element, the problem and the remedy."""

import warnings

import pytest
from lxml import etree

from robodyn_ros.base.errors import DescriptionError, DescriptionWarning
from robodyn_ros.description.report import Report, label

ROOT = etree.fromstring('<robot name="r">\n<link name="arm">\n<inertial><mass value="1"/></inertial></link></robot>')


def test_labels_name_the_element_and_the_named_element_around_it():
    assert label(ROOT[0]) == "<link name='arm'>"
    assert label(ROOT.find(".//mass")) == "<mass> in <inertial> in <link name='arm'>"


def test_a_message_says_where_what_and_what_to_do():
    error = Report("robot.urdf").error(ROOT[0], "it is odd", "mend it")
    assert str(error) == "robot.urdf, line 2, <link name='arm'>: it is odd; mend it"
    assert str(Report("robot.urdf").error(None, "it is odd", "mend it")) == "robot.urdf: it is odd; mend it"


def test_warnings_are_issued_at_the_end_and_point_to_the_caller():
    report = Report("robot.urdf")
    report.warn(ROOT[0], "it is odd", "mend it")
    report.warn(ROOT, "so is this", "mend it")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        report.close(strict=False)
    assert [str(warning.message) for warning in caught] == report.warnings
    assert len(caught) == 2
    assert all(warning.category is DescriptionWarning for warning in caught)
    assert caught[0].filename == __file__


def test_strict_raises_all_warnings_as_one_error():
    report = Report("robot.urdf")
    report.close(strict=True)
    report.warn(ROOT[0], "it is odd", "mend it")
    report.warn(ROOT, "so is this", "mend it")
    with pytest.raises(DescriptionError) as caught:
        report.close(strict=True)
    assert "it is odd" in str(caught.value) and "so is this" in str(caught.value) and "strict=True" in str(caught.value)
