# Every target sets up what it needs in .venv on a machine that has only Python 3.11+.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
BARE := $(VENV)/.bare
READY := $(VENV)/.ready
# Nothing is compiled when it is installed, but what is imported is compiled once and kept, whatever the
# environment says: the tests start hundreds of processes, and scipy from source takes two seconds in each.
PIP := -m pip install --quiet --disable-pip-version-check --no-compile
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.PHONY: help audit test checks lint types layers test-browser test-deep test-integrations test-torch test-diffprivlib test-board chromium environments board-environments libraries unit test-slow coverage docs wheel bench-accounting conformance bench bench-quick bench-tables clean

help:  ## Show this list
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*## /\t/' | expand -t 20

$(BARE): pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "dpcheck needs Python 3.11 or later; set PYTHON=python3.11")'
	@echo "setting up $(VENV): dpcheck and what it needs to account and audit (about 250 MB, once)"
	@$(PYTHON) -m venv $(VENV)
	@$(BIN)/python -m pip install --disable-pip-version-check --progress-bar off --no-compile --editable . | grep -E '^(Collecting|Successfully|ERROR)' || true
	@$(BIN)/dpcheck --version
	@touch $(BARE)

$(READY): $(BARE)
	@echo "adding what tests, documentation and benchmarks need (some minutes, once)"
	$(BIN)/python $(PIP) --editable '.[dev]'
	@touch $(READY)

audit: $(BARE)  ## Audit PPTL-FS at epsilon 1: the demonstration
	$(BIN)/dpcheck audit pptl_fs --eps 1

test: $(READY)  ## Style, types, layers, docs, wheel, then fast and slow tests
	@$(MAKE) --no-print-directory checks
	@$(MAKE) --no-print-directory unit
	@$(MAKE) --no-print-directory test-slow
	@echo "left out: torch, OpenDP and diffprivlib (make test-integrations), jax (make test-deep), browsers (make test-browser) and the papers' datasets"

CHECKS := lint types layers docs wheel

checks: $(READY)  ## Style, types, layers, docs and wheel, two at a time
	@$(MAKE) --no-print-directory --jobs 2 --output-sync=target $(CHECKS)

lint: $(READY)  ## Style, of code and of prose
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/python .ci/prose.py

types: $(READY)  ## Types, strictly
	$(BIN)/mypy

layers: $(READY)  ## Imports go one way, and only where the allow-list says
	$(BIN)/lint-imports
	$(BIN)/python tests/layers/check_imports.py

PYTEST := OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 $(BIN)/python -m pytest -q -n 2 --dist worksteal
FAST := tests/unit tests/program tests/kernel tests/property tests/layers tests/packaging dpcheck
SLOW := tests/cli tests/contribute tests/power tests/prove tests/slow tests/differential tests/ftl

unit: $(READY)  ## Fast tests, doctests included: minutes
	@echo "fast tests: $(FAST)"
	$(PYTEST) $(FAST)

test-slow: $(READY)  ## Slow tests: statistics with power, killed processes, whole commands and pages
	@echo "slow tests: $(SLOW)"
	$(PYTEST) $(SLOW)

coverage: $(READY)  ## The same with the lines they reach; a third slower
	$(PYTEST) $(FAST) $(SLOW) --cov --cov-report=term

docs: $(READY)  ## Build the documentation, warnings as errors
	$(BIN)/python -m sphinx -W --keep-going -q -b html docs build/docs
	@echo "documentation: build/docs/index.html"

