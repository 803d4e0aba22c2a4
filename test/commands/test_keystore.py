# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""`robodyn keystore`: OpenSSL itself verifies what it made."""

import shutil
import stat
import subprocess

import pytest

from robodyn_ros.commands.command_line import USAGE_ERROR, main

pytestmark = pytest.mark.skipif(shutil.which("openssl") is None, reason="there is no command openssl")

ENCLAVES = ("controller", "dynamics", "guard", "hardware", "operator", "simulate", "state_publisher", "viewer")
FILES = ("cert.pem", "governance.p7s", "identity_ca.cert.pem", "key.pem", "permissions.p7s", "permissions_ca.cert.pem")
"""What rmw_fastrtps and rmw_cyclonedds look for in the folder of an enclave."""


@pytest.fixture(scope="module")
def keystore(tmp_path_factory):
    folder = tmp_path_factory.mktemp("security") / "keys"
    assert main(["keystore", str(folder), "--namespace", "/cell", "--days", "20"]) == 0
    return folder


def openssl(*arguments):
    return subprocess.run(["openssl", *map(str, arguments)], capture_output=True, text=True)


@pytest.mark.parametrize("name", ENCLAVES)
def test_each_enclave_has_a_certificate_and_signed_permissions(name, keystore):
    enclave = keystore / "enclaves" / "robodyn" / name
    assert all((enclave / file).is_file() for file in FILES)
    assert openssl("verify", "-CAfile", enclave / "identity_ca.cert.pem", enclave / "cert.pem").returncode == 0
    subject = openssl("x509", "-in", enclave / "cert.pem", "-noout", "-subject", "-nameopt", "RFC2253").stdout.strip()
    assert subject == f"subject=CN=/robodyn/{name}"
    for document in ("permissions.p7s", "governance.p7s"):
        signed = openssl("smime", "-verify", "-text", "-in", enclave / document, "-CAfile",
                         enclave / "permissions_ca.cert.pem")
        assert signed.returncode == 0, signed.stderr
        assert signed.stdout.startswith("<?xml")
    permissions = (enclave / "permissions.xml").read_text()
    assert f"<subject_name>CN=/robodyn/{name}</subject_name>" in permissions and "rt/cell/joint_states" in permissions


def test_the_key_of_a_certificate_is_its_own(keystore):
    enclave = keystore / "enclaves" / "robodyn" / "hardware"
    public = openssl("x509", "-in", enclave / "cert.pem", "-noout", "-pubkey").stdout
    assert "PUBLIC KEY" in public and openssl("pkey", "-in", enclave / "key.pem", "-pubout").stdout == public


def test_changed_permissions_are_found_out(keystore, tmp_path):
    enclave = keystore / "enclaves" / "robodyn" / "viewer"
    changed = tmp_path / "permissions.p7s"
    changed.write_text((enclave / "permissions.p7s").read_text().replace("DENY", "ALLOW"))
    assert openssl("smime", "-verify", "-in", changed, "-CAfile", enclave / "permissions_ca.cert.pem").returncode != 0


def test_keys_are_for_their_owner_alone(keystore):
    keys = [path for path in keystore.rglob("*key.pem") if not path.is_symlink()]
    assert len(keys) == 1 + len(ENCLAVES)
    assert {stat.S_IMODE(key.stat().st_mode) for key in keys} == {0o600}
    assert stat.S_IMODE((keystore / "private").stat().st_mode) == 0o700


def test_keys_in_use_are_not_overwritten(keystore, capsys):
    before = (keystore / "private" / "ca.key.pem").read_bytes()
    assert main(["keystore", str(keystore)]) == USAGE_ERROR
    assert "is there already" in capsys.readouterr().err
    assert (keystore / "private" / "ca.key.pem").read_bytes() == before


def test_without_openssl_nothing_is_made(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("PATH", "")
    assert main(["keystore", str(tmp_path / "keys")]) == USAGE_ERROR
    assert "'openssl' is missing; install it" in capsys.readouterr().err
    assert not (tmp_path / "keys").exists()


def test_half_a_keystore_does_not_stay(tmp_path, monkeypatch, capsys):
    broken = tmp_path / "openssl"
    broken.write_text("#!/bin/sh\necho no entropy >&2\nexit 1\n")
    broken.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    assert main(["keystore", str(tmp_path / "keys")]) == USAGE_ERROR
    assert "openssl req failed: no entropy" in capsys.readouterr().err
    assert not (tmp_path / "keys").exists()
