"""Several control laws on the same robot and the same motion: what each makes of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from robodyn_ros.control.controller import JointReference
from robodyn_ros.control.registry import controller_names, load_controller, make_controller
from robodyn_ros.control.trajectories.joint_trajectory import JointTrajectory
from robodyn_ros.control.trajectories.tip_reference import TipReference
from robodyn_ros.description.model import Array
from robodyn_ros.errors import InputError
from robodyn_ros.robot import Robot
from robodyn_ros.simulation.plant_model import PlantModel
from robodyn_ros.simulation.rollout import ClosedLoop
from robodyn_ros.simulation.test_motion import tip_references
from robodyn_ros.timing import DEFAULT_PERIOD


@dataclass(frozen=True, eq=False)
class Performance:
    """What one law made of the motion, K ticks of it.

    Attributes:
        controller: Name of the law.
        time: Shape (K,) [s].
        tip_error: Distance of the tip link's origin from where it should be, shape (K,) [m].
        joint_error: Desired minus true joint positions, shape (K, n) [rad or m].
        effort_share: Efforts over their limits, shape (K, n); 0 where there is no limit.
        work: What the drives gave and took, added up without sign [J].
    """

    controller: str
    time: Array
    tip_error: Array
    joint_error: Array
    effort_share: Array
    work: float

    @property
    def saturated(self) -> float:
        """Share of ticks at which a joint exerted all of its effort."""
        return float((np.abs(self.effort_share) >= 1.0).any(axis=1).mean())


def comparable() -> tuple[str, ...]:
    """Names of the installed controllers that follow joints or poses."""
    return tuple(name for name in controller_names()
                 if load_controller(name).follows in (JointReference, TipReference))


def perform(
    robot: Robot, controller: str, motion: JointTrajectory, plant: PlantModel | None = None,
    period: float = DEFAULT_PERIOD, rest: float = 0.3, position_noise: float = 0.0,
    velocity_noise: float = 0.0, seed: int = 0,
) -> Performance:
    """Simulate a law with its default parameters; laws that follow poses follow those of the tip link in the motion.

    Args:
        robot: The robot that the law knows.
        controller: Name of the law, as in the registry.
        motion: Of the joints.
        plant: The robot that is simulated; None: the one that the law knows.
        period: Control period [s].
        rest: How long the end of the motion is held [s].
        position_noise: Standard deviation of measured positions [rad or m].
        velocity_noise: Standard deviation of measured velocities [rad/s or m/s].
        seed: Of the noise.

    Raises:
        InputError: The controller is no law, or follows neither joints nor poses.
        PluginError: No controller is called so.
        SimulationError: The state became infinite or NaN.
    """
    law = make_controller(controller, robot)
    if law.follows not in (JointReference, TipReference):
        raise InputError(f"compare: expected controllers that follow joints or poses, received '{controller}'")
    loop = ClosedLoop(law, plant, period)
    start = motion.sample(motion.start_time).q
    scenario = loop.scenario([motion] if law.follows is JointReference else [], motion.end_time + rest, q=start,
                             position_noise=position_noise, velocity_noise=velocity_noise, seed=seed)
    times = scenario.clocks[:, 0]
    poses = tip_references(robot, motion, times)
    if law.follows is TipReference:
        scenario = replace(scenario, references=poses)
    done = loop.run(scenario)
    tip = robot.dynamics().batch.forward_kinematics(done.q)[:, :3, 3]
    desired = np.stack([motion.sample(time).q for time in times.tolist()])
    work = period * float(np.abs(done.effort * done.v).sum())
    return Performance(controller, times, np.linalg.norm(poses.position - tip, axis=1), desired - done.q,
                       done.effort / robot.model.effort_limit, work)


def table(performances: Sequence[Performance]) -> str:
    """What each law did, one line each, as text; joint errors in mrad (mm) over all joints."""
    width = max(len("controller"), *(len(one.controller) for one in performances))
    lines = [f"{'':<{width}}  {'tip error [mm]':^19}  {'joints [mrad, mm]':^19}  {'effort [% of limit]':^19}  "
             f"{'saturated':>9}  {'work':>8}",
             f"{'controller':<{width}}" + f"  {'RMS':>9} {'worst':>9}" * 3 + f"  {'[% time]':>9}  {'[J]':>8}"]
    for one in performances:
        columns = ((1e3, one.tip_error), (1e3, one.joint_error), (1e2, one.effort_share))
        row = f"{one.controller:<{width}}"
        for scale, values in columns:
            row += f"  {scale * np.sqrt(np.mean(values**2)):9.3f} {scale * np.abs(values).max():9.3f}"
        lines.append(f"{row}  {100.0 * one.saturated:9.2f}  {one.work:8.2f}")
    return "\n".join(lines)


def plot(performances: Sequence[Performance], path: str | Path, title: str) -> None:
    """Draw tip errors and efforts over time, and as bars the RMS of both, work and saturation, into a PNG file.

    Args:
        performances: What each law did.
        path: Where the picture goes; its folder must exist.
        title: Heading of the picture.
    """
    from matplotlib import colormaps
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(15.0, 7.5), layout="constrained")
    FigureCanvasAgg(figure)
    figure.suptitle(title)
    (errors, error_bars, work_bars), (efforts, effort_bars, saturation_bars) = figure.subplots(
        2, 3, gridspec_kw={"width_ratios": [3, 2, 1.5]})
    colors = [colormaps["tab20"](index % 20) for index in range(len(performances))]
    for one, color in zip(performances, colors, strict=True):
        errors.semilogy(one.time, 1e3 * np.maximum(one.tip_error, 1e-7), color=color, linewidth=1.0,
                        label=one.controller)
        efforts.plot(one.time, 1e2 * np.abs(one.effort_share).max(axis=1), color=color, linewidth=1.0)
    errors.set_ylabel("tip error [mm]")
    efforts.set(xlabel="time [s]", ylabel="greatest effort [% of limit]")
    names, places = [one.controller for one in performances], np.arange(len(performances))
    for axis, label, values in (
        (error_bars, "RMS tip error [mm]", [1e3 * np.sqrt(np.mean(one.tip_error**2)) for one in performances]),
        (work_bars, "work [J]", [one.work for one in performances]),
        (effort_bars, "RMS effort [% of limit]", [1e2 * np.sqrt(np.mean(one.effort_share**2)) for one in performances]),
        (saturation_bars, "saturated [% of time]", [1e2 * one.saturated for one in performances]),
    ):
        axis.barh(places, values, color=colors)
        axis.set_yticks(places, names if axis in (error_bars, effort_bars) else [], fontsize="small")
        axis.invert_yaxis()
        axis.set_xlabel(label)
    error_bars.set_xscale("log")
    figure.savefig(path, dpi=100)
