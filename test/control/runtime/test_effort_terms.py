# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.


"""The terms of commanded efforts say what the law, a swap, the supervisor and the damping did."""

import numpy as np

from robodyn_ros import Robot
from robodyn_ros.control.contract.controller import Controller
from robodyn_ros.control.laws.computed_torque import ComputedTorque
from robodyn_ros.control.laws.pd_gravity import PDGravity
from robodyn_ros.control.optimisation.safety_filter import filtered
from robodyn_ros.control.plugins.plugin import Plugin
from robodyn_ros.control.runtime.control_loop import ControlLoop
from robodyn_ros.control.runtime.effort_terms import effort_terms
from robodyn_ros.control.runtime.measurement import Measurement
from robodyn_ros.control.runtime.modes import Reason
from robodyn_ros.control.runtime.requests import NewSettings, Stop, Swap
from robodyn_ros.control.runtime.supervisor import SupervisorSettings
from robodyn_ros.description.resources import robot_file

ROBOT = Robot.from_urdf(robot_file("planar_2r"))
PERIOD, TICKS = 0.002, 50


class Constant(Controller):
    """Returns the same efforts at every tick; fails if they are NaN."""

    def __init__(self, *effort):
        super().__init__(ROBOT)
        self.effort = np.array(effort)

    def update(self, state, reference):
        return self.effort


class Moved:
    """A loop whose state does not change, with a law in force for two ticks."""

    def __init__(self, controller, safe=None):
        self.count = 0
        self.loop = ControlLoop(ROBOT, Plugin("first", controller), Plugin("safe", safe or Constant(-9.0, 9.0)), 0.5)
        self.loop.request(NewSettings(swap_time=TICKS * PERIOD))
        self.ticks(2)

    def tick(self):
        self.count += 1
        return self.loop.tick(Measurement(round(1e9 * PERIOD * self.count), np.array([0.3, -0.4]),
                                          np.array([0.1, 0.2])))

    def ticks(self, count):
        for _ in range(count):
            self.tick()

    def swap(self, controller):
        self.loop.request(Swap(Plugin("second", controller)))


def checked(tick, *names):
    terms = effort_terms(tick)
    assert list(terms) == list(names)
    np.testing.assert_allclose(sum(terms.values()), tick.effort, rtol=0.0, atol=1e-10)
    return terms


def prepared(kind):
    law = kind(ROBOT)
    law.prepare_terms(law.parameters)
    return law


def test_a_swap_is_a_term_until_it_has_ended():
    rig = Moved(prepared(PDGravity))
    checked(rig.tick(), "feedback", "gravity")
    rig.swap(ComputedTorque(ROBOT))
    assert np.abs(checked(rig.tick(), "law", "transfer")["transfer"]).max() > 0.1  # its terms are not compiled yet
    law = rig.loop.laws.chosen.controller
    law.prepare_terms(law.parameters)
    checked(rig.tick(), "feedback", "inertia", "coriolis", "gravity", "friction", "transfer")
    rig.ticks(60)
    checked(rig.tick(), "feedback", "inertia", "coriolis", "gravity", "friction")


def test_a_filter_shows_the_transfer_that_it_passed():
    rig = Moved(Constant(10.0, -10.0))
    rig.swap(prepared(filtered(PDGravity)))
    rig.tick()
    assert np.abs(checked(rig.tick(), "feedback", "gravity", "filter", "transfer")["transfer"]).max() > 0.1
    rig.ticks(60)
    assert not checked(rig.tick(), "feedback", "gravity", "filter", "transfer")["transfer"].any()


def test_limits_are_a_term_and_a_stop_shows_the_safe_law():
    rig = Moved(Constant(1000.0, 0.0))
    terms = checked(rig.tick(), "law", "limits")
    assert terms["law"][0] == 1000.0 and terms["limits"][0] == ROBOT.effort_limit[0] - 1000.0
    rig.loop.request(NewSettings(supervisor=SupervisorSettings(effort_rate=0.1)))
    rig.loop.request(Stop(Reason("request", "a test")))
    checked(rig.tick(), "law", "limits")


def test_there_are_no_terms_while_no_law_works():
    rig = Moved(Constant(1.0, 1.0), Constant(np.nan, 0.0))
    rig.swap(Constant(np.nan, 0.0))
    checked(rig.tick())
