# Everything sets itself up: each target makes what it needs and does only what is missing.
# PIP_ARGS goes to pip: make install PIP_ARGS="--index-url …" takes torch from another index.
# make scratch takes TEXT=file.txt (a document a line), HOURS=1.5 of training, CONFIG=configs/….toml.

PYTHON ?= python3
PIP_ARGS ?=
BIN := .venv/bin
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt $(PIP_ARGS)

.PHONY: help install demo scratch test test-slow check fix docs bench clean
.DEFAULT_GOAL := help

help:  ## show this list
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 14

install: .venv/installed  ## make .venv with the product in it

demo: .venv/installed  ## fetch the models, add samples/library, open the page on http://127.0.0.1:7860
	$(BIN)/attest models pull
	$(BIN)/attest add samples/library --home .demo
	$(BIN)/attest serve --home .demo

scratch: .venv/trained  ## train models from nothing and open the page on them; goes on when started again
	-$(BIN)/attest models pull
	$(BIN)/python -m benchmarks.scratch $(if $(TEXT),--text $(TEXT)) $(if $(HOURS),--hours $(HOURS)) $(if $(CONFIG),--config $(CONFIG))
	$(BIN)/attest serve --home .scratch/home

test: .venv/developed .venv/models  ## run every test but the slow ones
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest -m "not slow" -n 2 --dist loadfile

test-slow: test  ## run every test, and then the slow ones, which want the machine for themselves
	$(BIN)/python -m pytest -m slow

check: docs  ## lint, types, import rules, the docs; changes nothing else
	$(BIN)/ruff format --check .
	$(BIN)/ruff check --no-fix .
	$(BIN)/mypy
	$(BIN)/lint-imports

fix: .venv/developed  ## format, and mend what can be mended by itself
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .
	$(BIN)/python -m tests.docs.reference

docs: .venv/developed  ## build the documentation into site/, to be opened in a browser
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build

bench: .venv/benched .venv/models  ## measure against other tools, side by side
	$(BIN)/python -m benchmarks

clean:  ## remove .venv, .demo, .scratch and site
	rm -rf .venv .demo .scratch site

.venv/bin/python:
	$(PYTHON) -m venv .venv

.venv/installed: .venv/bin/python pyproject.toml constraints.txt
	$(PIP) -e .
	@touch $@

.venv/trained: .venv/installed
	$(PIP) -e '.[train]'
	@touch $@

.venv/developed: .venv/installed
	$(PIP) -e '.[dev]'
	@touch $@

.venv/benched: .venv/installed
	$(PIP) -e '.[bench]'
	@touch $@

.venv/models: .venv/installed
	$(BIN)/attest models pull e5-small smollm2 minilm
	@touch $@
