"""Test files mirror source files: test/control/test_pd_gravity.py tests robodyn_ros/control/pd_gravity.py."""

from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
MODULES = sorted(path.relative_to(ROOT / "robodyn_ros").as_posix() for path in (ROOT / "robodyn_ros").rglob("*.py")
                 if path.name != "__init__.py")

TESTED_BY = {
    "__main__.py": "nodes/test_demo.py",  # runs python -m robodyn_ros
    "errors.py": "test_architecture.py",  # classes without code
    # What a module hands on as it is; only the whole can be right or wrong.
    "compile/batch_text.py": "compile/test_batch.py",
    "compile/bound_text.py": "compile/test_bound.py",
    "compile/fast_call.py": "compile/test_kernel.py",
    "compile/layout_text.py": "compile/test_batch.py",
    "compile/operations.py": "compile/test_functions.py",
    "compile/procedure_form.py": "compile/test_procedure.py",
    "compile/procedure_text.py": "compile/test_procedure.py",
    "compile/samples.py": "compile/test_batch.py",
    "compile/single_text.py": "compile/test_lowering.py",
    "dynamics/functions.py": "dynamics/test_evaluator.py",  # abstract; single and batched calls are its two forms
    "dynamics/kernels.py": "dynamics/test_evaluator.py",
    "kinematics/inverse_kinematics_failure.py": "kinematics/test_inverse_kinematics.py",
    "kinematics/newton_search.py": "kinematics/test_inverse_kinematics.py",
    # Laws that one table of formulas, gains and robots tests, and their contract.
    "control/cartesian_reference.py": "control/test_cartesian_trajectory.py",
    "control/computed_torque.py": "control/test_laws.py",
    "control/controller.py": "control/test_laws.py",
    "control/damping.py": "control/test_laws.py",
    "control/neural_weights.py": "control/test_neural.py",  # numbers
    "control/pd.py": "control/test_laws.py",
    # Parts of a rollout, and of the programs that print what rollouts gave.
    "simulation/closed_loop.py": "simulation/test_rollout.py",
    "simulation/compare_program.py": "simulation/test_compare.py",
    "simulation/scenario.py": "simulation/test_rollout.py",
    "simulation/score.py": "simulation/test_rollout.py",
    "simulation/tune_program.py": "simulation/test_tune.py",
    "simulation/tune_report.py": "simulation/test_tune.py",
    # Parts of nodes, which are tested from outside, as processes over DDS.
    "nodes/controller_goal.py": "nodes/test_controller_action.py",
    "nodes/controller_references.py": "nodes/test_controller.py",
    "nodes/controller_sensing.py": "nodes/test_controller.py",
    "nodes/controller_state.py": "nodes/test_controller.py",
    "nodes/graph.py": "nodes/test_simulate.py",
    "nodes/plant_settings.py": "nodes/test_plant_loop.py",  # values
    "nodes/poses.py": "nodes/test_controller_cartesian.py",
    "nodes/processes.py": "nodes/test_demo.py",
    "nodes/qos.py": "nodes/test_control_path.py",
    "nodes/signals.py": "nodes/test_runtime.py",
    "nodes/swap.py": "nodes/test_demo.py",
    "nodes/unserved_subscription.py": "nodes/test_control_path.py",
}
"""Where a module is tested that has no test file of its own: a part that only a neighbour uses, by that one's tests."""


def mirror(module: str) -> str:
    """Test file of a module, below test/."""
    folder, _, name = module.rpartition("/")
    return f"{folder}/test_{name}".lstrip("/")


@pytest.mark.parametrize("module", MODULES)
def test_every_module_has_a_test_file(module):
    file = TESTED_BY.get(module, mirror(module))
    assert (ROOT / "test" / file).is_file(), f"robodyn_ros/{module}: write test/{file}, or say here what tests it"


def test_no_exception_is_of_a_module_that_is_gone():
    assert set(TESTED_BY) <= set(MODULES)
