# Everything a bare machine with Python 3.11+, make and g++ needs. Environments are made on first
# use and refreshed when pyproject.toml changes; new source files need nothing.

SHELL := /bin/bash -o pipefail

# The first of these that starts and is new enough: a pyenv shim may exist and not work.
ifndef PYTHON
PYTHON := $(shell for p in python3.11 python3 python3.12 python3.13; do \
	$$p -c 'import sys, venv, ensurepip; sys.exit(not (3, 11) <= sys.version_info < (3, 14))' \
	</dev/null 2>/dev/null && echo $$p && break; done)
endif
VENV_PYTHON := .venv/bin/python
N ?= 200

.PHONY: help demo samples test lint bench fuzz clean venv venv-lint

help:
	@echo "make demo     run samples/add_framework.py"
	@echo "make samples  run every sample, with odd sizes too, against NumPy"
	@echo "make test     the suite on each CPython 3.11, 3.12, 3.13 found (ARGS: for pytest)"
	@echo "make lint     ruff and mypy"
	@echo "make bench    python -m benchmarks (ARGS: see --help)"
	@echo "make fuzz     the differential fuzzer on each CPython found (N: examples, now $(N))"
	@echo "make clean    remove environments, caches and build output"
	@echo "PYTHON=... chooses the interpreter of .venv, now '$(PYTHON)'"

demo: venv
	$(VENV_PYTHON) samples/add_framework.py

samples: venv
	@$(VENV_PYTHON) tests/samples.py $(ARGS)

test: venv
	@$(VENV_PYTHON) tests/run_all.py test $(ARGS)

# mypy wants the installed layout, which only a strict editable install shows it (a tree of links
# under build/). It must not run from the root, where the folder asctrace/ would hide that tree; its
# messages are mapped back to the files one edits.
lint: venv-lint
	.venv-lint/bin/ruff check
	.venv-lint/bin/ruff format --check
	cd build && ../.venv-lint/bin/mypy --config-file ../pyproject.toml --cache-dir ../.mypy_cache \
		-p asctrace \
		| sed -E -e 's#^__editable__[^/]*/asctrace/((tracer|lowering|runtime)/)#\1#' -e 's#^__editable__[^/]*/##'

bench: venv
	@$(VENV_PYTHON) -m benchmarks $(ARGS)

fuzz: venv
	@$(VENV_PYTHON) tests/run_all.py fuzz --examples $(N)

venv:
	@$(if $(PYTHON),,$(error no CPython 3.11, 3.12 or 3.13 found; name one with PYTHON=...))
	@$(PYTHON) tests/run_all.py venv .venv

venv-lint:
	@$(if $(PYTHON),,$(error no CPython 3.11, 3.12 or 3.13 found; name one with PYTHON=...))
	@$(PYTHON) tests/run_all.py venv .venv-lint --extras lint --strict

clean:
	rm -rf .venv .venv-lint .venv-3.* build dist out *.egg-info
	rm -rf .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
