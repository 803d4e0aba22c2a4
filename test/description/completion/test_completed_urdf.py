# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Completed URDFs: masses, marks, densities, repairs, rotors, and the messages before anything is written."""

import numpy as np
import pytest
from lxml import etree
from numpy.testing import assert_allclose
from urdf_parts import joint, link, robot

from robodyn_ros import DescriptionError, InputError, Robot
from robodyn_ros.description.completion.completed_urdf import CompletionRule, complete_urdf
from robodyn_ros.description.document import estimates, read_document
from robodyn_ros.description.resources import robot_file, shipped_robots
from robodyn_ros.description.robot_sources import text_source

BOX = "<collision><origin xyz='0 0 0.1'/><geometry><box size='0.1 0.1 {}'/></geometry></collision>"
INERTIAL = ("<inertial><mass value='{}'/><inertia ixx='{}' iyy='{}' izz='{}' ixy='0' ixz='0' iyz='0'/></inertial>")


def written(folder, text):
    path = folder / "arm.urdf"
    path.write_text(text)
    return path


def arm(*bodies):
    """A chain of links with the contents given, joints turning about x."""
    names = [f"l{index}" for index in range(len(bodies))]
    return robot(*map(link, names, bodies),
                 *(joint(f"j{index}", names[index - 1], names[index]) for index in range(1, len(bodies))))


def masses(text):
    document, _ = read_document(text_source(text))
    return {name: float(element.find("inertial/mass").get("value"))
            for name, element in document.links.items() if element.find("inertial") is not None}


def test_a_total_mass_is_shared_by_volume(tmp_path):
    path = written(tmp_path, arm(BOX.format(0.2), BOX.format(0.3), BOX.format(0.5)))
    found = complete_urdf(path, CompletionRule(mass=20.0))
    assert_allclose(list(masses(found.text).values()), [4, 6, 10])
    assert found.summary == "inertias of 3 links estimated from their shapes, at 2000 kg/m^3; 20 kg in all"
    robot_ = Robot.from_urdf_text(found.text, strict=True)
    assert_allclose(robot_.model.joints[1].inertia.rotational,
                    10 / 12 * np.diag([0.26, 0.26, 0.02]), rtol=1e-6)
    assert_allclose(robot_.model.joints[1].inertia.com, [0, 0, 0.1])
    assert [line.split(":")[0] for line in estimates(read_document(text_source(found.text))[0])] == [
        "link l0", "link l1", "link l2"]
    again = complete_urdf(written(tmp_path, found.text), CompletionRule(mass=1.0))
    assert not again.lines and not again.summary


@pytest.mark.parametrize(("rule", "total"), [
    (CompletionRule(mass=20.0), 20.0), (CompletionRule(density=500.0), 4 + 1 + 2.5),
    (CompletionRule(), 4 + 2000 * 0.002 + 2000 * 0.005)])
def test_known_links_stay_and_tell_the_density(tmp_path, rule, total):
    known = INERTIAL.format(4, 0.1, 0.1, 0.1) + BOX.format(0.2)  # 0.002 m^3 of 4 kg: 2000 kg/m^3
    found = complete_urdf(written(tmp_path, arm(known, BOX.format(0.2), BOX.format(0.5))), rule)
    found_masses = masses(found.text)
    assert found_masses["l0"] == 4 and sum(found_masses.values()) == pytest.approx(total, rel=1e-6)
    assert len(found.lines) == 2


@pytest.mark.parametrize("moments", [(0.1, 0.1, 0.5), (-0.01, 0.1, 0.1)])
def test_impossible_inertias_by_shape_or_the_nearest(tmp_path, moments):
    broken = "<inertial><origin xyz='0 0.02 0.1' rpy='0.3 0 0'/>" + INERTIAL.format(4, *moments)[len("<inertial>"):]
    path = written(tmp_path, arm("", broken + BOX.format(0.2), broken + BOX.format(0.3)))
    by_shape, repaired = (complete_urdf(path, CompletionRule(repair=repair)) for repair in (False, True))
    for found in (by_shape, repaired):
        assert masses(found.text) == {"l1": 4, "l2": 4}
        model = Robot.from_urdf_text(found.text, strict=True).model
        assert_allclose(model.joints[0].inertia.com, [0, 0.02, 0.1])
    assert "mass and centre of mass as given" in by_shape.lines[0]
    assert_allclose(Robot.from_urdf_text(by_shape.text).model.joints[0].inertia.rotational,
                    4 / 12 * np.diag([0.05, 0.05, 0.02]), rtol=1e-6)
    assert "the nearest possible inertia, " in repaired.lines[0] and "% from the one given" in repaired.lines[0]
    assert repaired.summary.startswith("2 repaired; 8 kg")
    bare = written(tmp_path, arm("", broken))
    with pytest.raises(DescriptionError, match="line .*<link name='l1'>: no body can have its inertia.*--repair"):
        complete_urdf(bare, CompletionRule())
    assert complete_urdf(bare, CompletionRule(repair=True)).lines


def test_point_masses_and_negative_masses_take_the_inertia_of_their_shapes(tmp_path):
    point, negative = (INERTIAL.format(mass, 0, 0, 0) + BOX.format(0.2) for mass in (3, -3))
    found = complete_urdf(written(tmp_path, arm("", point, negative)), CompletionRule(density=1000.0))
    assert masses(found.text) == {"l1": 3, "l2": 2}
    assert_allclose(Robot.from_urdf_text(found.text).model.joints[0].inertia.rotational,
                    3 / 12 * np.diag([0.05, 0.05, 0.02]), rtol=1e-6)


