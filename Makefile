# Each target sets up what it needs by itself: a virtual environment in .venv, from Python 3.11 or newer.
PYTHON ?= python3
BIN := .venv/bin

.PHONY: run test slow lint perf clean

run: .venv/installed
	$(BIN)/streamlit run app/main.py $(OPTIONS)

test: lint
	$(BIN)/pytest -q -m "not slow"

slow: .venv/installed
	$(BIN)/pytest -q -m slow

lint: .venv/installed
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

perf: .venv/installed
	$(BIN)/python -m perf.rows
	$(BIN)/python -m perf.step
	$(BIN)/python -m perf.sweeps
	$(BIN)/python -m perf.dashboard
	$(BIN)/python -m perf.degenerate --cases 2000

.venv/installed: pyproject.toml
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable ".[dev]"
	touch $@

clean:
	rm -rf .venv
