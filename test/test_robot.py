# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

import copy
import pickle
import subprocess
import sys

import numpy as np
import pytest

import robodyn_ros
from robodyn_ros import DescriptionError, InputError, Robot
from robodyn_ros.control import State
from robodyn_ros.control.plugins.registry import make_controller
from robodyn_ros.description.model import Inertia
from robodyn_ros.description.resources import robot_file


def test_a_robot_from_a_file_or_its_text():
    path = robot_file("arm7")
    for robot in (Robot.from_urdf(path), Robot.from_urdf(str(path)),
                  Robot.from_urdf_text(path.read_text(encoding="utf-8"))):
        assert (robot.name, robot.n, robot.tip_link) == ("arm7", 7, "tool0")
        assert len(robot.joint_names) == 7
        assert "arm7" in repr(robot)


def test_gravity_and_tip_are_chosen():
    robot = Robot.from_urdf(robot_file("arm7"), gravity=(0.0, 0.0, 0.0), tip_link="link3")
    assert robot.tip_link == "link3"
    np.testing.assert_array_equal(robot.dynamics().gravity(np.full(7, 0.5)), np.zeros(7))
    np.testing.assert_array_equal(robot.dynamics().jacobian(np.full(7, 0.5))[:, 3:], np.zeros((6, 4)))


def test_limits_are_those_of_the_model():
    robot = Robot.from_urdf(robot_file("planar_2r"))
    for name in ("position_lower", "position_upper", "velocity_limit", "effort_limit"):
        limit = getattr(robot, name)
        assert limit is getattr(robot.model, name) and limit.shape == (2,) and not limit.flags.writeable


def test_its_errors_are_the_loaders():
    with pytest.raises(DescriptionError):
        Robot.from_urdf_text("<robot")
    with pytest.raises(InputError, match="gravity"):
        Robot.from_urdf(robot_file("arm7"), gravity=(0.0, np.nan, 0.0))
    with pytest.raises(InputError, match="tool1"):
        Robot.from_urdf(robot_file("arm7"), tip_link="tool1")


def test_dynamics_are_made_once():
    robot = Robot.from_urdf(robot_file("planar_2r"))
    assert robot.dynamics() is robot.dynamics()
    assert robot.dynamics(False, "textbook") is robot.dynamics(False, "textbook")
    forms = {robot.dynamics(compiled, form) for compiled in (True, False) for form in ("efficient", "textbook")}
    assert len(forms) == 4 and robot.dynamics() is robot.with_formulas("efficient").dynamics()
    q, v, a = np.random.default_rng(0).uniform(-1.0, 1.0, (3, 2))
    for form in forms:
        np.testing.assert_allclose(form.inverse_dynamics(q, v, a), robot.dynamics().inverse_dynamics(q, v, a))
    with pytest.raises(InputError, match="unknown formulas 'textbok': did you mean 'textbook'"):
        robot.with_formulas("textbok")


IN_ANOTHER_PROCESS = """
import pickle, sys
import numpy as np
from robodyn_ros.control import JointReference, State
robot, single, batch, law = pickle.load(sys.stdin.buffer)
q, rest = np.array([0.4, -0.3]), np.zeros(2)
assert batch.threads == 2 and robot.timing.period == 0.004 and single is robot.dynamics()
for effort in (single.gravity(q), batch.gravity(q[None])[0],
               law.update(State(0.004, 0.004, q, rest), JointReference(q, rest, rest))):
    print(*map(repr, effort.tolist()))
"""


def test_a_robot_goes_to_another_process():
    """A new process has only what is pickled, as those of a pool, of Dask and of vector environments."""
    robot, q = Robot.named("planar_2r").with_timing(0.004, 1), np.array([0.4, -0.3])
    dynamics, law = robot.dynamics(), make_controller("pd_gravity", robot)
    dynamics.batch.threads = 2
    expected = dynamics.gravity(q)  # its compiled code stays here
    law.activate(State(0.0, 0.004, q, np.zeros(2)))
    sent = pickle.dumps((robot, dynamics, dynamics.batch, law))
    result = subprocess.run([sys.executable, "-c", IN_ANOTHER_PROCESS], input=sent, capture_output=True, timeout=120)
    assert result.returncode == 0, result.stderr.decode()
    for line in result.stdout.decode().splitlines():
        np.testing.assert_allclose(np.array(line.split(), dtype=float), expected, rtol=1e-12)
    assert len(result.stdout.splitlines()) == 3


