"""One call from Python of each dynamics function, against the same function of Pinocchio."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from bench.timing import Comparison, compare
from robodyn_ros import Robot
from robodyn_ros.resources import robot_file


def cases(robot_name: str) -> Iterator[tuple[str, Callable[[], np.ndarray], Callable[[], np.ndarray]]]:
    """Name of a function, our call and Pinocchio's, all at one random state of the robot."""
    import pinocchio as pin

    path = robot_file(robot_name)
    robot = Robot.from_urdf(path)
    dyn = robot.dynamics()
    model = pin.buildModelFromUrdf(str(path))
    data = model.createData()
    if list(model.names)[1:] != list(robot.joint_names) or model.nq != robot.n:
        raise SystemExit(f"bench: joints of '{robot_name}' are ordered otherwise in Pinocchio: {list(model.names)[1:]}")
    tip = model.getFrameId(robot.tip_link)
    axes = pin.ReferenceFrame.LOCAL_WORLD_ALIGNED
    rng = np.random.default_rng(4)
    q, v, a, tau = rng.uniform(-1.0, 1.0, (4, robot.n))

    def pin_mass_matrix() -> np.ndarray:
        upper = pin.crba(model, data, q)
        return upper  # the symmetric fill of the lower part is left out in Pinocchio's favour

    def pin_forward_kinematics() -> np.ndarray:
        pin.forwardKinematics(model, data, q)
        return pin.updateFramePlacement(model, data, tip).homogeneous

    yield "inverse_dynamics", lambda: dyn.inverse_dynamics(q, v, a), lambda: pin.rnea(model, data, q, v, a)
    yield "forward_dynamics", lambda: dyn.forward_dynamics(q, v, tau), lambda: pin.aba(model, data, q, v, tau)
    yield "mass_matrix", lambda: dyn.mass_matrix(q), pin_mass_matrix
    yield "gravity", lambda: dyn.gravity(q), lambda: pin.computeGeneralizedGravity(model, data, q)
    yield "coriolis_matrix", lambda: dyn.coriolis_matrix(q, v), lambda: pin.computeCoriolisMatrix(model, data, q, v)
    yield "forward_kinematics", lambda: dyn.forward_kinematics(q), pin_forward_kinematics
    yield "jacobian", lambda: dyn.jacobian(q), lambda: pin.computeFrameJacobian(model, data, q, tip, axes)


def run(robot_name: str = "arm7") -> list[tuple[str, Comparison]]:
    """Compare every function on one robot, after checking that both compute the same numbers."""
    results = []
    for name, ours, peer in cases(robot_name):
        expected = np.asarray(peer())
        if name == "mass_matrix":
            expected = np.triu(expected) + np.triu(expected, 1).T
        np.testing.assert_allclose(ours(), expected, rtol=1e-9, atol=1e-9, err_msg=name)
        results.append((name, compare(ours, peer)))
    return results
