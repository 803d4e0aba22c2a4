# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Test files mirror source files: test/control/laws/test_pd_gravity.py tests robodyn_ros/control/laws/pd_gravity.py."""

from pathlib import Path

ROOT = Path(__file__).parents[1]
MODULES = sorted(path.relative_to(ROOT / "robodyn_ros").as_posix() for path in (ROOT / "robodyn_ros").rglob("*.py")
                 if path.name != "__init__.py")

TESTED_BY = {
    "__main__.py": "commands/test_demo.py",  # runs python -m robodyn_ros
    "errors.py": "test_bounded_files.py",
    "description/ranges.py": "dynamics/test_definite_mass_matrix.py",  # numbers
    # Modules that others use as a whole.
    "compile/compiled_program.py": "compile/test_procedure.py",
    "compile/small_matrices.py": "compile/test_traced_array.py",
    "compile/traced_numpy.py": "compile/test_traced_array.py",
    "dynamics/link_wrenches.py": "dynamics/test_second_moment_newton_euler.py",
    "dynamics/robot_function.py": "dynamics/test_robot_dynamics.py",
    "dynamics/compiled_formulas.py": "dynamics/test_robot_dynamics.py",  # names
    "textbook/formulas.py": "dynamics/test_robot_dynamics.py",  # names
    "kinematics/inverse_kinematics_failure.py": "kinematics/test_inverse_kinematics.py",
    "kinematics/newton_search.py": "kinematics/test_inverse_kinematics.py",
    # Laws that one table of formulas, gains and robots tests, and their contract.
    "control/trajectories/tip_reference.py": "control/trajectories/test_tip_trajectory.py",
    "control/laws/computed_torque.py": "control/test_laws.py",
    "control/controller.py": "control/test_laws.py",
    "control/laws/damping.py": "control/test_laws.py",
    "control/laws/neural_weights.py": "control/laws/test_neural.py",  # numbers
    "control/laws/pd.py": "control/test_laws.py",
    # Parts of a rollout, and of the programs that print what rollouts gave.
    "simulation/closed_loop.py": "simulation/test_rollout.py",
    "common_fields.py": "test_fields.py",  # declarations
    "nodes/client/touch_requests.py": "commands/test_touch_demo.py",
    "plots/replay_figure.py": "commands/test_replay_comparison.py",
    "commands/recorded_arm.py": "commands/test_identify.py",
    "plots/touch_figure.py": "commands/test_touch_demo.py",
    "commands/given_studies.py": "commands/test_study.py",
    "commands/demo_command.py": "commands/test_demo.py",
    "simulation/engine.py": "simulation/test_mujoco_plant.py",  # a protocol
    "simulation/joint_drives.py": "simulation/test_semi_implicit_euler.py",
    "simulation/scenario.py": "simulation/test_rollout.py",
    "simulation/score.py": "simulation/test_rollout.py",
    "commands/gain_search.py": "commands/test_tune.py",
    # Parts of nodes, which are tested from outside, as processes over DDS.
    "nodes/controller/goal.py": "nodes/controller/test_action.py",
    "nodes/controller/display_topics.py": "nodes/test_rviz.py",
    "nodes/hardware/applied_wrenches.py": "nodes/test_rviz.py",
    "nodes/hardware/refused_commands.py": "nodes/test_conflicts.py",
    "nodes/hardware/wrench_output.py": "nodes/test_touch.py",
    "nodes/hardware/conflicts.py": "nodes/test_conflicts.py",
    "nodes/controller/conflicts.py": "nodes/test_conflicts.py",
    "nodes/common/participants.py": "nodes/test_conflicts.py",
    "nodes/common/rival_publishers.py": "nodes/test_conflicts.py",
    "nodes/controller/state_output.py": "nodes/controller/test_node.py",
    "nodes/controller/wrench_sensor.py": "nodes/controller/test_node.py",
    "commands/simulation_setup.py": "commands/test_simulate.py",
    "nodes/hardware/step_requests.py": "nodes/hardware/test_node.py",
    "nodes/common/poses.py": "nodes/controller/test_tip_motions.py",
    "nodes/common/child_processes.py": "nodes/view/test_recording.py",
    "nodes/common/signals.py": "nodes/common/test_runtime.py",
    "nodes/common/joint_states.py": "nodes/controller/test_joint_state_input.py",
    "nodes/common/node_thread.py": "nodes/common/test_control_path.py",
    "nodes/common/parameter_service.py": "nodes/common/test_runtime.py",
    "nodes/client/robot_client.py": "commands/test_swap.py",
    "nodes/client/graph_parameters.py": "commands/test_graph_commands.py",
    "nodes/client/motion_requests.py": "commands/test_graph_commands.py",
    "nodes/client/robot_status.py": "commands/test_graph_commands.py",
    "nodes/client/simulation_requests.py": "commands/test_graph_commands.py",
    "nodes/client/replay.py": "commands/test_replay.py",
    "nodes/client/open_loop_replay.py": "commands/test_replay.py",
    "recording/recorded_ticks.py": "recording/test_replay_plan.py",
    "nodes/client/command_guard.py": "commands/test_guard.py",
    "nodes/client/topic_echo.py": "commands/test_graph_commands.py",
    "nodes/all_nodes.py": "commands/test_simulate.py",
    "nodes/recorder/definitions.py": "nodes/recorder/test_node.py",
    "nodes/recorder/parameter_snapshots.py": "nodes/recorder/test_node.py",
    "nodes/recorder/qos.py": "nodes/recorder/test_node.py",
    "nodes/view/graph_commands.py": "nodes/view/test_node.py",
    "nodes/view/graph_view.py": "nodes/view/test_node.py",
    "nodes/view/remote_parameters.py": "nodes/view/test_node.py",
    "view/commands.py": "view/test_panel.py",  # a protocol
    "view/robot_figure.py": "view/test_robot_scene.py",
    "study/cluster_connection.py": "study/test_cluster.py",
    "study/cluster_run.py": "study/test_cluster.py",
    "study/worker_site.py": "study/test_cluster.py",
    # Parts of identification.
    "identification/report.py": "commands/test_identify.py",
    "plots/identification_figure.py": "commands/test_identify.py",
    # Commands, which are tested through the command line.
    "commands/cache_command.py": "commands/test_command_line.py",
    "commands/node_commands.py": "commands/test_simulate.py",
    "commands/rollout_recording.py": "commands/test_study.py",
    "plots/study_figure.py": "commands/test_study.py",
    "study/gain_space.py": "commands/test_tune.py",
    "study/metrics.py": "study/test_run.py",
    "study/results.py": "study/test_run.py",
    "study/study.py": "commands/test_study_file.py",
    "commands/plot.py": "plots/test_motion.py",
    "commands/options.py": "commands/test_command_line.py",
    "commands/robot_commands.py": "commands/test_command_line.py",
    "commands/rollout_commands.py": "commands/test_tune.py",
    "commands/required.py": "commands/test_command_line.py",
    "commands/export.py": "export/test_c_source.py",
    "export/c_function.py": "export/test_c_source.py",
    "patience.py": "control/test_plugin_threads.py",
    "optional_packages.py": "commands/test_command_line.py",
}
"""Where a module is tested that has no test file of its own: a part that only a neighbour uses, by that one's tests."""


def mirror(module: str) -> str:
    """Test file of a module, below test/."""
    folder, _, name = module.rpartition("/")
    return f"{folder}/test_{name}".lstrip("/")


def test_every_module_has_a_test_file():
    files = {module: TESTED_BY.get(module, mirror(module)) for module in MODULES}
    missing = {module: file for module, file in files.items() if not (ROOT / "test" / file).is_file()}
    assert not missing, "write these test files, or name in TESTED_BY the one that tests the module"


def test_no_exception_is_of_a_module_that_is_gone():
    assert set(TESTED_BY) <= set(MODULES)
