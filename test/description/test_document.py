# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Errors about an unusable document name file, line, element and remedy."""

import re
from pathlib import Path

import pytest
from urdf_parts import INERTIAL, LIMIT, joint, link, one_joint, robot, xacro_that_runs

from robodyn_ros.base.errors import DescriptionError
from robodyn_ros.description.document import read_document
from robodyn_ros.description.joint_and_link_elements import read_mass
from robodyn_ros.description.robot_sources import read_source, text_source

A_TO_B = joint("j", "a", "b")


def of_text(text):
    return read_document(text_source(text))


def of_file(path):
    return read_document(read_source(path))


def refusal(given, read=of_text) -> str:
    with pytest.raises(DescriptionError) as caught:
        read(given)
    return str(caught.value)


def test_reads_links_and_joints_by_name_and_finds_the_root_link():
    document, report = of_text(robot(link("b"), A_TO_B, link("a")))
    assert list(document.links) == ["b", "a"]
    assert list(document.joints) == ["j"]
    assert document.base == "a"
    assert report.source == "URDF string"


@pytest.mark.parametrize(
    "lead", ["", "\n  ", "\ufeff", "\ufeff\n", '<?xml version="1.0" encoding="utf-16"?>', "<!-- -->"]
)
def test_a_string_that_begins_with_an_angle_bracket_is_xml(lead):
    assert of_text(lead + one_joint())[0].base == "a"


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "iso-8859-1"])
def test_a_file_is_read_in_the_encoding_it_declares(tmp_path, encoding):
    path = tmp_path / "robot.urdf"
    declared = encoding.removesuffix("-sig")
    text = f'<?xml version="1.0" encoding="{declared}"?>\n' + one_joint().replace('"test"', '"Bär"')
    path.write_bytes(text.encode(encoding))
    for given in (path, str(path)):
        document, report = of_file(given)
        assert document.root.get("name") == "Bär"
        assert document.text == text
        assert report.source == str(path)


def test_missing_file(tmp_path):
    message = refusal(tmp_path / "missing.urdf", of_file)
    assert str(tmp_path / "missing.urdf") in message
    assert "from_urdf_text" in message
    assert "no URDF file at 'none.xacro a:=1'" in refusal("none.xacro a:=1", of_file)
    assert str(Path.cwd() / "robot name") in refusal("robot name", of_file)


def test_what_is_no_file(tmp_path):
    assert "directory" in refusal(tmp_path, of_file)
    assert "cannot read" in refusal("nul\0byte", of_file)
    assert "empty" in refusal("  ", of_file)
    assert "not as bytes" in refusal(b"<robot/>", of_file)
    assert "received XML: Robot.from_urdf_text(xml)" in refusal("\n <robot/>", of_file)


