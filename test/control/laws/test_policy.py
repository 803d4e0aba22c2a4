# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""The law `policy`: what ONNX Runtime would decide, at the policy's rate, in Python, compiled and in rollouts."""

import re

import numpy as np
import pytest
import yaml
from law_inputs import as_written, random_reference, random_state

pytest.importorskip("onnx", reason="onnx is not installed: pip install onnx")
onnxruntime = pytest.importorskip("onnxruntime", reason="onnxruntime is not installed: pip install onnxruntime")
from onnx import helper  # noqa: E402  # after the skip
from onnx_models import dense, float_input, model, recurrent, weights, written  # noqa: E402

from robodyn_ros import InputError, Robot, rollout  # noqa: E402
from robodyn_ros.control import JointReference, State, TipReference  # noqa: E402
from robodyn_ros.control.contract.compiled_law import memory_numbers  # noqa: E402
from robodyn_ros.control.default_gains import joint_gains  # noqa: E402
from robodyn_ros.control.laws.policy import Policy, PolicyParameters  # noqa: E402
from robodyn_ros.description.resources import robot_file  # noqa: E402
from robodyn_ros.simulation.standard_motion import excursion  # noqa: E402

ARM = Robot.from_urdf(robot_file("arm6"))
SIZE = 24  # of q, v, error_q and last_action


def policy_files(folder, made, **settings):
    """The files of a policy, with zeros as the default pose of targets; returns the YAML's path."""
    written(folder, made)
    action = settings.pop("action", None) or {}
    if action.get("kind", "position") == "position":
        action = {"default": 0.0, **action}
    file = folder / "policy.yaml"
    file.write_text(yaml.safe_dump({"network": "network.onnx", "observations": ["q", "v", "error_q", "last_action"],
                                    "action": action, **settings}, sort_keys=False))
    return file


def policy(file, robot=ARM):
    return Policy(robot, PolicyParameters(file=str(file)))


def network(sizes=(SIZE, 12, 6), activation="Tanh", seed=0):
    return dense(np.random.default_rng(seed), sizes, activation)


def inputs(law, ticks, period=0.002):
    """States and references of some ticks."""
    for tick in range(ticks):
        state = random_state(law.robot, seed=tick)._replace(time=period * tick, period=period * (tick > 0))
        yield state, random_reference(law.robot, law.follows, state, seed=tick)


@pytest.mark.parametrize("limit", [np.inf, 0.2])
def test_it_is_what_onnx_runtime_decides(tmp_path, limit):
    """Position targets around a default pose; scales, clips and last action; float32 weights.

    Without a clip the numbers of the network count as they are, as where policies are trained without one.
    """
    default = [0.1, -0.8, 1.2, 0.0, 0.9, -0.2]
    observations = {"q": 1.0, "v": {"scale": 0.2, "clip": 0.3}, "error_q": None, "last_action": 0.5}
    law = policy(policy_files(tmp_path, network(), observations=observations,
                              action={"kind": "position", "scale": 0.4, "default": default}
                              | ({"clip": limit} if limit < np.inf else {})))
    session = onnxruntime.InferenceSession(str(tmp_path / "network.onnx"))
    stiffness, damping = joint_gains(ARM)
    last, largest = np.zeros(6), 0.0
    for tick, (state, reference) in enumerate(inputs(law, 5)):
        if tick == 0:
            law.activate(state)
        seen = np.concatenate([state.q, np.clip(0.2 * state.v, -0.3, 0.3), reference.q - state.q, 0.5 * last])
        (decided,) = session.run(None, {"obs": seen[None].astype(np.float32)})
        largest, last = max(largest, abs(decided).max()), np.clip(decided[0].astype(float), -limit, limit)
        expected = stiffness * (default + 0.4 * last - state.q) - damping * state.v
        np.testing.assert_allclose(law.update(state, reference), expected, rtol=1e-6, atol=1e-6 * stiffness.max())
        np.testing.assert_allclose(law.memory.value, last, atol=1e-6)
    assert not law.uncompiled_reason and largest > min(limit, 1.0)


@pytest.mark.parametrize("options", [
    {}, {"history": 3}, {"rate": 100.0}, {"rate": 100.0, "between": "interpolate", "history": 2},
    {"action": {"kind": "effort", "gravity": True}}, {"action": {"kind": "position_step"}}], ids=str)
