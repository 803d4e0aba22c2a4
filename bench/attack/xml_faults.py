# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Faults of XML, for robots and scenes: absurd numbers and names, removed and repeated elements, broken text."""

from __future__ import annotations

import random
from contextlib import suppress

from lxml import etree

NUMBERS = ("0", "-1", "1e-308", "1e-30", "1e-9", "1e6", "1e20", "1e100", "-1e150", "1e300", "1e308", "-1e308", "nan",
           "inf", "-inf", "1e999", "", "zero", "1 2", "0x10", "١")
"""Texts in place of a number."""

TEXTS = ("", " ", "base_link", "joint1", "link1", "a" * 100_000, "\N{COMBINING DIAERESIS}" * 50, "fixed", "floating",
         "prismatic", "$(arg name)", "../../x", "]]>", "\u009b2J")
"""Texts in place of a name or a type."""


def mutated_xml(source: bytes, chance: random.Random) -> bytes:
    """Return a document with one to four faults."""
    if chance.random() < 0.15:
        return _with_broken_text(source, chance)
    root = etree.fromstring(source)
    for _ in range(chance.randint(1, 4)):
        chance.choices((_change_number, _change_text, _change_tree, _add_mimic), (6, 1, 2, 1))[0](root, chance)
    return bytes(etree.tostring(root))


def _with_broken_text(source: bytes, chance: random.Random) -> bytes:
    place, length = chance.randrange(len(source)), chance.randint(1, 40)
    filling = (b"", chance.randbytes(length), b"<" * length, b"<a>" * 3000, b'<!DOCTYPE r [<!ENTITY a "b">]>')
    return source[:place] + chance.choice(filling) + (source[place + length:] if chance.random() < 0.8 else b"")


def _attributes(root: etree._Element, numbers: bool) -> list[tuple[etree._Element, str]]:
    """Attributes that hold numbers, or that hold none."""
    return [(element, name) for element in root.iter(etree.Element) for name, text in element.attrib.items()
            if _holds_numbers(text) == numbers]


def _holds_numbers(text: str) -> bool:
    with suppress(ValueError):
        return bool([float(word) for word in text.split()])
    return False


def _change_number(root: etree._Element, chance: random.Random) -> None:
    if not (found := _attributes(root, numbers=True)):
        return
    element, name = chance.choice(found)
    words = element.get(name).split()
    words[chance.randrange(len(words))] = (chance.choice(NUMBERS) if chance.random() < 0.6 else
                                           repr(chance.choice((-1, 1)) * 10.0 ** chance.uniform(-30.0, 30.0)))
    element.set(name, " ".join(words))


def _change_text(root: etree._Element, chance: random.Random) -> None:
    if found := _attributes(root, numbers=False):
        element, name = chance.choice(found)
        element.set(name, chance.choice((*TEXTS, *dict.fromkeys(element.get(name) for element, name in found))))


def _change_tree(root: etree._Element, chance: random.Random) -> None:
    elements = [element for element in root.iter(etree.Element) if element is not root]
    if not elements:
        return
    element = chance.choice(elements)
    parent = element.getparent()
    if chance.random() < 0.6:
        parent.remove(element)
    else:
        chance.choice([root, *elements]).append(etree.fromstring(etree.tostring(element)))


def _add_mimic(root: etree._Element, chance: random.Random) -> None:
    joints = root.findall("joint")
    if joints:
        names = [joint.get("name", "") for joint in joints]
        etree.SubElement(chance.choice(joints), "mimic", joint=chance.choice(names), multiplier=chance.choice(NUMBERS),
                         offset=chance.choice(NUMBERS))
