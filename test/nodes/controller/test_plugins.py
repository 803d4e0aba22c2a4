"""Plugins' parameters as ROS parameters, where test_controller.py leaves off: values that nothing takes."""

import yaml
from ros_process import RosProcess


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
