# `make quickstart` and `make test` do all their set-up; every target repeats quickly.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# Tests wait for processes, servers and disks about as often as they compute.
WORKERS ?= $(shell expr $$(getconf _NPROCESSORS_ONLN) + 1)
export PIP_DISABLE_PIP_VERSION_CHECK := 1

.PHONY: quickstart test lint fix bench soak fuzz dist clean help
.DEFAULT_GOAL := help

help:  ## Show the targets.
	@grep -E '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 14

quickstart: $(VENV)/.base  ## Install, fetch weights and run the main job.
	@$(BIN)/tsim models fetch
	@$(BIN)/scaleqa quickstart

# Most tests use MiniLM, which is faster than the default model.
test: $(VENV)/.dev  ## Install, fetch weights and run the tests.
	@$(BIN)/tsim models fetch
	@$(BIN)/tsim models fetch all-MiniLM-L6-v2
	$(BIN)/python -m pytest -n $(WORKERS) --dist worksteal

lint: $(VENV)/.dev  ## Check style, types and import contracts.
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports

fix: $(VENV)/.dev  ## Format and repair what can be repaired.
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

soak: $(VENV)/.dev  ## Kill a writing process two hundred times and more.
	TSIM_SOAK=250 $(BIN)/python -m pytest -q tests/tsim/test_durability.py
	$(BIN)/python bench/soak.py --seconds 120 --kills 0.2

fuzz: $(VENV)/.dev  ## Read damaged inputs with every parser for ten minutes.
	$(BIN)/python bench/fuzz.py --seconds 600

bench: $(VENV)/.base  ## Run the speed comparisons (beside others where installed).
	@$(BIN)/tsim models fetch
	@$(BIN)/tsim models fetch all-MiniLM-L6-v2
	$(BIN)/python bench/imports.py
	$(BIN)/python bench/embed.py
	$(BIN)/python bench/memory.py --turns 1000 10000
	$(BIN)/python bench/systems.py --questions 20

dist: $(VENV)/.dev  ## Build wheels and source archives of both packages into dist/.
	$(BIN)/python -m hatchling build --directory $(CURDIR)/dist
	cd src/scaleqa && $(CURDIR)/$(BIN)/python -m hatchling build --directory $(CURDIR)/dist

clean:  ## Remove what the other targets made.
	rm -rf $(VENV) build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

$(VENV)/.python:
	@$(PYTHON) -c 'import sys; v = sys.version_info; sys.exit(v < (3, 11) and "Python 3.11 or newer is needed, found %d.%d; set PYTHON=…" % v[:2])'
	$(PYTHON) -m venv $(VENV)
	@touch $@

# Both packages were one distribution once; replacing it would take the other's `tsim` away.
$(VENV)/.base: $(VENV)/.python pyproject.toml src/scaleqa/pyproject.toml constraints.txt
	@$(BIN)/python -m pip uninstall --quiet --quiet --yes scaleqa
	$(BIN)/python -m pip install --constraint constraints.txt --editable . --editable src/scaleqa
	@touch $@

$(VENV)/.dev: $(VENV)/.base
	$(BIN)/python -m pip install --constraint constraints.txt --editable '.[postgres,server]' --editable 'src/scaleqa[dev]'
	@touch $@
