# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""``robodyn keystore`` makes keys, certificates and signed permissions for a graph with DDS security, by OpenSSL.

The folder has the layout of sros2: ``public/`` with the certificates of the authority, ``private/`` with its key, and
``enclaves/`` with a folder for each identity.

Permissions of DDS Security are made from an access control policy of ROS 2, which lists topics, services and actions by
their ROS names. Permissions list the DDS topics that carry them. Their names follow design.ros2.org, "Topic and Service
name mapping to DDS" and "Actions".
"""

from __future__ import annotations

import secrets
import shutil
import subprocess
import tempfile
from argparse import Namespace
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from lxml import etree

from robodyn_ros.base.errors import InputError, RobodynError
from robodyn_ros.base.fields import Field
from robodyn_ros.commands.options import Subparsers, add_options
from robodyn_ros.description.resources import config_file

EXPRESSIONS = ("topic", "service", "action")
DISCOVERY_TOPIC = "ros_discovery_info"
"""DDS topic on which the processes of a graph announce their nodes."""

_ACTION_SERVICES = ("send_goal", "cancel_goal", "get_result")
_ACTION_TOPICS = ("feedback", "status")
_TOPIC, _REQUEST, _REPLY = "rt{}", "rq{}Request", "rr{}Reply"
_SERVER = {"publish": _REPLY, "subscribe": _REQUEST}
_CLIENT = {"publish": _REQUEST, "subscribe": _REPLY}
_RIGHTS: dict[str, dict[str, str]] = {
    "publish": {"publish": _TOPIC}, "subscribe": {"subscribe": _TOPIC},
    "reply": _SERVER, "request": _CLIENT, "execute": _SERVER, "call": _CLIENT,
}
"""Forms of the DDS names that each right of a policy allows to publish and subscribe."""
_DATES = "%Y-%m-%dT%H:%M:%S"
DAYS = 3650
AUTHORITIES = ("identity_ca", "permissions_ca")
_CURVE = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes")
_CONFIGURATION = """[req]
distinguished_name = name
[name]
[authority]
basicConstraints = critical, CA:true, pathlen:1
keyUsage = critical, keyCertSign, cRLSign, digitalSignature
subjectKeyIdentifier = hash
[identity]
basicConstraints = CA:false
"""
_SKEW = timedelta(days=1)
"""Permissions are valid from this long before their creation, because clocks and time zones differ."""


@dataclass
class Enclave:
    """Rights of the processes with one certificate.

    Attributes:
        path: Name of the enclave, such as ``/robodyn/hardware``.
        rights: ROS names by right: ``publish``, ``subscribe``, ``reply``, ``request``, ``execute`` and ``call``.
    """

    path: str
    rights: dict[str, set[str]] = field(default_factory=lambda: {right: set() for right in _RIGHTS})

    def dds_topics(self) -> dict[str, list[str]]:
        """Return the DDS topics that may be published and subscribed, under ``publish`` and ``subscribe``."""
        topics: dict[str, set[str]] = {"publish": {DISCOVERY_TOPIC}, "subscribe": {DISCOVERY_TOPIC}}
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
            begin: Begin of validity [UTC].
            days: Validity [days].
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
        InputError: The file is not such a policy.
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
            if right.startswith("{"):  # xml:base of an included file
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


def add_commands(commands: Subparsers) -> None:
    """Add ``keystore``."""
    keystore = commands.add_parser(
        "keystore",
        help="make keys and signed permissions for a graph with DDS security",
        description="Make a folder for ROS_SECURITY_KEYSTORE: an authority, and keys, certificates and permissions of "
        "the nodes, of viewers and of operators, by config/security/policy.xml. See docs/security.md.",
    )
    keystore.add_argument("folder", type=Path, help="folder to make; it must not be there")
    keystore.add_argument("--namespace", default="/", help="namespace of the graph (default: %(default)s)")
    add_options(keystore, Field("days", DAYS, "For how long all is valid", unit="days", minimum=1, maximum=36_500))
    keystore.set_defaults(run=run_keystore)


def run_keystore(options: Namespace) -> int:
    """Make a keystore.

    Raises:
        InputError: The folder exists.
        RobodynError: OpenSSL is missing or fails.
    """
    enclaves = read_policy(config_file("security/policy.xml"), options.namespace)
    make_keystore(options.folder, enclaves, options.days)
    print(f"{options.folder}: {', '.join(enclave.path for enclave in enclaves)}\n"
          f"private/ca.key.pem signs whatever the authority allows: keep it on no robot.")
    return 0


def make_keystore(folder: Path, enclaves: list[Enclave], days: int = DAYS) -> None:
    """Make a keystore with new keys.

    Args:
        folder: Folder to make.
        enclaves: The identities.
        days: For how long certificates and permissions are valid.

    Raises:
        InputError: The folder exists.
        RobodynError: OpenSSL is missing or fails.
    """
    if shutil.which("openssl") is None:
        raise RobodynError("keystore: the command 'openssl' is missing; install it (Debian, Ubuntu): sudo apt-get "
                           "install openssl")
    try:
        folder.mkdir(parents=True)
    except FileExistsError:
        raise InputError(f"'{folder}' is there already: its keys are in use, perhaps; give another folder") from None
    try:
        _fill(folder, enclaves, days)
    except BaseException:
        shutil.rmtree(folder)  # an incomplete keystore would look complete
        raise


def _fill(folder: Path, enclaves: list[Enclave], days: int) -> None:
    public, private, identities = (folder / name for name in ("public", "private", "enclaves"))
    for path in (public, private, identities):
        path.mkdir()
    private.chmod(0o700)
    with tempfile.NamedTemporaryFile("w", suffix=".cnf") as configuration:
        configuration.write(_CONFIGURATION)
        configuration.flush()
        authority = _Authority(public / "ca.cert.pem", private / "ca.key.pem", configuration.name, days)
        authority.create()
        for name in AUTHORITIES:
            (public / f"{name}.cert.pem").symlink_to("ca.cert.pem")
            (private / f"{name}.key.pem").symlink_to("ca.key.pem")
        governance = identities / "governance.xml"
        shutil.copyfile(config_file("security/governance.xml"), governance)
        authority.sign(governance)
        for enclave in enclaves:
            place = identities / enclave.path.lstrip("/")
            place.mkdir(parents=True)
            up = "../" * len(place.relative_to(folder).parts)
            for name in AUTHORITIES:
                (place / f"{name}.cert.pem").symlink_to(f"{up}public/{name}.cert.pem")
            (place / "governance.p7s").symlink_to(f"{up}enclaves/governance.p7s")
            authority.identify(enclave.path, place)
            permissions = place / "permissions.xml"
            permissions.write_bytes(enclave.permissions(datetime.now(UTC) - _SKEW, days + 1))
            authority.sign(permissions)


class _Authority:
    """Signs the certificates and the documents of a keystore."""

    def __init__(self, certificate: Path, key: Path, configuration: str, days: int) -> None:
        self._certificate, self._key = str(certificate), str(key)
        self._configuration, self._days = ("-config", configuration), ("-days", str(days))
        self._extensions = configuration

    def create(self) -> None:
        """Create its own key and certificate."""
        _openssl("req", "-x509", *_CURVE, *self._configuration, *self._days, "-extensions", "authority", "-subj",
                 "/CN=robodyn_ros authority", "-keyout", self._key, "-out", self._certificate)

    def identify(self, path: str, place: Path) -> None:
        """Create key and certificate of an enclave."""
        request = place / "request.pem"
        name = path.replace("/", r"\/")
        _openssl("req", "-new", *_CURVE, *self._configuration, "-subj", f"/CN={name}", "-keyout",
                 str(place / "key.pem"), "-out", str(request))
        _openssl("x509", "-req", "-in", str(request), "-CA", self._certificate, "-CAkey", self._key, "-set_serial",
                 f"0x{secrets.token_hex(16)}", *self._days, "-extfile", self._extensions, "-extensions", "identity",
                 "-out", str(place / "cert.pem"))
        request.unlink()

    def sign(self, document: Path) -> None:
        """Sign an XML document; the signed file has the suffix .p7s."""
        _openssl("smime", "-sign", "-text", "-in", str(document), "-out", str(document.with_suffix(".p7s")), "-signer",
                 self._certificate, "-inkey", self._key)


def _openssl(*arguments: str) -> None:
    done = subprocess.run(["openssl", *arguments], capture_output=True, text=True)
    if done.returncode != 0:
        last = (done.stderr.strip().splitlines() or ["no message"])[-1]
        raise RobodynError(f"keystore: openssl {arguments[0]} failed: {last}")