@pytest.mark.parametrize("duplicate", [copy.deepcopy, lambda given: pickle.loads(pickle.dumps(given))])
def test_a_duplicate_of_a_robot_is_the_same_robot(duplicate):
    robot = Robot.named("arm6").with_timing(0.004, 1).with_formulas("textbook")
    made = {option: robot.dynamics(**option_arguments) for option, option_arguments in
            {"compiled": {}, "interpreted": {"compiled": False}, "efficient": {"formulas": "efficient"}}.items()}
    other, others = duplicate((robot, made))
    assert (other.timing, other.formulas, other.name, other.tip_link) == (robot.timing, "textbook", "arm6", "tool0")
    assert other.dynamics() is others["compiled"] and repr(others["interpreted"]) == repr(made["interpreted"])
    q = np.linspace(0.1, 0.6, 6)
    for option, dynamics in made.items():
        np.testing.assert_array_equal(others[option].forward_kinematics(q), dynamics.forward_kinematics(q))
        np.testing.assert_array_equal(others[option].batch.forward_kinematics(q[None])[0],
                                      dynamics.batch.forward_kinematics(q[None])[0])
    with pytest.raises(InputError, match="forward_kinematics"):
        others["compiled"].forward_kinematics(np.zeros(3))


def test_a_robot_has_a_name():
    robot = Robot.named("arm6", tip_link="forearm_link")
    assert (robot.name, robot.tip_link) == ("arm6", "forearm_link")
    with pytest.raises(InputError, match="arm66"):
        Robot.named("arm66")


def test_importing_the_package_imports_little():
    """A program that only wants an error class, or `robodyn --help`, must not wait for NumPy, LLVM and XML."""
    code = "import sys, robodyn_ros; print([m for m in ('numpy', 'llvmlite', 'yourdfpy', 'scipy') if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout.strip() == "[]"


def test_every_export_exists():
    for name in robodyn_ros.__all__:
        assert getattr(robodyn_ros, name) is not None
    with pytest.raises(AttributeError, match="Robots"):
        _ = robodyn_ros.Robots


def test_a_robot_from_denavit_hartenberg_parameters():
    body = Inertia(1.0, np.zeros(3), 0.01 * np.eye(3))
    rows = [{"a": a, "alpha": 0, "d": 0, "theta": 0, "inertia": body} for a in (0.0, 0.5)]
    robot = Robot.from_dh(rows, name="two", gravity=(0, -9.81, 0))
    assert (robot.name, robot.joint_names) == ("two", ("joint1", "joint2"))
    # The second link's mass hangs on its axis, 0.5 m from the first.
    np.testing.assert_allclose(robot.dynamics().gravity([0.0, 0.3]), [0.5 * 9.81, 0.0], atol=1e-12)
    with pytest.raises(DescriptionError, match="row 1"):
        Robot.from_dh([(0, 0, 0)])


def test_joint_positions_of_a_pose():
    robot = Robot.from_urdf(robot_file("arm6"))
    q = np.array([0.3, -1.2, 1.5, 0.4, 0.9, -0.2])
    result = robot.inverse_kinematics(robot.dynamics().forward_kinematics(q), q + 0.05)
    assert result.success
    np.testing.assert_allclose(result.q, q, atol=1e-7)


def test_compiled_dynamics_do_without_the_textbook():
    """Nodes start without its modules."""
    program = ("import sys; from robodyn_ros import Robot; from robodyn_ros.description.resources import robot_file; "
               "robot = Robot.from_urdf(robot_file('planar_2r')); robot.dynamics().gravity([0.0, 0.0]); "
               "print(any(name.startswith('robodyn_ros.textbook') for name in sys.modules)); "
               "robot.dynamics(False, 'textbook'); print('robodyn_ros.textbook.formulas' in sys.modules)")
    found = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert found.stdout.split() == ["False", "True"]
