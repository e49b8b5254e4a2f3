# Everything a developer does, one target each. `make` alone lists them.

PYTHON ?= python3
VENV := .venv
RUN := $(VENV)/bin/python
PIP := $(RUN) -m pip --quiet --disable-pip-version-check
STAMP := $(VENV)/.ready

# Pyright is the locked one, on the locked Node.js: it need not ask the network for a newer.
export PYRIGHT_PYTHON_IGNORE_WARNINGS := 1

# Those that run; a model of shared state is explored instead.
PROTOCOLS := $(patsubst protocols/%.py,%,$(shell grep -L '^PROTOCOL = ModelSpec' protocols/[a-z]*.py))

SCORED := $(patsubst tasks/%/suite.json,%,$(wildcard tasks/*/suite.json))

.PHONY: help setup demo test thorough lint bench soak explore kills twins proofs certificates lock clean
.DEFAULT_GOAL := help

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "  make %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

setup: $(STAMP) ## create .venv with the locked packages and the protosim command
	@:

# Made again only when what it was made from has changed; from nothing where its Python has gone.
ifneq ($(shell $(RUN) -c 'print("works")' 2>/dev/null),works)
.PHONY: $(STAMP)
CLEAR := --clear
endif
$(STAMP): requirements.lock pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || { \
	  echo "protosim needs Python 3.11 or newer, and '$(PYTHON)' is not: try make PYTHON=python3.12" >&2; \
	  exit 3; }
	@$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null || { \
	  echo "'$(PYTHON)' cannot make virtual environments: on Debian, apt-get install python3-venv" >&2; \
	  exit 3; }
	$(PYTHON) -m venv $(CLEAR) $(VENV)
	$(PIP) install --require-hashes -r requirements.lock
	$(PIP) install --no-deps --no-build-isolation -e .
	@touch $@
	@echo "Ready: $(VENV)/bin/protosim"

demo: setup ## the whole idea in a minute: break Raft, catch it, replay it, score a repair
	@$(RUN) -m protosim demo

test: lint ## check style and types, then run every test
	$(RUN) -m pytest -n 2

thorough: setup ## the cases of heavy tests that `make test` leaves out
	$(RUN) -m pytest -n 2 -m thorough

lint: setup ## ruff, mypy --strict and pyright
	$(RUN) -m ruff check .
	$(RUN) -m mypy
	$(RUN) -m pyright

bench: setup ## measure speed beside its peers, as ratios; writes docs/benchmarks.md
	$(RUN) -m protosim bench --write

soak: $(PROTOCOLS:%=soak-%) ## ten million events of every unbroken protocol, or of one: make soak-raft

soak-%: setup
	$(RUN) -m protosim soak $* --jobs 2 --write

explore: setup ## go through every schedule within bounds, of all models and protocols; writes docs/explore.md
	$(RUN) -m protosim explore --write

kills: $(PROTOCOLS:%=kills-%) ## hunt every mutant of every protocol, or of one: make kills-raft

kills-%: setup
	$(RUN) -m protosim kills $* --jobs 2
	$(RUN) -m protosim kills $* --operators --jobs 2

twins: setup ## drive the Python and the Go of each protocol with the same events of a thousand runs
	$(RUN) -m protosim.score.twins

proofs: setup ## certify every proof problem, with every weakened specification; writes docs/proofs.md
	$(RUN) -m protosim task check --jobs 2 --write

# 24 minutes of CPU time for all; one of them: make certificate-paxos_prepare
certificates: $(SCORED:%=certificate-%) ## judge candidates whose verdicts are known, of every task; writes docs/tasks.md

certificate-%: setup
	$(RUN) -m protosim task check $* --jobs 2 --write

lock: ## pin anew what pyproject.toml asks for (uses uv)
	uv pip compile --universal --generate-hashes --extra dev --python-version 3.11 \
	  --custom-compile-command "make lock" --quiet pyproject.toml --output-file requirements.lock

clean: ## remove what can be made again
	rm -rf $(VENV) build dist .mypy_cache .pytest_cache .ruff_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
