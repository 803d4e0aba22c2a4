# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""ros2_control's tools see laws as controllers: a client of their services lists, loads, switches and unloads them."""

import pytest
from controller_manager_msgs.msg import ControllerManagerActivity
from controller_manager_msgs.srv import (
    CleanupController,
    ConfigureController,
    ListControllers,
    ListControllerTypes,
    ListHardwareComponents,
    ListHardwareInterfaces,
    LoadController,
    ReloadControllerLibraries,
    SetHardwareComponentState,
    SwitchController,
    UnloadController,
)
from controller_rig import START_DEADLINE, Rig
from lifecycle_msgs.msg import State
from rcl_interfaces.srv import GetParameters, ListParameters, SetParameters
from rclpy.duration import Duration
from rclpy.parameter import Parameter
from rclpy.qos import DurabilityPolicy, QoSProfile
from ros_process import RosProcess
from std_msgs.msg import Float64
from std_srvs.srv import Trigger

from robodyn_ros.nodes.controller.controller_manager import MOST_LAWS

BEST_EFFORT, STRICT = SwitchController.Request.BEST_EFFORT, SwitchController.Request.STRICT
FORCE_AUTO = SwitchController.Request.FORCE_AUTO


class Manager:
    """A client of the services below a name."""

    def __init__(self, ros, name):
        self.ros, self.name = ros, name

    def call(self, kind, service, **fields):
        return self.ros.call(kind, f"{self.name}/{service}", kind.Request(**fields))

    def controllers(self):
        return {found.name: found for found in self.call(ListControllers, "list_controllers").controller}

    def laws(self):
        return {name: found.state for name, found in self.controllers().items()
                if not found.type.startswith("joint_")}

    def load(self, name):
        return self.call(LoadController, "load_controller", name=name).ok

    def configure(self, name):
        return self.call(ConfigureController, "configure_controller", name=name).ok

    def unload(self, name):
        return self.call(UnloadController, "unload_controller", name=name).ok

    def request(self, activate=(), deactivate=(), strictness=STRICT, timeout=10.0, asap=False):
        return SwitchController.Request(
            activate_controllers=list(activate), deactivate_controllers=list(deactivate), strictness=strictness,
            activate_asap=asap, timeout=Duration(seconds=timeout).to_msg())

    def switch(self, *args, **options):
        return self.ros.call(SwitchController, f"{self.name}/switch_controller", self.request(*args, **options))

    def set(self, **values):
        parameters = [Parameter(name.replace("__", "."), value=value).to_parameter_msg()
                      for name, value in values.items()]
        return self.call(SetParameters, "set_parameters", parameters=parameters).results


@pytest.fixture(scope="module")
def rig(ros):
    settings = {"hardware": {"update_rate": 50, "lockstep_speed_limit": 1.0}, "controller": {"controller": "pd"}}
    with Rig(ros, "planar_2r", "/managed", **settings) as rig:
        yield rig


@pytest.fixture
def manager(ros, rig):
    """The manager, with pd in force as the node's parameter chose it, and nothing but pd and damping loaded."""
    manager = Manager(ros, "/managed/controller_manager")
    ros.call(Trigger, "/managed/controller/release")
    rig.set(controller="damping")
    assert manager.laws()["damping"] == "active"
    rig.set(controller="pd")
    assert manager.laws()["pd"] == "active"
    for name in manager.laws().keys() - {"pd", "damping"}:
        assert manager.unload(name)
    return manager