def test_compiled_is_as_written(tmp_path, options):
    law = policy(policy_files(tmp_path, network((SIZE * options.get("history", 1), 12, 6)), **options))
    state, _ = next(inputs(law, 1))
    law.activate(state)
    memory = law.memory
    for state, reference in inputs(law, 12):
        expected, memory = as_written(law, state, reference, memory)
        effort = law.update(state, reference)
        assert not law.uncompiled_reason
        np.testing.assert_allclose(effort, expected, rtol=1e-12, atol=1e-12 * (1.0 + np.abs(expected).max()))
        np.testing.assert_allclose(law.memory_numbers, memory_numbers(memory), rtol=1e-12, atol=1e-12)


def actions_in_force(law, ticks, period):
    """The action that the efforts of each tick come from; the law's action is an effort of scale 1."""
    rows = []
    for tick, (state, reference) in enumerate(inputs(law, ticks, period)):
        if tick == 0:
            law.activate(state)
        rows.append(law.update(state, reference))
    return np.array(rows)


@pytest.mark.parametrize("period, every", [(0.002, 10), (0.004, 5), (0.02, 1)])
def test_a_slow_policy_holds_its_action(tmp_path, period, every):
    file = policy_files(tmp_path, network(), rate=50.0, action={"kind": "effort", "scale": 1.0})
    robot = ARM.with_timing(period)
    rows = actions_in_force(policy(file, robot), 4 * every + 1, period)
    changes = np.flatnonzero(np.abs(np.diff(rows, axis=0)).max(axis=1)) + 1
    assert changes.tolist() == [every, 2 * every, 3 * every, 4 * every]


def test_the_rate_is_kept_on_average_where_ticks_do_not_fit(tmp_path):
    """30 decisions in a second of 250 ticks: 8 or 9 ticks apart."""
    file = policy_files(tmp_path, network(), rate=30.0, action={"kind": "effort", "scale": 1.0})
    rows = actions_in_force(policy(file, ARM.with_timing(0.004)), 251, 0.004)
    changes = np.flatnonzero(np.abs(np.diff(rows, axis=0)).max(axis=1)) + 1
    assert len(changes) == 30 and set(np.diff(changes)) == {8, 9}


def test_it_interpolates_between_decisions(tmp_path):
    """Each decision is reached, in a straight line, when the next one is made."""
    settings = {"rate": 50.0, "action": {"kind": "effort", "scale": 1.0}}
    (tmp_path / "held").mkdir()
    (tmp_path / "straight").mkdir()
    held = actions_in_force(policy(policy_files(tmp_path / "held", network(), **settings)), 31, 0.002)
    line = actions_in_force(policy(policy_files(tmp_path / "straight", network(), between="interpolate", **settings)),
                            31, 0.002)
    np.testing.assert_allclose(line[10::10], held[0:-1:10], atol=1e-12)
    share = np.linspace(0.0, 1.0, 11)[:, None]
    np.testing.assert_allclose(line[10:21], (1.0 - share) * held[0] + share * held[10], atol=1e-12)


@pytest.mark.parametrize("operator", ["GRU", "LSTM"])
def test_recurrent_memory_goes_from_decision_to_decision(tmp_path, operator):
    states = {"h_in": "h_out", **({"c_in": "c_out"} if operator == "LSTM" else {})}
    file = policy_files(tmp_path, recurrent(np.random.default_rng(1), SIZE, 5, 6, operator=operator), memory=states,
                        rate=250.0, action={"kind": "effort", "scale": 1.0})
    law = policy(file)
    session = onnxruntime.InferenceSession(str(tmp_path / "network.onnx"))
    kept, last = {name: np.zeros((1, 1, 5), np.float32) for name in states}, np.zeros(6)
    for tick, (state, reference) in enumerate(inputs(law, 9)):
        if tick == 0:
            law.activate(state)
        effort = law.update(state, reference)
        if tick % 2 == 0:
            seen = np.concatenate([state.q, state.v, reference.q - state.q, last])
            decided, *after = session.run(["actions", *states.values()], {"obs": seen[None].astype(np.float32), **kept})
            last, kept = decided[0].astype(float), dict(zip(kept, after, strict=True))
        np.testing.assert_allclose(effort, last, atol=2e-6)
    law.activate(state)
    assert not law.memory.memory.states.any()


