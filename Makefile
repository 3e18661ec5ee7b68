# ProfLab: `make demo` and `make test` set up all that they need on a fresh clone.
#
# What may be set on the command line: PYTHON=python3.12 (which Python makes .venv), LESSON=…,
# JOBS=N (how many processes test).

LESSON ?= 01_parameters
# One process more than there are cores: some tests wait for others' processes.
JOBS ?= $(shell echo $$(( $$(getconf _NPROCESSORS_ONLN 2>/dev/null || echo 1) + 1 )))

SHELL := /bin/bash
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
SYSTEM := $(VENV)/.system

export PATH := $(CURDIR)/$(BIN):$(PATH)
export PIP_DISABLE_PIP_VERSION_CHECK := 1
export PIP_NO_INPUT := 1
export MPLBACKEND ?= Agg
# Else each of a thousand short processes compiles the package anew, for a second.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.PHONY: help setup system demo test test-rest test-all test-torch costs check lab build grade report site lint format api bench ai-baseline soak pins clean FORCE

help:  ## this list
	@echo "make demo and make test work on a fresh clone; the rest is for daily use."
	@grep -hE '^[a-z-]+:.*## ' Makefile | sed -E 's/^([a-z-]+):.*## (.*)/  make \1\t\2/' | expand -t 20

# ── set-up ──────────────────────────────────────────────────────────────────────────────────

setup: $(READY) $(SYSTEM)  ## the environment in .venv: pinned packages, this one editable

# Another Python than the environment's was asked for: make the environment anew.
ifdef PYTHON
ifneq ($(shell $(PYTHON) -V 2>/dev/null),$(shell $(BIN)/python -V 2>/dev/null))
$(READY): FORCE
else ifeq ($(shell $(PYTHON) -V 2>/dev/null),)
$(READY): FORCE
endif
endif

$(READY): requirements.txt pyproject.toml
	@.ci/environment $(VENV) $(PYTHON)
	@touch $@

# Tried once an environment; `make system` tries again.
$(SYSTEM): $(READY)
	@.ci/system
	@touch $@

system:  ## bubblewrap and Chromium, where this account may install them
	@.ci/system

# ── the course ──────────────────────────────────────────────────────────────────────────────

demo: setup  ## build a lesson, grade the sample class, write the page of results
	@.ci/demo $(LESSON)

build: $(READY)  ## make source/ and release/ from modules/
	@proflab build

grade: setup  ## grade what lies in submitted/ (LESSON=01_parameters)
	@proflab grade $(LESSON)

report: $(READY)  ## write the page of results
	@proflab report $(LESSON)

site: $(READY)  ## the course as a site, in build/site/html: lessons, documents, API, figures
	@python docs/site/build.py

lab: $(READY)  ## JupyterLab, with nbgrader's formgrader under /formgrader/manage_assignments
	@jupyter lab

# ── its checks ──────────────────────────────────────────────────────────────────────────────

test: setup  ## lint, generated files in step, a test of each behaviour: 6 minutes on two quiet cores
	@.ci/test $(JOBS) quick

test-rest: setup  ## the tests that `make test` leaves out, all lessons executed
	@.ci/test $(JOBS) rest

test-all: setup  ## everything: `make test`, then the rest
	@status=0; .ci/test $(JOBS) quick || status=1; .ci/test $(JOBS) rest || status=1; exit $$status

costs: setup  ## renew tests/suite/costs.csv: what each test costs, in CPU seconds
	@python -m pytest -p costs -n 2 --dist loadfile --no-loadscope-reorder -m "not soak"

test-torch:  ## the tests that need torch, in .venv-torch: torch itself is installed there
	@.ci/test-torch $(PYTHON)

check: $(READY)  ## lint, and the build and tests of what changed: a minute for one file
	@.ci/check $(JOBS)

lint: $(READY)  ## ruff: mistakes and format; mypy: types
	@.ci/lint

format: $(READY)  ## let ruff mend what it can
	@ruff check --fix . ; ruff format .

api: $(READY)  ## what is generated from the engine: docs/torch.md, proflab/tensor.pyi
	@python docs/make_torch_md.py && python docs/make_tensor_pyi.py

bench: setup  ## every figure that the documents quote: one script each, one table each
	@for script in benchmarks/bench_*.py; do echo "── $$script"; python $$script || exit 1; done

ai-baseline: setup  ## what an assistant scores that has the release alone: AGENT="command"
	@python benchmarks/ai_baseline.py "$(AGENT)"

soak: setup  ## what takes hours
	@python -m pytest -m soak

# The first release of the oldest supported Python decides which versions are taken.
pins: PYTHON ?= python3.11
pins:  ## renew requirements.txt: the newest versions that install on every supported Python
	@$(PYTHON) .ci/pins > requirements.txt.new && mv requirements.txt.new requirements.txt \
	    || { rm -f requirements.txt.new; false; }

clean:  ## remove the environment and everything generated but source/ and release/
	rm -rf $(VENV) $(VENV)-torch build dist *.egg-info .pytest_cache .ruff_cache .mypy_cache .hypothesis .nbgrader.log
	rm -rf gradebook.db* report*.html reports
	find autograded feedback -mindepth 1 ! -name README.md -delete 2>/dev/null || true
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