def test_what_runs_is_listed_with_its_interfaces(manager):
    found = manager.controllers()
    assert {name: (each.state, each.type) for name, each in found.items()} == {
        "pd": ("active", "robodyn_ros/pd"), "damping": ("inactive", "robodyn_ros/damping"),
        "joint_state_broadcaster": ("active", "joint_state_broadcaster/JointStateBroadcaster"),
        "controller": ("active", "joint_trajectory_controller/JointTrajectoryController")}
    assert found["pd"].claimed_interfaces == ["joint1/effort", "joint2/effort"] and found["pd"].is_chained
    assert not found["damping"].claimed_interfaces and not found["joint_state_broadcaster"].claimed_interfaces
    assert found["damping"].required_command_interfaces == ["joint1/effort", "joint2/effort"]
    # MoveIt's Ros2ControlManager takes the joints of ~/follow_joint_trajectory from the chain.
    [chain] = found["controller"].chain_connections
    assert chain.name == "pd" and set(found["pd"].reference_interfaces) == set(chain.reference_interfaces)
    assert {name.partition("/")[0] for name in chain.reference_interfaces} == {"joint1", "joint2"}
    assert found["controller"].claimed_interfaces[0] == "pd/joint1/position"
    assert {each.update_rate for each in found.values()} == {50}
    types = manager.call(ListControllerTypes, "list_controller_types")
    assert "robodyn_ros/computed_torque" in types.types and len(types.types) == len(types.base_classes)


def test_the_robot_is_listed_as_hardware(manager):
    [robot] = manager.call(ListHardwareComponents, "list_hardware_components").component
    assert (robot.name, robot.type, robot.state.label, robot.rw_rate) == ("planar_2r", "system", "active", 50)
    interfaces = manager.call(ListHardwareInterfaces, "list_hardware_interfaces")
    assert {(each.name, each.is_available, each.is_claimed) for each in interfaces.command_interfaces} == {
        ("joint1/effort", True, True), ("joint2/effort", True, True)}
    assert {each.name for each in interfaces.state_interfaces} == {
        f"{joint}/{kind}" for joint in ("joint1", "joint2") for kind in ("position", "velocity", "effort")}

    def set_state(state):
        return manager.call(SetHardwareComponentState, "set_hardware_component_state", name="planar_2r",
                            target_state=State(id=state))

    assert set_state(State.PRIMARY_STATE_ACTIVE).ok
    refused = set_state(State.PRIMARY_STATE_INACTIVE)
    assert not refused.ok and refused.state.label == "active"


def test_a_law_is_loaded_configured_activated_and_unloaded(ros, rig, manager):
    qos = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)
    activity = ros.record(ControllerManagerActivity, "/managed/controller_manager/activity", qos)
    assert manager.load("pd_gravity") and not manager.load("pd_gravity") and not manager.load("nonsense")
    assert manager.laws()["pd_gravity"] == "unconfigured"
    assert "'pd_gravity' is not configured" in manager.switch(["pd_gravity"]).message
    assert manager.configure("pd_gravity") and manager.configure("joint_state_broadcaster")
    assert manager.laws()["pd_gravity"] == "inactive"
    done = manager.switch(["pd_gravity"])  # the law that the node began with gives way
    assert done.ok and done.message.startswith("Successfully switched controllers!")
    rig.next("the law", lambda state: state.controller == "pd_gravity")
    assert rig.get("controller") == ["pd_gravity"]
    ros.wait_for(lambda: activity and {each.name: each.state.label for each in activity[-1].controllers} == {
        "pd": "inactive", "damping": "inactive", "pd_gravity": "active", "joint_state_broadcaster": "active",
        "controller": "active"}, "its activity")
    assert not manager.unload("pd_gravity") and not manager.configure("pd_gravity")
    assert manager.laws()["pd_gravity"] == "active"
    assert manager.switch([], ["pd_gravity"]).ok
    rig.next("the safe law", lambda state: state.mode == "stopped" and "deactivated" in state.reason)
    assert manager.laws() == {"pd": "inactive", "damping": "active", "pd_gravity": "inactive"}
    assert manager.controllers()["controller"].state == "inactive"
    assert manager.call(CleanupController, "cleanup_controller", name="pd_gravity").ok
    assert manager.laws()["pd_gravity"] == "unconfigured"
    assert manager.unload("pd_gravity") and not manager.unload("damping")
    assert manager.laws() == {"pd": "inactive", "damping": "active"}
    assert manager.switch(["pd"]).ok
    rig.next("the first law", lambda state: state.controller == "pd" and state.mode == "running")
    assert manager.call(ReloadControllerLibraries, "reload_controller_libraries").ok


