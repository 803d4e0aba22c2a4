# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Permissions of DDS Security, made of an access control policy of ROS 2 (the format of sros2).

A policy lists topics, services and actions of enclaves by their ROS names. Permissions list the DDS topics that carry
them. Names are those of design.ros2.org, "Topic and Service name mapping to DDS" and "Actions".
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from lxml import etree

from robodyn_ros.base.errors import InputError

EXPRESSIONS = ("topic", "service", "action")
ALWAYS = "ros_discovery_info"
"""DDS topic by which the processes of a graph tell each other their nodes."""

_ACTION_SERVICES = ("send_goal", "cancel_goal", "get_result")
_ACTION_TOPICS = ("feedback", "status")
_TOPIC, _REQUEST, _REPLY = "rt{}", "rq{}Request", "rr{}Reply"
_SERVER = {"publish": _REPLY, "subscribe": _REQUEST}
_CLIENT = {"publish": _REQUEST, "subscribe": _REPLY}
_RIGHTS: dict[str, dict[str, str]] = {
    "publish": {"publish": _TOPIC}, "subscribe": {"subscribe": _TOPIC},
    "reply": _SERVER, "request": _CLIENT, "execute": _SERVER, "call": _CLIENT,
}
"""For each right of a policy, the form of the names that may be published and subscribed in DDS."""
_DATES = "%Y-%m-%dT%H:%M:%S"


@dataclass
class Enclave:
    """What the processes of one certificate may do.

    Attributes:
        path: Name of the enclave, such as ``/robodyn/hardware``.
        rights: ROS names by right: ``publish``, ``subscribe``, ``reply``, ``request``, ``execute`` and ``call``.
    """

    path: str
    rights: dict[str, set[str]] = field(default_factory=lambda: {right: set() for right in _RIGHTS})

    def dds_topics(self) -> dict[str, list[str]]:
        """Return the DDS topics that may be published and subscribed, under ``publish`` and ``subscribe``."""
        topics: dict[str, set[str]] = {"publish": {ALWAYS}, "subscribe": {ALWAYS}}
        for right, names in self.rights.items():
            is_action = right in ("execute", "call")
            for direction, form in _RIGHTS[right].items():
                topics[direction] |= {form.format(f"{name}/_action/{service}") for name in names
                                      for service in _ACTION_SERVICES} if is_action else set(map(form.format, names))
        for right, direction in (("execute", "publish"), ("call", "subscribe")):
            topics[direction] |= {_TOPIC.format(f"{name}/_action/{topic}") for name in self.rights[right]
                                  for topic in _ACTION_TOPICS}
        return {direction: sorted(names) for direction, names in topics.items()}

    def permissions(self, begin: datetime, days: int) -> bytes:
        """Return the permissions as XML, to be signed.

        Args:
            begin: When they begin to hold [UTC].
            days: For how many days they hold.
        """
        schema = "http://www.omg.org/spec/DDS-SECURITY/20170901/omg_shared_ca_permissions.xsd"
        dds = etree.Element("dds", {"{http://www.w3.org/2001/XMLSchema-instance}noNamespaceSchemaLocation": schema},
                            nsmap={"xsi": "http://www.w3.org/2001/XMLSchema-instance"})
        grant = _child(_child(dds, "permissions"), "grant", name=self.path)
        _child(grant, "subject_name", f"CN={self.path}")
        validity = _child(grant, "validity")
        _child(validity, "not_before", begin.strftime(_DATES))
        _child(validity, "not_after", (begin + timedelta(days=days)).strftime(_DATES))
        rule = _child(grant, "allow_rule")
        domains = _child(_child(rule, "domains"), "id_range")
        _child(domains, "min", "0")
        _child(domains, "max", "232")
        for direction, names in self.dds_topics().items():
            topics = _child(_child(rule, direction), "topics")
            for name in names:
                _child(topics, "topic", name)
        _child(grant, "default", "DENY")
        text: bytes = etree.tostring(dds, pretty_print=True, xml_declaration=True, encoding="UTF-8")
        return text


def read_policy(file: Path, namespace: str = "/") -> list[Enclave]:
    """Read the enclaves of a policy.

    Args:
        file: Policy of sros2's version 0.2.0; it may include other files.
        namespace: Namespace of the graph; profiles of the policy are below it.

    Raises:
        InputError: The file is no such policy.
    """
    try:
        tree = etree.parse(str(file))
        tree.xinclude()
    except (OSError, etree.XMLSyntaxError, etree.XIncludeError) as error:
        raise InputError(f"{file}: {error}") from None
    policy = tree.getroot()
    if policy.tag != "policy" or policy.get("version") != "0.2.0":
        raise InputError(f"{file}: expected a policy of version 0.2.0, received '{policy.tag}' of version "
                         f"{policy.get('version')}")
    return [_enclave(element, file, namespace) for element in policy.iterfind("enclaves/enclave")]


def _enclave(element: Any, file: Path, namespace: str) -> Enclave:
    enclave = Enclave(element.get("path"))
    for expression in element.iter(*EXPRESSIONS):
        group = expression.getparent()
        profile = group.getparent()
        for right, rule in group.items():
            if right.startswith("{"):  # xml:base, of an included file
                continue
            if right not in _RIGHTS or rule != "ALLOW":
                raise InputError(f"{file}: {enclave.path}: expected ALLOW for {', '.join(_RIGHTS)} (all else is "
                                 f"denied), received {right}=\"{rule}\"")
            enclave.rights[right].add(_full_name(expression.text.strip(), profile, namespace))
    return enclave


def _full_name(name: str, profile: Any, namespace: str) -> str:
    """Return a name with its namespace; `name` is absolute, relative, or below its node (``~/``)."""
    if name.startswith("/"):
        return name
    parts = [*namespace.split("/"), *profile.get("ns").split("/")]
    if name.startswith("~/"):
        parts += [profile.get("node")]
    return "/" + "/".join([*filter(None, parts), name.removeprefix("~/")])


def _child(parent: Any, tag: str, text: str = "", **attributes: str) -> Any:
    element = etree.SubElement(parent, tag, attributes)
    element.text = text or None
    return element