@pytest.mark.parametrize("name", ["robot.urdf", "evil.xacro", "evil.xacro a:=b", "~/robot.urdf", "/etc/passwd"])
def test_text_is_never_the_name_of_a_file(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    ran = tmp_path / "ran"
    (tmp_path / "robot.urdf").write_text(one_joint())
    (tmp_path / "evil.xacro").write_text(xacro_that_runs(ran))
    assert "expected XML, which begins with '<'" in refusal(name)
    assert not ran.exists()
    of_file("evil.xacro")
    assert ran.exists()  # a file that a person names is expanded
    assert "it is empty" in refusal("") and "it is empty" in refusal(" \n")
    assert "expected XML as str, received bytes" in refusal(b"<robot/>")


@pytest.mark.parametrize("xml", ["<", "<robot", "<robot><link></robot>", '<robot name="r"/> and more', "<robot a=b/>"])
def test_malformed_xml_is_never_repaired_in_silence(xml):
    assert re.search(r"URDF string: malformed XML at line 1, column \d+: .+; correct the file there", refusal(xml))


def test_malformed_xml_names_file_and_line(tmp_path):
    path = tmp_path / "robot.urdf"
    path.write_text(one_joint().replace("</link>", "", 1))
    assert str(path) in refusal(path, of_file)
    assert "line 5" in refusal(path, of_file)


def test_what_real_files_have_is_read(tmp_path):
    path = tmp_path / "robot.urdf"
    camera = '<gazebo><sensor:camera name="c"/></gazebo>'
    path.write_text('\n<?xml version="0.0" ?>\n' + one_joint().replace("</robot>", camera + "</robot>"))
    assert of_file(path)[0].base == "a"
    spaced = one_joint().replace(
        "<robot", '<robot xmlns="http://drake.mit.edu" xmlns:xacro="http://wiki.ros.org/xacro"'
    )
    assert list(of_text(spaced)[0].joints) == ["j"]


@pytest.mark.parametrize(("old", "new", "encoding"), [
    ("</robot>", "<!-- a -- b --></robot>", "utf-8"),
    ("</robot>", "<!-- \n -- a --></robot>", "utf-8"),
    ("</robot>", "<!-- caf\u00e9 --></robot>", "latin-1"),
    ("</robot>", "<!-- \x01 &x; <link> --></robot>", "utf-8"),
    ("</robot>", "<gazebo>5 & 6 &nbsp;</gazebo></robot>", "utf-8"),
    ("<robot", "<?xml version='1.1'?><robot", "utf-8"),
    ("<robot", "<?xml version='1.0' encoding='utf-16'?><robot", "utf-8"),
    ("<robot", "<?xml version='1.0' encoding='none'?><robot", "utf-8"),
    ('"test"', '"me & you"', "utf-8"),
])
def test_what_the_parser_of_urdfdom_tolerates_is_read_with_a_warning(tmp_path, old, new, encoding):
    path = tmp_path / "robot.urdf"
    path.write_bytes(one_joint().replace(old, new).encode(encoding))
    document, report = of_file(path)
    (message,) = report.warnings
    assert f"{path}: malformed XML at line " in message and "; read as ROS does: " in message
    assert list(document.joints) == ["j"]
    assert document.root.get("name") == ("me & you" if "me &" in new else "test")
    assert of_text(document.text)[1].warnings == []  # of nodes, which receive the text


def test_a_file_of_comments_that_never_end_is_refused_at_once():
    assert "malformed XML" in refusal("<robot>" + "<!--" * 2_000_000)


def test_entities_are_refused_and_not_expanded(tmp_path):
    secret = tmp_path / "secret"
    secret.write_text("sesame")
    head = f'<!DOCTYPE r [<!ENTITY x SYSTEM "{secret.as_uri()}">]>'
    message = refusal(head + one_joint().replace("</robot>", "&x;</robot>"))
    assert "ENTITY" in message and "sesame" not in message
    levels = "".join(f'<!ENTITY l{level} "{f"&l{level - 1};" * 10}">' for level in range(1, 10))
    bomb = f'<!DOCTYPE r [<!ENTITY l0 "lol">{levels}]>'
    refusal(bomb + one_joint().replace('name="test"', 'name="&l9;"'))
    refusal(bomb + one_joint().replace("</robot>", "&l9;</robot>"))


@pytest.mark.parametrize(
    "xml",
    [
        '<robot name="r" xmlns:xacro="http://www.ros.org/wiki/xacro"><xacro:include filename="f"/></robot>',
        '<robot name="r"><xacro:property name="p" value="1"/></robot>',
        one_joint().replace("0 0 0.5", "0 0 ${height}"),
        one_joint().replace("0 0 0.5", "$(arg xyz)"),
        one_joint().replace('name="b"', 'name="${prefix}b"'),
    ],
)
def test_xacro_that_is_not_expanded(xml):
    message = refusal(xml)
    assert "xacro file that has not been expanded" in message
    assert "xacro file.xacro > file.urdf" in message
    assert "{http" not in message


def test_other_formats():
    assert "<sdf>, not <robot>" in refusal('<sdf version="1.7"/>')
    assert "SDF files are not read" in refusal("<mujoco/>")


@pytest.mark.parametrize(
    ("xml", "parts"),
    [
        (robot(), ["line 1", "no links", "<link>"]),
        (one_joint().replace(' name="j"', ""), ["line 3, <joint>", "no name"]),
        (robot(link("a"), link("a")), ["line 3, <link name='a'>", "duplicate link name 'a'", "line 2", "rename"]),
        (
            robot(link("a"), link("b"), link("c"), A_TO_B, joint("j", "b", "c")),
            ["line 6, <joint name='j'>", "duplicate joint name 'j'", "line 5"],
        ),
        (one_joint(kind="hinge"), ["line 3, <joint name='j'>", "unknown type 'hinge'", "revolute, continuous, prism"]),
        (one_joint().replace(' type="revolute"', ""), ["line 3, <joint name='j'>", "no type"]),
        (one_joint().replace('<parent link="a"/>', ""), ["<joint name='j'>", "no parent link", "<parent link="]),
        (one_joint().replace('child link="b"', "child"), ["<joint name='j'>", "no child link"]),
        (one_joint().replace('child link="b"', 'child link="bb"'), ["'bb' does not exist", "did you mean 'b'?"]),
        (one_joint().replace('parent link="a"', 'parent link="zz"'), ["'zz' does not exist", "known are 'a', 'b'"]),
        (one_joint(extra="<mimic/>"), ["<mimic> in <joint name='j'>", "no joint to follow"]),
        (robot(link("a"), link("b")), ["2 root links: 'a', 'b'", "fixed joint"]),
        (
            robot(link("a"), link("b"), link("c"), joint("j", "a", "c"), joint("k", "b", "c")),
            ["line 6, <joint name='k'>", "'c' has two parents", "<joint name='j'>", "remove one"],
        ),
        (
            robot(link("a"), link("b"), A_TO_B, joint("k", "b", "a")),
            ["the links form a loop", "a -> b -> a", "cut the loop"],
        ),
        (
            robot(link("r"), link("a"), link("b"), link("c"), A_TO_B, joint("k", "b", "c"), joint("l", "c", "a")),
            ["the links form a loop", "a -> b -> c -> a"],
        ),
        (robot(link("a"), joint("j", "a", "a")), ["the links form a loop", "a -> a"]),
    ],
)
def test_what_is_no_tree_of_known_links_and_joints(xml, parts):
    message = refusal(xml)
    for part in parts:
        assert part in message


@pytest.mark.parametrize("text", ["nan", "inf", "1 2", "one", "", "0x10", "1,0", "1_000", "\uff11\uff12", "\u0663",
                                  "1e400", "-infinity", "1e", "- 1", "1.5m", "1d3", "--1", "."])
@pytest.mark.parametrize(
    ("given", "where"),
    [
        ('<mass value="2"/>', "<mass> in <inertial> in <link name='b'>"),
        ('ixx="0.02"', "<inertia> in <inertial> in <link name='b'>"),
        ('upper="2"', "<limit> in <joint name='j'>"),
        ('damping="5"', "<dynamics> in <joint name='j'>"),
        ('multiplier="6"', "<mimic> in <joint name='j'>"),
    ],
)
def test_a_number_that_is_none(given, where, text):
    xml = one_joint(extra='<dynamics damping="5"/><mimic joint="j" multiplier="6"/>')
    name = re.search(r'(\w+)="[^"]*"', given)[1]
    broken = re.sub(r'="[^"]*"', f'="{text}"', given)
    assert given in xml
    if name == "upper" and "inf" in text:
        assert "taken as unlimited" in warnings_of(xml.replace(given, broken))
        return
    message = refusal(xml.replace(given, broken))
    assert where in message
    assert f'{name}="{text}" is not a finite number' in message


@pytest.mark.parametrize("text", ["0 0", "0 0 0 0", "0 0 nan", "0 0 inf", "x y z", "0,0,0"])
@pytest.mark.parametrize("given", ['xyz="0 0 0.5"', 'xyz="0 0 1"', 'xyz="0.1 0.2 0.3"'])
def test_a_vector_that_is_none(given, text):
    message = refusal(one_joint().replace(given, f'xyz="{text}"'))
    assert f'xyz="{text}" is not 3 finite numbers separated by spaces' in message


@pytest.mark.parametrize("text", ["+2", "2.", ".2e1", "2E0", "0002", " 2"])
def test_numbers_as_urdfdom_reads_them(text):
    document, report = of_text(one_joint().replace('<mass value="2"/>', f'<mass value="{text}"/>'))
    assert read_mass(document.links["b"].find("inertial")) == 2.0 and not report.warnings


def warnings_of(xml: str) -> str:
    return "\n".join(of_text(xml)[1].warnings)


@pytest.mark.parametrize(("xml", "parts"), [
    (one_joint().replace(' name="test"', ""), ["line 1, <robot>: the robot has no name; taken as"]),
    (one_joint(kind="floating"), ["line 3, <joint name='j'>: floating joints are not modelled; held at its origin"]),
    (one_joint(kind="planar"), ["line 3, <joint name='j'>: planar joints are not modelled; held at its origin"]),
    (one_joint().replace('<mass value="2"/>', "<mass/>"), ["line 4, <mass>", "'value' is missing; taken as \"0\""]),
    (one_joint().replace('iyy="0.03"', ""), ["line 4, <inertia>", "without iyy, ROS reads no inertia"]),
    (one_joint().replace('<axis xyz="0 0 1"/>', "<axis/>"), ["line 3, <axis>", "'xyz' is missing; taken as \"1 0 0\""]),
    (one_joint().replace('value="2"', 'value="2\n"'), ["line 5, <mass>", "white space behind the number"]),
    (one_joint(INERTIAL + INERTIAL), ["line 4, <inertial>", "it is there twice in <link name='b'>; the first one"]),
    (one_joint(extra="<limit/>"), ["line 3, <limit>", "it is there twice in <joint name='j'>; the first one counts"]),
    (one_joint(extra="<vendor/><vendor/>").replace("</robot>", "<xacro:leg side='l'/><speed/></robot>"),
     ["line 3, <vendor>", "no part of a URDF: <xacro:leg>, <speed>, <vendor> in <joint> (2); they are ignored"]),
])
def test_oddities_are_warnings_that_say_what_was_assumed(xml, parts):
    (message,) = of_text(xml)[1].warnings
    for part in parts:
        assert part in message


def test_what_a_fixed_joint_has_for_its_motion_is_not_read():
    joined = robot(link("a"), joint("j", "a", "b"), link("b"), link("c"),
                   joint("f", "b", "c", "fixed", axis="none", limit='<limit upper="x"/>', extra="<mimic joint='x'/>"))
    assert of_text(joined)[1].warnings == []


@pytest.mark.parametrize(("place", "shown"), [("</robot>", "<xacro:arm>"), ("</link>", "<xacro:arm> in <link>")])
@pytest.mark.parametrize("declared", [' xmlns:xacro="http://www.ros.org/wiki/xacro"', ""])
def test_calls_of_xacro_macros_that_are_left_over_are_ignored(place, shown, declared):
    xml = one_joint().replace('name="test"', 'name="test"' + declared).replace(place, f'<xacro:arm x="1"/>{place}', 1)
    assert shown in warnings_of(xml)
    inside = one_joint().replace("</robot>", "<gazebo><xacro:include filename='f'/></gazebo></robot>")
    assert warnings_of(inside.replace('name="test"', 'name="test"' + declared)) == ""


def test_a_long_chain_is_checked_quickly_and_without_recursion():
    count = 2000
    links = [link(f"l{index}", "") for index in range(count)] + [link("end", INERTIAL)]
    joints = [joint(f"j{index}", f"l{index}", f"l{index + 1}") for index in range(count - 1)]
    document, _ = of_text(robot(*links, *joints, joint("last", f"l{count - 1}", "end", limit=LIMIT)))
    assert document.base == "l0"
