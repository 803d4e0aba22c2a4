# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Plugins' parameters as ROS parameters, where test_controller.py leaves off: values that nothing takes."""

import os

import yaml
from ros_process import RosProcess, RosTest


def test_values_of_misspelt_parameters_are_named(tmp_path):
    gains = {"pd": {"gains": {"joint1": {"p": 30.0}, "join2": {"p": 20.0}}}, "computed_torque": {"p": 9.0},
             "Spring": {"rank": 3}}
    file = tmp_path / "gains.yaml"
    file.write_text(yaml.safe_dump({"/**": {"ros__parameters": gains}}))
    command = ("-m", "robodyn_ros", "controller", "--ros-args", "--params-file", str(file))
    with RosProcess("controller", {"robot": "planar_2r"}, command=command) as process:
        process.wait_for_output("no joint states")
        output = process.output()
        assert ("'pd.gains.join2.p' is given a value, but is no parameter of /controller: "
                "did you mean 'pd.gains.joint2.p'") in output
        assert "'computed_torque.p' is given a value" in output
        assert "'Spring.rank' is given a value, but no known controller has this parameter" in output
        assert "'pd.gains.joint1.p'" not in output.replace("or 'pd.gains.joint1.p'", "")


def test_a_misspelt_parameter_on_the_command_line_is_refused():
    with RosProcess("controller", {"robot": "planar_2r", "pd.gains.join2.p": 20.0}) as process:
        assert process.wait() == 2
        assert ("robodyn: error: 'pd.gains.join2.p' is given a value, but is no parameter of /controller: "
                "did you mean 'pd.gains.joint2.p'") in process.output()


def test_only_installed_controllers_are_imported_where_others_are_not_allowed(tmp_path, monkeypatch):
    trace = tmp_path / "imported"
    (tmp_path / "intruder.py").write_text(f"open({str(trace)!r}, 'w').close()\n")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path), prepend=os.pathsep)
    settings = {"robot": "planar_2r", "allow_python_plugins": False}
    refusal = ("controller 'intruder:Mine': expected the name of an installed controller, as the parameter "
               "'allow_python_plugins' is false; installed are: adaptive,")
    with RosProcess("controller", settings, "closed") as process, RosTest(namespace="closed") as ros:
        for name in ("intruder:Mine", "intruder.sub:Mine"):
            result = ros.set_parameters("controller", {"controller": name})
            assert not result.successful
        assert refusal.replace("intruder:", "intruder.sub:") in result.reason
        assert "read-only" in ros.set_parameters("controller", {"allow_python_plugins": True}).reason
        assert ros.set_parameters("controller", {"controller": "computed_torque"}).successful
        process.stop()
    for role in ("controller", "safe_controller"):
        with RosProcess("controller", {**settings, role: "intruder:Mine"}) as process:
            assert process.wait() == 2
            assert refusal in process.output()
    assert not trace.exists()
