# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

import numpy as np
from hypothesis import given, settings
from pin_reference import SEEDS, random_state
from random_robots import urdf_robots

from robodyn_ros.description.model import skew
from robodyn_ros.description.urdf import load_urdf_text
from robodyn_ros.kinematics.forward import link_poses
from robodyn_ros.kinematics.jacobian import body_jacobians, twist_jacobian
from robodyn_ros.textbook.center_of_mass_jacobians import link_jacobian_derivatives, link_jacobians


@settings(deadline=None, max_examples=7)
@given(urdf_robots(max_joints=8), SEEDS)
def test_they_are_the_jacobians_of_the_links_taken_to_their_centres_of_mass(urdf, seed):
    model = load_urdf_text(urdf)
    (q,) = random_state(model, seed, 1)
    for joint, pose, link, body in zip(
        model.joints, link_poses(model, q), link_jacobians(model, q), body_jacobians(model, q), strict=True
    ):
        rotation, com = pose[:3, :3], joint.inertia.com
        assert link.mass == joint.inertia.mass
        np.testing.assert_allclose(link.position, (pose @ [*com, 1.0])[:3], atol=1e-12)
        np.testing.assert_allclose(link.inertia, rotation @ joint.inertia.rotational @ rotation.T, atol=1e-12)
        of_origin = twist_jacobian(model, q, joint.link)
        np.testing.assert_allclose(link.angular, of_origin[:3], atol=1e-12)
        np.testing.assert_allclose(link.linear, of_origin[3:] - skew(rotation @ com) @ of_origin[:3], atol=1e-11)
        np.testing.assert_allclose(link.linear, rotation @ (body[3:] - skew(com) @ body[:3]), atol=1e-11)


@settings(deadline=None, max_examples=10)
@given(urdf_robots(max_joints=5), SEEDS)
def test_derivatives_are_slopes(urdf, seed):
    model = load_urdf_text(urdf)
    (q,) = random_state(model, seed, 1)
    step = 1e-5
    sides = [(link_jacobians(model, q + h), link_jacobians(model, q - h)) for h in step * np.eye(model.n)]
    for index, derivatives in enumerate(link_jacobian_derivatives(model, q)):
        for name in ("linear", "angular", "inertia"):
            slopes = [
                (getattr(ahead[index], name) - getattr(behind[index], name)) / (2 * step) for ahead, behind in sides
            ]
            np.testing.assert_allclose(getattr(derivatives, name), np.stack(slopes, axis=-1), atol=1e-6)
        np.testing.assert_array_equal(derivatives.linear, derivatives.linear.swapaxes(1, 2))
