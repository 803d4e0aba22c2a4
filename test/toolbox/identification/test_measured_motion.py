# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

from dataclasses import replace

import numpy as np
import pytest

from bench.wrong_arm import ENCODER, described_arm
from robodyn_ros.base.errors import RecordingError
from robodyn_ros.toolbox.identification.measured_motion import TINY, prepare

MODEL = described_arm("planar_2r").model
TIME = 0.002 * np.arange(5001)
Q = np.stack([0.5 * np.sin(2.0 * TIME), 0.3 * np.cos(3.0 * TIME)], axis=1)
V = np.stack([np.cos(2.0 * TIME), -0.9 * np.sin(3.0 * TIME)], axis=1)
A = np.stack([-2.0 * np.sin(2.0 * TIME), -2.7 * np.cos(3.0 * TIME)], axis=1)
EFFORT = 10.0 * Q


def prepared(time=TIME, q=Q, effort=EFFORT, **options):
    return prepare(MODEL, time, q, effort, "run_1", **options)


def test_derivatives_of_encoder_steps():
    motion = prepared(q=np.rint(Q / ENCODER) * ENCODER, cutoff=10.0)
    rows = np.searchsorted(TIME, motion.time - 1e-9)
    np.testing.assert_allclose(motion.q, Q[rows], atol=1e-4)
    np.testing.assert_allclose(motion.v, V[rows], atol=2e-3)
    np.testing.assert_allclose(motion.a, A[rows], atol=0.05)
    assert motion.notes == ()


def test_accelerations_of_fast_motion_are_not_small():
    """3 Hz at 100 Hz: with differences of second order, accelerations are 1.2 % small."""
    time, rate = 0.01 * np.arange(1001), 6.0 * np.pi
    q = 0.1 * np.sin(rate * time)[:, None] * np.ones(2)
    motion = prepared(time, q, q)
    middle = np.abs(motion.time - 5.0) < 2.0
    expected = -rate**2 * np.interp(motion.time[middle], time, q[:, 0])
    np.testing.assert_allclose(motion.a[middle, 0], expected, atol=2e-4 * np.abs(expected).max())


@pytest.mark.parametrize("step", [1e-4, 5e-4, 2e-3])
@pytest.mark.parametrize("rate", [100, 1000])
def test_a_reversal_within_a_step_of_an_encoder_is_no_rest(rate, step):
    """Its end would count as a sample of the static friction, in which a Stribeck velocity is found."""
    time = np.arange(0.0, 20.0, 1.0 / rate)
    q = np.stack([0.5 * np.sin(2.0 * time), 0.3 * np.cos(3.0 * time)], axis=1)
    motion = prepared(time, np.rint(q / step) * step, q)
    assert not (np.abs(motion.v) == TINY).any()


def test_slow_samples_and_stops_tell_no_friction():
    motion = prepared()
    assert (motion.slowest < 0.01).all()
    slow = np.abs(motion.v) <= motion.slowest
    assert slow.any() and not motion.usable[slow].any()
    # A quarter of the filter's period beside them, too: 12.5 ms at 20 Hz.
    reversal = np.flatnonzero(slow[:, 0])[0]
    assert not motion.usable[reversal - 6, 0] and motion.usable[reversal - 7, 0]
    joints = tuple(replace(joint, limits=replace(joint.limits, upper=float(Q.max()) - 0.1)) for joint in MODEL.joints)
    stopped = prepare(replace(MODEL, joints=joints), TIME, Q, EFFORT, "run_1")
    assert not stopped.usable[stopped.q > Q.max() - 0.1].any()


def test_a_joint_breaks_away_at_the_end_of_a_rest():
    """Joint 1 rests for 0.2 s at each reversal, then starts with 3 rad/s^2; the other one never rests."""
    start = 1.0 + 0.7 * np.arange(12)
    q, sign, place = np.zeros(len(TIME)), 1.0, 0.0
    for begin, end in zip(start, [*start[1:], 100.0], strict=True):
        moving = (begin <= TIME) & (end > TIME)
        t = np.minimum(TIME[moving] - begin, 0.5)
        q[moving] = place + sign * np.where(t < 0.25, 1.5 * t**2, 0.1875 - 1.5 * (0.5 - t) ** 2)
        sign, place = -sign, q[moving][-1]
    noise = 3e-5 * np.random.default_rng(0).normal(size=Q.shape)
    motion = prepared(q=np.stack([q, Q[:, 1]], axis=1) + noise)
    breaks = np.abs(motion.v) == TINY
    assert motion.usable[breaks].all() and not breaks[:, 1].any()
    times, signs = motion.time[breaks[:, 0]], np.sign(motion.v[breaks[:, 0], 0])
    nearest = np.abs(times[:, None] - start).argmin(axis=1)
    assert set(nearest) == set(range(12)) and (np.abs(times - start[nearest]) < 0.008).all()
    np.testing.assert_array_equal(signs, np.where(nearest % 2, -1.0, 1.0))


