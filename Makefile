PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
REPORT := $(VENV)/.report

# .venv is ours: without bytecode in it every process would compile all libraries again
unexport PYTHONDONTWRITEBYTECODE

.PHONY: report test test-full pytest install lint format types score shelf brackets coq chromium course docs benchmarks clean

report: $(REPORT)  ## the main job: paper check and figures
	$(BIN)/fedtheory report

# The tests use all cores; more threads and processes would only wait for each other
PYTEST := OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 LOKY_MAX_CPU_COUNT=1 $(BIN)/python -m pytest

test: $(READY) format  ## lint, types, tests
	$(MAKE) --no-print-directory --jobs 2 types pytest

test-full: $(READY) format  ## the slow checks too
	$(MAKE) --no-print-directory --jobs 2 types pytest MARKED='-m "slow or not slow"'

pytest:
	$(PYTEST) $(MARKED)

install: $(READY)  ## the environment alone

lint: format types

format: $(READY)
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .

types: $(READY)
	$(BIN)/mypy

score: $(READY)  ## compute the missing scores (changes that the evidence notices): about an hour for all
	$(BIN)/fedtheory record scores

shelf: $(READY)  ## the theorems that the field quotes, each with its verdict: about seven minutes
	for paper in shelf/*/; do $(BIN)/fedtheory --path shelf verify --paper $$(basename $$paper) || exit 1; done

brackets: $(READY)  ## solve the missing programmes for best constants: about ten minutes for all
	$(BIN)/fedtheory record brackets

coq: $(READY)  ## every step of every proof, and every theorem, through Coq's kernel: about seven minutes; coqc from Debian's packages if missing
	command -v coqc >/dev/null || $(if $(filter 0,$(shell id -u)),,sudo) sh -c 'apt-get update -qq && apt-get install -y -qq coq'
	$(BIN)/fedtheory record coq

chromium:  ## the browser that the browser tests need, from Debian's packages
	$(if $(filter 0,$(shell id -u)),,sudo) sh -c 'apt-get update -qq && apt-get install -y -qq chromium'

course: $(READY)  ## the lessons for students and for teachers
	$(BIN)/python -m course

docs: $(READY)  ## the documentation: open docs/built/index.html
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --quiet --strict --config-file docs/mkdocs.yml

benchmarks: $(READY)
	$(BIN)/python -m benchmarks.quadratics
	$(BIN)/python -m benchmarks.logistic
	$(BIN)/python -m benchmarks.moments
	$(BIN)/python -m benchmarks.compression
	$(BIN)/python -m benchmarks.evaluation
	$(BIN)/python -m benchmarks.start
	$(BIN)/python -m benchmarks.report
	$(BIN)/python -m benchmarks.budget
	$(BIN)/python -m benchmarks.networks
	$(BIN)/python -m benchmarks.sweep

# Bytecode is written when a module is first used: to compile all of it takes longer than everything else
PIP := $(BIN)/python -m pip install --no-compile --quiet --disable-pip-version-check
WHAT = --constraint constraints.txt --editable '.[$(EXTRAS)]'
INSTALL = $(if $(shell command -v uv),uv pip install --quiet --python $(VENV) $(WHAT) || )$(PIP) $(WHAT)

$(VENV)/pyvenv.cfg:
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "fedtheory needs Python 3.11 or newer, this is " + sys.version.split()[0])'
	$(PYTHON) -m venv $(VENV)

$(REPORT): EXTRAS := networks,proofs,fast
$(REPORT): pyproject.toml constraints.txt | $(VENV)/pyvenv.cfg
	$(INSTALL)
	touch $@

$(READY): EXTRAS := dev
$(READY): pyproject.toml constraints.txt | $(VENV)/pyvenv.cfg
	$(INSTALL)
	touch $(REPORT) $@

clean:
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .hypothesis *.egg-info
