"""How the hardware node's plant is run: its time mode, and what may change while it runs."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from robodyn_ros.simulation.commands import SafeBehaviour
from robodyn_ros.simulation.sensing import Sensors


class TimeMode(StrEnum):
    """What decides when the next control period begins; see docs/hardware.md."""

    REAL_TIME = "real_time"
    SCALED = "scaled"
    LOCKSTEP = "lockstep"


@dataclass(frozen=True)
class LiveSettings:
    """Settings that may change while the node runs.

    Attributes:
        command_timeout: Age at which a command is too old, in simulated time [s]; 0: never.
        safe_behaviour: What joints with too old a command do.
        safe_time_constant: Time constant of the damping behaviour [s].
        real_time_factor: Simulated time per steady clock time, for ``scaled``.
        lockstep_speed_limit: Most simulated time per steady clock time, for ``lockstep``; 0: none.
        wrench_timeout: Age at which an external wrench ends, in simulated time [s]; 0: never.
        actuator_state_rate: Actuator states per simulated second [Hz]; 0: none.
        sensors: What is seen of the joints, used by nobody else; None: everything as it is.
    """

    command_timeout: float
    safe_behaviour: SafeBehaviour
    safe_time_constant: float
    real_time_factor: float
    lockstep_speed_limit: float
    wrench_timeout: float
    actuator_state_rate: float
    sensors: Sensors | None