def test_strictness(rig, manager):
    for name in ("pd_gravity", "pid"):
        assert manager.load(name) and manager.configure(name)
    refused = manager.switch(["pid", "nonsense"])
    assert not refused.ok and "'nonsense' is not loaded" in refused.message and manager.laws()["pd"] == "active"
    assert not manager.switch(["nonsense"], ["pd"], BEST_EFFORT).ok
    assert manager.laws()["pd"] == "active", "nothing follows it, so it goes on"
    both = manager.switch(["pid", "pd_gravity"])
    assert not both.ok and "claims the command interfaces that 'pid' claims" in both.message
    assert manager.switch(["pid", "nonsense", "pd_gravity"], strictness=BEST_EFFORT).ok
    assert manager.laws() == {"pd": "inactive", "damping": "inactive", "pd_gravity": "inactive", "pid": "active"}
    assert not manager.switch(["pid"]).ok and manager.switch(["pid"], strictness=BEST_EFFORT).ok
    for strictness in (0, BEST_EFFORT, STRICT):
        refused = manager.switch(["pd_gravity"], strictness=strictness)
        assert not refused.ok and "claims the command interfaces of 'pid'" in refused.message
    assert manager.switch(["pd_gravity"], strictness=FORCE_AUTO).ok
    # As CRISP's Python client switches: all active ones but broadcasters are to be deactivated.
    assert manager.switch(["pid"], ["pd_gravity", "controller"], BEST_EFFORT, asap=True).ok
    assert manager.laws()["pid"] == "active"
    rig.set(controller="pd_gravity")  # what a person chooses past the manager is active, and gives way
    assert manager.laws()["pd_gravity"] == "active" and manager.switch(["pd"]).ok


def test_a_stop_by_others_is_not_ended_by_an_activation(ros, rig, manager):
    assert manager.load("pid") and manager.configure("pid")
    assert ros.call(Trigger, "/managed/controller/stop").success
    rig.next("the stop", lambda state: state.mode == "stopped")
    refused = manager.switch(["pid"])
    assert not refused.ok and "call ~/release first" in refused.message
    assert manager.laws() == {"pd": "inactive", "damping": "active", "pid": "inactive"}


def test_a_switch_waits_for_the_inputs_of_a_law(ros, rig, manager):
    [accepted] = manager.set(servo__type="plugins_for_test:Servo")
    assert accepted.successful and manager.load("servo") and manager.configure("servo")
    late = manager.switch(["servo"], timeout=0.5)
    assert not late.ok and "; 'pd' goes on" in late.message
    assert rig.get("controller") == ["pd"]
    rig.next("the law before", lambda state: state.controller == "pd" and state.mode == "running")
    at_once = manager.switch(["servo"], asap=True)
    assert at_once.ok and "'servo' begins later" in at_once.message
    assert manager.laws() == {"pd": "active", "damping": "inactive", "servo": "inactive"}, "pd holds the robot"
    rig.set(controller="pd")
    client = ros.node.create_client(SwitchController, f"{manager.name}/switch_controller")
    ros.wait_for(client.service_is_ready, "the service")
    waiting = client.call_async(manager.request(["servo"], timeout=60.0))
    ros.wait_for(lambda: rig.get("controller") == ["plugins_for_test:Servo"], "the law that waits")
    assert manager.laws()["pd"] == "active" and not waiting.done()
    assert "another switch waits" in manager.switch(["damping"]).message
    gain = ros.publisher(Float64, "/managed/gain")
    ros.wait_for(lambda: gain.publish(Float64(data=0.0)) or waiting.done(), "the end of the switch")
    assert waiting.result().ok, waiting.result().message
    assert manager.switch([], ["servo"]).ok and manager.unload("servo")


