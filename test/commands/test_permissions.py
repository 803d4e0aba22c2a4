# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Permissions of DDS security from a policy in the format of sros2."""

from datetime import UTC, datetime

import pytest
from lxml import etree

from robodyn_ros.base.errors import InputError
from robodyn_ros.commands.keystore import read_policy
from robodyn_ros.description.resources import config_file

POLICY = """<policy version="0.2.0" xmlns:xi="http://www.w3.org/2001/XInclude"><enclaves>
<enclave path="/cell/arm"><profiles><profile ns="/left" node="arm">
  <xi:include href="more.xml" xpointer="xpointer(/profile/*)"/>
  <topics publish="ALLOW" subscribe="ALLOW"><topic>state</topic></topics>
  <topics publish="ALLOW"><topic>/clock</topic><topic> ~/path </topic></topics>
  <services reply="ALLOW"><service>~/stop</service></services>
  <actions call="ALLOW"><action>go</action></actions>
</profile></profiles></enclave></enclaves></policy>"""
MORE = """<profile ns="/" node="x"><services request="ALLOW"><service>ask</service></services></profile>"""
ACTION = ("cancel_goal", "get_result", "send_goal")


@pytest.fixture
def policy(tmp_path):
    (tmp_path / "more.xml").write_text(MORE)

    def write(text=POLICY):
        file = tmp_path / "policy.xml"
        file.write_text(text)
        return file

    return write


def test_names_become_those_of_dds(policy):
    [arm] = read_policy(policy())
    assert arm.path == "/cell/arm"
    assert arm.dds_topics() == {
        "publish": sorted(["ros_discovery_info", "rt/left/state", "rt/clock", "rt/left/arm/path",
                           "rr/left/arm/stopReply", "rq/left/askRequest",
                           *(f"rq/left/go/_action/{name}Request" for name in ACTION)]),
        "subscribe": sorted(["ros_discovery_info", "rt/left/state", "rq/left/arm/stopRequest", "rr/left/askReply",
                             *(f"rr/left/go/_action/{name}Reply" for name in ACTION),
                             "rt/left/go/_action/feedback", "rt/left/go/_action/status"])}


def test_a_namespace_stands_before_all_names_but_absolute_ones(policy):
    [arm] = read_policy(policy(), "/hall")
    topics = arm.dds_topics()["publish"]
    assert "rt/hall/left/arm/path" in topics and "rt/clock" in topics and "rt/hall/clock" not in topics


def test_permissions_name_the_certificate_and_deny_all_else(policy):
    [arm] = read_policy(policy())
    grant = etree.fromstring(arm.permissions(datetime(2026, 2, 27, tzinfo=UTC), 3)).find("permissions/grant")
    assert [child.tag for child in grant] == ["subject_name", "validity", "allow_rule", "default"]
    assert grant.findtext("subject_name") == "CN=/cell/arm" and grant.findtext("default") == "DENY"
    assert grant.findtext("validity/not_before") == "2026-02-27T00:00:00"
    assert grant.findtext("validity/not_after") == "2026-03-02T00:00:00"
    for direction, names in arm.dds_topics().items():
        assert [topic.text for topic in grant.iterfind(f"allow_rule/{direction}/topics/topic")] == names


@pytest.mark.parametrize(("old", "new", "message"), [
    ("0.2.0", "0.1.0", "expected a policy of version 0.2.0, received 'policy' of version 0.1.0"),
    ('reply="ALLOW"', 'reply="DENY"', '/cell/arm: expected ALLOW for publish, .*received reply="DENY"'),
    ("reply=", "answer=", 'received answer="ALLOW"'),
    ("more.xml", "none.xml", "none.xml"),
    ("</policy>", "", "policy.xml: "),
])
def test_other_files_are_refused(old, new, message, policy):
    with pytest.raises(InputError, match=message):
        read_policy(policy(POLICY.replace(old, new)))


def test_the_shipped_policy_has_an_enclave_for_each_role():
    assert {enclave.path for enclave in read_policy(config_file("security/policy.xml"))} == {
        f"/robodyn/{name}" for name in ("hardware", "controller", "dynamics", "state_publisher", "simulate", "viewer",
                                        "guard", "operator")}
