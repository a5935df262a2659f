# Each target sets up what it needs by itself: a virtual environment in .venv, from Python 3.11 or newer.
PYTHON ?= python3
BIN := .venv/bin
PIP := $(BIN)/python -m pip install --disable-pip-version-check

.PHONY: run test slow lint perf pictures clean

run: .venv/installed
	@$(BIN)/python -m mgem_core dashboard $(OPTIONS)

test: lint
	$(BIN)/python -m pytest -q -m "not slow" -n 2 --dist loadfile

slow: .venv/installed-dev
	$(BIN)/python -m pytest -q -m slow -n 2 tests/analysis
	$(BIN)/python -m pytest -q -m slow --ignore tests/analysis

lint: .venv/installed-dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

perf: .venv/installed-dev
	$(BIN)/python -m perf.startup
	$(BIN)/python -m perf.step
	$(BIN)/python -m perf.peers
	$(BIN)/python -m perf.step_parts
	$(BIN)/python -m perf.runs
	$(BIN)/python -m perf.sweep_parts quick-look
	$(BIN)/python -m perf.sweep_parts modules-against-strength
	$(BIN)/python -m perf.operations
	$(BIN)/python -m perf.lens
	$(BIN)/python -m perf.lens_frames
	$(BIN)/python -m perf.scaling
	$(BIN)/python -m perf.rows
	$(BIN)/python -m perf.convolutions
	$(BIN)/python -m perf.table
	$(BIN)/python -m perf.evaluation
	$(BIN)/python -m perf.sweeps
	$(BIN)/python -m perf.dashboard
	$(BIN)/python -m perf.viewers
	$(BIN)/python -m perf.degenerate --cases 2000
	$(BIN)/python -m perf.memory

# The screenshots of the documents; with OPTIONS=--comparisons also those of docs/comparisons.md, which train 648 runs.
pictures: .venv/installed-dev
	$(BIN)/python -m studies.import_graph
	$(BIN)/python -m studies.pictures $(OPTIONS)

# .venv.unfinished is there while an installation is under way: after an interrupted one, the next starts from nothing.
define install
	@$(PYTHON) -m venv $(if $(wildcard .venv.unfinished),--clear) .venv
	@rm -f .venv/installed .venv/installed-dev
	@touch .venv.unfinished
	@$(PIP) --quiet "pip>=25.1"  # the first that shows its progress while it unpacks, too
	$(PIP) --editable "$(1)"
	@mv .venv.unfinished .venv/installed
endef

.venv/installed: pyproject.toml
	@echo "Setting up .venv. The first time, this takes 2 to 4 minutes with a fast connection:"
	@echo "on Linux, PyTorch and its CUDA libraries are a download of 3 GB and take 6 GB of disk; elsewhere much less."
	$(call install,.)

.venv/installed-dev: .venv/installed
	@echo "Adding the tools for development to .venv, which takes about a minute."
	$(call install,.[dev])
	@touch $@

clean:
	rm -rf .venv .venv.unfinished