def test_a_joint_that_breaks_away_at_a_stop_tells_no_friction():
    q = np.where(TIME < 5.0, 0.2, 0.2 - 0.1 * np.minimum(TIME - 5.0, 1.0) ** 2)[:, None] * np.ones(2)
    free, stopped = (prepare(replace(MODEL, joints=tuple(
        replace(joint, limits=replace(joint.limits, upper=upper)) for joint in MODEL.joints)), TIME, q, EFFORT, "run_1")
        for upper in (1.0, 0.2))
    assert free.usable[free.time < 5.0].any() and not stopped.usable[stopped.time < 5.0].any()


def test_the_noise_that_the_filter_leaves_is_told():
    """White noise below 20 of 250 Hz."""
    noise = 3e-5 * np.random.default_rng(0).normal(size=Q.shape)
    noisy, exact = prepared(q=Q + noise), prepared()
    left = (noisy.q - exact.q)[200:-200].std(axis=0)
    assert noisy.position_noise.mean() == pytest.approx(left.mean(), rel=0.1)
    assert (exact.position_noise < 1e-3 * left).all()


def test_gaps_and_jumps_split_the_recording():
    keep = np.ones(len(TIME), dtype=bool)
    keep[2000:2010] = False
    motion = prepared(TIME[keep], Q[keep], EFFORT[keep])
    assert motion.notes == ("run_1: states are missing in 1 gaps (0.20% of the time, the first of 22 ms at "
                            "3.998 s); the parts between them are used",)
    assert not ((motion.time > 3.9) & (motion.time < 4.1)).any()
    jumped = Q.copy()
    jumped[3000:] += 1.0
    assert "positions jump 1 times, first at 5.998 s" in prepared(q=jumped).notes[0]


def test_single_lost_messages_are_bridged():
    kept = np.random.default_rng(0).random(len(TIME)) > 0.1
    motion = prepared(TIME[kept], Q[kept], EFFORT[kept])
    rows = np.searchsorted(TIME, motion.time - 1e-9)
    assert motion.notes == ()
    np.testing.assert_allclose(motion.v, V[rows], atol=1e-3)


def test_a_repeated_state_counts_once():
    twice = np.sort(np.concatenate([np.arange(len(TIME)), [700, 701]]))
    motion = prepared(TIME[twice], Q[twice], EFFORT[twice])
    assert motion.notes == () and len(motion.time) == len(prepared().time)


def nothing_at(index, joint=1):
    values = EFFORT.copy()
    values[index, joint] = np.nan
    return values


@pytest.mark.parametrize(("given", "message"), [
    ({"effort": np.full_like(Q, np.nan)}, "run_1: the states have no efforts, .* record a driver that publishes"),
    ({"effort": nothing_at(7)}, "run_1: states at 0.014 s: effort of joint 'joint2': expected a finite number, "
     "received nan"),
    ({"q": nothing_at(9, 0)}, "run_1: states at 0.018 s: position of joint 'joint1': .* received nan"),
    ({"time": TIME[:1000], "q": Q[:1000], "effort": EFFORT[:1000]}, "expected 5 s of motion or more, received 2 s"),
    ({"time": TIME[::50], "q": Q[::50], "effort": EFFORT[::50]}, "come at 10 Hz: expected at least four times the"),
])
def test_recordings_that_cannot_be_used(given, message):
    with pytest.raises(RecordingError, match=message) as caught:
        prepared(**given)
    assert "\n" not in str(caught.value)


def test_too_many_dropped_messages():
    kept = np.arange(len(TIME)) % 50 > 15
    with pytest.raises(RecordingError, match=r"run_1: \d+% of the states are missing in \d+ gaps, the first of "
                                             r"\S+ ms at \S+ s: expected 10% at most; record again with less load"):
        prepared(TIME[kept], Q[kept], EFFORT[kept])


def test_parts_that_are_too_short():
    kept = np.arange(len(TIME)) % 400 > 10
    with pytest.raises(RecordingError, match="expected 5 s in parts of 1 s or more without gaps and jumps, received 0"):
        prepared(TIME[kept], Q[kept], EFFORT[kept])


def test_wrapped_angles_are_the_same_motion():
    turning = Q + [[2.9, 0.0]]
    plain, wrapped = prepared(q=turning), prepared(q=np.where(turning > np.pi, turning - 2 * np.pi, turning))
    assert wrapped.notes == ()
    np.testing.assert_allclose(wrapped.q, plain.q, atol=1e-12)
    np.testing.assert_allclose(wrapped.v, plain.v, atol=1e-9)