wheel: $(READY)  ## Build the wheel, import it in a clean environment
	rm -rf build/wheel && mkdir -p build/wheel
	$(BIN)/python -m build --wheel --outdir build/wheel . > build/wheel/log || (cat build/wheel/log; exit 1)
	$(PYTHON) -m venv build/wheel/venv
	build/wheel/venv/bin/python $(PIP) build/wheel/*.whl
	cd build/wheel && venv/bin/python -I ../../tests/packaging/check_installed.py

test-browser: $(READY) chromium  ## Reports and pages in headless Chromium, with axe from npm; as root, installs Debian's if there is none
	sh tests/browser/install_axe.sh
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest -q -p no:cacheprovider tests/browser

chromium:
	sh tests/browser/install_chromium.sh

$(VENV)/.deep: $(READY)
	$(BIN)/python $(PIP) --editable '.[deep]' optax
	@touch $@

test-deep: $(VENV)/.deep  ## Tests of the jax mechanisms and of proofs of jax steps; installs jax and optax
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest -q -n 2 tests/deep tests/prove/training/jax dpcheck/mechanisms

INTEGRATIONS := .venv-integrations
DIFFPRIVLIB := .venv-diffprivlib
ENVIRONMENTS := .venv-libraries

$(INTEGRATIONS)/.ready: pyproject.toml
	$(PYTHON) -m venv $(INTEGRATIONS)
	$(INTEGRATIONS)/bin/python $(PIP) torch==2.13.0  # first and pinned: a plain torch pulls CUDA
	$(INTEGRATIONS)/bin/python $(PIP) --editable '.[opacus,huggingface,lightning,flower,nvflare,interop,testing]' opendp mlflow-skinny
	$(INTEGRATIONS)/bin/python $(PIP) --no-deps appfl  # one file of it is run
	@touch $@

$(DIFFPRIVLIB)/.ready: pyproject.toml
	$(PYTHON) -m venv $(DIFFPRIVLIB)
	$(DIFFPRIVLIB)/bin/python $(PIP) --editable '.[testing]' diffprivlib 'scikit-learn>=1.6,<1.7'
	@touch $@

board-environments: $(READY)
	$(BIN)/python benchmarks/board/environments.py $(ENVIRONMENTS) opendp pure-ldp multi-freq-ldpy diffprivlib

environments: $(READY) chromium $(INTEGRATIONS)/.ready $(DIFFPRIVLIB)/.ready board-environments  ## All that test-browser and test-integrations install, tests not run

WITH_TORCH := $(addprefix tests/integrations/, test_graphs.py test_opacus.py test_opacus_guard.py test_guards.py test_training_step.py test_torch_step.py test_opendp.py replay/test_torch.py test_prove_opendp.py replay/test_opendp.py replay/test_appfl.py replay/test_flower.py)
WITH_DIFFPRIVLIB := $(addprefix tests/integrations/, test_diffprivlib.py test_prove_diffprivlib.py replay/test_diffprivlib.py)

test-torch: $(INTEGRATIONS)/.ready
	OMP_NUM_THREADS=1 $(INTEGRATIONS)/bin/python -m pytest -q $(WITH_TORCH) tests/prove/training/torch dpcheck/integrations/opacus.py

test-diffprivlib: $(DIFFPRIVLIB)/.ready
	OMP_NUM_THREADS=1 $(DIFFPRIVLIB)/bin/python -m pytest -q $(WITH_DIFFPRIVLIB)

test-board: $(READY) board-environments
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest -q tests/integrations/test_board.py

test-integrations: test-torch test-diffprivlib test-board  ## Opacus, guards of other trainers, OpenDP, diffprivlib, APPFL and Flower for real (tests/integrations); installs them

libraries: $(READY)  ## The board of released libraries: environments, audits, page; goes on where it was; ONLY="a b"
	$(BIN)/python benchmarks/board/environments.py $(ENVIRONMENTS) $(ONLY)
	OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 $(BIN)/python benchmarks/board/run.py $(ONLY) --environments $(ENVIRONMENTS) --seconds 60
	$(BIN)/python benchmarks/board/page.py

conformance: $(READY)  ## Deltas that dp-accounting's released tests expect of its mechanisms, against certified bounds
	$(BIN)/python benchmarks/peers/conformance.py

bench-accounting: $(READY)  ## Time and tightness of the RDP accountant beside its peers
	$(BIN)/python benchmarks/accounting_rdp.py

PEERS := jax-privacy==2.0.0 tensorflow-empirical-privacy==0.1.0 immutabledict \
  pystatdp==0.1.3.1 numba llvmlite jsonpickle tqdm sympy
BENCH := OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 $(BIN)/python

$(VENV)/.peers: $(READY)
	$(BIN)/python $(PIP) --no-deps $(PEERS)
	@touch $(VENV)/.peers

bench: $(VENV)/.peers  ## All benchmarks beside their peers, then all tables; hours, continues where it was
	$(BENCH) benchmarks/transcripts.py
	$(BENCH) benchmarks/corpus.py --seeds 3
	$(BENCH) benchmarks/peers/run_corpus.py --seeds 3
	$(BENCH) benchmarks/peers/run_statdp.py --seeds 3
	$(BENCH) benchmarks/scale.py
	$(BENCH) benchmarks/false_alarms.py --resume
	$(BENCH) benchmarks/auditor_power.py --seeds 20 --resume
	$(MAKE) bench-tables

bench-quick: $(VENV)/.peers  ## A sample of it in ten minutes, into a folder of its own
	DPCHECK_RESULTS=build/bench-quick $(BENCH) benchmarks/corpus.py --seeds 1 --minutes 4
	DPCHECK_RESULTS=build/bench-quick $(BENCH) benchmarks/peers/run_corpus.py --seeds 1 --minutes 2
	DPCHECK_RESULTS=build/bench-quick $(BENCH) benchmarks/scale.py --minutes 2
	DPCHECK_RESULTS=build/bench-quick $(BENCH) benchmarks/make_tables.py --to build/bench-quick

bench-tables: $(READY)  ## Tables and figures in docs/benchmarks/ from the data files, nothing measured
	$(BENCH) benchmarks/make_tables.py
	$(BENCH) benchmarks/feature_table.py

clean:  ## Remove what the other targets made
	rm -rf $(VENV) $(INTEGRATIONS) $(DIFFPRIVLIB) build dist .coverage .mypy_cache .pytest_cache .ruff_cache .import_linter_cache