def test_joints_in_another_order(tmp_path):
    """The network sees and answers in its order; per-joint numbers of the YAML are in that order, too."""
    order = [3, 0, 5, 1, 4, 2]
    names = [ARM.joint_names[place] for place in order]
    sign = np.arange(1.0, 7.0)
    gain = 0.01 * np.eye(6, 12) + 0.003 * np.eye(6, 12, 6)  # of q and last_action
    made = model([helper.make_node("Gemm", ["obs", "w"], ["actions"], transB=1)], [float_input("obs", 1, 12)],
                 [float_input("actions", 1, 6)], [weights("w", gain)])
    law = policy(policy_files(tmp_path, made, observations={"q": sign.tolist(), "last_action": 1.0}, joints=names,
                              action={"kind": "effort", "scale": (10.0 * sign).tolist()}))
    last = np.zeros(6)
    for state, reference in inputs(law, 3):
        last = 0.01 * sign * state.q[order] + 0.003 * last
        expected = np.empty(6)
        expected[order] = 10.0 * sign * last
        np.testing.assert_allclose(law.update(state, reference), expected, rtol=1e-6)


def test_what_it_follows_is_what_it_observes(tmp_path):
    for number, (observations, action, follows) in enumerate([
            (["q"], None, None), (["q", "error_q"], None, JointReference), (["q", "error_pose"], None, TipReference),
            (["q"], {"kind": "gains"}, JointReference)]):
        folder = tmp_path / str(number)
        folder.mkdir()
        outputs = 12 if action else 6
        size = 6 + (6 if len(observations) > 1 else 0)
        law = policy(policy_files(folder, network((size, outputs)), observations=observations, action=action))
        assert law.follows is follows
        for state, reference in inputs(law, 2):
            assert np.isfinite(law.update(state, reference)).all()
            assert not law.uncompiled_reason


def test_rollouts_and_batches_compile_it(tmp_path):
    law = policy(policy_files(tmp_path, recurrent(np.random.default_rng(2), 2 * SIZE, 6, 6), rate=50.0, history=2,
                              between="interpolate", memory={"h_in": "h_out"}, action={"gravity": True}))
    motion = excursion(ARM)
    result = rollout(ARM, law, motion, duration=0.5)
    assert not law.uncompiled_reason
    q, v = result.q[:, :], result.v[:, :]
    for tick, time in enumerate(result.time):
        state = State(float(time), 0.002 * (tick > 0), q[tick], v[tick])
        if tick == 0:
            law.activate(state)
        effort = law.update(state, JointReference(*(field[tick] for field in result.reference)))
        np.testing.assert_allclose(np.clip(effort, -ARM.effort_limit, ARM.effort_limit), result.effort[tick], rtol=1e-9,
                                   atol=1e-9)


def test_what_is_not_compiled_runs_in_onnx_runtime_with_the_same_motion(tmp_path, caplog):
    made = network()
    law = policy(policy_files(tmp_path, made, rate=50.0, action={"gravity": True}))
    expected = rollout(ARM, law, excursion(ARM), duration=0.2)
    made.graph.node.append(helper.make_node("Erf", ["actions"], ["unused"]))
    other = policy(policy_files(tmp_path, made, rate=50.0, action={"gravity": True}))
    result = rollout(ARM, other, excursion(ARM), duration=0.2)
    assert re.search(r"operator Erf is not compiled; ONNX Runtime evaluates the network, in \d+ us", caplog.text)
    np.testing.assert_allclose(result.q, expected.q, atol=1e-6)


def test_a_large_network_runs_in_numpy(tmp_path):
    law = policy(policy_files(tmp_path, network((SIZE, 200, 200, 6))))
    for state, reference in inputs(law, 2):
        law.update(state, reference)
    assert "25,000" in law.uncompiled_reason


def test_numbers_that_are_not_finite_command_nothing(tmp_path):
    """The control loop refuses them, and the safe controller takes over."""
    made = network()
    law = policy(policy_files(tmp_path, made))
    state, reference = next(inputs(law, 1))
    assert not np.isfinite(law.update(state._replace(q=np.full(6, np.nan)), reference)).any()


