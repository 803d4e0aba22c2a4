# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.


"""Controller states have the terms of the efforts: of the law, of a swap and of the limits."""

import numpy as np
from controller_rig import Rig
from ros_process import RosTest


def parts(state):
    """The terms of a state by name; they must add up to its output."""
    terms = np.reshape(state.terms, (len(state.term_names), len(state.joint_names)))
    np.testing.assert_allclose(terms.sum(axis=0), state.output, rtol=0.0, atol=1e-9)
    return dict(zip(state.term_names, terms, strict=True))


def test_terms_of_the_efforts_are_in_the_topic_and_say_who_intervened():
    with RosTest() as ros, Rig(ros, "planar_2r", "/terms", controller={"swap_time": 0.5}) as rig:
        named = rig.next("terms of the law", lambda state: "gravity" in parts(state))
        assert named.controller == "computed_torque"
        assert list(parts(named)) == ["feedback", "inertia", "coriolis", "gravity", "friction"]
        rig.set(controller="pd")
        swapped = rig.next("terms of a swap", lambda state: state.controller == "pd" and "transfer" in state.term_names)
        assert np.abs(parts(swapped)["transfer"]).max() > 1.0  # pd knows no gravity
        rig.next("the law alone", lambda state: list(parts(state)) == ["feedback"])
        rig.set(**{"supervisor.effort_rate": 0.1, "swap_time": 0.0})
        rig.set(controller="damping")  # which asks for no effort against gravity
        limited = rig.next("terms of the limits", lambda state: "limits" in parts(state))
        assert "effort rate" in limited.intervention
