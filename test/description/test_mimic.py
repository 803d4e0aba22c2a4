# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Mimic joints are resolved to the independent joint that they follow in the end."""

import numpy as np
import pytest
from urdf_parts import joint, link, robot

from robodyn_ros.base.errors import DescriptionError, DescriptionWarning
from robodyn_ros.description.urdf import load_urdf_text


def chain(*mimics: str, kinds: str = "rrr") -> str:
    """Three joints j1, j2, j3 in a row, in lines 6 to 8; an empty mimic is none."""
    names = {"r": "revolute", "f": "fixed", "p": "prismatic"}
    parts = [link("l0"), link("l1"), link("l2"), link("l3")]
    for index, (mimic, kind) in enumerate(zip(mimics, kinds, strict=True), start=1):
        parts.append(joint(f"j{index}", f"l{index - 1}", f"l{index}", names[kind], extra=mimic))
    return robot(*parts)


def mimic(name: str, multiplier: float = 1.0, offset: float = 0.0) -> str:
    return f'<mimic joint="{name}" multiplier="{multiplier}" offset="{offset}"/>'


def refusal(xml: str) -> str:
    with pytest.raises(DescriptionError) as caught:
        load_urdf_text(xml)
    return str(caught.value)


def test_a_joint_that_mimics_shares_its_leaders_degree_of_freedom():
    model = load_urdf_text(chain("", mimic("j1", -2, 0.1), ""), strict=True)
    assert model.joint_names == ("j1", "j3")
    assert [(joint.dof, joint.multiplier, joint.offset) for joint in model.joints] == [
        (0, 1, 0),
        (0, -2, 0.1),
        (1, 1, 0),
    ]


def test_multiplier_and_offset_default_to_one_and_zero():
    model = load_urdf_text(chain("", '<mimic joint="j1"/>', ""))
    assert (model.joints[1].multiplier, model.joints[1].offset) == (1.0, 0.0)


def test_a_chain_of_mimic_joints_and_a_leader_that_comes_later():
    model = load_urdf_text(chain(mimic("j2", 2, 0.1), mimic("j3", -1.5, 0.2), ""))
    assert model.joint_names == ("j3",)
    q3 = 0.7
    q2 = -1.5 * q3 + 0.2
    q1 = 2 * q2 + 0.1
    positions = [joint.multiplier * q3 + joint.offset for joint in model.joints]
    np.testing.assert_allclose(positions, [q1, q2, q3], rtol=1e-15)


def test_a_mimic_of_a_joint_that_does_not_exist_or_is_fixed_moves_by_itself():
    for xml, reason in ((chain("", mimic("j11"), ""), r"'j11', which does not exist \(did you mean 'j1'"),
                        (chain("", mimic("j1"), "", kinds="frr"), "'j1', which is fixed"),
                        (chain("", mimic("j2"), ""), "'j2', which is this joint")):
        with pytest.warns(DescriptionWarning, match=rf"line 7, <joint name='j2'>: it mimics the joint {reason}.*; it "
                          "moves by itself"):
            model = load_urdf_text(xml)
        assert [joint.multiplier for joint in model.joints] == [1.0] * model.n
        assert "j2" in model.joint_names


def test_a_cycle_of_mimics():
    assert "it mimics itself: j1 -> j2 -> j3 -> j1" in refusal(chain(mimic("j2"), mimic("j3"), mimic("j1")))
    assert "it mimics itself: j2 -> j3 -> j2" in refusal(chain(mimic("j2"), mimic("j3"), mimic("j2")))


def test_a_mimic_element_in_a_fixed_joint_means_nothing():
    assert load_urdf_text(chain("", mimic("j1"), "", kinds="rfr"), strict=True).joint_names == ("j1", "j3")


def test_multiplier_zero_is_computable_but_odd():
    with pytest.warns(DescriptionWarning, match="<joint name='j2'>: it mimics with multiplier 0 and never moves; make"):
        model = load_urdf_text(chain("", mimic("j1", 0, 0.3), ""))
    assert (model.joints[1].multiplier, model.joints[1].offset) == (0.0, 0.3)
    assert model.velocity_limit[0] == 3.0


@pytest.mark.parametrize("second", ['<mimic joint="j3" multiplier="1e150" offset="1e999"/>',
                                    '<mimic joint="none" multiplier=""/>'])
def test_of_two_mimics_the_first_one_counts(second):
    with pytest.warns(DescriptionWarning, match="it is there twice in <joint name='j2'>; the first one counts"):
        model = load_urdf_text(chain("", mimic("j1", -2) + second, "", kinds="rrf"))
    assert [(joint.dof, joint.multiplier) for joint in model.joints] == [(0, 1), (0, -2)]


def test_a_second_mimic_of_a_joint_that_follows_nothing_is_ignored():
    with pytest.warns(DescriptionWarning, match="which is fixed"), pytest.warns(DescriptionWarning, match="twice"):
        model = load_urdf_text(chain("", mimic("j3") + mimic("j3", 1e150), "", kinds="rrf"))
    assert model.joint_names == ("j1", "j2")