def test_joints_that_still_move_nothing_get_the_rotor_of_a_drive(tmp_path):
    fingers = robot(link("a", INERTIAL.format(1, 1, 1, 1)), link("b", INERTIAL.format(1, 1, 1, 1)), link("c", ""),
                    link("d", ""), link("e", ""), joint("j", "a", "b"),
                    joint("slow", "b", "c", "prismatic",
                          limit="<limit lower='0' upper='1' effort='20' velocity='0.5'/>"),
                    joint("free", "b", "d", "continuous", limit=""), joint("both", "b", "e", "continuous", limit="",
                    extra="<mimic joint='free'/>"))
    found = complete_urdf(written(tmp_path, fingers), CompletionRule())
    assert found.lines == (
        "joint slow: a rotor that reaches the speed limit in 0.05 s, 2 kg at the joint",
        "joint free: a rotor of the usual size, 0.001 kg m^2 at the joint")
    assert found.without == ("c", "d", "e") and found.summary == "rotors of plausible drives at 2 joints"
    model = Robot.from_urdf_text(found.text).model
    assert not model.held and model.joint_names == ("j", "slow", "free")
    assert_allclose(model.armature, [0, 2, 1e-3])
    assert len(list(estimates(read_document(text_source(found.text))[0]))) == 2


@pytest.mark.parametrize(("bodies", "rule", "message"), [
    (("", ""), CompletionRule(mass=3.0), "the links 'l1' have neither inertia nor shapes"),
    (("", BOX.format(0.2)), CompletionRule(), "no link has both an inertia and a shape; give --mass"),
    ((INERTIAL.format(4, 1, 1, 1), BOX.format(0.2)), CompletionRule(mass=4.0),
     "leaves nothing .* the others have 4 kg"),
    (("", "<visual><geometry><mesh filename='none.stl'/></geometry></visual>"), CompletionRule(mass=3.0),
     "mesh 'none.stl' was not found"),
])
def test_what_cannot_be_estimated_is_said(tmp_path, bodies, rule, message):
    with pytest.raises(DescriptionError, match=message) as caught:
        complete_urdf(written(tmp_path, arm(*bodies)), rule)
    assert str(caught.value).startswith(str(tmp_path)) and "\n" not in str(caught.value)


@pytest.mark.parametrize("value", [0.0, -1.0, float("nan"), float("inf"), 1e12, True, "35"])
@pytest.mark.parametrize("name", ["mass", "density"])
def test_numbers_that_are_no_masses(name, value):
    with pytest.raises(InputError, match=f"{name} .*: expected a finite number above 0"):
        CompletionRule(**{name: value})


def test_rules_in_words():
    assert CompletionRule.from_text("mass=35,repair") == CompletionRule(mass=35.0, repair=True)
    assert CompletionRule.from_text("density=2.7e3") == CompletionRule(density=2700.0)
    assert CompletionRule.from_text("auto") == CompletionRule()
    for text, message in (("mas=3", "did you mean 'mass'"), ("mass=x", "received 'x'"), ("mass", "expected mass=KG"),
                          ("mass=1,mass=2", "'mass=2'"), ("mass=1,density=2", "received both"), ("mass=-1", "above 0"),
                          ("repair=1", "'repair=1'")):
        with pytest.raises(InputError, match=message):
            CompletionRule.from_text(text)


def test_an_odd_density_is_told(tmp_path):
    found = complete_urdf(written(tmp_path, arm("", BOX.format(0.2))), CompletionRule(mass=5000.0))
    assert "the density of no material" in found.lines[0]


@pytest.mark.parametrize(("name", "gravity", "mass"), [("arm6", 0.15, 0.15), ("arm7", 0.2, 0.25)])
def test_known_arms_are_met_nearly(tmp_path, name, gravity, mass):
    """The shares of errors in docs/how_to/robot_without_inertias.md, with some room."""
    true = Robot.from_urdf(robot_file(name))
    root = etree.parse(robot_file(name)).getroot()
    for element in root.findall("link"):
        for part in (*element.findall("inertial"), *(element.findall("visual") + element.findall("collision")
                                                     if element.get("name") == true.model.base_link else ())):
            element.remove(part)
    total = sum(joint_.inertia.mass for joint_ in true.model.joints)
    found = complete_urdf(written(tmp_path, etree.tostring(root).decode()), CompletionRule(mass=total))
    guess = Robot.from_urdf_text(found.text)
    q = np.random.default_rng(0).uniform(-2, 2, (50, true.n))
    for function, bound in (("gravity", gravity), ("mass_matrix", mass)):
        known, own = (getattr(each.dynamics().batch, function)(q) for each in (true, guess))
        assert np.linalg.norm(own - known) < bound * np.linalg.norm(known)


@pytest.mark.parametrize("name", shipped_robots())
def test_shipped_robots_need_nothing(name):
    assert not complete_urdf(robot_file(name), CompletionRule()).lines


def test_a_link_fixed_to_one_with_inertia_is_a_part_of_it(tmp_path):
    cover = robot(link("a", BOX.format(0.1)), link("b", INERTIAL.format(4, 1, 1, 1)), link("cover", BOX.format(0.2)),
                  joint("j", "a", "b"), joint("fixed", "b", "cover", "fixed"))
    assert not complete_urdf(written(tmp_path, cover), CompletionRule(mass=9.0)).lines
    bare = cover.replace(INERTIAL.format(4, 1, 1, 1), "")
    assert masses(complete_urdf(written(tmp_path, bare), CompletionRule(mass=9.0)).text) == {"a": 3, "cover": 6}