def test_files_of_the_spawner_set_parameters_of_the_law(rig, manager, tmp_path):
    file = tmp_path / "laws.yaml"
    file.write_text("soft:\n  ros__parameters:\n    type: robodyn_ros/pd\n    gains: {joint1: {p: 12}}\n    other: 1\n"
                    "/**:\n  stiff:\n    ros__parameters: {gains: {joint1: {p: 345.5}}}\n"
                    "bad:\n  ros__parameters: {gains: {joint1: {p: -1.0}}}\n")
    before, = rig.get("pd.gains.joint1.p")
    for name in ("soft", "stiff", "bad"):
        assert all(each.successful for each in manager.set(**{
            f"{name}__params_file": [str(file)], f"{name}__type": "robodyn_ros/pd"}))
        assert manager.load(name)
    assert not manager.configure("bad") and manager.configure("soft") and manager.configure("stiff")
    assert rig.get("pd.gains.joint1.p") == [before]
    for name, p in (("soft", 12.0), ("stiff", 345.5)):
        assert manager.switch([name], strictness=FORCE_AUTO).ok
        assert rig.get("pd.gains.joint1.p") == [p] and manager.laws()[name] == "active"
    rig.set(**{"pd.gains.joint1.p": 77.0})
    assert manager.switch([], ["stiff"]).ok and manager.switch(["stiff"]).ok
    assert rig.get("pd.gains.joint1.p") == [77.0], "what was set since stays"
    refused, = manager.set(soft__params_file=str(tmp_path))
    assert refused.successful and manager.switch([], ["stiff"]).ok
    assert not manager.configure("soft"), "a folder is no file"
    for name in ("soft__update_rate", "nonsense"):
        [refused] = manager.set(**{name: "x"})
        assert not refused.successful and "expected NAME.type or NAME.params_file" in refused.reason
    [refused] = manager.set(other__type=1)
    assert not refused.successful
    names = manager.call(ListParameters, "list_parameters").result.names
    assert {"soft.type", "stiff.params_file"} <= set(names)
    [value, none] = manager.call(GetParameters, "get_parameters", names=["soft.type", "nobody.type"]).values
    assert value.string_value == "robodyn_ros/pd" and none.type == 0
    rig.set(controller="pid", **{"pd.gains.joint1.p": before})


def test_one_rule_renames_the_manager_and_a_parameter_turns_it_off(ros, tmp_path):
    """Types of controllers may be given at start, as to controller_manager; it takes no more than it can hold."""
    file = tmp_path / "manager.yaml"
    file.write_text("/**/left:\n  ros__parameters:\n    mine: {type: robodyn_ros/pid}\n")

    def services(namespace):
        return {name for name, _ in ros.node.get_service_names_and_types() if name.startswith(f"{namespace}/")}

    renamed = ("-m", "robodyn_ros", "controller", "--ros-args", "-r", "controller_manager:=left",
               "--params-file", str(file))
    with RosProcess("controller", {"robot": "planar_2r"}, "/renamed", renamed) as one, \
            RosProcess("controller", {"robot": "planar_2r", "controller_manager": False}, "/off") as off, \
            RosProcess("controller", {"robot": "planar_2r", "output": "effort_group"}, "/real") as real:
        for node in (one, off, real):
            node.wait_for_output("parameters that differ", START_DEADLINE)
        manager = Manager(ros, "/renamed/left")
        assert manager.load("mine") and manager.controllers()["mine"].type == "robodyn_ros/pid"
        assert manager.laws()["pd"] == "active", "it is in force, and waits for a state"
        [robot] = manager.call(ListHardwareComponents, "list_hardware_components").component
        assert robot.state.label == "unconfigured"
        for namespace in ("/off", "/real"):
            ros.wait_for(lambda namespace=namespace: f"{namespace}/controller/stop" in services(namespace), "services")
            assert not any("controller_manager" in name for name in services(namespace))
        assert not any("controller_manager" in name for name in services("/renamed"))
        given = manager.set(**{f"law{k}__type": "robodyn_ros/pd" for k in range(2 * MOST_LAWS)})
        assert [each.successful for each in given] == [True] * (2 * MOST_LAWS - 1) + [False], "with that of 'mine'"
        assert [manager.load(f"law{k}") for k in range(MOST_LAWS)].count(True) == MOST_LAWS - 3