BAD = [
    ({"network": "../network.onnx"}, "network: expected the name of a file in the same folder"),
    ({"network": "/etc/passwd"}, "network: expected the name of a file in the same folder"),
    ({"network": "absent.onnx"}, "network: expected a readable file"),
    ({"network": ".."}, "network: expected"), ({"network": 3}, "network: expected text"),
    ({"observations": ["q", "w"]}, "observations: unknown observation 'w'"),
    ({"observations": ["q"]},
     "input 'obs' of shape (1, 24) has 24 numbers, but 6 are given to it; the observations are q (6)"),
    ({"observations": []}, "observations: expected names"), ({"observations": None}, "observations: expected names"),
    ({"observations": {"q": {"scal": 1.0}}}, "unknown key 'scal': did you mean 'scale' or 'clip'?"),
    ({"observations": {"q": [1.0, 2.0]}}, "q: scale: expected one number or 6"),
    ({"action": {"kind": "torque"}}, "action: unknown kind 'torque'"),
    ({"action": {"kind": "voltage", "scale": 1.0}}, "a policy commands efforts"),
    ({"action": {"kind": "gains"}, "observations": ["q", "v", "error_q", "tip_rotation"]},
     "output 'actions' has 6 numbers, and an action of kind 'gains'"),
    ({"action": {"sacle": 1.0}}, "action: unknown key 'sacle': did you mean 'scale'?"),
    ({"action": {"scale": [1.0, 2.0]}}, "action: scale: expected"),
    ({"action": {"scale": float("nan")}}, "finite number"),
    ({"action": {"default": None}}, "action: default: expected the default pose of the training"),
    ({"action": {"kind": "effort"}, "observations": ["q_offset"]}, "because the observation 'q_offset' counts from it"),
    ({"rate": -1.0}, "rate: expected"),
    ({"rate": 1000.0}, "rate: Policy asks for 1000 Hz, more than the controller's rate, 500 Hz"),
    ({"rate": "fast"}, "rate: expected"), ({"between": "jump"}, "between: expected one of 'hold', 'interpolate'"),
    ({"history": 0}, "history: expected"), ({"history": 1000}, "history: expected"),
    ({"history": 2}, "but 48 are given to it; the observations are q (6), v (6), error_q (6), last_action (6), of 2 "),
    ({"joints": ["joint1"]}, "joints: expected each of"), ({"joints": "joint1"}, "joints: expected each of"),
    ({"input": "x"}, "input: unknown name 'x'"), ({"output": "x"}, "output: unknown name 'x'"),
    ({"memory": {"h": "obs"}}, "memory: unknown input 'h'"), ({"memory": ["obs"]}, "memory: expected outputs"),
    ({"memory": {"obs": "actions"}}, "input: expected one input beside the memory"),
    ({"rates": 1.0}, "unknown key 'rates': did you mean 'rate'?"),
]


@pytest.mark.parametrize("settings, said", BAD, ids=str)
def test_files_that_do_not_fit_are_one_line(tmp_path, settings, said):
    file = policy_files(tmp_path, network(), **settings)
    with pytest.raises(InputError) as caught:
        policy(file)
    told = str(caught.value)
    assert said in told and told.startswith(f"policy.file: {tmp_path}/") and "\n" not in told


def test_a_file_has_to_be_named():
    with pytest.raises(InputError, match="policy.file: expected the YAML file of a policy, received none"):
        Policy(ARM)
    with pytest.raises(InputError, match="policy.file: .*reach.onnx: expected the YAML file that names this network"):
        policy("reach.onnx")


def test_a_link_does_not_lead_out_of_the_folder(tmp_path):
    (tmp_path / "inner").mkdir()
    file = policy_files(tmp_path / "inner", network())
    (tmp_path / "inner" / "network.onnx").rename(tmp_path / "network.onnx")
    (tmp_path / "inner" / "network.onnx").symlink_to(tmp_path / "network.onnx")
    with pytest.raises(InputError, match="network: expected the name of a file in the same folder"):
        policy(file)


def test_observations_and_actions_of_different_references_do_not_fit(tmp_path):
    file = policy_files(tmp_path, network((12, 12)), observations=["q", "error_pose"], action={"kind": "gains"})
    with pytest.raises(InputError, match="follow poses of the tip link, and an action of kind 'gains' follows joints"):
        policy(file)


def test_further_outputs_have_to_be_told_apart(tmp_path):
    made = network()
    made.graph.output.append(float_input("y0", 1, 12))
    file = policy_files(tmp_path, made)
    with pytest.raises(InputError, match="output: expected the name of one of 'actions', 'y0'"):
        policy(file)
    assert policy(policy_files(tmp_path, made, output="actions")).parameters.trained.action.size == 6


def test_a_file_that_changed_is_read_again(tmp_path):
    first = policy(policy_files(tmp_path, network()))
    again = policy(tmp_path / "policy.yaml")
    other = policy(policy_files(tmp_path, network(seed=1)))
    assert again.parameters.trained is first.parameters.trained
    assert other.parameters.trained != first.parameters.trained
