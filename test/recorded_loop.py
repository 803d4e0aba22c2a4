# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.


"""A control loop that keeps what happened, for tests."""

from robodyn_ros.control.runtime.control_loop import ControlLoop
from robodyn_ros.control.runtime.loop_events import LawEnded, LawFailed, ModeChanged, NewStart
from robodyn_ros.control.runtime.modes import STOPS, Mode


class RecordedLoop(ControlLoop):
    """Keeps the events of ticks and requests.

    Attributes:
        events: All of them.
        stops: Why the robot was stopped at each stop, with the damping in it.
    """

    def __init__(self, *arguments):
        self.events, self.stops = [], []
        super().__init__(*arguments)

    def tick(self, measurement):
        tick = super().tick(measurement)
        self._keep(tick.events)
        return tick

    def request(self, request):
        answer = super().request(request)
        self._keep(answer.events)
        return answer

    def _keep(self, events):
        self.events += events
        self.stops += [self.modes.stopped() for event in events if isinstance(event, ModeChanged)
                       and event.mode in STOPS and event.reason is not None]

    @property
    def failures(self):
        return [(event.name, event.error) for event in self.events if isinstance(event, LawFailed)]

    @property
    def starts(self):
        return [event.text for event in self.events if isinstance(event, NewStart)]

    @property
    def ends(self):
        return [event.plugin for event in self.events if isinstance(event, LawEnded)]

    @property
    def waits(self):
        """Why the chosen law waits; empty: no longer."""
        return ["" if event.reason is None else event.reason.text for event in self.events
                if isinstance(event, ModeChanged) and event.mode is Mode.HOLDING]
