"""Plugins' parameters as ROS parameters, where test_controller.py leaves off: values that nothing takes."""

from ros_process import RosProcess


def test_values_of_misspelt_parameters_are_named():
    given = {"robot": "planar_2r", "pd.gains.joint1.p": 30.0, "pd.gains.join2.p": 20.0, "computed_torque.p": 9.0}
    with RosProcess("controller", given) as process:
        process.wait_for_output("no joint states")
        output = process.output()
        assert ("'pd.gains.join2.p' is given a value, but is no parameter of controller 'pd': "
                "did you mean 'pd.gains.joint2.p'") in output
        assert "'computed_torque.p' is given a value" in output
        assert "'pd.gains.joint1.p'" not in output.replace("or 'pd.gains.joint1.p'", "")
