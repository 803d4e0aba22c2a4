"""A law on the simulated robot, tick by tick: states and efforts."""

import numpy as np

from robodyn_ros.control import JointReference, State
from robodyn_ros.simulation.commands import Drive
from robodyn_ros.simulation.plant import Plant


def run(robot, controller, q_d, duration, q=None, v=None, step=1e-3):
    """Positions, velocities and efforts within the limits, shape (m, n) each; held at q_d, where it starts unless told.

    One control period is one step of the plant.
    """
    plant, rest = Plant(robot, step), np.zeros(robot.n)
    plant.set_state(q_d if q is None else q, v)
    reference = JointReference(np.asarray(q_d), rest, rest)
    controller.activate(State(0.0, 0.0, plant.q, plant.v))
    rows = []
    for k in range(round(duration / step)):
        state = State(plant.time, step if k else 0.0, plant.q, plant.v)
        plant.advance(Drive(controller.update(state, reference), rest, rest))
        rows.append((state.q, state.v, plant.effort))
    return (np.array(column) for column in zip(*rows, strict=True))
