import numpy as np
import pinocchio
import pytest
from hypothesis import given, settings
from random_robots import urdf_robots

from robodyn_ros.description.urdf import load_urdf
from robodyn_ros.kinematics.jacobian import geometric_jacobian
from robodyn_ros.kinematics.jacobian_derivative import geometric_jacobian_derivative
from robodyn_ros.resources import robot_file


@settings(deadline=None, max_examples=40)
@given(urdf_robots())
def test_it_is_the_finite_difference_on_random_trees(xml):
    model = load_urdf(xml)
    q, v = np.random.default_rng(4).uniform(-1, 1, (2, model.n))
    h = 1e-6
    difference = geometric_jacobian(model, q + h * v) - geometric_jacobian(model, q - h * v)
    np.testing.assert_allclose(geometric_jacobian_derivative(model, q, v), difference / (2 * h), atol=1e-7)


@pytest.mark.parametrize("name", ["scara", "arm6", "arm7"])
def test_it_is_pinocchios(name):
    path = robot_file(name)
    model = load_urdf(path)
    reference = pinocchio.buildModelFromUrdf(str(path))
    data = reference.createData()
    q, v = np.random.default_rng(5).uniform(-1, 1, (2, model.n))
    pinocchio.computeJointJacobiansTimeVariation(reference, data, q, v)
    pinocchio.updateFramePlacements(reference, data)
    expected = pinocchio.getFrameJacobianTimeVariation(
        reference, data, reference.getFrameId(model.tip_link), pinocchio.LOCAL_WORLD_ALIGNED
    )
    angular_first = np.roll(expected, 3, axis=0)
    np.testing.assert_allclose(geometric_jacobian_derivative(model, q, v), angular_first, atol=1e-12)


def test_links_that_stand_still():
    model = load_urdf(robot_file("arm6"))
    derivative = geometric_jacobian_derivative(model, np.ones(6), np.ones(6), model.base_link)
    np.testing.assert_array_equal(derivative, np.zeros((6, 6)))
