# A fresh clone needs Python >= 3.11, make and a connection to PyPI, nothing else:
# `make report` and `make test` each set up what they need, and either may come first.

VENV ?= .venv
OUT ?= out/glm53
WORKERS ?= 2
PYTEST_ARGS ?=
LAB_ARGS ?=
# Used where it runs; `make UV= ...` forces venv and pip.
UV ?= uv
# A further interpreter to try before those below.
PYTHON ?=

# An empty value is as good as none: without bytecode on disk each start of a command, of
# which the tests make hundreds, compiles the whole package and its libraries anew.
export PYTHONDONTWRITEBYTECODE :=

BIN := $(VENV)/bin
PY := $(BIN)/python
SAMPLE := data/samples/glm53

PYTHONS := $(PYTHON) python3.13 python3.12 python3.11 python3 python
SUITABLE := import sys; sys.exit(not (3, 11) <= sys.version_info[:2] < (3, 14))
HAS_UV := test -n "$(UV)" && $(UV) --version >/dev/null 2>&1

# Installs the package with EXTRAS. A venv made by uv has no pip of its own, hence ensurepip.
INSTALL = if $(HAS_UV); then $(UV) pip install --quiet --compile-bytecode --python $(PY) -e '.$(EXTRAS)'; else \
	{ $(PY) -m pip --version >/dev/null 2>&1 || $(PY) -m ensurepip >/dev/null; } && \
	$(PY) -m pip install --quiet --disable-pip-version-check -e '.$(EXTRAS)'; fi

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: help report lab hooks test test-long lint types format docs bundle bench clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-10s %s\n", $$1, $$2 }' Makefile

report: $(VENV)/.installed-core ## write the report of the sample incident to OUT
	@status=0; \
	$(BIN)/forensics report $(SAMPLE)/logs -i $(SAMPLE)/incident.toml -o $(OUT) --force || status=$$?; \
	case $$status in \
	0) ;; \
	3) echo "make report: finished; the sample's evidence is incomplete, as the report says" >&2 ;; \
	*) exit $$status ;; \
	esac; \
	echo "$(OUT)/report.html"

# Settings that keep it on this machine lie in the file named here; the token that JupyterLab
# makes stays off the command line, where other users could read it.
lab: $(VENV)/.installed-notebooks hooks ## open the notebooks in JupyterLab
	$(BIN)/jupyter lab --config=notebooks/.jupyter/lab.py $(LAB_ARGS)

hooks: $(VENV)/.created ## keep outputs of notebooks out of git
	@.ci/hooks $(PY)

test: lint types ## lint, types and all tests but the long ones
	$(PY) -m pytest -n $(WORKERS) --dist worksteal $(PYTEST_ARGS)

test-long: $(VENV)/.installed-dev ## the tests that take minutes
	$(PY) -m pytest -n $(WORKERS) -m long $(PYTEST_ARGS)

lint: $(VENV)/.installed-dev ## ruff: rules and formatting
	$(PY) -m ruff check .
	$(PY) -m ruff format --check .

types: $(VENV)/.installed-dev ## mypy on the package
	$(PY) -m mypy

format: $(VENV)/.installed-dev ## let ruff fix and format what it can
	$(PY) -m ruff check --fix .
	$(PY) -m ruff format .

docs: $(VENV)/.installed-core ## write docs/formats.md and docs/reference from the code
	$(PY) docs/generate.py

bundle: $(VENV)/.installed-core ## pack wheels, samples and docs for a machine without a network
	$(PY) packaging/bundle.py

bench: $(VENV)/.installed-dev ## run the benchmarks
	$(PY) -m benchmarks

# Not all of out/, where somebody's own reports may lie, and VENV only where it is an
# environment.
clean: ## remove the environment, caches, builds and the sample report
	@if test -f $(VENV)/pyvenv.cfg; then rm -rf $(VENV); fi
	rm -rf $(OUT) build dist .mypy_cache .pytest_cache .ruff_cache .hypothesis
	find forensics tests -name __pycache__ -type d -prune -exec rm -rf {} +

$(VENV)/.installed-core: pyproject.toml $(VENV)/.created
	@echo "installing into $(VENV)" >&2
	@$(INSTALL)
	@touch $@

$(VENV)/.installed-notebooks: EXTRAS := [notebooks]
$(VENV)/.installed-notebooks: pyproject.toml $(VENV)/.created
	@echo "installing into $(VENV), with JupyterLab" >&2
	@$(INSTALL)
	@touch $(VENV)/.installed-core $@

# What the tests need includes what report and notebooks need.
$(VENV)/.installed-dev: EXTRAS := [dev,notebooks,pdf,live]
$(VENV)/.installed-dev: pyproject.toml $(VENV)/.created
	@echo "installing into $(VENV), with the tools for tests and notebooks" >&2
	@$(INSTALL)
	@touch $(VENV)/.installed-core $(VENV)/.installed-notebooks $@

# An upgraded interpreter leaves environments behind whose python is gone.
ifneq ($(shell test -x $(PY) && echo there),there)
.PHONY: $(VENV)/.created
endif

# Candidates are run, not just looked up: version managers put shims on the PATH for
# interpreters that are not there. uv gets the path of the one that ran, since it would
# try to download a version it is only told the number of; without uv, an interpreter
# that cannot make environments (Debian splits that off) is of no use.
$(VENV)/.created:
	@python=; need='$(SUITABLE)'; \
	$(HAS_UV) || need="import ensurepip, venv; $$need"; \
	for candidate in $(PYTHONS); do \
	  python=$$("$$candidate" -c "import sys; print(sys.executable); $$need" 2>/dev/null) && break; \
	  python=; \
	done; \
	if test -z "$$python"; then \
	  echo "make: no suitable Python: 3.11, 3.12 or 3.13 is needed, with its venv module" >&2; \
	  echo "make: (on Debian and Ubuntu: apt install python3-venv); tried: $(PYTHONS)" >&2; \
	  echo "make: to name one: make PYTHON=/path/to/python3 ..." >&2; \
	  exit 1; \
	fi; \
	if $(PY) -c '$(SUITABLE)' 2>/dev/null; then exit 0; fi; \
	clear=; if test -f $(VENV)/pyvenv.cfg; then clear=--clear; fi; \
	echo "creating $(VENV) with $$python" >&2; \
	if $(HAS_UV); then $(UV) venv --quiet $$clear --no-project --python "$$python" $(VENV); \
	else "$$python" -m venv $$clear $(VENV); fi
	@echo '*' > $(VENV)/.gitignore
	@touch $@
